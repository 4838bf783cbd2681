//! How an agent reaches the server of its model: over TLS, through a proxy, with which headers and
//! which key.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod front;
mod keys;

use serde_json::{Value, json};
use shard_testkit::{AgentProcess, Home, HomeBuilder, Mark, ScriptedModel, Turn, reply, text};

use front::{CERTIFICATES, Proxy, tls};

/// One turn of a new agent, and all that the agent printed.
async fn turn(home: &Home) -> (Turn, String) {
    let agent = AgentProcess::start(home, &[]);
    let turn = agent.turn("go").await;
    agent.quit().await;
    let printed = format!(
        "{} {}",
        json!(agent.messages_since(Mark::START)),
        agent.stderr()
    );
    (turn, printed)
}

/// The one error of a turn that failed.
fn failed(turn: &Turn) -> String {
    assert_eq!(turn.reason(), "error");
    let errors = turn.of("error");
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors[0]["message"].as_str().unwrap().to_owned()
}

/// A home whose provider is at that address, with its proxy in these variables and no other.
fn at(base_url: &str, provider: Value, proxy: &[(&str, &str)]) -> Home {
    let home = Home::builder().base_url(base_url).provider_config(provider);
    let home = home.env("SHARD_LOG", "debug").env("NO_PROXY", "");
    let set = |home: HomeBuilder, (name, value): &(&str, &str)| home.env(name, value);
    proxy.iter().fold(home, set).build()
}

fn trusting() -> Value {
    json!({ "ca_file": format!("{CERTIFICATES}/authority.pem") })
}

#[tokio::test]
async fn a_server_whose_authority_is_in_ca_file_is_trusted_and_no_other() {
    let model = ScriptedModel::start([reply![text("over tls")]]);
    let base = format!("https://localhost:{}/v1", tls(model.address()).await);
    let (good, _) = turn(&at(&base, trusting(), &[])).await;
    assert_eq!((good.text().as_str(), good.reason()), ("over tls", "done"));
    let broken = std::env::temp_dir().join("no-such-file.pem");
    for (provider, words) in [
        (json!({}), &["certificate", "ca_file"][..]),
        (
            json!({ "ca_file": broken }),
            &["no-such-file.pem", "cannot read"],
        ),
        (
            json!({ "ca_file": concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml") }),
            &["no certificate in PEM", "Cargo.toml"],
        ),
    ] {
        let (turn, _) = turn(&at(&base, provider, &[])).await;
        let told = failed(&turn);
        for words in words {
            assert!(told.contains(words), "{words:?} in {told}");
        }
        let statuses = json!(turn.of("status")).to_string();
        assert!(
            !statuses.contains("retrying"),
            "waiting changes no certificate: {statuses}"
        );
    }
    assert_eq!(model.requests().len(), 1);
}

/// What the proxy is asked for, if it is: the variables, then the first line of each connection.
async fn through(scheme: &str, variables: &[(&str, &str)], want: &[&str]) {
    let model = ScriptedModel::start([reply![text("here")]]);
    let secure = scheme == "https";
    let server = match secure {
        true => ([127, 0, 0, 1], tls(model.address()).await).into(),
        false => model.address(),
    };
    let proxy = Proxy::start(server).await;
    let address = format!("http://{}", proxy.address);
    let port = server.port().to_string();
    let fill = |text: &str| text.replace("PROXY", &address).replace("PORT", &port);
    let variables: Vec<_> = variables
        .iter()
        .map(|(name, value)| (*name, fill(value)))
        .collect();
    let variables: Vec<_> = variables.iter().map(|(n, v)| (*n, v.as_str())).collect();
    let provider = if secure { trusting() } else { json!({}) };
    // Only the proxy knows where `models.example` is.
    let host = match want {
        [] => format!("localhost:{port}"),
        _ => "models.example".to_owned(),
    };
    let home = at(&format!("{scheme}://{host}/v1"), provider, &variables);
    let (turn, _) = turn(&home).await;
    assert_eq!(
        turn.reason(),
        "done",
        "{scheme} {variables:?}: {:?}",
        turn.of("error")
    );
    assert_eq!(turn.text(), "here");
    assert_eq!(proxy.asked_for(), want, "{scheme} {variables:?}");
}

#[tokio::test]
async fn proxies_are_taken_from_the_environment_and_hosts_are_spared() {
    let tunnel = &["CONNECT models.example:443 HTTP/1.1"][..];
    let whole = &["POST http://models.example/v1/chat/completions HTTP/1.1"][..];
    for (scheme, variables, want) in [
        ("https", &[("HTTPS_PROXY", "PROXY")][..], tunnel),
        ("https", &[("https_proxy", "PROXY")], tunnel),
        ("https", &[("ALL_PROXY", "PROXY")], tunnel),
        (
            "https",
            &[("HTTPS_PROXY", "PROXY"), ("NO_PROXY", "other.example")],
            tunnel,
        ),
        (
            "https",
            &[
                ("HTTPS_PROXY", "PROXY"),
                ("NO_PROXY", "a.example, localhost"),
            ],
            &[],
        ),
        ("https", &[("HTTPS_PROXY", "PROXY"), ("NO_PROXY", "*")], &[]),
        ("https", &[("HTTP_PROXY", "PROXY")], &[]),
        ("http", &[("HTTP_PROXY", "PROXY")], whole),
        ("http", &[("HTTPS_PROXY", "PROXY")], &[]),
        (
            "http",
            &[("HTTP_PROXY", "PROXY"), ("NO_PROXY", "localhost")],
            &[],
        ),
    ] {
        through(scheme, variables, want).await;
    }
}

#[tokio::test]
async fn the_password_of_a_proxy_is_for_the_proxy_alone() {
    let model = ScriptedModel::start([reply![text("here")]]);
    let proxy = Proxy::start(([127, 0, 0, 1], tls(model.address()).await).into()).await;
    let url = format!("http://someone:pa55w0rd@{}", proxy.address);
    let base = "https://models.example/v1";
    let (good, printed) = turn(&at(base, trusting(), &[("HTTPS_PROXY", &url)])).await;
    assert_eq!(good.text(), "here");
    let heads = proxy.heads().to_lowercase();
    assert!(heads.contains("proxy-authorization: basic "), "{heads}");
    assert_eq!(model.request(0).await.header("proxy-authorization"), None);
    assert!(!printed.contains("pa55w0rd"), "{printed}");
}

#[tokio::test]
async fn headers_of_the_configuration_are_sent_and_shown_nowhere() {
    let model = ScriptedModel::start([reply![text("here")]]);
    let headers = json!({ "X-Team": "blue-team-77", "User-Agent": "house/1" });
    let home = Home::builder()
        .model(&model)
        .provider_config(json!({ "headers": headers }))
        .env("SHARD_LOG", "debug")
        .build();
    let (good, printed) = turn(&home).await;
    assert_eq!(good.text(), "here");
    let request = model.request(0).await;
    assert_eq!(request.header("x-team"), Some("blue-team-77"));
    assert_eq!(request.header("user-agent"), Some("house/1"), "theirs win");
    assert!(!printed.contains("blue-team-77"), "{printed}");
}
