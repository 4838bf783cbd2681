//! Starts other programs and says which.

use std::ffi::OsStr;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Variables that cargo sets for the package that it runs. Build scripts look at some of them, so
/// that passing ours on would build their crates anew each time.
const OF_THIS_PACKAGE: [&str; 5] = [
    "CARGO_PKG_",
    "CARGO_MANIFEST_",
    "CARGO_CRATE_",
    "CARGO_BIN_",
    "CARGO_PRIMARY_",
];

/// A cargo of the toolchain that built this command, in the root of the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    in_root(Command::new(cargo), arguments)
}

/// The cargo of the nightly toolchain, in the root of the workspace.
pub(crate) fn nightly_cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]);
    in_root(command, arguments)
}

fn in_root(mut command: Command, arguments: &[&str]) -> Command {
    command.args(arguments).current_dir(workspace::root());
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if OF_THIS_PACKAGE.iter().any(|start| text.starts_with(start)) {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs the program to its end; anything but success is an error that names the command line.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = announce(command);
    let status = command
        .status()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Runs the program to its end and gives what it printed, however it ended.
pub(crate) fn output(command: &mut Command) -> Result<Output> {
    let line = announce(command);
    command
        .output()
        .with_context(|| format!("cannot start `{line}`"))
}

/// Shows the command line; gives it for messages.
pub(crate) fn announce(command: &Command) -> String {
    let line = line(command);
    eprintln!("+ {line}");
    line
}

/// The command as one would type it: variables that are set for it, the program, its arguments.
fn line(command: &Command) -> String {
    let set = command.get_envs().filter_map(|(name, value)| {
        let value = word(value?);
        Some(format!("{}={value}", name.to_string_lossy()))
    });
    let program = std::path::Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    let mut words: Vec<String> = set.collect();
    words.push(word(program));
    words.extend(command.get_args().map(word));
    words.join(" ")
}

/// One word of a shell, quoted where that is needed.
fn word(raw: &OsStr) -> String {
    let text = raw.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@+%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_can_be_typed_again() {
        let mut command = Command::new("/usr/bin/git");
        command.args(["commit", "-m", "It's done", "", "a=b"]);
        command.env("WHO", "a b").env_remove("GONE");
        assert_eq!(
            line(&command),
            r"WHO='a b' git commit -m 'It'\''s done' '' a=b"
        );
    }

    #[test]
    fn a_failure_names_the_command() {
        let failure = run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        let text = failure.to_string();
        assert!(text.starts_with("`sh -c 'exit 3'` failed"), "{text}");
        assert!(text.contains('3'), "{text}");
        let missing = run(&mut Command::new("/nowhere/tool")).unwrap_err();
        assert_eq!(missing.to_string(), "cannot start `tool`");
    }
}
