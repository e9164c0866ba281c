//! What all sockets share.

use std::num::NonZeroU32;
use std::ops::Deref;
use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;

use super::typing::Typing;
use crate::http::shared::gateway::Gateway;
use crate::rate::{RateLimit, RateLimiter};

/// Frames of one connection. A person does not type this fast, and a program that must be faster
/// can use HTTP or several connections.
pub const FRAMES: RateLimit = RateLimit {
    per_minute: NonZeroU32::new(6_000).expect("6,000 is not 0"),
    burst: NonZeroU32::new(200).expect("200 is not 0"),
};

/// What all sockets share.
#[derive(Debug, Clone)]
pub struct Ws {
    gateway: Gateway,
    /// Runs the commands.
    pub operations: Router,
    pub typing: Arc<Typing>,
    pub frames: Arc<RateLimiter>,
}

impl Ws {
    /// `operations` is the router that runs commands.
    pub fn new(gateway: Gateway, operations: Router) -> Self {
        let frames = Arc::new(RateLimiter::new(FRAMES));
        Self { gateway, operations, typing: Arc::default(), frames }
    }
}

impl Deref for Ws {
    type Target = Gateway;

    fn deref(&self) -> &Gateway {
        &self.gateway
    }
}

impl FromRef<Ws> for Gateway {
    fn from_ref(ws: &Ws) -> Gateway {
        ws.gateway.clone()
    }
}
