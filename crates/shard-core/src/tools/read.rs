//! `read`: a text file, or a part of it, with line numbers.
//!
//! A file of any size costs memory for what is shown of it. One of up to `MAX_BYTES` is scanned to
//! its end, which gives the number of lines and what later writes are held against.

mod page;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use shard_contracts::{Access, Tool, ToolContext, ToolOutput};

use self::page::Page;
use super::file_kind::{self, SAMPLE};
use super::line_scan::LineScan;
use super::regular_file::open_file;
use super::{ReadLog, arguments, job, nearest, visible};
use crate::paths::resolve_judged;

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The file, absolute or relative to the working folder.
    path: String,
    /// First line to show, from 1.
    offset: Option<u64>,
    /// How many lines to show; 2000 unless given.
    limit: Option<u64>,
}

/// Shows text files.
pub struct Read(Arc<ReadLog>);

impl Read {
    /// For the agent that `log` belongs to.
    #[must_use]
    pub fn new(log: Arc<ReadLog>) -> Self {
        Self(log)
    }
}

impl Tool for Read {
    fn name(&self) -> &'static str {
        "read"
    }

    fn description(&self) -> &'static str {
        "Read a text file. Each line comes after its number and a tab, which are not part of the \
         file. Shows up to 2000 lines; for more, continue with offset. For folders use ls."
    }

    fn input_schema(&self) -> Value {
        arguments::schema::<Arguments>()
    }

    fn read_only(&self) -> bool {
        true
    }

    fn access(&self, input: &Map<String, Value>) -> Access {
        Access::Read(vec![arguments::text(input, "path").to_owned()])
    }

    fn execute<'a>(
        &'a self,
        input: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        let log = Arc::clone(&self.0);
        Box::pin(job::reading(context, move |context| {
            show(&log, input, context)
        }))
    }
}

fn show(
    log: &ReadLog,
    input: Map<String, Value>,
    context: &ToolContext,
) -> Result<ToolOutput, String> {
    let arguments: Arguments = arguments::parse(input)?;
    let given = arguments.path.as_str();
    let real = resolve_judged(context, given)?;
    let file =
        open_file(&real).map_err(|error| nearest::refusal(&context.cwd, given, &real, &error))?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    let failed = |error| format!("cannot read {}: {error}", visible::line(given));
    let mut scan = LineScan::new(file, context.cancel.clone());
    let sample = scan.peek().map_err(failed)?;
    let sample = &sample[..sample.len().min(SAMPLE)];
    if let Some(kind) = file_kind::binary(sample) {
        let name = visible::line(given);
        return Err(format!(
            "{name} is a binary file ({kind}, {size} bytes) and is not shown"
        ));
    }
    let page = Page::new(&arguments, context.max_output_bytes);
    let page = page.fill(&mut scan).map_err(failed)?;
    if page.complete {
        log.record(&real, scan.fingerprint());
    }
    page.output(given)
}

#[cfg(test)]
mod tests;
