//! The rules that people wrote, and what they say about a call.
//!
//! Invariants: a deny or ask that cannot be read holds as a question about every call; a rule
//! about commands or paths never allows what it cannot see whole; the allow rules of a layer that
//! is not trusted do not exist.

use std::cell::OnceCell;

use globset::{Glob, GlobMatcher};
use serde_json::Value;
use shard_config::resources::RuleLayer;
use shard_contracts::{Access, CallFacts};
use shard_types::{Rule, RuleAction};

use super::globs::{PathGlob, Place, Seen};
use super::pattern::{Match, covers, touches};
use super::reach::{Reach, Uses};
use super::shell::{Analysis, Role, Simple, analyze};

/// All rules, the nearest layer first.
#[derive(Debug, Default)]
pub(super) struct RuleSet {
    rules: Vec<Compiled>,
    broken: Vec<String>,
}

#[derive(Debug)]
struct Compiled {
    rule: Rule,
    tool: GlobMatcher,
    path: Option<PathGlob>,
    source: String,
}

/// A call with what is worked out about it on the way.
pub(super) struct Call<'a> {
    /// The call as the gate got it.
    pub(super) facts: &'a CallFacts<'a>,
    /// Its shell line, read.
    pub(super) line: Option<Analysis>,
    home: Option<&'a std::path::Path>,
    reach: OnceCell<Option<Reach>>,
    seen: Seen,
}

impl<'a> Call<'a> {
    /// Reads the shell line, if there is one.
    pub(super) fn new(facts: &'a CallFacts<'a>, home: Option<&'a std::path::Path>) -> Self {
        let line = match facts.access {
            Access::Command(line) => Some(analyze(line)),
            _ => None,
        };
        Self {
            facts,
            line,
            home,
            reach: OnceCell::new(),
            seen: Seen::default(),
        }
    }

    /// What its shell line does with files.
    pub(super) fn reach(&self) -> Option<&Reach> {
        let look = || {
            self.line
                .as_ref()
                .map(|line| Reach::of(line, self.facts.cwd, self.home))
        };
        self.reach.get_or_init(look).as_ref()
    }

    fn places(&self) -> impl Iterator<Item = Place<'_>> {
        let cwd = self.facts.cwd;
        let place = move |real| Place { real, cwd };
        self.facts
            .paths
            .iter()
            .map(move |fact| place(fact.real.as_path()))
    }
}

/// What the denies say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Nothing.
    None,
    /// One may cover the call.
    Perhaps(String),
    /// One does.
    Certain(String),
}

/// What the first matching allow and ask rules say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    None,
    /// It runs.
    Allow {
        /// Where the rule stands.
        source: String,
    },
    /// A person decides.
    Ask {
        /// Where the rule stands.
        source: String,
        /// Why, if the rule says.
        reason: Option<String>,
    },
}

/// Whether ask rules count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// They do.
    Count,
    /// They are passed over.
    PassOver,
}

/// A part of a call that a rule must cover.
enum Item<'a> {
    Command(&'a Simple),
    Place(Place<'a>),
    /// What no pattern can describe; only a rule for the whole tool covers it.
    Whole {
        unreadable: bool,
    },
}

impl RuleSet {
    /// Compiles the layers. Patterns that mean nothing are returned in words.
    pub(super) fn new(layers: Vec<RuleLayer>) -> (Self, Vec<String>) {
        let (mut set, mut diagnostics) = (Self::default(), Vec::new());
        for layer in layers {
            let source = layer.source.display().to_string();
            set.broken.extend(layer.broken_deny);
            for (index, rule) in layer.rules.into_iter().enumerate() {
                if rule.action == RuleAction::Allow && !layer.trusted {
                    continue;
                }
                match Compiled::new(&rule, &source) {
                    Ok(compiled) => set.rules.push(compiled),
                    Err(error) => {
                        let what = format!("{source}: rule {index}: {error}");
                        if rule.action != RuleAction::Allow {
                            set.broken.push(what.clone());
                        }
                        diagnostics.push(what);
                    }
                }
            }
        }
        (set, diagnostics)
    }

    /// What all denies say.
    pub(super) fn refusal(&self, call: &Call<'_>) -> Refusal {
        let mut found = match self.broken.first() {
            // Asking whether a question may be asked helps nobody.
            Some(reason) if call.facts.tool != ASK_USER => {
                Refusal::Perhaps(format!("a deny rule cannot be read ({reason})"))
            }
            _ => Refusal::None,
        };
        for compiled in &self.rules {
            if compiled.rule.action != RuleAction::Deny {
                continue;
            }
            match compiled.refuses(call) {
                Match::Yes => return Refusal::Certain(compiled.why()),
                Match::Perhaps if found == Refusal::None => {
                    found =
                        Refusal::Perhaps(format!("it may be what is denied: {}", compiled.why()));
                }
                Match::Perhaps | Match::No => {}
            }
        }
        found
    }

    /// What the first matching rules say, taking the strictest of all parts of the call.
    pub(super) fn verdict(&self, call: &Call<'_>, asks: Asks) -> Verdict {
        let (mut allowed, mut uncovered) = (None, false);
        for (item, needed) in items(call) {
            match self.first(call, &item, asks) {
                Some(hit) if hit.rule.action == RuleAction::Ask => {
                    return Verdict::Ask {
                        source: hit.source.clone(),
                        reason: hit.rule.reason.clone(),
                    };
                }
                Some(hit) if needed => _ = allowed.get_or_insert_with(|| hit.source.clone()),
                None if needed => uncovered = true,
                Some(_) | None => {}
            }
        }
        match allowed {
            Some(source) if !uncovered => Verdict::Allow { source },
            _ => Verdict::None,
        }
    }

    fn first(&self, call: &Call<'_>, item: &Item<'_>, asks: Asks) -> Option<&Compiled> {
        self.rules
            .iter()
            .find(|compiled| match compiled.rule.action {
                RuleAction::Allow => compiled.allows(call.facts, item),
                RuleAction::Ask => asks == Asks::Count && compiled.asks(call, item),
                RuleAction::Deny => false,
            })
    }
}

/// The parts of a call, and whether each needs an allow.
fn items<'a>(call: &'a Call<'_>) -> Vec<(Item<'a>, bool)> {
    if let Some(line) = &call.line {
        let mut items: Vec<_> = line
            .commands
            .iter()
            .map(|command| (Item::Command(command), command.role == Role::Runs))
            .collect();
        if line.unparsable || line.assigns || !line.writes.is_empty() || items.is_empty() {
            let unreadable = line.unparsable;
            items.push((Item::Whole { unreadable }, true));
        }
        return items;
    }
    let places: Vec<_> = call
        .places()
        .map(|place| (Item::Place(place), true))
        .collect();
    if places.is_empty() {
        return vec![(Item::Whole { unreadable: false }, true)];
    }
    places
}

impl Compiled {
    fn new(rule: &Rule, source: &str) -> Result<Self, String> {
        let tool = Glob::new(&rule.tool).map_err(|error| error.to_string())?;
        Ok(Self {
            rule: rule.clone(),
            tool: tool.compile_matcher(),
            path: rule.path.as_deref().map(PathGlob::new).transpose()?,
            source: source.to_owned(),
        })
    }

    fn names(&self, tool: &str) -> bool {
        self.tool.is_match(tool)
    }

    /// Whether it is about writing files, with whatever tool.
    fn names_writing(&self) -> bool {
        self.names("write") || self.names("edit")
    }

    fn why(&self) -> String {
        match &self.rule.reason {
            Some(reason) => reason.clone(),
            None => format!("a rule in {} denies it", self.source),
        }
    }

    fn allows(&self, facts: &CallFacts<'_>, item: &Item<'_>) -> bool {
        if !self.names(facts.tool) {
            return false;
        }
        match (&self.rule.command, &self.path, item) {
            (None, None, _) => true,
            (Some(pattern), None, Item::Command(command)) => covers(pattern, &command.words),
            (None, Some(glob), Item::Place(place)) => glob.covers(*place),
            _ => false,
        }
    }

    fn asks(&self, call: &Call<'_>, item: &Item<'_>) -> bool {
        let facts = call.facts;
        let meant = facts.tool != ASK_USER || self.rule.tool == ASK_USER;
        let by_path =
            matches!(facts.access, Access::Write(_)) && self.path.is_some() && self.names_writing();
        if !meant || !(self.names(facts.tool) || by_path) {
            return false;
        }
        match (&self.rule.command, &self.path, item) {
            (None, None, _) => true,
            (Some(pattern), _, Item::Command(command)) => {
                touches(pattern, &command.words) != Match::No
            }
            (Some(_), _, Item::Whole { unreadable }) => *unreadable,
            (None, Some(glob), Item::Place(place)) => {
                glob.touches(*place)
                    || reads_below(facts)
                        && place.real.is_dir()
                        && glob.touches_below(*place, &call.seen)
            }
            _ => false,
        }
    }

    fn refuses(&self, call: &Call<'_>) -> Match {
        let direct = self.names(call.facts.tool);
        match (&self.rule.command, &self.path) {
            (None, None) if direct => Match::Yes,
            (None, None) => Match::No,
            (Some(pattern), None) if direct => refuses_command(pattern, call),
            (Some(_), None) => Match::No,
            (None, Some(glob)) => self.refuses_path(glob, call, direct),
            (Some(pattern), Some(glob)) => {
                refuses_command(pattern, call).min(self.refuses_path(glob, call, direct))
            }
        }
    }

    /// A file that must not be read or written must not be read or written another way.
    fn refuses_path(&self, glob: &PathGlob, call: &Call<'_>, direct: bool) -> Match {
        let facts = call.facts;
        let reads = self.names("read");
        let writes = self.names_writing();
        match facts.access {
            Access::Read(_) if direct || reads => {
                let how = |place: Place<'_>| match () {
                    () if glob.touches(place) => Match::Yes,
                    () if reads_below(facts)
                        && place.real.is_dir()
                        && glob.touches_below(place, &call.seen) =>
                    {
                        Match::Perhaps
                    }
                    () => Match::No,
                };
                call.places().map(how).max().unwrap_or(Match::No)
            }
            Access::Write(_)
                if (direct || writes) && call.places().any(|place| glob.touches(place)) =>
            {
                Match::Yes
            }
            Access::Command(_) if direct || reads || writes => {
                let uses = Uses {
                    reads: direct || reads,
                    writes: direct || writes,
                };
                let reach = call.reach();
                reach.map_or(Match::Perhaps, |reach| {
                    reach.touches(glob, uses, facts.cwd, &call.seen)
                })
            }
            Access::Unknown if direct || reads || writes => {
                let place = |text: &str| glob_touches_text(glob, text, facts);
                let mentioned = facts.input.values().any(|value| any_text(value, &place));
                if mentioned { Match::Perhaps } else { Match::No }
            }
            _ => Match::No,
        }
    }
}

fn refuses_command(pattern: &str, call: &Call<'_>) -> Match {
    let Some(line) = &call.line else {
        return Match::No;
    };
    let unread = if line.unparsable {
        Match::Perhaps
    } else {
        Match::No
    };
    let how = |command: &Simple| {
        let how = touches(pattern, &command.words);
        if command.role == Role::Perhaps {
            how.min(Match::Perhaps)
        } else {
            how
        }
    };
    line.commands
        .iter()
        .map(how)
        .max()
        .unwrap_or(Match::No)
        .max(unread)
}

/// Listing shows names; every other reader of a folder shows what is in its files.
fn reads_below(facts: &CallFacts<'_>) -> bool {
    matches!(facts.access, Access::Read(_)) && !matches!(facts.tool, "ls" | "find")
}

fn glob_touches_text(glob: &PathGlob, text: &str, facts: &CallFacts<'_>) -> bool {
    let Ok(real) = crate::paths::resolve(facts.cwd, text) else {
        return true;
    };
    glob.touches(Place {
        real: &real,
        cwd: facts.cwd,
    })
}

/// Whether any text in a value, however deep, is one that `test` looks for.
fn any_text(value: &Value, test: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => test(text.strip_prefix("file://").unwrap_or(text)),
        Value::Array(values) => values.iter().any(|value| any_text(value, test)),
        Value::Object(fields) => fields.values().any(|value| any_text(value, test)),
        _ => false,
    }
}

/// The tool that asks a person; asking whether it may is asking twice.
const ASK_USER: &str = "ask_user";
