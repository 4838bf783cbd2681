//! One agent: the owner of a conversation.
//!
//! [`AgentSession`] is one task. Commands come in through its inbox, events leave through the bus,
//! and nothing else writes the session file. A turn is a task of its own that talks to the session
//! by messages, so that steering, aborting, switching the model or answering a question never
//! waits for a provider or a tool.
//!
//! | file | has |
//! |---|---|
//! | `session` | the task: its state, its loop, the life of turns |
//! | `commands` | what each command of a client does |
//! | `choices` | the commands that pick a mode, a model and an effort |
//! | `turns` | what a turn asks of its session |
//! | `conversation` | the entries, and what they amount to |
//! | `draft` | the message that is being streamed |
//! | `effort` | which reasoning effort a model is asked for |
//! | `compaction` | when and how far the window is made short |
//! | `forks` | sessions that are split off, and their list |
//! | `arrivals` | prompts whose pictures are made fit before they are accepted |
//! | `queue` | prompts that wait, request keys |
//! | `asks` | questions that are open |
//! | `questions` | how they are opened, answered and closed |
//! | `reloading` | what people changed, taken up between two turns |
//! | `store` | the session file, and when it is synced |

mod arrivals;
mod asks;
mod choices;
mod commands;
mod compaction;
mod conversation;
mod draft;
mod effort;
mod forks;
mod handle;
mod questions;
mod queue;
mod reloading;
mod session;
mod settings;
mod store;
mod turns;

pub(crate) use draft::{Call, Finished};
pub(crate) use effort::Effort;
pub use handle::{AgentHandle, Reply, SessionUi};
pub(crate) use handle::{Answer, AnsweredBy, Plan, Reloaded, StartedCall, TurnRequest};
pub use session::{AgentSession, Channel};
pub use settings::{Responder, Settings};
