//! The connection of one provider: client, addresses, headers and keys.
//!
//! The client is built by the first call and kept with its pool of connections. For a plain
//! `http` address no root certificate is loaded; for `https` the platform's are, with ring.
//! Proxies are taken from the environment. Redirects are not followed: a key must not travel to
//! another host, and a redirected POST would lose its body anyway.

use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, Client, ClientBuilder, Method, RequestBuilder, Response, Url};
use serde_json::Value;
use shard_config::{ProviderKind, Secret};
use shard_contracts::{ProviderError, ProviderErrorKind as Kind};
use shard_types::ModelSpec;
use tokio::sync::OnceCell;

use super::catalog;
use super::failure::{Target, chain};
use super::settings::{KeySource, ProviderSettings};

/// Most that is read of an answer that is no stream.
const MAX_BODY: usize = 4 << 20;

/// Most that is read of an error's body.
const MAX_ERROR_BODY: usize = 64 << 10;

/// How long a list of models may take in all.
const CATALOG_TIMEOUT: Duration = Duration::from_secs(15);

/// The connection of one provider.
pub(super) struct Link {
    pub(super) settings: ProviderSettings,
    client: OnceLock<Client>,
    key: Mutex<Option<Secret>>,
}

impl Link {
    pub(super) fn new(settings: ProviderSettings) -> Self {
        Self {
            settings,
            client: OnceLock::new(),
            key: Mutex::new(None),
        }
    }

    /// Posts JSON and waits for the head of a good answer.
    pub(super) async fn post(
        &self,
        path: &str,
        model: &str,
        body: &Value,
    ) -> Result<(Response, Target), ProviderError> {
        let (request, target) = self.request(Method::POST, path, Some(model)).await?;
        let limit = self.settings.stall_timeout;
        let response = self.send(request.json(body), &target, limit).await?;
        Ok((response, target))
    }

    async fn get(&self, path: &str) -> Result<(Value, Target), ProviderError> {
        let (request, target) = self.request(Method::GET, path, None).await?;
        let request = request.timeout(CATALOG_TIMEOUT);
        let response = self.send(request, &target, CATALOG_TIMEOUT).await?;
        let body = body(response, MAX_BODY)
            .await
            .map_err(|e| target.transport(&e))?;
        // What is no JSON is no list either.
        Ok((serde_json::from_str(&body).unwrap_or_default(), target))
    }

    /// The configured models, else those that the server lists; a list is fetched once.
    pub(super) async fn models(
        &self,
        listed: &OnceCell<Vec<ModelSpec>>,
        path: &str,
    ) -> Result<Vec<ModelSpec>, ProviderError> {
        if !self.settings.models.is_empty() {
            return Ok(self.settings.models.clone());
        }
        listed
            .get_or_try_init(|| self.fetch_models(path))
            .await
            .cloned()
    }

    async fn fetch_models(&self, path: &str) -> Result<Vec<ModelSpec>, ProviderError> {
        let (value, target) = self.get(path).await?;
        catalog::models(&value).ok_or_else(|| {
            let next = "Check base_url, or name the models in the configuration.";
            target.unusable(Kind::Malformed, "the answer is no list of models", next)
        })
    }

    async fn request(
        &self,
        method: Method,
        path: &str,
        model: Option<&str>,
    ) -> Result<(RequestBuilder, Target), ProviderError> {
        let mut target = Target::new(&self.settings, model, self.settings.base());
        let url = endpoint(self.settings.base(), path).map_err(|what| {
            target.unusable(
                Kind::Rejected,
                &what,
                "Correct base_url in the configuration.",
            )
        })?;
        target = Target::new(&self.settings, model, url.as_str());
        let key = self.key(&target).await?;
        if let Some(key) = &key {
            target.hide(key.expose());
        }
        let headers = headers(&self.settings, key.as_ref()).map_err(|what| {
            target.unusable(
                Kind::Auth,
                &what,
                "Correct the key or headers in the configuration.",
            )
        })?;
        let client = self.client(&url, &target).await?;
        Ok((client.request(method, url).headers(headers), target))
    }

    async fn send(
        &self,
        request: RequestBuilder,
        target: &Target,
        limit: Duration,
    ) -> Result<Response, ProviderError> {
        let sent = tokio::time::timeout(limit, request.send()).await;
        let response = match sent.map_err(|_| target.stalled(limit))? {
            Ok(response) if response.status().is_success() => return Ok(response),
            Ok(response) => response,
            Err(error) => return Err(target.transport(&error.without_url())),
        };
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        // What the body says only explains: a body that breaks off or hangs must not hide the status.
        let read = tokio::time::timeout(Duration::from_secs(5), body(response, MAX_ERROR_BODY));
        let words = read.await.ok().and_then(Result::ok).unwrap_or_default();
        let error = target.status(status, &headers, &words);
        if error.kind == Kind::Auth {
            // It may have been renewed at its source since.
            self.kept_key().take();
        }
        Err(error)
    }

    async fn client(&self, url: &Url, target: &Target) -> Result<Client, ProviderError> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let (url, timeout) = (url.clone(), self.settings.connect_timeout);
        let ca_file = self.settings.ca_file.clone();
        let built = if url.scheme() == "https" {
            // Reads and parses some hundred certificates: too long for the thread of everything.
            let build = move || client(&url, timeout, ca_file.as_deref());
            let built = tokio::task::spawn_blocking(build).await;
            built.map_err(|e| e.to_string()).flatten()
        } else {
            client(&url, timeout, None)
        };
        let client = built.map_err(|why| {
            let what = format!("cannot set up a client: {why}");
            let next = "For https the system's root certificates are needed (ca-certificates).";
            target.unusable(Kind::Rejected, &what, next)
        })?;
        Ok(self.client.get_or_init(|| client).clone())
    }

    async fn key(&self, target: &Target) -> Result<Option<Secret>, ProviderError> {
        let fetch = match &self.settings.key {
            KeySource::None => return Ok(None),
            KeySource::Fixed(key) => return Ok(Some(key.clone())),
            KeySource::Lazy(fetch) => fetch,
        };
        let kept = self.kept_key().clone();
        if kept.is_some() {
            return Ok(kept);
        }
        let key = fetch().await.map_err(|why| {
            target.unusable(
                Kind::Auth,
                &format!("there is no key: {why}"),
                "Set it and try again.",
            )
        })?;
        *self.kept_key() = Some(key.clone());
        Ok(Some(key))
    }

    fn kept_key(&self) -> std::sync::MutexGuard<'_, Option<Secret>> {
        self.key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn builder(connect_timeout: Duration) -> ClientBuilder {
    // Fails when a provider was installed before, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("shard/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
}

/// A client for `url`.
fn client(url: &Url, connect_timeout: Duration, ca_file: Option<&Path>) -> Result<Client, String> {
    let mut builder = builder(connect_timeout);
    // The HTTP stack reads these variables too, but for it `*` leaves out addresses in numbers.
    let spared = ["NO_PROXY", "no_proxy"].map(|name| std::env::var(name).unwrap_or_default());
    if spared.iter().any(|list| spares_all(list)) {
        builder = builder.no_proxy();
    }
    if url.scheme() != "https" {
        // An empty list of roots keeps the platform's certificates from being read and parsed.
        builder = builder.tls_certs_only([]);
    } else if let Some(path) = ca_file {
        builder = builder.tls_certs_merge(certificates(path)?);
    }
    builder.build().map_err(|error| chain(&error))
}

fn certificates(path: &Path) -> Result<Vec<Certificate>, String> {
    let pem = std::fs::read(path).map_err(|error| {
        format!(
            "cannot read the certificates in {}: {error}",
            path.display()
        )
    })?;
    match Certificate::from_pem_bundle(&pem) {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(format!(
            "there is no certificate in PEM in {}",
            path.display()
        )),
    }
}

/// Whether a list of hosts that need no proxy names all of them.
fn spares_all(list: &str) -> bool {
    list.split(',').any(|host| host.trim() == "*")
}

/// A client for servers on this machine: without TLS, and never through a proxy.
pub(super) fn plain_client(connect_timeout: Duration) -> reqwest::Result<Client> {
    builder(connect_timeout)
        .tls_certs_only([])
        .no_proxy()
        .build()
}

/// `base` with `path` appended; a query of the base is kept.
fn endpoint(base: &str, path: &str) -> Result<Url, String> {
    let mut url = Url::parse(base).map_err(|e| format!("base_url is no address: {e}"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err("base_url must start with http:// or https:// and name a host".to_owned());
    }
    let (path, query) = path
        .split_once('?')
        .map_or((path, None), |(p, q)| (p, Some(q)));
    url.set_path(&format!("{}/{path}", url.path().trim_end_matches('/')));
    if let Some(query) = query {
        let joined = url
            .query()
            .map_or(query.to_owned(), |old| format!("{old}&{query}"));
        url.set_query(Some(&joined));
    }
    Ok(url)
}

fn headers(settings: &ProviderSettings, key: Option<&Secret>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    let hidden = |raw: &str| {
        let mut value = HeaderValue::from_str(raw).ok()?;
        value.set_sensitive(true);
        Some(value)
    };
    let unfit = || "the key holds characters that cannot be sent".to_owned();
    match (settings.kind, key) {
        (ProviderKind::Anthropic, Some(key)) => {
            headers.insert("x-api-key", hidden(key.expose()).ok_or_else(unfit)?);
        }
        (_, Some(key)) => {
            let bearer = format!("Bearer {}", key.expose());
            headers.insert(AUTHORIZATION, hidden(&bearer).ok_or_else(unfit)?);
        }
        (_, None) => {}
    }
    if settings.kind == ProviderKind::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    for (name, value) in &settings.headers {
        let unfit = || format!("the header {name:?} cannot be sent");
        let known = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())?;
        headers.insert(known, hidden(value).ok_or_else(unfit)?);
    }
    Ok(headers)
}

/// Reads at most `limit` bytes of a body as text.
pub(super) async fn body(response: Response, limit: usize) -> reqwest::Result<String> {
    let mut bytes = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(reqwest::Error::without_url)?;
        bytes.extend_from_slice(&chunk[..chunk.len().min(limit - bytes.len())]);
        if bytes.len() >= limit {
            break;
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_keeps_the_query_of_its_base() {
        let join = |base, path| endpoint(base, path).map(String::from);
        let plain = join("http://h:1/v1/", "chat/completions");
        assert_eq!(plain, Ok("http://h:1/v1/chat/completions".into()));
        let query = join("https://h/x?api-version=2", "models?limit=9");
        assert_eq!(query, Ok("https://h/x/models?api-version=2&limit=9".into()));
        for bad in ["", "localhost:11434/v1", "ftp://h/", "/v1"] {
            assert!(join(bad, "models").is_err(), "{bad}");
        }
    }

    #[test]
    fn configured_headers_win_and_the_key_is_marked() {
        let key = Secret::new("k-1");
        let mut settings = ProviderSettings::new("p", ProviderKind::OpenAi, "");
        let sent = headers(&settings, Some(&key)).expect("headers");
        assert_eq!(sent[AUTHORIZATION], "Bearer k-1");
        assert!(sent[AUTHORIZATION].is_sensitive());
        settings.headers = vec![("Authorization".into(), "Other".into())];
        assert_eq!(
            headers(&settings, Some(&key)).expect("headers")[AUTHORIZATION],
            "Other"
        );
        assert!(headers(&settings, Some(&Secret::new("a\nb"))).is_err());
    }

    #[test]
    fn a_star_spares_every_host_a_proxy() {
        for list in ["*", "localhost, *", "*,a"] {
            assert!(spares_all(list), "{list}");
        }
        for list in ["", "*.example.com", "localhost"] {
            assert!(!spares_all(list), "{list}");
        }
    }
}
