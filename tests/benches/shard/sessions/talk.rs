//! A session of random words, so that hardly two entries are the same.

use std::path::Path;

use anyhow::Result;
use shard_types::{
    ContentBlock, EntryBody, EntryId, MessageDetails, Role, SessionId, ToolResultContent,
    ToolResultDetails,
};

use super::{ENTRIES, create, work};

/// Words of one entry, and how many different ones there are.
const WORDS: usize = 220;
const VOCABULARY: u64 = 50_000;

/// How many entries the last compaction keeps.
const KEPT: usize = 40;

/// Writes a session of questions and results that ends with a compaction.
pub(super) fn write(path: &Path) -> Result<()> {
    let mut file = create(path, Path::new("/w"), SessionId::generate())?;
    let mut words = Words(1);
    let mut ids: Vec<EntryId> = Vec::with_capacity(ENTRIES);
    while ids.len() < ENTRIES {
        let call = format!("call-{}", ids.len());
        let asked = ContentBlock::ToolCall {
            id: call.clone(),
            name: "bash".to_owned(),
            args: [("command".to_owned(), words.text(WORDS).into())]
                .into_iter()
                .collect(),
        };
        let asked = EntryBody::Message(MessageDetails {
            role: Role::Assistant,
            content: vec![asked],
            partial: false,
            usage: None,
        });
        let result = EntryBody::ToolResult(ToolResultDetails {
            tool_call_id: call,
            content: ToolResultContent::text(words.text(WORDS)),
            is_error: false,
            exit_code: Some(0),
            duration_ms: Some(1),
            render: None,
            images: Vec::new(),
        });
        ids.push(file.append(asked)?.id);
        ids.push(file.append(result)?.id);
    }
    work::compact(&mut file, &ids, KEPT)
}

/// Words, the same in each run; low numbers come often.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let below = self.0 % VOCABULARY;
        (self.0 >> 32) % (below + 1)
    }

    fn text(&mut self, count: usize) -> String {
        let mut text = String::new();
        for number in 0..count {
            let word = self.next();
            text += &match number % 8 {
                0 => format!("src/word{word}.rs:{number} "),
                _ => format!("word{word} "),
            };
        }
        text
    }
}
