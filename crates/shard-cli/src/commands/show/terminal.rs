//! The terminal that a person answers on.

use std::io::ErrorKind::{Interrupted, WouldBlock};

use anyhow::Context;
use rustix::fs::{Mode, OFlags};
use rustix::termios::{QueueSelector, tcflush};
use tokio::net::unix::pipe::Receiver;

/// Nobody answers with more than this many bytes in a line.
const LONGEST: usize = 64 * 1024;

/// Read only while a line is wanted: until then what is typed is for others, and a job in the
/// background is not stopped for it.
pub(in crate::commands) struct Terminal {
    /// Opened for this alone, so that not blocking on it changes nothing for others. No pipe, but
    /// waited for and read like one.
    device: Receiver,
    /// Read and not taken yet.
    typed: Vec<u8>,
}

impl Terminal {
    /// The terminal of this process, whatever stdin is.
    pub(in crate::commands) fn open() -> anyhow::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let device = rustix::fs::open("/dev/tty", flags, Mode::empty())
            .context("cannot open the terminal to ask questions on")?;
        Ok(Self {
            device: Receiver::from_file_unchecked(device.into())
                .context("cannot wait for the terminal")?,
            typed: Vec::new(),
        })
    }

    /// Forgets what was typed. A job in the background is stopped here until it is in front.
    pub(in crate::commands) fn forget(&mut self) {
        _ = tcflush(&self.device, QueueSelector::IFlush);
        self.typed.clear();
    }

    /// The next line, without its end; `None` at the end of the input, after which there may be
    /// more, or when the terminal is gone. Cancel safe.
    pub(in crate::commands) async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.typed.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.typed.drain(..=end).collect();
                return Some(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            let mut part = [0; 4096];
            self.device.readable().await.ok()?;
            match self.device.try_read(&mut part) {
                Err(error) if matches!(error.kind(), WouldBlock | Interrupted) => {}
                Ok(0) | Err(_) if self.typed.is_empty() => return None,
                Ok(0) | Err(_) => self.typed.push(b'\n'),
                Ok(_) if self.typed.len() > LONGEST => self.typed.clear(),
                Ok(length) => self.typed.extend_from_slice(&part[..length]),
            }
        }
    }
}
