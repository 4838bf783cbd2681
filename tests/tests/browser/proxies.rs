//! The web client from elsewhere: by way of real proxies over TLS, and directly.

use serde_json::json;
use shard_testkit::{DaemonProcess, Home, Http};

use crate::WIDE;
use crate::chromium::Chromium;
use crate::proxy::{Front, Sort};

#[tokio::test]
async fn behind_caddy_a_browser_comes_in_works_and_is_put_out() {
    comes_in_works_and_is_put_out(Sort::Caddy).await;
}

#[tokio::test]
async fn behind_nginx_a_browser_comes_in_works_and_is_put_out() {
    comes_in_works_and_is_put_out(Sort::Nginx).await;
}

#[tokio::test]
async fn directly_over_a_network_a_browser_comes_in_works_and_is_put_out() {
    let home = Home::builder().build();
    let front = Front::new(&home);
    let flags = front.direct_flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let daemon = DaemonProcess::start_at(&home, front.port(), &flags).await;
    let origin = front.plaintext_origin();
    let cookie = format!("shard_session_{}", front.port());
    visit(&home, &front, &daemon, &origin, (cookie, false)).await;
}

async fn comes_in_works_and_is_put_out(sort: Sort) {
    // Without a configuration, the demo answers.
    let home = Home::builder().build();
    let front = Front::new(&home);
    let flags = front.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let daemon = DaemonProcess::start(&home, &flags).await;
    let _proxy = front.start(sort, &home, daemon.port()).await;
    let cookie = "__Host-shard_session".to_owned();
    visit(&home, &front, &daemon, &front.origin(), (cookie, true)).await;
    let direct = Http::get(daemon.port(), "/").send().await;
    assert_eq!(direct.status, 421, "past the proxy there is nothing");
}

/// What somebody far away does; `cookie` is its name, and whether TLS is between.
async fn visit(
    home: &Home,
    front: &Front,
    daemon: &DaemonProcess,
    origin: &str,
    (cookie, secure): (String, bool),
) {
    let client = daemon.connect().await;
    let chromium = Chromium::start(home);
    let page = chromium
        .browser_with(WIDE.0, WIDE.1, &front.arguments())
        .await;
    let token = client.ok("auth.token", json!({})).await;
    let url = token["url"].as_str().unwrap();
    assert!(url.starts_with(&format!("{origin}/#setup=")), "{url}");
    page.open(url).await;
    page.connected().await;
    assert_eq!(page.address().await, format!("{origin}/"));
    let is_secure = page.script("return window.isSecureContext").await;
    assert_eq!(is_secure, secure.to_string());
    assert_eq!(page.script("return String(document.cookie)").await, "");
    assert_eq!(page.cookie().await, (cookie, [secure, true, true]));

    let wish = json!({ "cwd": home.work(), "name": "far", "headless_policy": "queue" });
    let agent = client.create(wish).await;
    page.click(&format!("agent-row-{agent}")).await;
    page.find("composer").await;
    page.say("read README.md").await;
    page.shows("The demo calls read.").await;
    page.reads("tool-card", &["read"]).await;
    page.gone("stop").await;

    let list = client.ok("auth.list", json!({})).await;
    let principal = &list["principals"][0]["principal_id"];
    let revoke = json!({ "principal_id": principal });
    client.ok("auth.revoke", revoke).await;
    page.find("setup").await;
    page.close().await;
}
