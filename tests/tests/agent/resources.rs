//! What an agent knows at its start: of a project with and without trust, of skills, and of what
//! people change while it lives.

use serde_json::{Value, json};
use shard_testkit::{AgentProcess, Answer, Home, ScriptedModel, Turn, reply, run_cli, text, tool};

/// A repository that brings one of everything, and a mark that each would leave if it ran.
fn bring_everything(home: &Home) {
    let mark = home.root().join("ran").display().to_string();
    home.write("AGENTS.md", "PROJECT-INSTRUCTIONS");
    home.write("CLAUDE.md", "FOREIGN-INSTRUCTIONS");
    home.write(
        ".agents/skills/deploy/SKILL.md",
        "---\nname: deploy\ndescription: Ships it.\n---\nPROJECT-SKILL",
    );
    home.write(
        ".shard/agents/helper.md",
        "---\nname: helper\ndescription: Helps.\ntools: [bash]\n---\nObey.",
    );
    let rules = json!({"rules": [
        {"action": "allow", "tool": "*"},
        {"action": "deny", "tool": "bash", "command": "rm *", "reason": "the project keeps its files"},
    ]});
    home.write(".shard/rules/all.json", rules.to_string());
    let code = format!("require('fs').writeFileSync('{mark}', '')");
    home.write(".shard/extensions/start.ts", code);
    let server = json!({"mcpServers": {"x": {"command": "touch", "args": [mark]}}});
    home.write(".mcp.json", server.to_string());
}

fn user_skill(home: &Home, name: &str, body: &str) {
    let folder = home.shard_home().join("skills").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!("---\nname: {name}\ndescription: About {name}.\n---\n{body}\n");
    std::fs::write(folder.join("SKILL.md"), text).unwrap();
}

fn two_commands() -> ScriptedModel {
    ScriptedModel::start([
        reply![
            tool("bash", json!({"command": "rm README.md"})),
            tool("bash", json!({"command": "touch made"}))
        ],
        reply![text("done")],
    ])
}

#[tokio::test]
async fn a_hostile_repository_is_told_of_and_only_what_it_forbids_counts() {
    let model = two_commands();
    let home = Home::builder().model(&model).rules(json!([])).build();
    bring_everything(&home);
    let agent = AgentProcess::start(&home, &[]);
    let mut asked = Vec::new();
    let turn = agent
        .turn_with("go", |ask| {
            asked.push(ask["input"]["command"].clone());
            Answer::Deny
        })
        .await;
    assert_eq!(asked, ["touch made"], "what it allows is asked");
    let refusal = turn.results()[0].to_string();
    assert!(refusal.contains("the project keeps its files"), "{refusal}");
    assert!(home.has("README.md") && !home.has("made"));
    let request = model.request(0).await;
    assert!(
        !request.system().contains("-INSTRUCTIONS"),
        "{}",
        request.system()
    );
    assert!(!request.system().contains("deploy"), "{}", request.system());
    assert!(!request.tools().contains(&"load_skill"));
    let told = agent.stderr();
    for part in [
        "AGENTS.md: not read, as the project is not trusted",
        "deploy/SKILL.md: not read, as the project is not trusted",
        "helper.md: not read, as the project is not trusted",
        "all.json: what it allows (1 of its 2 rules) does not count",
        "start.ts: not loaded",
        ".mcp.json: not loaded",
    ] {
        assert_eq!(told.matches(part).count(), 1, "{part}: {told}");
    }
    agent.quit().await;
    assert!(!home.root().join("ran").exists());
}

#[tokio::test]
async fn a_trusted_repository_counts_and_still_runs_nothing() {
    let model = two_commands();
    let home = Home::builder().model(&model).rules(json!([])).build();
    bring_everything(&home);
    let agent = AgentProcess::start(&home, &["--trust-project"]);
    let turn = agent
        .turn_with("go", |ask| panic!("nothing is asked: {ask}"))
        .await;
    let failed = turn.results().into_iter().map(|r| r["is_error"] == true);
    assert_eq!(failed.collect::<Vec<_>>(), [true, false]);
    assert!(home.has("made"));
    let request = model.request(0).await;
    let system = request.system();
    assert!(system.contains("PROJECT-INSTRUCTIONS"), "{system}");
    assert!(!system.contains("FOREIGN-INSTRUCTIONS"), "{system}");
    let file = home.work().join(".agents/skills/deploy/SKILL.md");
    assert!(
        system.contains(&format!("\ndeploy: Ships it. ({})\n", file.display())),
        "{system}"
    );
    assert!(request.tools().contains(&"load_skill"));
    agent.quit().await;
    assert!(!home.root().join("ran").exists());
}

#[tokio::test]
async fn without_a_skill_there_is_no_tool_that_loads_one() {
    let model = ScriptedModel::start([
        reply![tool("load_skill", json!({"name": "pdf"}))],
        reply![text("no")],
        reply![text("yes")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn("one").await;
    let refusal = turn.results()[0].to_string();
    assert!(
        refusal.contains("there is no tool \\\"load_skill\\\""),
        "{refusal}"
    );
    user_skill(&home, "pdf", "Now it is there.");
    agent.turn("two").await;
    assert!(!model.request(0).await.tools().contains(&"load_skill"));
    assert!(model.request(2).await.tools().contains(&"load_skill"));
}

/// A turn that loads a skill and reads one of its files.
async fn uses_a_skill(agent: &AgentProcess) -> Turn {
    agent
        .turn_with("fill the form", |ask| panic!("nothing is asked: {ask}"))
        .await
}

#[tokio::test]
async fn a_skill_is_loaded_whole_its_files_are_open_and_the_session_remembers() {
    let model = ScriptedModel::silent();
    let home = Home::builder().model(&model).rules(json!([])).build();
    let body = format!(
        "# Fill\n\nSee references/fields.md.\n{}",
        "x".repeat(70_000)
    );
    user_skill(&home, "pdf", &body);
    let folder = home.shard_home().join("skills/pdf");
    std::fs::create_dir_all(folder.join("references")).unwrap();
    std::fs::write(folder.join("references/fields.md"), "FIELDS").unwrap();
    model.add(reply![
        tool("load_skill", json!({"name": "pdf"})).id("call-7")
    ]);
    model.add(reply![tool(
        "read",
        json!({"path": folder.join("references/fields.md")})
    )]);
    model.add(reply![text("filled")]);
    model.add(reply![text("again")]);

    let agent = AgentProcess::start(&home, &[]);
    assert_eq!(uses_a_skill(&agent).await.text(), "filled");
    let results = model.request(2).await.tool_results();
    let loaded = &results[0].1;
    let head = format!("<skill name=\"pdf\">\nFolder: {}\n", folder.display());
    assert!(loaded.starts_with(&head), "{}", &loaded[..200]);
    assert!(
        loaded.contains("\n- references/fields.md\n\n# Fill\n"),
        "{}",
        &loaded[..300]
    );
    assert!(loaded.ends_with("xxx\n</skill>"), "whole");
    assert!(results[1].1.contains("FIELDS"));
    assert!(model.request(0).await.system().contains("pdf: About pdf."));

    let rows = home.session_rows(&home.session_file());
    let at = rows
        .iter()
        .position(|row| row["details"]["artifactKind"] == "skill_activation")
        .unwrap();
    let (result, kept) = (&rows[at - 1], &rows[at]["details"]);
    assert_eq!(result["type"], "tool_result");
    assert_eq!(kept["resultId"], result["id"]);
    assert_eq!(kept["toolCallId"], result["details"]["toolCallId"]);
    assert_eq!(
        (&kept["name"], &kept["text"]),
        (&json!("pdf"), &json!(loaded))
    );

    // What the model sees among the results is not shown a second time.
    agent.turn("again").await;
    let request = model.request(3).await;
    assert!(!request.system().contains("Activated Skills"));
    assert_eq!(request.tool_results()[0].1, *loaded);
}

#[tokio::test]
async fn a_skill_whose_result_is_lost_is_shown_in_the_prompt() {
    let model = ScriptedModel::start([
        reply![tool("load_skill", json!({"name": "pdf"}))],
        reply![text("loaded")],
        reply![text("still known")],
    ]);
    let home = Home::new(&model);
    user_skill(&home, "pdf", "PDF-STEPS");
    let agent = AgentProcess::start(&home, &[]);
    agent.turn("one").await;
    agent.quit().await;
    // The rows of the call and its result are damaged; the checkpoint is whole.
    let file = home.session_file();
    let stored = std::fs::read_to_string(&file).unwrap();
    let damage = |line: &str| match line.contains("\"type\":\"tool_result\"")
        || line.contains("\"tool_call\"")
    {
        true => "{ damaged".to_owned(),
        false => line.to_owned(),
    };
    let lines: Vec<_> = stored.lines().map(damage).collect();
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    let agent = AgentProcess::start(&home, &["--continue"]);
    agent.turn("two").await;
    let system = model.request(2).await.system();
    let (_, section) = system.split_once("## Activated Skills").unwrap();
    assert!(
        section.contains("<skill name=\"pdf\">") && section.contains("PDF-STEPS"),
        "{section}"
    );
}

#[tokio::test]
async fn a_skill_that_changed_its_name_is_not_loaded_and_nothing_is_kept() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    user_skill(&home, "pdf", "x");
    let gate = shard_testkit::Gate::new();
    model.add(reply![
        shard_testkit::hold(&gate),
        tool("load_skill", json!({"name": "pdf"})),
        tool("load_skill", json!({"name": "/etc/passwd"}))
    ]);
    model.add(reply![text("done")]);
    let agent = AgentProcess::start(&home, &[]);
    let mark = agent.mark();
    agent.ok("prompt", json!({"message": "go"})).await;
    gate.reached().await;
    let file = home.shard_home().join("skills/pdf/SKILL.md");
    std::fs::write(file, "---\nname: other\ndescription: d\n---\n").unwrap();
    gate.open();
    let turn = agent.follow(mark, |_| Answer::Leave).await;
    let results: Vec<_> = turn.results().into_iter().map(Value::to_string).collect();
    assert!(
        results[0].contains("calls itself \\\"other\\\" by now"),
        "{results:?}"
    );
    assert!(results[1].contains("there are: pdf"), "{results:?}");
    let rows = home.session_rows(&home.session_file());
    assert!(
        !rows
            .iter()
            .any(|row| row["details"]["artifactKind"] == "skill_activation")
    );
}

#[tokio::test]
async fn what_people_change_counts_from_the_next_turn_and_is_told_once() {
    let model = ScriptedModel::answering(|request| {
        match request.tool_results().len() == request.user_texts().len() {
            true => reply![text("done")],
            false => reply![tool("bash", json!({"command": "echo hi"}))],
        }
    });
    let home = Home::builder().model(&model).rules(json!([])).build();
    home.write("AGENTS.md", "BEFORE");
    let agent = AgentProcess::start(&home, &["--trust-project", "--headless-policy", "deny"]);
    let asked = async || {
        let mut asked = 0;
        let mark = agent.mark();
        let turn = agent
            .turn_with("go", |_| {
                asked += 1;
                Answer::Deny
            })
            .await;
        let news: Vec<_> = agent
            .messages_since(mark)
            .into_iter()
            .filter(|event| event["type"] == "resources_changed")
            .collect();
        (asked, turn.results()[0].to_string(), news)
    };
    let (count, _, news) = asked().await;
    assert_eq!((count, news.len()), (1, 0));

    let rules = home.shard_home().join("rules");
    std::fs::create_dir_all(&rules).unwrap();
    let file = rules.join("mine.json");
    std::fs::write(&file, r#"{"rules":[{"action":"allow","tool":"bash"}]}"#).unwrap();
    let agents_md = home.write("AGENTS.md", "AFTER");
    let (count, _, news) = asked().await;
    assert_eq!((count, news.len()), (0, 1));
    assert_eq!(
        news[0],
        json!({"type": "resources_changed", "changed": [file, agents_md]})
    );
    let system = model.requests().last().unwrap().system();
    assert!(
        system.contains("AFTER") && !system.contains("BEFORE"),
        "{system}"
    );

    std::fs::write(
        &file,
        r#"{"rules":[{"action":"deny","tool":"bash","reason":"NO"}]}"#,
    )
    .unwrap();
    let (count, result, _) = asked().await;
    assert!(count == 0 && result.contains("NO"), "{result}");

    // What it was meant to forbid cannot be known, so all is asked.
    std::fs::write(
        &file,
        r#"{"rules":[{"action":"deny","tool":7},{"action":"allow","tool":"*"}]}"#,
    )
    .unwrap();
    let (count, _, news) = asked().await;
    assert_eq!((count, news.len()), (1, 1));
    let told = news[0]["diagnostics"][0].as_str().unwrap();
    assert!(
        told.contains("mine.json") && told.contains("every call asks"),
        "{told}"
    );
    let (count, _, news) = asked().await;
    assert_eq!((count, news.len()), (1, 0), "told once");
}

#[tokio::test]
async fn a_configuration_counts_when_it_can_be_read_and_else_the_old_one_stays() {
    let model = ScriptedModel::answering(|_| reply![text("ok")]);
    let other = ScriptedModel::answering(|_| reply![text("from elsewhere")]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let news = async || {
        let mark = agent.mark();
        let turn = agent.turn("go").await;
        let events = agent.messages_since(mark);
        let mut told = events
            .into_iter()
            .filter(|event| event["type"] == "resources_changed");
        (turn.text(), told.next().unwrap_or(Value::Null))
    };
    assert_eq!(news().await, ("ok".to_owned(), Value::Null));

    home.write_config("{ broken");
    let (said, told) = news().await;
    assert_eq!((&*said, &told["changed"]), ("ok", &json!([])));
    let words = told["diagnostics"][0].as_str().unwrap();
    assert!(
        words.ends_with("what it said before stays in force"),
        "{words}"
    );
    assert_eq!(news().await.1, Value::Null, "told once");

    let mut config = home.config().clone();
    config["providers"]["mock"]["base_url"] =
        json!(other.base_url(shard_testkit::Provider::OpenAi));
    config["sandbox"] = json!({"mode": "off"});
    home.write_config(&config.to_string());
    let (said, told) = news().await;
    assert_eq!(said, "from elsewhere", "also for the model that is active");
    assert_eq!(told["changed"], json!([home.config_path()]));
    assert_eq!(
        told["diagnostics"],
        json!(["changed, and counts from the agent's next start on: sandbox"])
    );
    assert_eq!(news().await.1, Value::Null);

    config["model"] = json!("mock/m9");
    config["providers"]["mock"]["models"] = json!([{"id": "m9", "context_window": 50_000}]);
    home.write_config(&config.to_string());
    let listed = agent.ok("list_models", json!({})).await;
    assert!(
        listed["models"].to_string().contains("\"mock/m9\""),
        "a person who picks one need not wait for a turn: {listed}"
    );
    let (said, told) = news().await;
    assert_eq!(said, "from elsewhere");
    let words = told["diagnostics"][0].as_str().unwrap();
    assert!(
        words.contains("\"m1\"")
            && words.ends_with("this session goes on with mock/m1 until another model is picked"),
        "{words}"
    );
    agent.ok("set_model", json!({"model": "mock/m9"})).await;

    std::fs::remove_file(home.config_path()).unwrap();
    let (said, told) = news().await;
    assert_eq!(said, "from elsewhere");
    assert!(
        told["diagnostics"][0]
            .as_str()
            .unwrap()
            .contains("it is gone"),
        "{told}"
    );
}

#[tokio::test]
async fn exactly_the_tools_that_are_named_and_no_list_of_skills_without_their_tool() {
    let model = ScriptedModel::answering(|_| reply![text("ok")]);
    let home = Home::new(&model);
    user_skill(&home, "pdf", "x");
    for (tools, listed) in [("read", false), ("read,load_skill", true)] {
        let agent = AgentProcess::start(&home, &["--tools", tools]);
        agent.turn("go").await;
        let requests = model.requests();
        let request = requests.last().unwrap();
        assert_eq!(request.tools().join(","), tools);
        assert_eq!(request.system().contains("available_skills"), listed);
        agent.quit().await;
    }
}

#[tokio::test]
async fn the_doctor_lists_what_counts_and_what_does_not() {
    let home = Home::builder().build();
    bring_everything(&home);
    user_skill(&home, "pdf", "x");
    let ordinary = run_cli(&home, &["doctor"], None).await;
    assert_eq!(ordinary.code(), 0, "{}", ordinary.stdout);
    let line = |text: &str, part: &str| {
        let found = text.lines().find(|line| line.contains(part));
        found.unwrap_or_else(|| panic!("{part}: {text}")).to_owned()
    };
    for part in [
        "AGENTS.md",
        "deploy/SKILL.md",
        "helper.md",
        "start.ts",
        ".mcp.json",
    ] {
        let line = line(&ordinary.stdout, part);
        assert!(
            line.starts_with("note") && line.contains("not in force"),
            "{line}"
        );
    }
    assert!(line(&ordinary.stdout, "pdf/SKILL.md").starts_with("ok"));
    let trusted = run_cli(&home, &["doctor", "--trust-project"], None).await;
    for part in ["AGENTS.md", "deploy/SKILL.md", "helper.md", "all.json"] {
        let line = line(&trusted.stdout, part);
        assert!(
            line.starts_with("ok") && line.ends_with("(the project's), in force"),
            "{line}"
        );
    }
    home.write(".shard/rules/all.json", "{ broken");
    let ill = run_cli(&home, &["doctor", "--json"], None).await;
    assert_eq!(ill.code(), 1);
    let findings: Vec<Value> = serde_json::from_str(&ill.stdout).unwrap();
    let problem = findings
        .iter()
        .find(|finding| finding["state"] == "problem")
        .unwrap();
    assert_eq!(problem["area"], "rules");
    assert!(
        problem["message"]
            .as_str()
            .unwrap()
            .ends_with("every call asks"),
        "{problem}"
    );
}
