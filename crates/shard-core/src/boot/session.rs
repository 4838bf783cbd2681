//! Which session an agent works on, and what it goes on with: folder, model, mode.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use shard_contracts::Mode;
use shard_session::{Header, Loaded, SessionError, SessionFile};
use shard_types::{Checkpoint, EntryBody, SessionId, time};

use super::{Boot, BootError, SessionChoice, sessions_folder};
use crate::agent::Effort;
use crate::catalog::{Catalog, CatalogError, Selection};
use crate::host::Snapshot;

impl Boot {
    pub(super) fn find_session(&self) -> Result<Found, BootError> {
        let folder = sessions_folder(&self.state_home);
        let path = match &self.session {
            SessionChoice::New => {
                let id = SessionId::generate();
                let path = folder.join(format!("{id}.jsonl"));
                return Ok(Found::new(id, path));
            }
            SessionChoice::At { id, path } if !path.exists() => {
                return Ok(Found::new(id.clone(), path.clone()));
            }
            SessionChoice::At { path, .. } => path.clone(),
            SessionChoice::Id(id) => shard_session::by_id(&folder, id)?,
            SessionChoice::Continue => {
                let cwd = canonical(self.cwd.as_ref().unwrap_or(&self.current_dir))?;
                shard_session::latest(&folder, &cwd)?.path
            }
        };
        let (file, loaded) = SessionFile::open(&path)?;
        Ok(Found {
            session_id: loaded.header.session_id.clone(),
            path,
            loaded: Some(loaded),
            file: Some(file),
        })
    }

    /// What `--cwd` says; else where the session works; else here.
    pub(super) fn working_folder(&self, loaded: Option<&Loaded>) -> Result<PathBuf, BootError> {
        let session = loaded.map(|loaded| PathBuf::from(&loaded.header.cwd));
        canonical(
            self.cwd
                .as_ref()
                .or(session.as_ref())
                .unwrap_or(&self.current_dir),
        )
    }

    /// What was asked for; else what the session last used, as long as there is such a model; else
    /// what the configuration says.
    pub(super) async fn choose_model(
        &self,
        catalog: &Catalog,
        loaded: Option<&Loaded>,
    ) -> Result<Selection, CatalogError> {
        if let Some(id) = &self.model {
            return catalog.find(id).await;
        }
        if let Some(id) = Recorded::of(loaded).model
            && let Ok(selection) = catalog.find(&id).await
        {
            return Ok(selection);
        }
        match &self.config.model {
            Some(id) => catalog.find(id).await,
            None => catalog.first().await,
        }
    }

    pub(super) fn choose_mode(
        &self,
        capabilities: &Snapshot,
        loaded: Option<&Loaded>,
    ) -> Result<Arc<dyn Mode>, BootError> {
        let modes = &capabilities.modes;
        let unknown = |name: &str| BootError::Mode {
            name: name.to_owned(),
            known: modes
                .iter()
                .map(|mode| mode.name())
                .collect::<Vec<_>>()
                .join(", "),
        };
        if let Some(name) = &self.mode {
            return capabilities
                .mode(name)
                .cloned()
                .ok_or_else(|| unknown(name));
        }
        let last = Recorded::of(loaded).mode;
        let chosen = last
            .and_then(|name| capabilities.mode(&name))
            .or(modes.first());
        chosen.cloned().ok_or_else(|| unknown("(default)"))
    }

    /// What was asked for now is what the session goes on with: the rows that say so. A model, an
    /// effort or a mode that the session used and that is gone is told.
    pub(super) fn note_choices(
        &self,
        loaded: Option<&Loaded>,
        selection: &Selection,
        mode: &dyn Mode,
        told: &mut Vec<String>,
    ) -> Vec<Checkpoint> {
        let (recorded, model) = (Recorded::of(loaded), selection.id());
        let mut rows = Vec::new();
        if let Some(lost) = recorded.effort.lacked_by(&selection.spec) {
            told.push(format!(
                "the session last used the reasoning level {lost}, which {model} does not have; its default is used"
            ));
        }
        match (&self.model, recorded.model) {
            (None, Some(lost)) if lost != model => told.push(format!(
                "the session last used {lost}, which is not there; {model} is used"
            )),
            (Some(_), last) if last.as_ref() != Some(&model) => {
                rows.push(Checkpoint::ModelChanged { model });
            }
            _ => {}
        }
        match (&self.mode, recorded.mode) {
            (None, Some(lost)) if lost != mode.name() => told.push(format!(
                "the session was last in the mode {lost}, which is not there; it goes on in {}",
                mode.name()
            )),
            (Some(asked), last) if last.as_ref() != Some(asked) => {
                rows.push(Checkpoint::ModeChanged {
                    mode: asked.clone(),
                });
            }
            _ => {}
        }
        rows
    }
}

fn canonical(folder: &Path) -> Result<PathBuf, BootError> {
    let failed = |source| BootError::Cwd {
        path: folder.to_owned(),
        source,
    };
    let real = folder.canonicalize().map_err(failed)?;
    // Reading the list is what tells a folder that may be entered from one that may not.
    std::fs::read_dir(&real).map_err(failed)?;
    Ok(real)
}

/// What a session says that it last worked with.
#[derive(Default)]
struct Recorded {
    model: Option<String>,
    mode: Option<String>,
    effort: Effort,
}

impl Recorded {
    fn of(loaded: Option<&Loaded>) -> Self {
        let mut recorded = Self::default();
        for entry in loaded.iter().flat_map(|loaded| &loaded.entries) {
            match &entry.body {
                EntryBody::Checkpoint(Checkpoint::ModelChanged { model }) => {
                    recorded.model = Some(model.clone());
                }
                EntryBody::Checkpoint(Checkpoint::ModeChanged { mode }) => {
                    recorded.mode = Some(mode.clone());
                }
                EntryBody::Checkpoint(Checkpoint::ReasoningLevelChanged { effort, .. }) => {
                    recorded.effort = Effort::named(effort);
                }
                _ => {}
            }
        }
        recorded
    }
}

/// The session to work on, before anything was written.
pub(super) struct Found {
    pub(super) session_id: SessionId,
    pub(super) path: PathBuf,
    pub(super) loaded: Option<Loaded>,
    /// The file, of a session that exists.
    file: Option<SessionFile>,
}

impl Found {
    /// A session that is yet to be made.
    fn new(session_id: SessionId, path: PathBuf) -> Self {
        Self {
            session_id,
            path,
            loaded: None,
            file: None,
        }
    }

    /// The file, made now if the session is new.
    pub(super) fn open(self, cwd: &Path) -> Result<(SessionFile, Option<Loaded>), SessionError> {
        let Self {
            session_id,
            path,
            loaded,
            file,
        } = self;
        let file = match file {
            Some(file) => file,
            None => {
                let cwd = cwd.to_string_lossy().into_owned();
                SessionFile::create(
                    &path,
                    &Header {
                        session_id,
                        cwd,
                        created_at: time::now_ms(),
                    },
                )?
            }
        };
        Ok((file, loaded))
    }
}
