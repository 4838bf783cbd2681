//! Choosing paths by glob, and listing what was found.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use shard_contracts::ToolOutput;
use shard_types::{ListedPath, PathKind, RenderDescriptor};

use super::visible;

/// Bytes of an output that are kept for the notes at its end.
const NOTES: usize = 400;

/// Chooses paths by their place below the folder that is walked.
#[derive(Debug)]
pub(crate) struct Filter {
    glob: GlobMatcher,
    folders_only: bool,
    negated: bool,
}

impl Filter {
    /// A pattern without a slash is about the name at any depth; one after `!` chooses all else.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let shown = visible::line(pattern);
        let (negated, plain) = match pattern.strip_prefix('!') {
            Some(plain) => (true, plain),
            None => (false, pattern),
        };
        let plain = plain.strip_prefix("./").unwrap_or(plain);
        if plain.starts_with('/') || plain.split('/').any(|part| part == "..") {
            return Err(format!(
                "the glob {shown} leads out of the folder that is searched; give that folder as path"
            ));
        }
        let folders_only = plain.ends_with('/');
        let plain = plain.trim_end_matches('/');
        let whole = match plain.contains('/') {
            true => plain.to_owned(),
            false => format!("**/{plain}"),
        };
        let glob = GlobBuilder::new(&whole).literal_separator(true).build();
        let glob =
            glob.map_err(|error| format!("the glob {shown} is not valid: {}", error.kind()))?;
        Ok(Self {
            glob: glob.compile_matcher(),
            folders_only,
            negated,
        })
    }

    /// Whether it is about this path, relative to the folder that is walked.
    pub(crate) fn matches(&self, below: &Path, kind: PathKind) -> bool {
        let of_kind = kind == PathKind::Dir || !self.folders_only;
        (of_kind && self.glob.is_match(below)) != self.negated
    }
}

/// A path below `given`, put so that another call can use it.
pub(crate) fn shown(given: &str, below: &Path) -> String {
    let below = visible::path(below);
    match given.trim_end_matches('/') {
        "." => below,
        "" => format!("/{below}"),
        given if below.is_empty() => visible::line(given).into_owned(),
        given => format!("{}/{below}", visible::line(given)),
    }
}

/// Rows for the model and for clients, until there is no more room.
pub(crate) struct Listing {
    text: String,
    paths: Vec<ListedPath>,
    room: usize,
}

impl Listing {
    /// An empty one for an output of at most `max` bytes.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            text: String::new(),
            paths: Vec::new(),
            room: max.saturating_sub(NOTES).max(max / 2),
        }
    }

    /// Adds a row with its hint beside it; false when it does not fit.
    pub(crate) fn add(&mut self, path: &ListedPath) -> bool {
        let text = match &path.hint {
            None => path.path.clone(),
            Some(hint) => format!("{} {hint}", path.path),
        };
        let fits = self.add_text(&text);
        if fits {
            self.paths.push(path.clone());
        }
        fits
    }

    /// Adds a line for the model; false when it does not fit.
    pub(crate) fn add_text(&mut self, line: &str) -> bool {
        let fits = self.text.len() + line.len() < self.room;
        if fits {
            self.text += line;
            self.text.push('\n');
        }
        fits
    }

    /// Adds a row for clients.
    pub(crate) fn add_path(&mut self, path: ListedPath) {
        self.paths.push(path);
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }

    /// The output, with notes at its end.
    pub(crate) fn output(mut self, notes: impl IntoIterator<Item = String>) -> ToolOutput {
        for note in notes {
            self.text += &format!("[{note}]\n");
        }
        ToolOutput::text(self.text).with_render(RenderDescriptor::PathList { paths: self.paths })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_is_about_the_place_below_the_folder() {
        let check = |pattern: &str, path: &str, want: bool| {
            let filter = Filter::new(pattern).unwrap();
            let got = filter.matches(Path::new(path), PathKind::File);
            assert_eq!(got, want, "{pattern} {path}");
        };
        check("*.rs", "a.rs", true);
        check("*.rs", "src/deep/a.rs", true);
        check("./*.rs", "src/a.rs", true);
        check("src/*.rs", "src/a.rs", true);
        check("src/*.rs", "src/deep/a.rs", false);
        check("src/*.rs", "x/src/a.rs", false);
        check("**/*.md", "README.md", true);
        check("**/*.md", "a/b/c.md", true);
        check("*.{js,ts}", "web/a.ts", true);
        check("src/**", "src/a/b", true);
        check("target/", "target", false);
        check("!*.min.js", "web/a.min.js", false);
        check("!*.min.js", "web/a.js", true);
        assert!(
            Filter::new("target/")
                .unwrap()
                .matches(Path::new("target"), PathKind::Dir)
        );
    }

    #[test]
    fn a_bad_glob_says_what_is_wrong() {
        let bad = |pattern: &str| Filter::new(pattern).unwrap_err();
        assert_eq!(
            bad("a[b"),
            "the glob a[b is not valid: unclosed character class; missing ']'"
        );
        let out = "leads out of the folder that is searched; give that folder as path";
        assert_eq!(bad("../*"), format!("the glob ../* {out}"));
        assert_eq!(bad("a/../../b"), format!("the glob a/../../b {out}"));
        assert_eq!(bad("/etc/*"), format!("the glob /etc/* {out}"));
    }

    #[test]
    fn a_found_path_can_be_used_again() {
        let below = Path::new("a/b");
        assert_eq!(shown(".", below), "a/b");
        assert_eq!(shown("src/", below), "src/a/b");
        assert_eq!(shown("/", below), "/a/b");
        assert_eq!(shown("f.txt", Path::new("")), "f.txt");
    }
}
