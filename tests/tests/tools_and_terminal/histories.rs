//! Histories that a strict provider would refuse, and streams that a loose one sends.

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Home, Provider, Reply, ScriptedModel, UsageShape, comment, error, reply, text,
    thinking, tool, usage,
};

use crate::word;

#[tokio::test]
async fn blank_words_are_never_sent_on_and_block_no_session() {
    for provider in Provider::ALL {
        let bash = |command: &str| tool("bash", json!({ "command": command }));
        let model = ScriptedModel::start([
            reply![bash("true")],
            reply![text(""), bash("true")],
            reply![text("\n"), bash("printf '\\n\\n'")],
            reply![text(" \n\t")],
            reply![text("still here")],
            reply![text("and after a restart")],
        ]);
        let home = Home::builder().model(&model).provider(provider).build();
        let agent = AgentProcess::start(&home, &[]);
        agent.turn("go").await;
        assert_eq!(agent.turn("and?").await.text(), "still here");
        assert!(agent.quit().await.success());
        let again = AgentProcess::start(&home, &["--continue"]);
        assert_eq!(again.turn("still?").await.text(), "and after a restart");
        let last = model.request(5).await;
        assert_eq!(last.tool_results().len(), 3);
        assert!(
            last.assistant_texts()
                .iter()
                .all(|text| !text.trim().is_empty())
        );
    }
}

#[tokio::test]
async fn a_blank_prompt_is_refused_and_nothing_is_stored() {
    let model = ScriptedModel::start([reply![text("fine")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    for blank in ["", " ", "\n\t"] {
        let error = agent.err("prompt", json!({ "message": blank })).await;
        assert_eq!(error["code"], "INVALID_REQUEST", "{blank:?}: {error}");
    }
    assert_eq!(agent.turn("words").await.text(), "fine");
    assert_eq!(model.request(0).await.user_texts(), ["words"]);
}

/// The blocks of the assistant's messages, without the ids that a server chose.
fn blocks(turn: &shard_testkit::Turn) -> Vec<Value> {
    let messages = turn.of("message_complete");
    let said = messages
        .iter()
        .filter(|m| m["message"]["role"] == "assistant");
    let blocks = said.flat_map(|m| m["message"]["content"].as_array().unwrap().clone());
    blocks
        .map(|mut block| {
            if block["type"] == "tool_call" {
                assert!(
                    !word(&block["id"]).is_empty(),
                    "every call has an id: {block}"
                );
                block.as_object_mut().unwrap().remove("id");
            }
            block
        })
        .collect()
}

#[tokio::test]
async fn however_a_loose_server_cuts_its_stream_the_message_is_the_same() {
    let words = "Grüße, “quoted” \u{1F980}\nline";
    let arguments = json!({ "path": "README.md", "limit": 2 });
    let call = || tool("read", arguments.clone());
    let say = || text(words);
    // With escapes, so that a piece can end inside one.
    let escaped = r#"{"path":"\u0052EADME\u002emd","limit":2}"#;
    let shapes: Vec<Reply> = vec![
        reply![say(), call(), usage(100, 7, 3)],
        reply![say().chunks(99), call().pieces(99), usage(100, 7, 3)],
        reply![say(), call().no_index().pieces(5), usage(100, 7, 3)],
        reply![say(), call().id_last().pieces(5), usage(100, 7, 3)],
        reply![say(), call().no_id().pieces(5), usage(100, 7, 3)],
        reply![say(), call().raw(escaped).pieces(99), usage(100, 7, 3)],
        reply![
            comment("keep"),
            say().chunks(3),
            comment("alive"),
            call(),
            usage(100, 7, 3)
        ],
        reply![say(), call(), usage(100, 7, 3)].null_content(),
        reply![say(), call(), usage(100, 7, 3)].no_done(),
        reply![say(), call(), usage(100, 7, 3)].usage_shape(UsageShape::NullChoices),
        reply![say(), call(), usage(100, 7, 3)].usage_shape(UsageShape::WithFinish),
        reply![say(), call(), usage(100, 7, 3)].usage_shape(UsageShape::Twice),
        reply![say().chunks(5), call().pieces(9), usage(100, 7, 3)].slices(1),
    ];
    let count = shapes.len();
    let model = ScriptedModel::silent();
    for shape in shapes {
        model.add(shape);
        model.add(reply![text("end"), usage(200, 5, 0)]);
    }
    let home = Home::new(&model);
    let want = [
        json!({ "type": "text", "text": words }),
        json!({ "type": "tool_call", "name": "read", "args": arguments }),
        json!({ "type": "text", "text": "end" }),
    ];
    for number in 0..count {
        let agent = AgentProcess::start(&home, &[]);
        let turn = agent.turn("read it").await;
        assert_eq!(turn.reason(), "done", "shape {number}");
        assert_eq!(blocks(&turn), want, "shape {number}");
        assert_eq!(turn.results()[0]["is_error"], false, "shape {number}");
        let end = &turn.of("turn_end")[0]["usage"];
        let counted = ["input", "output", "cache_read"].map(|key| end[key].as_u64().unwrap_or(0));
        assert_eq!(counted, [300, 12, 3], "shape {number}: counted once");
    }
}

#[tokio::test]
async fn thoughts_come_as_thoughts_and_go_back_signed_to_who_had_them() {
    let model = ScriptedModel::start([
        reply![thinking("let me see").chunks(3), tool("ls", json!({}))],
        reply![text("seen")],
        reply![text("by another")],
    ]);
    let home = Home::builder()
        .model(&model)
        .provider(Provider::Anthropic)
        .build();
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn("look").await;
    let thought: String = turn
        .of("message_delta")
        .iter()
        .filter(|d| d["kind"] == "thinking")
        .map(|d| word(&d["text_delta"]))
        .collect();
    assert_eq!(thought, "let me see");
    let back = |request: &shard_testkit::Request| request.body.to_string().contains("let me see");
    assert!(back(&model.request(1).await), "within its own turn");
    agent.ok("set_model", json!({ "model": "mock/m2" })).await;
    assert_eq!(agent.turn("and you?").await.text(), "by another");
    assert!(
        !back(&model.request(2).await),
        "another model cannot check the signature"
    );
}

#[tokio::test]
async fn reasoning_goes_back_to_servers_that_want_it_and_to_no_others() {
    for wanted in [true, false] {
        let model = ScriptedModel::answering(move |request| {
            let calls: Vec<_> = request
                .messages()
                .iter()
                .filter(|m| m["tool_calls"].is_array())
                .collect();
            let sent = calls.iter().all(|m| m["reasoning_content"] == "let me see");
            match calls.len() {
                0 => reply![thinking("let me see"), tool("ls", json!({}))],
                _ if sent != wanted => reply![error(400).message("not like that")],
                1 => reply![thinking("let me see"), tool("ls", json!({}))],
                _ => reply![text("seen")],
            }
        });
        let home = Home::builder().model(&model);
        let home = home
            .provider_config(json!({ "reasoning_replay": wanted }))
            .build();
        let turn = AgentProcess::start(&home, &[]).turn("look").await;
        assert_eq!((turn.text().as_str(), model.requests().len()), ("seen", 3));
    }
}
