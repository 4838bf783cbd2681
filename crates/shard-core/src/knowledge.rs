//! What an agent knows beside its conversation: context files and skills.
//!
//! Shared by whoever writes the system prompt and by `load_skill`, and replaced as a whole between
//! two turns.

use std::fmt::Write as _;
use std::sync::{Arc, PoisonError, RwLock};

use shard_config::resources::{Resources, Skill};

/// How much of the catalog of skills every request carries, in bytes.
const CATALOG_BYTES: usize = 64 * 1024;

/// What an agent knows.
#[derive(Debug, Default)]
pub struct Knowledge {
    /// Held for the taking or putting of a pointer.
    known: RwLock<Arc<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    prompt: String,
    skills: Vec<Skill>,
}

impl Knowledge {
    /// Puts this in the place of what was known until now. What did not fit is returned in words.
    /// Without the tool that loads them there are no skills.
    pub fn replace(&self, resources: &Resources, loads_skills: bool) -> Option<String> {
        let mut prompt = String::new();
        for file in &resources.context {
            _ = write!(
                prompt,
                "\n## From {}\n\n{}\n",
                file.path.display(),
                file.text
            );
        }
        let skills = match loads_skills {
            true => resources.skills.clone(),
            false => Vec::new(),
        };
        let left_out = catalog(&skills, &mut prompt);
        let known = Arc::new(Known { prompt, skills });
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        left_out
    }

    /// The part of the system prompt.
    pub(crate) fn write_prompt(&self, text: &mut String) {
        text.push_str(&self.known().prompt);
    }

    /// Whether there is any skill.
    pub(crate) fn has_skills(&self) -> bool {
        !self.known().skills.is_empty()
    }

    /// The skill of this name, or the names of all.
    pub(crate) fn skill(&self, name: &str) -> Result<Skill, String> {
        let known = self.known();
        let found = known.skills.iter().find(|skill| skill.name == name);
        found.cloned().ok_or_else(|| {
            let names = known.skills.iter().map(|skill| skill.name.as_str());
            names.collect::<Vec<_>>().join(", ")
        })
    }

    fn known(&self) -> Arc<Known> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&known)
    }
}

/// Writes the list of skills that a model chooses from; what it has no room for is returned in
/// words.
fn catalog(skills: &[Skill], text: &mut String) -> Option<String> {
    if skills.is_empty() {
        return None;
    }
    text.push_str(
        "\n## Skills\n\nInstructions for certain tasks, each as name: description (location). When a task is what one is \
for, call load_skill with its name first, and follow what it says.\n\n<available_skills>\n",
    );
    let start = text.len();
    let mut left_out = Vec::new();
    for skill in skills {
        let Skill {
            name,
            description,
            file,
            ..
        } = skill;
        let line = format!("{name}: {description} ({})\n", file.display());
        if text.len() - start + line.len() > CATALOG_BYTES {
            left_out.push(name.as_str());
        } else {
            text.push_str(&line);
        }
    }
    text.push_str("</available_skills>\n");
    (!left_out.is_empty()).then(|| {
        format!(
            "the descriptions of all skills have more than {CATALOG_BYTES} bytes, so the model is not told of: {}; remove some or shorten them",
            left_out.join(", ")
        )
    })
}
