//! `/aaep/compat/{agent}`: the layout that other tools speak, for one agent. `events` streams,
//! `messages` takes everything else, and `ws` does both. It uses the same subscriptions, sessions
//! and answers as the rest of the server; only the messages differ.
//!
//! - [`message`]: the messages that may come, parsed leniently.
//! - [`lines`]: the open streams of each bearer, and messages that wait for a stream.
//! - [`line`]: one listener, over all its subscriptions.
//! - [`stream`], [`socket`]: the two transports.

mod line;
mod lines;
mod message;
mod socket;
mod stream;

use aaep::shape::Cursor;
use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::access::Bearer;
use protocol::caller::Caller;
use protocol::ids::{AgentId, SessionId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::step::State as Aggregate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::listening::MESSAGE_BYTES_MAX;
use crate::body::read_body;
use crate::http::Gateway;
use crate::http::auth::{Asker, Credential, authenticate, bearer_secret, is_loopback_name};
use crate::http::input::Named;
use crate::http::messages;
use crate::http::problem::Problem;
use lines::{Key, Lines, Order, Whom};
use message::Said;

pub use socket::open;
pub use stream::listen;

/// The state that only this layout has.
#[derive(Debug, Default)]
pub struct Compat {
    pub settings: Settings,
    lines: Lines,
}

#[derive(Debug, Default)]
pub struct Settings {
    /// The agent that any program on this machine may talk to without a token.
    pub open: Option<Open>,
    /// The agent that runs within this process and handles user input.
    pub player: Option<Player>,
}

#[derive(Debug)]
pub struct Open {
    pub agent: AgentId,
    /// The caller that requests without a token count as.
    pub caller: Caller,
}

#[derive(Debug)]
pub struct Player {
    pub teamspace: TeamspaceId,
    pub agent: AgentId,
    pub words: mpsc::Sender<Words>,
}

/// The input of a user, and the session in which it is handled.
#[derive(Debug)]
pub struct Words {
    pub session: SessionId,
    pub text: String,
}

/// A message of any kind: `{"kind":"user_input","text":…}`, an answer, or terms.
#[derive(Debug, JsonSchema)]
#[schemars(transparent)]
pub struct AnyMessage(#[expect(dead_code, reason = "it is read by hand")] Map<String, Value>);

#[derive(Debug, Deserialize, JsonSchema)]
pub struct SessionInput {
    pub user_message: String,
    /// Ignored: the token identifies the caller.
    #[serde(default)]
    #[expect(dead_code, reason = "others send it")]
    pub user_id: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Received {
    pub status: &'static str,
    /// The session in which the user's input is handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// The caller, and the agent that it talks to.
#[derive(Debug, Clone)]
pub struct Mount {
    pub asker: Asker,
    pub agent: AgentId,
    pub agent_name: Option<String>,
    /// The secret with which to check again whether the caller is still allowed.
    pub secret: Option<String>,
}

impl FromRequestParts<Gateway> for Mount {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Problem> {
        let agent = Named::<AgentId>::from_request_parts(parts, gateway).await;
        let asker = match (&agent, gateway.comes_freely(parts)?) {
            (Ok(Named(agent)), Some(open)) if open.agent == *agent => {
                Asker { caller: open.caller.clone(), credential: Credential::Open }
            }
            (Ok(_) | Err(_), Some(_) | None) => authenticate(gateway, parts).await?.member()?,
        };
        let Named(agent) = agent?;
        let subject = Subject::Agent(agent.clone());
        let stream = Stream { teamspace: asker.caller.teamspace.clone(), subject };
        let found = gateway.engine.current(&stream).await?;
        let Some(Aggregate::Agent(found)) = found.as_deref() else {
            return Err(Problem::not_found("agent"));
        };
        let agent_name = Some(found.profile.name.clone()).filter(|name| !name.is_empty());
        let secret = bearer_secret(&parts.headers)?.map(str::to_owned);
        Ok(Self { asker, agent, agent_name, secret })
    }
}

impl Gateway {
    /// What is open to a caller without a token, if it is on this machine: a program, or a page
    /// that this machine serves or that was allowed.
    fn comes_freely(&self, parts: &Parts) -> Result<Option<&Open>, Problem> {
        let Some(open) = &self.compat.settings.open else { return Ok(None) };
        if parts.headers.contains_key(header::AUTHORIZATION) || !self.is_called_from_here(parts) {
            return Ok(None);
        }
        if page_of_this_machine(&parts.headers).is_none() {
            self.sockets.origins.check(&parts.headers)?;
        }
        Ok(Some(open))
    }

    /// The handler of user input to this agent, unless the agent gets it in its mailbox.
    fn player(&self, mount: &Mount) -> Option<&Player> {
        let player = self.compat.settings.player.as_ref();
        let teamspace = &mount.asker.caller.teamspace;
        player.filter(|player| player.agent == mount.agent && player.teamspace == *teamspace)
    }
}

/// The origin of a page that comes from this machine itself, such as one that is being developed.
fn page_of_this_machine(headers: &HeaderMap) -> Option<&HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    is_loopback_name(origin.to_str().ok()?).then_some(origin)
}

/// Lets a page of this machine read the answer.
fn readable(headers: &HeaderMap, mut response: Response) -> Response {
    if let Some(origin) = page_of_this_machine(headers) {
        let shown = response.headers_mut();
        shown.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        shown.insert(header::VARY, HeaderValue::from_static("origin"));
    }
    response
}

/// Answers methods that do not exist, and the preflight requests of browsers.
pub async fn other_methods(State(gateway): State<Gateway>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let is_free = matches!(gateway.comes_freely(&parts), Ok(Some(_)));
    if parts.method != axum::http::Method::OPTIONS || !is_free {
        return Problem::method_not_allowed().into_response();
    }
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type, cache-control, last-event-id"),
    ];
    readable(&parts.headers, (StatusCode::NO_CONTENT, headers).into_response())
}

pub async fn healthz(mount: Mount, headers: HeaderMap) -> Response {
    let body = Json(json!({ "status": "ok", "agent_id": mount.agent.to_string() }));
    readable(&headers, body.into_response())
}

/// Receives every message of a client. A well-formed one is received, whether it counts or not.
pub async fn messages(
    State(gateway): State<Gateway>,
    mount: Mount,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let text = match body_text(&gateway, body).await {
        Ok(text) => text,
        Err(garbage) => return Ok(readable(&headers, garbage)),
    };
    let response = match receive(&gateway, &mount, Via::Post, &text).await {
        Ok(()) => Json(Received { status: "received", session_id: None }).into_response(),
        Err(NotReceived::Garbage(expected)) => garbage(&expected),
        Err(NotReceived::Refused(problem)) => problem.into_response(),
    };
    Ok(readable(&headers, response))
}

/// Opens a session for a user's request.
pub async fn sessions(
    State(gateway): State<Gateway>,
    mount: Mount,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let text = match body_text(&gateway, body).await {
        Ok(text) => text,
        Err(garbage) => return Ok(readable(&headers, garbage)),
    };
    let Ok(input) = serde_json::from_str::<SessionInput>(&text) else {
        return Ok(readable(&headers, garbage("body: expected an object with user_message")));
    };
    let session = begin(&gateway, &mount, Via::Sessions, input.user_message).await?;
    let body = Received { status: "started", session_id: Some(session.to_string()) };
    Ok(readable(&headers, (StatusCode::ACCEPTED, Json(body)).into_response()))
}

async fn body_text(gateway: &Gateway, body: Body) -> Result<String, Response> {
    let read = read_body(body, MESSAGE_BYTES_MAX, gateway.limits.body_read_ms_max).await;
    let bytes = read.map_err(|error| garbage(&Problem::from(error).detail))?;
    String::from_utf8(bytes.to_vec()).map_err(|_| garbage("body: expected JSON in UTF-8"))
}

fn garbage(expected: &str) -> Response {
    (StatusCode::BAD_REQUEST, Json(json!({ "error": expected }))).into_response()
}

/// How a message came, and hence where its answer goes.
#[derive(Clone, Copy)]
enum Via<'a> {
    Post,
    /// The answer has the id of the session; the stream needs no acknowledgement.
    Sessions,
    Socket(&'a mpsc::Sender<Order>),
}

enum NotReceived {
    Garbage(String),
    Refused(Problem),
}

impl From<Problem> for NotReceived {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem)
    }
}

/// Handles one message.
async fn receive(
    gateway: &Gateway,
    mount: &Mount,
    via: Via<'_>,
    text: &str,
) -> Result<(), NotReceived> {
    let caller = &mount.asker.caller;
    match message::read(text).map_err(NotReceived::Garbage)? {
        Said::Words(words) => drop(begin(gateway, mount, via, words).await?),
        Said::Reply(reply) => {
            let known = gateway.compat.lines.subscriptions(&Key::of(mount));
            let replied = gateway.engine.reply_on(caller, &mount.agent, &known, *reply).await;
            replied.map_err(Problem::from)?;
        }
        Said::Terms(terms) => tell(gateway, mount, via, Order::Terms(terms)).await?,
        Said::Close => tell(gateway, mount, via, Order::End).await?,
        Said::Other => {}
    }
    Ok(())
}

async fn tell(gateway: &Gateway, mount: &Mount, via: Via<'_>, order: Order) -> Result<(), Problem> {
    match via {
        // A peer that sends faster than it reads gets no more answers.
        Via::Socket(own) => drop(own.try_send(order)),
        Via::Post | Via::Sessions => {
            let from = now(gateway).await?;
            let at = gateway.engine.clock().now();
            gateway.compat.lines.tell(&Key::of(mount), Whom::Newest, order, (from, at));
        }
    }
    Ok(())
}

/// Opens a session for a user's input. Its acknowledgement is sent before its events.
async fn begin(
    gateway: &Gateway,
    mount: &Mount,
    via: Via<'_>,
    text: String,
) -> Result<SessionId, Problem> {
    let session = gateway.engine.new_session_id();
    let from = now(gateway).await?;
    let permit = match gateway.player(mount) {
        Some(player) => Some(player.words.try_reserve().map_err(|_| {
            Problem::new("overloaded", "this agent works on as many sessions as it can")
        })?),
        None => {
            let wanted = json!({ "kind": "user_input", "session_id": session.to_string(),
                "text": text });
            messages::pass_on(gateway, &mount.asker.caller, &mount.agent, wanted).await?;
            None
        }
    };
    let acknowledged = json!({ "kind": "user_input.received", "session_id": session.to_string() });
    let order = match via {
        Via::Post | Via::Socket(_) => Order::Frame(acknowledged.to_string()),
        Via::Sessions => Order::Nothing,
    };
    match via {
        Via::Socket(own) => drop(own.try_send(order)),
        Via::Post | Via::Sessions => {
            let at = gateway.engine.clock().now();
            gateway.compat.lines.tell(&Key::of(mount), Whom::All, order, (from, at));
        }
    }
    if let Some(permit) = permit {
        permit.send(Words { session: session.clone(), text });
    }
    Ok(session)
}

/// The cursor after the newest entry.
async fn now(gateway: &Gateway) -> Result<Cursor, Problem> {
    Ok(Cursor { sequence: gateway.engine.newest().await?, index: u32::MAX })
}

/// Whether the token of a line is still valid for it.
async fn is_still_allowed(gateway: &Gateway, mount: &Mount) -> bool {
    match &mount.secret {
        None => true,
        Some(secret) => match gateway.engine.authenticate(secret).await {
            // A bearer whose roles changed must reconnect to get them.
            Ok(Some(Bearer { caller, .. })) => {
                let was = &mount.asker.caller;
                caller.principal == was.principal && caller.roles == was.roles
            }
            Ok(None) | Err(_) => false,
        },
    }
}
