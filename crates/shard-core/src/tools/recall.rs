//! `recall`: what was said in this session, also before its summaries.

mod page;
mod scope;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use shard_contracts::{Access, Tool, ToolContext, ToolOutput};
use shard_session::SessionError;
use shard_session::recall::{self, Query};

use super::{arguments, job};
use page::Page;
use scope::Scope;

/// Entries shown unless the call says otherwise.
const RECENT: usize = 25;

/// Most entries that one page shows.
const MOST: usize = 500;

/// How long one search may take.
const LONGEST: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// `all` (the default), `latest` (since the last summary), `compaction:<n>` (what summary
    /// number n stands for), or indexes such as `100..200` or `..50`.
    scope: Option<String>,
    /// Words or names, in any case; an entry that holds more of them and rarer ones comes first.
    /// Or a regular expression between slashes: /fn \w+_test/, /error/i. Without a query the
    /// newest entries are listed.
    query: Option<String>,
    /// How many entries to show; 25 unless given.
    recent: Option<usize>,
    /// Show these entries in full, by their index. With a query, an entry that is too long is
    /// shown from its first match on.
    expand: Option<Vec<usize>>,
}

/// Searches the session that it belongs to.
#[derive(Debug)]
pub struct Recall(Arc<Memory>);

impl Recall {
    /// The tool for the session of this file.
    #[must_use]
    pub fn new(session: &Path) -> Self {
        Self(Arc::new(Memory {
            session: session.to_owned(),
            open: Mutex::default(),
            indexing: AtomicBool::new(false),
        }))
    }
}

impl Tool for Recall {
    fn name(&self) -> &'static str {
        recall::TOOL
    }

    fn description(&self) -> &'static str {
        "Search this conversation from its start, also what summaries have replaced: messages, \
         thoughts, commands, tool arguments and outputs. Each line of a page begins with the \
         entry's [index], which never changes; expand shows entries in full. Use it before you \
         say that something from earlier is not known."
    }

    fn input_schema(&self) -> Value {
        arguments::schema::<Arguments>()
    }

    fn read_only(&self) -> bool {
        true
    }

    fn access(&self, _: &Map<String, Value>) -> Access {
        // Its own session, which the model has seen all of.
        Access::Nothing
    }

    fn execute<'a>(
        &'a self,
        input: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        let memory = Arc::clone(&self.0);
        Box::pin(job::reading(context, move |context| {
            memory.answer(input, context)
        }))
    }
}

/// The session, as far as it is open for searching.
#[derive(Debug)]
struct Memory {
    session: PathBuf,
    /// From the first search on. Held for the length of one search, which is bounded; searches of
    /// one agent wait for one another.
    open: Mutex<Option<recall::Recall>>,
    /// The index is being written.
    indexing: AtomicBool,
}

impl Memory {
    fn answer(
        self: &Arc<Self>,
        input: Map<String, Value>,
        context: &ToolContext,
    ) -> Result<ToolOutput, String> {
        let arguments: Arguments = arguments::parse(input)?;
        let scope: Scope = arguments.scope.as_deref().unwrap_or("all").parse()?;
        let query = arguments.query.as_deref().map(str::trim);
        let query = query.filter(|query| !query.is_empty()).map(Query::parse);
        let query = query.transpose().map_err(|error| error.to_string())?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let recall = self.open(&mut open).map_err(failed)?;
        let mut page = Page::new(context.max_output_bytes);
        if let Some(expand) = arguments.expand.filter(|expand| !expand.is_empty()) {
            page.expand(recall, &expand, query.as_ref())
                .map_err(failed)?;
            return Ok(ToolOutput::text(page.text()));
        }
        let range = scope.range(recall)?;
        let most = arguments.recent.unwrap_or(RECENT).clamp(1, MOST);
        let Some(query) = query else {
            page.list(recall, range, most).map_err(failed)?;
            return Ok(ToolOutput::text(page.text()));
        };
        let end = Instant::now() + LONGEST;
        let stop = || context.cancel.is_cancelled() || Instant::now() > end;
        let found = recall.search(&query, range, most, &stop).map_err(failed)?;
        if context.cancel.is_cancelled() {
            return Err(job::ABORTED.to_owned());
        }
        page.found(recall, &query, &found).map_err(failed)?;
        self.index(recall.behind().map(Path::to_owned).collect());
        Ok(ToolOutput::text(page.text()))
    }

    fn open<'a>(
        &self,
        open: &'a mut Option<recall::Recall>,
    ) -> Result<&'a mut recall::Recall, SessionError> {
        match open {
            Some(recall) => {
                recall.refresh()?;
                Ok(recall)
            }
            None => Ok(open.insert(recall::Recall::open(&self.session)?)),
        }
    }

    /// Brings the indexes of these sessions up to date in the background, unless that is being
    /// done. It ends early with the agent.
    fn index(self: &Arc<Self>, sessions: Vec<PathBuf>) {
        if sessions.is_empty() || self.indexing.swap(true, Ordering::AcqRel) {
            return;
        }
        let memory = Arc::downgrade(self);
        tokio::task::spawn_blocking(move || {
            let gone = || memory.strong_count() == 0;
            for session in &sessions {
                if let Err(error) = recall::bring_up_to_date(session, &gone) {
                    tracing::warn!(%error, "recall works without its index, and takes longer");
                }
            }
            if let Some(memory) = memory.upgrade() {
                memory.indexing.store(false, Ordering::Release);
            }
        });
    }
}

fn failed(error: SessionError) -> String {
    format!("{error}; nothing can be recalled just now")
}

#[cfg(test)]
mod tests;
