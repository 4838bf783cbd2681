//! Types that several messages share, by their name in the schemas.

use shard_protocol as p;
use shard_types as t;

use crate::sample::{Read, reads};

/// The type, how it is read, what must be there, what may be there besides.
#[rustfmt::skip]
pub(crate) const ROWS: &[(&str, Read, &str, &str)] = &[
    ("Image", reads::<t::Image>,
        r#"{"type":"image","data":"iVBORw0=","mime_type":"image/png"}"#, "{}"),
    ("ModelDescriptor", reads::<t::ModelDescriptor>,
        r#"{"id":"local/a","provider":"local","model":"a"}"#, r#"{"context_window":32768}"#),
    ("ReasoningLevel", reads::<t::ReasoningLevel>, r#"{"id":"low","label":"Low"}"#,
        r#"{"description":"answers at once"}"#),
    ("Message", reads::<t::Message>, r#"{"id":"msg-1","role":"user","content":[]}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"hi"}],"partial":true}"#),
    ("Usage", reads::<t::Usage>, r#"{"input":1,"output":2}"#,
        r#"{"cache_read":3,"cache_write":4,"cost":0.5,"context_tokens":6,"model":"local/a"}"#),
    ("AgentInfo", reads::<t::AgentInfo>,
        r#"{"agent_id":"agent-1","cwd":"/w","status":"idle","runtime_state":"running",
            "created_at":1700000000000}"#,
        r#"{"session_id":"session-1","name":"Fixer","model":"qwen","provider":"local","mode":"build",
            "usage":{"input":1,"output":2},"parent_agent_id":"agent-0","alias":"Juniper",
            "definition_name":"reviewer","display_name":"reviewer · Juniper"}"#),
    ("PermissionDetail", reads::<t::PermissionDetail>, r#"{"value":"ls"}"#,
        r#"{"label":"Command","format":"path"}"#),
    ("PermissionChoice", reads::<t::PermissionChoice>,
        r#"{"id":"c1","label":"Once","intent":"allow"}"#,
        r#"{"description":"this time","accelerator":"y"}"#),
    ("QueuedPrompt", reads::<t::event::QueuedPrompt>, r#"{"kind":"steer","message":"m"}"#,
        r#"{"request_key":"k1","images":[{"type":"image","data":"","mime_type":"image/png"}]}"#),
    ("Hunk", reads::<t::Hunk>,
        r#"{"old_start":1,"old_lines":1,"new_start":1,"new_lines":1,"lines":[
            {"kind":"context","text":"a"},{"kind":"del","text":"b"},{"kind":"add","text":"c"}]}"#,
        "{}"),
    ("TreeNode", reads::<t::TreeNode>, r#"{"label":"src"}"#,
        r#"{"kind":"dir","hint":"3 files","children":[{"label":"a.rs"}]}"#),
    ("ListedPath", reads::<t::ListedPath>, r#"{"path":"a.rs","kind":"file"}"#,
        r#"{"hint":"fn main() {"}"#),
    ("RunSnapshot", reads::<t::RunSnapshot>,
        r#"{"job_id":"job-1","run_id":"run-1","index":0,"name":"reviewer","state":"active"}"#,
        r#"{"agent_id":"agent-2","alias":"Juniper","definition_name":"reviewer",
            "display_name":"reviewer · Juniper","deadline":5,"final_text":"done",
            "usage":{"input":1,"output":2},"error":"no model","started_at":3,"ended_at":4}"#),
    ("JobSnapshot", reads::<t::JobSnapshot>,
        r#"{"job_id":"job-1","parent_agent_id":"agent-1","strategy":"chain","state":"failed",
            "runs":[],"created_at":1}"#,
        r#"{"runs":[{"job_id":"job-1","run_id":"run-1","index":0,"name":"a","state":"failed"}],
            "chain_step":1,"stopped_at":1,"ended_at":9}"#),
    ("Workspace", reads::<p::Workspace>,
        r#"{"workspace_id":"ws-1","cwd":"/t/ws-1","ownership":"managed","lifecycle":"active",
            "created_at":1,"updated_at":2,"agent_count":1}"#,
        r#"{"label":"Fix","repository_cwd":"/w","branch":"fix","base_ref":"main",
            "integration_target":"main","repository_fingerprint":"r","worktree_fingerprint":"w",
            "retired_at":3,"agent_ids":["agent-1"],"conflict":"the branch is another one"}"#),
    ("SessionInfo", reads::<p::SessionInfo>,
        r#"{"session_id":"session-1","cwd":"/w","created_at":1,"updated_at":2,"message_count":3}"#,
        r#"{"agent_id":"agent-1","title":"Fix it",
            "forked_from":{"session_id":"session-0","entry_id":"msg-1"}}"#),
    ("WorkspaceRefusal", reads::<p::WorkspaceRefusal>, r#"{"kind":"confirmation_required"}"#,
        r#"{"workspace_id":"ws-1","reason":"not merged",
            "confirmation_disposition":"delete_confirmed"}"#),
    ("ErrorBody", reads::<p::ErrorBody>, r#"{"code":"CONFLICT","message":"a turn runs"}"#,
        r#"{"data":{"any":1}}"#),
];

/// Values of types that come in several kinds: the type, how it is read, and one value of each.
#[rustfmt::skip]
pub(crate) const KINDS: &[(&str, Read, &[&str])] = &[
    ("ContentBlock", reads::<t::ContentBlock>, &[
        r#"{"type":"text","text":"hi"}"#,
        r#"{"type":"tool_call","id":"tc1","name":"read","args":{}}"#,
        r#"{"type":"tool_call","id":"tc1","name":"read","args":{"free_path":"a","free_n":1}}"#,
        r#"{"type":"tool_result","tool_call_id":"tc1","content":{"kind":"text","text":"ok"}}"#,
        r#"{"type":"tool_result","tool_call_id":"tc1","content":{"kind":"text","text":"ok"},
            "is_error":true,"exit_code":2,"duration_ms":3,"render":{"kind":"text","text":"x"}}"#,
        r#"{"type":"thinking","text":""}"#,
        r#"{"type":"thinking","text":"hm","signature":"c2ln","model":"anthropic/m"}"#,
        r#"{"type":"image","data":"iVBORw0=","mime_type":"image/png"}"#,
        r#"{"type":"image","data":"","mime_type":"image/png","omitted":true}"#,
    ]),
    ("ToolResultContent", reads::<t::ToolResultContent>, &[
        r#"{"kind":"text","text":"ok"}"#,
        r#"{"kind":"json","value":{"any":[1,null]}}"#,
        r#"{"kind":"error","message":"no such file"}"#,
    ]),
    ("RenderDescriptor", reads::<t::RenderDescriptor>, &[
        r#"{"kind":"text","text":"x"}"#,
        r#"{"kind":"kv","pairs":[{"k":"a","v":"b"}]}"#,
        r#"{"kind":"diff","path":"a.rs","hunks":[{"old_start":0,"old_lines":0,"new_start":1,
            "new_lines":1,"lines":[{"kind":"add","text":"x"}]}]}"#,
        r#"{"kind":"tree","root":{"label":"src","kind":"dir","hint":"1","children":[{"label":"a"}]}}"#,
        r#"{"kind":"progress","label":"copying","current":1}"#,
        r#"{"kind":"progress","label":"copying","current":1,"total":2}"#,
        r#"{"kind":"status","label":"done","tone":"info"}"#,
        r#"{"kind":"command","command":"ls"}"#,
        r#"{"kind":"command","command":"ls","exitCode":1,"durationMs":2}"#,
        r#"{"kind":"path_list","paths":[{"path":"a","kind":"file","hint":"h"},{"path":"b","kind":"dir"}]}"#,
        r#"{"kind":"code","text":"fn main() {}"}"#,
        r#"{"kind":"code","path":"a.rs","lang":"rust","text":"fn main() {}"}"#,
    ]),
    ("PendingRequest", reads::<t::event::PendingRequest>, &[
        r#"{"type":"permission_request","request_id":"req-1","tool_name":"bash","input":{"any":1},
            "prompt":"p","options":["deny"],"details":[{"value":"v"}],
            "choices":[{"id":"c","label":"l","intent":"deny"}]}"#,
        r#"{"type":"ui_request","request_id":"req-2","kind":"input","prefill":"x"}"#,
        r#"{"agent_id":"agent-2","type":"ui_request","request_id":"req-3","kind":"input"}"#,
    ]),
    ("Compacted", reads::<p::Compacted>, &[
        r#"{"compacted":true,"index":0,"tokens_before":9,"tokens_after":2,
            "first_kept_entry_id":"msg-4","message_range":["msg-1","msg-3"]}"#,
        r#"{"compacted":false,"reason":"no_safe_cut"}"#,
    ]),
    ("NormalizedBlock", reads::<t::NormalizedBlock>, &[
        r#"{"kind":"user","text":"hi"}"#,
        r#"{"kind":"assistant","text":"hi"}"#,
        r#"{"kind":"tool_call","name":"read","args":{"free_path":"a"}}"#,
        r#"{"kind":"tool_result","name":"read","text":"x","isError":true}"#,
        r#"{"kind":"bash","command":"ls","output":"a"}"#,
        r#"{"kind":"bash","command":"ls","output":"a","exitCode":0}"#,
        r#"{"kind":"thinking","text":"hm"}"#,
    ]),
    ("SessionEntry", entry, &[
        r#"{"id":"msg-1","parentId":null,"timestamp":1,"type":"checkpoint","details":
            {"artifactKind":"session","version":1,"sessionId":"session-1","cwd":"/w","createdAt":1}}"#,
        r#"{"id":"msg-1","parentId":null,"timestamp":1,"type":"checkpoint","details":
            {"artifactKind":"fork","version":1,"sessionId":"session-2","cwd":"/w","createdAt":1,
             "forkId":"f1","sourceSessionId":"session-1","sourceEntryId":"msg-9"}}"#,
        r#"{"id":"msg-2","parentId":"msg-1","timestamp":2,"type":"checkpoint","details":
            {"artifactKind":"prompt_accepted","messageId":"msg-3","kind":"follow_up","message":"m",
             "images":[{"type":"image","data":"iVBORw0=","mime_type":"image/png"}],"requestKey":"k"}}"#,
        r#"{"id":"msg-3","parentId":"msg-2","timestamp":2,"type":"checkpoint","details":
            {"artifactKind":"prompts_cleared","messageIds":["msg-3"]}}"#,
        r#"{"id":"msg-9","parentId":null,"timestamp":1,"type":"checkpoint","details":
            {"artifactKind":"prompts_cleared","messageIds":["msg-3"],"refused":true}}"#,
        r#"{"id":"msg-4","parentId":"msg-3","timestamp":2,"type":"checkpoint","details":
            {"artifactKind":"tool_started","toolCallId":"tc1"}}"#,
        r#"{"id":"msg-5","parentId":"msg-4","timestamp":2,"type":"checkpoint","details":
            {"artifactKind":"model_changed","model":"local/a"}}"#,
        r#"{"id":"msg-6","parentId":"msg-5","timestamp":2,"type":"checkpoint","details":
            {"artifactKind":"mode_changed","mode":"plan"}}"#,
        r#"{"id":"msg-7","parentId":"msg-6","timestamp":3,"type":"message","details":
            {"role":"user","content":[]}}"#,
        r#"{"id":"msg-8","parentId":"msg-7","timestamp":3,"type":"message","details":
            {"role":"assistant","content":[{"type":"text","text":"a\u2028b"}],"partial":true,
             "usage":{"input":1,"output":2}}}"#,
        r#"{"id":"msg-9","parentId":"msg-8","timestamp":4,"type":"tool_result","details":
            {"toolCallId":"tc1","content":{"kind":"text","text":"x"},"isError":false}}"#,
        r#"{"id":"msg-9","parentId":"msg-8","timestamp":4,"type":"tool_result","details":
            {"toolCallId":"tc1","content":{"kind":"text","text":"x"},"isError":true,"exitCode":3,
             "durationMs":7,"render":{"kind":"text","text":"x"},
             "images":[{"type":"image","data":"iVBORw0=","mime_type":"image/png"}]}}"#,
        r#"{"id":"msg-10","parentId":"msg-9","timestamp":5,"type":"compaction","details":
            {"summary":"s","messageRange":["msg-2","msg-3"],"firstKeptEntryId":"msg-4",
             "tokensBefore":9,"tokensAfter":2,"compactor":"default","index":0}}"#,
    ]),
];

fn entry(json: &str) -> Result<serde_json::Value, String> {
    let entry = t::SessionEntry::from_json(json).map_err(|error| error.to_string())?;
    serde_json::to_value(entry).map_err(|error| error.to_string())
}

/// Every word of every closed list of words, by the list's name in the schemas.
#[rustfmt::skip]
pub(crate) const WORDS: &[(&str, &str)] = &[
    ("AgentStatus", "idle streaming waiting_for_permission waiting_for_ui compacting error"),
    ("RuntimeState", "stopped starting running failed"),
    ("Phase", "idle thinking streaming tool waiting compacting retrying error"),
    ("HeadlessPolicy", "deny allow_if_rule_matches queue"),
    ("Role", "user assistant"),
    ("StreamingBehavior", "steer follow_up"),
    ("SessionOpKind", "list compact fork"),
    ("PermissionDecision", "allow allow_always deny"),
    ("ChoiceIntent", "allow persist deny"),
    ("DetailFormat", "text command path code"),
    ("DeltaKind", "text tool_call thinking"),
    ("TurnEndReason", "done aborted error limit"),
    ("AllowedByKind", "rule grant mode default"),
    ("GrantKind", "exact bash_signature not_understood"),
    ("UiKind", "select confirm input editor notify"),
    ("NotifyType", "info warning error"),
    ("Effective", "next_provider_call"),
    ("QueuedKind", "steer follow_up prompt"),
    ("Tone", "info warn error"),
    ("LineKind", "context add del"),
    ("PathKind", "file dir"),
    ("JobState", "queued running completed failed cancelled"),
    ("RunState", "queued starting active completed failed timed_out cancelled interrupted"),
    ("JobStrategy", "single parallel chain"),
    ("WaitMode", "any all"),
    ("SteerOutcome", "injected conflict"),
    ("AttachRole", "interactive observer"),
    ("BranchDisposition", "delete_if_merged keep delete_confirmed"),
    ("WorkspaceLifecycle", "creating active retiring retired conflict"),
    ("UsageGroup", "day model agent project"),
    ("ErrorCode", "INVALID_REQUEST NOT_FOUND NOT_ATTACHED PERMISSION_DENIED PROTOCOL_ERROR TIMEOUT \
        RUNTIME_START_FAILED SESSION_CORRUPT INTERNAL_ERROR PROVIDER_ERROR TOOL_ERROR CONFLICT"),
];
