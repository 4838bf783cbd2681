//! Files on disk: bounded reads, and writes that leave either the old text or the new one.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use crate::document::MAX_BYTES;
use crate::{ConfigError, Diagnostic, Position};

/// A file as it was found.
pub(crate) struct Stored {
    pub(crate) text: String,
    /// Whether the mode lets the group or everybody read it.
    pub(crate) others_may_read: bool,
}

/// Reads a file of bounded size; `None` when there is none.
pub(crate) fn read(path: &Path) -> Result<Option<Stored>, ConfigError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ConfigError::read(path, error)),
    };
    // Opening a pipe would wait for whoever writes to it.
    if !metadata.is_file() {
        let error = io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file");
        return Err(ConfigError::read(path, error));
    }
    let bytes = read_bounded(path, MAX_BYTES).map_err(|error| ConfigError::read(path, error))?;
    if bytes.len() > MAX_BYTES {
        let error = io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it is too long for a configuration",
        );
        return Err(ConfigError::read(path, error));
    }
    let text = String::from_utf8(bytes).map_err(|error| not_utf8(path, &error))?;
    Ok(Some(Stored {
        text,
        others_may_read: others_may_read(&metadata),
    }))
}

/// Reads up to one byte more than `limit`, by which longer files are recognized.
pub(crate) fn read_bounded(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Puts `text` in the place of the file at `path`, readable by its owner only.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), ConfigError> {
    // A link stays a link: people keep such files in a repository of their own.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let write = || {
        let folder = folder_of(&target)?;
        let file = prepare(folder, text)?;
        file.persist(&target)?;
        sync_folder(folder)
    };
    write().map_err(|error| ConfigError::write(path, error))
}

/// Writes a file that does not exist yet.
pub(crate) fn create(path: &Path, text: &str) -> Result<(), ConfigError> {
    let write = || {
        let folder = folder_of(path)?;
        let file = prepare(folder, text)?;
        file.persist_noclobber(path)?;
        sync_folder(folder)
    };
    write().map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => ConfigError::Exists(path.to_owned()),
        _ => ConfigError::write(path, error),
    })
}

fn folder_of(path: &Path) -> io::Result<&Path> {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Ok(Path::new(".")),
        Some(folder) => Ok(folder),
        None => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file")),
    }
}

/// Writes the text to a file beside its later place. Such files are made with mode 0600.
fn prepare(folder: &Path, text: &str) -> io::Result<tempfile::NamedTempFile> {
    create_folder(folder)?;
    let mut file = tempfile::Builder::new()
        .prefix(".config-")
        .suffix(".tmp")
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Makes the rename itself survive a power cut.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(unix)]
fn create_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

#[cfg(not(unix))]
fn create_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(unix)]
fn others_may_read(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o044 != 0
}

#[cfg(not(unix))]
fn others_may_read(_: &fs::Metadata) -> bool {
    false
}

fn not_utf8(path: &Path, error: &std::string::FromUtf8Error) -> ConfigError {
    let valid = error.utf8_error().valid_up_to();
    let before = String::from_utf8_lossy(&error.as_bytes()[..valid]);
    let diagnostic = Diagnostic {
        file: path.to_owned(),
        position: Position::of(&before, valid),
        key: String::new(),
        message: "not valid JSON: expected text in UTF-8".to_owned(),
    };
    diagnostic.into()
}
