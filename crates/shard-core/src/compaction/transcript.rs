//! The newest part of a summary: the last thing that the user asked for at length, and the last
//! steps one line each.

use shard_contracts::ExtractorContext;
use shard_types::NormalizedBlock;

use super::document::{Section, item_bytes, items};
use super::excerpt::{first_line, line, lines};
use super::files::{path_of, relative};
use super::sections::share;
use super::turns::{breadcrumb, mark, turns};

/// The sections after the rule.
pub(super) const SECTIONS: [&str; 2] = ["Last Request", "Brief Transcript"];
/// Bytes of the last request in a summary of full length.
const REQUEST: usize = 1024;
/// Bytes of the transcript, if there is so much room.
const TRANSCRIPT: usize = 6 * 1024;
/// Bytes of one message, of the model's last one, and of one call.
const MESSAGE: usize = 400;
const LAST: usize = 1200;
const CALL: usize = 180;

/// What the user asked for last. A turn that began before these blocks has its request in the
/// summary before.
pub(super) fn last_request(
    blocks: &[NormalizedBlock],
    context: &ExtractorContext<'_>,
    limit: usize,
) -> Section {
    let asked = blocks
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, block)| match block {
            NormalizedBlock::User { text } => Some((at, text)),
            _ => None,
        });
    let bytes = share(REQUEST, limit) - 64;
    let items = match asked {
        Some((at, text)) => vec![format!("{}{}", mark(context, at), lines(text, bytes))],
        None => items(context.previous_summary, SECTIONS[0]),
    };
    Section::new(SECTIONS[0], items)
}

/// The last steps, in at most `room` bytes.
pub(super) fn transcript(
    blocks: &[NormalizedBlock],
    context: &ExtractorContext<'_>,
    room: usize,
) -> Section {
    let mut room = room.min(TRANSCRIPT).saturating_sub(32);
    let mut newest_first: Vec<String> = Vec::new();
    let said = |block: &NormalizedBlock| matches!(block, NormalizedBlock::Assistant { .. });
    let last_said = blocks.iter().rposition(said);
    let asks = |block: &NormalizedBlock| matches!(block, NormalizedBlock::User { .. });
    let last_asked = blocks.iter().rposition(asks);
    let mut full = false;
    for turn in turns(blocks).iter().rev() {
        let heading = match turn.asked {
            0 => "(the turn before goes on)",
            _ => "(turn)",
        };
        let ends = [turn.blocks.start, turn.blocks.end - 1].into_iter();
        let heading = format!("{heading} {}", breadcrumb(context, ends));
        let mut rest = room.saturating_sub(item_bytes(&heading));
        let before = newest_first.len();
        for at in turn.blocks.clone().rev() {
            let longest = match Some(at) {
                at if at == last_said => LAST,
                // It stands above at length.
                at if at == last_asked => CALL,
                _ => MESSAGE,
            };
            let Some(step) = step(blocks, at, context, longest) else {
                continue;
            };
            if item_bytes(&step) > rest {
                full = true;
                break;
            }
            rest -= item_bytes(&step);
            newest_first.push(step);
        }
        if newest_first.len() > before {
            newest_first.push(heading);
            room = rest;
        }
        if full {
            break;
        }
    }
    newest_first.reverse();
    Section::new(SECTIONS[1], newest_first)
}

/// One step on a line; a result is told with its call.
fn step(
    blocks: &[NormalizedBlock],
    at: usize,
    context: &ExtractorContext<'_>,
    longest: usize,
) -> Option<String> {
    let mark = mark(context, at);
    match &blocks[at] {
        NormalizedBlock::User { text } => Some(format!("{mark}user: {}", lines(text, longest))),
        NormalizedBlock::Assistant { text } => {
            Some(format!("{mark}assistant: {}", lines(text, longest)))
        }
        NormalizedBlock::Bash {
            command,
            output,
            exit_code,
        } => {
            let end = match exit_code {
                Some(code) => format!("exit {code}"),
                None if output.is_empty() => "no result".to_owned(),
                None => line(first_line(output), CALL),
            };
            Some(format!("{mark}bash `{}` → {end}", line(command, CALL)))
        }
        NormalizedBlock::ToolCall { name, args } => {
            let (mark, end) = match blocks.get(at + 1) {
                Some(NormalizedBlock::ToolResult { text, is_error, .. }) => {
                    let mark = super::turns::mark(context, at + 1);
                    match is_error {
                        true => (mark, format!("failed: {}", line(first_line(text), CALL))),
                        false => (mark, "ok".to_owned()),
                    }
                }
                _ => (mark, "no result".to_owned()),
            };
            let name = line(name, 40);
            Some(format!("{mark}{name} {} → {end}", about(args, context)))
        }
        NormalizedBlock::ToolResult { .. } | NormalizedBlock::Thinking { .. } => None,
    }
}

/// What a call is about: its file, or else its first arguments.
fn about(
    args: &serde_json::Map<String, serde_json::Value>,
    context: &ExtractorContext<'_>,
) -> String {
    if let Some(path) = path_of(args) {
        let path = relative(path, context.cwd);
        return match args.get("pattern").and_then(|pattern| pattern.as_str()) {
            Some(pattern) => format!("{} in {path}", line(pattern, CALL / 2)),
            None => path,
        };
    }
    let values = args.iter().take(3).map(|(key, value)| match value {
        serde_json::Value::String(text) => format!("{key}: {}", line(text, CALL / 3)),
        value => format!("{key}: {}", line(&value.to_string(), CALL / 3)),
    });
    values.collect::<Vec<_>>().join(", ")
}
