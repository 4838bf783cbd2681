//! The tool as the loop calls it: real commands, real processes.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use shard_config::SandboxMode;
use shard_contracts::{Dialog, Progress, Ui};
use shard_types::ToolResultContent;
use shard_types::event::UiValue;
use tokio_util::sync::CancellationToken;

use super::*;

mod confined;
mod usual_work;

struct Nobody;

impl Ui for Nobody {
    fn ask(&self, _: Dialog) -> BoxFuture<'static, Option<UiValue>> {
        Box::pin(std::future::ready(None))
    }
}

#[derive(Default)]
struct Shown(Mutex<String>);

impl Progress for Shown {
    fn output(&self, text: &str) {
        self.0.lock().unwrap().push_str(text);
    }
}

struct Bench {
    dir: tempfile::TempDir,
    tool: Bash,
    shown: Arc<Shown>,
    cancel: CancellationToken,
}

impl Bench {
    fn new() -> Self {
        Self::with(tempfile::tempdir().unwrap(), SandboxMode::Auto)
    }

    /// With a folder of its own, whose part `state` is Shard's.
    fn with(dir: tempfile::TempDir, mode: SandboxMode) -> Self {
        let inherited = std::env::vars_os().chain([
            ("OPENAI_API_KEY".into(), "sk-known".into()),
            ("MY_KEY".into(), "sk-named".into()),
            ("SHARD_HOME".into(), "/nowhere".into()),
            ("EDITOR".into(), "vi".into()),
        ]);
        Self {
            tool: Bash::new(
                Environment::new(inherited, &["MY_KEY".to_owned()]),
                Duration::from_secs(20),
                Sandbox {
                    mode,
                    home: None,
                    write: Vec::new(),
                    config_dir: dir.path().join("state/config"),
                    state_home: dir.path().join("state"),
                },
            ),
            dir,
            shown: Arc::default(),
            cancel: CancellationToken::new(),
        }
    }

    fn context(&self) -> ToolContext {
        ToolContext {
            cwd: self.dir.path().canonicalize().unwrap(),
            tool_call_id: "call/1".to_owned(),
            paths: Vec::new(),
            cancel: self.cancel.clone(),
            progress: Arc::clone(&self.shown) as Arc<dyn Progress>,
            ui: Arc::new(Nobody),
            output_dir: self.dir.path().join("output"),
            max_output_bytes: 10_000,
            takes_images: false,
        }
    }

    async fn call(&self, arguments: Value) -> ToolOutput {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        self.tool.execute(arguments, &self.context()).await
    }

    async fn run(&self, command: &str) -> ToolOutput {
        self.call(json!({ "command": command })).await
    }
}

fn text(output: &ToolOutput) -> &str {
    match &output.content {
        ToolResultContent::Text { text } => text,
        ToolResultContent::Error { message } => message,
        ToolResultContent::Json { .. } => panic!("bash answers in text"),
    }
}

fn runs(marker: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.split(|&byte| byte == 0)
            .any(|word| word == marker.as_bytes())
    })
}

#[tokio::test]
async fn a_command_gives_its_output_and_its_exit_code() {
    let bench = Bench::new();
    let output = bench.run("echo out; echo err >&2; pwd; exit 3").await;
    let cwd = bench.context().cwd;
    assert_eq!(text(&output), format!("out\nerr\n{}\n", cwd.display()));
    assert_eq!((output.exit_code, output.is_error), (Some(3), false));
    assert_eq!(*bench.shown.0.lock().unwrap(), text(&output));
}

#[tokio::test]
async fn a_signal_is_named() {
    let output = Bench::new().run("kill -SEGV $$").await;
    assert_eq!(
        (text(&output), output.exit_code, output.is_error),
        ("[ended by SIGSEGV]", Some(139), false)
    );
}

#[tokio::test]
async fn keys_are_not_seen_and_nothing_waits_for_a_person() {
    let output = Bench::new()
        .run("env; read -r x; echo got:$x; git commit 2>&1 | head -1")
        .await;
    let text = text(&output);
    for hidden in ["sk-known", "sk-named", "SHARD_", "EDITOR=vi"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
    assert!(
        text.contains("EDITOR=false\n") && text.contains("TERM=dumb\n") && text.contains("got:\n"),
        "{text}"
    );
}

#[tokio::test]
async fn a_timeout_ends_everything_and_keeps_what_was_printed() {
    let bench = Bench::new();
    let began = std::time::Instant::now();
    let output = bench.call(json!({ "command": "echo first; (setsid sleep 4711.5 &); sleep 4711.5", "timeout": 0.3 })).await;
    assert_eq!(
        text(&output),
        "first\n[timed out after 0.3 s; everything the command had started was ended]"
    );
    assert!(output.is_error && output.exit_code.is_none());
    assert!(!runs("4711.5"));
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn an_abort_ends_everything_at_once() {
    let bench = Bench::new();
    let (output, ()) = tokio::join!(bench.run("echo started; sleep 4712.5"), async {
        while !bench.shown.0.lock().unwrap().contains("started") {
            tokio::task::yield_now().await;
        }
        bench.cancel.cancel();
    });
    assert!(
        text(&output).starts_with("started\n[interrupted"),
        "{}",
        text(&output)
    );
    assert!(output.is_error);
    assert!(!runs("4712.5"));
}

#[tokio::test]
async fn what_is_left_in_the_background_is_named_and_ends_with_the_tool() {
    let bench = Bench::new();
    let began = std::time::Instant::now();
    let output = bench.run("sleep 4713.5 & echo done").await;
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!((output.exit_code, output.is_error), (Some(0), false));
    let text = text(&output);
    assert!(
        text.starts_with(
            "done\n[left running in the background, until this agent ends: sleep 4713.5 (pid "
        ),
        "{text}"
    );
    assert!(runs("4713.5"));
    let kept = std::mem::take(&mut *bench.tool.background.lock().unwrap());
    assert_eq!(kept.len(), 1);
    for background in kept {
        background.end().await;
    }
    assert!(!runs("4713.5"));
}

#[tokio::test]
async fn endless_output_from_the_background_does_not_hold_the_result() {
    let bench = Bench::new();
    let began = std::time::Instant::now();
    let output = bench
        .run("(while :; do echo noise; done) & echo done")
        .await;
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(output.exit_code, Some(0));
    let next = bench.run("echo quiet").await;
    assert_eq!(text(&next), "quiet\n");
}

#[tokio::test]
async fn long_output_is_cut_in_the_middle_and_kept_whole_in_a_file() {
    let bench = Bench::new();
    let output = bench.run("seq 1 100000").await;
    let text = text(&output);
    assert!(
        text.len() <= 10_000 && text.starts_with("1\n2\n") && text.ends_with("99999\n100000\n"),
        "{}",
        text.len()
    );
    let path = Path::new(
        text.split("the whole is in ")
            .nth(1)
            .unwrap()
            .split(',')
            .next()
            .unwrap(),
    );
    assert_eq!(path, bench.dir.path().join("output/call_1.txt"));
    let whole = std::fs::read_to_string(path).unwrap();
    assert_eq!(whole.lines().count(), 100_000);
}

#[tokio::test]
async fn a_working_directory_that_is_gone_is_an_error() {
    let bench = Bench::new();
    let mut context = bench.context();
    context.cwd = "/nowhere/at/all".into();
    let arguments = Map::from_iter([("command".to_owned(), json!("true"))]);
    let output = bench.tool.execute(arguments, &context).await;
    assert!(
        output.is_error && text(&output).contains("/nowhere/at/all"),
        "{}",
        text(&output)
    );
}
