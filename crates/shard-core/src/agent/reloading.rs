//! Taking up what people changed, between two turns.

use std::sync::Arc;

use shard_types::event::ResourcesChanged;

use super::handle::Reloaded;
use super::session::AgentSession;
use super::settings::Settings;
use crate::reload::{Changes, shown};

impl AgentSession {
    /// Puts the changes in force and tells of them. The turn goes on with what this returns.
    pub(super) fn reloaded(&mut self, reloaded: Reloaded) -> Arc<Settings> {
        let Reloaded { mut changes, model } = reloaded;
        if let Some(reload) = self.settings.reload.clone() {
            reload.commit(&mut changes);
            self.settings = Arc::new(reload.settings(&self.settings, &changes));
        }
        let Changes {
            changed,
            mut diagnostics,
            ..
        } = changes;
        match model {
            // It is the same one, as the configuration describes it by now.
            Some(Ok(found)) if found.id() == self.model.id() => self.model = found,
            Some(Err(gone)) => diagnostics.push(format!(
                "{gone}; this session goes on with {} until another model is picked",
                self.model.id()
            )),
            _ => {}
        }
        for diagnostic in &diagnostics {
            tracing::warn!("{diagnostic}");
        }
        self.publish(ResourcesChanged {
            changed: changed.iter().map(|path| shown(path)).collect(),
            diagnostics,
        });
        Arc::clone(&self.settings)
    }
}
