//! What must hold of all connections together, and of what is kept.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::heard::{Closing, Heard, Run, is_result, said};
use crate::word;

/// A prompt that somebody wants to be done, once.
#[derive(Debug)]
pub(crate) struct Prompt {
    pub(crate) agent: String,
    pub(crate) text: String,
    /// It was sent, and neither answered nor lost.
    pub(crate) under_way: bool,
    /// It was accepted under this id.
    pub(crate) message_id: Option<String>,
}

/// What is known of all that happened.
#[derive(Debug, Default)]
pub(crate) struct Model {
    /// By their request keys.
    pub(crate) prompts: BTreeMap<String, Prompt>,
    /// By agent: what connections heard, a row for each `sync`.
    runs: BTreeMap<String, Vec<Run>>,
    /// Questions of which an answer was taken.
    winners: BTreeSet<String>,
    /// How questions were closed, as the first connection heard it.
    closings: BTreeMap<String, Closing>,
}

impl Model {
    /// A new prompt, whose first word says of which sort; gives its request key.
    pub(crate) fn wish(&mut self, agent: &str, sort: &str) -> String {
        let number = self.prompts.len();
        let prompt = Prompt {
            agent: agent.to_owned(),
            text: format!("{sort} {number}"),
            under_way: false,
            message_id: None,
        };
        let key = format!("key-{number}");
        self.prompts.insert(key.clone(), prompt);
        key
    }

    /// Takes in the answer to a prompt.
    pub(crate) fn prompt_answered(&mut self, key: &str, response: &Value) {
        let Some(prompt) = self.prompts.get_mut(key) else {
            return;
        };
        prompt.under_way = false;
        if response["success"] != true {
            // Whatever went wrong, the same key may be sent again; only what contradicts it may not.
            let text = response["error"].to_string();
            assert!(!text.contains("used for something else"), "{key}: {text}");
            return;
        }
        let id = word(&response["data"]["message_id"]).to_owned();
        let before = prompt.message_id.get_or_insert_with(|| id.clone());
        assert_eq!(*before, id, "{key} was accepted twice: {response}");
    }

    /// Takes in that an answer to a question was taken, or came late.
    pub(crate) fn ask_answered(&mut self, ask: &str, response: &Value) {
        if response["success"] == true && response["data"]["late"] != true {
            let first = self.winners.insert(ask.to_owned());
            assert!(first, "two answers to {ask} were taken: {response}");
        }
    }

    /// Takes in what a connection had heard of an agent when it ended or looked elsewhere.
    pub(crate) fn take(&mut self, agent: &str, heard: &mut Heard) {
        for (ask, closing) in heard.closings.drain(..) {
            let before = self
                .closings
                .entry(ask.clone())
                .or_insert_with(|| closing.clone());
            assert_eq!(*before, closing, "{ask} was closed in two ways");
        }
        let runs = self.runs.entry(agent.to_owned()).or_default();
        runs.append(&mut heard.runs);
    }

    /// How many prompts to an agent are not known to have been accepted.
    pub(crate) fn open_prompts(&self, agent: &str) -> usize {
        let of_agent = self.prompts.values().filter(|prompt| prompt.agent == agent);
        of_agent
            .filter(|prompt| prompt.message_id.is_none())
            .count()
    }

    /// The keys of prompts that have to be sent again.
    pub(crate) fn lost(&self) -> Vec<String> {
        let lost = self.prompts.iter();
        let lost = lost.filter(|(_, it)| it.message_id.is_none() && !it.under_way);
        lost.map(|(key, _)| key.clone()).collect()
    }

    /// Compares with what is kept of an agent in the end: each prompt once, and every row that was
    /// heard, whole and without a gap.
    pub(crate) fn check(&self, agent: &str, kept: &[Value]) {
        let kept: Run = kept
            .iter()
            .filter(|message| !is_result(message))
            .map(|message| (word(&message["id"]).to_owned(), said(message)))
            .collect();
        for (key, prompt) in self.prompts.iter().filter(|(_, it)| it.agent == agent) {
            let found = kept.iter().filter(|(_, text)| *text == prompt.text);
            let found: Vec<_> = found.map(|(id, _)| Some(id.clone())).collect();
            assert_eq!(found, std::slice::from_ref(&prompt.message_id), "{key}");
        }
        for run in self.runs.get(agent).into_iter().flatten() {
            let Some((first, _)) = run.first() else {
                continue;
            };
            let at = kept.iter().position(|(id, _)| id == first);
            let at = at.unwrap_or_else(|| panic!("{agent}: {first} was shown and not kept"));
            let same = kept.get(at..at + run.len());
            let at = same.and_then(|same| same.iter().zip(run).position(|(a, b)| a != b));
            assert!(
                same.is_some() && at.is_none(),
                "{agent}: heard {run:?}\nkept {kept:?}\ndiffers at {at:?}"
            );
        }
    }

    /// What happened, in numbers.
    pub(crate) fn summary(&self) -> String {
        format!(
            "{} prompts, {} answers, {} questions closed, {} times a sync",
            self.prompts.len(),
            self.winners.len(),
            self.closings.len(),
            self.runs.values().map(Vec::len).sum::<usize>()
        )
    }
}
