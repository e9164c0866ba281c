//! What the handlers of AAEP share.

use std::num::NonZeroU32;
use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;
use engine::aaep::manifest_signing::ManifestSigner;

use super::compat::lines::Lines;
use super::compat::settings::Settings;
use crate::http::messages::state::Messages;
use crate::http::shared::gateway::Gateway;
use crate::rate::{RateLimit, RateLimiter};

/// Critical events of one producer: as many as five sessions may send. A person cannot follow more.
pub const PRODUCER_CRITICAL: RateLimit = RateLimit {
    per_minute: NonZeroU32::new(300).expect("300 is not 0"),
    burst: NonZeroU32::new(300).expect("300 is not 0"),
};

/// Messages of one connection that speaks AAEP. An agent that streams an answer sends fifty a
/// second.
pub const AAEP_MESSAGES: RateLimit = RateLimit {
    per_minute: NonZeroU32::new(60_000).expect("60,000 is not 0"),
    burst: NonZeroU32::new(2_000).expect("2,000 is not 0"),
};

/// The state that only the compatibility layout has.
#[derive(Debug, Default)]
pub struct Compat {
    pub settings: Settings,
    pub lines: Lines,
}

/// What the handlers of AAEP share, behind one pointer.
#[derive(Debug, Clone)]
pub struct Aaep(Arc<Shared>);

/// Everything behind [`Aaep`].
#[derive(Debug)]
pub struct Shared {
    gateway: Gateway,
    /// Input of users goes to agents as messages.
    pub messages: Messages,
    /// Critical events, by producer.
    pub critical: RateLimiter,
    /// Messages, by connection.
    pub frames: RateLimiter,
    pub compat: Compat,
    /// The keys that sign the server's manifest.
    pub manifest_signer: Option<Arc<ManifestSigner>>,
}

impl Aaep {
    pub fn new(
        messages: Messages,
        settings: Settings,
        manifest_signer: Option<Arc<ManifestSigner>>,
    ) -> Self {
        Self(Arc::new(Shared {
            gateway: messages.gateway.clone(),
            messages,
            critical: RateLimiter::new(PRODUCER_CRITICAL),
            frames: RateLimiter::new(AAEP_MESSAGES),
            compat: Compat { settings, lines: Lines::default() },
            manifest_signer,
        }))
    }
}

impl Deref for Aaep {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Deref for Shared {
    type Target = Gateway;

    fn deref(&self) -> &Gateway {
        &self.gateway
    }
}

impl FromRef<Aaep> for Gateway {
    fn from_ref(aaep: &Aaep) -> Gateway {
        aaep.gateway.clone()
    }
}
