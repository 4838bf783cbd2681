//! JSON lines: bytes in, texts out (`docs/PROTOCOL.md`, "Framing").
//!
//! A record ends at LF and nowhere else: U+2028, U+2029 and U+0085 are ordinary characters inside
//! a string. One CR before the LF is dropped. The decoder never holds more than one record of
//! [`MAX_MESSAGE_BYTES`], and a bad record does not end the stream.

use crate::MAX_MESSAGE_BYTES;

/// One record of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A line of text, without its line ending. Blank lines are not reported.
    Line(String),
    /// A line that is no UTF-8.
    NotUtf8,
    /// A line over the bound. Its first bytes, in which an `id` may still be found; reported as
    /// soon as the bound is passed. The connection should end after it; if it goes on, the next
    /// line is decoded as usual.
    TooLong(Vec<u8>),
}

/// How much of an oversized line is kept for finding its `id`.
const KEPT_OF_OVERSIZED: usize = 4096;

/// Splits a byte stream into records, wherever the pieces that arrive are cut.
#[derive(Debug)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// The rest of an oversized line is being thrown away.
    skipping: bool,
    limit: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::with_limit(MAX_MESSAGE_BYTES)
    }
}

impl Decoder {
    /// A decoder with a bound of its own, in bytes of a line without its line ending.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            skipping: false,
            limit,
        }
    }

    /// Takes in the next bytes and gives the records that they complete.
    pub fn push(&mut self, mut bytes: &[u8]) -> Vec<Record> {
        let mut records = Vec::new();
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            self.extend(line, &mut records);
            if !std::mem::take(&mut self.skipping) {
                records.extend(finish(std::mem::take(&mut self.buffer)));
            }
        }
        self.extend(bytes, &mut records);
        records
    }

    /// The end of the stream: a last line without an LF still counts.
    pub fn finish(&mut self) -> Option<Record> {
        let skipping = std::mem::take(&mut self.skipping);
        let line = std::mem::take(&mut self.buffer);
        if skipping { None } else { finish(line) }
    }

    /// Bytes that wait for the rest of their line.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn held(&self) -> usize {
        self.buffer.len()
    }

    fn extend(&mut self, piece: &[u8], records: &mut Vec<Record>) {
        if self.skipping {
            return;
        }
        // A CR that the LF behind it will drop does not count, in whichever piece it came.
        let cr = piece.last().or(self.buffer.last()) == Some(&b'\r');
        let length = self.buffer.len() + piece.len() - usize::from(cr);
        if length > self.limit {
            let mut head = std::mem::take(&mut self.buffer);
            head.truncate(KEPT_OF_OVERSIZED);
            head.extend_from_slice(&piece[..piece.len().min(KEPT_OF_OVERSIZED - head.len())]);
            records.push(Record::TooLong(head));
            self.skipping = true;
        } else {
            self.buffer.extend_from_slice(piece);
        }
    }
}

fn finish(mut line: Vec<u8>) -> Option<Record> {
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    if line.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    Some(String::from_utf8(line).map_or(Record::NotUtf8, Record::Line))
}

/// Finds a text field of an oversized message, its `id` or `type`, in its first bytes, so that the
/// refusal can reach its sender. A guess at best: a message cut short is no JSON.
#[must_use]
pub fn field_of_oversized(head: &[u8], key: &str) -> Option<String> {
    let text = String::from_utf8_lossy(head);
    let key = format!("\"{key}\"");
    let value = &text[text.find(&key)? + key.len()..];
    let value = value.trim_start().strip_prefix(':')?.trim_start();
    let mut values = serde_json::Deserializer::from_str(value).into_iter::<String>();
    values.next()?.ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(pieces: &[&[u8]], limit: usize) -> Vec<Record> {
        let mut decoder = Decoder::with_limit(limit);
        let mut records: Vec<Record> = pieces
            .iter()
            .flat_map(|piece| decoder.push(piece))
            .collect();
        records.extend(decoder.finish());
        records
    }

    fn line(text: &str) -> Record {
        Record::Line(text.to_owned())
    }

    #[test]
    fn only_a_line_feed_ends_a_record() {
        let stream =
            "{\"a\":\"x\u{2028}y\u{2029}z\u{85}\"}\r\n\n{\"b\":\"\\n\"}\n  \n{\"c\":1}\r\r\nlast";
        assert_eq!(
            decode(&[stream.as_bytes()], 1000),
            [
                line("{\"a\":\"x\u{2028}y\u{2029}z\u{85}\"}"),
                line("{\"b\":\"\\n\"}"),
                line("{\"c\":1}\r"),
                line("last")
            ],
        );
    }

    #[test]
    fn a_bad_record_does_not_end_the_stream() {
        assert_eq!(
            decode(&[b"\xff\xfe{}\n{\"ok\":1}\n"], 1000),
            [Record::NotUtf8, line("{\"ok\":1}")]
        );
    }

    #[test]
    fn an_oversized_line_is_reported_once_and_its_rest_is_dropped() {
        let records = decode(
            &[
                b"{\"id\":\"r1\",",
                b"\"x\":\"",
                b"yyyyyyyyyyyy",
                b"zzzz\"}\n{}\n",
            ],
            20,
        );
        let head = b"{\"id\":\"r1\",\"x\":\"yyyyyyyyyyyy".to_vec();
        assert_eq!(records, [Record::TooLong(head.clone()), line("{}")]);
        assert_eq!(field_of_oversized(&head, "id"), Some("r1".to_owned()));
        assert_eq!(field_of_oversized(b"{\"x\":\"yyy", "id"), None);
    }

    #[test]
    fn the_bound_is_exact() {
        assert_eq!(decode(&[b"12345\r\n"], 5), [line("12345")]);
        assert_eq!(decode(&[b"12345\r", b"\n"], 5), [line("12345")]);
        assert_eq!(
            decode(&[b"123456\n"], 5),
            [Record::TooLong(b"123456".to_vec())]
        );
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_makes_no_difference(
            lines in prop::collection::vec("[a-zé\u{2028}\r ]{0,12}", 0..8),
            cuts in prop::collection::vec(0usize..120, 0..12),
        ) {
            let stream = lines.join("\n").into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|&cut| cut <= stream.len()).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &stream[w[0]..w[1]]).collect();
            prop_assert_eq!(decode(&pieces, 1000), decode(&[&stream], 1000));
        }

        #[test]
        fn any_bytes_are_taken_in(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8)) {
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            for record in decode(&pieces, 30) {
                if let Record::Line(text) = record {
                    prop_assert!(text.len() <= 31 && !text.contains('\n'));
                }
            }
        }
    }
}
