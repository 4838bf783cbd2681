//! `write`: a whole file.
//!
//! A file that this agent has read is replaced only while it still holds what was read. One that
//! it never read is replaced too, since that is what the call says, and the result tells how much
//! is gone.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use shard_contracts::{Access, Tool, ToolContext, ToolOutput};
use shard_types::RenderDescriptor;

use super::atomic_write::put;
use super::diff::Change;
use super::read_log::{Fingerprint, Knowledge};
use super::regular_file::OpenError;
use super::text_file::{BOM, LineEndings, Snapshot, count_lines, read_whole};
use super::{ReadLog, arguments, file_kind, job, nearest, visible};
use crate::paths::resolve_judged;

/// Bytes of the content that are shown before the call runs.
const PREVIEW: usize = 8000;

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The file, absolute or relative to the working folder. Missing folders are made.
    path: String,
    /// All that the file will hold.
    content: String,
}

/// Writes whole files.
pub struct Write(Arc<ReadLog>);

impl Write {
    /// For the agent that `log` belongs to.
    #[must_use]
    pub fn new(log: Arc<ReadLog>) -> Self {
        Self(log)
    }
}

impl Tool for Write {
    fn name(&self) -> &'static str {
        "write"
    }

    fn description(&self) -> &'static str {
        "Write a whole file, making it or replacing what it holds. To change a part of a file use \
         edit. Refused when the file changed since it was read."
    }

    fn input_schema(&self) -> Value {
        arguments::schema::<Arguments>()
    }

    fn access(&self, input: &Map<String, Value>) -> Access {
        Access::Write(vec![arguments::text(input, "path").to_owned()])
    }

    fn preview(&self, input: &Map<String, Value>) -> Option<RenderDescriptor> {
        let content = input.get("content")?.as_str()?;
        let path = arguments::text(input, "path");
        let shown = visible::controls(visible::head(content, PREVIEW));
        Some(RenderDescriptor::Code {
            path: Some(path.to_owned()),
            lang: file_kind::language(path),
            text: match content.len() > PREVIEW {
                true => format!("{shown}\n… [{} bytes in all]", content.len()),
                false => shown.into_owned(),
            },
        })
    }

    fn execute<'a>(
        &'a self,
        input: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(job::changing(&self.0, context, |log, context| {
            write(log, input, context)
        }))
    }
}

fn write(
    log: &ReadLog,
    input: Map<String, Value>,
    context: &ToolContext,
) -> Result<ToolOutput, String> {
    let arguments: Arguments = arguments::parse(input)?;
    let given = arguments.path.as_str();
    let name = visible::line(given).into_owned();
    let _turn = log.one_change_at_a_time();
    let real = resolve_judged(context, given)?;
    let old = match read_whole(&real) {
        Ok(old) => Some(old),
        Err(OpenError::Missing) if given.ends_with('/') => {
            return Err(format!("{name} names a folder; give the path of a file"));
        }
        Err(OpenError::Missing) => None,
        Err(OpenError::Folder) => {
            return Err(format!("{name} is a folder; give the path of a file"));
        }
        Err(error) => return Err(nearest::refusal(&context.cwd, given, &real, &error)),
    };
    let knowledge = old.as_ref().map_or(Knowledge::Current, |old| {
        log.knowledge(&real, Fingerprint::of(&old.bytes))
    });
    if knowledge == Knowledge::Stale {
        return Err(format!(
            "{name} changed since it was read and is left as it is; read it again first"
        ));
    }
    let bytes = with_mark(old.as_ref(), arguments.content);
    put(&real, &bytes, old.as_ref().map(|old| &old.identity))
        .map_err(|error| format!("{name} {error}"))?;
    log.record(&real, Fingerprint::of(&bytes));
    Ok(output(given, &real, old.as_ref(), &bytes, knowledge))
}

/// A byte order mark is no part of the text that a model sees or writes, so it stays.
fn with_mark(old: Option<&Snapshot>, content: String) -> Vec<u8> {
    let marked = old.is_some_and(|old| old.bytes.starts_with(BOM));
    match marked && !content.as_bytes().starts_with(BOM) {
        true => [BOM, content.as_bytes()].concat(),
        false => content.into_bytes(),
    }
}

fn output(
    given: &str,
    real: &Path,
    old: Option<&Snapshot>,
    new: &[u8],
    knowledge: Knowledge,
) -> ToolOutput {
    let lines = visible::count(count_lines(new), "line");
    let mut text = format!("wrote {lines} to {}", visible::line(given));
    let before = old.map_or(&[][..], |old| &old.bytes);
    text += &match (old, knowledge) {
        (None, _) => ", a new file".to_owned(),
        (Some(_), _) if before.is_empty() => String::new(),
        (Some(_), Knowledge::Unread) => {
            let gone = visible::count(count_lines(before), "line");
            format!(", in place of {gone} that had not been read")
        }
        (Some(_), _) => format!(
            ", in place of {}",
            visible::count(count_lines(before), "line")
        ),
    };
    if LineEndings::of(before) == LineEndings::Crlf && LineEndings::of(new) != LineEndings::Crlf {
        text += "\n[its lines ended with CRLF before, and now end as they were given]";
    }
    ToolOutput {
        mutated: vec![real.to_owned()],
        ..ToolOutput::text(text).with_render(Change::between(before, new).render(given))
    }
}

#[cfg(test)]
mod tests;
