//! What a process printed on stderr before it ended.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How much is kept, in bytes.
const KEPT: usize = 2048;

/// How long the end of the output may be waited for.
const PATIENCE: Duration = Duration::from_millis(300);

/// Reads stderr to its end, and keeps the end of it.
#[derive(Debug)]
pub(crate) struct LastWords(JoinHandle<Vec<u8>>);

impl LastWords {
    pub(crate) fn listen(mut stderr: ChildStderr) -> Self {
        Self(tokio::spawn(async move {
            let (mut kept, mut piece) = (VecDeque::new(), [0; 1024]);
            while let Ok(length @ 1..) = stderr.read(&mut piece).await {
                kept.extend(&piece[..length]);
                kept.drain(..kept.len().saturating_sub(KEPT));
            }
            kept.into()
        }))
    }

    /// The last lines in one, with nothing in them that moves a cursor.
    pub(crate) async fn heard(mut self) -> String {
        let Ok(Ok(bytes)) = timeout(PATIENCE, &mut self.0).await else {
            self.0.abort();
            return String::new();
        };
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let last: Vec<&str> = lines.collect();
        let text = last[last.len().saturating_sub(3)..].join("; ");
        text.chars().filter(|c| !c.is_control()).collect()
    }
}
