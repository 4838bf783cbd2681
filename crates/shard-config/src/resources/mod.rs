//! What people write down for agents, apart from the configuration: context files, Agent Skills,
//! agent definitions, permission rules.
//!
//! Each kind has a loader of its own, with its own format, order and bounds. All of them look at
//! the same [`Roots`], and whatever they come by is [`Found`], in force or not, with the reason.
//!
//! Invariants: of a project that is not trusted nothing is read but its rules, and of those only
//! what holds back counts. Nothing is executed. Every file is a regular one and is read within a
//! bound, every list has a length. What is broken costs itself; a rule that is broken holds more
//! back than it was meant to.

mod context_files;
mod definitions;
mod front_matter;
mod not_loaded;
mod rule_files;
mod skill_files;
mod skills;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

pub use context_files::ContextFile;
pub use definitions::{Definition, DefinitionLaunchPolicy};
pub use rule_files::RuleLayer;
pub use skills::Skill;

use crate::Permissions;

/// Where skills are that any program may find, in a project and in the home folder.
const COMMON_SKILLS: &str = ".agents/skills";

/// How many entries of one folder are looked at.
const FOLDER_ENTRIES: usize = 256;

/// Where resources are looked for, and what counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// The folder that the agent works in, symlinks resolved.
    pub cwd: PathBuf,
    /// The configuration's file; the user's context file and definitions are beside it.
    pub config_path: PathBuf,
    /// Shard's state folder; the user's rules and skills are below it.
    pub state_home: PathBuf,
    /// The user's home folder; skills that other programs share are below it.
    pub home: Option<PathBuf>,
    /// Whether what the project brings counts.
    pub trust_project: bool,
    /// Whether `AGENTS.md` counts beside `SHARD.md`.
    pub agents_md: bool,
}

/// What sort of thing was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `SHARD.md` or `AGENTS.md`.
    Context,
    /// An Agent Skill.
    Skill,
    /// An agent definition.
    Agent,
    /// A list of permission rules.
    Rules,
    /// An extension.
    Extension,
    /// A list of servers of the Model Context Protocol.
    Mcp,
}

impl Kind {
    /// As the protocol names it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Skill => "skill",
            Self::Agent => "agent",
            Self::Rules => "rules",
            Self::Extension => "extension",
            Self::Mcp => "mcp",
        }
    }
}

/// Whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The user's own: trusted.
    User,
    /// Of the project: trusted when a person says so for this run.
    Project,
}

impl Layer {
    /// As the protocol names it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// Something to tell about what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Worth knowing, and as it should be.
    Info(String),
    /// Worth a look: something does not count, or not as a whole.
    Warning(String),
}

impl Note {
    /// The words.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Info(text) | Self::Warning(text) => text,
        }
    }
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// What it is.
    pub kind: Kind,
    /// What it calls itself; of what was not read, the name of its file or folder.
    pub name: String,
    /// Where it stands.
    pub path: PathBuf,
    /// Whose it is.
    pub layer: Layer,
    /// Whether it is in force.
    pub active: bool,
    /// What it says that it is for.
    pub description: Option<String>,
    /// What else its front matter says. For people: nothing of it is believed.
    pub details: Map<String, Value>,
    /// Why it is not in force, and whatever else is worth saying.
    pub notes: Vec<Note>,
}

impl Found {
    /// Something in force, with nothing to say about it.
    fn new(kind: Kind, path: &Path, layer: Layer) -> Self {
        let name = path.file_name().unwrap_or(path.as_os_str());
        Self {
            kind,
            name: name.to_string_lossy().into_owned(),
            path: path.to_owned(),
            layer,
            active: true,
            description: None,
            details: Map::new(),
            notes: Vec::new(),
        }
    }

    fn warn(&mut self, text: impl Into<String>) {
        self.notes.push(Note::Warning(text.into()));
    }

    fn not_in_force(&mut self, text: impl Into<String>) {
        self.active = false;
        self.warn(text);
    }

    /// Another one of the same name counts. That two are in one place is a mistake.
    fn give_way(&mut self, to: &Path, same_place: bool) {
        self.active = false;
        let stands = format!("{} has the same name and counts", to.display());
        self.notes.push(match same_place {
            true => Note::Warning(format!("{stands}; rename one of them")),
            false => Note::Info(stands),
        });
    }

    /// What is to be told of it at an agent's start, each with its path.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.notes.iter().filter_map(|note| match note {
            Note::Info(_) => None,
            Note::Warning(text) => Some(format!("{}: {text}", self.path.display())),
        })
    }
}

/// What is told of a part of a project that is not trusted.
const UNTRUSTED: &str = "not read, as the project is not trusted; --trust-project reads it";

/// Everything that was found, in force and not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resources {
    /// Context files in force, the outermost first.
    pub context: Vec<ContextFile>,
    /// Skills in force, by name.
    pub skills: Vec<Skill>,
    /// Definitions in force, by name.
    pub definitions: Vec<Definition>,
    /// Rules, the nearest first. Those of a layer that is not trusted are there, too: only what
    /// holds back counts of them.
    pub rules: Vec<RuleLayer>,
    /// All of it, kind by kind.
    pub found: Vec<Found>,
}

impl Resources {
    /// Looks everything up and reads it. `permissions` are those of the configuration.
    #[must_use]
    pub fn find(roots: &Roots, permissions: &Permissions) -> Self {
        let project = Project::of(roots);
        let mut found = Vec::new();
        Self {
            context: context_files::load(roots, &project, &mut found),
            skills: skills::load(roots, &project, &mut found),
            definitions: definitions::load(roots, &project, &mut found),
            rules: rule_files::load(roots, &project, permissions, &mut found),
            found: {
                not_loaded::look(roots, &project, &mut found);
                found
            },
        }
    }

    /// What is to be told at an agent's start.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.found.iter().flat_map(Found::warnings).collect()
    }

    /// Leaves only these skills in force.
    ///
    /// # Errors
    /// The first name that no skill in force has.
    pub fn allow_skills(&mut self, names: &[String]) -> Result<(), String> {
        let there = |name: &&String| self.skills.iter().any(|skill| skill.name == **name);
        let missing = names.iter().find(|name| !there(name)).cloned();
        self.skills.retain(|skill| names.contains(&skill.name));
        for found in &mut self.found {
            if found.kind == Kind::Skill && found.active && !names.contains(&found.name) {
                found.active = false;
                found.notes.push(Note::Info(
                    "this agent was made with other skills".to_owned(),
                ));
            }
        }
        missing.map_or(Ok(()), Err)
    }

    /// The paths of what is there in one of the two and not, or not the same, in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        unequal(&self.context, &other.context, |file| &file.path, &mut paths);
        unequal(&self.skills, &other.skills, |skill| &skill.file, &mut paths);
        unequal(
            &self.definitions,
            &other.definitions,
            |definition| &definition.path,
            &mut paths,
        );
        unequal(&self.rules, &other.rules, |layer| &layer.source, &mut paths);
        unequal(&self.found, &other.found, |found| &found.path, &mut paths);
        paths.sort_unstable();
        paths.dedup();
        paths
    }
}

fn unequal<T: PartialEq>(
    one: &[T],
    other: &[T],
    path: impl Fn(&T) -> &PathBuf,
    paths: &mut Vec<PathBuf>,
) {
    for (from, to) in [(one, other), (other, one)] {
        let lacking = from.iter().filter(|item| !to.contains(item));
        paths.extend(lacking.map(|item| path(item).clone()));
    }
}

/// The project that the agent works in.
struct Project {
    /// The working directory and its ancestors up to the root of its repository. Without a
    /// repository the working directory alone: nobody said where the project ends.
    folders: Vec<PathBuf>,
    /// What belongs to the user wherever it lies.
    users: Vec<PathBuf>,
}

impl Project {
    fn of(roots: &Roots) -> Self {
        let folders: Vec<_> = roots.cwd.ancestors().map(Path::to_owned).collect();
        let root = folders
            .iter()
            .position(|folder| folder.join(".git").exists())
            .unwrap_or(0);
        let state = ["skills", "rules", "agents", "extensions", "mcp.json"];
        let state = state.iter().map(|name| roots.state_home.join(name));
        let users = std::iter::once(roots.user_context())
            .chain(state)
            .chain(roots.common_skills());
        Self {
            folders: folders.into_iter().take(root + 1).collect(),
            users: users.map(real).collect(),
        }
    }

    /// The outermost folder.
    fn root(&self) -> &Path {
        self.folders.last().map_or(Path::new("/"), PathBuf::as_path)
    }

    /// `name` in each folder, the nearest first, as far as it is the project's.
    fn places(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        self.folders
            .iter()
            .filter_map(move |folder| self.place(folder, name))
    }

    /// `name` in one folder, if it is the project's: the home folder may be a project, and what is
    /// the user's in there stays the user's.
    fn place(&self, folder: &Path, name: &str) -> Option<PathBuf> {
        let place = folder.join(name);
        let real = real(place.clone());
        (!self.users.contains(&real)).then_some(place)
    }
}

impl Roots {
    fn config_dir(&self) -> &Path {
        self.config_path.parent().unwrap_or(Path::new("/"))
    }

    fn user_context(&self) -> PathBuf {
        self.config_dir().join("SHARD.md")
    }

    /// The user's skills that other programs find too.
    fn common_skills(&self) -> Option<PathBuf> {
        Some(self.home.as_ref()?.join(COMMON_SKILLS))
    }
}

fn real(path: PathBuf) -> PathBuf {
    path.canonicalize().unwrap_or(path)
}

/// The paths in a folder by name, hidden ones left out; and whether there are more than that.
fn entries(folder: &Path) -> std::io::Result<(Vec<PathBuf>, bool)> {
    let mut paths = Vec::new();
    let mut more = false;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if paths.len() == FOLDER_ENTRIES {
            more = true;
            break;
        }
        paths.push(entry.path());
    }
    paths.sort_unstable();
    Ok((paths, more))
}

/// The entries of a folder that need not be there. That it cannot be listed, or not as a whole, is
/// told.
fn listed(folder: &Path, kind: Kind, layer: Layer, found: &mut Vec<Found>) -> Vec<PathBuf> {
    let problem = match entries(folder) {
        Ok((paths, false)) => return paths,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Ok((paths, true)) => {
            let mut more = Found::new(kind, folder, layer);
            more.not_in_force(format!(
                "only {FOLDER_ENTRIES} of its entries are looked at; remove some"
            ));
            found.push(more);
            return paths;
        }
        Err(error) => format!("cannot be listed: {error}"),
    };
    let mut broken = Found::new(kind, folder, layer);
    broken.not_in_force(problem);
    found.push(broken);
    Vec::new()
}

/// Joins what is written on several lines, and shows no character that does something to a screen.
fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod bench;
#[cfg(test)]
mod tests;
