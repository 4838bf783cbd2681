//! The ledger of what a person allowed for good.
//!
//! A grant is exact: the tool, its arguments and where its paths led. A link that leads elsewhere
//! later makes another call.
//!
//! Invariants: the file is replaced whole or not at all, and only its owner reads it. A file that
//! cannot be read grants nothing and is set aside, not overwritten.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use shard_contracts::{Access, CallFacts, GateError, Grant};
use shard_types::GrantId;
use shard_types::time::now_ms;

/// Arguments that are longer are not remembered: nobody repeats them to the letter.
const MAX_INPUT: usize = 64 * 1024;

const VERSION: u32 = 1;

/// The grants in force.
#[derive(Debug)]
pub(super) struct Ledger {
    path: PathBuf,
    grants: Vec<Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct File {
    version: u32,
    grants: Vec<Entry>,
}

/// One grant as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    grant_id: GrantId,
    tool: String,
    summary: String,
    input: Map<String, Value>,
    /// Where the call's paths led, or where its command ran.
    #[serde(default)]
    paths: Vec<PathBuf>,
    created_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(default)]
    used: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_used_at: Option<u64>,
}

impl Ledger {
    /// Loads the ledger. What was wrong with it is returned in words.
    pub(super) fn load(path: PathBuf) -> (Self, Vec<String>) {
        let (grants, problem) = match read(&path) {
            Ok(grants) => (grants, None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Vec::new(), None),
            Err(error) => (Vec::new(), Some(set_aside(&path, &error))),
        };
        (Self { path, grants }, problem.into_iter().collect())
    }

    /// The grant that covers exactly this call. Counts its use, which is stored with the next
    /// grant: a use is no reason to wait for a disk.
    pub(super) fn covering(&mut self, call: &CallFacts<'_>) -> Option<&GrantId> {
        let paths = places(call);
        let entry = self
            .grants
            .iter_mut()
            .find(|entry| entry.covers(call, &paths))?;
        entry.used += 1;
        entry.last_used_at = Some(now_ms());
        Some(&entry.grant_id)
    }

    /// Whether a grant covers exactly this call.
    pub(super) fn has(&self, call: &CallFacts<'_>) -> bool {
        let paths = places(call);
        self.grants.iter().any(|entry| entry.covers(call, &paths))
    }

    /// Adds a grant and puts it on disk. When that fails it is not kept at all.
    pub(super) fn add(
        &mut self,
        call: &CallFacts<'_>,
        summary: String,
        source: Option<&str>,
    ) -> Result<Grant, GateError> {
        if !can_remember(call.input) {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "the call is too long");
            return Err(self.failed(error));
        }
        let paths = places(call);
        if let Some(entry) = self.grants.iter().find(|entry| entry.covers(call, &paths)) {
            return Ok(entry.grant());
        }
        let entry = Entry {
            grant_id: GrantId::generate(),
            tool: call.tool.to_owned(),
            summary,
            input: call.input.clone(),
            paths,
            created_at: now_ms(),
            source: source.map(str::to_owned),
            used: 0,
            last_used_at: None,
        };
        let grant = entry.grant();
        self.grants.push(entry);
        if let Err(error) = self.save() {
            self.grants.pop();
            return Err(self.failed(error));
        }
        Ok(grant)
    }

    fn failed(&self, source: io::Error) -> GateError {
        GateError {
            path: self.path.clone(),
            source,
        }
    }

    fn save(&self) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let file = File {
            version: VERSION,
            grants: self.grants.clone(),
        };
        // A temporary file of this kind is made with 0600.
        let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
        temporary.write_all(&serde_json::to_vec_pretty(&file)?)?;
        temporary
            .as_file()
            .set_permissions(fs::Permissions::from_mode(0o600))?;
        temporary.as_file().sync_all()?;
        temporary.persist(&self.path).map_err(|error| error.error)?;
        fs::File::open(folder)?.sync_all()
    }
}

impl Entry {
    fn covers(&self, call: &CallFacts<'_>, paths: &[PathBuf]) -> bool {
        // Maps compare by content, whatever order their keys stand in.
        self.tool == call.tool && self.input == *call.input && self.paths == paths
    }

    fn grant(&self) -> Grant {
        Grant {
            id: self.grant_id.clone(),
            summary: self.summary.clone(),
        }
    }
}

/// Whether an exact repeat of a call with these arguments can be remembered.
pub(super) fn can_remember(input: &Map<String, Value>) -> bool {
    serde_json::to_vec(input).is_ok_and(|text| text.len() <= MAX_INPUT)
}

/// Where a call takes place: where its paths lead, else the folder that it starts in.
fn places(call: &CallFacts<'_>) -> Vec<PathBuf> {
    match call.access {
        Access::Read(_) | Access::Write(_) => {
            call.paths.iter().map(|fact| fact.real.clone()).collect()
        }
        Access::Command(_) | Access::Unknown => vec![call.cwd.to_owned()],
        Access::Nothing => Vec::new(),
    }
}

fn read(path: &Path) -> io::Result<Vec<Entry>> {
    let text = fs::read(path)?;
    let file: File = serde_json::from_slice(&text)?;
    if file.version != VERSION {
        let what = format!("version {} is not known", file.version);
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(file.grants)
}

fn set_aside(path: &Path, error: &io::Error) -> String {
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".corrupt-{}", now_ms()));
    let aside = PathBuf::from(aside);
    let what = format!(
        "the permissions in {} cannot be read ({error})",
        path.display()
    );
    match fs::rename(path, &aside) {
        Ok(()) => format!(
            "{what}; none is in force, the file is now {}",
            aside.display()
        ),
        Err(failed) => format!("{what}; none is in force, and it cannot be set aside: {failed}"),
    }
}
