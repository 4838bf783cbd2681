//! Reads the events of a Responses stream. A state machine without I/O.
//!
//! The API tells everything several times: in deltas, when a part is done, when its item is done,
//! and once more in the whole response at the end. Servers leave out some of these, so each is taken
//! as "so far it says this", and what is new in it is passed on.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shard_contracts::{ProviderError, ProviderErrorKind as Kind, ProviderEvent, StopReason};
use shard_types::Usage;

use crate::provider::blocks::{Blocks, CallIds};
use crate::provider::call::Decode;
use crate::provider::fault::Fault;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Message,
    Reasoning,
    Call,
    /// Of tools that run at the provider, or of a later version.
    Other,
}

impl Sort {
    fn of(item: &Value) -> Self {
        match text(item, "type") {
            "message" => Self::Message,
            "reasoning" => Self::Reasoning,
            "function_call" => Self::Call,
            _ => Self::Other,
        }
    }
}

/// The lists of texts in an item.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum List {
    /// The only list of messages and calls; of reasoning the thoughts as they were.
    Content,
    /// Of reasoning what may be shown of the thoughts.
    Summary,
}

/// Where a text belongs: the item, by its place in ours, the list, and the number in it.
type Place = (usize, List, u64);

/// One item of the answer, as far as it has come.
struct Item {
    sort: Sort,
    /// The server's number and id for it; either may be missing, or differ from event to event.
    index: Option<u64>,
    id: String,
    /// Ours. Calls and thoughts only; `None` until the block opened.
    block: Option<u32>,
    /// All text so far, by list and number.
    parts: BTreeMap<(List, u64), String>,
    done: bool,
}

/// The state of one answer.
pub(in crate::provider) struct Decoder {
    ids: CallIds,
    blocks: Blocks,
    items: Vec<Item>,
    refused: bool,
    ended: bool,
}

impl Decoder {
    pub(in crate::provider) fn new(ids: CallIds) -> Self {
        Self {
            ids,
            blocks: Blocks::default(),
            items: Vec::new(),
            refused: false,
            ended: false,
        }
    }

    /// An item begins, whatever was there before: some servers number all of them 0.
    fn open(&mut self, sort: Sort, index: Option<u64>, id: &str) -> usize {
        self.blocks.close();
        self.items.push(Item {
            sort,
            index,
            id: id.to_owned(),
            block: None,
            parts: BTreeMap::new(),
            done: false,
        });
        self.items.len() - 1
    }

    /// The item that an event is about; an unknown one begins.
    ///
    /// An id is the best witness, but some servers make a new one for every event. Then the number
    /// counts, and without one the order.
    fn find(&mut self, sort: Sort, event: &Value, id: &str) -> usize {
        let index = event.get("output_index").and_then(Value::as_u64);
        let place = |fits: &dyn Fn(&Item) -> bool| {
            let fits = |item: &Item| item.sort == sort && fits(item);
            self.items.iter().rposition(fits)
        };
        let last = self.items.len().checked_sub(1);
        place(&|item| !id.is_empty() && item.id == id)
            .or_else(|| place(&|item| !item.done && index.is_some() && item.index == index))
            .or_else(|| place(&|item| !item.done && index.is_none()).filter(|at| Some(*at) == last))
            .unwrap_or_else(|| self.open(sort, index, id))
    }

    /// Text that goes on.
    fn more(&mut self, place: Place, delta: &str, out: &mut Vec<ProviderEvent>) {
        let (at, list, number) = place;
        let item = &mut self.items[at];
        // The same thought may come as a summary and as it was: the first of them counts.
        let told = item.sort == Sort::Reasoning && item.parts.keys().any(|(l, _)| *l != list);
        if delta.is_empty() || told {
            return;
        }
        let begins = !item.parts.contains_key(&(list, number));
        let part = item.parts.entry((list, number)).or_default();
        part.push_str(delta);
        match (item.sort, item.block) {
            (Sort::Message, _) => self.blocks.text(delta, out),
            (Sort::Reasoning, None) => item.block = Some(self.blocks.open_thinking(delta, out)),
            (Sort::Reasoning, Some(block)) => {
                let gap = if begins { "\n\n" } else { "" };
                let delta = format!("{gap}{delta}");
                out.push(ProviderEvent::Thinking { block, delta });
            }
            (Sort::Call, Some(block)) => {
                let delta = delta.to_owned();
                out.push(ProviderEvent::ToolArgs { block, delta });
            }
            // A call whose name has not come, and what is none of our business.
            (Sort::Call, None) | (Sort::Other, _) => {}
        }
    }

    /// Text that is whole: what had not come of it is passed on. What was shown cannot be taken back,
    /// so a text that goes another way is left alone; then this is false.
    fn whole(&mut self, place: Place, text: &str, out: &mut Vec<ProviderEvent>) -> bool {
        let (at, list, number) = place;
        let said = self.items[at].parts.get(&(list, number));
        let Some(rest) = text.strip_prefix(said.map_or("", String::as_str)) else {
            return false;
        };
        self.more(place, rest, out);
        true
    }

    /// A text event, by the name of the part and what happened to it.
    fn text_event(&mut self, name: &str, event: &Value, out: &mut Vec<ProviderEvent>) {
        let (part, what) = name.rsplit_once('.').unwrap_or((name, ""));
        let (sort, list, key, number) = match part {
            "output_text" => (Sort::Message, List::Content, "text", "content_index"),
            "refusal" => (Sort::Message, List::Content, "refusal", "content_index"),
            "reasoning_text" => (Sort::Reasoning, List::Content, "text", "content_index"),
            "reasoning_summary_text" => (Sort::Reasoning, List::Summary, "text", "summary_index"),
            "function_call_arguments" => (Sort::Call, List::Content, "arguments", ""),
            _ => return,
        };
        self.refused |= part == "refusal";
        let at = self.find(sort, event, text(event, "item_id"));
        let number = event.get(number).and_then(Value::as_u64).unwrap_or(0);
        let place = (at, list, number);
        if what == "delta" {
            self.more(place, text(event, "delta"), out);
        } else {
            self.whole(place, text(event, key), out);
        }
    }

    /// A part of a message or of thoughts, empty at first and whole in the end.
    fn part_event(&mut self, list: List, event: &Value, out: &mut Vec<ProviderEvent>) {
        let part = &event["part"];
        let (sort, number) = match (list, text(part, "type")) {
            (List::Summary, _) => (Sort::Reasoning, "summary_index"),
            (List::Content, "reasoning_text") => (Sort::Reasoning, "content_index"),
            (List::Content, _) => (Sort::Message, "content_index"),
        };
        let at = self.find(sort, event, text(event, "item_id"));
        let number = event.get(number).and_then(Value::as_u64).unwrap_or(0);
        self.part((at, list, number), part, out);
    }

    fn part(&mut self, place: Place, part: &Value, out: &mut Vec<ProviderEvent>) -> bool {
        self.refused |= text(part, "type") == "refusal";
        let said = match text(part, "text") {
            "" => text(part, "refusal"),
            said => said,
        };
        self.whole(place, said, out)
    }

    /// An item as it stands now.
    fn item(&mut self, at: usize, item: &Value, out: &mut Vec<ProviderEvent>) {
        match self.items[at].sort {
            Sort::Message | Sort::Reasoning => {
                // The summary first: where both are there, it is the one that is kept.
                for (list, key) in [(List::Summary, "summary"), (List::Content, "content")] {
                    // Where deltas had no numbers, the first part has taken in the others.
                    let mut parts = (0..).zip(array(item, key));
                    parts.all(|(number, part)| self.part((at, list, number), part, out));
                }
            }
            Sort::Call => {
                self.name(at, item, out);
                let args = match &item["arguments"] {
                    args @ Value::Object(_) => args.to_string(),
                    args => args.as_str().unwrap_or_default().to_owned(),
                };
                self.whole((at, List::Content, 0), &args, out);
            }
            Sort::Other => {}
        }
    }

    /// Opens the block of a call once its name is known.
    fn name(&mut self, at: usize, item: &Value, out: &mut Vec<ProviderEvent>) {
        let name = text(item, "name");
        if self.items[at].block.is_some() || name.is_empty() {
            return;
        }
        let id = ["call_id", "id"].map(|key| text(item, key));
        let id = self.ids.claim(id.into_iter().find(|id| !id.is_empty()));
        let block = self.blocks.call(id, name, out);
        let call = &mut self.items[at];
        call.block = Some(block);
        for delta in call.parts.values().cloned() {
            out.push(ProviderEvent::ToolArgs { block, delta });
        }
    }

    /// The item is whole. Of thoughts it is then known what must be sent back: the item itself, which
    /// means nothing without the part that only its maker can read.
    fn item_done(&mut self, at: usize, item: &Value, out: &mut Vec<ProviderEvent>) {
        self.item(at, item, out);
        if std::mem::replace(&mut self.items[at].done, true) {
            return;
        }
        let (id, sealed) = (text(item, "id"), text(item, "encrypted_content"));
        if self.items[at].sort != Sort::Reasoning || id.is_empty() || sealed.is_empty() {
            return;
        }
        let kept = json!({
            "type": "reasoning",
            "id": id,
            "summary": array(item, "summary"),
            "encrypted_content": sealed,
        });
        let opened = self.items[at].block;
        let block = opened.unwrap_or_else(|| self.blocks.open_thinking("", out));
        self.items[at].block = Some(block);
        let signature = kept.to_string();
        out.push(ProviderEvent::Signature { block, signature });
    }

    /// The response as it is in the end. Its items are those that came, in the same order.
    fn end(&mut self, state: &str, response: &Value) -> Result<Vec<ProviderEvent>, ProviderError> {
        if matches!(state, "failed" | "cancelled") {
            return Err(told(response));
        }
        let mut out = Vec::new();
        for (at, item) in array(response, "output").iter().enumerate() {
            let sort = Sort::of(item);
            match self.items.get(at) {
                None => {
                    self.open(sort, None, text(item, "id"));
                }
                Some(known) if known.sort == sort => {}
                Some(_) => break,
            }
            self.item_done(at, item, &mut out);
        }
        let reason = response.pointer("/incomplete_details/reason");
        let stop = match (state, reason.and_then(Value::as_str)) {
            ("incomplete", Some("content_filter")) => StopReason::Refused,
            ("incomplete", _) => StopReason::Length,
            _ if self.refused => StopReason::Refused,
            _ => StopReason::Done,
        };
        self.close(stop, usage(&response["usage"]), &mut out)?;
        Ok(out)
    }

    fn close(
        &mut self,
        stop: StopReason,
        usage: Option<Usage>,
        out: &mut Vec<ProviderEvent>,
    ) -> Result<(), ProviderError> {
        self.ended = true;
        for call in self.items.iter().filter(|item| item.sort == Sort::Call) {
            let Some(block) = call.block else {
                let what = "the server sent a tool call without a name";
                return Err(ProviderError::new(Kind::Malformed, what));
            };
            // A call without arguments is meant unless the answer was cut.
            let blank = call.parts.values().all(|args| args.trim().is_empty());
            if stop == StopReason::Done && blank {
                let delta = "{}".to_owned();
                out.push(ProviderEvent::ToolArgs { block, delta });
            }
        }
        out.extend(usage.map(ProviderEvent::Usage));
        out.push(ProviderEvent::Stop(stop));
        Ok(())
    }
}

impl Decode for Decoder {
    fn push(&mut self, data: &str) -> Result<Vec<ProviderEvent>, ProviderError> {
        // What other APIs end with says nothing here: an answer is whole when it says so itself.
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
        let kind = text(&event, "type");
        let (item, index) = (&event["item"], event["output_index"].as_u64());
        match kind.strip_prefix("response.").unwrap_or(kind) {
            "output_item.added" => {
                let at = self.open(Sort::of(item), index, text(item, "id"));
                self.item(at, item, &mut out);
            }
            "output_item.done" => {
                let at = self.find(Sort::of(item), &event, text(item, "id"));
                self.item_done(at, item, &mut out);
            }
            "content_part.added" | "content_part.done" => {
                self.part_event(List::Content, &event, &mut out);
            }
            "reasoning_summary_part.added" | "reasoning_summary_part.done" => {
                self.part_event(List::Summary, &event, &mut out);
            }
            state @ ("completed" | "incomplete" | "failed" | "cancelled") => {
                return self.end(state, &event["response"]);
            }
            "error" => return Err(told(&event)),
            "" if event.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(told(&event));
            }
            // A server that does not stream sends the response alone.
            "" => {
                let state = text(&event, "status");
                if matches!(state, "completed" | "incomplete" | "failed" | "cancelled") {
                    return self.end(state, &event);
                }
            }
            name => self.text_event(name, &event, &mut out),
        }
        Ok(out)
    }

    fn finish(&mut self) -> Result<Vec<ProviderEvent>, ProviderError> {
        if self.ended {
            return Ok(Vec::new());
        }
        let what = "the connection ended in the middle of the answer";
        Err(ProviderError::new(Kind::Network, what))
    }

    fn ended(&self) -> bool {
        self.ended
    }
}

/// An error inside a good answer: an event, or a response that failed. What says nothing of its sort
/// is taken for a passing trouble: the request itself had been accepted.
fn told(value: &Value) -> ProviderError {
    let fault = match value.get("error").is_some_and(|error| !error.is_null()) {
        false if value.get("message").is_none() => Fault {
            words: "no reason was given".to_owned(),
            kind: None,
        },
        _ => Fault::of_json(value),
    };
    let what = format!("the server broke off: {}", fault.words);
    ProviderError::new(fault.kind.unwrap_or(Kind::Busy), what)
}

/// The text under a key; empty when there is none.
fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The list under a key; empty when there is none.
fn array<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    let list = value.get(key).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

fn usage(value: &Value) -> Option<Usage> {
    let count = |place: &str| value.pointer(place).and_then(Value::as_u64);
    let input = count("/input_tokens")?;
    let output = count("/output_tokens").unwrap_or(0);
    let cached = count("/input_tokens_details/cached_tokens");
    Some(Usage {
        input: input.saturating_sub(cached.unwrap_or(0)),
        output,
        cache_read: cached,
        context_tokens: Some(input.saturating_add(output)),
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests;
