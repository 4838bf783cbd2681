//! aimock, a mock of the vendors' APIs that knows nothing of Shard: tool calls in every format, and
//! servers that fail. It answers a request that matches none of its fixtures with a 404, so a turn that
//! ends well sent what the fixtures expect: each result, under the id of its call.

use serde_json::{Value, json};
use shard_testkit::{AgentProcess, Home, Provider, Turn};
use tokio::process::Command;

use crate::peer::{Peer, installed};
use crate::{errors, streamed, word};

/// One of those that it lists.
const MODEL: &str = "gpt-4o";

async fn aimock(fixtures: &Value) -> Peer {
    let mut server = Command::new("node");
    server.arg(installed(
        "node/node_modules/@copilotkit/aimock/dist/cli.js",
    ));
    server.args([
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--fixtures",
        "fixtures.json",
    ]);
    server.arg("--validate-on-load");
    Peer::start(server, &[("fixtures.json", json!({"fixtures": fixtures}))]).await
}

/// An agent for each format in turn, each with a server of its own, as fixtures count.
async fn in_every_format<F>(fixtures: Value, check: impl Fn(Provider, AgentProcess, Home) -> F)
where
    F: Future<Output = ()>,
{
    for provider in Provider::ALL {
        let server = aimock(&fixtures).await;
        let home = server.home(provider, MODEL);
        let agent = AgentProcess::start(&home, &[]);
        check(provider, agent, home).await;
    }
}

fn ended_well(turn: &Turn, text: &str, provider: Provider) {
    assert_eq!(errors(turn), [] as [&str; 0], "{provider:?}");
    assert_eq!(
        (turn.reason(), turn.text().as_str()),
        ("done", text),
        "{provider:?}"
    );
}

#[tokio::test]
#[ignore = "needs a model server: cargo xtask test --peers"]
async fn tools_are_called_side_by_side_and_one_after_the_other() {
    let fixtures = json!([
        {
            "match": {"userMessage": "note it", "hasToolResult": false},
            "response": {
                "reasoning": "A file is best.",
                "content": "I write it down.",
                "toolCalls": [
                    {"id": "call_write", "name": "write",
                        "arguments": {"path": "notes.txt", "content": "“one”\n\ttwo ä\n"}},
                    {"id": "call_readme", "name": "read", "arguments": {"path": "README.md"}},
                ],
                "usage": {"prompt_tokens": 1200, "completion_tokens": 30, "total_tokens": 1230},
            },
            "chunkSize": 3,
        },
        {
            "match": {"toolCallId": "call_readme", "toolResultContains": "The second line of the text."},
            "response": {"toolCalls": [
                {"id": "call_notes", "name": "read", "arguments": {"path": "notes.txt"}},
            ]},
        },
        {
            "match": {"toolCallId": "call_notes", "toolResultContains": "“one”"},
            "response": {"content": "It is written."},
        },
        {
            "match": {"userMessage": "thanks", "hasToolResult": false},
            "response": {"content": "With pleasure."},
        },
    ]);
    in_every_format(
        fixtures,
        async |provider, agent: AgentProcess, home: Home| {
            let turn = agent.turn("please note it").await;
            ended_well(&turn, "It is written.", provider);
            assert_eq!(home.read("notes.txt"), "“one”\n\ttwo ä\n", "{provider:?}");
            assert_eq!(
                streamed(&turn, "text"),
                "I write it down.It is written.",
                "{provider:?}"
            );
            assert_eq!(
                streamed(&turn, "thinking"),
                "A file is best.",
                "{provider:?}"
            );
            let results: Vec<&str> = turn
                .results()
                .iter()
                .map(|r| word(&r["tool_call_id"]))
                .collect();
            assert_eq!(
                results,
                ["call_write", "call_readme", "call_notes"],
                "{provider:?}"
            );
            let usage = turn.of("usage")[0];
            let counts = ["input", "output", "context_tokens"].map(|key| usage[key].as_u64());
            assert_eq!(counts, [Some(1200), Some(30), Some(1230)], "{provider:?}");
            ended_well(&agent.turn("thanks").await, "With pleasure.", provider);
            assert!(agent.quit().await.success());
        },
    )
    .await;
}

#[tokio::test]
#[ignore = "needs a model server: cargo xtask test --peers"]
async fn what_may_pass_is_tried_again_and_what_may_not_is_told() {
    let error = |prompt: &str, status: u16, kind: &str| {
        json!({
            "match": {"userMessage": prompt, "sequenceIndex": 0},
            "response": {"status": status, "error": {"type": kind, "message": "no entry for you"}},
        })
    };
    let answer = |prompt: &str| {
        json!({
            "match": {"userMessage": prompt, "sequenceIndex": 1},
            "response": {"content": "Here I am."},
        })
    };
    let passing = [
        ("limited", 429, "rate_limit_error"),
        ("broken", 500, "api_error"),
        ("overloaded", 529, "overloaded_error"),
    ];
    let lasting = [
        ("locked", 401, "authentication_error"),
        ("refused", 400, "invalid_request_error"),
    ];
    let all = passing.iter().chain(&lasting);
    let all = all.flat_map(|&(prompt, status, kind)| [error(prompt, status, kind), answer(prompt)]);
    // First, as a prompt that got no answer goes with the next.
    let go_on = json!({"match": {"userMessage": "go on"}, "response": {"content": "Fine."}});
    let fixtures = std::iter::once(go_on).chain(all);
    in_every_format(
        fixtures.collect(),
        async |provider, agent: AgentProcess, _home| {
            for (prompt, ..) in passing {
                ended_well(&agent.turn(prompt).await, "Here I am.", provider);
            }
            for (prompt, status, _) in lasting {
                let turn = agent.turn(prompt).await;
                let told = errors(&turn).join("\n");
                assert_eq!(turn.reason(), "error", "{provider:?}: {prompt}");
                assert!(told.contains(&status.to_string()), "{provider:?}: {told}");
                assert!(told.contains("no entry for you"), "{provider:?}: {told}");
                ended_well(&agent.turn("go on").await, "Fine.", provider);
            }
            assert!(agent.quit().await.success());
        },
    )
    .await;
}

#[tokio::test]
#[ignore = "needs a model server: cargo xtask test --peers"]
async fn a_slow_answer_is_whole_and_of_one_that_breaks_off_what_came_is_kept() {
    let words = "one two three four five six seven eight nine ten eleven twelve thirteen";
    let fixtures = json!([
        {"match": {"userMessage": "go on"}, "response": {"content": "Fine."}},
        {
            "match": {"userMessage": "slowly"},
            "response": {"content": words},
            "chunkSize": 5,
            "streamingProfile": {"ttft": 400, "tps": 40, "jitter": 0.5},
        },
        {
            "match": {"userMessage": "break off"},
            "response": {"content": words},
            "chunkSize": 5,
            "latency": 20,
            "truncateAfterChunks": 10,
        },
        {
            "match": {"userMessage": "hang up", "sequenceIndex": 0},
            "response": {"content": words},
            "truncateAfterChunks": 1,
        },
        {
            "match": {"userMessage": "hang up", "sequenceIndex": 1},
            "response": {"content": "Here I am."},
        },
        {
            "match": {"userMessage": "nonsense"},
            "response": {"content": words},
            "chaos": {"malformedRate": 1},
        },
    ]);
    in_every_format(fixtures, async |provider, agent: AgentProcess, _home| {
        let turn = agent.turn("slowly").await;
        ended_well(&turn, words, provider);
        assert!(
            turn.of("message_delta").len() > 5,
            "{provider:?}: it streams"
        );
        let turn = agent.turn("break off").await;
        assert_eq!(turn.reason(), "error", "{provider:?}");
        let kept = turn.text();
        assert!(
            !kept.is_empty() && words.starts_with(&kept),
            "{provider:?}: {kept}"
        );
        assert_eq!(streamed(&turn, "text"), kept, "{provider:?}");
        ended_well(&agent.turn("hang up").await, "Here I am.", provider);
        let turn = agent.turn("nonsense").await;
        assert_eq!(turn.reason(), "error", "{provider:?}");
        assert!(
            errors(&turn)[0].contains("malformed json"),
            "{provider:?}: {:?}",
            errors(&turn)
        );
        ended_well(&agent.turn("go on").await, "Fine.", provider);
        assert!(agent.quit().await.success());
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a model server: cargo xtask test --peers"]
async fn characters_outside_the_basic_plane_come_whole_in_whatever_pieces() {
    let words = "🦀🦀 ä € 𝄞 🦀";
    let fixtures = json!([
        {"match": {"userMessage": "say it"}, "response": {"content": words}, "chunkSize": 3},
    ]);
    in_every_format(fixtures, async |provider, agent: AgentProcess, _home| {
        ended_well(&agent.turn("say it").await, words, provider);
        assert!(agent.quit().await.success());
    })
    .await;
}
