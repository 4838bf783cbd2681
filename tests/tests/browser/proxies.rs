//! The web client by way of a real proxy, over TLS.

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

async fn comes_in_works_and_is_put_out(sort: Sort) {
    // Without a configuration, the demo answers.
    let home = Home::builder().build();
    let front = Front::new(&home);
    let flags = front.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let daemon = DaemonProcess::start(&home, &flags).await;
    let _proxy = front.start(sort, &home, daemon.port()).await;
    let client = daemon.connect().await;
    let chromium = Chromium::start(&home);
    let page = chromium
        .browser_with(WIDE.0, WIDE.1, &front.arguments())
        .await;
    let token = client.ok("auth.token", json!({})).await;
    let url = token["url"].as_str().unwrap();
    assert!(
        url.starts_with(&format!("{}/#setup=", front.origin())),
        "{url}"
    );
    page.open(url).await;
    page.connected().await;
    let address = page.address().await;
    assert_eq!(address, format!("{}/", front.origin()));
    assert_eq!(page.script("return window.isSecureContext").await, "true");
    assert_eq!(page.script("return String(document.cookie)").await, "");
    let cookie = page.cookie().await;
    assert_eq!(cookie, ("__Host-shard_session".to_owned(), [true; 3]));

    let wish = json!({ "cwd": home.work(), "name": "far", "headless_policy": "queue" });
    let agent = client.create(wish).await;
    page.click(&format!("agent-row-{agent}")).await;
    page.find("composer").await;
    page.say("read README.md").await;
    page.shows("The demo calls read.").await;
    page.reads("tool-card", &["read"]).await;
    page.gone("stop").await;

    let direct = Http::get(daemon.port(), "/").send().await;
    assert_eq!(direct.status, 421, "past the proxy there is nothing");
    let list = client.ok("auth.list", json!({})).await;
    let principal = &list["principals"][0]["principal_id"];
    let revoke = json!({ "principal_id": principal });
    client.ok("auth.revoke", revoke).await;
    page.find("setup").await;
    page.close().await;
}
