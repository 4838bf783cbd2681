//! Questions of a child that nobody is attached to: the nearest ancestor with somebody answers.

use serde_json::{Value, json};
use shard_testkit::{Answer, Client, ScriptedModel, ask_all, reply, text, tool};

use crate::{Site, of, word};

/// A grandmother, a mother and a child; the child's model writes a file and then says something.
struct Family {
    site: Site,
    grandmother: String,
    mother: String,
    child: String,
}

impl Family {
    async fn new(patience_secs: u64) -> Self {
        let write = tool("write", json!({ "path": "x.txt", "content": "x" }));
        let model = ScriptedModel::start([reply![write], reply![text("understood")]]);
        let describe = |home: shard_testkit::HomeBuilder| {
            home.rules(ask_all())
                .permissions(json!({ "ask_timeout_secs": patience_secs }))
        };
        let site = Site::with(model, describe, &[]).await;
        let mut line: Vec<String> = Vec::new();
        for _ in 0..3 {
            let mut wish = site.cwd();
            wish["parent_agent_id"] = json!(line.last());
            line.push(site.client.create(wish).await);
        }
        let [grandmother, mother, child] = line.try_into().unwrap();
        Self {
            site,
            grandmother,
            mother,
            child,
        }
    }

    /// Sets the child to work without staying.
    async fn set_to_work(&self) {
        let client = self.site.daemon.connect().await;
        client.observe(&self.child).await.prompt("go").await;
    }

    /// Answers the child's question on a connection, by the child's id.
    async fn answer(&self, client: &Client, ask: &Value, decision: &str) -> Value {
        let fields = json!({
            "agent_id": self.child, "request_id": ask["request_id"], "decision": decision,
        });
        client.ok("permission_response", fields).await
    }

    fn is_of_child(&self, kind: &'static str) -> impl Fn(&Value) -> bool {
        let child = self.child.clone();
        move |message| message["type"] == kind && message["agent_id"] == child.as_str()
    }

    async fn asked(&self, client: &Client, mark: shard_testkit::Mark) -> Value {
        client
            .wait_for(
                mark,
                "the child's question",
                self.is_of_child("permission_request"),
            )
            .await
    }

    async fn resolved(&self, client: &Client, mark: shard_testkit::Mark) -> Value {
        client
            .wait_for(mark, "its end", self.is_of_child("permission_resolved"))
            .await
    }
}

#[tokio::test]
async fn the_nearest_ancestor_with_somebody_is_asked_and_answers() {
    let family = Family::new(600).await;
    let far = family.site.daemon.connect().await;
    far.attach(&family.grandmother).await;
    let near = family.site.daemon.connect().await;
    near.attach(&family.mother).await;
    let (far_mark, near_mark) = (far.mark(), near.mark());
    family.set_to_work().await;
    let ask = family.asked(&near, near_mark).await;
    assert!(ask.get("headless_decision").is_none(), "{ask}");
    assert_eq!(family.answer(&near, &ask, "allow").await, json!({}));
    let resolved = family.resolved(&near, near_mark).await;
    assert_eq!(
        (&resolved["decision"], &resolved["source"]),
        (&json!("allow"), &json!("terminal"))
    );
    let late = family.answer(&near, &ask, "deny").await;
    assert_eq!(late, json!({ "late": true }));
    let watcher = family.site.client.observe(&family.child).await;
    assert_eq!(family.site.home.read("x.txt"), "x");
    assert_eq!(watcher.sync["pending_requests"], json!([]));
    let heard = far.messages_since(far_mark);
    assert!(of(&heard, "permission_request").is_empty(), "{heard:?}");
}

#[tokio::test]
async fn whoever_comes_to_an_ancestor_finds_the_question_in_its_sync() {
    let family = Family::new(600).await;
    let first = family.site.daemon.connect().await;
    first.attach(&family.mother).await;
    let mark = first.mark();
    family.set_to_work().await;
    let ask = family.asked(&first, mark).await;
    drop(first);
    let second = family.site.daemon.connect().await;
    let mother = second.attach(&family.mother).await;
    assert_eq!(mother.sync["pending_requests"], json!([ask]));
    // Attached once more, in the same role or another one, it is told again as it stands.
    let again = second.observe(&family.mother).await;
    assert_eq!(again.sync["pending_requests"], json!([ask]));
    let error = second
        .refused(
            "PERMISSION_DENIED",
            "permission_response",
            json!({ "agent_id": family.child, "request_id": ask["request_id"], "decision": "allow" }),
        )
        .await;
    assert!(error.contains("observer"), "{error}");
    let stranger = family.site.daemon.connect().await;
    stranger
        .refused(
            "NOT_ATTACHED",
            "permission_response",
            json!({ "agent_id": family.child, "request_id": ask["request_id"], "decision": "allow" }),
        )
        .await;
    // The right to answer is no right to drive.
    let interactive = second.attach(&family.mother).await;
    let prompt = json!({ "agent_id": family.child, "message": "more" });
    second.refused("NOT_ATTACHED", "prompt", prompt).await;
    let mark = second.mark();
    assert_eq!(family.answer(&second, &ask, "deny").await, json!({}));
    family.resolved(&second, mark).await;
    drop(interactive);
    let settled = second.attach(&family.mother).await;
    assert_eq!(settled.sync["pending_requests"], json!([]));
    assert!(!family.site.home.has("x.txt"));
}

#[tokio::test]
async fn a_question_moves_up_when_the_nearest_leaves_and_is_told_once_to_each() {
    let family = Family::new(600).await;
    let far = family.site.daemon.connect().await;
    far.attach(&family.grandmother).await;
    let own = family.site.daemon.connect().await;
    let child = own.attach(&family.child).await;
    let (far_mark, own_mark) = (far.mark(), own.mark());
    child.prompt("go").await;
    let ask = family.asked(&own, own_mark).await;
    // Whoever watches the child as well hears of it there, and not twice.
    let both = family.site.daemon.connect().await;
    both.observe(&family.child).await;
    both.attach(&family.grandmother).await;
    let both_mark = both.mark();
    drop(own);
    assert_eq!(family.asked(&far, far_mark).await, ask);
    assert_eq!(family.answer(&both, &ask, "allow").await, json!({}));
    family.resolved(&far, far_mark).await;
    family.resolved(&both, both_mark).await;
    let heard = both.messages_since(both_mark);
    assert!(of(&heard, "permission_request").is_empty(), "{heard:?}");
    assert_eq!(of(&heard, "permission_resolved").len(), 1);
}

#[tokio::test]
async fn the_policy_waits_while_an_ancestor_has_somebody_and_speaks_when_all_have_left() {
    let family = Family::new(1).await;
    let near = family.site.daemon.connect().await;
    near.attach(&family.mother).await;
    let watcher = family.site.client.observe(&family.child).await;
    let near_mark = near.mark();
    family.set_to_work().await;
    let ask = family.asked(&near, near_mark).await;
    let mark = watcher.mark();
    drop(near);
    let resolved = watcher.wait_for_type(mark, "permission_resolved").await;
    assert_eq!(resolved["request_id"], ask["request_id"]);
    assert_eq!(
        (word(&resolved["decision"]), word(&resolved["source"])),
        ("deny", "timeout")
    );
    watcher.wait_for_type(mark, "turn_end").await;
    // With nobody anywhere, the next one is answered at once; observers of ancestors are nobody.
    family.site.client.observe(&family.mother).await;
    let write = tool("write", json!({ "path": "y.txt", "content": "y" }));
    family.site.model.add(reply![write]);
    family.site.model.add(reply![text("understood")]);
    let turn = watcher
        .follow(watcher.prompt("go on").await, |_| Answer::Leave)
        .await;
    let resolved = turn.of("permission_resolved");
    assert_eq!(word(&resolved[0]["source"]), "headless");
}

#[tokio::test]
async fn the_end_of_the_child_closes_its_question_at_the_ancestor() {
    let family = Family::new(600).await;
    let near = family.site.daemon.connect().await;
    let mother = near.attach(&family.mother).await;
    let mark = near.mark();
    family.set_to_work().await;
    let ask = family.asked(&near, mark).await;
    let kill = json!({ "agent_id": family.child, "force": true });
    near.ok("agent.kill", kill).await;
    let resolved = family.resolved(&near, mark).await;
    assert_eq!(resolved["request_id"], ask["request_id"]);
    assert_eq!(resolved["source"], "aborted");
    drop(mother);
    let again = near.attach(&family.mother).await;
    assert_eq!(again.sync["pending_requests"], json!([]));
}

#[tokio::test]
async fn an_ancestor_whose_process_starts_anew_still_shows_the_question() {
    let family = Family::new(600).await;
    let near = family.site.daemon.connect().await;
    let mother = near.attach(&family.mother).await;
    let mark = near.mark();
    family.set_to_work().await;
    let ask = family.asked(&near, mark).await;
    near.ok("agent.kill", json!({ "agent_id": family.mother }))
        .await;
    // Its person is still there, whatever becomes of its process.
    let mark = near.mark();
    mother.send("set_mode", json!({ "mode": "plan" })).await;
    let sync = near.wait_for_type(mark, "sync").await;
    assert_eq!(sync["agent_id"], family.mother.as_str());
    assert_eq!(sync["runtime_epoch"], 1);
    assert_eq!(sync["pending_requests"], json!([ask]));
    assert_eq!(family.answer(&near, &ask, "allow").await, json!({}));
}
