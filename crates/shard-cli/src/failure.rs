//! How a command fails.

use std::fmt::Display;

/// The command was used wrongly.
pub(crate) const USAGE: i32 = 2;
/// It failed.
pub(crate) const FAILED: i32 = 1;
/// The daemon cannot be reached.
pub(crate) const UNREACHABLE: i32 = 3;
/// The daemon refused it.
pub(crate) const REFUSED: i32 = 4;

/// A failure as a person and a script see it: one line that says what to do, and an exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: i32,
    pub(crate) message: String,
}

impl Failure {
    /// Everything has been said already.
    pub(crate) fn silent(code: i32) -> Self {
        Self {
            code,
            message: String::new(),
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            code: USAGE,
            message: message.into(),
        }
    }

    pub(crate) fn print(&self) {
        if !self.message.is_empty() {
            say(&format!("shard: {}", self.message.replace('\n', " ")));
        }
    }
}

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        // With the causes, as `anyhow` prints them in one line.
        Self {
            code: FAILED,
            message: format!("{error:#}"),
        }
    }
}

/// Says something to the person, apart from the command's output. A person who is gone is no
/// failure: the exit code still tells how it went.
pub(crate) fn say(line: &str) {
    say_part(&format!("{line}\n"));
}

/// The same, without ending the line.
pub(crate) fn say_part(text: &str) {
    use std::io::Write;
    _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Prints a command's output. A reader that has seen enough is no failure.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn print(text: &str) -> std::io::Result<()> {
    use std::io::{ErrorKind, Write};
    let mut out = std::io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let written = out
        .write_all(text.as_bytes())
        .and_then(|()| out.write_all(end.as_bytes()))
        .and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
