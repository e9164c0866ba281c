//! What the handlers of the witness share.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;
use engine::ledger::witness::Witness;

use crate::http::shared::gateway::Gateway;

/// What the handlers of the witness share.
#[derive(Debug, Clone)]
pub struct Witnessing {
    pub gateway: Gateway,
    /// None if the operator named no log.
    pub witness: Option<Arc<Witness>>,
}

impl Deref for Witnessing {
    type Target = Gateway;

    fn deref(&self) -> &Gateway {
        &self.gateway
    }
}

impl FromRef<Witnessing> for Gateway {
    fn from_ref(state: &Witnessing) -> Gateway {
        state.gateway.clone()
    }
}
