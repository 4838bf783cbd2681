use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use shard_contracts::{
    Provider, ProviderError, ProviderErrorKind as Kind, ProviderEvent, ProviderRequest, StopReason,
};
use shard_types::{ContentBlock, EntryId, Message, ModelSpec, Role};

use super::server::{After, Answer, Server};
use shard_config::{OpenAiApi, ProviderKind, Secret};

use crate::provider::{KeySource, ProviderSettings, build};

const KEY: &str = "sk-test-0123456789";
const HEADER: &str = "header-secret-77";

const HELLO: &str = r#"{"choices":[{"delta":{"content":"hello"}}]}"#;
const END: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
const USED: &str = r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2}}"#;

fn request() -> ProviderRequest {
    ProviderRequest {
        model: ModelSpec {
            id: "m1".into(),
            ..ModelSpec::default()
        },
        system: "be brief".into(),
        messages: vec![Message {
            id: EntryId::generate(),
            role: Role::User,
            content: vec![ContentBlock::Text { text: "hi".into() }],
            partial: false,
        }],
        tools: Vec::new(),
        reasoning: None,
    }
}

fn settings(base: String) -> ProviderSettings {
    ProviderSettings {
        key: KeySource::Fixed(Secret::new(KEY)),
        key_origin: Some("the variable MOCK_KEY".into()),
        headers: vec![("x-token".into(), HEADER.into())],
        stall_timeout: Duration::from_millis(300),
        ..ProviderSettings::new("mock", ProviderKind::OpenAi, base)
    }
}

type Outcome = (Vec<ProviderEvent>, Option<ProviderError>);

async fn call(provider: &dyn Provider) -> Outcome {
    let mut stream = provider.stream(request());
    let (mut events, mut error) = (Vec::new(), None);
    while let Some(item) = stream.next().await {
        assert_eq!(error, None, "nothing follows an error");
        match item {
            Ok(event) => events.push(event),
            Err(why) => error = Some(why),
        }
    }
    (events, error)
}

async fn play(answer: Answer) -> Outcome {
    let server = Server::start(vec![answer]).await;
    call(&*build(settings(server.base("/v1")))).await
}

fn text(delta: &str) -> ProviderEvent {
    ProviderEvent::Text {
        block: 0,
        delta: delta.into(),
    }
}

#[tokio::test]
async fn two_calls_share_a_connection_and_carry_the_key() {
    let good = Answer::events(&[HELLO, END, USED, "[DONE]"], After::Keep);
    let server = Server::start(vec![good.clone(), good]).await;
    let provider = build(settings(server.base("/v1")));
    for _ in 0..2 {
        let (events, error) = call(&*provider).await;
        assert_eq!(error, None);
        assert_eq!(events[0], text("hello"));
        assert_eq!(events.last(), Some(&ProviderEvent::Stop(StopReason::Done)));
        assert_eq!(events.len(), 3);
    }
    assert_eq!(server.connections(), 1, "the connection was kept");
    let requests = server.requests();
    assert!(
        requests[0].starts_with("POST /v1/chat/completions HTTP/1.1"),
        "{}",
        requests[0]
    );
    let head = requests[0].to_lowercase();
    assert!(
        head.contains(&format!("authorization: bearer {KEY}")),
        "{head}"
    );
    assert!(head.contains(&format!("x-token: {HEADER}")), "{head}");
}

#[tokio::test]
async fn a_character_that_the_server_cut_in_two_comes_whole() {
    let events = [
        r#"{"choices":[{"delta":{"content":"a crab: \ud83e"}}]}"#,
        r#"{"choices":[{"delta":{"content":"\udd80!"}}]}"#,
        END,
    ];
    let (events, error) = play(Answer::events(&events, After::Keep)).await;
    assert_eq!(error, None);
    assert_eq!(events[..2], [text("a crab: "), text("🦀!")]);
}

#[tokio::test]
async fn the_messages_api_is_asked_its_own_way() {
    let events = [
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let server = Server::start(vec![Answer::events(&events, After::Keep)]).await;
    let settings = ProviderSettings {
        kind: ProviderKind::Anthropic,
        ..settings(server.base(""))
    };
    let (events, error) = call(&*build(settings)).await;
    assert_eq!((events[0].clone(), error), (text("hello"), None));
    let head = server.requests()[0].to_lowercase();
    assert!(head.starts_with("post /v1/messages http/1.1"), "{head}");
    assert!(
        head.contains(&format!("x-api-key: {KEY}")) && !head.contains("authorization"),
        "{head}"
    );
    assert!(head.contains("anthropic-version: 2023-06-01"), "{head}");
}

#[tokio::test]
async fn responses_are_asked_for_at_their_own_address() {
    let events = [
        r#"{"type":"response.output_text.delta","delta":"hello"}"#,
        r#"{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":10,"output_tokens":2}}}"#,
    ];
    let whole = r#"{"object":"response","status":"completed","output":[
        {"type":"message","content":[{"type":"output_text","text":"hello"}]}]}"#;
    let told = r#"{"type":"response.failed","response":{"status":"failed",
        "error":{"code":"rate_limit_exceeded","message":"slow down"}}}"#
        .replace('\n', " ");
    let refused = r#"{"object":"response","status":"failed","error":{"code":"context_length_exceeded","message":"too much"}}"#;
    let server = Server::start(vec![
        Answer::events(&events, After::Keep),
        Answer::json(200, whole),
        Answer::events(&[events[0], &told], After::Keep),
        Answer::json(200, refused),
        Answer::events(&events[..1], After::Keep),
    ])
    .await;
    let provider = build(ProviderSettings {
        api: OpenAiApi::Responses,
        ..settings(server.base("/v1"))
    });
    let (seen, error) = call(&*provider).await;
    assert_eq!(
        (seen[0].clone(), seen.len(), error),
        (text("hello"), 3, None)
    );
    let (seen, error) = call(&*provider).await;
    assert_eq!(
        (seen[0].clone(), seen.len(), error),
        (text("hello"), 2, None)
    );
    for (first, kind, words) in [
        (Some(text("hello")), Kind::Busy, "slow down"),
        (None, Kind::ContextTooLong, "too much"),
        (Some(text("hello")), Kind::Network, "in the middle"),
    ] {
        let (seen, error) = call(&*provider).await;
        let error = error.expect("an error");
        assert_eq!(
            (seen.first(), error.kind),
            (first.as_ref(), kind),
            "{error}"
        );
        assert!(error.message.contains(words), "{error}");
    }
    let request = &server.requests()[0];
    assert!(
        request.starts_with("POST /v1/responses HTTP/1.1"),
        "{request}"
    );
    let head = request.to_lowercase();
    assert!(
        head.contains(&format!("authorization: bearer {KEY}")),
        "{head}"
    );
    assert!(request.contains(r#""store":false"#), "{request}");
}

#[tokio::test]
async fn every_status_has_its_kind_and_no_error_holds_a_secret() {
    let words = format!("bad key {KEY} and {HEADER} in http://x/?key={KEY}");
    let body = serde_json::json!({ "error": { "message": words } }).to_string();
    let cases = [
        (401, Kind::Auth, "MOCK_KEY"),
        (403, Kind::Auth, "MOCK_KEY"),
        (404, Kind::NotFound, "base_url"),
        (302, Kind::NotFound, "base_url"),
        (400, Kind::Rejected, "bad key"),
        (402, Kind::Rejected, "bad key"),
        (408, Kind::Busy, "408"),
        (429, Kind::Busy, "429"),
        (500, Kind::Busy, "500"),
        (529, Kind::Busy, "529"),
    ];
    for (status, kind, names) in cases {
        for body in [body.as_str(), words.as_str()] {
            let (events, error) = play(Answer::json(status, body)).await;
            let error = error.expect("an error");
            assert_eq!((events, error.kind), (vec![], kind), "{status}: {error}");
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains(KEY) && !shown.contains(HEADER), "{shown}");
            for part in [names, "mock/m1", "/v1/chat/completions"] {
                assert!(shown.contains(part), "{part} in {shown}");
            }
        }
    }
}

#[tokio::test]
async fn a_key_in_the_address_stays_out_of_errors() {
    let server = Server::start(vec![Answer::json(
        500,
        "no luck with urlsecret and pa55word",
    )])
    .await;
    let base = server
        .base("/v1?key=urlsecret")
        .replace("//", "//user1:pa55word@");
    let provider = build(ProviderSettings {
        key: KeySource::None,
        ..settings(base)
    });
    let shown = call(&*provider).await.1.expect("an error").to_string();
    assert!(
        !shown.contains("urlsecret") && !shown.contains("pa55word"),
        "{shown}"
    );
    assert!(server.requests()[0].starts_with("POST /v1/chat/completions?key=urlsecret"));
}

#[tokio::test]
async fn a_busy_server_names_its_time() {
    let busy = |header: &str| Answer::with(429, header, "");
    let (_, error) = play(busy("retry-after: 2\r\n")).await;
    let error = error.expect("an error");
    assert_eq!(
        (error.kind, error.retry_after),
        (Kind::Busy, Some(Duration::from_secs(2)))
    );
    let (_, error) = play(busy("")).await;
    assert_eq!(error.expect("an error").retry_after, None);
}

#[tokio::test]
async fn a_cut_is_no_end_and_what_came_before_it_is_kept() {
    for (events, seen) in [(&[][..], vec![]), (&[HELLO][..], vec![text("hello")])] {
        let (got, error) = play(Answer::events(events, After::Cut)).await;
        let error = error.expect("an error");
        assert_eq!((got, error.kind), (seen, Kind::Network), "{error}");
    }
    // The body ends well, the answer does not.
    let (_, error) = play(Answer::events(&[HELLO], After::Keep)).await;
    assert_eq!(error.expect("an error").kind, Kind::Network);
    // Without `[DONE]` a reason to finish is enough, even when the end of the body is missing.
    let (got, error) = play(Answer::events(&[HELLO, END], After::Keep)).await;
    assert_eq!((got.len(), error), (2, None));
}

#[tokio::test]
async fn silence_ends_the_call() {
    for answer in [
        Answer::events(&[HELLO], After::Hang),
        Answer::raw("", After::Hang),
    ] {
        let (_, error) = play(answer).await;
        let error = error.expect("an error");
        assert_eq!(error.kind, Kind::Stalled, "{error}");
    }
}

#[tokio::test]
async fn an_error_inside_a_good_answer_is_an_error() {
    let told = format!(r#"{{"error":{{"message":"overloaded, {KEY}","code":529}}}}"#);
    let (events, error) = play(Answer::events(&[HELLO, &told, END], After::Keep)).await;
    let error = error.expect("an error");
    assert_eq!((events, error.kind), (vec![text("hello")], Kind::Busy));
    assert!(error.message.contains("overloaded, ***"), "{error}");
}

#[tokio::test]
async fn another_kind_of_server_is_recognised() {
    let page = Answer::with(
        200,
        "content-type: text/html\r\n",
        "<html><title>Router</title></html>",
    );
    let cases = [
        (page, "an HTML page (Router)"),
        (
            Answer::json(200, r#"{"error":{"message":"who are you"}}"#),
            "who are you",
        ),
        (Answer::json(200, r#"{"ok":true}"#), "no event stream"),
        (
            Answer::with(200, "content-type: text/event-stream\r\n", "hello\n\n"),
            "event stream",
        ),
        (Answer::events(&["hello"], After::Keep), "hello"),
    ];
    for (answer, words) in cases {
        let error = play(answer).await.1.expect("an error");
        assert_eq!(error.kind, Kind::Malformed, "{error}");
        assert!(
            error.message.contains(words) && error.message.contains("base_url"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_read_as_well() {
    let whole = r#"{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]}"#;
    let (events, error) = play(Answer::json(200, whole)).await;
    assert_eq!(
        (events, error),
        (
            vec![text("hello"), ProviderEvent::Stop(StopReason::Done)],
            None
        )
    );
}

#[tokio::test]
async fn nobody_at_the_address_is_said_so() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let base = format!("http://{}/v1", listener.local_addr().expect("an address"));
    drop(listener);
    let error = call(&*build(settings(base))).await.1.expect("an error");
    assert_eq!(error.kind, Kind::Network, "{error}");
    assert!(error.message.contains("running"), "{error}");
    let error = call(&*build(settings("nonsense".into())))
        .await
        .1
        .expect("an error");
    assert_eq!(error.kind, Kind::Rejected, "{error}");
}

#[tokio::test]
async fn dropping_the_stream_ends_the_connection() {
    let server = Server::start(vec![Answer::events(&[HELLO], After::Hang)]).await;
    let provider = build(settings(server.base("/v1")));
    let mut stream = provider.stream(request());
    assert!(
        server.requests().is_empty(),
        "nothing is sent before the stream is polled"
    );
    assert_eq!(stream.next().await, Some(Ok(text("hello"))));
    drop(stream);
    server.until_hung_up().await;
}

#[tokio::test]
async fn models_are_asked_for_once() {
    let list = r#"{"data":[{"id":"m1","context_length":4096},{"id":"m2"}]}"#;
    let answers = vec![Answer::json(500, "not yet"), Answer::json(200, list)];
    let server = Server::start(answers).await;
    let provider = build(settings(server.base("/v1")));
    assert_eq!(
        provider.models().await.expect_err("an error").kind,
        Kind::Busy
    );
    for _ in 0..2 {
        let models = provider.models().await.expect("models");
        assert_eq!((models.len(), models[0].context_window), (2, Some(4096)));
    }
    assert_eq!(
        server.requests().len(),
        2,
        "a failure is not kept, a list is"
    );
    assert!(server.requests()[0].starts_with("GET /v1/models HTTP"));
}

#[tokio::test]
async fn a_lazy_key_is_fetched_once_and_again_after_a_refusal() {
    let good = Answer::events(&[END], After::Keep);
    let answers = vec![good.clone(), good.clone(), Answer::json(401, ""), good];
    let server = Server::start(answers).await;
    let count = Arc::new(AtomicUsize::new(0));
    let fetches = Arc::clone(&count);
    let fetch = move || {
        let number = fetches.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok(Secret::new(format!("lazy-{number}")))).boxed()
    };
    let key = KeySource::Lazy(Arc::new(fetch));
    let provider = build(ProviderSettings {
        key,
        ..settings(server.base("/v1"))
    });
    assert_eq!(count.load(Ordering::Relaxed), 0);
    for _ in 0..4 {
        call(&*provider).await;
    }
    let used = |n: usize| server.requests()[n].contains(&format!("lazy-{}", n / 3));
    assert!((0..4).all(used), "{:?}", server.requests());
}

#[tokio::test]
async fn a_key_that_cannot_be_had_is_an_error_of_the_call() {
    let fetch = || std::future::ready(Err("MOCK_KEY is not set".to_owned())).boxed();
    let key = KeySource::Lazy(Arc::new(fetch));
    let provider = build(ProviderSettings {
        key,
        ..settings("http://127.0.0.1:1/v1".into())
    });
    let error = call(&*provider).await.1.expect("an error");
    assert_eq!(error.kind, Kind::Auth);
    assert!(error.message.contains("MOCK_KEY is not set"), "{error}");
}
