//! Error codes, and how a family of messages is declared and read.

use std::fmt;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What a client may branch on (`docs/PROTOCOL.md`, "Errors"). Codes are only ever added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// The message is malformed or does not validate.
    InvalidRequest,
    /// No such agent, session, model, mode, effort, entry, handle or workspace.
    NotFound,
    /// A per-agent command on a connection that is not attached to the agent.
    NotAttached,
    /// The server refused the operation.
    PermissionDenied,
    /// Versions differ, or a message came out of sequence.
    ProtocolError,
    /// A question ran into its timeout.
    Timeout,
    /// The agent exists but its process did not become ready; trying again is safe.
    RuntimeStartFailed,
    /// The session exists but cannot be restored safely.
    SessionCorrupt,
    /// A failure that nobody expected.
    InternalError,
    /// A provider call failed.
    ProviderError,
    /// A tool failed.
    ToolError,
    /// The operation does not fit the present state.
    Conflict,
    /// A code of a later build.
    #[serde(untagged)]
    Other(String),
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A message of a known type whose body does not fit it. Names the field and what was expected
/// there; never repeats the value that came.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadBody(String);

/// Reads a message body, ignoring fields that the type does not have.
///
/// # Errors
/// [`BadBody`] with the path of the field.
pub fn parse_body<T: DeserializeOwned>(json: &str) -> Result<T, BadBody> {
    match serde_json::from_str(json) {
        Ok(body) => Ok(body),
        Err(_) => {
            match serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(json)) {
                Ok(body) => Ok(body), // trailing characters only; the caller has read one whole object
                Err(error) => Err(BadBody(describe(
                    &error.path().to_string(),
                    &error.inner().to_string(),
                ))),
            }
        }
    }
}

/// The field's path and what was expected, without the offending value and the byte position.
fn describe(path: &str, message: &str) -> String {
    // In this order: the value that came stands before the last "expected", and may say anything.
    let what = match message.rfind(", expected ") {
        Some(at) => &message[at + 2..],
        None => message,
    };
    let what = what.split(" at line ").next().unwrap_or(what);
    if path == "." || path.is_empty() {
        what.to_owned()
    } else {
        format!("`{path}`: {what}")
    }
}

/// Declares a family of messages: an enum with one newtype variant for each wire type, its
/// list of `TYPES`, and `parse`, which reads the body that belongs to a type.
#[macro_export]
macro_rules! messages {
    ($(#[$doc:meta])* $family:ident { $($(#[$inner:meta])* $tag:literal => $variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, schemars::JsonSchema)]
        #[serde(tag = "type")]
        pub enum $family {
            $($(#[$inner])* #[serde(rename = $tag)] #[doc = concat!("`", $tag, "`")] $variant($variant),)*
        }

        impl $family {
            /// Every type of this family, as it stands on the wire.
            pub const TYPES: &'static [&'static str] = &[$($tag),*];

            /// The wire type of this message.
            #[must_use]
            pub fn type_name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $tag,)* }
            }

            /// Reads the body of a message of type `kind`; `None` for a type outside this family.
            ///
            /// # Errors
            /// `BadBody` for a known type with a body that does not fit.
            pub fn parse(
                kind: &str,
                json: &str,
            ) -> Option<Result<Self, $crate::wire_support::BadBody>> {
                match kind {
                    $($tag => Some($crate::wire_support::parse_body(json).map(Self::$variant)),)*
                    _ => None,
                }
            }
        }

        $(impl From<$variant> for $family {
            fn from(body: $variant) -> Self { Self::$variant(body) }
        })*
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read by serde")]
    struct Inner {
        path: String,
    }
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read by serde")]
    struct Outer {
        items: Vec<Inner>,
    }

    #[test]
    fn a_bad_body_names_the_field_and_not_the_value() {
        let message = |json| parse_body::<Outer>(json).unwrap_err().to_string();
        assert_eq!(
            message(r#"{"items":[{"path":"a"},{"path":77123}]}"#),
            "`items[1].path`: expected a string"
        );
        assert_eq!(
            message(r#"{"items":[{}]}"#),
            "`items[0]`: missing field `path`"
        );
        assert_eq!(message("{}"), "missing field `items`");
    }

    #[test]
    fn codes_stand_in_capitals_and_survive_a_relay() {
        assert_eq!(
            ErrorCode::RuntimeStartFailed.to_string(),
            "RUNTIME_START_FAILED"
        );
        let later: ErrorCode = serde_json::from_str("\"QUOTA\"").unwrap();
        assert_eq!(
            (later.to_string(), later),
            ("QUOTA".to_owned(), ErrorCode::Other("QUOTA".to_owned()))
        );
    }
}
