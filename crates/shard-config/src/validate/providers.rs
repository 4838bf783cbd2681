//! Checks of the providers and of the model that is chosen among them.

use std::collections::BTreeSet;

use shard_types::ModelSpec;

use super::{Check, is_one_line};
use crate::key_path::{KeyPath, quoted};
use crate::{Config, ProviderConfig, ProviderKind, known};

/// The provider that is there without being configured.
const DEMO: &str = "demo";

pub(super) fn check(config: &Config, check: &mut Check<'_>) {
    for (name, provider) in &config.providers {
        let path = KeyPath::new(&["providers", name]);
        provider_name(name, provider, &path, check);
        api(provider, &path, check);
        address(provider, &path, check);
        key(provider, &path, check);
        headers(provider, &path, check);
        models(provider, &path, check);
        if let Some(file) = &provider.ca_file {
            check.anchored(&path.key("ca_file"), file);
        }
    }
    if let Some(model) = &config.model {
        chosen_model(model, config, check);
    }
}

fn provider_name(name: &str, provider: &ProviderConfig, path: &KeyPath, check: &mut Check<'_>) {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    if name.is_empty() || !name.bytes().all(allowed) {
        check.error(path, "expected a provider's name of a-z, 0-9, _ and - only");
    } else if name == DEMO && provider.kind != ProviderKind::Demo {
        check.error(path, "expected another name; demo is the built-in provider");
    }
}

fn api(provider: &ProviderConfig, path: &KeyPath, check: &mut Check<'_>) {
    if provider.api.is_some() && provider.kind != ProviderKind::OpenAi {
        check.error(
            &path.key("api"),
            "expected no api here: only the type openai has two; remove the key",
        );
    }
}

fn address(provider: &ProviderConfig, path: &KeyPath, check: &mut Check<'_>) {
    let Some(endpoint) = &provider.base_url else {
        return;
    };
    let path = path.key("base_url");
    if let Some(problem) = endpoint.problem() {
        check.error(&path, problem);
    } else if !endpoint.is_encrypted()
        && !endpoint.is_loopback()
        && !provider.key_sources().is_empty()
    {
        check.warning(
            &path,
            "sends the key unencrypted over the network; use https:// if the server can",
        );
    }
}

fn key(provider: &ProviderConfig, path: &KeyPath, check: &mut Check<'_>) {
    let sources = provider.key_sources();
    if let [first, .., last] = sources[..] {
        check.error(
            &path.key(last),
            format!("expected one source of the key; {first} is given too"),
        );
    }
    if let Some(variable) = &provider.api_key_env {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let begins = variable.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !begins || !variable.chars().all(plain) {
            check.error(
                &path.key("api_key_env"),
                "expected the name of a variable, not a key",
            );
        }
    }
    if let Some(file) = &provider.api_key_file {
        check.anchored(&path.key("api_key_file"), file);
    }
    if provider
        .api_key_command
        .as_ref()
        .is_some_and(|command| command.trim().is_empty())
    {
        check.error(
            &path.key("api_key_command"),
            "expected a command that prints the key",
        );
    }
    if provider
        .api_key
        .as_ref()
        .is_some_and(|key| !is_one_line(key.expose()))
    {
        check.error(&path.key("api_key"), "expected a key on one line");
    }
}

fn headers(provider: &ProviderConfig, path: &KeyPath, check: &mut Check<'_>) {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    for (name, value) in &provider.headers {
        let path = path.key("headers").key(name);
        if name.is_empty() || !name.bytes().all(allowed) {
            check.error(
                &path,
                "expected a header's name without spaces and separators",
            );
        } else if value.expose().chars().any(char::is_control) {
            check.error(&path, "expected a header's value on one line");
        }
    }
}

fn models(provider: &ProviderConfig, path: &KeyPath, check: &mut Check<'_>) {
    let mut seen = BTreeSet::new();
    for (index, spec) in provider.models.iter().flatten().enumerate() {
        let path = path.key("models").index(index);
        model(spec, &path, check);
        if !seen.insert(&spec.id) {
            check.error(
                &path.key("id"),
                "expected models that differ; this one stands here twice",
            );
        }
    }
}

fn model(spec: &ModelSpec, path: &KeyPath, check: &mut Check<'_>) {
    if !is_one_line(&spec.id) {
        check.error(&path.key("id"), "expected the model's name at the provider");
    }
    for (key, tokens) in [
        ("context_window", spec.context_window),
        ("max_output_tokens", spec.max_output_tokens),
    ] {
        if tokens == Some(0) {
            check.error(&path.key(key), "expected a whole number, 1 or more");
        }
    }
    if let (Some(window), Some(output)) = (spec.context_window, spec.max_output_tokens)
        && output > window
    {
        check.error(
            &path.key("max_output_tokens"),
            "expected no more than context_window",
        );
    }
    if let Some(cost) = &spec.cost {
        let prices = [
            ("input", cost.input),
            ("output", cost.output),
            ("cache_read", cost.cache_read),
            ("cache_write", cost.cache_write),
        ];
        for (key, _) in prices.iter().filter(|(_, price)| *price < 0.0) {
            check.error(&path.key("cost").key(key), "expected a price, 0 or more");
        }
    }
}

fn chosen_model(model: &str, config: &Config, check: &mut Check<'_>) {
    let path = KeyPath::new(&["model"]);
    let Some((provider, id)) = model.split_once('/').filter(|(_, id)| !id.is_empty()) else {
        check.error(&path, "expected provider/model");
        return;
    };
    match config.providers.get(provider) {
        None if provider == DEMO => {}
        None => {
            let hint = match known::nearest(provider, config.providers.keys().map(String::as_str)) {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => "add it under providers".to_owned(),
            };
            check.error(
                &path,
                format!("no provider {} is configured; {hint}", quoted(provider)),
            );
        }
        Some(ProviderConfig {
            models: Some(listed),
            ..
        }) if !listed.iter().any(|spec| spec.id == id) => {
            check.warning(
                &path,
                format!("providers.{provider}.models does not list this model"),
            );
        }
        Some(_) => {}
    }
}
