//! How long a long session takes, beside one pass of JSON over the same bytes. It reports and
//! judges nothing: `cargo test --release -p shard-core --test compaction -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use shard_core::compaction::cut;

use super::*;

/// A session of 20 000 messages and some 29 MB: requests, reads, edits and builds that fail.
fn long_session() -> String {
    let source: String = (0..60)
        .map(|line| {
            format!("{line:>6}\tpub fn function_{line}(value: u64) -> u64 {{ value + {line} }}\n")
        })
        .collect();
    let failure = "error[E0308]: mismatched types\n  --> src/a.rs:3:5\n   |\n3  |     \"x\"\n   |     ^^^ expected `u64`, found `&str`\n\n".repeat(12);
    let mut rows = String::new();
    let mut row = |index: usize, kind: &str, details: serde_json::Value| {
        let row = serde_json::json!({ "id": format!("msg-{index}"), "parentId": null, "timestamp": 0, "type": kind, "details": details });
        rows += &format!("{row}\n");
    };
    for step in 0..10_000 {
        let text = serde_json::json!({ "type": "text", "text": "Now the next function; never forget the tests." });
        if step % 40 == 0 {
            row(
                3 * step,
                "message",
                serde_json::json!({ "role": "user", "content": [text] }),
            );
        }
        let (name, args, result, exit) = match step % 4 {
            0 => (
                "read",
                serde_json::json!({ "path": format!("src/file_{}.rs", step % 500) }),
                &source,
                None,
            ),
            1 => (
                "edit",
                serde_json::json!({ "path": format!("src/file_{}.rs", step % 300), "old_text": "a", "new_text": "fn a() {}" }),
                &failure,
                None,
            ),
            2 => (
                "bash",
                serde_json::json!({ "command": "cargo check 2>&1 | tail -50" }),
                &failure,
                Some(101),
            ),
            _ => (
                "bash",
                serde_json::json!({ "command": "git commit -am 'next'" }),
                &source,
                Some(0),
            ),
        };
        let call = serde_json::json!({ "type": "tool_call", "id": format!("c{step}"), "name": name, "args": args });
        row(
            3 * step + 1,
            "message",
            serde_json::json!({ "role": "assistant", "content": [text, call] }),
        );
        row(
            3 * step + 2,
            "tool_result",
            serde_json::json!({ "toolCallId": format!("c{step}"), "content": { "kind": "text", "text": result }, "isError": false, "exitCode": exit }),
        );
    }
    rows
}

fn time<T>(what: impl Fn() -> T) -> Duration {
    let times = (0..5).map(|_| {
        let start = Instant::now();
        std::hint::black_box(what());
        start.elapsed()
    });
    times.min().unwrap()
}

#[test]
#[ignore = "a measurement; a time limit is no test"]
fn twenty_thousand_messages() {
    let text = long_session();
    let load = || -> Vec<SessionEntry> {
        let rows = text
            .lines()
            .map(|row| SessionEntry::from_json(row).unwrap());
        rows.collect()
    };
    let entries = load();
    let json = time(|| {
        let values = text
            .lines()
            .map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
        values.count()
    });
    let loading = time(load);
    let cutting = time(|| cut(&entries, 20_000));
    let flat = time(|| Blocks::of(&entries, 0));
    let first = summary(&entries, 0, None, 0, "/p");
    let whole = time(|| summary(&entries, 0, None, 0, "/p"));
    let next = time(|| summary(&entries, 0, Some(&first), 1, "/p"));
    println!(
        "{} rows, {:.1} MB: one pass of JSON {json:?}, load {loading:?}, cut {cutting:?}, normalize {flat:?}, summary with normalize {whole:?}, the next {next:?}; load and summary are {:.2} passes",
        entries.len(),
        text.len() as f64 / 1e6,
        (loading + cutting + whole).as_secs_f64() / json.as_secs_f64()
    );
}
