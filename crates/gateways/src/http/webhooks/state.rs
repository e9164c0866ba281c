//! What the handlers of webhooks share.

use std::ops::Deref;

use axum::extract::FromRef;
use protocol::wake::WakeKey;

use crate::http::shared::gateway::Gateway;

/// What the handlers of webhooks share.
#[derive(Debug, Clone)]
pub struct Webhooks {
    pub gateway: Gateway,
    /// The secrets that sign deliveries are derived from this key.
    pub wake_key: Option<WakeKey>,
}

impl Deref for Webhooks {
    type Target = Gateway;

    fn deref(&self) -> &Gateway {
        &self.gateway
    }
}

impl FromRef<Webhooks> for Gateway {
    fn from_ref(state: &Webhooks) -> Gateway {
        state.gateway.clone()
    }
}
