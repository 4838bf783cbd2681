//! OpenAI Responses.

use serde_json::{Map, Value};

use super::{Faults, blank, check_pairs};
use crate::model::log::Signed;
use crate::model::request::{Request, items};

/// The API takes no longer id of a call.
const MAX_CALL_ID: usize = 64;

pub(super) fn check(request: &Request, signed: &[Signed], faults: &mut Faults) {
    let body = &request.body;
    faults.ensure(body["store"] == false, || {
        "`store` is not false; nothing is kept here".to_owned()
    });
    faults.ensure(
        body.get("instructions").is_none_or(|text| !blank(text)),
        || "`instructions` is blank".to_owned(),
    );
    for tool in items(&body["tools"]) {
        faults.ensure(
            tool["type"] == "function" && tool["strict"] == false,
            || format!("tool {} is no function that is not strict", tool["name"]),
        );
    }
    let input = request.messages();
    for (at, item) in input.iter().enumerate() {
        match item["type"].as_str().unwrap_or_default() {
            "message" => check_message(at, item, faults),
            "function_call" => check_call(at, item, faults),
            "function_call_output" => {}
            "reasoning" => check_reasoning(at, item, request.model(), signed, faults),
            kind => faults.add(format!("item {at}: unknown type {kind:?}")),
        }
        let known = item["type"] == "reasoning" || item.get("id").is_none();
        faults.ensure(known, || {
            format!("item {at}: {} was not kept here", item["id"])
        });
        let next = input.get(at + 1);
        faults.ensure(
            item["type"] != "reasoning" || next.is_some_and(is_said),
            || format!("item {at}: reasoning without the item that followed it"),
        );
    }
    check_answers(input, faults);
}

/// Whether an item is a part of an answer.
fn is_said(item: &Value) -> bool {
    let kind = item["type"].as_str().unwrap_or_default();
    matches!(kind, "reasoning" | "function_call") || item["role"] == "assistant"
}

/// Each answer's calls have their results right behind the answer.
fn check_answers(input: &[Value], faults: &mut Faults) {
    let ids = |items: &[&Value], kind: &str| -> Vec<String> {
        let of_kind = items.iter().filter(|item| item["type"] == kind);
        let ids = of_kind.map(|item| item["call_id"].as_str().unwrap_or_default());
        ids.map(str::to_owned).collect()
    };
    let mut at = 0;
    while at < input.len() {
        let rest = &input[at..];
        let said: Vec<&Value> = rest.iter().take_while(|item| is_said(item)).collect();
        let is_result = |item: &&Value| item["type"] == "function_call_output";
        let results: Vec<&Value> = rest[said.len()..].iter().take_while(is_result).collect();
        let (calls, answers) = (
            ids(&said, "function_call"),
            ids(&results, "function_call_output"),
        );
        let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
        let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
        check_pairs(at, &calls, &answers, faults);
        at += (said.len() + results.len()).max(1);
    }
}

fn check_message(at: usize, message: &Value, faults: &mut Faults) {
    let (text, picture) = match message["role"].as_str().unwrap_or_default() {
        "user" => ("input_text", "input_image"),
        "assistant" => ("output_text", ""),
        role => return faults.add(format!("item {at}: unknown role {role:?}")),
    };
    let parts = items(&message["content"]);
    faults.ensure(!parts.is_empty(), || {
        format!("item {at}: the content is empty")
    });
    for part in parts {
        let kind = part["type"].as_str().unwrap_or_default();
        faults.ensure(kind == text || kind == picture, || {
            format!(
                "item {at}: {kind:?} in a message of the {}",
                message["role"]
            )
        });
        faults.ensure(kind != text || !blank(&part["text"]), || {
            format!("item {at}: a text is blank")
        });
        let url = part["image_url"].as_str().unwrap_or_default();
        faults.ensure(kind != picture || url.starts_with("data:image/"), || {
            format!("item {at}: a picture without data")
        });
    }
}

fn check_call(at: usize, call: &Value, faults: &mut Faults) {
    let id = call["call_id"].as_str().unwrap_or_default();
    faults.ensure(id.len() <= MAX_CALL_ID, || {
        format!("item {at}: the id {id:?} is longer than {MAX_CALL_ID}")
    });
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    for word in [id, call["name"].as_str().unwrap_or_default()] {
        faults.ensure(word.chars().all(plain), || {
            format!("item {at}: {word:?} is not of A-Z a-z 0-9 _ -")
        });
    }
    faults.ensure(!blank(&call["name"]), || {
        format!("item {at}: the call has no name")
    });
    let arguments = call["arguments"].as_str().unwrap_or_default();
    let object = serde_json::from_str::<Map<String, Value>>(arguments).is_ok();
    faults.ensure(object, || {
        format!("item {at}: the arguments are no JSON object in a string")
    });
}

/// Reasoning must be readable without what the server does not keep, and what this server made must
/// come back unchanged, to the model that made it.
fn check_reasoning(at: usize, item: &Value, model: &str, signed: &[Signed], faults: &mut Faults) {
    faults.ensure(!blank(&item["id"]) && item["summary"].is_array(), || {
        format!("item {at}: reasoning without id or summary")
    });
    let sealed = item["encrypted_content"].as_str().unwrap_or_default();
    faults.ensure(!sealed.is_empty(), || {
        format!("item {at}: reasoning without encrypted content was not kept here")
    });
    let Some(origin) = signed.iter().find(|s| s.signature == sealed) else {
        return; // from a session that another server began
    };
    faults.ensure(origin.model == model, || {
        format!("item {at}: reasoning of {} went to {model}", origin.model)
    });
    let summary = items(&item["summary"]).iter();
    let summary: String = summary.filter_map(|part| part["text"].as_str()).collect();
    faults.ensure(summary == origin.text, || {
        format!("item {at}: the reasoning {sealed:?} was changed")
    });
}
