//! `GET /ws`: the upgrade to a WebSocket.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::header::SEC_WEBSOCKET_PROTOCOL;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::headers::{accepted_origin, session_cookie};
use super::{App, answer};
use crate::security::Effective;

/// The subprotocol that is spoken.
const SUBPROTOCOL: &str = "shard.v0";

/// What stands before the ticket among the subprotocols: the only header that a page can set.
const TICKET_PREFIX: &str = "ticket.";

/// Largest message that is taken in. The connection refuses those of more than 16 MiB itself, with
/// an answer; this is what is read for the sake of that answer.
const MAX_MESSAGE: usize = 24 * 1024 * 1024;

/// What one read takes from a socket. The default is eight times as much, for each socket that
/// is open and idle; what clients send are short commands.
const READ_BUFFER: usize = 16 * 1024;

/// Hands the socket over of a page that has a ticket, and the cookie that it was made for.
///
/// The ticket is shown to the rules last, because that uses it up: a request that could not become
/// a socket anyway leaves it alone.
pub(super) async fn upgrade(
    State(app): State<Arc<App>>,
    Extension(effective): Extension<Effective>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let security = &app.http.security;
    let policy = security.policy();
    let Some(origin) = accepted_origin(policy, &headers) else {
        return answer::line(
            StatusCode::BAD_REQUEST,
            "a WebSocket needs an allowed Origin: open the daemon's own address",
        );
    };
    let refused = || {
        answer::line(
            StatusCode::UNAUTHORIZED,
            "a WebSocket needs a fresh ticket of POST /bootstrap and the cookie that it was made for",
        )
    };
    let cookie = session_cookie(policy, effective.scheme, &headers);
    let (Some(ticket), Some(cookie)) = (ticket(&headers), cookie) else {
        return refused();
    };
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade.protocols([SUBPROTOCOL]),
        Err(rejection) => return answer::line(rejection.status(), &rejection.body_text()),
    };
    if upgrade.selected_protocol().is_none() {
        let text = "offer the subprotocol shard.v0 beside the ticket";
        return answer::line(StatusCode::BAD_REQUEST, text);
    }
    let Some(principal) = security.redeem_ticket(ticket, cookie.expose(), origin) else {
        return refused();
    };
    if !app.http.sockets.has_room(&principal) {
        let text = "this browser has too many sockets open: close some of its tabs";
        return answer::line(StatusCode::TOO_MANY_REQUESTS, text);
    }
    upgrade
        .read_buffer_size(READ_BUFFER)
        .max_message_size(MAX_MESSAGE)
        .max_frame_size(MAX_MESSAGE)
        .on_upgrade(move |socket| async move {
            let http = &app.http;
            let connection = http.sockets.connected(socket, principal.clone());
            // A logout between the ticket and this moment found no socket to close.
            if !http.security.is_enrolled(&principal) {
                http.sockets.close(&principal);
            }
            connection.await;
        })
}

/// The one ticket among the offered subprotocols.
fn ticket(headers: &HeaderMap) -> Option<&str> {
    let offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    let mut tickets = offered
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|protocol| protocol.trim().strip_prefix(TICKET_PREFIX));
    let first = tickets.next()?;
    tickets.next().is_none().then_some(first)
}
