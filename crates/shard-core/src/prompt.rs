//! The system prompt: what the model is told before anybody speaks.

use std::fmt::Write;

use shard_contracts::{Artifacts, Mode};

use crate::agent::Settings;

const WHO: &str = "You are Shard, a coding agent. You work in the person's own checkout, on their machine, \
through the tools you are given.";

const HOW: &str = "\
- Look before you change: read a file before you edit it, and search instead of guessing where things are.
- Make the smallest change that does what was asked, in the style of the code around it.
- After a change, run what proves it: the tests, the build, the linter. Say what you ran and what came of it.
- Calls that change things may be put to the person first. If one is refused, do not look for another way to do \
the same; say what you wanted and ask.
- Commands run without a terminal and with empty input. Pass flags that make programs run without questions.
- Answer briefly and plainly. Name files as paths relative to the working directory.";

/// Writes the system prompt. It changes only when the settings, the mode, what modes have kept or
/// the summary do, so that a provider's prompt cache holds; what changes most often stands last.
pub(crate) fn system(
    settings: &Settings,
    mode: &dyn Mode,
    kept: &Artifacts,
    summary: Option<&str>,
) -> String {
    let mut text = format!(
        "{WHO}\n\n{HOW}\n\nWorking directory: {}\n",
        settings.cwd.display()
    );
    _ = writeln!(text, "Operating system: {}", std::env::consts::OS);
    _ = writeln!(text, "Mode: {}. {}", mode.name(), mode.description());
    if let Some(section) = mode.prompt_section(kept) {
        _ = write!(text, "\n{section}\n");
    }
    settings.knowledge.write_prompt(&mut text);
    if let Some(summary) = summary {
        _ = write!(text, "\n{summary}\n");
    }
    text
}
