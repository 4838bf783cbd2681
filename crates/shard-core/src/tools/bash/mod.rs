//! `bash`: runs a shell command to its end, its timeout or its abort.
//!
//! Owns what a command may see (its environment), how much of its output is kept, and what the
//! model is told of the way it ended. That nothing it starts is left behind is `shard-process`'s.

mod blocked;
mod caches;
mod capture;
mod confinement;
mod environment;
mod git_folders;
mod transcript;
mod writable;

use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use shard_contracts::{Access, BoxFuture, Tool, ToolContext, ToolOutput};
use shard_process::{Background, CommandSpec, Exit, LeftBehind, Running};
use shard_types::RenderDescriptor;
use tokio::time::{Instant, sleep_until, timeout};

use self::capture::Capture;
pub use self::confinement::Sandbox;
use self::confinement::{Confinement, Start};
pub use self::environment::Environment;
use super::arguments;

/// How long the output of a command that has ended is still waited for, when something that it
/// left in the background holds the pipe open.
const LAST_WORDS: Duration = Duration::from_millis(20);

/// What a pipe holds, in bytes.
const PIPE: usize = 64 * 1024;

/// How long the processes of an aborted command may take to be gone before the turn goes on; they
/// are ended all the same.
const WIND_UP: Duration = Duration::from_millis(600);

/// Longest timeout that a model can ask for, in seconds: a day.
const LONGEST: f64 = 86_400.0;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The command line, for bash.
    command: String,
    /// Seconds after which the command is ended.
    #[schemars(range(min = 0.001))]
    timeout: Option<f64>,
    /// Process ids of what earlier calls left running in the background, to be ended with all that
    /// belongs to it before the command runs. `kill` reaches only what the same call started.
    #[serde(default)]
    end: Vec<u32>,
}

/// The tool.
pub struct Bash {
    environment: Environment,
    default_timeout: Duration,
    confinement: Confinement,
    /// What commands left running. The lock is held only to look at the list; whatever is in it
    /// ends when this tool is dropped, and with the process in any case.
    background: Mutex<Vec<Background>>,
}

impl Bash {
    /// A shell with this environment, this default timeout and this confinement.
    #[must_use]
    pub fn new(environment: Environment, default_timeout: Duration, sandbox: Sandbox) -> Self {
        Self {
            environment,
            default_timeout,
            confinement: Confinement::new(sandbox),
            background: Mutex::default(),
        }
    }

    fn keep(&self, running: Running) {
        let mut background = self
            .background
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        background.retain(|kept| !kept.left_behind().is_empty());
        background.push(running.keep());
    }

    /// Takes from what is kept what these processes belong to, or says which of them is not kept.
    fn take(&self, pids: &[u32]) -> Result<Vec<Background>, u32> {
        let mut background = self
            .background
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let runs = |kept: &Background, pid: u32| {
            let left = kept.left_behind();
            left.iter().any(|process| process.pid == pid)
        };
        let unknown = |pid: &&u32| !background.iter().any(|kept| runs(kept, **pid));
        if let Some(pid) = pids.iter().find(unknown) {
            return Err(*pid);
        }
        let named = |kept: &mut Background| pids.iter().any(|pid| runs(kept, *pid));
        Ok(background.extract_if(.., named).collect())
    }

    fn spec(command: &str, start: Start, context: &ToolContext) -> CommandSpec {
        let argv = ["bash", "--noprofile", "--norc", "-c", command].map(OsString::from);
        CommandSpec {
            argv: argv.into(),
            cwd: context.cwd.clone(),
            env: start.environment,
            domain: start.domain,
        }
    }

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> ToolOutput {
        if arguments.command.contains('\0') {
            return ToolOutput::error(
                "the command holds a NUL character, which no shell takes; leave it out",
            );
        }
        let limit = arguments.timeout.map_or(self.default_timeout, |seconds| {
            Duration::from_secs_f64(seconds.clamp(0.001, LONGEST))
        });
        let ended = match self.take(&arguments.end) {
            Ok(ended) => ended,
            Err(pid) => {
                return ToolOutput::error(format!(
                    "not run: no earlier call has left a process {pid} running; it may have ended by itself"
                ));
            }
        };
        for background in ended {
            background.end().await;
        }
        let start = match self.confinement.start(&context.cwd, &self.environment) {
            Ok(start) => start,
            Err(refusal) => return ToolOutput::error(refusal),
        };
        let spec = Self::spec(&arguments.command, start, context);
        let mut running = match shard_process::spawn(&spec) {
            Ok(running) => running,
            Err(error) => {
                return ToolOutput::error(format!(
                    "cannot start bash in {}: {error}",
                    context.cwd.display()
                ));
            }
        };
        let spill = context
            .output_dir
            .join(format!("{}.txt", file_name(&context.tool_call_id)));
        let mut capture = Capture::new(context.max_output_bytes, spill);
        let ending = follow(&mut running, &mut capture, limit, context).await;
        let left = match ending {
            Ending::Exited(_) => running.left_behind(),
            Ending::TimedOut | Ending::Aborted => Vec::new(),
        };
        match ending {
            Ending::Exited(_) if left.is_empty() => drop(running),
            Ending::Exited(_) => self.keep(running),
            Ending::TimedOut => running.end().await,
            Ending::Aborted => _ = timeout(WIND_UP, running.end()).await,
        }
        let output = capture.finish();
        let failed = !matches!(ending, Ending::Exited(Exit::Code(0)));
        let notes = self
            .confinement
            .explain(&arguments.command, &output, failed);
        report(&ending, &left, output, &notes, limit)
    }
}

/// How a command came to its end.
enum Ending {
    Exited(Exit),
    TimedOut,
    Aborted,
}

/// Reads what the command prints until it ends, or has to.
async fn follow(
    running: &mut Running,
    capture: &mut Capture,
    limit: Duration,
    context: &ToolContext,
) -> Ending {
    let deadline = Instant::now() + limit;
    let mut buffer = vec![0; 32 * 1024];
    let (mut open, mut exit, mut last_words) = (true, None, deadline);
    loop {
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Ending::Aborted,
            () = sleep_until(last_words) => {
                let Some(exit) = exit else { return Ending::TimedOut };
                drain(running, capture, context).await;
                return Ending::Exited(exit);
            }
            read = running.output.read(&mut buffer), if open => match read {
                Ok(length @ 1..) => {
                    let shown = capture.push(&buffer[..length]);
                    context.progress.output(&shown);
                }
                Ok(0) | Err(_) => open = false,
            },
            ended = running.process.exited(), if exit.is_none() => {
                exit = Some(ended);
                last_words = deadline.min(Instant::now() + LAST_WORDS);
            }
        }
        if let (false, Some(exit)) = (open, exit) {
            return Ending::Exited(exit);
        }
    }
}

/// Takes what a command that has ended left in its pipe, however late that is; no more than a
/// pipe holds, as a process in the background may go on writing.
async fn drain(running: &mut Running, capture: &mut Capture, context: &ToolContext) {
    let mut buffer = vec![0; PIPE];
    let mut taken = 0;
    // The stall that made this late may have kept readiness from being seen.
    tokio::task::yield_now().await;
    while taken < PIPE {
        match timeout(Duration::ZERO, running.output.read(&mut buffer)).await {
            Ok(Ok(length @ 1..)) => {
                taken += length;
                let shown = capture.push(&buffer[..length]);
                context.progress.output(&shown);
            }
            _ => return,
        }
    }
}

fn report(
    ending: &Ending,
    left: &[LeftBehind],
    output: String,
    notes: &[String],
    limit: Duration,
) -> ToolOutput {
    let mut text = output;
    let mut note = |line: String| {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&line);
    };
    let mut exit_code = None;
    let failed = match ending {
        Ending::Exited(Exit::Code(code)) => {
            exit_code = Some(*code);
            false
        }
        Ending::Exited(Exit::Signal(signal)) => {
            // As a shell would report it.
            exit_code = Some(128 + signal);
            note(format!("[ended by {}]", signal_name(*signal)));
            false
        }
        Ending::Exited(Exit::Lost) => {
            note(
                "[the command ended its own supervisor; everything it had started was ended too]"
                    .to_owned(),
            );
            true
        }
        Ending::TimedOut => {
            note(format!(
                "[timed out after {} s; everything the command had started was ended]",
                limit.as_secs_f64()
            ));
            true
        }
        Ending::Aborted => {
            note(
                "[interrupted: the turn was aborted; everything the command had started was ended]"
                    .to_owned(),
            );
            true
        }
    };
    if !left.is_empty() {
        let names: Vec<_> = left
            .iter()
            .map(|process| format!("{} (pid {})", process.command, process.pid))
            .collect();
        note(format!(
            "[left running in the background, until this agent ends: {}]",
            names.join(", ")
        ));
    }
    for explanation in notes {
        note(explanation.clone());
    }
    let output = if failed {
        ToolOutput::error(text)
    } else {
        ToolOutput::text(text)
    };
    ToolOutput {
        exit_code,
        ..output
    }
}

fn signal_name(signal: i32) -> String {
    let names = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
        (24, "SIGXCPU"),
        (25, "SIGXFSZ"),
        (31, "SIGSYS"),
    ];
    names
        .iter()
        .find(|(number, _)| *number == signal)
        .map_or_else(
            || format!("signal {signal}"),
            |(_, name)| (*name).to_owned(),
        )
}

/// A provider chooses call ids; a file name may not hold everything that an id may.
fn file_name(id: &str) -> String {
    id.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .take(100)
        .collect()
}

impl Tool for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn description(&self) -> &'static str {
        "Run a shell command in the working directory and get its output, standard output and error together. \
         Each call starts a fresh shell; there is no terminal and no input, so pass flags that avoid questions. \
         Long output is shown as its beginning and end, with a file that holds the whole."
    }

    fn input_schema(&self) -> Value {
        arguments::schema::<Arguments>()
    }

    fn access(&self, input: &Map<String, Value>) -> Access {
        Access::Command(arguments::text(input, "command").to_owned())
    }

    fn preview(&self, input: &Map<String, Value>) -> Option<RenderDescriptor> {
        let command = arguments::text(input, "command").to_owned();
        Some(RenderDescriptor::Command {
            command,
            exit_code: None,
            duration_ms: None,
        })
    }

    fn execute<'a>(
        &'a self,
        input: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match arguments::parse(input) {
                Ok(arguments) => self.run(arguments, context).await,
                Err(problem) => ToolOutput::error(problem),
            }
        })
    }
}

#[cfg(test)]
mod tests;
