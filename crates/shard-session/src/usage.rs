//! What provider calls took: a log that every agent of this installation appends to.
//!
//! One JSON record a line. A line is written in one piece, so that agents need not know of each
//! other; a line that cannot be read is passed over.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shard_types::{AgentId, SessionId, Usage, time};

use crate::regular::{open_regular, refuse_others};

/// One provider call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsageRecord {
    /// Milliseconds since the epoch.
    pub timestamp: u64,
    /// The session that it was made in.
    pub session_id: SessionId,
    /// The agent, where a daemon looks after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The folder that the agent works in.
    pub project: String,
    /// What it took, and of which model.
    #[serde(flatten)]
    pub usage: Usage,
}

/// Appends what the calls of one session take.
#[derive(Debug)]
pub struct UsageLog {
    path: PathBuf,
    session_id: SessionId,
    agent_id: Option<AgentId>,
    project: String,
}

impl UsageLog {
    /// The log of the installation that keeps its state in `state_home`.
    #[must_use]
    pub fn new(
        state_home: &Path,
        session_id: SessionId,
        agent_id: Option<AgentId>,
        project: String,
    ) -> Self {
        Self {
            path: usage_path(state_home),
            session_id,
            agent_id,
            project,
        }
    }

    /// Appends one call. It survives the death of the process, not that of the machine.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&self, usage: &Usage) -> io::Result<()> {
        let record = UsageRecord {
            timestamp: time::now_ms(),
            session_id: self.session_id.clone(),
            agent_id: self.agent_id.clone(),
            project: self.project.clone(),
            usage: usage.clone(),
        };
        let mut line = serde_json::to_vec(&record)?;
        line.push(b'\n');
        match refuse_others(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        let mut file = options
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)?;
        file.write_all(&line)
    }
}

/// Why the log cannot be summed up.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot read what was used from {path}: {source}; if that lasts, move the file away: counting begins anew"
)]
pub struct UsageError {
    /// The log.
    path: PathBuf,
    /// What the system says.
    source: io::Error,
}

/// A sum over calls.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UsageSum {
    /// Tokens and cost.
    pub usage: Usage,
    /// How many calls.
    pub calls: u64,
}

/// Sums up the calls of a span of time, in milliseconds since the epoch, one sum for each key that
/// `key` gives.
///
/// # Errors
/// When the log cannot be read. One that is not there yet is empty.
pub fn sum_usage(
    state_home: &Path,
    span: &Range<u64>,
    key: impl Fn(&UsageRecord) -> String,
) -> Result<BTreeMap<String, UsageSum>, UsageError> {
    let path = usage_path(state_home);
    let failed = |source| UsageError {
        path: path.clone(),
        source,
    };
    let mut sums = BTreeMap::new();
    let file = match open_regular(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(sums),
        Err(error) => return Err(failed(error)),
    };
    let (mut reader, mut line) = (BufReader::with_capacity(1 << 16, file), Vec::new());
    while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        if let Ok(record) = serde_json::from_slice::<UsageRecord>(&line)
            && span.contains(&record.timestamp)
        {
            let sum: &mut UsageSum = sums.entry(key(&record)).or_default();
            sum.usage.add(&record.usage);
            sum.calls += 1;
        }
        line.clear();
    }
    Ok(sums)
}

fn usage_path(state_home: &Path) -> PathBuf {
    state_home.join("usage.jsonl")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn used(input: u64, cost: f64) -> Usage {
        Usage {
            input,
            cost: Some(cost),
            model: Some("one/m".to_owned()),
            ..Usage::default()
        }
    }

    #[test]
    fn a_log_that_cannot_be_read_is_named() {
        let home = tempfile::tempdir().unwrap();
        let path = usage_path(home.path());
        std::fs::create_dir(&path).unwrap();
        let error = sum_usage(home.path(), &(0..1), |_| String::new()).unwrap_err();
        let told = format!("cannot read what was used from {}: ", path.display());
        assert!(error.to_string().starts_with(&told), "{error}");
    }

    #[test]
    fn calls_are_summed_by_any_key_within_a_span() {
        let home = tempfile::tempdir().unwrap();
        let everything = 0..u64::MAX;
        let by_project = |record: &UsageRecord| record.project.clone();
        let sums = sum_usage(home.path(), &everything, by_project).unwrap();
        assert_eq!(sums, BTreeMap::new(), "nothing was called yet");
        let log = |project: &str| {
            UsageLog::new(home.path(), SessionId::generate(), None, project.to_owned())
        };
        let (a, b) = (log("/a"), log("/b"));
        a.append(&used(1, 0.5)).unwrap();
        b.append(&used(10, 0.25)).unwrap();
        let path = usage_path(home.path());
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{ half a li\n").unwrap();
        a.append(&used(2, 0.5)).unwrap();
        let sums = sum_usage(home.path(), &everything, by_project).unwrap();
        let seen: Vec<_> = sums
            .iter()
            .map(|(key, sum)| (key.as_str(), sum.usage.input, sum.usage.cost, sum.calls))
            .collect();
        assert_eq!(seen, [("/a", 3, Some(1.0), 2), ("/b", 10, Some(0.25), 1)]);
        let sums = sum_usage(home.path(), &(0..1), by_project).unwrap();
        assert_eq!(sums, BTreeMap::new(), "none of them was that early");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn nothing_waits_for_the_other_end_of_a_pipe() {
        let home = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(usage_path(home.path()))
            .status();
        assert!(made.unwrap().success());
        let log = UsageLog::new(home.path(), SessionId::generate(), None, "/a".to_owned());
        let refused = log.append(&used(1, 0.5)).unwrap_err().to_string();
        assert!(refused.contains("no regular file"), "{refused}");
    }
}
