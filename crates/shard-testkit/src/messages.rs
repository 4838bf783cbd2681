//! The messages of one connection, in order, and waiting for one of them.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

/// A place in the order of messages: before everything that had not come when it was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(pub(crate) usize);

impl Mark {
    /// Before the first message.
    pub const START: Self = Self(0);
}

/// How many of the last messages a failing wait prints.
const SHOWN: usize = 12;

/// All that came, shared between the task that reads and the test that waits.
#[derive(Debug, Default)]
pub(crate) struct Messages(watch::Sender<State>);

#[derive(Debug, Default)]
struct State {
    messages: Vec<Value>,
    /// The first line that was no message.
    broken: Option<String>,
    closed: bool,
}

impl Messages {
    /// Takes one line, without its line feed.
    pub(crate) fn push_line(&self, line: &[u8]) {
        let message = serde_json::from_slice::<Value>(line).ok();
        let message = message.filter(|message| message["type"].is_string());
        self.0.send_modify(|state| match message {
            Some(message) => state.messages.push(message),
            None => {
                let line = String::from_utf8_lossy(line);
                state.broken.get_or_insert_with(|| short(&line));
            }
        });
    }

    /// No more will come.
    pub(crate) fn close(&self) {
        self.0.send_modify(|state| state.closed = true);
    }

    /// Waits until everything that was written has been read; at most so long, as another process
    /// may hold the output open. Whether it was in time.
    pub(crate) async fn drained(&self, patience: Duration) -> bool {
        let mut state = self.0.subscribe();
        let drained = state.wait_for(|state| state.closed);
        tokio::time::timeout(patience, drained).await.is_ok()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.borrow().closed
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.0.borrow().messages.len())
    }

    pub(crate) fn range(&self, from: Mark, to: Mark) -> Vec<Value> {
        let state = self.0.borrow();
        let to = to.0.min(state.messages.len());
        state.messages[from.0.min(to)..to].to_vec()
    }

    /// The first message from `mark` on that the predicate takes, with the place after it; or,
    /// in words, why there is none.
    pub(crate) async fn first(
        &self,
        mark: Mark,
        deadline: Duration,
        mut predicate: impl FnMut(&Value) -> bool,
    ) -> Result<(Mark, Value), String> {
        let mut next = mark.0;
        let mut found = false;
        let mut state = self.0.subscribe();
        let looking = state.wait_for(|state| {
            while let Some(message) = state.messages.get(next) {
                next += 1;
                if predicate(message) {
                    found = true;
                    return true;
                }
            }
            state.closed || state.broken.is_some()
        });
        let in_time = tokio::time::timeout(deadline, looking).await.is_ok();
        let state = self.0.borrow();
        if found && state.broken.is_none() {
            return Ok((Mark(next), state.messages[next - 1].clone()));
        }
        let why = match &state.broken {
            Some(line) => format!("a line was no message: {line}"),
            None if in_time => "the output ended".to_owned(),
            None => format!("it did not come within {deadline:?}"),
        };
        Err(format!("{why}\n{}", state.tail()))
    }

    /// The first line that was no message.
    pub(crate) fn broken(&self) -> Option<String> {
        self.0.borrow().broken.clone()
    }

    pub(crate) fn tail(&self) -> String {
        self.0.borrow().tail()
    }
}

impl State {
    fn tail(&self) -> String {
        let skipped = self.messages.len().saturating_sub(SHOWN);
        let last = self.messages[skipped..].iter();
        let lines: Vec<String> = last
            .map(|m| format!("  {}", short(&m.to_string())))
            .collect();
        let count = self.messages.len();
        format!("last of {count} messages:\n{}", lines.join("\n"))
    }
}

/// At most some 300 characters of a text.
fn short(text: &str) -> String {
    match text.char_indices().nth(300) {
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn the_first_match_after_the_mark_is_found_and_the_place_after_it_is_given() {
        let messages = Messages::default();
        for n in 0..3 {
            messages.push_line(json!({"type": "status", "n": n}).to_string().as_bytes());
        }
        let found = messages
            .first(Mark(1), SOON, |m| m["type"] == "status")
            .await;
        assert_eq!(found, Ok((Mark(2), json!({"type": "status", "n": 1}))));
    }

    #[tokio::test]
    async fn a_wait_that_cannot_succeed_says_why() {
        let messages = Messages::default();
        let why = messages
            .first(Mark::START, SOON, |_| true)
            .await
            .unwrap_err();
        assert!(why.starts_with("it did not come within 20ms"), "{why}");
        messages.push_line(b"{\"no\": \"type\"}");
        let why = messages
            .first(Mark::START, SOON, |_| true)
            .await
            .unwrap_err();
        assert!(why.starts_with("a line was no message: {\"no\""), "{why}");
    }
}
