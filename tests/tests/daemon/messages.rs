//! Messages as they come: large, broken, strange, and in any shape that is JSON.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};
use shard_testkit::{Answer, Client, Mark, ScriptedModel, reply, text, tool};

use crate::{Site, said};

/// A client of each kind.
async fn both(site: &Site) -> [(&'static str, Client); 2] {
    let browser = site.daemon.browser().await;
    [
        ("unix socket", site.daemon.connect().await),
        ("websocket", browser.connect().await),
    ]
}

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn every_separator_inside_a_string_arrives_as_it_was() {
    let strange = "a\u{2028}b\u{2029}c\u{85}d\ne\r\nf\u{b}g\u{0}h\u{feff}i\u{1f600}";
    let site = Site::start(ScriptedModel::answering({
        let mut calls = 0;
        move |_| {
            calls += 1;
            match calls % 2 {
                1 => reply![
                    text(strange).chunks(7),
                    tool(
                        "bash",
                        json!({"command": "printf 'x\\342\\200\\250y\\342\\200\\251z'"})
                    )
                ],
                _ => reply![text("end")],
            }
        }
    }))
    .await;
    for (over, client) in both(&site).await {
        let id = client.create(site.cwd()).await;
        let agent = client.attach(&id).await;
        let turn = agent.turn(strange).await;
        let complete = turn.of("message_complete");
        assert_eq!(said(&complete[0]["message"]), strange, "over {over}");
        assert_eq!(said(&complete[1]["message"]), strange, "over {over}");
        assert_eq!(turn.result_text(0), "x\u{2028}y\u{2029}z", "over {over}");
        agent.ok("agent.kill", json!({})).await;
        let again = client.attach(&id).await;
        let messages = &again.sync["live_window"]["messages"];
        assert_eq!(said(&messages[0]), strange, "over {over}, stored");
        assert_eq!(said(&messages[1]), strange, "over {over}, stored");
    }
}

#[tokio::test]
async fn a_prompt_of_three_mebibytes_is_taken_whole() {
    let model = ScriptedModel::start([reply![text("one")], reply![text("two")]]);
    let site = Site::with(model, |home| home.window(100_000_000), &[]).await;
    let large = "größe ".repeat(3 * MIB / 8);
    assert!(large.len() >= 3 * MIB);
    for (over, client) in both(&site).await {
        let id = client.create(site.cwd()).await;
        let agent = client.attach(&id).await;
        let turn = agent.turn(&large).await;
        let echoed = said(&turn.of("message_complete")[0]["message"]);
        assert!(
            echoed == large,
            "over {over}: {} bytes came back",
            echoed.len()
        );
    }
    assert_eq!(site.model.request(1).await.user_texts(), [large]);
}

#[tokio::test]
async fn what_is_too_large_is_refused_and_ends_that_connection_alone() {
    let site = Site::start(ScriptedModel::start([reply![text("fine")]])).await;
    let padding = "x".repeat(16 * MIB);
    let large = format!("{{\"type\":\"agent.list\",\"id\":\"big\",\"padding\":\"{padding}\"}}");
    for (over, client) in both(&site).await {
        client.hello().await;
        // The daemon may hang up before it has read all of it.
        _ = client.try_send_text(&large).await;
        let answers = |m: &Value| m["type"] == "response" && m["id"] == "big";
        let answer = client.wait_for(Mark::START, "an answer", answers).await;
        assert_eq!(answer["error"]["code"], "INVALID_REQUEST", "over {over}");
        client.ended().await;
    }
    assert_eq!(site.agent().await.turn("go").await.text(), "fine");
}

#[tokio::test]
async fn a_frame_of_which_nothing_is_kept_is_answered_too() {
    let site = Site::start(ScriptedModel::silent()).await;
    let client = site.daemon.browser().await.connect().await;
    client.hello().await;
    // The daemon hangs up at its beginning, which says how long it is.
    _ = client.try_send_text(&"x".repeat(25 * MIB)).await;
    let error = client.wait_for_type(Mark::START, "error").await;
    assert_eq!(error["code"], "INVALID_REQUEST", "{error}");
    client.ended().await;
    assert_eq!(site.client.agents().await.len(), 0);
}

#[tokio::test]
async fn a_line_that_never_ends_ends_that_connection_alone() {
    let site = Site::start(ScriptedModel::silent()).await;
    let endless = site.daemon.connect().await;
    endless.hello().await;
    let piece = vec![b'x'; MIB];
    // It hangs up somewhere beyond the sixteenth.
    for _ in 0..20 {
        if endless.try_send_bytes(&piece).await.is_err() {
            break;
        }
    }
    let error = endless.wait_for_type(Mark::START, "error").await;
    assert_eq!(error["code"], "INVALID_REQUEST");
    endless.ended().await;
    assert_eq!(site.client.agents().await.len(), 0);
}

#[tokio::test]
async fn what_is_no_message_is_said_so_and_the_connection_goes_on() {
    let site = Site::start(ScriptedModel::silent()).await;
    for (over, client) in both(&site).await {
        for (bad, id) in [
            ("not json", None),
            ("[\"agent.list\"]", None),
            ("{\"id\":\"x1\"}", Some("x1")),
            ("{\"type\":17,\"id\":\"x2\"}", Some("x2")),
            ("{\"type\":\"no.such\",\"id\":\"x3\"}", Some("x3")),
            ("{\"type\":\"no.such\"}", None),
            // Between a daemon and its agents only.
            ("{\"type\":\"sync\",\"id\":\"x4\"}", Some("x4")),
            (
                "{\"type\":\"runtime.init\",\"id\":\"x5\",\"token\":\"t\"}",
                Some("x5"),
            ),
            (
                "{\"type\":\"status\",\"id\":\"x6\",\"status\":\"idle\"}",
                Some("x6"),
            ),
            ("{\"type\":\"agent.attach\",\"id\":\"x7\"}", Some("x7")),
            (
                "{\"type\":\"agent.attach\",\"id\":\"x8\",\"agent_id\":\"../x\"}",
                Some("x8"),
            ),
            (
                "{\"type\":\"agent.kill\",\"id\":\"x9\",\"agent_id\":null}",
                Some("x9"),
            ),
            (
                "{\"type\":\"agent.attach\",\"id\":\"xa\",\"agent_id\":\"agent-1\",\"role\":\"owner\"}",
                Some("xa"),
            ),
        ] {
            let mark = client.mark();
            client.send_text(bad).await;
            match id {
                Some(id) => {
                    let answers = |m: &Value| m["type"] == "response" && m["id"] == id;
                    let answer = client.wait_for(mark, bad, answers).await;
                    let error = &answer["error"]["code"];
                    assert_eq!(error, "INVALID_REQUEST", "over {over}: {bad}");
                }
                None => {
                    let error = client.wait_for_type(mark, "error").await;
                    assert_eq!(
                        (&error["code"], &error["fatal"]),
                        (&json!("INVALID_REQUEST"), &json!(false)),
                        "over {over}: {bad}"
                    );
                }
            }
        }
        let mark = client.mark();
        client.try_send_bytes(b"\xff\xfe\n").await.unwrap();
        let error = client.wait_for_type(mark, "error").await;
        assert_eq!(error["code"], "INVALID_REQUEST", "over {over}");
        client.agents().await;
    }
}

#[tokio::test]
async fn a_command_without_an_id_is_carried_out_and_not_answered() {
    let site = Site::start(ScriptedModel::start([reply![text("done")]])).await;
    let agent = site.agent().await;
    let mark = agent.mark();
    agent.send("prompt", json!({ "message": "go" })).await;
    let turn = agent.follow(mark, |_| Answer::Leave).await;
    assert_eq!(turn.text(), "done");
    let create = json!({ "type": "agent.create", "cwd": site.home.work() });
    site.client.send(create).await;
    site.client.wait_for_type(mark, "agent_spawned").await;
    site.client.agents().await;
    let all = site.client.messages_since(mark);
    assert_eq!(crate::of(&all, "response").len(), 1, "{all:?}");
}

#[tokio::test]
async fn one_id_may_be_under_way_twice() {
    let site = Site::start(ScriptedModel::silent()).await;
    let agent = site.agent().await;
    let mark = agent.mark();
    for kind in ["list_modes", "list_models"] {
        let command = json!({ "type": kind, "id": "same", "agent_id": agent.id });
        site.client.send(command).await;
    }
    for (kind, key) in [("list_modes", "modes"), ("list_models", "models")] {
        let is = |m: &Value| m["id"] == "same" && m["command"] == kind;
        let answer = site.client.wait_for(mark, kind, is).await;
        assert!(answer["data"][key].is_array(), "{answer}");
    }
}

#[tokio::test]
async fn a_message_may_be_printed_over_many_lines_in_a_frame() {
    let site = Site::start(ScriptedModel::start([
        reply![text("one")],
        reply![text("two")],
    ]))
    .await;
    let browser = site.daemon.browser().await.connect().await;
    let id = browser.create(site.cwd()).await;
    let agent = browser.attach(&id).await;
    for (ending, wish) in [("\n", "first"), ("\r\n", "second")] {
        let mark = agent.mark();
        let pretty = format!(
            "{{\n  \"type\": \"prompt\",\n\t\"agent_id\": \"{id}\",\n  \"message\": \"{wish}\\nline\"\n}}\n"
        );
        browser.send_text(&pretty.replace('\n', ending)).await;
        let turn = agent.follow(mark, |_| Answer::Leave).await;
        let user = said(&turn.of("message_complete")[0]["message"]);
        assert_eq!(user, format!("{wish}\nline"));
    }
    assert_eq!(site.model.requests().len(), 2);
}

#[tokio::test]
async fn fields_of_the_daemon_s_own_are_not_taken_from_clients() {
    let site = Site::start(ScriptedModel::start([reply![text("one")]])).await;
    let agent = site.agent().await;
    let other = site.create().await;
    // An id that could be mistaken for one of the daemon's, and keys in another spelling.
    let mark = agent.mark();
    let line = format!(
        "{{\"\\u0074ype\":\"prompt\",\"\\u0069d\":\"1\",\"message\":\"go\",\"agent\\u005fid\":\"{}\"}}",
        agent.id
    );
    site.client.send_text(&line).await;
    let answers = |m: &Value| m["type"] == "response" && m["id"] == "1";
    let answer = site.client.wait_for(mark, "an answer", answers).await;
    assert_eq!(answer["success"], true, "{answer}");
    let turn = agent.follow(mark, |_| Answer::Leave).await;
    assert_eq!(turn.text(), "one");
    assert_eq!(site.client.agent(&other).await["status"], "idle");
}

#[tokio::test]
async fn a_client_that_has_said_all_still_gets_its_answers() {
    let site = Site::start(ScriptedModel::silent()).await;
    let (socket, cwd) = (site.daemon.socket(), site.home.work().to_owned());
    let heard = tokio::task::spawn_blocking(move || {
        let mut stream = UnixStream::connect(socket).unwrap();
        let wish = json!({ "type": "agent.create", "id": "last", "cwd": cwd });
        stream.write_all(wish.to_string().as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        std::io::read_to_string(stream).unwrap()
    });
    let heard = heard.await.unwrap();
    assert!(
        heard.contains("\"id\":\"last\",\"command\":\"agent.create\",\"success\":true"),
        "{heard}"
    );
}
