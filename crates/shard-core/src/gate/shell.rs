//! Reads a shell line the way bash would, without running it.
//!
//! [`analyze`] is a pure function: it lists every simple command that the line may run, however
//! deep it is nested, and says what makes the line hard to judge. It knows no rule and touches no
//! file.
//!
//! Invariants: a command that bash would run is either listed or the line is `unparsable`. A word
//! whose text bash would compute has a [`Piece::Hole`], which no literal pattern matches. The
//! grammar alone is not trusted for this: [`check`] compares what it found with the text, since a
//! grammar that is a little more generous than bash would hide commands.

use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, ParseState, Point};

mod builtins;
mod check;
mod conditional;
mod expand;
mod heredoc;
mod order;
mod walk;
mod word;
mod wrap;

#[cfg(test)]
mod tests;

pub(crate) use word::{Hole, Piece, Word};
pub(crate) use wrap::{program, runs_others};

/// Longest line that is looked at. Longer ones are data more than commands.
const MAX_LINE: usize = 64 * 1024;

/// How often the parser may report before it is stopped.
const MAX_STEPS: usize = 4096;

/// How deep scripts may be nested in scripts (`sh -c "sh -c …"`).
const MAX_SCRIPTS: usize = 4;

/// How deep syntax may be nested.
const MAX_DEPTH: usize = 64;

/// More commands than anybody can judge.
const MAX_COMMANDS: usize = 512;

/// What a line would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Analysis {
    /// Every command, in the order of the text.
    pub(crate) commands: Vec<Simple>,
    /// Part of it was not understood, so commands may be missing from the list.
    pub(crate) unparsable: bool,
    /// It changes what names mean: variables, functions, loop variables.
    pub(crate) assigns: bool,
    /// It is more than simple commands of certain words in lists and pipelines.
    pub(crate) structured: bool,
    /// Where output is redirected to, `/dev/null` and descriptors left out.
    pub(crate) writes: Vec<Word>,
    /// Where input is redirected from.
    pub(crate) reads: Vec<Word>,
    /// What here-documents and here-strings hold.
    inputs: Vec<String>,
    /// Some command gets input that nobody knows.
    unknown_input: bool,
    /// Some shell takes its input for a script.
    runs_input: bool,
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Simple {
    /// The program and its arguments, quotes taken off. Never empty.
    pub(crate) words: Vec<Word>,
    /// What it has to do with the line.
    pub(crate) role: Role,
}

/// What a command has to do with its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It runs.
    Runs,
    /// It only runs another one, which is listed too, and needs no rule of its own.
    Wraps,
    /// It may run: an unknown wrapper's arguments. Counts for refusals, never for permission.
    Perhaps,
}

impl Simple {
    /// The program's name as it was written, when that is certain.
    pub(crate) fn name(&self) -> Option<String> {
        self.words.first().and_then(Word::text)
    }
}

impl Analysis {
    /// Adds a command; what cannot be one by bash's own words means that the line was misread.
    fn push(&mut self, words: Vec<Word>, role: Role) {
        if self.commands.len() >= MAX_COMMANDS {
            self.unparsable = true;
            return;
        }
        let reserved = |word: &Word| {
            let text = word.text();
            text.is_some_and(|text| RESERVED.contains(&text.as_str())) || word.is_brace()
        };
        if role != Role::Perhaps && words.first().is_some_and(reserved) {
            self.unparsable = true;
        }
        if !words.is_empty() {
            self.commands.push(Simple { words, role });
        }
    }
}

/// Words that never name a program unless quoted, which nobody does.
const RESERVED: [&str; 20] = [
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "select", "in", "function", "coproc", "{", "}", "!", "]]",
];

/// Lists what `line` would run.
pub(crate) fn analyze(line: &str) -> Analysis {
    let mut found = Analysis::default();
    script(line, 0, &mut found);
    for level in 1.. {
        // Which command gets which input is not told apart: a shell may get any of them.
        if !std::mem::take(&mut found.runs_input) {
            break;
        }
        let inputs = std::mem::take(&mut found.inputs);
        if found.unknown_input || inputs.is_empty() {
            found.push(vec![Word::hole()], Role::Perhaps);
        }
        for text in inputs {
            script(&text, level, &mut found);
        }
    }
    found
}

/// Adds what a script would run, at `level` scripts below the line itself.
fn script(text: &str, level: usize, found: &mut Analysis) {
    if text.len() > MAX_LINE || level > MAX_SCRIPTS || !check::plain_text(text) {
        found.unparsable = true;
        return;
    }
    let Some(tree) = parse(text) else {
        found.unparsable = true;
        return;
    };
    let root = tree.root_node();
    if root.has_error() {
        // What an erroneous tree says is a guess: neither permission nor refusal rests on it.
        found.unparsable = true;
        return;
    }
    if !check::splits_no_character(root, text) {
        found.unparsable = true;
        return;
    }
    if !check::tree_covers_text(root, text) {
        found.unparsable = true;
    }
    walk::Walk { text, level, found }.node(root, 0);
}

/// Beyond ASCII the grammar's scanner looks characters up in tables that end before them, so it
/// gets plain letters in their place, byte for byte: to bash they are nothing but letters either.
/// No keyword is made of this one alone. It loses a dash before a here-document, as in
/// `python3 - <<E`, so that is a letter for it, too.
fn masked(text: &str) -> Vec<u8> {
    let mask = |byte: u8| if byte.is_ascii() { byte } else { b'z' };
    let mut bytes: Vec<u8> = text.bytes().map(mask).collect();
    for (at, _) in text.match_indices(" - <<") {
        bytes[at + 1] = b'z';
    }
    bytes
}

/// Parsers hold buffers and tables; one that is made here costs an agent nothing before its first
/// shell line, and nothing is shared between threads.
fn parse(text: &str) -> Option<tree_sitter::Tree> {
    let mut parser = tree_sitter::Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .ok()?;
    let mut steps = 0;
    // The parser reports every so many of its own steps, so the bound is the same on any machine.
    let mut stop = |_: &ParseState| {
        steps += 1;
        if steps > MAX_STEPS {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut stop);
    let bytes = masked(text);
    let mut read = |at: usize, _: Point| &bytes[at.min(bytes.len())..];
    parser.parse_with_options(&mut read, None, Some(options))
}
