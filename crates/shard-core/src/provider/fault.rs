//! What a server says about its failure, and what sort of failure that is.
//!
//! Servers agree on little but the status, so codes and phrases known to us refine it.

use serde_json::Value;
use shard_contracts::ProviderErrorKind as Kind;

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
    pub(super) fn of_body(body: &str) -> Self {
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
pub(super) fn classify(status: u16, fault: &Fault) -> Kind {
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
        &[
            "insufficient_quota",
            "billing_error",
            "content_policy",
            "invalid_prompt",
        ],
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
mod tests;
