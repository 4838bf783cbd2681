//! OpenAI chat completions, with the liberties that compatible servers take.

use serde_json::{Map, Value, json};

use super::{Dialect, data};
use crate::model::reply::{Shape, UsageShape};
use crate::model::request::Request;
use crate::model::step::{Text, Thinking, Tool, Usage, split};

pub(super) struct OpenAi {
    model: String,
    shape: Shape,
    usage: Usage,
    usage_asked: bool,
    tools: usize,
}

impl OpenAi {
    pub(super) fn new(request: &Request, shape: Shape, usage: Usage) -> Self {
        Self {
            model: request.model().to_owned(),
            shape,
            usage,
            usage_asked: request.body["stream_options"]["include_usage"] == true,
            tools: 0,
        }
    }

    fn chunk(&self, choices: Value) -> Value {
        json!({
            "id": "chatcmpl-scripted",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": self.model,
            "choices": choices,
        })
    }

    fn choice(&self, mut delta: Map<String, Value>, finish: Option<&str>) -> Value {
        if self.shape.null_content {
            delta.entry("content").or_insert(Value::Null);
        }
        self.chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish}]))
    }

    fn delta(&self, field: &str, value: Value) -> String {
        data(&self.choice(Map::from_iter([(field.to_owned(), value)]), None))
    }

    fn call_delta(&self, index: Option<usize>, id: Option<&str>, function: Value) -> String {
        let mut call = Map::new();
        if let Some(index) = index {
            call.insert("index".to_owned(), index.into());
        }
        if let Some(id) = id {
            call.insert("id".to_owned(), id.into());
            call.insert("type".to_owned(), "function".into());
        }
        call.insert("function".to_owned(), function);
        self.delta("tool_calls", json!([call]))
    }

    fn usage(&self) -> Value {
        let Usage {
            input,
            output,
            cached,
            ..
        } = self.usage;
        json!({
            "prompt_tokens": input + cached,
            "completion_tokens": output,
            "total_tokens": input + cached + output,
            "prompt_tokens_details": {"cached_tokens": cached},
        })
    }

    fn with_usage(&self, mut chunk: Value) -> Value {
        chunk["usage"] = self.usage();
        chunk
    }
}

impl Dialect for OpenAi {
    fn open(&mut self) -> Vec<String> {
        vec![self.delta("role", "assistant".into())]
    }

    fn text(&mut self, text: &Text) -> Vec<String> {
        let parts = split(&text.text, text.chunks).into_iter();
        parts
            .map(|part| self.delta("content", part.into()))
            .collect()
    }

    fn thinking(&mut self, thinking: &Thinking, _signature: Option<&str>) -> Vec<String> {
        let parts = split(&thinking.text, thinking.chunks).into_iter();
        parts
            .map(|part| self.delta(&self.shape.reasoning_field, part.into()))
            .collect()
    }

    fn tool(&mut self, tool: &Tool, id: Option<&str>) -> Vec<String> {
        let index = tool.index.then_some(self.tools);
        self.tools += 1;
        if tool.as_object {
            let function = json!({"name": tool.name, "arguments": tool.arguments});
            return vec![self.call_delta(index, id, function)];
        }
        let (first_id, last_id) = if tool.id_last { (None, id) } else { (id, None) };
        let function = json!({"name": tool.name, "arguments": ""});
        let mut events = vec![self.call_delta(index, first_id, function)];
        let pieces = tool.argument_pieces();
        let last = pieces.len() - 1;
        for (n, piece) in pieces.into_iter().enumerate() {
            let id = if n == last { last_id } else { None };
            events.push(self.call_delta(index, id, json!({"arguments": piece})));
        }
        events
    }

    fn error_event(&mut self, kind: &str, message: &str) -> Vec<String> {
        vec![data(&json!({"error": {"type": kind, "message": message}}))]
    }

    fn close(&mut self) -> Vec<String> {
        let usual = if self.tools > 0 { "tool_calls" } else { "stop" };
        let reason = self.shape.finish.as_deref().unwrap_or(usual);
        let finish = self.choice(Map::new(), Some(reason));
        let chunks = match self.shape.usage {
            UsageShape::Asked if self.usage_asked => {
                vec![finish, self.with_usage(self.chunk(json!([])))]
            }
            UsageShape::Asked | UsageShape::Missing => vec![finish],
            UsageShape::NullChoices => vec![finish, self.with_usage(self.chunk(Value::Null))],
            UsageShape::WithFinish => vec![self.with_usage(finish)],
            UsageShape::Twice => vec![
                self.with_usage(finish),
                self.with_usage(self.chunk(json!([]))),
            ],
        };
        let mut events: Vec<String> = chunks.iter().map(data).collect();
        if self.shape.done {
            events.push("data: [DONE]\n\n".to_owned());
        }
        events
    }
}
