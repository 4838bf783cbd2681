//! `shard run` and the commands beside it, as a shell and a script see them.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Gate, Home, Output, Provider, ScriptedModel, allow_all, ask_all, error, hold,
    processes_under, reply, run_cli, text, tool, until,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::{SECRET, word};

/// Whether a terminal would act on something in it.
fn acts(text: &str) -> bool {
    text.chars()
        .any(|c| c.is_control() && !matches!(c, '\n' | '\t'))
}

/// One line that names the trouble.
fn told(output: &Output, code: i32, words: &str) {
    assert_eq!(output.code(), code, "{words}: {}", output.stderr);
    assert!(output.stderr.contains(words), "{words}: {}", output.stderr);
    assert_eq!(output.stderr.trim().lines().count(), 1, "{}", output.stderr);
}

/// A run that goes on while the test looks.
fn start(home: &Home, args: &[&str]) -> Child {
    let child = Command::new(home.binary())
        .args(args)
        .current_dir(home.work())
        .env_clear()
        .envs(home.env())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    child.unwrap()
}

async fn ended(child: &mut Child) -> std::process::ExitStatus {
    let status = tokio::time::timeout(Duration::from_secs(10), child.wait()).await;
    status.expect("the run ends").unwrap()
}

#[tokio::test]
async fn stdout_has_the_answer_alone_and_stderr_the_tools() {
    for provider in Provider::ALL {
        let model = ScriptedModel::start([
            reply![
                tool("bash", json!({"command": "echo from-the-tool"})),
                tool("read", json!({"path": "missing.txt"})),
            ],
            reply![text("Forty-\ntwo.").chunks(4)],
        ]);
        let home = Home::builder().model(&model).provider(provider).build();
        let output = run_cli(&home, &["run", "how many?"], None).await;
        assert_eq!(
            (output.code(), output.stdout.as_str()),
            (0, "Forty-\ntwo.\n")
        );
        assert!(
            output.stderr.contains("bash echo from-the-tool"),
            "{}",
            output.stderr
        );
        assert!(output.stderr.contains("missing.txt"), "{}", output.stderr);
    }
}

#[tokio::test]
async fn json_lines_are_all_messages_and_tell_the_whole_turn() {
    let model = ScriptedModel::start([
        reply![tool("bash", json!({"command": "printf 'a\\nb\\n'"}))],
        reply![text("two\nlines")],
    ]);
    let home = Home::new(&model);
    let output = run_cli(&home, &["run", "--json", "go"], None).await;
    assert_eq!(output.code(), 0, "{}", output.stderr);
    assert!(output.stdout.ends_with("}\n"), "the last line is whole");
    let lines = output.stdout.split_terminator('\n');
    let events: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut types: Vec<_> = events.iter().map(|event| word(&event["type"])).collect();
    types.retain(|kind| {
        matches!(
            *kind,
            "hello" | "sync" | "turn_start" | "tool_call" | "tool_result" | "turn_end"
        )
    });
    let want = [
        "hello",
        "sync",
        "turn_start",
        "tool_call",
        "tool_result",
        "turn_end",
    ];
    assert_eq!(types, want);
    assert!(events.iter().all(|event| event.get("agent_id").is_none()));
}

#[tokio::test]
async fn the_prompt_is_one_line_of_stdin_when_none_is_given() {
    let model = ScriptedModel::start([reply![text("read")], reply![text("read")]]);
    let home = Home::new(&model);
    for input in [&b"the prompt\r\nnot this\n"[..], b"the prompt"] {
        let output = run_cli(&home, &["run"], Some(input)).await;
        assert_eq!((output.code(), output.stdout.as_str()), (0, "read\n"));
    }
    for request in model.requests() {
        assert_eq!(request.user_texts(), ["the prompt"]);
    }
    told(
        &run_cli(&home, &["run"], Some(b"")).await,
        2,
        "nothing to do",
    );
    told(&run_cli(&home, &["run"], None).await, 2, "nothing to do");
    assert_eq!(home.session_files().len(), 2, "no prompt, no session");
}

#[tokio::test]
async fn exit_codes_say_how_it_went() {
    let model = ScriptedModel::start([
        reply![text("fine")],
        reply![error(401).message("who are you")],
        reply![text("half").chunks(1)].finish("length"),
    ]);
    let home = Home::new(&model);
    assert_eq!(run_cli(&home, &["run", "x"], None).await.code(), 0);
    let failed = run_cli(&home, &["run", "x"], None).await;
    assert_eq!((failed.code(), failed.stdout.as_str()), (1, ""));
    assert!(failed.stderr.contains("who are you") && failed.stderr.contains("MOCK_KEY"));
    let cut = run_cli(&home, &["run", "x"], None).await;
    assert_eq!(
        (cut.code(), cut.stdout.as_str()),
        (1, "half\n"),
        "{}",
        cut.stderr
    );
    told(
        &run_cli(&home, &["run", "x", "--headless-policy", "hope"], None).await,
        2,
        "hope",
    );
    told(
        &run_cli(&home, &["run", "x", "--no-such-flag"], None).await,
        2,
        "--no-such-flag",
    );
    told(
        &run_cli(&home, &["run", "x", "--tools", "read,teleport"], None).await,
        1,
        "teleport",
    );
    told(
        &run_cli(&home, &["run", "x", "--mode", "dream"], None).await,
        1,
        "dream",
    );
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn a_folder_that_is_gone_is_named_before_anything_is_made() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let gone = home.root().join("gone");
    let gone = gone.to_string_lossy();
    told(
        &run_cli(&home, &["run", "x", "--cwd", &gone], None).await,
        1,
        &gone,
    );
    // The folder that the shell stands in was removed under it.
    let script = "mkdir ../away && cd ../away && rmdir ../away && exec \"$0\" run x";
    let output = Command::new("bash")
        .args(["-c", script])
        .arg(home.binary())
        .current_dir(home.work())
        .env_clear()
        .envs(home.env())
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        (output.status.code(), output.stdout.len()),
        (Some(1), 0),
        "{stderr}"
    );
    assert!(
        stderr.contains("director") || stderr.contains("folder"),
        "{stderr}"
    );
    assert!(home.session_files().is_empty());
}

#[tokio::test]
async fn a_reader_that_goes_away_ends_the_run() {
    let gate = Gate::new();
    let long = "words and more words\n".repeat(20_000);
    let model = ScriptedModel::start([reply![
        text("first line\n"),
        hold(&gate),
        text(long).chunks(400)
    ]]);
    let home = Home::new(&model);
    let mut child = start(&home, &["run", "talk"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(
        lines.next_line().await.unwrap().as_deref(),
        Some("first line")
    );
    drop(lines);
    gate.open();
    let status = ended(&mut child).await;
    assert_eq!(status.code(), Some(1), "{status}");
}

/// A home whose session was killed in a turn, with a prompt waiting behind it.
async fn with_a_prompt_that_waits(model: &ScriptedModel, gate: &Gate) -> Home {
    let home = Home::new(model);
    let agent = AgentProcess::start(&home, &[]);
    agent.ok("prompt", json!({"message": "first"})).await;
    gate.reached().await;
    let waits = json!({"message": "from before", "streaming_behavior": "follow_up"});
    agent.ok("prompt", waits).await;
    agent.kill9().await;
    home
}

#[tokio::test]
async fn a_prompt_comes_after_those_that_wait_in_the_session_and_its_own_end_counts() {
    for fails in [false, true] {
        let gate = Gate::new();
        let before = reply![text("of old").chunks(3)];
        let new = match fails {
            true => reply![error(401).message("who are you")],
            false => reply![text("of new")],
        };
        let model = ScriptedModel::start([reply![hold(&gate)], before, new]);
        let home = with_a_prompt_that_waits(&model, &gate).await;
        let output = run_cli(&home, &["run", "--continue", "now"], None).await;
        assert_eq!(output.code(), i32::from(fails), "{}", output.stderr);
        let answers = if fails {
            "of old\n"
        } else {
            "of old\nof new\n"
        };
        assert_eq!(output.stdout, answers);
        let asked = model.request(2).await.user_texts().concat();
        assert!(
            asked.contains("from before") && asked.ends_with("now"),
            "{asked}"
        );
    }
}

#[tokio::test]
async fn a_failure_of_what_waited_is_no_failure_of_the_prompt() {
    let gate = Gate::new();
    let model = ScriptedModel::start([
        reply![hold(&gate)],
        reply![error(401).message("who are you")],
        reply![text("of new")],
    ]);
    let home = with_a_prompt_that_waits(&model, &gate).await;
    let output = run_cli(&home, &["run", "--continue", "now"], None).await;
    assert_eq!(
        (output.code(), output.stdout.as_str()),
        (0, "of new\n"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn an_interrupt_before_the_prompt_had_its_turn_ends_the_run() {
    let (gate, old) = (Gate::new(), Gate::new());
    let model = ScriptedModel::start([reply![hold(&gate)], reply![text("of old\n"), hold(&old)]]);
    let home = with_a_prompt_that_waits(&model, &gate).await;
    let mut child = start(&home, &["run", "--continue", "now"]);
    old.reached().await;
    let accepted = || {
        let rows = home.session_rows(&home.session_file());
        rows.iter().any(|row| row["details"]["message"] == "now")
    };
    until("the prompt waits", Duration::from_secs(10), accepted).await;
    let pid = child.id().unwrap().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status().await;
    assert!(sent.unwrap().success());
    assert_eq!(ended(&mut child).await.code(), Some(1));
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn messages_that_nobody_reads_change_no_exit_code() {
    let home = Home::builder().build();
    home.write_config("{ \"modle\": \"a/b\" }");
    let codes = [
        (&["config", "check"][..], 0),
        (&["config", "use", "no-such-thing"], 2),
        (&["run", "read README.md"], 0),
        (&["run", "--no-such-flag"], 2),
    ];
    for (args, code) in codes {
        let (reader, stderr) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(home.binary());
        let command = command.args(args).current_dir(home.work()).env_clear();
        let command = command.envs(home.env()).stdin(Stdio::null());
        let mut child = command
            .stdout(Stdio::null())
            .stderr(stderr)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        assert_eq!(ended(&mut child).await.code(), Some(code), "{args:?}");
    }
}

#[tokio::test]
async fn an_interrupt_aborts_the_run_and_leaves_nothing_running() {
    let model = ScriptedModel::start([reply![tool(
        "bash",
        json!({"command": "echo $$ > started; sleep 300 & sleep 301"})
    )]]);
    let home = Home::new(&model);
    let mut child = start(&home, &["run", "wait"]);
    until("the command runs", Duration::from_secs(10), || {
        home.has("started")
    })
    .await;
    let pid = child.id().unwrap().to_string();
    let sent = Command::new("kill")
        .args(["-INT", &pid])
        .status()
        .await
        .unwrap();
    assert!(sent.success());
    let status = ended(&mut child).await;
    assert!(!status.success(), "{status}");
    until("nothing is left", Duration::from_secs(5), || {
        processes_under(home.root()).is_empty()
    })
    .await;
    let rows = home.session_rows(&home.session_file());
    let results: Vec<_> = rows
        .iter()
        .filter(|row| row["type"] == "tool_result")
        .collect();
    assert_eq!(
        (results.len(), &results[0]["details"]["isError"]),
        (1, &json!(true))
    );
}

#[tokio::test]
async fn nothing_that_moves_a_terminal_comes_out() {
    let nasty = "\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\u{202e}\u{8}\r\u{1b}]52;c;aGk=\u{1b}\\";
    let model = ScriptedModel::start([
        reply![
            tool("bash", json!({"command": format!("echo {nasty}")})),
            tool("read", json!({"path": format!("no{nasty}file")})),
            tool(format!("to{nasty}ol"), json!({})),
        ],
        reply![text(format!("before{nasty}after")).chunks(9)],
        reply![error(400).message(format!("bad{nasty}words"))],
    ]);
    let home = Home::new(&model);
    let output = run_cli(&home, &["run", "go"], None).await;
    assert_eq!(output.code(), 0, "{}", output.stderr);
    assert!(output.stdout.starts_with("before") && output.stdout.ends_with("after\n"));
    assert!(!acts(&output.stdout), "{:?}", output.stdout);
    assert!(!output.stdout.contains('\u{202e}'), "{:?}", output.stdout);
    assert!(output.stderr.contains("bash echo"), "{:?}", output.stderr);
    assert!(!acts(&output.stderr), "{:?}", output.stderr);
    let reordered = output.stderr.contains('\u{202e}');
    assert!(!reordered, "what ran reads as it ran: {:?}", output.stderr);
    let failed = run_cli(&home, &["run", "go"], None).await;
    assert_eq!(failed.code(), 1);
    assert!(
        failed.stderr.contains("words") && !acts(&failed.stderr),
        "{:?}",
        failed.stderr
    );
}

#[tokio::test]
async fn without_a_person_the_policy_answers_and_the_model_knows_that_nobody_refused() {
    let allow_then_ask = json!([
        {"action": "ask", "tool": "write"},
        {"action": "allow", "tool": "write", "path": "x.txt"},
    ]);
    for (policy, rules, written) in [
        (None, ask_all(), false),
        (Some("deny"), allow_then_ask.clone(), false),
        (Some("allow_if_rule_matches"), allow_then_ask, true),
        (Some("allow_if_rule_matches"), ask_all(), false),
        (Some("deny"), allow_all(), true),
    ] {
        let model = ScriptedModel::start([
            reply![tool("write", json!({"path": "x.txt", "content": "x"}))],
            reply![text("so be it")],
        ]);
        let home = Home::builder().model(&model).rules(rules).build();
        let mut args = vec!["run", "write it"];
        args.extend(
            policy
                .iter()
                .flat_map(|policy| ["--headless-policy", *policy]),
        );
        let output = run_cli(&home, &args, None).await;
        assert_eq!((output.code(), output.stdout.as_str()), (0, "so be it\n"));
        assert_eq!(home.has("x.txt"), written, "{policy:?}");
        let result = &model.request(1).await.tool_results()[0].1;
        assert_eq!(
            result.contains("nobody was there to ask"),
            !written,
            "{result}"
        );
        assert!(!result.contains("the person denied"), "{result}");
    }
}

#[tokio::test]
async fn without_a_configuration_the_demo_says_that_it_is_one() {
    let home = Home::builder().build();
    let output = run_cli(&home, &["run", "read README.md"], None).await;
    assert_eq!(output.code(), 0, "{}", output.stderr);
    assert!(output.stderr.contains("demo") && output.stderr.contains("no language model"));
    assert!(output.stderr.contains("shard doctor"), "{}", output.stderr);
    assert!(
        output.stderr.contains("read README.md"),
        "a real call: {}",
        output.stderr
    );
    assert!(!output.stdout.trim().is_empty());
    let agent = AgentProcess::start(&home, &[]);
    let listed = agent.ok("list_models", json!({})).await;
    assert_eq!(listed["active"]["provider"], "demo");
}

#[tokio::test]
async fn a_configuration_is_found_made_checked_and_shown() {
    let home = Home::builder().build();
    let path = home.config_path();
    let shown = run_cli(&home, &["config", "path"], None).await;
    assert_eq!(
        (shown.code(), shown.stdout.trim_end()),
        (0, &*path.to_string_lossy())
    );
    assert!(!path.exists());
    let missing = run_cli(&home, &["config", "check"], None).await;
    assert!(missing.code() == 0 && missing.stdout.contains("defaults apply"));
    assert_eq!(run_cli(&home, &["config", "init"], None).await.code(), 0);
    let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(run_cli(&home, &["config", "check"], None).await.code(), 0);
    // What is there is not written over.
    let before = std::fs::read(&path).unwrap();
    told(
        &run_cli(&home, &["config", "init"], None).await,
        1,
        "config.json",
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
    home.write_config("{\n  \"model\": 7\n}\n");
    told(
        &run_cli(&home, &["config", "check"], None).await,
        1,
        "config.json:2:12: model: expected a string",
    );
    // Of wrong types the first is named.
    home.write_config("{\n\"model\": 7,\n\"tools\": {\"max_rounds\": \"x\"}\n}\n");
    told(
        &run_cli(&home, &["config", "check"], None).await,
        1,
        "config.json:2:10: model: expected a string",
    );
    let ranges = "{\n\"tools\": {\"max_rounds\": 0},\n\"compaction\": {\"reserve_ratio\": 9}\n}\n";
    home.write_config(ranges);
    let wrong = run_cli(&home, &["config", "check"], None).await;
    assert_eq!((wrong.code(), wrong.stderr.lines().count()), (1, 2));
    for words in [
        "config.json:2:25: tools.max_rounds:",
        "config.json:3:33: compaction.reserve_ratio:",
    ] {
        assert!(wrong.stderr.contains(words), "{words}: {}", wrong.stderr);
    }
    home.write_config("{ \"modle\": \"a/b\" }");
    let typo = run_cli(&home, &["config", "check"], None).await;
    assert_eq!(typo.code(), 0, "{}", typo.stderr);
    assert!(
        typo.stderr.contains("did you mean \"model\"?"),
        "{}",
        typo.stderr
    );
    home.write_config("{ broken");
    for args in [&["config", "check"][..], &["config", "show"], &["run", "x"]] {
        let output = run_cli(&home, args, None).await;
        assert_eq!(output.code(), 1, "{args:?}");
        assert!(
            output.stderr.contains("config.json:1:"),
            "{args:?}: {}",
            output.stderr
        );
    }
}

#[tokio::test]
async fn what_is_found_here_can_be_used_and_no_key_is_ever_shown() {
    let offered = "sk-offered-7b2c-never-shown";
    let home = Home::builder().env("OPENAI_API_KEY", offered).build();
    let mut outputs = Vec::new();
    for (args, code) in [
        (&["doctor"][..], 0),
        (&["config", "use", "no-such-thing"], 2),
        (&["config", "use", "openai", "--model", "gpt-x"], 0),
        (&["config", "show"], 0),
        (&["config", "check"], 0),
        (&["doctor", "--json"], 0),
    ] {
        let output = run_cli(&home, args, None).await;
        assert_eq!(output.code(), code, "{args:?}: {}", output.stderr);
        assert!(
            !format!("{}{}", output.stdout, output.stderr).contains(offered),
            "{args:?}"
        );
        outputs.push(output);
    }
    assert!(
        outputs[0].stdout.contains("shard config use openai"),
        "{}",
        outputs[0].stdout
    );
    assert!(
        outputs[1].stderr.contains("openai"),
        "{}",
        outputs[1].stderr
    );
    assert!(
        outputs[3].stdout.contains("openai/gpt-x") && outputs[3].stdout.contains("OPENAI_API_KEY")
    );
    let config = std::fs::read_to_string(home.config_path()).unwrap();
    assert!(!config.contains(offered), "the file names the variable");
    assert!(config.contains("\"api\": \"responses\""), "{config}");
    // A key that stands in the file itself is not shown either.
    let literal = json!({"providers": {"mine": {"type": "openai",
        "base_url": format!("http://user:{SECRET}@127.0.0.1:9/v1"), "api_key": SECRET,
        "headers": {"x-token": SECRET}, "models": [{"id": "m"}]}}});
    home.write_config(&literal.to_string());
    for args in [
        &["config", "show"][..],
        &["config", "check"],
        &["doctor"],
        &["doctor", "--json"],
    ] {
        let output = run_cli(&home, args, None).await;
        assert!(
            !format!("{}{}", output.stdout, output.stderr).contains(SECRET),
            "{args:?}"
        );
    }
}

#[tokio::test]
async fn the_doctor_names_what_is_wrong_and_fails_for_a_problem() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let well = run_cli(&home, &["doctor"], None).await;
    assert_eq!(well.code(), 0, "{}", well.stdout);
    assert!(
        well.stdout.contains("mock/m1") && !well.stdout.contains("BAD"),
        "{}",
        well.stdout
    );
    let mut config = home.config().clone();
    for mode in ["auto", "off"] {
        config["sandbox"] = json!({"mode": mode});
        home.write_config(&config.to_string());
        let lines = run_cli(&home, &["doctor"], None).await.stdout;
        let mut of_it = lines.lines().filter(|line| line.contains("confinement"));
        assert!(of_it.any(|line| line.contains(mode)), "{mode}: {lines}");
    }
    config["providers"]["mock"]["api_key_env"] = json!("ABSENT_KEY");
    home.write_config(&config.to_string());
    let ill = run_cli(&home, &["doctor"], None).await;
    assert_eq!(ill.code(), 1);
    assert!(
        ill.stdout.contains("BAD") && ill.stdout.contains("ABSENT_KEY"),
        "{}",
        ill.stdout
    );
    let ill = run_cli(&home, &["doctor", "--json"], None).await;
    let findings: Value = serde_json::from_str(&ill.stdout).unwrap();
    let findings = findings.as_array().unwrap();
    let problems: Vec<_> = findings
        .iter()
        .filter(|f| f["state"] == "problem")
        .collect();
    assert_eq!((ill.code(), problems.len()), (1, 1));
    assert!(word(&problems[0]["message"]).contains("ABSENT_KEY"));
    assert!(
        findings
            .iter()
            .all(|f| !word(&f["area"]).is_empty() && !word(&f["message"]).is_empty())
    );
    home.write_config("{ broken");
    assert_eq!(run_cli(&home, &["doctor", "--json"], None).await.code(), 1);
}

#[tokio::test]
async fn schemas_and_completions_are_written() {
    let home = Home::builder().build();
    let folder = home.work().join("out/schemas");
    let output = run_cli(&home, &["schema", "--out", "out/schemas"], None).await;
    assert_eq!(
        (output.code(), output.stdout.as_str()),
        (0, ""),
        "{}",
        output.stderr
    );
    let mut names = Vec::new();
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        let schema: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert!(schema["$schema"].is_string(), "{}", path.display());
        names.push(path.file_name().unwrap().to_string_lossy().into_owned());
    }
    assert!(
        names.contains(&"config.schema.json".to_owned()) && names.len() > 2,
        "{names:?}"
    );
    let printed = run_cli(&home, &["schema"], None).await;
    let printed: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(printed.as_object().unwrap().len(), names.len());
    let script = run_cli(&home, &["completions", "bash"], None).await;
    assert_eq!(script.code(), 0);
    let script_path = home.write("shard.bash", &script.stdout);
    let mut bash = Command::new("bash");
    let mut bash = bash
        .arg("-n")
        .arg(script_path)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut complaint = String::new();
    bash.stderr
        .take()
        .unwrap()
        .read_to_string(&mut complaint)
        .await
        .unwrap();
    assert!(ended(&mut bash).await.success(), "{complaint}");
    assert!(script.stdout.contains("_shard") && script.stdout.contains("--headless-policy"));
    told(
        &run_cli(&home, &["completions", "tcl"], None).await,
        2,
        "tcl",
    );
    assert!(home.session_files().is_empty());
}
