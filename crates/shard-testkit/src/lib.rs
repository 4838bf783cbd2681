//! What Shard's tests stand on: a scripted model behind a real HTTP server, a throw-away home,
//! and the real binary driven over stdio, from a command line, or as a daemon with any number of
//! clients. A dev-dependency only.
//!
//! A test says what the model will answer, runs the program, and looks at what came out on
//! both sides: the messages of the agent and the requests that reached the model.
//!
//! ```no_run
//! use serde_json::json;
//! use shard_testkit::{AgentProcess, Home, ScriptedModel, reply, text, tool};
//!
//! # async fn a_file_is_read_and_summed_up() {
//! let model = ScriptedModel::start([
//!     reply![tool("read", json!({"path": "README.md"})).pieces(4)],
//!     reply![text("It is a short file.").chunks(3)],
//! ]);
//! let home = Home::new(&model);
//! let agent = AgentProcess::start(&home, &[]);
//! let turn = agent.turn("What is in the readme?").await;
//! assert_eq!((turn.reason(), turn.text()), ("done", "It is a short file.".to_owned()));
//! assert_eq!(model.request(1).await.tool_results().len(), 1);
//! assert!(agent.quit().await.success());
//! # }
//! ```
//!
//! Helpers panic with a sentence when what they wait for does not come: that is how a test
//! fails. Deadlines run on the caller's clock, so these helpers are not for paused time.

mod agent;
mod browser;
mod child;
mod cli;
mod client;
mod daemon;
mod dice;
mod home;
mod http;
mod messages;
pub mod model;
mod procs;
mod turn;

pub use agent::AgentProcess;
pub use browser::Browser;
pub use cli::{Output, run_cli};
pub use client::{Attached, Client};
pub use daemon::DaemonProcess;
pub use dice::Dice;
pub use home::{Home, HomeBuilder, allow_all, ask_all};
pub use http::{Http, HttpResponse};
pub use messages::Mark;
pub use model::{
    Gate, Provider, Reply, Request, ScriptedModel, UsageShape, comment, cut, error, error_event,
    hang_up, hold, pause, raw, stamp, text, thinking, tool, usage,
};
pub use procs::{alive, descendants, processes_under, signal, until};
pub use turn::{Answer, Turn};
