//! What a person picks for the session: its mode, its model, and how hard the model thinks.

use shard_protocol::{
    ErrorBody, ModeDescriptor, ModeSet, ModelSet, Models, Modes, ReasoningLevelSet,
    ReasoningLevels, SetMode, SetModel, SetReasoningLevel,
};
use shard_types::event::{Effective, ModeChanged, ModelChanged, ReasoningLevelChanged};
use shard_types::{Checkpoint, ErrorCode, ReasoningLevel};

use super::commands::{Outcome, data, refuse};
use super::effort::{self, Effort};
use super::handle::{Reply, Wish};
use super::session::AgentSession;
use crate::catalog::Selection;
use crate::reload::Reload;

impl AgentSession {
    pub(super) fn list_modes(&self) -> Outcome {
        let modes = self
            .settings
            .capabilities
            .modes
            .iter()
            .map(|mode| ModeDescriptor {
                name: mode.name().to_owned(),
                description: mode.description().to_owned(),
            });
        data(Modes {
            modes: modes.collect(),
            active: self.mode.name().to_owned(),
        })
    }

    pub(super) fn set_mode(&mut self, wish: &SetMode) -> Outcome {
        let Some(mode) = self.settings.capabilities.mode(&wish.mode).cloned() else {
            let known: Vec<_> = self
                .settings
                .capabilities
                .modes
                .iter()
                .map(|mode| mode.name())
                .collect();
            let message = format!(
                "there is no mode {:?}; there are: {}",
                wish.mode,
                known.join(", ")
            );
            return Err(refuse(ErrorCode::NotFound, message));
        };
        self.leave_error();
        let previous_mode = self.mode.name().to_owned();
        if previous_mode != wish.mode {
            let changed = Checkpoint::ModeChanged {
                mode: wish.mode.clone(),
            };
            self.store
                .checkpoint(changed)
                .map_err(|error| refuse(error.code(), error.to_string()))?;
            self.mode = mode;
            self.publish(ModeChanged {
                previous_mode: previous_mode.clone(),
                mode: wish.mode.clone(),
            });
        }
        data(ModeSet {
            previous_mode,
            mode: wish.mode.clone(),
        })
    }

    pub(super) fn list_models(&self, reply: Reply) {
        let catalog = self.settings.catalog.clone();
        let active = self.model.descriptor();
        let reload = self.settings.reload.clone();
        tokio::spawn(async move {
            let catalog = Reload::latest_catalog(reload, catalog).await;
            let mut models = catalog.list().await;
            if !models.iter().any(|model| model.id == active.id) {
                models.insert(0, active.clone());
            }
            reply(data(Models { models, active }));
        });
    }

    /// Looks the model up, which may ask a server; the session goes on meanwhile.
    pub(super) fn set_model(&mut self, wish: SetModel, reply: Reply) {
        self.model_wishes += 1;
        let number = self.model_wishes;
        let catalog = self.settings.catalog.clone();
        let wishes = self.wishes.clone();
        let reload = self.settings.reload.clone();
        tokio::spawn(async move {
            let catalog = Reload::latest_catalog(reload, catalog).await;
            let found = catalog
                .find(&wish.model)
                .await
                .map_err(|error| error.to_string());
            if let Some(wishes) = wishes.upgrade() {
                _ = wishes
                    .send(Wish::ModelFound {
                        wish: number,
                        found,
                        reply,
                    })
                    .await;
            }
        });
    }

    pub(super) fn model_found(
        &mut self,
        wish: u64,
        found: Result<Selection, String>,
        reply: Reply,
    ) {
        reply(match found {
            Err(error) => Err(refuse(ErrorCode::NotFound, error)),
            Ok(_) if wish != self.model_wishes => Err(refuse(
                ErrorCode::Conflict,
                "another model was asked for meanwhile, so this one was not taken",
            )),
            Ok(model) => self.switch(model),
        });
    }

    fn switch(&mut self, model: Selection) -> Outcome {
        self.leave_error();
        let (previous, active) = (self.model.descriptor(), model.descriptor());
        if previous.id != active.id {
            let changed = Checkpoint::ModelChanged {
                model: active.id.clone(),
            };
            self.store
                .checkpoint(changed)
                .map_err(|error| refuse(error.code(), error.to_string()))?;
            let effort = self.effort.of(&self.model.spec).to_owned();
            self.model = model;
            self.publish(ModelChanged {
                previous: previous.clone(),
                active: active.clone(),
                effective: Effective::NextProviderCall,
                capabilities: Some(self.abilities()),
            });
            self.reasoning_level_changed(effort);
        }
        data(ModelSet {
            previous,
            active,
            effective: Effective::NextProviderCall,
        })
    }

    /// The levels of the active model.
    fn levels(&self) -> Result<Vec<ReasoningLevel>, ErrorBody> {
        if effort::has_levels(&self.model.spec) {
            return Ok(effort::levels(&self.model.spec));
        }
        let message = format!(
            "the model {} offers no choice of reasoning levels",
            self.model.id()
        );
        Err(refuse(ErrorCode::NotFound, message))
    }

    pub(super) fn list_reasoning_levels(&self) -> Outcome {
        data(ReasoningLevels {
            model: self.model.descriptor(),
            levels: self.levels()?,
            active: self.effort.of(&self.model.spec).to_owned(),
            effective: Effective::NextProviderCall,
        })
    }

    pub(super) fn set_reasoning_level(&mut self, wish: &SetReasoningLevel) -> Outcome {
        let model = self.model.id();
        if wish.model != model {
            let message = format!(
                "the active model is {model} by now, not {}; list its levels and pick again",
                wish.model
            );
            return Err(refuse(ErrorCode::Conflict, message));
        }
        let levels = self.levels()?;
        if !levels.iter().any(|level| level.id == wish.effort) {
            let known: Vec<_> = levels.iter().map(|level| level.id.as_str()).collect();
            let message = format!(
                "the model {model} has no reasoning level {:?}; there are: {}",
                wish.effort,
                known.join(", ")
            );
            return Err(refuse(ErrorCode::NotFound, message));
        }
        self.leave_error();
        let previous = self.effort.of(&self.model.spec).to_owned();
        let effort = Effort::named(&wish.effort);
        // Also where nothing changes for this model: it may have had its default because it lacks
        // what was asked for until now.
        if self.effort != effort {
            let changed = Checkpoint::ReasoningLevelChanged {
                model,
                effort: wish.effort.clone(),
            };
            self.store
                .checkpoint(changed)
                .map_err(|error| refuse(error.code(), error.to_string()))?;
            self.effort = effort;
            self.reasoning_level_changed(previous.clone());
        }
        data(ReasoningLevelSet {
            model: self.model.descriptor(),
            previous,
            active: wish.effort.clone(),
            effective: Effective::NextProviderCall,
        })
    }

    /// Says which level is active, if it is another one than before.
    fn reasoning_level_changed(&self, previous: String) {
        let active = self.effort.of(&self.model.spec);
        if previous != active {
            self.publish(ReasoningLevelChanged {
                model: self.model.descriptor(),
                previous,
                active: active.to_owned(),
                effective: Effective::NextProviderCall,
            });
        }
    }
}
