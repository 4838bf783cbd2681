//! Which compressed form of a file a client takes.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT_ENCODING;

/// A form that the web client's build leaves beside a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Brotli,
    Gzip,
}

impl Encoding {
    /// The smaller one first.
    pub(super) const ALL: [Self; 2] = [Self::Brotli, Self::Gzip];

    /// Its name in HTTP.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// The end of the file's name.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Brotli => ".br",
            Self::Gzip => ".gz",
        }
    }

    /// Whether the client names it without refusing it. A wildcard does not count: the plain form
    /// is always right.
    pub(super) fn is_accepted(self, headers: &HeaderMap) -> bool {
        let values = headers.get_all(ACCEPT_ENCODING).iter();
        values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|offer| self.is_offered(offer))
    }

    fn is_offered(self, offer: &str) -> bool {
        let mut parts = offer.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let is_refused = parts.any(|p| {
            let weight = p.strip_prefix("q=").or(p.strip_prefix("Q="));
            weight.is_some_and(|q| q.trim().parse().is_ok_and(|q: f32| q <= 0.0))
        });
        name.eq_ignore_ascii_case(self.name()) && !is_refused
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn an_encoding_is_taken_when_it_is_named_and_not_refused() {
        for (offer, brotli, gzip) in [
            ("gzip, deflate, br, zstd", true, true),
            ("gzip;q=1.0, br;q=0", false, true),
            ("GZIP ; q=0.5", false, true),
            ("br;q=0.000", false, false),
            ("brotli, xgzip, *", false, false),
            ("", false, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(offer));
            assert_eq!(Encoding::Brotli.is_accepted(&headers), brotli, "{offer}");
            assert_eq!(Encoding::Gzip.is_accepted(&headers), gzip, "{offer}");
        }
    }
}
