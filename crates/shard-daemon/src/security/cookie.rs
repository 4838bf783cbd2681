//! The session cookie: its name, its attributes, and how it is found among others.

use shard_types::PrincipalId;

use super::secret::{MAX_PRESENTED_LEN, Secret};

/// How long a browser keeps the cookie after each visit, and for how long a principal that does
/// not show up stays enrolled: 90 days.
pub(crate) const SESSION_TTL_MS: u64 = 90 * 86_400_000;

/// How a request came, as far as the browser is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// In plaintext.
    Http,
    /// Over TLS, which then ends at a proxy before the daemon.
    Https,
}

impl Scheme {
    /// As addresses begin.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port that addresses leave out.
    #[must_use]
    pub(crate) fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// What the cookie is called. Cookies ignore ports, so the plaintext name has the port in it: two
/// daemons must not overwrite each other's. A browser takes the `__Host-` name over TLS only.
#[must_use]
pub(crate) fn cookie_name(scheme: Scheme, port: u16) -> String {
    match scheme {
        Scheme::Http => format!("shard_session_{port}"),
        Scheme::Https => "__Host-shard_session".to_owned(),
    }
}

/// The `Set-Cookie` value that makes a browser keep `value`.
#[must_use]
pub(crate) fn set_cookie(scheme: Scheme, port: u16, value: &Secret) -> String {
    header(scheme, port, value.expose(), SESSION_TTL_MS / 1_000)
}

/// The `Set-Cookie` value that makes a browser forget.
#[must_use]
pub(crate) fn clear_cookie(scheme: Scheme, port: u16) -> String {
    header(scheme, port, "", 0)
}

fn header(scheme: Scheme, port: u16, value: &str, max_age_secs: u64) -> String {
    let name = cookie_name(scheme, port);
    let secure = match scheme {
        Scheme::Http => "",
        Scheme::Https => "; Secure",
    };
    format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={max_age_secs}{secure}")
}

/// The session cookie among the `Cookie` headers of a request. Two of that name are as good as
/// none: one of them was put there by somebody else, and there is no telling which.
pub(crate) fn find_cookie<'a>(
    headers: impl IntoIterator<Item = &'a str>,
    scheme: Scheme,
    port: u16,
) -> Option<&'a str> {
    let name = cookie_name(scheme, port);
    let mut found = headers
        .into_iter()
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(key, _)| *key == name)
        .map(|(_, value)| value);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// Whether a request has a session cookie that a browser sends over TLS alone. In plaintext it was
/// put there by somebody else, or by a proxy that takes TLS off and does not say so.
pub(crate) fn has_secure_cookie<'a>(headers: impl IntoIterator<Item = &'a str>) -> bool {
    let mut pairs = headers.into_iter().flat_map(|header| header.split(';'));
    let name = cookie_name(Scheme::Https, 0);
    pairs.any(|pair| pair.split('=').next().is_some_and(|key| key.trim() == name))
}

/// The cookie's value: the principal's id, by which it is looked up before anything costly, and a
/// secret.
pub(super) fn compose(principal: &PrincipalId, random: &Secret) -> Secret {
    Secret::presented(&format!("{principal}.{}", random.expose()))
}

/// Whose cookie this claims to be.
pub(super) fn claimed_principal(value: &str) -> Option<PrincipalId> {
    if value.len() > MAX_PRESENTED_LEN {
        return None;
    }
    let (id, _) = value.rsplit_once('.')?;
    id.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_secure_exactly_over_tls() {
        let value = Secret::presented("v");
        assert_eq!(
            set_cookie(Scheme::Http, 7411, &value),
            "shard_session_7411=v; HttpOnly; SameSite=Strict; Path=/; Max-Age=7776000"
        );
        assert_eq!(
            set_cookie(Scheme::Https, 7411, &value),
            "__Host-shard_session=v; HttpOnly; SameSite=Strict; Path=/; Max-Age=7776000; Secure"
        );
        assert_eq!(
            clear_cookie(Scheme::Http, 7411),
            "shard_session_7411=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0"
        );
    }

    #[test]
    fn the_cookie_is_found_by_its_exact_name_and_only_alone() {
        let find =
            |headers: &[&'static str]| find_cookie(headers.iter().copied(), Scheme::Http, 7411);
        assert_eq!(find(&["a=1; shard_session_7411=x.y; b=2"]), Some("x.y"));
        assert_eq!(find(&["a=1", "shard_session_7411=x"]), Some("x"));
        for none in [
            &["shard_session=x"][..],
            &["shard_session_74110=x"],
            &["__Host-shard_session=x"],
            &["SHARD_SESSION_7411=x"],
            &["shard_session_7411"],
            &["shard_session_7411=x; shard_session_7411=y"],
            &["shard_session_7411=x", "shard_session_7411=y"],
            &[],
        ] {
            assert_eq!(find(none), None, "{none:?}");
        }
    }

    #[test]
    fn a_cookie_names_its_principal() {
        let id = PrincipalId::generate();
        let value = compose(&id, &Secret::generate());
        assert_eq!(claimed_principal(value.expose()), Some(id));
        for bad in ["", "abc", ".abc", "../x.abc", "a b.c"] {
            assert_eq!(claimed_principal(bad), None, "{bad}");
        }
        assert_eq!(claimed_principal(&format!("p.{}", "x".repeat(300))), None);
    }
}
