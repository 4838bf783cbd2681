//! The calls of one message: those that only read run side by side, all others by themselves and
//! in their order. Results are recorded in the order of the calls, whichever is done first.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use shard_contracts::{Mode, ToolOutput};
use shard_types::ErrorCode;
use shard_types::event::TurnEndReason;

use super::Turn;
use super::call::{Judged, Prepared};
use super::link::SessionGone;
use crate::agent::Call;

/// Calls that run at the same time. They share one disk, and a search takes all cores by itself.
const AT_ONCE: usize = 8;

/// What is to become of a call.
enum Work {
    Refused(String),
    Run(Prepared),
}

impl Turn {
    /// Carries out the calls of a message. Whatever happens, each of them has its result in the
    /// end. They are judged in the mode that the model was in when it made them. Gives the reason
    /// if the turn is to end here.
    pub(super) async fn run_calls(
        &mut self,
        calls: &[Call],
        mode: &Arc<dyn Mode>,
    ) -> Result<Option<TurnEndReason>, SessionGone> {
        let mut together = Vec::new();
        for call in calls {
            if self.settings.cancel.is_cancelled() {
                return Ok(Some(TurnEndReason::Aborted));
            }
            let (work, alone) = match self.judge(call, mode).await {
                Judged::Refused(reason) => (Work::Refused(reason), false),
                Judged::Allowed(prepared) => {
                    let alone = !prepared.only_reads();
                    (Work::Run(prepared), alone)
                }
                Judged::Asked(prepared, ask) => {
                    // What need not wait for a person does not.
                    if let Some(end) = self.run_together(&mut together).await? {
                        return Ok(Some(end));
                    }
                    let work = match self.ask(prepared, ask, mode).await? {
                        Ok(prepared) => Work::Run(prepared),
                        Err(reason) => Work::Refused(reason),
                    };
                    (work, true)
                }
            };
            if alone && let Some(end) = self.run_together(&mut together).await? {
                return Ok(Some(end));
            }
            together.push((call, work));
            if alone && let Some(end) = self.run_together(&mut together).await? {
                return Ok(Some(end));
            }
        }
        self.run_together(&mut together).await
    }

    async fn run_together(
        &mut self,
        together: &mut Vec<(&Call, Work)>,
    ) -> Result<Option<TurnEndReason>, SessionGone> {
        let mut running = Vec::new();
        for (call, work) in together.drain(..) {
            let started = match work {
                Work::Refused(reason) => Err(ToolOutput::error(reason)),
                Work::Run(prepared) => Ok(self.start(call, prepared).await?),
            };
            running.push(self.output(call, started));
        }
        let mut done = stream::iter(running).buffered(AT_ONCE);
        let mut outcomes = Vec::new();
        while let Some((call, (output, took))) = done.next().await {
            outcomes.push((call, self.record(call, output, took).await?));
        }
        drop(done);
        for (call, outcome) in outcomes {
            // What an abort cut short has not failed by itself.
            if self.settings.cancel.is_cancelled() {
                return Ok(Some(TurnEndReason::Aborted));
            }
            if let Some(message) = self.guard.look_at(call, outcome) {
                self.link.complain(ErrorCode::ToolError, message).await?;
                return Ok(Some(TurnEndReason::Limit));
            }
        }
        Ok(None)
    }

    async fn output<'a>(
        &self,
        call: &'a Call,
        started: Result<Prepared, ToolOutput>,
    ) -> (&'a Call, (ToolOutput, Option<Duration>)) {
        let output = match started {
            Ok(prepared) => self.execute(call, prepared).await,
            Err(refusal) => (refusal, None),
        };
        (call, output)
    }
}
