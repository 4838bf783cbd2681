//! The form of commands: of which lines it is offered, and which lines it covers.

use shard_types::{ChoiceIntent, PermissionChoice};

use super::*;

/// A folder with a gate that has no rules.
pub(super) struct Asking {
    pub(super) world: World,
    pub(super) gate: Gate,
}

impl Asking {
    pub(super) fn new() -> Self {
        let world = World::new();
        let gate = world.gate(json!([]));
        Self { world, gate }
    }

    /// The choice that remembers the form of a line, if it is offered.
    fn offer(&self, line: &str) -> Option<PermissionChoice> {
        let Decision::Ask(ask) = self.world.decide(&self.gate, &bash(line)) else {
            panic!("{line:?} was not asked");
        };
        ask.choices.into_iter().find(|it| it.id == ALLOW_SIGNATURE)
    }

    /// Allows the form of a line for good.
    pub(super) fn grant(&self, line: &str) -> GrantInfo {
        let grant = |facts: &CallFacts<'_>| self.gate.grant(facts, Some(ALLOW_SIGNATURE), None);
        self.world.with(&bash(line), &NEUTRAL, grant).unwrap()
    }

    pub(super) fn word(&self, line: &str) -> &'static str {
        self.world.word(&self.gate, &bash(line))
    }
}

#[test]
fn the_form_of_a_plain_line_is_offered_in_words_that_say_it_all() {
    let asking = Asking::new();
    for (line, label) in [
        (
            "cargo test --workspace",
            "Always allow `cargo test --workspace`, flags in any order",
        ),
        (
            "/usr/bin/cargo  \"test\" -q --workspace -q",
            "Always allow `cargo test --workspace -q`, flags in any order",
        ),
        (
            "cargo fmt --check && cargo clippy | tail -n 20",
            "Always allow `cargo fmt --check`, `cargo clippy`, `tail -n 20` in any combination",
        ),
        (
            "cargo fmt; cargo fmt 2>&1 >/dev/null",
            "Always allow `cargo fmt` however it is written",
        ),
        (
            "grep -rn 'a b' -- -x ''",
            "Always allow `grep -rn 'a b' -- -x ''`, flags in any order",
        ),
        (
            "./tools/check it\u{202e}s",
            "Always allow `./tools/check 'it<U+202E>s'` however it is written",
        ),
        (
            "echo 'a\nb' \"it's\"",
            "Always allow `echo 'a␊b' 'it'\\''s'` however it is written",
        ),
        (
            "go test ./...",
            "Always allow `go test ./...` however it is written",
        ),
        (
            "git status --short",
            "Always allow `git status --short`, flags in any order",
        ),
        (
            "find . -name '*.rs' -type f",
            "Always allow `find . -name '*.rs' -type f`, flags in any order",
        ),
    ] {
        let choice = asking
            .offer(line)
            .unwrap_or_else(|| panic!("{line:?} is not offered"));
        assert_eq!(choice.label, label, "{line:?}");
        assert_eq!(choice.intent, ChoiceIntent::Persist);
        let description = choice.description.unwrap();
        assert!(description.contains("exactly these flags"), "{description}");
    }
}

/// Lines of which the form is never offered.
const NEVER: &[&str] = &[
    // Not all of it is certain.
    "cargo test $X",
    "cargo test \"$X\"",
    "cargo$IFS\"\"test",
    "cargo test *.rs",
    "cargo test src/[a-z]",
    "cargo test {a,b}",
    "cargo test ~/x",
    "cargo test $(cat x)",
    "cargo test `cat x`",
    "cargo test $((1+1))",
    "cargo test $'x'",
    "$CARGO test",
    "diff <(ls) x",
    "cargo test \"unterminated",
    // It is more than commands and what joins them.
    "X=1 cargo test",
    "cargo test > log",
    "cargo test >> log",
    "cargo test 2> log",
    "cargo test &> log",
    "cargo test < input",
    "cat <<E\nx\nE\n",
    "cat <<< x",
    "cargo test &",
    "cargo test & cargo fmt",
    "(cargo test)",
    "{ cargo test; }",
    "! cargo test",
    "if cargo test; then cargo fmt; fi",
    "for x in a b; do cargo test; done",
    "while cargo test; do cargo fmt; done",
    "case x in x) cargo test;; esac",
    "cargo() { rm f; }; cargo test",
    "alias cargo=rm; cargo test",
    "cargo test # and more",
    "",
    "# nothing",
    // It changes what the rest means.
    "cd x && cargo test",
    "pushd x; cargo test",
    "export X=1; cargo test",
    "set -e; cargo test",
    "hash -p /bin/rm ls; ls",
    "unset X; cargo test",
    "source x",
    ". ./x",
    "eval cargo test",
    "exec cargo test",
    "trap 'cargo test' EXIT",
    "[ -f x ] && cargo test",
    // Interpreters and shells.
    "python3 x.py",
    "python3.12 -m pytest",
    "/opt/python/bin/python3 x",
    "node x.js",
    "perl -e x",
    "sed -n p x",
    "awk '{ print }' x",
    "sqlite3 x.db",
    "sh x.sh",
    "bash -c 'cargo test'",
    "./bash x",
    "vim x",
    // Wrappers.
    "sudo cargo test",
    "env cargo test",
    "env A=1 cargo test",
    "timeout 5 cargo test",
    "nice cargo test",
    "nohup cargo test",
    "time cargo test",
    "command cargo test",
    "ls | xargs cargo test",
    "setsid cargo test",
    "strace ls",
    "./strace ls",
    "find . -exec ls {} \\;",
    "find . -delete",
    "find . -ok ls \\;",
    "find . -fprintf x y",
    "busybox ls",
    "/lib64/ld-linux-x86-64.so.2 /bin/ls",
    "tar -xf x.tar",
    "fd -x ls",
    // Runners of tasks and packages.
    "npx x",
    "bunx x",
    "uvx x",
    "pipx run x",
    "npm exec x",
    "npm run build",
    "npm test",
    "make test",
    "just test",
    "./gradlew test",
    "cargo run",
    "cargo install x",
    "cargo +nightly test",
    "cargo --config x test",
    "cargo test --config x=y",
    "cargo unheard-of",
    "cargo",
    "go run .",
    "go generate",
    "go test -exec ./x",
    "pip install x",
    "apt-get install x",
    // Deletion.
    "rm x",
    "/bin/rm x",
    "./rm x",
    "rmdir x",
    "unlink x",
    "shred x",
    "truncate -s 0 x",
    "cargo clean",
    "git clean -fd",
    "git rm x",
    "git reset --hard",
    "git checkout .",
    "git branch -D x",
    // The network.
    "curl http://x",
    "wget http://x",
    "ssh x",
    "scp a b:",
    "rsync a b",
    "nc -l 1",
    "git push",
    "git pull",
    "git fetch",
    "git clone x",
    "git -C x status",
    "git -c core.pager=x log",
    "git-push x",
    "docker ps",
    "kubectl get x",
    "gh pr list",
    // An option that names a program.
    "sort --compress-program=x y",
    "sort --compress-prog x y",
    "rg --pre x y",
    "split --filter=x y",
    "git log --ext-diff",
    "go build -toolexec=x",
    "go build --toolexec=x",
    "go vet --vettool x",
    // So do these, under another name.
    "bsdtar xf x",
    "erb x",
    "django-admin migrate",
    "restic forget x",
    "dropdb x",
    "shutdown now",
    "kill 1",
    // One of them is enough.
    "cargo test && rm x",
    "cargo test | sh",
    "cargo test; git push",
];

#[test]
fn the_form_of_what_is_hard_to_foresee_is_not_offered() {
    let asking = Asking::new();
    // Nobody would read it.
    let long = format!("cargo test {}", "x".repeat(200));
    for &line in NEVER.iter().chain([&long.as_str()]) {
        assert_eq!(asking.offer(line), None, "{line:?}");
        let granted = |facts: &CallFacts<'_>| asking.gate.grant(facts, Some(ALLOW_SIGNATURE), None);
        let outcome = asking.world.with(&bash(line), &NEUTRAL, granted);
        assert!(outcome.is_err(), "{line:?}");
    }
}

/// A line, what its form covers besides, and what it does not.
struct Form(
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const FORMS: &[Form] = &[
    Form(
        "cargo test --workspace --quiet",
        &[
            "cargo test --quiet --workspace",
            "cargo  test   --workspace --quiet --workspace",
            "/usr/bin/cargo test --workspace --quiet",
            "'cargo' t\"es\"t --work'space' --quiet",
            "\\cargo test --workspace --quiet",
            "cargo test --workspace --quiet 2>&1",
            "cargo test --workspace --quiet > /dev/null",
            "cargo test --workspace --quiet && cargo test --quiet --workspace",
            "cargo test --workspace --quiet; cargo test --workspace --quiet",
            "cargo test --workspace --quiet | cargo test --workspace --quiet",
            "cargo test --workspace --quiet\ncargo test --workspace --quiet",
        ],
        &[
            "cargo test --workspace",
            "cargo test --workspace --quiet --release",
            "cargo test --workspace --quiet name",
            "cargo test --workspace --quiet ''",
            "cargo test name --workspace --quiet",
            "cargo --workspace --quiet",
            "cargo build --workspace --quiet",
            "cargo --workspace test --quiet",
            "cargo test --workspace=x --quiet",
            "cargo test --workspace -- --quiet",
            "cargo test -- --workspace --quiet",
            "cargo test '--workspace --quiet'",
            "./cargo test --workspace --quiet",
            "/tmp/cargo test --workspace --quiet",
            "cargo2 test --workspace --quiet",
            "CARGO test --workspace --quiet",
            "cargo test --workspace --quiet $X",
            "cargo test --workspace --quiet \"$@\"",
            "cargo test --workspace --quiet *",
            "cargo test --work{space,} --quiet",
            "cargo test --workspace --quiet > log",
            "cargo test --workspace --quiet 2> log",
            "cargo test --workspace --quiet < log",
            "cargo test --workspace --quiet <<< x",
            "cargo test --workspace --quiet <<E\nx\nE\n",
            "cargo test --workspace --quiet $(rm f)",
            "cargo test --workspace --quiet && rm f",
            "cargo test --workspace --quiet | sh",
            "cargo test --workspace --quiet | tail",
            "cargo test --workspace --quiet & rm f",
            "cargo test --workspace --quiet &",
            "(cargo test --workspace --quiet)",
            "X=1 cargo test --workspace --quiet",
            "PATH=/tmp cargo test --workspace --quiet",
            "cd x && cargo test --workspace --quiet",
            "env cargo test --workspace --quiet",
            "timeout 5 cargo test --workspace --quiet",
            "sh -c 'cargo test --workspace --quiet'",
            "cargo() { rm f; }; cargo test --workspace --quiet",
            "alias cargo=rm; cargo test --workspace --quiet",
            "cargo test --workspace --quiet\nrm f",
            "cargo test --workspace --quiet # x",
        ],
    ),
    Form(
        "sort -o out in",
        &["sort -o -o out in", "sort -o out in; sort -o out in"],
        &[
            "sort out -o in",
            "sort -o in out",
            "sort -o out -o in",
            "sort out in -o",
            "sort -oout in",
            "sort -o=out in",
            "sort --output=out in",
            "sort -o out",
            "sort -o out in in",
        ],
    ),
    Form(
        "cp -r a -t b",
        &[],
        &[
            "cp -t a -r b",
            "cp -r -t a b",
            "cp -t b -r a",
            "cp a b -r -t",
        ],
    ),
    Form(
        "tool --depth=3 x",
        &[],
        &[
            "tool --depth 3 x",
            "tool --depth=3",
            "tool --depth=4 x",
            "tool x --depth=3",
        ],
    ),
    Form(
        "grep -n -- -v f",
        &[],
        &[
            "grep -n -v -- f",
            "grep -n -- f -v",
            "grep -n -v f",
            "grep -- -v f -n",
        ],
    ),
    Form(
        "cargo fmt && cargo test | tail -n 20",
        &[
            "cargo test",
            "cargo fmt",
            "cargo test | tail -n 20",
            "cargo test; cargo fmt || cargo test",
        ],
        &[
            "tail -n 21",
            "cargo test | tail",
            "cargo fmt --check",
            "tail x -n 20",
        ],
    ),
    Form(
        "./check it",
        &[],
        &["check it", "/bin/check it", "x/check it", "../check it"],
    ),
];

#[test]
fn a_form_covers_its_other_spellings_and_nothing_else() {
    for Form(granted, covered, other) in FORMS {
        let asking = Asking::new();
        asking.grant(granted);
        for line in [&[*granted], *covered].concat() {
            assert_eq!(asking.word(line), "allow", "{granted:?}: {line:?}");
        }
        for line in *other {
            assert_eq!(asking.word(line), "ask", "{granted:?}: {line:?}");
        }
    }
}

#[test]
fn forms_of_different_grants_are_not_put_together() {
    let asking = Asking::new();
    asking.grant("cat a");
    asking.grant("tee b");
    assert_eq!(asking.word("cat a"), "allow");
    assert_eq!(asking.word("cat a | tee b"), "ask");
}

#[test]
fn a_form_holds_in_its_folder_and_for_its_tool() {
    let asking = Asking::new();
    asking.grant("cargo test");
    let Asking { world, gate } = asking;
    let other = Sample {
        tool: "other",
        ..bash("cargo test")
    };
    assert_eq!(world.word(&gate, &other), "ask");
    let with = |key: &str, value: Value| {
        let mut sample = bash("cargo test");
        sample.input.insert(key.to_owned(), value);
        sample
    };
    assert_eq!(world.word(&gate, &with("timeout", json!(600))), "allow");
    assert_eq!(world.word(&gate, &with("host", json!("example"))), "ask");
    let elsewhere = World {
        cwd: world.root().join("out"),
        ..world
    };
    assert_eq!(elsewhere.word(&gate, &bash("cargo test")), "ask");
}

#[test]
fn a_form_gives_way_to_denies_modes_and_protected_paths() {
    let world = World::new();
    let offered = |decision: Decision| {
        let ask = asked(decision);
        ask.choices
            .iter()
            .any(|choice| choice.id == ALLOW_SIGNATURE)
    };
    let granted = |gate: &Gate, line: &str| {
        let grant = |facts: &CallFacts<'_>| gate.grant(facts, Some(ALLOW_SIGNATURE), None);
        world.with(&bash(line), &NEUTRAL, grant).unwrap();
    };
    let gate = world.gate(json!([
        { "action": "deny", "tool": "bash", "command": "cargo test *", "reason": "no" },
        { "action": "deny", "tool": "read", "path": "**/.env" },
    ]));
    granted(&gate, "cargo test");
    assert_eq!(world.word(&gate, &bash("cargo test")), "deny");
    // While it is in doubt whether a file is read that is denied, exactly what was shown counts.
    for line in ["grep -r KEY .", "tee .git/config"] {
        assert!(!offered(world.decide(&gate, &bash(line))), "{line}");
        granted(&gate, line);
        assert_eq!(world.word(&gate, &bash(line)), "ask", "{line}");
    }
    let exact = |facts: &CallFacts<'_>| gate.grant(facts, None, None);
    world.with(&bash("grep -r KEY ."), &NEUTRAL, exact).unwrap();
    assert_eq!(world.word(&gate, &bash("grep -r KEY .")), "allow");

    granted(&gate, "ls");
    let says = |vote: Vote| world.with(&bash("ls"), &Says(vote), |facts| gate.check(facts));
    let reason = || "as the mode says".to_owned();
    assert!(!offered(says(Vote::Ask { reason: reason() })));
    assert_eq!(word(&says(Vote::Veto { reason: reason() })), "deny");
    assert_eq!(word(&says(Vote::Abstain)), "allow");
}
