//! Chat completions.

use serde_json::{Map, Value};

use super::{Faults, blank, check_pairs};
use crate::model::request::{Request, items};

pub(super) fn check(request: &Request, faults: &mut Faults) {
    let messages = request.messages();
    for (at, message) in messages.iter().enumerate() {
        check_content(at, message, faults);
        match message["role"].as_str().unwrap_or_default() {
            "assistant" => check_calls(at, message, &messages[at + 1..], faults),
            "tool" => check_place(at, messages, faults),
            "system" | "developer" | "user" => {}
            role => faults.add(format!("message {at}: unknown role {role:?}")),
        }
    }
}

fn check_calls(at: usize, message: &Value, after: &[Value], faults: &mut Faults) {
    let calls = items(&message["tool_calls"]);
    let ids: Vec<&str> = calls
        .iter()
        .map(|call| call["id"].as_str().unwrap_or_default())
        .collect();
    let results: Vec<&str> = after
        .iter()
        .take_while(|message| message["role"] == "tool")
        .map(|message| message["tool_call_id"].as_str().unwrap_or_default())
        .collect();
    check_pairs(at, &ids, &results, faults);
    faults.ensure(
        message.get("tool_calls").is_none() || !calls.is_empty(),
        || format!("message {at}: `tool_calls` is empty"),
    );
    for call in calls {
        let function = &call["function"];
        let arguments = function["arguments"].as_str().unwrap_or_default();
        let object = serde_json::from_str::<Map<String, Value>>(arguments).is_ok();
        faults.ensure(object, || {
            format!(
                "message {at}: the arguments of {} are no JSON object in a string",
                call["id"]
            )
        });
        faults.ensure(!blank(&function["name"]), || {
            format!("message {at}: tool call {} has no name", call["id"])
        });
    }
}

/// A result must follow its call, other results of the same message at most between them. What
/// follows an assistant message is checked with that message.
fn check_place(at: usize, messages: &[Value], faults: &mut Faults) {
    let before = messages[..at].iter().rfind(|m| m["role"] != "tool");
    faults.ensure(before.is_some_and(|m| m["role"] == "assistant"), || {
        let id = &messages[at]["tool_call_id"];
        format!("message {at}: tool result {id} answers no call of the message before it")
    });
}

fn check_content(at: usize, message: &Value, faults: &mut Faults) {
    let role = message["role"].as_str().unwrap_or_default();
    let calls = !items(&message["tool_calls"]).is_empty();
    match &message["content"] {
        Value::Null => faults.ensure(calls, || format!("message {at}: {role} without content")),
        // A tool may have nothing to say, and beside calls some servers even want the empty text.
        Value::String(text) if text.is_empty() && (role == "tool" || calls) => {}
        text @ Value::String(_) => faults.ensure(!blank(text), || {
            format!("message {at}: the text of the {role} is blank")
        }),
        parts => {
            faults.ensure(!items(parts).is_empty(), || {
                format!("message {at}: the content of the {role} is empty")
            });
            let texts = items(parts).iter().filter(|part| part["type"] == "text");
            for _ in texts.filter(|part| blank(&part["text"])) {
                faults.add(format!("message {at}: a text part of the {role} is blank"));
            }
        }
    }
}
