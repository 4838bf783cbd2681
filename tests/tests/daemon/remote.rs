//! A daemon that browsers reach from elsewhere: its flags, and what they make of requests.

use rustix::process::Signal;
use serde_json::json;
use shard_testkit::{Http, ScriptedModel, run_cli, signal};

use crate::Site;

/// Behind a proxy on this machine, which ends TLS for `shard.example`.
const PROXIED: [&str; 6] = [
    "--trust-proxy",
    "loopback",
    "--public-host",
    "shard.example",
    "--allowed-origin",
    "https://shard.example",
];

fn forwarded(request: Http) -> Http {
    request
        .with("Host", "shard.example")
        .with("Origin", "https://shard.example")
        .with("X-Forwarded-Proto", "https")
        .with("X-Forwarded-Host", "shard.example")
}

#[tokio::test]
async fn what_does_not_add_up_is_a_wrong_use_and_starts_nothing() {
    let home = shard_testkit::Home::new(&ScriptedModel::silent());
    for (flags, says) in [
        (
            &["--web-host", "0.0.0.0"][..],
            "--public-host HOST:PORT and --allowed-origin ORIGIN and --allow-insecure-remote",
        ),
        (
            &["--trust-proxy", "loopback"],
            "--public-host HOST:PORT and --allowed-origin ORIGIN",
        ),
        (
            &["--trust-proxy", "10.0.0.0/8"],
            "--trust-proxy `10.0.0.0/8`",
        ),
        (
            &["--public-host", "shard.example"],
            "--public-host is for access from elsewhere",
        ),
        (
            &["--allow-insecure-remote"],
            "--allow-insecure-remote is for access from elsewhere",
        ),
        (&["--proxy-host-header", "X-Host"], "add --trust-proxy"),
        (
            &["--allowed-origin", "*"],
            "--allowed-origin `*` is no origin",
        ),
        (&["--web-host", "localhost"], "--web-host"),
    ] {
        for command in ["daemon", "web"] {
            let arguments = [&[command, "--port", "0"], flags].concat();
            let output = run_cli(&home, &arguments, None).await;
            assert_eq!(output.code(), 2, "{arguments:?}: {}", output.stderr);
            assert!(
                output.stderr.contains(says),
                "{arguments:?}: {}",
                output.stderr
            );
            assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
        }
    }
    assert!(!home.shard_home().join("daemon.json").exists());
}

#[tokio::test]
async fn behind_a_proxy_the_address_is_the_public_one_and_only_tls_counts() {
    let site = Site::with(ScriptedModel::silent(), |home| home, &PROXIED).await;
    let url = site.daemon.stdout();
    assert!(url.starts_with("https://shard.example/#setup="), "{url}");
    let minted = site.client.ok("auth.token", json!({})).await;
    assert!(
        minted["url"]
            .as_str()
            .unwrap()
            .starts_with("https://shard.example/#setup=")
    );
    let stderr = site.daemon.stderr();
    assert!(!stderr.contains("plaintext"), "{stderr}");
    let port = site.daemon.port();
    let token = json!({ "token": site.daemon.setup_token() });
    let enroll = Http::post(port, "/enroll/token", &token);
    assert_eq!(enroll.clone().send().await.status, 421, "as on loopback");
    let plaintext = forwarded(enroll.clone()).with("X-Forwarded-Proto", "http");
    assert_eq!(plaintext.send().await.status, 403);
    let mismatch = forwarded(enroll.clone()).with("X-Forwarded-Host", "evil.example");
    assert_eq!(mismatch.send().await.status, 400);
    let own = forwarded(enroll.clone()).with("Origin", &format!("http://127.0.0.1:{port}"));
    assert_eq!(
        own.send().await.status,
        403,
        "loopback's origin means nothing here"
    );
    let answer = forwarded(enroll).send().await;
    assert_eq!(
        answer.status, 200,
        "none of that used the token up: {answer:?}"
    );
    let cookie = answer.header("set-cookie").unwrap();
    assert!(
        cookie.starts_with("__Host-shard_session=") && cookie.contains("; Secure"),
        "{cookie}"
    );
    let secret = json!({ "client_secret": answer.json()["client_secret"] });
    let bootstrap =
        Http::post(port, "/bootstrap", &secret).with("Cookie", cookie.split(';').next().unwrap());
    let stray = forwarded(bootstrap.clone()).with("X-Forwarded-Proto", "http");
    assert_eq!(stray.send().await.status, 401);
    assert_eq!(forwarded(bootstrap).send().await.status, 200);
    let health = Http::get(port, "/healthz").with("Host", "shard.example");
    assert_eq!(health.send().await.status, 200);
}

#[tokio::test]
async fn what_crosses_a_network_in_plaintext_is_said_at_the_start() {
    let direct = [
        "--web-host",
        "0.0.0.0",
        "--public-host",
        "127.0.0.1:1234",
        "--allowed-origin",
        "http://127.0.0.1:1234",
        "--allow-insecure-remote",
    ];
    let site = Site::with(ScriptedModel::silent(), |home| home, &direct).await;
    let stderr = site.daemon.stderr();
    let warnings: Vec<_> = stderr
        .lines()
        .filter(|line| line.contains("WARN"))
        .collect();
    assert_eq!(warnings.len(), 1, "{stderr}");
    assert!(
        warnings[0].contains("cookies") && warnings[0].contains("plaintext"),
        "{stderr}"
    );
    let url = site.daemon.stdout();
    assert!(url.starts_with("http://127.0.0.1:1234/#setup="), "{url}");
    let page = Http::get(site.daemon.port(), "/healthz");
    assert_eq!(page.clone().send().await.status, 421);
    let right = page
        .with("Host", "127.0.0.1:1234")
        .with("X-Forwarded-Host", "evil.example");
    assert_eq!(right.send().await.status, 200, "nobody is a proxy");
}

#[tokio::test]
async fn a_daemon_that_is_started_in_the_background_gets_the_flags() {
    let home = shard_testkit::Home::new(&ScriptedModel::silent());
    let arguments = [&["web", "--no-open", "--port", "0"], &PROXIED[..]].concat();
    let output = run_cli(&home, &arguments, None).await;
    assert_eq!(output.code(), 0, "{}", output.stderr);
    assert!(
        output.stdout.starts_with("https://shard.example/#setup="),
        "{}",
        output.stdout
    );
    let again = run_cli(&home, &arguments, None).await;
    assert!(again.stderr.contains("shard shutdown"), "{}", again.stderr);
    let file = std::fs::read(home.shard_home().join("daemon.json")).unwrap();
    let file: serde_json::Value = serde_json::from_slice(&file).unwrap();
    signal(
        u32::try_from(file["pid"].as_u64().unwrap()).unwrap(),
        Signal::TERM,
    );
}
