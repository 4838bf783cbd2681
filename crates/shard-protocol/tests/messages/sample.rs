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
pub(crate) struct Sample {
    pub(crate) name: &'static str,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    use Errors::{Exist, ExistOnDisk, NamePath, NameTop};
    let mut samples = Vec::new();
    for (rows, read, errors, place) in [
        (
            agent_commands::ROWS,
            agent_command as Read,
            NamePath,
            Place::Family("agent_command"),
        ),
        (
            agent_commands::PRIVATE,
            runtime_command,
            NamePath,
            Place::Nowhere,
        ),
        (
            agent_events::ROWS,
            agent_event,
            NameTop,
            Place::Family("agent_event"),
        ),
        (
            agent_events::ROWS,
            server_message,
            NameTop,
            Place::Family("agent_event"),
        ),
        (
            daemon_commands::ROWS,
            daemon_command,
            NamePath,
            Place::Family("daemon_command"),
        ),
        (
            daemon_events::ROWS,
            daemon_event,
            NamePath,
            Place::Family("daemon_event"),
        ),
        (
            daemon_events::ROWS,
            server_message,
            NamePath,
            Place::Family("daemon_event"),
        ),
        (
            RESPONSES,
            server_message,
            NamePath,
            Place::Family("response"),
        ),
    ] {
        for &row in rows {
            push(&mut samples, &kind_of(row.0), row, read, errors, place);
        }
    }
    for &(command, read, minimal, extra) in data::ROWS {
        let row = (minimal, extra);
        push(
            &mut samples,
            command,
            row,
            read,
            NameTop,
            Place::Data(command),
        );
    }
    for &(name, read, minimal, extra) in shared::ROWS {
        let place = if name == "WorkspaceRefusal" {
            Place::Nowhere
        } else {
            Place::Definition(name)
        };
        push(&mut samples, name, (minimal, extra), read, NameTop, place);
    }
    let mut more = |name: &str, read, errors, place, jsons: &[&str]| {
        samples.extend(jsons.iter().map(|json| Sample {
            name: name.to_owned().leak(),
            form: Form::Other,
            value: parse(json),
            read,
            errors,
            place,
        }));
    };
    for &(name, read, jsons) in shared::KINDS {
        let errors = if name == "SessionEntry" {
            ExistOnDisk
        } else {
            Exist
        };
        let place = match name {
            "NormalizedBlock" => Place::Nowhere,
            "SessionEntry" => Place::Family("session_entry"),
            "Compacted" => Place::Data("session_op: compact"),
            _ => Place::Definition(name),
        };
        more(name, read, errors, place, jsons);
    }
    let place = Place::Family("agent_command");
    more(
        "agent command",
        agent_command,
        NamePath,
        place,
        agent_commands::MORE,
    );
    let place = Place::Family("agent_event");
    more(
        "agent event",
        agent_event,
        NameTop,
        place,
        agent_events::MORE,
    );
    samples
}

fn push(
    samples: &mut Vec<Sample>,
    name: &str,
    (minimal, extra): Row,
    read: Read,
    errors: Errors,
    place: Place,
) {
    let minimal = parse(minimal);
    let mut full = minimal.clone();
    full.as_object_mut()
        .unwrap()
        .extend(parse(extra).as_object().unwrap().clone());
    for (form, value) in [(Form::Minimal, minimal), (Form::Full, full)] {
        let name = name.to_owned().leak();
        samples.push(Sample {
            name,
            form,
            value,
            read,
            errors,
            place,
        });
    }
}
