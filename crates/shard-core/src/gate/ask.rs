//! Puts a question about a call to a person.

use shard_contracts::{Access, Ask, CallFacts};
use shard_session::CommandSignature;
use shard_types::event::AllowedBy;
use shard_types::{
    ChoiceIntent, DetailFormat, PermissionChoice, PermissionDecision, PermissionDetail,
};

use super::rules::Call;
use super::shell::Role;
use super::signature;
use super::visible::{visible, visible_lines, visible_part};

/// Longest value that is shown, in characters.
const MAX_VALUE: usize = 4000;
/// Longest value within a prompt, in characters.
const MAX_INLINE: usize = 200;
/// Most paths or arguments that are shown one by one.
const MAX_LISTED: usize = 20;

/// What the gate found out about the question.
pub(super) struct Question {
    /// Why it is asked, where a person cannot guess it.
    pub(super) why: Option<String>,
    /// Whether the answer can be remembered.
    pub(super) memorable: bool,
    /// The form of its commands, if that can be remembered.
    pub(super) form: Option<Vec<CommandSignature>>,
    /// The rule that covers the call if others that ask are passed over.
    pub(super) covered: Option<AllowedBy>,
}

/// Writes the question.
pub(super) fn ask(call: &Call<'_>, question: Question) -> Ask {
    let memorable = question.memorable;
    Ask {
        prompt: prompt(call.facts),
        options: options(memorable),
        details: details(call, question.why),
        choices: choices(memorable, question.form.as_deref()),
        covered: question.covered,
    }
}

/// What a call would do, in a few words.
pub(super) fn summary(facts: &CallFacts<'_>) -> String {
    let inline = |text: &str| visible_part(text, MAX_INLINE);
    match facts.access {
        Access::Command(line) => format!("Run {}", inline(line)),
        Access::Write(_) => format!("Write {}", paths(facts)),
        Access::Read(_) => format!("Read {}", paths(facts)),
        Access::Nothing | Access::Unknown => {
            let input = serde_json::to_string(facts.input).unwrap_or_default();
            format!("Use {} with {}", inline(facts.tool), inline(&input))
        }
    }
}

fn prompt(facts: &CallFacts<'_>) -> String {
    let outside = facts
        .paths
        .iter()
        .any(|fact| !fact.real.starts_with(facts.cwd));
    let place = if outside {
        ", outside the workspace"
    } else {
        ""
    };
    match facts.access {
        Access::Command(_) => "Run this command?".to_owned(),
        Access::Write(_) => format!("Write {}{place}?", paths(facts)),
        Access::Read(_) => format!("Read {}{place}?", paths(facts)),
        Access::Nothing | Access::Unknown => {
            format!("Use {}?", visible_part(facts.tool, MAX_INLINE))
        }
    }
}

/// The paths of a call as given; the details say where they lead.
fn paths(facts: &CallFacts<'_>) -> String {
    match facts.paths {
        [] => "files".to_owned(),
        [only] => visible_part(&only.given, MAX_INLINE),
        [first, rest @ ..] => {
            format!(
                "{} and {} more",
                visible_part(&first.given, MAX_INLINE),
                rest.len()
            )
        }
    }
}

fn options(memorable: bool) -> Vec<PermissionDecision> {
    let mut options = vec![PermissionDecision::Allow];
    options.extend(memorable.then_some(PermissionDecision::AllowAlways));
    options.push(PermissionDecision::Deny);
    options
}

fn choices(memorable: bool, form: Option<&[CommandSignature]>) -> Vec<PermissionChoice> {
    let choice = |id: &str, label: &str, key: &str, intent| PermissionChoice {
        id: id.to_owned(),
        label: label.to_owned(),
        description: None,
        accelerator: Some(key.to_owned()),
        intent,
    };
    let exact = PermissionChoice {
        description: Some("Remembers this exact call for this agent.".to_owned()),
        ..choice(
            ALLOW_EXACT,
            "Always allow exactly this",
            "A",
            ChoiceIntent::Persist,
        )
    };
    let mut choices = vec![choice(ALLOW_ONCE, "Allow once", "a", ChoiceIntent::Allow)];
    choices.extend(memorable.then_some(exact));
    choices.extend(form.map(|commands| {
        let (label, description) = form_in_words(commands);
        PermissionChoice {
            description: Some(description),
            ..choice(ALLOW_SIGNATURE, &label, "s", ChoiceIntent::Persist)
        }
    }));
    choices.push(choice(DENY, "Deny", "d", ChoiceIntent::Deny));
    choices
}

/// What remembering the form of commands means: on a button, and in full.
fn form_in_words(commands: &[CommandSignature]) -> (String, String) {
    let shown = signature::shown(commands);
    let which = match commands {
        [_] => "this command",
        _ => "these commands, any of them, joined by `&&`, `||`, `;` or `|`",
    };
    let label = match commands {
        [only] if only.flags.is_empty() => format!("Always allow {shown} however it is written"),
        [_] => format!("Always allow {shown}, flags in any order"),
        _ => format!("Always allow {shown} in any combination"),
    };
    let description = format!(
        "Remembers the form of {which}, for this agent in this folder: exactly these flags, in any \
         order where they stand side by side, and exactly these other words. A line with anything \
         else in it is asked about."
    );
    (label, description)
}

/// Runs this once.
pub const ALLOW_ONCE: &str = "allow_once";
/// Runs, and is remembered: [`shard_contracts::PermissionGate::grant`].
pub const ALLOW_EXACT: &str = "allow_exact";
/// Runs, and the form of its commands is remembered.
pub const ALLOW_SIGNATURE: &str = "allow_signature";
/// Does not run.
pub const DENY: &str = "deny";

fn details(call: &Call<'_>, why: Option<String>) -> Vec<PermissionDetail> {
    let facts = call.facts;
    let mut details = match facts.access {
        Access::Command(line) => command_details(call, line),
        Access::Read(_) => path_details(facts),
        // What would be written is what the answer is about.
        Access::Write(_) => [path_details(facts), text_details(facts)].concat(),
        Access::Nothing | Access::Unknown => input_details(facts),
    };
    details.extend(why.map(|why| detail("Why", &why, DetailFormat::Text)));
    details
}

fn detail(label: &str, value: &str, format: DetailFormat) -> PermissionDetail {
    PermissionDetail {
        label: Some(visible(label)),
        value: visible_part(value, MAX_VALUE),
        format: Some(format),
    }
}

fn command_details(call: &Call<'_>, line: &str) -> Vec<PermissionDetail> {
    let mut details = vec![
        detail("Command", line, DetailFormat::Command),
        detail(
            "Folder",
            &call.facts.cwd.to_string_lossy(),
            DetailFormat::Path,
        ),
    ];
    let Some(analysis) = &call.line else {
        return details;
    };
    if analysis.unparsable {
        let text = "The line could not be understood in full.";
        details.push(detail("Note", text, DetailFormat::Text));
    }
    // A long line hides what it runs; the list of programs is short.
    let mut programs: Vec<String> = Vec::new();
    for command in &analysis.commands {
        let name = command.name().unwrap_or_else(|| "(computed)".to_owned());
        if command.role != Role::Perhaps && !programs.contains(&name) {
            programs.push(name);
        }
    }
    if programs.len() > 1 {
        details.push(detail("Programs", &programs.join(", "), DetailFormat::Text));
    }
    details
}

fn path_details(facts: &CallFacts<'_>) -> Vec<PermissionDetail> {
    let shown = facts.paths.iter().take(MAX_LISTED);
    let mut details: Vec<_> = shown
        .map(|fact| detail("Path", &fact.real.to_string_lossy(), DetailFormat::Path))
        .collect();
    let more = facts.paths.len().saturating_sub(MAX_LISTED);
    if more > 0 {
        details.push(detail("Paths", &format!("{more} more"), DetailFormat::Text));
    }
    details
}

/// The texts of a call, such as what a file is to hold: everything but the paths.
fn text_details(facts: &CallFacts<'_>) -> Vec<PermissionDetail> {
    let is_path = |text: &str| facts.paths.iter().any(|fact| fact.given == text);
    let texts = facts
        .input
        .iter()
        .filter_map(|(key, value)| Some((key, value.as_str()?)))
        .filter(|(_, text)| !is_path(text));
    let shown = texts.take(MAX_LISTED).map(|(key, text)| PermissionDetail {
        label: Some(visible(key)),
        value: visible_lines(text, MAX_VALUE),
        format: Some(DetailFormat::Code),
    });
    shown.collect()
}

fn input_details(facts: &CallFacts<'_>) -> Vec<PermissionDetail> {
    let shown = facts.input.iter().take(MAX_LISTED);
    let mut details: Vec<_> = shown
        .map(|(key, value)| {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            detail(key, &text, DetailFormat::Code)
        })
        .collect();
    let more = facts.input.len().saturating_sub(MAX_LISTED);
    if more > 0 {
        details.push(detail(
            "Arguments",
            &format!("{more} more"),
            DetailFormat::Text,
        ));
    }
    details
}
