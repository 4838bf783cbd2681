//! What must hold for every edit.

use super::super::splice::splice;
use super::super::text_match::{Looseness, find};
use super::{Arguments, Edited, check};
use crate::fuzz::BETWEEN;

/// The old text, the new one, and a file of any bytes. Bytes outside of what is replaced stay, a
/// text that is found more than once is an error, and what is put in is the new text.
///
/// # Panics
/// When that does not hold.
pub fn edit(data: &[u8]) {
    let mut parts = data.splitn(3, |byte| *byte == BETWEEN);
    let mut text = || std::str::from_utf8(parts.next()?).ok().map(str::to_owned);
    let (Some(old_text), Some(new_text)) = (text(), text()) else {
        return;
    };
    let content = parts.next().unwrap_or_default();
    let mut arguments = Arguments {
        path: "file".to_owned(),
        old_text,
        new_text,
        replace_all: None,
    };
    if check(&arguments).is_err() || arguments.old_text == "\u{feff}" {
        return;
    }
    one(content, &arguments);
    arguments.replace_all = Some(true);
    all(content, &arguments);
}

/// An edit without `replace_all` changes one place.
fn one(content: &[u8], arguments: &Arguments) {
    let Some((bom, body, old, new)) = without_marks(content, arguments) else {
        return;
    };
    let edited = Edited::of(content, arguments);
    let exact = occurrences(body, old.as_bytes());
    if exact > 1 {
        assert!(edited.is_err(), "{exact} places are one too many");
    }
    let Ok(edited) = edited else { return };
    let found = find(body, old).expect("what was edited was found");
    let [span] = found.spans.as_slice() else {
        panic!("edited {} places", found.spans.len());
    };
    let (before, after) = (&body[..span.start], &body[span.end..]);
    let put = edited
        .bytes
        .strip_prefix(bom)
        .and_then(|rest| rest.strip_prefix(before))
        .and_then(|rest| rest.strip_suffix(after));
    let put = put.expect("bytes outside of the replaced text stay");
    let there = &body[span.clone()];
    match found.looseness {
        Looseness::Exact => assert_eq!(there, old.as_bytes()),
        Looseness::LineEndings => assert_eq!(without_cr(there), without_cr(old.as_bytes())),
        Looseness::Typography => assert_eq!(plain(there), plain(old.as_bytes())),
    }
    if found.looseness == Looseness::Typography {
        assert_eq!(plain(put), plain(new.as_bytes()));
    } else {
        assert_eq!(without_cr(put), without_cr(new.as_bytes()));
    }
}

/// An edit with `replace_all` changes all places that are apart, from the top.
fn all(content: &[u8], arguments: &Arguments) {
    let Some((bom, body, old, new)) = without_marks(content, arguments) else {
        return;
    };
    let Ok(edited) = Edited::of(content, arguments) else {
        return;
    };
    let found = find(body, old).expect("what was edited was found");
    let mut end = 0;
    let apart = found.spans.into_iter().filter(|span| {
        let apart = span.start >= end;
        end = if apart { span.end } else { end };
        apart
    });
    let spans: Vec<_> = apart.collect();
    let (out, places) = splice(body, &spans, old, new);
    assert_eq!(edited.bytes, [bom, &out].concat());
    assert_eq!(places.len(), spans.len());
    let (mut from, mut to) = (0, 0);
    for (span, place) in spans.iter().zip(&places) {
        assert_eq!(body[from..span.start], out[to..place.start]);
        (from, to) = (span.end, place.end);
    }
    assert_eq!(body[from..], out[to..]);
    if let (Ok(text), false) = (std::str::from_utf8(body), content.contains(&b'\r')) {
        let plain = !old.contains('\r') && !new.contains('\r');
        if plain && found.looseness == Looseness::Exact {
            assert_eq!(String::from_utf8_lossy(&out), text.replace(old, new));
        }
    }
}

/// The byte order mark is no part of any text. `None` when nothing is left to look for.
fn without_marks<'a>(
    content: &'a [u8],
    arguments: &'a Arguments,
) -> Option<(&'a [u8], &'a [u8], &'a str, &'a str)> {
    let bare = |text: &'a str| text.strip_prefix('\u{feff}').unwrap_or(text);
    let (old, new) = (bare(&arguments.old_text), bare(&arguments.new_text));
    let (bom, body) = super::split_bom(content);
    (!old.is_empty()).then_some((bom, body, old, new))
}

fn occurrences(content: &[u8], wanted: &[u8]) -> usize {
    let places = content.windows(wanted.len());
    places.filter(|place| *place == wanted).count()
}

/// Line endings are LF, whatever CRs stand before them: of several, the last may be a file's own.
fn without_cr(bytes: &[u8]) -> Vec<u8> {
    let kept = bytes.iter().enumerate().filter(|(at, byte)| {
        let next = bytes[*at..].iter().find(|byte| **byte != b'\r');
        **byte != b'\r' || next != Some(&b'\n')
    });
    kept.map(|(_, byte)| *byte).collect()
}

/// The text as a reader sees it: what ends a line, and the shape of quotes, dashes and spaces,
/// makes no difference.
fn plain(bytes: &[u8]) -> Vec<u8> {
    let shape = |c: char| match c {
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{3000}' => ' ',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        c => c,
    };
    let mut out = Vec::new();
    for chunk in bytes.utf8_chunks() {
        out.extend(chunk.valid().chars().map(shape).collect::<String>().bytes());
        out.extend_from_slice(chunk.invalid());
    }
    let lines: Vec<&[u8]> = out.split(|byte| *byte == b'\n').collect();
    let last = lines.len() - 1;
    let trimmed = lines.iter().enumerate().map(|(at, line)| {
        let end = line.iter().rposition(|byte| !b" \t\r".contains(byte));
        match at == last {
            true => line,
            false => &line[..end.map_or(0, |end| end + 1)],
        }
    });
    trimmed.collect::<Vec<_>>().join(&b'\n')
}
