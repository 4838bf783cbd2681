//! From entries to the flat view that extractors read.
//!
//! A result stands right after its call, whatever came in between. So a call that is not followed
//! by a result has none. Results without a call are left out, as they are for providers.

use std::collections::HashMap;

use shard_types::{
    ContentBlock, EntryBody, MessageDetails, NormalizedBlock, Role, SessionEntry, ToolResultDetails,
};

/// A conversation as extractors read it, and where each step comes from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Blocks {
    /// The steps.
    pub blocks: Vec<NormalizedBlock>,
    /// For each step the index of its entry; for a shell command that of its result, where it has
    /// one, since that holds the output.
    pub origins: Vec<u64>,
}

impl Blocks {
    /// The steps of these entries, the first of which has this index in the session.
    #[must_use]
    pub fn of(entries: &[SessionEntry], first_index: u64) -> Self {
        Self::numbered(&(first_index..).zip(entries).collect::<Vec<_>>())
    }

    /// The steps of entries with their indices in the session, where these do not just count up.
    #[must_use]
    pub fn numbered(entries: &[(u64, &SessionEntry)]) -> Self {
        let answers = answers(entries.iter().map(|(_, entry)| *entry));
        let mut blocks = Self::default();
        for (at, (index, entry)) in entries.iter().enumerate() {
            let EntryBody::Message(message) = &entry.body else {
                continue;
            };
            match message.role {
                Role::User => blocks.user(*index, message),
                Role::Assistant => {
                    for (part, block) in message.content.iter().enumerate() {
                        let answer = answers.get(&(at, part));
                        let answer = answer.map(|answer| (entries[answer.at].0, answer.details));
                        blocks.assistant(*index, block, answer);
                    }
                }
            }
        }
        blocks
    }

    fn push(&mut self, origin: u64, block: NormalizedBlock) {
        self.blocks.push(block);
        self.origins.push(origin);
    }

    fn user(&mut self, index: u64, message: &MessageDetails) {
        let mut text = String::new();
        for block in &message.content {
            let part = match block {
                ContentBlock::Text { text } => text,
                ContentBlock::Image { .. } => "[picture]",
                _ => continue,
            };
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(part);
        }
        if !text.trim().is_empty() {
            self.push(index, NormalizedBlock::User { text });
        }
    }

    fn assistant(
        &mut self,
        index: u64,
        block: &ContentBlock,
        answer: Option<(u64, &ToolResultDetails)>,
    ) {
        match block {
            ContentBlock::Text { text } if !text.trim().is_empty() => {
                self.push(index, NormalizedBlock::Assistant { text: text.clone() });
            }
            ContentBlock::Thinking { text, .. } if !text.trim().is_empty() => {
                self.push(index, NormalizedBlock::Thinking { text: text.clone() });
            }
            ContentBlock::ToolCall { name, args, .. } if name == "bash" => {
                let command = args.get("command").and_then(|command| command.as_str());
                let bash = NormalizedBlock::Bash {
                    command: command.unwrap_or_default().to_owned(),
                    output: answer
                        .map_or_else(String::new, |(_, details)| details.content.to_text().into()),
                    exit_code: answer.and_then(|(_, details)| details.exit_code),
                };
                self.push(answer.map_or(index, |(index, _)| index), bash);
            }
            ContentBlock::ToolCall { name, args, .. } => {
                let call = NormalizedBlock::ToolCall {
                    name: name.clone(),
                    args: args.clone(),
                };
                self.push(index, call);
                if let Some((index, details)) = answer {
                    let result = NormalizedBlock::ToolResult {
                        name: name.clone(),
                        text: details.content.to_text().into(),
                        is_error: details.is_error,
                    };
                    self.push(index, result);
                }
            }
            _ => {}
        }
    }
}

/// The flat view of a conversation: messages and tool results, each result right after its call.
/// Other rows are left out. [`Blocks`] says also where each step comes from.
#[must_use]
pub fn normalize(entries: &[SessionEntry]) -> Vec<NormalizedBlock> {
    Blocks::of(entries, 0).blocks
}

/// The result of a call.
pub(super) struct Answer<'a> {
    /// The position of its entry.
    pub(super) at: usize,
    pub(super) details: &'a ToolResultDetails,
}

/// The result of each call, by the position of the call's entry and that of its block in there. A
/// result belongs to the last call of its id before it; only the first one counts.
pub(super) fn answers<'a>(
    entries: impl Iterator<Item = &'a SessionEntry>,
) -> HashMap<(usize, usize), Answer<'a>> {
    let mut open: HashMap<&str, (usize, usize)> = HashMap::new();
    let mut answers = HashMap::new();
    for (at, entry) in entries.enumerate() {
        match &entry.body {
            EntryBody::Message(message) if message.role == Role::Assistant => {
                for (part, block) in message.content.iter().enumerate() {
                    if let ContentBlock::ToolCall { id, .. } = block {
                        open.insert(id, (at, part));
                    }
                }
            }
            EntryBody::ToolResult(details) => {
                if let Some(call) = open.remove(details.tool_call_id.as_str()) {
                    answers.insert(call, Answer { at, details });
                }
            }
            _ => {}
        }
    }
    answers
}
