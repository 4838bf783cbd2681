//! What happens at random.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use shard_testkit::{
    Browser, Client, DaemonProcess, Dice, Home, Reply, Request, ScriptedModel, reply, signal, text,
    tool,
};

use crate::connection::Connection;
use crate::model::Model;
use crate::taken::descriptors;
use crate::word;

pub(crate) const AGENTS: usize = 4;
const CONNECTIONS: usize = 7;

/// How many prompts to one agent may be unanswered.
const UNANSWERED: usize = 3;

/// What may wait for a client, in bytes: more than for a client that reads on a busy machine.
const QUEUE_BYTES: u64 = 4 * 1024 * 1024;

/// How long it takes until something else happens, at most, in milliseconds.
const PACE: u64 = 40;

/// How long the end of processes and connections may take on a machine that is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Each act, and how often it happens compared to the others.
const ACTS: [(Act, u64); 16] = [
    (Act::Prompt, 30),
    (Act::SendAgain, 15),
    (Act::Answer, 20),
    (Act::AnswerBadly, 2),
    (Act::Connect, 14),
    (Act::Attach, 24),
    (Act::ChangeRole, 6),
    (Act::Detach, 4),
    (Act::Leave, 4),
    (Act::Stall, 4),
    (Act::ReadAgain, 6),
    (Act::KillAgent, 3),
    (Act::KillDaemon, 1),
    (Act::Revoke, 1),
    (Act::FillDisk, 2),
    (Act::MakeRoom, 4),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Act {
    Prompt,
    SendAgain,
    Answer,
    AnswerBadly,
    Connect,
    Attach,
    ChangeRole,
    Detach,
    Leave,
    Stall,
    ReadAgain,
    KillAgent,
    KillDaemon,
    Revoke,
    FillDisk,
    MakeRoom,
}

/// All that is there, ended in this order.
pub(crate) struct Chaos {
    pub(crate) connections: Vec<Connection>,
    /// Makes agents and lets browsers in; attached to nothing.
    pub(crate) control: Client,
    pub(crate) daemon: DaemonProcess,
    pub(crate) home: Home,
    _provider: ScriptedModel,
    pub(crate) agents: Vec<String>,
    pub(crate) model: Model,
    /// Descriptors of the daemon at its start.
    pub(crate) descriptors: usize,
    /// The one that is let in, and its principal.
    pub(crate) browser: Option<(Browser, String)>,
    pub(crate) disk_is_full: bool,
    pub(crate) dice: Dice,
    done: BTreeMap<Act, u64>,
}

impl Chaos {
    pub(crate) async fn start() -> Self {
        let dice = Dice::from_env("SHARD_CHAOS_SEED");
        let provider = ScriptedModel::answering(answer);
        let home = Home::builder()
            .model(&provider)
            .rules(json!([{ "action": "ask", "tool": "bash" }]))
            .window(100_000_000)
            .config(json!({ "daemon": { "client_queue_bytes": QUEUE_BYTES } }))
            .build();
        let daemon = DaemonProcess::start(&home, &[]).await;
        let control = daemon.connect().await;
        control.agents().await;
        let descriptors = descriptors(daemon.pid()).len();
        let mut agents = Vec::new();
        for _ in 0..AGENTS {
            let wish = json!({ "cwd": home.work(), "headless_policy": "queue" });
            agents.push(control.create(wish).await);
        }
        Self {
            connections: Vec::new(),
            control,
            daemon,
            home,
            _provider: provider,
            agents,
            model: Model::default(),
            descriptors,
            browser: None,
            disk_is_full: false,
            dice,
            done: BTreeMap::new(),
        }
    }

    /// One thing happens, and a moment passes, which something else that comes cuts short. With
    /// `calm` the daemon is left alive.
    pub(crate) async fn act(&mut self, calm: bool) {
        let act = self.choose();
        if act == Act::KillDaemon && calm {
            return;
        }
        *self.done.entry(act).or_default() += 1;
        self.carry_out(act).await;
        self.read();
        let patience = Duration::from_millis(self.dice.below(PACE));
        match self.any() {
            Some(at) => {
                let connection = &self.connections[at];
                let mark = connection.mark();
                connection.client.has_news(mark, patience).await;
            }
            None => _ = self.control.has_news(self.control.mark(), patience).await,
        }
    }

    fn choose(&mut self) -> Act {
        let all = ACTS.iter().map(|(_, weight)| weight).sum();
        let mut left = self.dice.below(all);
        for (act, weight) in ACTS {
            if left < weight {
                return act;
            }
            left -= weight;
        }
        Act::Prompt
    }

    async fn carry_out(&mut self, act: Act) {
        match act {
            Act::Prompt => self.prompt().await,
            Act::SendAgain => self.send_again().await,
            Act::Answer => self.answer(true).await,
            Act::AnswerBadly => self.answer(false).await,
            Act::Connect => self.connect().await,
            Act::Attach => {
                let (agent, role) = (self.agent(), self.role());
                if let Some(connection) = self.one() {
                    connection.attach(&agent, role).await;
                }
            }
            Act::ChangeRole => {
                let (agent, role) = (self.agent(), self.role());
                let attached = self.attached_to(&agent);
                if let Some(at) = self.dice.pick(&attached) {
                    self.connections[at].attach(&agent, role).await;
                }
            }
            Act::Detach => {
                let agent = self.agent();
                if let Some(connection) = self.one() {
                    connection.detach(&agent).await;
                }
            }
            Act::Leave => {
                if let Some(at) = self.any() {
                    let mut gone = self.connections.swap_remove(at);
                    gone.read(&mut self.model);
                    gone.end(&mut self.model);
                }
            }
            Act::Stall => {
                if let Some(connection) = self.one() {
                    connection.client.stop_reading();
                    (connection.stalls, connection.was_slow) = (true, true);
                }
            }
            Act::ReadAgain => self.read_again(),
            Act::KillAgent => {
                let agent = self.agent();
                if let Some(pid) = self.daemon.agent_pid(&agent) {
                    signal(pid, Signal::KILL);
                }
            }
            Act::KillDaemon => self.kill_daemon().await,
            Act::Revoke => self.revoke().await,
            Act::FillDisk => self.fill_disk(),
            Act::MakeRoom => self.make_room(),
        }
    }

    pub(crate) fn agent(&mut self) -> String {
        let at = self.dice.below(AGENTS as u64);
        self.agents[at as usize].clone()
    }

    fn role(&mut self) -> &'static str {
        ["interactive", "interactive", "observer"][self.dice.below(3) as usize]
    }

    fn any(&mut self) -> Option<usize> {
        let all: Vec<usize> = (0..self.connections.len()).collect();
        self.dice.pick(&all)
    }

    fn one(&mut self) -> Option<&mut Connection> {
        let at = self.any()?;
        self.connections.get_mut(at)
    }

    fn attached_to(&self, agent: &str) -> Vec<usize> {
        let connections = self.connections.iter().enumerate();
        let attached = connections.filter(|(_, it)| it.is_attached(agent));
        attached.map(|(at, _)| at).collect()
    }

    /// A new prompt, of one of the sorts that [`answer`] knows.
    async fn prompt(&mut self) {
        let agent = self.agent();
        if self.model.open_prompts(&agent) >= UNANSWERED {
            return;
        }
        let sort = ["say", "say", "say", "ask", "ask", "burst"][self.dice.below(6) as usize];
        let key = self.model.wish(&agent, sort);
        self.send(&key).await;
    }

    async fn send_again(&mut self) {
        for key in self.model.lost() {
            self.send(&key).await;
        }
    }

    async fn send(&mut self, key: &str) {
        let Some(prompt) = self.model.prompts.get(key) else {
            return;
        };
        let attached = self.attached_to(&prompt.agent);
        if let Some(at) = self.dice.pick(&attached) {
            self.connections[at].prompt(key, &mut self.model).await;
        }
    }

    /// Answers a question on one connection, or on all that have it, of which one wins.
    async fn answer(&mut self, well: bool) {
        let mut asked: Vec<(usize, String, String, Value)> = Vec::new();
        for (at, connection) in self.connections.iter().enumerate() {
            for (agent, heard) in &connection.agents {
                let asks = heard.asks.iter();
                asked.extend(asks.map(|(id, ask)| (at, agent.clone(), id.clone(), ask.clone())));
            }
        }
        let ids: Vec<&str> = asked.iter().map(|(_, _, id, _)| &**id).collect();
        let Some(one) = self.dice.pick(&ids).map(str::to_owned) else {
            return;
        };
        asked.retain(|(_, _, id, _)| *id == one);
        if self.dice.below(2) == 0 {
            asked.truncate(1);
        }
        for (at, agent, id, ask) in asked {
            let intent = ["allow", "allow", "deny"][self.dice.below(3) as usize];
            let choices = ask["choices"].as_array().into_iter().flatten();
            let choice = choices
                .into_iter()
                .find(|choice| choice["intent"] == intent);
            let choice = choice.map(|choice| word(&choice["id"])).filter(|_| well);
            self.connections[at].answer(&agent, &id, choice).await;
        }
    }

    async fn connect(&mut self) {
        if self.connections.len() >= CONNECTIONS {
            return;
        }
        let connection = if self.dice.below(2) == 0 {
            Connection::new(self.daemon.connect().await, None)
        } else {
            // A daemon that cannot write lets nobody new in.
            if self.browser.is_none() && self.disk_is_full {
                return;
            }
            let (browser, principal) = self.browser().await;
            Connection::new(browser.connect().await, Some(principal))
        };
        self.connections.push(connection);
    }

    async fn principals(&self) -> Vec<String> {
        let listed = self.control.ok("auth.list", json!({})).await;
        let principals = listed["principals"].as_array().into_iter().flatten();
        principals
            .map(|it| word(&it["principal_id"]).to_owned())
            .collect()
    }

    /// The browser that is let in just now.
    async fn browser(&mut self) -> (Browser, String) {
        if let Some(known) = &self.browser {
            return known.clone();
        }
        let before = self.principals().await;
        let browser = self.daemon.browser().await;
        let after = self.principals().await;
        let new = after.into_iter().find(|id| !before.contains(id)).unwrap();
        self.browser.insert((browser, new)).clone()
    }

    /// Takes in what came. Nobody is cut off without having been slow.
    pub(crate) fn read(&mut self) {
        let model = &mut self.model;
        self.connections.retain_mut(|connection| {
            let open = connection.read(model);
            let code = connection.client.close_code();
            assert!(
                open || connection.was_slow,
                "a client that reads was cut off: {code:?}\n{:#?}",
                connection.standing()
            );
            let told = connection.principal.is_none() || matches!(code, Some(4008) | None);
            assert!(open || told, "a slow browser was told {code:?}");
            open
        });
    }

    pub(crate) fn read_again(&mut self) {
        for connection in &mut self.connections {
            connection.client.go_on_reading();
            connection.stalls = false;
        }
    }

    /// How often each thing happened.
    pub(crate) fn summary(&self) -> String {
        format!("{}; {:?}", self.model.summary(), self.done)
    }
}

/// What the model says to the last prompt, by its first word.
fn answer(request: &Request) -> Reply {
    let last = request.messages().last();
    if last.is_some_and(|last| last["role"] == "tool") {
        return reply![text("That is done, or not.").chunks(4)];
    }
    let prompts = request.user_texts();
    let prompt = prompts.last().map_or("", String::as_str);
    match prompt.split(' ').next() {
        Some("ask") => reply![
            text(format!("For {prompt}: ")).chunks(3),
            tool(
                "bash",
                json!({ "command": format!("echo {prompt}; sleep 0.0{}", prompt.len()) })
            ),
        ],
        // More than a client that hangs can be kept.
        Some("burst") => reply![text(format!("{prompt}, ").repeat(10_000)).chunks(50)],
        _ => {
            let words = text(format!("{prompt} it is. ").repeat(12)).chunks(40);
            reply![words.delay(Duration::from_millis(2))]
        }
    }
}
