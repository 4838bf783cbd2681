//! What people changed since the last turn, taken up before the first call to the model.

use super::Turn;
use super::link::SessionGone;
use crate::agent::Reloaded;

impl Turn {
    pub(super) async fn reload(&mut self) -> Result<(), SessionGone> {
        let Some(reload) = self.settings.agent.reload.clone() else {
            return Ok(());
        };
        let looking = tokio::task::spawn_blocking(move || reload.look());
        let changes = tokio::select! {
            () = self.settings.cancel.cancelled() => return Ok(()),
            changes = looking => changes.ok().flatten(),
        };
        let Some(changes) = changes else {
            return Ok(());
        };
        let model = match &changes.catalog {
            Some(catalog) => {
                let active = self.link.model().await?;
                let found = catalog.find(&active).await;
                Some(found.map_err(|error| error.to_string()))
            }
            None => None,
        };
        self.settings.agent = self.link.reloaded(Reloaded { changes, model }).await?;
        Ok(())
    }
}
