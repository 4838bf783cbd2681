//! `shard config`: where the configuration is, what it says, what is wrong with it.

use anyhow::Context;
use shard_config::{Endpoint, ProviderConfig};
use shard_core::provider::{Offer, from_environment, local_servers};

use super::{block_on, load_config};
use crate::args::{ConfigArgs, ConfigCommand};
use crate::failure::{FAILED, Failure, print, say};
use crate::places::Places;

pub(crate) fn run(args: ConfigArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    match args.command {
        ConfigCommand::Path => print(&places.config.to_string_lossy())?,
        ConfigCommand::Show => print(&shard_config::show(&load_config(&places)?))?,
        ConfigCommand::Init => {
            shard_config::init(&places.config)?;
            print(&places.config.to_string_lossy())?;
            say("written; docs/CONFIGURATION.md explains every key");
        }
        ConfigCommand::Check => return check(&places),
        ConfigCommand::Use { name, model } => return block_on(use_offer(&places, &name, model)),
    }
    Ok(())
}

/// Names the mistakes, of the first kind that there is: where the JSON breaks off, all keys that
/// stand twice, the first value of a wrong type, or all values that cannot be used.
fn check(places: &Places) -> Result<(), Failure> {
    match shard_config::load(&places.config) {
        Ok(loaded) => {
            for warning in &loaded.warnings {
                say(&format!("warning: {warning}"));
            }
            print(&match (loaded.existed, loaded.warnings.len()) {
                (false, _) => format!("{}: not there; the defaults apply", places.config.display()),
                (true, 0) => format!("{}: good", places.config.display()),
                (true, count) => format!(
                    "{}: usable, with {count} warning(s)",
                    places.config.display()
                ),
            })?;
            Ok(())
        }
        Err(error) if error.diagnostics().is_empty() => Err(error.into()),
        Err(error) => {
            for diagnostic in error.diagnostics() {
                say(&format!("error: {diagnostic}"));
            }
            Err(Failure::silent(FAILED))
        }
    }
}

/// What could be configured on this machine.
pub(super) async fn offers() -> Vec<Offer> {
    let mut offers = from_environment(|name| std::env::var(name).ok());
    offers.extend(local_servers().await);
    offers
}

async fn use_offer(places: &Places, name: &str, model: Option<String>) -> Result<(), Failure> {
    let offers = offers().await;
    let Some(offer) = offers.iter().find(|offer| offer.name == name) else {
        let known: Vec<_> = offers.iter().map(|offer| offer.name.as_str()).collect();
        let known = if known.is_empty() {
            "nothing".to_owned()
        } else {
            known.join(", ")
        };
        return Err(Failure::usage(format!(
            "{name:?} was not found on this machine; found: {known}. Set its key in the environment or start its server, then try again"
        )));
    };
    let mut provider = ProviderConfig::new(offer.kind);
    provider.api = offer.api;
    provider.base_url = Some(endpoint(&offer.base_url)?);
    provider.api_key_env.clone_from(&offer.api_key_env);
    let model = model.or_else(|| offer.models.first().cloned());
    shard_config::use_provider(&places.config, name, &provider, model.as_deref())?;
    let chosen = match &model {
        Some(model) => format!("{name}/{model}"),
        None => format!("the first model of {name}; choose another with --model"),
    };
    print(&format!(
        "{}: provider {name} is in use, with {chosen}",
        places.config.display()
    ))?;
    Ok(())
}

fn endpoint(url: &str) -> anyhow::Result<Endpoint> {
    serde_json::from_value(url.into()).with_context(|| format!("the address {url} cannot be used"))
}
