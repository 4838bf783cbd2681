//! `find`: files and folders by name.

use std::path::Path;

use futures_util::future::BoxFuture;
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use shard_contracts::{Access, Tool, ToolContext, ToolOutput};
use shard_types::{ListedPath, PathKind};

use super::regular_file::open_folder;
use super::tree::Tree;
use super::walk::{Filter, Listing, shown};
use super::{arguments, job, nearest, visible};
use crate::paths::resolve_judged;

/// Paths shown unless the call says otherwise.
const PATHS: usize = 1000;

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// A glob such as `*.rs` (any depth) or `src/**/*.rs` (from the folder on).
    pattern: String,
    /// The folder to search; the working folder unless given.
    path: Option<String>,
    /// How many paths to show; 1000 unless given.
    limit: Option<usize>,
}

/// Finds files by name.
#[derive(Debug)]
pub struct Find;

impl Tool for Find {
    fn name(&self) -> &'static str {
        "find"
    }

    fn description(&self) -> &'static str {
        "Find files and folders by a glob on their path, sorted. Leaves out what .gitignore names; \
         hidden files are included."
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
        Box::pin(job::reading(context, |context| find(input, context)))
    }
}

fn find(input: Map<String, Value>, context: &ToolContext) -> Result<ToolOutput, String> {
    let arguments: Arguments = arguments::parse(input)?;
    let filter = Filter::new(&arguments.pattern)?;
    let given = arguments::start(arguments.path.as_deref());
    let real = resolve_judged(context, given)?;
    open_folder(&real).map_err(|error| nearest::refusal(&context.cwd, given, &real, &error))?;
    let limit = arguments.limit.unwrap_or(PATHS).max(1);
    let mut listing = Listing::new(context.max_output_bytes);
    let (mut cut, mut unread) = (false, 0);
    let mut tree = Tree::of(&real, context.cancel.clone());
    for entry in tree.by_ref() {
        let Ok(entry) = entry else {
            unread += 1;
            continue;
        };
        let is_folder = entry.kind == FileType::Directory;
        let Some(row) = row(&filter, &real, given, &entry.path, is_folder) else {
            continue;
        };
        if listing.len() == limit || !listing.add(&row) {
            cut = true;
            break;
        }
    }
    if context.cancel.is_cancelled() {
        return Err(job::ABORTED.to_owned());
    }
    let notes = notes(listing.len(), &arguments.pattern, cut, unread);
    Ok(listing.output(notes.into_iter().chain(tree.note())))
}

fn row(
    filter: &Filter,
    root: &Path,
    given: &str,
    path: &Path,
    is_folder: bool,
) -> Option<ListedPath> {
    let below = path.strip_prefix(root).ok()?;
    let kind = match is_folder {
        true => PathKind::Dir,
        false => PathKind::File,
    };
    let wanted = !below.as_os_str().is_empty() && filter.matches(below, kind);
    wanted.then(|| ListedPath {
        path: shown(given, below) + if is_folder { "/" } else { "" },
        kind,
        hint: None,
    })
}

fn notes(shown: usize, pattern: &str, cut: bool, unread: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if shown == 0 {
        let pattern = visible::short(&visible::line(pattern), 100);
        notes.push(format!(
            "no matches for {pattern}; what .gitignore names is left out"
        ));
    }
    if unread > 0 {
        notes.push(format!(
            "{} could not be read",
            visible::count(unread, "folder")
        ));
    }
    if cut {
        notes.push(format!(
            "truncated: the first {shown}; narrow pattern or path, or raise limit"
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use serde_json::json;

    use super::super::bench::{Bench, forbids, said};
    use super::*;

    #[tokio::test]
    async fn files_are_found_as_git_sees_them() {
        let bench = Bench::new();
        bench.file(".gitignore", "target\n*.log\n");
        for path in [
            "z.rs",
            "src/a.rs",
            "src/deep/b.rs",
            "target/c.rs",
            ".git/d.rs",
            ".ci/e.rs",
        ] {
            bench.file(path, "");
        }
        symlink("..", bench.cwd.join("src/up")).unwrap();
        let output = bench.call("find", json!({ "pattern": "*.rs" })).await;
        assert_eq!(said(&output), ".ci/e.rs\nsrc/a.rs\nsrc/deep/b.rs\nz.rs\n");
        let text = bench
            .good("find", json!({ "pattern": "*.rs", "path": "src" }))
            .await;
        assert_eq!(text, "src/a.rs\nsrc/deep/b.rs\n");
        let text = bench.good("find", json!({ "pattern": "src/*" })).await;
        assert_eq!(text, "src/a.rs\nsrc/deep/\nsrc/up\n");
        let inner = bench.cwd.join("src/deep").to_str().unwrap().to_owned();
        let text = bench
            .good("find", json!({ "pattern": "*", "path": inner }))
            .await;
        assert_eq!(text, format!("{inner}/b.rs\n"));
        let text = bench.good("find", json!({ "pattern": "*.c" })).await;
        assert_eq!(
            text,
            "[no matches for *.c; what .gitignore names is left out]\n"
        );
    }

    #[tokio::test]
    async fn a_long_list_is_cut() {
        let mut bench = Bench::new();
        for n in 0..30 {
            bench.file(&format!("f{n:02}"), "");
        }
        let text = bench
            .good("find", json!({ "pattern": "f*", "limit": 2 }))
            .await;
        let note = "[truncated: the first 2; narrow pattern or path, or raise limit]\n";
        assert_eq!(text, format!("f00\nf01\n{note}"));
        assert!(
            !bench
                .good("find", json!({ "pattern": "f*", "limit": 30 }))
                .await
                .contains('[')
        );
        bench.max_output_bytes = 200;
        let text = bench.good("find", json!({ "pattern": "f*" })).await;
        assert!(text.contains("f24\n[truncated: the first 25;"), "{text}");
    }

    #[tokio::test]
    async fn what_cannot_be_searched_says_why() {
        let bench = Bench::new();
        bench.file("file", "x");
        bench.file("closed/x", "x");
        let message = bench
            .bad("find", json!({ "pattern": "*", "path": "file" }))
            .await;
        assert_eq!(message, "file is a file, not a folder; use read");
        let message = bench.bad("find", json!({ "pattern": "../*" })).await;
        assert!(message.starts_with("the glob ../* leads out"), "{message}");
        let closed = bench.cwd.join("closed");
        if forbids(&closed, 0) {
            let text = bench.good("find", json!({ "pattern": "x*" })).await;
            assert!(text.contains("[1 folder could not be read]"), "{text}");
        }
        forbids(&closed, 0o755);
    }

    #[tokio::test]
    async fn an_aborted_turn_ends_the_walk() {
        let bench = Bench::new();
        bench.file("f", "x");
        let context = bench.context("find", &json!({ "pattern": "*" }));
        bench.cancel.cancel();
        let input = json!({ "pattern": "*" }).as_object().unwrap().clone();
        assert_eq!(find(input, &context).unwrap_err(), job::ABORTED);
    }
}
