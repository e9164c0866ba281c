//! What several decisions share.

use crate::caller::Principal;
use crate::facts::Context;
use crate::rejection::Rejection;
use crate::session::event::Event;
use crate::stored::HoldWrite;

/// The result of a decision.
#[derive(Debug, Default)]
pub struct Decision {
    pub events: Vec<Event>,
    pub holds: Vec<HoldWrite>,
}

/// Only the server itself may do this.
pub(super) fn check_server(context: Context<'_>, action: &'static str) -> Result<(), Rejection> {
    match context.caller.principal {
        Principal::System => Ok(()),
        Principal::Agent(_) | Principal::Operator(_) | Principal::Customer(_) => {
            Err(Rejection::NotAllowed { action, who: "the server" })
        }
    }
}
