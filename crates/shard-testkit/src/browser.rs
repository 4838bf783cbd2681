//! A browser, as far as the daemon can tell: its cookie, its secret, its tickets and its socket.

use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;

use crate::client::Client;
use crate::http::{Http, HttpResponse};

/// A browser that was let in.
#[derive(Debug, Clone)]
pub struct Browser {
    port: u16,
    /// `name=value`, as it is sent back.
    pub cookie: String,
    /// What the page keeps.
    pub client_secret: String,
}

impl Browser {
    /// Trades a setup token in.
    ///
    /// # Panics
    /// When the daemon does not take it.
    pub async fn enroll(port: u16, token: &str) -> Self {
        let response = Http::post(port, "/enroll/token", &json!({ "token": token }))
            .send()
            .await;
        assert_eq!(
            response.status, 200,
            "the setup token is taken: {response:?}"
        );
        let cookie = response.header("set-cookie").unwrap_or_default();
        let secret = &response.json()["client_secret"];
        Self {
            port,
            cookie: cookie.split(';').next().unwrap_or_default().to_owned(),
            client_secret: secret.as_str().unwrap_or_default().to_owned(),
        }
    }

    /// A POST with this browser's cookie.
    #[must_use]
    pub fn post(&self, path: &str, body: &Value) -> Http {
        Http::post(self.port, path, body).with("Cookie", &self.cookie)
    }

    /// Asks for a ticket.
    pub async fn bootstrap(&self) -> HttpResponse {
        let body = json!({ "client_secret": self.client_secret });
        self.post("/bootstrap", &body).send().await
    }

    /// A fresh ticket.
    ///
    /// # Panics
    /// When there is none for this browser.
    pub async fn ticket(&self) -> String {
        let response = self.bootstrap().await;
        assert_eq!(response.status, 200, "there is a ticket: {response:?}");
        let ticket = &response.json()["ticket"];
        ticket.as_str().unwrap_or_default().to_owned()
    }

    /// The upgrade with a ticket, for tests of what is refused.
    #[must_use]
    pub fn upgrade(&self, ticket: &str) -> Http {
        Http::upgrade(self.port, Some(ticket)).with("Cookie", &self.cookie)
    }

    /// Opens a WebSocket, with a fresh ticket.
    ///
    /// # Panics
    /// When the daemon refuses it.
    pub async fn connect(&self) -> Client {
        let ticket = self.ticket().await;
        let url = format!("ws://127.0.0.1:{}/ws", self.port);
        let opened = async {
            let mut request = url.into_client_request()?;
            let headers = [
                ("Origin", format!("http://127.0.0.1:{}", self.port)),
                ("Cookie", self.cookie.clone()),
                (
                    "Sec-WebSocket-Protocol",
                    format!("shard.v0, ticket.{ticket}"),
                ),
            ];
            for (name, value) in headers {
                let value = HeaderValue::from_str(&value)?;
                request.headers_mut().insert(name, value);
            }
            let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
            tokio_tungstenite::client_async(request, stream).await
        };
        match opened.await {
            Ok((socket, _)) => Client::over_websocket(socket),
            Err(error) => panic!("the WebSocket was not opened: {error}"),
        }
    }
}
