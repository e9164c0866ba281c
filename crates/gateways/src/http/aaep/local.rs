//! The Unix socket of AAEP: four bytes of length, big-endian, then a message. Only the user that
//! runs the server may connect. The first message may identify the client, by a token or as an
//! agent; a client that does not is the operator, as on the control socket.

use std::time::Duration;

use bytes::{Buf, BytesMut};
use protocol::ids::{AgentId, TeamspaceId};
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use crate::http::aaep::connection;
use crate::http::aaep::connection::{
    Connection, Farewell, Gone, Incoming, MESSAGE_BYTES_MAX, Wire, stopped,
};
use crate::http::aaep::state::Aaep;
use crate::http::shared::auth::{Asker, from_owner, from_token};
use crate::http::shared::problem::Problem;
use crate::http::shared::streams::OpenStream;

/// Connections at once; further ones are closed at once. One user has few screen readers and
/// agents.
pub const LOCAL_CONNECTIONS_MAX: usize = 256;

/// How long a client may be connected before its first message.
const FIRST_MESSAGE_MAX: Duration = Duration::from_secs(10);

/// From stop to return, in which each connection tells its peer why it ends.
const FAREWELLS_MAX: Duration = Duration::from_secs(2);

/// How long the loop pauses when the system has no resources for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const LENGTH_BYTES: usize = 4;

/// How much is read at once.
const READ_BYTES: usize = 4 * 1_024;

const HELLO: &str = "tasuki.hello";

/// The first message, which identifies the client.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hello {
    #[serde(rename = "type")]
    _kind: String,
    #[serde(default)]
    token: Option<String>,
    #[serde(default, rename = "as")]
    agent: Option<AgentId>,
    #[serde(default)]
    teamspace: Option<TeamspaceId>,
}

/// Serves the socket until the server stops. `uid` is who owns the server.
pub async fn serve(gateway: Aaep, listener: UnixListener, uid: u32) {
    let mut stopping = gateway.stopping.clone();
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            () = stopped(&mut stopping) => break,
        };
        let stream = match accepted {
            Ok((stream, _unnamed)) => stream,
            Err(error) => {
                tracing::warn!(%error, "accepting on the AAEP socket, will keep trying");
                let _ = tokio::time::timeout(ACCEPT_PAUSE, stopped(&mut stopping)).await;
                continue;
            }
        };
        let is_owner = stream.peer_cred().is_ok_and(|peer| peer.uid() == uid);
        if !is_owner {
            tracing::warn!("another user tried to connect to the AAEP socket");
        } else if connections.len() < LOCAL_CONNECTIONS_MAX {
            connections.spawn(converse(gateway.clone(), stream));
        }
    }
    drop(listener);
    let all_ended = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(FAREWELLS_MAX, all_ended).await;
}

async fn converse(gateway: Aaep, stream: UnixStream) {
    let mut wire = Lengths { stream, buffer: BytesMut::new(), is_writing: false };
    let mut stopping = gateway.stopping.clone();
    let first = tokio::select! {
        first = tokio::time::timeout(FIRST_MESSAGE_MAX, wire.receive()) => first,
        () = stopped(&mut stopping) => return wire.close(Farewell::Stopping).await,
    };
    let first = match first {
        Ok(Incoming::Message(first)) => first,
        Ok(Incoming::TooLarge) => {
            return wire.close(Farewell::Violation("a message is too large")).await;
        }
        Ok(
            Incoming::NotText
            | Incoming::Unreadable
            | Incoming::Sign
            | Incoming::Unfinished
            | Incoming::QuotaReached,
        ) => {
            return wire.close(Farewell::Violation("expected messages of JSON text")).await;
        }
        Ok(Incoming::Gone) => return,
        Err(_) => return wire.close(Farewell::Violation("nothing was said")).await,
    };
    match identify(&gateway, &first).await {
        Ok((asker, secret, rest)) => {
            let place = OpenStream::take(&gateway, &asker, gateway.limits.streams_per_token_max);
            match place {
                Ok(_place) => Connection { gateway, asker, secret, _place }.run(wire, rest).await,
                Err(problem) => refuse(wire, problem, Farewell::Violation("too many")).await,
            }
        }
        Err(problem) => refuse(wire, problem, Farewell::TokenEnded).await,
    }
}

async fn refuse(mut wire: Lengths, problem: Problem, farewell: Farewell) {
    let _ = wire.send(vec![connection::refused(1, problem)]).await;
    wire.close(farewell).await;
}

/// The identity of the client, and its first message if that was not a hello.
async fn identify(
    gateway: &Aaep,
    first: &str,
) -> Result<(Asker, Option<String>, Option<String>), Problem> {
    #[derive(Deserialize)]
    struct Typed {
        #[serde(rename = "type")]
        kind: String,
    }
    let is_hello = serde_json::from_str::<Typed>(first).is_ok_and(|typed| typed.kind == HELLO);
    if !is_hello {
        let teamspace = TeamspaceId::default_teamspace();
        let owner = from_owner(gateway, teamspace, None, "as").await?;
        return Ok((owner, None, Some(first.to_owned())));
    }
    let Hello { token, agent, teamspace, .. } = serde_json::from_str(first).map_err(|error| {
        let expected = format!("{HELLO} with a token, or with `as` and `teamspace`: {error}");
        Problem::schema_invalid("hello", &expected)
    })?;
    match token {
        Some(token) if agent.is_none() && teamspace.is_none() => {
            Ok((from_token(gateway, &token).await?, Some(token), None))
        }
        Some(_) => Err(Problem::schema_invalid("token", "nothing besides")),
        None => {
            let teamspace = teamspace.unwrap_or_else(TeamspaceId::default_teamspace);
            Ok((from_owner(gateway, teamspace, agent, "as").await?, None, None))
        }
    }
}

struct Lengths {
    stream: UnixStream,
    buffer: BytesMut,
    /// A message was sent in part, so the peer could not parse anything after it.
    is_writing: bool,
}

impl Wire for Lengths {
    const IS_PINGED: bool = false;

    async fn receive(&mut self) -> Incoming {
        loop {
            let length = self.buffer.first_chunk().map(|length| u32::from_be_bytes(*length));
            let length = length.map(|length| usize::try_from(length).unwrap_or(usize::MAX));
            match length {
                Some(length) if length > MESSAGE_BYTES_MAX => return Incoming::TooLarge,
                Some(length) if self.buffer.len() >= LENGTH_BYTES + length => {
                    self.buffer.advance(LENGTH_BYTES);
                    let message = self.buffer.split_to(length);
                    return match std::str::from_utf8(&message) {
                        Ok(text) => Incoming::Message(text.to_owned()),
                        Err(_) => Incoming::NotText,
                    };
                }
                Some(_) | None => {}
            }
            self.buffer.reserve(READ_BYTES);
            match self.stream.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return Incoming::Gone,
                Ok(_) => {}
            }
        }
    }

    async fn send(&mut self, messages: Vec<String>) -> Result<(), Gone> {
        let mut bytes = Vec::new();
        for message in messages {
            let length = u32::try_from(message.len()).expect("a message is far smaller");
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(message.as_bytes());
        }
        self.is_writing = true;
        self.stream.write_all(&bytes).await.map_err(|_| Gone)?;
        self.is_writing = false;
        Ok(())
    }

    async fn ping(&mut self) -> Result<(), Gone> {
        Ok(())
    }

    async fn close(&mut self, farewell: Farewell) {
        let closing = async {
            if let Some((code, reason)) = farewell.words().filter(|_| !self.is_writing) {
                let _ = self.send(vec![connection::closed(code, reason)]).await;
            }
            let _ = self.stream.shutdown().await;
        };
        let _ = tokio::time::timeout(FAREWELLS_MAX / 2, closing).await;
    }
}
