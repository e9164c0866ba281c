//! `GET ws`: the same messages both ways on one socket, without a subprotocol.

use axum::extract::{FromRequestParts, Request, State};
use axum::response::Response;
use protocol::time::Span;
use serde_json::json;
use tokio::sync::mpsc;

use crate::http::aaep::compat::line::{CompatLine, LineStep};
use crate::http::aaep::compat::lines::{Lines, Order};
use crate::http::aaep::compat::mount::{Mount, page_of_this_machine};
use crate::http::aaep::compat::{NotReceived, Via, is_still_allowed, now, receive};
use crate::http::aaep::listening::MESSAGE_BYTES_MAX;
use crate::http::aaep::state::Aaep;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::problem::Problem;
use crate::http::shared::socket::{Message, ReceiveError, Socket};
use crate::http::shared::sockets::{Opening, Upgrade};
use crate::http::shared::streams::OpenStream;

/// How often the token is checked.
const LOOK: Span = Span::from_millis(1_000);

/// How many token checks lie between pings.
const LOOKS_PER_PING: u32 = 10;

pub async fn open(State(gateway): State<Aaep>, request: Request) -> Result<Response, Problem> {
    let (mut parts, _) = request.into_parts();
    let mount = Mount::from_request_parts(&mut parts, &gateway).await?;
    let is_own_page = mount.secret.is_none() && page_of_this_machine(&parts.headers).is_some();
    if !is_own_page {
        gateway.origins.check(&parts.headers)?;
    }
    let upgrade = Upgrade::of(&mut parts)?;
    if *gateway.stopping.borrow() {
        return Err(Problem::new("stopping", "the server is stopping"));
    }
    let place = OpenStream::take(&gateway, &mount.asker, gateway.limits.streams_per_token_max)?;
    let joined = Lines::apart();
    let own = joined.own.clone();
    let from = now(&gateway).await?;
    let line = CompatLine::open(gateway.clone(), mount.clone(), joined, from).await?;
    let opening = Opening { protocol: None, message_bytes_max: MESSAGE_BYTES_MAX };
    let (shared, caller) = (Gateway::clone(&gateway), mount.asker.caller.clone());
    Ok(upgrade.open(shared, caller, opening, move |socket| {
        Box::pin(Talking { gateway, mount, line, own, socket, _place: place }.run())
    }))
}

/// One open socket.
struct Talking {
    gateway: Aaep,
    mount: Mount,
    line: CompatLine,
    /// To the line itself: answers to messages on this socket are sent on it.
    own: mpsc::Sender<Order>,
    socket: Socket,
    _place: OpenStream,
}

enum Wake {
    Line(Result<LineStep, Problem>),
    Said(Option<Result<Message, ReceiveError>>),
    Look,
    Stop,
}

/// The code and the reason with which it ends; none if the peer has gone.
type Farewell = Option<(u16, &'static str)>;

impl Talking {
    async fn run(mut self) {
        let mut stopping = self.gateway.stopping.clone();
        let mut looked_at = self.gateway.engine.clock().now();
        let mut n_looks = 0;
        let farewell = loop {
            let wake = tokio::select! {
                next = self.line.next() => Wake::Line(next),
                said = self.socket.recv() => Wake::Said(said),
                () = self.gateway.engine.clock().sleep(LOOK) => Wake::Look,
                _ = stopping.wait_for(|stopping| *stopping) => Wake::Stop,
            };
            // This also runs while there is always something to send.
            let now = self.gateway.engine.clock().now();
            if now.since(looked_at) >= LOOK || now < looked_at {
                looked_at = now;
                if !is_still_allowed(&self.gateway, &self.mount).await {
                    break Some((4_002, "the token has ended or changed"));
                }
            }
            let done = match wake {
                Wake::Line(next) => self.tell(next).await,
                Wake::Said(said) => self.hear(said).await,
                Wake::Look => {
                    n_looks = (n_looks + 1) % LOOKS_PER_PING;
                    match n_looks {
                        0 => self.socket.ping().await.map_err(|_| None),
                        _ => Ok(()),
                    }
                }
                Wake::Stop => Err(Some((1_001, "the server is stopping"))),
            };
            if let Err(farewell) = done {
                break farewell;
            }
        };
        self.close(farewell).await;
    }

    async fn tell(&mut self, next: Result<LineStep, Problem>) -> Result<(), Farewell> {
        const BROKEN: Farewell = Some((1_011, "the server failed"));
        let next = next.map_err(|_| BROKEN)?;
        let frames = self.line.frames(next).await.map_err(|_| BROKEN)?;
        let frames = frames.map_err(|_| Some((4_000, "closed by the subscriber")))?;
        for frame in frames {
            self.send(frame.text).await?;
        }
        Ok(())
    }

    async fn hear(&mut self, said: Option<Result<Message, ReceiveError>>) -> Result<(), Farewell> {
        let text = match said {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Binary(_))) => {
                return self.refuse("expected text frames of JSON").await;
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => return Ok(()),
            Some(Ok(Message::Close(_))) | None => return Err(None),
            Some(Err(ReceiveError::Unfinished)) => {
                return Err(Some((1_008, "a message was not finished in time")));
            }
            Some(Err(ReceiveError::QuotaReached)) => {
                return Err(Some((1_008, "what may be written in a minute is used up")));
            }
            Some(Err(ReceiveError::Unreadable(_))) => {
                return Err(Some((1_009, "what came cannot be read, or is too large")));
            }
        };
        match receive(&self.gateway, &self.mount, Via::Socket(&self.own), &text).await {
            Ok(()) => Ok(()),
            Err(NotReceived::Garbage(expected)) => self.refuse(&expected).await,
            Err(NotReceived::Refused(problem)) => self.refuse(&problem.detail).await,
        }
    }

    async fn refuse(&mut self, why: &str) -> Result<(), Farewell> {
        self.send(json!({ "error": why }).to_string()).await
    }

    async fn send(&mut self, text: String) -> Result<(), Farewell> {
        self.socket.send(Message::Text(text.into())).await.map_err(|_| None)
    }

    async fn close(&mut self, farewell: Farewell) {
        self.socket.close(farewell).await;
    }
}
