//! What can be told of a row without parsing it.

use shard_types::{Checkpoint, EntryBody, EntryId, SessionEntry};

/// An entry's id, small: most ids are a prefix and 32 digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Key {
    /// `msg-` and these bytes in lower-case digits.
    Uuid([u8; 16]),
    /// Any other.
    Other(Box<str>),
}

const PREFIX: &[u8] = b"msg-";

impl Key {
    /// None for what cannot be an id.
    fn read(raw: &[u8]) -> Option<Self> {
        if let Some(key) = raw.strip_prefix(PREFIX).and_then(uuid) {
            return Some(Self::Uuid(key));
        }
        let raw = std::str::from_utf8(raw).ok()?;
        let id: EntryId = raw.parse().ok()?;
        Some(Self::Other(id.as_str().into()))
    }

    pub(crate) fn of(id: &EntryId) -> Self {
        match id.as_str().as_bytes().strip_prefix(PREFIX).and_then(uuid) {
            Some(key) => Self::Uuid(key),
            None => Self::Other(id.as_str().into()),
        }
    }

    pub(crate) fn id(&self) -> Option<EntryId> {
        match self {
            Self::Uuid(bytes) => {
                let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or('0');
                let digits = bytes
                    .iter()
                    .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
                let id: String = "msg-".chars().chain(digits).collect();
                id.parse().ok()
            }
            Self::Other(id) => id.parse().ok(),
        }
    }
}

fn uuid(digits: &[u8]) -> Option<[u8; 16]> {
    let digits: &[u8; 32] = digits.try_into().ok()?;
    let mut bytes = [0; 16];
    let mut all = 0;
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let (high, low) = (HALVES[pair[0] as usize], HALVES[pair[1] as usize]);
        all |= high | low;
        *byte = high << 4 | low;
    }
    (all < 16).then_some(bytes)
}

/// What each byte is worth as a digit; 255 for what is none.
const HALVES: [u8; 256] = {
    let mut halves = [255; 256];
    let mut digit = 0;
    while digit < 16 {
        halves[b"0123456789abcdef"[digit] as usize] = digit as u8;
        digit += 1;
    }
    halves
};

/// What a row holds, as far as reading goes by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Message,
    ToolResult,
    Compaction,
    Checkpoint,
    /// The checkpoint before each call of a tool: as many as there are results, and of interest
    /// only while the call has none.
    ToolStarted,
    /// Of a type that this build does not know.
    Unknown,
}

impl Kind {
    pub(crate) fn of(body: &EntryBody) -> Self {
        match body {
            EntryBody::Message(_) => Self::Message,
            EntryBody::ToolResult(_) => Self::ToolResult,
            EntryBody::Compaction(_) => Self::Compaction,
            EntryBody::Checkpoint(Checkpoint::ToolStarted { .. }) => Self::ToolStarted,
            EntryBody::Checkpoint(_) => Self::Checkpoint,
            EntryBody::Unknown => Self::Unknown,
        }
    }

    /// Whether it is something that was said: a message or a result.
    pub(crate) fn is_said(self) -> bool {
        matches!(self, Self::Message | Self::ToolResult)
    }
}

/// The row that another one names as the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Parent {
    None,
    /// The one that was read before it, which is nearly always so.
    Before,
    Is(Key),
}

/// The head of a row: everything but its details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) key: Key,
    pub(crate) parent: Parent,
    /// Milliseconds since the epoch.
    pub(crate) timestamp: u64,
    pub(crate) kind: Kind,
}

impl Head {
    /// Reads the head of a line; none if the line is damaged. A row as this program writes it is
    /// looked at as far as its `details` begin, and at its end; whether what is in between fits is
    /// found out by whoever parses it. Any other line is parsed whole. `before` is the id of the
    /// row before it as it was written, and becomes that of this row.
    pub(crate) fn read(line: &[u8], before: &mut Vec<u8>) -> Option<Self> {
        let text = std::str::from_utf8(line).ok()?;
        if let Some(head) = Self::quick(line, before) {
            return Some(head);
        }
        let entry = SessionEntry::from_json(text).ok()?;
        let parent = match &entry.parent_id {
            None => Parent::None,
            Some(parent) if parent.as_str().as_bytes() == before => Parent::Before,
            Some(parent) => Parent::Is(Key::of(parent)),
        };
        before.clear();
        before.extend(entry.id.as_str().as_bytes());
        Some(Self {
            key: Key::of(&entry.id),
            parent,
            timestamp: entry.timestamp,
            kind: Kind::of(&entry.body),
        })
    }

    fn quick(line: &[u8], before: &mut Vec<u8>) -> Option<Self> {
        let (id, rest) = id(line.strip_prefix(b"{\"id\":\"")?)?;
        let rest = rest.strip_prefix(b",\"parentId\":")?;
        let (parent, rest) = match rest.strip_prefix(b"\"") {
            None => (Parent::None, rest.strip_prefix(b"null")?),
            Some(rest) => match rest.strip_prefix(&**before) {
                Some([b'"', rest @ ..]) => (Parent::Before, rest),
                _ => {
                    let (parent, rest) = self::id(rest)?;
                    (Parent::Is(Key::read(parent)?), rest)
                }
            },
        };
        let (timestamp, rest) = number(rest.strip_prefix(b",\"timestamp\":")?)?;
        let (kind, details) = kind(rest.strip_prefix(b",\"type\":\"")?)?;
        let kind = match kind {
            "message" => Kind::Message,
            "tool_result" => Kind::ToolResult,
            "compaction" => Kind::Compaction,
            _ if details.starts_with(b"{\"artifactKind\":\"tool_started\"") => Kind::ToolStarted,
            _ => Kind::Checkpoint,
        };
        let key = Key::read(id)?;
        before.clear();
        before.extend(id);
        Some(Self {
            key,
            parent,
            timestamp,
            kind,
        })
    }
}

/// Reads a row as this program writes it, without looking at its details twice; none if it is
/// another one or damaged.
pub(crate) fn entry(line: &str) -> Option<SessionEntry> {
    let parse = |id: &[u8]| std::str::from_utf8(id).ok()?.parse::<EntryId>().ok();
    let (own, rest) = id(line.as_bytes().strip_prefix(b"{\"id\":\"")?)?;
    let rest = rest.strip_prefix(b",\"parentId\":")?;
    let (parent_id, rest) = match rest.strip_prefix(b"\"") {
        None => (None, rest.strip_prefix(b"null")?),
        Some(rest) => {
            let (parent, rest) = id(rest)?;
            (Some(parse(parent)?), rest)
        }
    };
    let (timestamp, rest) = number(rest.strip_prefix(b",\"timestamp\":")?)?;
    let (kind, details) = kind(rest.strip_prefix(b",\"type\":\"")?)?;
    let details = std::str::from_utf8(details).ok()?;
    Some(SessionEntry {
        id: parse(own)?,
        parent_id,
        timestamp,
        body: EntryBody::from_json(kind, details).ok()?,
    })
}

/// An id without its quotation mark at the end, and what follows on that.
fn id(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    /// Longer than any id.
    const LONGEST: usize = 160;
    let end = memchr::memchr(b'"', &rest[..rest.len().min(LONGEST)])?;
    Some((&rest[..end], &rest[end + 1..]))
}

/// A whole number as JSON has it.
fn number(rest: &[u8]) -> Option<(u64, &[u8])> {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = rest.split_at(digits);
    if digits.is_empty() || (digits.len() > 1 && digits[0] == b'0') {
        return None;
    }
    let number = digits.iter().try_fold(0_u64, |number, digit| {
        number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    });
    Some((number?, rest))
}

/// The type of a row and its details, which stand last, with their braces. Whether these fit is
/// for others to find out.
fn kind(rest: &[u8]) -> Option<(&'static str, &[u8])> {
    const KINDS: [&str; 4] = ["message", "tool_result", "checkpoint", "compaction"];
    let (kind, rest) = KINDS.iter().find_map(|kind| {
        let rest = rest.strip_prefix(kind.as_bytes())?;
        Some((kind, rest.strip_prefix(b"\",\"details\":")?))
    })?;
    let details = rest.trim_ascii_end().strip_suffix(b"}")?;
    (details.len() > 1 && details.starts_with(b"{") && details.ends_with(b"}"))
        .then_some((kind, details))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_the_same_however_the_row_is_written() {
        let (id, parent) = (EntryId::generate(), EntryId::generate());
        for (kind, details) in [
            (
                "message",
                r#"{"role":"user","content":[{"type":"text","text":"{\"id\":\"x\"}"}]}"#,
            ),
            (
                "tool_result",
                r#"{"toolCallId":"c","content":{"kind":"text","text":"x"},"isError":false}"#,
            ),
            (
                "checkpoint",
                r#"{"artifactKind":"tool_started","toolCallId":"c"}"#,
            ),
            (
                "checkpoint",
                r#"{"artifactKind":"mode_changed","mode":"tool_started"}"#,
            ),
            ("hologram", r#"{"x":{}}"#),
        ] {
            for parent in [format!("\"{parent}\""), "\"p\"".into(), "null".into()] {
                let row = format!(
                    r#"{{"id":"{id}","parentId":{parent},"timestamp":17,"type":"{kind}","details":{details}}}"#
                );
                let other = format!(
                    r#" {{ "type":"{kind}", "details":{details}, "timestamp":17, "parentId":{parent}, "id":"{id}" }} "#
                );
                let mut before = b"p".to_vec();
                let head = Head::read(row.as_bytes(), &mut before).unwrap();
                assert_eq!(before, id.as_str().as_bytes());
                let again = Head::read(other.as_bytes(), &mut b"p".to_vec());
                assert_eq!(Some(&head), again.as_ref(), "{row}");
                assert_eq!(head.parent == Parent::Before, parent == "\"p\"", "{row}");
                assert_eq!(head.key.id(), Some(id.clone()));
                let parsed = SessionEntry::from_json(&row).unwrap();
                assert_eq!(head.kind, Kind::of(&parsed.body), "{row}");
                let known = head.kind != Kind::Unknown;
                let quick = Head::quick(row.as_bytes(), &mut Vec::new());
                assert_eq!(quick.is_some(), known, "{row}");
            }
        }
    }

    #[test]
    fn a_row_that_breaks_off_has_no_head() {
        let row = format!(
            r#"{{"id":"{}","parentId":null,"timestamp":17,"type":"message","details":{{"role":"user","content":[]}}}}"#,
            EntryId::generate()
        );
        for end in 0..row.len() {
            assert_eq!(
                Head::read(&row.as_bytes()[..end], &mut Vec::new()),
                None,
                "{end}"
            );
        }
    }
}
