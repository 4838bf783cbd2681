//! What the demo says and does next, from the messages alone.

use serde_json::{Map, Value};
use shard_contracts::ToolDeclaration;
use shard_types::{ContentBlock, Message, Role};

use super::sentence::{FORMS, PLAN_FORM, Sentence, sentences};
use crate::provider::wire::{is_failure, result_text};

/// Lines of a result that are repeated.
const SHOWN_LINES: usize = 3;

/// Characters of a line that are repeated.
const SHOWN_WIDTH: usize = 160;

/// One reply.
#[derive(Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) words: String,
    pub(super) call: Option<(&'static str, Map<String, Value>)>,
}

/// Plans the reply. Every call that was answered is one sentence done, so this ends.
pub(super) fn plan(messages: &[Message], tools: &[ToolDeclaration]) -> Plan {
    let Some(at) = messages.iter().rposition(is_typed) else {
        return Plan {
            words: introduction(),
            call: None,
        };
    };
    let results: Vec<_> = messages[at + 1..].iter().flat_map(results).collect();
    let mut words: Vec<String> = Vec::new();
    if let Some((result, failed)) = results.last() {
        words.push(describe(result, *failed));
        if *failed {
            words.push("I stop here.".to_owned());
            return Plan {
                words: words.join("\n\n"),
                call: None,
            };
        }
    }
    let offered = |name: &str| tools.iter().any(|tool| tool.name == name);
    let (mut calls, mut steps) = (0, Vec::new());
    for sentence in sentences(&messages[at].text()) {
        match sentence {
            Sentence::Call { tool, args } if offered(tool) => {
                if calls == results.len() {
                    words.push(format!("The demo calls `{tool}`."));
                    return Plan {
                        words: words.join("\n\n"),
                        call: Some((tool, args)),
                    };
                }
                calls += 1;
            }
            Sentence::Plan(more) => steps.extend(more),
            // Said together with what stood before it, and not again later.
            _ if calls < results.len() => {}
            Sentence::Call { tool, .. } => {
                words.push(format!(
                    "That needs the tool `{tool}`, which is not available here."
                ));
            }
            Sentence::Unclear(text) => words.push(unclear(&text)),
        }
    }
    if !steps.is_empty() {
        words.push(written_down(&steps));
    } else if words.is_empty() || !results.is_empty() {
        words.push("That was all.".to_owned());
    }
    Plan {
        words: words.join("\n\n"),
        call: None,
    }
}

/// Steps under the heading that the mode for planning looks for. They come last, as nothing else
/// belongs to them.
fn written_down(steps: &[String]) -> String {
    let steps = steps.iter().enumerate();
    let lines: String = steps
        .map(|(at, step)| format!("\n{}. {step}", at + 1))
        .collect();
    format!("## Implementation Plan\n{lines}")
}

fn is_typed(message: &Message) -> bool {
    message.role == Role::User && !message.text().trim().is_empty()
}

fn results(message: &Message) -> impl Iterator<Item = (String, bool)> {
    message.content.iter().filter_map(|block| match block {
        ContentBlock::ToolResult {
            content,
            is_error,
            exit_code,
            ..
        } => Some((
            result_text(content, *exit_code),
            is_failure(content, *is_error),
        )),
        _ => None,
    })
}

fn describe(result: &str, failed: bool) -> String {
    let mut shown: Vec<String> = result
        .lines()
        .take(SHOWN_LINES)
        .map(|line| cut(line, SHOWN_WIDTH))
        .collect();
    let more = result.lines().count().saturating_sub(SHOWN_LINES);
    if more > 0 {
        shown.push(format!("… and {more} more lines"));
    }
    let how = if failed {
        "The tool failed"
    } else {
        "The tool answered"
    };
    format!("{how}:\n\n```\n{}\n```", shown.join("\n"))
}

fn cut(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn unclear(text: &str) -> String {
    format!(
        "\"{}\" fits no form that I know. {}",
        cut(text, 80),
        introduction()
    )
}

fn introduction() -> String {
    let forms: String = FORMS
        .iter()
        .map(|(form, _)| *form)
        .chain([PLAN_FORM])
        .map(|form| format!("\n- `{form}`"))
        .collect();
    format!(
        "This is the built-in demo and no language model: it turns plain sentences into tool \
         calls by fixed rules. It understands:\n{forms}\n\nSeveral may be joined with `then` or \
         stand on lines of their own. Configure a provider to talk to a real model."
    )
}
