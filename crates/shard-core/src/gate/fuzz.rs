//! What must hold for every shell line and every set of rules.

use std::path::Path;

use serde_json::{Map, Value};
use shard_contracts::{Access, CallFacts, Decision, Mode, PermissionGate, Vote};
use shard_types::{Rule, RuleAction};

use super::globs::{PathGlob, Place};
use super::pattern::{Match, covers, touches};
use super::shell::{Analysis, Piece, Role, Simple, Word, analyze};
use super::{Gate, GateSettings, RuleLayer};
use crate::fuzz::parts;

/// What makes one line of two.
const JOINS: [&str; 6] = ["\n", "; ", " && ", " || ", " | ", " & "];

/// What can be put around a line, so that it still runs.
const AROUND: [(&str, &str); 7] = [
    ("( ", "\n)"),
    ("{ ", "\n}"),
    ("! { ", "\n}"),
    ("echo $( ", "\n)"),
    ("echo \"$( ", "\n)\""),
    ("if true; then ", "\nfi"),
    ("while true; do ", "\ndone"),
];

/// A command that nobody writes by accident.
const MARK: &str = "zqx -1";

/// Two lines. Whatever they are joined with or put into, a command that runs is listed, or the
/// whole is not understood.
///
/// # Panics
/// When that does not hold, or the analysis grows out of proportion.
pub fn shell(data: &[u8]) {
    let Some([one, other]) = parts(data) else {
        return;
    };
    let alone = bounded(one);
    is_one_word_in_quotes(one);
    runs_in_a_shell(one, &alone);
    for join in JOINS {
        runs_after(MARK, join, one, &alone);
    }
    if alone.unparsable {
        return;
    }
    for join in joins_after(one) {
        lists(&format!("{one}{join}{MARK}"), &[&alone, &analyze(MARK)]);
    }
    for (before, after) in AROUND {
        lists(&format!("{before}{one}{after}"), &[&alone]);
    }
    if !other.is_empty() {
        let next = bounded(other);
        for join in joins_after(one) {
            runs_after(one, join, other, &next);
        }
    }
}

/// Rules, a line each (`allow command git status *`, `deny path **/.env`, `ask tool web*`), and
/// two lines. Joining a line to another gives it no permission and takes no refusal from it, and
/// what a pattern allows it also refuses.
///
/// # Panics
/// When that does not hold.
pub fn rules(data: &[u8]) {
    let Some([rules, one, other]) = parts(data) else {
        return;
    };
    let rules: Vec<Rule> = rules.lines().filter_map(rule).take(MAX_RULES).collect();
    for rule in &rules {
        refuses_what_it_allows(rule, one);
        refuses_what_it_allows(rule, other);
    }
    let judge = Judge::new(&rules, &[one, other]);
    let (first, second) = (analyze(one), analyze(other));
    if first.unparsable {
        return;
    }
    let (alone, next) = (judge.decide(one), judge.decide(other));
    for join in joins_after(one) {
        let line = format!("{one}{join}{other}");
        let both = judge.decide(&line);
        let said = || format!("{rules:?}\n{line:?} is {both:?}");
        let found = analyze(&line);
        let unread = found.unparsable;
        if matches!(both, Decision::Allow { .. }) && unread {
            // Nothing else can be said of it.
            assert!(rules.iter().any(is_about_all), "{}", said());
        } else if matches!(both, Decision::Allow { .. }) {
            let is_allowed = |decision: &Decision| matches!(decision, Decision::Allow { .. });
            assert!(
                is_allowed(&alone) || nothing(&first),
                "{} but {one:?} is {alone:?}",
                said()
            );
            assert!(
                is_allowed(&next)
                    || nothing(&second)
                    || second.unparsable && explained(&found, other, &second),
                "{} but {other:?} is {next:?}",
                said()
            );
        }
        let denied = |decision: &Decision| matches!(decision, Decision::Deny { .. });
        if denied(&alone) || denied(&next) && !second.unparsable {
            let fine = match both {
                Decision::Deny { .. } => true,
                // What is not understood may be anything, and after a `cd` so may a path.
                Decision::Ask(_) => judge.by_path || unread,
                Decision::Allow { .. } => false,
            };
            assert!(fine, "{} but a part of it is denied", said());
        }
    }
}

const MAX_RULES: usize = 16;

/// Analyses a line; what comes of it is bounded by the line's length.
fn bounded(line: &str) -> Analysis {
    let found = analyze(line);
    let words = found.commands.iter().flat_map(|command| &command.words);
    let words = words.chain(&found.writes).chain(&found.reads);
    let size: usize = words.map(size).sum();
    assert!(
        size <= 64 * (line.len() + 64),
        "{size} bytes of words in a line of {}",
        line.len()
    );
    found
}

fn size(word: &Word) -> usize {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.len(),
        Piece::Hole => 1,
    };
    word.pieces().iter().map(piece).sum()
}

/// Which joins leave a line as it is: none of them is part of a comment, and a backslash at the
/// end takes away what makes it a join.
fn joins_after(line: &str) -> impl Iterator<Item = &'static str> {
    let fits = move |join: &&str| {
        !line.ends_with('\\') && (*join == "\n" || !line.contains('#') && !line.is_empty())
    };
    JOINS.into_iter().filter(fits)
}

fn runs_after(before: &str, join: &str, line: &str, alone: &Analysis) {
    let whole = format!("{before}{join}{line}");
    let found = analyze(&whole);
    if !found.unparsable && !explained(&found, line, alone) {
        panic!("{whole:?} is understood, but not its end by itself");
    }
    if !alone.unparsable {
        lists(&whole, &[&analyze(before), alone]);
    }
}

/// Whether a line may be understood though its end is not by itself. The grammar knows assignments
/// with redirections only next to other commands; no rule about commands allows them. And a line
/// break may be a blank to it in one place and an end in another, of which only the second is
/// understood.
fn explained(whole: &Analysis, end: &str, alone: &Analysis) -> bool {
    !alone.unparsable || whole.assigns || end.contains('\n')
}

/// A line that is understood shows at least what its parts do.
fn lists(whole: &str, parts: &[&Analysis]) {
    let found = analyze(whole);
    if found.unparsable {
        return;
    }
    let mut left: Vec<&Simple> = certain(&found).collect();
    let mut writes: Vec<&Word> = found.writes.iter().collect();
    for part in parts {
        for command in certain(part) {
            let at = left.iter().position(|listed| *listed == command);
            let at = at.unwrap_or_else(|| panic!("{whole:?} hides {command:?}: {found:?}"));
            left.remove(at);
        }
        for word in &part.writes {
            let at = writes.iter().position(|listed| *listed == word);
            let at = at.unwrap_or_else(|| panic!("{whole:?} hides a write to {word:?}"));
            writes.remove(at);
        }
        assert!(found.assigns || !part.assigns, "{whole:?} assigns");
    }
}

fn certain(found: &Analysis) -> impl Iterator<Item = &Simple> {
    let certain = |command: &&Simple| command.role != Role::Perhaps;
    found.commands.iter().filter(certain)
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Quotes make a word of any text, and nothing else.
fn is_one_word_in_quotes(text: &str) {
    let line = format!("echo {}", quoted(text));
    let found = analyze(&line);
    let words = [Word::literal("echo"), Word::literal(text)];
    let [command] = found.commands.as_slice() else {
        assert!(found.unparsable, "{line:?}: {found:?}");
        return;
    };
    assert!(
        found.unparsable || command.words == words,
        "{line:?}: {found:?}"
    );
}

fn runs_in_a_shell(line: &str, alone: &Analysis) {
    let whole = format!("sh -c {}", quoted(line));
    if !analyze(&whole).unparsable {
        assert!(
            !alone.unparsable,
            "{whole:?} is understood, but not its script"
        );
        lists(&whole, &[alone]);
    }
}

/// Whether a line does nothing at all.
fn nothing(found: &Analysis) -> bool {
    *found == Analysis::default()
}

fn rule(line: &str) -> Option<Rule> {
    let mut words = line.splitn(3, ' ');
    let action = match words.next()? {
        "allow" => RuleAction::Allow,
        "ask" => RuleAction::Ask,
        "deny" => RuleAction::Deny,
        _ => return None,
    };
    let (about, pattern) = (words.next()?, words.next()?);
    let pattern = |key: &str| (about == key).then(|| pattern.to_owned());
    Some(Rule {
        action,
        tool: pattern("tool").unwrap_or_else(|| "bash".to_owned()),
        command: pattern("command"),
        path: pattern("path"),
        reason: None,
    })
}

fn is_about_all(rule: &Rule) -> bool {
    rule.action == RuleAction::Allow && rule.command.is_none() && rule.path.is_none()
}

fn refuses_what_it_allows(rule: &Rule, line: &str) {
    if let Some(pattern) = &rule.command {
        for command in &analyze(line).commands {
            let (covers, touches) = (
                covers(pattern, &command.words),
                touches(pattern, &command.words),
            );
            assert!(
                !covers || touches == Match::Yes,
                "{pattern:?} allows {command:?}, but refuses it {touches:?}"
            );
        }
    }
    if let Some(Ok(glob)) = rule.path.as_deref().map(PathGlob::new) {
        let place = Place {
            real: &Path::new(CWD).join(line),
            cwd: Path::new(CWD),
        };
        assert!(
            !glob.covers(place) || glob.touches(place),
            "{:?} allows {line:?}, but does not refuse it",
            rule.path
        );
    }
}

/// A folder that does not exist: what is on this machine decides nothing.
const CWD: &str = "/nonexistent/home/work";

/// A gate with a set of rules.
struct Judge {
    gate: Gate,
    /// Whether it refuses paths, too.
    by_path: bool,
}

struct Neutral;

impl Mode for Neutral {
    fn name(&self) -> &'static str {
        "neutral"
    }

    fn description(&self) -> &'static str {
        ""
    }

    fn vote(&self, _: &CallFacts<'_>) -> Vote {
        Vote::Abstain
    }
}

impl Judge {
    /// Rules about paths count only for lines that stay in the folder that does not exist: for
    /// others the gate would look at what this machine has.
    fn new(rules: &[Rule], lines: &[&str]) -> Self {
        let stays = |line: &&str| !line.contains(['/', '~']) && !line.contains("..");
        let by_path = lines.iter().all(stays);
        let counts = |rule: &&Rule| by_path || rule.path.is_none();
        let rules: Vec<Rule> = rules.iter().filter(counts).cloned().collect();
        let by_path = rules.iter().any(|rule| rule.path.is_some());
        let (gate, _) = Gate::new(GateSettings {
            layers: vec![RuleLayer {
                source: "rules".into(),
                trusted: true,
                rules,
                ..RuleLayer::default()
            }],
            grants_path: "/nonexistent/state/grants.json".into(),
            config_dir: "/nonexistent/home/config".into(),
            state_home: "/nonexistent/state".into(),
            home: Some("/nonexistent/home".into()),
            readable: Vec::new(),
        });
        Self { gate, by_path }
    }

    fn decide(&self, line: &str) -> Decision {
        let mut input = Map::new();
        input.insert("command".to_owned(), Value::from(line));
        self.gate.check(&CallFacts {
            tool: "bash",
            read_only: false,
            input: &input,
            access: &Access::Command(line.to_owned()),
            paths: &[],
            cwd: Path::new(CWD),
            mode: &Neutral,
        })
    }
}
