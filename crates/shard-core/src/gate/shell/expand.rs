//! Expansions that need a closer look than their children: `${…}`, arithmetic and backquotes.

use tree_sitter::Node;

use super::word::children;

/// What an expansion does besides giving text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    Plain,
    /// It sets a variable.
    Assigns,
    /// Bash may read it otherwise.
    Unclear,
}

/// `${…}`
pub(super) fn parameter(node: Node<'_>, text: &str) -> Effect {
    let raw = &text[node.byte_range()];
    // In double quotes a single quote is just a character, which the grammar does not know.
    if raw.contains(['\'', '\\', '\n']) || raw.contains('@') && raw.contains('P') {
        return Effect::Unclear;
    }
    let inner = raw.trim_start_matches("${").trim_end_matches('}');
    let rest = inner.trim_start_matches(|c: char| c == '#' || c.is_alphanumeric() || c == '_');
    let digits = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_digit() || c == ':' || c == ' ')
    };
    // The name behind a name may have a subscript, and a place in a text is arithmetic.
    let computes = match (inner.chars().next(), rest.strip_prefix(':')) {
        (Some('!'), _) => true,
        (_, Some(place)) => !place.starts_with(['-', '=', '?', '+']) && !digits(place),
        _ => false,
    };
    if computes {
        return Effect::Unclear;
    }
    let sets = |child: Node<'_>| matches!(child.kind(), "=" | ":=");
    if children(node).any(sets) {
        return Effect::Assigns;
    }
    Effect::Plain
}

/// `$((…))`, `((…))` and the head of `for ((…))`.
pub(super) fn arithmetic(node: Node<'_>, text: &str) -> Effect {
    let raw = &text[node.byte_range()];
    // Quotes do not quote in arithmetic, and a subscript is evaluated as a script would be, even
    // one that is in the value of a variable: only numbers are certain.
    let inner = raw.strip_prefix("$[").unwrap_or(raw);
    if inner.contains(['\'', '"', '\\', '`', '[']) {
        return Effect::Unclear;
    }
    let mut sets = false;
    let mut rest = inner.trim_start_matches("for").trim_start_matches('$');
    while let Some(c) = rest.chars().next() {
        let part = |c: char| c.is_alphanumeric() || c == '_' || c == '#';
        let (word, after) = rest.split_at(rest.find(|c| !part(c)).unwrap_or(rest.len()));
        if word.is_empty() {
            if c == '$' && !after.starts_with("$#") && !after.starts_with("$?") {
                return Effect::Unclear;
            }
            rest = &after[c.len_utf8()..];
            continue;
        }
        let number = word.starts_with(|c: char| c.is_ascii_digit() || c == '#');
        let next = after.trim_start();
        let assigned = next.starts_with('=') && !next.starts_with("==");
        if !number && !assigned {
            return Effect::Unclear;
        }
        sets |= assigned;
        rest = after;
    }
    if sets { Effect::Assigns } else { Effect::Plain }
}

/// A substitution in backquotes. Its text is unescaped before it is parsed, and it ends at the
/// next backquote whatever quotes say, so only what needs neither rule is understood.
pub(super) fn backquoted(node: Node<'_>, text: &str) -> Effect {
    let raw = &text[node.byte_range()];
    let Some(inner) = raw.strip_prefix('`').and_then(|raw| raw.strip_suffix('`')) else {
        return if raw.starts_with("$(") {
            Effect::Plain
        } else {
            Effect::Unclear
        };
    };
    if inner.contains(['`', '\\', '#']) {
        Effect::Unclear
    } else {
        Effect::Plain
    }
}
