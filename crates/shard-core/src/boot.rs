//! From a configuration to a session that is ready to run.
//!
//! Reads no environment and no home directory: whoever starts an agent says what they are.

mod session;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shard_config::resources::{Resources, Roots};
use shard_config::{Config, expand_home};
use shard_contracts::{Extension, Provider, Tool};
use shard_session::{SessionError, UsageLog, grants_beside};
use shard_types::{AgentId, EntryBody, ErrorCode, HeadlessPolicy, SessionId};

use crate::agent::{AgentHandle, AgentSession, Channel, Responder, SessionUi, Settings};
use crate::bundled;
use crate::bus::Bus;
use crate::catalog::{Catalog, CatalogError, Selection};
use crate::compaction::DefaultCompactor;
use crate::gate::{Gate, GateSettings};
use crate::host::{ExtensionHost, Snapshot};
use crate::knowledge::Knowledge;
use crate::provider::{Surroundings, configured};
use crate::reload::Reload;
use crate::tools::{Bash, Environment, LOAD_SKILL, ReadLog, Sandbox, builtin};

use session::Found;

/// Which session to work on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChoice {
    /// A new one.
    New,
    /// The one of this folder that was written to last.
    Continue,
    /// This one.
    Id(SessionId),
    /// The one of this file, which is made if it is not there.
    At {
        /// The session.
        id: SessionId,
        /// Its file.
        path: PathBuf,
    },
}

/// What an agent is started with.
pub struct Boot {
    /// The folder to work in; that of the session, or the current one, if left out.
    pub cwd: Option<PathBuf>,
    /// The folder that this process was started in.
    pub current_dir: PathBuf,
    /// The configuration, as it stands in its file.
    pub config: Config,
    /// Where it was read from, and is looked for again.
    pub config_path: PathBuf,
    /// Where state is kept.
    pub state_home: PathBuf,
    /// What `~/` stands for in the configuration.
    pub home: Option<PathBuf>,
    /// The environment of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// The session.
    pub session: SessionChoice,
    /// Which agent this is, where a daemon looks after it.
    pub agent_id: Option<AgentId>,
    /// Where standing permissions are kept; beside the session's file if left out.
    pub grants_path: Option<PathBuf>,
    /// `provider/model`, over what the session and the configuration say.
    pub model: Option<String>,
    /// The mode, over what the session says.
    pub mode: Option<String>,
    /// Exactly these tools.
    pub tools: Option<Vec<String>>,
    /// Exactly these skills.
    pub skills: Option<Vec<String>>,
    /// Over what the configuration says.
    pub headless_policy: Option<HeadlessPolicy>,
    /// Whether the project's own allow rules, instructions, skills and definitions count.
    pub trust_project: bool,
    /// Whether `AGENTS.md` files are read beside `SHARD.md`.
    pub agents_md: bool,
    /// Who answers questions.
    pub responder: Responder,
    /// What the agent can do beyond what is built in. Installed last, so that it may replace.
    pub extensions: Vec<Box<dyn Extension>>,
}

/// A session that is ready to run.
pub struct Booted {
    /// The session; nothing happens until it is run.
    pub session: AgentSession,
    /// Reaches it.
    pub handle: AgentHandle,
    /// Where its events come out.
    pub bus: Arc<Bus>,
    /// What the extensions want done at the end; to be shut down after the session.
    pub host: ExtensionHost,
    /// Which session it is.
    pub session_id: SessionId,
    /// The model that it starts with.
    pub model: Selection,
    /// What is worth telling a person about rules, grants and extensions.
    pub diagnostics: Vec<String>,
}

/// Why an agent could not be started.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// The folder to work in is not there.
    #[error("cannot work in {path}: {source}; name an existing folder with --cwd")]
    Cwd {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The session cannot be opened.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The model is not there.
    #[error(transparent)]
    Model(#[from] CatalogError),
    /// A tool of the allowlist is not there.
    #[error("there is no tool {name:?}; there are: {known}")]
    Tool {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// A skill of the allowlist is not there.
    #[error("there is no skill {name:?}; there are: {known}")]
    Skill {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// The mode is not there.
    #[error("there is no mode {name:?}; there are: {known}")]
    Mode {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
}

impl BootError {
    /// The code on the wire.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Cwd { .. } => ErrorCode::InvalidRequest,
            Self::Session(error) => error.code(),
            Self::Model(_) | Self::Tool { .. } | Self::Skill { .. } | Self::Mode { .. } => {
                ErrorCode::NotFound
            }
        }
    }
}

/// The folder of sessions that no daemon looks after.
#[must_use]
pub fn sessions_folder(state_home: &Path) -> PathBuf {
    state_home.join("sessions")
}

impl Boot {
    /// Builds everything, and opens the session's file last of all.
    ///
    /// # Errors
    /// [`BootError`], with nothing left behind.
    pub async fn assemble(self) -> Result<Booted, BootError> {
        let found = self.find_session()?;
        let cwd = self.working_folder(found.loaded.as_ref())?;
        let session_id = found.session_id.clone();
        let output_dir = found.path.with_extension("output");
        let grants_path = self.grants_path.clone();
        let grants_path = grants_path.unwrap_or_else(|| grants_beside(&found.path));
        let (channel, bus) = (Channel::default(), Arc::new(Bus::default()));
        let handle = channel.handle.clone();
        let mut diagnostics = Vec::new();
        let resources = self.resources(&cwd, found.loaded.is_some(), &mut diagnostics)?;
        let gate = self.gate(grants_path, &output_dir, &mut diagnostics);
        let knowledge = Arc::new(Knowledge::default());
        let around = self.surroundings();
        let providers = configured(&self.config, &around);
        let mut host = ExtensionHost::new(Arc::clone(&bus), Arc::new(SessionUi::new(&handle)));
        let bundled = self.bundled(&found, &cwd, &knowledge, &gate, &providers);
        for extension in bundled.iter().chain(&self.extensions) {
            host.install(&**extension).await;
        }
        diagnostics.extend(
            host.diagnostics()
                .iter()
                .map(|note| format!("{}: {}", note.extension, note.message)),
        );
        let mut capabilities = host.snapshot();
        self.restrict_tools(&mut capabilities)?;
        let catalog = Catalog::new(capabilities.providers.clone());
        let model = self.choose_model(&catalog, found.loaded.as_ref()).await?;
        let mode = self.choose_mode(&capabilities, found.loaded.as_ref())?;
        let chosen = self.note_choices(found.loaded.as_ref(), &model, &*mode, &mut diagnostics);
        let reload = Reload {
            roots: self.roots(&cwd),
            skills: self.skills.clone(),
            loads_skills: capabilities.tool(LOAD_SKILL).is_some(),
            headless_policy: self.headless_policy,
            gate,
            knowledge: Arc::clone(&knowledge),
            others: other_providers(&capabilities, &providers),
            providers: Box::new(move |config| configured(config, &around)),
            last: Mutex::default(),
        };
        diagnostics.extend(reload.begin(&self.config, resources));
        // What the configuration says is taken up below, as it is when it changes.
        let mut settings = Settings {
            knowledge,
            reload: Some(Arc::new(reload)),
            mode,
            capabilities,
            catalog,
            model: model.clone(),
            responder: self.responder,
            ask_timeout: Duration::ZERO,
            headless_policy: HeadlessPolicy::Deny,
            max_rounds: 0,
            auto_compact: true,
            keep_recent_tokens: 0,
            max_output_bytes: 0,
            output_dir,
            cwd: cwd.clone(),
        };
        settings.obey(&self.config, self.headless_policy);
        let (mut file, loaded) = found.open(&cwd)?;
        for checkpoint in chosen {
            file.append(EntryBody::Checkpoint(checkpoint))?;
        }
        let session = AgentSession::new(settings, Arc::clone(&bus), channel, file, loaded);
        Ok(Booted {
            session,
            handle,
            bus,
            host,
            session_id,
            model,
            diagnostics,
        })
    }

    /// What every agent can do.
    fn bundled(
        &self,
        found: &Found,
        cwd: &Path,
        knowledge: &Arc<Knowledge>,
        gate: &Arc<Gate>,
        providers: &[Arc<dyn Provider>],
    ) -> [Box<dyn Extension>; 7] {
        let usage = UsageLog::new(
            &self.state_home,
            found.session_id.clone(),
            self.agent_id.clone(),
            cwd.display().to_string(),
        );
        [
            Box::new(bundled::Tools(self.builtin_tools(&found.path))),
            Box::new(bundled::Skills(Arc::clone(knowledge))),
            Box::new(bundled::Modes),
            Box::new(bundled::Gatekeeper(Arc::clone(gate) as _)),
            Box::new(bundled::Compaction(self.compactor())),
            Box::new(bundled::Providers(providers.to_vec())),
            Box::new(bundled::UsageKeeper(Arc::new(usage))),
        ]
    }

    fn config_dir(&self) -> &Path {
        self.config_path.parent().unwrap_or(Path::new("/"))
    }

    fn roots(&self, cwd: &Path) -> Roots {
        Roots {
            cwd: cwd.to_owned(),
            config_path: self.config_path.clone(),
            state_home: self.state_home.clone(),
            home: self.home.clone(),
            trust_project: self.trust_project,
            agents_md: self.agents_md,
        }
    }

    /// What people wrote down. A skill that was asked for must be there when a session begins; one
    /// that is gone later is told.
    fn resources(
        &self,
        cwd: &Path,
        goes_on: bool,
        told: &mut Vec<String>,
    ) -> Result<Resources, BootError> {
        let mut resources = Resources::find(&self.roots(cwd), &self.config.permissions);
        let names = resources.skills.iter().map(|skill| skill.name.as_str());
        let known = names.collect::<Vec<_>>().join(", ");
        let allowed = self
            .skills
            .as_ref()
            .map(|names| resources.allow_skills(names));
        match allowed {
            Some(Err(name)) if goes_on => told.push(format!(
                "the skill {name}, which this agent was made with, is not there"
            )),
            Some(Err(name)) => return Err(BootError::Skill { name, known }),
            _ => {}
        }
        Ok(resources)
    }

    /// The gate, before it knows any rules.
    fn gate(&self, grants_path: PathBuf, output_dir: &Path, told: &mut Vec<String>) -> Arc<Gate> {
        let (gate, problems) = Gate::new(GateSettings {
            layers: Vec::new(),
            grants_path,
            config_dir: self.config_dir().to_owned(),
            state_home: self.state_home.clone(),
            home: self
                .environment
                .iter()
                .find(|(name, _)| name == "HOME")
                .map(|(_, home)| PathBuf::from(home)),
            readable: vec![output_dir.to_owned()],
        });
        told.extend(problems);
        Arc::new(gate)
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings {
            home: self.home.clone(),
            environment: self.environment.clone().into(),
            model: self.model.clone(),
        }
    }

    fn compactor(&self) -> DefaultCompactor {
        DefaultCompactor {
            reserve_ratio: self.config.compaction.reserve_ratio,
        }
    }

    fn builtin_tools(&self, session: &Path) -> Vec<Arc<dyn Tool>> {
        let secret: Vec<_> = self
            .config
            .providers
            .values()
            .filter_map(|provider| provider.api_key_env.clone())
            .collect();
        let environment = Environment::new(self.environment.iter().cloned(), &secret);
        let timeout = Duration::from_secs(self.config.tools.bash_timeout_secs);
        builtin(
            &Arc::new(ReadLog::default()),
            Bash::new(environment, timeout, self.sandbox()),
            session,
        )
    }

    fn sandbox(&self) -> Sandbox {
        let write = self.config.sandbox.write.iter();
        Sandbox {
            mode: self.config.sandbox.mode,
            home: self.home.clone(),
            write: write
                .filter_map(|path| expand_home(path, self.home.as_deref()))
                .collect(),
            config_dir: self.config_dir().to_owned(),
            state_home: self.state_home.clone(),
        }
    }

    fn restrict_tools(&self, capabilities: &mut Snapshot) -> Result<(), BootError> {
        let Some(allowed) = &self.tools else {
            return Ok(());
        };
        if let Some(name) = allowed
            .iter()
            .find(|name| capabilities.tool(name).is_none())
        {
            let known: Vec<_> = capabilities.tools.iter().map(|tool| tool.name()).collect();
            return Err(BootError::Tool {
                name: name.clone(),
                known: known.join(", "),
            });
        }
        capabilities
            .tools
            .retain(|tool| allowed.iter().any(|name| name == tool.name()));
        Ok(())
    }
}

/// Providers that extensions brought, or put in the place of configured ones.
fn other_providers(
    capabilities: &Snapshot,
    configured: &[Arc<dyn Provider>],
) -> Vec<Arc<dyn Provider>> {
    let is_configured =
        |provider: &Arc<dyn Provider>| configured.iter().any(|known| Arc::ptr_eq(known, provider));
    let providers = capabilities.providers.iter();
    providers
        .filter(|provider| !is_configured(provider))
        .cloned()
        .collect()
}
