//! Who listens where. What is sent by `POST` belongs to the streams of the same bearer; if there is
//! none yet, it waits a while for one.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use aaep::shape::Cursor;
use protocol::ids::{AgentId, SubscriptionId, TeamspaceId};
use protocol::time::{Span, Time};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::Mount;

/// How long what was sent waits for a stream. A client that asks first and then listens does so at
/// once.
pub const HELD: Span = Span::from_millis(30_000);

/// What waits for one stream, and for how many bearers something waits.
const HELD_MAX: usize = 16;
const KEYS_MAX: usize = 1_024;

/// What a stream has not yet heard of. Past this it hears no more until it reads on.
const ORDERS_MAX: usize = 64;

/// Subscriptions whose stream is gone and whose questions can still be answered, of one bearer.
const LINGERING_MAX: usize = 8;

/// A bearer, and the agent it listens to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    teamspace: TeamspaceId,
    listener: String,
    agent: AgentId,
}

/// Something for a stream that does not come from the agent.
#[derive(Debug, Clone)]
pub enum Order {
    /// Goes out as it is.
    Frame(String),
    /// Terms to be agreed on; the answer goes out.
    Terms(Map<String, Value>),
    End,
    /// Only what happens from now on is wanted.
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
    all: Mutex<HashMap<Key, Bearer>>,
}

#[derive(Debug, Default)]
struct Bearer {
    /// In the order in which they were opened.
    streams: Vec<Stream>,
    held: VecDeque<Held>,
    /// On which questions can be answered.
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
struct Held {
    order: Order,
    /// Where the ledger was.
    from: Cursor,
    until: Time,
}

/// A place among the streams, and what waited for it.
#[derive(Debug)]
pub struct Joined {
    pub number: u64,
    pub own: mpsc::Sender<Order>,
    pub orders: mpsc::Receiver<Order>,
    /// The earliest place from which it has to hear.
    pub from: Option<Cursor>,
}

impl Key {
    pub fn of(mount: &Mount) -> Self {
        let caller = &mount.asker.caller;
        Self {
            teamspace: caller.teamspace.clone(),
            listener: caller.principal.to_string(),
            agent: mount.agent.clone(),
        }
    }
}

impl Lines {
    /// Passes something on to streams that are there, or keeps it for the next one.
    pub fn tell(&self, key: &Key, whom: Whom, order: Order, (from, now): (Cursor, Time)) {
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
            // A stream that is not read misses it; others must not wait for it.
            let _ = stream.orders.try_send(order.clone());
        }
        if bearer.streams.is_empty() {
            if bearer.held.len() >= HELD_MAX {
                bearer.held.pop_front();
            }
            bearer.held.push_back(Held { order, from, until: now.plus(HELD) });
        }
    }

    /// A stream is there: from now on it is told.
    pub fn join(&self, key: &Key, now: Time) -> Joined {
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

    /// A way to a socket, which is told only what it asks itself.
    pub fn apart() -> Joined {
        let (own, orders) = mpsc::channel(ORDERS_MAX);
        Joined { number: 0, own, orders, from: None }
    }

    pub fn leave(&self, key: &Key, number: u64) {
        if let Some(bearer) = self.lock().get_mut(key) {
            bearer.streams.retain(|stream| stream.number != number);
        }
    }

    /// Questions on this subscription can be answered from now on.
    pub fn listens(&self, key: &Key, subscription: &SubscriptionId) {
        self.lock().entry(key.clone()).or_default().subscriptions.push(subscription.clone());
    }

    pub fn subscriptions(&self, key: &Key) -> Vec<SubscriptionId> {
        let all = self.lock();
        // The newest first: most answers are to what was just asked.
        all.get(key)
            .map_or_else(Vec::new, |bearer| bearer.subscriptions.iter().rev().cloned().collect())
    }

    /// Nobody listens on this one any more. Which one must be ended for it at once.
    pub fn lingers(&self, key: &Key, id: &SubscriptionId) -> Option<SubscriptionId> {
        let mut all = self.lock();
        let bearer = all.entry(key.clone()).or_default();
        bearer.lingering.push_back(id.clone());
        (bearer.lingering.len() > LINGERING_MAX).then(|| bearer.lingering.pop_front()).flatten()
    }

    pub fn forget(&self, key: &Key, id: &SubscriptionId, now: Time) {
        let mut all = self.lock();
        let Some(bearer) = all.get_mut(key) else { return };
        bearer.subscriptions.retain(|one| one != id);
        bearer.lingering.retain(|one| one != id);
        if !bearer.is_needed(now) {
            all.remove(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Bearer>> {
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
