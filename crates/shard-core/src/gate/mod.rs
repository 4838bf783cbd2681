//! The permission gate: decides whether a tool call may run.
//!
//! Owns the rules and the grants of one agent. Executes nothing and asks nobody: callers get a
//! [`Decision`] and act on it. [`shell`] reads command lines, [`rules`] matches them, [`grants`]
//! remembers answers, [`protected`] names what no answer covers for good.
//!
//! Invariants: every deny is looked at before anything that could allow. What cannot be judged is
//! a question. A write to a protected path is a question whatever allows it, and so is what the
//! mode wants asked.

mod ask;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzz;
mod globs;
mod grants;
mod pattern;
mod protected;
mod reach;
mod rules;
mod shell;
mod targets;
mod visible;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use shard_contracts::{
    Access, Ask, CallFacts, Decision, GateError, Grant, PathFact, PermissionGate, Vote,
};
use shard_types::event::{AllowedBy, AllowedByKind};

pub use ask::{ALLOW_EXACT, ALLOW_ONCE, DENY};
pub use rules::RuleLayer;
pub use visible::{visible, visible_text};

use ask::Question;
use grants::Ledger;
use protected::Protected;
use rules::{Asks, Call, Refusal, RuleSet, Verdict};

/// What a gate is made from.
#[derive(Debug)]
pub struct GateSettings {
    /// Rules, the nearest first: project, user, bundled.
    pub layers: Vec<RuleLayer>,
    /// Where grants are kept.
    pub grants_path: PathBuf,
    /// Shard's configuration folder.
    pub config_dir: PathBuf,
    /// Shard's state folder.
    pub state_home: PathBuf,
    /// The home folder, as shells know it.
    pub home: Option<PathBuf>,
    /// Folders outside the workspace that may be read unasked: skills, the agent's own output.
    pub readable: Vec<PathBuf>,
}

/// The gate of one agent.
pub struct Gate {
    rules: RuleSet,
    protected: Protected,
    readable: Vec<PathBuf>,
    home: Option<PathBuf>,
    /// Judging takes `&self`, and a grant that is used is counted. The lock is held for a look at
    /// the list, or for the writing of one small file when a person answers; never across an
    /// await.
    ledger: Mutex<Ledger>,
}

impl Gate {
    /// Makes a gate. What was wrong with rules or grants is returned in words; the gate is the
    /// stricter for it.
    #[must_use]
    pub fn new(settings: GateSettings) -> (Self, Vec<String>) {
        let (rules, mut diagnostics) = RuleSet::new(settings.layers);
        let (ledger, problems) = Ledger::load(settings.grants_path);
        diagnostics.extend(problems);
        let real = |path: PathBuf| {
            crate::paths::resolve(Path::new("/"), &path.to_string_lossy()).unwrap_or(path)
        };
        let gate = Self {
            rules,
            protected: Protected::new(&settings.config_dir, &settings.state_home),
            readable: settings.readable.into_iter().map(real).collect(),
            home: settings.home.map(real),
            ledger: Mutex::new(ledger),
        };
        (gate, diagnostics)
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // The list is valid at every step; a panic elsewhere must not close the gate for good.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What allows a call that no deny, mode or protected path stops, or why it is asked.
    fn permission(
        &self,
        call: &Call<'_>,
        vote: &Vote,
        doubt: Option<&String>,
    ) -> Result<AllowedBy, Option<String>> {
        let facts = call.facts;
        if let Some(id) = self.ledger().covering(facts) {
            return Ok(allowed(AllowedByKind::Grant, Some(id.to_string()), None));
        }
        if let Some(doubt) = doubt {
            return Err(Some(doubt.clone()));
        }
        match self.rules.verdict(call, Asks::Count) {
            Verdict::Allow { source } => {
                return Ok(allowed(AllowedByKind::Rule, None, Some(source)));
            }
            Verdict::Ask { source, reason } => {
                return Err(Some(reason.unwrap_or(format!("a rule in {source} asks"))));
            }
            Verdict::None => {}
        }
        if *vote == Vote::Allow {
            let mode = Some(facts.mode.name().to_owned());
            return Ok(allowed(AllowedByKind::Mode, None, mode));
        }
        if self.reads_at_home(facts) {
            return Ok(allowed(AllowedByKind::Default, None, None));
        }
        Err(self.meets_own_files(facts).then(|| {
            "Shard's own configuration or state lies below that folder; a narrower path leaves it out."
                .to_owned()
        }))
    }

    /// Reading that needs no permission.
    fn reads_at_home(&self, facts: &CallFacts<'_>) -> bool {
        let open = |real: &Path| {
            self.readable.iter().any(|folder| real.starts_with(folder))
                || (real.starts_with(facts.cwd) && !self.protected.is_own(real, facts.cwd))
        };
        facts.read_only
            && !self.meets_own_files(facts)
            && match facts.access {
                Access::Nothing => true,
                Access::Read(given) => {
                    !given.is_empty()
                        && facts.paths.len() == given.len()
                        && facts.paths.iter().all(|fact| open(&fact.real))
                }
                Access::Write(_) | Access::Command(_) | Access::Unknown => false,
            }
    }

    /// Whether a reader that goes down into folders comes by Shard's own files.
    fn meets_own_files(&self, facts: &CallFacts<'_>) -> bool {
        let above = |fact: &PathFact| self.protected.lies_below(&fact.real);
        matches!(facts.access, Access::Read(_))
            && facts.tool != "ls"
            && facts.paths.iter().any(above)
    }

    /// Whether a call writes what is always asked about.
    fn writes_protected(&self, call: &Call<'_>) -> bool {
        let facts = call.facts;
        let covers = |real: &Path| self.protected.covers(real, facts.cwd);
        match facts.access {
            Access::Write(_) => facts.paths.iter().any(|fact| covers(&fact.real)),
            Access::Command(line) if self.speaks_of_protected(call, line) => true,
            Access::Command(_) => call.reach().is_some_and(|reach| {
                reach.written().any(covers)
                    || reach.moved().any(|real| self.protected.lies_below(real))
                    || reach.may_write_protected(self.protected.own(), self.home.as_deref())
            }),
            Access::Nothing | Access::Read(_) | Access::Unknown => false,
        }
    }

    /// Whether a line that is not understood speaks of what is protected.
    fn speaks_of_protected(&self, call: &Call<'_>, line: &str) -> bool {
        if !call.line.as_ref().is_some_and(|line| line.unparsable) {
            return false;
        }
        let line = line.to_lowercase();
        let own = self.protected.own().iter().any(|folder| {
            // However the home folder is spelled.
            let home = self.home.as_deref();
            let below = home.and_then(|home| folder.strip_prefix(home).ok());
            let name = below.unwrap_or(folder).to_string_lossy().to_lowercase();
            !name.is_empty() && !call.facts.cwd.starts_with(folder) && line.contains(&name)
        });
        let named = [".git/hooks", ".git/config", ".shard/", "hookspath"];
        own || named.iter().any(|name| line.contains(name))
    }

    fn question(&self, call: &Call<'_>, why: Option<String>, stop: Stop) -> Ask {
        let always = matches!(stop, Stop::Protected | Stop::Mode);
        let covered = match stop {
            Stop::Protected | Stop::Mode => false,
            Stop::Doubt => self.ledger().has(call.facts),
            Stop::None => {
                self.ledger().has(call.facts)
                    || matches!(
                        self.rules.verdict(call, Asks::PassOver),
                        Verdict::Allow { .. }
                    )
            }
        };
        let question = Question {
            why,
            memorable: !always && grants::can_remember(call.facts.input),
            covered,
        };
        ask::ask(call, question)
    }
}

/// What keeps permission from being found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// Nothing.
    None,
    /// A deny may cover the call.
    Doubt,
    /// It writes a protected path.
    Protected,
    /// The mode wants a person to look at it.
    Mode,
}

fn allowed(kind: AllowedByKind, id: Option<String>, source: Option<String>) -> AllowedBy {
    AllowedBy { kind, id, source }
}

impl PermissionGate for Gate {
    fn check(&self, facts: &CallFacts<'_>) -> Decision {
        let call = Call::new(facts, self.home.as_deref());
        let doubt = match self.rules.refusal(&call) {
            Refusal::Certain(reason) => return Decision::Deny { reason },
            Refusal::Perhaps(doubt) => Some(doubt),
            Refusal::None => None,
        };
        let vote = facts.mode.vote(facts);
        if let Vote::Veto { reason } = vote {
            return Decision::Deny { reason };
        }
        if self.writes_protected(&call) {
            let why = "Shard's own files and git's hooks and configuration can give permissions or run code, so writing them is always asked.";
            return Decision::Ask(self.question(&call, Some(why.to_owned()), Stop::Protected));
        }
        if let Vote::Ask { reason } = vote {
            return Decision::Ask(self.question(&call, Some(reason), Stop::Mode));
        }
        match self.permission(&call, &vote, doubt.as_ref()) {
            Ok(by) => Decision::Allow { by },
            Err(why) => {
                let stop = doubt.map_or(Stop::None, |_| Stop::Doubt);
                Decision::Ask(self.question(&call, why, stop))
            }
        }
    }

    fn grant(&self, facts: &CallFacts<'_>, source: Option<&str>) -> Result<Grant, GateError> {
        self.ledger().add(facts, ask::summary(facts), source)
    }
}
