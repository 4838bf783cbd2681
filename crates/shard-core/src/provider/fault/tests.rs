use super::*;

#[test]
fn words_decide_where_a_status_says_too_little() {
    let cases = [
        (
            400,
            r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#,
            Kind::ContextTooLong,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#,
            Kind::ContextTooLong,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            Kind::ContextTooLong,
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 10 tokens"}"#,
            Kind::ContextTooLong,
        ),
        (413, "too large", Kind::ContextTooLong),
        (400, r#"{"error":"model_not_found"}"#, Kind::NotFound),
        (
            400,
            r#"{"error":{"message":"rate limit words in a bad request"}}"#,
            Kind::Rejected,
        ),
        (
            429,
            r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#,
            Kind::Rejected,
        ),
        (
            429,
            r#"{"error":{"message":"too many tokens a minute"}}"#,
            Kind::Busy,
        ),
        (
            500,
            r#"{"error":{"message":"authentication_error"}}"#,
            Kind::Busy,
        ),
    ];
    for (status, body, kind) in cases {
        assert_eq!(
            classify(status, &Fault::of_body(body)),
            kind,
            "{status} {body}"
        );
    }
}

#[test]
fn the_servers_own_words_are_found() {
    let cases = [
        (r#"{"error":{"message":"a"}}"#, "a"),
        (r#"{"error":"b"}"#, "b"),
        (r#"{"message":"c"}"#, "c"),
        (r#"{"detail":"d"}"#, "d"),
        (
            r#"{"error":{"message":"e","metadata":{"raw":"f"}}}"#,
            "e: f",
        ),
        ("plain", "plain"),
        ("{}", ""),
        ("<!DOCTYPE html><head><TITLE>T</TITLE>", "an HTML page (T)"),
    ];
    for (body, words) in cases {
        assert_eq!(Fault::of_body(body).words, words, "{body}");
    }
}
