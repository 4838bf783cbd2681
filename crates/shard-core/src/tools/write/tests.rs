use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use serde_json::json;

use super::super::bench::{Bench, forbids, said};
use super::*;

fn whole(path: &str, content: &str) -> Value {
    json!({ "path": path, "content": content })
}

#[tokio::test]
async fn a_file_is_made_with_its_folders() {
    let bench = Bench::new();
    let output = bench.call("write", whole("a/b/c.txt", "one\ntwo")).await;
    assert_eq!(said(&output), "wrote 2 lines to a/b/c.txt, a new file");
    assert_eq!(bench.bytes("a/b/c.txt"), b"one\ntwo");
    assert_eq!(output.mutated, [bench.cwd.join("a/b/c.txt")]);
    let Some(RenderDescriptor::Diff { path, hunks }) = output.render else {
        panic!("no diff")
    };
    assert_eq!(
        (path.as_str(), hunks[0].old_start, hunks[0].new_lines),
        ("a/b/c.txt", 0, 2)
    );
}

#[tokio::test]
async fn a_file_that_was_not_read_is_replaced_and_that_is_said() {
    let bench = Bench::new();
    bench.file("f", "1\n2\n3\n");
    let text = bench.good("write", whole("f", "new\n")).await;
    assert_eq!(
        text,
        "wrote 1 line to f, in place of 3 lines that had not been read"
    );
    bench.file("empty", "");
    assert_eq!(
        bench.good("write", whole("empty", "x")).await,
        "wrote 1 line to empty"
    );
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_is_left_alone() {
    let bench = Bench::new();
    let path = bench.file("f", "old\n");
    bench.good("read", json!({ "path": "f" })).await;
    bench.file("f", "theirs\n");
    let message = bench.bad("write", whole("f", "mine\n")).await;
    assert_eq!(
        message,
        "f changed since it was read and is left as it is; read it again first"
    );
    assert_eq!(bench.bytes("f"), b"theirs\n");
    bench.good("read", json!({ "path": "f" })).await;
    let touched = std::fs::File::options().write(true).open(path).unwrap();
    touched.set_modified(std::time::UNIX_EPOCH).unwrap();
    let text = bench.good("write", whole("f", "mine\n")).await;
    assert_eq!(text, "wrote 1 line to f, in place of 1 line");
    assert_eq!(
        bench.good("write", whole("f", "")).await,
        "wrote 0 lines to f, in place of 1 line"
    );
}

#[tokio::test]
async fn reading_a_part_is_enough_to_notice_a_change_elsewhere() {
    let bench = Bench::new();
    bench.file("f", "1\n2\n3\n");
    bench.good("read", json!({ "path": "f", "limit": 1 })).await;
    bench.file("f", "1\n2\n4\n");
    bench.bad("write", whole("f", "x")).await;
    assert_eq!(bench.bytes("f"), b"1\n2\n4\n");
}

#[tokio::test]
async fn mark_mode_and_link_stay() {
    let bench = Bench::new();
    let path = bench.file("real/f", b"\xef\xbb\xbfold\r\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    symlink("real/f", bench.cwd.join("link")).unwrap();
    symlink("real", bench.cwd.join("folder")).unwrap();
    let text = bench.good("write", whole("link", "new\n")).await;
    let note = "[its lines ended with CRLF before, and now end as they were given]";
    let want = format!("wrote 1 line to link, in place of 1 line that had not been read\n{note}");
    assert_eq!(text, want);
    assert_eq!(bench.bytes("real/f"), b"\xef\xbb\xbfnew\n");
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o750);
    assert!(bench.cwd.join("link").is_symlink());
    bench.good("write", whole("link", "\u{feff}again\n")).await;
    assert_eq!(bench.bytes("real/f"), "\u{feff}again\n".as_bytes());
    bench.good("write", whole("folder/g", "x")).await;
    assert_eq!(bench.bytes("real/g"), b"x");
    symlink("real/made", bench.cwd.join("dangling")).unwrap();
    bench.good("write", whole("dangling", "x")).await;
    assert_eq!(bench.bytes("real/made"), b"x");
}

#[tokio::test]
async fn what_is_no_file_is_refused() {
    let bench = Bench::new();
    bench.file("folder/f", "");
    let fifo = bench.cwd.join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, fifo, rustix::fs::Mode::RWXU).unwrap();
    let message = bench.bad("write", whole("folder", "x")).await;
    assert_eq!(message, "folder is a folder; give the path of a file");
    let message = bench.bad("write", whole("new/", "x")).await;
    assert_eq!(message, "new/ names a folder; give the path of a file");
    let message = bench.bad("write", whole("fifo", "x")).await;
    assert_eq!(
        message,
        "fifo is a FIFO, and only regular files and folders can be used"
    );
    let message = bench.bad("write", whole("/dev/full", "x")).await;
    assert_eq!(
        message,
        "/dev/full is a device, and only regular files and folders can be used"
    );
    assert!(bench.call("write", whole("folder/f/g", "x")).await.is_error);
}

#[tokio::test]
async fn a_failed_write_leaves_the_old_file_whole() {
    let bench = Bench::new();
    let path = bench.file("closed/f", "old");
    if forbids(path.parent().unwrap(), 0o555) {
        let message = bench.bad("write", whole("closed/f", "new")).await;
        assert!(
            message.starts_with("closed/f cannot be written and is left as it is: "),
            "{message}"
        );
        let message = bench.bad("write", whole("closed/g", "new")).await;
        assert!(
            message.starts_with("closed/g cannot be written"),
            "{message}"
        );
    }
    forbids(path.parent().unwrap(), 0o755);
    assert_eq!(bench.bytes("closed/f"), b"old");
}

#[tokio::test]
async fn a_folder_that_was_swapped_for_a_link_is_not_written_through() {
    let bench = Bench::new();
    bench.file("folder/f", "old");
    std::fs::create_dir(bench.root.join("outside")).unwrap();
    let input = whole("folder/f", "new");
    let judged = bench.context("write", &input);
    std::fs::rename(bench.cwd.join("folder"), bench.cwd.join("moved")).unwrap();
    symlink("../outside", bench.cwd.join("folder")).unwrap();
    let output = bench.call_in("write", input, &judged).await;
    let want = "folder/f changed where it leads while permission was asked for; try again";
    assert_eq!((output.is_error, said(&output)), (true, want));
    assert!(!bench.root.join("outside/f").exists());
    assert_eq!(bench.bytes("moved/f"), b"old");
}

#[test]
fn it_writes_its_path_and_previews_the_content() {
    let tool = Write::new(Arc::default());
    let preview = |content: &str| {
        let input = whole("a.rs", content);
        tool.preview(input.as_object().unwrap())
    };
    let code = |text: String| {
        Some(RenderDescriptor::Code {
            path: Some("a.rs".to_owned()),
            lang: Some("rust".to_owned()),
            text,
        })
    };
    assert_eq!(preview("a\x1b[2J\n"), code("a␛[2J\n".to_owned()));
    let cut = format!("{}\n… [20000 bytes in all]", "é".repeat(4000));
    assert_eq!(preview(&"é".repeat(10_000)), code(cut));
    let access = tool.access(whole("x", "").as_object().unwrap());
    assert_eq!(access, Access::Write(vec!["x".to_owned()]));
    assert!(!tool.read_only());
}
