//! `/aaep/v1/ws`: a connection over a WebSocket, one message in each frame of text. A browser
//! cannot set headers on one, so its token may come as a subprotocol.

use axum::extract::{Request, State};
use axum::response::Response;

use crate::http::aaep::connection::{
    Connection, Farewell, Gone, Incoming, MESSAGE_BYTES_MAX, Wire,
};
use crate::http::aaep::state::Aaep;
use crate::http::shared::auth::bearer_secret;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::problem::Problem;
use crate::http::shared::socket::{Message, PeerGone, ReceiveError, Socket};
use crate::http::shared::sockets::{Arrival, Opening, arrive, upgrade};

/// The subprotocol that both sides must support.
const PROTOCOL: &str = "aaep.v1";

pub async fn open(State(gateway): State<Aaep>, request: Request) -> Result<Response, Problem> {
    let (mut parts, _empty) = request.into_parts();
    let Arrival { asker, offered } = arrive(&gateway, &mut parts).await?;
    if !offered.iter().any(|entry| entry == PROTOCOL) {
        let expected = "`aaep.v1` among its entries";
        return Err(Problem::schema_invalid("Sec-WebSocket-Protocol", expected));
    }
    let (upgrade, place) = upgrade(&gateway, &asker, &mut parts)?;
    let secret = bearer_secret(&parts.headers)?.map(str::to_owned);
    let opening = Opening {
        protocol: Some(PROTOCOL),
        // A message that is slightly too large is read, so that it can be refused with an answer.
        message_bytes_max: 2 * MESSAGE_BYTES_MAX,
    };
    let (shared, caller) = (Gateway::clone(&gateway), asker.caller.clone());
    let connection = Connection { gateway, asker, secret, _place: place };
    Ok(upgrade.open(shared, caller, opening, |socket| connection.run(Frames(socket), None)))
}

struct Frames(Socket);

impl From<PeerGone> for Gone {
    fn from(_: PeerGone) -> Self {
        Gone
    }
}

impl Wire for Frames {
    const IS_PINGED: bool = true;

    async fn receive(&mut self) -> Incoming {
        match self.0.recv().await {
            Some(Ok(Message::Text(text))) => Incoming::Message(text.as_str().to_owned()),
            Some(Ok(Message::Binary(_))) => Incoming::NotText,
            // Pings are answered by the library.
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Incoming::Sign,
            Some(Ok(Message::Close(_))) | None => Incoming::Gone,
            Some(Err(ReceiveError::Unfinished)) => Incoming::Unfinished,
            Some(Err(ReceiveError::QuotaReached)) => Incoming::QuotaReached,
            Some(Err(ReceiveError::Unreadable(error))) => {
                tracing::debug!(%error, "a socket cannot be read");
                Incoming::Unreadable
            }
        }
    }

    async fn send(&mut self, messages: Vec<String>) -> Result<(), Gone> {
        for message in messages {
            self.0.feed(Message::Text(message.into())).await?;
        }
        Ok(self.0.flush().await?)
    }

    async fn ping(&mut self) -> Result<(), Gone> {
        Ok(self.0.ping().await?)
    }

    async fn close(&mut self, farewell: Farewell) {
        self.0.close(farewell.words()).await;
    }
}
