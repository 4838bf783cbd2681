use super::*;

/// The options of a command line.
fn options(line: &str) -> WebOptions {
    let mut options = WebOptions::default();
    let mut words = line.split_whitespace();
    while let Some(flag) = words.next() {
        let mut value = || words.next().unwrap().to_owned();
        match flag {
            "--web-host" => options.web_host = Some(value().parse().unwrap()),
            "--public-host" => options.public_host = Some(value()),
            "--allowed-origin" => options.allowed_origins.push(value()),
            "--trust-proxy" => options.trust_proxy = Some(value()),
            "--allow-insecure-remote" => options.allow_insecure_remote = true,
            "--proxy-scheme-header" => options.proxy_scheme_header = Some(value()),
            "--proxy-host-header" => options.proxy_host_header = Some(value()),
            other => panic!("{other}"),
        }
    }
    options
}

/// What becomes of a command line.
enum Then {
    /// Which configuration, and words of its warnings.
    Starts(&'static str, &'static [&'static str]),
    /// Words of the refusal.
    Refused(&'static [&'static str]),
}
use Then::{Refused, Starts};

const PLAINTEXT: &str = "cookies and all that is said may cross the network in plaintext";

/// Command lines, and what becomes of them.
const ROWS: &[(&str, Then)] = &[
    ("", Starts("loopback", &[])),
    (
        "--allowed-origin http://localhost:5173",
        Starts("loopback", &[]),
    ),
    ("--web-host 127.0.0.1", Starts("loopback", &[])),
    ("--web-host ::1", Starts("loopback", &[])),
    ("--web-host ::ffff:127.0.0.1", Starts("loopback", &[])),
    (
        "--public-host h:1",
        Refused(&["--public-host is for", "--trust-proxy", "--web-host"]),
    ),
    (
        "--allow-insecure-remote",
        Refused(&[
            "--allow-insecure-remote is for",
            "--trust-proxy",
            "--web-host",
        ]),
    ),
    (
        "--web-host 127.0.0.1 --public-host h:1",
        Refused(&["--public-host is for"]),
    ),
    (
        "--proxy-scheme-header X-P",
        Refused(&["--proxy-scheme-header", "add --trust-proxy"]),
    ),
    (
        "--proxy-host-header X-H",
        Refused(&["--proxy-host-header", "add --trust-proxy"]),
    ),
    // Direct.
    (
        "--web-host 0.0.0.0",
        Refused(&[
            "--web-host 0.0.0.0",
            "--public-host HOST:PORT and",
            "--allowed-origin ORIGIN and",
            "--allow-insecure-remote",
        ]),
    ),
    (
        "--web-host 10.0.0.5 --public-host 10.0.0.5:7411 --allowed-origin http://10.0.0.5:7411",
        Refused(&["needs --allow-insecure-remote", "plaintext"]),
    ),
    (
        "--web-host 10.0.0.5 --public-host 10.0.0.5:7411 --allow-insecure-remote",
        Refused(&["needs --allowed-origin ORIGIN;"]),
    ),
    (
        "--web-host 10.0.0.5 --allowed-origin http://10.0.0.5:7411 --allow-insecure-remote",
        Refused(&["needs --public-host HOST:PORT;"]),
    ),
    (
        "--web-host 10.0.0.5 --public-host 10.0.0.5:7411 --allowed-origin http://10.0.0.5:7411 --allow-insecure-remote",
        Starts("direct", &[PLAINTEXT]),
    ),
    (
        "--web-host :: --public-host [2001:db8::1]:7411 --allowed-origin http://[2001:db8::1]:7411 --allow-insecure-remote",
        Starts("direct", &[PLAINTEXT]),
    ),
    (
        "--web-host 0.0.0.0 --public-host h:7411 --allowed-origin http://other --allow-insecure-remote",
        Starts("direct", &[PLAINTEXT, "add --allowed-origin http://h:7411"]),
    ),
    // Proxied.
    (
        "--trust-proxy loopback",
        Refused(&[
            "--trust-proxy loopback",
            "needs --public-host HOST:PORT and --allowed-origin ORIGIN;",
        ]),
    ),
    (
        "--trust-proxy loopback --public-host h",
        Refused(&["needs --allowed-origin"]),
    ),
    (
        "--trust-proxy loopback --allowed-origin https://h",
        Refused(&["needs --public-host"]),
    ),
    (
        "--trust-proxy loopback --public-host h --allowed-origin https://h",
        Starts("proxied", &[]),
    ),
    (
        "--trust-proxy ::1 --public-host h:8443 --allowed-origin https://h:8443",
        Starts("proxied", &[]),
    ),
    (
        "--trust-proxy loopback --public-host h --allowed-origin https://h --proxy-scheme-header X-Scheme --proxy-host-header X-Host",
        Starts("proxied", &[]),
    ),
    (
        "--trust-proxy loopback --public-host h --allowed-origin http://h --allow-insecure-remote",
        Starts("proxied plaintext", &[PLAINTEXT]),
    ),
    (
        "--trust-proxy loopback --public-host h --allowed-origin https://h --allow-insecure-remote",
        Starts("proxied plaintext", &[PLAINTEXT]),
    ),
    (
        "--trust-proxy loopback --public-host h --allowed-origin http://h",
        Starts("proxied", &["add --allowed-origin https://h"]),
    ),
    (
        "--trust-proxy 10.0.0.2 --public-host h --allowed-origin https://h",
        Starts("proxied", &["10.0.0.2 cannot reach 127.0.0.1"]),
    ),
    (
        "--web-host 10.0.0.5 --trust-proxy 10.0.0.2 --public-host h --allowed-origin https://h",
        Starts("proxied", &[]),
    ),
    (
        "--web-host 10.0.0.5 --trust-proxy 10.0.0.2",
        Refused(&[
            "--trust-proxy 10.0.0.2",
            "--public-host",
            "--allowed-origin",
        ]),
    ),
    // Values.
    (
        "--trust-proxy localhost --public-host h --allowed-origin https://h",
        Refused(&["--trust-proxy `localhost`", "`loopback`"]),
    ),
    (
        "--trust-proxy 0.0.0.0 --public-host h --allowed-origin https://h",
        Refused(&["--trust-proxy `0.0.0.0`"]),
    ),
    (
        "--trust-proxy 10.0.0.0/8 --public-host h --allowed-origin https://h",
        Refused(&["--trust-proxy `10.0.0.0/8`"]),
    ),
    (
        "--trust-proxy loopback --public-host https://h --allowed-origin https://h",
        Refused(&["--public-host `https://h`", "HOST:PORT"]),
    ),
    (
        "--trust-proxy loopback --public-host h --allowed-origin *",
        Refused(&["--allowed-origin `*`", "https://shard.example"]),
    ),
    (
        "--allowed-origin null",
        Refused(&["--allowed-origin `null`"]),
    ),
    (
        "--allowed-origin https://h/",
        Refused(&["--allowed-origin `https://h/`"]),
    ),
    (
        "--allowed-origin https://h:443",
        Refused(&["--allowed-origin `https://h:443`"]),
    ),
    (
        "--allowed-origin HTTPS://H",
        Refused(&["--allowed-origin `HTTPS://H`"]),
    ),
    (
        "--trust-proxy loopback --public-host h --allowed-origin https://h --proxy-scheme-header X-Forwarded-For",
        Refused(&["--proxy-scheme-header `X-Forwarded-For`"]),
    ),
    (
        "--trust-proxy loopback --public-host h --allowed-origin https://h --proxy-host-header a:b",
        Refused(&["--proxy-host-header `a:b`"]),
    ),
    (
        "--trust-proxy loopback --public-host h --allowed-origin https://h --proxy-host-header X-Forwarded-Proto",
        Refused(&["--proxy-host-header `x-forwarded-proto`"]),
    ),
];

#[test]
fn every_combination_starts_as_what_it_says_or_says_what_is_missing() {
    for (line, then) in ROWS {
        match (WebAccess::new(options(line)), then) {
            (Ok(access), Starts(configuration, warned)) => {
                let is = match &access {
                    WebAccess::Loopback { .. } => "loopback",
                    WebAccess::Direct { .. } => "direct",
                    WebAccess::Proxied {
                        allows_plaintext: false,
                        ..
                    } => "proxied",
                    WebAccess::Proxied { .. } => "proxied plaintext",
                };
                assert_eq!(is, *configuration, "{line}");
                let warnings = access.warnings();
                assert_eq!(warnings.len(), warned.len(), "{line}: {warnings:?}");
                for (warning, words) in warnings.iter().zip(*warned) {
                    assert!(warning.contains(words), "{line}: {warning}");
                    assert_eq!(warning.lines().count(), 1);
                }
            }
            (Err(error), Refused(words)) => {
                let text = error.to_string();
                assert_eq!(text.lines().count(), 1, "{text}");
                for word in *words {
                    assert!(text.contains(word), "{line}: {text}");
                }
            }
            (Ok(access), Refused(_)) => panic!("{line} starts: {access:?}"),
            (Err(error), Starts(..)) => panic!("{line} does not start: {error}"),
        }
    }
}

#[test]
fn the_address_to_listen_on_is_loopback_unless_it_was_said() {
    for (line, address) in [
        ("", "127.0.0.1"),
        ("--web-host ::1", "::1"),
        (
            "--trust-proxy loopback --public-host h --allowed-origin https://h",
            "127.0.0.1",
        ),
        (
            "--web-host 10.0.0.5 --trust-proxy loopback --public-host h --allowed-origin https://h",
            "10.0.0.5",
        ),
    ] {
        let access = WebAccess::new(options(line)).unwrap();
        assert_eq!(access.address().to_string(), address, "{line}");
    }
}

#[test]
fn a_public_host_is_what_a_browser_writes() {
    for (given, http, https) in [
        ("h", "http://h", "https://h"),
        ("H.Example", "http://h.example", "https://h.example"),
        ("h:80", "http://h", "https://h:80"),
        ("h:443", "http://h:443", "https://h"),
        (
            "10.0.0.5:8443",
            "http://10.0.0.5:8443",
            "https://10.0.0.5:8443",
        ),
        (
            "[2001:DB8:0::1]",
            "http://[2001:db8::1]",
            "https://[2001:db8::1]",
        ),
        ("[::1]:8443", "http://[::1]:8443", "https://[::1]:8443"),
    ] {
        let public = PublicHost::parse(given).unwrap();
        let origins = [Scheme::Http, Scheme::Https].map(|scheme| public.origin(scheme));
        assert_eq!(origins, [http, https], "{given}");
    }
    for wrong in [
        "",
        ":",
        ":1",
        "h:",
        "h:0",
        "h:65536",
        "h:+1",
        "h:01",
        "h:x",
        "a b",
        "h/",
        "h/x",
        "u@h",
        "http://h",
        "::1",
        "2001:db8::1",
        "[::1",
        "[x]",
        "[::1]x",
        "h,g",
        "*",
        "*.h",
        "ü",
    ] {
        let refused = PublicHost::parse(wrong).unwrap_err().to_string();
        assert!(
            refused.contains(&format!("--public-host `{wrong}`")),
            "{refused}"
        );
    }
}
