//! `shard prompt`: sends a prompt to an agent.

use std::io::{IsTerminal, Read};
use std::time::Duration;

use anyhow::Context;
use shard_protocol::{Accepted, AttachRole, DaemonEvent, Prompt, ServerMessage, StreamingBehavior};
use shard_types::event::AgentEvent;
use shard_types::{AgentId, AgentStatus, EntryId, RuntimeState};
use tokio::time::{Instant, sleep_until};

use super::show::{Screen, Style, unwell};
use super::{block_on, request_key};
use crate::args::PromptArgs;
use crate::client::{Client, START};
use crate::failure::{FAILED, Failure, UNREACHABLE, say_part};
use crate::places::Places;

/// How long an accepted prompt may stay untouched while its agent rests, before it counts as given
/// back: between two turns the agent rests for a moment.
const UNTOUCHED: Duration = Duration::from_secs(2);

pub(crate) fn run(args: PromptArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    let text = match args.text {
        Some(text) if text != "-" => text,
        _ => from_stdin()?,
    };
    block_on(async {
        let mut client = Client::connect(&places).await?;
        let agent_id = client.find(&args.agent).await?.agent_id;
        let accepted = send(&mut client, &places, &agent_id, text).await?;
        if !args.wait {
            return Ok(());
        }
        let prompt = accepted.message_id.context("a prompt has an id")?;
        let screen = Screen::apart(Style::Text)?;
        let outcome = wait(&mut client, &agent_id, prompt, &screen).await;
        screen.finish();
        outcome
    })
}

fn from_stdin() -> Result<String, Failure> {
    if std::io::stdin().is_terminal() {
        say_part("The prompt, ended with Ctrl-D:\n");
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text);
    read.context("cannot read the prompt from stdin")?;
    let text = text.trim_end_matches(['\r', '\n']);
    if text.trim().is_empty() {
        return Err(Failure::usage(
            "there is nothing to send; give a text, as in: shard prompt ID \"run the tests\"",
        ));
    }
    Ok(text.to_owned())
}

/// Attaches to an agent and sends it a prompt, once. It waits for its turn if one runs.
pub(super) async fn send(
    client: &mut Client,
    places: &Places,
    agent_id: &AgentId,
    text: String,
) -> Result<Accepted, Failure> {
    let prompt = prompt(text)?;
    let attempt = async |client: &mut Client| {
        client.attach(agent_id, AttachRole::Observer).await?;
        let id = client.send_to(agent_id, prompt.clone().into()).await?;
        let answer = client.answer(&id, START).await?;
        Ok(serde_json::from_value(
            answer.map_err(Failure::from_answer)?,
        )?)
    };
    client.start(places, attempt).await
}

/// A prompt that is done next, whatever the agent is doing.
pub(super) fn prompt(text: String) -> Result<Prompt, Failure> {
    Ok(Prompt {
        message: text,
        images: Vec::new(),
        streaming_behavior: Some(StreamingBehavior::FollowUp),
        request_key: Some(request_key()?),
    })
}

/// Shows the turn that takes up a prompt, until it ends.
async fn wait(
    client: &mut Client,
    agent_id: &AgentId,
    prompt: EntryId,
    screen: &Screen,
) -> Result<(), Failure> {
    let mut waiting = Wait {
        prompt,
        taken: false,
        untouched: None,
    };
    loop {
        let message = tokio::select! {
            message = client.next() => message,
            () = at(waiting.untouched) => {
                return failed("the prompt was given back: somebody stopped the agent");
            }
            () = screen.out.closed() => return Err(Failure::silent(FAILED)),
        };
        match message {
            None => {
                return Err(Failure {
                    code: UNREACHABLE,
                    message: "the daemon ended before the turn did".to_owned(),
                });
            }
            Some(ServerMessage::Agent(Some(from), event)) if from == *agent_id => {
                if let Some(ended) = waiting.follow(&event, screen) {
                    return ended;
                }
                screen.printer.ready().await;
            }
            Some(ServerMessage::Daemon(event)) if is_end(&event, agent_id) => {
                return failed("the agent's process ended before the turn did");
            }
            Some(_) => {}
        }
    }
}

fn failed(why: &str) -> Result<(), Failure> {
    Err(anyhow::anyhow!("{why}").into())
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn is_end(event: &DaemonEvent, agent_id: &AgentId) -> bool {
    match event {
        DaemonEvent::AgentExited(it) => it.agent_id == *agent_id,
        DaemonEvent::AgentStatusChanged(it) => {
            let ended = matches!(
                it.runtime_state,
                RuntimeState::Stopped | RuntimeState::Failed
            );
            it.agent_id == *agent_id && ended
        }
        _ => false,
    }
}

/// What is known of an accepted prompt.
struct Wait {
    prompt: EntryId,
    /// A turn has taken it up.
    taken: bool,
    /// When it counts as given back.
    untouched: Option<Instant>,
}

impl Wait {
    /// Takes in an event; gives how the prompt's turn ended.
    fn follow(&mut self, event: &AgentEvent, screen: &Screen) -> Option<Result<(), Failure>> {
        match event {
            AgentEvent::MessageComplete(it) if it.message_id == self.prompt => {
                self.taken = true;
                self.untouched = None;
                return None;
            }
            AgentEvent::Status(it) if !self.taken => {
                let rests = matches!(it.status, AgentStatus::Idle | AgentStatus::Error);
                self.untouched = rests.then(|| Instant::now() + UNTOUCHED);
            }
            _ => {}
        }
        if !self.taken {
            return None;
        }
        screen.printer.show(event);
        match event {
            AgentEvent::PermissionRequest(_) | AgentEvent::UiRequest(_) => {
                screen
                    .printer
                    .note("shard: the agent asks something; answer it with `shard attach`, or in the browser");
                None
            }
            AgentEvent::TurnEnd(end) => Some(match unwell(end.reason) {
                None => Ok(()),
                Some(why) => {
                    screen.printer.end_line();
                    failed(why)
                }
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[tokio::test]
    async fn a_prompt_ends_with_the_turn_that_takes_it_up() -> anyhow::Result<()> {
        let screen = Screen::apart(Style::Json)?;
        let mut waiting = Wait {
            prompt: "msg-9".parse()?,
            taken: false,
            untouched: None,
        };
        let mut follow = |kind: &str, body: Value| {
            let event = AgentEvent::parse(kind, &body.to_string()).unwrap().unwrap();
            let ended = waiting.follow(&event, &screen);
            (
                ended.map(|ended| ended.is_ok()),
                waiting.untouched.is_some(),
            )
        };
        let end = |reason: &str| json!({ "turn_id": "turn-1", "reason": reason });
        let message = json!({ "id": "msg-9", "role": "user", "content": [] });
        assert_eq!(
            follow("turn_end", end("done")),
            (None, false),
            "an earlier turn"
        );
        let idle = follow("status", json!({ "status": "idle" }));
        assert_eq!(idle, (None, true), "it may have been given back");
        let taken = json!({ "message_id": "msg-9", "message": message });
        assert_eq!(follow("message_complete", taken), (None, false));
        assert_eq!(follow("turn_end", end("limit")), (Some(false), false));
        assert_eq!(follow("turn_end", end("done")), (Some(true), false));
        Ok(())
    }
}
