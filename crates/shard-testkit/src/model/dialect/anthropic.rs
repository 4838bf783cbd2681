//! Anthropic Messages.

use serde_json::{Value, json};

use super::{Dialect, named};
use crate::model::reply::Shape;
use crate::model::request::Request;
use crate::model::step::{Text, Thinking, Tool, Usage, split};

pub(super) struct Anthropic {
    model: String,
    shape: Shape,
    usage: Usage,
    blocks: usize,
    tools: usize,
}

impl Anthropic {
    pub(super) fn new(request: &Request, shape: Shape, usage: Usage) -> Self {
        Self {
            model: request.model().to_owned(),
            shape,
            usage,
            blocks: 0,
            tools: 0,
        }
    }

    /// A content block: its start, its deltas, its stop.
    fn block(&mut self, start: Value, deltas: impl IntoIterator<Item = Value>) -> Vec<String> {
        let index = self.blocks;
        self.blocks += 1;
        let mut events = vec![named(
            &json!({"type": "content_block_start", "index": index, "content_block": start}),
        )];
        events.extend(deltas.into_iter().map(|delta| {
            named(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
        }));
        events.push(named(
            &json!({"type": "content_block_stop", "index": index}),
        ));
        events
    }
}

impl Dialect for Anthropic {
    fn open(&mut self) -> Vec<String> {
        let start = json!({"type": "message_start", "message": {
            "id": "msg_scripted",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": {
                "input_tokens": self.usage.input,
                "cache_read_input_tokens": self.usage.cached,
                "cache_creation_input_tokens": self.usage.cache_write,
                "output_tokens": 1,
            },
        }});
        vec![named(&start), named(&json!({"type": "ping"}))]
    }

    fn text(&mut self, text: &Text) -> Vec<String> {
        let parts = split(&text.text, text.chunks).into_iter();
        self.block(
            json!({"type": "text", "text": ""}),
            parts.map(|part| json!({"type": "text_delta", "text": part})),
        )
    }

    fn thinking(&mut self, thinking: &Thinking, signature: Option<&str>) -> Vec<String> {
        let parts = split(&thinking.text, thinking.chunks).into_iter();
        let words = parts.map(|part| json!({"type": "thinking_delta", "thinking": part}));
        let signed = signature.map(|s| json!({"type": "signature_delta", "signature": s}));
        self.block(
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            words.chain(signed),
        )
    }

    fn tool(&mut self, tool: &Tool, id: Option<&str>) -> Vec<String> {
        self.tools += 1;
        let mut start = json!({"type": "tool_use", "name": tool.name, "input": {}});
        if let Some(id) = id {
            start["id"] = id.into();
        }
        let pieces = tool.argument_pieces().into_iter();
        self.block(
            start,
            pieces.map(|piece| json!({"type": "input_json_delta", "partial_json": piece})),
        )
    }

    fn error_event(&mut self, kind: &str, message: &str) -> Vec<String> {
        let error = json!({"type": kind, "message": message});
        vec![named(&json!({"type": "error", "error": error}))]
    }

    fn close(&mut self) -> Vec<String> {
        let usual = if self.tools > 0 {
            "tool_use"
        } else {
            "end_turn"
        };
        let reason = self.shape.finish.as_deref().unwrap_or(usual);
        let end = json!({
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": self.usage.output},
        });
        vec![named(&end), named(&json!({"type": "message_stop"}))]
    }
}
