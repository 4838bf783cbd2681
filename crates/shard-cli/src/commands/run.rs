//! `shard run`: one prompt, from a terminal or in a pipe.
//!
//! The answer goes to stdout, everything about it to stderr. With `--json` stdout carries the raw
//! events instead.

mod asker;
mod watcher;

use std::io::{BufRead, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde_json::json;
use shard_contracts::EventBus;
use shard_core::agent::{AgentHandle, Responder};
use shard_core::boot::Booted;
use shard_protocol::{Accepted, AgentCommand};
use shard_transports::Outbox;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use self::asker::Asker;
use self::watcher::Watcher;
use super::show::{Screen, Style};
use super::{asked_to_end, block_on, load_config};
use crate::args::RunArgs;
use crate::failure::{FAILED, Failure, say, say_part};
use crate::places::Places;

/// Questions that wait to be put; a turn asks one at a time.
const QUESTIONS: usize = 16;

/// How long the session may take to end.
const END: Duration = Duration::from_secs(4);

pub(crate) fn run(args: RunArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    let config = load_config(&places)?;
    let interactive = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let responder = if interactive {
        Responder::Peer
    } else {
        Responder::Nobody
    };
    block_on(async move {
        if config.providers.is_empty() {
            say(DEMO);
        }
        // Before a session is made: without a prompt there is none.
        let text = match args.text {
            Some(text) => text,
            None => read_line(interactive)?,
        };
        let boot = args.agent.boot(places, config, responder);
        let booted = boot.assemble().await?;
        let style = if args.json { Style::Json } else { Style::Text };
        carry_out(booted, text, style, interactive).await
    })
}

/// What a newcomer without a configuration is told.
const DEMO: &str = "shard: no model is configured, so the built-in demo answers; it is no language model. \
                    `shard doctor` shows what could be used instead";

/// One line from stdin.
fn read_line(interactive: bool) -> Result<String, Failure> {
    if interactive {
        say_part("> ");
    }
    let mut line = String::new();
    let length = std::io::stdin()
        .lock()
        .read_line(&mut line)
        .context("cannot read the prompt from stdin")?;
    if length == 0 {
        return Err(Failure::usage(
            "there is nothing to do; give a text, as in: shard run \"explain this repository\"",
        ));
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

async fn carry_out(
    booted: Booted,
    text: String,
    style: Style,
    interactive: bool,
) -> Result<(), Failure> {
    let Booted {
        session,
        handle,
        bus,
        mut host,
        diagnostics,
        model,
        ..
    } = booted;
    diagnostics
        .iter()
        .for_each(|diagnostic| say(&format!("shard: {diagnostic}")));
    let screen = Screen::apart(style)?;
    let (questions, asked) = mpsc::channel(QUESTIONS);
    let watcher = Arc::new(Watcher::new(Arc::clone(&screen.printer), questions));
    bus.subscribe(Arc::clone(&watcher) as _);
    tracing::debug!(model = model.id(), "running");
    let mut session = tokio::spawn(session.run());
    if interactive {
        tokio::spawn(Asker::new(handle.clone(), Arc::clone(&screen.err))?.run(asked));
    }
    let outcome = follow(&handle, &mut session, &watcher, &screen.out, text).await;
    let wind_down = async {
        handle.close().await;
        host.shut_down().await;
    };
    _ = tokio::time::timeout(END, wind_down).await;
    screen.finish();
    outcome
}

/// Sends the prompt and waits until the turn that takes it up has ended. What waits in the session
/// from before runs first.
async fn follow(
    handle: &AgentHandle,
    session: &mut JoinHandle<()>,
    watcher: &Watcher,
    out: &Outbox,
    text: String,
) -> Result<(), Failure> {
    // The turn may run before the prompt is answered: an interrupt must abort it from here on.
    let mut asked = std::pin::pin!(asked_to_end());
    let mut interrupted = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    let prompt = json!({ "message": text, "streaming_behavior": "follow_up" });
    let prompt = AgentCommand::parse("prompt", &prompt.to_string());
    let prompt = prompt.context("`prompt` is a command")??;
    let accepted = handle.request(prompt).await.map_err(|error| Failure {
        code: FAILED,
        message: error.message,
    })?;
    let accepted: Accepted = serde_json::from_value(accepted)?;
    let prompt = accepted.message_id.context("a prompt has an id")?;
    let mut progress = watcher.progress();
    let mut interrupts = 0;
    loop {
        let rested = async {
            let ended = progress.wait_for(|progress| progress.ended_well(&prompt).is_some());
            ended
                .await
                .is_ok_and(|progress| progress.ended_well(&prompt) == Some(true))
        };
        tokio::select! {
            well = rested => {
                // Why a turn ended badly was said when it happened.
                return if well { Ok(()) } else { Err(Failure::silent(FAILED)) };
            }
            () = out.closed() => return Err(Failure::silent(FAILED)), // nobody reads the answer
            () = &mut asked => return Err(Failure::silent(FAILED)),
            _ = &mut *session => return Err(anyhow::anyhow!("the agent broke down; its session is kept").into()),
            _ = interrupted.recv() => {
                interrupts += 1;
                if interrupts > 1 {
                    return Err(Failure::silent(130));
                }
                abort(handle);
            }
        }
    }
}

/// Aborts without waiting, so that a second Ctrl-C is heard.
fn abort(handle: &AgentHandle) {
    let handle = handle.clone();
    tokio::spawn(async move {
        handle
            .request(AgentCommand::Abort(shard_protocol::Abort {}))
            .await
    });
}

#[cfg(test)]
mod tests {
    use shard_config::Config;
    use shard_contracts::EventSubscriber;
    use shard_core::boot::{Boot, SessionChoice};
    use shard_types::event::AgentEvent;

    use super::*;

    /// Breaks the session down in the middle of an answer.
    struct Breaks;

    impl EventSubscriber for Breaks {
        fn event(&self, event: &AgentEvent) {
            assert!(!matches!(event, AgentEvent::MessageDelta(_)), "a fault");
        }
    }

    #[tokio::test]
    async fn a_session_that_breaks_down_ends_the_run() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let boot = Boot {
            cwd: None,
            current_dir: folder.path().to_owned(),
            config: Config::default(),
            config_path: folder.path().join("config.json"),
            state_home: folder.path().join("state"),
            home: None,
            environment: Vec::new(),
            session: SessionChoice::New,
            agent_id: None,
            grants_path: None,
            model: None,
            mode: None,
            tools: None,
            skills: None,
            headless_policy: None,
            trust_project: false,
            agents_md: false,
            responder: Responder::Nobody,
            extensions: Vec::new(),
        };
        let booted = boot.assemble().await?;
        booted.bus.subscribe(Arc::new(Breaks));
        let run = carry_out(booted, "hello".to_owned(), Style::Text, false);
        let ended = tokio::time::timeout(Duration::from_secs(10), run).await?;
        let failure = ended.err().context("the run failed")?;
        assert!(failure.message.contains("broke down"), "{failure:?}");
        assert_eq!(failure.code, FAILED);
        Ok(())
    }
}
