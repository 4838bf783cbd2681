//! `resources.list`: what an agent knows at its start, and why something is not in force.

use std::path::PathBuf;

use shard_config::Permissions;
use shard_config::resources::{Found, Note, Resources, Roots};
use shard_protocol::{ErrorBody, ResourceInfo, ResourcesList};
use shard_types::ErrorCode;

use super::agents::working_folder;
use super::aside;
use crate::client::{Outcome, data, refuse};
use crate::daemon::Daemon;

/// Everything that counts for an agent, or for one that would be made in a folder. It is read anew:
/// an agent that runs takes changes up at its next turn.
pub(super) async fn list(daemon: &Daemon, query: ResourcesList) -> Outcome {
    let (cwd, skills) = match (query.agent_id, query.cwd) {
        (Some(id), _) => {
            let manifest = daemon.registry.find(&id)?.manifest();
            let cwd = manifest.cwd.to_string_lossy().into_owned();
            (working_folder(&cwd).await?, manifest.skills)
        }
        (None, Some(cwd)) => (working_folder(&cwd).await?, None),
        (None, None) => {
            let message = "say which agent with `agent_id`, or which folder with `cwd`";
            return Err(refuse(ErrorCode::InvalidRequest, message));
        }
    };
    let resources = aside({
        let roots = roots(daemon, cwd);
        move || Ok::<_, ErrorBody>(find(&roots, skills.as_deref()))
    });
    data(shard_protocol::Resources {
        resources: resources.await?,
    })
}

fn roots(daemon: &Daemon, cwd: PathBuf) -> Roots {
    let settings = &daemon.shared.settings;
    Roots {
        cwd,
        config_path: settings.config_path.clone(),
        state_home: settings.state_home.clone(),
        home: settings.home.clone(),
        trust_project: settings.trust_project,
        agents_md: true,
    }
}

fn find(roots: &Roots, skills: Option<&[String]>) -> Vec<ResourceInfo> {
    // What is wrong with the configuration is told where it is read.
    let permissions = match shard_config::load(&roots.config_path) {
        Ok(loaded) => loaded.config.permissions,
        Err(_) => Permissions::default(),
    };
    let mut resources = Resources::find(roots, &permissions);
    if let Some(names) = skills {
        // One that is not there is in no list.
        _ = resources.allow_skills(names);
    }
    resources.found.into_iter().map(info).collect()
}

fn info(found: Found) -> ResourceInfo {
    ResourceInfo {
        kind: found.kind.as_str().to_owned(),
        name: found.name,
        path: found.path.to_string_lossy().into_owned(),
        layer: found.layer.as_str().to_owned(),
        active: found.active,
        description: found.description,
        details: found.details,
        diagnostics: found
            .notes
            .iter()
            .map(Note::text)
            .map(str::to_owned)
            .collect(),
    }
}
