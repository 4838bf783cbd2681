//! Confined or not, this has to work. A tool that is not there is skipped, and that is said.

use std::fs;

use super::confined::Confined;
use super::*;

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).exists());
    if !found {
        eprintln!("skipped: there is no {program}");
    }
    found
}

const NAME: &str = "git config user.name A; git config user.email a@b.c";

#[tokio::test]
async fn what_shells_do() {
    let Some(bench) = Confined::new(SandboxMode::On) else {
        return;
    };
    for command in [
        "cat > /dev/null < /dev/zero & kill $!; wait; echo x > /dev/null 2>&1",
        "cat <<< x > a; cat > b <<'EOF'\nx\nEOF\ncmp a b",
        "diff <(echo x) <(cat a) && echo x | tee >(cat > c) > /dev/null; mkfifo p; echo x > p & cat p",
        "f=$(mktemp -p /dev/shm) && rm $f; d=$(mktemp -d) && cp -a a $d/ && mv $d/a z && rmdir $d",
        "echo x > /dev/stdout; echo x > /dev/stderr; echo x > /proc/self/fd/1",
        "chmod 600 a; touch a; ln a l; ln -s a s; tar cf t.tar a s; tar xf t.tar; sed -i s/x/y/ a",
    ] {
        bench.done(command).await;
    }
    if has("script") {
        assert!(
            bench
                .done("script -qc 'tty; echo seen' /dev/null")
                .await
                .contains("seen")
        );
    }
    if has("make") {
        fs::write(bench.cwd.join("Makefile"), "out: a\n\tcp a out\n").unwrap();
        bench.done("make").await;
    }
}

#[tokio::test]
async fn git_in_an_ordinary_repository() {
    let Some(bench) = Confined::new(SandboxMode::On) else {
        return;
    };
    if !has("git") {
        return;
    }
    bench.done(&format!("git init -q -b main; {NAME}")).await;
    for command in [
        "echo a > a; git add a; git commit -qm a; echo b > b; git add b; git commit -qm b",
        "git checkout -qb side HEAD~; echo c > c; git add c; git commit -qm c; git rebase -q main",
        "echo d >> a; git stash -q; git stash pop -q; git checkout -q a",
        "git tag t; git tag -d t; git checkout -q main; git merge -q --no-edit side; git branch -d side",
        "git gc -q; git remote add r ../x; git branch -m main trunk; git worktree add -q sub && git worktree remove sub",
    ] {
        bench.done(command).await;
    }
}

#[tokio::test]
async fn git_in_a_linked_worktree() {
    let Some(mut bench) = Confined::new(SandboxMode::On) else {
        return;
    };
    if !has("git") {
        return;
    }
    bench
        .done(&format!(
            "git init -q -b main; {NAME}; echo a > a; git add a; git commit -qm a"
        ))
        .await;
    bench
        .done("git branch side; echo b > b; git add b; git commit -qm b")
        .await;
    let tree = bench.root.join("tree");
    let added = std::process::Command::new("git")
        .arg("-C")
        .arg(&bench.cwd)
        .args(["worktree", "add", "-q"])
        .arg(&tree)
        .arg("side")
        .status();
    assert!(added.unwrap().success());
    bench.cwd = tree;
    for command in [
        "git status --short; echo c > c; git add c; git commit -qm c; git log --oneline",
        "git checkout -qb other; echo d > d; git add d; git commit -qm d; git tag t",
        "git merge -q --no-edit main; git reset -q --hard HEAD~; git checkout -q side",
        "git rebase -q main; echo d >> a; git stash -q; git stash pop -q; git checkout -q a",
    ] {
        // Git may grumble that it cannot tidy up; what it was to do is done.
        let output = bench.run(command).await;
        assert_eq!(output.exit_code, Some(0), "{command}: {}", text(&output));
    }
    assert_eq!(bench.done("git log --format=%s").await, "c\nb\na\n");
    for refused in [
        "git branch -D other",
        "git tag -d t",
        "git gc",
        "git pack-refs --all",
    ] {
        let said = bench.refused(refused).await;
        assert!(said.contains("From here git cannot"), "{said}");
    }
    let git = "../work/.git";
    for refused in [
        format!("echo x > {git}/hooks/post-checkout"),
        format!("echo x >> {git}/config"),
        format!("echo x > here; mv here {git}/config"),
        format!("mv {git}/hooks {git}/refs/hooks"),
        "git config core.hooksPath /tmp".to_owned(),
    ] {
        let said = bench.refused(&refused).await;
        assert!(said.contains("From here git cannot"), "{said}");
    }
}

#[tokio::test]
async fn cargo_node_and_python() {
    let Some(bench) = Confined::prepared(SandboxMode::On, |sandbox| {
        sandbox.home = std::env::var_os("HOME").map(Into::into);
    }) else {
        return;
    };
    if has("cargo") {
        bench.done("export CARGO_TARGET_DIR=target; cargo init -q --vcs none --name a . && cargo build -q --offline && cargo run -q --offline").await;
    }
    if has("npm") {
        bench.done("npm init -y > /dev/null && npm install --offline --no-audit && node -e 'require(\"fs\").writeFileSync(\"n\", \"x\")'").await;
    }
    if has("python3") {
        bench.done("python3 -m venv v && v/bin/pip list > /dev/null && v/bin/python -c 'open(\"p\", \"w\").write(\"x\")'").await;
    }
}
