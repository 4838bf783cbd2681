//! What tools do with files, and what the model reads of it: a table for each of them.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};
use shard_testkit::{AgentProcess, Home, Reply, ScriptedModel, Turn, reply, text, tool};

/// A call, whether it is an error, what its result must hold, and what it must not.
type Row = (
    Value,
    bool,
    &'static [&'static str],
    &'static [&'static str],
);

/// Makes all calls in one turn, each in its place, and looks at each result.
async fn check(name: &str, prepare: impl FnOnce(&Home), rows: &[Row]) -> (Home, Turn) {
    let all = rows.iter().fold(Reply::new(), |reply, (arguments, ..)| {
        reply.then(tool(name, arguments.clone()))
    });
    let model = ScriptedModel::start([all, reply![text("ok")]]);
    let home = Home::new(&model);
    prepare(&home);
    let turn = AgentProcess::start(&home, &[]).turn("go").await;
    assert_eq!(turn.results().len(), rows.len());
    for (number, (arguments, is_error, held, absent)) in rows.iter().enumerate() {
        let said = turn.result_text(number);
        assert_eq!(
            turn.results()[number]["is_error"],
            *is_error,
            "{name} {arguments}: {said}"
        );
        for words in *held {
            assert!(
                said.contains(words),
                "{words:?} for {name} {arguments}: {said}"
            );
        }
        for words in *absent {
            assert!(
                !said.contains(words),
                "{words:?} for {name} {arguments}: {said}"
            );
        }
    }
    (home, turn)
}

#[tokio::test]
async fn read_shows_a_part_and_says_how_to_go_on() {
    let prepare = |home: &Home| {
        let lines = |count: usize| {
            (1..=count)
                .map(|n| format!("line {n}\n"))
                .collect::<String>()
        };
        home.write("short.txt", lines(5));
        home.write("long.txt", lines(5000));
        home.write("wide.txt", format!("{}\nsecond\n", "w".repeat(20_000)));
        home.write("binary", b"\x7fELF\0\0\x01\x02\0\0");
        home.write("empty", "");
        home.write("latin1.txt", b"caf\xe9\n");
        home.write("esc.txt", "a\u{1b}[2Jb\n");
        home.write("src/lib.rs", "fn main() {}\n");
    };
    let rows: &[Row] = &[
        (
            json!({"path": "short.txt"}),
            false,
            &["1", "line 1", "5", "line 5"],
            &[],
        ),
        (
            json!({"path": "short.txt", "offset": 2, "limit": 2}),
            false,
            &["line 2", "line 3", "offset"],
            &["line 1", "line 4"],
        ),
        (
            json!({"path": "short.txt", "offset": 9}),
            true,
            &["5 lines"],
            &[],
        ),
        (
            json!({"path": "long.txt"}),
            false,
            &["line 1\n", "offset", "5000"],
            &["line 5000"],
        ),
        (
            json!({"path": "wide.txt"}),
            false,
            &["second"],
            &["wwwwwwwwww\nsecond"],
        ),
        (json!({"path": "binary"}), true, &["binary"], &["ELF\0"]),
        (json!({"path": "empty"}), false, &["empty"], &[]),
        (json!({"path": "latin1.txt"}), false, &["caf"], &[]),
        (json!({"path": "esc.txt"}), false, &["b"], &["\u{1b}"]),
        (
            json!({"path": "src"}),
            true,
            &["src is a folder", "ls"],
            &[],
        ),
        (json!({"path": "src/lob.rs"}), true, &["src/lib.rs"], &[]),
        (
            json!({"path": "short.txt", "offset": "two"}),
            true,
            &["offset", "integer"],
            &[],
        ),
    ];
    check("read", prepare, rows).await;
}

#[tokio::test]
async fn edit_keeps_whatever_it_was_not_asked_to_change() {
    let prepare = |home: &Home| {
        home.write("exact.txt", "one\ntwo\nthree");
        home.write("crlf.txt", "one\r\ntwo\r\nthree\r\n");
        home.write("mixed.txt", "one\r\ntwo\nthree\r\nfour\n");
        home.write("bom.txt", "\u{feff}one\ntwo\n");
        home.write("latin1.txt", b"caf\xe9\ntwo\n");
        home.write(
            "loose.txt",
            "keep  \nsay \u{201c}hi\u{201d} \u{2013} now  \nkeep\u{a0}this\n",
        );
        home.write("same.txt", "a\nx = 1\nb\nx = 1\n");
        home.write("likely.txt", "fn alpha() {}\nfn beta() {}\n");
        let script = home.write("script.sh", "echo one\n");
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o750)).unwrap();
        symlink("script.sh", home.work().join("link.sh")).unwrap();
    };
    let edit =
        |path: &str, old: &str, new: &str| json!({"path": path, "old_text": old, "new_text": new});
    let rows: &[Row] = &[
        (edit("exact.txt", "two", "TWO"), false, &[], &[]),
        (
            edit("crlf.txt", "one\ntwo\n", "one\nnew\ntwo\n"),
            false,
            &["line endings"],
            &[],
        ),
        (edit("mixed.txt", "two", "2"), false, &[], &[]),
        (edit("bom.txt", "one", "1"), false, &[], &[]),
        (edit("latin1.txt", "two", "2"), false, &[], &[]),
        (
            edit("loose.txt", "say \"hi\" - now", "say bye"),
            false,
            &["quotes"],
            &[],
        ),
        (edit("same.txt", "x = 1", "x = 2"), true, &["2", "4"], &[]),
        (
            edit("likely.txt", "fn gamma() {}", "fn delta() {}"),
            true,
            &["fn alpha() {}"],
            &[],
        ),
        (edit("link.sh", "one", "two"), false, &[], &[]),
        (edit("none.txt", "a", "b"), true, &["none.txt"], &[]),
        (edit("exact.txt", "TWO", "TWO"), true, &[], &[]),
    ];
    let (home, _) = check("edit", prepare, rows).await;
    for (path, want) in [
        ("exact.txt", &b"one\nTWO\nthree"[..]),
        ("crlf.txt", b"one\r\nnew\r\ntwo\r\nthree\r\n"),
        ("mixed.txt", b"one\r\n2\nthree\r\nfour\n"),
        ("bom.txt", b"\xef\xbb\xbf1\ntwo\n"),
        ("latin1.txt", b"caf\xe9\n2\n"),
        (
            "loose.txt",
            "keep  \nsay bye  \nkeep\u{a0}this\n".as_bytes(),
        ),
        ("same.txt", b"a\nx = 1\nb\nx = 1\n"),
        ("script.sh", b"echo two\n"),
    ] {
        let found = std::fs::read(home.work().join(path)).unwrap();
        assert_eq!(found, want, "{path}: {}", String::from_utf8_lossy(&found));
    }
    let script = std::fs::metadata(home.work().join("script.sh")).unwrap();
    assert_eq!(script.permissions().mode() & 0o7777, 0o750);
    assert!(home.work().join("link.sh").is_symlink());
}

#[tokio::test]
async fn write_makes_folders_and_keeps_what_a_file_is() {
    let prepare = |home: &Home| {
        let script = home.write("run.sh", "old\n");
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        home.write("bom.txt", "\u{feff}old\n");
        symlink("run.sh", home.work().join("link.sh")).unwrap();
        home.write("folder/file", "x");
    };
    let write = |path: &str, content: &str| json!({"path": path, "content": content});
    let rows: &[Row] = &[
        (
            write("deep/er/new.txt", "new\n"),
            false,
            &["deep/er/new.txt"],
            &[],
        ),
        (write("link.sh", "new\n"), false, &[], &[]),
        (write("bom.txt", "new\n"), false, &[], &[]),
        (write("folder", "x"), true, &["folder"], &[]),
        (write("folder/file/below", "x"), true, &["folder/file"], &[]),
    ];
    let (home, _) = check("write", prepare, rows).await;
    assert_eq!(home.read("deep/er/new.txt"), "new\n");
    assert_eq!(home.read("run.sh"), "new\n");
    assert_eq!(home.read("bom.txt"), "\u{feff}new\n");
    let script = std::fs::metadata(home.work().join("run.sh")).unwrap();
    assert_eq!(script.permissions().mode() & 0o7777, 0o755);
    assert!(home.work().join("link.sh").is_symlink());
}

fn tree(home: &Home) {
    home.write(".gitignore", "ignored/\n*.log\n");
    home.write("ignored/needle.txt", "needle\n");
    home.write("a.log", "needle\n");
    home.write(".hidden/needle.txt", "a hidden needle\n");
    home.write("src/b.rs", "let needle = 1;\n");
    home.write("src/a.rs", "fn x() {}\n// Needle\n");
    home.write("binary.bin", b"\0\0needle\0");
    home.write(
        "min.js",
        format!("{}needle{}", "x".repeat(50_000), "y".repeat(50_000)),
    );
    symlink("..", home.work().join("src/up")).unwrap();
}

#[tokio::test]
async fn grep_finds_lines_as_git_sees_the_files() {
    let rows: &[Row] = &[
        (
            json!({"pattern": "needle"}),
            false,
            &["src/b.rs", ".hidden/needle.txt", "min.js", "needle"],
            &["ignored/", "a.log", "src/up/"],
        ),
        (
            json!({"pattern": "needle", "ignore_case": true, "glob": "*.rs"}),
            false,
            &["src/a.rs", "src/b.rs"],
            &["min.js"],
        ),
        (
            json!({"pattern": "x()", "literal": true}),
            false,
            &["src/a.rs"],
            &["src/b.rs"],
        ),
        (
            json!({"pattern": "Needle", "context": 1}),
            false,
            &["fn x() {}"],
            &[],
        ),
        (
            json!({"pattern": "needle", "path": "src"}),
            false,
            &["b.rs"],
            &["min.js"],
        ),
        (
            json!({"pattern": "needle", "limit": 1}),
            false,
            &["limit"],
            &[],
        ),
        (json!({"pattern": "no such thing"}), false, &["no"], &[]),
        (json!({"pattern": "(unclosed"}), true, &["unclosed"], &[]),
        (json!({"pattern": "x", "path": "srk"}), true, &["src"], &[]),
    ];
    let (_, turn) = check("grep", tree, rows).await;
    let window = turn.result_text(0).len();
    assert!(window < 2000, "a short window of a long line: {window}");
    let said = turn.result_text(1);
    let place = |path: &str| said.find(path).unwrap();
    assert!(place("src/a.rs") < place("src/b.rs"), "sorted: {said}");
    for result in turn
        .results()
        .iter()
        .filter(|result| result["is_error"] == false)
    {
        assert!(result["render"]["kind"].is_string(), "{result}");
    }
}

#[tokio::test]
async fn find_and_ls_name_what_there_is_and_stay_within_bounds() {
    let rows: &[Row] = &[
        (
            json!({"pattern": "**/*.rs"}),
            false,
            &["src/a.rs\nsrc/b.rs"],
            &["up/"],
        ),
        (
            json!({"pattern": "*needle*"}),
            false,
            &[".hidden/needle.txt"],
            &["ignored/"],
        ),
        (json!({"pattern": "*", "limit": 2}), false, &["limit"], &[]),
        (json!({"pattern": "*.py"}), false, &["no"], &[]),
        (
            json!({"pattern": "*.rs", "path": "srk"}),
            true,
            &["src"],
            &[],
        ),
        (json!({"pattern": "{a"}), true, &["{a"], &[]),
    ];
    let (_, turn) = check("find", tree, rows).await;
    assert_eq!(turn.results()[0]["render"]["kind"], "path_list");
    let rows: &[Row] = &[
        (json!({}), false, &["src/", ".hidden/", "README.md"], &[]),
        (json!({"path": "src"}), false, &["a.rs\nb.rs\nup"], &[]),
        (json!({"limit": 1}), false, &["limit"], &[]),
        (json!({"path": "README.md"}), true, &["README.md"], &[]),
        (json!({"path": "srk"}), true, &["src"], &[]),
    ];
    let (_, turn) = check("ls", tree, rows).await;
    assert_eq!(turn.results()[0]["render"]["kind"], "path_list");
}

#[tokio::test]
async fn bash_starts_plainly_and_shows_what_came_in_its_order() {
    let run = |command: &str| json!({"command": command});
    let rows: &[Row] = &[
        (
            run("echo out; echo err >&2; echo out again"),
            false,
            &["out\nerr\nout again\n"],
            &[],
        ),
        (run("cd src; x=1"), false, &[], &[]),
        (run("pwd; echo [$x]"), false, &["/work\n[]\n"], &["src"]),
        (
            run("git -c core.pager=false log --oneline && git --paginate status && echo $PAGER"),
            false,
            &["cat\n"],
            &["terminal"],
        ),
        (
            run("git commit --allow-empty; echo code $?"),
            false,
            &["code 1\n"],
            &[],
        ),
        (run("tty; stty size"), false, &["not a tty"], &[]),
        (
            run("printf 'a\\033[31mb\\007'"),
            false,
            &["ab"],
            &["\u{1b}", "\u{7}"],
        ),
        (run("kill -TERM $$"), false, &["SIGTERM"], &[]),
        (
            json!({"command": "sleep 20", "timeout": 0.2}),
            true,
            &["timed out after 0.2 s"],
            &[],
        ),
        (json!({"command": 7}), true, &["command", "string"], &[]),
    ];
    let prepare = |home: &Home| _ = home.write("src/x", "");
    let (_, turn) = check("bash", prepare, rows).await;
    for result in &turn.results()[..8] {
        assert!(
            result["exit_code"].is_i64() && result["duration_ms"].is_u64(),
            "{result}"
        );
    }
}
