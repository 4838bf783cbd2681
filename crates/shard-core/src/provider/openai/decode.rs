//! Reads the chunks of a chat completion. A state machine without I/O.
//!
//! Servers differ a lot in what they leave out, so every field is optional here: what cannot be
//! told from a chunk is told from the chunks before it.

use serde::de::IgnoredAny;
use serde_json::Value;
use shard_contracts::{ProviderError, ProviderErrorKind as Kind, ProviderEvent, StopReason};
use shard_types::Usage;

use crate::provider::blocks::{Blocks, CallIds};
use crate::provider::call::Decode;
use crate::provider::fault::Fault;

/// A tool call as far as it has come.
#[derive(Default)]
struct Call {
    /// The server's number for it.
    index: Option<u64>,
    /// The server's id for it, which need not be ours.
    sent_id: Option<String>,
    /// Empty until the name came.
    name: String,
    /// Ours; `None` until the name came.
    block: Option<u32>,
    /// All argument text so far.
    args: String,
}

/// The state of one answer.
pub(in crate::provider) struct Decoder {
    ids: CallIds,
    blocks: Blocks,
    calls: Vec<Call>,
    usage: Option<Usage>,
    stop: Option<StopReason>,
    ended: bool,
}

impl Decoder {
    pub(in crate::provider) fn new(ids: CallIds) -> Self {
        Self {
            ids,
            blocks: Blocks::default(),
            calls: Vec::new(),
            usage: None,
            stop: None,
            ended: false,
        }
    }

    fn choice(&mut self, choice: &Value, out: &mut Vec<ProviderEvent>) {
        // A server that does not stream has `message` where others have `delta`.
        let bodies = ["delta", "message"].map(|key| choice.get(key));
        if let Some(delta) = bodies.into_iter().flatten().find(|body| body.is_object()) {
            self.delta(delta, out);
        }
        match text(choice, "/finish_reason") {
            "" => {}
            "length" | "max_tokens" | "model_length" => self.stop = Some(StopReason::Length),
            "content_filter" | "refusal" => self.stop = Some(StopReason::Refused),
            _ => self.stop = self.stop.or(Some(StopReason::Done)),
        }
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<ProviderEvent>) {
        // Some servers send the same thought under both names.
        let thought = match text(delta, "/reasoning_content") {
            "" => text(delta, "/reasoning"),
            thought => thought,
        };
        self.blocks.thinking(thought, out);
        match delta.get("content") {
            Some(Value::Array(parts)) => parts.iter().for_each(|part| self.part(part, out)),
            _ => self.blocks.text(text(delta, "/content"), out),
        }
        let refusal = text(delta, "/refusal");
        if !refusal.is_empty() {
            self.blocks.text(refusal, out);
            self.stop = Some(StopReason::Refused);
        }
        for call in list(delta, "tool_calls") {
            self.call(call, out);
        }
    }

    fn part(&mut self, part: &Value, out: &mut Vec<ProviderEvent>) {
        self.blocks.text(text(part, "/text"), out);
        for thought in list(part, "thinking") {
            self.blocks.thinking(text(thought, "/text"), out);
        }
    }

    fn call(&mut self, delta: &Value, out: &mut Vec<ProviderEvent>) {
        let some = |place: &str| Some(text(delta, place)).filter(|text| !text.is_empty());
        let (id, name) = (some("/id"), some("/function/name"));
        let args = match delta.pointer("/function/arguments") {
            Some(args @ Value::Object(_)) => args.to_string(),
            _ => text(delta, "/function/arguments").to_owned(),
        };
        let index = delta.get("index").and_then(Value::as_u64);
        let at = self.continued(index, id, name, &args).unwrap_or_else(|| {
            self.calls.push(Call {
                index,
                ..Call::default()
            });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        call.args.push_str(&args);
        if call.sent_id.is_none() {
            call.sent_id = id.map(str::to_owned);
        }
        let delta = match (call.block, name) {
            (Some(_), _) => args,
            (None, Some(name)) => {
                name.clone_into(&mut call.name);
                let id = self.ids.claim(call.sent_id.as_deref());
                call.block = Some(self.blocks.call(id, name, out));
                call.args.clone()
            }
            (None, None) => return,
        };
        if let Some(block) = call.block.filter(|_| !delta.is_empty()) {
            out.push(ProviderEvent::ToolArgs { block, delta });
        }
    }

    /// The call that a delta goes on with; `None` when it begins one.
    ///
    /// An index says so, else an id that is known, else the order. Without a name nothing can
    /// begin. With one, another id or another name begins a call, and so do arguments after
    /// complete ones: some servers number every call 0, or give every call one id, while others
    /// repeat the name in every chunk.
    fn continued(
        &self,
        index: Option<u64>,
        id: Option<&str>,
        name: Option<&str>,
        args: &str,
    ) -> Option<usize> {
        let same_id = |call: &Call| id.is_some() && call.sent_id.as_deref() == id;
        let at = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None => {
                let known = self.calls.iter().rposition(same_id);
                known.or_else(|| self.calls.len().checked_sub(1))
            }
        }?;
        let call = &self.calls[at];
        let Some(name) = name.filter(|_| call.block.is_some()) else {
            return Some(at);
        };
        let other_id = id.is_some() && call.sent_id.is_some() && !same_id(call);
        let after_whole =
            || !args.is_empty() && serde_json::from_str::<IgnoredAny>(&call.args).is_ok();
        let begins = other_id || name != call.name || after_whole();
        (!begins).then_some(at)
    }

    fn close(&mut self) -> Result<Vec<ProviderEvent>, ProviderError> {
        self.ended = true;
        let stop = self.stop.unwrap_or(StopReason::Done);
        let mut out = Vec::new();
        for call in &self.calls {
            let Some(block) = call.block else {
                let what = "the server sent a tool call without a name";
                return Err(ProviderError::new(Kind::Malformed, what));
            };
            // A call without arguments is meant unless the answer was cut.
            if stop == StopReason::Done && call.args.trim().is_empty() {
                let delta = "{}".to_owned();
                out.push(ProviderEvent::ToolArgs { block, delta });
            }
        }
        out.extend(self.usage.take().map(ProviderEvent::Usage));
        out.push(ProviderEvent::Stop(stop));
        Ok(out)
    }
}

impl Decode for Decoder {
    fn push(&mut self, data: &str) -> Result<Vec<ProviderEvent>, ProviderError> {
        if self.ended {
            return Ok(Vec::new());
        }
        if data.trim() == "[DONE]" {
            return self.close();
        }
        let chunk: Value = serde_json::from_str(data).map_err(|e| {
            ProviderError::new(
                Kind::Malformed,
                format!("the server sent no JSON ({e}): {data}"),
            )
        })?;
        fail_if_told(&chunk)?;
        // Some servers count in every chunk: the last count is the whole.
        self.usage = chunk.get("usage").and_then(usage).or(self.usage.take());
        let mut out = Vec::new();
        let choices = chunk.get("choices").and_then(Value::as_array);
        if let Some(choice) = choices.and_then(|choices| choices.first()) {
            fail_if_told(choice)?;
            self.choice(choice, &mut out);
        }
        Ok(out)
    }

    fn finish(&mut self) -> Result<Vec<ProviderEvent>, ProviderError> {
        match (self.ended, self.stop) {
            (true, _) => Ok(Vec::new()),
            (false, Some(_)) => self.close(),
            (false, None) => {
                let what = "the connection ended in the middle of the answer";
                Err(ProviderError::new(Kind::Network, what))
            }
        }
    }

    fn ended(&self) -> bool {
        self.ended
    }
}

/// An error inside a good answer. What says nothing of its sort is taken for a passing trouble:
/// the request itself had been accepted.
fn fail_if_told(value: &Value) -> Result<(), ProviderError> {
    let told = value.get("error").is_some_and(|error| !error.is_null());
    if !told && value.get("object").and_then(Value::as_str) != Some("error") {
        return Ok(());
    }
    let fault = Fault::of_json(value);
    let what = format!("the server broke off: {}", fault.words);
    Err(ProviderError::new(fault.kind.unwrap_or(Kind::Busy), what))
}

/// The text at a place; empty when there is none.
fn text<'v>(value: &'v Value, place: &str) -> &'v str {
    value
        .pointer(place)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The list under a key; empty when there is none.
fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn usage(value: &Value) -> Option<Usage> {
    let count = |place: &str| value.pointer(place).and_then(Value::as_u64);
    let (prompt, output) = (
        count("/prompt_tokens")?,
        count("/completion_tokens").unwrap_or(0),
    );
    let cached =
        count("/prompt_tokens_details/cached_tokens").or_else(|| count("/prompt_cache_hit_tokens"));
    Some(Usage {
        input: prompt.saturating_sub(cached.unwrap_or(0)),
        output,
        cache_read: cached,
        context_tokens: Some(prompt.saturating_add(output)),
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests;
