//! Where output goes.

use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use shard_transports::{Outbox, stdio};

use super::printer::{Printer, Style};

/// How much may wait for a reader before it is given up, in bytes. A slow reader slows down what
/// is shown long before.
const UNREAD: usize = 8 * 1024 * 1024;

/// Stdout and stderr, each written by a thread of its own.
pub(in crate::commands) struct Screen {
    pub(in crate::commands) out: Arc<Outbox>,
    pub(in crate::commands) err: Arc<Outbox>,
    pub(in crate::commands) printer: Arc<Printer>,
}

impl Screen {
    /// The answer goes to stdout, everything about it to stderr.
    pub(in crate::commands) fn apart(style: Style) -> std::io::Result<Self> {
        let err = Arc::new(Outbox::new(UNREAD));
        stdio::write(Arc::clone(&err), std::io::stderr())?;
        Ok(Self::of(style, stdout()?, err))
    }

    /// Everything goes to stdout, so that it stands in order.
    pub(in crate::commands) fn joined() -> std::io::Result<Self> {
        let out = stdout()?;
        Ok(Self::of(Style::Text, Arc::clone(&out), out))
    }

    fn of(style: Style, out: Arc<Outbox>, err: Arc<Outbox>) -> Self {
        let printer = Arc::new(Printer::new(style, Arc::clone(&out), Arc::clone(&err)));
        Self { out, err, printer }
    }

    /// Takes nothing more once nobody reads stdout, which else shows only when something is
    /// written. A thread of its own waits for that, as long as the program runs.
    pub(in crate::commands) fn end_unread(&self) -> std::io::Result<()> {
        let out = Arc::clone(&self.out);
        let wait = move || {
            let stdout = std::io::stdout();
            let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
            while poll(&mut watched, None) == Err(Errno::INTR) {}
            out.give_up();
        };
        std::thread::Builder::new().spawn(wait).map(drop)
    }

    /// Ends the last line, and waits for slow readers as long as is fair.
    pub(in crate::commands) fn finish(&self) {
        self.printer.end_line();
        self.out.finish(Duration::from_secs(5));
        self.err.finish(Duration::from_secs(1));
    }
}

fn stdout() -> std::io::Result<Arc<Outbox>> {
    let out = Arc::new(Outbox::new(UNREAD));
    stdio::write(Arc::clone(&out), std::io::stdout())?;
    Ok(out)
}
