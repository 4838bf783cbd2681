//! A session of real work: requests, files that are read and edited, builds that fail, commits.
//! Outputs of tools are most of it.

use serde_json::{Value, json};
use shard_session::SessionFile;
use shard_types::{
    CompactionDetails, ContentBlock, EntryBody, EntryId, MessageDetails, Role, ToolResultContent,
    ToolResultDetails, Usage,
};

use anyhow::Result;

/// After so many calls a person asks for something else.
const CALLS: usize = 40;

/// How many different files there are.
const FILES: usize = 500;

/// Adds about so many messages and results, each step a call and its result.
pub(crate) fn write(file: &mut SessionFile, entries: usize) -> Result<Vec<EntryId>> {
    let mut ids = Vec::with_capacity(entries);
    for step in 0.. {
        if ids.len() >= entries {
            break;
        }
        if step % CALLS == 0 {
            let text = format!("Now mend file {step}; never forget the tests.");
            ids.push(
                file.append(message(Role::User, vec![ContentBlock::Text { text }]))?
                    .id,
            );
        }
        let (name, args, result, exit_code) = call(step);
        let id = format!("call-{step}");
        let asked = vec![
            ContentBlock::Text {
                text: "The next function, as the build says.".to_owned(),
            },
            ContentBlock::ToolCall {
                id: id.clone(),
                name: name.to_owned(),
                args: args.as_object().cloned().unwrap_or_default(),
            },
        ];
        ids.push(file.append(message(Role::Assistant, asked))?.id);
        let result = ToolResultDetails {
            tool_call_id: id,
            content: ToolResultContent::text(result),
            is_error: false,
            exit_code,
            duration_ms: Some(12),
            render: None,
            images: Vec::new(),
        };
        ids.push(file.append(EntryBody::ToolResult(result))?.id);
    }
    Ok(ids)
}

/// Adds a summary that keeps the last few entries.
pub(crate) fn compact(file: &mut SessionFile, ids: &[EntryId], keep: usize) -> Result<()> {
    let (gone, kept) = ids.split_at(ids.len() - keep);
    file.append(EntryBody::Compaction(CompactionDetails {
        summary: "what was done".to_owned(),
        message_range: (gone[0].clone(), gone[gone.len() - 1].clone()),
        first_kept_entry_id: kept[0].clone(),
        tokens_before: 2,
        tokens_after: 1,
        compactor: "bench".to_owned(),
        index: 0,
    }))?;
    Ok(())
}

fn message(role: Role, content: Vec<ContentBlock>) -> EntryBody {
    let usage = (role == Role::Assistant).then(|| Usage {
        input: 5000,
        output: 100,
        context_tokens: Some(5100),
        ..Usage::default()
    });
    EntryBody::Message(MessageDetails {
        role,
        content,
        partial: false,
        usage,
    })
}

/// The name of a tool, its arguments, its output and an exit code.
fn call(step: usize) -> (&'static str, Value, String, Option<i32>) {
    let file = step % FILES;
    let path = format!("src/part_{}/file_{file}.rs", file % 20);
    match step % 4 {
        0 => ("read", json!({ "path": path }), source(file), None),
        1 => {
            let args = json!({ "path": path, "old_text": "a", "new_text": "fn a() {}" });
            ("edit", args, failure(&path), None)
        }
        2 => {
            let args = json!({ "command": "cargo check 2>&1 | tail -50" });
            ("bash", args, failure(&path), Some(101))
        }
        _ => {
            let args = json!({ "command": format!("git show HEAD:{path}") });
            ("bash", args, source(file), Some(0))
        }
    }
}

fn source(file: usize) -> String {
    let line = |line: usize| {
        let name = format!("function_{file}_{line}");
        format!("{line:>6}\tpub fn {name}(value: u64) -> u64 {{ value + {line} }}\n")
    };
    (0..60).map(line).collect()
}

fn failure(path: &str) -> String {
    let error = |line: usize| {
        format!(
            "error[E0308]: mismatched types\n  --> {path}:{line}:5\n   |\n{line}  |     \"x\"\n   |     ^^^ expected `u64`, found `&str`\n\n"
        )
    };
    (1..=12).map(error).collect()
}
