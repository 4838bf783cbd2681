//! The body of a Responses request.
//!
//! The server keeps nothing: every request holds the whole conversation, as a flat list of items.
//! Calls and results are paired by `call_id`. The ids of the items themselves are left out, since the
//! server would look for them in what it does not keep; a reasoning item alone must have its own.

use serde_json::{Map, Value, json};
use shard_contracts::{ProviderRequest, ToolDeclaration};
use shard_types::{ContentBlock, ModelSpec, Role};

use crate::provider::wire::{
    NOTHING_SAID, Picture, Turn, picture, plain, plain_id, result_text, turns,
};

/// Builds the body. `provider` is the provider's name in the configuration.
pub(super) fn body(request: &ProviderRequest, provider: &str) -> Value {
    let mut body = json!({
        "model": request.model.id,
        "input": input(request, provider),
        "stream": true,
        "store": false,
    });
    if !request.system.trim().is_empty() {
        body["instructions"] = json!(request.system);
    }
    if let Some(most) = request.model.max_output_tokens {
        body["max_output_tokens"] = json!(most);
    }
    if let Some(effort) = &request.reasoning {
        body["reasoning"] = json!({ "effort": effort, "summary": "auto" });
    }
    if request.reasoning.is_some() || may_think(&request.model.id) {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body
}

/// Whether a model may have thoughts to keep. OpenAI refuses to be asked for those of its models
/// that have none; of a model that is not known here, the answer is yes.
fn may_think(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let thoughtless = ["gpt-3", "gpt-4", "chatgpt-4", "gpt-5-chat"];
    !thoughtless.iter().any(|begin| name.starts_with(begin))
}

/// `strict` would forbid optional arguments.
fn tool(tool: &ToolDeclaration) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
        "strict": false,
    })
}

fn input(request: &ProviderRequest, provider: &str) -> Vec<Value> {
    let own = format!("{provider}/{}", request.model.id);
    let turns = turns(&request.messages, |block| reasoning(block, &own).is_some());
    let mut items = Vec::new();
    for turn in &turns {
        match turn.role {
            Role::Assistant => items.extend(turn.blocks.iter().filter_map(|b| said(b, &own))),
            Role::User => user(turn, &request.model, &mut items),
        }
    }
    if !turns.last().is_some_and(|turn| turn.role == Role::User) {
        items.push(message("user", vec![input_text(NOTHING_SAID)]));
    }
    items
}

/// The reasoning item of a thought, which goes back to the model that had it and nowhere else.
/// Signatures of other APIs are no such items.
fn reasoning(block: &ContentBlock, own: &str) -> Option<Value> {
    match block {
        ContentBlock::Thinking {
            signature: Some(signature),
            model: Some(model),
            ..
        } if model == own => {
            let item: Value = serde_json::from_str(signature).ok()?;
            (item["type"] == "reasoning").then_some(item)
        }
        _ => None,
    }
}

fn said(block: &ContentBlock, own: &str) -> Option<Value> {
    match block {
        ContentBlock::Text { text } => {
            let part = json!({ "type": "output_text", "text": text });
            Some(message("assistant", vec![part]))
        }
        ContentBlock::ToolCall { id, name, args } => Some(call(id, name, args)),
        ContentBlock::Thinking { .. } => reasoning(block, own),
        ContentBlock::ToolResult { .. } | ContentBlock::Image { .. } => None,
    }
}

fn call(id: &str, name: &str, args: &Map<String, Value>) -> Value {
    json!({
        "type": "function_call",
        "call_id": plain_id(id),
        "name": plain(name),
        "arguments": Value::Object(args.clone()).to_string(),
    })
}

/// Results first, as they answer what stands before them; then what a person says.
fn user(turn: &Turn<'_>, model: &ModelSpec, items: &mut Vec<Value>) {
    let mut parts = Vec::new();
    for block in &turn.blocks {
        match block {
            ContentBlock::ToolResult {
                tool_call_id,
                content,
                exit_code,
                ..
            } => items.push(json!({
                "type": "function_call_output",
                "call_id": plain_id(tool_call_id),
                "output": result_text(content, *exit_code),
            })),
            ContentBlock::Text { text } => parts.push(input_text(text)),
            ContentBlock::Image {
                data, mime_type, ..
            } => {
                parts.push(match picture(data, mime_type, model) {
                    Picture::Note(note) => input_text(note),
                    Picture::Data { mime_type, data } => json!({
                        "type": "input_image",
                        "image_url": format!("data:{mime_type};base64,{data}"),
                        "detail": "auto",
                    }),
                });
            }
            ContentBlock::ToolCall { .. } | ContentBlock::Thinking { .. } => {}
        }
    }
    if !parts.is_empty() {
        items.push(message("user", parts));
    }
}

fn message(role: &str, content: Vec<Value>) -> Value {
    json!({ "type": "message", "role": role, "content": content })
}

fn input_text(text: &str) -> Value {
    json!({ "type": "input_text", "text": text })
}

#[cfg(test)]
mod tests;
