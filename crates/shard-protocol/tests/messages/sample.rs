//! All samples of all tables in one list, each with its way of being read.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use shard_protocol::{AgentCommand, DaemonCommand, DaemonEvent, RuntimeCommand, ServerMessage};
use shard_types::event::AgentEvent;
use shard_types::wire_support::parse_body;

use crate::{agent_commands, agent_events, daemon_commands, daemon_events, data, shared};

/// What must be there, and what may be there besides; the second column wins where both name a key.
///
/// Below the top, too, the first column holds nothing that could be left out. A key `any` marks a
/// value of any type, and a key `free_…` an argument of some tool.
pub(crate) type Row = (&'static str, &'static str);

/// Parses a JSON text and prints what was understood.
pub(crate) type Read = fn(&str) -> Result<Value, String>;

/// One message or value in one form.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) form: Form,
    pub(crate) value: Value,
    pub(crate) read: Read,
    pub(crate) errors: Errors,
    pub(crate) place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Minimal,
    Full,
    Other,
}

/// How much an error must say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errors {
    /// The whole path of the field.
    NamePath,
    /// The field at the top of the message at least.
    NameTop,
    /// Only that there is one; of values whose shape depends on one of their fields.
    Exist,
    /// Session files are read on their owner's machine: a value may be shown.
    ExistOnDisk,
}

/// Where the schema stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Family(&'static str),
    Data(&'static str),
    Definition(&'static str),
    Nowhere,
}

pub(crate) fn reads<T: DeserializeOwned + Serialize>(json: &str) -> Result<Value, String> {
    let body: T = parse_body(json).map_err(|error| error.to_string())?;
    serde_json::to_value(body).map_err(|error| error.to_string())
}

macro_rules! family {
    ($read:ident, $family:ty) => {
        pub(crate) fn $read(json: &str) -> Result<Value, String> {
            let kind = kind_of(json);
            let body = <$family>::parse(&kind, json).unwrap_or_else(|| panic!("no type: {kind}"));
            let body = body.map_err(|error| error.to_string())?;
            assert_eq!(body.type_name(), kind);
            serde_json::to_value(body).map_err(|error| error.to_string())
        }
    };
}
family!(agent_command, AgentCommand);
family!(agent_event, AgentEvent);
family!(daemon_command, DaemonCommand);
family!(daemon_event, DaemonEvent);
family!(runtime_command, RuntimeCommand);

/// As a client reads whatever a server sends.
pub(crate) fn server_message(json: &str) -> Result<Value, String> {
    let message = ServerMessage::read(json).map_err(|error| error.to_string())?;
    serde_json::from_str(&message.to_json()).map_err(|error| error.to_string())
}

fn kind_of(json: &str) -> String {
    parse(json)["type"].as_str().unwrap().to_owned()
}

pub(crate) fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

/// Answers to commands.
const RESPONSES: &[Row] = &[(
    r#"{"type":"response","id":"r1","command":"prompt","success":true}"#,
    r#"{"success":false,"data":{"any":1},
        "error":{"code":"CONFLICT","message":"a turn runs","data":{"any":1}}}"#,
)];

pub(crate) fn all() -> Vec<Sample> {
    [messages(), parts(), other_forms()].concat()
}

#[rustfmt::skip]
fn messages() -> Vec<Sample> {
    use Errors::{NamePath, NameTop};
    let families: [(&[Row], Read, Errors, Place); 8] = [
        (agent_commands::ROWS, agent_command, NamePath, Place::Family("agent_command")),
        (agent_commands::PRIVATE, runtime_command, NamePath, Place::Nowhere),
        (agent_events::ROWS, agent_event, NameTop, Place::Family("agent_event")),
        (agent_events::ROWS, server_message, NameTop, Place::Family("agent_event")),
        (daemon_commands::ROWS, daemon_command, NamePath, Place::Family("daemon_command")),
        (daemon_events::ROWS, daemon_event, NamePath, Place::Family("daemon_event")),
        (daemon_events::ROWS, server_message, NamePath, Place::Family("daemon_event")),
        (RESPONSES, server_message, NamePath, Place::Family("response")),
    ];
    let mut samples = Vec::new();
    for (rows, read, errors, place) in families {
        for &row in rows {
            samples.extend(both_forms(&kind_of(row.0), row, read, errors, place));
        }
    }
    samples
}

/// Data of answers, and shared types.
fn parts() -> Vec<Sample> {
    let mut samples = Vec::new();
    for &(command, read, minimal, extra) in data::ROWS {
        let place = Place::Data(command);
        samples.extend(both_forms(
            command,
            (minimal, extra),
            read,
            Errors::NameTop,
            place,
        ));
    }
    for &(name, read, minimal, extra) in shared::ROWS {
        let place = match name {
            "WorkspaceRefusal" => Place::Nowhere,
            _ => Place::Definition(name),
        };
        samples.extend(both_forms(
            name,
            (minimal, extra),
            read,
            Errors::NameTop,
            place,
        ));
    }
    samples
}

/// Values that come in several kinds, and forms of messages that the tables' columns leave out.
fn other_forms() -> Vec<Sample> {
    let commands = Place::Family("agent_command");
    let events = Place::Family("agent_event");
    let messages: [(&str, Read, &[&str], Errors, Place); 2] = [
        (
            "agent command",
            agent_command,
            agent_commands::MORE,
            Errors::NamePath,
            commands,
        ),
        (
            "agent event",
            agent_event,
            agent_events::MORE,
            Errors::NameTop,
            events,
        ),
    ];
    let kinds = shared::KINDS.iter().map(|&(name, read, jsons)| {
        let (errors, place) = match name {
            "SessionEntry" => (Errors::ExistOnDisk, Place::Family("session_entry")),
            "NormalizedBlock" => (Errors::Exist, Place::Nowhere),
            "Compacted" => (Errors::Exist, Place::Data("session_op: compact")),
            _ => (Errors::Exist, Place::Definition(name)),
        };
        (name, read, jsons, errors, place)
    });
    let mut samples = Vec::new();
    for (name, read, jsons, errors, place) in messages.into_iter().chain(kinds) {
        samples.extend(jsons.iter().map(|json| Sample {
            name: name.to_owned(),
            form: Form::Other,
            value: parse(json),
            read,
            errors,
            place,
        }));
    }
    samples
}

fn both_forms(name: &str, row: Row, read: Read, errors: Errors, place: Place) -> [Sample; 2] {
    let minimal = parse(row.0);
    let mut full = minimal.clone();
    let extra = parse(row.1).as_object().unwrap().clone();
    full.as_object_mut().unwrap().extend(extra);
    [(Form::Minimal, minimal), (Form::Full, full)].map(|(form, value)| Sample {
        name: name.to_owned(),
        form,
        value,
        read,
        errors,
        place,
    })
}
