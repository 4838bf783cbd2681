//! What a typed line means.

/// A line of a person.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed<'a> {
    Nothing,
    Prompt(&'a str),
    Steer(&'a str),
    Stop,
    Detach,
    Help,
    /// A command that there is none of.
    Unknown(&'a str),
}

/// What can be typed.
pub(super) const HELP: &str = "a line is a prompt; while a turn runs it waits for its end. \
    /steer TEXT gets into the turn, /stop stops it, /detach leaves";

impl<'a> Typed<'a> {
    pub(super) fn read(line: &'a str) -> Self {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word {
            "" => Self::Nothing,
            "/steer" if !rest.is_empty() => Self::Steer(rest),
            "/stop" if rest.is_empty() => Self::Stop,
            "/detach" if rest.is_empty() => Self::Detach,
            "/help" if rest.is_empty() => Self::Help,
            _ if is_command(word) => Self::Unknown(word),
            _ => Self::Prompt(line),
        }
    }
}

/// A prompt may begin with a path; a single name after a slash is a command.
fn is_command(word: &str) -> bool {
    let name = word.strip_prefix('/').unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_prompt_unless_it_is_a_command() {
        for (line, meant) in [
            ("  ", Typed::Nothing),
            (" tidy up ", Typed::Prompt("tidy up")),
            ("/steer  not that one", Typed::Steer("not that one")),
            ("/steer", Typed::Unknown("/steer")),
            ("/stop", Typed::Stop),
            ("/detach ", Typed::Detach),
            ("/quit", Typed::Unknown("/quit")),
            ("/etc/hosts is what?", Typed::Prompt("/etc/hosts is what?")),
            ("/ is the root", Typed::Prompt("/ is the root")),
        ] {
            assert_eq!(Typed::read(line), meant, "{line}");
        }
    }
}
