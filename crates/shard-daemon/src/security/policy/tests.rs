use super::*;
use crate::security::access::WebOptions;

type Judged = Result<Scheme, Refusal>;

type Headers<'h> = &'h [(&'h str, &'h str)];

const DEV: &str = "http://localhost:5173";

fn policy(options: WebOptions, port: u16) -> Policy {
    let access = WebAccess::new(options).unwrap();
    Policy::new(&access, (access.address(), port).into())
}

fn loopback(port: u16) -> Policy {
    let options = WebOptions {
        allowed_origins: vec![DEV.to_owned()],
        ..WebOptions::default()
    };
    policy(options, port)
}

fn proxied(public: &str, origin: &str, upstream: &str, insecure: bool) -> Policy {
    let options = WebOptions {
        public_host: Some(public.to_owned()),
        allowed_origins: vec![origin.to_owned()],
        trust_proxy: Some(upstream.to_owned()),
        allow_insecure_remote: insecure,
        ..WebOptions::default()
    };
    policy(options, 7411)
}

fn judge(policy: &Policy, peer: &str, headers: Headers<'_>) -> Judged {
    let values = |name: &str| {
        let named: Vec<_> = headers.iter().filter(|(it, _)| *it == name).collect();
        named.into_iter().map(|(_, value)| value.as_bytes())
    };
    let judged = policy.judge(peer.parse().unwrap(), values);
    judged.map(|effective| effective.scheme)
}

#[test]
fn on_loopback_only_the_exact_host_and_origins_are_accepted() {
    let policy = loopback(7411);
    let host = |host: &str| judge(&policy, "127.0.0.1", &[("host", host)]);
    assert_eq!(host("127.0.0.1:7411"), Ok(Scheme::Http));
    for other in [
        "localhost:7411",
        "127.0.0.1",
        "127.0.0.1:7411.evil.example",
        "127.0.0.2:7411",
        "[::1]:7411",
        "127.1:7411",
        "0.0.0.0:7411",
        "127.0.0.1:07411",
        "127.0.0.1:7411.",
        "",
    ] {
        assert_eq!(host(other), Err(Refusal::Misdirected), "{other}");
    }
    for origin in ["http://127.0.0.1:7411", DEV] {
        assert_eq!(policy.accepted_origin(origin.as_bytes()), Some(origin));
    }
    for origin in [
        "http://evil.example",
        "https://127.0.0.1:7411",
        "http://localhost:7411",
        "http://127.0.0.1:7411/",
        "http://127.0.0.1:7411.evil.example",
        "http://localhost:51730",
        "HTTP://LOCALHOST:5173",
        "null",
        "*",
        "",
    ] {
        assert_eq!(policy.accepted_origin(origin.as_bytes()), None, "{origin}");
    }
}

#[test]
fn the_default_port_is_left_out_as_browsers_do() {
    let policy = loopback(80);
    let host = |host: &str| judge(&policy, "127.0.0.1", &[("host", host)]);
    assert_eq!(host("127.0.0.1"), Ok(Scheme::Http));
    assert_eq!(host("127.0.0.1:80"), Err(Refusal::Misdirected));
    assert_eq!(policy.own_origin(), "http://127.0.0.1");
}

#[test]
fn a_listener_on_the_other_loopback_address_is_called_by_it() {
    let options = WebOptions {
        web_host: Some("::1".parse().unwrap()),
        ..WebOptions::default()
    };
    let policy = policy(options, 7411);
    assert_eq!(policy.own_origin(), "http://[::1]:7411");
    let host = |host: &str| judge(&policy, "::1", &[("host", host)]);
    assert_eq!(host("[::1]:7411"), Ok(Scheme::Http));
    assert_eq!(host("127.0.0.1:7411"), Err(Refusal::Misdirected));
}

#[test]
fn what_is_forwarded_counts_from_the_proxy_and_from_nobody_else() {
    const PROTO: &str = "x-forwarded-proto";
    const HOST: &str = "x-forwarded-host";
    let strict = proxied("h", "https://h", "10.0.0.2", false);
    let lax = proxied("h", "https://h", "10.0.0.2", true);
    let (proxy, stranger) = ("10.0.0.2", "10.0.0.3");
    let (http, https) = (Ok(Scheme::Http), Ok(Scheme::Https));
    let plaintext = Err(Refusal::Plaintext);
    let misdirected = Err(Refusal::Misdirected);
    let twice = Err(Refusal::ForwardedTwice);
    let other_host = Err(Refusal::ForwardedHost);
    // Headers beside `Host: h`; what a strict policy says, and one that allows plaintext.
    let rows: [(&str, Headers<'_>, [Judged; 2]); 21] = [
        (proxy, &[(PROTO, "https")], [https, https]),
        (proxy, &[(PROTO, "HTTPS")], [https, https]),
        ("::ffff:10.0.0.2", &[(PROTO, "https")], [https, https]),
        (proxy, &[(PROTO, "http")], [plaintext, http]),
        (proxy, &[(PROTO, "")], [plaintext, http]),
        (proxy, &[(PROTO, "https, http")], [plaintext, http]),
        (proxy, &[(PROTO, "wss")], [plaintext, http]),
        (proxy, &[], [plaintext, http]),
        (proxy, &[(PROTO, "https"), (PROTO, "https")], [twice, twice]),
        (proxy, &[(PROTO, "https"), (PROTO, "http")], [twice, twice]),
        (proxy, &[(PROTO, "https"), (HOST, "h")], [https, https]),
        (proxy, &[(PROTO, "https"), (HOST, "h:443")], [https, https]),
        (
            proxy,
            &[(PROTO, "https"), (HOST, "h:80")],
            [other_host, other_host],
        ),
        (
            proxy,
            &[(PROTO, "https"), (HOST, "evil")],
            [other_host, other_host],
        ),
        (
            proxy,
            &[(PROTO, "https"), (HOST, "h, evil")],
            [other_host, other_host],
        ),
        (proxy, &[(HOST, "evil")], [other_host, other_host]),
        (
            proxy,
            &[(PROTO, "https"), (HOST, "h"), (HOST, "h")],
            [twice, twice],
        ),
        (
            proxy,
            &[("x-forwarded-for", "127.0.0.1")],
            [plaintext, http],
        ),
        (
            stranger,
            &[(PROTO, "https"), (HOST, "h")],
            [plaintext, http],
        ),
        (
            stranger,
            &[(PROTO, "https"), (PROTO, "https"), (HOST, "evil")],
            [plaintext, http],
        ),
        (
            stranger,
            &[(PROTO, "https"), ("x-forwarded-for", proxy)],
            [plaintext, http],
        ),
    ];
    for (peer, headers, wanted) in rows {
        let with = [&[("host", "h")], headers].concat();
        let judged = [&strict, &lax].map(|policy| judge(policy, peer, &with));
        assert_eq!(judged, wanted, "{peer} {headers:?}");
        // No forwarded header makes up for a wrong host.
        let wrong = [&[("host", "evil"), (HOST, "h")], headers].concat();
        assert_eq!(judge(&lax, peer, &wrong), misdirected, "{headers:?}");
    }
    let hosts = [("host", "h"), ("host", "h"), (PROTO, "https")];
    assert_eq!(judge(&strict, proxy, &hosts), misdirected, "twice");
}

#[test]
fn the_port_of_the_scheme_may_be_said_or_not_and_no_other() {
    let https = ("x-forwarded-proto", "https");
    for (public, headers, right, wrong) in [
        (
            "h",
            &[https][..],
            &["h", "h:443"][..],
            &["h:80", "h:7411"][..],
        ),
        ("h:443", &[https], &["h", "h:443"], &["h:80", "h:"]),
        ("h:8443", &[https], &["h:8443"], &["h", "h:443"]),
        ("h", &[], &["h", "h:80"], &["h:443", "h:7411"]),
        ("h:443", &[], &["h:443"], &["h", "h:80"]),
        (
            "[2001:db8::1]",
            &[https],
            &["[2001:db8::1]", "[2001:db8::1]:443"],
            &["2001:db8::1"],
        ),
    ] {
        let policy = proxied(public, "https://h", "loopback", true);
        let host = |host| judge(&policy, "127.0.0.1", &[&[("host", host)], headers].concat());
        for host_header in right {
            assert!(host(host_header).is_ok(), "{public} {host_header}");
        }
        for host_header in wrong.iter().chain(&["127.0.0.1:7411", "H", "h.", "h.evil"]) {
            let misdirected = Err(Refusal::Misdirected);
            assert_eq!(host(host_header), misdirected, "{public} {host_header}");
        }
    }
}

#[test]
fn renamed_headers_take_the_place_of_the_usual_ones() {
    let options = WebOptions {
        public_host: Some("h".to_owned()),
        allowed_origins: vec!["https://h".to_owned()],
        trust_proxy: Some("loopback".to_owned()),
        proxy_scheme_header: Some("X-Scheme".to_owned()),
        proxy_host_header: Some("X-Asked-For".to_owned()),
        ..WebOptions::default()
    };
    let policy = policy(options, 7411);
    let judge = |headers: &[(&str, &str)]| {
        let headers = [&[("host", "h")], headers].concat();
        judge(&policy, "::1", &headers)
    };
    assert_eq!(judge(&[("x-scheme", "https")]), Ok(Scheme::Https));
    assert_eq!(
        judge(&[("x-forwarded-proto", "https")]),
        Err(Refusal::Plaintext)
    );
    let other = [("x-scheme", "https"), ("x-asked-for", "evil")];
    assert_eq!(judge(&other), Err(Refusal::ForwardedHost));
    let ignored = [("x-scheme", "https"), ("x-forwarded-host", "evil")];
    assert_eq!(judge(&ignored), Ok(Scheme::Https));
}

#[test]
fn away_from_loopback_no_origin_is_allowed_that_was_not_named() {
    let direct = policy(
        WebOptions {
            web_host: Some("0.0.0.0".parse().unwrap()),
            public_host: Some("10.0.0.5:7411".to_owned()),
            allowed_origins: vec!["http://10.0.0.5:7411".to_owned()],
            allow_insecure_remote: true,
            ..WebOptions::default()
        },
        7411,
    );
    let proxied = proxied("h", "https://h", "loopback", true);
    for (policy, own) in [(&direct, "http://10.0.0.5:7411"), (&proxied, "https://h")] {
        assert_eq!(policy.own_origin(), own);
        assert_eq!(policy.accepted_origin(own.as_bytes()), Some(own));
        for origin in [
            "http://127.0.0.1:7411",
            "http://localhost:7411",
            "http://h",
            "null",
        ] {
            assert_eq!(policy.accepted_origin(origin.as_bytes()), None, "{origin}");
        }
    }
    let forwarded = [
        ("host", "10.0.0.5:7411"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "evil"),
    ];
    assert_eq!(
        judge(&direct, "127.0.0.1", &forwarded),
        Ok(Scheme::Http),
        "there is no proxy"
    );
    assert_eq!(
        judge(&direct, "10.0.0.9", &[("host", "127.0.0.1:7411")]),
        Err(Refusal::Misdirected)
    );
}

#[test]
fn the_proxy_and_this_machine_speak_for_many() {
    let policy = proxied("h", "https://h", "10.0.0.2", false);
    for (peer, many) in [
        ("10.0.0.2", true),
        ("127.0.0.1", true),
        ("::1", true),
        ("10.0.0.3", false),
    ] {
        assert_eq!(
            policy.speaks_for_many(peer.parse().unwrap()),
            many,
            "{peer}"
        );
    }
}
