//! What every request has to pass, and what every answer has.

use serde_json::json;

use super::harness::{DEV_ORIGIN, METRICS_TOKEN};
use super::{Ask, Server};

const POSTS: [&str; 5] = [
    "/enroll/start",
    "/enroll/claim",
    "/enroll/token",
    "/bootstrap",
    "/logout",
];

#[tokio::test]
async fn any_other_host_is_refused_before_the_route_with_the_right_address() {
    let server = Server::start().await;
    let port = server.port;
    let host = format!("127.0.0.1:{port}");
    for path in [
        "/",
        "/healthz",
        "/no/such",
        "/robots.txt",
        "/ws",
        "/metrics",
        "/bootstrap",
    ] {
        let get = server.get(path);
        let mut asks: Vec<Ask> = [
            format!("localhost:{port}"),
            "127.0.0.1".to_owned(),
            "evil.example".to_owned(),
            format!("127.0.0.1:{port}.evil.example"),
            format!("127.0.0.2:{port}"),
            format!("[::1]:{port}"),
            "127.0.0.1:1".to_owned(),
            format!("{host}, {host}"),
            String::new(),
        ]
        .map(|other| get.clone().header("Host", &other))
        .into();
        asks.push(get.clone().without("Host"));
        asks.push(get.clone().also("Host", &host));
        asks.push(get.clone().also("Host", "evil.example"));
        asks.push(server.get(&format!("http://evil.example{path}")));
        asks.push(server.get(&format!("http://{host}{path}")));
        asks.push(server.post(path, &json!({})).header("Host", "evil.example"));
        asks.push(
            get.clone()
                .method("OPTIONS")
                .header("Host", "x")
                .header("Origin", DEV_ORIGIN),
        );
        for ask in asks {
            let shown = String::from_utf8(ask.bytes()).unwrap();
            let answer = server.send(ask).await;
            assert_eq!(answer.status, 421, "{shown}");
            assert!(
                answer.body.contains(&format!("{}/ ", server.origin)),
                "{answer:?}"
            );
            assert_eq!(answer.body.lines().count(), 1, "{answer:?}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    assert_eq!(server.send(server.get("/healthz")).await.status, 200);
}

#[tokio::test]
async fn changes_need_an_allowed_origin_and_then_json() {
    let server = Server::start().await;
    for path in POSTS {
        let post = server.post(path, &json!({}));
        let foreign = [
            post.clone().without("Origin"),
            post.clone().header("Origin", "http://evil.example"),
            post.clone().header("Origin", "null"),
            post.clone()
                .header("Origin", &format!("{}/", server.origin)),
            post.clone().also("Origin", &server.origin),
            post.clone()
                .header("Origin", "null")
                .header("Content-Type", "text/plain"),
        ];
        for ask in foreign {
            let answer = server.send(ask).await;
            assert_eq!(answer.status, 403, "{path}");
            assert!(answer.json()["error"].as_str().unwrap().contains("Origin"));
        }
        let not_json = [
            post.clone().header("Content-Type", "text/plain"),
            post.clone().without("Content-Type"),
            post.clone().also("Content-Type", "application/json"),
        ];
        for ask in not_json {
            let answer = server.send(ask).await;
            assert_eq!(answer.status, 415, "{path}");
            assert!(
                answer.json()["error"]
                    .as_str()
                    .unwrap()
                    .contains("application/json")
            );
        }
    }
    let utf8 = "application/json; charset=utf-8";
    let ask = server
        .post("/enroll/start", &json!({}))
        .header("Content-Type", utf8);
    assert_eq!(server.send(ask).await.status, 200);
}

#[tokio::test]
async fn a_body_is_small_and_an_object() {
    let server = Server::start().await;
    for body in ["", "[]", "null", "{", "{\"token\":1}"] {
        let mut ask = server.post("/enroll/token", &json!({}));
        ask.body = body.into();
        assert_eq!(server.send(ask).await.status, 400, "{body}");
    }
    let large = server.post("/enroll/token", &json!({ "token": "x".repeat(16 * 1024) }));
    let answer = server.send(large).await;
    assert_eq!(answer.status, 413);
    assert!(answer.json()["error"].is_string());
}

#[tokio::test]
async fn only_allowed_origins_are_echoed() {
    let server = Server::start().await;
    let preflight = |origin: &str| {
        server
            .get("/bootstrap")
            .method("OPTIONS")
            .header("Origin", origin)
            .header("Access-Control-Request-Method", "POST")
            .header("Access-Control-Request-Headers", "content-type")
    };
    let answer = server.send(preflight(DEV_ORIGIN)).await;
    assert_eq!(answer.status, 204);
    assert_eq!(
        answer.header("access-control-allow-origin"),
        Some(DEV_ORIGIN)
    );
    assert_eq!(
        answer.header("access-control-allow-credentials"),
        Some("true")
    );
    assert_eq!(
        answer.header("access-control-allow-methods"),
        Some("GET, POST, OPTIONS")
    );
    assert_eq!(
        answer.header("access-control-allow-headers"),
        Some("Authorization, Content-Type")
    );
    assert_eq!(answer.header("vary"), Some("Origin"));
    for origin in [
        "http://evil.example",
        "http://localhost:51730",
        "https://localhost:5173",
        "null",
    ] {
        let post = server
            .post("/enroll/start", &json!({}))
            .header("Origin", origin);
        for ask in [
            preflight(origin),
            server.get("/healthz").header("Origin", origin),
            post,
        ] {
            let answer = server.send(ask).await;
            let names = answer.headers.iter().map(|(name, _)| name.as_str());
            let cors: Vec<_> = names.filter(|n| n.starts_with("access-control-")).collect();
            assert!(cors.is_empty(), "{origin}: {answer:?}");
        }
    }
    for (body, status) in [
        (json!({ "token": "wrong" }), 401),
        (json!({ "token": 1 }), 400),
    ] {
        let ask = server
            .post("/enroll/token", &body)
            .header("Origin", DEV_ORIGIN);
        let answer = server.send(ask).await;
        assert_eq!(answer.status, status);
        assert_eq!(
            answer.header("access-control-allow-origin"),
            Some(DEV_ORIGIN)
        );
        assert_eq!(
            answer.header("access-control-allow-credentials"),
            Some("true")
        );
    }
}

#[tokio::test]
async fn a_path_takes_only_its_methods() {
    let server = Server::start().await;
    for (method, path, status, allow) in [
        ("GET", "/bootstrap", 405, Some("POST")),
        ("POST", "/healthz", 405, Some("GET,HEAD")),
        ("DELETE", "/ws", 405, Some("GET,HEAD")),
        ("POST", "/", 405, Some("GET, HEAD")),
        ("POST", "/robots.txt", 405, Some("GET, HEAD")),
        ("POST", "/no/such", 404, None),
        ("PUT", "/no/such", 404, None),
        ("GET", "/enroll", 404, None),
        ("HEAD", "/healthz", 200, None),
        ("TRACE", "/", 405, Some("GET, HEAD")),
    ] {
        let answer = server
            .send(server.post(path, &json!({})).method(method))
            .await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(answer.header("allow"), allow, "{method} {path}");
    }
}

#[tokio::test]
async fn health_is_open_and_metrics_are_not() {
    let server = Server::start().await;
    let answer = server.send(server.get("/healthz")).await;
    assert_eq!(
        (answer.status, answer.json()),
        (200, json!({ "ok": true, "version": "1.2.3" }))
    );
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let metrics = server.get("/metrics");
    let bearer = |value: &str| metrics.clone().header("Authorization", value);
    let right = format!("Bearer {METRICS_TOKEN}");
    for refused in [
        metrics.clone(),
        bearer("Bearer wrong"),
        bearer("Bearer "),
        bearer(METRICS_TOKEN),
        bearer(&format!("Basic {METRICS_TOKEN}")),
        bearer(&right).also("Authorization", &right),
        server.get(&format!("/metrics?token={METRICS_TOKEN}")),
    ] {
        let answer = server.send(refused).await;
        assert_eq!(answer.status, 401);
        assert!(!answer.body.contains("shard_up"));
    }
    let answer = server.send(bearer(&right)).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "shard_up 1\n"));
}
