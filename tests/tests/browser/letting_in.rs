//! Browsers are let in one by one, and put out again.

use std::net::TcpListener;

use serde_json::json;
use shard_testkit::ScriptedModel;

use crate::{Site, WIDE};

#[tokio::test]
async fn the_token_leaves_the_address_at_once_and_works_once() {
    let site = Site::start(ScriptedModel::silent()).await;
    let token = site.client.ok("auth.token", json!({})).await;
    let url = token["url"].as_str().unwrap();
    let page = site.chromium.browser(WIDE.0, WIDE.1).await;
    page.open(url).await;
    page.connected().await;
    assert!(
        !page.address().await.contains("setup"),
        "{}",
        page.address().await
    );
    assert_eq!(
        page.script("return String(document.cookie)").await,
        "",
        "the cookie is out of reach of scripts"
    );

    let other = site.chromium.browser(WIDE.0, WIDE.1).await;
    other.open(url).await;
    other.find("setup-error").await;
    assert!(!other.address().await.contains("setup"));
    let fresh = site.client.ok("auth.token", json!({})).await;
    other
        .fill("setup-token-input", fresh["token"].as_str().unwrap())
        .await;
    other.click("setup-token-submit").await;
    other.connected().await;
    page.close().await;
    other.close().await;
}

#[tokio::test]
async fn a_browser_that_shows_a_code_is_let_in_by_a_terminal_and_put_out_again() {
    let site = Site::start(ScriptedModel::silent()).await;
    let page = site.chromium.browser(WIDE.0, WIDE.1).await;
    let address = format!("http://127.0.0.1:{}/", site.daemon.port());
    page.open(&address).await;
    page.click("setup-show-code").await;
    let code = page.find("setup-code").await.text().await.unwrap();
    site.client
        .ok("auth.approve", json!({ "code": code.trim() }))
        .await;
    page.connected().await;
    let list = site.client.ok("auth.list", json!({})).await;
    let principal = &list["principals"][0]["principal_id"];
    site.client
        .ok("auth.revoke", json!({ "principal_id": principal }))
        .await;
    page.find("setup").await;
    page.close().await;
}

#[tokio::test]
async fn no_other_page_can_put_the_client_into_a_frame() {
    let site = Site::start(ScriptedModel::silent()).await;
    let page = site.page().await;
    // The same host, so that even a strict cookie would come along.
    let framed = format!("http://127.0.0.1:{}/", site.daemon.port());
    let html = format!("<!doctype html><title>outside</title><iframe src=\"{framed}\"></iframe>");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let outside = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            use std::io::{Read, Write};
            let mut stream = stream;
            _ = stream.read(&mut [0; 4096]);
            _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{html}",
                html.len()
            );
        }
    });
    page.open(&outside).await;
    assert!(!page.frame_has(0, "connection-state").await);
    assert!(!page.frame_has(0, "setup").await);
    // The same page by itself is the client: so it was the frame that was refused.
    page.open(&framed).await;
    page.connected().await;
    page.close().await;
}
