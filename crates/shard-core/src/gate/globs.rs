//! Path globs: `*` stays within a folder, `**` crosses folders.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use globset::{GlobBuilder, GlobMatcher};

/// A path as rules see it: what it really is, and where the agent works.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// Absolute, links resolved.
    pub(super) real: &'a Path,
    /// The agent's folder.
    pub(super) cwd: &'a Path,
}

/// One pattern.
#[derive(Debug, Clone)]
pub(super) struct PathGlob {
    matcher: GlobMatcher,
    /// Says for certain where it starts: at the root.
    absolute: bool,
    /// Says for certain where it starts: at the agent's folder.
    relative: bool,
}

impl PathGlob {
    /// Compiles a pattern.
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        // The gate knows no home folder: a refusal of `~/x` holds for an `x` below any folder,
        // and permission never rests on it.
        let below_home = pattern.strip_prefix("~/").map(|rest| format!("/**/{rest}"));
        let pattern = below_home.as_deref().unwrap_or(pattern);
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let matcher = GlobBuilder::new(pattern)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(|error| error.to_string())?
            .compile_matcher();
        Ok(Self {
            matcher,
            absolute: pattern.starts_with('/') && below_home.is_none(),
            relative: !pattern.starts_with('/'),
        })
    }

    /// Whether a path, and what lies below it if it is a folder, is covered for certain. A
    /// relative pattern never covers what is outside the agent's folder.
    pub(super) fn covers(&self, place: Place<'_>) -> bool {
        let folder = place.real.is_dir();
        let whole = |text: &str| {
            self.fits(text) && (!folder || self.matcher.is_match(below(text, "\u{1}/\u{1}")))
        };
        let inside = relative(place).filter(|_| self.relative);
        inside.is_some_and(|text| whole(&text))
            || (self.absolute && whole(&place.real.to_string_lossy()))
    }

    /// Whether a path is touched, by either of its names.
    pub(super) fn touches(&self, place: Place<'_>) -> bool {
        relative(place).is_some_and(|text| self.fits(&text))
            || self.fits(&place.real.to_string_lossy())
    }

    /// Whether something below a folder is touched. Looks, as far as it is reasonable; an answer
    /// that would take too long is yes.
    pub(super) fn touches_below(&self, place: Place<'_>, seen: &Seen) -> bool {
        let tree = seen.tree(place.real);
        let touched = |real: &PathBuf| self.touches(Place { real, ..place });
        !tree.whole || tree.paths.iter().any(touched)
    }

    fn fits(&self, text: &str) -> bool {
        // `src/**` is about `src` too.
        self.matcher.is_match(text) || self.matcher.is_match(below(text, ""))
    }
}

/// The folders that were walked for one call, so that each is walked once for all rules.
#[derive(Debug, Default)]
pub(super) struct Seen {
    trees: RefCell<HashMap<PathBuf, Rc<Tree>>>,
    entries: Cell<usize>,
}

#[derive(Debug)]
struct Tree {
    paths: Vec<PathBuf>,
    /// Whether these are all.
    whole: bool,
}

impl Seen {
    fn tree(&self, root: &Path) -> Rc<Tree> {
        if let Some(tree) = self.trees.borrow().get(root) {
            return Rc::clone(tree);
        }
        let tree = Rc::new(self.walk(root));
        let kept = Rc::clone(&tree);
        self.trees.borrow_mut().insert(root.to_owned(), kept);
        tree
    }

    fn walk(&self, root: &Path) -> Tree {
        let walk = ignore::WalkBuilder::new(root)
            .standard_filters(false)
            .follow_links(false)
            .build();
        let mut paths = Vec::new();
        for entry in walk {
            let room = self.entries.get() < MAX_ENTRIES;
            let (Ok(entry), true) = (entry, room) else {
                return Tree {
                    paths,
                    whole: false,
                };
            };
            self.entries.set(self.entries.get() + 1);
            paths.push(entry.into_path());
        }
        Tree { paths, whole: true }
    }
}

/// How many files are looked at for a call before a folder counts as holding what is looked for.
const MAX_ENTRIES: usize = 20_000;

fn below(folder: &str, name: &str) -> String {
    match folder {
        "." => name.to_owned(),
        _ => format!("{}/{name}", folder.trim_end_matches('/')),
    }
}

fn relative(place: Place<'_>) -> Option<String> {
    let inside = place.real.strip_prefix(place.cwd).ok()?;
    let text = inside.to_string_lossy();
    Some(if text.is_empty() {
        ".".to_owned()
    } else {
        text.into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_folders() {
        let cwd = Path::new("/w/project");
        let check = |pattern: &str, real: &str, covers: bool, touches: bool| {
            let glob = PathGlob::new(pattern).unwrap();
            let place = Place {
                real: Path::new(real),
                cwd,
            };
            assert_eq!(glob.covers(place), covers, "{pattern} covers {real}");
            assert_eq!(glob.touches(place), touches, "{pattern} touches {real}");
        };
        check("src/*", "/w/project/src/a.rs", true, true);
        check("src/*", "/w/project/src/a/b.rs", false, false);
        check("src/**", "/w/project/src/a/b.rs", true, true);
        check("src/**", "/w/project/src", true, true);
        check("src/**", "/w/project/srcs/a", false, false);
        check("./src/**", "/w/project/src/a", true, true);
        check("**", "/w/project", true, true);
        check("**", "/etc/passwd", false, true);
        check("**/.env", "/w/other/.env", false, true);
        check("**/.env", "/w/project/.env", true, true);
        check(".env", "/w/project/.env", true, true);
        check(".env", "/w/project/sub/.env", false, false);
        check("/w/project/src/**", "/w/project/src/a", true, true);
        check("/etc/*", "/etc/passwd", true, true);
        check("/etc/*", "/etc/ssl/cert", false, false);
        check("~/.ssh/**", "/home/me/.ssh/id", false, true);
    }
}
