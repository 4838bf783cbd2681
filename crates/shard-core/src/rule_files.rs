//! Finding permission rules: in the configuration, in the user's folder and in the project.
//!
//! Order is nearest first: the working directory and its ancestors up to the repository's root,
//! then the user's configuration, then the user's rule files. Allow rules of a project count only
//! when the project is trusted; what it denies or asks for always counts.

use std::io;
use std::path::{Path, PathBuf};

use shard_config::{Permissions, RuleEntry, parse_rules};

use crate::gate::RuleLayer;
use crate::tools::regular_file::read_text;

/// The longest file of rules, in bytes.
const FILE_BYTES: usize = 1 << 20;

/// Where rules are looked for.
pub struct RuleSources<'a> {
    /// The folder that the agent works in.
    pub cwd: &'a Path,
    /// Shard's state folder; the user's rule files are in `rules/` there.
    pub state_home: &'a Path,
    /// The configuration's file.
    pub config_path: &'a Path,
    /// What the configuration says.
    pub permissions: &'a Permissions,
    /// Whether the project's allow rules count.
    pub trust_project: bool,
}

/// Every layer of rules, nearest first, and what else was wrong with the files: what makes every
/// call ask stands in the layers.
#[must_use]
pub fn load(sources: &RuleSources<'_>) -> (Vec<RuleLayer>, Vec<String>) {
    let mut problems = Vec::new();
    let mut layers = Vec::new();
    for folder in project_folders(sources.cwd) {
        // The user's own state may lie in a folder above the working directory.
        let rules = folder.join(".shard/rules");
        if rules != sources.state_home.join("rules") {
            layers.extend(folder_layers(&rules, sources.trust_project, &mut problems));
        }
    }
    layers.push(RuleLayer {
        told: true,
        ..layer(sources.config_path, true, &sources.permissions.rules)
    });
    layers.extend(folder_layers(
        &sources.state_home.join("rules"),
        true,
        &mut problems,
    ));
    layers.retain(|layer| !layer.rules.is_empty() || !layer.broken_deny.is_empty());
    (layers, problems)
}

/// The working directory and its ancestors up to the root of its repository. Without a repository
/// the working directory alone: nobody said where the project ends.
pub(crate) fn project_folders(cwd: &Path) -> Vec<PathBuf> {
    let folders: Vec<_> = cwd.ancestors().map(Path::to_owned).collect();
    let root = folders
        .iter()
        .position(|folder| folder.join(".git").exists())
        .unwrap_or(0);
    folders.into_iter().take(root + 1).collect()
}

fn folder_layers(folder: &Path, trusted: bool, problems: &mut Vec<String>) -> Vec<RuleLayer> {
    match rule_paths(folder) {
        Ok(paths) => paths
            .iter()
            .map(|path| file_layer(path, trusted, problems))
            .collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            let problem = format!("{} cannot be listed: {error}", folder.display());
            vec![broken_layer(folder, trusted, problem)]
        }
    }
}

fn rule_paths(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for file in std::fs::read_dir(folder)? {
        let path = file?.path();
        if path.extension().is_some_and(|ext| ext == "json") {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

fn file_layer(path: &Path, trusted: bool, problems: &mut Vec<String>) -> RuleLayer {
    let parsed = read_text(path, FILE_BYTES)
        .map_err(|error| format!("{} {error}", path.display()))
        .and_then(|text| parse_rules(&text, path).map_err(|error| error.to_string()));
    match parsed {
        Ok(parsed) => {
            let in_layer = |key: &str| {
                let index = |entry: &RuleEntry| match entry {
                    RuleEntry::Invalid(invalid) if entry.fails_closed() => Some(invalid.index),
                    _ => None,
                };
                let mut failing = parsed.rules.iter().filter_map(index);
                failing.any(|index| key == format!("rules[{index}]"))
            };
            let warnings = parsed.warnings.iter();
            let rest = warnings.filter(|warning| !in_layer(&warning.key));
            problems.extend(rest.map(ToString::to_string));
            layer(path, trusted, &parsed.rules)
        }
        Err(problem) => broken_layer(path, trusted, problem),
    }
}

/// What it was meant to refuse is not known, so nothing runs unasked.
fn broken_layer(path: &Path, trusted: bool, problem: String) -> RuleLayer {
    RuleLayer {
        source: path.display().to_string(),
        trusted,
        rules: Vec::new(),
        broken_deny: vec![problem],
        told: false,
    }
}

fn layer(path: &Path, trusted: bool, entries: &[RuleEntry]) -> RuleLayer {
    let broken = entries.iter().filter_map(|entry| match entry {
        RuleEntry::Invalid(invalid) if entry.fails_closed() => Some(format!(
            "{}: rule {} cannot be read: {}",
            path.display(),
            invalid.index,
            invalid.reason
        )),
        _ => None,
    });
    RuleLayer {
        source: path.display().to_string(),
        trusted,
        broken_deny: broken.collect(),
        told: false,
        rules: entries
            .iter()
            .filter_map(RuleEntry::valid)
            .cloned()
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use shard_types::RuleAction;

    use super::*;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn load_from(cwd: &Path, trust_project: bool) -> (Vec<RuleLayer>, Vec<String>) {
        load(&RuleSources {
            cwd,
            state_home: Path::new("/nowhere"),
            config_path: Path::new("/config.json"),
            permissions: &Permissions::default(),
            trust_project,
        })
    }

    #[test]
    fn rules_are_found_nearest_first_and_a_broken_file_fails_closed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let (repo, state) = (root.join("repo"), root.join("state"));
        let rule = |tool: &str| format!(r#"{{"rules":[{{"action":"deny","tool":"{tool}"}}]}}"#);
        write(&repo.join(".git/HEAD"), "");
        write(&root.join(".shard/rules/outside.json"), &rule("outside"));
        write(&repo.join(".shard/rules/a.json"), &rule("outer"));
        write(&repo.join("sub/.shard/rules/a.json"), &rule("inner"));
        write(&repo.join("sub/.shard/rules/notes.txt"), "not rules");
        write(&state.join("rules/b.json"), &rule("user"));
        write(&state.join("rules/c.json"), "{ broken");
        let invalid = r#"{"rules":[{"action":"deny","tool":7},{"action":"allow","tool":7}]}"#;
        write(&state.join("rules/d.json"), invalid);
        let permissions: Permissions = serde_json::from_str(
            r#"{"rules":[{"action":"allow","tool":"config"},{"action":"deny","tool":7}]}"#,
        )
        .unwrap();
        let (layers, problems) = load(&RuleSources {
            cwd: &repo.join("sub"),
            state_home: &state,
            config_path: Path::new("/config.json"),
            permissions: &permissions,
            trust_project: false,
        });
        let seen: Vec<_> = layers
            .iter()
            .map(|layer| {
                (
                    layer.rules.first().map(|rule| rule.tool.as_str()),
                    layer.trusted,
                    layer.broken_deny.len(),
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                (Some("inner"), false, 0),
                (Some("outer"), false, 0),
                (Some("config"), true, 1),
                (Some("user"), true, 0),
                (None, true, 1),
                (None, true, 1)
            ]
        );
        let broken = layers.iter().skip(4).map(|layer| &layer.broken_deny[0]);
        for (text, name) in broken.zip(["c.json", "d.json: rule 0"]) {
            assert!(text.contains(name), "{text}");
        }
        assert_eq!(layers[2].rules[0].action, RuleAction::Allow);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("rules[1]"), "{problems:?}");
    }

    #[test]
    fn a_folder_that_cannot_be_listed_fails_closed() {
        let dir = tempfile::tempdir().unwrap();
        assert!(load_from(dir.path(), true).0.is_empty());
        write(&dir.path().join(".shard/rules"), "no folder");
        let (layers, problems) = load_from(dir.path(), false);
        assert_eq!(layers.len(), 1);
        let broken = layers[0].broken_deny.concat();
        assert!(broken.contains(".shard/rules cannot be listed"), "{broken}");
        assert_eq!(problems, [""; 0], "told once, by the layer");
    }

    #[test]
    fn what_is_no_file_of_rules_is_not_waited_for_and_fails_closed() {
        let dir = tempfile::tempdir().unwrap();
        let rules = dir.path().join(".shard/rules");
        let huge = format!(r#"{{"rules":[]}}{}"#, " ".repeat(FILE_BYTES));
        write(&rules.join("huge.json"), &huge);
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mkfifoat(rustix::fs::CWD, rules.join("fifo.json"), mode).unwrap();
        std::os::unix::fs::symlink("/dev/zero", rules.join("endless.json")).unwrap();
        let (layers, _) = load_from(dir.path(), false);
        let broken = |layer: &RuleLayer| layer.broken_deny.concat();
        let broken: Vec<_> = layers.iter().map(broken).collect();
        assert_eq!(broken.len(), 3, "{broken:?}");
        assert!(broken[0].contains("endless.json is a device"), "{broken:?}");
        assert!(broken[1].contains("fifo.json is a FIFO"), "{broken:?}");
        assert!(broken[2].contains("huge.json has more than"), "{broken:?}");
    }
}
