//! Conditional expressions: `[ … ]`, `[[ … ]]` and the words of `test`. They can evaluate text as
//! arithmetic, so only those that plainly look at text and files are understood.

use tree_sitter::Node;

use super::builtins::names_subscript;
use super::word::{self, Word, children};

/// Whether bash sees what the tree shows, and computes nothing from it.
pub(super) fn is_plain(node: Node<'_>, text: &str) -> bool {
    let double = node.child(0).is_some_and(|open| open.kind() == "[[");
    let mut words = Vec::new();
    let understood = operands(node, double, text, &mut words);
    let inner = words.get(1..words.len().saturating_sub(1));
    understood && inner.is_some_and(if double { double_test } else { single_test })
}

/// Adds the words of a test, brackets and operators among them.
fn operands(node: Node<'_>, double: bool, text: &str, words: &mut Vec<Word>) -> bool {
    children(node).all(|child| {
        let word = match child.kind() {
            "unary_expression"
            | "binary_expression"
            | "parenthesized_expression"
            | "negated_command" => return operands(child, double, text, words),
            "regex" | "extglob_pattern" => Some(Word::literal("")),
            // In single brackets an operator of the shell is none of the test: `>` writes a file.
            kind if kind.starts_with(METACHARACTERS) => double.then(|| Word::literal(kind)),
            _ => word::read(child, text).or_else(|| {
                let operator = child.child_count() == 0;
                operator.then(|| Word::literal(&text[child.byte_range()]))
            }),
        };
        let sound = word.is_some() && stands_alone(child, text);
        words.extend(word);
        sound
    })
}

/// What ends a word, and makes operators that need no blanks around them.
const METACHARACTERS: [char; 6] = ['<', '>', '&', '|', '(', ')'];

/// Whether a word or an operator is one to bash, too, and no part of a longer word.
fn stands_alone(node: Node<'_>, text: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| " \t\n;&|<>()`".contains(c));
    let (before, after) = (&text[..node.start_byte()], &text[node.end_byte()..]);
    node.kind().starts_with(METACHARACTERS)
        || edge(before.chars().next_back()) && edge(after.chars().next())
}

const ARITHMETIC: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
const BINARY: [&str; 9] = ["=", "==", "!=", "<", ">", "-nt", "-ot", "-ef", "=~"];

/// Whether what stands in `[ … ]` only looks at text and files.
pub(super) fn single_test(words: &[Word]) -> bool {
    if words.iter().any(Word::splits) {
        return false;
    }
    let texts: Vec<Option<String>> = words.iter().map(Word::text).collect();
    let joint =
        |text: &Option<String>| matches!(text.as_deref(), Some("-a" | "-o" | "!" | "(" | ")"));
    let plain = |text: &Option<String>| text.as_ref().is_none_or(|text| !text.contains('['));
    texts.split(joint).all(|part| match part {
        [] | [_] => true,
        [Some(operator), operand] => {
            operator != "-v" || operand.as_ref().is_some_and(|text| !text.contains('['))
        }
        [left, Some(operator), right] => match operator.as_str() {
            // Here bash takes numbers only; other shells compute.
            operator if ARITHMETIC.contains(&operator) => plain(left) && plain(right),
            operator => BINARY.contains(&operator),
        },
        _ => false,
    })
}

/// Whether what stands in `[[ … ]]` only looks at text and files. Its operators cannot be
/// computed, but its numbers are expressions.
fn double_test(words: &[Word]) -> bool {
    DoubleTest(words).any().is_some_and(|rest| rest.is_empty())
}

/// The words of a test that are left. Each function takes one expression off the front and gives
/// what is behind it, or nothing when bash has another idea of it.
struct DoubleTest<'a>(&'a [Word]);

impl<'a> DoubleTest<'a> {
    fn any(&self) -> Option<&'a [Word]> {
        let mut rest = self.one()?;
        while let Some((joint, next)) = rest.split_first() {
            if !is(joint, &["&&", "||"]) {
                break;
            }
            rest = Self(next).one()?;
        }
        Some(rest)
    }

    fn one(&self) -> Option<&'a [Word]> {
        let (first, rest) = self.0.split_first()?;
        if is(first, &["!"]) {
            return Self(rest).one();
        }
        if is(first, &["("]) {
            let (close, rest) = Self(rest).any()?.split_first()?;
            return is(close, &[")"]).then_some(rest);
        }
        if is(first, &["-v", "-R"]) {
            let (name, rest) = rest.split_first()?;
            return (!names_subscript(name)).then_some(rest);
        }
        if is_option(first) {
            let (operand, rest) = rest.split_first()?;
            return (!is(operand, &OUTSIDE)).then_some(rest);
        }
        match rest {
            [operator, other, rest @ ..] if is(operator, &ARITHMETIC) => {
                (number(first) && number(other)).then_some(rest)
            }
            [operator, other, rest @ ..] if is(operator, &BINARY) => {
                (!is(first, &OUTSIDE) && !is(other, &OUTSIDE)).then_some(rest)
            }
            rest => (!is(first, &OUTSIDE)).then_some(rest),
        }
    }
}

/// No operands unless quoted.
const OUTSIDE: [&str; 8] = ["&&", "||", "!", "(", ")", "<", ">", "]]"];

fn is(word: &Word, wanted: &[&str]) -> bool {
    word.text()
        .is_some_and(|text| wanted.contains(&text.as_str()))
}

/// Whether a word asks something about the next one.
fn is_option(word: &Word) -> bool {
    let text = word.text().unwrap_or_default();
    let mut chars = text.chars();
    chars.next() == Some('-')
        && chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.next().is_none()
}

fn number(word: &Word) -> bool {
    let text = word.text().unwrap_or_default();
    let digits = text.strip_prefix('-').unwrap_or(&text);
    word.is_number() || !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
}
