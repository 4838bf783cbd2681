//! Servers of the Model Context Protocol. What an entry holds is the client's to interpret;
//! here it is only kept, and masked where it is shown.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::endpoint;
use crate::secret::MASK;

/// Servers that offer further tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct McpConfig {
    /// The servers by name.
    pub servers: BTreeMap<String, McpServer>,
}

/// One server. Debugging and serializing mask what may be a key.
#[derive(Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct McpServer(Map<String, Value>);

impl McpServer {
    /// The keys and values as they stand in the file, unmasked.
    #[must_use]
    pub fn expose(&self) -> &Map<String, Value> {
        &self.0
    }

    fn masked(&self) -> Value {
        mask(&Value::Object(self.0.clone()), Inside::Plain)
    }
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.masked())
    }
}

impl Serialize for McpServer {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.masked().serialize(to)
    }
}

#[derive(Clone, Copy)]
enum Inside {
    Plain,
    Hidden,
}

fn mask(value: &Value, inside: Inside) -> Value {
    match (value, inside) {
        (Value::Object(map), _) => {
            let shown = map.iter().map(|(key, value)| {
                let inside = if may_hide_a_key(key) {
                    Inside::Hidden
                } else {
                    inside
                };
                (key.clone(), mask(value, inside))
            });
            Value::Object(shown.collect())
        }
        (Value::Array(items), _) => Value::Array(mask_list(items, inside)),
        (Value::String(_) | Value::Number(_), Inside::Hidden) => Value::from(MASK),
        (Value::String(text), Inside::Plain) => Value::from(mask_argument(text)),
        (other, _) => other.clone(),
    }
}

/// Arguments of a program: the one after `--token` is as secret as the text after `--token=`.
fn mask_list(items: &[Value], inside: Inside) -> Vec<Value> {
    let names_a_key = |item: &Value| {
        let text = item.as_str().unwrap_or("");
        text.starts_with('-') && !text.contains('=') && may_hide_a_key(text)
    };
    let previous = std::iter::once(None).chain(items.iter().map(Some));
    let shown = items.iter().zip(previous).map(|(item, previous)| {
        let inside = if previous.is_some_and(names_a_key) {
            Inside::Hidden
        } else {
            inside
        };
        mask(item, inside)
    });
    shown.collect()
}

fn mask_argument(text: &str) -> String {
    match text.split_once('=') {
        Some((name, _)) if may_hide_a_key(name) && !name.contains("://") => {
            format!("{name}={MASK}")
        }
        _ => endpoint::masked(text),
    }
}

/// Whether the values below a key of this name may be keys to something.
fn may_hide_a_key(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let telling = [
        "key",
        "token",
        "secret",
        "password",
        "passwd",
        "auth",
        "credential",
        "cookie",
    ];
    name == "env" || name == "headers" || telling.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_may_be_a_key_is_masked_and_the_rest_is_not() {
        let server: McpServer = serde_json::from_value(json!({
            "command": "npx",
            "args": ["-y", "server", "--api-key", "S3CRET", "--token=S3CRET", "https://u:S3CRET@h/"],
            "env": { "A": "S3CRET", "B": 7 },
            "headers": { "X": ["S3CRET"] },
            "url": "https://h.example/mcp",
            "access_token": "S3CRET",
            "on": true,
        }))
        .unwrap();
        let shown = serde_json::to_value(&server).unwrap();
        assert_eq!(
            shown,
            json!({
                "command": "npx",
                "args": ["-y", "server", "--api-key", "***", "--token=***", "https://***@h/"],
                "env": { "A": "***", "B": "***" },
                "headers": { "X": ["***"] },
                "url": "https://h.example/mcp",
                "access_token": "***",
                "on": true,
            })
        );
        assert!(!format!("{server:?}").contains("S3CRET"));
        assert_eq!(server.expose()["access_token"], "S3CRET");
    }
}
