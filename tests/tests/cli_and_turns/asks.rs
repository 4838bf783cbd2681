//! Questions about calls, and the rules that answer them.

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Answer, Home, Mark, ScriptedModel, Turn, allow_all, ask_all, reply, text, tool,
};

use crate::word;

fn write(path: &str) -> shard_testkit::model::Tool {
    tool("write", json!({"path": path, "content": "x"}))
}

fn bash(command: &str) -> shard_testkit::model::Tool {
    tool("bash", json!({"command": command}))
}

/// A model that writes `x.txt` and then says something.
fn writer() -> ScriptedModel {
    ScriptedModel::start([reply![write("x.txt")], reply![text("understood")]])
}

fn asking(model: &ScriptedModel) -> Home {
    Home::builder().model(model).rules(ask_all()).build()
}

/// Starts a turn and gives its first question.
async fn question(agent: &AgentProcess) -> (Mark, Value) {
    let mark = agent.mark();
    agent.ok("prompt", json!({"message": "go"})).await;
    let request = agent.wait_for_type(mark, "permission_request").await;
    (mark, request)
}

async fn rest(agent: &AgentProcess, mark: Mark) -> Turn {
    agent.follow(mark, |_| Answer::Leave).await
}

#[tokio::test]
async fn a_denial_with_a_reason_reaches_the_model_and_nothing_starts() {
    let model = writer();
    let home = asking(&model);
    let agent = AgentProcess::start(&home, &[]);
    let (mark, request) = question(&agent).await;
    let status = |m: &Value| m["status"] == "waiting_for_permission";
    agent.wait_for(mark, "the status", status).await;
    let answer = json!({"request_id": request["request_id"], "decision": "deny",
        "reason": "keep your hands off"});
    let data = agent.ok("permission_response", answer).await;
    assert!(data["late"] != json!(true), "{data}");
    let turn = rest(&agent, mark).await;
    assert_eq!(
        (turn.text().as_str(), home.has("x.txt")),
        ("understood", false)
    );
    assert!(turn.of("tool_call").is_empty());
    assert_eq!(turn.results()[0]["is_error"], true);
    let resolved = turn.of("permission_resolved");
    assert_eq!(resolved.len(), 1);
    assert_eq!(resolved[0]["request_id"], request["request_id"]);
    assert_eq!(resolved[0]["decision"], "deny");
    let told = &model.request(1).await.tool_results()[0].1;
    assert!(
        told.contains("the person denied") && told.contains("keep your hands off"),
        "{told}"
    );
}

#[tokio::test]
async fn a_choice_is_picked_by_its_id() {
    let model = writer();
    let home = asking(&model);
    let agent = AgentProcess::start(&home, &[]);
    let (mark, request) = question(&agent).await;
    let choices = request["choices"].as_array().unwrap();
    let allow = choices.iter().find(|c| c["intent"] == "allow").unwrap();
    let answer = json!({"request_id": request["request_id"], "choice_id": allow["id"]});
    agent.ok("permission_response", answer).await;
    let turn = rest(&agent, mark).await;
    assert_eq!(turn.of("permission_resolved")[0]["choice_id"], allow["id"]);
    assert_eq!(
        (turn.of("tool_call").len(), home.read("x.txt").as_str()),
        (1, "x")
    );
}

#[tokio::test]
async fn an_answer_that_cannot_be_taken_leaves_the_question_open() {
    let model = writer();
    let home = asking(&model);
    let agent = AgentProcess::start(&home, &[]);
    let (mark, request) = question(&agent).await;
    let id = &request["request_id"];
    for wrong in [
        json!({"request_id": id, "choice_id": "no-such-choice"}),
        json!({"request_id": id, "choice_id": "allow_once", "decision": "allow"}),
        json!({"request_id": id}),
        json!({"request_id": id, "decision": "perhaps"}),
        json!({"decision": "allow"}),
    ] {
        let error = agent.err("permission_response", wrong.clone()).await;
        assert_eq!(error["code"], "INVALID_REQUEST", "{wrong}");
    }
    let mark_of_sync = agent.mark();
    agent.send(json!({"type": "sync"})).await;
    let sync = agent.wait_for_type(mark_of_sync, "sync").await;
    let pending = sync["pending_requests"].as_array().unwrap();
    assert_eq!(
        (pending.len(), &pending[0]["request_id"]),
        (1, id),
        "it is still open"
    );
    assert_eq!(sync["status"], "waiting_for_permission");
    assert!(!home.has("x.txt"));
    agent
        .ok(
            "permission_response",
            json!({"request_id": id, "decision": "allow"}),
        )
        .await;
    let turn = rest(&agent, mark).await;
    assert_eq!(
        (turn.of("permission_resolved").len(), home.has("x.txt")),
        (1, true)
    );
}

#[tokio::test]
async fn a_question_that_nobody_answers_is_denied_in_the_end_and_the_model_is_told() {
    let model = writer();
    let home = Home::builder().model(&model).rules(ask_all());
    let home = home.permissions(json!({"ask_timeout_secs": 1})).build();
    let agent = AgentProcess::start(&home, &[]);
    let (mark, request) = question(&agent).await;
    let turn = rest(&agent, mark).await;
    let resolved = turn.of("permission_resolved");
    assert_eq!(
        (&resolved[0]["decision"], &resolved[0]["source"]),
        (&json!("deny"), &json!("timeout"))
    );
    let told = &model.request(1).await.tool_results()[0].1;
    assert!(told.contains("nobody answered in time"), "{told}");
    assert_eq!((turn.reason(), home.has("x.txt")), ("done", false));
    let late = json!({"request_id": request["request_id"], "decision": "allow"});
    assert_eq!(
        agent.ok("permission_response", late).await,
        json!({"late": true})
    );
    assert!(!home.has("x.txt"));
}

#[tokio::test]
async fn an_abort_closes_the_question_and_a_late_answer_changes_nothing() {
    let model = writer();
    let home = asking(&model);
    let agent = AgentProcess::start(&home, &[]);
    let (mark, request) = question(&agent).await;
    agent.ok("abort", json!({})).await;
    let turn = rest(&agent, mark).await;
    assert_eq!(turn.reason(), "aborted");
    let resolved = turn.of("permission_resolved");
    assert_eq!(resolved.len(), 1);
    assert_eq!(
        (&resolved[0]["decision"], &resolved[0]["source"]),
        (&json!("deny"), &json!("aborted"))
    );
    let mark = agent.mark();
    for id in [request["request_id"].clone(), json!("req-of-nobody")] {
        let late = json!({"request_id": id, "decision": "allow"});
        assert_eq!(
            agent.ok("permission_response", late).await,
            json!({"late": true})
        );
        let late = json!({"request_id": id, "value": "x"});
        assert_eq!(agent.ok("ui_response", late).await, json!({"late": true}));
    }
    let since = agent.messages_since(mark);
    // The status that follows the abort may still come; nothing else does.
    let quiet = |m: &Value| matches!(word(&m["type"]), "response" | "status");
    assert!(since.iter().all(quiet), "{since:?}");
    assert_eq!(agent.turn("next").await.text(), "understood");
    assert!(!home.has("x.txt"));
    assert_eq!(
        model.violations(),
        Vec::<String>::new(),
        "the open call has its result"
    );
}

/// Which calls asked, were denied by a rule, and ran, with every question answered by no.
async fn judged(rules: Value, calls: &[(&str, &str)]) -> Vec<&'static str> {
    let mut first = reply![];
    for (name, what) in calls {
        first = first.then(match *name {
            "bash" => bash(what),
            "write" => write(what),
            _ => tool(*name, json!({"path": what})),
        });
    }
    let model = ScriptedModel::silent();
    model.add(first);
    model.add(reply![text("ok")]);
    let home = Home::builder().model(&model).rules(rules).build();
    home.write("src/a.txt", "a");
    home.write("src/deep/b.txt", "b");
    home.write("victim", "alive");
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn_with("go", |_| Answer::Deny).await;
    assert_eq!(home.read("victim"), "alive");
    verdicts(&turn)
}

fn verdicts(turn: &Turn) -> Vec<&'static str> {
    let started = |id: &Value| {
        turn.of("tool_call")
            .iter()
            .any(|c| c["tool_call_id"] == *id)
    };
    let results = turn.results();
    let verdict = results.iter().enumerate().map(|(at, result)| {
        let said = turn.result_text(at);
        match started(&result["tool_call_id"]) {
            true => "runs",
            false if said.contains("the person denied") => "asks",
            false => "denied",
        }
    });
    let verdicts: Vec<_> = verdict.collect();
    let asked = verdicts.iter().filter(|v| **v == "asks").count();
    assert_eq!(turn.of("permission_request").len(), asked);
    verdicts
}

#[tokio::test]
async fn rules_decide_by_the_words_of_a_command() {
    let rules = json!([
        {"action": "allow", "tool": "bash", "command": "git status"},
        {"action": "allow", "tool": "bash", "command": "echo *"},
        {"action": "ask", "tool": "bash", "command": "git push *"},
        {"action": "deny", "tool": "bash", "command": "rm *", "reason": "nothing is removed here"},
        {"action": "allow", "tool": "bash", "command": "rm *"},
        {"action": "allow", "tool": "bash", "command": "git push *"},
    ]);
    let cases = [
        ("git status", "runs"),
        ("git status && echo fine", "runs"),
        ("git status > /dev/null", "runs"),
        ("git status && touch victim", "asks"),
        ("touch victim; git status", "asks"),
        ("git status | tee victim", "asks"),
        ("git status\ntouch victim", "asks"),
        ("git status & touch victim", "asks"),
        ("git status > victim", "asks"),
        ("echo $(touch victim)", "asks"),
        ("X=1 git status", "asks"),
        ("git status --short", "asks"),
        ("git push origin", "asks"),
        ("rm victim", "denied"),
        ("git status && rm victim", "denied"),
        ("/bin/rm victim", "denied"),
        ("timeout 5 rm victim", "denied"),
        ("sh -c 'rm victim'", "denied"),
        ("echo 'rm victim'", "runs"),
    ];
    let calls: Vec<_> = cases
        .iter()
        .map(|(command, _)| ("bash", *command))
        .collect();
    let verdicts = judged(rules, &calls).await;
    for ((command, want), got) in cases.iter().zip(verdicts) {
        assert_eq!(got, *want, "{command:?}");
    }
}

#[tokio::test]
async fn a_command_beside_or_inside_an_allowed_one_asks() {
    let rules = json!([
        {"action": "allow", "tool": "bash", "command": "git status"},
        {"action": "allow", "tool": "bash", "command": "echo *"},
        {"action": "ask", "tool": "bash", "command": "git push *"},
    ]);
    let joined = ["&&", "||", ";", "|", "|&", "&", "\n"].map(|by| {
        [
            format!("git status {by} rm victim"),
            format!("rm victim {by} git status"),
        ]
    });
    let hidden = [
        "cd sub && git push",
        "echo $(rm victim)",
        "echo `rm victim`",
        "echo <(rm victim)",
        "X=$(rm victim) git status",
        "env A=1 sh -c 'rm victim'",
        "timeout 5 rm victim",
        "nice rm victim",
        "sudo rm victim",
        "eval 'rm victim'",
        "eval git status",
        "echo x > victim",
        "echo x 2>> victim",
        "git status 'unclosed",
        "$GIT status",
    ];
    let hidden = hidden.map(str::to_owned);
    let commands: Vec<_> = joined.into_iter().flatten().chain(hidden).collect();
    let calls: Vec<_> = commands.iter().map(|it| ("bash", it.as_str())).collect();
    let verdicts = judged(rules, &calls).await;
    for (command, got) in commands.iter().zip(verdicts) {
        assert_eq!(got, "asks", "{command:?}");
    }
}

#[tokio::test]
async fn a_file_that_must_not_be_read_is_read_by_no_tool() {
    let rules = json!([
        {"action": "deny", "tool": "*", "path": "**/.env"},
        {"action": "allow", "tool": "bash", "command": "cat *"},
        {"action": "allow", "tool": "bash", "command": "grep *"},
    ]);
    let key = "KEY=very-secret-811";
    let cases = [
        (tool("read", json!({"path": ".env"})), "denied"),
        (tool("read", json!({"path": "sub/../.env"})), "denied"),
        (tool("read", json!({"path": "alias"})), "denied"),
        (
            tool("grep", json!({"pattern": "KEY", "path": ".env"})),
            "denied",
        ),
        (tool("grep", json!({"pattern": "KEY"})), "asks"),
        (
            tool("find", json!({"pattern": "*", "path": ".env"})),
            "denied",
        ),
        (bash("cat .env"), "denied"),
        (bash("grep -r KEY ."), "asks"),
        (bash("cat ./*"), "asks"),
        (bash("X=\"$(cat .env)\"; echo $X"), "denied"),
        (bash("cat README.md"), "runs"),
    ];
    let first = cases
        .iter()
        .fold(reply![], |reply, (call, _)| reply.then(call.clone()));
    let model = ScriptedModel::start([first, reply![text("ok")]]);
    let home = Home::builder().model(&model).rules(rules).build();
    home.write(".env", key);
    home.write("sub/x", "x");
    std::os::unix::fs::symlink(".env", home.work().join("alias")).unwrap();
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn_with("go", |_| Answer::Deny).await;
    for (at, ((_, want), got)) in cases.iter().zip(verdicts(&turn)).enumerate() {
        assert_eq!(got, *want, "call {at}: {}", turn.result_text(at));
    }
    agent.quit().await;
    let said = json!(agent.messages_since(Mark::START)).to_string();
    assert!(!said.contains("very-secret-811"), "{said}");
}

#[tokio::test]
async fn rules_decide_by_the_path_that_is_meant() {
    let rules = json!([
        {"action": "deny", "tool": "*", "path": "secret/**"},
        {"action": "ask", "tool": "read", "path": "src/deep/**"},
        {"action": "allow", "tool": "write", "path": "src/*"},
    ]);
    let cases = [
        ("write", "src/new.txt", "runs"),
        ("write", "./src/../src/newer.txt", "runs"),
        ("write", "src/deep/new.txt", "asks"),
        ("write", "new.txt", "asks"),
        ("write", "src/../../out.txt", "asks"),
        ("write", "secret/key", "denied"),
        ("write", "src/../secret/key", "denied"),
        ("read", "src/a.txt", "runs"),
        ("read", "src/deep/b.txt", "asks"),
        ("read", "secret/key", "denied"),
    ];
    let calls: Vec<_> = cases.iter().map(|(name, path, _)| (*name, *path)).collect();
    let verdicts = judged(rules, &calls).await;
    for ((name, path, want), got) in cases.iter().zip(verdicts) {
        assert_eq!(got, *want, "{name} {path}");
    }
}

#[tokio::test]
async fn what_could_give_an_agent_power_asks_although_all_is_allowed() {
    let model = ScriptedModel::silent();
    let home = Home::builder().model(&model).rules(allow_all()).build();
    let config = home.config_path();
    let calls = [
        ".git/config",
        ".git/hooks/pre-commit",
        ".shard/rules/mine.json",
        &*config.to_string_lossy(),
        &*home.shard_home().join("rules/r.json").to_string_lossy(),
    ]
    .map(write);
    let mut first = reply![];
    for call in calls {
        first = first.then(call);
    }
    first = first.then(bash("echo x >> .git/config"));
    first = first.then(bash(&format!("echo x > {}", config.display())));
    first = first.then(bash("mkdir -p .shard && cp README.md .shard/x"));
    first = first.then(write("harmless.txt"));
    model.add(first);
    model.add(reply![text("ok")]);
    let before = (home.read(".git/config"), std::fs::read(&config).unwrap());
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn_with("go", |_| Answer::Deny).await;
    let mut want = ["asks"; 9];
    want[8] = "runs";
    assert_eq!(verdicts(&turn), want);
    for request in turn.of("permission_request") {
        let options = request["options"].as_array().unwrap();
        assert!(
            !options.contains(&json!("allow_always")),
            "never for good: {request}"
        );
    }
    assert_eq!(
        (home.read(".git/config"), std::fs::read(&config).unwrap()),
        before
    );
    assert!(!home.has(".shard"));
}

#[tokio::test]
async fn a_project_may_forbid_but_not_allow_until_it_is_trusted() {
    for (args, want) in [
        (&[][..], ["asks", "denied", "asks"]),
        (&["--trust-project"][..], ["runs", "denied", "runs"]),
    ] {
        let model = ScriptedModel::start([
            reply![bash("echo hi"), bash("git push"), write("x.txt")],
            reply![text("ok")],
        ]);
        let home = Home::builder().model(&model).rules(json!([])).build();
        let rules = json!({"rules": [
            {"action": "allow", "tool": "*"},
            {"action": "deny", "tool": "bash", "command": "git push *", "reason": "not from here"},
        ]});
        home.write(".shard/rules/team.json", rules.to_string());
        let agent = AgentProcess::start(&home, args);
        let turn = agent.turn_with("go", |_| Answer::Deny).await;
        assert_eq!(verdicts(&turn), want, "{args:?}");
        assert!(
            turn.result_text(1).contains("not from here"),
            "{}",
            turn.result_text(1)
        );
    }
}

#[tokio::test]
async fn what_a_person_allows_for_good_is_exactly_this_call_also_after_a_restart() {
    let model = ScriptedModel::start([
        reply![bash("echo grant-me")],
        reply![text("a")],
        reply![
            bash("echo grant-me"),
            bash("echo grant-me too"),
            bash("echo  grant-me; pwd")
        ],
        reply![text("b")],
        reply![bash("echo grant-me"), bash("echo grant-me too")],
        reply![text("c")],
        reply![bash("echo grant-me")],
        reply![text("d")],
    ]);
    let home = asking(&model);
    let agent = AgentProcess::start(&home, &[]);
    let first = agent.turn_with("one", |_| Answer::AllowAlways).await;
    assert_eq!(
        first.of("permission_resolved")[0]["decision"],
        "allow_always"
    );
    let second = agent.turn_with("two", |_| Answer::Deny).await;
    assert_eq!(verdicts(&second), ["runs", "asks", "asks"]);
    assert_eq!(second.of("tool_call")[0]["allowed_by"]["kind"], "grant");
    agent.quit().await;
    let agent = AgentProcess::start(&home, &["--continue"]);
    let third = agent.turn_with("three", |_| Answer::Deny).await;
    assert_eq!(verdicts(&third), ["runs", "asks"]);
    agent.quit().await;
    // Another session was given nothing.
    let other = AgentProcess::start(&home, &[]);
    let fourth = other.turn_with("four", |_| Answer::Deny).await;
    assert_eq!(verdicts(&fourth), ["asks"]);
    assert!(word(&fourth.of("permission_request")[0]["prompt"]).contains("Run"));
}

#[tokio::test]
async fn without_a_daemon_the_peer_lists_grants_and_takes_them_back() {
    let model = ScriptedModel::start([
        reply![bash("echo -n -e hi")],
        reply![text("a")],
        reply![bash("echo -e -n hi")],
        reply![text("b")],
        reply![bash("echo -e -n hi")],
        reply![text("c")],
    ]);
    let home = asking(&model);
    let agent = AgentProcess::start(&home, &[]);
    let form = || Answer::Choice("allow_signature".to_owned());
    agent.turn_with("one", |_| form()).await;
    let second = agent.turn_with("two", |_| Answer::Deny).await;
    assert_eq!(verdicts(&second), ["runs"]);
    let listed = agent.ok("grants.list", json!({})).await["grants"].clone();
    assert_eq!(
        (&listed[0]["kind"], &listed[0]["used"]),
        (&json!("bash_signature"), &json!(1))
    );
    let session = std::fs::read_dir(home.shard_home().join("sessions")).unwrap();
    let mut names = session.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let file = names.find(|name| name.ends_with(".grants.json")).unwrap();
    let id = file.strip_suffix(".grants.json").unwrap();
    let shown = shard_testkit::run_cli(&home, &["grants", "ls", "--session", id], None).await;
    assert!(
        shown.stdout.contains("Run `echo -e -n hi`, by its form"),
        "{shown:?}"
    );
    let none = ["grants", "ls", "--session", "session-nowhere"];
    let none = shard_testkit::run_cli(&home, &none, None).await;
    assert!(
        none.code() == 1 && none.stderr.contains("there is no session"),
        "{none:?}"
    );
    let wish = json!({ "grant_id": listed[0]["grant_id"] });
    agent.ok("grants.revoke", wish.clone()).await;
    assert_eq!(agent.err("grants.revoke", wish).await["code"], "NOT_FOUND");
    let third = agent.turn_with("three", |_| Answer::Deny).await;
    assert_eq!(verdicts(&third), ["asks"]);
}
