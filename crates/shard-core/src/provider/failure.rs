//! What went wrong with a call, in words that name what was tried, on what, and what to do next.
//!
//! Everything that ends in a [`ProviderError`] with words of a server goes through [`Target`],
//! which takes the secrets out before it cuts the text to size.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderMap;
use shard_contracts::{ProviderError, ProviderErrorKind as Kind};
use shard_types::time::now_ms;

use crate::gate::visible;

use super::fault::{Fault, classify};
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
        // A server's words reach terminals and pages.
        let line = visible(&clean.split_whitespace().collect::<Vec<_>>().join(" "));
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
        let (kind, next) = if words.contains("refused") {
            (Kind::Network, "Is the server running at that address?")
        } else if words.contains("dns") || words.contains("lookup") {
            (Kind::Network, "Check the host in base_url and the network.")
        } else if words.contains("certificate") {
            // Waiting changes no certificate.
            (
                Kind::Rejected,
                "Check base_url, or name the certificate of its authority in ca_file.",
            )
        } else {
            (Kind::Network, "Check the network and base_url.")
        };
        self.error(kind, &format!("the connection failed: {words}"), next)
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

/// The two innermost causes of an error: those around them only say that a request was made.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut words: Vec<String> = Vec::new();
    for text in causes.map(|cause| cause.to_string()) {
        // Many an error repeats its cause.
        words.retain(|outer| !outer.contains(&text));
        words.push(text);
    }
    words[words.len().saturating_sub(2)..].join(": ")
}

#[cfg(test)]
mod tests;
