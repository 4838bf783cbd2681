//! `ls`: what is in a folder.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use futures_util::future::BoxFuture;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use shard_contracts::{Access, Tool, ToolContext, ToolOutput};
use shard_types::{ListedPath, PathKind};

use super::regular_file::{OpenError, open_folder};
use super::walk::Listing;
use super::{arguments, job, nearest, visible};
use crate::paths::resolve_judged;

/// Entries shown unless the call says otherwise.
const ENTRIES: usize = 500;

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The folder; the working folder unless given.
    path: Option<String>,
    /// How many entries to show; 500 unless given.
    limit: Option<usize>,
}

/// Lists folders.
#[derive(Debug)]
pub struct Ls;

impl Tool for Ls {
    fn name(&self) -> &'static str {
        "ls"
    }

    fn description(&self) -> &'static str {
        "List a folder, sorted by name, hidden entries included. Folders end with /, symbolic \
         links show where they lead."
    }

    fn input_schema(&self) -> Value {
        arguments::schema::<Arguments>()
    }

    fn read_only(&self) -> bool {
        true
    }

    fn access(&self, input: &Map<String, Value>) -> Access {
        let path = arguments::text(input, "path");
        Access::Read(vec![arguments::start(Some(path)).to_owned()])
    }

    fn execute<'a>(
        &'a self,
        input: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(job::reading(context, |context| list(input, context)))
    }
}

fn list(input: Map<String, Value>, context: &ToolContext) -> Result<ToolOutput, String> {
    let arguments: Arguments = arguments::parse(input)?;
    let given = arguments::start(arguments.path.as_deref());
    let real = resolve_judged(context, given)?;
    let refused = |error| nearest::refusal(&context.cwd, given, &real, &error);
    let folder = open_folder(&real).map_err(refused)?;
    let mut entries = entries(&folder, context).map_err(refused)?;
    if entries.is_empty() {
        return Ok(ToolOutput::text(format!(
            "{} is an empty folder",
            visible::line(given)
        )));
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let limit = arguments.limit.unwrap_or(ENTRIES).max(1);
    let mut listing = Listing::new(context.max_output_bytes);
    for (name, kind) in entries.iter().take(limit) {
        if !listing.add(&row(&folder, name, *kind)) {
            break;
        }
    }
    let (shown, all) = (listing.len(), entries.len());
    let cut =
        format!("truncated: {shown} of {all} entries; raise limit, or use find with a pattern");
    Ok(listing.output((shown < all).then_some(cut)))
}

/// Names and kinds.
fn entries(folder: &OwnedFd, context: &ToolContext) -> Result<Vec<(Vec<u8>, FileType)>, OpenError> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder)? {
        if context.cancel.is_cancelled() {
            return Err(OpenError::Io(std::io::Error::other(job::ABORTED)));
        }
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            entries.push((
                name.to_bytes().to_owned(),
                kind(folder, name, entry.file_type()),
            ));
        }
    }
    Ok(entries)
}

/// Not every file system tells the kind along with the name.
fn kind(folder: &OwnedFd, name: &CStr, told: FileType) -> FileType {
    match told {
        FileType::Unknown => rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_or(FileType::Unknown, |stat| {
                FileType::from_raw_mode(stat.st_mode)
            }),
        told => told,
    }
}

fn row(folder: &OwnedFd, name: &[u8], kind: FileType) -> ListedPath {
    let shown = visible::path(Path::new(OsStr::from_bytes(name)));
    let file = |path, hint| ListedPath {
        path,
        kind: PathKind::File,
        hint,
    };
    match kind {
        FileType::Directory => ListedPath {
            path: format!("{shown}/"),
            kind: PathKind::Dir,
            hint: None,
        },
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(folder, name, Vec::new());
            let target = target.map_or_else(
                |_| "?".to_owned(),
                |target| visible::path(Path::new(OsStr::from_bytes(target.to_bytes()))),
            );
            file(shown, Some(format!("-> {target}")))
        }
        FileType::Fifo => file(shown, Some("(FIFO)".to_owned())),
        FileType::Socket => file(shown, Some("(socket)".to_owned())),
        FileType::CharacterDevice | FileType::BlockDevice => {
            file(shown, Some("(device)".to_owned()))
        }
        _ => file(shown, None),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use serde_json::json;
    use shard_types::RenderDescriptor;

    use super::super::bench::{Bench, said};
    use super::*;

    #[tokio::test]
    async fn a_folder_is_listed_sorted() {
        let bench = Bench::new();
        bench.file("b.txt", "");
        bench.file("a/inner", "");
        bench.file(".hidden", "");
        bench.file("esc\x1b[2J\n", "");
        symlink("b.txt", bench.cwd.join("link")).unwrap();
        let fifo = bench.cwd.join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, fifo, rustix::fs::Mode::RWXU).unwrap();
        let output = bench.call("ls", json!({})).await;
        let want = ".hidden\na/\nb.txt\nesc␛[2J␊\nfifo (FIFO)\nlink -> b.txt\n";
        assert_eq!(said(&output), want);
        let Some(RenderDescriptor::PathList { paths }) = output.render else {
            panic!("no list of paths")
        };
        let row = |path: &str, kind, hint: Option<&str>| ListedPath {
            path: path.to_owned(),
            kind,
            hint: hint.map(str::to_owned),
        };
        assert_eq!(paths[1], row("a/", PathKind::Dir, None));
        assert_eq!(paths[5], row("link", PathKind::File, Some("-> b.txt")));
        assert_eq!(bench.good("ls", json!({ "path": "a" })).await, "inner\n");
        assert_eq!(bench.good("ls", json!({ "path": "" })).await, want);
    }

    #[tokio::test]
    async fn a_long_list_is_cut() {
        let mut bench = Bench::new();
        for n in 0..600 {
            bench.file(&format!("f{n:03}"), "");
        }
        let text = bench.good("ls", json!({})).await;
        let end =
            "f499\n[truncated: 500 of 600 entries; raise limit, or use find with a pattern]\n";
        assert!(text.ends_with(end), "{text}");
        let text = bench.good("ls", json!({ "limit": 1 })).await;
        let want = "f000\n[truncated: 1 of 600 entries; raise limit, or use find with a pattern]\n";
        assert_eq!(text, want);
        bench.max_output_bytes = 500;
        let text = bench.good("ls", json!({})).await;
        assert!(text.contains("[truncated: "), "{text}");
    }

    #[tokio::test]
    async fn what_is_no_folder_says_so() {
        let bench = Bench::new();
        bench.file("file", "x");
        std::fs::create_dir(bench.cwd.join("empty")).unwrap();
        let message = bench.bad("ls", json!({ "path": "file" })).await;
        assert_eq!(message, "file is a file, not a folder; use read");
        let message = bench.bad("ls", json!({ "path": "emty" })).await;
        assert_eq!(message, "emty does not exist; nearest: empty");
        let text = bench.good("ls", json!({ "path": "empty" })).await;
        assert_eq!(text, "empty is an empty folder");
    }

    #[test]
    fn it_reads_the_folder() {
        let read = |input: Value| Ls.access(input.as_object().unwrap());
        assert_eq!(read(json!({})), Access::Read(vec![".".to_owned()]));
        assert_eq!(
            read(json!({ "path": "/etc" })),
            Access::Read(vec!["/etc".to_owned()])
        );
    }
}
