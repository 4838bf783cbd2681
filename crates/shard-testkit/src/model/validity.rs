//! What a strict provider refuses in a chat request.

mod anthropic;
mod openai;
mod responses;

use std::collections::HashSet;

use serde_json::Value;

use super::log::Signed;
use super::request::{Provider, Request, items};

/// Everything that is wrong with a chat request, each as a sentence; nothing when it is fine.
pub(super) fn check(provider: Provider, request: &Request, signed: &[Signed]) -> Vec<String> {
    let mut faults = Faults::default();
    faults.ensure(request.body.is_object(), || {
        "the body is no JSON object".to_owned()
    });
    faults.ensure(!request.model().is_empty(), || {
        "`model` is missing".to_owned()
    });
    faults.ensure(request.body["stream"] == true, || {
        "`stream` is not true; the scripted model only streams".to_owned()
    });
    faults.ensure(!request.messages().is_empty(), || {
        "`messages` is empty".to_owned()
    });
    check_tools(request, &mut faults);
    match provider {
        Provider::OpenAi => openai::check(request, &mut faults),
        Provider::Responses => responses::check(request, signed, &mut faults),
        Provider::Anthropic => anthropic::check(request, signed, &mut faults),
    }
    faults.0
}

/// The faults found so far.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn add(&mut self, fault: impl Into<String>) {
        self.0.push(fault.into());
    }

    fn ensure(&mut self, holds: bool, fault: impl FnOnce() -> String) {
        if !holds {
            self.0.push(fault());
        }
    }
}

fn check_tools(request: &Request, faults: &mut Faults) {
    let mut names = HashSet::new();
    for tool in items(&request.body["tools"]) {
        let tool = tool.get("function").unwrap_or(tool);
        let name = tool["name"].as_str().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        faults.ensure(
            (1..=64).contains(&name.len()) && name.chars().all(plain),
            || format!("tool name {name:?} is not 1 to 64 of A-Z a-z 0-9 _ -"),
        );
        faults.ensure(names.insert(name), || {
            format!("tool {name:?} is offered twice")
        });
        let schema = tool.get("parameters").or_else(|| tool.get("input_schema"));
        faults.ensure(schema.is_some_and(|s| s["type"] == "object"), || {
            format!("the schema of tool {name:?} is not of type object")
        });
    }
}

/// Compares the ids of an assistant message's calls with those of the results after it.
fn check_pairs(at: usize, calls: &[&str], results: &[&str], faults: &mut Faults) {
    let mut known = HashSet::new();
    for call in calls {
        faults.ensure(!call.is_empty(), || {
            format!("message {at}: a tool call has no id")
        });
        faults.ensure(known.insert(*call), || {
            format!("message {at}: two tool calls have the id {call:?}")
        });
        let count = results.iter().filter(|result| *result == call).count();
        faults.ensure(count > 0, || {
            format!("message {at}: tool call {call:?} has no result directly after it")
        });
        faults.ensure(count < 2, || {
            format!("message {at}: tool call {call:?} has {count} results")
        });
    }
    for orphan in results.iter().filter(|result| !known.contains(*result)) {
        faults.add(format!(
            "message {at}: tool result {orphan:?} answers no call of the message before it"
        ));
    }
}

/// Whether a text is missing or only white space.
fn blank(text: &Value) -> bool {
    text.as_str().is_none_or(|text| text.trim().is_empty())
}
