//! Sessions to look at.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use shard_session::{Header, Loaded, SessionFile};
use shard_types::event::QueuedKind;
use shard_types::{
    Checkpoint, CompactionDetails, ContentBlock, EntryBody, EntryId, MessageDetails, Role,
    SessionEntry, SessionId, ToolResultContent, ToolResultDetails, Usage,
};

pub(crate) fn header() -> Header {
    Header {
        session_id: SessionId::generate(),
        cwd: "/w".to_owned(),
        created_at: 1,
    }
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text {
        text: text.to_owned(),
    }
}

pub(crate) fn says(role: Role, content: Vec<ContentBlock>) -> EntryBody {
    let usage = (role == Role::Assistant).then(|| Usage {
        input: 3,
        output: 1,
        ..Usage::default()
    });
    EntryBody::Message(MessageDetails {
        role,
        content,
        partial: false,
        usage,
    })
}

/// A session that is being written.
pub(crate) struct Sample {
    dir: tempfile::TempDir,
    pub(crate) path: PathBuf,
    pub(crate) file: SessionFile,
    calls: usize,
    compactions: u64,
}

impl Sample {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let header = header();
        let path = dir.path().join(format!("{}.jsonl", header.session_id));
        let file = SessionFile::create(&path, &header).unwrap();
        Self {
            dir,
            path,
            file,
            calls: 0,
            compactions: 0,
        }
    }

    /// As another process takes it up.
    pub(crate) fn opened_anew(self) -> (Self, Loaded) {
        let Self {
            dir,
            path,
            file,
            calls,
            compactions,
        } = self;
        drop(file);
        let (file, loaded) = SessionFile::open(&path).unwrap();
        let sample = Self {
            dir,
            path,
            file,
            calls,
            compactions,
        };
        (sample, loaded)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn add(&mut self, body: EntryBody) -> EntryId {
        self.file.append(body).unwrap().id
    }

    pub(crate) fn user(&mut self, said: &str) -> EntryId {
        self.add(says(Role::User, vec![text(said)]))
    }

    pub(crate) fn answer(&mut self, said: &str) -> EntryId {
        self.add(says(Role::Assistant, vec![text(said)]))
    }

    /// The model asks for `tool` once for each result, and gets them: the message, then the results.
    pub(crate) fn cycle(&mut self, tool: &str, args: &Value, results: &[&str]) -> Vec<EntryId> {
        let first = self.calls;
        self.calls += results.len();
        let id = |number: usize| format!("call-{}", first + number);
        let call = |number: usize| ContentBlock::ToolCall {
            id: id(number),
            name: tool.to_owned(),
            args: args.as_object().unwrap().clone(),
        };
        let calls = (0..results.len()).map(call).collect();
        let mut ids = vec![self.add(says(Role::Assistant, calls))];
        for (number, result) in results.iter().enumerate() {
            self.add(EntryBody::Checkpoint(Checkpoint::ToolStarted {
                tool_call_id: id(number),
            }));
            ids.push(self.add(EntryBody::ToolResult(ToolResultDetails {
                tool_call_id: id(number),
                content: ToolResultContent::text(*result),
                is_error: false,
                exit_code: None,
                duration_ms: None,
                render: None,
                images: Vec::new(),
            })));
        }
        ids
    }

    pub(crate) fn mode(&mut self, mode: &str) -> EntryId {
        self.add(EntryBody::Checkpoint(Checkpoint::ModeChanged {
            mode: mode.to_owned(),
        }))
    }

    pub(crate) fn plan(&mut self, plan: &str) -> EntryId {
        let details = Map::from_iter([("text".to_owned(), json!(plan))]);
        self.add(EntryBody::Checkpoint(
            Checkpoint::other("plan", details).unwrap(),
        ))
    }

    /// A prompt is accepted; the id that its message will have.
    pub(crate) fn accept(&mut self, message: &str) -> EntryId {
        let message_id = EntryId::generate();
        self.add(EntryBody::Checkpoint(Checkpoint::PromptAccepted {
            message_id: message_id.clone(),
            kind: QueuedKind::Prompt,
            message: message.to_owned(),
            images: Vec::new(),
            request_key: None,
        }));
        message_id
    }

    pub(crate) fn deliver(&mut self, id: EntryId, said: &str) {
        let body = says(Role::User, vec![text(said)]);
        self.file.append_as(id, body).unwrap();
    }

    /// A summary takes the place of `range`.
    pub(crate) fn compact(
        &mut self,
        summary: &str,
        range: (&EntryId, &EntryId),
        first_kept: &EntryId,
    ) -> EntryId {
        let index = self.compactions;
        self.compactions += 1;
        self.add(EntryBody::Compaction(CompactionDetails {
            summary: summary.to_owned(),
            message_range: (range.0.clone(), range.1.clone()),
            first_kept_entry_id: first_kept.clone(),
            tokens_before: 9,
            tokens_after: 2,
            compactor: "test".to_owned(),
            index,
        }))
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        lines(&self.path)
    }
}

pub(crate) fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// What an entry shows, for short: its texts, or its kind.
pub(crate) fn shown(entry: &SessionEntry) -> String {
    match &entry.body {
        EntryBody::Compaction(details) => format!("= {}", details.summary),
        EntryBody::Checkpoint(Checkpoint::ModeChanged { mode }) => format!("mode {mode}"),
        EntryBody::Checkpoint(Checkpoint::Other(details)) => format!("plan {}", details["text"]),
        EntryBody::Checkpoint(Checkpoint::Fork { .. }) => "fork".to_owned(),
        EntryBody::Checkpoint(Checkpoint::Session { .. }) => "session".to_owned(),
        EntryBody::Checkpoint(_) | EntryBody::Unknown => "other".to_owned(),
        EntryBody::Message(_) | EntryBody::ToolResult(_) => shard_session::recall::text(entry),
    }
}

/// One thing that happens in a session.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    User(String),
    Answer(String),
    Cycle(Vec<String>),
    Mode(String),
    Plan(String),
    Prompt(bool),
    /// Keeps so many of what was said last.
    Compact(usize),
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let said = || "[a-e]{1,3}( [a-eA-E_./]{1,8}){0,4}";
    prop_oneof![
        3 => said().prop_map(Step::User),
        4 => said().prop_map(Step::Answer),
        4 => prop::collection::vec(said(), 1..4).prop_map(Step::Cycle),
        1 => "[a-c]".prop_map(Step::Mode),
        1 => "[a-c]".prop_map(Step::Plan),
        1 => any::<bool>().prop_map(Step::Prompt),
        1 => (1_usize..6).prop_map(Step::Compact),
    ]
}

/// Carries the steps out.
pub(crate) fn play(steps: &[Step]) -> Sample {
    let mut sample = Sample::new();
    go_on(&mut sample, steps);
    sample
}

pub(crate) fn go_on(sample: &mut Sample, steps: &[Step]) {
    for step in steps {
        match step {
            Step::User(said) => _ = sample.user(said),
            Step::Answer(said) => _ = sample.answer(said),
            Step::Cycle(results) => {
                let results: Vec<&str> = results.iter().map(String::as_str).collect();
                sample.cycle("bash", &json!({ "command": "ls b" }), &results);
            }
            Step::Mode(mode) => _ = sample.mode(mode),
            Step::Plan(plan) => _ = sample.plan(plan),
            Step::Prompt(delivered) => {
                let id = sample.accept("p");
                if *delivered {
                    sample.deliver(id, "p");
                }
            }
            Step::Compact(keep) => {
                let index = sample.file.index();
                if let Some(start) = index.len().checked_sub(*keep).filter(|start| *start > 0) {
                    let id = |at: usize| sample.file.index().id(at).unwrap();
                    let (first, last, kept) = (id(0), id(start - 1), id(start));
                    sample.compact("sum", (&first, &last), &kept);
                }
            }
        }
    }
}
