//! `edit`: one text of a file for another.
//!
//! Works on bytes: what stands outside of the matched place is never decoded, so it stays as it is
//! whatever its encoding. It applies to the content that the file has now; what somebody else
//! changed meanwhile stays.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use shard_contracts::{Access, Tool, ToolContext, ToolOutput};
use shard_types::RenderDescriptor;

use super::atomic_write::put;
use super::closest::closest;
use super::diff::Change;
use super::read_log::{Fingerprint, Knowledge};
use super::splice::splice;
use super::text_file::{count_lines, is_utf16, line_at, read_whole, split_bom};
use super::text_match::{Found, Looseness, MAX_PLACES, find};
use super::{ReadLog, arguments, job, nearest, visible};
use crate::paths::resolve_judged;

/// Lines named in a message.
const NAMED: usize = 20;

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The file, absolute or relative to the working folder.
    path: String,
    /// The text to replace, as it stands in the file, with enough around it to occur only once.
    old_text: String,
    /// What to put in its place.
    new_text: String,
    /// Replace every occurrence.
    replace_all: Option<bool>,
}

/// Changes a part of a file.
pub struct Edit(Arc<ReadLog>);

impl Edit {
    /// For the agent that `log` belongs to.
    #[must_use]
    pub fn new(log: Arc<ReadLog>) -> Self {
        Self(log)
    }
}

impl Tool for Edit {
    fn name(&self) -> &'static str {
        "edit"
    }

    fn description(&self) -> &'static str {
        "Replace a text in a file by another. old_text must occur exactly once, unless replace_all \
         is set. Line endings and everything outside of the replaced text stay as they are."
    }

    fn input_schema(&self) -> Value {
        arguments::schema::<Arguments>()
    }

    fn access(&self, input: &Map<String, Value>) -> Access {
        Access::Write(vec![arguments::text(input, "path").to_owned()])
    }

    fn preview(&self, input: &Map<String, Value>) -> Option<RenderDescriptor> {
        let old = input.get("old_text")?.as_str()?;
        let new = input.get("new_text")?.as_str()?;
        let change = Change::between(old.as_bytes(), new.as_bytes());
        Some(change.render(arguments::text(input, "path")))
    }

    fn execute<'a>(
        &'a self,
        input: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(job::changing(&self.0, context, |log, context| {
            edit(log, input, context)
        }))
    }
}

fn edit(
    log: &ReadLog,
    input: Map<String, Value>,
    context: &ToolContext,
) -> Result<ToolOutput, String> {
    let arguments: Arguments = arguments::parse(input)?;
    let given = arguments.path.as_str();
    check(&arguments)?;
    let _turn = log.one_change_at_a_time();
    let real = resolve_judged(context, given)?;
    let file =
        read_whole(&real).map_err(|error| nearest::refusal(&context.cwd, given, &real, &error))?;
    if is_utf16(&file.bytes) {
        return Err(format!(
            "{} is text in UTF-16, which edit would damage; convert it to UTF-8 with a command, or \
             replace it with write",
            visible::line(given)
        ));
    }
    let edited = Edited::of(&file.bytes, &arguments)?;
    put(&real, &edited.bytes, Some(&file.identity))
        .map_err(|error| format!("{} {error}", visible::line(given)))?;
    let before = Fingerprint::of(&file.bytes);
    let stale = log.knowledge(&real, before) == Knowledge::Stale;
    log.changed(&real, before, Fingerprint::of(&edited.bytes));
    Ok(edited.output(&file.bytes, given, &real, stale))
}

fn check(arguments: &Arguments) -> Result<(), String> {
    if arguments.old_text.is_empty() {
        return Err("old_text is empty; to make or replace a whole file use write".to_owned());
    }
    if arguments.old_text == arguments.new_text {
        return Err("old_text and new_text are the same; nothing was changed".to_owned());
    }
    Ok(())
}

/// The new version of a file.
struct Edited {
    bytes: Vec<u8>,
    looseness: Looseness,
    /// First and last line of each new text.
    lines: Vec<(u64, u64)>,
}

impl Edited {
    fn of(raw: &[u8], arguments: &Arguments) -> Result<Self, String> {
        let (bom, content) = split_bom(raw);
        // The mark is no part of the text, whether a model repeats it or not.
        let plain = |text| {
            str::strip_prefix(text, '\u{feff}')
                .unwrap_or(text)
                .to_owned()
        };
        let (old, new) = (plain(&arguments.old_text), plain(&arguments.new_text));
        let found = find(content, &old).ok_or_else(|| not_found(content, &arguments.path, &old))?;
        let found = chosen(content, arguments, found)?;
        let (edited, places) = splice(content, &found.spans, &old, &new);
        if edited == content {
            return Err(
                "the text is there already as new_text has it; nothing was changed".to_owned(),
            );
        }
        let lines = places.into_iter().map(|place| {
            let first = line_at(&edited, place.start);
            (first, first + count_lines(&edited[place]).max(1) - 1)
        });
        Ok(Self {
            lines: lines.take(NAMED + 1).collect(),
            bytes: [bom, &edited].concat(),
            looseness: found.looseness,
        })
    }

    fn output(self, before: &[u8], given: &str, real: &Path, stale: bool) -> ToolOutput {
        let name = visible::line(given);
        let mut text = format!("edited {name}: {}", named(&self.lines));
        match self.looseness {
            Looseness::Exact | Looseness::LineEndings => {}
            Looseness::Typography => {
                text += "\n[old_text matched only apart from trailing spaces or the shape of quotes, \
                         dashes and spaces; lines that it repeats unchanged stay as the file has them]";
            }
        }
        if self.looseness == Looseness::LineEndings {
            text += "\n[old_text matched apart from its line endings; the file keeps its own]";
        }
        if stale {
            text += "\n[the file had changed since it was read; the edit was made in what it holds now]";
        }
        let render = Change::between(before, &self.bytes).render(given);
        ToolOutput {
            mutated: vec![real.to_owned()],
            ..ToolOutput::text(text).with_render(render)
        }
    }
}

/// The places that are replaced: one, or all.
fn chosen(content: &[u8], arguments: &Arguments, found: Found) -> Result<Found, String> {
    if found.spans.len() == 1 {
        return Ok(found);
    }
    let lines = found.spans.iter().map(|span| line_at(content, span.start));
    let lines: Vec<_> = lines.map(|line| (line, line)).take(NAMED + 1).collect();
    let (count, lines) = (found.spans.len(), named(&lines));
    let name = visible::line(&arguments.path);
    let all = arguments.replace_all.unwrap_or_default();
    if count >= MAX_PLACES {
        return Err(format!(
            "old_text is in {name} {MAX_PLACES} times or more; use a command for that"
        ));
    }
    match found.looseness {
        Looseness::Typography => Err(format!(
            "old_text is not in {name} as it stands, and {count} places are like it: {lines}; \
             copy the text of one of them exactly"
        )),
        _ if !all => Err(format!(
            "old_text is in {name} {count} times: {lines}; add lines around it, or set replace_all"
        )),
        looseness => {
            let mut end = 0;
            let apart = found.spans.into_iter().filter(|span| {
                let apart = span.start >= end;
                end = if apart { span.end } else { end };
                apart
            });
            Ok(Found {
                looseness,
                spans: apart.collect(),
            })
        }
    }
}

fn not_found(content: &[u8], given: &str, old: &str) -> String {
    let message = format!("old_text is not in {}", visible::line(given));
    match closest(content, old) {
        near if near.is_empty() => {
            format!("{message}, and no line is like it; read the file again")
        }
        near => format!("{message}; nothing was changed. Most like it:\n{near}"),
    }
}

/// `line 3`, `lines 3-5`, or where several places are.
fn named(lines: &[(u64, u64)]) -> String {
    let one = |(first, last): &(u64, u64)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    let shown: Vec<String> = lines.iter().take(NAMED).map(one).collect();
    let more = if lines.len() > NAMED { ", …" } else { "" };
    let noun = match lines {
        [(first, last)] if first == last => "line",
        _ => "lines",
    };
    format!("{noun} {}{more}", shown.join(", "))
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzz;
#[cfg(test)]
mod tests;
