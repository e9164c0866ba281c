//! `/aaep/v1/subscriptions`, `/events` and `/replies`: a listener agrees on terms, listens, and
//! answers. Server-sent events one way, plain requests the other.

use std::convert::Infallible;
use std::future;
use std::io::Write;

use aaep::flaw::Flaw;
use aaep::handshake::{Close, Handshake, Producer, Reason, Rejected, is_request, read_handshake};
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::aaep::handshake::Host;
use engine::aaep::listening::{ListenerNews, Listening, ReadyEvent, Resume};
use engine::read::access::Bearer;
use futures_util::{StreamExt, stream};
use protocol::caller::Caller;
use protocol::ids::SubscriptionId;
use protocol::rejection::Rejection;
use protocol::time::{Span, Time};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::watch;

use crate::body::read_body;
use crate::http::aaep::state::Aaep;
use crate::http::shared::auth::{Asker, authenticate, bearer_secret};
use crate::http::shared::cursors;
use crate::http::shared::input::{QueryParameters, check_is_json};
use crate::http::shared::problem::Problem;
use crate::http::shared::streams::OpenStream;

/// The largest message of a listener: its terms, or an answer of the longest kind.
pub const MESSAGE_BYTES_MAX: usize = 128 * 1024;

/// How often the token is checked.
const LOOK: Span = Span::from_millis(1_000);

/// How many token checks lie between heartbeats on a quiet stream. Clients give up after 30
/// seconds.
const LOOKS_PER_BEAT: u32 = 10;

/// Events that are sent at once, if there are several. A slow reader falls behind in the ledger:
/// the next events are read when these are sent.
const CHUNK_BYTES: usize = 16 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListenInput {
    pub subscription_id: String,
}

impl Aaep {
    /// The producer that listeners are told of.
    pub fn host(&self) -> Host {
        let producer = Producer {
            agent_id: "tasuki".to_owned(),
            agent_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            agent_name: Some("Tasuki".to_owned()),
            ..Producer::default()
        };
        Host {
            producer,
            manifest_uri: None,
            signed_manifest: self.manifest_signer.as_ref().map(|signer| signer.signed_manifest()),
        }
    }
}

/// A message and its sender.
pub struct Message {
    asker: Asker,
    /// A request for a subscription that cannot be read is answered with a rejection.
    message: Result<Handshake, Rejected>,
}

impl FromRequest<Aaep> for Message {
    type Rejection = Problem;

    async fn from_request(request: Request, gateway: &Aaep) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let asker = authenticate(gateway, &parts).await?;
        check_is_json(&parts.headers)?;
        let read_ms_max = gateway.limits.body_read_ms_max;
        let bytes = read_body(body, MESSAGE_BYTES_MAX, read_ms_max, |_| true).await?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| Problem::new("json_invalid", "body: expected JSON in UTF-8"))?;
        let message = match read_handshake(text) {
            Ok(message) => Ok(message),
            Err(flaws) if is_request(text) => Err(Rejected::unreadable(&flaws)),
            Err(flaws) => return Err(refused(flaws)),
        };
        Ok(Self { asker, message })
    }
}

/// All that is wrong with a message. It is no event, and has no number among others.
pub fn refused(flaws: Vec<Flaw>) -> Problem {
    let detail = flaws.first().map(ToString::to_string);
    let mut problem = Problem::from(Rejection::EventRefused { index: 0, flaws });
    problem.facts.remove("index");
    problem.detail = detail.unwrap_or(problem.detail);
    problem
}

pub async fn subscribe(
    State(gateway): State<Aaep>,
    Message { asker, message }: Message,
) -> Result<Response, Problem> {
    let message = match message {
        Ok(message) => message,
        Err(rejected) => return Ok(rejection(rejected)),
    };
    let Handshake::Request(request) = message else {
        return Err(Problem::schema_invalid("type", "subscription.request"));
    };
    if *gateway.stopping.borrow() {
        let why = "the server is stopping".to_owned();
        return Ok(rejection(Rejected::because(Reason::TransportUnavailable, why)));
    }
    let host = gateway.host();
    match gateway.engine.listeners().subscribe(&asker.caller, &host, request).await? {
        Ok(accepted) => {
            let at = format!("/aaep/v1/events?subscription_id={}", accepted.subscription_id);
            let at = HeaderValue::from_str(&at).expect("an id is plain text");
            let body = Json(Handshake::Accepted(accepted));
            Ok((StatusCode::CREATED, [(header::LOCATION, at)], body).into_response())
        }
        Err(rejected) => Ok(rejection(rejected)),
    }
}

/// Answers, new terms, and the end of a subscription.
pub async fn reply(
    State(gateway): State<Aaep>,
    Message { asker, message }: Message,
) -> Result<Response, Problem> {
    let expected = "confirmation.reply, clarification.reply, subscription.renegotiate or \
                    subscription.close";
    let message = message.map_err(|_| Problem::schema_invalid("type", expected))?;
    match message {
        Handshake::Renegotiate(asked) => {
            let host = gateway.host();
            match gateway.engine.listeners().renegotiate(&asker.caller, &host, &asked).await? {
                Ok(accepted) => Ok(Json(Handshake::Accepted(accepted)).into_response()),
                Err(rejected) => Ok(rejection(rejected)),
            }
        }
        Handshake::Close(close) => {
            gateway.engine.listeners().close(&asker.caller, &close).await?;
            Ok(StatusCode::NO_CONTENT.into_response())
        }
        reply @ (Handshake::ConfirmationReply(_) | Handshake::ClarificationReply(_)) => {
            gateway.engine.listeners().reply(&asker.caller, &reply).await?;
            Ok(StatusCode::NO_CONTENT.into_response())
        }
        Handshake::Request(_) | Handshake::Accepted(_) | Handshake::Rejected(_) => {
            Err(Problem::schema_invalid("type", expected))
        }
    }
}

/// A refusal as a message of the protocol, with the nearest HTTP status.
fn rejection(rejected: Rejected) -> Response {
    let status = match rejected.reason_code {
        Reason::VersionUnsupported | Reason::CapabilitiesIncompatible => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        Reason::ManifestSignatureRequired => StatusCode::CONFLICT,
        Reason::RateLimit => StatusCode::TOO_MANY_REQUESTS,
        Reason::AuthenticationRequired => StatusCode::UNAUTHORIZED,
        Reason::AuthorizationDenied => StatusCode::FORBIDDEN,
        Reason::TransportUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        Reason::Unknown => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, Json(Handshake::Rejected(rejected))).into_response()
}

pub async fn listen(
    State(gateway): State<Aaep>,
    asker: Asker,
    headers: HeaderMap,
    QueryParameters(input): QueryParameters<ListenInput>,
) -> Result<Response, Problem> {
    let none = || Problem::not_found("subscription");
    let id: SubscriptionId = input.subscription_id.parse().map_err(|_| none())?;
    let resume = resume(&gateway, &asker.caller, &headers)?;
    if *gateway.stopping.borrow() {
        return Err(Problem::new("stopping", "the server is stopping"));
    }
    let place = OpenStream::take(&gateway, &asker, gateway.limits.streams_per_token_max)?;
    let goes_on = resume != Resume::No;
    let listening = gateway.engine.listeners().listen(&asker.caller, &id, resume).await?;
    let mut listening = listening.ok_or_else(none)?;
    if goes_on {
        listening.ask_again().await?;
    }
    let secret = bearer_secret(&headers)?.map(str::to_owned);
    let stopping = gateway.stopping.clone();
    let (caller, looked_at) = (asker.caller, gateway.engine.clock().now());
    let open = OpenListening {
        gateway,
        id,
        caller,
        secret,
        listening,
        stopping,
        looked_at,
        n_looks: 0,
        lacks_id: false,
        _place: place,
    };
    let greeting = stream::once(future::ready(open.sign_of_life("retry: 1000\n: connected")));
    let chunks = greeting.chain(stream::unfold(Some(open), OpenListening::continued));
    let body = Body::from_stream(chunks.map(Ok::<_, Infallible>));
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, body).into_response())
}

fn resume(gateway: &Aaep, caller: &Caller, headers: &HeaderMap) -> Result<Resume, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(Resume::No) };
    let text = value.to_str().unwrap_or_default();
    if text.starts_with("evt_") {
        return Ok(Resume::AfterEvent(text.to_owned()));
    }
    let given = ("Last-Event-ID", text);
    cursors::announced_after(gateway, &caller.teamspace, given).map(Resume::After)
}

/// One open stream. It lives as long as its connection, and advances when that asks for more.
struct OpenListening {
    gateway: Aaep,
    id: SubscriptionId,
    caller: Caller,
    /// The secret with which to check again whether the caller is still allowed; none on the
    /// control socket.
    secret: Option<String>,
    listening: Listening,
    stopping: watch::Receiver<bool>,
    /// When the token was last checked.
    looked_at: Time,
    /// Since the last heartbeat.
    n_looks: u32,
    /// Whether the last event had no id, so that a listener could not resume after it.
    lacks_id: bool,
    _place: OpenStream,
}

enum ListeningStep {
    Heard(ListenerNews),
    Look,
    Stop,
}

impl OpenListening {
    /// What is sent next, and the stream after it; nothing once it is over.
    async fn continued(open: Option<Self>) -> Option<(Bytes, Option<Self>)> {
        let mut open = open?;
        loop {
            let next = tokio::select! {
                heard = open.listening.next() => match heard {
                    Ok(heard) => ListeningStep::Heard(heard),
                    Err(error) => {
                        tracing::warn!(%error, "a subscription was cut off");
                        ListeningStep::Stop
                    }
                },
                () = open.gateway.engine.clock().sleep(LOOK) => ListeningStep::Look,
                () = stopped(&mut open.stopping) => ListeningStep::Stop,
            };
            // This also runs while there is always something to send.
            let now = open.gateway.engine.clock().now();
            if now.since(open.looked_at) >= LOOK {
                open.looked_at = now;
                if !open.is_still_allowed().await {
                    return None;
                }
                if open.is_closed().await {
                    return Some((open.closing("closed", ""), None));
                }
            }
            match next {
                ListeningStep::Heard(ListenerNews::Told(told)) => {
                    return Some((open.several(&told), Some(open)));
                }
                ListeningStep::Heard(ListenerNews::Closed(closed)) => {
                    return Some((open.closing(&closed.code, &closed.message), None));
                }
                ListeningStep::Look => {
                    open.n_looks = (open.n_looks + 1) % LOOKS_PER_BEAT;
                    let can_resume = open.listening.place().is_some();
                    if open.n_looks == 0 || (can_resume && std::mem::take(&mut open.lacks_id)) {
                        return Some((open.sign_of_life(": beat"), Some(open)));
                    }
                }
                ListeningStep::Stop => return None,
            }
        }
    }

    /// An event, and those that are ready to be told with it.
    fn several(&mut self, told: &ReadyEvent) -> Bytes {
        let mut text = Vec::with_capacity(told.text().len() + 96);
        self.frame(&mut text, told);
        while text.len() < CHUNK_BYTES {
            let Some(told) = self.listening.ready() else { break };
            self.frame(&mut text, &told);
        }
        // After the copies with which a stream begins, a listener can resume at once.
        if self.listening.place().is_some() && std::mem::take(&mut self.lacks_id) {
            text.extend_from_slice(&self.sign_of_life(": place"));
        }
        Bytes::from(text)
    }

    /// Writes an event as a frame. A critical event that overtakes others has no id: a listener
    /// that resumes gets it again, and recognises it by its `event_id`.
    fn frame(&mut self, text: &mut Vec<u8>, told: &ReadyEvent) {
        self.lacks_id = told.id.is_none();
        if let Some(id) = told.id {
            let id = cursors::announced(&self.gateway, &self.caller.teamspace, id);
            writeln!(text, "id: {id}").expect("a vector takes everything");
        }
        text.extend_from_slice(b"event: aaep.event\ndata: ");
        text.extend_from_slice(told.text().as_bytes());
        text.extend_from_slice(b"\n\n");
    }

    /// The end, as a message of the protocol.
    fn closing(&self, code: &str, message: &str) -> Bytes {
        let close = Handshake::Close(Close {
            subscription_id: self.id.to_string(),
            reason_code: Some(code.to_owned()),
            reason_message: Some(message.to_owned()).filter(|message| !message.is_empty()),
            ..Close::default()
        });
        Bytes::from(format!("event: aaep.close\ndata: {}\n\n", close.write()))
    }

    async fn is_still_allowed(&self) -> bool {
        match &self.secret {
            None => true,
            Some(secret) => {
                // A bearer whose roles changed must reconnect to get them.
                let bearer = self.gateway.engine.access().authenticate(secret).await.ok().flatten();
                bearer.is_some_and(|Bearer { caller, .. }| {
                    caller.principal == self.caller.principal && caller.roles == self.caller.roles
                })
            }
        }
    }

    /// Whether the subscription was ended while there is more to send.
    async fn is_closed(&self) -> bool {
        matches!(
            self.gateway.engine.listeners().subscription(&self.caller, &self.id).await,
            Ok(None)
        )
    }

    /// A comment, with the cursor up to which everything was sent. A listener that got no event
    /// since resumes there.
    fn sign_of_life(&self, comment: &str) -> Bytes {
        match self.listening.place() {
            Some(place) => {
                let teamspace = &self.caller.teamspace;
                let place = cursors::announced_so_far(&self.gateway, teamspace, place);
                Bytes::from(format!("id: {place}\n{comment}\n\n"))
            }
            None => Bytes::from(format!("{comment}\n\n")),
        }
    }
}

/// Ends when the server stops.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stopping| *stopping).await;
}
