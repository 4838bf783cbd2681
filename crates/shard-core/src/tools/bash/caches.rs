//! Where the usual tools keep what they download and compile, outside of any project.
//!
//! Named are caches alone: what a person's shell or tools would later execute by themselves
//! (`~/.cargo/bin`, `~/.gradle/init.d`, a shell's own cache) is left out.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::environment::lookup;

/// What one tool writes to.
struct Cache {
    /// The program that uses it. If it is found, what is not there yet is made.
    program: &'static str,
    /// The variable that says where its folder is.
    variable: Option<&'static str>,
    /// Where that is otherwise.
    default: Folder,
    /// The parts of the folder to write to; the folder itself if empty.
    parts: &'static [&'static str],
}

enum Folder {
    /// Nowhere, unless the variable says so.
    Unset,
    /// Below the home directory.
    Home(&'static str),
    /// Below `$XDG_CACHE_HOME`.
    Cache(&'static str),
    /// Below `$XDG_DATA_HOME`.
    Data(&'static str),
}

use Folder::{Cache as InCache, Data, Home, Unset};

const fn home(
    program: &'static str,
    folder: &'static str,
    parts: &'static [&'static str],
) -> Cache {
    Cache {
        program,
        variable: None,
        default: Home(folder),
        parts,
    }
}

const fn cache(program: &'static str, folder: &'static str) -> Cache {
    Cache {
        program,
        variable: None,
        default: InCache(folder),
        parts: &[],
    }
}

const fn named(cache: Cache, variable: &'static str) -> Cache {
    Cache {
        variable: Some(variable),
        ..cache
    }
}

const CACHES: &[Cache] = &[
    named(home("cargo", ".cargo", &["registry", "git"]), "CARGO_HOME"),
    Cache {
        program: "cargo",
        variable: Some("CARGO_TARGET_DIR"),
        default: Unset,
        parts: &[],
    },
    named(home("npm", ".npm", &[]), "npm_config_cache"),
    cache("node", "node"),
    cache("node", "node-gyp"),
    cache("electron", "electron"),
    cache("cypress", "Cypress"),
    cache("playwright", "ms-playwright"),
    named(cache("yarn", "yarn"), "YARN_CACHE_FOLDER"),
    home("yarn", ".yarn/berry", &["cache", "index"]),
    cache("pnpm", "pnpm"),
    Cache {
        program: "pnpm",
        variable: None,
        default: Data("pnpm"),
        parts: &["store"],
    },
    named(
        home("bun", ".bun/install", &["cache"]),
        "BUN_INSTALL_CACHE_DIR",
    ),
    named(cache("deno", "deno"), "DENO_DIR"),
    named(cache("pip", "pip"), "PIP_CACHE_DIR"),
    named(cache("uv", "uv"), "UV_CACHE_DIR"),
    cache("poetry", "pypoetry"),
    cache("pipenv", "pipenv"),
    named(cache("pre-commit", "pre-commit"), "PRE_COMMIT_HOME"),
    cache("black", "black"),
    named(cache("go", "go-build"), "GOCACHE"),
    named(home("go", "go", &["pkg"]), "GOPATH"),
    Cache {
        program: "go",
        variable: Some("GOMODCACHE"),
        default: Unset,
        parts: &[],
    },
    cache("golangci-lint", "golangci-lint"),
    named(
        home(
            "gradle",
            ".gradle",
            &[
                "caches",
                "daemon",
                "wrapper",
                "native",
                "notifications",
                ".tmp",
            ],
        ),
        "GRADLE_USER_HOME",
    ),
    home("java", ".m2", &["repository", "wrapper"]),
    home("sbt", ".ivy2", &["cache"]),
    cache("cs", "coursier"),
    home("dotnet", ".nuget", &["packages"]),
    Cache {
        program: "dotnet",
        variable: None,
        default: Data("NuGet"),
        parts: &[],
    },
    home("bundle", ".bundle", &["cache"]),
    cache("composer", "composer"),
    home("mix", ".hex", &["packages"]),
    cache("rebar3", "rebar3"),
    home(
        "dart",
        ".pub-cache",
        &["hosted", "hosted-hashes", "git", "_temp"],
    ),
    home("cabal", ".cabal", &["packages"]),
    cache("cabal", "cabal"),
    cache("zig", "zig"),
    named(cache("ccache", "ccache"), "CCACHE_DIR"),
    home("ccache", ".ccache", &[]),
    named(cache("sccache", "sccache"), "SCCACHE_DIR"),
    cache("bazel", "bazel"),
    cache("bazelisk", "bazelisk"),
];

/// Files that cargo locks in its home, beside the caches.
const CARGO_LOCKS: [&str; 2] = [".package-cache", ".package-cache-mutate"];

/// Caches that are there, or were made because their tool is. The paths are as configured, with
/// any links in them.
pub(super) fn find(variables: &[(OsString, OsString)], home: Option<&Path>) -> Vec<PathBuf> {
    let found = Found { variables, home };
    let mut places: Vec<PathBuf> = CACHES.iter().flat_map(|cache| found.parts(cache)).collect();
    if let Some(cargo) = found.folder(&CACHES[0]).filter(|cargo| cargo.is_dir()) {
        places.extend(
            CARGO_LOCKS
                .iter()
                .map(|name| cargo.join(name))
                .filter(|lock| {
                    let flags =
                        OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    rustix::fs::open(lock, flags, Mode::from_raw_mode(0o644)).is_ok()
                }),
        );
    }
    places
}

struct Found<'a> {
    variables: &'a [(OsString, OsString)],
    home: Option<&'a Path>,
}

impl Found<'_> {
    fn variable(&self, name: &str) -> Option<PathBuf> {
        // Some of them may be lists; what is made goes to the first.
        let value = std::env::split_paths(lookup(self.variables, name)?).next()?;
        value.is_absolute().then_some(value)
    }

    fn folder(&self, cache: &Cache) -> Option<PathBuf> {
        let below = |variable: &str, default: &str| {
            self.variable(variable)
                .or(self.home.map(|home| home.join(default)))
        };
        cache
            .variable
            .and_then(|name| self.variable(name))
            .or_else(|| match cache.default {
                Unset => None,
                Home(folder) => Some(self.home?.join(folder)),
                InCache(folder) => Some(below("XDG_CACHE_HOME", ".cache")?.join(folder)),
                Data(folder) => Some(below("XDG_DATA_HOME", ".local/share")?.join(folder)),
            })
    }

    fn parts(&self, cache: &Cache) -> Vec<PathBuf> {
        let Some(folder) = self.folder(cache) else {
            return Vec::new();
        };
        let parts = match cache.parts {
            [] => vec![folder],
            parts => parts.iter().map(|part| folder.join(part)).collect(),
        };
        parts
            .into_iter()
            .filter(|part| part.is_dir() || self.make(cache, part))
            .collect()
    }

    fn make(&self, cache: &Cache, folder: &Path) -> bool {
        self.has_program(cache.program) && std::fs::create_dir_all(folder).is_ok()
    }

    fn has_program(&self, name: &str) -> bool {
        let Some(path) = lookup(self.variables, "PATH") else {
            return false;
        };
        std::env::split_paths(path).any(|folder| folder.is_absolute() && folder.join(name).exists())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_made_for_tools_that_are_there_and_follow_their_variables() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        std::fs::create_dir_all(at("bin")).unwrap();
        for program in ["cargo", "go"] {
            std::fs::write(at("bin").join(program), "").unwrap();
        }
        std::fs::create_dir_all(at("home/.npm")).unwrap();
        let variables = [
            ("PATH".into(), at("bin").into_os_string()),
            ("CARGO_HOME".into(), at("crates").into_os_string()),
            ("GOMODCACHE".into(), "relative".into()),
        ];
        let mut found = find(&variables, Some(&at("home")));
        found.sort_unstable();
        let mut want = [
            "crates/registry",
            "crates/git",
            "crates/.package-cache",
            "crates/.package-cache-mutate",
            "home/.npm",
            "home/.cache/go-build",
            "home/go/pkg",
        ]
        .map(at);
        want.sort_unstable();
        assert_eq!(found, want);
        assert!(found.iter().all(|place| place.exists()));
        assert!(!at("home/.gradle").exists());
    }
}
