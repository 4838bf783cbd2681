//! From the places that commands may write to, to what the kernel is told.
//!
//! The kernel's rules only open: a place opens with all below it. Where one of Shard's own folders
//! lies below a place, the entries of that place are opened one by one instead, without it.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use crate::own_folders::OwnFolders;

/// Where these places really are. Left out is what leads over a link that lies in one of them:
/// agents write there, so it may be theirs, of an earlier time even.
pub(super) fn without_links(places: &[PathBuf]) -> Vec<PathBuf> {
    let real: Vec<_> = places
        .iter()
        .filter_map(|place| place.canonicalize().ok())
        .collect();
    places
        .iter()
        .filter_map(|place| follow(place, &real))
        .collect()
}

/// How many links a path may lead over; the kernel's own limit.
const MAX_LINKS: usize = 40;

/// What a path leads to, over links outside of `untrusted` only.
fn follow(path: &Path, untrusted: &[PathBuf]) -> Option<PathBuf> {
    let mut at = PathBuf::from("/");
    let mut rest: Vec<OsString> = parts(path);
    let mut links = 0;
    while let Some(part) = rest.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&part);
        if !std::fs::symlink_metadata(&next).ok()?.is_symlink() {
            at = next;
            continue;
        }
        links += 1;
        if links > MAX_LINKS || untrusted.iter().any(|place| at.starts_with(place)) {
            return None;
        }
        let target = std::fs::read_link(&next).ok()?;
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        rest.extend(parts(&target));
    }
    Some(at)
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path
        .components()
        .rev()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

/// A place as it was found; another one at the same path is another one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) path: PathBuf,
    device: u64,
    inode: u64,
}

impl Opened {
    fn look(path: &Path) -> Option<Self> {
        let found = std::fs::symlink_metadata(path).ok()?;
        Some(Self {
            path: path.to_owned(),
            device: found.dev(),
            inode: found.ino(),
        })
    }
}

/// For so long after a change of its entries a folder is read again each time: clocks of file
/// systems go in steps, so a second change may leave the same time.
const SETTLED: Duration = Duration::from_secs(2);

/// What was found when places were looked at.
#[derive(Default)]
pub(super) struct Found {
    /// What can be opened of them.
    pub(super) opened: Vec<Opened>,
    /// The places themselves.
    places: Vec<Option<Opened>>,
    /// Folders whose entries were looked at one by one, some of which have thousands; with the time
    /// of their last change, if that was long enough ago.
    read: Vec<(PathBuf, Option<Duration>)>,
}

impl Found {
    /// Looks at places, for an agent that works in `cwd`. `now` counts from the epoch.
    pub(super) fn look(places: &[PathBuf], own: &OwnFolders, cwd: &Path, now: Duration) -> Self {
        let mut found = Self {
            places: places.iter().map(|place| Opened::look(place)).collect(),
            ..Self::default()
        };
        for place in places {
            found.open(place, own, cwd, now);
        }
        found
    }

    /// Whether another look at the same places would find the same. False where that is not known.
    pub(super) fn holds(&self, places: &[PathBuf]) -> bool {
        let same = |(folder, changed): &(PathBuf, Option<Duration>)| {
            changed.is_some() && changed_at(folder) == *changed
        };
        let now = places.iter().map(|place| Opened::look(place));
        now.zip(&self.places).all(|(now, was)| now == *was) && self.read.iter().all(same)
    }

    fn open(&mut self, place: &Path, own: &OwnFolders, cwd: &Path, now: Duration) {
        if own.hold(place, cwd) {
            return;
        }
        if !own.lie_below(place) {
            self.opened.extend(Opened::look(place));
            return;
        }
        // Before it is read, so that no change is missed.
        let changed = changed_at(place).filter(|changed| *changed + SETTLED < now);
        self.read.push((place.to_owned(), changed));
        for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
            // A link leads elsewhere, and would open that.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.open(&entry.path(), own, cwd, now);
            }
        }
    }
}

/// When the entries of a folder changed last, since the epoch. No program can set this time.
fn changed_at(folder: &Path) -> Option<Duration> {
    let found = std::fs::symlink_metadata(folder).ok()?;
    let seconds = Duration::from_secs(u64::try_from(found.ctime()).ok()?);
    Some(seconds + Duration::from_nanos(u64::try_from(found.ctime_nsec()).ok()?))
}

#[cfg(test)]
mod tests {
    use shard_types::time::now_ms;

    use super::*;

    fn now() -> Duration {
        Duration::from_millis(now_ms())
    }

    fn paths(places: &[&Path], own: &OwnFolders, cwd: &Path) -> Vec<PathBuf> {
        let places: Vec<PathBuf> = places.iter().map(|place| place.to_path_buf()).collect();
        let mut paths: Vec<_> = Found::look(&places, own, cwd, now())
            .opened
            .into_iter()
            .map(|opened| opened.path)
            .collect();
        paths.sort_unstable();
        paths
    }

    #[test]
    fn a_link_that_lies_where_agents_write_opens_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let at = |path: &str| root.join(path);
        for folder in ["work/sub", "home", "data/npm"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        let link = |to: &str, from: &str| std::os::unix::fs::symlink(to, at(from)).unwrap();
        link("../home", "work/target");
        link("../data/npm", "home/.npm");
        link("../work/target", "home/far");
        link("loop", "home/loop");
        let given = [
            "work",
            "work/target",
            "home/.npm",
            "home/far",
            "home/loop",
            "gone",
            "work/../data",
        ];
        let real = without_links(&given.map(at));
        assert_eq!(
            real,
            ["work", "data"].map(at),
            "as `home` is among them, by a link"
        );
        let real = without_links(&["work", "work/sub", "home/.npm", "home/loop"].map(at));
        assert_eq!(real, ["work", "work/sub", "data/npm"].map(at));
    }

    #[test]
    fn around_what_is_closed_the_rest_is_opened_one_by_one() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in [
            "work",
            ".config/shard",
            ".config/other",
            ".shard/worktrees/a",
        ] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("file"), "").unwrap();
        std::os::unix::fs::symlink("/etc", root.join("link")).unwrap();
        let own = OwnFolders::new(&root.join(".config/shard"), &root.join(".shard"));
        let at = |path: &str| root.join(path);
        let opened = |place: &Path, cwd: &str| paths(&[place], &own, &at(cwd));
        assert_eq!(
            opened(&root, "work"),
            [".config/other", "file", "work"].map(at)
        );
        assert_eq!(
            paths(&[&at("work"), &at("gone")], &own, &at("work")),
            [at("work")]
        );
        let tree = ".shard/worktrees/a";
        assert_eq!(opened(&at(tree), tree), [at(tree)]);
        assert!(opened(&at(tree), "work").is_empty(), "of another agent");
        for closed in [".shard", ".shard/worktrees", ".config/shard"] {
            assert!(opened(&at(closed), closed).is_empty(), "{closed}");
        }
    }

    #[test]
    fn a_look_holds_until_something_changes() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let at = |path: &str| root.join(path);
        for folder in ["home/.shard", "home/.config/shard", "home/work", "temp"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        let own = OwnFolders::new(&at("home/.config/shard"), &at("home/.shard"));
        let places = ["home", "temp", "gone"].map(at);
        let later = || now() + SETTLED * 2;
        let look = |now| Found::look(&places, &own, &at("home"), now);
        let fresh = look(now());
        assert!(!fresh.holds(&places), "the folders were made just now");
        let changes: [(&str, &dyn Fn()); 5] = [
            ("a new entry", &|| {
                std::fs::write(at("home/new"), "").unwrap()
            }),
            ("one further down", &|| {
                std::fs::create_dir(at("home/.config/other")).unwrap();
            }),
            ("another entry of that name", &|| {
                std::fs::write(at("home/newer"), "").unwrap();
                std::fs::rename(at("home/newer"), at("home/new")).unwrap();
            }),
            ("another place", &|| {
                std::fs::rename(at("temp"), at("old")).unwrap();
                std::fs::create_dir(at("temp")).unwrap();
            }),
            ("a place that is there again", &|| {
                std::fs::create_dir(at("gone")).unwrap();
            }),
        ];
        for (what, change) in changes {
            let settled = look(later());
            std::fs::write(at("home/work/file"), what).unwrap();
            assert!(settled.holds(&places), "before {what}");
            change();
            assert!(!settled.holds(&places), "after {what}");
            assert!(look(later()).holds(&places), "after another look");
        }
    }
}
