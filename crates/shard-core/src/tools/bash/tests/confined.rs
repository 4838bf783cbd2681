//! What commands cannot do, what they are told, and what stays open.

use std::fs;
use std::path::PathBuf;

use shard_process::Landlock;

use super::*;

/// A bench with a folder `work` to work in, outside of what is open as temporary.
pub(super) struct Confined {
    bench: Bench,
    pub(super) root: PathBuf,
    pub(super) cwd: PathBuf,
}

impl Confined {
    /// `None` where this cannot be tried.
    pub(super) fn new(mode: SandboxMode) -> Option<Self> {
        Self::prepared(mode, |_| {})
    }

    pub(super) fn prepared(mode: SandboxMode, change: impl FnOnce(&mut Sandbox)) -> Option<Self> {
        if !Landlock::here().missing().is_empty() {
            eprintln!(
                "skipped: the kernel cannot {}",
                Landlock::here().missing().join(", nor ")
            );
            return None;
        }
        let dir = tempfile::tempdir_in("/var/tmp").ok()?;
        let root = dir.path().canonicalize().unwrap();
        for folder in ["work", "state/config", "home/.config", "out"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("out/old"), "old").unwrap();
        let mut bench = Bench::with(dir, mode);
        change(bench.tool.confinement.sandbox_mut());
        let cwd = root.join("work");
        Some(Self { bench, root, cwd })
    }

    pub(super) async fn run(&self, command: &str) -> ToolOutput {
        let context = ToolContext {
            cwd: self.cwd.clone(),
            ..self.bench.context()
        };
        let arguments = Map::from_iter([("command".to_owned(), json!(command))]);
        self.bench.tool.execute(arguments, &context).await
    }

    /// Its output, after it ended well and with nothing to explain.
    pub(super) async fn done(&self, command: &str) -> String {
        let output = self.run(command).await;
        let said = text(&output).to_owned();
        assert_eq!(output.exit_code, Some(0), "{command}: {said}");
        assert!(!said.contains("[confined"), "{command}: {said}");
        said
    }

    /// What it is told when it was refused.
    pub(super) async fn refused(&self, command: &str) -> String {
        let output = self.run(command).await;
        let said = text(&output).to_owned();
        assert_ne!(output.exit_code, Some(0), "{command}: {said}");
        assert!(
            said.contains("\n[confined: commands can write only below "),
            "{command}: {said}"
        );
        said
    }
}

#[tokio::test]
async fn writing_elsewhere_is_refused_and_explained() {
    let Some(bench) = Confined::new(SandboxMode::Auto) else {
        return;
    };
    for place in [
        "../home/x",
        "../x",
        "../out/old",
        "/etc/shard-was-here",
        "../state/x",
    ] {
        let said = bench.refused(&format!("echo x > {place}")).await;
        assert!(said.contains("`sandbox.write`"), "{said}");
    }
    bench.refused("ln -s ../out link; echo x > link/new").await;
    bench.refused("mv ../out/old .").await;
    bench
        .refused("python3 -c 'open(\"/etc/shard-was-here\", \"w\")' || touch ../out/x")
        .await;
    assert_eq!(fs::read_dir(bench.root.join("out")).unwrap().count(), 1);
    bench
        .done("cat ../out/old; echo x > mine; echo x > /tmp/shard-test-$$; rm /tmp/shard-test-$$")
        .await;
}

#[tokio::test]
async fn further_places_and_caches_can_be_written_to() {
    let dir = tempfile::tempdir().unwrap();
    let further = dir.path().canonicalize().unwrap();
    let bench = Confined::prepared(SandboxMode::On, |sandbox| {
        let root = sandbox.state_home.parent().unwrap();
        sandbox.write = vec![root.join("out"), root.join("state"), further];
        sandbox.home = Some(root.join("home"));
        fs::create_dir_all(root.join("home/.npm")).unwrap();
    });
    let Some(bench) = bench else { return };
    bench
        .done("echo x > ../out/new; rm ../out/old; echo x > ../home/.npm/x")
        .await;
    // Shard's own folders stay closed, whoever names them.
    bench.refused("echo x > ../state/x").await;
    bench.refused("echo x > ../home/.profile").await;
}

#[tokio::test]
async fn in_a_home_shards_folders_stay_closed() {
    let Some(mut bench) = Confined::new(SandboxMode::Auto) else {
        return;
    };
    bench.cwd = bench.root.clone();
    bench
        .done("echo x > out/new; echo x > work/new; mv out/new work/other")
        .await;
    for refused in [
        "echo x > state/x",
        "rm -r state/config",
        "mv state other",
        "echo x > new",
    ] {
        bench.refused(refused).await;
    }
    // What comes later is open as well.
    fs::create_dir(bench.root.join("later")).unwrap();
    bench.done("echo x > later/new").await;
    assert!(bench.root.join("state/config").is_dir());
}

#[tokio::test]
async fn an_agent_has_temporary_files_of_its_own() {
    let Some(bench) = Confined::new(SandboxMode::Auto) else {
        return;
    };
    let said = bench
        .done("f=$(mktemp); echo x > $f; [ -O $f ] && echo $TMPDIR; stat -c %a $TMPDIR")
        .await;
    let (temp, mode) = said.trim().split_once('\n').unwrap();
    let temp = PathBuf::from(temp);
    assert_eq!(mode, "700");
    assert!(
        temp.is_dir()
            && temp
                .file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("shard-")
    );
    assert_eq!(
        bench.done("ls $TMPDIR | wc -l").await,
        "1\n",
        "the same for every command"
    );
    // An agent that puts a link in its place opens nothing by it.
    let swap = "rm -r $TMPDIR && ln -s ~+/../out $TMPDIR";
    bench.done(swap).await;
    bench.refused("echo x > $TMPDIR/new").await;
    fs::remove_file(&temp).unwrap();
    fs::create_dir(&temp).unwrap();
    drop(bench);
    assert!(!temp.exists());
}

#[tokio::test]
async fn what_cannot_be_signalled_or_gained_is_explained() {
    let Some(bench) = Confined::new(SandboxMode::Auto) else {
        return;
    };
    let kill = bench.run(&format!("kill {}", std::process::id())).await;
    assert!(
        text(&kill).contains("[confined: signals reach only"),
        "{}",
        text(&kill)
    );
    let sudo = bench.run("sudo -n true").await;
    assert!(
        text(&sudo).contains("[`sudo` and its like cannot work here"),
        "{}",
        text(&sudo)
    );
    let hidden = bench
        .run(&format!("cat /proc/{}/environ", std::process::id()))
        .await;
    assert_ne!(hidden.exit_code, Some(0));
}

#[tokio::test]
async fn what_an_earlier_call_left_running_can_be_ended() {
    let Some(mut confined) = Confined::new(SandboxMode::Auto) else {
        return;
    };
    let bench = &mut confined.bench;
    let said = bench.run("sleep 4714.5 & echo $!").await;
    let pid: u32 = text(&said).lines().next().unwrap().parse().unwrap();
    let kill = bench.run(&format!("kill {pid}")).await;
    assert!(text(&kill).contains("its pid as `end`"), "{}", text(&kill));
    assert!(runs("4714.5"));
    let ended = bench
        .call(json!({ "command": "echo well", "end": [pid] }))
        .await;
    assert_eq!(text(&ended), "well\n");
    assert!(!runs("4714.5"));
    let gone = bench
        .call(json!({ "command": "echo well", "end": [pid] }))
        .await;
    assert!(gone.is_error && text(&gone).contains(&pid.to_string()));
}

#[tokio::test]
async fn off_restricts_no_file_and_still_hides_the_agent() {
    let Some(bench) = Confined::new(SandboxMode::Off) else {
        return;
    };
    bench
        .done("echo x > ../out/new && rm ../out/new && mv ../out/old .")
        .await;
    let kill = bench.run(&format!("kill {}", std::process::id())).await;
    assert_ne!(kill.exit_code, Some(0));
}

#[tokio::test]
async fn what_demands_confinement_is_not_run_without_it() {
    if Landlock::here().missing().is_empty() {
        eprintln!("skipped: this kernel can do all of it");
        return;
    }
    let bench = Bench::with(tempfile::tempdir().unwrap(), SandboxMode::On);
    let output = bench.run("echo x > ran").await;
    assert!(
        output.is_error && text(&output).contains("this kernel cannot"),
        "{}",
        text(&output)
    );
    assert!(!bench.dir.path().join("ran").exists());
}
