//! How much of a command's output is kept: a head and a tail for the model, the whole in a file.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::transcript::Transcript;

/// How much of an output the file keeps, in bytes.
const FILE_LIMIT: u64 = 256 * 1024 * 1024;

/// Room that the note on what is missing takes, in bytes.
const NOTE: usize = 300;

/// Takes in output of any length in bounded memory.
pub(super) struct Capture {
    transcript: Transcript,
    head: String,
    tail: String,
    /// How large `head` and `tail` may each become.
    half: usize,
    /// All text so far, in bytes.
    total: u64,
    spill: Spill,
}

impl Capture {
    /// Keeps about `limit` bytes. What is more goes to the file `spill`, which is made when it is
    /// needed.
    pub(super) fn new(limit: usize, spill: PathBuf) -> Self {
        Self {
            transcript: Transcript::default(),
            head: String::new(),
            tail: String::new(),
            half: limit.saturating_sub(NOTE) / 2,
            total: 0,
            spill: Spill {
                path: spill,
                state: SpillState::Unused,
            },
        }
    }

    /// Takes in more; gives the text to show live.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        let text = self.transcript.push(bytes);
        self.total += text.len() as u64;
        let room = self.half.saturating_sub(self.head.len());
        let split = if self.tail.is_empty() {
            text.floor_char_boundary(room)
        } else {
            0
        };
        self.head.push_str(&text[..split]);
        self.tail.push_str(&text[split..]);
        let fits = self.total <= 2 * self.half as u64;
        if !fits {
            if self.spill.is_unused() {
                // Nothing is lost yet: the two parts are still the whole.
                self.spill.write(&self.head);
                self.spill.write(&self.tail);
            } else {
                self.spill.write(&text);
            }
        }
        // Twice the room, so that cutting is rare and its cost stays in proportion.
        if self.tail.len() > 2 * self.half {
            self.tail =
                self.tail[self.tail.ceil_char_boundary(self.tail.len() - self.half)..].to_owned();
        }
        text
    }

    /// The output for the model.
    pub(super) fn finish(self) -> String {
        if self.spill.is_unused() {
            return self.head + &self.tail;
        }
        let start = self
            .tail
            .ceil_char_boundary(self.tail.len().saturating_sub(self.half));
        let tail = &self.tail[start..];
        let missing = self.total - (self.head.len() + tail.len()) as u64;
        format!(
            "{}\n[… {missing} bytes left out; {} …]\n{tail}",
            self.head,
            self.spill.note()
        )
    }
}

/// The file with the whole output.
struct Spill {
    path: PathBuf,
    state: SpillState,
}

enum SpillState {
    Unused,
    Open { file: File, written: u64 },
    Full,
    Failed(io::Error),
}

impl Spill {
    fn is_unused(&self) -> bool {
        matches!(self.state, SpillState::Unused)
    }

    fn write(&mut self, text: &str) {
        if self.is_unused() {
            self.state = create(&self.path).map_or_else(SpillState::Failed, |file| {
                SpillState::Open { file, written: 0 }
            });
        }
        let SpillState::Open { file, written } = &mut self.state else {
            return;
        };
        *written += text.len() as u64;
        if *written > FILE_LIMIT {
            self.state = SpillState::Full;
        } else if let Err(error) = file.write_all(text.as_bytes()) {
            self.state = SpillState::Failed(error);
        }
    }

    fn note(&self) -> String {
        let path = self.path.display();
        match &self.state {
            SpillState::Full => {
                format!("the first {FILE_LIMIT} bytes are in {path}, to be read with `read`")
            }
            SpillState::Failed(error) => format!("the whole could not be kept in {path}: {error}"),
            SpillState::Unused | SpillState::Open { .. } => {
                format!("the whole is in {path}, to be read with `read`")
            }
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_kept_whole_and_makes_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut capture = Capture::new(1000, dir.path().join("o/x.txt"));
        let text = "x".repeat(700);
        capture.push(&text.as_bytes()[..300]);
        capture.push(&text.as_bytes()[300..]);
        assert_eq!(capture.finish(), text);
        assert!(!dir.path().join("o").exists());
    }

    #[test]
    fn what_is_too_long_keeps_head_and_tail_and_a_file_with_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("o/x.txt");
        let mut capture = Capture::new(1000, path.clone());
        let all: String = (0..2000).map(|n| format!("line {n}\n")).collect();
        for piece in all.as_bytes().chunks(97) {
            capture.push(piece);
        }
        let text = capture.finish();
        assert!(text.len() <= 1000, "{}", text.len());
        assert!(
            text.starts_with("line 0\nline 1\n") && text.ends_with("line 1998\nline 1999\n"),
            "{text}"
        );
        let kept =
            text.split_once("\n[… ").unwrap().0.len() + text.rsplit_once(" …]\n").unwrap().1.len();
        assert!(
            text.contains(&format!(
                "[… {} bytes left out; the whole is in {}",
                all.len() - kept,
                path.display()
            )),
            "{text}"
        );
        assert_eq!(std::fs::read_to_string(path).unwrap(), all);
    }
}
