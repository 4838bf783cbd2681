//! `shard agent`: an agent on stdin and stdout.

use std::sync::Arc;
use std::time::Duration;

use shard_config::Config;
use shard_contracts::{BoxFuture, EventBus};
use shard_core::agent::Responder;
use shard_core::boot::{Boot, Booted, SessionChoice};
use shard_core::direct::{Direct, Events, Next, Outlet};
use shard_daemon::Manifest;
use shard_protocol::codec::Record;
use shard_protocol::{Header, RuntimeCommand, ServerMessage};
use shard_transports::Outbox;
use shard_transports::stdio::{self, Records};
use shard_types::event::Error;
use shard_types::{AgentId, ErrorCode};

use super::{asked_to_end, block_on, load_config};
use crate::args::AgentArgs;
use crate::failure::{FAILED, Failure, print};
use crate::memory;
use crate::places::Places;

/// How long an agent may take to end once its peer is gone.
const END: Duration = Duration::from_secs(4);

/// How long a supervisor may take to say who it is.
const INTRODUCTION: Duration = Duration::from_secs(10);

const SUPERVISED: &str =
    "`--agent-id` is for the daemon, which starts such processes; see `shard new`";

/// How many bytes may wait for a supervisor. What its clients may leave unread is set in the
/// configuration and kept by the supervisor itself: it reads all that it is told.
const SUPERVISOR_QUEUE: usize = 32 << 20;

/// How long its last lines may take to be read.
const LAST_LINES: Duration = Duration::from_millis(500);

pub(crate) fn run(args: AgentArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    let config = load_config(&places)?;
    let limit = match args.agent_id {
        Some(_) => SUPERVISOR_QUEUE,
        None => usize::try_from(config.daemon.client_queue_bytes).unwrap_or(usize::MAX),
    };
    if let Some(name) = &args.name {
        tracing::info!(name, "starting");
    }
    block_on(async move {
        let mut records = stdio::records()?;
        let boot = match &args.agent_id {
            Some(id) => {
                introduce(&mut records, id).await?;
                supervised(id, args.agent.trust_project, places, config)
            }
            None => Ok(args.agent.boot(places, config, Responder::Peer)),
        };
        let outbox = Arc::new(Outbox::new(limit));
        match assemble(boot).await {
            Ok(booted) => serve(booted, records, outbox).await,
            Err(fatal) => {
                let failure = Failure::from(&fatal.message);
                if args.agent_id.is_some() {
                    // A supervisor goes by the code; whoever else started this reads stderr.
                    print(&ServerMessage::Agent(None, fatal.into()).to_json())?;
                }
                Err(failure)
            }
        }
    })
}

async fn assemble(boot: Result<Boot, Error>) -> Result<Booted, Error> {
    boot?.assemble().await.map_err(|error| Error {
        code: error.code(),
        message: error.to_string(),
        fatal: Some(true),
        data: None,
    })
}

/// Takes the first line of a supervisor, which proves that it means this agent.
async fn introduce(records: &mut Records, agent_id: &AgentId) -> Result<(), Failure> {
    let first = tokio::time::timeout(INTRODUCTION, records.next()).await;
    let line = match first {
        Ok(Some(Record::Line(line))) => line,
        _ => return Err(Failure::usage(SUPERVISED)),
    };
    let header = Header::read(&line)?;
    match RuntimeCommand::parse(&header.kind, &line) {
        Some(Ok(RuntimeCommand::RuntimeInit(init)))
            if init.agent_id.as_ref().is_none_or(|id| id == agent_id) =>
        {
            Ok(())
        }
        _ => Err(Failure::usage(SUPERVISED)),
    }
}

/// As the agent's record says. A session that exists knows its own model and mode.
fn supervised(
    agent_id: &AgentId,
    trust_project: bool,
    places: Places,
    config: Config,
) -> Result<Boot, Error> {
    let manifest = Manifest::read(&places.state_home, agent_id).map_err(|error| Error {
        code: ErrorCode::InternalError,
        message: error.to_string(),
        fatal: Some(true),
        data: None,
    })?;
    let path = manifest.session_file(&places.state_home);
    let fresh = !path.exists();
    Ok(Boot {
        agent_id: Some(agent_id.clone()),
        cwd: Some(manifest.cwd.clone()),
        session: SessionChoice::At {
            id: manifest.session_id.clone(),
            path,
        },
        grants_path: Some(manifest.grants_file(&places.state_home)),
        model: manifest.model.filter(|_| fresh),
        mode: manifest.mode.filter(|_| fresh),
        tools: manifest.tools,
        skills: manifest.skills,
        headless_policy: Some(manifest.headless_policy),
        trust_project,
        responder: Responder::Supervisor,
        ..super::boot(places, config)
    })
}

/// Serves until the peer is gone or the process is asked to end.
async fn serve(booted: Booted, mut records: Records, outbox: Arc<Outbox>) -> Result<(), Failure> {
    let Booted {
        session,
        handle,
        bus,
        mut host,
        diagnostics,
        ..
    } = booted;
    for diagnostic in diagnostics {
        tracing::warn!("{diagnostic}");
    }
    let outlet: Arc<dyn Outlet> = Arc::new(Lines(Arc::clone(&outbox)));
    bus.subscribe(Arc::new(Events(Arc::clone(&outlet))));
    stdio::write(Arc::clone(&outbox), std::io::stdout())?;
    let mut session = tokio::spawn(session.run());
    let connection = Direct::new(handle.clone(), outlet);
    let mut asked = std::pin::pin!(asked_to_end());
    let end = loop {
        tokio::select! {
            record = records.next() => {
                let Some(record) = record else { break Ok(()) };
                if connection.take(record).await == Next::Close {
                    break Err(Failure::silent(FAILED));
                }
            }
            () = outbox.closed() => break Err(anyhow::anyhow!("the reader of stdout is gone or too slow").into()),
            () = &mut asked => break Ok(()),
            _ = &mut session => break Err(anyhow::anyhow!("the agent broke down; its session is kept").into()),
        }
    };
    if tracing::enabled!(tracing::Level::DEBUG) {
        tracing::debug!(pss_kb = memory::pss_kb(), "ending");
    }
    // Whatever hangs, the process ends: its tools end with it, and the transcript is on file.
    let wind_down = async {
        handle.close().await;
        host.shut_down().await;
    };
    let closed = tokio::time::timeout(END, wind_down).await;
    outbox.finish(LAST_LINES);
    if closed.is_err() {
        tracing::error!("the agent did not end in time");
    }
    end
}

/// The peer at the other end of stdout.
struct Lines(Arc<Outbox>);

impl Outlet for Lines {
    fn send(&self, line: String) {
        if let Err(error) = self.0.push_line(line) {
            tracing::error!("{error}; the connection is closed");
        }
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.ready())
    }
}
