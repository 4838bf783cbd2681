//! The permission gate: decides whether a tool call may run.
//!
//! Owns the rules and the grants of one agent; the rules can be replaced between two turns. Executes
//! nothing and asks nobody: callers get a [`Decision`] and act on it. [`shell`] reads command lines,
//! [`rules`] matches them, [`grants`] remembers answers, [`signature`] says of which commands the
//! form can be remembered, and [`protected`] names what no answer covers for good.
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
pub(crate) mod shell;
mod signature;
mod targets;
mod visible;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use shard_config::resources::RuleLayer;
use shard_contracts::{
    Access, Ask, CallFacts, Decision, GateError, PathFact, PermissionGate, Vote,
};
use shard_types::event::{AllowedBy, AllowedByKind};
use shard_types::{GrantId, GrantInfo};

pub use ask::{ALLOW_EXACT, ALLOW_ONCE, ALLOW_SIGNATURE, DENY};
pub use visible::{visible, visible_text};

use crate::own_folders::OwnFolders;
use crate::paths::real;

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
    /// Folders outside the workspace that may be read unasked: the agent's own output.
    pub readable: Vec<PathBuf>,
}

/// The gate of one agent.
pub struct Gate {
    /// The lock is held for the taking or putting of a pointer: a call is judged by what stood
    /// when its judging began.
    written: RwLock<Arc<Written>>,
    protected: Protected,
    /// The agent's own output, readable whatever else is.
    output: Vec<PathBuf>,
    home: Option<PathBuf>,
    ledger: Ledger,
}

/// What people wrote, as one: it is replaced as a whole.
#[derive(Debug, Default)]
struct Written {
    rules: RuleSet,
    readable: Vec<PathBuf>,
}

impl Gate {
    /// Makes a gate. What was wrong with rules or grants is returned in words; the gate is the
    /// stricter for it.
    #[must_use]
    pub fn new(settings: GateSettings) -> (Self, Vec<String>) {
        let (ledger, mut diagnostics) = Ledger::load(settings.grants_path);
        let gate = Self {
            written: RwLock::default(),
            protected: Protected::new(OwnFolders::new(&settings.config_dir, &settings.state_home)),
            output: settings.readable.iter().map(|it| real(it)).collect(),
            home: settings.home.as_deref().map(real),
            ledger,
        };
        diagnostics.extend(gate.replace(settings.layers, Vec::new()));
        (gate, diagnostics)
    }

    /// Puts these rules in the place of those until now, and these folders in the place of the
    /// skills that could be read unasked. What was wrong with the rules is returned in words.
    ///
    /// A folder that holds Shard's own is not opened: keys and conversations are in there.
    pub fn replace(&self, layers: Vec<RuleLayer>, skills: Vec<PathBuf>) -> Vec<String> {
        let (rules, diagnostics) = RuleSet::new(layers);
        let skills = skills.iter().map(|folder| real(folder));
        let skills = skills.filter(|folder| !self.protected.own().lie_below(folder));
        let readable = self.output.iter().cloned().chain(skills).collect();
        let mut written = self.written.write().unwrap_or_else(PoisonError::into_inner);
        *written = Arc::new(Written { rules, readable });
        diagnostics
    }

    fn written(&self) -> Arc<Written> {
        let written = self.written.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&written)
    }

    /// What allows a call that no deny, mode or protected path stops, or why it is asked.
    fn permission(
        &self,
        written: &Written,
        call: &Call<'_>,
        vote: &Vote,
        doubt: Option<&String>,
    ) -> Result<AllowedBy, Option<String>> {
        let facts = call.facts;
        if let Some(id) = self.ledger.covering(call, doubt.is_some()) {
            return Ok(allowed(AllowedByKind::Grant, Some(id.to_string()), None));
        }
        if let Some(doubt) = doubt {
            return Err(Some(doubt.clone()));
        }
        match written.rules.verdict(call, Asks::Count) {
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
        if self.reads_at_home(written, facts) {
            return Ok(allowed(AllowedByKind::Default, None, None));
        }
        Err(self.meets_own_files(facts).then(|| {
            "Shard's own configuration or state lies below that folder; a narrower path leaves it out."
                .to_owned()
        }))
    }

    /// Reading that needs no permission.
    fn reads_at_home(&self, written: &Written, facts: &CallFacts<'_>) -> bool {
        let open = |real: &Path| {
            written
                .readable
                .iter()
                .any(|folder| real.starts_with(folder))
                || (real.starts_with(facts.cwd) && !self.protected.own().hold(real, facts.cwd))
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
        let above = |fact: &PathFact| self.protected.own().lie_below(&fact.real);
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
                    || reach
                        .moved()
                        .any(|real| self.protected.own().lie_below(real))
                    || reach.may_write_protected(self.protected.own().all(), self.home.as_deref())
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
        let own = self.protected.own().all().iter().any(|folder| {
            // However the home folder is spelled.
            let home = self.home.as_deref();
            let below = home.and_then(|home| folder.strip_prefix(home).ok());
            let name = below.unwrap_or(folder).to_string_lossy().to_lowercase();
            !name.is_empty() && !call.facts.cwd.starts_with(folder) && line.contains(&name)
        });
        let named = [".git/hooks", ".git/config", ".shard/", "hookspath"];
        own || named.iter().any(|name| line.contains(name))
    }

    fn question(&self, written: &Written, call: &Call<'_>, why: Option<String>, stop: Stop) -> Ask {
        let always = matches!(stop, Stop::Protected | Stop::Mode);
        let memorable = !always && grants::can_remember(call.facts.input);
        let free = stop == Stop::None;
        // A grant that covers the call would have allowed it.
        let covered = match free.then(|| written.rules.verdict(call, Asks::PassOver)) {
            Some(Verdict::Allow { source }) => {
                Some(allowed(AllowedByKind::Rule, None, Some(source)))
            }
            _ => None,
        };
        let form = (memorable && free).then(|| signature::offered(call));
        let question = Question {
            why,
            memorable,
            form: form.flatten(),
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
        let written = self.written();
        let doubt = match written.rules.refusal(&call) {
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
            return Decision::Ask(self.question(
                &written,
                &call,
                Some(why.to_owned()),
                Stop::Protected,
            ));
        }
        if let Vote::Ask { reason } = vote {
            return Decision::Ask(self.question(&written, &call, Some(reason), Stop::Mode));
        }
        match self.permission(&written, &call, &vote, doubt.as_ref()) {
            Ok(by) => Decision::Allow { by },
            Err(why) => {
                let stop = doubt.map_or(Stop::None, |_| Stop::Doubt);
                Decision::Ask(self.question(&written, &call, why, stop))
            }
        }
    }

    fn grant(
        &self,
        facts: &CallFacts<'_>,
        choice: Option<&str>,
        source: Option<&str>,
    ) -> Result<GrantInfo, GateError> {
        if choice == Some(ALLOW_SIGNATURE) {
            let call = Call::new(facts, self.home.as_deref());
            return self.ledger.add_signature(&call, source);
        }
        self.ledger.add_exact(facts, ask::summary(facts), source)
    }

    fn grants(&self) -> Vec<GrantInfo> {
        self.ledger.list()
    }

    fn revoke(&self, id: &GrantId) -> Result<bool, GateError> {
        self.ledger.revoke(id)
    }

    fn keep_uses(&self) -> Result<(), GateError> {
        self.ledger.keep_uses()
    }
}
