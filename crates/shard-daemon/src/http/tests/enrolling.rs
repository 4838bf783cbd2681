//! Getting in, starting a page, logging out.

use serde_json::json;

use super::Server;
use super::harness::DEV_ORIGIN;

#[tokio::test]
async fn a_setup_token_gives_cookie_and_secret_once() {
    let server = Server::start().await;
    let token = server.security.setup_token().token;
    let redeem = server.post("/enroll/token", &json!({ "token": token }));
    let foreign = redeem.clone().header("Origin", "http://evil.example");
    assert_eq!(
        server.send(foreign).await.status,
        403,
        "and the token is as good as before"
    );
    let answer = server
        .send(redeem.clone().header("User-Agent", "Fox/1"))
        .await;
    assert_eq!(answer.status, 200);
    let cookie = answer.header("set-cookie").unwrap();
    assert!(
        cookie.starts_with(&format!("shard_session_{}=principal-", server.port)),
        "{cookie}"
    );
    assert!(
        cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/; Max-Age=7776000"),
        "{cookie}"
    );
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(!answer.json()["client_secret"].as_str().unwrap().is_empty());
    let known = server.security.list().principals;
    assert_eq!(known[0].user_agent.as_deref(), Some("Fox/1"));
    for wrong in [redeem, server.post("/enroll/token", &json!({}))] {
        let answer = server.send(wrong).await;
        assert_eq!(answer.status, 401);
        assert!(
            answer.json()["error"]
                .as_str()
                .unwrap()
                .contains("shard auth token")
        );
        assert_eq!(answer.header("set-cookie"), None);
    }
}

#[tokio::test]
async fn a_code_that_is_approved_lets_the_browser_in_once() {
    let server = Server::start().await;
    let started = server.send(server.post("/enroll/start", &json!({}))).await;
    assert_eq!(started.status, 200);
    let started = started.json();
    assert_eq!(started["expires_at"], 1_700_000_300_000_u64);
    let claim = server.post("/enroll/claim", &json!({ "nonce": started["nonce"] }));
    let waiting = server.send(claim.clone()).await;
    assert_eq!(
        (waiting.status, waiting.json()),
        (202, json!({ "status": "pending" }))
    );
    assert_eq!(waiting.header("set-cookie"), None);
    assert!(server.security.approve(started["code"].as_str().unwrap()));
    let answer = server.send(claim.clone()).await;
    assert_eq!(answer.status, 200);
    let browser = answer.browser();
    assert_eq!(server.send(claim).await.status, 410, "used");
    let unknown = server.post("/enroll/claim", &json!({ "nonce": "unknown" }));
    assert_eq!(server.send(unknown).await.status, 410);
    assert_eq!(
        server
            .send(server.post("/enroll/claim", &json!({})))
            .await
            .status,
        410
    );
    assert_eq!(server.send(server.bootstrap(&browser)).await.status, 200);
}

#[tokio::test]
async fn guessing_and_asking_too_often_are_throttled() {
    let server = Server::start().await;
    let start = server.post("/enroll/start", &json!({}));
    let wrong = server.post("/enroll/token", &json!({ "token": "wrong" }));
    for _ in 0..10 {
        assert_eq!(server.send(start.clone()).await.status, 200);
        assert_eq!(server.send(wrong.clone()).await.status, 401);
    }
    server.advance(58_500);
    let nonce = server.post("/enroll/claim", &json!({ "nonce": "wrong" }));
    for ask in [start.clone(), wrong.clone(), nonce] {
        let answer = server.send(ask).await;
        assert_eq!(answer.status, 429);
        assert_eq!(answer.header("retry-after"), Some("2"));
        assert!(
            answer.json()["error"]
                .as_str()
                .unwrap()
                .contains("try again in 2 s")
        );
    }
    server.advance(1_500);
    assert_eq!(server.send(start).await.status, 200);
    assert_eq!(server.send(wrong).await.status, 401);
}

#[tokio::test]
async fn a_page_starts_with_cookie_and_secret_of_one_browser() {
    let server = Server::start().await;
    let (one, two) = (server.enroll().await, server.enroll().await);
    let name = format!("shard_session_{}", server.port);
    let value = one.cookie.split_once('=').unwrap().1;
    let good = server.bootstrap(&one);
    let secret = |secret: serde_json::Value| {
        server
            .post("/bootstrap", &secret)
            .header("Cookie", &one.cookie)
    };
    for (case, ask) in [
        ("without cookie", good.clone().without("Cookie")),
        (
            "with a wrong cookie",
            good.clone().header("Cookie", &format!("{name}=abc")),
        ),
        (
            "with the secure name",
            good.clone()
                .header("Cookie", &format!("__Host-shard_session={value}")),
        ),
        (
            "with the old name",
            good.clone()
                .header("Cookie", &format!("shard_session={value}")),
        ),
        (
            "with two cookies",
            good.clone()
                .header("Cookie", &format!("{}; {}", two.cookie, one.cookie)),
        ),
        ("without secret", secret(json!({}))),
        (
            "with a wrong secret",
            secret(json!({ "client_secret": "abc" })),
        ),
        (
            "with another's secret",
            secret(json!({ "client_secret": two.secret })),
        ),
        (
            "with the bearer",
            good.clone()
                .without("Cookie")
                .header("Authorization", "Bearer metrics-token"),
        ),
    ] {
        let answer = server.send(ask).await;
        assert_eq!(answer.status, 401, "{case}");
        assert!(answer.json()["error"].is_string(), "{case}");
        assert_eq!(answer.header("set-cookie"), None, "{case}");
    }
    let answer = server.send(good.clone()).await;
    assert_eq!(answer.status, 200);
    let body = answer.json();
    assert_eq!(body["expires_at"], 1_700_000_030_000_u64);
    assert_eq!(body["protocol_version"], shard_protocol::PROTOCOL_VERSION);
    assert!(!body["ticket"].as_str().unwrap().is_empty());
    let cookie = answer.header("set-cookie").unwrap();
    assert!(
        cookie.starts_with(&one.cookie) && cookie.contains("Max-Age=7776000"),
        "{cookie}"
    );
    let crowded = format!("other=\u{e9}; {}; third=x", one.cookie);
    let among_others = server.send(good.clone().header("Cookie", &crowded)).await;
    assert_eq!(
        among_others.status, 200,
        "whatever other servers of this host have set"
    );
    let from_dev = server.send(good.header("Origin", DEV_ORIGIN)).await;
    assert_eq!(from_dev.status, 200);
}

#[tokio::test]
async fn logging_out_ends_the_session_and_may_be_repeated() {
    let server = Server::start().await;
    let browser = server.enroll().await;
    let logout = server.post("/logout", &json!({}));
    let stranger = server.send(logout.clone()).await;
    assert_eq!(
        stranger.status, 204,
        "one without a session has what it wants"
    );
    assert_eq!(server.send(server.bootstrap(&browser)).await.status, 200);
    for _ in 0..2 {
        let answer = server
            .send(logout.clone().header("Cookie", &browser.cookie))
            .await;
        assert_eq!(answer.status, 204);
        let cleared = format!(
            "shard_session_{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0",
            server.port
        );
        assert_eq!(answer.header("set-cookie"), Some(cleared.as_str()));
        assert_eq!(server.send(server.bootstrap(&browser)).await.status, 401);
    }
}

#[tokio::test]
async fn a_full_disk_is_said_without_naming_paths_to_strangers() {
    let server = Server::start().await;
    let browser = server.enroll().await;
    let token = server.security.setup_token().token;
    server.lose_the_disk();
    let enroll = server.post("/enroll/token", &json!({ "token": token }));
    let logout = server
        .post("/logout", &json!({}))
        .header("Cookie", &browser.cookie);
    for ask in [enroll, logout] {
        let answer = server.send(ask).await;
        assert_eq!(answer.status, 500);
        assert!(!answer.body.contains("security-v1"), "{answer:?}");
    }
    assert_eq!(
        server.send(server.bootstrap(&browser)).await.status,
        401,
        "out all the same"
    );
}
