//! `read`: a text file, or a part of it, with line numbers; a picture; a notebook as text.
//!
//! A text of any size costs memory for what is shown of it. One of up to `MAX_BYTES` is scanned to
//! its end, which gives the number of lines and what later writes are held against. What has to be
//! turned into something else is read whole, within a bound. The read log always holds the file
//! itself, not what was made of it.

mod notebook;
mod page;
mod picture;
mod utf16;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use shard_contracts::{Access, Tool, ToolContext, ToolOutput};

use self::page::Page;
use super::file_kind::{self, SAMPLE};
use super::line_scan::LineScan;
use super::regular_file::open_file;
use super::text_file::is_utf16;
use super::{ReadLog, arguments, job, nearest, visible};
use crate::paths::resolve_judged;
use crate::picture::format_of;

/// The largest file that is read whole, in bytes.
const WHOLE_BYTES: usize = 32 << 20;

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The file, absolute or relative to the working folder.
    path: String,
    /// First line to show, from 1.
    offset: Option<u64>,
    /// How many lines to show; 2000 unless given.
    limit: Option<u64>,
}

/// Shows files.
pub struct Read {
    log: Arc<ReadLog>,
    /// Held while pictures are decoded, on a thread that may block.
    decoding: Arc<Mutex<()>>,
}

impl Read {
    /// For the agent that `log` belongs to.
    #[must_use]
    pub fn new(log: Arc<ReadLog>) -> Self {
        Self {
            log,
            decoding: Arc::default(),
        }
    }
}

impl Tool for Read {
    fn name(&self) -> &'static str {
        "read"
    }

    fn description(&self) -> &'static str {
        "Read a file. Of text, each line comes after its number and a tab, which are not part of the \
         file; up to 2000 lines are shown, and offset continues. A picture (PNG, JPEG, GIF, WebP) is \
         shown to models that take pictures. A notebook (.ipynb) comes as its cells and what they \
         printed. For folders use ls."
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
        let (log, decoding) = (Arc::clone(&self.log), Arc::clone(&self.decoding));
        Box::pin(job::reading(context, move |context| {
            show(&log, &decoding, input, context)
        }))
    }
}

fn show(
    log: &ReadLog,
    decoding: &Mutex<()>,
    input: Map<String, Value>,
    context: &ToolContext,
) -> Result<ToolOutput, String> {
    let arguments: Arguments = arguments::parse(input)?;
    let given = arguments.path.as_str();
    let name = visible::line(given);
    let real = resolve_judged(context, given)?;
    let file =
        open_file(&real).map_err(|error| nearest::refusal(&context.cwd, given, &real, &error))?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    let failed = |error| format!("cannot read {name}: {error}");
    let mut scan = LineScan::new(file, context.cancel.clone());
    let sample = scan.peek().map_err(failed)?;
    let form = Form::of(&sample[..sample.len().min(SAMPLE)], given, size);
    let too_large = || {
        let mib = WHOLE_BYTES >> 20;
        format!(
            "{name} has more than {mib} MiB, too much to be shown; use a command to see a part of it"
        )
    };
    // All that is shown otherwise than line by line is held in memory.
    let bytes = match form {
        Form::Binary(kind) => {
            return Err(format!(
                "{name} is a binary file ({kind}, {size} bytes) and is not shown"
            ));
        }
        Form::Lines => {
            let page = Page::new(&arguments, context.max_output_bytes);
            let page = page.fill(&mut scan).map_err(failed)?;
            if page.complete {
                log.record(&real, scan.fingerprint());
            }
            return page.output(given);
        }
        _ if size > WHOLE_BYTES as u64 => return Err(too_large()),
        _ => scan
            .whole(WHOLE_BYTES)
            .map_err(failed)?
            .ok_or_else(too_large)?,
    };
    // Decoding a picture takes up to some hundred MiB.
    let one_at_a_time = || decoding.lock().unwrap_or_else(PoisonError::into_inner);
    let output = match form {
        Form::Picture if !context.takes_images => Err(picture::refuse(&name, &bytes)),
        Form::Picture => {
            let _alone = one_at_a_time();
            if context.cancel.is_cancelled() {
                return Err(job::ABORTED.to_owned());
            }
            picture::show(&name, &bytes)
        }
        Form::Utf16 => match utf16::decode(&bytes) {
            Some(text) => page_of(&text, &arguments, context, vec![utf16::NOTE.to_owned()]),
            None => Err(format!(
                "{name} is a binary file ({size} bytes) and is not shown: it starts like text in UTF-16, and is none"
            )),
        },
        _ => match notebook::render(&bytes) {
            Some(rendered) => {
                let _alone = one_at_a_time();
                rendered_page(&rendered, &arguments, context)
            }
            None => {
                let page = Page::new(&arguments, context.max_output_bytes);
                let mut scan = LineScan::new(bytes.as_slice(), context.cancel.clone());
                page.fill(&mut scan).map_err(failed)?.output(given)
            }
        },
    };
    log.record(&real, scan.fingerprint());
    output
}

/// In what form a file is shown.
#[derive(Clone, Copy)]
enum Form {
    /// Line by line, as it is.
    Lines,
    Picture,
    Utf16,
    /// If it turns out to be none, line by line.
    Notebook,
    /// Not at all.
    Binary(&'static str),
}

impl Form {
    fn of(sample: &[u8], given: &str, size: u64) -> Self {
        let named = |extension| {
            let own = Path::new(given).extension();
            own.is_some_and(|own| own.eq_ignore_ascii_case(extension))
        };
        match file_kind::binary(sample) {
            _ if format_of(sample).is_some() => Self::Picture,
            _ if is_utf16(sample) => Self::Utf16,
            Some(kind) => Self::Binary(kind),
            None if named("ipynb") && size <= WHOLE_BYTES as u64 => Self::Notebook,
            None => Self::Lines,
        }
    }
}

/// A page of a text that a file was turned into.
fn page_of(
    text: &str,
    arguments: &Arguments,
    context: &ToolContext,
    notes: Vec<String>,
) -> Result<ToolOutput, String> {
    let page = derived(text, arguments, context)?;
    page.with_notes(notes).output(&arguments.path)
}

fn derived(text: &str, arguments: &Arguments, context: &ToolContext) -> Result<Page, String> {
    let mut scan = LineScan::new(text.as_bytes(), context.cancel.clone());
    let page = Page::derived(arguments, context.max_output_bytes);
    page.fill(&mut scan)
        .map_err(|error| format!("cannot read {}: {error}", visible::line(&arguments.path)))
}

fn rendered_page(
    rendered: &notebook::Rendered,
    arguments: &Arguments,
    context: &ToolContext,
) -> Result<ToolOutput, String> {
    let page = derived(&rendered.text, arguments, context)?;
    let (images, mut notes) = match context.takes_images {
        true => rendered.pictures(page.lines_shown(), &context.cancel),
        false if rendered.has_pictures(page.lines_shown()) => {
            let note = "pictures are not shown: this model takes none";
            (Vec::new(), vec![note.to_owned()])
        }
        false => (Vec::new(), Vec::new()),
    };
    notes.push(notebook::NOTE.to_owned());
    let output = page.with_notes(notes).output(&arguments.path)?;
    Ok(ToolOutput { images, ..output })
}

#[cfg(test)]
mod tests;
