//! Builtins that take a word for more than text: for a name whose subscript bash evaluates, for
//! arithmetic, or for code. `a[$(rm f)]` runs `rm` in each of them.
//!
//! Invariant: what is not plainly harmless makes the line not understood.

use super::Analysis;
use super::conditional::single_test;
use super::word::Word;

/// Notes what a builtin does to the line besides running.
pub(super) fn judge(name: &str, arguments: &[Word], found: &mut Analysis) {
    found.unparsable |= evaluates(name, arguments);
    let sets = match name {
        "read" | "mapfile" | "readarray" | "getopts" | "let" | "unset" => true,
        "declare" | "typeset" | "local" | "export" | "readonly" => true,
        "printf" => arguments.first().is_some_and(|word| may_start(word, "-v")),
        "wait" => has_option(arguments, "p"),
        _ => false,
    };
    found.assigns |= sets;
}

/// Whether bash may run or compute something from these words.
fn evaluates(name: &str, arguments: &[Word]) -> bool {
    let any = |test: fn(&Word) -> bool| arguments.iter().any(test);
    match name {
        "test" => !single_test(arguments),
        "[" => !arguments
            .split_last()
            .is_some_and(|(_, inner)| single_test(inner)),
        "let" | "complete" | "compopt" => true,
        "compgen" => any(computed) || has_option(arguments, "CFWV"),
        "mapfile" | "readarray" => any(names_subscript) || has_option(arguments, "C"),
        "read" | "getopts" | "unset" => any(names_subscript),
        "printf" => {
            arguments.first().is_some_and(|word| may_start(word, "-v")) && any(names_subscript)
        }
        "wait" => any(Word::splits) || has_option(arguments, "p") && any(names_subscript),
        "declare" | "typeset" | "local" | "export" | "readonly" => {
            any(|word| {
                // Only in front of the sign is it a name.
                let name = word.prefix().split_once('=');
                name.map_or(names_subscript(word), |(name, value)| {
                    name.contains('[') || value.starts_with('(')
                })
            }) || has_option(arguments, "aAin")
        }
        "enable" => any(computed) || any(|word| !matches!(word.prefix(), "-p" | "-a" | "-s")),
        "bind" => any(computed) || has_option(arguments, "xfmqru") || !all_options(arguments),
        // They change what a name runs.
        "alias" => any(|word| word.text().is_none_or(|text| text.contains('='))),
        "hash" => any(computed) || has_option(arguments, "p"),
        "fc" => any(computed) || !has_option(arguments, "l"),
        "jobs" => any(computed) || has_option(arguments, "x"),
        "shopt" => any(computed) || has_option(arguments, "s"),
        "set" => changes_syntax(arguments),
        _ => false,
    }
}

fn computed(word: &Word) -> bool {
    word.text().is_none()
}

pub(super) fn names_subscript(word: &Word) -> bool {
    word.text().is_none_or(|text| text.contains('['))
}

/// Whether a word is `option`, starts with it, or may.
fn may_start(word: &Word, option: &str) -> bool {
    word.prefix().starts_with(option) || word.text().is_none() && option.starts_with(word.prefix())
}

/// Whether there is a short option with one of these letters.
fn has_option(arguments: &[Word], letters: &str) -> bool {
    arguments.iter().any(|word| {
        let option = word.prefix().strip_prefix(['-', '+']);
        option.is_some_and(|option| option.contains(|c| letters.contains(c)))
    })
}

fn all_options(arguments: &[Word]) -> bool {
    arguments.iter().all(|word| word.prefix().starts_with('-'))
}

/// `set` can change what bash reads from the rest of the line.
fn changes_syntax(arguments: &[Word]) -> bool {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.text() else { return true };
        let Some(letters) = text.strip_prefix(['-', '+']) else {
            return false;
        };
        if matches!(text.as_str(), "-" | "--") {
            return false;
        }
        if !letters.chars().all(|c| "aefuxvCEmnho".contains(c)) {
            return true;
        }
        if letters.contains('o') {
            let name = rest.next().and_then(Word::text);
            let plain = [
                "pipefail",
                "errexit",
                "nounset",
                "xtrace",
                "verbose",
                "noglob",
                "noclobber",
                "errtrace",
                "monitor",
                "allexport",
            ];
            if !name.is_some_and(|name| plain.contains(&name.as_str())) {
                return true;
            }
        }
    }
    false
}
