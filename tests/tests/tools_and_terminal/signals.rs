//! Being asked to end, at moments that do not suit.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use shard_testkit::{AgentProcess, Home, ScriptedModel, processes_under, reply, tool, until};

use crate::{ENDS_WITHIN, gone, pid_in};

fn signal(agent: &AgentProcess, signal: Signal) {
    let pid = Pid::from_raw(agent.pid().cast_signed()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[tokio::test]
async fn an_agent_that_is_asked_to_end_winds_its_turn_up() {
    for asked in [Signal::TERM, Signal::HUP] {
        let command = "setsid sh -c 'echo $$ > far; exec sleep 321' & exec sleep 322";
        let model = ScriptedModel::start([reply![
            tool("bash", json!({ "command": command })),
            tool("bash", json!({ "command": "touch never" })),
        ]]);
        let home = Home::new(&model);
        let agent = AgentProcess::start(&home, &[]);
        let mark = agent.mark();
        agent.ok("prompt", json!({ "message": "go" })).await;
        let far = pid_in(&home, "far").await;
        signal(&agent, asked);
        assert_eq!(agent.exited().await.code(), Some(0));
        let end = agent.wait_for_type(mark, "turn_end").await;
        assert_eq!(end["reason"], "aborted");
        gone(far).await;
        until("nothing is left", ENDS_WITHIN, || {
            processes_under(home.root()).is_empty()
        })
        .await;
        let rows = home.session_rows(&home.session_file());
        let results = rows.iter().filter(|row| row["type"] == "tool_result");
        assert_eq!(results.count(), 2);
        assert!(!home.has("never"));
    }
}

#[tokio::test]
async fn an_agent_that_is_asked_to_end_while_it_is_busy_with_commands_hears_it() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let flood = "{\"type\":\"sync\"}\n".repeat(400);
    for round in 0..10 {
        let agent = AgentProcess::start(&home, &[]);
        agent.sync().await;
        let mark = agent.mark();
        agent.send_raw(flood.as_bytes()).await;
        let (mut seen, wanted) = (0, 20 + round * 20);
        agent
            .wait_for(mark, "some of the answers", |_| {
                seen += 1;
                seen > wanted
            })
            .await;
        signal(&agent, Signal::TERM);
        assert_eq!(agent.exited().await.code(), Some(0), "round {round}");
    }
}
