//! Which model answers, in which mode, and what it is told and shown.

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Answer, Gate, Home, Mark, Provider, ScriptedModel, hold, reply, run_cli, text,
    tool,
};

use crate::word;

/// A picture of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn with_picture() -> Value {
    json!({"message": "what is this?",
        "images": [{"type": "image", "data": PIXEL, "mime_type": "image/png"}]})
}

fn ids(models: &Value) -> Vec<&str> {
    let models = models.as_array().unwrap().iter();
    models.map(|model| word(&model["id"])).collect()
}

#[tokio::test]
async fn the_models_of_the_configuration_are_listed_with_the_active_one() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &["--model", "mock/m2"]);
    let listed = agent.ok("list_models", json!({})).await;
    assert_eq!(ids(&listed["models"]), ["mock/m1", "mock/m2", "mock/plain"]);
    assert_eq!(
        listed["active"],
        json!({"id": "mock/m2", "provider": "mock", "model": "m2", "context_window": 100_000})
    );
    assert_eq!(
        model.other_requests().len(),
        0,
        "the server need not be asked"
    );
}

#[tokio::test]
async fn a_switch_of_models_counts_from_the_next_call_on() {
    for provider in Provider::ALL {
        let gate = Gate::new();
        let model = ScriptedModel::start([
            reply![tool("ls", json!({})), hold(&gate)],
            reply![text("from the other")],
            reply![text("still the other")],
        ]);
        let home = Home::builder().model(&model).provider(provider).build();
        let agent = AgentProcess::start(&home, &[]);
        let mark = agent.mark();
        agent.ok("prompt", json!({"message": "go"})).await;
        gate.reached().await;
        let set = agent.ok("set_model", json!({"model": "mock/m2"})).await;
        assert_eq!(
            (&set["previous"]["id"], &set["active"]["id"]),
            (&json!("mock/m1"), &json!("mock/m2"))
        );
        assert_eq!(set["effective"], "next_provider_call");
        gate.open();
        let turn = agent.follow(mark, |_| Answer::Leave).await;
        let changed = turn.of("model_changed");
        assert_eq!(
            (changed.len(), &changed[0]["active"]["id"]),
            (1, &json!("mock/m2"))
        );
        let asked: Vec<_> = model
            .requests()
            .iter()
            .map(|r| r.model().to_owned())
            .collect();
        assert_eq!(asked, ["m1", "m2"]);
        assert_eq!(turn.text(), "from the other");
        // The same again is no change.
        let mark = agent.mark();
        agent.ok("set_model", json!({"model": "mock/m2"})).await;
        let since = agent.messages_since(mark);
        assert!(
            since.iter().all(|m| m["type"] != "model_changed"),
            "{since:?}"
        );
        agent.quit().await;
        let again = AgentProcess::start(&home, &["--continue"]);
        again.turn("go on").await;
        assert_eq!(model.request(2).await.model(), "m2", "also after a restart");
    }
}

#[tokio::test]
async fn a_model_that_is_not_there_is_not_found_and_changes_nothing() {
    let model = ScriptedModel::start([reply![text("m1 it is")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    for (name, words) in [
        ("mock/m9", "m1"),
        ("nobody/m1", "nobody"),
        ("m1", "provider/model"),
    ] {
        let error = agent.err("set_model", json!({"model": name})).await;
        assert_eq!(error["code"], "NOT_FOUND", "{name}");
        assert!(word(&error["message"]).contains(words), "{error}");
    }
    let turn = agent.turn("go").await;
    assert_eq!(
        (model.request(0).await.model(), turn.text().as_str()),
        ("m1", "m1 it is")
    );
    let all = agent.messages_since(Mark::START);
    assert!(all.iter().all(|m| m["type"] != "model_changed"));
}

#[tokio::test]
async fn a_provider_that_names_no_models_is_asked_for_them() {
    for provider in Provider::ALL {
        let model = ScriptedModel::start([reply![text("hello from m2")]]);
        let home = Home::builder().model(&model).provider(provider);
        let home = home.provider_config(json!({"models": null})).build();
        // A key without a value would be a mistake; it is to be absent.
        let mut config = home.config().clone();
        config["providers"]["mock"]
            .as_object_mut()
            .unwrap()
            .remove("models");
        home.write_config(&config.to_string());
        let agent = AgentProcess::start(&home, &["--model", "mock/m2"]);
        let listed = agent.ok("list_models", json!({})).await;
        assert_eq!(ids(&listed["models"]), ["mock/m1", "mock/m2", "mock/plain"]);
        let asked = model.other_requests();
        assert!(
            asked.iter().all(|r| r.path.starts_with("/v1/models")),
            "{asked:?}"
        );
        assert_eq!(asked.len(), 1, "asked once and remembered");
        assert_eq!(
            agent.err("set_model", json!({"model": "mock/m9"})).await["code"],
            "NOT_FOUND"
        );
        assert_eq!(agent.turn("hi").await.text(), "hello from m2");
    }
}

#[tokio::test]
async fn a_picture_for_a_model_without_eyes_is_refused_and_nothing_is_stored() {
    let model = ScriptedModel::start([reply![text("only words")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &["--model", "mock/plain"]);
    let error = agent.err("prompt", with_picture()).await;
    assert_eq!(error["code"], "INVALID_REQUEST");
    assert!(word(&error["message"]).contains("mock/plain"), "{error}");
    assert_eq!(agent.turn("then in words").await.text(), "only words");
    assert_eq!(model.requests().len(), 1);
    agent.quit().await;
    let stored = std::fs::read_to_string(home.session_file()).unwrap();
    assert!(!stored.contains(PIXEL) && !stored.contains("what is this?"));
}

#[tokio::test]
async fn a_picture_is_sent_as_each_format_wants_it() {
    for provider in Provider::ALL {
        let model = ScriptedModel::start([
            reply![text("a dot")],
            reply![text("the same dot")],
            reply![text("no eyes")],
        ]);
        let home = Home::builder().model(&model).provider(provider).build();
        let agent = AgentProcess::start(&home, &[]);
        let mark = agent.mark();
        agent.ok("prompt", with_picture()).await;
        assert_eq!(agent.follow(mark, |_| Answer::Leave).await.text(), "a dot");
        let block = match provider {
            Provider::OpenAi => json!({"type": "image_url",
                "image_url": {"url": format!("data:image/png;base64,{PIXEL}")}}),
            Provider::Responses => json!({"type": "input_image", "detail": "auto",
                "image_url": format!("data:image/png;base64,{PIXEL}")}),
            Provider::Anthropic => json!({"type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}),
        };
        let sent = |request: &shard_testkit::Request| {
            let messages = request.messages().iter();
            let mut blocks =
                messages.flat_map(|m| m["content"].as_array().cloned().unwrap_or_default());
            blocks.any(|mut sent| {
                // What the cache is told is another matter.
                sent.as_object_mut()
                    .map(|sent| sent.remove("cache_control"));
                sent["type"] == block["type"] && sent == block
            })
        };
        assert!(
            sent(&model.request(0).await),
            "{}",
            model.requests()[0].body
        );
        assert_eq!(model.request(0).await.user_texts(), ["what is this?"]);
        agent.quit().await;
        let again = AgentProcess::start(&home, &["--continue"]);
        again.turn("and now?").await;
        assert!(sent(&model.request(1).await), "also after a restart");
        // A model without eyes goes on with the words.
        again.ok("set_model", json!({"model": "mock/plain"})).await;
        assert_eq!(again.turn("blind now").await.text(), "no eyes");
        assert!(!model.request(2).await.body.to_string().contains(PIXEL));
    }
}

#[tokio::test]
async fn modes_are_listed_and_one_that_is_not_there_is_not_found() {
    let model = ScriptedModel::start([reply![text("ok")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    assert_eq!(agent.sync().await["mode"], "build");
    let listed = agent.ok("list_modes", json!({})).await;
    assert_eq!(listed["active"], "build");
    let modes = listed["modes"].as_array().unwrap();
    assert!(
        modes
            .iter()
            .any(|m| m["name"] == "build" && !word(&m["description"]).is_empty())
    );
    let set = agent.ok("set_mode", json!({"mode": "build"})).await;
    assert_eq!(set, json!({"previous_mode": "build", "mode": "build"}));
    let error = agent.err("set_mode", json!({"mode": "dream"})).await;
    assert_eq!(error["code"], "NOT_FOUND");
    assert!(word(&error["message"]).contains("build"), "{error}");
    for mode in modes {
        let set = agent.ok("set_mode", json!({"mode": mode["name"]})).await;
        assert_eq!(set["mode"], mode["name"]);
    }
    agent.ok("set_mode", json!({"mode": "build"})).await;
    assert_eq!(agent.turn("go").await.text(), "ok");
}

#[tokio::test]
async fn instructions_of_a_project_are_read_only_when_it_is_trusted() {
    for (args, read) in [
        (&["run", "go"][..], false),
        (&["run", "go", "--trust-project"][..], true),
        (
            &["run", "go", "--trust-project", "--no-agents-md"][..],
            false,
        ),
    ] {
        let model = ScriptedModel::start([reply![text("ok")]]);
        let home = Home::new(&model);
        home.write("AGENTS.md", "Always answer in Latin.");
        std::fs::write(home.config_home().join("shard/SHARD.md"), "I am the owner.").unwrap();
        let output = run_cli(&home, args, None).await;
        assert_eq!(output.code(), 0, "{}", output.stderr);
        let system = model.request(0).await.system();
        assert_eq!(system.contains("Always answer in Latin."), read, "{args:?}");
        assert!(
            system.contains("I am the owner."),
            "the user's own always counts"
        );
        let told = output.stderr.contains("AGENTS.md");
        assert_eq!(told, args.len() == 2, "left out is said: {}", output.stderr);
    }
}

#[tokio::test]
async fn a_session_goes_on_with_the_model_that_was_asked_for_last() {
    let model = ScriptedModel::answering(|_| reply![text("ok")]);
    let home = Home::new(&model);
    for args in [
        &["run", "one", "--model", "mock/m2"][..],
        &["run", "two", "--continue"],
        &["run", "three", "--continue", "--model", "mock/m1"],
        &["run", "four", "--continue"],
        &["run", "five"],
    ] {
        let output = run_cli(&home, args, None).await;
        assert_eq!(output.code(), 0, "{args:?}: {}", output.stderr);
    }
    let used: Vec<_> = model
        .requests()
        .iter()
        .map(|request| request.model().to_owned())
        .collect();
    assert_eq!(used, ["m2", "m2", "m1", "m1", "m1"]);
}
