//! Here-documents. The grammar finds their end by a prefix and keeps some escapes to itself, so
//! each is measured again by bash's own rule: a line that is the delimiter, whole.

use tree_sitter::Node;

use super::word::children;

/// Whether bash would see the same document that the tree shows.
pub(super) fn is_sound(redirect: Node<'_>, text: &str) -> bool {
    let part = |kind: &str| children(redirect).find(|child| child.kind() == kind);
    let (Some(start), Some(body), Some(end)) = (
        part("heredoc_start"),
        part("heredoc_body"),
        part("heredoc_end"),
    ) else {
        return false;
    };
    let Some((delimiter, quoted)) = delimiter(&text[start.byte_range()]) else {
        return false;
    };
    let indented = part("<<-").is_some();
    let first_line = text[start.end_byte()..]
        .find('\n')
        .map(|at| start.end_byte() + at + 1);
    let Some((from, close)) =
        first_line.and_then(|from| Some((from, closing(text, from, delimiter, indented)?)))
    else {
        return false;
    };
    // The grammar may count the break before the body or the tabs before the end to either side.
    let near = |at: usize, want: usize| {
        let (low, high) = (at.min(want), at.max(want));
        text[low..high].chars().all(|c| c == '\n' || c == '\t')
    };
    near(body.start_byte(), from)
        && near(end.start_byte(), close)
        && text[end.byte_range()].trim_matches(['\n', '\t']) == delimiter
        && (quoted || body_is_plain(body, text, from..close))
}

/// The delimiter without quotes, and whether it had any.
fn delimiter(raw: &str) -> Option<(&str, bool)> {
    let inner = ['\'', '"'].iter().find_map(|&quote| {
        raw.strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
    });
    let name = inner.unwrap_or(raw);
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let ok = !name.is_empty() && name.len() <= 64 && name.chars().all(plain);
    ok.then_some((name, inner.is_some()))
}

/// Whether nothing in the document is expanded.
pub(super) fn is_quoted(redirect: Node<'_>, text: &str) -> bool {
    let start = children(redirect).find(|child| child.kind() == "heredoc_start");
    start
        .and_then(|start| delimiter(&text[start.byte_range()]))
        .is_some_and(|(_, quoted)| quoted)
}

/// Where the closing line starts.
fn closing(text: &str, from: usize, delimiter: &str, indented: bool) -> Option<usize> {
    let mut at = from;
    for line in text[from..].split_inclusive('\n') {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        let bare = if indented {
            bare.trim_start_matches('\t')
        } else {
            bare
        };
        if bare == delimiter {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// In an unquoted body, whatever bash expands must be a node of its own, and nothing may be
/// escaped: a continuation could even make up the closing line.
fn body_is_plain(body: Node<'_>, text: &str, range: std::ops::Range<usize>) -> bool {
    let expands = |child: &Node<'_>| {
        matches!(
            child.kind(),
            "expansion" | "simple_expansion" | "command_substitution"
        )
    };
    let mut at = range.start;
    for child in children(body).filter(expands) {
        if child.start_byte() < at || text[at..child.start_byte()].contains(['$', '`', '\\']) {
            return false;
        }
        at = child.end_byte();
    }
    at <= range.end && !text[at..range.end].contains(['$', '`', '\\'])
}
