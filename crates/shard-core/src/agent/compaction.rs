//! Making the live window short: when, how far, and what clients are told. The summary itself is
//! the compactor's.
//!
//! Two tiers. Between turns, once the window is past the compactor's threshold. In a turn, before
//! a provider call that would not fit, or after one that the provider refused as too long; there
//! results are shortened where nothing can be cut. What cannot be made to fit ends the turn with a
//! word on what fills the window.

use std::panic::{AssertUnwindSafe, catch_unwind};

use shard_contracts::{CompactError, Compactor, ContextSize, ExtractorContext};
use shard_protocol::{Compacted, ErrorBody, SessionOpArgs};
use shard_types::event::Compaction;
use shard_types::{AgentStatus, Checkpoint, CompactionDetails, EntryBody, ErrorCode, SessionEntry};

use super::commands::{Outcome, data, refuse};
use super::handle::Reply;
use super::session::AgentSession;
use crate::compaction::{self, Blocks};
use crate::prompt;

/// Compactions that a turn may make without the provider taking a call in between.
const COMPACTIONS: u32 = 2;

/// The share of the window that the newest entries may keep: the rest is for the prompt, the summary and what
/// is to come.
const KEEP_SHARE: u64 = 3;

/// The share of the window that the summary may take, where it is known how large that is.
const SUMMARY_SHARE: u64 = 8;

/// What a turn has done so that its next call fits.
#[derive(Debug, Default)]
pub(super) struct Squeeze {
    compactions: u32,
    shortened: bool,
}

impl AgentSession {
    /// `session_op: compact`. The caller has made sure that no turn runs or waits.
    pub(super) fn compact_on_demand(&mut self, args: Option<&SessionOpArgs>, reply: Reply) {
        let asked = args.and_then(|args| args.keep_recent_tokens.as_ref());
        let keep = match asked.map(|number| number.as_u64().filter(|&tokens| tokens > 0)) {
            None => self.keep_recent(),
            Some(Some(tokens)) => tokens,
            Some(None) => {
                let message = "`keep_recent_tokens` must be a positive integer";
                return reply(Err(refuse(ErrorCode::InvalidRequest, message)));
            }
        };
        if self.settings.capabilities.compactor.is_none() {
            let message = "compaction is not configured in this agent";
            return reply(Err(refuse(ErrorCode::NotFound, message)));
        }
        self.set_status(AgentStatus::Compacting);
        reply(self.compact(keep).map_err(failed).and_then(answer));
        self.set_status(AgentStatus::Idle);
    }

    /// The tier between turns.
    pub(super) fn compact_between_turns(&mut self) {
        let Some(compactor) = self.settings.capabilities.compactor.clone() else {
            return;
        };
        let full = self
            .context_size()
            .is_some_and(|size| compactor.should_compact(size));
        if self.settings.auto_compact
            && full
            && let Err(error) = self.compact(self.keep_recent())
        {
            self.complain(ErrorCode::InternalError, error.to_string());
        }
    }

    /// The tier within a turn: makes the next request fit, as far as that can be. Whether it really is
    /// too long, the provider has to say: all that is known here may be an estimate.
    pub(super) fn fit(&mut self) {
        while self.settings.auto_compact
            && let Some(size) = self.context_size()
            && size.used >= size.window
            && self.make_room().is_ok()
        {}
    }

    /// Makes the history shorter, by a summary or else by shortening results.
    ///
    /// # Errors
    /// What fills the window, if nothing more can be done.
    pub(super) fn make_room(&mut self) -> Result<(), String> {
        let Some(turn) = self.turn.as_mut().filter(|_| self.settings.auto_compact) else {
            return Err(self.what_fills_the_window());
        };
        turn.squeeze.compactions += 1;
        if turn.squeeze.compactions <= COMPACTIONS && self.compact_somehow()? {
            return Ok(());
        }
        let Some(turn) = &mut self.turn else {
            return Err(self.what_fills_the_window());
        };
        if !std::mem::replace(&mut turn.squeeze.shortened, true) && self.shorten_results()? {
            return Ok(());
        }
        Err(self.what_fills_the_window())
    }

    /// Keeps as much as usual, or less where that finds no place to cut.
    fn compact_somehow(&mut self) -> Result<bool, String> {
        let keep = self.keep_recent();
        for keep in [keep, keep / 4, 1] {
            let done = self.compact(keep);
            self.update_status();
            if done.map_err(|error| error.to_string())?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether anything was there to be shortened.
    fn shorten_results(&mut self) -> Result<bool, String> {
        let entries = self.conversation.entries();
        let long = compaction::oversized(entries).into_iter();
        let entry_ids: Vec<_> = long.map(|index| entries[index].id.clone()).collect();
        if entry_ids.is_empty() {
            return Ok(false);
        }
        let mark = Checkpoint::ResultsShortened { entry_ids };
        let entry = self.store.checkpoint(mark);
        self.conversation
            .add(entry.map_err(|error| error.to_string())?);
        Ok(true)
    }

    /// Writes a summary of everything but about so many of the newest tokens. None if there is no
    /// place to cut. Where there is, the status is left to the caller.
    fn compact(&mut self, keep: u64) -> Result<Option<Compaction>, CompactError> {
        let entries = self.conversation.entries();
        let cut = compaction::cut(entries, keep);
        let (Some(compactor), Some(cut)) = (self.settings.capabilities.compactor.clone(), cut)
        else {
            return Ok(None);
        };
        self.set_status(AgentStatus::Compacting);
        let details = self.summarize(&*compactor, cut);
        let written = details.and_then(|details| {
            let entry = self.store.append(EntryBody::Compaction(details.clone()));
            Ok((
                entry.map_err(|error| CompactError(error.to_string()))?,
                details,
            ))
        });
        let done = written.map(|(entry, details)| {
            self.conversation.add(entry);
            self.store.sync_in_background();
            let event = Compaction {
                index: details.index,
                tokens_before: details.tokens_before,
                tokens_after: details.tokens_after,
                first_kept_entry_id: details.first_kept_entry_id,
                message_range: details.message_range,
            };
            self.publish(event.clone());
            event
        });
        done.map(Some)
    }

    fn summarize(
        &self,
        compactor: &dyn Compactor,
        cut: usize,
    ) -> Result<CompactionDetails, CompactError> {
        let (gone, kept) = self.conversation.entries().split_at(cut);
        let ([first, ..], [.., last], [first_kept, ..]) = (gone, gone, kept) else {
            return Err(CompactError("there is nothing to summarize".to_owned()));
        };
        let previous = self.conversation.summary();
        let index = previous.map_or(0, |previous| previous.index.saturating_add(1));
        let capabilities = &self.settings.capabilities;
        let Blocks { blocks, origins } = Blocks::of(gone, self.conversation.before());
        let window = self.model.spec.context_window;
        let context = ExtractorContext {
            code_index: capabilities.code.as_deref(),
            previous_summary: previous.map(|previous| previous.summary.as_str()),
            compaction_index: index,
            origins: &origins,
            cwd: Some(&self.settings.cwd),
            max_summary_bytes: window
                .and_then(|tokens| usize::try_from(tokens / SUMMARY_SHARE * 4).ok()),
        };
        // A compactor of an extension may break down; the conversation must not.
        let summarize = || compactor.summarize(&blocks, &capabilities.extractors, &context);
        let summary = catch_unwind(AssertUnwindSafe(summarize))
            .unwrap_or_else(|_| Err(CompactError(format!("{} broke down", compactor.name()))))?;
        if summary.trim().is_empty() {
            let name = compactor.name();
            return Err(CompactError(format!("{name} wrote an empty summary")));
        }
        let old = previous.map_or(0, |previous| compaction::estimate_text(&previous.summary));
        let new = compaction::estimate_text(&summary);
        let tokens_before = self.tokens();
        let given_up = old + size(gone);
        Ok(CompactionDetails {
            message_range: (first.id.clone(), last.id.clone()),
            first_kept_entry_id: first_kept.id.clone(),
            tokens_before,
            tokens_after: tokens_before
                .saturating_sub(given_up)
                .max(size(kept))
                .saturating_add(new),
            compactor: compactor.name().to_owned(),
            index,
            summary,
        })
    }

    /// About how many tokens the next request has.
    pub(super) fn tokens(&self) -> u64 {
        self.conversation.tokens(|| self.fixed_tokens())
    }

    /// About how many tokens a request has before anything was said.
    fn fixed_tokens(&self) -> u64 {
        let tools = self.toolbox.declarations(&*self.mode);
        let schemas = tools.iter().map(|tool| {
            compaction::estimate_text(&tool.description)
                + compaction::estimate_text(&tool.input_schema.to_string())
        });
        compaction::estimate_text(&self.system_prompt()) + schemas.sum::<u64>()
    }

    pub(super) fn system_prompt(&self) -> String {
        let summary = self.conversation.summary();
        prompt::system(
            &self.settings,
            &*self.mode,
            &self.kept,
            summary.map(|details| details.summary.as_str()),
        )
    }

    /// How full the window is, where it is known how large it is.
    fn context_size(&self) -> Option<ContextSize> {
        let window = self.model.spec.context_window?;
        Some(ContextSize {
            used: self.tokens(),
            window,
        })
    }

    /// How many of the newest tokens a compaction keeps.
    fn keep_recent(&self) -> u64 {
        let wanted = self.settings.keep_recent_tokens;
        match self.model.spec.context_window {
            Some(window) => wanted.min(window / KEEP_SHARE),
            None => wanted,
        }
    }

    fn what_fills_the_window(&self) -> String {
        let entries = self.conversation.entries();
        let largest = entries.iter().map(compaction::estimate).max().unwrap_or(0);
        let summary = self.conversation.summary();
        let summary = summary.map_or(0, |details| compaction::estimate_text(&details.summary));
        let window = match self.model.spec.context_window {
            Some(window) => format!(" of {window} tokens"),
            None => String::new(),
        };
        let (why, what_to_do) = match self.settings.auto_compact {
            true => (
                "cannot be made roomier",
                "Pick a model with a larger window, or start a new session",
            ),
            false => (
                "`compaction.enabled` is false",
                "Compact the session, set that key to true, or pick a model with a larger window",
            ),
        };
        format!(
            "The context window{window} is full and {why}: about {} tokens of instructions and tools, \
             {summary} of summary, {} of recent messages, the largest of them {largest}. {what_to_do}",
            self.fixed_tokens().saturating_sub(summary),
            size(entries),
        )
    }
}

fn size(entries: &[SessionEntry]) -> u64 {
    entries.iter().map(compaction::estimate).sum()
}

fn failed(error: CompactError) -> ErrorBody {
    refuse(ErrorCode::InternalError, error.to_string())
}

fn answer(done: Option<Compaction>) -> Outcome {
    data(match done {
        Some(event) => Compacted::Done {
            compacted: true,
            index: event.index,
            tokens_before: event.tokens_before,
            tokens_after: event.tokens_after,
            first_kept_entry_id: event.first_kept_entry_id,
            message_range: event.message_range,
        },
        None => Compacted::Nothing {
            compacted: false,
            reason: "no_safe_cut".to_owned(),
        },
    })
}
