//! The form of a shell line, for grants that cover more than one spelling of a call.
//!
//! A signature holds the program, every flag and every operand of each simple command. What may
//! differ from the line that a person saw is the order and repetition of flags that stand next to
//! each other, and which of the commands the line has and how they are joined. A word that is no
//! flag may be the value of one before it (`-o out`), so the flags right before it are part of it.
//!
//! Invariants: only a line whose every word is certain has a signature, and only one that is
//! nothing but simple commands in lists and pipelines. No command of the groups in [`refused`] is
//! in one: not when it is offered, and not when a call is compared with what was granted earlier.

mod refused;

use std::collections::BTreeSet;

use shard_contracts::Access;
use shard_session::{CommandSignature, Operand};

use super::rules::Call;
use super::shell::{Role, Simple, Word, program};
use super::visible::visible;

/// Longest text of all commands that is offered, in characters: a person reads it whole.
const MAX_SHOWN: usize = 160;

/// The signatures of a call's commands, if every one of them can have one.
pub(super) fn of(call: &Call<'_>) -> Option<Vec<CommandSignature>> {
    let (Access::Command(text), Some(line)) = (call.facts.access, &call.line) else {
        return None;
    };
    let plain = !line.unparsable
        && !line.assigns
        && !line.structured
        && line.writes.is_empty()
        && line.reads.is_empty()
        && !line.commands.is_empty();
    // Beside the line, a call may say how long it is to take at most, and nothing else.
    let mut others = call.facts.input.values();
    let alone = others.all(|value| value.is_number() || value.as_str() == Some(text));
    if !plain || !alone {
        return None;
    }
    line.commands.iter().map(command).collect()
}

/// The same, if it is short enough to be offered.
pub(super) fn offered(call: &Call<'_>) -> Option<Vec<CommandSignature>> {
    let mut commands: Vec<CommandSignature> = Vec::new();
    for command in of(call)? {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    (shown(&commands).chars().count() <= MAX_SHOWN).then_some(commands)
}

fn command(command: &Simple) -> Option<CommandSignature> {
    if command.role != Role::Runs {
        return None;
    }
    let words: Option<Vec<String>> = command.words.iter().map(Word::text).collect();
    let words = words?;
    let (name, arguments) = words.split_first()?;
    let name = program(name);
    if name.is_empty() || refused::is_refused(name, arguments) {
        return None;
    }
    let (mut flags, mut operands) = (BTreeSet::new(), Vec::new());
    let (mut before, mut only_operands) = (BTreeSet::new(), false);
    for word in arguments {
        only_operands |= word == "--";
        if !only_operands && word.starts_with('-') && word.len() > 1 {
            before.insert(word.clone());
            flags.insert(word.clone());
        } else {
            operands.push(Operand {
                text: word.clone(),
                after: std::mem::take(&mut before),
            });
        }
    }
    Some(CommandSignature {
        program: name.to_owned(),
        flags,
        operands,
    })
}

/// The commands as a person reads them, with nothing hidden.
pub(super) fn shown(commands: &[CommandSignature]) -> String {
    let shown: Vec<String> = commands
        .iter()
        .map(|command| format!("`{}`", shown_command(command)))
        .collect();
    shown.join(", ")
}

fn shown_command(command: &CommandSignature) -> String {
    let mut words = vec![&command.program];
    let mut before = BTreeSet::new();
    for operand in &command.operands {
        words.extend(&operand.after);
        words.push(&operand.text);
        before.extend(&operand.after);
    }
    words.extend(command.flags.iter().filter(|flag| !before.contains(flag)));
    let words: Vec<String> = words.into_iter().map(|word| shown_word(word)).collect();
    words.join(" ")
}

/// A word in quotes where it would not stand for itself.
fn shown_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return visible(word);
    }
    format!("'{}'", visible(word).replace('\'', "'\\''"))
}
