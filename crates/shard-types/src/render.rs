//! What a tool's work looks like, said so that every client can draw it in its own way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A drawing instruction without any client's technique. New kinds may be added; a client that
/// does not know one shows the plain content instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RenderDescriptor {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// A short table.
    Kv {
        /// Its rows.
        pairs: Vec<Pair>,
    },
    /// A change to one file.
    Diff {
        /// The file, as the tool was given it.
        path: String,
        /// The changed places, top to bottom.
        hunks: Vec<Hunk>,
    },
    /// A nested list.
    Tree {
        /// Its root.
        root: TreeNode,
    },
    /// Something on its way.
    Progress {
        /// What is going on.
        label: String,
        /// How far it has come.
        current: u64,
        /// How far it goes, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<u64>,
    },
    /// One line with a tone.
    Status {
        /// The line.
        label: String,
        /// How it is meant.
        tone: Tone,
    },
    /// A shell command.
    #[serde(rename_all = "camelCase")]
    Command {
        /// The command line.
        command: String,
        /// Its exit code, once it ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// Wall-clock time in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// A flat list of paths.
    PathList {
        /// The paths, in the tool's order.
        paths: Vec<ListedPath>,
    },
    /// The body of a file.
    Code {
        /// Where it is from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Language, by its usual short name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lang: Option<String>,
        /// The body.
        text: String,
    },
}

/// One row of [`RenderDescriptor::Kv`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// The name.
    pub k: String,
    /// The value.
    pub v: String,
}

/// How a status line is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Neutral.
    Info,
    /// Worth a look.
    Warn,
    /// It failed.
    Error,
}

/// One changed place of a file, as in a unified diff. Line numbers start at 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hunk {
    /// First line in the old file; 0 when the old side is empty.
    pub old_start: u32,
    /// Lines of the old file.
    pub old_lines: u32,
    /// First line in the new file; 0 when the new side is empty.
    pub new_start: u32,
    /// Lines of the new file.
    pub new_lines: u32,
    /// The lines, in order.
    pub lines: Vec<HunkLine>,
}

/// One line of a [`Hunk`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HunkLine {
    /// On which side it stands.
    pub kind: LineKind,
    /// The line without its line ending.
    pub text: String,
}

/// On which side of a diff a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// On both.
    Context,
    /// Only in the new file.
    Add,
    /// Only in the old file.
    Del,
}

/// One node of [`RenderDescriptor::Tree`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeNode {
    /// What it is called.
    pub label: String,
    /// What sort of thing it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// A remark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What is below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<TreeNode>,
}

/// One entry of [`RenderDescriptor::PathList`] and of path completion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedPath {
    /// The path.
    pub path: String,
    /// File or folder.
    pub kind: PathKind,
    /// A remark, such as the line that matched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// File or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    /// Anything that is no folder.
    File,
    /// A folder.
    Dir,
}
