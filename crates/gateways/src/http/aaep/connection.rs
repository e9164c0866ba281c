//! One connection over any transport: an agent announces and is told what people decided, a
//! listener agrees on terms, listens and answers, or both. Messages are read one after the other
//! and answered in their order. A peer that does not read delays only itself.

mod taking;
mod wire;
mod words;

use std::collections::VecDeque;
use std::pin::Pin;

use aaep::handshake::{Close, Handshake};
use engine::aaep::listening::{ListenerNews, Listening};
use engine::aaep::sessions::Question;
use engine::ports::store::StoreError;
use engine::road::submit::SubmitError;
use futures_util::StreamExt;
use futures_util::stream::{FuturesOrdered, FuturesUnordered};
use protocol::caller::Caller;
use protocol::ids::{SessionId, SubscriptionId};
use protocol::time::Span;
use tokio::sync::watch;

use crate::http::aaep::connection::words::Asking;
use crate::http::aaep::sessions::EVENTS_BYTES_MAX;
use crate::http::aaep::state::Aaep;
use crate::http::shared::auth::Asker;
use crate::http::shared::cursors;
use crate::http::shared::streams::OpenStream;

pub use wire::{Farewell, Gone, Incoming, Wire};
pub use words::{closed, refused};

/// The largest message: as much as a request over HTTP may have.
pub const MESSAGE_BYTES_MAX: usize = EVENTS_BYTES_MAX;

/// Messages with events that are on their way into the ledger. Past this the next is read when the
/// oldest is recorded. Then all of them are recorded at once, so that they do not delay urgent
/// messages.
pub const ANNOUNCING_MAX: usize = 256;

/// The most bytes of these messages together.
pub const ANNOUNCING_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Questions whose result a producer is told. It may ask for others over HTTP.
pub const ASKING_MAX: usize = 64;

/// How often the token is checked, and whether the peer still reads.
const BEAT: Span = Span::from_millis(1_000);

/// How many beats a peer may take to read what is sent.
pub const STALLED_BEATS_MAX: u32 = 30;

/// Events that are sent at once, if there are several.
const CHUNK_BYTES: usize = 16 * 1024;

impl From<StoreError> for Farewell {
    fn from(error: StoreError) -> Self {
        tracing::warn!(%error, "an AAEP connection was cut off");
        Farewell::Broken
    }
}

/// The peer, known from its credential.
pub struct Connection {
    pub gateway: Aaep,
    pub asker: Asker,
    /// The secret with which to check again whether the caller is still allowed; none for the
    /// owner.
    pub secret: Option<String>,
    pub _place: OpenStream,
}

/// A connection at work.
struct ConnectionState<W> {
    connection: Connection,
    /// Among all connections, for its rate.
    id: u64,
    wire: W,
    /// How many messages were received.
    n_messages: u64,
    subscription: Option<Box<Subscribed>>,
    announcing: FuturesOrdered<Pending<Announced>>,
    /// Their sessions, in the same order.
    announced_of: VecDeque<SessionId>,
    announcing_bytes: usize,
    asking: FuturesUnordered<Pending<Result<(Asking, Question), StoreError>>>,
    /// Whether anything came from the peer since the last ping.
    is_heard: bool,
}

type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

struct Subscribed {
    id: SubscriptionId,
    listening: Listening,
    tells_places: bool,
}

impl Subscribed {
    /// The place up to which everything was told.
    fn place(&self, gateway: &Aaep, caller: &Caller) -> Option<String> {
        let so_far = self.listening.place()?;
        Some(words::place(&cursors::announced_so_far(gateway, &caller.teamspace, so_far)))
    }
}

/// A message with events, and its result.
struct Announced {
    number: u64,
    session: SessionId,
    n_events: usize,
    n_bytes: usize,
    questions: Vec<Asking>,
    result: Result<(), SubmitError>,
}

enum ConnectionStep {
    Incoming(Incoming),
    Announced(Announced),
    Settled(Result<(Asking, Question), StoreError>),
    Heard(Result<ListenerNews, StoreError>),
    Beat,
    Ping,
    Stop,
}

/// The messages to send next, if any.
type Said = Result<Vec<String>, Farewell>;

impl Connection {
    /// Runs until one side ends it. `first` was read before the peer was identified.
    pub async fn run<W: Wire>(self, wire: W, first: Option<String>) {
        let id = self.gateway.next_socket();
        let open = ConnectionState {
            connection: self,
            id,
            wire,
            n_messages: 0,
            subscription: None,
            announcing: FuturesOrdered::new(),
            announced_of: VecDeque::new(),
            announcing_bytes: 0,
            asking: FuturesUnordered::new(),
            is_heard: true,
        };
        Box::pin(open.converse(first)).await;
    }

    /// Whether the token is valid and its bearer is unchanged.
    async fn check(&self) -> Result<(), Farewell> {
        let Some(secret) = &self.secret else { return Ok(()) };
        let was = &self.asker.caller;
        let bearer = self.gateway.engine.access().authenticate(secret).await?;
        let is_same = bearer.as_ref().map(|bearer| {
            was.principal == bearer.caller.principal && was.roles == bearer.caller.roles
        });
        match is_same {
            Some(true) => Ok(()),
            Some(false) => Err(Farewell::NotAllowed),
            None => Err(Farewell::TokenEnded),
        }
    }
}

impl<W: Wire> ConnectionState<W> {
    async fn converse(mut self, first: Option<String>) {
        let farewell = match self.begin(first).await {
            Ok(()) => self.go_on().await,
            Err(farewell) => farewell,
        };
        tracing::debug!(?farewell, "an AAEP connection closes");
        self.leave(farewell).await;
        self.wire.close(farewell).await;
    }

    async fn begin(&mut self, first: Option<String>) -> Result<(), Farewell> {
        let Some(first) = first else { return Ok(()) };
        let said = self.take(first).await?;
        self.say(said).await
    }

    async fn go_on(&mut self) -> Farewell {
        let gateway = self.connection.gateway.clone();
        let clock = gateway.engine.clock();
        let ping_every = Span::from_millis(gateway.limits.ping_ms.try_into().unwrap_or(i64::MAX));
        let mut stopping = gateway.stopping.clone();
        let (mut beat, mut ping) = (clock.sleep(BEAT), clock.sleep(ping_every));
        loop {
            let has_room = self.has_room();
            let next = tokio::select! {
                incoming = self.wire.receive(), if has_room => ConnectionStep::Incoming(incoming),
                Some(done) = self.announcing.next() => ConnectionStep::Announced(done),
                Some(settled) = self.asking.next() => ConnectionStep::Settled(settled),
                heard = heard(&mut self.subscription) => ConnectionStep::Heard(heard),
                () = &mut beat => ConnectionStep::Beat,
                () = &mut ping, if W::IS_PINGED => ConnectionStep::Ping,
                () = stopped(&mut stopping) => ConnectionStep::Stop,
            };
            let said = match next {
                ConnectionStep::Incoming(incoming) => self.hear(incoming).await,
                ConnectionStep::Announced(done) => Ok(self.announced(done)),
                ConnectionStep::Settled(settled) => {
                    settled.map_err(Farewell::from).map(|(asking, question)| {
                        words::decided(asking, question).into_iter().collect()
                    })
                }
                ConnectionStep::Heard(heard) => self.tell(heard).await,
                ConnectionStep::Beat => {
                    beat = clock.sleep(BEAT);
                    self.connection.check().await.map(|()| Vec::new())
                }
                ConnectionStep::Ping => {
                    ping = clock.sleep(ping_every);
                    self.ping().await.map(|()| Vec::new())
                }
                ConnectionStep::Stop => Err(Farewell::Stopping),
            };
            let done = match said {
                Ok(messages) => self.say(messages).await,
                Err(farewell) => Err(farewell),
            };
            if let Err(farewell) = done {
                return farewell;
            }
        }
    }

    /// Whether one more message with events may be read.
    fn has_room(&self) -> bool {
        self.announcing.len() < ANNOUNCING_MAX && self.announcing_bytes < ANNOUNCING_BYTES_MAX
    }

    async fn hear(&mut self, incoming: Incoming) -> Said {
        self.is_heard = true;
        match incoming {
            Incoming::Message(text) => self.take(text).await,
            Incoming::Sign => Ok(Vec::new()),
            Incoming::TooLarge => Err(Farewell::Violation("a message is too large")),
            Incoming::NotText => Err(Farewell::Violation("expected messages of JSON text")),
            Incoming::Unfinished => Err(Farewell::Violation("a message was not finished in time")),
            Incoming::QuotaReached => {
                Err(Farewell::Violation("what may be written in a minute is used up"))
            }
            Incoming::Unreadable => Err(Farewell::Violation("what came cannot be read")),
            Incoming::Gone => Err(Farewell::Peer),
        }
    }

    /// An event, and those that are ready to be told with it.
    async fn tell(&mut self, heard: Result<ListenerNews, StoreError>) -> Said {
        let Some(own) = &mut self.subscription else { return Ok(Vec::new()) };
        let told = match heard? {
            ListenerNews::Told(told) => told,
            ListenerNews::Closed(closed) => {
                let close = Handshake::Close(Close {
                    subscription_id: own.id.to_string(),
                    reason_code: Some(closed.code),
                    reason_message: Some(closed.message).filter(|message| !message.is_empty()),
                    ..Close::default()
                });
                self.subscription = None;
                self.say(vec![close.write()]).await?;
                return Err(Farewell::Over);
            }
        };
        let mut said = vec![told.text().to_owned()];
        let (mut n_bytes, mut last) = (told.text().len(), told.id);
        while n_bytes < CHUNK_BYTES {
            let Some(told) = own.listening.ready() else { break };
            n_bytes += told.text().len();
            last = told.id.or(last);
            said.push(told.text().to_owned());
        }
        let Connection { gateway, asker, .. } = &self.connection;
        let sealed = |at| cursors::announced(gateway, &asker.caller.teamspace, at);
        let place = match last {
            Some(at) => Some(words::place(&sealed(at))),
            None => own.place(gateway, &asker.caller),
        };
        said.extend(place.filter(|_| own.tells_places));
        Ok(said)
    }

    async fn ping(&mut self) -> Result<(), Farewell> {
        if !std::mem::take(&mut self.is_heard) {
            return Err(Farewell::Violation("no answer to a ping"));
        }
        Ok(self.wire.ping().await?)
    }

    /// Sends, with a timeout for a peer that does not read.
    async fn say(&mut self, messages: Vec<String>) -> Result<(), Farewell> {
        if messages.is_empty() {
            return Ok(());
        }
        let Self { connection, wire, is_heard, .. } = self;
        let clock = connection.gateway.engine.clock();
        let mut stopping = connection.gateway.stopping.clone();
        let sending = wire.send(messages);
        tokio::pin!(sending);
        for n_beats in 0..STALLED_BEATS_MAX {
            tokio::select! {
                sent = &mut sending => {
                    // Nothing was read meanwhile, not even the answer to a ping.
                    *is_heard |= n_beats > 0;
                    return Ok(sent?);
                }
                () = clock.sleep(BEAT) => connection.check().await?,
                () = stopped(&mut stopping) => return Err(Farewell::Stopping),
            }
        }
        Err(Farewell::Violation("nothing is read"))
    }

    /// Ends the subscription with its connection. If the server stops or the store fails, the
    /// subscription lasts until it expires.
    async fn leave(&mut self, farewell: Farewell) {
        let Some(own) = self.subscription.take() else { return };
        if [Farewell::Stopping, Farewell::Broken].contains(&farewell) {
            return;
        }
        let close = Close {
            subscription_id: own.id.to_string(),
            reason_code: Some("disconnected".to_owned()),
            ..Close::default()
        };
        let Connection { gateway, asker, .. } = &self.connection;
        if let Err(error) = gateway.engine.listeners().close(&asker.caller, &close).await {
            tracing::debug!(?error, "a subscription outlives its connection");
        }
    }
}

/// The next event of the subscription, if there is one.
async fn heard(subscription: &mut Option<Box<Subscribed>>) -> Result<ListenerNews, StoreError> {
    match subscription {
        Some(own) => own.listening.next().await,
        None => std::future::pending().await,
    }
}

/// Ends once the server should stop.
pub async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stopping| *stopping).await;
}
