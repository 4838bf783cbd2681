//! The web client's files.

use super::Server;

const HTML: &str = "text/html,application/xhtml+xml;q=0.9";

#[tokio::test]
async fn the_page_is_served_at_the_root_and_for_places_within_the_client() {
    let server = Server::start().await;
    for (path, accept, status) in [
        ("/", "*/*", 200),
        ("/", HTML, 200),
        ("/?x=1", HTML, 200),
        ("/index.html", "*/*", 200),
        ("/agent/x", HTML, 200),
        ("/agent/x", "*/*", 404),
        ("/no/such/file", "application/json", 404),
        ("/no/such.html", HTML, 404),
        ("/_app/immutable/gone", HTML, 404),
        ("/_app/immutable/gone.js", "*/*", 404),
        ("/../Cargo.toml", HTML, 404),
        ("/%2e%2e/Cargo.toml", HTML, 404),
        ("//robots.txt", "*/*", 404),
    ] {
        let answer = server.send(server.get(path).header("Accept", accept)).await;
        assert_eq!(answer.status, status, "{path} {accept}");
        if status == 200 {
            assert_eq!(answer.body, "<script>go()</script>page");
            assert_eq!(
                answer.header("content-type"),
                Some("text/html; charset=utf-8")
            );
            assert_eq!(answer.header("cache-control"), Some("no-cache"));
        } else {
            assert_eq!(answer.body.lines().count(), 1, "{answer:?}");
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
    }
}

#[tokio::test]
async fn hashed_assets_are_kept_for_good_and_served_compressed() {
    let server = Server::start().await;
    let path = "/_app/immutable/a.1f3.js";
    for (accept, encoding, body) in [
        ("gzip, deflate, br", Some("br"), "brotli"),
        ("gzip", Some("gzip"), "gzip"),
        ("br;q=0, gzip;q=0.1", Some("gzip"), "gzip"),
        ("identity", None, "plain"),
    ] {
        let ask = server.get(path).header("Accept-Encoding", accept);
        let answer = server.send(ask.clone()).await;
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (200, body),
            "{accept}"
        );
        assert_eq!(answer.header("content-encoding"), encoding);
        assert_eq!(
            answer.header("content-type"),
            Some("text/javascript; charset=utf-8")
        );
        assert_eq!(
            answer.header("cache-control"),
            Some("public, max-age=31536000, immutable")
        );
        assert_eq!(answer.header("vary"), Some("Accept-Encoding, Origin"));
        let head = server.send(ask.method("HEAD")).await;
        assert_eq!((head.status, head.body.as_str()), (200, ""));
        assert_eq!(
            head.header("content-length"),
            Some(body.len().to_string().as_str())
        );
    }
    for sibling in [
        "/_app/immutable/a.1f3.js.br",
        "/_app/immutable/a.1f3.js.gz",
        "/index.html.br",
    ] {
        assert_eq!(
            server.send(server.get(sibling)).await.status,
            404,
            "{sibling}"
        );
    }
}

#[tokio::test]
async fn a_page_that_is_known_is_not_sent_again() {
    let server = Server::start().await;
    let plain = server.get("/");
    let brotli = plain.clone().header("Accept-Encoding", "br");
    let tag = |answer: &super::wire::Answer| answer.header("etag").unwrap().to_owned();
    let (plain_tag, brotli_tag) = (
        tag(&server.send(plain.clone()).await),
        tag(&server.send(brotli.clone()).await),
    );
    assert_ne!(plain_tag, brotli_tag);
    for known in [
        plain_tag.clone(),
        format!("W/{plain_tag}"),
        format!("\"x\", {plain_tag}"),
        "*".into(),
    ] {
        let answer = server
            .send(plain.clone().header("If-None-Match", &known))
            .await;
        assert_eq!((answer.status, answer.body.as_str()), (304, ""), "{known}");
        assert_eq!(answer.header("etag"), Some(plain_tag.as_str()));
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
    }
    let other = brotli.header("If-None-Match", &plain_tag);
    assert_eq!(server.send(other).await.body, "brotli page");
}
