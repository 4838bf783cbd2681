//! What the person does.

use std::ops::ControlFlow::{Break, Continue};

use shard_protocol::{Abort, AgentCommand, Steer};

use super::super::show::PICK;
use super::super::{prompt, request_key};
use super::talk::{Stay, Talk};
use super::typed::{HELP, Typed};
use crate::failure::Failure;

impl Talk {
    pub(super) async fn typed(&mut self, line: &str) -> Result<Stay, Failure> {
        self.screen.printer.line_was_typed();
        let command = match Typed::read(line) {
            Typed::Detach => return Ok(Break(())),
            Typed::Stop => Abort {}.into(),
            _ if !self.questions.is_empty() => return self.answer(line).await,
            Typed::Nothing => {
                self.invite();
                return Ok(Continue(()));
            }
            Typed::Help => {
                self.note(HELP);
                self.invite();
                return Ok(Continue(()));
            }
            Typed::Unknown(word) => {
                self.note(&format!("there is no {word}: {HELP}"));
                self.invite();
                return Ok(Continue(()));
            }
            Typed::Steer(text) => {
                self.own.push(text.to_owned());
                Steer {
                    message: text.to_owned(),
                    images: Vec::new(),
                    request_key: Some(request_key()?),
                    expect: None,
                }
                .into()
            }
            Typed::Prompt(text) => {
                if self.running {
                    self.note("waits until the turn has ended");
                } else {
                    self.own.push(text.to_owned());
                    // Ctrl-C means the turn from here on.
                    self.running = true;
                }
                prompt::prompt(text.to_owned())?.into()
            }
        };
        self.send(command).await
    }

    /// Sends a command. What has a request key is sent again if the daemon goes away first.
    pub(super) async fn send(&mut self, command: AgentCommand) -> Result<Stay, Failure> {
        let has_key = matches!(command, AgentCommand::Prompt(_) | AgentCommand::Steer(_));
        let sent = self.client.send_to(&self.agent_id, command.clone()).await;
        match (sent, has_key) {
            (Ok(id), true) => self.unanswered.push((id, command)),
            (Err(_), true) if self.client.is_lost() => {
                self.unanswered.push((String::new(), command));
            }
            (sent, _) => _ = sent?,
        }
        Ok(Continue(()))
    }

    async fn answer(&mut self, line: &str) -> Result<Stay, Failure> {
        let Some(question) = self.questions.first() else {
            return Ok(Continue(()));
        };
        let id = question.id().clone();
        let Some(answer) = self.questions.answer(Some(line)) else {
            self.screen.printer.words(PICK);
            return Ok(Continue(()));
        };
        let whose = self.askers.get(&id).unwrap_or(&self.agent_id).clone();
        self.client.send_to(&whose, answer).await?;
        self.answered.insert(id.clone());
        // That it is closed may still be on its way.
        if self.questions.close(&id) && !self.questions.is_empty() {
            self.put();
        }
        Ok(Continue(()))
    }

    /// Ctrl-C stops the turn that runs, and leaves when none does.
    pub(super) async fn interrupted(&mut self) -> Result<Stay, Failure> {
        if !self.running {
            return Ok(Break(()));
        }
        self.note("stopping the turn; Ctrl-D leaves without that");
        self.send(Abort {}.into()).await
    }
}
