//! Look at what others made: files are read, commands that inspect run when a person says so each
//! time, and nothing is written.

use shard_contracts::{Access, Artifacts, CallFacts, Mode, Tool, Vote};

/// The tool that runs commands, for `git diff`, tests and the like.
const INSPECTS_WITH: &str = "bash";

/// The mode in which work is judged.
pub struct Review;

impl Mode for Review {
    fn name(&self) -> &'static str {
        "review"
    }

    fn description(&self) -> &'static str {
        "Read and judge; no file is edited, and every command asks."
    }

    fn offers(&self, tool: &dyn Tool) -> bool {
        tool.read_only() || tool.name() == INSPECTS_WITH
    }

    fn prompt_section(&self, _: &Artifacts) -> Option<String> {
        Some(
            "\
You review now, and change nothing: say what is wrong and how to put it right, and leave the doing to others.
- Run only commands that inspect (`git diff`, `git log`, tests, linters), one purpose a command. The person is asked \
about each, also about those that were permitted for good.
- Give findings with the worst first, each with its file and line, what goes wrong and when. Say what you did not look at."
                .to_owned(),
        )
    }

    fn vote(&self, call: &CallFacts<'_>) -> Vote {
        match call.access {
            _ if call.read_only => Vote::Abstain,
            Access::Command(_) => Vote::Ask {
                reason: "The mode review asks about every command, whatever allows it.".to_owned(),
            },
            _ => Vote::Veto {
                reason: format!(
                    "not run: the mode review changes nothing, so {} may not be used; describe the change instead",
                    call.tool
                ),
            },
        }
    }
}
