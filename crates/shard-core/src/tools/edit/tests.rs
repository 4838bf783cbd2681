use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use serde_json::json;
use shard_types::{Hunk, HunkLine, LineKind};

use super::super::bench::{Bench, forbids, said};
use super::*;

fn change(old: &str, new: &str) -> Value {
    json!({ "path": "f", "old_text": old, "new_text": new })
}

#[tokio::test]
async fn one_place_is_changed_and_shown() {
    let bench = Bench::new();
    let path = bench.file("f", "one\ntwo\nthree\n");
    let output = bench.call("edit", change("two\n", "2\n2b\n")).await;
    assert_eq!(said(&output), "edited f: lines 2-3");
    assert_eq!(bench.bytes("f"), b"one\n2\n2b\nthree\n");
    assert_eq!(output.mutated, [path]);
    let line = |kind, text: &str| HunkLine {
        kind,
        text: text.to_owned(),
    };
    let hunk = Hunk {
        old_start: 1,
        old_lines: 3,
        new_start: 1,
        new_lines: 4,
        lines: vec![
            line(LineKind::Context, "one"),
            line(LineKind::Del, "two"),
            line(LineKind::Add, "2"),
            line(LineKind::Add, "2b"),
            line(LineKind::Context, "three"),
        ],
    };
    let want = RenderDescriptor::Diff {
        path: "f".to_owned(),
        hunks: vec![hunk],
    };
    assert_eq!(output.render, Some(want));
}

#[tokio::test]
async fn a_crlf_file_stays_crlf_when_lines_are_added_with_lf() {
    let bench = Bench::new();
    bench.file("f", "a\r\nb\r\nc\r\nd\r\n");
    let text = bench
        .good("edit", change("a\nb\nc\n", "a\nB\nmore\nc\n"))
        .await;
    assert_eq!(bench.bytes("f"), b"a\r\nB\r\nmore\r\nc\r\nd\r\n");
    let note = "[old_text matched apart from its line endings; the file keeps its own]";
    assert_eq!(text, format!("edited f: lines 1-4\n{note}"));
    bench.good("edit", change("d", "d\ne")).await;
    assert_eq!(bench.bytes("f"), b"a\r\nB\r\nmore\r\nc\r\nd\r\ne\r\n");
}

#[tokio::test]
async fn each_untouched_line_of_a_mixed_file_keeps_its_ending() {
    let bench = Bench::new();
    bench.file("f", "a\r\nb\nc\r\nd\ne\r\n");
    bench.good("edit", change("b\nc\nd\n", "b\nC\nd\n")).await;
    assert_eq!(bench.bytes("f"), b"a\r\nb\nC\r\nd\ne\r\n");
}

#[tokio::test]
async fn the_byte_order_mark_and_other_encodings_stay() {
    let bench = Bench::new();
    bench.file("f", b"\xef\xbb\xbffirst\nsecond\n");
    bench.good("edit", change("first", "1st")).await;
    assert_eq!(bench.bytes("f"), b"\xef\xbb\xbf1st\nsecond\n");
    bench.good("edit", change("\u{feff}1st", "one")).await;
    assert_eq!(bench.bytes("f"), b"\xef\xbb\xbfone\nsecond\n");
    bench.file("f", b"// caf\xe9\nlet x = 1;\n// \xfc\x80\xff\0\n");
    bench.good("edit", change("x = 1", "x = 2")).await;
    assert_eq!(
        bench.bytes("f"),
        b"// caf\xe9\nlet x = 2;\n// \xfc\x80\xff\0\n"
    );
}

#[tokio::test]
async fn a_loose_match_changes_only_what_it_matched() {
    let bench = Bench::new();
    bench.file("f", "keep “this”  \nsay “hi”\u{a0}now  \nkeep — that \n");
    let text = bench
        .good("edit", change("say \"hi\" now", "say \"bye\" now"))
        .await;
    let want = "keep “this”  \nsay \"bye\" now  \nkeep — that \n";
    assert_eq!(bench.bytes("f"), want.as_bytes());
    assert!(
        text.starts_with("edited f: line 2\n[old_text matched only apart from"),
        "{text}"
    );
}

#[tokio::test]
async fn two_loose_candidates_are_listed_and_left_alone() {
    let bench = Bench::new();
    let content = "say “hi”\nother\nsay ”hi“\n";
    bench.file("f", content);
    let mut input = change("say \"hi\"", "x");
    let want = "old_text is not in f as it stands, and 2 places are like it: lines 1, 3; copy the \
                text of one of them exactly";
    assert_eq!(bench.bad("edit", input.clone()).await, want);
    input["replace_all"] = json!(true);
    assert_eq!(bench.bad("edit", input).await, want);
    assert_eq!(bench.bytes("f"), content.as_bytes());
}

#[tokio::test]
async fn several_exact_places_need_replace_all() {
    let bench = Bench::new();
    bench.file("f", "x\ny x\nxx\n");
    let want =
        "old_text is in f 4 times: lines 1, 2, 3, 3; add lines around it, or set replace_all";
    assert_eq!(bench.bad("edit", change("x", "z")).await, want);
    let mut input = change("x", "z");
    input["replace_all"] = json!(true);
    assert_eq!(
        bench.good("edit", input).await,
        "edited f: lines 1, 2, 3, 3"
    );
    assert_eq!(bench.bytes("f"), b"z\ny z\nzz\n");
    let mut input = change("z", "");
    input["replace_all"] = json!(true);
    bench.file("f", "zzz");
    bench.good("edit", input).await;
    assert_eq!(bench.bytes("f"), b"");
}

#[tokio::test]
async fn a_missing_text_shows_what_is_most_like_it() {
    let bench = Bench::new();
    bench.file("f", "fn main() {\n    let total = 1;\n}\n");
    let message = bench.bad("edit", change("    let total = 2;", "x")).await;
    let want =
        "old_text is not in f; nothing was changed. Most like it:\n     2\t    let total = 1;";
    assert_eq!(message, want);
    let message = bench
        .bad("edit", change("something else entirely", "x"))
        .await;
    assert_eq!(
        message,
        "old_text is not in f, and no line is like it; read the file again"
    );
}

#[tokio::test]
async fn requests_without_a_change_are_refused() {
    let bench = Bench::new();
    bench.file("f", "a “b”\n");
    let message = bench.bad("edit", change("", "x")).await;
    assert_eq!(
        message,
        "old_text is empty; to make or replace a whole file use write"
    );
    let message = bench.bad("edit", change("a", "a")).await;
    assert_eq!(
        message,
        "old_text and new_text are the same; nothing was changed"
    );
    let message = bench.bad("edit", change("a \"b\"", "a “b”")).await;
    assert_eq!(
        message,
        "the text is there already as new_text has it; nothing was changed"
    );
    let missing = json!({ "path": "g", "old_text": "a", "new_text": "b" });
    let message = bench.bad("edit", missing).await;
    assert_eq!(message, "g does not exist; nothing in . has a like name");
}

#[tokio::test]
async fn a_link_stays_a_link_and_a_mode_stays() {
    let bench = Bench::new();
    let script = bench.file("bin/run.sh", "echo 1\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    symlink("bin/run.sh", bench.cwd.join("f")).unwrap();
    let output = bench.call("edit", change("1", "2")).await;
    assert_eq!(
        (output.is_error, output.mutated),
        (false, vec![script.clone()])
    );
    let link = bench.cwd.join("f");
    assert_eq!(std::fs::read_link(link).unwrap(), Path::new("bin/run.sh"));
    assert_eq!(bench.bytes("bin/run.sh"), b"echo 2\n");
    assert_eq!(std::fs::metadata(script).unwrap().mode() & 0o7777, 0o755);
}

#[tokio::test]
async fn a_change_from_outside_is_never_lost() {
    let bench = Bench::new();
    bench.file("f", "mine\nmiddle\nend\n");
    bench.good("read", json!({ "path": "f" })).await;
    bench.file("f", "mine\nmiddle\ntheirs\n");
    let text = bench.good("edit", change("mine", "edited")).await;
    let note = "[the file had changed since it was read; the edit was made in what it holds now]";
    assert_eq!(text, format!("edited f: line 1\n{note}"));
    assert_eq!(bench.bytes("f"), b"edited\nmiddle\ntheirs\n");
    let message = bench
        .bad("write", json!({ "path": "f", "content": "all\n" }))
        .await;
    assert_eq!(
        message,
        "f changed since it was read and is left as it is; read it again first"
    );
    assert_eq!(bench.bytes("f"), b"edited\nmiddle\ntheirs\n");
}

#[tokio::test]
async fn an_agent_knows_what_it_edited() {
    let bench = Bench::new();
    bench.file("f", "one\ntwo\n");
    bench.good("read", json!({ "path": "f" })).await;
    assert_eq!(
        bench.good("edit", change("one", "1")).await,
        "edited f: line 1"
    );
    let text = bench
        .good("write", json!({ "path": "f", "content": "all\n" }))
        .await;
    assert_eq!(text, "wrote 1 line to f, in place of 2 lines");
}

#[tokio::test]
async fn edits_of_one_turn_do_not_undo_each_other() {
    let bench = Bench::new();
    bench.file(
        "f",
        (0..8).map(|n| format!("line {n}\n")).collect::<String>(),
    );
    let (a, b, c) = tokio::join!(
        bench.call("edit", change("line 1", "first")),
        bench.call("edit", change("line 4", "fourth")),
        bench.call("edit", change("line 7", "seventh")),
    );
    assert!(!a.is_error && !b.is_error && !c.is_error);
    let want = "line 0\nfirst\nline 2\nline 3\nfourth\nline 5\nline 6\nseventh\n";
    assert_eq!(bench.bytes("f"), want.as_bytes());
}

#[tokio::test]
async fn a_link_that_was_swapped_is_not_followed() {
    let bench = Bench::new();
    bench.file("inside", "text");
    std::fs::write(bench.root.join("outside"), "text").unwrap();
    symlink("inside", bench.cwd.join("f")).unwrap();
    let input = change("text", "changed");
    let judged = bench.context("edit", &input);
    std::fs::remove_file(bench.cwd.join("f")).unwrap();
    symlink("../outside", bench.cwd.join("f")).unwrap();
    let output = bench.call_in("edit", input, &judged).await;
    let want = "f changed where it leads while permission was asked for; try again";
    assert_eq!((output.is_error, said(&output)), (true, want));
    assert_eq!(std::fs::read(bench.root.join("outside")).unwrap(), b"text");
}

#[tokio::test]
async fn what_cannot_be_written_is_left_whole() {
    let bench = Bench::new();
    let path = bench.file("f", "text");
    if forbids(&path, 0o444) {
        let message = bench.bad("edit", change("text", "x")).await;
        assert_eq!(message, "f is not writable and is left as it is");
        forbids(&path, 0o644);
        forbids(&bench.cwd, 0o555);
        let message = bench.bad("edit", change("text", "x")).await;
        assert!(
            message.starts_with("f cannot be written and is left as it is: "),
            "{message}"
        );
        forbids(&bench.cwd, 0o755);
    }
    assert_eq!(bench.bytes("f"), b"text");
    let device = json!({ "path": "/dev/null", "old_text": "a", "new_text": "b" });
    let message = bench.bad("edit", device).await;
    assert_eq!(
        message,
        "/dev/null is a device, and only regular files and folders can be used"
    );
}

#[test]
fn it_writes_its_path_and_previews_the_change() {
    let tool = Edit::new(Arc::default());
    let input = change("a\nb", "a\nc");
    let input = input.as_object().unwrap();
    assert_eq!(tool.access(input), Access::Write(vec!["f".to_owned()]));
    assert!(!tool.read_only());
    let Some(RenderDescriptor::Diff { path, hunks }) = tool.preview(input) else {
        panic!("no diff")
    };
    assert_eq!(
        (path.as_str(), hunks.len(), hunks[0].lines.len()),
        ("f", 1, 3)
    );
}
