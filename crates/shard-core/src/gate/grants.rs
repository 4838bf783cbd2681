//! The ledger of what a person allowed for good.
//!
//! A grant is exact (the tool, its arguments and where its paths led, so that a link that leads
//! elsewhere later makes another call) or is about commands of one form ([`signature`]).
//!
//! Invariants: a new grant counts once it is on disk, a revoked one no more from then on. A file
//! that cannot be read grants nothing and is set aside, not overwritten.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use shard_contracts::{Access, CallFacts, GateError};
use shard_session::{
    CommandSignature, Covers, MAX_GRANTS, StoredGrant, read_grants, set_grants_aside, write_grants,
};
use shard_types::time::now_ms;
use shard_types::{GrantId, GrantInfo};

use super::rules::Call;
use super::signature;

/// Arguments that are longer are not remembered: nobody repeats them to the letter.
const MAX_INPUT: usize = 64 * 1024;

/// The grants in force.
#[derive(Debug)]
pub(super) struct Ledger {
    path: PathBuf,
    /// Judging takes `&self`, and a grant that is used is counted. Held for a look at the list,
    /// never while a file is written.
    state: Mutex<State>,
    /// One write at a time, so that the latest is the last. Held while the file is written, and
    /// taken before `state`; judging does not need it.
    writing: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    grants: Vec<StoredGrant>,
    /// Uses were counted that the disk does not know.
    unkept: bool,
}

impl Ledger {
    /// Loads the ledger. What was wrong with it is returned in words.
    pub(super) fn load(path: PathBuf) -> (Self, Vec<String>) {
        let (grants, problem) = match read_grants(&path) {
            Ok(grants) => (grants, None),
            Err(error) => (Vec::new(), Some(set_grants_aside(&path, &error))),
        };
        let ledger = Self {
            path,
            state: Mutex::new(State {
                grants,
                unkept: false,
            }),
            writing: Mutex::default(),
        };
        (ledger, problem.into_iter().collect())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The list is valid at every step; a panic elsewhere must not close the gate for good.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The grant that covers this call; its use is counted. While it is in doubt whether a rule
    /// denies the call, only one that was given for exactly this call counts.
    pub(super) fn covering(&self, call: &Call<'_>, in_doubt: bool) -> Option<GrantId> {
        let paths = places(call.facts);
        let commands = if in_doubt { None } else { signature::of(call) };
        let mut state = self.state();
        let grant = state
            .grants
            .iter_mut()
            .find(|grant| covers(grant, call.facts, &paths, commands.as_deref()))?;
        grant.info.used = grant.info.used.saturating_add(1);
        grant.info.last_used_at = Some(now_ms());
        let id = grant.info.grant_id.clone();
        state.unkept = true;
        Some(id)
    }

    /// Adds a grant for exactly this call.
    pub(super) fn add_exact(
        &self,
        facts: &CallFacts<'_>,
        summary: String,
        source: Option<&str>,
    ) -> Result<GrantInfo, GateError> {
        if !can_remember(facts.input) {
            return Err(self.failed(KEEPING, io::Error::other("the call is too long")));
        }
        let covers = Covers::Exact {
            input: facts.input.clone(),
            paths: places(facts),
        };
        self.add(facts.tool, covers, summary, source)
    }

    /// Adds a grant for commands of the form that this call has.
    pub(super) fn add_signature(
        &self,
        call: &Call<'_>,
        source: Option<&str>,
    ) -> Result<GrantInfo, GateError> {
        let Some(commands) = signature::offered(call) else {
            let error = io::Error::other("the commands of this call are not remembered by form");
            return Err(self.failed(KEEPING, error));
        };
        let summary = format!("Run {}", signature::shown(&commands));
        let covers = Covers::BashSignature {
            commands,
            paths: places(call.facts),
        };
        self.add(call.facts.tool, covers, summary, source)
    }

    /// Adds a grant and puts it on disk. When that fails it is not kept at all.
    fn add(
        &self,
        tool: &str,
        covers: Covers,
        summary: String,
        source: Option<&str>,
    ) -> Result<GrantInfo, GateError> {
        let writing = self.writing();
        self.look_at_disk()
            .map_err(|error| self.failed(KEEPING, error))?;
        let mut grants = self.state().grants.clone();
        let same = |grant: &&StoredGrant| grant.info.tool == tool && grant.covers == covers;
        if let Some(grant) = grants.iter().find(same) {
            return Ok(grant.listed());
        }
        if grants.len() >= MAX_GRANTS {
            let what = format!(
                "{MAX_GRANTS} are kept already; revoke some, for instance with `shard grants revoke`"
            );
            return Err(self.failed(KEEPING, io::Error::other(what)));
        }
        let grant = StoredGrant {
            info: GrantInfo {
                grant_id: GrantId::generate(),
                tool: tool.to_owned(),
                summary,
                created_at: now_ms(),
                source: source.map(str::to_owned),
                used: 0,
                last_used_at: None,
                kind: None,
            },
            covers,
        };
        grants.push(grant.clone());
        write_grants(&self.path, &grants).map_err(|error| self.failed(KEEPING, error))?;
        let listed = grant.listed();
        self.state().grants.push(grant);
        drop(writing);
        Ok(listed)
    }

    /// The grants, oldest first.
    pub(super) fn list(&self) -> Vec<GrantInfo> {
        self.state()
            .grants
            .iter()
            .map(StoredGrant::listed)
            .collect()
    }

    /// Takes a grant back. False if there is none of that id.
    pub(super) fn revoke(&self, id: &GrantId) -> Result<bool, GateError> {
        let _writing = self.writing();
        {
            let grants = &mut self.state().grants;
            let before = grants.len();
            grants.retain(|grant| grant.info.grant_id != *id);
            if grants.len() == before {
                return Ok(false);
            }
        }
        let written = self.look_at_disk().and_then(|()| {
            let left = self.state().grants.clone();
            write_grants(&self.path, &left)
        });
        written.map_err(|error| self.failed("take the permission out for good", error))?;
        Ok(true)
    }

    /// Puts uses on disk that it does not know yet.
    pub(super) fn keep_uses(&self) -> Result<(), GateError> {
        if !self.state().unkept {
            return Ok(());
        }
        let _writing = self.writing();
        let written = self.look_at_disk().and_then(|()| {
            let grants = {
                let mut state = self.state();
                state.unkept = false;
                state.grants.clone()
            };
            write_grants(&self.path, &grants)
        });
        written.map_err(|error| {
            self.state().unkept = true;
            self.failed("count the uses of permissions", error)
        })
    }

    /// What somebody took out of the file meanwhile does not come back.
    fn look_at_disk(&self) -> io::Result<()> {
        let on_disk = read_grants(&self.path)?;
        let kept = |id: &GrantId| on_disk.iter().any(|grant| grant.info.grant_id == *id);
        let grants = &mut self.state().grants;
        grants.retain(|grant| kept(&grant.info.grant_id));
        Ok(())
    }

    fn failed(&self, action: &'static str, source: io::Error) -> GateError {
        GateError {
            action,
            path: self.path.clone(),
            source,
        }
    }
}

const KEEPING: &str = "keep the permission";

fn covers(
    grant: &StoredGrant,
    facts: &CallFacts<'_>,
    places: &[PathBuf],
    commands: Option<&[CommandSignature]>,
) -> bool {
    grant.info.tool == facts.tool
        && match &grant.covers {
            // Maps compare by content, whatever order their keys stand in.
            Covers::Exact { input, paths } => *input == *facts.input && *paths == places,
            Covers::BashSignature {
                commands: granted,
                paths,
            } => {
                let all_granted =
                    |called: &[CommandSignature]| called.iter().all(|it| granted.contains(it));
                *paths == places && commands.is_some_and(all_granted)
            }
            Covers::NotUnderstood(_) => false,
        }
}

/// Whether an exact repeat of a call with these arguments can be remembered.
pub(super) fn can_remember(input: &Map<String, Value>) -> bool {
    serde_json::to_vec(input).is_ok_and(|text| text.len() <= MAX_INPUT)
}

/// Where a call takes place: where its paths lead, else the folder that it starts in.
fn places(call: &CallFacts<'_>) -> Vec<PathBuf> {
    match call.access {
        Access::Read(_) | Access::Write(_) => {
            call.paths.iter().map(|fact| fact.real.clone()).collect()
        }
        Access::Command(_) | Access::Unknown => vec![call.cwd.to_owned()],
        Access::Nothing => Vec::new(),
    }
}
