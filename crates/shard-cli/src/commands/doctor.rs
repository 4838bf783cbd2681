//! `shard doctor`: what is set up, what is wrong, and what to do about it.

mod agents;
mod resources;
mod running;

use std::path::Path;
use std::process::{Command, Stdio};

use serde::Serialize;
use shard_config::{Config, ProviderConfig, ProviderKind, SandboxMode, expand_home, resolve_key};
use shard_core::boot::sessions_folder;
use shard_core::gate::visible;
use shard_process::Landlock;

use super::block_on;
use super::config::offers;
use crate::args::DoctorArgs;
use crate::failure::{FAILED, Failure, print};
use crate::places::Places;

/// How many of the newest sessions are read for damage.
const SESSIONS: usize = 20;

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    area: &'static str,
    state: State,
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Good,
    Note,
    Problem,
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, area: &'static str, state: State, message: impl Into<String>) {
        self.0.push(Finding {
            area,
            state,
            message: message.into(),
        });
    }
}

pub(crate) fn run(args: DoctorArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    let mut findings = Findings::default();
    findings.add(
        "version",
        State::Good,
        concat!("shard ", env!("CARGO_PKG_VERSION")),
    );
    let config = configuration(&places, &mut findings);
    state_home(&places, &mut findings);
    running::look(&places, &mut findings);
    if let Some(config) = &config {
        models(config, &places, &mut findings);
        confinement(config, &places, &mut findings);
    }
    let permissions = config.map(|config| config.permissions);
    resources::look(
        &places,
        &permissions.unwrap_or_default(),
        args.trust_project,
        &mut findings,
    );
    found_here(&mut findings)?;
    programs(&mut findings);
    agents::look(&places, &mut findings);
    sessions(&places.state_home, &mut findings);
    show(&args, &findings.0)?;
    let problem = findings
        .0
        .iter()
        .any(|finding| finding.state == State::Problem);
    if problem {
        Err(Failure::silent(FAILED))
    } else {
        Ok(())
    }
}

fn show(args: &DoctorArgs, findings: &[Finding]) -> Result<(), Failure> {
    if args.json {
        print(&serde_json::to_string_pretty(findings)?)?;
        return Ok(());
    }
    let line = |finding: &Finding| {
        let mark = match finding.state {
            State::Good => "ok  ",
            State::Note => "note",
            State::Problem => "BAD ",
        };
        // Names of models are a stranger's words.
        format!(
            "{mark}  {:<12} {}\n",
            finding.area,
            visible(&finding.message)
        )
    };
    print(&findings.iter().map(line).collect::<String>())?;
    Ok(())
}

fn configuration(places: &Places, findings: &mut Findings) -> Option<Config> {
    let path = places.config.display();
    match shard_config::load(&places.config) {
        Ok(loaded) => {
            let state = if loaded.existed {
                format!("{path}")
            } else {
                format!("{path}: not there; the defaults apply (`shard config init` writes one)")
            };
            findings.add("config", State::Good, state);
            for warning in loaded.warnings {
                findings.add("config", State::Note, warning.to_string());
            }
            Some(loaded.config)
        }
        Err(error) => {
            findings.add("config", State::Problem, error.to_string());
            None
        }
    }
}

fn state_home(places: &Places, findings: &mut Findings) {
    use std::os::unix::fs::PermissionsExt;
    let path = &places.state_home;
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.permissions().mode() & 0o077 != 0 => {
            let message = format!(
                "{} can be read by other users of this machine; run: chmod 700 {}",
                path.display(),
                path.display()
            );
            findings.add("state", State::Note, message);
        }
        Ok(_) => findings.add("state", State::Good, path.display().to_string()),
        Err(_) => findings.add(
            "state",
            State::Good,
            format!("{}: made when it is needed", path.display()),
        ),
    }
}

fn models(config: &Config, places: &Places, findings: &mut Findings) {
    if config.providers.is_empty() {
        let message =
            "no provider is configured, so the built-in demo answers; it is no language model";
        findings.add("model", State::Note, message);
    }
    if let Some(model) = &config.model {
        findings.add(
            "model",
            State::Good,
            format!("{model} unless another one is named"),
        );
    }
    for (name, provider) in &config.providers {
        let where_ = match &provider.base_url {
            // Displayed, it has no password.
            Some(endpoint) => endpoint.to_string(),
            None => provider
                .effective_base_url()
                .unwrap_or("built in")
                .to_owned(),
        };
        match key(provider, places) {
            Ok(key) => findings.add("provider", State::Good, format!("{name}: {where_}, {key}")),
            Err(problem) => findings.add("provider", State::Problem, format!("{name}: {problem}")),
        }
    }
}

/// Whether a key is there. Commands that print keys are not run: they may ask a person.
fn key(provider: &ProviderConfig, places: &Places) -> Result<&'static str, String> {
    if provider.kind == ProviderKind::Demo {
        return Ok("no key needed");
    }
    if provider.api_key_command.is_some() {
        return Ok("key from a command, not tried");
    }
    let refuse = |_: &str| Err(std::io::Error::other("not run"));
    let variable = |name: &str| std::env::var(name).ok();
    match resolve_key(provider, places.home.as_deref(), variable, refuse) {
        Ok(Some(_)) => Ok("key found"),
        Ok(None) => Ok("no key configured"),
        Err(error) => Err(error.to_string()),
    }
}

fn confinement(config: &Config, places: &Places, findings: &mut Findings) {
    let kernel = Landlock::here();
    let missing = kernel.missing();
    let here = match (kernel.version(), missing.as_slice()) {
        (None, _) => "the kernel has no Landlock".to_owned(),
        (Some(version), []) => format!("Landlock version {version}"),
        (Some(version), missing) => format!(
            "Landlock version {version}, which cannot {}",
            missing.join(", nor ")
        ),
    };
    let (state, message) = match config.sandbox.mode {
        SandboxMode::On if !missing.is_empty() => (
            State::Problem,
            format!("`sandbox.mode` is \"on\": `bash` refuses to run anything, as {here}"),
        ),
        SandboxMode::On => (State::Good, format!("on: {here}")),
        SandboxMode::Auto if kernel.version().is_none() => (
            State::Note,
            format!("auto: none, as {here}; commands can write wherever you can"),
        ),
        SandboxMode::Auto if !missing.is_empty() => (State::Note, format!("auto, in part: {here}")),
        SandboxMode::Auto => (State::Good, format!("auto: {here}")),
        SandboxMode::Off => (
            State::Note,
            format!("off: commands can write wherever you can ({here})"),
        ),
    };
    findings.add("confinement", state, message);
    for place in &config.sandbox.write {
        let there = expand_home(place, places.home.as_deref()).is_some_and(|path| path.exists());
        if !there {
            let message = format!("{place:?} of `sandbox.write` is not there, and opens nothing");
            findings.add("confinement", State::Note, message);
        }
    }
}

fn found_here(findings: &mut Findings) -> Result<(), Failure> {
    for offer in block_on(async { Ok(offers().await) })? {
        let models = match offer.models.as_slice() {
            [] => String::new(),
            models => format!(
                ", with {}",
                models
                    .iter()
                    .take(5)
                    .cloned()
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        };
        let message = format!(
            "{} at {}{models}; use it with: shard config use {}",
            offer.name, offer.base_url, offer.name
        );
        findings.add("found", State::Note, message);
    }
    Ok(())
}

fn programs(findings: &mut Findings) {
    for (program, why) in [
        ("bash", "no command can be run without it"),
        ("git", "repositories cannot be worked with without it"),
    ] {
        let output = Command::new(program)
            .arg("--version")
            .stdin(Stdio::null())
            .output();
        match output {
            Ok(output) if output.status.success() => {
                let text = String::from_utf8_lossy(&output.stdout);
                findings.add(
                    "program",
                    State::Good,
                    text.lines().next().unwrap_or(program).to_owned(),
                );
            }
            _ => findings.add(
                "program",
                State::Problem,
                format!("{program} cannot be run; {why}"),
            ),
        }
    }
}

fn sessions(state_home: &Path, findings: &mut Findings) {
    let mut files: Vec<_> = std::fs::read_dir(sessions_folder(state_home))
        .into_iter()
        .flatten()
        .flatten()
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .collect();
    // Ids begin with the time, so names sort by age.
    files.sort_unstable();
    findings.add("sessions", State::Good, format!("{} stored", files.len()));
    for path in files.iter().rev().take(SESSIONS) {
        match shard_session::check(path) {
            Ok(damaged) => {
                for damage in damaged {
                    let message = format!(
                        "{}: line {} is damaged and is skipped",
                        path.display(),
                        damage.line
                    );
                    findings.add("sessions", State::Note, message);
                }
            }
            Err(error) => findings.add("sessions", State::Note, error.to_string()),
        }
    }
}
