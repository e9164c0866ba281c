//! `/aaep/compat/{agent}`: the layout that other tools speak, for one agent. `events` streams,
//! `messages` takes everything else, and `ws` does both. It uses the same subscriptions, sessions
//! and answers as the rest of the server; only the messages differ.
//!
//! - [`message`]: the messages that may come, parsed leniently.
//! - [`lines`]: the open streams of each bearer, and messages that wait for a stream.
//! - [`line`]: one listener, over all its subscriptions.
//! - [`mount`]: the agent that a request is for, and its caller.
//! - [`stream`], [`socket`]: the two transports.

mod line;
pub mod lines;
mod message;
mod mount;
pub mod settings;
mod socket;
mod stream;

use aaep::shape::Cursor;
use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::read::access::Bearer;
use protocol::form;
use protocol::ids::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::body::read_body;
use crate::http::aaep::compat::lines::{Order, Whom};
use crate::http::aaep::compat::message::Said;
use crate::http::aaep::compat::mount::{Mount, comes_freely, page_of_this_machine};
use crate::http::aaep::compat::settings::Words;
use crate::http::aaep::listening::MESSAGE_BYTES_MAX;
use crate::http::aaep::state::Aaep;
use crate::http::messages::pass_on;
use crate::http::shared::problem::Problem;

pub use socket::open;
pub use stream::listen;

/// A message of any kind: `{"kind":"user_input","text":…}`, an answer, or terms.
#[derive(Debug, JsonSchema)]
#[schemars(transparent)]
pub struct AnyMessage(#[expect(dead_code, reason = "it is read by hand")] Map<String, Value>);

#[derive(Debug, Deserialize, JsonSchema)]
pub struct SessionInput {
    #[schemars(transform = form::free_text)]
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
pub async fn other_methods(State(gateway): State<Aaep>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let is_free = matches!(comes_freely(&gateway, &parts), Ok(Some(_)));
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
    State(gateway): State<Aaep>,
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
    State(gateway): State<Aaep>,
    mount: Mount,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let text = match body_text(&gateway, body).await {
        Ok(text) => text,
        Err(garbage) => return Ok(readable(&headers, garbage)),
    };
    let input = message::object(&text).map(Value::Object);
    let input = input.and_then(|it| serde_json::from_value(it).map_err(|it| it.to_string()));
    let Ok(SessionInput { user_message, .. }) = input else {
        return Ok(readable(&headers, garbage("body: expected an object with user_message")));
    };
    let session = begin(&gateway, &mount, Via::Sessions, user_message).await?;
    let body = Received { status: "started", session_id: Some(session.to_string()) };
    Ok(readable(&headers, (StatusCode::ACCEPTED, Json(body)).into_response()))
}

async fn body_text(gateway: &Aaep, body: Body) -> Result<String, Response> {
    let read = read_body(body, MESSAGE_BYTES_MAX, gateway.limits.body_read_ms_max, |_| true).await;
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
    gateway: &Aaep,
    mount: &Mount,
    via: Via<'_>,
    text: &str,
) -> Result<(), NotReceived> {
    let caller = &mount.asker.caller;
    let now = gateway.engine.clock().now();
    gateway.engine.usage().send(caller, text.len(), now).map_err(Problem::from)?;
    match message::read(text).map_err(NotReceived::Garbage)? {
        Said::Words(words) => drop(begin(gateway, mount, via, words).await?),
        Said::Reply(reply) => {
            let known = gateway.compat.lines.subscriptions(&mount.key());
            let replied =
                gateway.engine.listeners().reply_on(caller, &mount.agent, &known, *reply).await;
            replied.map_err(Problem::from)?;
        }
        Said::Terms(terms) => tell(gateway, mount, via, Order::Terms(terms)).await?,
        Said::Close => tell(gateway, mount, via, Order::End).await?,
        Said::Other => {}
    }
    Ok(())
}

async fn tell(gateway: &Aaep, mount: &Mount, via: Via<'_>, order: Order) -> Result<(), Problem> {
    match via {
        // A peer that sends faster than it reads gets no more answers.
        Via::Socket(own) => drop(own.try_send(order)),
        Via::Post | Via::Sessions => {
            let from = now(gateway).await?;
            let at = gateway.engine.clock().now();
            gateway.compat.lines.tell(&mount.key(), Whom::Newest, order, (from, at));
        }
    }
    Ok(())
}

/// Opens a session for a user's input. Its acknowledgement is sent before its events.
async fn begin(
    gateway: &Aaep,
    mount: &Mount,
    via: Via<'_>,
    text: String,
) -> Result<SessionId, Problem> {
    let session = gateway.engine.new_session_id();
    let from = now(gateway).await?;
    let permit = match mount.player(gateway) {
        Some(player) => Some(player.words.try_reserve().map_err(|_| {
            Problem::new("overloaded", "this agent works on as many sessions as it can")
        })?),
        None => {
            let wanted = json!({ "kind": "user_input", "session_id": session.to_string(),
                "text": text });
            pass_on(&gateway.messages, &mount.asker.caller, &mount.agent, wanted).await?;
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
            gateway.compat.lines.tell(&mount.key(), Whom::All, order, (from, at));
        }
    }
    if let Some(permit) = permit {
        permit.send(Words { session: session.clone(), text });
    }
    Ok(session)
}

/// The cursor after the newest entry.
async fn now(gateway: &Aaep) -> Result<Cursor, Problem> {
    Ok(Cursor { sequence: gateway.engine.ledger().newest().await?, index: u32::MAX })
}

/// Whether the token of a line is still valid for it.
async fn is_still_allowed(gateway: &Aaep, mount: &Mount) -> bool {
    match &mount.secret {
        None => true,
        Some(secret) => match gateway.engine.access().authenticate(secret).await {
            // A bearer whose roles changed must reconnect to get them.
            Ok(Some(Bearer { caller, .. })) => {
                let was = &mount.asker.caller;
                caller.principal == was.principal && caller.roles == was.roles
            }
            Ok(None) | Err(_) => false,
        },
    }
}
