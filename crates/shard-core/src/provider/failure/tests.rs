use reqwest::header::{HeaderMap, HeaderValue};

use super::*;
use shard_config::ProviderKind;

fn target() -> Target {
    let settings = ProviderSettings::new("p", ProviderKind::OpenAi, "http://h/v1");
    let mut target = Target::new(&settings, Some("m"), "http://h/v1/chat/completions");
    target.hide("key-1");
    target.hide("key-1-longer");
    target
}

#[test]
fn quotes_are_clean_before_they_are_cut() {
    let long = format!("{}key-1-longer tail", "x".repeat(MAX_WORDS - 8));
    let quoted = target().quote(&long);
    assert!(
        !quoted.contains("key") && quoted.contains("***"),
        "{quoted}"
    );
    assert_eq!(target().quote("a\n\tb key-1"), "a b ***");
}

#[test]
fn times_to_wait_are_read_in_every_form() {
    let wait = |name: &'static str, value: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        retry_after(&headers, 784_111_777_000)
    };
    assert_eq!(wait("retry-after", "2"), Some(Duration::from_secs(2)));
    assert_eq!(wait("retry-after", "0.5"), Some(Duration::from_millis(500)));
    assert_eq!(
        wait("retry-after-ms", "1500"),
        Some(Duration::from_millis(1500))
    );
    let date = wait("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT");
    assert_eq!(date, Some(Duration::from_secs(30)));
    assert_eq!(
        wait("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"),
        Some(Duration::ZERO)
    );
    for bad in ["soon", "-1", "NaN"] {
        assert_eq!(wait("retry-after", bad), None, "{bad}");
    }
}

#[test]
fn addresses_are_shown_without_what_may_be_a_key() {
    assert_eq!(public_url("https://u:p@h:1/x?k=v#f"), "https://h:1/x");
    assert_eq!(public_url("u:p@h/x?k=v"), "h/x");
}
