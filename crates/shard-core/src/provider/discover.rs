//! What could be made a provider without writing a configuration: keys that are set, and servers
//! that answer on loopback. Everything here is only an offer. A stranger may sit on a local port,
//! so a person confirms before anything but this question is sent there.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Client;
use shard_config::{OpenAiApi, ProviderKind};
use shard_types::ModelSpec;

use super::catalog;
use super::http::{body, plain_client};

/// How long a local server may take to answer.
const PATIENCE: Duration = Duration::from_millis(300);

/// Most that is read of an answer.
const MAX_BODY: usize = 1 << 20;

/// A provider that could be configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The name that it would have.
    pub name: String,
    /// What it speaks.
    pub kind: ProviderKind,
    /// The API to ask it by, where that is not the usual one of its kind.
    pub api: Option<OpenAiApi>,
    /// Its address.
    pub base_url: String,
    /// The variable that holds its key; `None` for servers that want none.
    pub api_key_env: Option<String>,
    /// Models that it named; empty when it was not asked.
    pub models: Vec<String>,
}

/// Services by the variable of their key.
const SERVICES: [(&str, &str, ProviderKind, &str); 3] = [
    (
        "ANTHROPIC_API_KEY",
        "anthropic",
        ProviderKind::Anthropic,
        "https://api.anthropic.com",
    ),
    (
        "OPENAI_API_KEY",
        "openai",
        ProviderKind::OpenAi,
        "https://api.openai.com/v1",
    ),
    (
        "OPENROUTER_API_KEY",
        "openrouter",
        ProviderKind::OpenAi,
        "https://openrouter.ai/api/v1",
    ),
];

/// Servers by the port that they take unless told otherwise. llama.cpp is about to move to another,
/// and says so when it starts.
const SERVERS: [(&str, u16); 4] = [
    ("ollama", 11_434),
    ("llamacpp", 8080),
    ("llamacpp", 9931),
    ("lmstudio", 1234),
];

/// Services whose key is set. `get` reads a variable; no value is kept.
pub fn from_environment(get: impl Fn(&str) -> Option<String>) -> Vec<Offer> {
    let set = |variable: &str| get(variable).is_some_and(|value| !value.trim().is_empty());
    let found = SERVICES.iter().filter(|(variable, ..)| set(variable));
    found
        .map(|&(variable, name, kind, base_url)| Offer {
            name: name.to_owned(),
            kind,
            // Among compatible services only the maker of the API is sure to have it.
            api: (name == "openai").then_some(OpenAiApi::Responses),
            base_url: base_url.to_owned(),
            api_key_env: Some(variable.to_owned()),
            models: Vec::new(),
        })
        .collect()
}

/// Servers on loopback that have a model to offer. Takes about as long as the slowest may.
pub async fn local_servers() -> Vec<Offer> {
    let Ok(client) = plain_client(PATIENCE) else {
        return Vec::new();
    };
    ask_all(&client, &SERVERS).await
}

/// One offer for each name: that of the first port of it where a server answers.
async fn ask_all(client: &Client, servers: &[(&str, u16)]) -> Vec<Offer> {
    let asked = servers.iter().map(|&(name, port)| {
        let base_url = format!("http://127.0.0.1:{port}/v1");
        ask(client, name, base_url)
    });
    let mut offers: Vec<Offer> = join_all(asked).await.into_iter().flatten().collect();
    offers.dedup_by(|next, first| next.name == first.name);
    offers
}

async fn ask(client: &Client, name: &str, base_url: String) -> Option<Offer> {
    let request = client.get(format!("{base_url}/models")).timeout(PATIENCE);
    let response = request.send().await.ok()?.error_for_status().ok()?;
    let list = serde_json::from_str(&body(response, MAX_BODY).await.ok()?).ok()?;
    let models: Vec<String> = catalog::models(&list)?
        .into_iter()
        .map(|ModelSpec { id, .. }| id)
        .collect();
    (!models.is_empty()).then(|| Offer {
        name: name.to_owned(),
        kind: ProviderKind::OpenAi,
        api: None,
        base_url,
        api_key_env: None,
        models,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::tests::server::{Answer, Server};

    #[test]
    fn a_key_that_is_set_is_offered_and_not_kept() {
        let get = |name: &str| match name {
            "OPENAI_API_KEY" | "OPENROUTER_API_KEY" => Some("sk-secret".to_owned()),
            "ANTHROPIC_API_KEY" => Some("  ".to_owned()),
            _ => None,
        };
        let offers = from_environment(get);
        let found: Vec<_> = offers
            .iter()
            .map(|offer| (offer.api_key_env.as_deref(), offer.api))
            .collect();
        let want = [
            (Some("OPENAI_API_KEY"), Some(OpenAiApi::Responses)),
            (Some("OPENROUTER_API_KEY"), None),
        ];
        assert_eq!(found, want);
        assert!(!format!("{offers:?}").contains("sk-secret"));
    }

    #[tokio::test]
    async fn only_a_list_of_models_makes_an_offer() {
        let answers = [
            (
                r#"{"object":"list","data":[{"id":"m"}]}"#,
                Some(vec!["m".to_owned()]),
            ),
            (r#"{"object":"list","data":[]}"#, None),
            (r#"{"object":"list","data":null}"#, None),
            (r#"{"hello":"world"}"#, None),
            ("<html></html>", None),
        ];
        let client = plain_client(PATIENCE).expect("a client");
        for (body, want) in answers {
            let server = Server::start(vec![Answer::json(200, body)]).await;
            let offer = ask(&client, "x", server.base("/v1")).await;
            assert_eq!(offer.map(|offer| offer.models), want, "{body}");
        }
    }

    #[tokio::test]
    async fn a_server_is_offered_once_by_the_first_port_that_answers() {
        let list = |id: &str| Answer::json(200, &format!(r#"{{"data":[{{"id":"{id}"}}]}}"#));
        let silent = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let silent = silent.expect("a port that is free again").port();
        let old = Server::start(vec![list("old"), list("old")]).await;
        let new = Server::start(vec![list("new"), list("new")]).await;
        let client = plain_client(PATIENCE).expect("a client");
        for (ports, want) in [
            ([old.port(), new.port()], "old"),
            ([silent, new.port()], "new"),
        ] {
            let servers = ports.map(|port| ("x", port));
            let offers = ask_all(&client, &servers).await;
            let models: Vec<_> = offers.into_iter().flat_map(|offer| offer.models).collect();
            assert_eq!(models, [want]);
        }
    }
}
