use std::os::unix::fs::symlink;

use serde_json::json;
use shard_types::RenderDescriptor;

use super::super::bench::{Bench, forbids, said};
use super::*;

mod notebooks;
mod pictures;

fn numbered(count: usize) -> String {
    (1..=count).map(|n| format!("line {n}\n")).collect()
}

#[tokio::test]
async fn a_file_comes_with_line_numbers_and_its_code() {
    let bench = Bench::new();
    bench.file("src/a.rs", "fn main() {\n\tbody\n}");
    let output = bench.call("read", json!({ "path": "src/a.rs" })).await;
    assert_eq!(
        said(&output),
        "     1\tfn main() {\n     2\t\tbody\n     3\t}\n"
    );
    let want = RenderDescriptor::Code {
        path: Some("src/a.rs".to_owned()),
        lang: Some("rust".to_owned()),
        text: "fn main() {\n\tbody\n}\n".to_owned(),
    };
    assert_eq!(output.render, Some(want));
    assert_eq!(output.mutated, Vec::<std::path::PathBuf>::new());
}

#[tokio::test]
async fn a_part_says_how_to_go_on() {
    let bench = Bench::new();
    bench.file("f", numbered(5));
    let input = json!({ "path": "f", "offset": 2, "limit": 2 });
    let want = "     2\tline 2\n     3\tline 3\n[lines 2-3 of 5; continue with offset 4]\n";
    assert_eq!(bench.good("read", input).await, want);
    let input = json!({ "path": "f", "offset": 4, "limit": 9 });
    assert_eq!(
        bench.good("read", input).await,
        "     4\tline 4\n     5\tline 5\n"
    );
    let message = bench.bad("read", json!({ "path": "f", "offset": 6 })).await;
    assert_eq!(message, "f has 5 lines; offset 6 is past its end");
}

#[tokio::test]
async fn a_long_file_is_cut_by_lines_and_by_bytes() {
    let mut bench = Bench::new();
    bench.file("f", numbered(2500));
    let text = bench.good("read", json!({ "path": "f" })).await;
    assert_eq!(text.lines().count(), 2001);
    assert!(
        text.ends_with("  2000\tline 2000\n[lines 1-2000 of 2500; continue with offset 2001]\n")
    );
    bench.max_output_bytes = 1000;
    let text = bench.good("read", json!({ "path": "f" })).await;
    assert!(
        text.ends_with("[lines 1-33 of 2500; continue with offset 34]\n"),
        "{text}"
    );
}

#[tokio::test]
async fn a_long_line_is_cut() {
    let mut bench = Bench::new();
    bench.file("f", format!("{}\nnext\n", "é".repeat(300_000)));
    let text = bench.good("read", json!({ "path": "f" })).await;
    let want = format!(
        "     1\t{} [line cut: 600000 bytes in all]\n     2\tnext\n",
        "é".repeat(2000)
    );
    assert_eq!(text, want);
    bench.max_output_bytes = 200;
    let text = bench.good("read", json!({ "path": "f" })).await;
    assert!(
        text.ends_with("é\n[lines 1-1 of 2; continue with offset 2]\n"),
        "{text}"
    );
}

#[tokio::test]
async fn a_huge_file_is_not_read_to_its_end() {
    let bench = Bench::new();
    let path = bench.file("f", "first\nsecond\n");
    // A hole costs no disk: 2 GB of NUL after two lines.
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(2 << 30).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &b"x\n".repeat(8192), 13).unwrap();
    let text = bench.good("read", json!({ "path": "f", "limit": 1 })).await;
    assert_eq!(
        text,
        "     1\tfirst\n[lines 1-1; the file goes on; continue with offset 2]\n"
    );
}

#[tokio::test]
async fn nothing_in_a_file_can_act_on_a_terminal() {
    let bench = Bench::new();
    bench.file(
        "f",
        b"caf\xe9 \x1b[2J\x1b]0;title\x07 nul\0 and enough plain text around\r\nb\rc\n",
    );
    let want = "     1\tcaf� ␛[2J␛]0;title␇ nul␀ and enough plain text around\n     2\tb␍c\n\
                [bytes that are not UTF-8 are shown as � and stay when the file is edited]\n\
                [control characters are shown as symbols such as ␛]\n\
                [some lines end with CRLF; edit keeps that]\n";
    assert_eq!(bench.good("read", json!({ "path": "f" })).await, want);
}

#[tokio::test]
async fn what_is_no_text_is_named() {
    let bench = Bench::new();
    bench.file("i.pdf", b"%PDF-1.7 0123");
    bench.file("empty", "");
    bench.file("bom", b"\xef\xbb\xbfa\r\n");
    let message = bench.bad("read", json!({ "path": "i.pdf" })).await;
    assert_eq!(
        message,
        "i.pdf is a binary file (PDF document, 13 bytes) and is not shown"
    );
    assert_eq!(
        bench.good("read", json!({ "path": "empty" })).await,
        "empty is empty"
    );
    let want = "     1\ta\n[the file starts with a byte order mark, which stays when it is edited]\n\
                [lines end with CRLF; edit keeps that]\n";
    assert_eq!(bench.good("read", json!({ "path": "bom" })).await, want);
}

#[tokio::test]
async fn what_cannot_be_read_says_why() {
    let bench = Bench::new();
    bench.file("src/main.rs", "x");
    let message = bench.bad("read", json!({ "path": "src" })).await;
    assert_eq!(message, "src is a folder; use ls to see what is in it");
    let message = bench.bad("read", json!({ "path": "src/mian.rs" })).await;
    assert_eq!(message, "src/mian.rs does not exist; nearest: src/main.rs");
    let message = bench.bad("read", json!({ "path": "/dev/zero" })).await;
    assert_eq!(
        message,
        "/dev/zero is a device, and only regular files and folders can be used"
    );
    let closed = bench.file("closed", "x");
    if forbids(&closed, 0) {
        let message = bench.bad("read", json!({ "path": "closed" })).await;
        assert!(
            message.starts_with("closed cannot be opened: Permission denied"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_path_that_was_judged_as_another_is_not_read() {
    let bench = Bench::new();
    bench.file("inside", "fine");
    std::fs::write(bench.root.join("secret"), "secret").unwrap();
    symlink("inside", bench.cwd.join("link")).unwrap();
    let input = json!({ "path": "link" });
    let judged = bench.context("read", &input);
    std::fs::remove_file(bench.cwd.join("link")).unwrap();
    symlink("../secret", bench.cwd.join("link")).unwrap();
    let output = bench.call_in("read", input, &judged).await;
    let want = "link changed where it leads while permission was asked for; try again";
    assert_eq!((output.is_error, said(&output)), (true, want));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_tool_for_files_looks_into_a_process() {
    let bench = Bench::new();
    let me = format!("/proc/{}", std::process::id());
    let links = [
        ("environ", "/proc/self/environ".to_owned()),
        ("thread", "/proc/thread-self/environ".to_owned()),
        ("numbered", format!("{me}/environ")),
        ("task", format!("{me}/task/{}/environ", std::process::id())),
        ("around", format!("/proc/self/root{me}/environ")),
        (
            "climbing",
            format!("../../../../../../..{me}/task/../environ"),
        ),
        ("cwd", "/proc/self/cwd/Cargo.toml".to_owned()),
        ("fd", "/proc/self/fd/0".to_owned()),
        ("stdin", "/dev/stdin".to_owned()),
        ("dev-fd", "/dev/fd/0".to_owned()),
        ("uptime", "/proc/uptime".to_owned()),
    ];
    for (name, target) in &links {
        symlink(target, bench.cwd.join(name)).unwrap();
    }
    symlink(&me, bench.cwd.join("folder")).unwrap();
    let refused = |message: String| {
        assert!(message.contains("lies in /proc"), "{message}");
        assert!(message.ends_with("use bash"), "{message}");
    };
    for (link, target) in &links {
        for path in [*link, target.as_str()] {
            refused(bench.bad("read", json!({ "path": path })).await);
            let grep = json!({ "path": path, "pattern": "." });
            refused(bench.bad("grep", grep).await);
            let edit = json!({ "path": path, "old_text": "a", "new_text": "b" });
            refused(bench.bad("edit", edit).await);
            let write = json!({ "path": path, "content": "b" });
            refused(bench.bad("write", write).await);
        }
    }
    for path in [
        "/proc",
        "/proc/self/fd",
        "/proc/self/task",
        "folder",
        "folder/fd",
    ] {
        refused(bench.bad("ls", json!({ "path": path })).await);
        let pattern = json!({ "path": path, "pattern": "*" });
        refused(bench.bad("find", pattern).await);
        let pattern = json!({ "path": path, "pattern": "." });
        refused(bench.bad("grep", pattern).await);
    }
    let names = bench.bad("read", json!({ "path": "folder/enviro" })).await;
    assert!(!names.contains("environ"), "{names}");
}

#[tokio::test]
async fn an_aborted_turn_ends_the_call() {
    let bench = Bench::new();
    bench.file("f", "x");
    bench.cancel.cancel();
    assert_eq!(
        bench.bad("read", json!({ "path": "f" })).await,
        job::ABORTED
    );
}

#[test]
fn it_reads_its_path() {
    let tool = Read::new(Arc::default());
    let input = json!({ "path": "../x" });
    let access = tool.access(input.as_object().unwrap());
    assert_eq!(access, Access::Read(vec!["../x".to_owned()]));
    assert!(tool.read_only());
}
