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
async fn a_line_without_a_readable_id_is_an_error_event_and_the_connection_goes_on() {
    let model = ScriptedModel::start([reply![text("still here")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.sync().await;
    let syntax = |column: u32| {
        format!("not valid JSON at line 1, column {column}; send one JSON object a line")
    };
    let object = "a message is a JSON object".to_owned();
    let utf8 = "the line is not UTF-8; send JSON in UTF-8".to_owned();
    for (line, words) in [
        (&b"nonsense"[..], syntax(2)),
        (b"{\"id\":\"p\",\"type\":\"abort\"", syntax(24)),
        (b"{\"id\":\"p\",\"type\":\"abort\"} x", syntax(27)),
        (&b"[".repeat(100_000), syntax(128)),
        (b"[1,2]", object.clone()),
        (b"null", object.clone()),
        (b"\"abort\"", object),
        (b"{\"message\":\"x\"}", "missing field `type`".to_owned()),
        (
            b"{\"id\":7,\"type\":\"abort\"}",
            "`id`: expected a string".to_owned(),
        ),
        (
            b"{\"type\":\"no_such\"}",
            "there is no command `no_such`".to_owned(),
        ),
        (
            b"{\"type\":\"set_mode\",\"mode\":7}",
            "`mode`: expected a string".to_owned(),
        ),
        (b"\xff\xfe", utf8.clone()),
        (
            b"{\"id\":\"o\",\"type\":\"prompt\",\"message\":\"\xff\"}",
            utf8,
        ),
    ] {
        let want = json!({
            "type": "error",
            "code": "INVALID_REQUEST",
            "message": words,
            "fatal": false
        });
        assert_eq!(told(&agent, line).await, want);
    }
    assert_eq!(agent.turn("are you there?").await.text(), "still here");
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_command_that_does_not_fit_is_answered_under_its_id_and_names_the_field() {
    let model = ScriptedModel::start([reply![text("still here")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.sync().await;
    for (line, words) in [
        (r#"{"id":"a"}"#, "missing field `type`"),
        (r#"{"id":"a","type":7}"#, "`type`: expected a string"),
        (
            r#"{"id":"a","type":"no_such"}"#,
            "there is no command `no_such`",
        ),
        (
            r#"{"id":"a","type":"agent.list"}"#,
            "`agent.list` is for a daemon; this connection is bound to one agent",
        ),
        (r#"{"id":"a","type":"prompt"}"#, "missing field `message`"),
        (
            r#"{"id":"a","type":"prompt","message":7}"#,
            "`message`: expected a string",
        ),
        (
            r#"{"id":"a","type":"prompt","message":"  "}"#,
            "`message` is empty; say what to do",
        ),
        (
            r#"{"id":"a","type":"prompt","message":"x","streaming_behavior":"secret"}"#,
            "`streaming_behavior`: expected `steer` or `follow_up`",
        ),
        (
            r#"{"id":"a","type":"prompt","message":"x","images":[{"mime_type":"image/png","data":7}]}"#,
            "`images[0].data`: expected a string",
        ),
        (
            r#"{"id":"a","type":"prompt","message":"x","request_key":"a b"}"#,
            "`request_key`: a request key is 1 to 64 of A-Z a-z 0-9 _ . : -",
        ),
        (
            r#"{"id":"a","type":"permission_response","request_id":"r","decision":"secret"}"#,
            "`decision`: expected one of `allow`, `allow_always`, `deny`",
        ),
    ] {
        let sent: Value = serde_json::from_str(line).unwrap();
        let want = json!({
            "type": "response",
            "id": "a",
            "command": sent["type"].as_str().unwrap_or_default(),
            "success": false,
            "error": { "code": "INVALID_REQUEST", "message": words }
        });
        assert_eq!(told(&agent, line.as_bytes()).await, want, "{line}");
    }
    assert_eq!(agent.turn("are you there?").await.text(), "still here");
    assert_eq!(model.request(0).await.user_texts(), ["are you there?"]);
}

#[tokio::test]
async fn blank_lines_carriage_returns_and_unknown_fields_change_nothing() {
    let model = ScriptedModel::start([reply![text("hello")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.sync().await;
    let mark = agent.mark();
    agent
        .send_raw(b"\n\r\n  \t \n{\"id\":\"a\",\"type\":\"prompt\",\"message\":\"x\\r\",\"new\":{\"type\":[]}}\r\n")
        .await;
    let answer = agent.wait_for_type(mark, "response").await;
    assert_eq!(
        (&answer["id"], &answer["success"]),
        (&json!("a"), &json!(true))
    );
    agent.wait_for_type(mark, "turn_end").await;
    let messages = agent.messages_since(mark);
    assert!(
        !messages.iter().any(|m| m["type"] == "error"),
        "{messages:?}"
    );
    assert_eq!(model.request(0).await.user_texts(), ["x\r"]);
}

#[tokio::test]
async fn a_command_without_an_id_is_carried_out_and_not_answered() {
    let model = ScriptedModel::start([reply![text("heard")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    for command in [
        json!({ "type": "list_modes" }),
        json!({ "type": "abort" }),
        json!({ "type": "prompt", "message": "hello" }),
    ] {
        agent.send(command).await;
    }
    agent.wait_for_type(Mark::START, "turn_end").await;
    // Whatever was to be answered comes before the answer to this.
    agent.ok("abort", json!({})).await;
    let messages = agent.messages_since(Mark::START);
    let answers: Vec<_> = messages
        .iter()
        .filter(|m| m["type"] == "response")
        .collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(model.request(0).await.user_texts(), ["hello"]);
}

#[tokio::test]
async fn commands_that_share_an_id_are_each_answered() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.sync().await;
    let mark = agent.mark();
    let lines = ["list_models", "list_modes", "list_models", "abort"]
        .map(|kind| format!("{{\"id\":\"same\",\"type\":\"{kind}\"}}\n"));
    agent.send_raw(lines.concat().as_bytes()).await;
    let mut left = lines.len();
    agent
        .wait_for(mark, "four answers", |m| {
            left -= usize::from(m["type"] == "response" && m["id"] == "same");
            left == 0
        })
        .await;
    let messages = agent.messages_since(mark);
    let mut answered: Vec<_> = messages
        .iter()
        .filter_map(|m| m["command"].as_str())
        .collect();
    answered.sort_unstable();
    assert_eq!(
        answered,
        ["abort", "list_models", "list_models", "list_modes"]
    );
    assert!(
        messages.iter().all(|m| m["success"] == true),
        "{messages:?}"
    );
}

#[tokio::test]
async fn a_last_line_without_its_end_counts() {
    let model = ScriptedModel::start([reply![text("later")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.sync().await;
    agent
        .send_raw(b"{\"id\":\"z\",\"type\":\"list_modes\"}")
        .await;
    assert!(agent.quit().await.success());
    let answer = agent.wait_for_type(Mark::START, "response").await;
    assert_eq!(
        (&answer["id"], &answer["success"]),
        (&json!("z"), &json!(true))
    );
    let again = AgentProcess::start(&home, &["--continue"]);
    assert_eq!(again.turn("hi").await.text(), "later");
}

#[tokio::test]
async fn a_large_message_is_taken_and_one_over_the_bound_ends_the_connection() {
    let model = ScriptedModel::start([reply![text("read it all")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let long = "x".repeat(3 << 20);
    assert_eq!(agent.turn(&long).await.text(), "read it all");
    let mark = agent.mark();
    // One byte over, and without an end: nobody could wait for more.
    let mut line = String::from("{\"id\":\"big\",\"type\":\"prompt\",\"message\":\"");
    line.push_str(&"y".repeat((16 << 20) + 1 - line.len()));
    agent.send_raw(line.as_bytes()).await;
    let refused = agent.wait_for_type(mark, "response").await;
    let words = "the message is larger than 16777216 bytes; the connection is closed";
    let want = json!({
        "type": "response",
        "id": "big",
        "command": "prompt",
        "success": false,
        "error": { "code": "INVALID_REQUEST", "message": words }
    });
    assert_eq!(refused, want);
    assert_eq!(agent.exited().await.code(), Some(1));
    assert_eq!(model.requests().len(), 1);
    assert_eq!(model.request(0).await.user_texts(), [long]);
    let again = AgentProcess::start(&home, &["--continue"]);
    assert_eq!(again.sync().await["queue"], Value::Null);
}

#[tokio::test]
async fn a_message_of_exactly_the_bound_is_a_message() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let mut line = String::from("{\"id\":\"full\",\"type\":\"list_modes\",\"more\":\"");
    line.push_str(&"y".repeat((16 << 20) - 2 - line.len()));
    line.push_str("\"}\r\n");
    agent.send_raw(line.as_bytes()).await;
    let answer = agent.wait_for_type(Mark::START, "response").await;
    assert_eq!(
        (&answer["id"], &answer["success"]),
        (&json!("full"), &json!(true))
    );
    agent.ok("abort", json!({})).await;
}
