//! A second opinion on the syntax tree: does it account for every character as bash would?
//!
//! Grammar and bash disagree in corners: what a blank is, where a comment starts, what a line
//! continuation joins, where a quote ends. In each of them a command could hide. A line that gets
//! near such a corner is not understood.

use tree_sitter::Node;

use super::order::Order;

/// Whether a text may be parsed at all: no character that the grammar takes for a blank and bash
/// does not, and no more structure than a person would write. The parser's time and memory grow
/// faster than its input, and some of it is not safe from a hostile one.
pub(super) fn plain_text(text: &str) -> bool {
    let odd = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || (c.is_whitespace() && !c.is_ascii())
            || c == '\u{feff}'
    };
    let structure = text.chars().filter(|c| "(){}[]`|&;<>$".contains(*c));
    !text.chars().any(odd)
        && structure.count() <= MAX_STRUCTURE
        && text.lines().count() <= MAX_STRUCTURE
        && text.matches("<<").count() <= 8
        && nesting(text) <= MAX_NESTING
}

/// How many brackets and keywords are open at once, at most. Quotes are not looked at.
fn nesting(text: &str) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for c in text.chars() {
        match c {
            '(' | '{' | '[' => open += 1,
            ')' | '}' | ']' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most + text
        .split_whitespace()
        .filter(|word| OPENERS.contains(word))
        .count()
}

const OPENERS: [&str; 7] = ["if", "for", "while", "until", "case", "select", "!"];
const MAX_STRUCTURE: usize = 2048;
const MAX_NESTING: usize = 64;

/// Whether every node starts and ends at a character, so that its text can be taken.
pub(super) fn splits_no_character(root: Node<'_>, text: &str) -> bool {
    let mut sound = true;
    each_leaf(root, |node, _| {
        let (start, end) = (node.start_byte(), node.end_byte());
        sound = text.is_char_boundary(start) && text.is_char_boundary(end) && start <= end;
        sound
    });
    sound
}

/// Whether the leaves of the tree, and only blanks between them, make up the text.
pub(super) fn tree_covers_text(root: Node<'_>, text: &str) -> bool {
    let (mut end, mut order) = (0, Order::default());
    let all = each_leaf(root, |node, parent| {
        let start = node.start_byte();
        let sound = start >= end
            && !node.is_missing()
            && gap_is_blank(text, end, start, parent == "string")
            && order.takes(node, parent, &text[end..start])
            && leaf_is_sound(node, parent, text);
        end = node.end_byte();
        sound
    });
    all && gap_is_blank(text, end, text.len(), false)
}

/// Shows every leaf and the kind of its parent, until one is refused. The parents are kept on the
/// way, because asking a node for its parent searches the tree from the top.
fn each_leaf<'t>(root: Node<'t>, mut show: impl FnMut(Node<'t>, &str) -> bool) -> bool {
    let mut cursor = root.walk();
    let mut above = vec!["program"];
    loop {
        let node = cursor.node();
        if node.child_count() > 0 && cursor.goto_first_child() {
            above.push(node.kind());
            continue;
        }
        if !show(node, above.last().copied().unwrap_or_default()) {
            return false;
        }
        while !cursor.goto_next_sibling() {
            above.pop();
            if !cursor.goto_parent() {
                return true;
            }
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

fn leaf_is_sound(node: Node<'_>, parent: &str, text: &str) -> bool {
    let leaf = &text[node.byte_range()];
    let (before, after) = (&text[..node.start_byte()], &text[node.end_byte()..]);
    let starts_word = before
        .chars()
        .next_back()
        .is_none_or(|c| " \t\n;&|()".contains(c));
    if !node.is_named() && leaf != node.kind() {
        // The scanner may take more for a token than it is; only a line's end may be several.
        return leaf.trim_matches([' ', '\t', '\n']).is_empty();
    }
    // To bash, digits before a redirection are its descriptor.
    let alone = starts_word || before.ends_with(['<', '>']);
    if alone && is_number(leaf) && after.starts_with(['<', '>']) {
        return node.kind() == "file_descriptor" || COMPUTES.contains(&parent);
    }
    match node.kind() {
        "comment" => starts_word && !before.ends_with("\\\n"),
        // The grammar takes an escaped line break for a character, bash for nothing.
        "word" => {
            !(unescaped(leaf, METACHARACTERS)
                || leaf.contains('\n')
                || leaf.starts_with('#') && starts_word)
        }
        "regex" | "extglob_pattern" => {
            // A dollar at the end of a word is no more than that.
            let dollar = leaf.strip_suffix('$').filter(|_| after.starts_with(' '));
            let odd = |c| METACHARACTERS.contains(c) || c == '\\';
            !dollar.unwrap_or(leaf).contains(odd)
        }
        "string_content" => !unescaped(leaf, "$`\""),
        // A here-document is judged where it is walked.
        "heredoc_body" | "heredoc_content" | "raw_string" | "ansi_c_string" => true,
        "$" if matches!(parent, "string" | "concatenation" | "command") => {
            // It may be two, which bash expands.
            let closes = parent == "string" && after.starts_with('"');
            let expands = |c: char| c.is_alphanumeric() || EXPANDS.contains(c);
            leaf == "$" && (closes || !after.starts_with(expands))
        }
        // The grammar lets blanks stand between a dollar and a name.
        "$" if parent == "simple_expansion" => !after.starts_with([' ', '\t', '\n', '\\']),
        // The grammar reads `{x` as a group, bash as a program named so.
        "{" if parent == "compound_statement" => {
            starts_word && after.starts_with([' ', '\t', '\n'])
        }
        "file_descriptor" => starts_word && is_number(leaf),
        // `{name}>file` assigns a descriptor to a variable.
        kind if REDIRECTS.contains(&kind) => !before.ends_with('}') && is_whole(leaf, after),
        ";" | "&" | "|" | "&&" | "||" => is_whole(leaf, after),
        kind if !node.is_named() && is_keyword(kind, parent) => {
            (starts_word || before.ends_with('`')) && ends_word(after)
        }
        _ => true,
    }
}

/// Whether a token is a whole word to bash.
fn is_keyword(kind: &str, parent: &str) -> bool {
    match kind {
        "[" | "]" | "[[" | "]]" => parent == "test_command",
        "!" => matches!(parent, "negated_command" | "unary_expression"),
        _ => parent != "expansion" && kind.chars().all(|c| c.is_ascii_lowercase()),
    }
}

fn ends_word(after: &str) -> bool {
    after
        .chars()
        .next()
        .is_none_or(|c| " \t\n;&|()<>`".contains(c))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// Whether an operator ends where bash ends it, which takes the longest one there is.
fn is_whole(operator: &str, after: &str) -> bool {
    let longer = match operator {
        "<" => "<>&(",
        ">" => ">|&(",
        "<<" => "<-",
        "&>" => ">",
        ";" => ";&",
        "&" => "&>",
        "|" => "|&",
        "<&" | ">&" => "-",
        _ => "",
    };
    !after.starts_with(|c| longer.contains(c))
}

const REDIRECTS: [&str; 11] = [
    "<", ">", ">>", "<<", "<<<", "<<-", "<&", ">&", ">|", "&>", "&>>",
];

/// Kinds in which less and greater compare.
const COMPUTES: [&str; 6] = [
    "binary_expression",
    "unary_expression",
    "ternary_expression",
    "postfix_expression",
    "parenthesized_expression",
    "arithmetic_expansion",
];

/// What makes a dollar before it more than a dollar.
const EXPANDS: &str = "_({['\"`@*#?$!-";

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
