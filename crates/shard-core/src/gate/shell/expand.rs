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
    let sets = |child: Node<'_>| matches!(child.kind(), "=" | ":=");
    if children(node).any(sets) {
        return Effect::Assigns;
    }
    Effect::Plain
}

/// `$((…))`, `((…))` and the head of `for ((…))`.
pub(super) fn arithmetic(node: Node<'_>, text: &str) -> Effect {
    let raw = &text[node.byte_range()];
    // Quotes do not quote in arithmetic, and a subscript is evaluated as a script would be.
    let inner = raw.strip_prefix("$[").unwrap_or(raw);
    if inner.contains(['\'', '"', '\\', '`', '[']) {
        return Effect::Unclear;
    }
    let bare = ["==", "!=", "<=", ">="]
        .iter()
        .fold(raw.to_owned(), |raw, operator| raw.replace(operator, ""));
    if bare.contains('=') || bare.contains("++") || bare.contains("--") {
        return Effect::Assigns;
    }
    Effect::Plain
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
