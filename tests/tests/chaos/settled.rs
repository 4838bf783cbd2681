//! How things stand once nothing more happens.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shard_testkit::{processes_under, until};

use crate::acts::{Chaos, PATIENCE};
use crate::connection::Connection;
use crate::heard::Heard;
use crate::taken::descriptors;
use crate::word;

/// How long it may take until all that was accepted is done.
const SETTLING: Duration = Duration::from_secs(60);

/// Descriptors that a daemon opens when it first needs them: its logs, a socket that just closes.
const FIRST_NEEDED: usize = 4;

/// Messages of a page of a transcript.
const PAGE: u64 = 200;

impl Chaos {
    /// Lets everything come to rest, and looks at what there is.
    pub(crate) async fn settle(&mut self) {
        self.make_room();
        self.read_again();
        let mut last = Connection::new(self.daemon.connect().await, None);
        let deadline = Instant::now() + SETTLING;
        while !self.rests(&last) {
            assert!(
                Instant::now() < deadline,
                "it does not come to rest; not accepted: {:?}; {:#?}",
                self.model.lost(),
                last.standing()
            );
            self.press_on(&mut last).await;
        }
        last.end(&mut self.model);
        drop(last);
        for mut connection in std::mem::take(&mut self.connections) {
            connection.read(&mut self.model);
            connection.end(&mut self.model);
        }
        for agent in &self.agents {
            self.model.check(agent, &self.transcript(agent).await);
        }
        self.check_what_is_left().await;
    }

    /// Whether every prompt was accepted and is done.
    fn rests(&self, last: &Connection) -> bool {
        let all_accepted = self
            .model
            .prompts
            .values()
            .all(|it| it.message_id.is_some());
        let at_rest = |agent: &String| {
            last.is_attached(agent)
                && last.agents.get(agent).is_some_and(|heard| {
                    heard.queued == 0 && matches!(&*heard.status, "idle" | "error")
                })
        };
        all_accepted && self.agents.iter().all(at_rest)
    }

    /// Attaches, sends again, and says yes, until there is nothing left of it.
    async fn press_on(&mut self, last: &mut Connection) {
        for agent in &self.agents {
            if !last.is_attached(agent) {
                last.attach(agent, "interactive").await;
                continue;
            }
            let asks: Vec<(String, Value)> = last.agents[agent].asks.clone().into_iter().collect();
            for (id, ask) in asks {
                let choice = word(&ask["choices"][0]["id"]);
                last.answer(agent, &id, Some(choice)).await;
            }
        }
        for key in self.model.lost() {
            last.prompt(&key, &mut self.model).await;
        }
        self.clear_errors(last).await;
        last.client
            .has_news(last.mark(), Duration::from_millis(50))
            .await;
        assert!(last.read(&mut self.model), "the last connection ended");
        self.read();
    }

    /// After an error what waits is held back until somebody wants something else.
    async fn clear_errors(&mut self, last: &mut Connection) {
        for agent in self.agents.clone() {
            let held = |heard: &Heard| heard.queued > 0 && heard.status == "error";
            let asked = self.model.open_prompts(&agent) > 0;
            if !asked && last.agents.get(&agent).is_some_and(held) {
                let key = self.model.wish(&agent, "say");
                last.prompt(&key, &mut self.model).await;
            }
        }
    }

    /// All messages of an agent, oldest first.
    async fn transcript(&self, agent: &str) -> Vec<Value> {
        let session = self.control.agent(agent).await["session_id"].clone();
        let mut all = Vec::new();
        let mut page = json!({ "session_id": session, "limit": PAGE });
        loop {
            let data = self.control.ok("session.messages", page.clone()).await;
            let messages = data["messages"].as_array().cloned().unwrap_or_default();
            let Some(first) = messages.first() else {
                return all;
            };
            page["before"] = first["id"].clone();
            all.splice(0..0, messages);
            if data["has_more"] != true {
                return all;
            }
        }
    }

    /// No descriptor, no process, no file that cannot be read.
    async fn check_what_is_left(&self) {
        for agent in &self.agents {
            let fields = json!({ "agent_id": agent });
            self.control.ok("agent.kill", fields).await;
        }
        let daemon = self.daemon.pid();
        let most = self.descriptors + FIRST_NEEDED;
        let deadline = Instant::now() + PATIENCE;
        while descriptors(daemon).len() > most {
            let open = descriptors(daemon);
            assert!(Instant::now() < deadline, "more than {most}: {open:#?}");
            let mark = self.control.mark();
            self.control.has_news(mark, Duration::from_millis(50)).await;
        }
        self.control.ok("daemon.shutdown", json!({})).await;
        assert!(self.daemon.exited().await.success());
        until("no process is left", PATIENCE, || {
            processes_under(self.home.root()).is_empty()
        })
        .await;
        for path in self.home.session_files() {
            let loaded = shard_session::load(&path);
            assert!(loaded.is_ok(), "{}: {loaded:?}", path.display());
        }
    }
}
