//! Agent Skills: folders with a `SKILL.md`, whose front matter says what they are for. The text
//! below it is read when a model asks for it, not before.
//!
//! Skills are merged by the name in their front matter. The project's stand before the user's, the
//! folder of the working directory before those above it. What a skill says about itself beyond
//! name and description is kept for people to see and is never believed.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::front_matter;
use super::{COMMON_SKILLS, Found, Kind, Layer, Note, Project, Roots, UNTRUSTED, listed, one_line};
use crate::regular_file::{read_start, read_text};

/// The file that makes a folder a skill.
const FILE: &str = "SKILL.md";

/// The longest `SKILL.md` that can be loaded, in bytes.
const FILE_BYTES: usize = 128 * 1024;

/// The longest name, in characters.
const NAME_CHARS: usize = 64;

/// The longest description that the standard allows, in characters.
const DESCRIPTION_CHARS: usize = 1024;

/// One skill, as its front matter presents it.
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    /// What it is called: words of `a-z` and `0-9`, joined by `-`.
    pub name: String,
    /// What it does and when to use it, on one line.
    pub description: String,
    /// Its `SKILL.md`.
    pub file: PathBuf,
    /// Its folder, symlinks resolved.
    pub folder: PathBuf,
    /// What else the front matter says.
    pub details: Map<String, Value>,
    /// The folder that it must not lead out of: that of the project, if it is the project's.
    pub(super) within: Option<PathBuf>,
}

impl Skill {
    /// Reads the skill anew, as it stands on the disk now: its front matter and its whole text.
    ///
    /// # Errors
    /// Why it is not what it was when it was found, as a sentence without its subject.
    pub fn reread(&self) -> Result<(Self, String), String> {
        let Some(folder) = self.file.parent() else {
            return Err("has no folder".to_owned());
        };
        let (folder, _) = place(folder, self.within.as_deref())?;
        let text = read_text(&self.file, FILE_BYTES).map_err(|error| error.to_string())?;
        let (mut now, body) = parse(&text)?;
        if now.name != self.name {
            return Err(format!("calls itself {:?} by now", now.name));
        }
        now.file.clone_from(&self.file);
        now.folder = folder;
        now.within.clone_from(&self.within);
        let body = body.trim().to_owned();
        Ok((now, body))
    }
}

/// The skills in force, by name.
pub(super) fn load(roots: &Roots, project: &Project, found: &mut Vec<Found>) -> Vec<Skill> {
    let mut skills: Vec<(Skill, usize)> = Vec::new();
    for (number, scope) in scopes(roots, project).iter().enumerate() {
        for folder in &scope.folders {
            let entries = listed(folder, Kind::Skill, scope.layer, found);
            for entry in entries {
                let Some((mut listing, skill)) = look(&entry, roots, project, scope.layer) else {
                    continue;
                };
                if let Some(skill) = skill {
                    let same = skills.iter().find(|(other, _)| other.name == skill.name);
                    match same {
                        Some((other, scope)) => listing.give_way(&other.file, *scope == number),
                        None => skills.push((skill, number)),
                    }
                }
                found.push(listing);
            }
        }
    }
    let mut skills: Vec<_> = skills.into_iter().map(|(skill, _)| skill).collect();
    skills.sort_by(|one, other| one.name.cmp(&other.name));
    skills
}

/// Folders of skills that stand for one place: two of the same name in there are a mistake.
struct Scope {
    layer: Layer,
    folders: Vec<PathBuf>,
}

/// All of them, those that win first.
fn scopes(roots: &Roots, project: &Project) -> Vec<Scope> {
    let of_project = project.folders.iter().map(|folder| Scope {
        layer: Layer::Project,
        folders: [".shard/skills", COMMON_SKILLS]
            .iter()
            .filter_map(|name| project.place(folder, name))
            .collect(),
    });
    let users = Scope {
        layer: Layer::User,
        folders: std::iter::once(roots.state_home.join("skills"))
            .chain(roots.common_skills())
            .collect(),
    };
    of_project.chain([users]).collect()
}

/// What one entry of a folder of skills is; `None` if it is no skill.
fn look(
    entry: &Path,
    roots: &Roots,
    project: &Project,
    layer: Layer,
) -> Option<(Found, Option<Skill>)> {
    let file = entry.join(FILE);
    if !entry.is_dir() || file.symlink_metadata().is_err() {
        return None;
    }
    let mut listing = Found::new(Kind::Skill, entry, layer);
    listing.path.clone_from(&file);
    if layer == Layer::Project && !roots.trust_project {
        listing.not_in_force(UNTRUSTED);
        return Some((listing, None));
    }
    let within = (layer == Layer::Project).then(|| project.root().to_owned());
    let read = place(entry, within.as_deref()).and_then(|(folder, file)| {
        let bytes =
            read_start(&file, front_matter::BYTES).map_err(|error| format!("it {error}"))?;
        // The text below the front matter may be cut within a character.
        let (skill, _) = parse(&String::from_utf8_lossy(&bytes))?;
        Ok(Skill {
            folder,
            within,
            file: listing.path.clone(),
            ..skill
        })
    });
    let skill = match read {
        Ok(skill) => skill,
        Err(problem) => {
            listing.not_in_force(format!("not loaded: {problem}"));
            return Some((listing, None));
        }
    };
    if listing.name != skill.name {
        listing.notes.push(Note::Info(format!(
            "its folder is called {:?}; the name in its front matter counts",
            listing.name
        )));
    }
    if skill.description.chars().count() > DESCRIPTION_CHARS {
        listing.warn(format!(
            "its description is longer than {DESCRIPTION_CHARS} characters; agents are shown its beginning"
        ));
    }
    if file
        .metadata()
        .is_ok_and(|file| file.len() > FILE_BYTES as u64)
    {
        listing.warn(format!(
            "it has more than {FILE_BYTES} bytes, so no agent can load it"
        ));
    }
    listing.name.clone_from(&skill.name);
    listing.description = Some(skill.description.clone());
    listing.details.clone_from(&skill.details);
    let description = skill.description.chars().take(DESCRIPTION_CHARS).collect();
    Some((
        listing,
        Some(Skill {
            description,
            ..skill
        }),
    ))
}

/// Where a skill's folder and file really are.
fn place(entry: &Path, within: Option<&Path>) -> Result<(PathBuf, PathBuf), String> {
    let real = |path: &Path| {
        path.canonicalize()
            .map_err(|error| format!("cannot be found: {error}"))
    };
    let (folder, file) = (real(entry)?, real(&entry.join(FILE))?);
    // Files of a skill may be read unasked, so a project must not be able to name any others.
    match within {
        Some(within) if !folder.starts_with(within) || !file.starts_with(within) => {
            Err("a link leads out of the project".to_owned())
        }
        _ => Ok((folder, file)),
    }
}

/// The skill that a text presents, without its place, and its body.
fn parse(text: &str) -> Result<(Skill, &str), String> {
    let (mut details, body) = front_matter::read(text)?;
    let name = front_matter::text(&details, "name")?;
    if !is_kebab_case(&name) {
        return Err(format!(
            "the name in its front matter must be at most {NAME_CHARS} characters of a-z and 0-9, with single hyphens between words"
        ));
    }
    let description = one_line(&front_matter::text(&details, "description")?);
    details.retain(|key, _| key != "name" && key != "description");
    let skill = Skill {
        name,
        description,
        file: PathBuf::new(),
        folder: PathBuf::new(),
        details,
        within: None,
    };
    Ok((skill, body))
}

fn is_kebab_case(name: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    name.len() <= NAME_CHARS && name.split('-').all(word)
}
