//! One tool call: check, ask, run, record.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Map, Value};
use shard_contracts::{
    Access, Ask, CallFacts, Decision, Mode, PathFact, PermissionGate, Progress, Tool, ToolContext,
    ToolOutput,
};
use shard_types::event::{AllowedBy, ToolResult};
use shard_types::{PermissionDecision, ToolResultContent};
use tokio::time::Instant;

use super::Turn;
use super::guard::CallOutcome;
use super::link::{SessionGone, TurnLink};
use crate::agent::{Answer, AnsweredBy, Call, StartedCall};
use crate::paths;

/// How long a tool may take to stop once its turn is aborted.
const GRACE: Duration = Duration::from_millis(700);

/// How much live output one call may show, in bytes.
const PROGRESS_BYTES: usize = 1024 * 1024;

/// How much base64 of pictures one result carries: an event with it is far from the largest
/// message, and two pictures of the largest size fit.
const PICTURE_BYTES: usize = 10 * 1024 * 1024;

impl Turn {
    /// Everything that comes before a call may run, but for asking a person.
    pub(super) async fn judge(&self, call: &Call, mode: &Arc<dyn Mode>) -> Judged {
        let args = match &call.args {
            Ok(args) => args.clone(),
            Err(problem) => return Judged::Refused(problem.clone()),
        };
        let found = self.settings.toolbox.find(&call.name, &**mode);
        let tool = match found.and_then(|entry| entry.validate(&args).map(|()| &entry.tool)) {
            Ok(tool) => Arc::clone(tool),
            Err(problem) => return Judged::Refused(problem),
        };
        let access = tool.access(&args);
        let cwd = &self.settings.agent.cwd;
        if access != Access::Nothing && !cwd.is_dir() {
            return Judged::Refused(format!(
                "nothing was run: the working directory {} is gone; ask the person to restore it",
                cwd.display()
            ));
        }
        let given = match &access {
            Access::Read(paths) | Access::Write(paths) => paths.as_slice(),
            Access::Nothing | Access::Command(_) | Access::Unknown => &[],
        };
        let mut prepared = Prepared {
            facts: paths::facts(cwd, given),
            tool,
            args,
            access,
            allowed_by: None,
        };
        let Some(gate) = &self.settings.agent.capabilities.gate else {
            return Judged::Refused(
                "no permission gate is installed, so nothing may run".to_owned(),
            );
        };
        match check(gate, &prepared.facts(cwd, mode), mode).await {
            Decision::Allow { by } => {
                prepared.allowed_by = Some(by);
                Judged::Allowed(prepared)
            }
            Decision::Deny { reason } => Judged::Refused(reason),
            Decision::Ask(ask) => Judged::Asked(prepared, ask),
        }
    }

    /// Puts the question that the gate left to a person; the inner error is what the model reads.
    pub(super) async fn ask(
        &self,
        prepared: Prepared,
        ask: Ask,
        mode: &Arc<dyn Mode>,
    ) -> Result<Result<Prepared, String>, SessionGone> {
        let mut prepared = prepared;
        let tool = prepared.tool.name().to_owned();
        let covered = ask.covered.clone();
        let answer = self
            .link
            .permission(tool, prepared.args.clone(), ask)
            .await?;
        match answer.decision {
            PermissionDecision::Deny => return Ok(Err(refusal(&answer))),
            // Where no person decided, what did is told.
            PermissionDecision::Allow => {
                prepared.allowed_by = covered.filter(|_| answer.by.is_nobody());
            }
            PermissionDecision::AllowAlways => {
                let facts = prepared.facts(&self.settings.agent.cwd, mode);
                let gate = self.settings.agent.capabilities.gate.as_ref();
                let (choice, source) = (answer.choice_id.as_deref(), answer.by.source());
                let granted = gate.map(|gate| gate.grant(&facts, choice, source.as_deref()));
                if let Some(Err(error)) = granted {
                    let message = format!("{error}; the call runs this once");
                    self.link
                        .complain(shard_types::ErrorCode::InternalError, message)
                        .await?;
                }
            }
        }
        Ok(Ok(prepared))
    }

    /// Says that the call starts.
    pub(super) async fn start(
        &self,
        call: &Call,
        prepared: Prepared,
    ) -> Result<Prepared, SessionGone> {
        self.ready().await;
        self.link
            .tool_started(StartedCall {
                tool_call_id: call.id.clone(),
                name: call.name.clone(),
                args: prepared.args.clone(),
                render: prepared.tool.preview(&prepared.args),
                read_only: prepared.tool.read_only(),
                allowed_by: prepared.allowed_by.clone(),
            })
            .await?;
        Ok(prepared)
    }

    /// Runs a call that has started; how long that took, if it ran.
    pub(super) async fn execute(
        &self,
        call: &Call,
        prepared: Prepared,
    ) -> (ToolOutput, Option<Duration>) {
        if self.settings.cancel.is_cancelled() {
            let output =
                ToolOutput::error("not started: the turn was aborted before this call ran");
            return (output, None);
        }
        // Not before: a person may have thought about it for long.
        let began = Instant::now();
        let Prepared {
            tool, args, facts, ..
        } = prepared;
        let context = self.context(call, facts);
        // A tool that breaks down costs its call, not the turn.
        let work = AssertUnwindSafe(tool.execute(args, &context)).catch_unwind();
        tokio::pin!(work);
        let output = tokio::select! {
            output = &mut work => Some(output),
            () = self.settings.cancel.cancelled() => tokio::time::timeout(GRACE, &mut work).await.ok(),
        };
        let output = match output {
            Some(Ok(output)) => output,
            Some(Err(_)) => ToolOutput::error(format!(
                "the tool {} broke down; this is a bug in it",
                call.name
            )),
            None => ToolOutput::error(
                "interrupted: the turn was aborted while this call ran; it may have had part of its effect",
            ),
        };
        (output, Some(began.elapsed()))
    }

    /// Gives a call its result.
    pub(super) async fn record(
        &self,
        call: &Call,
        mut output: ToolOutput,
        took: Option<Duration>,
    ) -> Result<CallOutcome, SessionGone> {
        leave_pictures_out(&mut output);
        let outcome = if output.is_error {
            CallOutcome::Failed
        } else {
            CallOutcome::Worked
        };
        self.note_changes(&output);
        self.ready().await;
        self.link
            .tool_done(
                ToolResult {
                    tool_call_id: call.id.clone(),
                    content: output.content,
                    is_error: output.is_error,
                    exit_code: output.exit_code,
                    duration_ms: took
                        .map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
                    render: output.render,
                    images: output.images,
                },
                output.keep,
            )
            .await?;
        Ok(outcome)
    }

    fn context(&self, call: &Call, paths: Vec<PathFact>) -> ToolContext {
        let agent = &self.settings.agent;
        ToolContext {
            cwd: agent.cwd.clone(),
            tool_call_id: call.id.clone(),
            paths,
            cancel: self.settings.cancel.clone(),
            progress: Arc::new(CallProgress {
                link: self.link.clone(),
                tool_call_id: call.id.clone(),
                room: AtomicUsize::new(PROGRESS_BYTES),
            }),
            ui: Arc::clone(&self.settings.ui),
            output_dir: agent.output_dir.clone(),
            max_output_bytes: agent.max_output_bytes,
            takes_images: self.takes_images,
        }
    }

    fn note_changes(&self, output: &ToolOutput) {
        if let Some(code) = &self.settings.agent.capabilities.code {
            output.mutated.iter().for_each(|path| code.invalidate(path));
        }
    }
}

/// Keeps pictures within what one event can carry, and says what was left out.
fn leave_pictures_out(output: &mut ToolOutput) {
    let (mut room, all) = (PICTURE_BYTES, output.images.len());
    output.images.retain(|image| {
        let fits = image.data.len() <= room;
        room -= if fits { image.data.len() } else { 0 };
        fits
    });
    let left_out = all - output.images.len();
    if left_out > 0
        && let ToolResultContent::Text { text } = &mut output.content
    {
        let mib = PICTURE_BYTES >> 20;
        *text += &format!(
            "\n[{left_out} of {all} pictures left out: one result carries {mib} MiB of them]"
        );
    }
}

/// Asks the gate. What concerns a whole folder may make it look through that folder, which is not
/// for the thread that everything else runs on.
async fn check(
    gate: &Arc<dyn PermissionGate>,
    facts: &CallFacts<'_>,
    mode: &Arc<dyn Mode>,
) -> Decision {
    if !facts.paths.iter().any(|fact| fact.real.is_dir()) {
        return gate.check(facts);
    }
    let (gate, mode) = (Arc::clone(gate), Arc::clone(mode));
    let (tool, read_only, cwd) = (facts.tool.to_owned(), facts.read_only, facts.cwd.to_owned());
    let (input, access, paths) = (
        facts.input.clone(),
        facts.access.clone(),
        facts.paths.to_vec(),
    );
    let judged = tokio::task::spawn_blocking(move || {
        gate.check(&CallFacts {
            tool: &tool,
            read_only,
            input: &input,
            access: &access,
            paths: &paths,
            cwd: &cwd,
            mode: &*mode,
        })
    });
    judged.await.unwrap_or_else(|_| Decision::Deny {
        reason: "not run: the permission gate broke down, which is a bug in it".to_owned(),
    })
}

/// What the gate says of a call.
pub(super) enum Judged {
    /// It does not run; what the model reads.
    Refused(String),
    /// It may run.
    Allowed(Prepared),
    /// A person is to be asked.
    Asked(Prepared, Ask),
}

/// A call that is ready to run.
pub(super) struct Prepared {
    tool: Arc<dyn Tool>,
    args: Map<String, Value>,
    access: Access,
    facts: Vec<PathFact>,
    allowed_by: Option<AllowedBy>,
}

impl Prepared {
    /// Whether it changes nothing, so that its place among others does not matter.
    pub(super) fn only_reads(&self) -> bool {
        self.tool.read_only()
    }

    fn facts<'a>(&'a self, cwd: &'a Path, mode: &'a Arc<dyn Mode>) -> CallFacts<'a> {
        CallFacts {
            tool: self.tool.name(),
            read_only: self.tool.read_only(),
            input: &self.args,
            access: &self.access,
            paths: &self.facts,
            cwd,
            mode: &**mode,
        }
    }
}

/// What the model reads when a call was not permitted.
fn refusal(answer: &Answer) -> String {
    let because = answer
        .reason
        .as_deref()
        .map_or_else(String::new, |reason| format!(": {reason}"));
    match answer.by {
        AnsweredBy::Headless => {
            "denied: nobody was there to ask, and calls that need a person's permission are \
                             denied then. Go on without it, or say what you would have done"
                .to_owned()
        }
        AnsweredBy::Timeout => {
            "denied: nobody answered in time. Go on without it, or say what you would have done"
                .to_owned()
        }
        AnsweredBy::Aborted => {
            "not started: the turn was aborted before this call was permitted".to_owned()
        }
        AnsweredBy::Client(_) => format!("the person denied this call{because}"),
    }
}

struct CallProgress {
    link: TurnLink,
    tool_call_id: String,
    room: AtomicUsize,
}

impl Progress for CallProgress {
    fn output(&self, text: &str) {
        let taken = self
            .room
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| {
                room.checked_sub(text.len())
            });
        if taken.is_ok() && !text.is_empty() {
            self.link
                .tool_progress(self.tool_call_id.clone(), text.to_owned());
        }
    }
}
