//! `/aaep/v1/ws`: a connection over a WebSocket, one message in each frame of text. A browser
//! cannot set headers on one, so its token may come as a subprotocol.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::SinkExt;

use crate::http::aaep::connection::{
    Connection, Farewell, Gone, Incoming, MESSAGE_BYTES_MAX, Wire,
};
use crate::http::aaep::state::Aaep;
use crate::http::shared::auth::bearer_secret;
use crate::http::shared::problem::Problem;
use crate::http::shared::sockets::{
    Arrival, READ_BUFFER_BYTES, WRITE_BUFFER_BYTES, arrive, upgrade,
};

/// The subprotocol that both sides must support.
const PROTOCOL: &str = "aaep.v1";

/// How long a peer may take to close its side. If we close before it has read our last frame, that
/// frame may be lost.
const FAREWELL_MAX: Duration = Duration::from_secs(1);

pub async fn open(State(gateway): State<Aaep>, request: Request) -> Result<Response, Problem> {
    let (mut parts, _empty) = request.into_parts();
    let Arrival { asker, offered } = arrive(&gateway, &mut parts).await?;
    if !offered.iter().any(|entry| entry == PROTOCOL) {
        let expected = "`aaep.v1` among its entries";
        return Err(Problem::schema_invalid("Sec-WebSocket-Protocol", expected));
    }
    let (upgrade, place) = upgrade(&gateway, &asker, &mut parts).await?;
    let secret = bearer_secret(&parts.headers)?.map(str::to_owned);
    let connection = Connection { gateway, asker, secret, _place: place };
    Ok(upgrade
        .protocols([PROTOCOL])
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        // A message that is slightly too large is read, so that it can be refused with an answer.
        .max_message_size(2 * MESSAGE_BYTES_MAX)
        .max_frame_size(2 * MESSAGE_BYTES_MAX)
        .on_failed_upgrade(|error| tracing::debug!(%error, "a socket did not open"))
        .on_upgrade(|socket| connection.run(Frames(socket), None)))
}

struct Frames(WebSocket);

impl Wire for Frames {
    const IS_PINGED: bool = true;

    async fn receive(&mut self) -> Incoming {
        match self.0.recv().await {
            Some(Ok(Message::Text(text))) => Incoming::Message(text.as_str().to_owned()),
            Some(Ok(Message::Binary(_))) => Incoming::NotText,
            // Pings are answered by the library.
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Incoming::Sign,
            Some(Ok(Message::Close(_))) | None => Incoming::Gone,
            Some(Err(error)) => {
                tracing::debug!(%error, "a socket cannot be read");
                Incoming::Unreadable
            }
        }
    }

    async fn send(&mut self, messages: Vec<String>) -> Result<(), Gone> {
        for message in messages {
            self.0.feed(Message::Text(message.into())).await.map_err(|_| Gone)?;
        }
        self.0.flush().await.map_err(|_| Gone)
    }

    async fn ping(&mut self) -> Result<(), Gone> {
        self.0.send(Message::Ping(Bytes::new())).await.map_err(|_| Gone)
    }

    async fn close(&mut self, farewell: Farewell) {
        let closing = async {
            if let Some((code, reason)) = farewell.words() {
                let frame = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
                let _ = self.0.send(Message::Close(Some(frame))).await;
            }
            while let Some(Ok(_)) = self.0.recv().await {}
        };
        let _ = tokio::time::timeout(FAREWELL_MAX, closing).await;
    }
}
