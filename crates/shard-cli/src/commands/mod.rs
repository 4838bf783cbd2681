//! One file a command.

pub(crate) mod agent;
pub(crate) mod attach;
pub(crate) mod auth;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod daemon;
pub(crate) mod doctor;
pub(crate) mod grants;
pub(crate) mod kill;
pub(crate) mod log;
pub(crate) mod ls;
pub(crate) mod new;
pub(crate) mod prompt;
mod remote;
pub(crate) mod run;
pub(crate) mod schema;
mod show;
pub(crate) mod shutdown;
pub(crate) mod stop;
pub(crate) mod usage;
pub(crate) mod web;
pub(crate) mod workspace;

use std::future::Future;
use std::time::Duration;

use anyhow::Context;
use shard_config::{Config, Loaded};
use shard_core::agent::Responder;
use shard_core::boot::{Boot, SessionChoice};
use shard_protocol::RequestKey;
use shard_types::RequestId;

use crate::args::AgentOptions;
use crate::failure::{Failure, say};
use crate::places::Places;

/// How long work on other threads may take to end when everything else has.
const LAST_WORK: Duration = Duration::from_millis(300);

/// Runs a future on a runtime of one thread, which is all that an agent needs.
fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let done = runtime.block_on(future);
    // A thread that decodes a picture or searches a text cannot be stopped, and is needed no more.
    runtime.shutdown_timeout(LAST_WORK);
    done
}

/// A key that nobody else uses, so that what it is sent with is done once.
fn request_key() -> Result<RequestKey, Failure> {
    let unique = RequestId::generate().to_string();
    Ok(RequestKey::try_from(unique)?)
}

/// Reads the configuration; what is only a warning is said.
fn load_config(places: &Places) -> Result<Config, Failure> {
    let Loaded {
        config, warnings, ..
    } = shard_config::load(&places.config)?;
    for warning in warnings {
        say(&format!("warning: {warning}"));
    }
    Ok(config)
}

impl AgentOptions {
    fn boot(self, places: Places, config: Config, responder: Responder) -> Boot {
        let session = match self.session {
            Some(id) => SessionChoice::Id(id),
            None if self.continue_session => SessionChoice::Continue,
            None => SessionChoice::New,
        };
        Boot {
            cwd: self.cwd.map(|cwd| places.current_dir.join(cwd)),
            session,
            model: self.model,
            mode: self.mode,
            tools: self.tools,
            headless_policy: self.headless_policy,
            trust_project: self.trust_project,
            agents_md: !self.no_agents_md,
            responder,
            ..boot(places, config)
        }
    }
}

/// What an agent is started with when nothing is asked for.
fn boot(places: Places, config: Config) -> Boot {
    Boot {
        cwd: None,
        current_dir: places.current_dir,
        config,
        config_path: places.config,
        state_home: places.state_home,
        home: places.home,
        environment: places.environment,
        session: SessionChoice::New,
        agent_id: None,
        grants_path: None,
        model: None,
        mode: None,
        tools: None,
        skills: None,
        headless_policy: None,
        trust_project: false,
        agents_md: true,
        responder: Responder::Nobody,
        extensions: Vec::new(),
    }
}

/// Resolves when the process is asked to end. It listens from the call on, not only while it is
/// waited for: keep one across a loop, or what comes between two rounds is lost.
fn asked_to_end() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = (
        signal(SignalKind::terminate()),
        signal(SignalKind::hangup()),
    );
    async move {
        let (Ok(mut term), Ok(mut hup)) = signals else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = term.recv() => {}
            _ = hup.recv() => {}
        }
    }
}
