//! How hard a model thinks, where it lets one choose.

use serde_json::{Value, json};
use shard_protocol::ErrorBody;
use shard_types::ErrorCode;
use shard_types::event::AgentEvent;

use crate::bench::{Bench, Setup};
use crate::lines::line;

fn thinkers() -> Setup {
    Setup {
        efforts: [&["low", "high"], &["low", "medium"]],
        ..Setup::default()
    }
}

async fn set(bench: &Bench, model: &str, effort: &str) -> Result<Value, ErrorBody> {
    let wish = json!({"type": "set_reasoning_level", "model": model, "effort": effort});
    bench.request(wish).await
}

async fn use_model(bench: &Bench, model: &str) {
    let wish = json!({"type": "set_model", "model": model});
    bench.request(wish).await.unwrap();
}

async fn active(bench: &Bench) -> Value {
    let listed = bench.request(json!({"type": "list_reasoning_levels"}));
    listed.await.unwrap()["active"].clone()
}

/// What the next call asks for.
async fn asked(bench: &mut Bench) -> Option<String> {
    bench.prompt("go").await;
    let call = bench.call().await;
    let asked = call.request.reasoning.clone();
    call.answer("ok");
    bench.until("status idle").await;
    asked
}

/// Whether the last `hello`, `sync` and `model_changed` say that levels can be chosen.
fn offered(bench: &Bench) -> Vec<(String, bool)> {
    let events = bench.seen.all().into_iter();
    let said = events.filter_map(|event| {
        let capabilities = match &event {
            AgentEvent::Hello(hello) => Some(hello.capabilities.clone()),
            AgentEvent::Sync(sync) => sync.capabilities.clone(),
            AgentEvent::ModelChanged(changed) => changed.capabilities.clone(),
            _ => None,
        }?;
        let has = |name: &str| capabilities.iter().any(|known| known == name);
        assert_eq!(has("reasoning-catalog"), has("reasoning-switch"));
        let what = line(&event).split(' ').next().unwrap().to_owned();
        Some((what, has("reasoning-switch")))
    });
    said.collect()
}

#[tokio::test(start_paused = true)]
async fn a_level_counts_from_the_next_call_on() {
    let mut bench = Bench::with(thinkers()).await;
    let listed = bench
        .request(json!({"type": "list_reasoning_levels"}))
        .await
        .unwrap();
    let model = json!({"id": "one/m", "provider": "one", "model": "m"});
    assert_eq!(
        listed,
        json!({
            "model": model,
            "levels": [
                {"id": "default", "label": "Default",
                 "description": "What the provider does when nothing is asked for"},
                {"id": "low", "label": "Low"},
                {"id": "high", "label": "High"},
            ],
            "active": "default",
            "effective": "next_provider_call",
        })
    );
    bench.prompt("go").await;
    let call = bench.call().await;
    assert_eq!(call.request.reasoning, None, "the provider's own default");
    bench.fresh();
    assert_eq!(
        set(&bench, "one/m", "high").await.unwrap(),
        json!({"model": model, "previous": "default", "active": "high",
            "effective": "next_provider_call"})
    );
    assert_eq!(bench.fresh(), ["effort one/m default high"]);
    call.tool("c1", "echo", r#"{"say":"x"}"#);
    call.stop();
    let call = bench.call().await;
    assert_eq!(call.request.reasoning.as_deref(), Some("high"));
    call.answer("ok");
    bench.until("status idle").await;

    let same = set(&bench, "one/m", "high").await.unwrap();
    assert_eq!(
        (&same["previous"], &same["active"]),
        (&json!("high"), &json!("high"))
    );
    for (model, effort, code, words) in [
        ("two/m", "low", ErrorCode::Conflict, "one/m"),
        ("one/m", "medium", ErrorCode::NotFound, "default, low, high"),
        ("one/m", "", ErrorCode::NotFound, "default, low, high"),
    ] {
        let refused = set(&bench, model, effort).await.unwrap_err();
        assert_eq!(refused.code, code, "{model} {effort}");
        assert!(refused.message.contains(words), "{}", refused.message);
    }
    assert_eq!(bench.fresh(), [""; 0], "nothing has changed");
    assert_eq!(active(&bench).await, "high");

    // It belongs to the session.
    let mut bench = bench.reopen().await;
    assert_eq!(active(&bench).await, "high");
    assert_eq!(asked(&mut bench).await.as_deref(), Some("high"));
    let mut bench = bench.crash();
    assert_eq!(asked(&mut bench).await.as_deref(), Some("high"));
    set(&bench, "one/m", "default").await.unwrap();
    assert_eq!(bench.fresh(), ["effort one/m high default"]);
    assert_eq!(asked(&mut bench).await, None);
    let mut bench = bench.reopen().await;
    assert_eq!(asked(&mut bench).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_lacks_the_level_has_its_default_and_this_is_said() {
    let mut bench = Bench::with(thinkers()).await;
    set(&bench, "one/m", "high").await.unwrap();
    bench.fresh();
    use_model(&bench, "two/m").await;
    assert_eq!(
        bench.fresh(),
        ["model_changed one/m two/m", "effort two/m high default"]
    );
    assert_eq!(active(&bench).await, "default");
    assert_eq!(asked(&mut bench).await, None);
    // Whoever still looks at the levels of the other model must not pick one of them.
    let stale = set(&bench, "one/m", "low").await.unwrap_err();
    assert_eq!(stale.code, ErrorCode::Conflict);
    bench.fresh();
    use_model(&bench, "one/m").await;
    assert_eq!(
        bench.fresh(),
        ["model_changed two/m one/m", "effort one/m default high"]
    );
    assert_eq!(asked(&mut bench).await.as_deref(), Some("high"));
    // What both have stays without a word.
    set(&bench, "one/m", "low").await.unwrap();
    bench.fresh();
    use_model(&bench, "two/m").await;
    assert_eq!(bench.fresh(), ["model_changed one/m two/m"]);
    assert_eq!(asked(&mut bench).await.as_deref(), Some("low"));
}

#[tokio::test(start_paused = true)]
async fn the_default_that_a_person_picks_holds_for_other_models_too() {
    let mut bench = Bench::with(thinkers()).await;
    set(&bench, "one/m", "high").await.unwrap();
    use_model(&bench, "two/m").await;
    bench.fresh();
    let same = set(&bench, "two/m", "default").await.unwrap();
    assert_eq!(same["previous"], "default");
    use_model(&bench, "one/m").await;
    assert_eq!(bench.fresh(), ["model_changed two/m one/m"]);
    let mut bench = bench.reopen().await;
    assert_eq!(asked(&mut bench).await, None);
}

#[tokio::test(start_paused = true)]
async fn levels_are_offered_only_with_a_model_that_has_them() {
    let mut bench = Bench::with(Setup {
        efforts: [&[], &["low"]],
        ..Setup::default()
    })
    .await;
    let listed = bench.request(json!({"type": "list_reasoning_levels"}));
    assert_eq!(listed.await.unwrap_err().code, ErrorCode::NotFound);
    let refused = set(&bench, "one/m", "default").await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotFound);
    use_model(&bench, "two/m").await;
    bench.sync().await;
    set(&bench, "two/m", "low").await.unwrap();
    use_model(&bench, "one/m").await;
    bench.sync().await;
    let want = [
        ("hello", false),
        ("sync", false),
        ("model_changed", true),
        ("sync", true),
        ("model_changed", false),
        ("sync", false),
    ];
    let said = offered(&bench);
    let said: Vec<_> = said
        .iter()
        .map(|(what, has)| (what.as_str(), *has))
        .collect();
    assert_eq!(said, want);
    assert_eq!(asked(&mut bench).await, None);
}
