//! The front door for browsers, as the real binary keeps it.

use serde_json::json;
use shard_testkit::{Browser, Http, HttpResponse, ScriptedModel};

use crate::Site;

/// Routes, as a browser of the daemon's own page asks for them.
fn routes(port: u16) -> Vec<(&'static str, Http)> {
    let none = json!({});
    vec![
        ("GET /", Http::get(port, "/")),
        ("GET /healthz", Http::get(port, "/healthz")),
        ("GET /metrics", Http::get(port, "/metrics")),
        ("GET /no/such", Http::get(port, "/no/such")),
        ("GET /ws", Http::upgrade(port, None)),
        (
            "POST /enroll/start",
            Http::post(port, "/enroll/start", &none),
        ),
        (
            "POST /enroll/claim",
            Http::post(port, "/enroll/claim", &none),
        ),
        (
            "POST /enroll/token",
            Http::post(port, "/enroll/token", &none),
        ),
        ("POST /bootstrap", Http::post(port, "/bootstrap", &none)),
        ("POST /logout", Http::post(port, "/logout", &none)),
    ]
}

/// What must stand on every answer.
fn assert_walled(what: &str, response: &HttpResponse) {
    let policy = response
        .header("content-security-policy")
        .unwrap_or_default();
    for part in [
        "default-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    ] {
        assert!(policy.contains(part), "{what}: {part} in {policy:?}");
    }
    let scripts = policy.split(';').find(|part| part.contains("script-src"));
    assert!(!scripts.unwrap().contains("unsafe"), "{what}: {policy}");
    assert_eq!(
        response.header("x-content-type-options"),
        Some("nosniff"),
        "{what}"
    );
    assert_eq!(
        response.header("referrer-policy"),
        Some("no-referrer"),
        "{what}"
    );
    let shared = response.header("access-control-allow-origin");
    let own = |origin: &str| origin.starts_with("http://127.0.0.1:");
    assert!(shared.is_none_or(own), "{what}: {shared:?}");
}

#[tokio::test]
async fn any_other_host_is_turned_away_before_anything_else() {
    let site = Site::start(ScriptedModel::silent()).await;
    let port = site.daemon.port();
    let hosts = [
        format!("localhost:{port}"),
        "127.0.0.1".to_owned(),
        "evil.test".to_owned(),
        format!("evil.test:{port}"),
        format!("127.0.0.1:{port}.evil.test"),
        format!("127.0.0.2:{port}"),
        format!("[::1]:{port}"),
        format!("0x7f000001:{port}"),
        "127.0.0.1:1".to_owned(),
        String::new(),
    ];
    for host in hosts {
        for (route, request) in routes(port) {
            let response = request.with("Host", &host).send().await;
            let what = format!("{route} with Host {host:?}");
            assert!(matches!(response.status, 421 | 400), "{what}: {response:?}");
            if !host.is_empty() {
                assert_eq!(response.status, 421, "{what}");
                let right = format!("http://127.0.0.1:{port}");
                assert!(response.body.contains(&right), "{what}: {response:?}");
                assert_walled(&what, &response);
            }
        }
    }
    for (route, request) in routes(port) {
        let twice = request.clone().and("Host", "evil.test").send().await;
        assert!(matches!(twice.status, 421 | 400), "{route}: {twice:?}");
        let none = request.without("Host").send().await;
        assert!(matches!(none.status, 421 | 400), "{route}: {none:?}");
    }
}

#[tokio::test]
async fn nothing_is_open_to_whoever_was_not_let_in() {
    let site = Site::start(ScriptedModel::silent()).await;
    let port = site.daemon.port();
    for (route, wanted) in [
        ("GET /healthz", 200),
        ("GET /metrics", 401),
        ("GET /ws", 401),
        ("POST /enroll/token", 401),
        ("POST /bootstrap", 401),
    ] {
        let (_, request) = routes(port).into_iter().find(|it| it.0 == route).unwrap();
        let response = request.send().await;
        assert_eq!(response.status, wanted, "{route}: {response:?}");
        assert_walled(route, &response);
    }
    for (route, request) in routes(port) {
        if !route.starts_with("POST") {
            continue;
        }
        for origin in [
            "http://evil.test",
            "null",
            "",
            &format!("http://localhost:{port}"),
        ] {
            let response = request.clone().with("Origin", origin).send().await;
            assert_eq!(response.status, 403, "{route} from {origin:?}");
            assert_walled(route, &response);
        }
        let response = request.clone().without("Origin").send().await;
        assert_eq!(response.status, 403, "{route} without Origin");
        let form = request.with("Content-Type", "text/plain").send().await;
        assert_eq!(form.status, 415, "{route} as a form sends it");
    }
    assert_eq!(
        Browser::enroll(port, &site.daemon.setup_token())
            .await
            .bootstrap()
            .await
            .status,
        200,
        "none of that used anything up"
    );
}

#[tokio::test]
async fn a_ticket_is_good_once_for_its_own_browser_and_page() {
    let site = Site::start(ScriptedModel::silent()).await;
    let (one, two) = (site.daemon.browser().await, site.daemon.browser().await);
    let port = site.daemon.port();
    let status = async |request: Http| request.send().await.status;

    assert_eq!(
        status(Http::upgrade(port, None).with("Cookie", &one.cookie)).await,
        401
    );
    assert_eq!(status(one.upgrade("nonsense")).await, 401);
    let ticket = one.ticket().await;
    assert_eq!(status(two.upgrade(&ticket)).await, 401, "another browser's");
    let ticket = one.ticket().await;
    assert_eq!(status(one.upgrade(&ticket).without("Cookie")).await, 401);
    for origin in [
        "http://evil.test",
        "null",
        &format!("http://localhost:{port}"),
        &format!("https://127.0.0.1:{port}"),
        &format!("http://127.0.0.1:{port}/"),
    ] {
        let ticket = one.ticket().await;
        let foreign = one.upgrade(&ticket).with("Origin", origin);
        assert_eq!(status(foreign).await, 400, "{origin}");
    }
    let ticket = one.ticket().await;
    assert_eq!(status(one.upgrade(&ticket).without("Origin")).await, 400);
    let ticket = one.ticket().await;
    let response = one.upgrade(&ticket).send().await;
    assert_eq!(response.status, 101, "{response:?}");
    assert_eq!(response.header("sec-websocket-protocol"), Some("shard.v0"));
    assert_eq!(status(one.upgrade(&ticket)).await, 401, "a second time");
}

#[tokio::test]
async fn a_cookie_alone_opens_nothing_and_a_token_works_once() {
    let site = Site::start(ScriptedModel::silent()).await;
    let port = site.daemon.port();
    let token = site.daemon.setup_token();
    let browser = Browser::enroll(port, &token).await;
    let again = Http::post(port, "/enroll/token", &json!({ "token": token }));
    assert_eq!(again.send().await.status, 401);
    let other = site.daemon.browser().await;
    let own = json!({ "client_secret": browser.client_secret });
    for (what, request) in [
        ("no secret", browser.post("/bootstrap", &json!({}))),
        (
            "a wrong secret",
            browser.post("/bootstrap", &json!({ "client_secret": "abc" })),
        ),
        ("another's secret", other.post("/bootstrap", &own)),
        ("no cookie", Http::post(port, "/bootstrap", &own)),
        (
            "the token of daemon.json",
            Http::post(port, "/bootstrap", &own).with(
                "Authorization",
                &format!("Bearer {}", site.daemon.file()["token"].as_str().unwrap()),
            ),
        ),
    ] {
        let response = request.send().await;
        assert_eq!(response.status, 401, "{what}: {response:?}");
        assert!(response.json().get("ticket").is_none(), "{what}");
    }
    assert_eq!(browser.bootstrap().await.status, 200);
}
