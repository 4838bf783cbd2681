//! The wire formats of the providers, as SSE events.

mod anthropic;
mod openai;
mod responses;

use serde_json::Value;

use super::reply::Shape;
use super::request::{Provider, Request};
use super::step::{Text, Thinking, Tool, Usage};

/// Turns steps into SSE events, each a whole event with its blank line.
///
/// Called in the order of the wire: `open`, content, then `close` or `error_event`.
pub(super) trait Dialect: Send {
    fn open(&mut self) -> Vec<String>;
    fn text(&mut self, text: &Text) -> Vec<String>;
    fn thinking(&mut self, thinking: &Thinking, signature: Option<&str>) -> Vec<String>;
    fn tool(&mut self, tool: &Tool, id: Option<&str>) -> Vec<String>;
    fn error_event(&mut self, kind: &str, message: &str) -> Vec<String>;
    fn close(&mut self) -> Vec<String>;
}

/// The dialect of one answer.
pub(super) fn for_reply(
    provider: Provider,
    request: &Request,
    shape: &Shape,
    usage: Usage,
) -> Box<dyn Dialect> {
    match provider {
        Provider::OpenAi => Box::new(openai::OpenAi::new(request, shape.clone(), usage)),
        Provider::Responses => Box::new(responses::Responses::new(request, shape.clone(), usage)),
        Provider::Anthropic => Box::new(anthropic::Anthropic::new(request, shape.clone(), usage)),
    }
}

/// An event without a name.
fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// An event that is named as its `type` says.
fn named(value: &Value) -> String {
    let name = value["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {value}\n\n")
}
