//! Whether another agent may work in a workspace.

use shard_protocol::ErrorBody;
use shard_types::{WorkspaceId, time};

use super::Workspaces;
use super::create::Entered;

impl Workspaces {
    /// The workspace for an agent that is about to be made, which nobody removes meanwhile.
    ///
    /// # Errors
    /// Why no agent can work there, and what to do.
    pub(crate) async fn attach(&self, id: &WorkspaceId) -> Result<Entered, ErrorBody> {
        let entered = self.enter(id)?;
        let record = self.find(id)?;
        record.usable()?;
        let record = record.at(record.step.clone(), time::now_ms());
        self.keep(&record).await?;
        Ok((record, entered))
    }
}
