//! A repository with a user beside it, for the tests of all kinds of resources.

use super::*;

pub(super) struct Bench {
    dir: tempfile::TempDir,
    pub(super) roots: Roots,
    pub(super) permissions: Permissions,
}

impl Bench {
    /// An agent works in `repo/sub`; the repository begins at `repo`. Nothing else is there.
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("repo/.git")).unwrap();
        std::fs::create_dir_all(root.join("repo/sub")).unwrap();
        let roots = Roots {
            cwd: root.join("repo/sub"),
            config_path: root.join("config/config.json"),
            state_home: root.join("state"),
            home: Some(root.join("home")),
            trust_project: true,
            agents_md: true,
        };
        Self {
            dir,
            roots,
            permissions: Permissions::default(),
        }
    }

    pub(super) fn untrusted() -> Self {
        let mut bench = Self::new();
        bench.roots.trust_project = false;
        bench
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A skill whose description is its place.
    pub(super) fn skill(&self, folder: &str, name: &str) {
        let text = format!("---\nname: {name}\ndescription: of {folder}\n---\nThe body.\n");
        self.write(&format!("{folder}/SKILL.md"), &text);
    }

    pub(super) fn fifo(&self, path: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
    }

    pub(super) fn find(&self) -> Resources {
        Resources::find(&self.roots, &self.permissions)
    }

    /// Each thing that was found, on one line: its path, whether it counts, and what is told.
    pub(super) fn told(&self) -> Vec<String> {
        let root = self.path("");
        let line = |found: &Found| {
            let path = found.path.strip_prefix(&root).unwrap().display();
            let active = if found.active { "+" } else { "-" };
            let notes: Vec<_> = found
                .notes
                .iter()
                .map(|note| match note {
                    Note::Info(text) => format!("info: {text}"),
                    Note::Warning(text) => format!("warning: {text}"),
                })
                .collect();
            let notes = notes.join("; ").replace(&*root.to_string_lossy(), "…");
            format!("{active} {} {path} {notes}", found.kind.as_str())
                .trim_end()
                .to_owned()
        };
        self.find().found.iter().map(line).collect()
    }
}
