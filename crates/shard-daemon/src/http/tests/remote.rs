//! A daemon that is reached from elsewhere: by way of a proxy, and directly.

use serde_json::json;

use super::harness::{Browser, Server};
use super::wire::Ask;
use crate::security::access::WebOptions;

const PUBLIC: &str = "https://shard.example";

fn behind(upstream: &str, insecure: bool) -> WebOptions {
    WebOptions {
        public_host: Some("shard.example".to_owned()),
        allowed_origins: vec![PUBLIC.to_owned(), "http://shard.example".to_owned()],
        trust_proxy: Some(upstream.to_owned()),
        allow_insecure_remote: insecure,
        ..WebOptions::default()
    }
}

/// A server whose proxy is every program of this machine.
async fn proxied() -> Server {
    Server::reached(behind("loopback", false), 512).await
}

impl Ask {
    /// As a proxy passes it on.
    fn over(self, scheme: &str) -> Self {
        self.header("Host", "shard.example")
            .header("X-Forwarded-Proto", scheme)
            .header("X-Forwarded-Host", "shard.example")
            .header("X-Forwarded-For", "203.0.113.9")
    }
}

/// Lets a browser in that comes with this scheme; gives it and all of its cookie.
async fn enroll(server: &Server, scheme: &str) -> (Browser, String) {
    let token = server.security.setup_token().token;
    let ask = server.post("/enroll/token", &json!({ "token": token }));
    let answer = server.send(ask.over(scheme)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let cookie = answer.header("set-cookie").unwrap().to_owned();
    (answer.browser(), cookie)
}

#[tokio::test]
async fn by_way_of_tls_a_browser_gets_a_secure_cookie_a_ticket_and_a_socket() {
    let server = proxied().await;
    assert_eq!(server.origin, PUBLIC);
    let (browser, cookie) = enroll(&server, "https").await;
    let (name, rest) = cookie.split_once('=').unwrap();
    assert_eq!(name, "__Host-shard_session");
    assert!(
        rest.ends_with("; HttpOnly; SameSite=Strict; Path=/; Max-Age=7776000; Secure"),
        "{cookie}"
    );
    let answer = server.send(server.bootstrap(&browser).over("https")).await;
    assert_eq!(answer.status, 200);
    assert!(answer.header("set-cookie").unwrap().ends_with("; Secure"));
    let ticket = answer.json()["ticket"].as_str().unwrap().to_owned();
    let upgrade = server.upgrade(&ticket, &browser.cookie);
    assert_eq!(server.send(upgrade.clone().over("http")).await.status, 403);
    assert_eq!(server.send(upgrade.over("https")).await.status, 101);
    let plain = browser.cookie.replace(
        "__Host-shard_session",
        &format!("shard_session_{}", server.port),
    );
    let other_form = server.bootstrap(&browser).header("Cookie", &plain);
    assert_eq!(server.send(other_form.over("https")).await.status, 401);
    let logout = server
        .post("/logout", &json!({}))
        .header("Cookie", &browser.cookie);
    let answer = server.send(logout.over("https")).await;
    assert_eq!(answer.status, 204);
    let cleared = answer.header("set-cookie").unwrap();
    assert!(cleared.starts_with("__Host-shard_session=;") && cleared.ends_with("; Secure"));
}

/// How a request differs from one that a proxy passes on rightly: a header that is set, added (`+`)
/// or taken out (`-`). `LISTENER` stands for the address of the listener.
type Changes = &'static [(&'static str, &'static str)];

const PROTO: &str = "X-Forwarded-Proto";
const HTTP: (&str, &str) = (PROTO, "http");
const BEARER: (&str, &str) = ("Authorization", "Bearer metrics-token");

const ROWS: &[(&str, Changes, u16)] = &[
    ("GET /", &[], 200),
    ("GET /", &[(PROTO, "HTTPS")], 200),
    ("GET /", &[HTTP], 403),
    ("GET /", &[("-X-Forwarded-Proto", "")], 403),
    ("GET /", &[("-X-Forwarded-Host", "")], 200),
    ("GET /", &[("+X-Forwarded-Proto", "https")], 400),
    ("GET /", &[("+X-Forwarded-Host", "shard.example")], 400),
    ("GET /", &[("X-Forwarded-Host", "evil.example")], 400),
    ("GET /", &[("X-Forwarded-Host", "shard.example:80")], 400),
    ("GET /", &[("Host", "evil.example")], 421),
    ("GET /", &[("Host", "LISTENER")], 421),
    (
        "GET /",
        &[HTTP, ("Host", "x"), ("+X-Forwarded-Host", "y")],
        421,
    ),
    ("GET /healthz", &[], 200),
    ("GET /healthz", &[HTTP], 200),
    ("GET /healthz", &[HTTP, ("Host", "x")], 421),
    ("GET /metrics", &[BEARER], 200),
    ("GET /metrics", &[], 401),
    ("GET /metrics", &[HTTP, BEARER], 403),
    ("POST /enroll/start", &[], 200),
    ("POST /enroll/start", &[HTTP], 403),
    (
        "POST /enroll/start",
        &[("Origin", "https://evil.example")],
        403,
    ),
    ("POST /enroll/start", &[("Origin", "http://LISTENER")], 403),
    ("POST /bootstrap", &[], 200),
    ("POST /bootstrap", &[HTTP], 401),
    ("POST /bootstrap", &[HTTP, ("-Cookie", "")], 403),
    ("OPTIONS /", &[("Origin", PUBLIC)], 204),
    ("OPTIONS /", &[("Origin", PUBLIC), HTTP], 403),
];

#[tokio::test]
async fn every_request_by_way_of_a_proxy_is_judged_by_what_the_proxy_says() {
    let server = proxied().await;
    let (browser, _) = enroll(&server, "https").await;
    let listener = format!("127.0.0.1:{}", server.port);
    for (request, changes, status) in ROWS {
        let (method, path) = request.split_once(' ').unwrap();
        let body = json!({ "client_secret": browser.secret });
        let mut ask = match method {
            "POST" => server.post(path, &body).header("Cookie", &browser.cookie),
            _ => server.get(path).method(method),
        };
        ask = ask.over("https");
        for (name, value) in *changes {
            let value = value.replace("LISTENER", &listener);
            ask = match name.split_at(1) {
                ("+", name) => ask.also(name, &value),
                ("-", name) => ask.without(name),
                _ => ask.header(name, &value),
            };
        }
        // With the protection on it: that is looked at wherever an answer is read.
        let answer = server.send(ask).await;
        assert_eq!(answer.status, *status, "{request} {changes:?}: {answer:?}");
        let has_ticket = *path == *"/bootstrap" && *status == 200;
        assert_eq!(answer.header("set-cookie").is_some(), has_ticket);
    }
}

#[tokio::test]
async fn a_stranger_forwards_nothing() {
    for insecure in [false, true] {
        // The test is not at that address.
        let server = Server::reached(behind("203.0.113.7", insecure), 512).await;
        let strange = if insecure { 200 } else { 403 };
        let page = server.get("/").over("https");
        assert_eq!(server.send(page.clone()).await.status, strange);
        let spoofed = page.clone().header("X-Forwarded-Host", "evil.example");
        let twice = page.clone().also("X-Forwarded-Proto", "https");
        let as_proxy = page.header("X-Forwarded-For", "203.0.113.7");
        for ask in [spoofed, twice, as_proxy] {
            assert_eq!(server.send(ask).await.status, strange, "ignored");
        }
        let token = server.security.setup_token().token;
        let enroll = server.post("/enroll/token", &json!({ "token": token }));
        let answer = server.send(enroll.over("https")).await;
        assert_eq!(answer.status, strange);
        if insecure {
            let cookie = answer.header("set-cookie").unwrap();
            assert!(cookie.starts_with("shard_session_") && !cookie.contains("Secure"));
        }
    }
}

#[tokio::test]
async fn with_consent_plaintext_is_served_with_a_cookie_of_its_own() {
    let server = Server::reached(behind("loopback", true), 512).await;
    let (plain, cookie) = enroll(&server, "http").await;
    assert!(
        cookie.starts_with(&format!("shard_session_{}=", server.port)),
        "{cookie}"
    );
    assert!(!cookie.contains("Secure"), "{cookie}");
    let (secure, _) = enroll(&server, "https").await;
    let bootstrap = |browser, scheme| server.send(server.bootstrap(browser).over(scheme));
    assert_eq!(bootstrap(&plain, "http").await.status, 200);
    assert_eq!(
        bootstrap(&plain, "https").await.status,
        401,
        "the other form"
    );
    assert_eq!(bootstrap(&secure, "https").await.status, 200);
    let stray = bootstrap(&secure, "http").await;
    assert_eq!(stray.status, 401);
    assert!(stray.json()["error"].as_str().unwrap().contains("https"));
    assert!(stray.json().get("ticket").is_none());
    let both = server.bootstrap(&plain).also("Cookie", &secure.cookie);
    assert_eq!(server.send(both.over("http")).await.status, 401);
}

#[tokio::test]
async fn directly_on_a_network_nothing_forwarded_counts() {
    let options = WebOptions {
        web_host: Some("0.0.0.0".parse().unwrap()),
        public_host: Some("shard.example:7411".to_owned()),
        allowed_origins: vec!["http://shard.example:7411".to_owned()],
        allow_insecure_remote: true,
        ..WebOptions::default()
    };
    let server = Server::reached(options, 512).await;
    assert_eq!(server.origin, "http://shard.example:7411");
    let get = server.get("/").header("Host", "shard.example:7411");
    for (what, ask, status) in [
        ("a page", get.clone(), 200),
        (
            "the proxy's headers",
            get.clone()
                .over("https")
                .header("Host", "shard.example:7411")
                .header("X-Forwarded-Host", "evil"),
            200,
        ),
        ("loopback", server.get("/"), 421),
        (
            "without its port",
            get.clone().header("Host", "shard.example"),
            421,
        ),
        (
            "loopback's origin",
            server
                .post("/enroll/start", &json!({}))
                .header("Host", "shard.example:7411")
                .header("Origin", &format!("http://127.0.0.1:{}", server.port)),
            403,
        ),
    ] {
        assert_eq!(server.send(ask).await.status, status, "{what}");
    }
    let token = server.security.setup_token();
    assert!(token.url.starts_with("http://shard.example:7411/#setup="));
    let body = json!({ "token": token.token });
    let ask = server
        .post("/enroll/token", &body)
        .header("Host", "shard.example:7411");
    let answer = server.send(ask).await;
    let cookie = answer.header("set-cookie").unwrap();
    assert!(
        cookie.starts_with(&format!("shard_session_{}=", server.port)),
        "{cookie}"
    );
    assert!(!cookie.contains("Secure"));
}

#[tokio::test]
async fn the_other_loopback_address_works_alike() {
    let options = WebOptions {
        web_host: Some("::1".parse().unwrap()),
        ..WebOptions::default()
    };
    let server = Server::reached(options, 512).await;
    let host = format!("[::1]:{}", server.port);
    assert_eq!(server.origin, format!("http://{host}"));
    let get = server.get("/healthz").header("Host", &host);
    assert_eq!(server.send(get).await.status, 200);
    let start = server
        .post("/enroll/start", &json!({}))
        .header("Host", &host);
    assert_eq!(server.send(start).await.status, 200);
    assert_eq!(server.send(server.get("/healthz")).await.status, 421);
}
