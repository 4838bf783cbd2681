//! Events of the daemon: what must be there, and what may be there besides.

use crate::sample::Row;

pub(crate) const ROWS: &[Row] = &[
    (
        r#"{"type":"agent_spawned","agent_id":"agent-1","info":{"agent_id":"agent-1","cwd":"/w",
            "status":"idle","runtime_state":"starting","created_at":1700000000000}}"#,
        "{}",
    ),
    (
        r#"{"type":"agent_exited","agent_id":"agent-1","runtime_state":"failed",
            "reason":"killed by signal 9"}"#,
        r#"{"exit_code":137}"#,
    ),
    (
        r#"{"type":"agent_status_changed","agent_id":"agent-1","status":"idle",
            "runtime_state":"stopped"}"#,
        r#"{"detail":"inactive for 30 minutes"}"#,
    ),
    (
        r#"{"type":"agent_activity","agent_id":"agent-1","timestamp":1700000000000,"phase":"tool",
            "status":"streaming"}"#,
        r#"{"tool_name":"bash"}"#,
    ),
    (
        r#"{"type":"workspace_created","workspace":{"workspace_id":"ws-1","cwd":"/t/ws-1",
            "ownership":"managed","lifecycle":"creating","created_at":1,"updated_at":2,
            "agent_count":0}}"#,
        "{}",
    ),
    (
        r#"{"type":"workspace_attached","agent_id":"agent-1","session_id":"session-1",
            "workspace":{"workspace_id":"ws-1","cwd":"/t/ws-1","ownership":"managed",
            "lifecycle":"active","created_at":1,"updated_at":2,"agent_count":1}}"#,
        "{}",
    ),
    (
        r#"{"type":"workspace_retired","workspace":{"workspace_id":"ws-1","cwd":"/t/ws-1",
            "ownership":"managed","lifecycle":"retired","created_at":1,"updated_at":2,
            "agent_count":0}}"#,
        "{}",
    ),
    (
        r#"{"type":"workspace_conflict","reason":"the branch is another one",
            "workspace":{"workspace_id":"ws-1","cwd":"/t/ws-1","ownership":"managed",
            "lifecycle":"conflict","created_at":1,"updated_at":2,"agent_count":1}}"#,
        "{}",
    ),
    (
        r#"{"type":"subagent_run_changed","parent_agent_id":"agent-1","job_id":"job-1",
            "run_id":"run-1","state":"failed"}"#,
        r#"{"agent_id":"agent-2","alias":"Juniper","definition_name":"reviewer",
            "display_name":"reviewer · Juniper","previous_state":"active","error":"no model",
            "ended_at":1700000000000}"#,
    ),
];
