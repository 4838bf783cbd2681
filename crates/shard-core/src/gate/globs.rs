//! Path globs: `*` stays within a folder, `**` crosses folders.

use std::path::Path;

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
    pub(super) fn touches_below(&self, place: Place<'_>) -> bool {
        let walk = ignore::WalkBuilder::new(place.real)
            .standard_filters(false)
            .follow_links(false)
            .build();
        for (nth, entry) in walk.enumerate() {
            let Ok(entry) = entry else { return true };
            let there = Place {
                real: entry.path(),
                ..place
            };
            if nth >= MAX_ENTRIES || self.touches(there) {
                return true;
            }
        }
        false
    }

    fn fits(&self, text: &str) -> bool {
        // `src/**` is about `src` too.
        self.matcher.is_match(text) || self.matcher.is_match(below(text, ""))
    }
}

/// How many files are looked at before a folder counts as holding what is looked for.
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
