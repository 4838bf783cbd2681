//! Look around and say what is to be done: nothing that changes anything is offered, and a call of
//! such a tool is vetoed. The plan that a turn ends with is kept.

use shard_contracts::{Artifact, Artifacts, CallFacts, Mode, Tool, Vote};
use shard_types::Message;

use super::active_plan::{self, HEADING};

/// The mode in which work is planned.
pub struct Plan;

impl Mode for Plan {
    fn name(&self) -> &'static str {
        "plan"
    }

    fn description(&self) -> &'static str {
        "Read and ask, then write a plan; nothing is changed or run."
    }

    fn offers(&self, tool: &dyn Tool) -> bool {
        tool.read_only()
    }

    fn prompt_section(&self, _: &Artifacts) -> Option<String> {
        Some(format!(
            "\
You plan now, and nothing is changed: tools that change or run things are not there, whatever was used earlier in this \
conversation.
- Read what the task touches until you know what has to change and what depends on it. Ask the person where the answer \
would change the plan.
- Then end with a section under the heading `## {HEADING}`: numbered steps in the order in which they are to be done, \
each naming its files, and last how to prove that it works. Nothing comes after it.
- The section is kept and shown when the work is done, so it must be understood without this conversation. To change a \
plan, write the whole section again: the latest counts."
        ))
    }

    fn vote(&self, call: &CallFacts<'_>) -> Vote {
        if call.read_only {
            return Vote::Abstain;
        }
        Vote::Veto {
            reason: format!(
                "not run: the mode plan changes and runs nothing, so {} may not be used; put it into the plan instead",
                call.tool
            ),
        }
    }

    fn on_turn_end(&self, message: &Message) -> Option<Artifact> {
        active_plan::found(message)
    }
}
