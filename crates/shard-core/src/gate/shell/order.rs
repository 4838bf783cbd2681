//! The order of tokens. The grammar skips line breaks as it skips blanks, takes any end of a
//! command for the end of a `case`, and lets some lists be empty; bash does none of that.

use tree_sitter::Node;

/// Follows the tokens of a tree from left to right.
#[derive(Default)]
pub(super) struct Order {
    before: Before,
}

/// What stands before a token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Before {
    /// Nothing that could be joined or ended: the start of a line, or the end of a command.
    #[default]
    Nothing,
    /// Part of a command.
    Command,
    /// What needs a command behind it, however many lines below.
    Opener,
    /// The same, in a pipeline.
    Pipe,
}

impl Order {
    /// Takes the next token, with the kind of its parent and the text since the token before.
    /// Whether bash takes it there, too.
    pub(super) fn takes(&mut self, node: Node<'_>, parent: &str, gap: &str) -> bool {
        let kind = node.kind();
        if gap.replace("\\\n", "").contains('\n') || kind == "\n" {
            self.ends_line();
        }
        let before = self.before;
        let opened = matches!(before, Before::Opener | Before::Pipe);
        let holds = HOLDS.contains(&parent);
        let (sound, after) = match kind {
            "comment" | "\n" => return true,
            ";" if parent == "c_style_for_statement" => (true, Before::Nothing),
            ";" | "&" if holds => (before == Before::Command, Before::Nothing),
            "&&" | "||" if holds => (before == Before::Command, Before::Opener),
            "|" | "|&" if holds && parent != "case_item" => {
                (before == Before::Command, Before::Pipe)
            }
            ";;" | ";&" | ";;&" => (parent == "case_item" && !opened, Before::Nothing),
            ")" if parent == "case_item" => (true, Before::Nothing),
            "in" if parent == "case_statement" => (true, Before::Nothing),
            "esac" => (before == Before::Nothing, Before::Command),
            "if" | "while" | "until" | "(" | "$(" | "<(" | ">(" | "{" if holds => {
                (true, Before::Opener)
            }
            "then" | "do" | "elif" | "else" if holds => (!opened, Before::Opener),
            ")" | "}" | "fi" | "done" if holds => (!opened, Before::Command),
            "!" if holds => (before != Before::Pipe, Before::Opener),
            "heredoc_end" => (true, Before::Nothing),
            _ => (true, Before::Command),
        };
        self.before = after;
        sound
    }

    fn ends_line(&mut self) {
        if self.before == Before::Command {
            self.before = Before::Nothing;
        }
    }
}

/// Kinds that hold commands, so that their tokens are what they look like.
const HOLDS: [&str; 18] = [
    "program",
    "list",
    "pipeline",
    "heredoc_redirect",
    "subshell",
    "compound_statement",
    "command_substitution",
    "process_substitution",
    "negated_command",
    "if_statement",
    "elif_clause",
    "else_clause",
    "while_statement",
    "for_statement",
    "c_style_for_statement",
    "do_group",
    "case_statement",
    "case_item",
];
