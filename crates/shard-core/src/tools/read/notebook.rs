//! Jupyter notebooks, as text that a model can read: the cells with what they printed.

use std::ops::Range;

use anstream::adapter::strip_str;
use serde::Deserialize;
use serde_json::{Map, Value};
use shard_types::Image;
use tokio_util::sync::CancellationToken;

use super::super::visible;
use crate::picture::Picture;

/// How many pictures of one page are shown.
const PICTURES: usize = 4;

/// What a model should know of the lines.
pub(super) const NOTE: &str = "the lines are those of this view of the notebook; edit and write work \
                               on the JSON of the file, which grep shows";

/// What JSON of other versions does not fit into.
#[derive(Deserialize)]
struct Notebook {
    nbformat: u64,
    cells: Vec<Cell>,
    #[serde(default)]
    metadata: Value,
}

#[derive(Deserialize)]
struct Cell {
    cell_type: String,
    source: Text,
    #[serde(default)]
    execution_count: Option<u64>,
    #[serde(default)]
    outputs: Vec<Output>,
}

/// Text in one piece, or in lines that keep their endings.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Whole(String),
    Lines(Vec<String>),
}

impl Text {
    fn whole(&self) -> String {
        match self {
            Self::Whole(text) => text.clone(),
            Self::Lines(lines) => lines.concat(),
        }
    }
}

#[derive(Deserialize)]
#[serde(tag = "output_type", rename_all = "snake_case")]
enum Output {
    Stream {
        name: String,
        text: Text,
    },
    ExecuteResult {
        data: Map<String, Value>,
    },
    DisplayData {
        data: Map<String, Value>,
    },
    Error {
        #[serde(default)]
        ename: String,
        #[serde(default)]
        evalue: String,
        #[serde(default)]
        traceback: Vec<String>,
    },
    #[serde(other)]
    Unknown,
}

/// A notebook as lines of text.
#[derive(Default)]
pub(super) struct Rendered {
    pub(super) text: String,
    /// Pictures by the number of the line that names them, from 1; base64.
    pictures: Vec<(u64, String)>,
    /// How many lines there are.
    lines: u64,
}

/// Renders a notebook; none if this is no notebook of version 4.
pub(super) fn render(bytes: &[u8]) -> Option<Rendered> {
    let notebook: Notebook = serde_json::from_slice(bytes).ok()?;
    if notebook.nbformat != 4 {
        return None;
    }
    let language = notebook.metadata["language_info"]["name"]
        .as_str()
        .or_else(|| notebook.metadata["kernelspec"]["language"].as_str())
        .unwrap_or("code");
    let mut rendered = Rendered::default();
    if notebook.cells.is_empty() {
        rendered.line("--- no cells ---");
    }
    for (at, cell) in notebook.cells.iter().enumerate() {
        rendered.cell(at + 1, cell, language);
    }
    Some(rendered)
}

impl Rendered {
    fn cell(&mut self, number: usize, cell: &Cell, language: &str) {
        let kind = match cell.cell_type.as_str() {
            "code" => language,
            other => other,
        };
        let run = match (cell.cell_type.as_str(), cell.execution_count) {
            ("code", Some(count)) => format!(", run as [{count}]"),
            ("code", None) => ", not run".to_owned(),
            _ => String::new(),
        };
        self.line(&format!("--- cell {number}: {kind}{run} ---"));
        self.lines(&cell.source.whole());
        for output in &cell.outputs {
            self.output(number, output);
        }
    }

    fn output(&mut self, number: usize, output: &Output) {
        match output {
            Output::Stream { name, text } => {
                self.line(&format!("--- cell {number} printed to {name} ---"));
                self.lines(&plain(&text.whole()));
            }
            Output::ExecuteResult { data } => self.data(number, "gave", data),
            Output::DisplayData { data } => self.data(number, "showed", data),
            Output::Error {
                ename,
                evalue,
                traceback,
            } => {
                self.line(&format!("--- cell {number} failed ---"));
                match traceback.is_empty() {
                    true => self.lines(&plain(&format!("{ename}: {evalue}"))),
                    false => self.lines(&plain(&traceback.join("\n"))),
                }
            }
            Output::Unknown => {
                self.line(&format!(
                    "--- cell {number} has an output of an unknown type ---"
                ));
            }
        }
    }

    /// The same thing in several formats: the picture or the plain text, and otherwise their names.
    fn data(&mut self, number: usize, verb: &str, data: &Map<String, Value>) {
        let raster = |kind: &&String| {
            matches!(
                kind.as_str(),
                "image/png" | "image/jpeg" | "image/gif" | "image/webp"
            )
        };
        let text = |kind: &str| Text::deserialize(data.get(kind)?).ok();
        if let Some(kind) = data.keys().find(raster) {
            self.line(&format!("--- cell {number} {verb} a picture ({kind}) ---"));
            if let Some(base64) = text(kind) {
                let base64 = base64.whole().split_whitespace().collect();
                self.pictures.push((self.lines, base64));
            }
            return;
        }
        let readable = ["text/plain", "text/markdown", "text/latex"];
        match readable.iter().find_map(|kind| text(kind)) {
            Some(text) => {
                self.line(&format!("--- cell {number} {verb} ---"));
                self.lines(&plain(&text.whole()));
            }
            None => {
                let kinds: Vec<&str> = data.keys().map(String::as_str).collect();
                let kinds = kinds.join(", ");
                self.line(&format!(
                    "--- cell {number} {verb} what is no text ({kinds}) ---"
                ));
            }
        }
    }

    /// One line about what follows it.
    fn line(&mut self, line: &str) {
        self.lines(&visible::line(line));
    }

    fn lines(&mut self, text: &str) {
        for line in text.lines() {
            self.text += line;
            self.text.push('\n');
            self.lines += 1;
        }
    }

    /// The pictures that are named on these lines, made fit, and what to say of each.
    pub(super) fn pictures(
        &self,
        lines: Range<u64>,
        cancel: &CancellationToken,
    ) -> (Vec<Image>, Vec<String>) {
        let (mut shown, mut notes) = (Vec::new(), Vec::new());
        let named = self
            .pictures
            .iter()
            .filter(|(line, _)| lines.contains(line));
        for (at, (line, base64)) in named.enumerate() {
            if at == PICTURES || cancel.is_cancelled() {
                notes.push(format!(
                    "the picture of line {line} and those after it are not shown; read on from there with offset {line}"
                ));
                break;
            }
            match Picture::fit_base64(base64) {
                Ok(picture) => {
                    notes.push(format!(
                        "the picture of line {line} ({}) follows",
                        picture.describe()
                    ));
                    shown.push(picture.image);
                }
                Err(error) => notes.push(format!("the picture of line {line} {error}")),
            }
        }
        (shown, notes)
    }

    /// Whether there is a picture on these lines.
    pub(super) fn has_pictures(&self, lines: Range<u64>) -> bool {
        self.pictures.iter().any(|(line, _)| lines.contains(line))
    }
}

/// Without what colours it on a terminal.
fn plain(text: &str) -> String {
    strip_str(text).to_string()
}
