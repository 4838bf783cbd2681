//! Where the key of a provider comes from.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Home, Provider, ScriptedModel, descendants, error, reply, run_cli, text, until,
};

use crate::{failed, turn};

const KEY: &str = "sk-from-somewhere-4711";

/// How soon an abort is answered.
const ABORTED_WITHIN: Duration = Duration::from_secs(1);

/// How long what was started may live on.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// A home whose provider has its key from there and not from the usual variable.
fn keyed(model: &ScriptedModel, provider: Provider, source: &Value) -> Home {
    let home = Home::builder().model(model).provider(provider).build();
    let mut config = home.config().clone();
    let mock = config["providers"]["mock"].as_object_mut().unwrap();
    mock.remove("api_key_env");
    mock.extend(source.as_object().unwrap().clone());
    home.write_config(&config.to_string());
    let folder = home.home().join("keys");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("good"), format!("{KEY}\n")).unwrap();
    std::fs::write(folder.join("two-lines"), format!("{KEY}\nmore\n")).unwrap();
    home
}

#[tokio::test]
async fn a_key_comes_from_a_file_a_command_or_the_configuration() {
    for (provider, header, sent) in [
        (Provider::OpenAi, "authorization", format!("Bearer {KEY}")),
        (Provider::Anthropic, "x-api-key", KEY.to_owned()),
    ] {
        for source in [
            json!({ "api_key_file": "~/keys/good" }),
            json!({ "api_key_command": "cat ~/keys/good" }),
            json!({ "api_key": KEY }),
        ] {
            let model = ScriptedModel::start([reply![text("here")]]);
            let home = keyed(&model, provider, &source);
            let (good, printed) = turn(&home).await;
            assert_eq!(good.text(), "here", "{source}");
            assert_eq!(model.request(0).await.header(header), Some(&*sent));
            assert!(!printed.contains(KEY), "{source}: {printed}");
            let shown = run_cli(&home, &["config", "show"], None).await;
            assert!(!shown.stdout.contains(KEY), "{}", shown.stdout);
        }
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_had_names_its_source_and_nothing_is_sent() {
    for (source, words) in [
        (json!({ "api_key_file": "~/keys/none" }), "home/keys/none"),
        (json!({ "api_key_file": "~/keys" }), "home/keys"),
        (
            json!({ "api_key_file": "~/keys/two-lines" }),
            "api_key_file",
        ),
        (
            json!({ "api_key_command": format!("echo {KEY}; echo {KEY} >&2; exit 3") }),
            "api_key_command",
        ),
        (json!({ "api_key_command": "true" }), "api_key_command"),
    ] {
        let model = ScriptedModel::silent();
        let home = keyed(&model, Provider::OpenAi, &source);
        let (turn, printed) = turn(&home).await;
        let told = failed(&turn);
        assert!(told.contains(words), "{words} in {told}");
        let leaked = printed.replace(&source.to_string(), "").contains(KEY);
        assert!(!leaked, "{printed}");
        assert_eq!(model.connections(), 0);
    }
}

#[tokio::test]
async fn a_key_that_is_refused_is_looked_up_again() {
    let model = ScriptedModel::start([reply![error(401)], reply![text("welcome")]]);
    let home = keyed(
        &model,
        Provider::OpenAi,
        &json!({ "api_key_command": "cat ~/keys/good" }),
    );
    let agent = AgentProcess::start(&home, &[]);
    let told = failed(&agent.turn("go").await);
    assert!(told.contains("the command of `api_key_command`"), "{told}");
    std::fs::write(home.home().join("keys/good"), "sk-renewed\n").unwrap();
    assert_eq!(agent.turn("again").await.text(), "welcome");
    let sent = model.request(1).await;
    assert_eq!(sent.header("authorization"), Some("Bearer sk-renewed"));
}

#[tokio::test]
async fn an_abort_ends_a_command_that_is_asked_for_a_key() {
    let model = ScriptedModel::start([reply![text("here")]]);
    let command = "test -e ready && cat ~/keys/good || { sleep 314 & echo $! > ready; wait; }";
    let home = keyed(
        &model,
        Provider::OpenAi,
        &json!({ "api_key_command": command }),
    );
    let agent = AgentProcess::start(&home, &[]);
    let mark = agent.mark();
    agent.ok("prompt", json!({ "message": "go" })).await;
    let ready =
        || std::fs::read_to_string(home.work().join("ready")).is_ok_and(|pid| pid.ends_with('\n'));
    until("the command runs", ENDS_WITHIN, ready).await;
    assert!(!descendants(agent.pid()).is_empty());
    let begun = Instant::now();
    agent.ok("abort", json!({})).await;
    assert!(begun.elapsed() < ABORTED_WITHIN, "{:?}", begun.elapsed());
    assert_eq!(
        agent.wait_for_type(mark, "turn_end").await["reason"],
        "aborted"
    );
    until("nothing of it is left", ENDS_WITHIN, || {
        descendants(agent.pid()).is_empty()
    })
    .await;
    assert_eq!(agent.turn("again").await.text(), "here");
}
