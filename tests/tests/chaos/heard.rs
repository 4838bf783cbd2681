//! What one connection hears of one agent: each event once and in order, from a `sync` on.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::word;

/// Messages that were whole, in the order in which they came.
pub(crate) type Run = Vec<(String, String)>;

/// How a question was closed: decision, choice and source, as they were told.
pub(crate) type Closing = [Value; 3];

/// What was heard since the client attached. Every method fails the test at the first event that
/// cannot be.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    attached: bool,
    /// The next event has to be a `sync`.
    awaits_sync: bool,
    epoch: Option<u64>,
    /// Of the message that is being streamed: its id, and the text of its blocks.
    stream: Option<(String, BTreeMap<u64, String>)>,
    /// One from each `sync` on.
    pub(crate) runs: Vec<Run>,
    /// Questions that are open.
    pub(crate) asks: BTreeMap<String, Value>,
    pub(crate) closings: Vec<(String, Closing)>,
    turn: Option<String>,
    results: BTreeSet<String>,
    pub(crate) status: String,
    /// How many prompts wait.
    pub(crate) queued: usize,
}

impl Heard {
    pub(crate) fn is_attached(&self) -> bool {
        self.attached && !self.awaits_sync
    }

    /// Whether it was let in and does not know yet how things stand.
    pub(crate) fn awaits_sync(&self) -> bool {
        self.attached && self.awaits_sync
    }

    /// The answer to `agent.attach` came.
    pub(crate) fn attach(&mut self) {
        self.attached = true;
        self.awaits_sync = true;
    }

    /// The answer to `agent.detach` came.
    pub(crate) fn detach(&mut self) {
        self.attached = false;
        self.asks.clear();
    }

    /// Takes in an event of the agent itself.
    pub(crate) fn event(&mut self, event: &Value) {
        let kind = word(&event["type"]);
        assert!(self.attached, "heard without being attached: {event}");
        if kind == "sync" {
            return self.sync(event);
        }
        assert!(!self.awaits_sync, "before the sync: {event}");
        match kind {
            "status" => word(&event["status"]).clone_into(&mut self.status),
            "queue_changed" => self.queued = count(&event["queue"]),
            "turn_start" => {
                let before = self.turn.replace(word(&event["turn_id"]).to_owned());
                assert_eq!(before, None, "a turn within a turn: {event}");
            }
            "turn_end" => {
                let turn = self.turn.take();
                // One that began before the sync is not known.
                let same = turn.is_none_or(|turn| turn == word(&event["turn_id"]));
                assert!(same, "the end of another turn: {event}");
                self.stream = None;
            }
            "message_delta" => self.delta(event),
            "message_complete" => self.complete(event),
            "tool_result" => {
                let fresh = self.results.insert(word(&event["tool_call_id"]).to_owned());
                assert!(fresh, "a result came twice: {event}");
            }
            "permission_request" => {
                let id = word(&event["request_id"]).to_owned();
                let before = self.asks.insert(id, event.clone());
                assert!(before.is_none(), "a question came twice: {event}");
            }
            "permission_resolved" => {
                let id = word(&event["request_id"]).to_owned();
                let asked = self.asks.remove(&id);
                assert!(asked.is_some(), "closed, and not open: {event}");
                let closing = ["decision", "choice_id", "source"].map(|key| event[key].clone());
                self.closings.push((id, closing));
            }
            _ => {}
        }
    }

    fn sync(&mut self, sync: &Value) {
        let epoch = sync["runtime_epoch"].as_u64();
        assert!(epoch.is_some() && epoch >= self.epoch, "{epoch:?}: {sync}");
        // Nobody asked for it, so another process must be there.
        let known = self.awaits_sync || epoch > self.epoch;
        assert!(known, "a second sync of the same process: {sync}");
        (self.epoch, self.awaits_sync) = (epoch, false);
        word(&sync["status"]).clone_into(&mut self.status);
        self.queued = count(&sync["queue"]);
        (self.stream, self.turn) = (None, None);
        self.results.clear();
        let mut run = Run::new();
        for message in sync["live_window"]["messages"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let id = word(&message["id"]).to_owned();
            if message["partial"] == true && message["role"] == "assistant" && is_live(sync, &id) {
                self.stream = Some((id, blocks(message)));
            } else if !is_result(message) {
                run.push((id, said(message)));
            }
        }
        self.runs.push(run);
        let open = sync["pending_requests"].as_array().into_iter().flatten();
        let open = open.map(|ask| (word(&ask["request_id"]).to_owned(), ask.clone()));
        self.asks = open.collect();
    }

    fn delta(&mut self, delta: &Value) {
        let id = word(&delta["message_id"]);
        let known = self.runs.last().into_iter().flatten();
        let over = known.clone().any(|(other, _)| other == id);
        assert!(!over, "a piece of a message that is whole: {delta}");
        let streamed = self
            .stream
            .get_or_insert_with(|| (id.to_owned(), BTreeMap::new()));
        if streamed.0 != id {
            *streamed = (id.to_owned(), BTreeMap::new());
        }
        if delta["kind"] == "text" {
            let block = delta["block_index"].as_u64().unwrap_or(u64::MAX);
            let text = streamed.1.entry(block).or_default();
            text.push_str(word(&delta["text_delta"]));
        }
    }

    fn complete(&mut self, event: &Value) {
        let (id, message) = (word(&event["message_id"]), &event["message"]);
        let Some(run) = self.runs.last_mut() else {
            panic!("a message before the sync: {event}");
        };
        assert!(
            run.iter().all(|(other, _)| other != id),
            "it came twice: {event}"
        );
        if message["role"] == "assistant" {
            let streamed = self.stream.take().filter(|(other, _)| other == id);
            let streamed = streamed.map(|(_, blocks)| blocks).unwrap_or_default();
            assert_eq!(
                streamed,
                blocks(message),
                "its pieces are not all of it: {event}"
            );
        }
        run.push((id.to_owned(), said(message)));
    }
}

fn count(list: &Value) -> usize {
    list.as_array().map_or(0, Vec::len)
}

/// Whether the last message of a window is still being streamed.
fn is_live(sync: &Value, id: &str) -> bool {
    let last = sync["live_window"]["messages"]
        .as_array()
        .and_then(|it| it.last());
    sync["status"] == "streaming" && last.is_some_and(|last| last["id"] == id)
}

/// The text blocks of a message, by their number; empty ones are none.
fn blocks(message: &Value) -> BTreeMap<u64, String> {
    let blocks = message["content"].as_array().into_iter().flatten();
    let texts = (0..)
        .zip(blocks)
        .filter(|(_, block)| block["type"] == "text");
    let texts = texts.map(|(at, block)| (at, word(&block["text"]).to_owned()));
    texts.filter(|(_, text)| !text.is_empty()).collect()
}

/// Whether a message holds what a tool said, which comes as an event of its own.
pub(crate) fn is_result(message: &Value) -> bool {
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks
        .into_iter()
        .any(|block| block["type"] == "tool_result")
}

/// The text of a message.
pub(crate) fn said(message: &Value) -> String {
    blocks(message).into_values().collect()
}
