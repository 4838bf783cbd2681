//! The web client: files in the binary.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, Method, Response as HttpResponse, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rust_embed::RustEmbed;
use sha2::{Digest as _, Sha256};

use super::encoding::Encoding;
use super::{App, answer};

/// Files under here have a hash of their contents in their names, so they never change.
const IMMUTABLE: &str = "_app/immutable/";

const INDEX: &str = "index.html";

#[derive(RustEmbed)]
#[folder = "../../web/build"]
struct WebClient;

/// One file.
struct File {
    bytes: Bytes,
    media_type: String,
    /// Says which contents these are.
    tag: String,
}

/// All files, by their path without the slash in front.
pub(super) struct Site {
    files: BTreeMap<String, File>,
    inline_scripts: Vec<String>,
}

impl Site {
    /// The client that was built into this binary.
    pub(super) fn embedded() -> Self {
        let files = WebClient::iter().filter_map(|path| {
            let file = WebClient::get(&path)?;
            let bytes = match file.data {
                Cow::Borrowed(bytes) => Bytes::from_static(bytes),
                Cow::Owned(bytes) => Bytes::from(bytes),
            };
            // The hash was made when the binary was built: reading the files for it now would
            // bring all of them into memory.
            let hash = file.metadata.sha256_hash();
            Some((
                path.into_owned(),
                bytes,
                file.metadata.mimetype().to_owned(),
                hash,
            ))
        });
        Self::new(files)
    }

    fn new(files: impl Iterator<Item = (String, Bytes, String, [u8; 32])>) -> Self {
        let file = |(path, bytes, media_type, hash): (String, Bytes, String, [u8; 32])| {
            let media_type = match media_type.starts_with("text/") {
                true => format!("{media_type}; charset=utf-8"),
                false => media_type,
            };
            let tag = URL_SAFE_NO_PAD.encode(&hash[..15]);
            (
                path,
                File {
                    bytes,
                    media_type,
                    tag,
                },
            )
        };
        let files: BTreeMap<_, _> = files.map(file).collect();
        let index = files
            .get(INDEX)
            .map(|file| file.bytes.clone())
            .unwrap_or_default();
        Self {
            inline_scripts: inline_script_hashes(&String::from_utf8_lossy(&index)),
            files,
        }
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str, &str)]) -> Self {
        Self::new(files.iter().map(|&(path, media_type, text)| {
            let bytes = Bytes::copy_from_slice(text.as_bytes());
            let hash = Sha256::digest(&bytes).into();
            (path.to_owned(), bytes, media_type.to_owned(), hash)
        }))
    }

    /// Base64 of the SHA-256 of each script that stands in the page itself.
    pub(super) fn inline_scripts(&self) -> &[String] {
        &self.inline_scripts
    }

    /// The file that a path stands for, if any. The compressed form of a file is no page.
    fn find(&self, path: &str, headers: &HeaderMap) -> Option<&str> {
        let path = path.strip_prefix('/')?;
        let is_sibling = |e: Encoding| {
            path.strip_suffix(e.suffix())
                .is_some_and(|whole| self.files.contains_key(whole))
        };
        if Encoding::ALL.into_iter().any(is_sibling) {
            return None;
        }
        match self.files.get_key_value(path) {
            Some((path, _)) => Some(path),
            // The client has one page and routes of its own; a missing file stays missing.
            None if path.is_empty() || (is_route(path) && takes_html(headers)) => Some(INDEX),
            None => None,
        }
    }

    fn serve(&self, path: &str, headers: &HeaderMap) -> Option<HttpResponse<Body>> {
        let plain = self.files.get(path)?;
        let encoded = Encoding::ALL.into_iter().find_map(|encoding| {
            let file = self.files.get(&format!("{path}{}", encoding.suffix()))?;
            encoding.is_accepted(headers).then_some((encoding, file))
        });
        let (bytes, tag) = match encoded {
            Some((encoding, file)) => (
                &file.bytes,
                format!("\"{}-{}\"", plain.tag, encoding.name()),
            ),
            None => (&plain.bytes, format!("\"{}\"", plain.tag)),
        };
        let cache = match path.starts_with(IMMUTABLE) {
            true => "public, max-age=31536000, immutable",
            false => "no-cache",
        };
        let is_known = has_tag(headers, &tag);
        let response = HttpResponse::builder()
            .header(CACHE_CONTROL, cache)
            .header(ETAG, tag)
            .header(VARY, "Accept-Encoding");
        if is_known {
            return response
                .status(StatusCode::NOT_MODIFIED)
                .body(Body::empty())
                .ok();
        }
        let mut response = response
            .header(CONTENT_TYPE, &plain.media_type)
            .header(CONTENT_LENGTH, bytes.len());
        if let Some((encoding, _)) = encoded {
            response = response.header(CONTENT_ENCODING, encoding.name());
        }
        response.body(Body::from(bytes.clone())).ok()
    }
}

/// Answers every path that is no route of the daemon.
pub(super) async fn asset(
    State(app): State<Arc<App>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let file = app.site.find(uri.path(), &headers);
    if file.is_some() && method != Method::GET && method != Method::HEAD {
        return ([(ALLOW, "GET, HEAD")], answer::method_not_allowed().await).into_response();
    }
    match file.and_then(|path| app.site.serve(path, &headers)) {
        Some(response) => response,
        None => answer::line(StatusCode::NOT_FOUND, "there is nothing here: start at /"),
    }
}

/// Whether a path could be a place within the client: no ending as files have, and none of the
/// folder that only holds files.
fn is_route(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    !name.contains('.') && !path.starts_with("_app/")
}

fn takes_html(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT).iter();
    let mut types = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|offer| offer.split(';').next().unwrap_or_default().trim());
    types.any(|media_type| media_type.eq_ignore_ascii_case("text/html"))
}

fn has_tag(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(IF_NONE_MATCH).iter();
    let mut tags = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|known| known.trim().trim_start_matches("W/"));
    tags.any(|known| known == tag || known == "*")
}

/// Finds the scripts that stand in a page. Its author is our own build, so this need not
/// understand all of HTML: a script that it misses does not run, which the first look shows.
fn inline_script_hashes(page: &str) -> Vec<String> {
    // What a browser hashes has been through its line ending rules.
    let page = page.replace("\r\n", "\n");
    // ASCII only, so that offsets stay the same.
    let lower = page.to_ascii_lowercase();
    let mut hashes = Vec::new();
    let mut at = 0;
    while let Some(tag) = lower[at..].find("<script").map(|found| at + found) {
        let Some(start) = lower[tag..].find('>').map(|found| tag + found + 1) else {
            break;
        };
        let Some(end) = lower[start..].find("</script").map(|found| start + found) else {
            break;
        };
        if !lower[tag..start].contains(" src=") {
            hashes.push(STANDARD.encode(Sha256::digest(&page[start..end])));
        }
        at = end;
    }
    hashes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_scripts_are_hashed_as_a_browser_does_and_others_are_not() {
        // echo -n "alert('Hello, world.');" | openssl dgst -sha256 -binary | base64
        let hello = "qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng=";
        let page = "<html><SCRIPT type=\"module\">alert('Hello, world.');</Script>\
            <script src=\"/a.js\"></script><script async>\r\nx()</script>é</html>";
        let hashes = inline_script_hashes(page);
        assert_eq!(hashes[0], hello);
        assert_eq!(hashes[1], STANDARD.encode(Sha256::digest("\nx()")));
        assert_eq!(hashes.len(), 2);
        for broken in ["<script", "<script>", "<script>x", "</script>", ""] {
            assert!(inline_script_hashes(broken).is_empty(), "{broken}");
        }
    }

    #[test]
    fn the_client_is_in_the_binary() {
        assert!(Site::embedded().files.contains_key(INDEX));
    }
}
