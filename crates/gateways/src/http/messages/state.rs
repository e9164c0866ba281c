//! What the handlers of messages share.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;

use super::sending::Sending;
use crate::http::shared::gateway::Gateway;

/// What the handlers of messages share.
#[derive(Debug, Clone)]
pub struct Messages {
    pub gateway: Gateway,
    /// How often each sender may still send.
    pub sending: Arc<Sending>,
}

impl Messages {
    pub fn new(gateway: Gateway) -> Self {
        Self { gateway, sending: Arc::default() }
    }
}

impl Deref for Messages {
    type Target = Gateway;

    fn deref(&self) -> &Gateway {
        &self.gateway
    }
}

impl FromRef<Messages> for Gateway {
    fn from_ref(state: &Messages) -> Gateway {
        state.gateway.clone()
    }
}
