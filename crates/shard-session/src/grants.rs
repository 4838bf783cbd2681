//! The file of standing permissions beside a session.
//!
//! An agent's process owns it while it runs; whoever finds no process running may read and change
//! it. What a grant covers is the gate's to judge: here it is data.
//!
//! Invariants: the file is replaced whole or not at all, and only its owner reads it. A grant that
//! is not understood is kept as it stands and covers nothing.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use shard_types::time::now_ms;
use shard_types::{GrantId, GrantInfo, GrantKind};

use crate::file::sync_folder;
use crate::regular::open_regular;

/// How many grants one file holds: more than a person can oversee.
pub const MAX_GRANTS: usize = 1000;

/// Largest file, in bytes.
const MAX_BYTES: u64 = 8 << 20;

const VERSION: u32 = 1;

/// The version of what a grant for commands records.
const SIGNATURE_VERSION: u32 = 1;

/// One grant.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredGrant {
    /// What is listed of it. Its `kind` is that of `covers`.
    pub info: GrantInfo,
    /// What it covers.
    pub covers: Covers,
}

/// What a grant covers.
#[derive(Debug, Clone, PartialEq)]
pub enum Covers {
    /// A call of the tool with these arguments.
    Exact {
        /// The arguments.
        input: Map<String, Value>,
        /// Where the call's paths led, or where its command ran.
        paths: Vec<PathBuf>,
    },
    /// Shell lines of nothing but these commands, in any order.
    BashSignature {
        /// The commands.
        commands: Vec<CommandSignature>,
        /// Where they run.
        paths: Vec<PathBuf>,
    },
    /// Nothing. It is written as it was read.
    NotUnderstood(Value),
}

/// The form of one simple command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandSignature {
    /// The executable: a bare name, or the path as it was written.
    pub program: String,
    /// Every flag, wherever it stands.
    pub flags: BTreeSet<String>,
    /// Every other word, in order.
    pub operands: Vec<Operand>,
}

/// A word that is no flag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operand {
    /// The word.
    pub text: String,
    /// The flags right before it: it may be the value of one of them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub after: BTreeSet<String>,
}

#[derive(Serialize, Deserialize)]
struct File<T> {
    version: u32,
    grants: Vec<T>,
}

#[derive(Serialize, Deserialize)]
struct ExactFields {
    input: Map<String, Value>,
    #[serde(default)]
    paths: Vec<PathBuf>,
}

#[derive(Serialize, Deserialize)]
struct SignatureFields {
    signature_version: u32,
    commands: Vec<CommandSignature>,
    paths: Vec<PathBuf>,
}

/// Where the grants of a session are that no daemon looks after: beside its file.
#[must_use]
pub fn grants_beside(session: &Path) -> PathBuf {
    session.with_extension("grants.json")
}

/// Reads a file of grants. One that is not there has none.
///
/// # Errors
/// What the system says; that it is too large; that it is no file of grants.
pub fn read_grants(path: &Path) -> io::Result<Vec<StoredGrant>> {
    let mut text = Vec::new();
    match open_regular(path) {
        Ok(file) => file.take(MAX_BYTES + 1).read_to_end(&mut text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    if text.len() as u64 > MAX_BYTES {
        return Err(too_large());
    }
    let file: File<Value> = serde_json::from_slice(&text)?;
    if file.version != VERSION {
        let what = format!("version {} is not known", file.version);
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(file.grants.into_iter().map(StoredGrant::read).collect())
}

/// Puts these grants in the place of what the file holds. Safe on the disk when this returns.
///
/// # Errors
/// What the system says, or that it would be too large; the file is as it was.
pub fn write_grants(path: &Path, grants: &[StoredGrant]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let rows: Result<Vec<_>, _> = grants.iter().map(StoredGrant::row).collect();
    let text = serde_json::to_vec_pretty(&File {
        version: VERSION,
        grants: rows?,
    })?;
    if text.len() as u64 > MAX_BYTES {
        return Err(too_large());
    }
    // A temporary file of this kind is made with 0600.
    let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
    temporary.write_all(&text)?;
    temporary
        .as_file()
        .set_permissions(fs::Permissions::from_mode(0o600))?;
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

/// Takes a grant out of a file that no process owns. False if it is not in there.
///
/// # Errors
/// As for [`read_grants`] and [`write_grants`].
pub fn revoke_grant(path: &Path, id: &GrantId) -> io::Result<bool> {
    let mut grants = read_grants(path)?;
    let before = grants.len();
    grants.retain(|grant| grant.info.grant_id != *id);
    if grants.len() == before {
        return Ok(false);
    }
    write_grants(path, &grants)?;
    Ok(true)
}

/// Moves a file that cannot be read out of the way, so that it is not overwritten. Gives what
/// happened, in words.
#[must_use]
pub fn set_grants_aside(path: &Path, error: &io::Error) -> String {
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

fn too_large() -> io::Error {
    let what = format!(
        "the permissions take more than {MAX_BYTES} bytes; revoke some with `shard grants revoke`"
    );
    io::Error::new(io::ErrorKind::FileTooLarge, what)
}

impl StoredGrant {
    /// As it is listed.
    #[must_use]
    pub fn listed(&self) -> GrantInfo {
        GrantInfo {
            kind: Some(self.covers.kind()),
            ..self.info.clone()
        }
    }

    fn read(row: Value) -> Self {
        let covers = covers(&row).filter(|_| info(&row).is_some());
        Self {
            info: info(&row).unwrap_or_else(|| unreadable(&row)),
            covers: covers.unwrap_or(Covers::NotUnderstood(row)),
        }
    }

    fn row(&self) -> serde_json::Result<Value> {
        let fields = match &self.covers {
            Covers::NotUnderstood(row) => return Ok(row.clone()),
            Covers::Exact { input, paths } => serde_json::to_value(ExactFields {
                input: input.clone(),
                paths: paths.clone(),
            })?,
            Covers::BashSignature { commands, paths } => serde_json::to_value(SignatureFields {
                signature_version: SIGNATURE_VERSION,
                commands: commands.clone(),
                paths: paths.clone(),
            })?,
        };
        let mut row = serde_json::to_value(self.listed())?;
        if let (Some(row), Value::Object(mut fields)) = (row.as_object_mut(), fields) {
            row.append(&mut fields);
        }
        Ok(row)
    }
}

impl Covers {
    fn kind(&self) -> GrantKind {
        match self {
            Self::Exact { .. } => GrantKind::Exact,
            Self::BashSignature { .. } => GrantKind::BashSignature,
            Self::NotUnderstood(_) => GrantKind::NotUnderstood,
        }
    }
}

fn covers(row: &Value) -> Option<Covers> {
    // The first grants were written without a kind, and are all exact.
    let kind = match row.get("kind") {
        None => GrantKind::Exact,
        Some(kind) => GrantKind::deserialize(kind).ok()?,
    };
    match kind {
        GrantKind::Exact => {
            let ExactFields { input, paths } = ExactFields::deserialize(row).ok()?;
            Some(Covers::Exact { input, paths })
        }
        GrantKind::BashSignature => {
            let fields = SignatureFields::deserialize(row).ok()?;
            let known =
                fields.signature_version == SIGNATURE_VERSION && !fields.commands.is_empty();
            known.then_some(Covers::BashSignature {
                commands: fields.commands,
                paths: fields.paths,
            })
        }
        GrantKind::NotUnderstood => None,
    }
}

fn info(row: &Value) -> Option<GrantInfo> {
    let mut row = row.as_object()?.clone();
    row.remove("kind");
    row.entry("used").or_insert(Value::from(0));
    GrantInfo::deserialize(Value::Object(row)).ok()
}

/// What can be listed of a grant that cannot be read. Its id holds as long as its text does, so
/// that it can be revoked.
fn unreadable(row: &Value) -> GrantInfo {
    let given = row.get("grant_id").and_then(Value::as_str);
    let given = given.and_then(|id| id.parse().ok());
    let mut hasher = DefaultHasher::new();
    row.to_string().hash(&mut hasher);
    let made: Option<GrantId> = format!("grant-unreadable-{:016x}", hasher.finish())
        .parse()
        .ok();
    let text = |key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
    GrantInfo {
        grant_id: given.or(made).unwrap_or_else(GrantId::generate),
        tool: text("tool").unwrap_or_else(|| "unknown".to_owned()),
        summary: text("summary").unwrap_or_else(|| "not understood".to_owned()),
        created_at: row.get("created_at").and_then(Value::as_u64).unwrap_or(0),
        source: text("source"),
        used: 0,
        last_used_at: None,
        kind: None,
    }
}
