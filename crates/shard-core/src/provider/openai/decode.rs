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
pub(super) struct Decoder {
    ids: CallIds,
    blocks: Blocks,
    calls: Vec<Call>,
    usage: Option<Usage>,
    stop: Option<StopReason>,
    ended: bool,
}

impl Decoder {
    pub(super) fn new(ids: CallIds) -> Self {
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
        let delta = [choice.get("delta"), choice.get("message")]
            .into_iter()
            .flatten()
            .find(|d| d.is_object());
        if let Some(delta) = delta {
            self.delta(delta, out);
        }
        match choice
            .get("finish_reason")
            .and_then(Value::as_str)
            .unwrap_or_default()
        {
            "" => {}
            "length" | "max_tokens" | "model_length" => self.stop = Some(StopReason::Length),
            "content_filter" | "refusal" => self.stop = Some(StopReason::Refused),
            _ => self.stop = self.stop.or(Some(StopReason::Done)),
        }
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<ProviderEvent>) {
        // Some servers send the same thought under both names.
        let mut thoughts = ["reasoning_content", "reasoning"]
            .into_iter()
            .filter_map(|key| delta.get(key)?.as_str());
        if let Some(thought) = thoughts.find(|text| !text.is_empty()) {
            self.blocks.thinking(thought, out);
        }
        match delta.get("content") {
            Some(Value::String(text)) => self.blocks.text(text, out),
            Some(Value::Array(parts)) => parts.iter().for_each(|part| self.part(part, out)),
            _ => {}
        }
        if let Some(text) = delta
            .get("refusal")
            .and_then(Value::as_str)
            .filter(|t| !t.is_empty())
        {
            self.blocks.text(text, out);
            self.stop = Some(StopReason::Refused);
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        calls
            .into_iter()
            .flatten()
            .for_each(|call| self.call(call, out));
    }

    fn part(&mut self, part: &Value, out: &mut Vec<ProviderEvent>) {
        if let Some(text) = part.get("text").and_then(Value::as_str) {
            self.blocks.text(text, out);
        }
        let thoughts = part
            .get("thinking")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        for text in thoughts.filter_map(|thought| thought.get("text")?.as_str()) {
            self.blocks.thinking(text, out);
        }
    }

    fn call(&mut self, delta: &Value, out: &mut Vec<ProviderEvent>) {
        let text = |place: &str| {
            delta
                .pointer(place)
                .and_then(Value::as_str)
                .filter(|t| !t.is_empty())
        };
        let (id, name) = (text("/id"), text("/function/name"));
        let args = match delta.pointer("/function/arguments") {
            Some(Value::String(args)) => args.clone(),
            Some(args @ Value::Object(_)) => args.to_string(),
            _ => String::new(),
        };
        let index = delta.get("index").and_then(Value::as_u64);
        let at = match self.continued(index, id, name, &args) {
            Some(at) => at,
            None => {
                self.calls.push(Call {
                    index,
                    ..Call::default()
                });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at];
        call.args.push_str(&args);
        if call.sent_id.is_none() {
            call.sent_id = id.map(str::to_owned);
        }
        match (call.block, name) {
            (Some(block), _) if !args.is_empty() => {
                out.push(ProviderEvent::ToolArgs { block, delta: args });
            }
            (None, Some(name)) => {
                name.clone_into(&mut call.name);
                let block = self
                    .blocks
                    .call(self.ids.claim(call.sent_id.as_deref()), name, out);
                call.block = Some(block);
                if !call.args.is_empty() {
                    out.push(ProviderEvent::ToolArgs {
                        block,
                        delta: call.args.clone(),
                    });
                }
            }
            _ => {}
        }
    }

    /// The call that a delta goes on with; `None` when it begins one.
    ///
    /// An index or a known id says so. Without a name nothing can begin. With one, another id or
    /// another name begins a call, and so do arguments after complete ones: some servers number
    /// every call 0 and some not at all, while others repeat the name in every chunk.
    fn continued(
        &self,
        index: Option<u64>,
        id: Option<&str>,
        name: Option<&str>,
        args: &str,
    ) -> Option<usize> {
        let same_id = |call: &Call| id.is_some() && call.sent_id.as_deref() == id;
        if index.is_none()
            && let Some(at) = self.calls.iter().rposition(same_id)
        {
            return Some(at);
        }
        let at = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None => self.calls.len().checked_sub(1),
        }?;
        let call = &self.calls[at];
        let Some(name) = name.filter(|_| call.block.is_some()) else {
            return Some(at);
        };
        let other_id = id.is_some() && call.sent_id.is_some() && !same_id(call);
        let whole = || serde_json::from_str::<IgnoredAny>(&call.args).is_ok();
        let begins =
            other_id || name != call.name || (!same_id(call) && !args.is_empty() && whole());
        (!begins).then_some(at)
    }

    fn close(&mut self) -> Result<Vec<ProviderEvent>, ProviderError> {
        self.ended = true;
        if self.calls.iter().any(|call| call.block.is_none()) {
            let what = "the server sent a tool call without a name";
            return Err(ProviderError::new(Kind::Malformed, what));
        }
        let stop = self.stop.unwrap_or(StopReason::Done);
        let mut out = Vec::new();
        // A call without arguments is meant unless the answer was cut.
        for call in self
            .calls
            .iter()
            .filter(|call| stop == StopReason::Done && call.args.trim().is_empty())
        {
            let delta = "{}".to_owned();
            out.extend(
                call.block
                    .map(|block| ProviderEvent::ToolArgs { block, delta }),
            );
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
        context_tokens: Some(prompt + output),
        ..Usage::default()
    })
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
