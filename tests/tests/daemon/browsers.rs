//! Browsers that are let in, and those that are put out again.

use serde_json::{Value, json};
use shard_testkit::{Http, Mark, ScriptedModel, reply, text};

use crate::Site;

#[tokio::test]
async fn a_page_of_another_allowed_origin_has_tickets_of_its_own() {
    let dev = "http://127.0.0.1:5173";
    let config = json!({ "daemon": { "allowed_origins": [dev] } });
    let site = Site::with(ScriptedModel::silent(), |home| home.config(config), &[]).await;
    let browser = site.daemon.browser().await;
    let secret = json!({ "client_secret": browser.client_secret });
    let ticket = async || {
        let answer = browser.post("/bootstrap", &secret).with("Origin", dev);
        let answer = answer.send().await;
        assert_eq!(answer.header("access-control-allow-origin"), Some(dev));
        answer.json()["ticket"].as_str().unwrap().to_owned()
    };
    let elsewhere = browser.upgrade(&ticket().await).send().await;
    assert_eq!(elsewhere.status, 401, "it was made for the other page");
    let there = browser.upgrade(&ticket().await).with("Origin", dev);
    assert_eq!(there.send().await.status, 101);
    let preflight = Http::new(site.daemon.port(), "OPTIONS", "/bootstrap")
        .with("Access-Control-Request-Method", "POST");
    for (origin, wanted) in [(dev, Some(dev)), ("http://127.0.0.1:51730", None)] {
        let answer = preflight.clone().with("Origin", origin).send().await;
        assert_eq!(answer.header("access-control-allow-origin"), wanted);
    }
}

#[tokio::test]
async fn who_logs_out_is_out_and_nobody_else() {
    let site = Site::start(ScriptedModel::start([reply![text("still here")]])).await;
    let (leaving, staying) = (site.daemon.browser().await, site.daemon.browser().await);
    let (first, second) = (leaving.connect().await, leaving.connect().await);
    let other = staying.connect().await;
    let ticket = leaving.ticket().await;
    let response = leaving.post("/logout", &json!({})).send().await;
    assert_eq!(response.status, 204);
    let cleared = response.header("set-cookie").unwrap();
    assert!(
        cleared.to_ascii_lowercase().contains("max-age=0"),
        "{cleared}"
    );
    first.ended().await;
    second.ended().await;
    assert_eq!(leaving.upgrade(&ticket).send().await.status, 401);
    assert_eq!(leaving.bootstrap().await.status, 401);
    let id = other.create(site.cwd()).await;
    assert_eq!(
        other.attach(&id).await.turn("go").await.text(),
        "still here"
    );
}

#[tokio::test]
async fn who_is_revoked_is_out_and_nobody_else() {
    let site = Site::start(ScriptedModel::silent()).await;
    let (out, staying) = (site.daemon.browser().await, site.daemon.browser().await);
    let (first, other) = (out.connect().await, staying.connect().await);
    let listed = other.ok("auth.list", json!({})).await;
    let principals = listed["principals"].as_array().unwrap();
    assert_eq!(principals.len(), 2, "{listed}");
    for (kind, fields) in [
        ("auth.token", json!({})),
        ("auth.approve", json!({ "code": "ABCD2345" })),
    ] {
        other.refused("PERMISSION_DENIED", kind, fields).await;
    }
    let ticket = out.ticket().await;
    // The one that asked for a ticket last was seen last.
    let seen = |principal: &&Value| principal["last_seen_at"].as_u64();
    let listed = site.client.ok("auth.list", json!({})).await;
    let principals = listed["principals"].as_array().unwrap();
    let last = principals.iter().max_by_key(seen).unwrap();
    let unknown = json!({ "principal_id": "principal-nope" });
    site.client
        .refused("NOT_FOUND", "auth.revoke", unknown)
        .await;
    let revoke = json!({ "principal_id": last["principal_id"] });
    site.client.ok("auth.revoke", revoke).await;
    first.ended().await;
    assert_eq!(out.upgrade(&ticket).send().await.status, 401);
    assert_eq!(out.bootstrap().await.status, 401);
    assert_eq!(staying.bootstrap().await.status, 200);
    assert!(other.is_open());
    let hello = &other.messages_since(Mark::START)[0];
    assert_eq!(hello["type"], "hello");
}

#[tokio::test]
async fn a_code_that_a_person_approves_lets_one_browser_in() {
    let site = Site::start(ScriptedModel::silent()).await;
    let port = site.daemon.port();
    let start = Http::post(port, "/enroll/start", &json!({}))
        .send()
        .await
        .json();
    let claim = Http::post(port, "/enroll/claim", &json!({ "nonce": start["nonce"] }));
    assert_eq!(claim.clone().send().await.status, 202);
    let wrong = json!({ "code": "ZZZZZZZZ" });
    site.client
        .refused("NOT_FOUND", "auth.approve", wrong)
        .await;
    assert_eq!(claim.clone().send().await.status, 202);
    let code = json!({ "code": start["code"] });
    site.client.ok("auth.approve", code).await;
    let claimed = claim.clone().send().await;
    assert_eq!(claimed.status, 200, "{claimed:?}");
    assert!(claimed.json()["client_secret"].is_string());
    assert!(claimed.header("set-cookie").is_some());
    assert_eq!(claim.send().await.status, 410, "once");
}
