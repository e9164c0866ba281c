//! How a WebSocket begins: the origin of the page, the token, the upgrade.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use hyper::upgrade::OnUpgrade;
use protocol::caller::{Caller, Principal};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::http::shared::auth::{Asker, authenticate};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::QueryParameters;
use crate::http::shared::problem::Problem;
use crate::http::shared::socket::Socket;
use crate::http::shared::streams::OpenStream;

/// The prefix of the token among the subprotocols.
const BEARER: &str = "bearer.";

/// Each connection holds a buffer of this size all the time. Most frames are smaller; a larger one
/// grows the buffer while it is read.
const READ_BUFFER_BYTES: usize = 4 * 1_024;

/// Consecutive frames are written together up to this size.
const WRITE_BUFFER_BYTES: usize = 4 * 1_024;

/// A customer has a few tabs and a phone. Other callers may have `streams_per_token`.
pub const CUSTOMER_SOCKETS_MAX: usize = 16;

/// No parameters: any query is refused, because a client might put its token there.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoQuery {}

/// The caller that opens a socket, and the subprotocols that it supports.
pub struct Arrival {
    pub asker: Asker,
    pub offered: Vec<String>,
}

/// A handshake that is accepted.
pub struct Upgrade {
    connection: OnUpgrade,
    accept: HeaderValue,
}

impl Upgrade {
    /// Reads the handshake (RFC 6455, 4.2.1).
    pub fn of(parts: &mut Parts) -> Result<Self, Problem> {
        let is_asked = parts.method == Method::GET
            && names(&parts.headers, &header::CONNECTION, "upgrade")
            && names(&parts.headers, &header::UPGRADE, "websocket")
            && names(&parts.headers, &header::SEC_WEBSOCKET_VERSION, "13");
        let key = parts.headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| is_asked);
        let accept = key.map(|key| derive_accept_key(key.as_bytes()));
        let accept = accept.and_then(|accept| HeaderValue::from_str(&accept).ok());
        match (accept, parts.extensions.remove::<OnUpgrade>()) {
            (Some(accept), Some(connection)) => Ok(Self { connection, accept }),
            (_, _) => {
                let detail = "expected a WebSocket handshake over HTTP/1.1";
                Err(Problem::new("upgrade_required", detail))
            }
        }
    }

    /// Answers the handshake, and talks on the socket once it is open.
    pub fn open<F: Future<Output = ()> + Send + 'static>(
        self,
        gateway: Gateway,
        caller: Caller,
        opening: Opening,
        talk: impl FnOnce(Socket) -> F + Send + 'static,
    ) -> Response {
        let Opening { protocol, message_bytes_max } = opening;
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            .write_buffer_size(WRITE_BUFFER_BYTES)
            .max_message_size(Some(message_bytes_max))
            .max_frame_size(Some(message_bytes_max));
        let (lane, teamspace) = (Arc::clone(&gateway.slow_lane), caller.teamspace.clone());
        lane.spawn(teamspace, async move {
            match self.connection.await {
                Ok(connection) => {
                    talk(Socket::new(connection, config, gateway, caller).await).await;
                }
                Err(error) => tracing::debug!(%error, "a socket did not open"),
            }
        });
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, self.accept);
        if let Some(protocol) = protocol {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
        }
        response
    }
}

/// How a socket is opened.
pub struct Opening {
    /// The subprotocol, if the client offered it.
    pub protocol: Option<&'static str>,
    pub message_bytes_max: usize,
}

/// Whether a header lists this word.
fn names(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let listed = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    listed.flat_map(|value| value.split(',')).any(|entry| entry.trim().eq_ignore_ascii_case(word))
}

/// Checks the origin of the page, and the token from a header or from the subprotocols.
pub async fn arrive(gateway: &Gateway, parts: &mut Parts) -> Result<Arrival, Problem> {
    gateway.origins.check(&parts.headers)?;
    let offered = offered_protocols(&parts.headers)?;
    for token in offered.iter().filter_map(|entry| entry.strip_prefix(BEARER)) {
        let value = HeaderValue::from_str(&format!("Bearer {token}"));
        let value = value.map_err(|_| Problem::unauthenticated())?;
        // If there is another token, this is refused like two headers.
        parts.headers.append(header::AUTHORIZATION, value);
    }
    let asker = authenticate(gateway, parts).await?;
    QueryParameters::<NoQuery>::from_request_parts(parts, gateway).await?;
    Ok(Arrival { asker, offered })
}

/// The upgrade to a socket, and its place among the open ones.
pub fn upgrade(
    gateway: &Gateway,
    asker: &Asker,
    parts: &mut Parts,
) -> Result<(Upgrade, OpenStream), Problem> {
    let upgrade = Upgrade::of(parts)?;
    if *gateway.stopping.borrow() {
        return Err(Problem::new("stopping", "the server is stopping"));
    }
    let n_max = match asker.caller.principal {
        Principal::Customer(_) => CUSTOMER_SOCKETS_MAX,
        Principal::Agent(_) | Principal::Operator(_) | Principal::System => {
            gateway.limits.streams_per_token_max
        }
    };
    Ok((upgrade, OpenStream::take(gateway, asker, n_max)?))
}

fn offered_protocols(headers: &HeaderMap) -> Result<Vec<String>, Problem> {
    let mut offered = Vec::new();
    for value in headers.get_all(header::SEC_WEBSOCKET_PROTOCOL) {
        let text = value.to_str().map_err(|_| {
            Problem::schema_invalid("Sec-WebSocket-Protocol", "entries of plain ASCII text")
        })?;
        offered.extend(text.split(',').map(|entry| entry.trim().to_owned()));
    }
    Ok(offered)
}
