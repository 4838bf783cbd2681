//! Another model or mode in the middle of a turn.

use serde_json::json;
use shard_types::ErrorCode;
use tokio::time::{Duration, Instant};

use crate::bench::Bench;

#[tokio::test(start_paused = true)]
async fn another_model_from_the_next_call_on() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    assert_eq!(call.provider, "one");
    bench.fresh();
    let data = bench
        .request(json!({"type": "set_model", "model": "two/m"}))
        .await
        .unwrap();
    assert_eq!(
        data,
        json!({
            "previous": {"id": "one/m", "provider": "one", "model": "m"},
            "active": {"id": "two/m", "provider": "two", "model": "m"},
            "effective": "next_provider_call",
        })
    );
    assert_eq!(bench.fresh(), ["model_changed one/m two/m"]);
    call.tool("c1", "echo", r#"{"say":"x"}"#);
    call.usage(1, 1);
    call.stop();
    let usage = bench.events_until("usage").await.pop().unwrap();
    let model = match usage {
        shard_types::event::AgentEvent::Usage(usage) => usage.model,
        _ => None,
    };
    assert_eq!(
        model.as_deref(),
        Some("one/m"),
        "the call that ran was the old one's"
    );
    let call = bench.call().await;
    assert_eq!(call.provider, "two");
    call.answer("ok");
    bench.until("turn_end").await;

    bench.fresh();
    for (model, code) in [
        ("two/x", ErrorCode::NotFound),
        ("three/m", ErrorCode::NotFound),
        ("m", ErrorCode::NotFound),
    ] {
        let refused = bench
            .request(json!({"type": "set_model", "model": model}))
            .await;
        assert_eq!(refused.unwrap_err().code, code);
    }
    bench
        .request(json!({"type": "set_model", "model": "two/m"}))
        .await
        .unwrap();
    bench.settle().await;
    let fresh = bench.fresh();
    assert!(
        !fresh.iter().any(|line| line.starts_with("model_changed")),
        "{fresh:?}"
    );
    let models = bench.request(json!({"type": "list_models"})).await.unwrap();
    assert_eq!(models["active"]["id"], "two/m");
    assert_eq!(models["models"].as_array().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_latest_wish_for_a_model_counts_however_long_an_earlier_one_takes() {
    let bench = Bench::new().await;
    // The provider `two` takes its time to say what it has.
    let (first, second) = tokio::join!(
        bench.request(json!({"type": "set_model", "model": "two/m"})),
        bench.request(json!({"type": "set_model", "model": "one/m"})),
    );
    assert_eq!(second.unwrap()["active"]["id"], "one/m");
    assert_eq!(first.unwrap_err().code, ErrorCode::Conflict);
    let models = bench.request(json!({"type": "list_models"})).await.unwrap();
    assert_eq!(models["active"]["id"], "one/m");
}

#[tokio::test(start_paused = true)]
async fn another_mode_from_the_next_call_on() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    assert!(call.tools().contains(&"fail"));
    bench.fresh();
    let data = bench
        .request(json!({"type": "set_mode", "mode": "plan"}))
        .await
        .unwrap();
    assert_eq!(data, json!({"previous_mode": "build", "mode": "plan"}));
    assert_eq!(bench.fresh(), ["mode_changed build plan"]);
    // Its model still works in the mode that it was told.
    call.tool("c1", "fail", "{}");
    call.stop();
    let call = bench.call().await;
    assert_eq!(call.tools(), ["echo", "look"]);
    assert!(
        call.request.system.contains("Mode: plan"),
        "{}",
        call.request.system
    );
    call.tool("c2", "echo", r#"{"say":"x"}"#);
    call.tool("c3", "fail", "{}");
    call.stop();
    let call = bench.call().await;
    assert!(
        call.history()
            .contains(r#"c3!the mode plan does not have the tool "fail"; use one of: echo"#),
        "{}",
        call.history()
    );
    assert_eq!(
        *bench.gate.judged.lock().unwrap(),
        ["fail in build", "echo in plan"]
    );
    call.answer("ok");
    bench.until("status idle").await;

    bench
        .request(json!({"type": "set_mode", "mode": "plan"}))
        .await
        .unwrap();
    let refused = bench
        .request(json!({"type": "set_mode", "mode": "dream"}))
        .await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(bench.fresh(), [""; 0]);
    let modes = bench.request(json!({"type": "list_modes"})).await.unwrap();
    assert_eq!(modes["active"], "plan");
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_holds_the_stream_and_not_an_abort() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    bench.fresh();
    bench.seen.set_room(false);
    for n in 0..100 {
        call.more_text(0, &n.to_string());
    }
    bench.settle().await;
    let at_once: Vec<_> = (0..64).map(|n| format!("delta 0 {n}")).collect();
    assert_eq!(bench.fresh(), at_once, "then it waits");
    bench.seen.set_room(true);
    bench.until("delta 0 99").await;
    bench.seen.set_room(false);
    call.more_text(0, "more");
    bench.until("delta 0 more").await;
    call.more_text(0, "never");
    bench.settle().await;
    let began = Instant::now();
    bench.abort().await;
    assert_eq!(began.elapsed(), Duration::ZERO, "at once");
    let lines = bench.fresh();
    assert_eq!(lines[1..], ["turn_end aborted", "status idle"]);
    assert!(lines[0].ends_with("99more\""), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn a_damaged_line_is_told_after_the_sync() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    bench.call().await.answer("ok");
    bench.rest().await;
    bench.handle.close().await;
    let path = bench.path().to_owned();
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    lines[2] = "{\"id\":\"half";
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let mut bench = bench.crash();
    let lines = bench.until("error").await;
    assert_eq!(lines[0], "hello");
    assert!(lines[1].starts_with("sync idle"), "{lines:?}");
    assert_eq!(
        lines[2],
        "error SESSION_CORRUPT: line 3 of the session file is damaged and was skipped; it is kept in the file"
    );
}
