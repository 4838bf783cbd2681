//! What a command sees of the agent's environment.

use std::ffi::{OsStr, OsString};

/// Variables that hold keys of providers, whatever the configuration says.
const KEYS: [&str; 3] = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"];

/// What makes programs that would wait for a person go on without one. A program that insists on
/// an editor fails at once instead.
const UNATTENDED: [(&str, &str); 9] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("EDITOR", "false"),
    ("VISUAL", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// The environment of commands: the agent's own without keys and Shard's variables, with what
/// keeps programs from waiting for a person.
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// Takes over `inherited`, but for the variables named in `secret` and those that are known to
    /// hold keys.
    pub fn new(
        inherited: impl IntoIterator<Item = (OsString, OsString)>,
        secret: &[String],
    ) -> Self {
        let hidden = |name: &OsStr| {
            let name = name.to_string_lossy();
            name.starts_with("SHARD_")
                || KEYS.contains(&&*name)
                || secret.iter().any(|secret| *secret == name)
                || UNATTENDED.iter().any(|(own, _)| *own == name)
        };
        let kept = inherited.into_iter().filter(|(name, _)| !hidden(name));
        let own = UNATTENDED
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        Self {
            variables: kept.chain(own).collect(),
        }
    }

    /// The same, with one more variable, or another value of one.
    pub(super) fn with(&self, name: &str, value: &OsStr) -> Vec<(OsString, OsString)> {
        let others = self.variables.iter().filter(|(other, _)| other != name);
        let own = (OsString::from(name), value.to_owned());
        others.cloned().chain([own]).collect()
    }

    pub(super) fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }
}

/// The value of a variable.
pub(super) fn lookup<'a>(
    variables: &'a [(OsString, OsString)],
    name: &str,
) -> Option<&'a OsString> {
    let (_, value) = variables.iter().rev().find(|(other, _)| other == name)?;
    Some(value)
}
