//! What each command of a client does.

use serde::Serialize;
use serde_json::Value;
use shard_protocol::{
    Aborted, Accepted as AcceptedData, AgentCommand, ErrorBody, Grants, Prompt, RequestKey,
    SessionOp, SessionOpKind, Steer, StreamingBehavior,
};
use shard_types::event::{QueuedKind, QueuedPrompt};
use shard_types::{Checkpoint, EntryId, ErrorCode, GrantId, Image};

use super::handle::{Reply, Wish};
use super::queue::{Accepted, KeyUse};
use super::session::AgentSession;

pub(super) type Outcome = Result<Value, ErrorBody>;

pub(super) fn data(value: impl Serialize) -> Outcome {
    serde_json::to_value(value)
        .map_err(|error| ErrorBody::new(ErrorCode::InternalError, error.to_string()))
}

pub(super) fn refuse(code: ErrorCode, message: impl Into<String>) -> ErrorBody {
    ErrorBody::new(code, message)
}

/// A prompt on its way in.
pub(super) struct Incoming {
    pub(super) message: String,
    pub(super) images: Vec<Image>,
    request_key: Option<RequestKey>,
    /// How to deliver it if a turn runs.
    mid_turn: Option<QueuedKind>,
}

impl AgentSession {
    pub(super) fn on_command(&mut self, command: AgentCommand, reply: Reply) {
        let outcome = match command {
            AgentCommand::Prompt(prompt) => return self.take_prompt(prompt.into(), reply),
            AgentCommand::Steer(steer) if steer.expect.is_some() => Err(refuse(
                ErrorCode::InvalidRequest,
                "`expect` is for an agent that a daemon supervises; leave it out",
            )),
            AgentCommand::Steer(steer) => return self.take_prompt(steer.into(), reply),
            AgentCommand::Abort(_) => return self.abort(reply),
            AgentCommand::SetMode(wish) => self.set_mode(&wish),
            AgentCommand::ListModes(_) => self.list_modes(),
            AgentCommand::ListModels(_) => return self.list_models(reply),
            AgentCommand::SetModel(wish) => return self.set_model(wish, reply),
            AgentCommand::ListReasoningLevels(_) => self.list_reasoning_levels(),
            AgentCommand::SetReasoningLevel(wish) => self.set_reasoning_level(&wish),
            AgentCommand::SessionOp(op) => return self.session_op(&op, reply),
            AgentCommand::PermissionResponse(response) => self.answer_permission(response),
            AgentCommand::UiResponse(response) => self.answer_dialog(response),
        };
        reply(outcome);
    }

    /// Accepts a prompt whose pictures are fit, and answers its sender.
    pub(super) fn admit(&mut self, incoming: Incoming, reply: Reply) {
        let (message_id, duplicate) = match self.accept(incoming) {
            Ok(accepted) => (accepted, false),
            Err(Refusal::Duplicate(earlier)) => (earlier, true),
            Err(Refusal::Error(error)) => return reply(Err(error)),
        };
        // Accepted means on the disk: only then its sender may forget it. That holds for the one
        // who sends it again just as well.
        let syncing = self.store.sync();
        if !duplicate {
            self.start_next_turn();
            self.queue_changed();
        }
        let wishes = self.wishes.clone();
        tokio::spawn(async move {
            let synced = syncing.await.map_err(|error| error.to_string());
            let error = match synced.map(|synced| synced.map_err(|error| error.to_string())) {
                Ok(Ok(())) => {
                    return reply(data(AcceptedData {
                        message_id: Some(message_id),
                        duplicate,
                    }));
                }
                Ok(Err(error)) | Err(error) => error,
            };
            // The sender hears that it was not accepted, so its turn must not go on.
            if let Some(wishes) = wishes.upgrade() {
                let error = error.clone();
                _ = wishes.send(Wish::NotKept { message_id, error }).await;
            }
            reply(Err(refuse(ErrorCode::InternalError, error)));
        });
    }

    /// A prompt is not safe on the disk, and its sender was told so: it does not run, now or later.
    pub(super) fn not_kept(&mut self, message_id: &EntryId, error: &str) {
        self.queue.refuse(message_id);
        let mark = Checkpoint::PromptsCleared {
            message_ids: vec![message_id.clone()],
            refused: true,
        };
        // If not even this can be written, there is nothing more to be done about it here.
        _ = self.store.checkpoint(mark);
        self.queue_changed();
        self.fail_turn(error);
    }

    /// Checks a prompt and puts it on the queue, on file first.
    fn accept(&mut self, incoming: Incoming) -> Result<EntryId, Refusal> {
        if incoming.message.trim().is_empty() && incoming.images.is_empty() {
            return Err(refuse(
                ErrorCode::InvalidRequest,
                "`message` is empty; say what to do",
            )
            .into());
        }
        if let Some(key) = &incoming.request_key {
            match self
                .queue
                .key_use(key.as_str(), &incoming.message, &incoming.images)
            {
                KeyUse::New if !self.forked_with(key.as_str()) => {}
                KeyUse::Repeat(message_id) => return Err(Refusal::Duplicate(message_id)),
                KeyUse::New | KeyUse::Other => {
                    let message = "`request_key` was used for something else; make a new one";
                    return Err(refuse(ErrorCode::Conflict, message).into());
                }
            }
        }
        if !incoming.images.is_empty() && !self.model.spec.images {
            let message = format!(
                "the model {} takes no images; leave them out or pick another model",
                self.model.id()
            );
            return Err(refuse(ErrorCode::InvalidRequest, message).into());
        }
        let kind = match (self.turn.is_some(), incoming.mid_turn) {
            (false, _) => QueuedKind::Prompt,
            (true, Some(kind)) => kind,
            (true, None) => {
                let message = "a turn runs; say with `streaming_behavior` whether to \"steer\" it or to \"follow_up\"";
                return Err(refuse(ErrorCode::Conflict, message).into());
            }
        };
        if self.queue.is_full(&incoming.message, &incoming.images) {
            return Err(refuse(
                ErrorCode::Conflict,
                "too many prompts wait already; let some of them run first",
            )
            .into());
        }
        self.leave_error();
        let accepted = Accepted {
            message_id: EntryId::generate(),
            kind,
            message: incoming.message,
            images: incoming.images,
            request_key: incoming.request_key.map(|key| key.as_str().to_owned()),
        };
        let written = self.store.checkpoint(accepted.checkpoint());
        written.map_err(|error| refuse(error.code(), error.to_string()))?;
        let message_id = accepted.message_id.clone();
        self.queue.push(accepted);
        Ok(message_id)
    }

    /// Ends the turn. What waited is given back instead of started; the answer comes after
    /// `turn_end`.
    fn abort(&mut self, reply: Reply) {
        self.leave_error();
        self.refuse_arrivals();
        let outcome = self
            .clear_queue()
            .and_then(|cleared| data(Aborted { cleared }));
        if self.turn.is_none() {
            return reply(outcome);
        }
        // A turn can be ended whether or not that can be written down.
        if let Err(error) = &outcome {
            self.fail_turn(&error.message);
        }
        self.aborting.push((reply, outcome));
        self.abort_turn();
    }

    fn clear_queue(&mut self) -> Result<Vec<QueuedPrompt>, ErrorBody> {
        let (message_ids, cleared) = self.queue.all();
        if !message_ids.is_empty() {
            let mark = Checkpoint::PromptsCleared {
                message_ids: message_ids.clone(),
                refused: false,
            };
            self.store
                .checkpoint(mark)
                .map_err(|error| refuse(error.code(), error.to_string()))?;
            message_ids.iter().for_each(|id| self.queue.forget(id));
            self.queue_changed();
        }
        Ok(cleared)
    }

    fn session_op(&mut self, wish: &SessionOp, reply: Reply) {
        let busy = self.turn.is_some() || !self.queue.is_empty();
        match wish.op {
            SessionOpKind::List => self.list_sessions(reply),
            SessionOpKind::Compact | SessionOpKind::Fork if busy => reply(Err(refuse(
                ErrorCode::Conflict,
                "a turn runs or waits; try again when the agent is idle",
            ))),
            SessionOpKind::Compact => self.compact_on_demand(wish.args.as_ref(), reply),
            SessionOpKind::Fork => reply(self.fork(wish)),
        }
    }

    /// Lists the grants, or takes one back.
    pub(super) fn on_grants(&self, revoke: Option<&GrantId>) -> Outcome {
        let gate = self.settings.capabilities.gate.as_ref();
        let Some(id) = revoke else {
            let grants = gate.map(|gate| gate.grants()).unwrap_or_default();
            return data(Grants { grants });
        };
        match gate.map_or(Ok(false), |gate| gate.revoke(id)) {
            Ok(true) => Ok(Value::Null),
            Ok(false) => {
                let message = format!("there is no grant {id}; `grants.list` lists them");
                Err(refuse(ErrorCode::NotFound, message))
            }
            Err(error) => {
                let message = format!(
                    "{error}; it is not in force any more, but would be again once the agent is restarted"
                );
                Err(refuse(ErrorCode::InternalError, message))
            }
        }
    }
}

/// Why a prompt is not queued.
enum Refusal {
    /// It was accepted before.
    Duplicate(EntryId),
    Error(ErrorBody),
}

impl From<ErrorBody> for Refusal {
    fn from(error: ErrorBody) -> Self {
        Self::Error(error)
    }
}

impl From<Prompt> for Incoming {
    fn from(prompt: Prompt) -> Self {
        let mid_turn = prompt.streaming_behavior.map(|behavior| match behavior {
            StreamingBehavior::Steer => QueuedKind::Steer,
            StreamingBehavior::FollowUp => QueuedKind::FollowUp,
        });
        Self {
            message: prompt.message,
            images: prompt.images,
            request_key: prompt.request_key,
            mid_turn,
        }
    }
}

impl From<Steer> for Incoming {
    fn from(steer: Steer) -> Self {
        Self {
            message: steer.message,
            images: steer.images,
            request_key: steer.request_key,
            mid_turn: Some(QueuedKind::Steer),
        }
    }
}
