//! Commands to the daemon: what must be there, and what may be there besides.

use crate::sample::Row;

pub(crate) const ROWS: &[Row] = &[
    (r#"{"type":"agent.list"}"#, "{}"),
    (
        r#"{"type":"agent.create","cwd":"/w"}"#,
        r#"{"session_id":"session-1","model":"qwen","provider":"local","mode":"plan",
            "tools":["read","bash"],"skills":["review"],"headless_policy":"allow_if_rule_matches",
            "name":"Fixer","parent_agent_id":"agent-0","system_prompt":"You review.","depth":1,
            "launch_policy":{"maxTasks":8,"maxDepth":3},"alias":"Juniper",
            "definition_name":"reviewer","display_name":"reviewer · Juniper",
            "names":["Juniper","Willow"],"request_key":"k1"}"#,
    ),
    (
        r#"{"type":"agent.attach","agent_id":"agent-1"}"#,
        r#"{"role":"observer"}"#,
    ),
    (r#"{"type":"agent.detach","agent_id":"agent-1"}"#, "{}"),
    (r#"{"type":"agent.terminate","agent_id":"agent-1"}"#, "{}"),
    (
        r#"{"type":"agent.kill","agent_id":"agent-1"}"#,
        r#"{"force":true}"#,
    ),
    (r#"{"type":"agent.status"}"#, r#"{"agent_id":"agent-1"}"#),
    (
        r#"{"type":"agent.rename","agent_id":"agent-1","name":"Docs"}"#,
        "{}",
    ),
    (r#"{"type":"daemon.shutdown"}"#, r#"{"force":false}"#),
    (
        r#"{"type":"session.list"}"#,
        r#"{"cwd":"/w","include_forks":true}"#,
    ),
    (
        r#"{"type":"session.activate","session_id":"session-1"}"#,
        r#"{"role":"interactive"}"#,
    ),
    (
        r#"{"type":"session.messages","session_id":"session-1"}"#,
        r#"{"before":"msg-9","limit":50}"#,
    ),
    (
        r#"{"type":"workspace.create","cwd":"/w"}"#,
        r#"{"version":1,"label":"Fix","branch":"fix","base_ref":"main","integration_target":"main",
            "title":"Fix it","name":"Fixer","model":"qwen","provider":"local","mode":"build",
            "request_key":"k2"}"#,
    ),
    (
        r#"{"type":"workspace.attach","workspace_id":"ws-1"}"#,
        r#"{"version":1,"title":"More","name":"Second","model":"qwen","provider":"local",
            "mode":"plan","request_key":"k3"}"#,
    ),
    (
        r#"{"type":"workspace.list"}"#,
        r#"{"version":1,"cwd":"/w","include_retired":true}"#,
    ),
    (
        r#"{"type":"workspace.status","workspace_id":"ws-1"}"#,
        r#"{"version":1}"#,
    ),
    (
        r#"{"type":"workspace.retire","workspace_id":"ws-1"}"#,
        r#"{"version":1,"branch_disposition":"delete_if_merged"}"#,
    ),
    (
        r#"{"type":"subagent.create","parent_agent_id":"agent-1"}"#,
        r#"{"runtime_token":"t","name":"reviewer","task":"look","tasks":[{"name":"a","task":"b"}],
            "strategy":"chain","model":"qwen","provider":"local","mode":"plan","request_key":"k4"}"#,
    ),
    (
        r#"{"type":"subagent.wait","parent_agent_id":"agent-1","handles":["run-1","Juniper"]}"#,
        r#"{"runtime_token":"t","mode":"any","timeout":2.5}"#,
    ),
    (
        r#"{"type":"subagent.steer","parent_agent_id":"agent-1","target":"Juniper","message":"m"}"#,
        r#"{"runtime_token":"t"}"#,
    ),
    (
        r#"{"type":"subagent.relaunch","parent_agent_id":"agent-1","target":"Juniper","task":"t"}"#,
        r#"{"runtime_token":"t","request_key":"k5"}"#,
    ),
    (
        r#"{"type":"subagent.status","parent_agent_id":"agent-1"}"#,
        r#"{"runtime_token":"t","targets":["job-1"]}"#,
    ),
    (
        r#"{"type":"subagent.stop","parent_agent_id":"agent-1","handle":"job-1"}"#,
        r#"{"runtime_token":"t"}"#,
    ),
    (r#"{"type":"grants.list","agent_id":"agent-1"}"#, "{}"),
    (
        r#"{"type":"grants.revoke","agent_id":"agent-1","grant_id":"grant-1"}"#,
        "{}",
    ),
    (
        r#"{"type":"fs.complete","prefix":"sr"}"#,
        r#"{"agent_id":"agent-1","cwd":"/w","limit":20}"#,
    ),
    (
        r#"{"type":"usage.query","group_by":"day"}"#,
        r#"{"since":1700000000000,"until":1800000000000}"#,
    ),
    (
        r#"{"type":"resources.list"}"#,
        r#"{"agent_id":"agent-1","cwd":"/w"}"#,
    ),
    (r#"{"type":"auth.token"}"#, "{}"),
    (r#"{"type":"auth.approve","code":"ABCD2345"}"#, "{}"),
    (r#"{"type":"auth.list"}"#, "{}"),
    (
        r#"{"type":"auth.revoke","principal_id":"principal-1"}"#,
        "{}",
    ),
];
