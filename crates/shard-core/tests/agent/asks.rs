//! Questions: who answers, what counts, and what happens when nobody does.

use serde_json::json;
use shard_core::agent::Responder;
use shard_types::event::AgentEvent;
use shard_types::{ErrorCode, HeadlessPolicy};
use tokio::time::{Duration, Instant};

use crate::bench::{Bench, Setup, request_id};

/// A turn whose one call is asked about.
async fn asking(setup: Setup, covered: bool) -> Bench {
    let mut bench = Bench::with(setup).await;
    bench.gate.ask.lock().unwrap().push(("echo", covered));
    bench.prompt("go").await;
    let call = bench.call().await;
    call.tool("c1", "echo", r#"{"say":"one"}"#);
    call.stop();
    bench
}

async fn asked() -> Bench {
    let mut bench = asking(Setup::default(), false).await;
    bench.until("status waiting_for_permission").await;
    bench
}

/// Answers with these fields.
async fn answer(bench: &Bench, fields: serde_json::Value) -> Result<serde_json::Value, ErrorCode> {
    let mut message = json!({
        "type": "permission_response",
        "request_id": bench.asked().request_id,
    });
    for (key, value) in fields.as_object().unwrap() {
        message[key] = value.clone();
    }
    bench.request(message).await.map_err(|error| error.code)
}

#[tokio::test(start_paused = true)]
async fn a_client_that_calls_itself_timeout_has_answered_all_the_same() {
    for name in ["timeout", "headless", "aborted"] {
        let mut bench = asked().await;
        let fields = json!({"decision": "deny", "source": name, "reason": "use rg"});
        assert_eq!(answer(&bench, fields).await, Ok(json!({})));
        let call = bench.call().await;
        let history = call.history();
        assert!(
            history.contains("the person denied this call: use rg"),
            "{history}"
        );
        call.answer("ok");
        bench.until("status idle").await;
    }
}

#[tokio::test(start_paused = true)]
async fn how_long_a_call_took_leaves_out_how_long_a_person_thought() {
    let mut bench = asked().await;
    tokio::time::advance(Duration::from_secs(50)).await;
    answer(&bench, json!({"decision": "allow"})).await.unwrap();
    bench.call().await.answer("ok");
    let events = bench.events_until("tool_result").await;
    let Some(AgentEvent::ToolResult(result)) = events.last() else {
        panic!("the call has its result");
    };
    assert!(result.duration_ms.unwrap() < 50_000, "{result:?}");
}

#[tokio::test(start_paused = true)]
async fn the_first_answer_counts() {
    let mut bench = asked().await;
    let fields = json!({"decision": "allow", "source": "web"});
    assert_eq!(answer(&bench, fields).await, Ok(json!({})));
    let late = json!({"decision": "deny"});
    assert_eq!(answer(&bench, late).await, Ok(json!({"late": true})));
    let both = json!({"decision": "deny", "choice_id": "no"});
    assert_eq!(answer(&bench, both).await, Ok(json!({"late": true})));
    bench.call().await.answer("ok");
    assert_eq!(
        bench.rest().await,
        [
            "permission_resolved allow web",
            "status streaming",
            r#"tool_call c1 echo {"say":"one"}"#,
            "tool_result c1=one",
            "delta 0 ok",
            r#"assistant: "ok""#,
            "turn_end done",
            "status idle",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_wrong_answer_leaves_the_question_open() {
    let mut bench = asked().await;
    for wrong in [
        json!({"choice_id": "nonsense"}),
        json!({"choice_id": "once", "decision": "allow"}),
        json!({}),
        json!({"decision": "allow_always"}), // not offered
    ] {
        let outcome = answer(&bench, wrong.clone()).await;
        assert_eq!(outcome, Err(ErrorCode::InvalidRequest), "{wrong}");
    }
    assert_eq!(bench.fresh(), [""; 0]);
    assert_eq!(bench.sync().await.pending_requests.len(), 1);
    let choice = json!({"choice_id": "once"});
    assert_eq!(answer(&bench, choice).await, Ok(json!({})));
    assert_eq!(
        bench.until("tool_result").await,
        [
            "permission_resolved once",
            "status streaming",
            r#"tool_call c1 echo {"say":"one"}"#,
            "tool_result c1=one",
        ]
    );
    assert_eq!(*bench.gate.granted.lock().unwrap(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_denial_tells_the_model_why() {
    for (fields, said) in [
        (
            json!({"choice_id": "no", "reason": "not today"}),
            "tool_result c1!the person denied this call: not today",
        ),
        (
            json!({"decision": "deny"}),
            "tool_result c1!the person denied this call",
        ),
    ] {
        let mut bench = asked().await;
        answer(&bench, fields).await.unwrap();
        let lines = bench.until("tool_result").await;
        assert_eq!(lines.last().unwrap(), said);
        assert!(!lines.iter().any(|line| line.starts_with("tool_call")));
        let call = bench.call().await;
        assert!(
            call.history().contains("the person denied"),
            "the turn goes on"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_lasting_permission_is_kept_by_the_gate() {
    let mut bench = asked().await;
    let fields = json!({"choice_id": "always", "source": "web"});
    answer(&bench, fields).await.unwrap();
    bench.until("tool_result c1=one").await;
    assert_eq!(
        *bench.gate.granted.lock().unwrap(),
        ["echo (always) by web"]
    );

    let mut bench = asked().await;
    *bench.gate.broken.lock().unwrap() = true;
    answer(&bench, json!({"choice_id": "always"}))
        .await
        .unwrap();
    let lines = bench.until("tool_result").await;
    assert_eq!(
        lines[2..],
        [
            "error INTERNAL_ERROR: cannot keep the permission in /grants: no room; the call runs this once",
            r#"tool_call c1 echo {"say":"one"}"#,
            "tool_result c1=one",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn without_an_answer_in_time_the_policy_applies() {
    for (policy, covered, lines) in [
        (
            HeadlessPolicy::Deny,
            true,
            &["permission_resolved deny timeout", "status streaming"][..],
        ),
        (
            HeadlessPolicy::AllowIfRuleMatches,
            false,
            &["permission_resolved deny timeout", "status streaming"],
        ),
        (
            HeadlessPolicy::AllowIfRuleMatches,
            true,
            &[
                "permission_resolved allow timeout",
                "status streaming",
                r#"tool_call c1 echo {"say":"one"}"#,
            ],
        ),
    ] {
        let setup = Setup {
            policy,
            ..Setup::default()
        };
        let mut bench = asking(setup, covered).await;
        bench.until("status waiting_for_permission").await;
        let began = Instant::now();
        let mut came = bench.until("tool_result").await;
        assert_eq!(began.elapsed().as_secs(), 60);
        let result = came.pop().unwrap();
        assert_eq!(came, lines, "{policy:?} {covered}");
        let run = lines.len() == 3;
        assert_eq!(result == "tool_result c1=one", run, "{result}");
        assert!(
            run || result.contains("nobody answered in time"),
            "{result}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_may_wait_waits() {
    for responder in [Responder::Peer, Responder::Nobody] {
        let setup = Setup {
            policy: HeadlessPolicy::Queue,
            responder,
            ..Setup::default()
        };
        let mut bench = asking(setup, false).await;
        bench.until("status waiting_for_permission").await;
        tokio::time::sleep(Duration::from_secs(7 * 24 * 3600)).await;
        assert_eq!(bench.fresh(), [""; 0]);
        answer(&bench, json!({"decision": "allow"})).await.unwrap();
        bench.until("tool_result c1=one").await;
    }
}

#[tokio::test(start_paused = true)]
async fn with_nobody_there_the_policy_applies_at_once() {
    for (policy, covered, ran) in [
        (HeadlessPolicy::Deny, true, false),
        (HeadlessPolicy::AllowIfRuleMatches, false, false),
        (HeadlessPolicy::AllowIfRuleMatches, true, true),
    ] {
        let setup = Setup {
            policy,
            responder: Responder::Nobody,
            ..Setup::default()
        };
        let began = Instant::now();
        let mut bench = asking(setup, covered).await;
        let lines = bench.until("tool_result").await;
        assert_eq!(began.elapsed().as_secs(), 0);
        let result = lines.last().unwrap();
        assert_eq!(result == "tool_result c1=one", ran, "{policy:?}: {result}");
        assert!(
            ran || result.contains("nobody was there to ask"),
            "{result}"
        );
        assert!(!lines.iter().any(|line| line.starts_with("permission")));
        assert!(!lines.iter().any(|line| line.contains("waiting")));
    }
}

#[tokio::test(start_paused = true)]
async fn several_questions_in_a_row() {
    let mut bench = Bench::new().await;
    bench.gate.ask.lock().unwrap().push(("echo", false));
    bench.prompt("go").await;
    let call = bench.call().await;
    for id in ["c1", "c2", "c3"] {
        call.tool(id, "echo", r#"{"say":"x"}"#);
    }
    call.stop();
    let mut ids = Vec::new();
    for decision in ["allow", "deny", "allow"] {
        bench.until("status waiting_for_permission").await;
        ids.push(bench.asked().request_id);
        answer(&bench, json!({"decision": decision})).await.unwrap();
    }
    ids.dedup();
    assert_eq!(ids.len(), 3);
    assert_eq!(
        bench.call().await.history(),
        r#"U: "go" | A: c1 c2 c3 | U: c1=x c2!the person denied this call c3=x"#
    );
}

#[tokio::test(start_paused = true)]
async fn a_client_that_comes_back_finds_the_same_question() {
    let mut bench = asked().await;
    let id = bench.asked().request_id.to_string();
    let sync = bench.sync().await;
    let ids: Vec<_> = sync.pending_requests.iter().map(request_id).collect();
    assert_eq!(ids, [id]);
    assert_eq!(
        crate::lines::line(&AgentEvent::Sync(sync)),
        r#"sync waiting_for_permission build [U: "go" | A: c1] pending [permission] queue []"#
    );
    answer(&bench, json!({"decision": "allow"})).await.unwrap();
    bench.call().await;
    let sync = bench.sync().await;
    assert_eq!(
        crate::lines::line(&AgentEvent::Sync(sync)),
        r#"sync streaming build [U: "go" | A: c1 | U: c1=one] pending [] queue []"#
    );
}

#[tokio::test(start_paused = true)]
async fn a_dialog_is_answered_by_the_first() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.tool("c1", "ask", "{}");
    call.stop();
    bench.until("status waiting_for_ui").await;
    let sync = bench.sync().await;
    let id = request_id(&sync.pending_requests[0]);
    // An answer of the other kind is for no question that there is.
    let foreign = json!({"type": "permission_response", "request_id": id, "decision": "allow"});
    assert_eq!(bench.request(foreign).await.unwrap(), json!({"late": true}));
    let reply = json!({"type": "ui_response", "request_id": id, "value": "b", "source": "web"});
    assert_eq!(bench.request(reply.clone()).await.unwrap(), json!({}));
    assert_eq!(bench.request(reply).await.unwrap(), json!({"late": true}));
    bench.call().await.answer("ok");
    assert_eq!(
        bench.rest().await,
        [
            "ui_resolved b web",
            "status streaming",
            "tool_result c1=b",
            "delta 0 ok",
            r#"assistant: "ok""#,
            "turn_end done",
            "status idle",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_dialog_without_an_answer() {
    let ask = async |setup| {
        let mut bench = Bench::with(setup).await;
        bench.prompt("go").await;
        let call = bench.call().await;
        call.tool("c1", "ask", "{}");
        call.stop();
        let lines = bench.until("tool_result").await;
        assert_eq!(lines.last().unwrap(), "tool_result c1!no answer");
        lines
    };
    let began = Instant::now();
    let lines = ask(Setup::default()).await;
    assert_eq!(began.elapsed().as_secs(), 60);
    assert!(lines.contains(&"ui_resolved null timeout".to_owned()));
    let nobody = Setup {
        responder: Responder::Nobody,
        ..Setup::default()
    };
    let lines = ask(nobody).await;
    assert_eq!(began.elapsed().as_secs(), 60, "at once");
    assert!(
        !lines.iter().any(|line| line.starts_with("ui_")),
        "{lines:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn closing_closes_every_dialog() {
    use shard_contracts::Ui;
    let mut bench = Bench::new().await;
    let ui = shard_core::agent::SessionUi::new(&bench.handle);
    let dialog = tokio::spawn(ui.ask(crate::tools::question()));
    bench.until("status waiting_for_ui").await;
    bench.handle.close().await;
    assert_eq!(bench.fresh(), ["ui_resolved null aborted"]);
    assert_eq!(dialog.await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_dialog_whose_asker_is_gone_is_not_opened() {
    use shard_contracts::Ui;
    let mut bench = Bench::new().await;
    let ui = shard_core::agent::SessionUi::new(&bench.handle);
    tokio::select! {
        biased;
        _ = ui.ask(crate::tools::question()) => panic!("nobody answered"),
        () = std::future::ready(()) => {}
    }
    bench.sync().await;
    assert_eq!(bench.open_requests(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn dialogs_of_every_kind_are_asked_and_a_notice_is_only_shown() {
    use shard_contracts::{Dialog, Ui};
    use shard_types::event::UiKind;
    let mut bench = Bench::new().await;
    let ui = shard_core::agent::SessionUi::new(&bench.handle);
    let dialog = |kind| Dialog {
        title: Some("well?".to_owned()),
        ..Dialog::new(kind)
    };
    for (kind, name, answer) in [
        (UiKind::Select, "select", json!("a")),
        (UiKind::Select, "select", json!(["a", "b"])),
        (UiKind::Confirm, "confirm", json!("yes")),
        (UiKind::Input, "input", json!("some words")),
        (UiKind::Editor, "editor", json!("two\nlines")),
        (UiKind::Input, "input", json!(null)),
    ] {
        let asked = tokio::spawn(ui.ask(dialog(kind)));
        let lines = bench.until("status waiting_for_ui").await;
        assert!(
            lines.contains(&format!("ui_request {name} well?")),
            "{lines:?}"
        );
        let id = request_id(&bench.sync().await.pending_requests[0]);
        let reply = json!({"type": "ui_response", "request_id": id, "value": answer});
        bench.request(reply).await.unwrap();
        let given = json!(asked.await.unwrap());
        assert_eq!(given, answer, "{name}");
        assert_eq!(bench.until("status").await.last().unwrap(), "status idle");
    }
    assert_eq!(ui.ask(dialog(UiKind::Notify)).await, None);
    assert_eq!(bench.until("ui_").await, ["ui_request notify well?"]);
    assert!(bench.sync().await.pending_requests.is_empty());
}
