//! Events of an agent: what must be there, and what may be there besides.

use crate::sample::Row;

pub(crate) const ROWS: &[Row] = &[
    (
        r#"{"type":"hello","protocol_version":"0.1.0","server_version":"0.1.0+abc",
            "capabilities":["streaming-deltas","mode-catalog"]}"#,
        "{}",
    ),
    (
        r#"{"type":"sync","status":"idle","mode":"build","live_window":{"messages":[]},
            "pending_requests":[]}"#,
        r#"{"capabilities":["mode-switch"],"runtime_epoch":3,
            "model":{"id":"local/a","provider":"local","model":"a"},
            "usage":{"input":10,"output":2},
            "live_window":{"messages":[{"id":"msg-1","role":"assistant","partial":true,
                "content":[{"type":"text","text":"so far"}]}],"compaction_index":2,"has_more":true},
            "pending_requests":[
                {"type":"permission_request","request_id":"req-1","tool_name":"bash",
                 "input":{"any":"ls"},"prompt":"Run ls?","options":["allow","deny"]},
                {"type":"ui_request","request_id":"req-2","kind":"confirm"}],
            "queue":[{"request_key":"k1","kind":"follow_up","message":"then this"}]}"#,
    ),
    (
        r#"{"type":"status","status":"streaming"}"#,
        r#"{"detail":"trying again in 2 s"}"#,
    ),
    (r#"{"type":"turn_start","turn_id":"turn-1"}"#, "{}"),
    (
        r#"{"type":"message_delta","message_id":"msg-2","block_index":0,"kind":"text"}"#,
        r#"{"text_delta":"a\u2028b","tool_call_id":"tc1","name":"read","args_delta":"{\"pa"}"#,
    ),
    (
        r#"{"type":"message_complete","message_id":"msg-2",
            "message":{"id":"msg-2","role":"user","content":[]}}"#,
        r#"{"message":{"id":"msg-2","role":"assistant","partial":true,"content":[
            {"type":"thinking","text":"hm","signature":"c2ln","model":"anthropic/m"},
            {"type":"text","text":"Reading it."},
            {"type":"tool_call","id":"tc1","name":"read","args":{"free_path":"a.txt"}},
            {"type":"tool_result","tool_call_id":"tc1","content":{"kind":"json","value":{"any":1}},
             "is_error":false,"exit_code":0,"duration_ms":12,"render":{"kind":"text","text":"x"}},
            {"type":"image","data":"","mime_type":"image/png","omitted":true}]}}"#,
    ),
    (
        r#"{"type":"tool_call","tool_call_id":"tc1","name":"bash","args":{}}"#,
        r#"{"args":{"free_command":"ls"},"render":{"kind":"command","command":"ls"},
            "read_only":false,"allowed_by":{"kind":"rule","id":"r1","source":"project"}}"#,
    ),
    (
        r#"{"type":"tool_progress","tool_call_id":"tc1","text_delta":"line\n"}"#,
        "{}",
    ),
    (
        r#"{"type":"tool_result","tool_call_id":"tc1","content":{"kind":"text","text":"ok"},
            "is_error":false}"#,
        r#"{"content":{"kind":"error","message":"no such file"},"is_error":true,"exit_code":-9,
            "duration_ms":31,"render":{"kind":"status","label":"failed","tone":"error"},
            "images":[{"type":"image","data":"iVBORw0=","mime_type":"image/png"}]}"#,
    ),
    (
        r#"{"type":"turn_end","turn_id":"turn-1","reason":"done"}"#,
        r#"{"usage":{"input":10,"output":4,"context_tokens":14}}"#,
    ),
    (
        r#"{"type":"usage","input":10,"output":4}"#,
        r#"{"cache_read":3,"cache_write":2,"cost":0.25,"context_tokens":19,"model":"local/qwen"}"#,
    ),
    (
        r#"{"type":"compaction","index":0,"tokens_before":9000,"tokens_after":2000,
            "first_kept_entry_id":"msg-9","message_range":["msg-1","msg-8"]}"#,
        "{}",
    ),
    (
        r#"{"type":"error","code":"PROVIDER_ERROR","message":"the model answered 529"}"#,
        r#"{"fatal":false,"data":{"any":17}}"#,
    ),
    (
        r#"{"type":"permission_request","request_id":"req-7","tool_name":"bash",
            "input":{"any":"rm -rf build"},"prompt":"Run rm -rf build?",
            "options":["allow","allow_always","deny"]}"#,
        r#"{"details":[{"label":"Command","value":"rm -rf build","format":"command"},{"value":"x"}],
            "choices":[{"id":"c1","label":"Once","description":"this time","accelerator":"y",
                        "intent":"allow"},
                       {"id":"c2","label":"Always","intent":"persist"},
                       {"id":"c3","label":"No","intent":"deny"}],
            "headless_decision":"deny"}"#,
    ),
    (
        r#"{"type":"permission_resolved","request_id":"req-7"}"#,
        r#"{"decision":"allow_always","choice_id":"c2","source":"web"}"#,
    ),
    (
        r#"{"type":"ui_request","request_id":"req-8","kind":"select"}"#,
        r#"{"title":"Which?","message":"Pick some.","options":["a","b"],"multiple":true,
            "placeholder":"none","prefill":"a","notify_type":"warning"}"#,
    ),
    (
        r#"{"type":"ui_resolved","request_id":"req-8","value":null}"#,
        r#"{"value":["a"],"source":"timeout"}"#,
    ),
    (
        r#"{"type":"model_changed","effective":"next_provider_call",
            "previous":{"id":"local/a","provider":"local","model":"a"},
            "active":{"id":"local/b","provider":"local","model":"b"}}"#,
        r#"{"active":{"id":"local/b","provider":"local","model":"b","context_window":32768},
            "capabilities":["model-switch","reasoning-catalog"]}"#,
    ),
    (
        r#"{"type":"mode_changed","previous_mode":"plan","mode":"build"}"#,
        "{}",
    ),
    (
        r#"{"type":"reasoning_level_changed","previous":"low","active":"high",
            "model":{"id":"local/a","provider":"local","model":"a"},
            "effective":"next_provider_call"}"#,
        "{}",
    ),
    (
        r#"{"type":"queue_changed","queue":[]}"#,
        r#"{"queue":[{"kind":"steer","message":"a"},
            {"request_key":"k1","kind":"prompt","message":"b",
             "images":[{"type":"image","data":"iVBORw0=","mime_type":"image/png"}]}]}"#,
    ),
    (
        r#"{"type":"resources_changed","changed":["/w/AGENTS.md"]}"#,
        r#"{"diagnostics":["/w/AGENTS.md: not read"]}"#,
    ),
];

/// Forms that the table's two columns leave out.
pub(crate) const MORE: &[&str] = &[
    r#"{"type":"message_delta","message_id":"msg-2","block_index":1,"kind":"tool_call","args_delta":"th\":1}"}"#,
    r#"{"type":"message_delta","message_id":"msg-2","block_index":1,"kind":"thinking","text_delta":"hm"}"#,
    r#"{"type":"permission_resolved","request_id":"req-7","decision":"deny","source":"headless"}"#,
    r#"{"type":"permission_resolved","request_id":"req-7","choice_id":"c2"}"#,
    r#"{"type":"ui_resolved","request_id":"req-8","value":"yes"}"#,
    r#"{"type":"ui_request","request_id":"req-9","kind":"notify","message":"done","notify_type":"info"}"#,
    r#"{"type":"error","code":"CODE_OF_A_LATER_BUILD","message":"hm"}"#,
    r#"{"type":"permission_request","request_id":"req-7","tool_name":"x","input":{"any":null},"prompt":"","options":[]}"#,
    r#"{"type":"tool_result","tool_call_id":"tc1","content":{"kind":"json","value":{"any":null}},"is_error":false}"#,
];
