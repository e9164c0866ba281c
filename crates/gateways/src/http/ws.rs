//! `/ws`: one connection on which a customer, a person or a program sends commands and follows
//! events. Commands are the operations of the HTTP API, run by the same router; events are the
//! entries of the ledger.
//!
//! A browser cannot set headers on a WebSocket, so its token comes as a subprotocol. It is never
//! part of the URL, because URLs end up in too many logs.

mod command;
mod connection;
pub mod frame;
mod places;
pub mod state;
mod subscription;
pub mod typing;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;

use crate::http::call::Identity;
use crate::http::conversations::operations::CONVERSATIONS;
use crate::http::shared::auth::bearer_secret;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::problem::Problem;
use crate::http::shared::routes::Routes;
use crate::http::shared::sockets::{Arrival, Opening, arrive, upgrade};
use crate::http::ws::connection::Connection;
use crate::http::ws::state::Ws;

/// The subprotocol. An incompatible change gets another name.
const PROTOCOL: &str = "tasuki.v1";

/// What a frame may have besides the body of its command: a key, an id, a few parameters.
const FRAME_OVERHEAD_BYTES: usize = 4 * 1_024;

pub fn routes(ws: Ws) -> Router {
    Routes::new(&[&CONVERSATIONS]).route("/ws", |at| at.get(open)).with_state(ws)
}

/// Opens a socket.
async fn open(State(gateway): State<Ws>, request: Request) -> Result<Response, Problem> {
    let (mut parts, _empty) = request.into_parts();
    let Arrival { asker, offered } = arrive(&gateway, &mut parts).await?;
    if !offered.is_empty() && !offered.iter().any(|entry| entry == PROTOCOL) {
        let expected = "`tasuki.v1` among its entries";
        return Err(Problem::schema_invalid("Sec-WebSocket-Protocol", expected));
    }
    let (upgrade, place) = upgrade(&gateway, &asker, &mut parts)?;
    let frame_bytes_max = gateway.limits.body_bytes_max + FRAME_OVERHEAD_BYTES;
    let opening = Opening {
        protocol: Some(PROTOCOL).filter(|_| !offered.is_empty()),
        // A frame that is slightly too large is read, so that it can be refused with an answer.
        message_bytes_max: 2 * frame_bytes_max,
    };
    let (shared, caller) = (Gateway::clone(&gateway), asker.caller.clone());
    let connection = Connection {
        number: gateway.next_socket(),
        secret: bearer_secret(&parts.headers)?.map(str::to_owned),
        identity: Identity::of(&parts),
        frame_bytes_max,
        gateway,
        asker,
        _place: place,
    };
    Ok(upgrade.open(shared, caller, opening, |socket| connection.run(socket)))
}
