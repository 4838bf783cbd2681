//! For tests: a folder, and calls on it as the loop makes them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use shard_contracts::{Access, Dialog, Progress, Tool, ToolContext, ToolOutput, Ui};
use shard_types::ToolResultContent;
use shard_types::event::UiValue;
use tokio_util::sync::CancellationToken;

use super::ReadLog;
use crate::paths;

/// A working folder with the tools of one agent.
pub(crate) struct Bench {
    _dir: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) cwd: PathBuf,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) cancel: CancellationToken,
    pub(crate) max_output_bytes: usize,
    pub(crate) takes_images: bool,
    pub(crate) person: Arc<Person>,
}

impl Bench {
    /// An empty working folder.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let cwd = root.join("work");
        std::fs::create_dir(&cwd).unwrap();
        Self {
            _dir: dir,
            cwd,
            tools: super::builtin(
                &Arc::new(ReadLog::new()),
                no_shell(),
                &root.join("session.jsonl"),
            ),
            root,
            cancel: CancellationToken::new(),
            max_output_bytes: 50_000,
            takes_images: true,
            person: Arc::default(),
        }
    }

    /// Puts a file there, its folders too.
    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.cwd.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// What a file holds.
    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.cwd.join(path)).unwrap()
    }

    pub(crate) fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        self.tools.iter().find(|tool| tool.name() == name).unwrap()
    }

    /// Resolves the paths of a call as the loop does before it asks the gate.
    pub(crate) fn context(&self, tool: &str, input: &Value) -> ToolContext {
        let given = match self.tool(tool).access(object(input)) {
            Access::Read(paths) | Access::Write(paths) => paths,
            _ => Vec::new(),
        };
        ToolContext {
            cwd: self.cwd.clone(),
            tool_call_id: "call".to_owned(),
            paths: paths::facts(&self.cwd, &given),
            cancel: self.cancel.clone(),
            progress: Arc::new(Silent),
            ui: self.person.clone(),
            output_dir: self.root.join("output"),
            max_output_bytes: self.max_output_bytes,
            takes_images: self.takes_images,
        }
    }

    /// Makes a call, its input held against the schema first.
    pub(crate) async fn call(&self, tool: &str, input: Value) -> ToolOutput {
        let schema = self.tool(tool).input_schema();
        assert!(
            jsonschema::is_valid(&schema, &input),
            "{input} does not fit {schema}"
        );
        let context = self.context(tool, &input);
        self.call_in(tool, input, &context).await
    }

    /// Makes a call with paths that were judged before.
    pub(crate) async fn call_in(
        &self,
        tool: &str,
        input: Value,
        context: &ToolContext,
    ) -> ToolOutput {
        let output = self
            .tool(tool)
            .execute(object(&input).clone(), context)
            .await;
        let length = said(&output).len();
        assert!(length <= self.max_output_bytes, "{length} bytes of output");
        output
    }

    /// The text of a call that works.
    pub(crate) async fn good(&self, tool: &str, input: Value) -> String {
        let output = self.call(tool, input).await;
        assert!(!output.is_error, "{}", said(&output));
        said(&output).to_owned()
    }

    /// The message of a call that fails.
    pub(crate) async fn bad(&self, tool: &str, input: Value) -> String {
        let output = self.call(tool, input).await;
        assert!(output.is_error, "{}", said(&output));
        said(&output).to_owned()
    }
}

/// What the model reads.
pub(crate) fn said(output: &ToolOutput) -> &str {
    match &output.content {
        ToolResultContent::Text { text } => text,
        ToolResultContent::Error { message } => message,
        ToolResultContent::Json { .. } => panic!("no tool here answers with a value"),
    }
}

fn object(input: &Value) -> &Map<String, Value> {
    input.as_object().unwrap()
}

/// Takes permissions away; false when this user does not care about permissions.
pub(crate) fn forbids(path: &Path, mode: u32) -> bool {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    !rustix::process::geteuid().is_root()
}

struct Silent;

impl Progress for Silent {
    fn output(&self, _: &str) {}
}

/// Somebody who gives a prepared answer and keeps what was asked.
#[derive(Default)]
pub(crate) struct Person {
    pub(crate) answer: Mutex<Option<UiValue>>,
    pub(crate) asked: Mutex<Vec<Dialog>>,
}

impl Ui for Person {
    fn ask(&self, dialog: Dialog) -> BoxFuture<'static, Option<UiValue>> {
        self.asked.lock().unwrap().push(dialog);
        let answer = self.answer.lock().unwrap().clone();
        Box::pin(async move { answer })
    }
}

/// A shell for tests that never run one.
fn no_shell() -> super::Bash {
    let environment = super::Environment::new([], &[]);
    super::Bash::new(
        environment,
        std::time::Duration::from_secs(1),
        super::Sandbox {
            mode: shard_config::SandboxMode::Off,
            home: None,
            write: Vec::new(),
            config_dir: "/nowhere".into(),
            state_home: "/nowhere".into(),
        },
    )
}
