//! Events as short lines, so that a whole transcript can be compared at a glance. Ids that are made
//! up at random are left out; tests that are about ids look at the events themselves.

use shard_types::event::{
    AgentEvent, PendingQuestion, PendingRequest, QueuedPrompt, TurnEnd, UiValue,
};
use shard_types::{ContentBlock, Message, Role, ToolResultContent, Usage};

fn name(value: impl serde::Serialize) -> String {
    let json = serde_json::to_value(value).unwrap();
    json.as_str()
        .map_or_else(|| json.to_string(), str::to_owned)
}

pub(crate) fn line(event: &AgentEvent) -> String {
    match event {
        AgentEvent::Status(status) => match &status.detail {
            Some(detail) => format!("status {} ({detail})", name(status.status)),
            None => format!("status {}", name(status.status)),
        },
        AgentEvent::MessageDelta(delta) => {
            let what = [
                delta.tool_call_id.as_deref(),
                delta.name.as_deref(),
                delta.text_delta.as_deref(),
                delta.args_delta.as_deref(),
            ];
            let what: Vec<_> = what.into_iter().flatten().collect();
            format!("delta {} {}", delta.block_index, what.join(" "))
        }
        AgentEvent::MessageComplete(complete) => message(&complete.message),
        AgentEvent::ToolCall(call) => {
            let args = serde_json::to_string(&call.args).unwrap();
            format!("tool_call {} {} {args}", call.tool_call_id, call.name)
        }
        AgentEvent::ToolProgress(progress) => {
            format!("progress {} {}", progress.tool_call_id, progress.text_delta)
        }
        AgentEvent::ToolResult(result) => {
            format!(
                "tool_result {}{}",
                result.tool_call_id,
                content(&result.content)
            )
        }
        AgentEvent::TurnEnd(TurnEnd { reason, usage, .. }) => match usage {
            Some(usage) => format!("turn_end {} {}", name(reason), tokens(usage)),
            None => format!("turn_end {}", name(reason)),
        },
        AgentEvent::Usage(usage) => format!("usage {}", tokens(usage)),
        AgentEvent::Error(error) => format!("error {}: {}", error.code, error.message),
        AgentEvent::ModelChanged(changed) => {
            format!(
                "model_changed {} {}",
                changed.previous.id, changed.active.id
            )
        }
        AgentEvent::ModeChanged(changed) => {
            format!("mode_changed {} {}", changed.previous_mode, changed.mode)
        }
        AgentEvent::ReasoningLevelChanged(changed) => {
            format!(
                "effort {} {} {}",
                changed.model.id, changed.previous, changed.active
            )
        }
        AgentEvent::QueueChanged(changed) => format!("queue [{}]", queue(&changed.queue)),
        AgentEvent::Sync(sync) => {
            let pending: Vec<_> = sync.pending_requests.iter().map(pending).collect();
            format!(
                "sync {} {} [{}] pending [{}] queue [{}]",
                name(sync.status),
                sync.mode,
                crate::provider::sketch(&sync.live_window.messages),
                pending.join(", "),
                queue(&sync.queue)
            )
        }
        other => question(other),
    }
}

fn message(message: &Message) -> String {
    let who = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let partial = if message.partial { " (partial)" } else { "" };
    let blocks: Vec<_> = message.content.iter().map(block).collect();
    format!("{who}{partial}: {}", blocks.join(" "))
}

fn question(event: &AgentEvent) -> String {
    match event {
        AgentEvent::PermissionRequest(request) => {
            format!("permission_request {}", request.tool_name)
        }
        AgentEvent::PermissionResolved(resolved) => {
            let decision = resolved.decision.map(name);
            let what = [
                decision,
                resolved.choice_id.clone(),
                resolved.source.clone(),
            ];
            let what: Vec<_> = what.into_iter().flatten().collect();
            format!("permission_resolved {}", what.join(" "))
        }
        AgentEvent::UiRequest(request) => format!(
            "ui_request {} {}",
            name(request.kind),
            request.title.as_deref().unwrap_or_default()
        ),
        AgentEvent::UiResolved(resolved) => {
            let value = match &resolved.value {
                Some(UiValue::One(one)) => one.clone(),
                Some(UiValue::Many(many)) => many.join("+"),
                None => "null".to_owned(),
            };
            let source = resolved.source.as_deref().unwrap_or_default();
            format!("ui_resolved {value} {source}")
                .trim_end()
                .to_owned()
        }
        other => other.type_name().to_owned(),
    }
}

fn pending(pending: &PendingRequest) -> &'static str {
    match pending.question {
        PendingQuestion::PermissionRequest(_) => "permission",
        PendingQuestion::UiRequest(_) => "ui",
    }
}

fn queue(queue: &[QueuedPrompt]) -> String {
    let show = |prompt: &QueuedPrompt| format!("{} {}", name(prompt.kind), prompt.message);
    queue.iter().map(show).collect::<Vec<_>>().join(", ")
}

fn tokens(usage: &Usage) -> String {
    format!("{}+{}", usage.input, usage.output)
}

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text { text } => format!("{text:?}"),
        ContentBlock::ToolCall { id, name, .. } => format!("{name}#{id}"),
        ContentBlock::Thinking { text, .. } => format!("({text})"),
        ContentBlock::Image { mime_type, .. } => mime_type.clone(),
        ContentBlock::ToolResult { .. } => "result".to_owned(),
    }
}

/// `=text` or `!error`.
pub(crate) fn content(content: &ToolResultContent) -> String {
    match content {
        ToolResultContent::Text { text } => format!("={text}"),
        ToolResultContent::Json { value } => format!("={value}"),
        ToolResultContent::Error { message } => format!("!{message}"),
    }
}
