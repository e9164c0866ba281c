//! What the handlers of agents share.

use std::ops::Deref;

use axum::extract::FromRef;
use protocol::wake::WakeKey;

use crate::http::shared::gateway::Gateway;

/// What the handlers of agents share.
#[derive(Debug, Clone)]
pub struct Agents {
    pub gateway: Gateway,
    /// The secrets that sign calls to agents are derived from this key.
    pub wake_key: Option<WakeKey>,
}

impl Deref for Agents {
    type Target = Gateway;

    fn deref(&self) -> &Gateway {
        &self.gateway
    }
}

impl FromRef<Agents> for Gateway {
    fn from_ref(state: &Agents) -> Gateway {
        state.gateway.clone()
    }
}
