//! A new session that begins as another one stood at some entry.
//!
//! A fork is whole in itself: it holds copies of the rows of the window at that entry, under ids
//! of their own, and an agent goes on with it alone; only `recall` looks into the source, for what
//! the fork's summary stands for. The source is only read. The file appears
//! under its name when it is complete and on the disk, or not at all.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::{DirBuilder, File};
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use shard_types::{Checkpoint, EntryBody, EntryId, SessionEntry, SessionId, time};

use crate::file::sync_folder;
use crate::header::{VERSION, first_line};
use crate::index::{Order, parse};
use crate::locate::{files, forks_folder};
use crate::row::{Key, Kind};
use crate::{Header, Reader, SessionError};

/// A session that was split off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forked {
    /// Names the act of forking, as the new session's first line does.
    pub fork_id: String,
    /// The new session.
    pub session_id: SessionId,
    /// Its last message or result: the copy of the entry that it was split off at, or of the last
    /// result that belongs to it.
    pub head_entry_id: EntryId,
    /// Its file.
    pub path: PathBuf,
}

/// Splits a session at a message or a result, into the folder `forks` beside it; a fork's forks
/// are in the folder that it is in itself.
///
/// The fork has the window of that moment: a compaction that came later does not count, one that
/// came before applies. The results of a message's calls stay with it, whichever of them is named.
/// Mode, model, effort and what modes have kept are those that were in force before the next
/// message.
///
/// The new session's first line keeps `request_key`, by which [`forked_by`] finds it again.
///
/// # Errors
/// [`SessionError::NoEntry`] when the session has no such message or result, and
/// [`SessionError::Io`] when a file cannot be read or written; nothing is left behind then.
pub fn fork(
    path: &Path,
    from: &EntryId,
    request_key: Option<&str>,
) -> Result<Forked, SessionError> {
    let reader = Reader::open(path)?;
    let missing = || SessionError::NoEntry(from.clone());
    let at = reader.index().find(from).ok_or_else(missing)?;
    reader.entry(at)?.ok_or_else(missing)?;
    let part = Part::of(&reader, at)?;
    let ids = part.new_ids(&reader)?;
    let head_entry_id = part.head(&reader, &ids).ok_or_else(missing)?.clone();
    let session_id = SessionId::generate();
    let fork_id = session_id.as_str().replacen("session", "fork", 1);
    let header = Checkpoint::Fork {
        version: VERSION,
        session_id: session_id.clone(),
        cwd: reader.header().cwd.clone(),
        created_at: time::now_ms(),
        fork_id: fork_id.clone(),
        source_session_id: reader.header().session_id.clone(),
        source_entry_id: from.clone(),
        request_key: request_key.map(str::to_owned),
        head_entry_id: Some(head_entry_id.clone()),
        first_index: part.first_index(&reader),
    };
    let folder = forks_folder(path);
    let target = folder.join(format!("{session_id}.jsonl"));
    let failed = |source| SessionError::Io {
        action: "write a fork of",
        path: path.to_owned(),
        source,
    };
    let made = make_folder(&folder).map_err(failed)?;
    let mut file = tempfile::Builder::new()
        .prefix(".fork-")
        .tempfile_in(&folder)
        .map_err(failed)?;
    part.write(&reader, header, &ids, file.as_file_mut(), failed)?;
    file.as_file().sync_data().map_err(failed)?;
    file.persist_noclobber(&target)
        .map_err(|error| failed(error.error))?;
    sync_folder(&folder).map_err(failed)?;
    if made {
        sync_folder(folder.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    }
    Ok(Forked {
        fork_id,
        session_id,
        head_entry_id,
        path: target,
    })
}

/// The fork that was made of a session with this request key, as it was answered then, and the
/// entry that it was split off at.
///
/// # Errors
/// When the session itself cannot be read. Forks that cannot be are passed over.
pub fn forked_by(
    path: &Path,
    request_key: &str,
) -> Result<Option<(Forked, EntryId)>, SessionError> {
    let source = Header::of_file(path)?.session_id;
    let forks = files(&forks_folder(path));
    Ok(forks.into_iter().find_map(|(_, path)| {
        let line = first_line(&path).ok()?;
        match parse(&line)?.body {
            EntryBody::Checkpoint(Checkpoint::Fork {
                session_id,
                fork_id,
                source_session_id,
                source_entry_id,
                request_key: Some(key),
                head_entry_id: Some(head_entry_id),
                ..
            }) if source_session_id == source && key == request_key => Some((
                Forked {
                    fork_id,
                    session_id,
                    head_entry_id,
                    path,
                },
                source_entry_id,
            )),
            _ => None,
        }
    }))
}

/// Whether the folder had to be made.
fn make_folder(folder: &Path) -> io::Result<bool> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// The part of a session that a fork takes along.
struct Part {
    /// Places of the rows, ascending.
    places: Vec<u32>,
    /// The compaction among them, and where what it keeps starts.
    compaction: Option<(usize, usize)>,
    /// The checkpoints in force.
    in_force: Vec<Checkpoint>,
    /// Results that the model reads the ends of.
    shortened: Vec<EntryId>,
}

impl Part {
    fn of(reader: &Reader, at: usize) -> Result<Self, SessionError> {
        let index = reader.index();
        let rows = index.rows();
        let from = index.said()[at] as usize;
        let mut window = reader.window(from)?;
        if window.compaction.is_none() && reader.first_index() > 0 {
            // What came before is in no row of a fork; the summary that it began with holds.
            window = reader.first_window()?;
        }
        let compaction = window.compaction.map(|(place, _)| (place, window.start));
        // Up to the next message all rows belong to this one.
        let next = (from + 1..rows.len())
            .find(|&place| matches!(rows[place].kind, Kind::Message | Kind::Compaction))
            .unwrap_or(rows.len());
        let mut results = (from..next).filter(|&place| rows[place].kind == Kind::ToolResult);
        let end = results.next_back().unwrap_or(from) + 1;
        // Whether a call without a result had started is not to be forgotten.
        let calls = (0..=from).rfind(|&place| rows[place].kind == Kind::Message);
        let wanted = |place: usize| match rows[place].kind {
            Kind::Message | Kind::ToolResult => place >= window.start,
            Kind::ToolStarted => calls.is_some_and(|calls| place > calls),
            _ => compaction.is_some_and(|(compaction, _)| compaction == place),
        };
        let later = compaction
            .map(|(place, _)| place)
            .filter(|&place| place >= end);
        let places = (0..end).filter(|&place| wanted(place)).chain(later);
        let (in_force, shortened) = in_force(reader, next)?;
        Ok(Self {
            places: places.filter_map(|at| u32::try_from(at).ok()).collect(),
            compaction,
            in_force,
            shortened,
        })
    }

    /// The number of the first message or result, if it is not 0.
    fn first_index(&self, reader: &Reader) -> Option<u64> {
        let start = self.compaction.map_or(0, |(_, start)| start);
        let first = reader
            .first_index()
            .saturating_add(reader.index().said_before(start));
        u64::try_from(first).ok().filter(|&first| first > 0)
    }

    /// The copy of the last message or result.
    fn head<'a>(&self, reader: &Reader, ids: &'a HashMap<Key, EntryId>) -> Option<&'a EntryId> {
        let rows = reader.index().rows();
        let said = self.places.iter().rev().map(|&place| &rows[place as usize]);
        said.filter(|row| row.kind.is_said())
            .find_map(|row| ids.get(&row.key))
    }

    fn write(
        &self,
        reader: &Reader,
        header: Checkpoint,
        ids: &HashMap<Key, EntryId>,
        file: &mut File,
        failed: impl Fn(io::Error) -> SessionError,
    ) -> Result<(), SessionError> {
        let mut chain = Writer {
            out: BufWriter::new(file),
            parent: None,
        };
        let in_force = self.in_force.iter().map(|it| with_new_message(it, ids));
        for checkpoint in std::iter::once(header).chain(in_force) {
            chain.checkpoint(checkpoint).map_err(&failed)?;
        }
        let mut outcome = Ok(());
        reader.visit_rows(&self.places, Order::Forward, |place, line| {
            // What has no new id is damaged.
            if let Some(id) = ids.get(&reader.index().rows()[place].key) {
                outcome = match self.compaction {
                    Some((compaction, start)) if compaction == place => {
                        chain.compaction(id, line, |old| self.translated(reader, ids, start, old))
                    }
                    _ => chain.copy(id, line),
                };
            }
            match outcome {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        let shortened = self.shortened.iter().filter_map(|id| ids.get(&Key::of(id)));
        let entry_ids: Vec<_> = shortened.cloned().collect();
        if !entry_ids.is_empty() && outcome.is_ok() {
            outcome = chain.checkpoint(Checkpoint::ResultsShortened { entry_ids });
        }
        outcome.and_then(|()| chain.out.flush()).map_err(failed)
    }

    /// An id for each row that is good.
    fn new_ids(&self, reader: &Reader) -> Result<HashMap<Key, EntryId>, SessionError> {
        let mut ids = HashMap::new();
        reader.visit_rows(&self.places, Order::Forward, |place, line| {
            if parse(line).is_some() {
                ids.insert(
                    reader.index().rows()[place].key.clone(),
                    EntryId::generate(),
                );
            }
            ControlFlow::Continue(())
        })?;
        Ok(ids)
    }

    /// What a compaction's reference becomes. What is kept starts with the first good row.
    fn translated(
        &self,
        reader: &Reader,
        ids: &HashMap<Key, EntryId>,
        start: usize,
        old: Reference<'_>,
    ) -> EntryId {
        let rows = reader.index().rows();
        let first_good = || {
            let kept = self.places.iter().map(|&place| place as usize);
            let mut kept = kept.filter(|&place| place >= start && rows[place].kind.is_said());
            kept.find_map(|place| ids.get(&rows[place].key))
        };
        let same = ids.get(&Key::of(old.id()));
        let new = match old {
            Reference::FirstKept(_) => same.or_else(first_good),
            Reference::Range(_) => same,
        };
        new.unwrap_or(old.id()).clone()
    }
}

/// An entry that a compaction refers to.
#[derive(Clone, Copy)]
enum Reference<'a> {
    FirstKept(&'a EntryId),
    Range(&'a EntryId),
}

impl<'a> Reference<'a> {
    fn id(self) -> &'a EntryId {
        match self {
            Self::FirstKept(id) | Self::Range(id) => id,
        }
    }
}

/// The latest checkpoint of each kind that says how a session goes on, in their order; and the
/// results that were shortened.
fn in_force(reader: &Reader, end: usize) -> Result<(Vec<Checkpoint>, Vec<EntryId>), SessionError> {
    let rows = reader.index().rows();
    let places = (1..end).filter(|&place| rows[place].kind == Kind::Checkpoint);
    let places: Vec<u32> = places.filter_map(|at| u32::try_from(at).ok()).collect();
    let mut latest: HashMap<String, (usize, Checkpoint)> = HashMap::new();
    let mut shortened = Vec::new();
    reader.visit_rows(&places, Order::Forward, |place, line| {
        match parse(line).map(|entry| entry.body) {
            Some(EntryBody::Checkpoint(Checkpoint::ResultsShortened { entry_ids })) => {
                shortened.extend(entry_ids);
            }
            Some(EntryBody::Checkpoint(checkpoint)) => {
                if let Some(kind) = lasting(&checkpoint) {
                    latest.insert(kind, (place, checkpoint));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    })?;
    let mut latest: Vec<_> = latest.into_values().collect();
    latest.sort_by_key(|(place, _)| *place);
    let latest = latest.into_iter().map(|(_, checkpoint)| checkpoint);
    Ok((latest.collect(), shortened))
}

/// What a mode keeps may name the message that it is from; the fork has a copy of that.
fn with_new_message(checkpoint: &Checkpoint, ids: &HashMap<Key, EntryId>) -> Checkpoint {
    let mut checkpoint = checkpoint.clone();
    if let Checkpoint::Other(details) = &mut checkpoint
        && let Some(Value::String(message)) = details.get_mut("messageId")
        && let Ok(old) = message.parse()
        && let Some(new) = ids.get(&Key::of(&old))
    {
        *message = new.to_string();
    }
    checkpoint
}

/// The kind of a checkpoint that holds until the next of its kind.
fn lasting(checkpoint: &Checkpoint) -> Option<String> {
    match checkpoint {
        Checkpoint::ModelChanged { .. } => Some("model_changed".to_owned()),
        Checkpoint::ModeChanged { .. } => Some("mode_changed".to_owned()),
        Checkpoint::ReasoningLevelChanged { .. } => Some("reasoning_level_changed".to_owned()),
        Checkpoint::Other(details) => match details.get("artifactKind") {
            Some(Value::String(kind)) => Some(kind.clone()),
            _ => None,
        },
        Checkpoint::Session { .. }
        | Checkpoint::Fork { .. }
        | Checkpoint::PromptAccepted { .. }
        | Checkpoint::PromptsCleared { .. }
        | Checkpoint::ResultsShortened { .. }
        | Checkpoint::ToolStarted { .. } => None,
    }
}

/// A row with its details as they stand, so that nothing of a later build is lost.
#[derive(Deserialize)]
struct Copied<'a> {
    timestamp: u64,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    details: &'a RawValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    id: &'a EntryId,
    parent_id: Option<&'a EntryId>,
    timestamp: u64,
    #[serde(rename = "type")]
    kind: &'a str,
    details: &'a RawValue,
}

/// Writes rows that follow on one another.
struct Writer<W: Write> {
    out: BufWriter<W>,
    parent: Option<EntryId>,
}

impl<W: Write> Writer<W> {
    fn checkpoint(&mut self, checkpoint: Checkpoint) -> io::Result<()> {
        self.entry(SessionEntry {
            id: EntryId::generate(),
            parent_id: None,
            timestamp: time::now_ms(),
            body: EntryBody::Checkpoint(checkpoint),
        })
    }

    fn entry(&mut self, mut entry: SessionEntry) -> io::Result<()> {
        entry.parent_id = self.parent.take();
        write_line(&mut self.out, &entry)?;
        self.parent = Some(entry.id);
        Ok(())
    }

    fn compaction(
        &mut self,
        id: &EntryId,
        line: &[u8],
        translated: impl Fn(Reference<'_>) -> EntryId,
    ) -> io::Result<()> {
        let Some(mut entry) = parse(line) else {
            return Ok(());
        };
        if let EntryBody::Compaction(details) = &mut entry.body {
            let (first, last) = &details.message_range;
            details.message_range = (
                translated(Reference::Range(first)),
                translated(Reference::Range(last)),
            );
            details.first_kept_entry_id =
                translated(Reference::FirstKept(&details.first_kept_entry_id));
        }
        entry.id = id.clone();
        self.entry(entry)
    }

    fn copy(&mut self, id: &EntryId, line: &[u8]) -> io::Result<()> {
        let copied: Copied<'_> = serde_json::from_slice(line)?;
        let row = Row {
            id,
            parent_id: self.parent.as_ref(),
            timestamp: copied.timestamp,
            kind: &copied.kind,
            details: copied.details,
        };
        write_line(&mut self.out, &row)?;
        self.parent = Some(id.clone());
        Ok(())
    }
}

fn write_line(out: &mut impl Write, row: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, row)?;
    out.write_all(b"\n")
}
