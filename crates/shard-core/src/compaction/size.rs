//! How large an entry is to a provider, roughly.

use std::io;

use shard_types::{ContentBlock, EntryBody, SessionEntry, ToolResultContent};

/// What a picture counts for, in tokens: about what one of 1.15 megapixels costs, which is as
/// large as providers take without making it smaller.
const PICTURE: u64 = 1600;

/// Rough size in tokens of what an entry is to a provider: a quarter token for each byte of its
/// text. A picture counts 1600; rows that no provider sees count nothing.
#[must_use]
pub fn estimate(entry: &SessionEntry) -> u64 {
    match &entry.body {
        EntryBody::Message(details) => estimate_content(&details.content),
        EntryBody::ToolResult(details) => {
            tokens(result_bytes(&details.content)) + PICTURE * details.images.len() as u64
        }
        EntryBody::Compaction(details) => estimate_text(&details.summary),
        EntryBody::Checkpoint(_) | EntryBody::Unknown => 0,
    }
}

/// The same of a message's content.
#[must_use]
pub fn estimate_content(content: &[ContentBlock]) -> u64 {
    let pictures = content.iter().filter(|block| is_picture(block));
    let bytes = content.iter().map(block_bytes).sum();
    tokens(bytes) + PICTURE * pictures.count() as u64
}

/// Rough size of a text in tokens: a quarter for each byte, rounded up.
#[must_use]
pub fn estimate_text(text: &str) -> u64 {
    tokens(text.len() as u64)
}

fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

/// A picture whose data was left out is sent to nobody.
fn is_picture(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::Image { data, .. } if !data.is_empty())
}

fn block_bytes(block: &ContentBlock) -> u64 {
    match block {
        ContentBlock::Text { text } => text.len() as u64,
        ContentBlock::Thinking {
            text, signature, ..
        } => (text.len() + signature.as_ref().map_or(0, String::len)) as u64,
        ContentBlock::ToolCall { name, args, .. } => name.len() as u64 + json_bytes(args),
        // Results have entries of their own.
        ContentBlock::ToolResult { .. } | ContentBlock::Image { .. } => 0,
    }
}

/// The length of a result's text.
pub(super) fn result_bytes(content: &ToolResultContent) -> u64 {
    match content {
        ToolResultContent::Text { text } => text.len() as u64,
        ToolResultContent::Json { value } => json_bytes(value),
        ToolResultContent::Error { message } => message.len() as u64,
    }
}

/// The length as JSON, without making the text.
fn json_bytes(value: &impl serde::Serialize) -> u64 {
    struct Count(u64);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting fails as little as JSON values do; what was counted so far is as good a guess.
    _ = serde_json::to_writer(&mut count, value);
    count.0
}
