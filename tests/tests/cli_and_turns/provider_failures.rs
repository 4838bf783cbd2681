//! Model servers that refuse, break off, or answer nonsense.

use serde_json::json;
use shard_testkit::{
    AgentProcess, Home, Mark, Provider, Reply, ScriptedModel, Turn, cut, error, error_event,
    hang_up, reply, run_cli, text, tool,
};

use crate::{SECRET, errors, said, streamed, word};

fn home(model: &ScriptedModel, provider: Provider) -> Home {
    Home::builder().model(model).provider(provider).build()
}

/// The turn failed once, for good, and the next prompt is answered.
async fn failed_once(agent: &AgentProcess, turn: &Turn, words: &[&str]) {
    let told = errors(turn);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0, "PROVIDER_ERROR");
    for words in words {
        assert!(told[0].1.contains(words), "{words:?} in {:?}", told[0].1);
    }
    let last = turn.types().into_iter().rfind(|kind| *kind != "status");
    assert_eq!((turn.reason(), last), ("error", Some("turn_end")));
    let next = agent.turn("again").await;
    assert_eq!((next.text().as_str(), next.reason()), ("fine now", "done"));
}

async fn refused(provider: Provider, status: u16, words: &[&str]) {
    let model = ScriptedModel::start([
        reply![error(status).message("no entry for you")],
        reply![text("fine now")],
    ]);
    let home = home(&model, provider);
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn("go").await;
    assert_eq!(model.requests().len(), 1, "{status} is not tried again");
    assert_eq!(turn.of("message_delta").len(), 0);
    let status = status.to_string();
    let mut all = vec!["mock/m1", status.as_str(), "no entry for you"];
    all.extend(words);
    failed_once(&agent, &turn, &all).await;
    // Both prompts are in the second request: what failed was said all the same.
    let told = model.request(1).await.user_texts().join("\n");
    assert!(told.contains("go") && told.contains("again"), "{told}");
}

#[tokio::test]
async fn a_wrong_key_is_not_tried_again_and_the_message_names_its_variable() {
    for provider in Provider::ALL {
        refused(provider, 401, &["Check the key", "MOCK_KEY"]).await;
        refused(provider, 403, &["Check the key", "MOCK_KEY"]).await;
    }
}

#[tokio::test]
async fn an_unknown_model_is_not_tried_again_and_the_message_says_what_to_check() {
    for provider in Provider::ALL {
        refused(provider, 404, &["model", "base_url"]).await;
    }
}

#[tokio::test]
async fn a_failed_turn_leaves_the_status_error_until_the_next_command() {
    let model = ScriptedModel::start([reply![error(401)], reply![text("fine now")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let mark = agent.mark();
    agent.turn("go").await;
    let failed = |m: &serde_json::Value| m["type"] == "status" && m["status"] == "error";
    agent.wait_for(mark, "the status error", failed).await;
    let mark = agent.mark();
    agent.send(json!({"type": "sync"})).await;
    assert_eq!(agent.wait_for_type(mark, "sync").await["status"], "error");
    agent.ok("set_mode", json!({"mode": "build"})).await;
    agent.send(json!({"type": "sync"})).await;
    let idle = |m: &serde_json::Value| m["type"] == "sync" && m["status"] == "idle";
    agent.wait_for(mark, "idle after a command", idle).await;
}

/// The first reply fails in a way that may pass.
async fn tried_again(provider: Provider, first: Reply) -> (ScriptedModel, Turn) {
    let model = ScriptedModel::silent();
    model.add(first);
    model.add(reply![text("the whole answer").chunks(4)]);
    let home = home(&model, provider);
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn("go").await;
    assert_eq!(
        (turn.text().as_str(), turn.reason()),
        ("the whole answer", "done")
    );
    assert_eq!(streamed(&turn), "the whole answer", "shown once");
    assert_eq!(errors(&turn), []);
    assert_eq!(model.requests().len(), 2);
    assert_eq!(model.request(1).await.user_texts(), ["go"]);
    let roles = |turn: &Turn| -> Vec<String> {
        let complete = turn.of("message_complete").into_iter();
        complete
            .map(|m| word(&m["message"]["role"]).to_owned())
            .collect()
    };
    assert_eq!(roles(&turn), ["user", "assistant"]);
    let details: Vec<&str> = turn
        .of("status")
        .into_iter()
        .map(|s| word(&s["detail"]))
        .collect();
    assert!(
        details.iter().any(|d| d.contains("retrying")),
        "{details:?}"
    );
    agent.quit().await;
    let rows = home.session_rows(&home.session_file());
    let stored = rows.iter().filter(|row| row["type"] == "message").count();
    assert_eq!(stored, 2, "one question and one answer on disk");
    (model, turn)
}

#[tokio::test]
async fn a_busy_server_is_asked_again_when_it_says() {
    for provider in Provider::ALL {
        let (model, turn) = tried_again(provider, reply![error(429).retry_after(1)]).await;
        let waited = model.requests()[1].arrived - model.requests()[0].arrived;
        assert!((900..4000).contains(&waited.as_millis()), "{waited:?}");
        let details: String = turn
            .of("status")
            .iter()
            .map(|s| word(&s["detail"]))
            .collect();
        assert!(details.contains("429"), "{details}");
    }
}

#[tokio::test]
async fn a_server_that_stumbles_is_asked_again() {
    for provider in Provider::ALL {
        tried_again(provider, reply![error(500).retry_after(0)]).await;
        tried_again(provider, reply![error(529).retry_after(0)]).await;
    }
}

#[tokio::test]
async fn which_statuses_are_tried_again() {
    for provider in Provider::ALL {
        let busy = [408, 409, 425, 429, 500, 502, 503, 504, 529];
        let mut replies: Vec<Reply> = Vec::new();
        for status in busy {
            replies.push(reply![error(status).retry_after(0)]);
            replies.push(reply![text("here")]);
        }
        let model = ScriptedModel::start(replies);
        let home = home(&model, provider);
        let agent = AgentProcess::start(&home, &[]);
        for status in busy {
            let turn = agent.turn("go").await;
            assert_eq!(
                (turn.text().as_str(), errors(&turn)),
                ("here", vec![]),
                "{status}"
            );
        }
        for status in [400, 402, 405, 422] {
            let before = model.requests().len();
            model.add(reply![error(status).retry_after(0)]);
            assert_eq!(agent.turn("go").await.reason(), "error", "{status}");
            assert_eq!(model.requests().len(), before + 1, "{status}");
        }
    }
}

#[tokio::test]
async fn a_server_that_is_busy_in_several_ways_is_waited_for() {
    let model = ScriptedModel::start([
        reply![error(429).retry_after(1)],
        reply![error(529)],
        reply![text("at last")],
    ]);
    let home = Home::new(&model);
    let turn = AgentProcess::start(&home, &[]).turn("go").await;
    assert_eq!((turn.text().as_str(), errors(&turn)), ("at last", vec![]));
    let details = turn.of("status").into_iter().map(|s| word(&s["detail"]));
    let waits: Vec<_> = details.filter(|detail| !detail.is_empty()).collect();
    assert_eq!(waits.len(), 2, "{waits:?}");
    assert!(waits[0].starts_with("retrying in 1.0 s: ") && waits[0].contains("429"));
    assert!(waits[1].starts_with("retrying in ") && waits[1].contains("529"));
    let phases = turn.of("agent_activity");
    assert!(phases.is_empty(), "that is the daemon's word: {phases:?}");
}

#[tokio::test]
async fn a_connection_that_is_cut_before_any_word_is_tried_again() {
    for provider in Provider::ALL {
        tried_again(provider, reply![cut()]).await;
        tried_again(provider, reply![hang_up()]).await;
    }
}

#[tokio::test]
async fn an_error_in_the_stream_before_any_word_is_tried_again() {
    for provider in Provider::ALL {
        let first = reply![error_event("overloaded_error", "too many people here")];
        tried_again(provider, first).await;
    }
}

/// The stream ends badly after some words.
async fn broke_off(provider: Provider, end: shard_testkit::model::Step, words: &[&str]) {
    let model = ScriptedModel::silent();
    model.add(reply![text("half of an answer").chunks(3), end]);
    model.add(reply![text("fine now")]);
    let home = home(&model, provider);
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn("go").await;
    assert_eq!(
        model.requests().len(),
        1,
        "words that were shown are not asked for again"
    );
    let kept = turn.of("message_complete").last().unwrap()["message"].clone();
    assert_eq!(
        (&kept["role"], &kept["partial"]),
        (&json!("assistant"), &json!(true))
    );
    assert_eq!(
        said(&kept),
        streamed(&turn),
        "what was shown is what is kept"
    );
    assert!(
        !said(&kept).is_empty() && "half of an answer".starts_with(&said(&kept)),
        "{kept}"
    );
    failed_once(&agent, &turn, words).await;
    let next = model.request(1).await;
    assert_eq!(next.assistant_texts().len(), 1);
    assert!(
        next.assistant_texts()[0].contains(&said(&kept)),
        "{:?}",
        next.assistant_texts()
    );
    agent.quit().await;
    // The mark is there after a restart too.
    let again = AgentProcess::start(&home, &["--continue"]);
    let window = again.sync().await["live_window"]["messages"].clone();
    let partial: Vec<_> = window
        .as_array()
        .unwrap()
        .iter()
        .filter(|m| m["partial"] == true)
        .collect();
    assert_eq!(partial.len(), 1, "{window}");
    assert_eq!(said(partial[0]), said(&kept));
}

#[tokio::test]
async fn an_answer_that_is_cut_off_is_kept_and_marked_and_the_next_request_holds_it() {
    for provider in Provider::ALL {
        broke_off(provider, cut(), &["mock/m1"]).await;
        broke_off(provider, hang_up(), &["mock/m1"]).await;
    }
}

#[tokio::test]
async fn an_error_in_the_stream_after_some_words_is_told_in_the_servers_words() {
    for provider in Provider::ALL {
        let end = error_event("overloaded_error", "too many people here");
        broke_off(provider, end, &["too many people here"]).await;
    }
}

#[tokio::test]
async fn a_web_page_in_place_of_a_stream_is_no_answer() {
    let page = "<!doctype html><html><body><h1>Welcome to the router</h1></body></html>";
    for provider in Provider::ALL {
        let model = ScriptedModel::silent();
        model.add(error(200).body(json!(page)));
        model.add(reply![text("fine now")]);
        let home = home(&model, provider);
        let agent = AgentProcess::start(&home, &[]);
        let turn = agent.turn("go").await;
        assert_eq!(model.requests().len(), 1);
        assert!(
            !streamed(&turn).contains("Welcome"),
            "a page is not an answer"
        );
        failed_once(&agent, &turn, &["base_url"]).await;
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_and_an_abort_ends_the_wait_for_it() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let home = Home::builder()
        .base_url(&format!("http://{address}/v1"))
        .build();
    let agent = AgentProcess::start(&home, &[]);
    let mark = agent.mark();
    agent.ok("prompt", json!({"message": "go"})).await;
    let retrying = |m: &serde_json::Value| word(&m["detail"]).contains("retrying");
    let told = agent.wait_for(mark, "a retry", retrying).await;
    let detail = word(&told["detail"]);
    assert!(
        detail.contains(&address.to_string()) && detail.contains("refused"),
        "{detail}"
    );
    agent.ok("abort", json!({})).await;
    let turn = agent.follow(mark, |_| shard_testkit::Answer::Leave).await;
    assert_eq!((turn.reason(), errors(&turn)), ("aborted", vec![]));
    assert!(agent.quit().await.success());
}

#[tokio::test]
async fn a_key_that_is_not_set_is_named_and_nothing_is_sent() {
    for provider in Provider::ALL {
        let model = ScriptedModel::silent();
        let home = Home::builder().model(&model).provider(provider);
        let home = home
            .provider_config(json!({"api_key_env": "ABSENT_KEY"}))
            .build();
        let agent = AgentProcess::start(&home, &[]);
        let turn = agent.turn("go").await;
        let told = errors(&turn);
        assert_eq!((told.len(), turn.reason()), (1, "error"), "{told:?}");
        assert!(told[0].1.contains("ABSENT_KEY"), "{told:?}");
        assert_eq!(model.connections(), 0);
        let output = run_cli(&home, &["run", "go"], None).await;
        assert_eq!((output.code(), output.stdout.as_str()), (1, ""));
        assert!(output.stderr.contains("ABSENT_KEY"), "{}", output.stderr);
    }
}

#[tokio::test]
async fn a_write_that_is_cut_at_the_output_limit_writes_nothing_and_the_turn_goes_on() {
    for (provider, finish) in [
        (Provider::OpenAi, "length"),
        (Provider::Responses, "max_output_tokens"),
        (Provider::Anthropic, "max_tokens"),
    ] {
        let half = "{\"path\": \"cut.txt\", \"content\": \"the first ha";
        // The cut may also fall where the arguments happen to be whole.
        let whole = json!({"path": "cut.txt", "content": "all of it"});
        for call in [tool("write", json!({})).raw(half), tool("write", whole)] {
            let model = ScriptedModel::silent();
            model.add(reply![text("I write it."), call].finish(finish));
            model.add(reply![text("in smaller pieces, then")]);
            let home = home(&model, provider);
            let agent = AgentProcess::start(&home, &[]);
            let turn = agent.turn("go").await;
            assert!(!home.has("cut.txt"));
            assert!(turn.of("tool_call").is_empty(), "no call started");
            assert_eq!(turn.results().len(), 1);
            assert_eq!(turn.results()[0]["is_error"], true);
            let told = model.request(1).await.tool_results();
            assert!(told[0].1.contains("output limit"), "{told:?}");
            assert_eq!(turn.text(), "in smaller pieces, then");
        }
    }
}

#[tokio::test]
async fn arguments_that_are_broken_are_told_to_the_model_and_what_is_sent_on_is_valid() {
    for provider in Provider::ALL {
        let write = |raw: &str| tool("write", json!({})).raw(raw);
        let model = ScriptedModel::start([
            reply![
                write("{\"path\": \"a.txt\", "),
                write("[\"a.txt\", \"x\"]"),
                write("{\"path\": 7, \"content\": \"x\"}"),
                tool("write", json!({"path": "a.txt"})),
                tool("read", json!({"path": "README.md"})),
            ],
            reply![text("understood")],
            reply![text("and on")],
        ]);
        let home = home(&model, provider);
        let agent = AgentProcess::start(&home, &[]);
        let turn = agent.turn("go").await;
        let wrong: Vec<_> = turn
            .results()
            .iter()
            .map(|r| r["is_error"] == true)
            .collect();
        assert_eq!(wrong, [true, true, true, true, false]);
        let started: Vec<_> = turn
            .of("tool_call")
            .iter()
            .map(|c| word(&c["name"]))
            .collect();
        assert_eq!(started, ["read"], "what was in order ran all the same");
        assert!(!home.has("a.txt"));
        assert!(
            turn.result_text(0).contains("not valid JSON"),
            "{}",
            turn.result_text(0)
        );
        assert!(
            turn.result_text(2).contains("path"),
            "{}",
            turn.result_text(2)
        );
        assert!(
            turn.result_text(3).contains("content"),
            "{}",
            turn.result_text(3)
        );
        agent.quit().await;
        let again = AgentProcess::start(&home, &["--continue"]);
        assert_eq!(again.turn("go on").await.text(), "and on");
        assert_eq!(model.violations(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn calls_without_ids_get_some_that_hold_on_both_sides() {
    let model = ScriptedModel::start([
        reply![
            tool("read", json!({"path": "README.md"})).no_id(),
            tool("ls", json!({})).no_id(),
        ],
        reply![tool("ls", json!({})).no_id()],
        reply![text("seen")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn("go").await;
    assert_eq!(turn.text(), "seen");
    let last = model.request(2).await;
    let called: Vec<_> = last.tool_calls().into_iter().map(|(id, _)| id).collect();
    let answered: Vec<_> = last.tool_results().into_iter().map(|(id, _)| id).collect();
    assert_eq!(called, answered);
    let mut different = called.clone();
    different.sort();
    different.dedup();
    assert_eq!(
        (different.len(), different.iter().any(String::is_empty)),
        (3, false)
    );
    let shown: Vec<_> = turn
        .of("tool_call")
        .iter()
        .map(|c| word(&c["tool_call_id"]))
        .collect();
    assert_eq!(shown, called);
}

#[tokio::test]
async fn the_key_is_in_the_request_and_nowhere_else() {
    for (provider, header) in [
        (Provider::OpenAi, "authorization"),
        (Provider::Responses, "authorization"),
        (Provider::Anthropic, "x-api-key"),
    ] {
        let echo = format!("the key {SECRET} is not welcome");
        let model = ScriptedModel::silent();
        model.add(reply![tool(
            "bash",
            json!({"command": "env; cat /proc/$PPID/environ"})
        )]);
        model.add(reply![text("some words "), error_event("api_error", &echo)]);
        model.add(reply![error(403).message(&echo)]);
        model.add(reply![error(429).retry_after(0).message(&echo)]);
        model.add(reply![error(400).body(json!({"detail": echo}))]);
        let home = Home::builder().model(&model).provider(provider);
        let home = home.env("SHARD_LOG", "trace").build();
        let agent = AgentProcess::start(&home, &[]);
        for prompt in ["one", "two", "three"] {
            assert_eq!(agent.turn(prompt).await.reason(), "error");
        }
        agent.quit().await;
        assert!(word(&json!(model.request(0).await.header(header))).contains(SECRET));
        assert_eq!(model.requests().len(), 5);
        let events = json!(agent.messages_since(Mark::START)).to_string();
        assert!(
            events.contains("is not welcome"),
            "the server's other words are told"
        );
        assert!(!events.contains(SECRET));
        assert!(!agent.stderr().is_empty(), "the log is on");
        assert!(!agent.stderr().contains(SECRET));
        for file in home.session_files() {
            assert!(!std::fs::read_to_string(file).unwrap().contains(SECRET));
        }
    }
}
