//! What surrounds the bodies: unknown types, routing, keys, and answers with rules of their own.

use serde_json::{Value, json};
use shard_protocol::{
    AgentCommand, DaemonCommand, DaemonEvent, ErrorBody, Header, RequestKey, Response,
    RuntimeCommand, ServerMessage,
};
use shard_types::event::AgentEvent;
use shard_types::{AgentId, ErrorCode};

use crate::sample::{Form, Place, agent_command, all, server_message};

#[test]
fn an_unknown_type_belongs_to_no_family() {
    for kind in ["subscribe", "", "Prompt", "prompt ", "agent.spawned"] {
        let json = json!({ "type": kind }).to_string();
        assert!(AgentCommand::parse(kind, &json).is_none());
        assert!(AgentEvent::parse(kind, &json).is_none());
        assert!(DaemonCommand::parse(kind, &json).is_none());
        assert!(DaemonEvent::parse(kind, &json).is_none());
        assert!(RuntimeCommand::parse(kind, &json).is_none());
    }
}

#[test]
fn no_type_is_in_two_families_that_one_side_must_tell_apart() {
    let clash = |a: &[&str], b: &[&str]| a.iter().any(|kind| b.contains(kind));
    assert!(!clash(AgentCommand::TYPES, DaemonCommand::TYPES));
    assert!(!clash(AgentCommand::TYPES, RuntimeCommand::TYPES));
    assert!(!clash(AgentEvent::TYPES, DaemonEvent::TYPES));
    assert!(!AgentEvent::TYPES.contains(&"response"));
}

#[test]
fn a_message_of_a_later_build_is_kept_whole_and_passed_on() {
    let later = json!({ "type": "hologram", "agent_id": "agent-1", "id": "r1",
        "deep": { "list": [1, -2, 0.5, "a\u{2028}b", null, true] } });
    let message = ServerMessage::read(&later.to_string()).unwrap();
    assert!(matches!(message, ServerMessage::Unknown(_)));
    assert_eq!(
        serde_json::from_str::<Value>(&message.to_json()).unwrap(),
        later
    );
}

#[test]
fn an_event_of_an_agent_keeps_its_routing() {
    let agent_id: AgentId = "agent-1".parse().unwrap();
    for sample in all() {
        if sample.place != Place::Family("agent_event") || sample.form == Form::Other {
            continue;
        }
        let mut value = sample.value.clone();
        value
            .as_object_mut()
            .unwrap()
            .insert("agent_id".to_owned(), json!("agent-1"));
        let message = ServerMessage::read(&value.to_string()).unwrap();
        assert!(matches!(&message, ServerMessage::Agent(Some(id), _) if *id == agent_id));
        assert_eq!(
            serde_json::from_str::<Value>(&message.to_json()).unwrap(),
            value
        );
        let spliced = shard_protocol::with_agent_id(&sample.value.to_string(), &agent_id);
        assert_eq!(serde_json::from_str::<Value>(&spliced).unwrap(), value);
    }
}

#[test]
fn a_known_type_with_a_bad_body_is_not_taken_for_a_later_one() {
    let error = server_message(r#"{"type":"turn_start","turn":"turn-1"}"#);
    assert_eq!(error, Err("missing field `turn_id`".to_owned()));
    let error = server_message(r#"{"type":"turn_start","turn_id":"turn-1","agent_id":"a b"}"#);
    assert!(
        error
            .unwrap_err()
            .starts_with("`agent_id`: not an identifier")
    );
}

#[test]
fn a_list_is_no_message_even_when_its_items_would_fit() {
    for json in [
        r#"["r1","abort"]"#,
        r#"["local/a","set_reasoning_level"]"#,
        "[]",
        "7",
        "null",
    ] {
        let bad = Header::read(json).unwrap_err();
        assert_eq!(
            (bad.id, bad.message),
            (None, "a message is a JSON object".to_owned()),
            "{json}"
        );
    }
    assert!(Header::read(" \t{\"type\":\"abort\"} ").is_ok());
}

#[test]
fn a_request_key_has_its_alphabet_and_its_length() {
    let longest = "k".repeat(64);
    for good in ["a", "Az09_.:-", ".", longest.as_str()] {
        assert_eq!(
            RequestKey::try_from(good.to_owned()).unwrap().as_str(),
            good
        );
        let json = json!({ "type": "prompt", "message": "m", "request_key": good });
        assert_eq!(agent_command(&json.to_string()), Ok(json));
    }
    let too_long = "k".repeat(65);
    for bad in ["", " ", "a b", "a/b", "ä", "a\n", too_long.as_str()] {
        let json = json!({ "type": "prompt", "message": "m", "request_key": bad });
        let error = agent_command(&json.to_string()).unwrap_err();
        assert_eq!(
            error,
            "`request_key`: a request key is 1 to 64 of A-Z a-z 0-9 _ . : -"
        );
    }
}

#[test]
fn the_schema_of_a_request_key_agrees() {
    let schemas = crate::schemas::Schemas::load();
    let schema = schemas.validator(Place::Family("agent_command")).unwrap();
    let valid = |key: &str| {
        schema.is_valid(&json!({ "type": "prompt", "message": "", "request_key": key }))
    };
    assert!(valid("Az09_.:-") && valid(&"k".repeat(64)));
    for bad in ["", "a b", "ä", &"k".repeat(65)] {
        assert!(!valid(bad), "{bad:?}");
    }
}

#[test]
fn a_permission_answer_is_read_in_either_form_in_both_and_in_none() {
    let read = |json: &str| match AgentCommand::parse("permission_response", json) {
        Some(Ok(AgentCommand::PermissionResponse(answer))) => (answer.choice_id, answer.decision),
        other => panic!("{other:?}"),
    };
    use shard_types::PermissionDecision::{Allow, Deny};
    let choice = || Some("c1".to_owned());
    assert_eq!(
        read(r#"{"request_id":"req-1","choice_id":"c1"}"#),
        (choice(), None)
    );
    assert_eq!(
        read(r#"{"request_id":"req-1","decision":"allow"}"#),
        (None, Some(Allow))
    );
    assert_eq!(
        read(r#"{"request_id":"req-1","choice_id":"c1","decision":"deny"}"#),
        (choice(), Some(Deny))
    );
    assert_eq!(read(r#"{"request_id":"req-1"}"#), (None, None));
    let unknown =
        agent_command(r#"{"type":"permission_response","request_id":"req-1","decision":"maybe"}"#);
    assert_eq!(
        unknown.unwrap_err(),
        "`decision`: expected one of `allow`, `allow_always`, `deny`"
    );
}

#[test]
fn a_dialog_is_answered_with_null_but_not_with_nothing() {
    let error = agent_command(r#"{"type":"ui_response","request_id":"req-1"}"#);
    assert_eq!(error, Err("missing field `value`".to_owned()));
    let null = json!({ "type": "ui_response", "request_id": "req-1", "value": null });
    assert_eq!(agent_command(&null.to_string()), Ok(null));
}

#[test]
fn a_value_of_any_type_may_be_null() {
    for json in [
        json!({ "type": "permission_request", "request_id": "req-1", "tool_name": "x",
            "input": null, "prompt": "", "options": [] }),
        json!({ "type": "tool_result", "tool_call_id": "tc1", "is_error": false,
            "content": { "kind": "json", "value": null } }),
    ] {
        assert_eq!(server_message(&json.to_string()), Ok(json));
    }
}

#[test]
fn how_many_tokens_to_keep_is_checked_when_it_is_used() {
    let op = |n: &str| {
        format!(r#"{{"type":"session_op","op":"compact","args":{{"keep_recent_tokens":{n}}}}}"#)
    };
    for read in ["0", "-1", "2000"] {
        assert!(agent_command(&op(read)).is_ok(), "{read}");
    }
    let error = agent_command(&op("\"many\"")).unwrap_err();
    assert_eq!(error, "`args.keep_recent_tokens`: expected a JSON number");
}

#[test]
fn an_answer_is_a_success_with_data_or_a_failure_with_an_error() {
    let print = |outcome| {
        let answer = Response::to("r1".to_owned(), "abort".to_owned(), outcome);
        serde_json::from_str::<Value>(&ServerMessage::Response(answer).to_json()).unwrap()
    };
    assert_eq!(
        print(Ok(json!({ "cleared": [] }))),
        json!({ "type": "response", "id": "r1", "command": "abort", "success": true, "data": { "cleared": [] } })
    );
    assert_eq!(
        print(Ok(Value::Null)),
        json!({ "type": "response", "id": "r1", "command": "abort", "success": true })
    );
    assert_eq!(
        print(Err(ErrorBody::new(ErrorCode::Conflict, "a turn runs"))),
        json!({ "type": "response", "id": "r1", "command": "abort", "success": false,
            "error": { "code": "CONFLICT", "message": "a turn runs" } })
    );
}

#[test]
fn a_stored_row_of_an_unknown_type_is_read_but_has_no_content() {
    let row = r#"{"id":"msg-1","timestamp":1,"type":"hologram","details":[1]}"#;
    assert!(shard_types::SessionEntry::from_json(row).is_ok());
    let row = r#"{"id":"msg-1","timestamp":1,"type":"message","details":{"role":"user"}}"#;
    assert!(shard_types::SessionEntry::from_json(row).is_err());
}

#[test]
fn secrets_stay_out_of_debug_prints() {
    let init = RuntimeCommand::parse("runtime.init", r#"{"token":"s3cr3t"}"#);
    assert!(!format!("{init:?}").contains("s3cr3t"));
    let token: shard_protocol::SetupToken =
        serde_json::from_str(r#"{"token":"s3cr3t","url":"http://x/#setup=s3cr3t","expires_at":1}"#)
            .unwrap();
    assert!(!format!("{token:?}").contains("s3cr3t"));
}
