//! Lines that are no good message.

use serde_json::{Value, json};
use shard_testkit::{AgentProcess, Home, Mark, ScriptedModel, reply, text};

/// What the agent says to one bad line.
async fn told(agent: &AgentProcess, line: &[u8]) -> Value {
    let mark = agent.mark();
    agent.send_raw(&[line, b"\n"].concat()).await;
    agent
        .wait_for(mark, "an answer to a bad line", |m| {
            m["type"] == "response" || m["type"] == "error"
        })
        .await
}

#[tokio::test]
async fn every_bad_line_is_answered_and_the_connection_goes_on() {
    let model = ScriptedModel::start([reply![text("still here")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.sync().await;
    for line in [
        &b"nonsense"[..],
        b"[1,2]",
        b"{\"message\":\"x\"}",
        b"\xff\xfe",
        b"{\"type\":\"no_such\"}",
    ] {
        let error = told(&agent, line).await;
        assert_eq!(
            (&error["type"], &error["code"], &error["fatal"]),
            (&json!("error"), &json!("INVALID_REQUEST"), &json!(false))
        );
    }
    for (line, words) in [
        (r#"{"id":"a","type":"no_such"}"#, "`no_such`"),
        (r#"{"id":"b","type":"prompt"}"#, "`message`"),
        (
            r#"{"id":"c","type":"prompt","message":7}"#,
            "`message`: expected a string",
        ),
        (
            r#"{"id":"d","type":"prompt","message":"  "}"#,
            "`message` is empty",
        ),
        (r#"{"id":"e","type":"agent.list"}"#, "for a daemon"),
        (r#"{"id":"f"}"#, "`type`"),
    ] {
        let response = told(&agent, line.as_bytes()).await;
        let id: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (&response["id"], &response["success"]),
            (&id["id"], &json!(false)),
            "{line}"
        );
        assert_eq!(response["error"]["code"], "INVALID_REQUEST", "{line}");
        assert!(
            response["error"]["message"]
                .as_str()
                .unwrap()
                .contains(words),
            "{response}"
        );
    }
    agent
        .send_raw(b"\n  \n{\"type\":\"set_mode\",\"mode\":\"build\"}\r\n")
        .await;
    assert_eq!(agent.turn("are you there?").await.text(), "still here");
    assert_eq!(
        agent
            .messages_since(Mark::START)
            .iter()
            .filter(|m| m["command"] == "set_mode")
            .count(),
        0,
        "no id, no answer"
    );
}

#[tokio::test]
async fn a_large_message_is_taken_and_one_over_the_bound_ends_the_connection() {
    let model = ScriptedModel::start([reply![text("read it all")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let long = "x".repeat(3 << 20);
    assert_eq!(agent.turn(&long).await.text(), "read it all");
    let mark = agent.mark();
    let mut line = String::from("{\"id\":\"big\",\"type\":\"prompt\",\"message\":\"");
    line.push_str(&"y".repeat((16 << 20) + 1 - line.len()));
    agent.send_raw(line.as_bytes()).await;
    let refused = agent.wait_for_type(mark, "response").await;
    assert_eq!(
        (
            &refused["id"],
            &refused["command"],
            &refused["error"]["code"]
        ),
        (&json!("big"), &json!("prompt"), &json!("INVALID_REQUEST"))
    );
    assert_eq!(agent.exited().await.code(), Some(1));
    assert_eq!(model.requests().len(), 1);
}
