//! `/ws`: one connection on which a customer, a person or a program sends commands and follows
//! events. Commands are the operations of the HTTP API, run by the same router; events are the
//! entries of the ledger.
//!
//! A browser cannot set headers on a WebSocket, so its token comes as a subprotocol. It is never
//! part of the URL, because URLs end up in too many logs.

mod command;
mod connection;
mod frame;
mod origin;
mod subscription;
pub mod typing;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::{FromRequestParts, Request, WebSocketUpgrade};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use protocol::caller::Principal;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Gateway;
use super::auth::{Asker, authenticate, bearer_secret};
use super::events::Place;
use super::input::Asked;
use super::problem::Problem;
use crate::rate::{RateLimit, RateLimiter};
use command::Identity;
use connection::Connection;
pub use origin::{InvalidOrigin, Origins};
use typing::Typing;

/// The subprotocol. An incompatible change gets another name.
const PROTOCOL: &str = "tasuki.v1";

/// The prefix of the token among the subprotocols.
const BEARER: &str = "bearer.";

/// Each connection holds a buffer of this size all the time. Most frames are smaller; a larger one
/// grows the buffer while it is read.
pub const READ_BUFFER_BYTES: usize = 4 * 1_024;

/// Consecutive frames are written together up to this size.
pub const WRITE_BUFFER_BYTES: usize = 4 * 1_024;

/// What a frame may have besides the body of its command: a key, an id, a few parameters.
const FRAME_OVERHEAD_BYTES: usize = 4 * 1_024;

/// A customer has a few tabs and a phone. Other callers may have `streams_per_token`.
pub const CUSTOMER_SOCKETS_MAX: usize = 16;

/// Frames of one connection. A person does not type this fast, and a program that must be faster
/// can use HTTP or several connections.
pub const FRAMES: RateLimit = RateLimit {
    per_minute: NonZeroU32::new(6_000).expect("6,000 is not 0"),
    burst: NonZeroU32::new(200).expect("200 is not 0"),
};

/// Messages of one connection that speaks AAEP. An agent that streams an answer sends fifty a
/// second.
pub const AAEP_MESSAGES: RateLimit = RateLimit {
    per_minute: NonZeroU32::new(60_000).expect("60,000 is not 0"),
    burst: NonZeroU32::new(2_000).expect("2,000 is not 0"),
};

/// What all sockets share.
#[derive(Debug)]
pub struct Sockets {
    pub origins: Origins,
    typing: Arc<Typing>,
    frames: RateLimiter,
    /// Messages of connections that speak AAEP.
    pub aaep: RateLimiter,
    /// Numbers the connections, so that each of one bearer has a rate limit of its own.
    n_opened: AtomicU64,
}

impl Sockets {
    /// A number that no other connection has.
    pub fn number(&self) -> u64 {
        self.n_opened.fetch_add(1, Ordering::Relaxed)
    }
}

impl Default for Sockets {
    fn default() -> Self {
        Self {
            origins: Origins::default(),
            typing: Arc::default(),
            frames: RateLimiter::new(FRAMES),
            aaep: RateLimiter::new(AAEP_MESSAGES),
            n_opened: AtomicU64::new(0),
        }
    }
}

/// Everything that a token might be put into by mistake.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoQuery {}

/// Opens a socket. `operations` is the router that runs its commands.
pub async fn open(
    operations: Router,
    gateway: Gateway,
    request: Request,
) -> Result<Response, Problem> {
    let (mut parts, _empty) = request.into_parts();
    let Arrival { asker, offered } = arrive(&gateway, &mut parts).await?;
    if !offered.is_empty() && !offered.iter().any(|entry| entry == PROTOCOL) {
        let expected = "`tasuki.v1` among its entries";
        return Err(Problem::schema_invalid("Sec-WebSocket-Protocol", expected));
    }
    let (upgrade, place) = upgrade(&gateway, &asker, &mut parts).await?;
    let frame_bytes_max = gateway.limits.body_bytes_max + FRAME_OVERHEAD_BYTES;
    let connection = Connection {
        number: gateway.sockets.number(),
        secret: bearer_secret(&parts.headers)?.map(str::to_owned),
        identity: Identity::of(&parts),
        frame_bytes_max,
        operations,
        gateway,
        asker,
        _place: place,
    };
    Ok(upgrade
        .protocols([PROTOCOL])
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        // A frame that is slightly too large is read, so that it can be refused with an answer.
        .max_message_size(2 * frame_bytes_max)
        .max_frame_size(2 * frame_bytes_max)
        .on_failed_upgrade(|error| tracing::debug!(%error, "a socket did not open"))
        .on_upgrade(|socket| connection.run(socket)))
}

/// The caller that opens a socket, and the subprotocols that it supports.
pub struct Arrival {
    pub asker: Asker,
    pub offered: Vec<String>,
}

/// Checks the origin of the page, and the token from a header or from the subprotocols.
pub async fn arrive(gateway: &Gateway, parts: &mut Parts) -> Result<Arrival, Problem> {
    gateway.sockets.origins.check(&parts.headers)?;
    let offered = offered_protocols(&parts.headers)?;
    for token in offered.iter().filter_map(|entry| entry.strip_prefix(BEARER)) {
        let value = HeaderValue::from_str(&format!("Bearer {token}"));
        let value = value.map_err(|_| Problem::unauthenticated())?;
        // If there is another token, this is refused like two headers.
        parts.headers.append(header::AUTHORIZATION, value);
    }
    let asker = authenticate(gateway, parts).await?;
    Asked::<NoQuery>::from_request_parts(parts, gateway).await?;
    Ok(Arrival { asker, offered })
}

/// The upgrade to a socket, and its place among the open ones.
pub async fn upgrade(
    gateway: &Gateway,
    asker: &Asker,
    parts: &mut Parts,
) -> Result<(WebSocketUpgrade, Place), Problem> {
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
    Ok((upgrade, Place::take(gateway, asker, n_max)?))
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
