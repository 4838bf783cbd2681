//! The grammar of the demo.
//!
//! A sentence begins with a verb: at the start of the text, at the start of a line, or after
//! `then`. Lines that begin with no verb belong to the sentence before them, so that a `write`
//! can have several. Verbs are read in any case; paths may stand in quotes or backticks.

use serde_json::{Map, Value};

/// What the demo understands, for people: the form, and the tool that it calls.
pub(super) const FORMS: [(&str, &str); 8] = [
    ("read PATH", "read"),
    ("list [PATH]", "ls"),
    ("find GLOB", "find"),
    ("search PATTERN [in PATH]", "grep"),
    ("run COMMAND", "bash"),
    ("write PATH: TEXT", "write"),
    ("edit PATH: OLD => NEW", "edit"),
    ("ask QUESTION", "ask_user"),
];

/// The form that calls no tool.
pub(super) const PLAN_FORM: &str = "plan STEP; STEP";

const VERBS: [&str; 11] = [
    "read", "list", "ls", "find", "search", "grep", "run", "write", "edit", "ask", "plan",
];

/// One sentence of a person.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Sentence {
    /// It asks for a tool.
    Call {
        tool: &'static str,
        args: Map<String, Value>,
    },
    /// It says what is to be done, step by step.
    Plan(Vec<String>),
    /// It fits no form.
    Unclear(String),
}

/// Reads a text.
pub(super) fn sentences(text: &str) -> Vec<Sentence> {
    let mut raw: Vec<String> = Vec::new();
    for line in text.trim().lines() {
        let mut parts = split_then(line).into_iter();
        let first = parts.next().unwrap_or_default();
        match raw.last_mut() {
            Some(last) if verb(first).is_none() => {
                last.push('\n');
                last.push_str(first);
            }
            _ => raw.push(first.to_owned()),
        }
        raw.extend(parts.map(str::to_owned));
    }
    raw.iter().map(|sentence| parse(sentence)).collect()
}

/// Cuts a line at each `then` that a verb follows: one inside a shell command stays.
fn split_then(line: &str) -> Vec<&str> {
    const THEN: &str = " then ";
    let (mut parts, mut start, mut from) = (Vec::new(), 0, 0);
    while let Some(at) = line[from..].find(THEN).map(|at| from + at) {
        from = at + THEN.len();
        if verb(&line[from..]).is_some() {
            let part = line[start..at].trim_end();
            parts.push(
                part.strip_suffix(" and")
                    .unwrap_or(part)
                    .trim_end_matches(','),
            );
            start = from;
        }
    }
    parts.push(&line[start..]);
    parts
}

/// The verb at the start, with what follows it.
fn verb(sentence: &str) -> Option<(&'static str, &str)> {
    let sentence = sentence.trim();
    let sentence = sentence.strip_prefix("please ").unwrap_or(sentence);
    let (word, rest) = sentence
        .split_once(char::is_whitespace)
        .unwrap_or((sentence, ""));
    let verb = VERBS
        .into_iter()
        .find(|verb| word.eq_ignore_ascii_case(verb))?;
    Some((verb, rest.trim()))
}

fn parse(sentence: &str) -> Sentence {
    let found = verb(sentence);
    if let Some(("plan", rest)) = found
        && let steps = steps(rest)
        && !steps.is_empty()
    {
        return Sentence::Plan(steps);
    }
    let call = found.and_then(|(verb, rest)| call(verb, rest));
    let Some((tool, pairs)) = call else {
        return Sentence::Unclear(sentence.trim().to_owned());
    };
    let args = pairs
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.into()));
    Sentence::Call {
        tool,
        args: args.collect(),
    }
}

fn steps(rest: &str) -> Vec<String> {
    let steps = rest.split([';', '\n']).map(str::trim);
    let steps = steps.filter(|step| !step.is_empty());
    steps.map(str::to_owned).collect()
}

type Pairs = Vec<(&'static str, String)>;

fn call(verb: &str, rest: &str) -> Option<(&'static str, Pairs)> {
    if rest.is_empty() && !matches!(verb, "list" | "ls") {
        return None;
    }
    let one = |key: &'static str, value: String| vec![(key, value)];
    Some(match verb {
        "read" => ("read", one("path", path(rest))),
        "list" | "ls" if rest.is_empty() => ("ls", Vec::new()),
        "list" | "ls" => ("ls", one("path", path(rest))),
        "find" => ("find", one("pattern", unquoted(rest))),
        "search" | "grep" => ("grep", search(rest)),
        "run" => ("bash", one("command", unquoted(rest))),
        "write" => ("write", write(rest)?),
        "edit" => ("edit", edit(rest)?),
        "ask" => ("ask_user", one("question", rest.to_owned())),
        _ => return None,
    })
}

fn search(rest: &str) -> Pairs {
    match rest.rsplit_once(" in ") {
        Some((pattern, place)) => {
            vec![("pattern", unquoted(pattern)), ("path", path(place))]
        }
        None => vec![("pattern", unquoted(rest))],
    }
}

fn write(rest: &str) -> Option<Pairs> {
    let (place, text) = rest.split_once(':')?;
    let text = text.strip_prefix([' ', '\n']).unwrap_or(text);
    Some(vec![
        ("path", unquoted(place)),
        ("content", text.to_owned()),
    ])
}

fn edit(rest: &str) -> Option<Pairs> {
    let (place, change) = rest.split_once(':')?;
    let (old, new) = change.split_once("=>")?;
    Some(vec![
        ("path", unquoted(place)),
        ("old_text", unquoted(old)),
        ("new_text", unquoted(new)),
    ])
}

/// A path; the full stop that ends a sentence is none of it.
fn path(raw: &str) -> String {
    let raw = raw.trim();
    let stop = raw
        .strip_suffix('.')
        .filter(|rest| rest.ends_with(char::is_alphanumeric));
    unquoted(stop.unwrap_or(raw))
}

fn unquoted(raw: &str) -> String {
    let raw = raw.trim();
    let inner = ['`', '"', '\''].into_iter().find_map(|quote| {
        let inner = raw.strip_prefix(quote)?.strip_suffix(quote)?;
        // Two quoted words are no quoted text.
        (!inner.is_empty() && !inner.contains(quote)).then_some(inner)
    });
    inner.unwrap_or(raw).to_owned()
}
