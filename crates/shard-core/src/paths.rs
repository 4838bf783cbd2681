//! What a path in a tool call really is.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use shard_contracts::{PathFact, ToolContext};

use crate::tools::regular_file::{OpenError, in_procfs};

/// Resolves `given` against `cwd`: absolute, `.` and `..` gone, every symlink on the way followed.
/// Parts that do not exist yet are kept as they are, so that a file can be judged before it is
/// made. `~/` stands for the home folder only where a shell would expand it, so not here.
///
/// # Errors
/// When a part cannot be looked at, for instance because of a symlink loop.
pub fn resolve(cwd: &Path, given: &str) -> io::Result<PathBuf> {
    let mut existing = cwd.join(given);
    let mut missing: Vec<OsString> = Vec::new();
    loop {
        match existing.canonicalize() {
            Ok(mut real) => {
                for part in missing.into_iter().rev() {
                    push(&mut real, &part);
                }
                return Ok(real);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A dangling symlink exists as a link: what it points to is what would be made.
                if let Ok(target) = existing.read_link() {
                    let parent = existing.parent().unwrap_or(Path::new("/")).to_owned();
                    existing = parent.join(target);
                    if missing.len() > MAX_PARTS {
                        return Err(io::Error::other("too many symbolic links"));
                    }
                    missing.push(OsString::from(".")); // counts links; pushes nothing
                    continue;
                }
                match existing.components().next_back() {
                    Some(Component::Normal(name)) => missing.push(name.to_owned()),
                    Some(Component::ParentDir) => missing.push(OsString::from("..")),
                    _ => return Err(error),
                }
                existing.pop();
                if missing.len() > MAX_PARTS {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidInput,
                        "the path is too long",
                    ));
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// An absolute path with every symlink on the way followed; as it is, where that cannot be told.
pub(crate) fn real(path: &Path) -> PathBuf {
    resolve(Path::new("/"), &path.to_string_lossy()).unwrap_or_else(|_| path.to_owned())
}

/// More parts than a path can have.
const MAX_PARTS: usize = 4096;

fn push(real: &mut PathBuf, part: &OsString) {
    match part.to_str() {
        Some(".") => {}
        Some("..") => _ = real.pop(),
        _ => real.push(part),
    }
}

/// Resolves the paths of a call for the gate. One that cannot be resolved is given as it stands
/// below `cwd`, which the tool will fail on.
#[must_use]
pub fn facts(cwd: &Path, given: &[String]) -> Vec<PathFact> {
    let fact = |given: &String| PathFact {
        given: given.clone(),
        real: resolve(cwd, given).unwrap_or_else(|_| cwd.join(given)),
    };
    given.iter().map(fact).collect()
}

/// Resolves a path at the moment of use. The gate has judged what the path was a moment ago: if
/// it now leads elsewhere, it is not used.
///
/// # Errors
/// A message for the model.
pub fn resolve_judged(context: &ToolContext, given: &str) -> Result<PathBuf, String> {
    let real = resolve(&context.cwd, given)
        .map_err(|error| format!("cannot resolve the path {given}: {error}"))?;
    if leaves_through_procfs(&context.cwd, given) {
        return Err(format!("{given} {}", OpenError::Procfs));
    }
    let judged = context.paths.iter().find(|fact| fact.given == given);
    match judged {
        Some(fact) if fact.real == real => Ok(real),
        Some(_) => Err(format!(
            "{given} changed where it leads while permission was asked for; try again"
        )),
        None => Err(format!("{given} was not part of what was permitted")),
    }
}

/// Whether a link of procfs is on the way, such as `/proc/1/root` or what `/dev/stdin` leads to:
/// an open file or folder of some process, which no name in a call should stand for. This is
/// about clear messages; what procfs itself holds is refused when it is opened.
fn leaves_through_procfs(cwd: &Path, given: &str) -> bool {
    let mut at = PathBuf::from("/");
    let start = cwd.join(given);
    let mut left: Vec<OsString> = parts(&start);
    let mut links = 0;
    while let Some(part) = left.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&part);
        let Ok(target) = next.read_link() else {
            at = next;
            continue;
        };
        links += 1;
        if in_procfs(&at).unwrap_or(true) {
            return true;
        }
        if links > MAX_LINKS {
            return false;
        }
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        left.extend(parts(&target));
    }
    false
}

/// More links than the kernel follows.
const MAX_LINKS: usize = 64;

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let named = |part: Component<'_>| match part {
        Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
        _ => None,
    };
    path.components().rev().filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_is_what_its_links_say() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (work, out) = (root.join("w"), root.join("out"));
        std::fs::create_dir_all(work.join("src")).unwrap();
        std::fs::create_dir(&out).unwrap();
        symlink(&out, work.join("link")).unwrap();
        symlink("missing/target", work.join("dangling")).unwrap();
        symlink("loop-b", work.join("loop-a")).unwrap();
        symlink("loop-a", work.join("loop-b")).unwrap();
        let check =
            |given: &str, want: &Path| assert_eq!(resolve(&work, given).unwrap(), want, "{given}");
        check("src", &work.join("src"));
        check("", &work);
        check("src/../new/file.txt", &work.join("new/file.txt"));
        check("new/../../x", &root.join("x"));
        check("link/f", &out.join("f"));
        check("link/../x", &root.join("x"));
        check("dangling", &work.join("missing/target"));
        check("dangling/below", &work.join("missing/target/below"));
        check("/nowhere/at/all", Path::new("/nowhere/at/all"));
        assert!(resolve(&work, "loop-a").is_err());
    }
}
