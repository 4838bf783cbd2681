//! What provider calls took: a log that every agent of this installation appends to.
//!
//! One JSON record a line. A line is written in one piece, so that agents need not know of each
//! other; a line that cannot be read is passed over.
//!
//! `usage.jsonl` has this month. The first call of a month sets what is there aside as
//! `usage-2026-11.jsonl`, so that no file grows for ever, and a sum reads the files alone that may
//! have something to do with its span. Months go by UTC. Old ones can be moved away.

use std::collections::BTreeMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use shard_types::{AgentId, SessionId, Usage, time};

use crate::regular::{open_regular, refuse_others};

/// How far a record may stand from its place in time, in seconds: clocks are set, and an agent may
/// still write to a log that was just set aside.
const LEEWAY: i64 = 24 * 60 * 60;

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
        let mut file = self.open()?;
        let last = file.metadata()?;
        let (last_month, month) = (month(last.mtime()), month(seconds(record.timestamp)));
        // Where it cannot be set aside, another agent is about to do so, or the next month will.
        if last.len() > 0
            && last_month != month
            && set_aside(&file, &self.path, &last_month).is_ok()
        {
            file = self.open()?;
        }
        file.write_all(&line)
    }

    fn open(&self) -> io::Result<File> {
        match refuse_others(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        options.open(&self.path)
    }
}

/// Gives the log of an earlier month its own name, unless another agent has done so.
fn set_aside(log: &File, path: &Path, month: &str) -> io::Result<()> {
    // Held until the log is closed, which its writer does at once. Who holds it and finds the log
    // in its place is alone in moving it.
    log.try_lock()?;
    if !is_same(&log.metadata()?, &path.metadata()?) {
        return Ok(());
    }
    let name = |number: u32| match number {
        1 => format!("usage-{month}.jsonl"),
        number => format!("usage-{month}.{number}.jsonl"),
    };
    let free = (1..=99).map(|number| path.with_file_name(name(number)));
    match free.into_iter().find(|path| !path.exists()) {
        Some(free) => std::fs::rename(path, free),
        None => Err(io::ErrorKind::AlreadyExists.into()),
    }
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Such as `2026-11`.
fn month(seconds: i64) -> String {
    let moment = Timestamp::from_second(seconds).unwrap_or_default();
    moment.strftime("%Y-%m").to_string()
}

fn seconds(milliseconds: u64) -> i64 {
    i64::try_from(milliseconds / 1000).unwrap_or(i64::MAX)
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
    let mut sums = BTreeMap::new();
    let mut take = |path: &Path, file: File| {
        let take = |record: UsageRecord| {
            let sum: &mut UsageSum = sums.entry(key(&record)).or_default();
            sum.usage.add(&record.usage);
            sum.calls += 1;
        };
        each_within(file, span, take).map_err(|source| failed(path, source))
    };
    // This month's first: were it set aside meanwhile, it would be looked for in vain later.
    let current = usage_path(state_home);
    let now = match open_regular(&current) {
        Ok(file) => {
            let metadata = file.metadata().map_err(|source| failed(&current, source))?;
            take(&current, file)?;
            Some(metadata)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(failed(&current, source)),
    };
    for path in months(state_home) {
        let failed = |source| failed(&path, source);
        let file = open_regular(&path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let is_current = now.as_ref().is_some_and(|now| is_same(now, &metadata));
        let last = metadata.mtime().saturating_add(LEEWAY);
        if !is_current && last >= seconds(span.start) {
            take(&path, file)?;
        }
    }
    Ok(sums)
}

fn failed(path: &Path, source: io::Error) -> UsageError {
    UsageError {
        path: path.to_owned(),
        source,
    }
}

/// Calls `each` with the records of a span. A log that begins after it is not read to its end.
fn each_within(file: File, span: &Range<u64>, mut each: impl FnMut(UsageRecord)) -> io::Result<()> {
    let (mut reader, mut line) = (BufReader::with_capacity(1 << 16, file), Vec::new());
    let mut is_first = true;
    while reader.read_until(b'\n', &mut line)? > 0 {
        if let Ok(record) = serde_json::from_slice::<UsageRecord>(&line) {
            let first = seconds(record.timestamp).saturating_sub(LEEWAY);
            if std::mem::take(&mut is_first) && first > seconds(span.end) {
                break;
            }
            if span.contains(&record.timestamp) {
                each(record);
            }
        }
        line.clear();
    }
    Ok(())
}

/// The logs of earlier months.
fn months(state_home: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(state_home)
        .into_iter()
        .flatten()
        .flatten();
    let is_month = |name: &str| name.starts_with("usage-") && name.ends_with(".jsonl");
    let months = files.filter(|file| file.file_name().to_str().is_some_and(is_month));
    months.map(|file| file.path()).collect()
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
    fn the_log_of_an_earlier_month_is_set_aside_and_read_when_asked_for() {
        const NOVEMBER: u64 = 1_700_000_000_000; // 2023-11-14
        let home = tempfile::tempdir().unwrap();
        let path = usage_path(home.path());
        let log = UsageLog::new(home.path(), SessionId::generate(), None, "/a".to_owned());
        let total = |span: Range<u64>| {
            let sums = sum_usage(home.path(), &span, |_| String::new()).unwrap();
            sums.get("").map_or(0, |sum| sum.usage.input)
        };
        // The same month twice: an agent may have come too late with the first.
        for (input, name) in [(1, "usage-2023-11.jsonl"), (20, "usage-2023-11.2.jsonl")] {
            let record = UsageRecord {
                timestamp: NOVEMBER,
                session_id: SessionId::generate(),
                agent_id: None,
                project: "/a".to_owned(),
                usage: used(input, 0.5),
            };
            std::fs::write(&path, serde_json::to_string(&record).unwrap() + "\n").unwrap();
            let then = std::time::UNIX_EPOCH + std::time::Duration::from_millis(NOVEMBER);
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            file.set_modified(then).unwrap();
            log.append(&used(100, 0.5)).unwrap();
            assert!(home.path().join(name).is_file(), "{name}");
            let left = std::fs::read_to_string(&path).unwrap();
            assert_eq!(left.lines().count(), 1, "{left}");
        }
        log.append(&used(300, 0.5)).unwrap();
        assert_eq!(months(home.path()).len(), 2, "this month's stays");
        assert_eq!(total(0..u64::MAX), 421);
        assert_eq!(total(NOVEMBER..NOVEMBER + 1), 21);
        assert_eq!(total(NOVEMBER + 1..u64::MAX), 400);
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
