//! Taking up what people change while an agent lives.
//!
//! At the start of each turn everything is read again and compared with what is in force. Nothing
//! is watched: an idle agent costs no thread and no handle, no change between two looks can be
//! missed, and within a turn nothing changes. What is new is put in force as a whole.
//!
//! What is broken is told and changes nothing, with one exception: a rule that cannot be read
//! holds back more than it was meant to.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use shard_config::Config;
use shard_config::resources::{Resources, Roots};
use shard_contracts::Provider;
use shard_types::HeadlessPolicy;

use crate::agent::Settings;
use crate::catalog::Catalog;
use crate::gate::Gate;
use crate::knowledge::Knowledge;

/// Makes the providers of a configuration.
pub(crate) type Providers = Box<dyn Fn(&Config) -> Vec<Arc<dyn Provider>> + Send + Sync>;

/// What an agent looks at again, and what it then changes.
pub struct Reload {
    pub(crate) roots: Roots,
    /// Exactly these skills.
    pub(crate) skills: Option<Vec<String>>,
    /// Whether the agent has the tool that loads skills.
    pub(crate) loads_skills: bool,
    /// Over what the configuration says.
    pub(crate) headless_policy: Option<HeadlessPolicy>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) knowledge: Arc<Knowledge>,
    pub(crate) providers: Providers,
    /// Providers that do not come from the configuration.
    pub(crate) others: Vec<Arc<dyn Provider>>,
    /// What is in force. Held for one look, which is no business of the session's task.
    pub(crate) last: Mutex<Last>,
}

/// What is in force.
#[derive(Default)]
pub(crate) struct Last {
    pub(crate) config: Config,
    pub(crate) resources: Resources,
    /// What was told last of a configuration that cannot be used.
    pub(crate) problem: Option<String>,
}

/// What one look brought. Nothing of it is in force yet.
#[derive(Default)]
pub(crate) struct Changes {
    /// The files that are new, gone or not the same.
    pub(crate) changed: Vec<PathBuf>,
    /// What is worth telling about them.
    pub(crate) diagnostics: Vec<String>,
    /// The configuration, if there is another one that can be used.
    pub(crate) config: Option<Config>,
    /// The models that there are, if they changed.
    pub(crate) catalog: Option<Catalog>,
    /// Everything else, if anything of it changed.
    resources: Option<Resources>,
    /// What is wrong with the configuration.
    problem: Option<String>,
}

impl Reload {
    /// Puts in force what an agent starts with; what is worth telling about it is returned.
    pub(crate) fn begin(&self, config: &Config, resources: Resources) -> Vec<String> {
        let mut told = resources.warnings();
        told.extend(self.put_in_force(&resources));
        let mut last = self.last();
        last.config = config.clone();
        last.resources = resources;
        told
    }

    /// Reads everything again; `None` if there is nothing new. Blocks for as long as the disk takes.
    pub(crate) fn look(&self) -> Option<Changes> {
        let last = self.last();
        let mut changes = Changes::default();
        self.look_at_config(&last, &mut changes);
        let config = changes.config.as_ref().unwrap_or(&last.config);
        let mut resources = Resources::find(&self.roots, &config.permissions);
        if let Some(names) = &self.skills {
            // One that is gone is not there; it may come back.
            _ = resources.allow_skills(names);
        }
        let differing = resources.difference(&last.resources);
        if !differing.is_empty() {
            let told = last.resources.warnings();
            let now = resources.warnings().into_iter();
            changes
                .diagnostics
                .extend(now.filter(|news| !told.contains(news)));
            changes.changed.extend(differing);
            changes.changed.sort_unstable();
            changes.changed.dedup();
            changes.resources = Some(resources);
        }
        let same = changes.changed.is_empty() && changes.problem == last.problem;
        (!same).then_some(changes)
    }

    /// Puts in force what a look brought.
    pub(crate) fn commit(&self, changes: &mut Changes) {
        let mut last = self.last();
        last.problem = changes.problem.take();
        if let Some(config) = &changes.config {
            last.config = config.clone();
        }
        if let Some(resources) = changes.resources.take() {
            changes.diagnostics.extend(self.put_in_force(&resources));
            last.resources = resources;
        }
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces rules, context and skills. What was wrong with them is returned in words.
    fn put_in_force(&self, resources: &Resources) -> Vec<String> {
        let skills = resources.skills.iter().filter(|_| self.loads_skills);
        let folders = skills.map(|skill| skill.folder.clone()).collect();
        let mut told = self.gate.replace(resources.rules.clone(), folders);
        told.extend(self.knowledge.replace(resources, self.loads_skills));
        told
    }

    fn look_at_config(&self, last: &Last, changes: &mut Changes) {
        let path = &self.roots.config_path;
        let problem = match shard_config::load(path) {
            Ok(loaded) if loaded.config == last.config => return,
            Ok(loaded) if loaded.existed => {
                let (old, new) = (&last.config, loaded.config);
                let warnings = loaded.warnings.iter().map(ToString::to_string);
                changes.diagnostics.extend(warnings);
                changes.diagnostics.extend(needs_a_start(old, &new));
                if old.providers != new.providers || old.model != new.model {
                    changes.catalog = Some(self.catalog(&new));
                }
                changes.changed.push(path.clone());
                changes.config = Some(new);
                return;
            }
            Ok(_) => format!("{}: it is gone", path.display()),
            Err(error) => error.to_string(),
        };
        if last.problem.as_ref() != Some(&problem) {
            let told = format!("{problem}; what it said before stays in force");
            changes.diagnostics.push(told);
        }
        changes.problem = Some(problem);
    }

    /// The models that there are by now, for a person who picks one between two turns; `known` if
    /// nothing changed.
    pub(crate) async fn latest_catalog(reload: Option<Arc<Self>>, known: Catalog) -> Catalog {
        let Some(reload) = reload else {
            return known;
        };
        let looking = tokio::task::spawn_blocking(move || {
            let mut changes = Changes::default();
            reload.look_at_config(&reload.last(), &mut changes);
            changes.catalog
        });
        looking.await.ok().flatten().unwrap_or(known)
    }

    fn catalog(&self, config: &Config) -> Catalog {
        let mut providers = (self.providers)(config);
        for other in &self.others {
            providers.retain(|provider| provider.name() != other.name());
            providers.push(Arc::clone(other));
        }
        Catalog::new(providers)
    }

    /// The settings of an agent after these changes.
    pub(crate) fn settings(&self, now: &Settings, changes: &Changes) -> Settings {
        let mut settings = now.clone();
        if let Some(config) = &changes.config {
            settings.obey(config, self.headless_policy);
        }
        if let Some(catalog) = &changes.catalog {
            settings.catalog = catalog.clone();
        }
        settings
    }
}

impl Settings {
    /// Takes up what a configuration says about running turns.
    pub(crate) fn obey(&mut self, config: &Config, headless_policy: Option<HeadlessPolicy>) {
        self.ask_timeout = Duration::from_secs(config.permissions.ask_timeout_secs);
        self.headless_policy = headless_policy.unwrap_or(config.permissions.headless_policy);
        self.max_rounds = config.tools.max_rounds;
        self.auto_compact = config.compaction.enabled;
        self.keep_recent_tokens = config.compaction.keep_recent_tokens;
        self.max_output_bytes =
            usize::try_from(config.tools.max_output_bytes).unwrap_or(usize::MAX);
    }
}

/// What has changed that a running agent cannot take up.
fn needs_a_start(old: &Config, new: &Config) -> Option<String> {
    let parts = [
        ("sandbox", old.sandbox != new.sandbox),
        (
            "tools.bash_timeout_secs",
            old.tools.bash_timeout_secs != new.tools.bash_timeout_secs,
        ),
        (
            "compaction.reserve_ratio",
            old.compaction.reserve_ratio.to_bits() != new.compaction.reserve_ratio.to_bits(),
        ),
        ("subagents", old.subagents != new.subagents),
        ("mcp", old.mcp != new.mcp),
    ];
    let names: Vec<_> = parts
        .iter()
        .filter(|part| part.1)
        .map(|part| part.0)
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "changed, and counts from the agent's next start on: {}",
            names.join(", ")
        )
    })
}

/// A path as an event names it.
pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}
