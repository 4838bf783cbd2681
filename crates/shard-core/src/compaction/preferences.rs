//! User Preferences: how the user wants things to be done, in their own words.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;
use shard_contracts::{Extractor, ExtractorContext};
use shard_types::NormalizedBlock;

use super::document::items;
use super::excerpt::{first_line, line, start};
use super::turns::mark;

pub(super) const SECTION: &str = "User Preferences";
/// Bytes of a message that are searched, and of a sentence that is kept.
const LOOK: usize = 16 * 1024;
const SENTENCE: usize = 240;
/// A sentence shorter than this says nothing.
const SHORTEST: usize = 8;

/// Sentences that give a rule rather than report one: orders, and what somebody says they want.
/// "It never ends" is none, "never end it" is one.
#[expect(clippy::unwrap_used, reason = "a constant that a test compiles")]
static RULE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)^\W*(?:(?:and|but|also|so|please|ok(?:ay)?|no|yes|remember|important|note|rule|in general|generally|",
        r"from now on|for (?:now|this|the future)|in (?:this|the) \w+|when(?:ever)? [^,]{1,60}|if [^,]{1,60}|you (?:should|must|can)|make sure (?:to|that you))\W+){0,4}",
        r"(?:(?:always|never|prefer|avoid|don['’]?t|do not|stick (?:to|with)|only use|must not|no need to)\b",
        r"|(?:use|keep|write|put|run|call) .{1,80}(?:\bnot\b|\binstead of\b|\brather than\b|\bover\b))",
        r"|\b(?:i|we|you) (?:(?:always|never|strongly|really|generally|usually) )?(?:prefer|want you to|don['’]?t want|do not want|would like you to|like it when|hate|insist|expect you to)\b",
        r"|\b(?:you|we) (?:should|must) (?:always|never|not|only)\b|\b(?:should|must) (?:always|never)\b",
        r"|\bplease (?:always|never|avoid|don['’]?t|do not|use|keep|stick)\b",
        r"|\b(?:always|never) (?:use|run|write|add|commit|push|edit|change|touch|ask|keep|put|call|make|create|delete|remove)\b",
        r"|\bfrom now on\b",
    ))
    .unwrap()
});

pub(super) struct UserPreferences;

impl Extractor for UserPreferences {
    fn section(&self) -> &'static str {
        SECTION
    }

    fn extract(&self, blocks: &[NormalizedBlock], context: &ExtractorContext<'_>) -> Vec<String> {
        let known = items(context.previous_summary, SECTION);
        let mut seen: HashSet<String> = known.iter().map(|item| essence(item)).collect();
        let mut told = Vec::new();
        for (at, block) in blocks.iter().enumerate() {
            match block {
                NormalizedBlock::User { text } => {
                    let rules = sentences(start(text, LOOK)).filter(|text| is_rule(text));
                    let rules = rules.filter(|rule| seen.insert(essence(rule)));
                    told.extend(
                        rules.map(|rule| {
                            format!("{}\"{}\"", mark(context, at), line(rule, SENTENCE))
                        }),
                    );
                }
                NormalizedBlock::ToolCall { name, args } if name == "ask_user" => {
                    let question = args.get("question").and_then(|question| question.as_str());
                    let decided = decided(question, blocks.get(at + 1));
                    let decided = decided.map(|said| format!("{}{said}", mark(context, at)));
                    told.extend(decided.filter(|said| seen.insert(essence(said))));
                }
                _ => {}
            }
        }
        told
    }
}

fn is_rule(sentence: &str) -> bool {
    sentence.len() >= SHORTEST && RULE.is_match(start(sentence, 2 * SENTENCE))
}

/// What the user chose when they were asked.
fn decided(question: Option<&str>, answer: Option<&NormalizedBlock>) -> Option<String> {
    let Some(NormalizedBlock::ToolResult {
        text,
        is_error: false,
        ..
    }) = answer
    else {
        return None;
    };
    // The question is the model's, and must not pass for an answer.
    let within_quotes = |text: &str| line(text, SENTENCE / 2).replace('"', "'");
    Some(format!(
        "asked \"{}\", the user answered \"{}\"",
        within_quotes(first_line(question?)),
        within_quotes(text)
    ))
}

/// The sentences that the user wrote: neither what they quote nor code.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    let own = text.lines().filter(move |line| {
        let line = line.trim_start();
        let fence = line.starts_with("```");
        code ^= fence;
        !code && !fence && !line.starts_with('>')
    });
    own.flat_map(|line| {
        let mut rest = line;
        std::iter::from_fn(move || {
            let end = rest.match_indices(['.', '!', '?', ';']).find(|(at, mark)| {
                let after = &rest[at + mark.len()..];
                after.is_empty() || after.starts_with(' ')
            });
            let end = end.map_or(rest.len(), |(at, mark)| at + mark.len());
            let (sentence, after) = rest.split_at(end);
            rest = after;
            (!sentence.is_empty()).then(|| {
                sentence
                    .trim()
                    .trim_start_matches(['-', '*', '•', '#', ' '])
            })
        })
    })
}

/// What makes two sentences the same: their letters and digits. The mark of an entry is none of
/// them.
fn essence(text: &str) -> String {
    let text = match text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
    {
        Some((mark, rest)) if mark.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => text,
    };
    let letters = line(text, SENTENCE).to_lowercase();
    letters.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests;
