//! Identifiers. Opaque to clients, typed here so that one cannot be passed for another.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Longest identifier that is accepted from outside, in bytes.
const MAX_LEN: usize = 128;

/// A text that cannot be an identifier: empty, too long, or with a character outside
/// `A-Z a-z 0-9 . _ : -`, or starting with a dot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "not an identifier: it must be 1 to {MAX_LEN} of A-Z a-z 0-9 . _ : - and not start with a dot"
)]
pub struct InvalidId;

fn check(raw: &str) -> Result<(), InvalidId> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    let ok = (1..=MAX_LEN).contains(&raw.len()) && !raw.starts_with('.') && raw.chars().all(plain);
    if ok { Ok(()) } else { Err(InvalidId) }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String")]
        #[schemars(with = "String")]
        pub struct $name(String);

        impl $name {
            /// Makes a new one: the family's prefix and a UUIDv7, so that ids sort by creation.
            #[must_use]
            pub fn generate() -> Self {
                Self(format!(concat!($prefix, "-{}"), Uuid::now_v7().simple()))
            }

            /// The text as it stands on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(raw: String) -> Result<Self, InvalidId> {
                check(&raw)?;
                Ok(Self(raw))
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidId;
            fn from_str(raw: &str) -> Result<Self, InvalidId> {
                Self::try_from(raw.to_owned())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(/// A durable agent, whether or not a process serves it just now.
    AgentId, "agent");
id!(/// One session. It is also the stem of the session's file, hence the narrow alphabet.
    SessionId, "session");
id!(/// One entry of a session. A message's id is the id of its entry.
    EntryId, "msg");
id!(/// One turn: from a prompt to the end of the answer.
    TurnId, "turn");
id!(/// One open question to a person: a permission or a dialog.
    RequestId, "req");
id!(/// One durable background job.
    JobId, "job");
id!(/// One run of a job.
    RunId, "run");
id!(/// One managed worktree.
    WorkspaceId, "ws");
id!(/// One standing permission that a person gave.
    GrantId, "grant");
id!(/// One enrolled browser.
    PrincipalId, "principal");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_carries_its_family_and_sorts_by_creation() {
        let (first, second) = (TurnId::generate(), TurnId::generate());
        assert!(first.as_str().starts_with("turn-"), "{first}");
        assert!(first <= second, "{first} {second}");
    }

    #[test]
    fn a_text_that_could_leave_its_folder_is_no_id() {
        for bad in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "a b",
            "ä",
            &"x".repeat(MAX_LEN + 1),
        ] {
            assert_eq!(bad.parse::<SessionId>(), Err(InvalidId), "{bad:?}");
        }
        for good in [
            "session-1",
            "a.b",
            "2024-01-01T10:00:00_x",
            &"x".repeat(MAX_LEN),
        ] {
            assert_eq!(
                good.parse::<SessionId>().map(|id| id.to_string()),
                Ok(good.to_owned())
            );
        }
    }
}
