//! When the window is compacted, what clients are told, and what the next call holds.

use std::panic::panic_any;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use shard_contracts::{
    CompactError, Compactor, ContextSize, Extractor, ExtractorContext, ProviderErrorKind,
};
use shard_protocol::ErrorBody;
use shard_types::event::AgentEvent;
use shard_types::{EntryBody, ErrorCode, NormalizedBlock};

use crate::bench::{Bench, Setup};

/// Says of a summary only which one it is and what came before it.
#[derive(Default)]
struct Numbered {
    /// What it does instead.
    failure: Mutex<Option<Failure>>,
}

#[derive(Clone, Copy)]
enum Failure {
    Refuses,
    SaysNothing,
    BreaksDown,
}

impl Compactor for Numbered {
    fn name(&self) -> &str {
        "numbered"
    }

    fn should_compact(&self, size: ContextSize) -> bool {
        size.used.saturating_mul(5) >= size.window * 4
    }

    fn summarize(
        &self,
        _: &[NormalizedBlock],
        _: &[Arc<dyn Extractor>],
        context: &ExtractorContext<'_>,
    ) -> Result<String, CompactError> {
        let failure = *self.failure.lock().unwrap();
        let number = context.compaction_index;
        match failure {
            None => Ok(match context.previous_summary {
                Some(previous) => format!("{previous}, then SUMMARY {number}"),
                None => format!("SUMMARY {number}"),
            }),
            Some(Failure::Refuses) => Err(CompactError("nothing to say".to_owned())),
            Some(Failure::SaysNothing) => Ok(" \n".to_owned()),
            Some(Failure::BreaksDown) => panic_any("a bug of the compactor"),
        }
    }
}

/// A session whose window holds `window` tokens and whose compactions keep about `keep` of them.
fn setup(window: u64, keep: u64) -> (Setup, Arc<Numbered>) {
    let compactor = Arc::new(Numbered::default());
    let setup = Setup {
        window: Some(window),
        compactor: Some(Arc::clone(&compactor) as _),
        keep_recent_tokens: keep,
        ..Setup::default()
    };
    (setup, compactor)
}

async fn bench(window: u64, keep: u64) -> Bench {
    Bench::with(setup(window, keep).0).await
}

/// One turn of a question and an answer, after which the window is said to hold so many tokens.
async fn turn(bench: &mut Bench, question: &str, answer: &str, context: u64) -> Vec<String> {
    bench.prompt(question).await;
    let call = bench.call().await;
    call.usage(context, 0);
    call.answer(answer);
    bench.until("turn_end").await
}

async fn compact(bench: &Bench, args: Value) -> Result<Value, ErrorBody> {
    let wish = json!({"type": "session_op", "op": "compact", "args": args});
    bench.request(wish).await
}

fn summaries(bench: &Bench) -> Vec<String> {
    let rows = bench.rows().into_iter();
    rows.filter_map(|row| match row.body {
        EntryBody::Compaction(details) => Some(details.summary),
        _ => None,
    })
    .collect()
}

#[tokio::test(start_paused = true)]
async fn a_full_window_is_compacted_once_the_turn_is_over() {
    let mut bench = bench(1000, 1).await;
    turn(&mut bench, "first", "one", 790).await;
    assert_eq!(bench.until("status").await, ["status idle"], "not full yet");
    turn(&mut bench, "second", "two", 800).await;
    assert_eq!(
        bench.until("status idle").await,
        ["status compacting", "compaction", "status idle"]
    );
    bench.prompt("third").await;
    let call = bench.call().await;
    assert_eq!(
        call.history(),
        r#"U: "(Go on. What came before is in the summary above.)" | A: "two" | U: "third""#
    );
    assert!(call.request.system.ends_with("\nSUMMARY 0\n"));
    call.answer("three");
    bench.rest().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_written_says_what_was_given_up_and_survives_a_restart() {
    let mut bench = bench(1000, 1).await;
    turn(&mut bench, "first", "one", 300).await;
    turn(&mut bench, "second", "two", 900).await;
    let events = bench.events_until("compaction").await;
    let Some(AgentEvent::Compaction(event)) = events.last() else {
        panic!("{events:?}");
    };
    let rows = bench.rows();
    let said: Vec<_> = rows
        .iter()
        .filter(|row| matches!(row.body, EntryBody::Message(_)))
        .collect();
    assert_eq!(said.len(), 4, "nothing is ever taken away");
    let row = rows.iter().find_map(|row| match &row.body {
        EntryBody::Compaction(details) => Some(details),
        _ => None,
    });
    let details = row.unwrap();
    assert_eq!(
        details.message_range,
        (said[0].id.clone(), said[2].id.clone())
    );
    assert_eq!(details.first_kept_entry_id, said[3].id);
    assert_eq!((details.tokens_before, details.index), (900, 0));
    assert!(details.tokens_after < 900, "{}", details.tokens_after);
    assert_eq!(details.compactor, "numbered");
    assert_eq!(
        (event.index, event.tokens_before, event.tokens_after),
        (0, 900, details.tokens_after)
    );
    assert_eq!(event.first_kept_entry_id, details.first_kept_entry_id);
    assert_eq!(event.message_range, details.message_range);

    for restart in [false, true] {
        let sync = bench.sync().await;
        assert_eq!(sync.live_window.compaction_index, Some(0));
        assert_eq!(sync.live_window.messages.len(), 1);
        assert!(sync.live_window.has_more);
        let usage = sync.usage.unwrap();
        assert_eq!(
            (usage.input, usage.context_tokens),
            (1200, Some(event.tokens_after))
        );
        if !restart {
            bench = bench.reopen().await;
            bench.until("sync").await;
        }
    }
    bench.prompt("third").await;
    let call = bench.call().await;
    assert!(call.request.system.ends_with("\nSUMMARY 0\n"));
    assert!(call.history().ends_with(r#"A: "two" | U: "third""#));
    call.answer("three");
    bench.rest().await;
}

#[tokio::test(start_paused = true)]
async fn each_summary_continues_the_one_before() {
    let mut bench = bench(1000, 1).await;
    for number in 0..3 {
        turn(&mut bench, "more", "yes", 900).await;
        bench.until("status idle").await;
        let all: Vec<_> = (0..=number).map(|n| format!("SUMMARY {n}")).collect();
        assert_eq!(summaries(&bench).last(), Some(&all.join(", then ")));
    }
}

#[tokio::test(start_paused = true)]
async fn what_waits_starts_after_the_compaction() {
    let mut bench = bench(1000, 1).await;
    bench.prompt("first").await;
    let call = bench.call().await;
    bench.follow_up("second").await;
    call.usage(990, 0);
    call.answer("one");
    bench.until("turn_end").await;
    assert_eq!(
        bench.until("user").await,
        [
            "status compacting",
            "compaction",
            "status idle",
            "status streaming",
            "turn_start",
            r#"user: "second""#,
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_fills_the_window_is_compacted_before_its_next_call() {
    let mut bench = bench(10_000, 1).await;
    bench.prompt(&"go ".repeat(1000)).await;
    let call = bench.call().await;
    call.tool("c1", "echo", r#"{"say":"hi"}"#);
    call.usage(10_000, 0);
    call.stop();
    bench.until("tool_result").await;
    let lines = bench.until("status streaming").await;
    assert_eq!(
        lines,
        ["status compacting", "compaction", "status streaming"]
    );
    let call = bench.call().await;
    assert_eq!(
        call.history(),
        r#"U: "(Go on. What came before is in the summary above.)" | A: c1 | U: c1=hi"#,
        "a call stays with its result"
    );
    assert!(call.request.system.ends_with("\nSUMMARY 0\n"));
    call.answer("done");
    bench.until("turn_end done").await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_too_long_is_made_again_with_less() {
    let (setup, _) = setup(100_000, 20_000);
    let mut bench = Bench::with(setup).await;
    turn(&mut bench, "first", "one", 10).await;
    bench.prompt("second").await;
    let call = bench.call().await;
    call.fail(ProviderErrorKind::ContextTooLong, "too long");
    let call = bench.call().await;
    assert_eq!(call.history(), r#"U: "second""#);
    assert!(call.request.system.ends_with("\nSUMMARY 0\n"));
    call.answer("two");
    let lines = bench.rest().await;
    assert!(lines.contains(&"compaction".to_owned()), "{lines:?}");
    assert!(
        !lines.iter().any(|line| line.starts_with("error")),
        "{lines:?}"
    );
    assert_eq!(lines.last().unwrap(), "status idle");
}

#[tokio::test(start_paused = true)]
async fn where_nothing_can_be_cut_results_are_shortened() {
    let mut bench = bench(100_000, 20_000).await;
    bench.prompt("go").await;
    let call = bench.call().await;
    let long = "x".repeat(40_000);
    call.tool("c1", "echo", &json!({ "say": long }).to_string());
    call.stop();
    for _ in 0..2 {
        let call = bench.call().await;
        call.fail(ProviderErrorKind::ContextTooLong, "too long");
    }
    let call = bench.call().await;
    let history = call.history();
    assert!(
        !history.contains(&format!("c1={long}")),
        "the result is shorter"
    );
    assert!(history.contains("recall"), "and says how to get it whole");
    call.answer("done");
    bench.rest().await;
    let whole = bench.rows().into_iter().any(|row| match row.body {
        EntryBody::ToolResult(result) => format!("{:?}", result.content).contains(&long),
        _ => false,
    });
    assert!(whole, "the file has all of it");
    let mut bench = bench.reopen().await;
    bench.prompt("on").await;
    let call = bench.call().await;
    assert!(
        !call.history().contains(&format!("c1={long}")),
        "after a restart too"
    );
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_made_to_fit_ends_the_turn_with_what_fills_the_window() {
    let mut bench = bench(100_000, 20_000).await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.fail(ProviderErrorKind::ContextTooLong, "too long");
    let lines = bench.rest().await;
    let told = lines.iter().find(|line| line.starts_with("error")).unwrap();
    assert!(
        told.starts_with(
            "error PROVIDER_ERROR: too long. The context window of 100000 tokens is full"
        ),
        "{told}"
    );
    assert_eq!(lines.last().unwrap(), "status error");
    bench.prompt("again").await;
    bench.call().await.answer("now it fits");
    assert_eq!(bench.rest().await.last().unwrap(), "status idle");
}

#[tokio::test(start_paused = true)]
async fn where_compaction_is_off_a_full_window_says_so() {
    let (setup, _) = setup(100_000, 20_000);
    let mut bench = Bench::with(Setup {
        auto_compact: false,
        ..setup
    })
    .await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.fail(ProviderErrorKind::ContextTooLong, "too long");
    let lines = bench.rest().await;
    let told = lines.iter().find(|line| line.starts_with("error")).unwrap();
    assert!(
        told.contains("is full and `compaction.enabled` is false")
            && told.contains("Compact the session"),
        "{told}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_never_has_enough_is_not_asked_for_ever() {
    let mut bench = bench(100_000, 20_000).await;
    for round in 0..4 {
        turn(&mut bench, &format!("question {round}"), "yes", 10).await;
    }
    bench.prompt("go").await;
    let mut calls = 0;
    let lines = loop {
        bench.settle().await;
        match bench.call_now() {
            Some(call) => call.fail(ProviderErrorKind::ContextTooLong, "too long"),
            None => break bench.rest().await,
        }
        calls += 1;
    };
    assert!(calls <= 4, "{calls}");
    assert!(summaries(&bench).len() <= 2, "{:?}", summaries(&bench));
    assert_eq!(lines.last().unwrap(), "status error");
}

#[tokio::test(start_paused = true)]
async fn an_estimate_alone_refuses_nothing() {
    let mut bench = bench(100, 20).await;
    bench.prompt(&"word ".repeat(200)).await;
    bench.call().await.answer("it fits after all");
    let lines = bench.until("turn_end").await;
    assert!(
        !lines.iter().any(|line| line.starts_with("error")),
        "{lines:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn compacting_by_hand_works_whatever_the_configuration_says() {
    let (setup, _) = setup(100_000, 20_000);
    let mut bench = Bench::with(Setup {
        auto_compact: false,
        ..setup
    })
    .await;
    let nothing = json!({"compacted": false, "reason": "no_safe_cut"});
    assert_eq!(
        compact(&bench, json!({})).await.unwrap(),
        nothing,
        "there is nothing yet"
    );
    assert_eq!(
        bench.until("status idle").await,
        ["status compacting", "status idle"]
    );
    turn(&mut bench, "first", "one", 10).await;
    turn(&mut bench, "second", "two", 99_999).await;
    assert_eq!(
        bench.until("status").await,
        ["status idle"],
        "not by itself"
    );
    assert_eq!(
        compact(&bench, json!({})).await.unwrap(),
        nothing,
        "all of it is recent"
    );
    bench.until("status idle").await;
    let done = compact(&bench, json!({"keep_recent_tokens": 1}))
        .await
        .unwrap();
    assert_eq!(
        (&done["compacted"], &done["index"]),
        (&json!(true), &json!(0))
    );
    assert_eq!(done["tokens_before"], 99_999);
    let rows = bench.rows();
    let ids: Vec<_> = rows
        .iter()
        .filter(|row| matches!(row.body, EntryBody::Message(_)))
        .map(|row| row.id.to_string())
        .collect();
    assert_eq!(done["message_range"], json!([ids[0], ids[2]]));
    assert_eq!(done["first_kept_entry_id"], json!(ids[3]));
    assert_eq!(
        bench.until("status idle").await,
        ["status compacting", "compaction", "status idle"]
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_by_hand_changes_nothing() {
    let (setup, compactor) = setup(100_000, 20_000);
    let mut bench = Bench::with(setup).await;
    let refused = |outcome: Result<Value, ErrorBody>| outcome.unwrap_err().code;
    for keep in [json!(0), json!(-1), json!(1.5)] {
        let outcome = compact(&bench, json!({ "keep_recent_tokens": keep })).await;
        assert_eq!(refused(outcome), ErrorCode::InvalidRequest, "{keep}");
    }
    turn(&mut bench, "first", "one", 10).await;
    turn(&mut bench, "second", "two", 10).await;
    bench.until("status idle").await;
    for failure in [Failure::Refuses, Failure::SaysNothing, Failure::BreaksDown] {
        *compactor.failure.lock().unwrap() = Some(failure);
        let outcome = compact(&bench, json!({"keep_recent_tokens": 1})).await;
        assert_eq!(refused(outcome), ErrorCode::InternalError);
        assert_eq!(bench.fresh(), ["status compacting", "status idle"]);
    }
    assert_eq!(summaries(&bench), [""; 0]);
    bench.prompt("go").await;
    let call = bench.call().await;
    let outcome = compact(&bench, json!({"keep_recent_tokens": 1})).await;
    assert_eq!(refused(outcome), ErrorCode::Conflict, "a turn runs");
    call.answer("done");
    bench.rest().await;
    let bare = Bench::new().await;
    let outcome = compact(&bare, json!({})).await;
    assert_eq!(refused(outcome), ErrorCode::NotFound, "no compactor");
}

#[tokio::test(start_paused = true)]
async fn a_compactor_that_fails_leaves_the_conversation_as_it_is() {
    let (setup, compactor) = setup(1000, 1);
    *compactor.failure.lock().unwrap() = Some(Failure::BreaksDown);
    let mut bench = Bench::with(setup).await;
    turn(&mut bench, "first", "one", 900).await;
    let lines = bench.until("status idle").await;
    let told = "error INTERNAL_ERROR: cannot summarize: numbered broke down; \
                the conversation stays as it is";
    assert_eq!(lines, ["status compacting", told, "status idle"]);
    bench.prompt("second").await;
    let call = bench.call().await;
    assert_eq!(call.history(), r#"U: "first" | A: "one" | U: "second""#);
    call.answer("two");
    bench.rest().await;
}

#[tokio::test(start_paused = true)]
async fn numbers_that_somebody_wrote_into_a_summarys_row_break_nothing() {
    let mut bench = bench(1000, 1).await;
    turn(&mut bench, "first", "one", 10).await;
    turn(&mut bench, "second", "two", 20).await;
    compact(&bench, json!({})).await.unwrap();
    let path = bench.path().to_owned();
    let text = std::fs::read_to_string(&path).unwrap();
    let edited = text.lines().map(|line| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        if row["type"] == "compaction" {
            row["details"]["index"] = json!(u64::MAX);
            row["details"]["tokensAfter"] = json!(u64::MAX);
        }
        format!("{row}\n")
    });
    std::fs::write(&path, edited.collect::<String>()).unwrap();
    let mut bench = bench.reopen().await;
    bench.prompt("third").await;
    bench.call().await.answer("three");
    let lines = bench.until("turn_end").await;
    assert_eq!(lines.last().unwrap(), "turn_end done", "{lines:?}");
    let told = summaries(&bench);
    assert!(
        told.last().unwrap().contains(&u64::MAX.to_string()),
        "{told:?}"
    );
}
