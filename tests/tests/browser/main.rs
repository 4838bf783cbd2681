//! The web client end to end: a real Chromium, the real daemon, real agents, a scripted model.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod chromium;
mod conversation;
mod letting_in;
mod looks;
mod losses;
mod proxies;
mod proxy;
mod questions;

use chromium::{Chromium, Page};
use serde_json::json;
use shard_testkit::{Client, DaemonProcess, Gate, Home, Reply, ScriptedModel, ask_all, hold, text};

/// A laptop.
const WIDE: (u32, u32) = (1280, 800);
/// A phone.
const NARROW: (u32, u32) = (360, 740);

/// A daemon, a terminal's client of it, and browsers. Ended in this order.
struct Site {
    chromium: Chromium,
    client: Client,
    daemon: DaemonProcess,
    home: Home,
    model: ScriptedModel,
}

impl Site {
    /// A daemon whose agents ask for everything.
    async fn start(model: ScriptedModel) -> Self {
        let home = Home::builder().model(&model).rules(ask_all()).build();
        let daemon = DaemonProcess::start(&home, &[]).await;
        let client = daemon.connect().await;
        Self {
            chromium: Chromium::start(&home),
            client,
            daemon,
            home,
            model,
        }
    }

    /// A page that was let in.
    async fn page(&self) -> Page {
        self.page_of(WIDE).await
    }

    async fn page_of(&self, (width, height): (u32, u32)) -> Page {
        let page = self.chromium.browser(width, height).await;
        let token = self.client.ok("auth.token", json!({})).await;
        page.open(token["url"].as_str().unwrap()).await;
        page.connected().await;
        page
    }

    /// An agent with this name, made from a terminal as `shard new` makes one.
    async fn agent(&self, name: &str) -> String {
        let wish = json!({
            "cwd": self.home.work(), "name": name, "headless_policy": "queue",
        });
        self.client.create(wish).await
    }

    /// A page on which this agent is open.
    async fn page_at(&self, agent_id: &str) -> Page {
        let page = self.page().await;
        page.click(&format!("agent-row-{agent_id}")).await;
        page.find("composer").await;
        page
    }
}

impl Page {
    /// Sends a message to the agent that is open.
    async fn say(&self, message: &str) {
        self.fill("composer", message).await;
        self.click("send").await;
    }
}

/// A reply that comes half, and the rest when the gate opens.
fn halves(gate: &Gate) -> Reply {
    Reply::new()
        .then(text("The first half, "))
        .then(hold(gate))
        .then(text("and the second."))
}
