//! `docs/PROTOCOL.md` against the code: it names everything, and its examples are messages.

use serde_json::Value;
use shard_protocol::{AgentCommand, DaemonCommand, DaemonEvent, RuntimeCommand, ServerMessage};
use shard_types::event::AgentEvent;

use crate::sample::{Form, agent_command, all, daemon_command, parse};
use crate::shared;

const TEXT: &str = include_str!("../../../../docs/PROTOCOL.md");

/// Whether the text has this name as a word of its own.
fn names(word: &str) -> bool {
    let part_of_name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    TEXT.match_indices(word).any(|(at, _)| {
        let before = TEXT[..at].chars().next_back();
        let after = TEXT[at + word.len()..].chars().next();
        !before.is_some_and(part_of_name) && !after.is_some_and(part_of_name)
    })
}

#[test]
fn the_document_names_every_type_every_field_and_every_word() {
    let families = [
        AgentCommand::TYPES,
        AgentEvent::TYPES,
        DaemonCommand::TYPES,
        DaemonEvent::TYPES,
        RuntimeCommand::TYPES,
    ];
    for kind in families.concat() {
        assert!(names(&format!("`{kind}`")), "{kind}");
    }
    for sample in all() {
        if sample.form == Form::Other || sample.name == "NormalizedBlock" {
            continue;
        }
        for key in sample.value.as_object().unwrap().keys() {
            assert!(names(key), "{} {key}", sample.name);
        }
    }
    for &(name, words) in shared::WORDS {
        for word in words.split_whitespace() {
            assert!(names(word), "{name} {word}");
        }
    }
}

#[test]
fn the_document_has_the_chapters_that_the_code_refers_to() {
    for chapter in [
        "Framing",
        "Errors",
        "Commands to an agent",
        "Events of an agent",
        "Commands to the daemon",
        "Shared types",
        "On disk",
    ] {
        assert!(TEXT.contains(&format!("\n## {chapter}\n")), "{chapter}");
    }
}

#[test]
fn every_line_of_its_examples_is_a_message() {
    let mut count = 0;
    for line in TEXT.lines() {
        if let Some(json) = line.strip_prefix("< ") {
            let message = ServerMessage::read(json).unwrap_or_else(|bad| panic!("{bad}: {json}"));
            assert!(!matches!(message, ServerMessage::Unknown(_)), "{json}");
            assert_eq!(parse(&message.to_json()), parse(json));
        } else if let Some(json) = line.strip_prefix("> ") {
            let mut sent = parse(json);
            let kind = sent["type"].as_str().unwrap().to_owned();
            let for_agent = AgentCommand::TYPES.contains(&kind.as_str());
            let read = if for_agent {
                agent_command
            } else {
                daemon_command
            };
            let fields = sent.as_object_mut().unwrap();
            fields.remove("id");
            if for_agent {
                fields.remove("agent_id");
            }
            assert_eq!(read(json), Ok::<Value, String>(sent));
        } else {
            continue;
        }
        count += 1;
    }
    assert!(count > 30, "{count}");
}
