//! One client: what it sent, and what it hears of each agent.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shard_testkit::{Client, Mark};

use crate::heard::Heard;
use crate::model::Model;
use crate::word;

/// What an answer is for.
#[derive(Debug)]
enum Sent {
    Attach(String),
    Detach(String),
    Prompt(String),
    /// To this question, with one of its choices or with none of them.
    Answer(String, bool),
    Probe,
}

/// A connection that hangs, is cut off and goes away as it happens.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// Whose it is, on a WebSocket.
    pub(crate) principal: Option<String>,
    /// It does not read just now.
    pub(crate) stalls: bool,
    /// It did not read for a while, and may be cut off for that.
    pub(crate) was_slow: bool,
    pub(crate) agents: BTreeMap<String, Heard>,
    mark: Mark,
    sent: BTreeMap<String, Sent>,
    last_id: u64,
}

impl Connection {
    pub(crate) fn new(client: Client, principal: Option<String>) -> Self {
        Self {
            client,
            principal,
            stalls: false,
            was_slow: false,
            agents: BTreeMap::new(),
            mark: Mark::START,
            sent: BTreeMap::new(),
            last_id: 0,
        }
    }

    /// Where it has read to.
    pub(crate) fn mark(&self) -> Mark {
        self.mark
    }

    pub(crate) fn is_attached(&self, agent: &str) -> bool {
        self.agents.get(agent).is_some_and(Heard::is_attached)
    }

    /// How things stand with each agent, for whoever reads why a test failed.
    pub(crate) fn standing(&self) -> Vec<String> {
        let agents = self.agents.iter();
        let line = |(agent, heard): (&String, &Heard)| {
            let attached = heard.is_attached();
            let (status, queued, asks) = (&heard.status, heard.queued, heard.asks.len());
            format!("{agent}: attached {attached}, {status}, {queued} wait, {asks} questions")
        };
        agents.map(line).collect()
    }

    /// Whether a message that says this was the last one of an agent.
    pub(crate) fn has_heard(&self, agent: &str, text: &str) -> bool {
        let last = self
            .agents
            .get(agent)
            .and_then(|heard| heard.runs.last()?.last());
        last.is_some_and(|(_, said)| said == text)
    }

    /// Whether it has asked to attach or detach and has not heard all that follows.
    fn is_moving(&self, agent: &str) -> bool {
        let heard = self.agents.get(agent);
        heard.is_some_and(|heard| heard.awaits_sync())
            || self.sent.values().any(|sent| match sent {
                Sent::Attach(of) | Sent::Detach(of) => of == agent,
                Sent::Prompt(_) | Sent::Answer(..) | Sent::Probe => false,
            })
    }

    pub(crate) async fn attach(&mut self, agent: &str, role: &str) {
        if !self.is_moving(agent) {
            let fields = json!({ "type": "agent.attach", "agent_id": agent, "role": role });
            self.send(fields, Sent::Attach(agent.to_owned())).await;
        }
    }

    pub(crate) async fn detach(&mut self, agent: &str) {
        if self.is_attached(agent) && !self.is_moving(agent) {
            let fields = json!({ "type": "agent.detach", "agent_id": agent });
            self.send(fields, Sent::Detach(agent.to_owned())).await;
        }
    }

    /// Sends a prompt, or sends it again, if the agent would take it from here.
    pub(crate) async fn prompt(&mut self, key: &str, model: &mut Model) -> bool {
        let Some(prompt) = model.prompts.get_mut(key) else {
            return false;
        };
        if !self.is_attached(&prompt.agent) || self.is_moving(&prompt.agent) {
            return false;
        }
        prompt.under_way = true;
        let command = json!({
            "type": "prompt", "agent_id": prompt.agent, "message": prompt.text,
            "request_key": key, "streaming_behavior": "follow_up",
        });
        self.send(command, Sent::Prompt(key.to_owned())).await;
        true
    }

    /// Answers a question: with a choice, or with one that it does not have.
    pub(crate) async fn answer(&mut self, agent: &str, ask: &str, choice: Option<&str>) {
        let answer = json!({
            "type": "permission_response", "agent_id": agent, "request_id": ask,
            "choice_id": choice.unwrap_or("no-such-choice"),
        });
        let sent = Sent::Answer(ask.to_owned(), choice.is_some());
        self.send(answer, sent).await;
    }

    /// Asks for something, to find out whether the other end is still there: that of a connection
    /// which was cut off while nobody read it may have given up saying so.
    pub(crate) async fn probe(&mut self) {
        self.send(json!({ "type": "agent.list" }), Sent::Probe)
            .await;
    }

    async fn send(&mut self, mut message: Value, sent: Sent) {
        self.last_id += 1;
        let id = format!("c{}", self.last_id);
        message["id"] = json!(id);
        self.sent.insert(id, sent);
        // If it is gone, the answer does not come, and that is dealt with when it has ended.
        _ = self.client.try_send_text(&message.to_string()).await;
    }

    /// Takes in what has come. Whether the connection is still there.
    pub(crate) fn read(&mut self, model: &mut Model) -> bool {
        // In this order: what comes before the end is taken in with the end.
        let open = self.client.is_open();
        for message in self.client.take_since(&mut self.mark) {
            let kind = word(&message["type"]);
            if kind == "response" {
                self.response(&message, model);
            } else if !kind.starts_with("agent_")
                && let Some(agent) = message["agent_id"].as_str()
            {
                let heard = self.agents.entry(agent.to_owned()).or_default();
                heard.event(&message);
            }
        }
        if !open {
            self.end(model);
        }
        open
    }

    fn response(&mut self, response: &Value, model: &mut Model) {
        let success = response["success"] == true;
        match self.sent.remove(word(&response["id"])) {
            Some(Sent::Attach(agent)) if success => {
                self.agents.entry(agent).or_default().attach();
            }
            Some(Sent::Detach(agent)) if success => {
                let heard = self.agents.entry(agent.clone()).or_default();
                heard.detach();
                model.take(&agent, heard);
            }
            Some(Sent::Prompt(key)) => model.prompt_answered(&key, response),
            Some(Sent::Answer(ask, true)) => model.ask_answered(&ask, response),
            Some(Sent::Answer(_, false)) => {
                let taken = success && response["data"]["late"] != true;
                assert!(!taken, "a choice that there is not was taken: {response}");
            }
            Some(Sent::Attach(_) | Sent::Detach(_) | Sent::Probe) => {}
            None => panic!("an answer to nothing: {response}"),
        }
    }

    /// No more will come: what was not answered may have been done or not.
    pub(crate) fn end(&mut self, model: &mut Model) {
        for sent in std::mem::take(&mut self.sent).into_values() {
            if let Sent::Prompt(key) = sent
                && let Some(prompt) = model.prompts.get_mut(&key)
            {
                prompt.under_way = false;
            }
        }
        for (agent, mut heard) in std::mem::take(&mut self.agents) {
            model.take(&agent, &mut heard);
        }
    }
}
