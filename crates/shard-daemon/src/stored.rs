//! The records of all agents, read in one go.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use shard_types::AgentId;

use crate::manifest::{self, Manifest, ManifestError};

/// Threads that read. Most of the time is spent waiting for the disk, so a few bring most of what
/// more would.
const READERS: usize = 4;

/// What the disk has of agents.
#[derive(Debug, Default)]
pub struct Stored {
    /// Those that can be worked with, in no order.
    pub manifests: Vec<Manifest>,
    /// Those that cannot, which are left as they are.
    pub left_out: Vec<ManifestError>,
}

impl Stored {
    /// Reads the record of every agent that has a folder. One that cannot be read hinders no other.
    ///
    /// # Errors
    /// When the folder of agents cannot be read.
    pub fn read(state_home: &Path) -> io::Result<Self> {
        let ids = ids(state_home)?;
        let next = AtomicUsize::new(0);
        let reader = || {
            let mut stored = Self::default();
            while let Some(id) = ids.get(next.fetch_add(1, Ordering::Relaxed)) {
                match Manifest::read(state_home, id) {
                    Ok(manifest) => stored.manifests.push(manifest),
                    Err(error) => stored.left_out.push(error),
                }
            }
            stored
        };
        let mut stored = std::thread::scope(|scope| {
            // Where no thread is to be had, this one does it all.
            let others = (1..READERS.min(ids.len()))
                .filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, reader).ok());
            let others: Vec<_> = others.collect();
            let mut stored = reader();
            for other in others {
                match other.join() {
                    Ok(part) => stored.add(part),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            stored
        });
        stored.left_out.sort_by(|a, b| a.path().cmp(b.path()));
        Ok(stored)
    }

    fn add(&mut self, other: Self) {
        self.manifests.extend(other.manifests);
        self.left_out.extend(other.left_out);
    }
}

/// The ids of the agents that have a folder.
fn ids(state_home: &Path) -> io::Result<Vec<AgentId>> {
    let folder = manifest::agents_folder(state_home);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let ids = names.filter_map(|name| name.parse::<AgentId>().ok());
    // Definitions of agents lie in the same folder. Agents of older installations may be called
    // anything, but have a record.
    Ok(ids
        .filter(|id| id.as_str().starts_with("agent-") || manifest::path(state_home, id).exists())
        .collect())
}
