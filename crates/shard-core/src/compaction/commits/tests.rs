use super::*;

fn check(command: &str, output: &str, want: &[&str]) {
    let block = NormalizedBlock::Bash {
        command: command.to_owned(),
        output: output.to_owned(),
        exit_code: Some(0),
    };
    let told = Commits.extract(&[block], &ExtractorContext::default());
    assert_eq!(told, want, "{command}");
}

#[test]
fn what_git_reports_is_a_commit_and_a_list_of_commits_is_not() {
    check(
        "git commit -am 'Fix it'",
        "[main 1a2b3c4] Fix it\n 1 file changed\n",
        &["1a2b3c4 on main: Fix it"],
    );
    check(
        "git init && git add . && git commit -m x",
        "Initialized\n[main (root-commit) 1a2b3c4] x\n",
        &["1a2b3c4 on main: x"],
    );
    check(
        "cd a && git -c user.name=x commit --amend --no-edit",
        "[feature/a-b 1a2b3c4] Fix [this] too\n",
        &["1a2b3c4 on feature/a-b: Fix [this] too (amended)"],
    );
    check(
        "git cherry-pick a b",
        "[detached HEAD 1a2b3c4] One\n Date: x\n[detached HEAD 2b3c4d5] Two\n",
        &[
            "1a2b3c4 on detached HEAD: One",
            "2b3c4d5 on detached HEAD: Two",
        ],
    );
    check("git log --oneline", "1a2b3c4 (HEAD -> main) Fix it\n", &[]);
    check("git log --grep commit", "[main 1a2b3c4] Fix it\n", &[]);
    check("cat notes", "[main 1a2b3c4] Fix it\n", &[]);
    check(
        "git commit -m x",
        "nothing to commit, working tree clean\n",
        &[],
    );
}

#[test]
fn a_quiet_commit_is_known_by_its_command() {
    check("git commit -q -m 'Fix it'", "", &["quietly: Fix it"]);
    check("git commit -qm \"Fix it\"", "", &["quietly: Fix it"]);
    check(
        "git commit --quiet --message='Fix it'",
        "",
        &["quietly: Fix it"],
    );
}

#[test]
fn a_report_after_a_hook_that_says_much_is_found() {
    let output = format!("{}[main 1a2b3c4] Fix it\n", "hook\n".repeat(20_000));
    check("git commit -am x", &output, &["1a2b3c4 on main: Fix it"]);
}

#[test]
fn a_merge_is_known_by_what_git_says_of_it() {
    check(
        "git checkout main && git merge --no-ff feature/a",
        "Switched to branch 'main'\nMerge made by the 'ort' strategy.\n a.rs | 2 +-\n",
        &["merged feature/a (ort)"],
    );
    check(
        "git merge feature/a",
        "Updating 1a2b3c4..2b3c4d5\nFast-forward\n a.rs | 2 +-\n 1 file changed\n",
        &["2b3c4d5: fast-forward to feature/a"],
    );
    check(
        "git pull --ff-only",
        "From /tmp/x\n   1a2b3c4..2b3c4d5  main -> origin/main\nUpdating 1a2b3c4..2b3c4d5\nFast-forward\n",
        &["2b3c4d5: fast-forward to pull"],
    );
    check("git merge feature/a", "Already up to date.\n", &[]);
    check(
        "git merge a",
        "Auto-merging a.rs\nCONFLICT (content): Merge conflict in a.rs\n",
        &[],
    );
}

#[test]
fn only_a_command_that_runs_git_is_believed() {
    const REPORT: &str = "[main 1a2b3c4] Fix it\n";
    check("echo git commit -m x; cat notes", REPORT, &[]);
    check("cat notes # git commit", REPORT, &[]);
    check("grep -r 'git commit' docs", REPORT, &[]);
    check("./git commit -m x", REPORT, &[]);
    check(
        "cat > do.sh <<'END'\ngit commit -m x\nEND\ncat notes",
        REPORT,
        &[],
    );
    let told = ["1a2b3c4 on main: Fix it"];
    check("/usr/bin/git commit -m x", REPORT, &told);
    check("bash -c 'git commit -m x'", REPORT, &told);
    check(
        "if true; then git -C a --no-pager commit -m x; fi",
        REPORT,
        &told,
    );
    check(
        "git commit -m \"$(cat <<'END'\nFix it\n\nAt length.\nEND\n)\"",
        REPORT,
        &told,
    );
    // Lines in brackets that git does not print.
    check(
        "git commit -m x",
        "[12:30:01 1234567 a] x\n[a b 1a2b3c4] y\n",
        &[],
    );
}
