//! The body of a chat completions request.

use reqwest::Url;
use serde_json::{Map, Value, json};
use shard_contracts::{ProviderRequest, ToolDeclaration};
use shard_types::{ContentBlock, ModelSpec, Role};

use crate::provider::settings::ProviderSettings;
use crate::provider::wire::{NOTHING_SAID, Picture, Turn, picture, result_text, turns};

/// Builds the body.
pub(super) fn body(request: &ProviderRequest, settings: &ProviderSettings) -> Value {
    let mut body = json!({
        "model": request.model.id,
        "messages": messages(request, settings),
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    if let Some(most) = request.model.max_output_tokens {
        body[length_field(settings.base())] = json!(most);
    }
    if let Some(effort) = &request.reasoning {
        body["reasoning_effort"] = json!(effort);
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body
}

/// OpenAI's own newer models know only the longer name, other servers often only the shorter.
fn length_field(base: &str) -> &'static str {
    let url = Url::parse(base).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    if host == "api.openai.com" || host.ends_with(".openai.azure.com") {
        "max_completion_tokens"
    } else {
        "max_tokens"
    }
}

fn tool(tool: &ToolDeclaration) -> Value {
    json!({ "type": "function", "function": {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
    }})
}

fn messages(request: &ProviderRequest, settings: &ProviderSettings) -> Vec<Value> {
    let own = format!("{}/{}", settings.name, request.model.id);
    let keeps = |block: &ContentBlock| settings.reasoning_replay && may_return(block, &own);
    let turns = turns(&request.messages, keeps);
    let ends_with_user = turns.last().is_some_and(|turn| turn.role == Role::User);
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({ "role": "system", "content": request.system }));
    }
    for turn in &turns {
        match turn.role {
            Role::Assistant => messages.push(assistant(turn, settings.reasoning_replay)),
            Role::User => user(turn, &request.model, &mut messages),
        }
    }
    if !ends_with_user {
        messages.push(json!({ "role": "user", "content": NOTHING_SAID }));
    }
    messages
}

/// Thoughts go back to the model that had them, signed ones never: they are of another API.
fn may_return(block: &ContentBlock, own: &str) -> bool {
    match block {
        ContentBlock::Thinking {
            text,
            signature: None,
            model,
        } => !text.is_empty() && model.as_deref().is_none_or(|model| model == own),
        _ => false,
    }
}

fn assistant(turn: &Turn<'_>, replay: bool) -> Value {
    let (mut texts, mut thoughts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for block in &turn.blocks {
        match block {
            ContentBlock::Text { text } => texts.push(text.as_str()),
            ContentBlock::Thinking { text, .. } => thoughts.push(text.as_str()),
            ContentBlock::ToolCall { id, name, args } => calls.push(call(id, name, args)),
            ContentBlock::ToolResult { .. } | ContentBlock::Image { .. } => {}
        }
    }
    let content = if texts.is_empty() {
        Value::Null
    } else {
        json!(texts.join("\n\n"))
    };
    let mut message = json!({ "role": "assistant", "content": content });
    // Servers that want reasoning back miss the field in every message that calls a tool, also in
    // one that another model wrote: for those it stays empty.
    if replay && !(thoughts.is_empty() && calls.is_empty()) {
        message["reasoning_content"] = json!(thoughts.join("\n\n"));
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}

fn call(id: &str, name: &str, args: &Map<String, Value>) -> Value {
    let arguments = Value::Object(args.clone()).to_string();
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

/// Results first, as they must follow their calls at once; then what a person says.
fn user(turn: &Turn<'_>, model: &ModelSpec, messages: &mut Vec<Value>) {
    let mut parts = Vec::new();
    for block in &turn.blocks {
        match block {
            ContentBlock::ToolResult {
                tool_call_id,
                content,
                exit_code,
                ..
            } => {
                messages.push(json!({
                    "role": "tool",
                    "tool_call_id": tool_call_id,
                    "content": result_text(content, *exit_code),
                }));
            }
            ContentBlock::Text { text } => parts.push(text_part(text)),
            ContentBlock::Image {
                data, mime_type, ..
            } => {
                parts.push(match picture(data, mime_type, model) {
                    Picture::Note(note) => text_part(note),
                    Picture::Data { mime_type, data } => json!({
                        "type": "image_url",
                        "image_url": { "url": format!("data:{mime_type};base64,{data}") },
                    }),
                });
            }
            ContentBlock::ToolCall { .. } | ContentBlock::Thinking { .. } => {}
        }
    }
    if !parts.is_empty() {
        messages.push(json!({ "role": "user", "content": plain(parts) }));
    }
}

fn text_part(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Text alone goes as a string: the templates of many local models know nothing else.
fn plain(parts: Vec<Value>) -> Value {
    let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
    match texts {
        Some(texts) => json!(texts.join("\n\n")),
        None => parts.into(),
    }
}

#[cfg(test)]
mod tests;
