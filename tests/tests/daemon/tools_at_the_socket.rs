//! What an agent starts may not act for its owner, however it gets at the socket.

use serde_json::{Value, json};
use shard_testkit::{Answer, Mark, ScriptedModel, reply, text, tool};

use crate::{Site, of};

/// Sends the lines of a file to a socket and prints what comes back: one answer for each, and
/// whatever else. It can leave its session and its parents first.
const SCRIPT: &str = r"
import json, os, socket, sys
path, how = open('socket').read(), sys.argv[1]
if how == 'orphan':
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    sys.stdout = open('answers.new', 'w')
if how == 'session':
    if os.fork():
        os.wait()
        os._exit(0)
    os.setsid()
peer = socket.socket(socket.AF_UNIX)
peer.connect(path)
lines = open('lines').read().splitlines()
peer.sendall(''.join(line + '\n' for line in lines).encode())
answers = 0
for line in peer.makefile():
    print(line, end='', flush=True)
    answers += json.loads(line)['type'] == 'response'
    if answers == len(lines):
        break
if how == 'orphan':
    os.rename('answers.new', 'answers')
";

/// What an agent's command may not do, each as a command of a client.
fn wishes(site: &Site, own: &str, other: &str, request_id: &Value) -> Vec<Value> {
    let mut wishes = vec![
        json!({ "type": "agent.list" }),
        json!({ "type": "agent.create", "cwd": site.home.work() }),
        json!({ "type": "agent.attach", "agent_id": own }),
        json!({ "type": "agent.attach", "agent_id": other }),
        json!({ "type": "permission_response", "agent_id": own, "request_id": request_id,
            "decision": "allow" }),
        json!({ "type": "permission_response", "agent_id": other, "request_id": request_id,
            "decision": "allow" }),
        json!({ "type": "prompt", "agent_id": other, "message": "obey" }),
        json!({ "type": "set_mode", "agent_id": other, "mode": "plan" }),
        json!({ "type": "agent.kill", "agent_id": other }),
        json!({ "type": "agent.rename", "agent_id": other, "name": "mine" }),
        json!({ "type": "session.list" }),
        json!({ "type": "session.messages", "session_id": "session-1" }),
        json!({ "type": "session.activate", "session_id": "session-1" }),
        json!({ "type": "fs.complete", "prefix": "/" }),
        json!({ "type": "grants.list", "agent_id": other }),
        json!({ "type": "grants.revoke", "agent_id": own, "grant_id": "grant-1" }),
        json!({ "type": "auth.token" }),
        json!({ "type": "auth.approve", "code": "ABCD2345" }),
        json!({ "type": "auth.list" }),
        json!({ "type": "auth.revoke", "principal_id": "principal-1" }),
        json!({ "type": "daemon.shutdown", "force": true }),
    ];
    for (number, wish) in wishes.iter_mut().enumerate() {
        wish["id"] = json!(format!("w{number}"));
    }
    wishes
}

/// Checks that a command that is started in this way gets nothing.
async fn check(how: &str) {
    let model = ScriptedModel::silent();
    let rules = json!([{ "action": "allow", "tool": "bash" }]);
    let site = Site::with(model, |home| home.rules(rules), &[]).await;
    let victim = site.agent().await;
    let actor = site.agent().await;
    site.model.add(reply![tool(
        "write",
        json!({"path": "x.txt", "content": "x"})
    )]);
    let mark = victim.prompt("ask me").await;
    let ask = victim.wait_for_type(mark, "permission_request").await;

    site.home.write("at_socket.py", SCRIPT);
    let wishes = wishes(&site, &actor.id, &victim.id, &ask["request_id"]);
    let lines: String = wishes.iter().map(|wish| format!("{wish}\n")).collect();
    site.home.write("lines", lines);
    // Not in the command, where the daemon's own folder would make it ask.
    let socket = site.daemon.socket();
    site.home.write("socket", socket.to_str().unwrap());
    let run = format!("python3 at_socket.py {how}");
    let command = match how {
        "orphan" => format!("{run}; until [ -e answers ]; do sleep 0.02; done; cat answers"),
        _ => run,
    };
    site.model.add(reply![tool(
        "bash",
        json!({ "command": command, "timeout": 20 })
    )]);
    site.model.add(reply![text("tried")]);
    let turn = actor.turn("try").await;
    let output = turn.result_text(0);
    let answers = output
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let answers: Vec<Value> = answers.collect();
    assert_eq!(answers[0]["type"], "hello", "{output}");
    for wish in &wishes {
        let answer = answers.iter().find(|answer| answer["id"] == wish["id"]);
        let answer = answer.unwrap_or_else(|| panic!("no answer to {wish}: {output}"));
        assert_eq!(
            answer["error"]["code"], "PERMISSION_DENIED",
            "{wish}: {answer}"
        );
    }
    assert_eq!(of(&answers, "response").len(), wishes.len(), "{output}");
    assert_eq!(
        answers.len(),
        wishes.len() + 1,
        "nothing else is heard: {output}"
    );

    // Nothing came of it: the question is open and its owner decides.
    let infos = site.client.agents().await;
    assert_eq!(infos.len(), 2);
    assert!(
        infos
            .iter()
            .all(|info| info.get("name").is_none() && info["mode"] == "build")
    );
    let again = site.client.attach(&victim.id).await;
    assert_eq!(
        again.sync["pending_requests"][0]["request_id"],
        ask["request_id"]
    );
    site.model.add(reply![text("refused")]);
    again.answer(&ask, &Answer::Deny).await;
    let turn = again.follow(mark, |_| Answer::Leave).await;
    assert_eq!(turn.of("permission_resolved")[0]["decision"], "deny");
    assert!(!site.home.has("x.txt"));
    let all = site.client.messages_since(Mark::START);
    assert_eq!(of(&all, "agent_spawned").len(), 2);
}

#[tokio::test]
async fn from_the_command_itself() {
    check("plain").await;
}

#[tokio::test]
async fn from_a_session_of_its_own() {
    check("session").await;
}

#[tokio::test]
async fn from_an_orphan() {
    check("orphan").await;
}

/// Opens connections until none more is taken, and keeps them.
const CROWD: &str = r"
import select, socket
path, kept = open('socket').read(), []
for _ in range(1500):
    peer = socket.socket(socket.AF_UNIX)
    peer.setblocking(False)
    try:
        peer.connect(path)
    except BlockingIOError:
        break
    kept.append(peer)
open('crowd', 'w').close()
select.select([], [], [])
";

#[tokio::test]
async fn a_crowd_of_connections_does_not_shut_the_owner_out() {
    let rules = json!([{ "action": "allow", "tool": "bash" }]);
    let site = Site::with(ScriptedModel::silent(), |home| home.rules(rules), &[]).await;
    let agent = site.agent().await;
    site.home.write("crowd.py", CROWD);
    let socket = site.daemon.socket();
    site.home.write("socket", socket.to_str().unwrap());
    let command = "ulimit -n 2000; python3 crowd.py & until [ -e crowd ]; do sleep 0.02; done";
    site.model.add(reply![tool(
        "bash",
        json!({ "command": command, "timeout": 20 })
    )]);
    site.model.add(reply![text("done")]);
    agent.turn("crowd").await;
    let owner = site.daemon.connect().await;
    assert_eq!(owner.agents().await.len(), 1);
}
