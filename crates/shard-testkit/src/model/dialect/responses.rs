//! OpenAI Responses.

use serde_json::{Value, json};

use super::{Dialect, named};
use crate::model::reply::Shape;
use crate::model::request::{Request, items};
use crate::model::step::{Text, Thinking, Tool, Usage, split};

pub(super) struct Responses {
    model: String,
    shape: Shape,
    usage: Usage,
    sealed_asked: bool,
    /// The items so far, each whole.
    output: Vec<Value>,
}

impl Responses {
    pub(super) fn new(request: &Request, shape: Shape, usage: Usage) -> Self {
        let asked = items(&request.body["include"]);
        Self {
            model: request.model().to_owned(),
            shape,
            usage,
            sealed_asked: asked
                .iter()
                .any(|what| what == "reasoning.encrypted_content"),
            output: Vec::new(),
        }
    }

    fn response(&self, status: &str) -> Value {
        json!({
            "id": "resp_scripted",
            "object": "response",
            "model": self.model,
            "status": status,
            "error": null,
            "incomplete_details": null,
            "output": [],
            "usage": null,
        })
    }

    /// An id for the next item, unlike those of other answers.
    fn next_id(&self, kind: &str, seed: &str) -> String {
        format!("{kind}_{}{}", seed, self.output.len())
    }

    /// An item: how it begins, what comes of it, how it is in the end.
    fn item(&mut self, begin: &Value, pieces: Vec<Value>, end: Value) -> Vec<String> {
        let index = self.output.len();
        let of_item = |mut event: Value| {
            event["output_index"] = index.into();
            event["item_id"] = end["id"].clone();
            named(&event)
        };
        let frame = |name: &str, item: &Value| {
            named(&json!({"type": name, "output_index": index, "item": item}))
        };
        let mut events = vec![frame("response.output_item.added", begin)];
        events.extend(pieces.into_iter().map(of_item));
        events.push(frame("response.output_item.done", &end));
        self.output.push(end);
        events
    }
}

/// A text in pieces: the deltas, then the whole under `key`.
fn pieces(name: &str, index: &str, parts: &[String], key: &str) -> Vec<Value> {
    let event = |what: &str| {
        let mut event = json!({"type": format!("response.{name}.{what}")});
        if !index.is_empty() {
            event[index] = 0.into();
        }
        event
    };
    let mut events: Vec<Value> = Vec::new();
    for part in parts {
        let mut delta = event("delta");
        delta["delta"] = part.as_str().into();
        events.push(delta);
    }
    let mut whole = event("done");
    whole[key] = parts.concat().into();
    events.push(whole);
    events
}

/// Puts the part that a text belongs to around its events.
fn framed(name: &str, index: &str, part: &Value, inner: Vec<Value>) -> Vec<Value> {
    let event = |what: &str, part: &Value| {
        let mut event = json!({"type": format!("response.{name}.{what}"), "part": part});
        event[index] = 0.into();
        event
    };
    let mut empty = part.clone();
    empty["text"] = "".into();
    let mut events = vec![event("added", &empty)];
    events.extend(inner);
    events.push(event("done", part));
    events
}

impl Dialect for Responses {
    fn open(&mut self) -> Vec<String> {
        let event = |name: &str| json!({"type": name, "response": self.response("in_progress")});
        ["response.created", "response.in_progress"]
            .map(|name| named(&event(name)))
            .to_vec()
    }

    fn text(&mut self, text: &Text) -> Vec<String> {
        let part = json!({"type": "output_text", "text": text.text, "annotations": []});
        let parts = split(&text.text, text.chunks);
        let inner = pieces("output_text", "content_index", &parts, "text");
        let inner = framed("content_part", "content_index", &part, inner);
        let end = json!({
            "type": "message",
            "id": self.next_id("msg", ""),
            "role": "assistant",
            "status": "completed",
            "content": [part],
        });
        let mut begin = end.clone();
        begin["status"] = "in_progress".into();
        begin["content"] = json!([]);
        self.item(&begin, inner, end)
    }

    fn thinking(&mut self, thinking: &Thinking, signature: Option<&str>) -> Vec<String> {
        let part = json!({"type": "summary_text", "text": thinking.text});
        let parts = split(&thinking.text, thinking.chunks);
        let inner = pieces("reasoning_summary_text", "summary_index", &parts, "text");
        let inner = framed("reasoning_summary_part", "summary_index", &part, inner);
        let mut end = json!({
            "type": "reasoning",
            "id": self.next_id("rs", signature.unwrap_or_default()),
            "summary": [part],
        });
        if let Some(sealed) = signature.filter(|_| self.sealed_asked) {
            end["encrypted_content"] = sealed.into();
        }
        let mut begin = end.clone();
        begin["summary"] = json!([]);
        self.item(&begin, inner, end)
    }

    fn tool(&mut self, tool: &Tool, id: Option<&str>) -> Vec<String> {
        let parts = tool.argument_pieces();
        let mut end = json!({
            "type": "function_call",
            "id": self.next_id("fc", ""),
            "status": "completed",
            "name": tool.name,
            "arguments": parts.concat(),
        });
        if let Some(id) = id {
            end["call_id"] = id.into();
        }
        let mut begin = end.clone();
        begin["status"] = "in_progress".into();
        begin["arguments"] = "".into();
        let inner = pieces("function_call_arguments", "", &parts, "arguments");
        self.item(&begin, inner, end)
    }

    fn error_event(&mut self, kind: &str, message: &str) -> Vec<String> {
        let mut response = self.response("failed");
        response["error"] = json!({"code": kind, "message": message});
        vec![named(
            &json!({"type": "response.failed", "response": response}),
        )]
    }

    fn close(&mut self) -> Vec<String> {
        let status = match self.shape.finish {
            Some(_) => "incomplete",
            None => "completed",
        };
        let mut response = self.response(status);
        if let Some(reason) = &self.shape.finish {
            response["incomplete_details"] = json!({"reason": reason});
        }
        let Usage {
            input,
            output,
            cached,
            ..
        } = self.usage;
        response["output"] = self.output.clone().into();
        response["usage"] = json!({
            "input_tokens": input + cached,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input + cached + output,
        });
        vec![named(
            &json!({"type": format!("response.{status}"), "response": response}),
        )]
    }
}
