//! Type Catalog: what the files at hand declare, so that their names need not be looked up again.

use std::path::{Path, PathBuf};

use shard_contracts::{Carry, Extractor, ExtractorContext};
use shard_types::NormalizedBlock;

use super::excerpt::{line, start};
use super::files::{self, Kind, path_of, relative};
use super::signatures::{Language, signatures};

pub(super) const SECTION: &str = "Type Catalog";
/// Files whose declarations are told.
const FILES: usize = 12;
/// Declarations of one file, and bytes of one.
const PER_FILE: usize = 14;
const SIGNATURE: usize = 140;
/// Bytes of one text that are searched.
const LOOK: usize = 64 * 1024;
/// Steps that are looked through for the declarations of one file.
const STEPS: usize = 2000;
/// Lines that an index of code gives, at most.
const INDEXED: usize = 60;

pub(super) struct TypeCatalog;

impl Extractor for TypeCatalog {
    fn section(&self) -> &'static str {
        SECTION
    }

    fn carry(&self) -> Carry {
        Carry::Update
    }

    fn extract(&self, blocks: &[NormalizedBlock], context: &ExtractorContext<'_>) -> Vec<String> {
        let recent = recent(blocks, context.cwd);
        if let Some(code) = context.code_index {
            let paths: Vec<_> = recent
                .iter()
                .map(|path| absolute(path, context.cwd))
                .collect();
            let told = code.signatures(&paths);
            if !told.is_empty() {
                let told = told.iter().take(INDEXED);
                return told.map(|signature| line(signature, SIGNATURE)).collect();
            }
        }
        let told = recent.iter().rev().filter_map(|path| {
            let found = declared(path, blocks, context.cwd);
            let found = found.join(" · ");
            (!found.is_empty()).then(|| format!("{path}: {found}"))
        });
        told.collect()
    }
}

/// The source files that were changed last, then those that were read last; newest first.
fn recent(blocks: &[NormalizedBlock], cwd: Option<&Path>) -> Vec<String> {
    let touched = files::touched(blocks, cwd);
    let changed = touched.iter().rev().filter(|touch| touch.kind.changes());
    let read = touched.iter().rev().filter(|touch| !touch.kind.changes());
    let mut paths: Vec<String> = Vec::new();
    for touch in changed.chain(read) {
        if paths.len() == FILES {
            break;
        }
        if Language::of(&touch.path).is_some() && !paths.contains(&touch.path) {
            paths.push(touch.path.clone());
        }
    }
    paths
}

fn absolute(path: &str, cwd: Option<&Path>) -> PathBuf {
    cwd.map_or_else(|| PathBuf::from(path), |cwd| cwd.join(path))
}

/// The declarations of a file, from what was last seen of it as a whole and what was put into it
/// since.
fn declared(path: &str, blocks: &[NormalizedBlock], cwd: Option<&Path>) -> Vec<String> {
    let Some(language) = Language::of(path) else {
        return Vec::new();
    };
    let mut sources: Vec<String> = Vec::new();
    for pair in blocks.windows(2).rev().take(STEPS) {
        let [
            NormalizedBlock::ToolCall { name, args },
            NormalizedBlock::ToolResult {
                text,
                is_error: false,
                ..
            },
        ] = pair
        else {
            continue;
        };
        let whole = match path_of(args) {
            Some(given) if relative(given, cwd) == path => match Kind::of(name, text) {
                Some(Kind::Read) => Some((without_numbers(text), true)),
                Some(_) => written(args).map(|(text, whole)| (start(text, LOOK).to_owned(), whole)),
                // Such as a search in this one file.
                None => Some((found_in(path, text, cwd), false)),
            },
            _ if name.contains("grep") || name.contains("search") => {
                Some((found_in(path, text, cwd), false))
            }
            _ => None,
        };
        if let Some((source, whole)) = whole {
            if !source.is_empty() {
                sources.push(source);
            }
            if whole || sources.len() == 8 {
                break;
            }
        }
    }
    let mut told: Vec<String> = Vec::new();
    for signature in sources
        .iter()
        .rev()
        .flat_map(|source| signatures(language, source))
    {
        let signature = line(&signature, SIGNATURE);
        if !told.contains(&signature) && told.len() < PER_FILE {
            told.push(signature);
        }
    }
    told
}

/// What a call put into a file, and whether that is all of it.
fn written(args: &serde_json::Map<String, serde_json::Value>) -> Option<(&str, bool)> {
    let text = |key: &str| args.get(key)?.as_str();
    let whole = text("content").map(|text| (text, true));
    let part = ["new_text", "new_string", "replacement"];
    whole.or_else(|| Some((part.iter().find_map(|key| text(key))?, false)))
}

/// The text of a page with line numbers.
fn without_numbers(page: &str) -> String {
    let lines = start(page, LOOK).lines().map(|line| {
        let (number, rest) = line.split_once('\t').unwrap_or(("", line));
        let numbered =
            !number.trim().is_empty() && number.trim().bytes().all(|byte| byte.is_ascii_digit());
        if numbered { rest } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The lines of a search that are from this file: `path:12: text`.
fn found_in(path: &str, found: &str, cwd: Option<&Path>) -> String {
    if !found.contains(path) {
        return String::new();
    }
    let lines = start(found, LOOK).lines().filter_map(|line| {
        let (file, rest) = line.split_once(':')?;
        let (number, text) = rest.split_once(": ").or_else(|| rest.split_once(':'))?;
        let is_line = number.bytes().all(|byte| byte.is_ascii_digit());
        (is_line && relative(file, cwd) == path).then_some(text)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
