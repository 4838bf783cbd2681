//! What a turn asks of its session.

use std::sync::Arc;

use shard_contracts::{Artifact, EventBus, ProviderEvent, ProviderRequest};
use shard_types::event::{
    Error, MessageComplete, ToolCall, ToolProgress, ToolResult, TurnEndReason,
};
use shard_types::{
    Checkpoint, ContentBlock, EntryBody, EntryId, ErrorCode, Message, MessageDetails, Role,
    ToolResultContent, ToolResultDetails, Usage,
};
use tokio::sync::oneshot;

use super::compaction::Squeeze;
use super::draft::{Draft, Finished};
use super::handle::{Plan, StartedCall, TurnRequest};
use super::session::{AgentSession, RunningTurn};
use crate::activations::activated_section;
use crate::compaction::estimate_content;

impl AgentSession {
    pub(super) fn on_turn_request(&mut self, request: TurnRequest) {
        match request {
            TurnRequest::Model { answer } => _ = answer.send(self.model.id()),
            TurnRequest::Reloaded { reloaded, answer } => {
                let settings = self.reloaded(*reloaded);
                _ = answer.send(settings);
            }
            TurnRequest::Plan { answer } => {
                let plan = self.plan();
                _ = answer.send(plan);
            }
            TurnRequest::Stream(events) => self.stream(events),
            TurnRequest::Retry { detail } => self.retry(detail),
            TurnRequest::MakeRoom { answer } => {
                let made = self.make_room();
                if made.is_ok()
                    && let Some(turn) = &mut self.turn
                {
                    // The call that was refused is made again.
                    turn.rounds -= 1;
                    turn.unread = true;
                }
                _ = answer.send(made);
            }
            TurnRequest::Finish { cut, answer } => {
                let finished = self.finish_message(cut);
                self.answer_or_fail(finished, answer);
            }
            TurnRequest::Ask {
                tool,
                input,
                ask,
                answer,
            } => self.open_ask(tool, input, *ask, answer),
            TurnRequest::ToolStarted { call, answer } => {
                // What is aborted before it starts does not start.
                if self.turn.as_ref().is_some_and(|turn| !turn.is_cancelled()) {
                    let started = self.tool_started(call);
                    self.answer_or_fail(started, answer);
                }
            }
            TurnRequest::ToolProgress { tool_call_id, text } => {
                // Something that the tool left behind may print on; its call is over.
                if !self.conversation.is_open(&tool_call_id) {
                    return;
                }
                self.publish(ToolProgress {
                    tool_call_id,
                    text_delta: text,
                });
            }
            TurnRequest::ToolDone {
                result,
                keep,
                answer,
            } => {
                let done = self.tool_done(result, keep);
                self.answer_or_fail(done, answer);
            }
            TurnRequest::Complain { code, message } => self.complain(code, message),
        }
    }

    /// What the turn does next: it goes on while there is something that the model has not read,
    /// within its bound. Whether the last answer said anything does not matter: an empty one is
    /// over too.
    fn plan(&mut self) -> Plan {
        let steers = self.queue.steers();
        let Some(turn) = &self.turn else {
            return Plan::Stop(TurnEndReason::Aborted);
        };
        if turn.is_cancelled() {
            return Plan::Stop(TurnEndReason::Aborted);
        }
        let max_rounds = self.settings.max_rounds;
        match (turn.unread, turn.rounds >= max_rounds) {
            (false, _) if steers.is_empty() => return Plan::Stop(TurnEndReason::Done),
            // The steers start the next turn.
            (false, true) => return Plan::Stop(TurnEndReason::Done),
            (true, true) => {
                self.complain(
                    ErrorCode::ToolError,
                    format!(
                        "the turn was stopped after {max_rounds} rounds (`tools.max_rounds`); send a message to go on"
                    ),
                );
                return Plan::Stop(TurnEndReason::Limit);
            }
            (_, false) => {}
        }
        for steer in &steers {
            self.deliver(steer);
            if self.turn.as_ref().is_none_or(RunningTurn::is_cancelled) {
                break; // what could not be written keeps its place before those after it
            }
        }
        self.fit();
        let history = self.conversation.history();
        let to_answer = history.last().is_some_and(|last| last.role == Role::User);
        match &mut self.turn {
            Some(turn) if to_answer && !turn.is_cancelled() => {
                turn.rounds += 1;
                turn.unread = false;
                turn.selection = Some(self.model.clone());
                turn.mode = Arc::clone(&self.mode);
            }
            _ => return Plan::Stop(TurnEndReason::Aborted),
        }
        Plan::Call {
            selection: self.model.clone(),
            mode: Arc::clone(&self.mode),
            request: Box::new(self.request(history)),
        }
    }

    /// A turn whose row could not be written hears nothing, and ends.
    fn answer_or_fail<T>(&mut self, outcome: Result<T, String>, answer: oneshot::Sender<T>) {
        match outcome {
            Ok(value) => _ = answer.send(value),
            Err(error) => self.fail_turn(&error),
        }
    }

    pub(super) fn complain(&self, code: ErrorCode, message: String) {
        self.publish(Error {
            code,
            message,
            fatal: Some(false),
            data: None,
        });
    }

    fn request(&self, messages: Vec<Message>) -> ProviderRequest {
        let mut system = self.system_prompt();
        let activated = self.activations.all();
        system += &activated_section(activated, |id| has_result(&messages, id));
        ProviderRequest {
            model: self.model.spec.clone(),
            system,
            messages,
            tools: self.toolbox.declarations(&*self.mode),
            reasoning: self.effort.asked_of(&self.model.spec).map(str::to_owned),
        }
    }

    /// What came before an abort is taken in after it too: a message must not count as whole and
    /// lack a piece.
    fn stream(&mut self, events: Vec<ProviderEvent>) {
        self.update_status(); // a retry is over
        let Some(turn) = &mut self.turn else { return };
        let model = turn
            .selection
            .as_ref()
            .map_or_else(String::new, |selection| selection.id());
        let draft = turn.draft.get_or_insert_with(|| Draft::new(model));
        for event in events {
            if let Some(delta) = draft.push(event, |id| self.conversation.knows_call(id)) {
                self.bus.publish(&delta.into());
            }
        }
    }

    /// Keeps the whole answer, and says what calls it makes.
    fn finish_message(&mut self, cut: bool) -> Result<Finished, String> {
        let Some(turn) = &mut self.turn else {
            return Err("the turn is over".to_owned());
        };
        let Some(draft) = turn.draft.take() else {
            return Ok(Finished {
                content: Vec::new(),
                calls: Vec::new(),
            });
        };
        turn.squeeze = Squeeze::default();
        let counted = turn.usage_of(&draft);
        let finished = draft.finish(cut);
        let usage = match &counted {
            Some(usage) => usage.clone(),
            None => self.guess(&finished.content),
        };
        if !finished.content.is_empty() {
            let details = MessageDetails {
                role: Role::Assistant,
                content: finished.content.clone(),
                partial: false,
                usage: Some(usage.clone()),
            };
            self.add_message(draft.id, details)?;
        }
        match counted {
            Some(usage) => self.count(Some(usage)),
            None => self.publish(usage),
        }
        Ok(finished)
    }

    /// What can be said of a call whose server counts nothing: how full the window is about to be.
    fn guess(&self, answer: &[ContentBlock]) -> Usage {
        let turn = self.turn.as_ref();
        let selection = turn.and_then(|turn| turn.selection.as_ref());
        Usage {
            context_tokens: Some(self.tokens().saturating_add(estimate_content(answer))),
            model: selection.map(|selection| selection.id()),
            ..Usage::default()
        }
    }

    fn count(&mut self, usage: Option<Usage>) {
        if let (Some(turn), Some(usage)) = (&mut self.turn, usage) {
            turn.usage.get_or_insert_default().add(&usage);
            self.publish(usage);
        }
    }

    /// The answer broke off: what had come is kept, marked, and shown as it stands.
    pub(super) fn keep_broken_off(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        let Some(draft) = turn.draft.take() else {
            return;
        };
        let usage = turn.usage_of(&draft);
        let content = draft.broken_off();
        if !content.is_empty() {
            let details = MessageDetails {
                role: Role::Assistant,
                content,
                partial: true,
                usage: usage.clone(),
            };
            if let Err(error) = self.add_message(draft.id.clone(), details) {
                self.fail_turn(&error);
            }
        }
        self.count(usage);
    }

    /// A try failed before it gave anything; what it took counts all the same.
    fn retry(&mut self, detail: String) {
        let Some(turn) = &mut self.turn else { return };
        let usage = turn.draft.take().and_then(|draft| turn.usage_of(&draft));
        let over = turn.is_cancelled();
        self.count(usage);
        if !over {
            self.show_detail(detail);
        }
    }

    /// Appends a message and shows it.
    ///
    /// # Errors
    /// A text for people, when it could not be written; then it is not shown either.
    pub(super) fn add_message(
        &mut self,
        id: EntryId,
        details: MessageDetails,
    ) -> Result<(), String> {
        let entry = self
            .store
            .append_as(id, EntryBody::Message(details.clone()))
            .map_err(|error| error.to_string())?;
        let MessageDetails {
            role,
            content,
            partial,
            ..
        } = details;
        let message = Message {
            id: entry.id.clone(),
            role,
            content,
            partial,
        };
        self.conversation.add(entry);
        self.publish(MessageComplete {
            message_id: message.id.clone(),
            message,
        });
        Ok(())
    }

    fn tool_started(&mut self, call: StartedCall) -> Result<(), String> {
        let mark = Checkpoint::ToolStarted {
            tool_call_id: call.tool_call_id.clone(),
        };
        let entry = self
            .store
            .checkpoint(mark)
            .map_err(|error| error.to_string())?;
        self.conversation.add(entry);
        self.publish(ToolCall {
            tool_call_id: call.tool_call_id,
            name: call.name,
            args: call.args,
            render: call.render,
            read_only: Some(call.read_only),
            allowed_by: call.allowed_by,
        });
        Ok(())
    }

    fn tool_done(&mut self, result: ToolResult, keep: Option<Artifact>) -> Result<(), String> {
        let row = self.record(&result)?;
        if let Some(artifact) = keep {
            self.keep_of_call(artifact, &result.tool_call_id, &row)?;
        }
        self.publish(result);
        Ok(())
    }

    /// Gives the id of the row.
    fn record(&mut self, result: &ToolResult) -> Result<EntryId, String> {
        let details = ToolResultDetails {
            tool_call_id: result.tool_call_id.clone(),
            content: result.content.clone(),
            is_error: result.is_error,
            exit_code: result.exit_code,
            duration_ms: result.duration_ms,
            render: result.render.clone(),
            images: result.images.clone(),
        };
        let entry = self
            .store
            .append(EntryBody::ToolResult(details))
            .map_err(|error| error.to_string())?;
        let id = entry.id.clone();
        self.conversation.add(entry);
        if let Some(turn) = &mut self.turn {
            turn.unread = true;
        }
        Ok(id)
    }

    /// Keeps what a tool finds worth keeping of a call.
    fn keep_of_call(
        &mut self,
        artifact: Artifact,
        tool_call_id: &str,
        row: &EntryId,
    ) -> Result<(), String> {
        let Artifact { kind, mut details } = artifact;
        details.insert("toolCallId".to_owned(), tool_call_id.into());
        details.insert("resultId".to_owned(), row.to_string().into());
        let Some(checkpoint) = Checkpoint::other(&kind, details) else {
            tracing::error!(kind, "a tool may not keep this kind");
            return Ok(());
        };
        if let Checkpoint::Other(details) = &checkpoint {
            self.activations.take_up(details);
        }
        let kept = self.store.checkpoint(checkpoint);
        kept.map(|_| ()).map_err(|error| error.to_string())
    }

    /// Gives every call that has no result one that says what happened to it.
    pub(super) fn answer_open_calls(&mut self, why: &str) {
        for result in self.interrupted(why) {
            if let Err(error) = self.tool_done(result, None) {
                // The history is completed from memory; the file is completed when it is next opened.
                self.fail_turn(&error);
                break;
            }
        }
    }

    /// The same without telling anybody: for results that a `sync` will hold.
    pub(super) fn record_interrupted(&mut self, why: &str) -> Result<(), String> {
        let results = self.interrupted(why);
        results
            .iter()
            .try_for_each(|result| self.record(result).map(|_| ()))
    }

    fn interrupted(&self, why: &str) -> Vec<ToolResult> {
        let open = self.conversation.open_calls().into_iter();
        open.map(|(tool_call_id, started)| {
            let message = if started {
                format!(
                    "interrupted: {why} while this call ran; it may have had part of its effect"
                )
            } else {
                format!("not started: {why} before this call ran")
            };
            ToolResult {
                tool_call_id,
                content: ToolResultContent::error(message),
                is_error: true,
                exit_code: None,
                duration_ms: None,
                render: None,
                images: Vec::new(),
            }
        })
        .collect()
    }
}

/// Whether the result of this call is among the messages.
fn has_result(messages: &[Message], id: &str) -> bool {
    let mut blocks = messages.iter().flat_map(|message| &message.content);
    blocks.any(|block| matches!(block, ContentBlock::ToolResult { tool_call_id, .. } if tool_call_id == id))
}
