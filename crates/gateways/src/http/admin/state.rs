//! What the handlers of the pages for operators share.

use std::ops::Deref;

use axum::extract::FromRef;
use serde::{Deserialize, Serialize};

use crate::http::shared::gateway::Gateway;

/// Who may read `/metrics`. Its counters are sums over all teamspaces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricsReaders {
    /// Operators of the server, with their token.
    Operators,
    /// Operators, and any program on this machine.
    #[default]
    Loopback,
    Everyone,
}

/// What the handlers for operators share.
#[derive(Debug, Clone)]
pub struct Admin {
    pub gateway: Gateway,
    pub metrics_readers: MetricsReaders,
}

impl Deref for Admin {
    type Target = Gateway;

    fn deref(&self) -> &Gateway {
        &self.gateway
    }
}

impl FromRef<Admin> for Gateway {
    fn from_ref(state: &Admin) -> Gateway {
        state.gateway.clone()
    }
}
