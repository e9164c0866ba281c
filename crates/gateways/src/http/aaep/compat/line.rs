//! One listener of this layout. It has a subscription from the start, without asking for one, and
//! can ask for other terms at any time. Each agreement is a new subscription, and the line
//! continues at its cursor.

use std::collections::VecDeque;

use aaep::capabilities::{Capabilities, Filters};
use aaep::event::Boundary;
use aaep::handshake::{Accepted, Close, Handshake, Producer, Rejected, Request, read_handshake};
use aaep::shape::Cursor;
use aaep::{EXTENSION, VERSION};
use engine::aaep::announce::session_stream;
use engine::aaep::handshake::Host;
use engine::aaep::listening::{ListenerNews, Listening, ReadyEvent, Resume};
use engine::road::submit::SubmitError;
use protocol::ids::{SessionId, SubscriptionId};
use protocol::time::Span;
use serde_json::{Map, Value, json};

use crate::http::aaep::compat::lines::{Joined, LineKey, Order};
use crate::http::aaep::compat::mount::Mount;
use crate::http::aaep::state::Aaep;
use crate::http::shared::problem::Problem;

/// The name of a listener that gives none.
const NAMELESS: &str = "compat";

/// How long a question can still be answered after its stream has ended: long enough to reconnect.
const LINGERS: Span = Span::from_millis(60_000);

/// Sessions with questions that a line remembers. An older question is hardly answered after a
/// restart.
const ASKED_MAX: usize = 8;

/// Events that are sent at once, if there are several.
const TOGETHER_BYTES: usize = 16 * 1024;

pub struct CompatLine {
    gateway: Aaep,
    mount: Mount,
    key: LineKey,
    number: u64,
    orders: tokio::sync::mpsc::Receiver<Order>,
    id: SubscriptionId,
    honored: Capabilities,
    listening: Listening,
    /// A listener that resumes here misses nothing.
    place: Cursor,
    /// The sessions that asked something here, the newest last.
    asked: VecDeque<SessionId>,
}

/// What happens next on a line.
pub enum LineStep {
    Order(Order),
    Told(ReadyEvent),
    /// The subscription has expired or was ended.
    Closed,
}

/// A frame to be sent, and the place to resume from.
pub struct Frame {
    pub text: String,
    pub id: Option<Cursor>,
}

/// The listener ended the line.
pub struct Ended;

impl CompatLine {
    /// Begins to listen, on terms that take everything and can answer everything.
    pub async fn open(
        gateway: Aaep,
        mount: Mount,
        joined: Joined,
        from: Cursor,
    ) -> Result<Self, Problem> {
        let key = mount.key();
        let opened = async {
            let request = unasked(&mount);
            let accepted = subscribe(&gateway, &mount, request).await?;
            let accepted = accepted
                .map_err(|rejected| Problem::new("too_many_streams", rejected.reason_message))?;
            let id = parse(&accepted);
            gateway.compat.lines.listens(&key, &id);
            let listening = listen(&gateway, &mount, &id, from).await?;
            Ok((id, accepted.honored_capabilities, listening))
        };
        let (id, honored, listening) = match opened.await {
            Ok(opened) => opened,
            Err(problem) => {
                gateway.compat.lines.leave(&key, joined.number);
                return Err(problem);
            }
        };
        let Joined { number, orders, .. } = joined;
        let (place, asked) = (from, VecDeque::new());
        Ok(Self { gateway, mount, key, number, orders, id, honored, listening, place, asked })
    }

    /// The next event or order. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<LineStep, Problem> {
        tokio::select! {
            biased;
            Some(order) = self.orders.recv() => Ok(LineStep::Order(order)),
            heard = self.listening.next() => match heard? {
                ListenerNews::Told(told) => Ok(LineStep::Told(told)),
                ListenerNews::Closed(_) => Ok(LineStep::Closed),
            },
        }
    }

    /// The frames to send for it.
    pub async fn frames(&mut self, next: LineStep) -> Result<Result<Vec<Frame>, Ended>, Problem> {
        let mut frames = Vec::new();
        let mut told = match next {
            LineStep::Order(order) => {
                if self.obey(order, &mut frames).await?.is_err() {
                    return Ok(Err(Ended));
                }
                None
            }
            LineStep::Told(told) => Some(told),
            LineStep::Closed => {
                self.go_on().await?;
                None
            }
        };
        let mut n_bytes = 0;
        while let Some(event) = told {
            // An acknowledgement was queued before its session began, and is sent before the
            // session's events.
            while let Ok(order) = self.orders.try_recv() {
                if self.obey(order, &mut frames).await?.is_err() {
                    return Ok(Err(Ended));
                }
            }
            self.place = event.id.unwrap_or(self.place);
            n_bytes += event.text().len();
            self.remember(event.text());
            frames.push(Frame { text: event.text().to_owned(), id: event.id });
            told = if n_bytes < TOGETHER_BYTES { self.listening.ready() } else { None };
        }
        Ok(Ok(frames))
    }

    async fn obey(
        &mut self,
        order: Order,
        frames: &mut Vec<Frame>,
    ) -> Result<Result<(), Ended>, Problem> {
        let text = match order {
            Order::Frame(text) => text,
            Order::Terms(terms) => self.agree(terms).await?.write(),
            Order::Nothing => return Ok(Ok(())),
            Order::End => return Ok(Err(Ended)),
        };
        frames.push(Frame { text, id: None });
        Ok(Ok(()))
    }

    /// Agrees on other terms. If that fails, the line keeps those it has.
    async fn agree(&mut self, mut terms: Map<String, Value>) -> Result<Handshake, Problem> {
        let asked = terms.get("capabilities").and_then(Value::as_object);
        let has_scope = asked.is_some_and(|asked| asked.contains_key(EXTENSION));
        bind(&mut terms, &self.mount, &self.id);
        let agreed = match read_handshake(&Value::Object(terms).to_string()) {
            Ok(Handshake::Request(request)) => {
                let agreed = subscribe(&self.gateway, &self.mount, request).await?;
                if let Ok(accepted) = &agreed {
                    self.switch(parse(accepted)).await?;
                }
                agreed
            }
            Ok(Handshake::Renegotiate(asked)) => {
                let host = host(&self.gateway, &self.mount, &asked.capabilities);
                let caller = &self.mount.asker.caller;
                let agreed =
                    self.gateway.engine.listeners().renegotiate(caller, &host, &asked).await?;
                if agreed.is_err() {
                    // That has ended the subscription, but the listener stays connected.
                    self.go_on().await?;
                }
                agreed
            }
            Ok(
                Handshake::Accepted(_)
                | Handshake::Rejected(_)
                | Handshake::Close(_)
                | Handshake::ConfirmationReply(_)
                | Handshake::ClarificationReply(_),
            ) => unreachable!("terms are asked for by a request or a renegotiation"),
            Err(flaws) => Err(Rejected::unreadable(&flaws)),
        };
        Ok(match agreed {
            Ok(mut accepted) => {
                self.honored = accepted.honored_capabilities.clone();
                if !has_scope {
                    accepted.honored_capabilities.others.remove(EXTENSION);
                }
                Handshake::Accepted(accepted)
            }
            Err(rejected) => Handshake::Rejected(rejected),
        })
    }

    /// The subscription is over, but its listener is connected: subscribes again on the same terms.
    async fn go_on(&mut self) -> Result<(), Problem> {
        let request = Request { capabilities: self.honored.clone(), ..unasked(&self.mount) };
        let accepted = subscribe(&self.gateway, &self.mount, request)
            .await?
            .map_err(|rejected| Problem::new("too_many_streams", rejected.reason_message))?;
        self.switch(parse(&accepted)).await
    }

    async fn switch(&mut self, id: SubscriptionId) -> Result<(), Problem> {
        self.gateway.compat.lines.listens(&self.key, &id);
        self.listening = listen(&self.gateway, &self.mount, &id, self.place).await?;
        self.linger();
        self.id = id;
        Ok(())
    }

    fn remember(&mut self, event: &str) {
        // Most events ask no question; this check avoids parsing them again.
        if !event.contains("agent.awaiting.") {
            return;
        }
        let event: Value = serde_json::from_str(event).unwrap_or_default();
        let session: Option<SessionId> =
            event["session_id"].as_str().and_then(|session| session.parse().ok());
        let Some(session) = session.filter(|session| !self.asked.contains(session)) else { return };
        if self.asked.len() >= ASKED_MAX {
            self.asked.pop_front();
        }
        self.asked.push_back(session);
    }

    /// Keeps the subscription for a while, so that its questions can still be answered. If the
    /// server stops, it stays as long as a question is open: a listener that reconnects has only
    /// this token.
    fn linger(&self) {
        let (gateway, key) = (self.gateway.clone(), self.key.clone());
        let (mount, id, asked) = (self.mount.clone(), self.id.clone(), self.asked.clone());
        let too_many = gateway.compat.lines.lingers(&key, &id);
        tokio::spawn(async move {
            if let Some(oldest) = too_many {
                end(&gateway, &mount, &key, oldest).await;
            }
            let mut stopping = gateway.stopping.clone();
            let stops = tokio::select! {
                () = gateway.engine.clock().sleep(LINGERS) => false,
                _ = stopping.wait_for(|stopping| *stopping) => true,
            };
            // An agent within this process asks nothing any more when the process stops.
            let is_played = mount.player(&gateway).is_some();
            if stops && !is_played && some_wait(&gateway, &mount, &asked).await {
                return;
            }
            end(&gateway, &mount, &key, id).await;
        });
    }
}

impl Drop for CompatLine {
    fn drop(&mut self) {
        self.gateway.compat.lines.leave(&self.key, self.number);
        self.linger();
    }
}

/// Whether a question of one of these sessions is still open.
async fn some_wait(gateway: &Aaep, mount: &Mount, asked: &VecDeque<SessionId>) -> bool {
    for session in asked {
        let stream = session_stream(&mount.asker.caller, session);
        match gateway.engine.sessions().session(&stream).await {
            Ok(Some(session)) if !session.machine.pending().is_empty() => return true,
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(?error, "a subscription ends, whatever it asked");
                return false;
            }
        }
    }
    false
}

async fn end(gateway: &Aaep, mount: &Mount, key: &LineKey, id: SubscriptionId) {
    let close = Close { subscription_id: id.to_string(), ..Close::default() };
    if let Err(error) = gateway.engine.listeners().close(&mount.asker.caller, &close).await {
        tracing::debug!(?error, "a subscription ends by itself");
    }
    gateway.compat.lines.forget(key, &id, gateway.engine.clock().now());
}

async fn listen(
    gateway: &Aaep,
    mount: &Mount,
    id: &SubscriptionId,
    from: Cursor,
) -> Result<Listening, Problem> {
    let listening =
        gateway.engine.listeners().listen(&mount.asker.caller, id, Resume::After(from)).await?;
    listening.ok_or_else(|| Problem::not_found("subscription"))
}

async fn subscribe(
    gateway: &Aaep,
    mount: &Mount,
    request: Request,
) -> Result<Result<Accepted, Rejected>, Problem> {
    let host = host(gateway, mount, &request.capabilities);
    let agreed = gateway.engine.listeners().subscribe(&mount.asker.caller, &host, request).await;
    agreed.map_err(|error: SubmitError| error.into())
}

/// The host is the agent itself. A listener that wants a signature gets the server: only the
/// server's manifest is signed.
fn host(gateway: &Aaep, mount: &Mount, asked: &Capabilities) -> Host {
    let host = gateway.host();
    if asked.accept_signed_manifests_only == Some(true) {
        return host;
    }
    let (agent_id, agent_name) = (mount.agent.to_string(), mount.agent_name.clone());
    Host { producer: Producer { agent_id, agent_name, ..Producer::default() }, ..host }
}

/// The terms for a listener that did not ask for any: all events of the agent.
fn unasked(mount: &Mount) -> Request {
    let scope = json!({ "agent_id": mount.agent.to_string() });
    Request {
        aaep_version: VERSION.to_owned(),
        subscriber_id: NAMELESS.to_owned(),
        capabilities: Capabilities {
            supports_confirmation_reply: Some(true),
            supports_clarification_reply: Some(true),
            coalesce_boundaries: Some(Boundary::ALL.to_vec()),
            event_filters: Some(Filters { include: Some(vec!["*".to_owned()]), exclude: None }),
            others: [(EXTENSION.to_owned(), scope)].into_iter().collect(),
            ..Capabilities::default()
        },
        ..Request::default()
    }
}

/// Adds fields that the message may lack, and binds it to this agent and this subscription.
fn bind(terms: &mut Map<String, Value>, mount: &Mount, id: &SubscriptionId) {
    match terms.get("type").and_then(Value::as_str) {
        Some("subscription.request") => {
            terms.entry("subscriber_id").or_insert_with(|| NAMELESS.into());
        }
        Some(_) | None => {
            terms.insert("subscription_id".to_owned(), id.to_string().into());
        }
    }
    let Some(capabilities) = terms.get_mut("capabilities").and_then(Value::as_object_mut) else {
        return;
    };
    let own = capabilities.entry(EXTENSION).or_insert_with(|| json!({}));
    if let Some(own) = own.as_object_mut() {
        own.insert("agent_id".to_owned(), mount.agent.to_string().into());
    }
}

fn parse(accepted: &Accepted) -> SubscriptionId {
    accepted.subscription_id.parse().expect("the engine gives out ids")
}
