//! The body of a Messages request.

use serde_json::{Value, json};
use shard_contracts::{ProviderRequest, ToolDeclaration};
use shard_types::{ContentBlock, ModelSpec, Role};

use super::REDACTED;
use crate::provider::wire::{
    NOTHING_SAID, Picture, Turn, is_failure, picture, plain, plain_id, result_text, turns,
};

/// The API insists on a bound; this one every model takes.
const MAX_TOKENS: u64 = 8192;

/// The bound where thoughts of a length that the model chooses count in it. Every model that takes
/// an effort by name writes as much.
const MAX_TOKENS_WITH_EFFORT: u64 = 32_000;

/// The smallest thinking budget that the API takes, and what is kept free for the answer itself.
const LEAST_BUDGET: u64 = 1024;

/// Builds the body. `provider` is the provider's name in the configuration.
pub(super) fn body(request: &ProviderRequest, provider: &str) -> Value {
    let own = format!("{provider}/{}", request.model.id);
    let turns = turns(&request.messages, |block| may_return(block, &own));
    let mut messages: Vec<Value> = turns
        .iter()
        .map(|turn| message(turn, &request.model))
        .collect();
    if !turns.last().is_some_and(|turn| turn.role == Role::User) {
        messages.push(json!({ "role": "user", "content": [text(NOTHING_SAID)] }));
    }
    if !turns.first().is_none_or(|turn| turn.role == Role::User) {
        messages.insert(
            0,
            json!({ "role": "user", "content": [text(NOTHING_SAID)] }),
        );
    }
    // The end of this call's conversation, and that of the call before.
    for user in messages.iter_mut().rev().step_by(2).take(2) {
        mark(user["content"].as_array_mut());
    }
    let mut body = json!({
        "model": request.model.id,
        "max_tokens": request.model.max_output_tokens.unwrap_or(MAX_TOKENS),
        "messages": messages,
        "stream": true,
    });
    if !request.system.trim().is_empty() {
        body["system"] = json!([text(&request.system)]);
        mark(body["system"].as_array_mut());
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
        mark(body["tools"].as_array_mut());
    }
    if let Some(effort) = &request.reasoning {
        think(
            &mut body,
            effort,
            &request.model,
            goes_on_without_thought(&turns),
        );
    }
    body
}

/// Ends a stretch that the provider should cache. A request has all four that the API allows:
/// tools, system prompt, the conversation up to the last answer, and all of it.
///
/// The third is where the call before had its last. The provider looks for what it has cached at a
/// mark and at the twenty blocks before it, and an answer with many calls has more than that.
fn mark(list: Option<&mut Vec<Value>>) {
    if let Some(last) = list.and_then(|list| list.last_mut()) {
        last["cache_control"] = json!({ "type": "ephemeral" });
    }
}

fn tool(tool: &ToolDeclaration) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
    })
}

/// A signed thought goes back to the model that had it, unchanged.
fn may_return(block: &ContentBlock, own: &str) -> bool {
    match block {
        ContentBlock::Thinking {
            signature: Some(signature),
            model,
            ..
        } => !signature.is_empty() && model.as_deref() == Some(own),
        _ => false,
    }
}

/// Turns thinking on. Models before 4.6 take a budget, the later ones an effort by name.
/// `unthought` says that tools of an answer without thoughts are being answered, which the API
/// refuses to have thinking with a budget added to.
fn think(body: &mut Value, effort: &str, model: &ModelSpec, unthought: bool) {
    if matches!(effort, "none" | "off") {
        return;
    }
    if takes_effort(&model.id) {
        let most = model.max_output_tokens.unwrap_or(MAX_TOKENS_WITH_EFFORT);
        body["max_tokens"] = json!(most);
        body["thinking"] = json!({ "type": "adaptive" });
        body["output_config"] = json!({ "effort": effort });
        return;
    }
    let wanted = match effort {
        "minimal" => LEAST_BUDGET,
        "low" => 2048,
        "high" => 16_384,
        "xhigh" | "max" => 32_768,
        _ => 8192,
    };
    // The answer must fit behind the thoughts. Where the bound is ours, it moves.
    let most = model.max_output_tokens.unwrap_or(wanted + MAX_TOKENS);
    let budget = wanted.min(most.saturating_sub(LEAST_BUDGET));
    if budget >= LEAST_BUDGET && !unthought {
        body["max_tokens"] = json!(most);
        body["thinking"] = json!({ "type": "enabled", "budget_tokens": budget });
    }
}

/// Whether a model takes an effort by name: Claude 4.6 and later. Names are either
/// `claude-<family>-<major>-<minor>` or older; a long number is a date.
fn takes_effort(model: &str) -> bool {
    let Some((_, name)) = model.split_once("claude-") else {
        return false;
    };
    let words = name.split(['-', '.', '@', ':']);
    let mut numbers = words
        .skip_while(|word| word.parse::<u32>().is_err())
        .map_while(|word| word.parse::<u32>().ok());
    let major = numbers.next().filter(|&n| n < 100);
    let minor = numbers.next().filter(|&n| n < 100).unwrap_or(0);
    major.is_some_and(|major| (major, minor) >= (4, 6))
}

fn goes_on_without_thought(turns: &[Turn<'_>]) -> bool {
    let [.., answer, results] = turns else {
        return false;
    };
    let thought = |block: &&ContentBlock| matches!(block, ContentBlock::Thinking { .. });
    let result = |block: &&ContentBlock| matches!(block, ContentBlock::ToolResult { .. });
    results.blocks.iter().any(result) && !answer.blocks.first().is_some_and(thought)
}

fn message(turn: &Turn<'_>, model: &ModelSpec) -> Value {
    let role = match turn.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    // Results must stand before everything else of their message.
    let is_result = |b: &&&ContentBlock| matches!(b, ContentBlock::ToolResult { .. });
    let results = turn.blocks.iter().filter(|b| is_result(b));
    let others = turn.blocks.iter().filter(|b| !is_result(b));
    let content: Vec<Value> = results.chain(others).map(|b| block(b, model)).collect();
    json!({ "role": role, "content": content })
}

fn block(block: &ContentBlock, model: &ModelSpec) -> Value {
    match block {
        ContentBlock::Text { text: said } => text(said),
        ContentBlock::ToolCall { id, name, args } => {
            json!({ "type": "tool_use", "id": plain_id(id), "name": plain(name), "input": args })
        }
        ContentBlock::ToolResult {
            tool_call_id,
            content,
            is_error,
            exit_code,
            ..
        } => {
            let mut result = json!({
                "type": "tool_result",
                "tool_use_id": plain_id(tool_call_id),
                "content": result_text(content, *exit_code),
            });
            if is_failure(content, *is_error) {
                result["is_error"] = json!(true);
            }
            result
        }
        ContentBlock::Thinking {
            text, signature, ..
        } => {
            let signature = signature.as_deref().unwrap_or_default();
            match signature.strip_prefix(REDACTED) {
                Some(data) => json!({ "type": "redacted_thinking", "data": data }),
                None => json!({ "type": "thinking", "thinking": text, "signature": signature }),
            }
        }
        ContentBlock::Image {
            data, mime_type, ..
        } => match picture(data, mime_type, model) {
            Picture::Note(note) => text(note),
            Picture::Data { mime_type, data } => json!({
                "type": "image",
                "source": { "type": "base64", "media_type": mime_type, "data": data },
            }),
        },
    }
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

#[cfg(test)]
mod tests;
