//! `load_skill`: the whole text of a skill, and where its files are.

use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use shard_config::resources::Skill;
use shard_contracts::{Access, Tool, ToolContext, ToolOutput};

use super::{arguments, job, visible};
use crate::activations::Activation;
use crate::knowledge::Knowledge;

/// The tool's name.
pub const LOAD_SKILL: &str = "load_skill";

/// The longest result, in bytes. A longer one is refused: half of an instruction is none.
const RESULT_BYTES: usize = 128 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The skill's name, as the list of skills has it.
    name: String,
}

/// Loads a skill.
#[derive(Debug)]
pub struct LoadSkill {
    knowledge: Arc<Knowledge>,
}

impl LoadSkill {
    /// The tool over what the agent knows.
    #[must_use]
    pub fn new(knowledge: Arc<Knowledge>) -> Self {
        Self { knowledge }
    }

    fn find(&self, input: Map<String, Value>) -> Result<Skill, String> {
        let Arguments { name } = arguments::parse(input)?;
        let found = self.knowledge.skill(&name);
        found.map_err(|known| format!("there is no skill {name:?}; there are: {known}"))
    }
}

fn load(skill: &Skill) -> Result<ToolOutput, String> {
    let (name, file) = (&skill.name, skill.file.display());
    let (skill, body) = skill
        .reread()
        .map_err(|error| format!("the skill {name} was not loaded: {file} {error}"))?;
    let folder = skill.folder.display().to_string();
    let mut text = format!("<skill name=\"{name}\">\nFolder: {folder}\n");
    let (files, more) = skill.files();
    if !files.is_empty() {
        text.push_str(
            "Files in it, to be read or run from there when the text below calls for them:\n",
        );
        for file in files {
            _ = writeln!(text, "- {file}");
        }
        if more {
            text.push_str("- (and more)\n");
        }
    }
    _ = write!(text, "\n{body}\n</skill>");
    let text = visible::controls(&text).into_owned();
    if text.len() > RESULT_BYTES {
        return Err(format!(
            "the skill {name} was not loaded: with its list of files it has {} bytes, and {RESULT_BYTES} are the most; read {file} in parts, and tell the person",
            text.len()
        ));
    }
    Ok(ToolOutput {
        keep: Some(Activation::artifact(name, &folder, &text)),
        ..ToolOutput::text(text)
    })
}

impl Tool for LoadSkill {
    fn name(&self) -> &'static str {
        LOAD_SKILL
    }

    fn description(&self) -> &'static str {
        "Load the instructions of one of the available skills, whole. Call it before a task that the skill is for; \
         relative paths in the text are below the folder that is named with it."
    }

    fn input_schema(&self) -> Value {
        arguments::schema::<Arguments>()
    }

    fn read_only(&self) -> bool {
        true
    }

    fn available(&self) -> bool {
        self.knowledge.has_skills()
    }

    /// Names, never paths: what can be loaded is what a person made known.
    fn access(&self, _: &Map<String, Value>) -> Access {
        Access::Nothing
    }

    fn execute<'a>(
        &'a self,
        input: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let skill = match self.find(input) {
                Ok(skill) => skill,
                Err(problem) => return job::answer(Err(problem), context),
            };
            // It has a bound of its own, past which nothing is given.
            let whole = ToolContext {
                max_output_bytes: context.max_output_bytes.max(RESULT_BYTES),
                ..context.clone()
            };
            job::reading(&whole, move |_| load(&skill)).await
        })
    }
}

#[cfg(test)]
mod tests;
