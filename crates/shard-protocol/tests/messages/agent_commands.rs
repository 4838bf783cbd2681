//! Commands to an agent: what must be there, and what may be there besides.

use crate::sample::Row;

pub(crate) const ROWS: &[Row] = &[
    (
        r#"{"type":"prompt","message":"read the config"}"#,
        r#"{"images":[{"type":"image","data":"iVBORw0=","mime_type":"image/png"}],
            "streaming_behavior":"follow_up","request_key":"k:1_a.B-9"}"#,
    ),
    (
        r#"{"type":"steer","message":"rather the other one"}"#,
        r#"{"images":[{"type":"image","data":"","mime_type":"image/jpeg"}],"request_key":"k2",
            "expect":{"turn_id":"turn-1","run_id":"run-1","correlation_id":"c 1"}}"#,
    ),
    (r#"{"type":"abort"}"#, "{}"),
    (r#"{"type":"set_mode","mode":"plan"}"#, "{}"),
    (r#"{"type":"list_modes"}"#, "{}"),
    (r#"{"type":"list_models"}"#, "{}"),
    (r#"{"type":"set_model","model":"local/qwen"}"#, "{}"),
    (r#"{"type":"list_reasoning_levels"}"#, "{}"),
    (
        r#"{"type":"set_reasoning_level","model":"local/qwen","effort":"high"}"#,
        "{}",
    ),
    (
        r#"{"type":"session_op","op":"compact"}"#,
        r#"{"args":{"keep_recent_tokens":2000,"from_entry_id":"msg-7"},"request_key":"k3"}"#,
    ),
    (
        r#"{"type":"permission_response","request_id":"req-7"}"#,
        r#"{"choice_id":"choice 1","decision":"allow_always","reason":"as ever","source":"headless"}"#,
    ),
    (
        r#"{"type":"ui_response","request_id":"req-8","value":null}"#,
        r#"{"value":["a","b"],"source":"headless"}"#,
    ),
];

/// Forms that the table's two columns leave out.
pub(crate) const MORE: &[&str] = &[
    r#"{"type":"session_op","op":"list","args":{}}"#,
    r#"{"type":"session_op","op":"fork","args":{"from_entry_id":"msg-7"}}"#,
    r#"{"type":"prompt","message":"","streaming_behavior":"steer"}"#,
    r#"{"type":"permission_response","request_id":"req-7","choice_id":"c1"}"#,
    r#"{"type":"permission_response","request_id":"req-7","decision":"allow"}"#,
    r#"{"type":"permission_response","request_id":"req-7","decision":"deny","reason":"no"}"#,
    r#"{"type":"ui_response","request_id":"req-8","value":"yes"}"#,
    r#"{"type":"ui_response","request_id":"req-8","value":[]}"#,
];

/// Between a daemon and the runtime that it started.
pub(crate) const PRIVATE: &[Row] = &[
    (
        r#"{"type":"runtime.init","token":"t"}"#,
        r#"{"agent_id":"agent-1","socket_path":"/run/shard.sock"}"#,
    ),
    (r#"{"type":"sync"}"#, "{}"),
    (r#"{"type":"grants.list"}"#, "{}"),
    (r#"{"type":"grants.revoke","grant_id":"grant-1"}"#, "{}"),
];
