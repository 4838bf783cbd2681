//! Reads the events of a Messages stream. A state machine without I/O.
//!
//! The API sends one block after the other, so what a delta belongs to is the block that opened
//! last; the numbers of the server are not needed.

use serde_json::Value;
use shard_contracts::{ProviderError, ProviderErrorKind as Kind, ProviderEvent, StopReason};
use shard_types::Usage;

use super::REDACTED;
use crate::provider::blocks::{Blocks, CallIds};
use crate::provider::call::Decode;
use crate::provider::fault::Fault;

/// A tool call whose arguments have not come yet.
struct Bare {
    block: u32,
    /// What came with its start: everything, from servers that do not stream arguments.
    input: String,
}

/// Token counts as they come; later ones replace earlier ones.
#[derive(Default)]
struct Counts {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
}

/// The state of one answer.
pub(in crate::provider) struct Decoder {
    ids: CallIds,
    blocks: Blocks,
    call: Option<u32>,
    bare: Vec<Bare>,
    counts: Counts,
    stop: Option<StopReason>,
    ended: bool,
}

impl Decoder {
    pub(in crate::provider) fn new(ids: CallIds) -> Self {
        Self {
            ids,
            blocks: Blocks::default(),
            call: None,
            bare: Vec::new(),
            counts: Counts::default(),
            stop: None,
            ended: false,
        }
    }

    fn start(&mut self, block: &Value, out: &mut Vec<ProviderEvent>) {
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        self.blocks.close();
        self.call = None;
        match text("type") {
            "text" => self.blocks.text(text("text"), out),
            "thinking" => {
                self.blocks.open_thinking(text("thinking"), out);
                self.blocks.sign(text("signature"), out);
            }
            "redacted_thinking" => {
                self.blocks.open_thinking("", out);
                self.blocks
                    .sign(&format!("{REDACTED}{}", text("data")), out);
            }
            "tool_use" => {
                let id = self.ids.claim(Some(text("id")));
                let number = self.blocks.call(id, text("name"), out);
                self.call = Some(number);
                let input = block.get("input").filter(|input| input.is_object());
                let input = input.map_or_else(|| "{}".to_owned(), Value::to_string);
                self.bare.push(Bare {
                    block: number,
                    input,
                });
            }
            // Blocks of tools that run at the provider, or of a later version.
            _ => {}
        }
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<ProviderEvent>) {
        let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text_delta" => self.blocks.text(text("text"), out),
            "thinking_delta" => self.blocks.thinking(text("thinking"), out),
            "signature_delta" => self.blocks.sign(text("signature"), out),
            "input_json_delta" => {
                let delta = text("partial_json").to_owned();
                if let Some(block) = self.call.filter(|_| !delta.is_empty()) {
                    self.bare.retain(|bare| bare.block != block);
                    out.push(ProviderEvent::ToolArgs { block, delta });
                }
            }
            _ => {}
        }
    }

    fn message_delta(&mut self, event: &Value) {
        self.count(event.get("usage"));
        match event.pointer("/delta/stop_reason").and_then(Value::as_str) {
            None => {}
            Some("max_tokens" | "model_context_window_exceeded") => {
                self.stop = Some(StopReason::Length);
            }
            Some("refusal") => self.stop = Some(StopReason::Refused),
            Some(_) => self.stop = Some(StopReason::Done),
        }
    }

    fn count(&mut self, usage: Option<&Value>) {
        let count = |key: &str| usage?.get(key)?.as_u64();
        let Counts {
            input,
            output,
            cache_read,
            cache_write,
        } = &mut self.counts;
        // Some servers know the input only at the end and start with a zero, others end with one.
        *input = count("input_tokens").filter(|&n| n > 0).or(*input);
        *output = count("output_tokens").or(*output);
        *cache_read = count("cache_read_input_tokens").or(*cache_read);
        *cache_write = count("cache_creation_input_tokens").or(*cache_write);
    }

    fn usage(&self) -> Option<Usage> {
        let Counts {
            input,
            output,
            cache_read,
            cache_write,
        } = self.counts;
        input.or(output)?;
        let all = [input, output, cache_read, cache_write];
        Some(Usage {
            input: input.unwrap_or(0),
            output: output.unwrap_or(0),
            cache_read,
            cache_write,
            context_tokens: Some(all.into_iter().flatten().fold(0, u64::saturating_add)),
            ..Usage::default()
        })
    }

    fn close(&mut self) -> Vec<ProviderEvent> {
        self.ended = true;
        let stop = self.stop.unwrap_or(StopReason::Done);
        let mut out = Vec::new();
        // A call without arguments is meant unless the answer was cut.
        for Bare { block, input } in self.bare.drain(..) {
            if stop == StopReason::Done {
                out.push(ProviderEvent::ToolArgs {
                    block,
                    delta: input,
                });
            }
        }
        out.extend(self.usage().map(ProviderEvent::Usage));
        out.push(ProviderEvent::Stop(stop));
        out
    }
}

impl Decode for Decoder {
    fn push(&mut self, data: &str) -> Result<Vec<ProviderEvent>, ProviderError> {
        if self.ended || data.trim() == "[DONE]" {
            return Ok(Vec::new());
        }
        let event: Value = serde_json::from_str(data).map_err(|e| {
            ProviderError::new(
                Kind::Malformed,
                format!("the server sent no JSON ({e}): {data}"),
            )
        })?;
        let mut out = Vec::new();
        let part = |key: &str| event.get(key).unwrap_or(&Value::Null);
        match event.get("type").and_then(Value::as_str) {
            Some("message_start") => self.count(event.pointer("/message/usage")),
            Some("content_block_start") => self.start(part("content_block"), &mut out),
            Some("content_block_delta") => self.delta(part("delta"), &mut out),
            Some("message_delta") => self.message_delta(&event),
            Some("message_stop") => out = self.close(),
            Some("error") => return Err(told(&event)),
            None if event.get("error").is_some() => return Err(told(&event)),
            // Pings, ends of blocks, and what a later version adds.
            _ => {}
        }
        Ok(out)
    }

    fn finish(&mut self) -> Result<Vec<ProviderEvent>, ProviderError> {
        match (self.ended, self.stop) {
            (true, _) => Ok(Vec::new()),
            (false, Some(_)) => Ok(self.close()),
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
fn told(event: &Value) -> ProviderError {
    let fault = Fault::of_json(event);
    let what = format!("the server broke off: {}", fault.words);
    ProviderError::new(fault.kind.unwrap_or(Kind::Busy), what)
}

#[cfg(test)]
mod tests;
