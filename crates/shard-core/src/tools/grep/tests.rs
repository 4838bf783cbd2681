use std::os::unix::fs::symlink;

use serde_json::json;
use shard_types::RenderDescriptor;

use super::super::bench::{Bench, forbids, said};
use super::*;

fn paths(output: &ToolOutput) -> Vec<(String, String)> {
    let Some(RenderDescriptor::PathList { paths }) = &output.render else {
        panic!("no list of paths")
    };
    let row = |row: &ListedPath| (row.path.clone(), row.hint.clone().unwrap_or_default());
    paths.iter().map(row).collect()
}

#[tokio::test]
async fn lines_are_found_as_git_sees_the_files() {
    let bench = Bench::new();
    bench.file(".gitignore", "target\n");
    bench.file("src/b.rs", "one\ntwo needle\r\nneedle three\n");
    bench.file("src/a.rs", "needle\x1b[2J\n");
    bench.file("target/c.rs", "needle\n");
    bench.file(".git/d", "needle\n");
    bench.file(".ci/e", "a needle");
    std::fs::write(bench.root.join("outside"), "needle").unwrap();
    symlink("../outside", bench.cwd.join("link")).unwrap();
    let output = bench.call("grep", json!({ "pattern": "needle" })).await;
    let want = ".ci/e:1: a needle\nsrc/a.rs:1: needle␛[2J\nsrc/b.rs:2: two needle\n\
                src/b.rs:3: needle three\n";
    assert_eq!(said(&output), want);
    let row = |path: &str, hint: &str| (path.to_owned(), hint.to_owned());
    assert_eq!(paths(&output)[2], row("src/b.rs", "2: two needle"));
    let input = json!({ "pattern": "needle$", "path": "src", "glob": "*.rs" });
    assert_eq!(bench.good("grep", input).await, "src/b.rs:2: two needle\n");
    let input = json!({ "pattern": "one", "path": "src/b.rs" });
    assert_eq!(bench.good("grep", input).await, "src/b.rs:1: one\n");
    let input = json!({ "pattern": "needle", "glob": "*.c" });
    assert_eq!(bench.good("grep", input).await, "[no matches for needle]\n");
}

#[tokio::test]
async fn a_pattern_can_be_meant_in_several_ways() {
    let bench = Bench::new();
    bench.file("f", "call(x)\nCALL(x)\n");
    let text = bench
        .good("grep", json!({ "pattern": "call(x)", "literal": true }))
        .await;
    assert_eq!(text, "f:1: call(x)\n");
    let text = bench
        .good("grep", json!({ "pattern": "call", "ignore_case": true }))
        .await;
    assert_eq!(text, "f:1: call(x)\nf:2: CALL(x)\n");
    let message = bench.bad("grep", json!({ "pattern": "call(" })).await;
    let want = "the pattern is not valid: regex parse error:\n    call(\n        ^\n\
                error: unclosed group\nTo search for the text as it stands, set literal to true.";
    assert_eq!(message, want);
}

#[tokio::test]
async fn lines_around_a_match_are_shown_once() {
    let bench = Bench::new();
    bench.file("a", "1\n2\nx\n4\nx\n6\n7\n8\n9\nx\n");
    bench.file("b", "x\n");
    let text = bench
        .good("grep", json!({ "pattern": "x", "context": 1 }))
        .await;
    let want = "a-2- 2\na:3: x\na-4- 4\na:5: x\na-6- 6\n--\na-9- 9\na:10: x\n--\nb:1: x\n";
    assert_eq!(text, want);
    let note = "[truncated: the first 2 matches; narrow pattern, path or glob, or raise limit]\n";
    let input = json!({ "pattern": "x", "context": 1, "limit": 2 });
    let text = bench.good("grep", input).await;
    assert_eq!(
        text,
        format!("a-2- 2\na:3: x\na-4- 4\na:5: x\na-6- 6\n{note}")
    );
    let input = json!({ "pattern": "x", "context": 1, "limit": 3 });
    let text = bench.good("grep", input).await;
    assert!(
        text.contains("a-9- 9\na:10: x\n[truncated: the first 3 matches;"),
        "{text}"
    );
}

#[tokio::test]
async fn each_match_in_a_minified_file_shows_a_short_window() {
    let mut bench = Bench::new();
    let line: String = (0..5000).map(|n| format!("{:a<124}n{n:05}", "")).collect();
    assert_eq!(line.len(), 650_000);
    bench.file("app.min.js", &line);
    let text = bench.good("grep", json!({ "pattern": r"n\d{5}" })).await;
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows.len(), 201);
    let a = "a".repeat(60);
    assert_eq!(rows[1], format!("app.min.js:1:255: …{a}n00001{a}…"));
    assert!(rows.iter().all(|row| row.len() < 180));
    let want = "[truncated: the first 200 matches; narrow pattern, path or glob, or raise limit]";
    assert_eq!(rows[200], want);
    bench.max_output_bytes = 4000;
    let input = json!({ "pattern": r"n\d{5}", "limit": 5000 });
    let text = bench.good("grep", input).await;
    assert!(text.contains("[truncated: the first 2"), "{text}");
}

#[tokio::test]
async fn matches_beside_each_other_share_a_window() {
    let bench = Bench::new();
    bench.file("f", format!("{}xx{}", "-".repeat(400), "-".repeat(400)));
    let text = bench.good("grep", json!({ "pattern": "x" })).await;
    let around = "-".repeat(60);
    assert_eq!(text, format!("f:1:401: …{around}xx{}…\n", &around[1..]));
}

#[tokio::test]
async fn a_limit_counts_over_all_files() {
    let bench = Bench::new();
    for n in 0..200 {
        bench.file(&format!("f{n:03}"), "x\nx\n");
    }
    let text = bench
        .good("grep", json!({ "pattern": "x", "limit": 3 }))
        .await;
    let note = "[truncated: the first 3 matches; narrow pattern, path or glob, or raise limit]\n";
    assert_eq!(text, format!("f000:1: x\nf000:2: x\nf001:1: x\n{note}"));
    let output = bench
        .call("grep", json!({ "pattern": "x", "limit": 400 }))
        .await;
    let all: Vec<String> = (0..200)
        .flat_map(|n| [format!("f{n:03}"), format!("f{n:03}")])
        .collect();
    assert_eq!(
        paths(&output)
            .into_iter()
            .map(|row| row.0)
            .collect::<Vec<_>>(),
        all
    );
    assert!(!said(&output).contains("truncated"));
}

#[tokio::test]
async fn what_is_left_out_is_said() {
    let bench = Bench::new();
    bench.file("data.bin", format!("needle\n{}\0", "text\n".repeat(50_000)));
    bench.file("image.bin", b"needle\0\x01\x02");
    bench.file("text", "needle\n");
    let closed = bench.file("unreadable", "needle\n");
    let mut want = "text:1: needle\n[1 binary file not shown: data.bin]\n".to_owned();
    bench.file("closed/f", "needle\n");
    let folder = bench.cwd.join("closed");
    if forbids(&closed, 0) && forbids(&folder, 0) {
        want += "[2 places could not be read]\n";
    } else {
        std::fs::remove_file(closed).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
    }
    assert_eq!(
        bench.good("grep", json!({ "pattern": "needle" })).await,
        want
    );
    if folder.exists() {
        forbids(&folder, 0o755);
    }
    let input = json!({ "pattern": "nothing", "path": "image.bin" });
    let want = "[no matches for nothing]\n[1 binary file not shown: image.bin]\n";
    assert_eq!(bench.good("grep", input).await, want);
}

#[tokio::test]
async fn what_cannot_be_searched_says_why() {
    let bench = Bench::new();
    bench.file("src/x", "x");
    let message = bench
        .bad("grep", json!({ "pattern": "x", "path": "scr" }))
        .await;
    assert_eq!(message, "scr does not exist; nearest: src");
    let message = bench
        .bad("grep", json!({ "pattern": "x", "glob": "../*" }))
        .await;
    assert!(message.starts_with("the glob ../* leads out"), "{message}");
    let message = bench
        .bad("grep", json!({ "pattern": "x", "path": "/dev/zero" }))
        .await;
    assert_eq!(
        message,
        "/dev/zero is a device, and only regular files and folders can be used"
    );
}

#[tokio::test]
async fn an_aborted_turn_ends_the_search() {
    let bench = Bench::new();
    bench.file("f", "x");
    let input = json!({ "pattern": "x" });
    let context = bench.context("grep", &input);
    bench.cancel.cancel();
    let input = input.as_object().unwrap().clone();
    assert_eq!(grep(input, &context).unwrap_err(), job::ABORTED);
}
