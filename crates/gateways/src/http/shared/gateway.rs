//! What every handler has: the engine, the limits, and the counts that all requests share.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use engine::Engine;
use protocol::caller::Principal;
use protocol::ids::TeamspaceId;
use protocol::json::Bounds;
use tokio::sync::{Semaphore, watch};

use super::credential::Credential;
use super::metrics::Metrics;
use super::origin::Origins;
use crate::large_bodies::LargeBodies;
use crate::listen::ConnectionCounts;
use crate::proxy::TrustedProxies;
use crate::rate::{RateLimit, RateLimiter};
use crate::slow_lane::SlowLane;
use crate::trace_context::JoinTrace;

/// The limits of a request. Each has a defined answer when it is reached.
#[derive(Debug, Clone)]
pub struct RequestLimits {
    /// Larger bodies are refused with `body_too_large`. A package of 256 KiB fits with room.
    pub body_bytes_max: usize,
    /// A body that takes longer to arrive is refused with `request_timeout`.
    pub body_read_ms_max: u64,
    /// Nesting, string, list and object sizes; past them the body is refused with `json_invalid`.
    pub json: Bounds,
    /// Per token; past it the answer is `rate_limited` with `Retry-After`.
    pub rate: RateLimit,
    /// Live streams in all, and per token; past them the answer is `too_many_streams`.
    pub streams_max: usize,
    pub streams_per_token_max: usize,
    /// A message on a socket that takes longer to arrive ends the connection.
    pub message_read_ms_max: u64,
    /// How often a socket is pinged. A peer that is silent between two pings is closed.
    pub ping_ms: u64,
}

/// Failed logins from one address. The retries of a misconfigured client stay below the limit; a
/// flood of guesses is answered with `rate_limited`.
const FAILED_LOGINS: RateLimit = RateLimit {
    per_minute: NonZeroU32::new(600).expect("600 is not 0"),
    burst: NonZeroU32::new(2_000).expect("2,000 is not 0"),
};

/// What all handlers share. A request clones it several times, so it is one pointer. What only one
/// subject needs is in the state of that subject.
#[derive(Clone)]
pub struct Gateway(Arc<Shared>);

/// Everything behind a [`Gateway`].
pub struct Shared {
    pub engine: Engine,
    pub limits: RequestLimits,
    pub rate: RateLimiter,
    /// Failed logins, by address. A secret cannot be guessed, but guesses must not be cheap.
    pub failures: RateLimiter,
    pub proxies: TrustedProxies,
    pub metrics: Metrics,
    pub streams: Arc<OpenStreams>,
    /// The pages that may open sockets.
    pub origins: Origins,
    /// Numbers the sockets, so that each of one bearer has a rate limit of its own.
    n_sockets: AtomicU64,
    pub join_trace: Option<JoinTrace>,
    /// Where those work who use more than their share of the processor.
    pub slow_lane: Arc<SlowLane>,
    pub large_bodies: LargeBodies,
    pub stopping: watch::Receiver<bool>,
}

impl Gateway {
    pub fn new(
        engine: Engine,
        limits: RequestLimits,
        proxies: TrustedProxies,
        connections: Arc<ConnectionCounts>,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let slow_lane = SlowLane::new(None);
        Self(Arc::new(Shared {
            metrics: Metrics::new(engine.clone(), connections),
            rate: RateLimiter::new(limits.rate),
            failures: RateLimiter::new(FAILED_LOGINS),
            engine,
            limits,
            proxies,
            streams: Arc::default(),
            origins: Origins::default(),
            n_sockets: AtomicU64::new(0),
            join_trace: None,
            large_bodies: LargeBodies::new(Arc::clone(&slow_lane)),
            slow_lane,
            stopping,
        }))
    }

    /// Changes a setting, before anything else has a copy.
    pub fn set(&mut self, change: impl FnOnce(&mut Shared)) {
        change(Arc::get_mut(&mut self.0).expect("nothing shares it before it has routes"));
    }

    /// A number that no other socket has.
    pub fn next_socket(&self) -> u64 {
        self.n_sockets.fetch_add(1, Ordering::Relaxed)
    }

    pub fn now_ms(&self) -> u64 {
        u64::try_from(self.engine.clock().now().as_millis()).unwrap_or(0)
    }
}

impl std::ops::Deref for Gateway {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// How many streams are open.
#[derive(Debug, Default)]
pub struct OpenStreams {
    pub all: AtomicUsize,
    pub by_owner: Mutex<StreamOwners>,
    pub exports: Mutex<HashMap<TeamspaceId, HashMap<Principal, usize>>>,
}

/// Whose the open streams are.
#[derive(Debug, Default)]
pub struct StreamOwners {
    pub credentials: HashMap<Credential, usize>,
    pub teamspaces: HashMap<TeamspaceId, usize>,
    pub unread: HashMap<TeamspaceId, UnreadRooms>,
}

/// What the streams of a teamspace may still hold for their readers, in bytes.
#[derive(Debug)]
pub struct UnreadRooms {
    pub all: Arc<Semaphore>,
    pub by_credential: HashMap<Credential, Arc<Semaphore>>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("limits", &self.limits).finish_non_exhaustive()
    }
}
