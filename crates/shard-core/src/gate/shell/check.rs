//! A second opinion on the syntax tree: does it account for every character as bash would?
//!
//! Grammar and bash disagree in corners: what a blank is, where a comment starts, what a line
//! continuation joins, where a quote ends. In each of them a command could hide. A line that gets
//! near such a corner is not understood.

use tree_sitter::{Node, TreeCursor};

/// Characters that the grammar takes for blanks and bash does not, and those that change what a
/// reader sees.
pub(super) fn plain_text(text: &str) -> bool {
    let odd = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || (c.is_whitespace() && !c.is_ascii())
            || c == '\u{feff}'
    };
    // The scanner keeps a stack of here-documents; nobody needs a deep one.
    !text.chars().any(odd) && text.matches("<<").count() <= 8
}

/// Whether the leaves of the tree, and only blanks between them, make up the text.
pub(super) fn tree_covers_text(root: Node<'_>, text: &str) -> bool {
    let mut cursor = root.walk();
    let mut end = 0;
    loop {
        let node = cursor.node();
        if node.child_count() > 0 && cursor.goto_first_child() {
            continue;
        }
        if node.start_byte() < end || node.is_missing() {
            return false;
        }
        let in_string = node.parent().is_some_and(|above| above.kind() == "string");
        if !gap_is_blank(text, end, node.start_byte(), in_string) || !leaf_is_sound(node, text) {
            return false;
        }
        end = node.end_byte();
        if !advance(&mut cursor) {
            return gap_is_blank(text, end, text.len(), false);
        }
    }
}

/// Moves to the next node that is not below this one.
fn advance(cursor: &mut TreeCursor<'_>) -> bool {
    loop {
        if cursor.goto_next_sibling() {
            return true;
        }
        if !cursor.goto_parent() {
            return false;
        }
    }
}

/// A line continuation joins what stands around it; only between blanks is it a blank itself.
fn gap_is_blank(text: &str, from: usize, to: usize, in_string: bool) -> bool {
    let gap = &text[from..to];
    let mut blank_before = from == 0;
    let mut chars = gap.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' => blank_before = true,
            '\\' if !in_string && blank_before && chars.next() == Some('\n') => {}
            _ => return false,
        }
    }
    true
}

fn leaf_is_sound(node: Node<'_>, text: &str) -> bool {
    let leaf = &text[node.byte_range()];
    let (before, after) = (&text[..node.start_byte()], &text[node.end_byte()..]);
    let starts_word = before
        .chars()
        .next_back()
        .is_none_or(|c| " \t\n;&|()".contains(c));
    match node.kind() {
        "comment" => starts_word && !before.ends_with("\\\n"),
        "word" => !(leaf.starts_with('#') && starts_word) && !unescaped(leaf, METACHARACTERS),
        "regex" | "extglob_pattern" => !leaf.contains(|c| METACHARACTERS.contains(c) || c == '\\'),
        "string_content" => !unescaped(leaf, "$`\""),
        // A here-document is judged where it is walked.
        "heredoc_body" | "heredoc_content" | "raw_string" | "ansi_c_string" => true,
        "$" if !node.is_named() && node.parent().is_some_and(lone_dollar_holder) => {
            after.chars().next().is_none_or(|c| {
                !c.is_alphanumeric() && !"_({['\"`@*#?$!-".contains(c) || ends(node, c)
            })
        }
        // The grammar reads `{x` as a group, bash as a program named so.
        "{" if is_group(node) => after.starts_with([' ', '\t', '\n']),
        "<" | ">" | ">>" | "<<" | "<<<" | "<<-" | "<&" | ">&" | ">|" | "&>" | "&>>" => {
            // `{name}>file` assigns a descriptor to a variable.
            !before.ends_with('}')
        }
        _ => true,
    }
}

fn lone_dollar_holder(parent: Node<'_>) -> bool {
    matches!(parent.kind(), "string" | "concatenation" | "command")
}

/// In a string, the dollar before the closing quote is just a dollar.
fn ends(node: Node<'_>, next: char) -> bool {
    next == '"' && node.parent().is_some_and(|above| above.kind() == "string")
}

fn is_group(node: Node<'_>) -> bool {
    node.parent()
        .is_some_and(|above| above.kind() == "compound_statement")
}

const METACHARACTERS: &str = " \t\n;&|<>()$`'\"";

fn unescaped(leaf: &str, any_of: &str) -> bool {
    let mut chars = leaf.chars();
    while let Some(c) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if any_of.contains(c) {
            return true;
        }
    }
    false
}
