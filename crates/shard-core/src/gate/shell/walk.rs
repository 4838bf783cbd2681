//! Walks the syntax tree and collects what it runs.
//!
//! Every kind of node is named here; one that is not makes the line unparsable.

use tree_sitter::Node;

use super::expand::{self, Effect};
use super::word::{self, Word, children};
use super::{Analysis, MAX_DEPTH, RESERVED, Role, conditional, heredoc, wrap};

/// One script on its way into the analysis.
pub(super) struct Walk<'a> {
    pub(super) text: &'a str,
    /// How many scripts this one is nested in.
    pub(super) level: usize,
    pub(super) found: &'a mut Analysis,
}

impl Walk<'_> {
    /// Adds what a node runs.
    pub(super) fn node(&mut self, node: Node<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            self.found.unparsable = true;
            return;
        }
        if !MAY_BREAK.contains(&node.kind()) && self.breaks(node) {
            self.found.unparsable = true;
        }
        self.found.structured |= !is_simple(node);
        match node.kind() {
            "command" | "declaration_command" | "unset_command" => {
                return self.command(node, depth);
            }
            "test_command" => self.test(node),
            "function_definition" => {
                self.found.assigns = true;
                let reserved = |child: Node<'_>| RESERVED.contains(&self.raw(child));
                let mut names = children(node).filter(|child| child.kind() == "word");
                self.found.unparsable |= names.any(reserved);
            }
            "for_statement" | "variable_assignments" => self.found.assigns = true,
            "variable_assignment" => {
                self.found.assigns = true;
                self.found.unparsable |= !self.names_variable(node);
            }
            "file_redirect" => self.redirect(node),
            "heredoc_redirect" => self.document(node),
            "herestring_redirect" => self.here_string(node),
            "expansion" => self.effect(expand::parameter(node, self.text)),
            "arithmetic_expansion" | "c_style_for_statement" => {
                self.effect(expand::arithmetic(node, self.text));
            }
            "compound_statement" if self.raw(node).starts_with("((") => {
                self.effect(expand::arithmetic(node, self.text));
            }
            "pipeline" => self.found.unknown_input = true,
            "redirected_statement" if self.touches_redirect(node) => self.found.unparsable = true,
            // Values of assignments and the like are read nowhere else.
            "concatenation" | "string" | "ansi_c_string"
                if word::read(node, self.text).is_none() =>
            {
                self.found.unparsable = true;
            }
            "subscript" if self.computes_subscript(node) => self.found.unparsable = true,
            "array" if children(node).any(|child| self.raw(child).starts_with('[')) => {
                self.found.unparsable = true;
            }
            "command_substitution" => self.effect(expand::backquoted(node, self.text)),
            kind if PLAIN.contains(&kind) => {}
            _ => self.found.unparsable = true,
        }
        self.below(node, depth);
    }

    fn below(&mut self, node: Node<'_>, depth: usize) {
        for child in children(node).filter(Node::is_named) {
            self.node(child, depth + 1);
        }
    }

    /// Whether the parts of a node stand on several lines. The grammar lets a line break pass as a
    /// blank; to bash it ends the command.
    fn breaks(&self, node: Node<'_>) -> bool {
        let mut end = node.start_byte();
        children(node).any(|child| {
            let gap = &self.text[end.min(child.start_byte())..child.start_byte()];
            end = child.end_byte();
            gap.replace("\\\n", "").contains('\n')
        })
    }

    /// Whether something follows a redirection without a blank that is none itself.
    fn touches_redirect(&self, node: Node<'_>) -> bool {
        let redirects = |node: &Node<'_>| node.kind().ends_with("_redirect");
        children(node)
            .zip(children(node).skip(1))
            .any(|(one, next)| {
                redirects(&one) && !redirects(&next) && one.end_byte() == next.start_byte()
            })
    }

    fn raw(&self, node: Node<'_>) -> &str {
        &self.text[node.byte_range()]
    }

    fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::Plain => {}
            Effect::Assigns => self.found.assigns = true,
            Effect::Unclear => self.found.unparsable = true,
        }
    }

    /// A simple command: its own words first, then whatever its words and redirections run.
    fn command(&mut self, node: Node<'_>, depth: usize) {
        let mut words = Vec::new();
        let mut last_end = None;
        let mut redirected_first = false;
        for child in children(node) {
            let redirects = matches!(child.kind(), "file_redirect" | "herestring_redirect");
            redirected_first |= redirects && words.is_empty();
            // Of redirections on both sides of a command, the grammar may take those before it and
            // the command's words for one redirection, depending on what else is in the line.
            let again = redirects && !words.is_empty();
            self.found.unparsable |= redirected_first && again;
            // A word that touches what stands before it belongs to it, to bash.
            if last_end == Some(child.start_byte()) && !redirects {
                self.found.unparsable = true;
            }
            last_end = Some(child.end_byte());
            if redirects || child.kind() == "variable_assignment" {
                continue;
            }
            match self.argument(child) {
                Some(word) => words.push(word),
                None => self.found.unparsable = true,
            }
        }
        self.found.unparsable |= redirected_first && self.redirects_next(node);
        wrap::add(words, self.level, self.found);
        self.below(node, depth);
    }

    /// Whether a redirection follows.
    fn redirects_next(&self, node: Node<'_>) -> bool {
        let mut rest = &self.text[node.end_byte()..];
        while let Some(next) = rest.strip_prefix([' ', '\t']).or(rest.strip_prefix("\\\n")) {
            rest = next;
        }
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.starts_with(['<', '>']) || rest.starts_with("&>")
    }

    fn argument(&self, node: Node<'_>) -> Option<Word> {
        match node.kind() {
            "==" | "$" | "declare" | "typeset" | "export" | "readonly" | "local" | "unset"
            | "unsetenv" => Some(Word::literal(self.raw(node))),
            "variable_name" => Some(Word::literal(self.raw(node))),
            _ => word::read(node, self.text),
        }
    }

    /// `[ … ]` and `[[ … ]]` are commands like others.
    fn test(&mut self, node: Node<'_>) {
        let open = node.child(0).map_or("[", |open| self.raw(open)).to_owned();
        self.found.unparsable |= !conditional::is_plain(node, self.text);
        self.found
            .push(vec![Word::literal(open), Word::hole()], Role::Runs);
    }

    /// Whether what an assignment starts with is a name to bash, or else it runs a program that is
    /// called so.
    fn names_variable(&self, assignment: Node<'_>) -> bool {
        let name = self.raw(assignment).split(['=', '+', '[']).next();
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        name.is_some_and(|name| {
            !name.starts_with(|c: char| c.is_ascii_digit())
                && !name.is_empty()
                && name.chars().all(part)
        })
    }

    /// Whether a subscript is anything but a number or everything: bash computes it, and runs
    /// what is in the values of its variables.
    fn computes_subscript(&self, node: Node<'_>) -> bool {
        let raw = self.raw(node);
        let index = raw
            .split_once('[')
            .and_then(|(_, rest)| rest.strip_suffix(']'));
        index.is_none_or(|index| {
            !matches!(index, "@" | "*")
                && (index.is_empty() || !index.chars().all(|c| c.is_ascii_digit()))
        })
    }

    fn redirect(&mut self, node: Node<'_>) {
        let Some(operator) = children(node).find(|child| !child.is_named()) else {
            self.found.unparsable = true;
            return;
        };
        let targets: Vec<Node<'_>> = children(node)
            .filter(|child| child.is_named() && child.kind() != "file_descriptor")
            .collect();
        let kind = operator.kind();
        let touching = children(node)
            .filter(|child| child.kind() == "file_descriptor")
            .all(|descriptor| descriptor.end_byte() == operator.start_byte());
        match (kind, targets.as_slice()) {
            _ if !touching => self.found.unparsable = true,
            ("<&-" | ">&-", []) => {}
            // More than one target: the rest are words of the command around it.
            (_, [target]) if !matches!(kind, "<&-" | ">&-") => self.target(kind, *target),
            _ => self.found.unparsable = true,
        }
        if self.raw(node).contains('\n') {
            self.found.unparsable = true;
        }
    }

    fn target(&mut self, operator: &str, target: Node<'_>) {
        let Some(word) = word::read(target, self.text) else {
            self.found.unparsable = true;
            return;
        };
        let text = word.text();
        let text = text.as_deref();
        let descriptor = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        let network =
            word.prefix().starts_with("/dev/tcp/") || word.prefix().starts_with("/dev/udp/");
        match operator {
            "<&" | ">&" if text.is_some_and(|text| descriptor(text) || text == "-") => {}
            // Bash takes the dash by itself, and what is behind it for a word of the command.
            "<&" | ">&" if word.prefix().starts_with('-') => self.found.unparsable = true,
            _ if text == Some("/dev/null") => {}
            "<" if !network => {
                self.found.unknown_input = true;
                self.found.reads.push(word);
            }
            _ => self.found.writes.push(word),
        }
    }

    fn document(&mut self, node: Node<'_>) {
        let has_words = node.child_by_field_name("argument").is_some();
        let kinds = children(node).filter(|child| child.kind() == "heredoc_redirect");
        let siblings = node.parent().map_or(0, |above| {
            children(above)
                .filter(|child| child.kind() == "heredoc_redirect")
                .count()
        });
        if has_words || kinds.count() > 0 || siblings > 1 || !heredoc::is_sound(node, self.text) {
            self.found.unparsable = true;
            return;
        }
        let body = children(node).find(|child| child.kind() == "heredoc_body");
        let text = body.filter(|body| {
            let expands = |child: Node<'_>| child.kind() != "heredoc_content";
            heredoc::is_quoted(node, self.text) || !children(*body).any(expands)
        });
        let text = text.map(|body| self.raw(body).to_owned());
        self.input(text);
    }

    fn here_string(&mut self, node: Node<'_>) {
        let word = children(node)
            .filter(Node::is_named)
            .find_map(|child| word::read(child, self.text));
        self.input(word.as_ref().and_then(Word::text));
    }

    /// What a shell of this script may get to read; `None` when it is computed.
    fn input(&mut self, text: Option<String>) {
        match text {
            Some(text) => self.found.inputs.push(text),
            None => self.found.unknown_input = true,
        }
    }
}

/// Whether a node is part of plain commands in lists and pipelines, none in the background.
fn is_simple(node: Node<'_>) -> bool {
    let joins = |child: Node<'_>| child.is_named() || JOINTS.contains(&child.kind());
    match node.kind() {
        "file_redirect" => true,
        kind => SIMPLE.contains(&kind) && children(node).all(joins),
    }
}

/// Kinds of which plain commands are made.
const SIMPLE: [&str; 13] = [
    "program",
    "list",
    "pipeline",
    "redirected_statement",
    "command",
    "command_name",
    "word",
    "number",
    "raw_string",
    "string",
    "string_content",
    "concatenation",
    "file_descriptor",
];

/// What stands between plain commands, and around their words.
const JOINTS: [&str; 7] = ["&&", "||", "|", "|&", ";", "\n", "\""];

/// Kinds that run nothing themselves, whatever their parts do.
const PLAIN: [&str; 48] = [
    "redirected_statement",
    "program",
    "list",
    "pipeline",
    "subshell",
    "compound_statement",
    "if_statement",
    "elif_clause",
    "else_clause",
    "while_statement",
    "do_group",
    "case_statement",
    "case_item",
    "negated_command",
    "process_substitution",
    "heredoc_start",
    "heredoc_body",
    "heredoc_content",
    "heredoc_end",
    "command_name",
    "word",
    "number",
    "raw_string",
    "ansi_c_string",
    "string",
    "string_content",
    "translated_string",
    "concatenation",
    "simple_expansion",
    "brace_expression",
    "array",
    "subscript",
    "variable_name",
    "special_variable_name",
    "file_descriptor",
    "comment",
    "binary_expression",
    "unary_expression",
    "ternary_expression",
    "postfix_expression",
    "parenthesized_expression",
    "test_operator",
    "regex",
    "extglob_pattern",
    "last_case_item",
    "_expression",
    "_statement",
    "_primary_expression",
];

/// Kinds whose parts may stand on several lines.
const MAY_BREAK: [&str; 20] = [
    "program",
    "list",
    "pipeline",
    "subshell",
    "compound_statement",
    "if_statement",
    "elif_clause",
    "else_clause",
    "while_statement",
    "for_statement",
    "do_group",
    "case_statement",
    "case_item",
    "function_definition",
    "command_substitution",
    "process_substitution",
    "heredoc_redirect",
    "heredoc_body",
    "string",
    "array",
];
