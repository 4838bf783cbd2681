//! What people write down for agents: `SHARD.md` and `AGENTS.md`.
//!
//! The user's own file always counts. A project's files are instructions by whoever wrote the
//! project, so they count only when a person trusts it for this run; until then their presence is
//! told and nothing of them is read.

use std::path::{Path, PathBuf};

use crate::tools::regular_file::{OpenError, read_start};

/// How much of one file is taken, in bytes.
const FILE_BYTES: usize = 64 * 1024;

/// Where to look, and what counts.
pub(crate) struct ContextSources<'a> {
    pub(crate) cwd: &'a Path,
    /// The folder of the user's configuration.
    pub(crate) config_dir: &'a Path,
    pub(crate) trust_project: bool,
    /// Whether `AGENTS.md` counts beside `SHARD.md`.
    pub(crate) agents_md: bool,
}

/// The texts, outermost first, as a part of the system prompt; and what is worth telling a person.
pub(crate) fn load(sources: &ContextSources<'_>) -> (String, Vec<String>) {
    let (mut text, mut told) = (String::new(), Vec::new());
    take(&sources.config_dir.join("SHARD.md"), &mut text, &mut told);
    let project = project_files(sources);
    if sources.trust_project {
        project
            .iter()
            .for_each(|path| take(path, &mut text, &mut told));
    } else if !project.is_empty() {
        let names: Vec<_> = project
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        told.push(format!(
            "not read, as the project is not trusted: {}; --trust-project reads them",
            names.join(", ")
        ));
    }
    (text, told)
}

fn project_files(sources: &ContextSources<'_>) -> Vec<PathBuf> {
    let names = ["SHARD.md", "AGENTS.md"];
    let names = if sources.agents_md {
        &names[..]
    } else {
        &names[..1]
    };
    let folders = crate::rule_files::project_folders(sources.cwd);
    let files = folders
        .iter()
        .rev()
        .flat_map(|folder| names.iter().map(|name| folder.join(name)));
    files.filter(|path| path.is_file()).collect()
}

fn take(path: &Path, text: &mut String, told: &mut Vec<String>) {
    match read(path) {
        Ok((content, cut)) => {
            text.push_str(&format!(
                "\n## From {}\n\n{}\n",
                path.display(),
                content.trim()
            ));
            if cut {
                told.push(format!(
                    "{} is longer than {FILE_BYTES} bytes; only its beginning is used",
                    path.display()
                ));
            }
        }
        Err(OpenError::Missing) => {}
        Err(error) => told.push(format!("not read: {} {error}", path.display())),
    }
}

fn read(path: &Path) -> Result<(String, bool), OpenError> {
    let mut bytes = read_start(path, FILE_BYTES)?;
    let cut = bytes.len() > FILE_BYTES;
    bytes.truncate(FILE_BYTES);
    Ok((String::from_utf8_lossy(&bytes).into_owned(), cut))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("config/SHARD.md", "user");
        write("AGENTS.md", "above the repository");
        write("repo/.git/HEAD", "");
        write("repo/SHARD.md", "outer shard");
        write("repo/AGENTS.md", "outer agents");
        write("repo/sub/AGENTS.md", "inner agents");
        write("repo/CLAUDE.md", "not ours");
        dir
    }

    fn texts(root: &Path, trust_project: bool, agents_md: bool) -> (Vec<String>, Vec<String>) {
        let (text, told) = load(&ContextSources {
            cwd: &root.join("repo/sub"),
            config_dir: &root.join("config"),
            trust_project,
            agents_md,
        });
        let words = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        (words.map(str::to_owned).collect(), told)
    }

    #[test]
    fn a_project_speaks_only_when_it_is_trusted() {
        let dir = setup();
        let (words, told) = texts(dir.path(), false, true);
        assert_eq!(words, ["user"]);
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("repo/sub/AGENTS.md"), "{told:?}");
        let (words, told) = texts(dir.path(), true, true);
        assert_eq!(
            words,
            ["user", "outer shard", "outer agents", "inner agents"]
        );
        assert_eq!(told, [""; 0]);
        assert_eq!(texts(dir.path(), true, false).0, ["user", "outer shard"]);
    }

    #[test]
    fn a_long_file_is_cut_and_that_is_told() {
        let dir = setup();
        std::fs::write(dir.path().join("config/SHARD.md"), "x".repeat(70_000)).unwrap();
        let (words, told) = texts(dir.path(), true, true);
        assert_eq!(words[0].len(), 65_536);
        assert_eq!(told.len(), 1);
    }
}
