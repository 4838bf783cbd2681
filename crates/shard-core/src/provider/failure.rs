//! What went wrong with a call, in words that name what was tried, on what, and what to do next.
//!
//! Everything that ends in a [`ProviderError`] with words of a server goes through [`Target`],
//! which takes the secrets out before it cuts the text to size.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderMap;
use serde_json::Value;
use shard_contracts::{ProviderError, ProviderErrorKind as Kind};
use shard_types::time::now_ms;

use super::settings::ProviderSettings;

/// Longest quotation of a server, in characters.
const MAX_WORDS: usize = 500;

/// Shorter values are no secrets, and taking them out would garble words.
const MIN_SECRET: usize = 4;

/// What a call is aimed at, for the texts of its errors.
#[derive(Clone)]
pub(super) struct Target {
    label: String,
    url: String,
    key_origin: Option<String>,
    secrets: Vec<String>,
}

impl Target {
    /// `model` is absent when the catalog is asked.
    pub(super) fn new(settings: &ProviderSettings, model: Option<&str>, url: &str) -> Self {
        let label = match model {
            Some(model) => format!("{}/{model}", settings.name),
            None => settings.name.clone(),
        };
        let mut target = Self {
            label,
            url: public_url(url),
            key_origin: settings.key_origin.clone(),
            secrets: Vec::new(),
        };
        for (_, value) in &settings.headers {
            target.hide(value);
            value.split_whitespace().for_each(|word| target.hide(word));
        }
        target.hide_url(settings.base());
        target
    }

    /// Keeps a text out of every error.
    pub(super) fn hide(&mut self, secret: &str) {
        let secret = secret.trim();
        if secret.len() >= MIN_SECRET && !self.secrets.iter().any(|known| known == secret) {
            self.secrets.push(secret.to_owned());
            // A secret that contains another must go first, or a part of it would stay.
            self.secrets
                .sort_by_key(|known| std::cmp::Reverse(known.len()));
        }
    }

    fn hide_url(&mut self, raw: &str) {
        let Ok(url) = Url::parse(raw) else { return };
        self.hide(url.password().unwrap_or_default());
        self.hide(url.username());
        self.hide(url.query().unwrap_or_default());
        for (_, value) in url.query_pairs() {
            self.hide(&value);
        }
        for pair in url.query().unwrap_or_default().split('&') {
            self.hide(pair.split_once('=').map_or("", |(_, value)| value));
        }
    }

    /// One line without secrets, cut to size.
    fn quote(&self, words: &str) -> String {
        let mut clean = words.to_owned();
        for secret in &self.secrets {
            clean = clean.replace(secret.as_str(), "***");
        }
        let line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(MAX_WORDS) {
            Some((cut, _)) => format!("{}…", &line[..cut]),
            None => line,
        }
    }

    fn error(&self, kind: Kind, what: &str, next: &str) -> ProviderError {
        let Self { label, url, .. } = self;
        ProviderError::new(
            kind,
            format!("{label}: {} ({url}). {next}", self.quote(what)),
        )
    }

    /// The request could not be made at all.
    pub(super) fn unusable(&self, kind: Kind, what: &str, next: &str) -> ProviderError {
        self.error(kind, what, next)
    }

    /// The server answered with another status than success.
    pub(super) fn status(&self, status: u16, headers: &HeaderMap, body: &str) -> ProviderError {
        let fault = Fault::of_body(body);
        let kind = classify(status, &fault);
        let words = match fault.words.as_str() {
            "" => String::new(),
            words => format!(": {words}"),
        };
        let what = match headers.get("location").and_then(|to| to.to_str().ok()) {
            Some(to) if (300..400).contains(&status) => {
                format!(
                    "the server answered {status} and points to {}",
                    public_url(to)
                )
            }
            _ => format!("the server answered {status}{words}"),
        };
        ProviderError {
            retry_after: retry_after(headers, now_ms()),
            ..self.error(kind, &what, &self.advice(kind))
        }
    }

    /// The connection could not be made, or it broke.
    pub(super) fn transport(&self, error: &dyn std::error::Error) -> ProviderError {
        let words = chain(error);
        let next = if words.contains("refused") {
            "Is the server running at that address?"
        } else if words.contains("dns") || words.contains("lookup") {
            "Check the host in base_url and the network."
        } else if words.contains("certificate") {
            "Check base_url and the system's certificates."
        } else {
            "Check the network and base_url."
        };
        self.error(
            Kind::Network,
            &format!("the connection failed: {words}"),
            next,
        )
    }

    /// Nothing came for too long.
    pub(super) fn stalled(&self, after: Duration) -> ProviderError {
        let what = format!("the server sent nothing for {} s", after.as_secs_f32());
        self.error(
            Kind::Stalled,
            &what,
            "Try again, or look at the server's log.",
        )
    }

    /// The server answered well, with something that is no stream of events.
    pub(super) fn no_stream(&self, body: &str) -> ProviderError {
        let fault = Fault::of_body(body);
        let what = format!("the server's answer is no event stream: {}", fault.words);
        let next = "Check base_url and the provider's type: this may be another kind of server.";
        self.error(fault.kind.unwrap_or(Kind::Malformed), &what, next)
    }

    /// An error that a decoder found: its words are those of the server.
    pub(super) fn inside(&self, error: &ProviderError) -> ProviderError {
        ProviderError {
            retry_after: error.retry_after,
            ..self.error(error.kind, &error.message, &self.advice(error.kind))
        }
    }

    fn advice(&self, kind: Kind) -> String {
        match kind {
            Kind::Auth => match &self.key_origin {
                Some(origin) => format!("Check the key: {origin}."),
                None => "Check the provider's key (api_key_env in the configuration).".to_owned(),
            },
            Kind::NotFound => "Check the model's name and base_url.".to_owned(),
            Kind::ContextTooLong => "Compact the session or use a larger model.".to_owned(),
            Kind::Rejected => "The same request would fail again: change it.".to_owned(),
            Kind::Busy | Kind::Network | Kind::Stalled => "Try again later.".to_owned(),
            Kind::Malformed => "Check that base_url and type fit this server.".to_owned(),
        }
    }
}

/// What a server says about its failure.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Fault {
    /// What sort of failure its codes and words tell of; `None` when they tell nothing.
    pub(super) kind: Option<Kind>,
    /// Its words.
    pub(super) words: String,
}

impl Fault {
    /// Reads a body: JSON in one of the usual shapes, an HTML page, or text.
    fn of_body(body: &str) -> Self {
        if let Ok(value) = serde_json::from_str::<Value>(body) {
            let empty = value.as_object().is_some_and(serde_json::Map::is_empty);
            return if empty {
                Self::default()
            } else {
                Self::of_json(&value)
            };
        }
        let words = match html_title(body) {
            Some(title) => format!("an HTML page ({title})"),
            None => body.to_owned(),
        };
        Self {
            kind: kind_of_words("", &words),
            words,
        }
    }

    /// Reads an error value, or the value around it.
    pub(super) fn of_json(value: &Value) -> Self {
        let error = value
            .get("error")
            .filter(|error| !error.is_null())
            .unwrap_or(value);
        let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
        let mut words = ["message", "detail", "error"]
            .into_iter()
            .map(text)
            .find(|t| !t.is_empty())
            .or_else(|| error.as_str())
            .map_or_else(|| error.to_string(), str::to_owned);
        // Gateways put the words of the server behind them here.
        if let Some(raw) = error.pointer("/metadata/raw").and_then(Value::as_str) {
            words = format!("{words}: {raw}");
        }
        let number = ["code", "status", "status_code"]
            .into_iter()
            .find_map(|k| error.get(k)?.as_u64());
        let codes = format!("{} {}", text("type"), text("code"));
        let kind = kind_of_words(&codes, &words)
            .or_else(|| Some(kind_of_status(u16::try_from(number?).ok()?)));
        Self { kind, words }
    }
}

/// What sort of failure an answer with this status is.
fn classify(status: u16, fault: &Fault) -> Kind {
    match (status, fault.kind) {
        // What the words say refines these; elsewhere the status is the better witness.
        (400 | 413 | 422 | 500, Some(kind @ Kind::ContextTooLong))
        | (400 | 422, Some(kind @ Kind::NotFound))
        | (429, Some(kind @ Kind::Rejected)) => kind,
        _ => kind_of_status(status),
    }
}

fn kind_of_status(status: u16) -> Kind {
    match status {
        401 | 403 => Kind::Auth,
        300..=399 | 404 | 405 => Kind::NotFound,
        408 | 409 | 425 | 429 | 500..=599 => Kind::Busy,
        413 => Kind::ContextTooLong,
        _ => Kind::Rejected,
    }
}

/// Codes and phrases of the servers known to us, in lower case. The first row that fits decides.
const TELLTALES: [(Kind, &[&str]); 6] = [
    (
        Kind::ContextTooLong,
        &[
            "context_length_exceeded",
            "exceed_context_size",
            "context_window_exceeded",
            "prompt is too long",
            "input is too long",
            "exceeds the available context size",
            "maximum context length",
            "exceeds the context window",
            "context window exceeds",
            "exceed context limit",
            "exceeds the maximum number of tokens",
            "input token count exceeds",
            "larger than the context",
            "greater than the context length",
            "context length exceeded",
            "context size has been exceeded",
            "maximum prompt length",
            "too many tokens in the prompt",
        ],
    ),
    (
        Kind::Rejected,
        &["insufficient_quota", "billing_error", "content_policy"],
    ),
    (
        Kind::Auth,
        &[
            "authentication_error",
            "permission_error",
            "invalid_api_key",
            "unauthorized",
        ],
    ),
    (Kind::NotFound, &["model_not_found", "not_found_error"]),
    (
        Kind::Busy,
        &[
            "overloaded",
            "rate_limit",
            "rate limit",
            "server_error",
            "api_error",
            "timeout",
            "unavailable",
            "too many requests",
            "capacity",
        ],
    ),
    (Kind::Rejected, &["invalid_request"]),
];

fn kind_of_words(codes: &str, words: &str) -> Option<Kind> {
    let hay = format!("{codes} {words}").to_lowercase();
    let told = |needles: &[&str]| needles.iter().any(|needle| hay.contains(needle));
    TELLTALES
        .iter()
        .find(|(_, needles)| told(needles))
        .map(|(kind, _)| *kind)
}

/// `Retry-After` as seconds or as an HTTP date, or its cousin in milliseconds.
fn retry_after(headers: &HeaderMap, now_ms: u64) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|raw| raw.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let raw = text("retry-after")?;
    if let Ok(seconds) = raw.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = httpdate::parse_http_date(raw).ok()?;
    let now = std::time::UNIX_EPOCH + Duration::from_millis(now_ms);
    Some(until.duration_since(now).unwrap_or_default())
}

/// An address without the parts that may hold a key.
pub(super) fn public_url(raw: &str) -> String {
    let parsed = Url::parse(raw).ok().filter(Url::has_host);
    let Some(mut url) = parsed else {
        // Not an address; still nothing behind a `?` or before an `@` may be shown.
        let path = raw.split(['?', '#']).next().unwrap_or_default();
        return path.rsplit('@').next().unwrap_or_default().to_owned();
    };
    url.set_query(None);
    url.set_fragment(None);
    // Both fail only for addresses that cannot have user information in the first place.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// An error with its causes: the outermost alone seldom says anything.
fn chain(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
        cause = inner.source();
    }
    words
}

fn html_title(body: &str) -> Option<String> {
    let lower = body.to_ascii_lowercase();
    if !lower.contains("<html") && !lower.trim_start().starts_with("<!doctype html") {
        return None;
    }
    let title = lower.find("<title>").map(|at| at + "<title>".len());
    let range = title.and_then(|from| Some(from..from + lower[from..].find("</title>")?));
    Some(
        range
            .map_or("without a title", |range| body[range].trim())
            .to_owned(),
    )
}

#[cfg(test)]
#[path = "tests/failure.rs"]
mod tests;
