//! How a WebSocket begins: the origin of the page, the token, the upgrade.

use axum::extract::{FromRequestParts, WebSocketUpgrade};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use protocol::caller::Principal;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::shared::auth::{Asker, authenticate};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::QueryParameters;
use crate::http::shared::problem::Problem;
use crate::http::shared::streams::OpenStream;

/// The prefix of the token among the subprotocols.
const BEARER: &str = "bearer.";

/// Each connection holds a buffer of this size all the time. Most frames are smaller; a larger one
/// grows the buffer while it is read.
pub const READ_BUFFER_BYTES: usize = 4 * 1_024;

/// Consecutive frames are written together up to this size.
pub const WRITE_BUFFER_BYTES: usize = 4 * 1_024;

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
pub async fn upgrade(
    gateway: &Gateway,
    asker: &Asker,
    parts: &mut Parts,
) -> Result<(WebSocketUpgrade, OpenStream), Problem> {
    let upgrade = WebSocketUpgrade::from_request_parts(parts, gateway).await;
    let upgrade = upgrade.map_err(|_| {
        Problem::new("upgrade_required", "expected a WebSocket handshake over HTTP/1.1")
    })?;
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
