//! Every message and every shared value of the protocol: as JSON written by hand, there and back,
//! with each field left out or spoiled, and against the generated schemas.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, too, fail by panicking"
)]

mod agent_commands;
mod agent_events;
mod daemon_commands;
mod daemon_events;
mod data;
mod document;
mod envelope;
mod mutation;
mod sample;
mod schemas;
mod shared;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use shard_protocol::{AgentCommand, DaemonCommand, DaemonEvent, RuntimeCommand};
use shard_types::event::AgentEvent;

use crate::mutation::{left_out, other_texts, wrong_types};
use crate::sample::{Errors, Form, Place, Row, all};
use crate::schemas::Schemas;

#[test]
fn every_sample_survives_the_way_there_and_back() {
    for sample in all() {
        let again = (sample.read)(&sample.value.to_string());
        assert_eq!(again.as_ref(), Ok(&sample.value), "{}", sample.name);
    }
}

#[test]
fn every_type_has_a_sample() {
    let named = |rows: &[Row]| -> Vec<String> {
        let types = rows.iter().map(|row| sample::parse(row.0)["type"].clone());
        types
            .map(|kind| kind.as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(named(agent_commands::ROWS), AgentCommand::TYPES);
    assert_eq!(named(agent_commands::PRIVATE), RuntimeCommand::TYPES);
    assert_eq!(named(agent_events::ROWS), AgentEvent::TYPES);
    assert_eq!(named(daemon_commands::ROWS), DaemonCommand::TYPES);
    assert_eq!(named(daemon_events::ROWS), DaemonEvent::TYPES);

    let schemas = Schemas::load();
    let data = schemas.get(Place::Family("data")).unwrap();
    let wanted: BTreeSet<&str> = data["properties"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let mut given: BTreeSet<&str> = data::ROWS.iter().map(|row| row.0).collect();
    given.insert("session_op: compact"); // in two forms, among the kinds
    assert_eq!(given, wanted);
}

#[test]
fn every_kind_of_a_value_has_a_sample() {
    let schemas = Schemas::load();
    for &(name, _, values) in shared::KINDS {
        if matches!(name, "NormalizedBlock" | "SessionEntry" | "Compacted") {
            continue;
        }
        let tagged = schemas.tags(name);
        assert!(!tagged.is_empty(), "{name}");
        for (key, tag) in tagged {
            let found = values
                .iter()
                .any(|value| sample::parse(value)[&key] == tag.as_str());
            assert!(found, "{name} {key} {tag}");
        }
    }
    for name in schemas.definitions() {
        let known = shared::KINDS.iter().any(|kind| kind.0 == name);
        let tagged = !schemas.tags(name).is_empty();
        assert!(
            known || !tagged || name == "Checkpoint",
            "{name} comes in kinds without samples"
        );
    }
}

#[test]
fn every_word_of_a_closed_list_is_the_specified_one() {
    let schemas = Schemas::load();
    let known: BTreeMap<&str, BTreeSet<String>> = shared::WORDS
        .iter()
        .map(|&(name, words)| (name, words.split_whitespace().map(str::to_owned).collect()))
        .collect();
    for (name, words) in &known {
        assert_eq!(&schemas.words(name), words, "{name}");
    }
    for name in schemas.definitions() {
        let words = schemas.words(name);
        let constant = matches!(name, "ImageTag" | "MixedState" | "AggregateState");
        assert!(
            known.contains_key(name) || constant || words.is_empty(),
            "{name}: {words:?}"
        );
    }
}

#[test]
fn the_first_column_holds_what_is_required_and_the_second_all_the_rest() {
    let schemas = Schemas::load();
    let mut checked = 0;
    for sample in all() {
        let Some(keys) = schemas.keys(sample.place, &sample.name) else {
            continue;
        };
        let wanted: BTreeSet<&String> = match sample.form {
            Form::Minimal => keys
                .iter()
                .filter(|(_, required)| **required)
                .map(|(key, _)| key)
                .collect(),
            Form::Full => keys.keys().collect(),
            Form::Other => continue,
        };
        let given: BTreeSet<&String> = sample.value.as_object().unwrap().keys().collect();
        assert_eq!(given, wanted, "{} {:?}", sample.name, sample.form);
        checked += 1;
    }
    assert!(checked > 200, "{checked}");
}

#[test]
fn fields_that_a_type_does_not_have_are_ignored() {
    for sample in all().into_iter().filter(|sample| sample.value.is_object()) {
        let mut value = sample.value.clone();
        let fields = value.as_object_mut().unwrap();
        fields.insert(
            "field_of_a_later_build".to_owned(),
            json!({ "deep": [1, null] }),
        );
        fields.entry("id").or_insert_with(|| json!("r1"));
        let again = (sample.read)(&value.to_string());
        assert_eq!(again.as_ref(), Ok(&sample.value), "{}", sample.name);
    }
}

#[test]
fn a_required_field_that_is_left_out_is_an_error_that_names_it() {
    let mut checked = 0;
    for sample in all()
        .into_iter()
        .filter(|sample| sample.form == Form::Minimal)
    {
        for mutation in left_out(&sample.value) {
            let error = (sample.read)(&mutation.value.to_string());
            let path = mutation.written_path();
            let Err(error) = error else {
                panic!("{}: {path} is not required", sample.name)
            };
            let (key, parents) = mutation.path.split_last().unwrap();
            match sample.errors {
                Errors::NamePath if parents.is_empty() => {
                    assert_eq!(error, format!("missing field `{key}`"), "{}", sample.name);
                }
                Errors::NamePath => {
                    let parent = path.strip_suffix(&format!(".{key}")).unwrap();
                    assert_eq!(
                        error,
                        format!("`{parent}`: missing field `{key}`"),
                        "{}",
                        sample.name
                    );
                }
                _ => assert!(
                    error.contains(&format!("`{key}`")),
                    "{} {path}: {error}",
                    sample.name
                ),
            }
            checked += 1;
        }
    }
    assert!(checked > 300, "{checked}");
}

#[test]
fn a_field_of_a_wrong_type_is_an_error_that_names_it_and_not_its_value() {
    let mut checked = 0;
    for sample in all() {
        for mutation in wrong_types(&sample.value) {
            let path = mutation.written_path();
            let error = (sample.read)(&mutation.value.to_string());
            let Err(error) = error else {
                panic!("{}: {path} takes anything", sample.name)
            };
            let place = match sample.errors {
                Errors::ExistOnDisk => continue,
                Errors::Exist => "",
                Errors::NameTop => &mutation.path[0],
                // An item of a list of alternatives is not looked into.
                Errors::NamePath if path == "value[0]" || path == "value[1]" => "value",
                Errors::NamePath => &path,
            };
            assert!(error.contains(place), "{} {path}: {error}", sample.name);
            assert!(
                !mutation.is_repeated_in(&error),
                "{} {path}: {error}",
                sample.name
            );
            checked += 1;
        }
    }
    assert!(checked > 1000, "{checked}");
}

#[test]
fn a_text_that_does_not_fit_is_not_repeated_either() {
    let schemas = Schemas::load();
    let samples = all();
    let validators = schemas.validators(&samples);
    let mut refused = 0;
    for sample in samples {
        let validator = validators.get(&sample.place);
        for mutation in other_texts(&sample.value) {
            let path = mutation.written_path();
            let read = (sample.read)(&mutation.value.to_string());
            if let (Err(error), false) = (&read, sample.errors == Errors::ExistOnDisk) {
                assert!(
                    !mutation.is_repeated_in(error),
                    "{} {path}: {error}",
                    sample.name
                );
                refused += 1;
            }
            let valid = validator.is_none_or(|schema| schema.is_valid(&mutation.value));
            let tag_on_disk = sample.name == "SessionEntry" && path == "details.artifactKind";
            assert!(
                valid || read.is_err() || tag_on_disk,
                "{} {path}: only the schema refuses",
                sample.name
            );
        }
    }
    assert!(refused > 300, "{refused}");
}

#[test]
fn the_schemas_take_every_sample_and_none_that_is_spoiled() {
    let schemas = Schemas::load();
    let samples = all();
    let validators = schemas.validators(&samples);
    let mut checked = 0;
    for sample in samples {
        let Some(schema) = validators.get(&sample.place) else {
            continue;
        };
        let valid = |value: &Value| schema.is_valid(value);
        let problem = schema
            .iter_errors(&sample.value)
            .next()
            .map(|error| error.to_string());
        assert_eq!(problem, None, "{}", sample.name);
        for mutation in wrong_types(&sample.value) {
            assert!(
                !valid(&mutation.value),
                "{} {}",
                sample.name,
                mutation.written_path()
            );
            checked += 1;
        }
        if sample.form == Form::Minimal {
            for mutation in left_out(&sample.value) {
                assert!(
                    !valid(&mutation.value),
                    "{} {}",
                    sample.name,
                    mutation.written_path()
                );
                checked += 1;
            }
        }
        let mut wider = sample.value.clone();
        wider
            .as_object_mut()
            .unwrap()
            .insert("field_of_a_later_build".to_owned(), json!(1));
        assert!(valid(&wider), "{}", sample.name);
    }
    assert!(checked > 1000, "{checked}");
}
