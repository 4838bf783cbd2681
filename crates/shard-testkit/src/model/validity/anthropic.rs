//! Anthropic Messages.

use serde_json::Value;

use super::{Faults, blank, check_pairs};
use crate::model::log::Signed;
use crate::model::request::{Request, blocks, items};

/// The API takes no more cache marks than this in one request.
const CACHE_MARKS: usize = 4;

pub(super) fn check(request: &Request, signed: &[Signed], faults: &mut Faults) {
    let body = &request.body;
    faults.ensure(body["max_tokens"].as_u64().is_some_and(|n| n > 0), || {
        "`max_tokens` is missing".to_owned()
    });
    faults.ensure(request.header("anthropic-version").is_some(), || {
        "the header anthropic-version is missing".to_owned()
    });
    let marks = cache_marks(body);
    faults.ensure(marks <= CACHE_MARKS, || {
        format!("{marks} blocks carry cache_control, at most {CACHE_MARKS} may")
    });
    check_system(&body["system"], faults);
    let messages = request.messages();
    check_roles(messages, faults);
    for (at, message) in messages.iter().enumerate() {
        check_content(at, message, faults);
        check_results(at, message, at.checked_sub(1).map(|n| &messages[n]), faults);
        check_calls(at, message, messages.get(at + 1), faults);
        check_signatures(at, message, request.model(), signed, faults);
    }
}

fn check_system(system: &Value, faults: &mut Faults) {
    let fine = match system {
        Value::Null => true,
        Value::String(_) => !blank(system),
        parts => !items(parts).is_empty() && items(parts).iter().all(|p| !blank(&p["text"])),
    };
    faults.ensure(fine, || "`system` has a blank text".to_owned());
}

fn check_roles(messages: &[Value], faults: &mut Faults) {
    for (at, message) in messages.iter().enumerate() {
        let due = if at % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != due {
            let role = &message["role"];
            faults.add(format!("message {at} is of role {role}, {due} was due"));
            return; // everything after it would be out of step as well
        }
    }
    faults.ensure(messages.len() % 2 == 1, || {
        "the last message is not the user's".to_owned()
    });
}

fn check_content(at: usize, message: &Value, faults: &mut Faults) {
    let content = &message["content"];
    if content.is_string() {
        faults.ensure(!blank(content), || {
            format!("message {at}: the text is blank")
        });
        return;
    }
    faults.ensure(!items(content).is_empty(), || {
        format!("message {at}: the content is empty")
    });
    let inner = blocks(message, "tool_result").flat_map(|result| items(&result["content"]));
    let texts = items(content).iter().chain(inner);
    for _ in texts.filter(|block| block["type"] == "text" && blank(&block["text"])) {
        faults.add(format!("message {at}: a text block is blank"));
    }
}

/// Results answer the message before them and stand before any other block.
fn check_results(at: usize, message: &Value, before: Option<&Value>, faults: &mut Faults) {
    let calls: Vec<&Value> = before
        .iter()
        .flat_map(|before| blocks(before, "tool_use"))
        .map(|call| &call["id"])
        .collect();
    for result in blocks(message, "tool_result") {
        let id = &result["tool_use_id"];
        faults.ensure(calls.contains(&id), || {
            format!("message {at}: tool result {id} answers no call of the message before it")
        });
    }
    let mut kinds = items(&message["content"])
        .iter()
        .map(|block| &block["type"]);
    let late = kinds
        .by_ref()
        .skip_while(|kind| *kind == "tool_result")
        .any(|kind| kind == "tool_result");
    faults.ensure(!late, || {
        format!("message {at}: a tool result stands after another block")
    });
}

fn check_calls(at: usize, message: &Value, after: Option<&Value>, faults: &mut Faults) {
    let calls: Vec<&str> = blocks(message, "tool_use")
        .map(|call| call["id"].as_str().unwrap_or_default())
        .collect();
    let results: Vec<&str> = after
        .iter()
        .flat_map(|after| blocks(after, "tool_result"))
        .filter_map(|result| result["tool_use_id"].as_str())
        .filter(|id| calls.contains(id)) // orphans are named where they stand
        .collect();
    check_pairs(at, &calls, &results, faults);
    for call in blocks(message, "tool_use") {
        faults.ensure(call["input"].is_object(), || {
            format!("message {at}: the input of {} is no object", call["id"])
        });
    }
}

/// A thinking block must be signed, and one that this server signed must come back unchanged,
/// to the model that made it.
fn check_signatures(
    at: usize,
    message: &Value,
    model: &str,
    signed: &[Signed],
    faults: &mut Faults,
) {
    for block in blocks(message, "thinking") {
        let signature = block["signature"].as_str().unwrap_or_default();
        faults.ensure(!signature.is_empty(), || {
            format!("message {at}: a thinking block has no signature")
        });
        let Some(origin) = signed.iter().find(|s| s.signature == signature) else {
            continue; // from a session that another server began
        };
        faults.ensure(origin.model == model, || {
            format!(
                "message {at}: a thinking block of {} went to {model}",
                origin.model
            )
        });
        faults.ensure(block["thinking"] == origin.text.as_str(), || {
            format!("message {at}: the thinking block signed {signature:?} was changed")
        });
    }
}

fn cache_marks(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(cache_marks).sum(),
        Value::Object(fields) => {
            let own = usize::from(fields.contains_key("cache_control"));
            // A tool call may have an argument of that name.
            let inner = fields.iter().filter(|(key, _)| *key != "input");
            own + inner.map(|(_, value)| cache_marks(value)).sum::<usize>()
        }
        _ => 0,
    }
}
