//! What must hold for every stream of bytes that a peer may send: the function of the fuzz target
//! `codec` in `tests/fuzz`.

use serde::Serialize;
use shard_types::AgentId;
use shard_types::wire_support::BadBody;

use crate::codec::{Decoder, Record, field_of_oversized};
use crate::{AgentCommand, DaemonCommand, Header, RuntimeCommand, ServerMessage, with_agent_id};

/// Bounds of a line that are tried.
const LIMITS: [usize; 4] = [5, 64, 300, crate::MAX_MESSAGE_BYTES];

/// The bytes of a connection. Wherever they are cut, the same records come of them, within the
/// bound; and a message that can be read is printed so that it reads the same again.
///
/// # Panics
/// When that does not hold.
pub fn codec(data: &[u8]) {
    for limit in LIMITS {
        let whole = records(data.chunks(data.len().max(1)), limit);
        for width in [1, 2, 3, 11] {
            let cut = records(data.chunks(width), limit);
            same(
                &cut,
                &whole,
                &format!("pieces of {width}, lines of {limit}"),
            );
        }
    }
    for record in records(data.chunks(64), crate::MAX_MESSAGE_BYTES) {
        if let Record::Line(line) = record {
            message(&line);
        }
    }
    for key in ["id", "type"] {
        let _ = field_of_oversized(data, key);
    }
}

fn records<'a>(pieces: impl Iterator<Item = &'a [u8]>, limit: usize) -> Vec<Record> {
    let mut decoder = Decoder::with_limit(limit);
    let mut records = Vec::new();
    for piece in pieces {
        records.extend(decoder.push(piece));
        // The CR of a line ending waits for its LF.
        assert!(decoder.held() <= limit + 1, "{} held", decoder.held());
    }
    records.extend(decoder.finish());
    for record in &records {
        let length = match record {
            Record::Line(line) => line.len(),
            Record::NotUtf8 | Record::TooLong(_) => 0,
        };
        assert!(length <= limit, "{length} bytes in a line of {limit}");
    }
    records
}

/// How much is kept of an oversized line depends on the pieces.
fn same(cut: &[Record], whole: &[Record], how: &str) {
    assert_eq!(cut.len(), whole.len(), "{how}: {cut:?} and {whole:?}");
    for pair in cut.iter().zip(whole) {
        let fine = match pair {
            (Record::TooLong(one), Record::TooLong(other)) => {
                one.starts_with(other) || other.starts_with(one)
            }
            (one, other) => one == other,
        };
        assert!(fine, "{how}: {pair:?}");
    }
}

/// Reads a line as each of those that may get it would.
fn message(line: &str) {
    let Ok(header) = Header::read(line) else {
        let bad = ServerMessage::read(line).expect_err("without a header");
        assert!(!bad.message.is_empty());
        return;
    };
    let kind = header.kind.as_ref();
    let agent_id = header.agent_id();
    if let Ok(read) = ServerMessage::read(line) {
        let printed = read.to_json();
        assert!(!printed.contains('\n'), "{printed:?}");
        assert_eq!(
            ServerMessage::read(&printed).as_ref(),
            Ok(&read),
            "{printed}"
        );
        if let (ServerMessage::Agent(None, event), Ok(id)) = (read, "agent-1".parse::<AgentId>()) {
            let routed = with_agent_id(&printed, &id);
            let want = ServerMessage::Agent(Some(id), event);
            assert_eq!(ServerMessage::read(&routed), Ok(want), "{routed}");
        }
    }
    let _ = agent_id;
    again(line, |text| AgentCommand::parse(kind, text));
    again(line, |text| DaemonCommand::parse(kind, text));
    again(line, |text| RuntimeCommand::parse(kind, text));
}

fn again<T>(line: &str, parse: impl Fn(&str) -> Option<Result<T, BadBody>>)
where
    T: PartialEq + std::fmt::Debug + Serialize,
{
    if let Some(Ok(body)) = parse(line) {
        let printed = serde_json::to_string(&body).expect("a message prints");
        let read = parse(&printed).and_then(Result::ok);
        assert_eq!(read, Some(body), "{printed}");
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn what_fuzzing_found_about_messages_stays_mended() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/corpus/codec");
        let mut count = 0;
        for entry in std::fs::read_dir(&corpus).unwrap() {
            let path = entry.unwrap().path();
            let data = std::fs::read(&path).unwrap();
            if std::panic::catch_unwind(|| super::codec(&data)).is_err() {
                panic!("{} breaks what must hold for every input", path.display());
            }
            count += 1;
        }
        assert!(count > 10, "{count} files in {}", corpus.display());
    }
}
