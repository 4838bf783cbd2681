//! Files that are not plain: links, modes, changes from outside, places outside the workspace.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};
use shard_testkit::{AgentProcess, Answer, Home, ScriptedModel, reply, text, tool};

use crate::{asked, word};

const SECRET_TEXT: &str = "outside-text-5d1";

fn calls<const N: usize>(calls: [(&str, Value); N]) -> ScriptedModel {
    let calls = calls
        .into_iter()
        .map(|(name, arguments)| tool(name, arguments));
    let all = calls.fold(reply![], |reply, call| reply.then(call));
    ScriptedModel::start([all, reply![text("ok")]])
}

#[tokio::test]
async fn an_edit_keeps_links_and_modes() {
    let edit = |path: &str| {
        (
            "edit",
            json!({ "path": path, "old_text": "one", "new_text": "two" }),
        )
    };
    let model = calls([
        edit("link.sh"),
        (
            "write",
            json!({ "path": "again.sh", "content": "echo 3\n" }),
        ),
    ]);
    let home = Home::new(&model);
    for file in ["real.sh", "plain.sh"] {
        let path = home.write(file, "echo one\n");
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    symlink("real.sh", home.work().join("link.sh")).unwrap();
    symlink("plain.sh", home.work().join("again.sh")).unwrap();
    let turn = AgentProcess::start(&home, &[]).turn("go").await;
    assert!(
        turn.results().iter().all(|r| r["is_error"] == false),
        "{:?}",
        turn.results()
    );
    for (link, real, content) in [
        ("link.sh", "real.sh", "echo two\n"),
        ("again.sh", "plain.sh", "echo 3\n"),
    ] {
        let target = std::fs::read_link(home.work().join(link)).unwrap();
        assert_eq!(target.to_str(), Some(real), "the link is still a link");
        assert_eq!(home.read(real), content);
        let mode = std::fs::metadata(home.work().join(real))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o755, "{real}");
    }
    let left: Vec<_> = home
        .git(&["status", "--short"])
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(left.len(), 4, "nothing temporary is left: {left:?}");
}

#[tokio::test]
async fn a_change_from_outside_is_never_lost() {
    let read = || reply![tool("read", json!({ "path": "notes.txt" }))];
    let write = || {
        reply![tool(
            "write",
            json!({ "path": "notes.txt", "content": "mine\n" })
        )]
    };
    let edit = reply![tool(
        "edit",
        json!({ "path": "notes.txt", "old_text": "last", "new_text": "LAST" })
    )];
    let model = ScriptedModel::start([
        read(),
        reply![text("seen")],
        write(),
        reply![text("refused")],
        edit,
        reply![text("edited")],
        read(),
        reply![text("seen again")],
        write(),
        reply![text("written")],
    ]);
    let home = Home::new(&model);
    home.write("notes.txt", "first\nlast\n");
    let agent = AgentProcess::start(&home, &[]);
    agent.turn("read").await;
    home.write("notes.txt", "first\nfrom outside\nlast\n");
    let refused = agent.turn("write").await;
    assert_eq!(refused.results()[0]["is_error"], true);
    assert!(
        refused.result_text(0).contains("read it again"),
        "{}",
        refused.result_text(0)
    );
    assert_eq!(home.read("notes.txt"), "first\nfrom outside\nlast\n");
    agent.turn("edit").await;
    assert!(home.read("notes.txt").contains("from outside"));
    agent.turn("read again").await;
    // Only the time is another.
    let same = home.read("notes.txt");
    home.write("notes.txt", same);
    let written = agent.turn("write now").await;
    assert_eq!(
        written.results()[0]["is_error"],
        false,
        "{}",
        written.result_text(0)
    );
    assert_eq!(home.read("notes.txt"), "mine\n");
}

/// A home whose work directory has ways out of it, and rules that say nothing.
fn with_ways_out(model: &ScriptedModel) -> Home {
    let home = Home::builder().model(model).rules(json!([])).build();
    let outside = home.root().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(outside.join("secret.txt"), SECRET_TEXT).unwrap();
    symlink(&outside, home.work().join("way")).unwrap();
    std::fs::create_dir(home.work().join("sub")).unwrap();
    symlink("../../outside/secret.txt", home.work().join("sub/near.txt")).unwrap();
    home
}

#[tokio::test]
async fn every_way_out_of_the_workspace_asks_also_for_reading() {
    let model = ScriptedModel::silent();
    let home = with_ways_out(&model);
    let absolute = home.root().join("outside/secret.txt");
    let ways = [
        ("read", json!({ "path": "../outside/secret.txt" })),
        ("read", json!({ "path": absolute })),
        ("read", json!({ "path": "way/secret.txt" })),
        ("read", json!({ "path": "sub/near.txt" })),
        ("read", json!({ "path": "way/../outside/secret.txt" })),
        ("read", json!({ "path": "sub/../../outside/./secret.txt" })),
        ("ls", json!({ "path": "way" })),
        ("ls", json!({ "path": ".." })),
        ("find", json!({ "pattern": "*.txt", "path": "way" })),
        ("grep", json!({ "pattern": "outside", "path": "way" })),
        ("grep", json!({ "pattern": "outside", "path": "/" })),
        ("write", json!({ "path": "way/new.txt", "content": "x" })),
        (
            "edit",
            json!({ "path": "sub/near.txt", "old_text": "outside", "new_text": "x" }),
        ),
    ];
    let all = ways.iter().fold(reply![], |reply, (name, arguments)| {
        reply.then(tool(*name, arguments.clone()))
    });
    model.add(all);
    model.add(reply![text("ok")]);
    let mut names = Vec::new();
    let turn = AgentProcess::start(&home, &[])
        .turn_with("go", |ask| {
            names.push(word(&ask["tool_name"]).to_owned());
            Answer::Deny
        })
        .await;
    let want: Vec<_> = ways.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, want, "each asks");
    assert!(turn.of("tool_call").is_empty(), "none starts");
    let told = format!("{:?}", turn.results());
    assert!(!told.contains(SECRET_TEXT));
    assert_eq!(std::fs::read_to_string(absolute).unwrap(), SECRET_TEXT);
}

#[tokio::test]
async fn a_search_of_the_workspace_does_not_follow_a_link_out_of_it() {
    let model = calls([
        ("grep", json!({ "pattern": "outside-text" })),
        ("find", json!({ "pattern": "**/secret*" })),
    ]);
    let home = with_ways_out(&model);
    let turn = AgentProcess::start(&home, &[]).turn("go").await;
    assert_eq!(turn.results().len(), 2);
    for number in 0..2 {
        let said = turn.result_text(number);
        assert!(
            !said.contains(SECRET_TEXT) && !said.contains("secret.txt"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_folder_that_is_swapped_for_a_link_while_it_is_asked_leads_nowhere() {
    let model = calls([("write", json!({ "path": "sub2/new.txt", "content": "x" }))]);
    let home = with_ways_out(&model);
    std::fs::create_dir(home.work().join("sub2")).unwrap();
    let agent = AgentProcess::start(&home, &[]);
    let mark = agent.mark();
    agent.ok("prompt", json!({ "message": "go" })).await;
    let ask = asked(&agent, mark).await;
    std::fs::remove_dir(home.work().join("sub2")).unwrap();
    symlink(home.root().join("outside"), home.work().join("sub2")).unwrap();
    let allow = json!({ "request_id": ask["request_id"], "decision": "allow" });
    agent.ok("permission_response", allow).await;
    agent.wait_for_type(mark, "turn_end").await;
    assert!(!home.root().join("outside/new.txt").exists());
    let results = model.request(1).await.tool_results();
    assert!(!results[0].1.is_empty());
    let result = agent.wait_for_type(mark, "tool_result").await;
    assert_eq!(result["is_error"], true, "{result}");
}

#[tokio::test]
async fn what_is_no_regular_file_is_refused_and_not_opened() {
    let model = calls([
        ("read", json!({ "path": "pipe" })),
        ("write", json!({ "path": "pipe", "content": "x" })),
        (
            "edit",
            json!({ "path": "pipe", "old_text": "a", "new_text": "b" }),
        ),
        ("grep", json!({ "pattern": "Readme" })),
        ("read", json!({ "path": "." })),
    ]);
    let home = Home::new(&model);
    let made = std::process::Command::new("mkfifo")
        .arg(home.work().join("pipe"))
        .status();
    assert!(made.unwrap().success());
    let turn = AgentProcess::start(&home, &[]).turn("go").await;
    let errors: Vec<_> = turn
        .results()
        .iter()
        .map(|r| r["is_error"] == true)
        .collect();
    assert_eq!(errors, [true, true, true, false, true]);
    assert!(
        turn.result_text(3).contains("README.md"),
        "the search passes it by"
    );
}
