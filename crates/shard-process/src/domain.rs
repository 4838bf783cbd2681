//! Landlock domains: what a command may write, signal and look into.
//!
//! Owns how a domain is made. Where commands may write is the caller's decision. A domain is made
//! before the fork and entered after it, by the process that becomes the command: the reaper
//! above it stays outside, out of the reach of what it has to end.
//!
//! A domain can never be left or widened, and all that descends from a command is in it. Two
//! commands never share one: neither can signal, trace or read the memory of the other, nor of
//! any process outside.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, PathBeneath, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};

use crate::sys;

/// What confinement asks of the kernel, and no more: later versions restrict things that commands
/// may do, such as connecting to a socket by its path.
const WANTED: ABI = ABI::V6;

/// What the running kernel can do of confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Landlock {
    version: i32,
}

impl Landlock {
    /// Asks the kernel.
    #[must_use]
    pub fn here() -> Self {
        Self {
            version: sys::landlock_version().unwrap_or(0),
        }
    }

    /// The version of its interface; `None` where Landlock is not built in or not switched on.
    #[must_use]
    pub fn version(self) -> Option<i32> {
        (self.version > 0).then_some(self.version)
    }

    /// What it lacks, in words that complete "the kernel cannot …". Empty if confinement is whole.
    #[must_use]
    pub fn missing(self) -> Vec<&'static str> {
        [
            (
                1,
                "confine writing (Landlock is not built in or switched off)",
            ),
            (2, "let confined programs move files between folders"),
            (3, "keep files outside from being truncated"),
            (5, "keep devices outside from being controlled"),
            (6, "keep signals and abstract sockets inside"),
        ]
        .into_iter()
        .filter(|(since, _)| self.version < *since)
        .map(|(_, what)| what)
        .collect()
    }
}

/// What a command is confined to. Made once, entered by any number of commands.
#[derive(Debug)]
pub struct Domain {
    ruleset: OwnedFd,
}

impl Domain {
    /// A domain in which only these places, and what lies below them, can be written to. A file
    /// among them can be written, not replaced. Each path is taken as it stands: a link anywhere
    /// in it is not followed. Places that are not there are left out.
    ///
    /// Reading and executing stay free. `None` where the kernel has no Landlock.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn writing_only<'a>(
        places: impl IntoIterator<Item = &'a Path>,
    ) -> io::Result<Option<Self>> {
        let write = AccessFs::from_write(WANTED);
        let ruleset = with_scopes(Ruleset::default())
            .and_then(|ruleset| ruleset.handle_access(write))
            .and_then(Ruleset::create);
        let mut ruleset = ruleset.map_err(io::Error::other)?;
        for place in places {
            let Some(place) = open(place) else { continue };
            let access = access(&place, write)?;
            ruleset = ruleset
                .add_rule(PathBeneath::new(place, access))
                .map_err(io::Error::other)?;
        }
        Ok(Self::of(ruleset))
    }

    /// A domain that restricts no file, and hides the processes outside. `None` where the kernel
    /// has none that leaves all files alone.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn hiding_only() -> io::Result<Option<Self>> {
        let ruleset = match Landlock::here().version {
            ..=1 => return Ok(None),
            // There is no domain without any right to handle, so this one is granted everywhere.
            2..=5 => Ruleset::default()
                .handle_access(AccessFs::Refer)
                .and_then(Ruleset::create)
                .and_then(|ruleset| match open(&PathBuf::from("/")) {
                    Some(root) => ruleset.add_rule(PathBeneath::new(root, AccessFs::Refer)),
                    None => Ok(ruleset),
                }),
            _ => with_scopes(Ruleset::default()).and_then(Ruleset::create),
        };
        Ok(Self::of(ruleset.map_err(io::Error::other)?))
    }

    fn of(ruleset: RulesetCreated) -> Option<Self> {
        Option::<OwnedFd>::from(ruleset).map(|ruleset| Self { ruleset })
    }

    /// For the fork; entered with [`sys::enter_domain`].
    pub(crate) fn raw(&self) -> RawFd {
        self.ruleset.as_raw_fd()
    }
}

fn with_scopes(ruleset: Ruleset) -> Result<Ruleset, RulesetError> {
    ruleset.scope(Scope::from_all(WANTED))
}

fn open(place: &Path) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    openat2(CWD, place, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()
}

/// The kernel refuses rights over a file that only folders have.
fn access(place: impl AsFd, write: BitFlags<AccessFs>) -> io::Result<BitFlags<AccessFs>> {
    let is_folder = FileType::from_raw_mode(fstat(place)?.st_mode) == FileType::Directory;
    Ok(if is_folder {
        write
    } else {
        write & AccessFs::from_file(WANTED)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_shrinks_with_the_version() {
        let missing = |version| Landlock { version }.missing().len();
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6, 7].map(missing),
            [5, 4, 3, 2, 2, 1, 0, 0]
        );
        assert_eq!(Landlock { version: 0 }.version(), None);
    }
}
