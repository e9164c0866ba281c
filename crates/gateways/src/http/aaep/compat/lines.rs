//! The open streams of each bearer. A message sent by `POST` goes to the streams of the same
//! bearer; if there is none yet, it waits a while for one.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use aaep::shape::Cursor;
use protocol::ids::{AgentId, SubscriptionId, TeamspaceId};
use protocol::time::{Span, Time};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

/// How long a message waits for a stream. A client that posts before it listens opens its stream at
/// once.
pub const HELD: Span = Span::from_millis(30_000);

/// The most messages that wait for one stream, and the most bearers that they wait for.
const HELD_MAX: usize = 16;

const KEYS_MAX: usize = 1_024;

/// The orders queued for a stream. Past this they are dropped until the stream reads on.
const ORDERS_MAX: usize = 64;

/// Subscriptions whose stream is gone and whose questions can still be answered, of one bearer.
const LINGERING_MAX: usize = 8;

/// A bearer, and the agent it listens to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LineKey {
    pub teamspace: TeamspaceId,
    pub listener: String,
    pub agent: AgentId,
}

/// Something for a stream that does not come from the agent.
#[derive(Debug, Clone)]
pub enum Order {
    /// Sent unchanged.
    Frame(String),
    /// Terms to be agreed on; the answer is sent.
    Terms(Map<String, Value>),
    End,
    /// Nothing to send; it only marks from where the stream must listen.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// All streams of the bearer.
    All,
    /// The one that was opened last.
    Newest,
}

#[derive(Debug, Default)]
pub struct Lines {
    all: Mutex<HashMap<LineKey, Bearer>>,
}

#[derive(Debug, Default)]
struct Bearer {
    /// In the order in which they were opened.
    streams: Vec<Stream>,
    held: VecDeque<HeldLine>,
    /// The subscriptions on which questions can be answered.
    subscriptions: Vec<SubscriptionId>,
    lingering: VecDeque<SubscriptionId>,
    n_opened: u64,
}

#[derive(Debug)]
struct Stream {
    number: u64,
    orders: mpsc::Sender<Order>,
}

#[derive(Debug)]
struct HeldLine {
    order: Order,
    /// The cursor of the ledger when it was sent.
    from: Cursor,
    until: Time,
}

/// A place among the streams, and what waited for it.
#[derive(Debug)]
pub struct Joined {
    pub number: u64,
    pub own: mpsc::Sender<Order>,
    pub orders: mpsc::Receiver<Order>,
    /// The earliest cursor from which the stream must listen.
    pub from: Option<Cursor>,
}

impl Lines {
    /// Passes an order to the open streams, or keeps it for the next one.
    pub fn tell(&self, key: &LineKey, whom: Whom, order: Order, (from, now): (Cursor, Time)) {
        let mut all = self.lock();
        if all.len() >= KEYS_MAX {
            all.retain(|_, bearer| bearer.is_needed(now));
        }
        let bearer = all.entry(key.clone()).or_default();
        bearer.streams.retain(|stream| !stream.orders.is_closed());
        let n_first = match whom {
            Whom::All => 0,
            Whom::Newest => bearer.streams.len().saturating_sub(1),
        };
        let wanted = &bearer.streams[n_first..];
        for stream in wanted {
            // A stream with a full queue misses it; others must not wait for that stream.
            let _ = stream.orders.try_send(order.clone());
        }
        if bearer.streams.is_empty() {
            if bearer.held.len() >= HELD_MAX {
                bearer.held.pop_front();
            }
            bearer.held.push_back(HeldLine { order, from, until: now.plus(HELD) });
        }
    }

    /// Registers a stream, which is told of orders from now on.
    pub fn join(&self, key: &LineKey, now: Time) -> Joined {
        let (own, orders) = mpsc::channel(ORDERS_MAX);
        let mut all = self.lock();
        let bearer = all.entry(key.clone()).or_default();
        let mut from = None;
        for held in bearer.held.drain(..).filter(|held| held.until > now) {
            from.get_or_insert(held.from);
            let _ = own.try_send(held.order);
        }
        bearer.n_opened += 1;
        let number = bearer.n_opened;
        bearer.streams.push(Stream { number, orders: own.clone() });
        Joined { number, own, orders, from }
    }

    /// A queue for a socket, which gets only the answers to its own messages.
    pub fn apart() -> Joined {
        let (own, orders) = mpsc::channel(ORDERS_MAX);
        Joined { number: 0, own, orders, from: None }
    }

    pub fn leave(&self, key: &LineKey, number: u64) {
        if let Some(bearer) = self.lock().get_mut(key) {
            bearer.streams.retain(|stream| stream.number != number);
        }
    }

    /// Questions on this subscription can be answered from now on.
    pub fn listens(&self, key: &LineKey, subscription: &SubscriptionId) {
        self.lock().entry(key.clone()).or_default().subscriptions.push(subscription.clone());
    }

    pub fn subscriptions(&self, key: &LineKey) -> Vec<SubscriptionId> {
        let all = self.lock();
        // The newest first: most answers are to the latest question.
        all.get(key)
            .map_or_else(Vec::new, |bearer| bearer.subscriptions.iter().rev().cloned().collect())
    }

    /// Marks a subscription whose stream has ended. Returns an older one that must be ended at
    /// once.
    pub fn lingers(&self, key: &LineKey, id: &SubscriptionId) -> Option<SubscriptionId> {
        let mut all = self.lock();
        let bearer = all.entry(key.clone()).or_default();
        bearer.lingering.push_back(id.clone());
        (bearer.lingering.len() > LINGERING_MAX).then(|| bearer.lingering.pop_front()).flatten()
    }

    pub fn forget(&self, key: &LineKey, id: &SubscriptionId, now: Time) {
        let mut all = self.lock();
        let Some(bearer) = all.get_mut(key) else { return };
        bearer.subscriptions.retain(|one| one != id);
        bearer.lingering.retain(|one| one != id);
        if !bearer.is_needed(now) {
            all.remove(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LineKey, Bearer>> {
        self.all.lock().expect("nothing panics while holding the lines")
    }
}

impl Bearer {
    fn is_needed(&self, now: Time) -> bool {
        !self.streams.is_empty()
            || !self.subscriptions.is_empty()
            || self.held.iter().any(|held| held.until > now)
    }
}
