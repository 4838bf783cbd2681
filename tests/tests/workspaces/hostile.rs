//! A repository that would like to have its programs run.

use serde_json::{Value, json};

use crate::{Site, cwd};

/// Everything that git executes for somebody's configuration, each leaving a mark.
const TRAPS: &str = r#"
mark() { printf '#!/bin/sh\necho %s >> %s/ran\ncat\n' "$1" "$ROOT" > "$ROOT/evil/$1"; chmod +x "$ROOT/evil/$1"; }
mkdir -p "$ROOT/evil/hooks"
for name in post-checkout reference-transaction post-index-change pre-auto-gc post-merge pre-commit; do
  mark $name; cp "$ROOT/evil/$name" .git/hooks/; cp "$ROOT/evil/$name" "$ROOT/evil/hooks/"
done
git config core.hooksPath "$ROOT/evil/hooks"
for name in fsmonitor clean smudge process ssh diff textconv pager editor askpass gpg alias odd included late there hook proxy; do
  mark $name
done
git config core.fsmonitor "$ROOT/evil/fsmonitor"
git config core.sshCommand "$ROOT/evil/ssh"
git config core.gitProxy "$ROOT/evil/proxy"
git config core.pager "$ROOT/evil/pager"
git config core.editor "$ROOT/evil/editor"
git config core.askPass "$ROOT/evil/askpass"
git config gpg.program "$ROOT/evil/gpg"
git config log.showSignature true
git config diff.external "$ROOT/evil/diff"
git config diff.trap.textconv "$ROOT/evil/textconv"
git config diff.trap.command "$ROOT/evil/diff"
git config alias.worktree "!$ROOT/evil/alias"
git config alias.status "!$ROOT/evil/alias"
git config filter.trap.clean "$ROOT/evil/clean"
git config filter.trap.smudge "$ROOT/evil/smudge"
git config filter.trap.required true
git config filter.long.process "$ROOT/evil/process"
git config filter.long.required true
git config 'filter.o=d d.smudge' "$ROOT/evil/odd"
git config hook.trap.command "$ROOT/evil/hook"
git config hook.trap.event post-checkout
printf '[filter "inc"]\n\tsmudge = %s\n\tclean = %s\n' "$ROOT/evil/included" "$ROOT/evil/included" > .git/more
git config include.path more
printf '[filter "late"]\n\tsmudge = %s\n\tclean = %s\n' "$ROOT/evil/late" "$ROOT/evil/late" > .git/late
git config 'includeIf.onbranch:work.path' late
printf '[filter "there"]\n\tsmudge = %s\n\tclean = %s\n' "$ROOT/evil/there" "$ROOT/evil/there" > .git/there
git config 'includeIf.gitdir:**/worktrees/ws-*.path' there
git config status.showUntrackedFiles no
git config core.untrackedCache true
git config remote.origin.url "ext::$ROOT/evil/ssh"
git config remote.origin.promisor true
git config remote.origin.partialclonefilter blob:none
git config protocol.ext.allow always
git config maintenance.auto true
git config gc.auto 1
"#;

#[tokio::test]
async fn nothing_of_a_repository_is_run() {
    let site = Site::start().await;
    let attributes = "*.t filter=trap diff=trap\n*.l filter=long\n*.i filter=inc\n*.b filter=late\n*.d filter=there\n";
    site.home.write(".gitattributes", attributes);
    for name in ["a.t", "b.l", "c.i", "d.b", "e.d"] {
        site.home.write(name, "text\n");
    }
    site.home.git(&["add", "."]);
    site.home.git(&["commit", "--quiet", "-m", "files"]);
    let root = site.home.root().to_owned();
    site.sh(&site.home.work(), &format!("ROOT={root:?}\n{TRAPS}"));
    let ran = root.join("ran");
    // That the traps work: as a person's own git falls into them.
    site.sh(
        &site.home.work(),
        "touch a.t b.l; for call in status 'checkout -b probe' 'checkout main'; do \
         git $call > ../said 2>&1 || true; done; git symbolic-ref HEAD refs/heads/main; \
         git update-ref -d refs/heads/probe",
    );
    let sprung = std::fs::read_to_string(&ran).unwrap();
    for name in [
        "fsmonitor",
        "post-checkout",
        "reference-transaction",
        "clean",
        "process",
    ] {
        assert!(sprung.contains(name), "{name}: {sprung}");
    }
    std::fs::remove_file(&ran).unwrap();

    let made = site.at_rest(json!({ "branch": "work" })).await;
    for name in ["a.t", "b.l", "c.i", "d.b", "e.d"] {
        assert_eq!(
            std::fs::read_to_string(cwd(&made).join(name)).unwrap(),
            "text\n"
        );
    }
    assert_eq!(site.status(&made).await["lifecycle"], "active");
    std::fs::write(cwd(&made).join("new"), "x").unwrap();
    let (kind, reason) = site.kept(&made, None).await;
    assert_eq!(kind, "dirty");
    assert!(
        reason.contains("new"),
        "whatever the repository says not to show: {reason}"
    );
    std::fs::remove_file(cwd(&made).join("new")).unwrap();
    std::fs::write(cwd(&made).join("a.t"), "text\n").unwrap();
    site.retire(&made, None).await;
    let sprung = std::fs::read_to_string(&ran).unwrap_or_default();
    assert_eq!(sprung, "");
    assert!(!cwd(&made).exists());
}

#[tokio::test]
async fn what_a_repository_has_git_lfs_run_is_not_run() {
    let site = Site::start().await;
    let root = site.home.root().to_owned();
    site.home.write(".gitattributes", "*.g filter=lfs\n");
    site.home.write("a.g", "pointer\n");
    site.home.git(&["add", "."]);
    site.home.git(&["commit", "--quiet", "-m", "files"]);
    // As Git LFS does, it runs what it finds configured, and makes something of the pointer.
    crate::killed::write_program(
        &root.join("lfs"),
        &format!(
            "#!/bin/sh\ngit config --get-regexp '[.](path|smudge|helper)$' | grep -q evil && touch {root:?}/ran\n\
             tr a-z A-Z\n"
        ),
    );
    site.sh(
        &root,
        "git config --global filter.lfs.smudge $PWD/lfs; git config --global filter.lfs.clean 'tr A-Z a-z'; \
         git config --global filter.lfs.required true",
    );
    let content = |made: &Value| std::fs::read_to_string(cwd(made).join("a.g")).unwrap();
    let made = site.at_rest(json!({})).await;
    assert_eq!(content(&made), "POINTER\n", "the user's own filter");
    site.retire(&made, None).await;
    for key in [
        "lfs.customtransfer.x.path",
        "lfs.extension.x.smudge",
        "credential.helper",
        "credential.https://example.com.helper",
    ] {
        site.home.git(&["config", key, "evil"]);
        let made = site.at_rest(json!({})).await;
        assert_eq!(content(&made), "pointer\n", "{key}");
        site.retire(&made, None).await;
        assert!(!root.join("ran").exists(), "{key}");
        site.home.git(&["config", "--unset", key]);
    }
}

#[tokio::test]
async fn nothing_is_fetched_for_a_worktree() {
    let site = Site::start().await;
    let root = site.home.root().to_owned();
    // A partial clone whose files are still where it came from.
    site.sh(
        &root,
        "git -C work config uploadpack.allowFilter true; git -C work config uploadpack.allowAnySHA1InWant true; \
         git clone -q --no-checkout --filter=blob:none file://$PWD/work part; \
         printf '#!/bin/sh\\ntouch %s/ran\\nexit 1\\n' $PWD > evil; chmod +x evil; \
         git -C part config remote.origin.uploadpack $PWD/evil",
    );
    let wish = json!({ "cwd": root.join("part"), "branch": "work" });
    let told = site
        .client
        .refused("CONFLICT", "workspace.create", wish)
        .await;
    assert!(!root.join("ran").exists(), "{told}");
    let left = site.sh(
        &root.join("part"),
        "git worktree list | wc -l; git branch --list work",
    );
    assert_eq!((left.as_str(), site.left()), ("1", (vec![], 0)), "{told}");
}
