//! Commands that do not behave: processes in the background, endless output, bytes that are no
//! text, programs that wait for a person.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shard_testkit::{AgentProcess, Home, Mark, ScriptedModel, alive, reply, text, tool};

use crate::{acts, gone, pid_in, word};

/// A model that runs each command in a call of its own, all in one message, then says `ok`.
fn running<const N: usize>(commands: [&str; N]) -> ScriptedModel {
    let calls = commands.map(|command| tool("bash", json!({ "command": command })));
    let all = calls
        .into_iter()
        .fold(reply![], |reply, call| reply.then(call));
    ScriptedModel::start([all, reply![text("ok")]])
}

#[tokio::test]
async fn what_a_command_leaves_in_the_background_is_named_and_ends_with_the_agent() {
    let model = running([
        "setsid sh -c 'echo $$ > quiet; exec sleep 311' & echo done",
        "sh -c 'echo $$ > noisy; while :; do echo noise; sleep 0.01; done' & echo done too",
        "sleep 0.2; echo third",
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn("go").await;
    let [quiet, noisy] = [pid_in(&home, "quiet").await, pid_in(&home, "noisy").await];
    assert!(alive(quiet) && alive(noisy), "they keep running");
    for (number, words, pid) in [(0, "done\n", quiet), (1, "done too\n", noisy)] {
        let result = turn.results()[number];
        assert_eq!(
            (&result["exit_code"], &result["is_error"]),
            (&json!(0), &json!(false))
        );
        let took = result["duration_ms"].as_u64().unwrap();
        assert!(took < 2000, "it does not wait for them: {took} ms");
        let said = turn.result_text(number);
        assert!(said.contains(words), "{said}");
        assert!(said.contains(&format!("(pid {pid})")), "{said}");
    }
    assert_eq!(
        turn.result_text(2),
        "third\n",
        "output of one call is in no other"
    );
    assert!(agent.quit().await.success());
    gone(quiet).await;
    gone(noisy).await;
}

#[tokio::test]
async fn a_command_that_waits_for_a_person_finds_no_input_and_no_terminal() {
    let model = running([
        "read x; echo got:$x",
        "cat; echo end",
        "test -t 0 || test -t 1 || test -t 2 || echo none",
        "(: < /dev/tty) 2>/dev/null || echo no terminal",
    ]);
    let home = Home::new(&model);
    let turn = AgentProcess::start(&home, &[]).turn("go").await;
    let said: Vec<_> = (0..4).map(|n| turn.result_text(n)).collect();
    assert_eq!(said, ["got:\n", "end\n", "none\n", "no terminal\n"]);
}

#[tokio::test]
async fn a_command_over_its_time_is_ended_with_all_that_it_started() {
    let hanging = "setsid sh -c 'echo $$ > far; exec sleep 312' & echo early; sleep 313";
    let model = ScriptedModel::start([
        reply![tool("bash", json!({ "command": hanging, "timeout": 1 }))],
        reply![text("ok")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let begun = Instant::now();
    let turn = agent.turn("go").await;
    assert!(
        begun.elapsed() < Duration::from_secs(6),
        "{:?}",
        begun.elapsed()
    );
    gone(pid_in(&home, "far").await).await;
    assert_eq!((turn.reason(), turn.text().as_str()), ("done", "ok"));
    let result = turn.results()[0];
    assert_eq!(
        (&result["is_error"], result.get("exit_code")),
        (&json!(true), None)
    );
    let said = turn.result_text(0);
    assert!(
        said.starts_with("early\n") && said.contains("timed out after 1 s"),
        "{said}"
    );
    assert_eq!(model.request(1).await.tool_results()[0].1, said);
}

#[tokio::test]
async fn an_abort_ends_all_that_the_command_started_and_the_next_turn_works() {
    let command = "setsid sh -c 'trap \"\" TERM HUP INT; echo $$ > far; while :; do sleep 1; done' & \
                   trap '' TERM; echo $$ > near; while :; do sleep 1; done";
    let model = running([command, "touch never"]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let mark = agent.mark();
    agent.ok("prompt", json!({ "message": "go" })).await;
    let both = [pid_in(&home, "near").await, pid_in(&home, "far").await];
    agent.ok("abort", json!({})).await;
    let end = agent.wait_for_type(mark, "turn_end").await;
    assert_eq!(end["reason"], "aborted");
    for pid in both {
        gone(pid).await;
    }
    assert_eq!(agent.turn("again").await.text(), "ok");
    let results = model.request(1).await.tool_results();
    assert!(results[0].1.contains("interrupted"), "{results:?}");
    assert!(results[1].1.starts_with("not started: "), "{results:?}");
    assert!(!home.has("never"));
}

/// How much of the output of one command is shown while it runs, at most.
const LIVE: usize = 1024 * 1024;

#[tokio::test]
async fn endless_output_keeps_its_ends_and_says_where_the_rest_is() {
    let model = ScriptedModel::start([
        reply![
            tool("bash", json!({ "command": "seq 1 200000" })),
            tool("bash", json!({ "command": "yes", "timeout": 1 })),
        ],
        reply![text("ok")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn("go").await;
    let counted = turn.result_text(0);
    assert!(counted.starts_with("1\n2\n3\n"), "{}", &counted[..100]);
    assert!(counted.contains("\n199999\n200000\n"), "the end is there");
    assert_eq!(turn.results()[1]["is_error"], true);
    for said in [&counted, &turn.result_text(1)] {
        assert!(said.len() < 60_000, "{} bytes", said.len());
    }
    // The whole is in a file that the model can name, and the agent may read it.
    let file = counted
        .split(|c: char| c.is_whitespace() || "\"'[],;()".contains(c))
        .find(|part| part.starts_with('/') && std::path::Path::new(part).is_file());
    let whole = std::fs::read_to_string(file.unwrap_or_else(|| panic!("{counted:.600}"))).unwrap();
    assert_eq!(whole.lines().count(), 200_000);
    for result in turn.results() {
        let progress = turn.of("tool_progress").into_iter();
        let mine = progress.filter(|p| p["tool_call_id"] == result["tool_call_id"]);
        let shown: usize = mine.map(|p| word(&p["text_delta"]).len()).sum();
        assert!((1..=LIVE).contains(&shown), "{shown} bytes were shown live");
    }
    let stored = std::fs::metadata(home.session_file()).unwrap().len();
    assert!(stored < 300_000, "{stored} bytes");
}

/// The most memory that the process ever had, in KiB.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn much_output_in_one_line_takes_little_memory() {
    let command = "head -c 1000000 /dev/zero | tr '\\0' e >&2 & head -c 16000000 /dev/zero | tr '\\0' x; wait; echo; echo end";
    let model = running([command]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.sync().await;
    let before = peak(agent.pid());
    let turn = agent.turn("go").await;
    let grown = peak(agent.pid()) - before;
    assert!(
        grown < 14 * 1024,
        "less than the output itself: {grown} KiB more"
    );
    let said = turn.result_text(0);
    assert!(
        said.len() < 60_000 && said.trim_end().contains("end"),
        "{}",
        said.len()
    );
    assert_eq!(turn.results()[0]["exit_code"], 0);
}

#[tokio::test]
async fn bytes_that_are_no_text_come_out_as_text_everywhere() {
    let command =
        r"printf 'a\0b\377\376c\033[2Jd\033]0;title\007e\033]52;c;aGk=\007f\302\2331mg\rh\n'";
    let model = running([command]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn("go").await;
    let said = turn.result_text(0);
    assert!(!acts(&said), "{said:?}");
    for letter in 'a'..='h' {
        assert!(said.contains(letter), "{letter} is readable: {said:?}");
    }
    assert!(
        !said.contains("title") && !said.contains("aGk="),
        "{said:?}"
    );
    let read = model.request(1).await.tool_results().remove(0).1;
    assert_eq!(read, format!("{said}[exit code: 0]"));
    for progress in turn.of("tool_progress") {
        assert!(!acts(word(&progress["text_delta"])), "{progress}");
    }
    assert!(agent.quit().await.success());
    let again = AgentProcess::start(&home, &["--continue"]);
    let sync = again.sync().await;
    let blocks: Vec<&Value> = sync["live_window"]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|m| m["content"].as_array().unwrap())
        .filter(|block| block["type"] == "tool_result")
        .collect();
    assert_eq!(blocks.len(), 1);
    assert_eq!(blocks[0]["content"], turn.results()[0]["content"]);
}

#[tokio::test]
async fn a_command_sees_no_key_not_even_through_the_agents_own_process() {
    let secret = "sk-mock-3f9a-never-shown";
    let model = running([
        "env; cat /proc/$PPID/environ /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; echo over",
        "tr '\\0' '\\n' < /proc/$(cat pid)/environ; cat /proc/$(cat pid)/cmdline | tr '\\0' ' '; echo over",
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    home.write("pid", agent.pid().to_string());
    let turn = agent.turn("go").await;
    for number in 0..2 {
        let said = turn.result_text(number);
        assert!(said.contains("over"), "{said}");
        assert!(!said.contains(secret), "call {number} found the key");
    }
    assert!(
        !turn.result_text(0).contains("MOCK_KEY="),
        "not by name either"
    );
    let wire = format!("{:?}", agent.messages_since(Mark::START));
    assert!(!wire.contains(secret));
}

#[tokio::test]
async fn exit_codes_and_signals_are_told_and_are_no_errors() {
    let model = running(["exit 7", "kill -9 $$", "no-such-program-here", "true"]);
    let home = Home::new(&model);
    let turn = AgentProcess::start(&home, &[]).turn("go").await;
    let told: Vec<_> = turn
        .results()
        .iter()
        .map(|r| {
            (
                r["exit_code"].as_i64().unwrap(),
                r["is_error"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(told, [(7, false), (137, false), (127, false), (0, false)]);
    let read = model.request(1).await.tool_results();
    assert!(read[0].1.contains("[exit code: 7]"), "{read:?}");
    assert!(read[1].1.contains("SIGKILL"), "{read:?}");
    assert!(
        !read[3].1.trim().is_empty(),
        "an empty result says something: {read:?}"
    );
}
