//! What waits: steers, follow-ups, request keys, and what becomes of them.

use serde_json::json;
use shard_types::ErrorCode;
use shard_types::event::AgentEvent;

use crate::bench::{Bench, Setup};

/// A picture of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[tokio::test(start_paused = true)]
async fn steers_are_read_in_order_before_the_next_call() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.tool("c1", "hold", "{}");
    call.stop();
    let held = bench.held().await;
    bench.until("tool_call").await;
    let first = bench.steer("left").await;
    let second = bench.steer("right").await;
    held.release.send("moved").unwrap();
    let call = bench.call().await;
    assert_eq!(
        call.history(),
        r#"U: "go" | A: c1 | U: c1=moved "left" "right""#
    );
    call.answer("there");
    assert_eq!(
        bench.rest().await,
        [
            "queue [steer left]",
            "queue [steer left, steer right]",
            "tool_result c1=moved",
            r#"user: "left""#,
            "queue [steer right]",
            r#"user: "right""#,
            "queue []",
            "delta 0 there",
            r#"assistant: "there""#,
            "turn_end done",
            "status idle",
        ]
    );
    let (delivered, _) = bench.delivered_and_cleared();
    assert!(delivered.contains(&first) && delivered.contains(&second));
}

#[tokio::test(start_paused = true)]
async fn a_steer_after_the_last_call_makes_one_more() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.text("done");
    bench.steer("really?").await;
    call.stop();
    let call = bench.call().await;
    assert_eq!(call.history(), r#"U: "go" | A: "done" | U: "really?""#);
    call.answer("yes");
    let lines = bench.rest().await;
    let turns = lines
        .iter()
        .filter(|line| line.starts_with("turn_"))
        .count();
    assert_eq!(turns, 2, "one turn: {lines:?}");
}

#[tokio::test(start_paused = true)]
async fn a_steer_at_the_bound_on_rounds_starts_the_next_turn() {
    let setup = Setup {
        max_rounds: 1,
        ..Setup::default()
    };
    let mut bench = Bench::with(setup).await;
    bench.prompt("go").await;
    let call = bench.call().await;
    bench.steer("more").await;
    call.answer("done");
    let lines = bench.until("turn_end").await;
    assert_eq!(lines.last().unwrap(), "turn_end done");
    let call = bench.call().await;
    assert_eq!(call.history(), r#"U: "go" | A: "done" | U: "more""#);
    call.answer("sure");
    assert_eq!(
        bench.until("turn_end").await,
        [
            "status idle",
            "status streaming",
            "turn_start",
            r#"user: "more""#,
            "queue []",
            "delta 0 sure",
            r#"assistant: "sure""#,
            "turn_end done",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn follow_ups_wait_for_the_end_and_have_a_turn_each() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    bench.follow_up("second").await;
    bench.follow_up("third").await;
    call.tool("c1", "echo", r#"{"say":"x"}"#);
    call.stop();
    let call = bench.call().await;
    assert_eq!(call.history(), r#"U: "go" | A: c1 | U: c1=x"#);
    call.answer("one");
    bench.until("turn_end").await;
    for (text, left) in [("second", "queue [follow_up third]"), ("third", "queue []")] {
        let call = bench.call().await;
        assert!(call.history().ends_with(&format!("U: {text:?}")));
        call.answer("ok");
        let lines = bench.until("turn_end").await;
        assert!(lines.contains(&left.to_owned()), "{lines:?}");
    }
    assert_eq!(bench.until("status").await, ["status idle"]);
    assert!(bench.call_now().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_steer_in_an_idle_agent_is_a_prompt() {
    let mut bench = Bench::new().await;
    bench.steer("go").await;
    bench.call().await.answer("ok");
    let lines = bench.rest().await;
    assert!(
        !lines.iter().any(|line| line.starts_with("queue")),
        "{lines:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_not_accepted_changes_nothing() {
    let mut bench = Bench::new().await;
    let image = json!([{ "type": "image", "data": PIXEL, "mime_type": "image/png" }]);
    for (message, code) in [
        (
            json!({"type": "prompt", "message": " \n"}),
            ErrorCode::InvalidRequest,
        ),
        (
            json!({"type": "prompt", "message": "look", "images": image}),
            ErrorCode::InvalidRequest,
        ),
    ] {
        assert_eq!(bench.request(message).await.unwrap_err().code, code);
    }
    assert_eq!(bench.rows().len(), 1, "nothing but the header");
    bench.prompt("go").await;
    let call = bench.call().await;
    let refused = bench
        .request(json!({"type": "prompt", "message": "again"}))
        .await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::Conflict);
    call.answer("ok");
    bench.rest().await;
    assert!(bench.call_now().is_none());
}

#[tokio::test(start_paused = true)]
async fn two_hundred_may_wait() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let _call = bench.call().await;
    for n in 0..200 {
        bench.follow_up(&n.to_string()).await;
    }
    let more = json!({"type": "steer", "message": "more"});
    assert_eq!(
        bench.request(more.clone()).await.unwrap_err().code,
        ErrorCode::Conflict
    );
    assert_eq!(bench.abort().await.as_array().unwrap().len(), 200);
    bench.request(more).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_request_key_starts_one_thing_once() {
    let mut bench = Bench::new().await;
    let keyed = |text: &str| json!({"type": "prompt", "message": text, "request_key": "k1"});
    let first = bench.request(keyed("go")).await.unwrap();
    let call = bench.call().await;
    // Not even a conflict with the turn that it started itself.
    let again = bench.request(keyed("go")).await.unwrap();
    assert_eq!(
        again,
        json!({"message_id": first["message_id"], "duplicate": true})
    );
    let other = bench.request(keyed("go elsewhere")).await.unwrap_err();
    assert_eq!(other.code, ErrorCode::Conflict);
    call.answer("ok");
    bench.rest().await;

    let mut bench = bench.reopen().await;
    bench.until("sync").await;
    assert_eq!(bench.request(keyed("go")).await.unwrap(), again);
    bench.settle().await;
    assert!(bench.call_now().is_none());
    let other = bench.request(keyed("go elsewhere")).await.unwrap_err();
    assert_eq!(other.code, ErrorCode::Conflict);
    let new = json!({"type": "prompt", "message": "go", "request_key": "k2"});
    assert_eq!(bench.request(new).await.unwrap().get("duplicate"), None);
    bench.call().await.answer("ok");
}

#[tokio::test(start_paused = true)]
async fn a_key_of_what_was_given_back_is_used_and_one_of_what_was_refused_is_new() {
    for refused in [false, true] {
        let mut bench = Bench::new().await;
        bench.prompt("go").await;
        let _call = bench.call().await;
        let keyed = json!({"type": "steer", "message": "more", "request_key": "k"});
        let first = bench.request(keyed.clone()).await.unwrap();
        bench.abort().await;
        bench.handle.close().await;
        if refused {
            // As it is noted when the disk does not take what was accepted.
            let text = std::fs::read_to_string(bench.path()).unwrap();
            let given_back = format!(r#""messageIds":[{}]"#, first["message_id"]);
            let noted = text.replace(&given_back, &format!(r#"{given_back},"refused":true"#));
            assert_ne!(noted, text);
            std::fs::write(bench.path(), noted).unwrap();
        }
        let mut bench = bench.reopen().await;
        bench.until("sync").await;
        let again = bench.request(keyed).await.unwrap();
        let duplicate = again.get("duplicate") == Some(&json!(true));
        assert_eq!(duplicate, !refused, "{again}");
        assert_eq!(again["message_id"] == first["message_id"], duplicate);
    }
}

#[tokio::test(start_paused = true)]
async fn two_hundred_keys_are_remembered() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let _call = bench.call().await;
    let keyed = |n: u32| json!({"type": "steer", "message": "x", "request_key": format!("k{n}")});
    for n in 0..200 {
        bench.request(keyed(n)).await.unwrap();
    }
    assert_eq!(bench.request(keyed(0)).await.unwrap()["duplicate"], true);
    bench.abort().await;
    bench.prompt("on").await;
    let _call = bench.call().await;
    bench.request(keyed(200)).await.unwrap();
    assert_eq!(bench.request(keyed(1)).await.unwrap()["duplicate"], true);
    assert_eq!(
        bench.request(keyed(0)).await.unwrap().get("duplicate"),
        None
    );
}

#[tokio::test(start_paused = true)]
async fn what_waits_survives_a_crash_and_runs_once() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let _call = bench.call().await;
    let waiting = bench.follow_up("later").await;

    let mut bench = bench.crash();
    assert_eq!(
        bench.until("sync").await,
        [
            "hello",
            r#"sync idle build [U: "go"] pending [] queue [follow_up later]"#
        ]
    );
    let call = bench.call().await;
    assert_eq!(call.history(), r#"U: "go" "later""#);
    call.answer("ok");
    assert_eq!(
        bench.rest().await,
        [
            "status streaming",
            "turn_start",
            r#"user: "later""#,
            "queue []",
            "delta 0 ok",
            r#"assistant: "ok""#,
            "turn_end done",
            "status idle",
        ]
    );
    let mut bench = bench.reopen().await;
    bench.until("sync").await;
    bench.settle().await;
    assert!(bench.call_now().is_none(), "it ran already");
    let (delivered, _) = bench.delivered_and_cleared();
    assert_eq!(delivered.iter().filter(|id| **id == waiting).count(), 1);
}

/// A prompt that was accepted in the last moment of a process.
#[tokio::test(start_paused = true)]
async fn a_prompt_that_waited_over_a_restart_waits_no_longer_once_it_runs() {
    let mut bench = Bench::new().await;
    let id = bench.prompt("go").await;
    let _call = bench.call().await;
    // The row of the message itself is lost.
    let text = std::fs::read_to_string(bench.path()).unwrap();
    let lines: Vec<_> = text
        .lines()
        .take(2)
        .map(|line| format!("{line}\n"))
        .collect();
    let path = bench.path().to_owned();
    bench.task.abort();
    std::fs::write(&path, lines.concat()).unwrap();

    let mut bench = bench.crash();
    let lines = bench.until("sync").await;
    assert_eq!(lines[1], "sync idle build [] pending [] queue [prompt go]");
    bench.call().await.answer("ok");
    let lines = bench.rest().await;
    assert_eq!(lines[2..4], [r#"user: "go""#, "queue []"]);
    assert_eq!(bench.delivered_and_cleared().0[0], id);
}

/// An agent with a model that takes pictures.
async fn seeing() -> Bench {
    let bench = Bench::new().await;
    let wish = json!({"type": "set_model", "model": "two/m"});
    bench.request(wish).await.unwrap();
    bench
}

fn with_pictures(data: &[&str]) -> serde_json::Value {
    let images = data
        .iter()
        .map(|data| json!({"type": "image", "data": data, "mime_type": "image/gif"}));
    let images: Vec<_> = images.collect();
    json!({"type": "prompt", "message": "look", "images": images, "request_key": "k"})
}

#[tokio::test(start_paused = true)]
async fn a_picture_is_named_by_its_bytes_and_a_prompt_with_it_is_taken_once() {
    let mut bench = seeing().await;
    let first = bench.request(with_pictures(&[PIXEL])).await.unwrap();
    bench.call().await.answer("a dot");
    bench.until("turn_end").await;
    let again = bench.request(with_pictures(&[PIXEL])).await.unwrap();
    assert_eq!(again["message_id"], first["message_id"]);
    assert_eq!(again["duplicate"], true);
    let other = bench.request(with_pictures(&[PIXEL, PIXEL])).await;
    assert_eq!(other.unwrap_err().code, ErrorCode::Conflict);
    let stored = serde_json::to_string(&bench.rows()).unwrap();
    assert!(stored.contains("image/png") && !stored.contains("image/gif"));
}

#[tokio::test(start_paused = true)]
async fn pictures_that_cannot_be_used_are_refused_and_nothing_is_kept() {
    let bench = seeing().await;
    let rows = bench.rows().len();
    for (data, want) in [
        (
            &[PIXEL, "AAAA"][..],
            "`images[1]` is no picture; PNG, JPEG, GIF and WebP can be used",
        ),
        (&["?"], "`images[0]` is not valid base64"),
        (
            &[PIXEL; 21],
            "`images`: 21 pictures are too many for one prompt; send at most 20",
        ),
    ] {
        let error = bench.request(with_pictures(data)).await.unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (ErrorCode::InvalidRequest, want)
        );
    }
    assert_eq!(bench.rows().len(), rows);
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_after_a_picture_stays_behind_it() {
    let mut bench = seeing().await;
    let picture = bench.request(with_pictures(&[PIXEL]));
    let words = bench
        .request(json!({"type": "prompt", "message": "then", "streaming_behavior": "follow_up"}));
    let (picture, words) = tokio::join!(picture, words);
    assert!(picture.is_ok() && words.is_ok());
    let call = bench.call().await;
    assert_eq!(call.history(), r#"U: "look" image/png"#);
    call.answer("ok");
    assert!(bench.call().await.history().ends_with(r#"U: "then""#));
}

#[tokio::test(start_paused = true)]
async fn an_abort_sends_back_a_prompt_whose_pictures_are_looked_at() {
    let mut bench = seeing().await;
    let picture = bench.request(with_pictures(&[PIXEL]));
    let abort = bench.request(json!({"type": "abort"}));
    let (picture, abort) = tokio::join!(picture, abort);
    assert_eq!(abort.unwrap(), json!({"cleared": []}));
    let error = picture.unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(
        error.message.ends_with("send it again"),
        "{}",
        error.message
    );
    assert!(bench.request(with_pictures(&[PIXEL])).await.is_ok());
    assert_eq!(bench.call().await.history(), r#"U: "look" image/png"#);
}

#[tokio::test(start_paused = true)]
async fn an_abort_gives_back_what_waited() {
    let mut bench = Bench::new().await;
    bench
        .request(json!({"type": "set_model", "model": "two/m"}))
        .await
        .unwrap();
    bench.prompt("go").await;
    let _call = bench.call().await;
    let image = json!({"type": "image", "data": PIXEL, "mime_type": "image/png"});
    let steer = json!({"type": "steer", "message": "look", "images": [image], "request_key": "k"});
    bench.request(steer).await.unwrap();
    let shown = bench.events_until("queue").await;
    assert!(
        matches!(shown.last(), Some(AgentEvent::QueueChanged(changed)) if changed.queue[0].images.is_empty()),
        "events carry no pictures"
    );
    bench.follow_up("then").await;
    assert_eq!(
        bench.abort().await,
        json!([
            {"request_key": "k", "kind": "steer", "message": "look", "images": [image]},
            {"kind": "follow_up", "message": "then"},
        ])
    );
    assert_eq!(
        bench.rest().await,
        [
            "queue [steer look, follow_up then]",
            "queue []",
            "turn_end aborted",
            "status idle"
        ]
    );
    let mut bench = bench.reopen().await;
    bench.until("sync").await;
    bench.settle().await;
    assert!(bench.call_now().is_none(), "not after a restart either");
    bench.prompt("fresh").await;
    assert_eq!(bench.call().await.history(), r#"U: "go" "fresh""#);
}

#[tokio::test(start_paused = true)]
async fn closing_keeps_what_waits_for_the_next_time() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.text("half");
    bench.until("delta").await;
    bench.follow_up("later").await;
    let mut bench = bench.reopen().await;
    let lines = bench.until("sync").await;
    assert_eq!(
        lines[1],
        r#"sync idle build [U: "go" | A: "half"] pending [] queue [follow_up later]"#
    );
    assert_eq!(
        bench.call().await.history(),
        r#"U: "go" | A: "half" | U: "later""#
    );
}

#[tokio::test(start_paused = true)]
async fn words_that_wait_are_said_after_a_turn_that_failed() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    bench.steer("and this").await;
    call.fail(shard_contracts::ProviderErrorKind::Auth, "no key");
    bench.until("turn_end error").await;
    let call = bench.call().await;
    assert_eq!(call.history(), r#"U: "go" "and this""#);
    call.answer("ok");
    bench.until("turn_end done").await;
    assert_eq!(bench.until("status").await, ["status idle"]);
}
