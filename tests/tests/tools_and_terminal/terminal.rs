//! `shard run` with a person at the terminal.

use serde_json::{Value, json};
use shard_testkit::{
    Gate, Home, Reply, ScriptedModel, ask_all, hold, processes_under, reply, text, tool, until,
};

use crate::pty::{AtTerminal, made};
use crate::{ENDS_WITHIN, acts};

const ASKS: &str = "Your answer: ";

fn write(path: &str) -> Reply {
    reply![tool("write", json!({ "path": path, "content": "x" }))]
}

fn careful(model: &ScriptedModel) -> Home {
    Home::builder().model(model).rules(ask_all()).build()
}

#[tokio::test]
async fn a_question_is_put_on_the_terminal_and_only_the_answer_is_output() {
    let model = ScriptedModel::start([write("x.txt"), reply![text("written")]]);
    let home = careful(&model);
    let mut run = AtTerminal::start(&home, &["run", "write it"]);
    run.shows(ASKS, 1).await;
    assert!(run.shown().contains("x.txt"), "{}", run.shown());
    assert!(!home.has("x.txt"), "nothing runs before the answer");
    run.types("y\n");
    let (status, stdout) = run.ended().await;
    assert_eq!((status.code(), stdout.as_str()), (Some(0), "written\n"));
    assert!(home.has("x.txt"));
}

#[tokio::test]
async fn what_was_typed_before_a_question_is_no_answer_to_it() {
    // A whole line, several, and the start of one that the answer's own line would complete.
    for typed in ["y\n", "y\ny\n1\ny\ny\ny\ny\n", "y"] {
        let gate = Gate::new();
        let held = reply![
            hold(&gate),
            tool("write", json!({ "path": "x.txt", "content": "x" }))
        ];
        let model = ScriptedModel::start([held, reply![text("as you wish")]]);
        let home = careful(&model);
        let mut run = AtTerminal::start(&home, &["run", "write it"]);
        gate.reached().await;
        run.types(typed);
        run.shows("y", 1).await; // the echo: it is in the terminal
        gate.open();
        run.shows(ASKS, 1).await;
        run.types("n\n");
        let (status, stdout) = run.ended().await;
        assert_eq!((status.code(), stdout.as_str()), (Some(0), "as you wish\n"));
        assert!(!home.has("x.txt"), "{typed:?} answered: {}", run.shown());
        assert_eq!(run.shown().matches(ASKS).count(), 1, "{}", run.shown());
    }
}

#[tokio::test]
async fn what_is_typed_while_nothing_is_asked_is_left_for_the_shell() {
    let gate = Gate::new();
    let model = ScriptedModel::start([reply![hold(&gate), text("done")]]);
    let home = careful(&model);
    let script = r#""$0" run go; read -r line; echo "then: $line""#;
    let mut run = AtTerminal::start_script(&home, script);
    gate.reached().await;
    run.types("for the shell\n");
    run.shows("for the shell", 1).await;
    gate.open();
    let (status, stdout) = run.ended().await;
    assert!(status.success(), "{status}");
    assert_eq!(stdout, "done\nthen: for the shell\n");
}

#[tokio::test]
async fn a_run_in_the_background_goes_on_until_it_asks() {
    let model = ScriptedModel::start([
        reply![text("quiet")],
        write("x.txt"),
        reply![text("written")],
    ]);
    let home = careful(&model);
    let script =
        r#"set -m; "$0" run go & wait $!; echo "ended: $?"; "$0" run write & wait $!; fg >&2"#;
    let mut run = AtTerminal::start_script(&home, script);
    run.shows(ASKS, 1).await;
    run.types("y\n");
    let (status, stdout) = run.ended().await;
    assert!(status.success(), "{status} {}", run.shown());
    assert_eq!(stdout, "quiet\nended: 0\nwritten\n");
    assert!(home.has("x.txt"));
}

#[tokio::test]
async fn the_end_of_the_input_refuses_one_question_and_no_more() {
    let calls = reply![
        tool("write", json!({ "path": "one.txt", "content": "x" })),
        tool("ask_user", json!({ "question": "Your name?" })),
        tool("write", json!({ "path": "two.txt", "content": "x" })),
    ];
    let model = ScriptedModel::start([calls, reply![text("done")]]);
    let home = careful(&model);
    let mut run = AtTerminal::start(&home, &["run", "ask", "--headless-policy", "queue"]);
    run.shows(ASKS, 1).await;
    run.types("\u{4}");
    run.shows("Your name?", 1).await;
    run.shows("> ", 1).await;
    run.types("\u{4}");
    run.shows(ASKS, 2).await;
    run.types("y\n");
    let (status, stdout) = run.ended().await;
    assert_eq!((status.code(), stdout.as_str()), (Some(0), "done\n"));
    assert_eq!((home.has("one.txt"), home.has("two.txt")), (false, true));
    let results = model.request(1).await.tool_results();
    assert!(results[0].1.contains("denied"), "{results:?}");
}

#[tokio::test]
async fn an_answer_typed_twice_answers_one_question() {
    let both = reply![
        tool("write", json!({ "path": "one.txt", "content": "x" })),
        tool("write", json!({ "path": "two.txt", "content": "x" })),
    ];
    let model = ScriptedModel::start([both, reply![text("done")]]);
    let home = careful(&model);
    let mut run = AtTerminal::start(&home, &["run", "write both"]);
    run.shows(ASKS, 1).await;
    run.types("y\ny\n");
    run.shows(ASKS, 2).await;
    run.types("n\n");
    let (status, _) = run.ended().await;
    assert_eq!(status.code(), Some(0), "{}", run.shown());
    assert_eq!((home.has("one.txt"), home.has("two.txt")), (true, false));
}

#[tokio::test]
async fn words_that_are_no_answer_leave_the_question_open() {
    let model = ScriptedModel::start([write("x.txt"), reply![text("fine")]]);
    let home = careful(&model);
    let mut run = AtTerminal::start(&home, &["run", "write it"]);
    run.shows(ASKS, 1).await;
    for (number, words) in ["perhaps\n", "\n", "99\n"].into_iter().enumerate() {
        run.types(words);
        run.shows("Please pick one of the answers above", number + 1)
            .await;
    }
    assert!(!home.has("x.txt"));
    run.types("n\n");
    assert_eq!(run.ended().await.0.code(), Some(0));
    assert!(!home.has("x.txt"));
}

#[tokio::test]
async fn a_question_shows_what_would_run_and_moves_no_cursor() {
    let nasty = "echo safe\u{1b}[1A\u{1b}[2K\u{202e}\u{9b}1A; touch hidden\r";
    let call = reply![tool("bash", json!({ "command": nasty }))];
    let model = ScriptedModel::start([call, reply![text("fine")]]);
    let home = careful(&model);
    let mut run = AtTerminal::start(&home, &["run", "echo"]);
    run.shows(ASKS, 1).await;
    // The terminal itself writes a carriage return before each line feed.
    let shown = run.shown().replace("\r\n", "\n");
    let ask = &shown[..shown.find(ASKS).unwrap()];
    assert!(ask.contains("touch hidden"), "{ask:?}");
    assert!(
        !ask.contains("\u{1b}[1A") && !ask.contains("\u{1b}[2K"),
        "{ask:?}"
    );
    assert!(!ask.contains(['\u{202e}', '\u{9b}', '\r']), "{ask:?}");
    run.types("n\n");
    assert_eq!(run.ended().await.0.code(), Some(0));
    assert!(!home.has("hidden"));
}

#[tokio::test]
async fn ctrl_c_with_a_question_open_ends_the_run_and_the_call_did_not_start() {
    let model = ScriptedModel::start([write("x.txt")]);
    let home = careful(&model);
    let mut run = AtTerminal::start(&home, &["run", "write it"]);
    run.shows(ASKS, 1).await;
    run.types("\u{3}");
    let (status, stdout) = run.ended().await;
    assert!(
        !status.success() && stdout.is_empty(),
        "{status} {stdout:?}"
    );
    assert_eq!(results(&home).len(), 1, "{status} {}", run.shown());
    assert!(!home.has("x.txt"));
}

#[tokio::test]
async fn a_terminal_that_is_closed_ends_the_run_and_what_it_started() {
    let command = "echo $$ > started; setsid sleep 281 & exec sleep 282";
    let model = ScriptedModel::start([reply![tool("bash", json!({ "command": command }))]]);
    let home = Home::new(&model);
    let mut run = AtTerminal::start(&home, &["run", "wait"]);
    made(&home, "started").await;
    run.hang_up();
    let (status, _) = run.ended().await;
    assert!(!status.success(), "{status}");
    until("nothing is left", ENDS_WITHIN, || {
        processes_under(home.root()).is_empty()
    })
    .await;
    assert_eq!(results(&home).len(), 1, "what happened is on file");
}

#[tokio::test]
async fn a_person_picks_options_and_types_words_for_the_model() {
    let model = ScriptedModel::start([
        reply![
            tool(
                "ask_user",
                json!({ "question": "Which colour?", "options": ["red", "blue"] })
            ),
            tool(
                "ask_user",
                json!({ "question": "Which ones?", "options": ["a", "b", "c"], "multiple": true })
            ),
            tool("ask_user", json!({ "question": "Your name?" })),
        ],
        reply![text("thanks")],
    ]);
    let home = careful(&model);
    let mut run = AtTerminal::start(&home, &["run", "ask me"]);
    run.shows("Which colour?", 1).await;
    run.shows("Number: ", 1).await;
    run.types("3\n");
    run.shows("Please pick", 1).await;
    run.types("2\n");
    run.shows("separated by commas: ", 1).await;
    run.types("1, 3\n");
    run.shows("Your name?", 1).await;
    run.shows("> ", 1).await;
    run.types("Ada \u{1F980}\n");
    let (status, stdout) = run.ended().await;
    assert_eq!((status.code(), stdout.as_str()), (Some(0), "thanks\n"));
    let results = model.request(1).await.tool_results();
    let answers: Vec<_> = results.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(answers, ["blue", "a\nc", "Ada \u{1F980}"]);
}

#[tokio::test]
async fn without_a_text_the_prompt_is_typed() {
    let model = ScriptedModel::start([reply![text("heard")]]);
    let home = Home::new(&model);
    let mut run = AtTerminal::start(&home, &["run"]);
    run.shows("> ", 1).await;
    run.types("typed here\n");
    let (status, stdout) = run.ended().await;
    assert_eq!((status.code(), stdout.as_str()), (Some(0), "heard\n"));
    assert_eq!(model.request(0).await.user_texts(), ["typed here"]);
    assert!(!acts(&stdout));
}

fn results(home: &Home) -> Vec<Value> {
    let rows = home.session_rows(&home.session_file());
    let results = rows.into_iter().filter(|row| row["type"] == "tool_result");
    results.collect()
}
