//! The commands of a webhook, and the facts that they need.

use super::event::{PauseCause, SetAside, Settlement};
use super::terms::Terms;
use crate::ids::TokenId;
use crate::needs::{Needs, SlotOf};
use crate::time::Span;

/// How long the key before the current one signs too, unless the caller says otherwise.
pub const ROTATION_DEFAULT: Span = Span::from_hours(24);

/// And at most.
pub const ROTATION_MAX: Span = Span::from_hours(7 * 24);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Create {
        terms: Terms,
        after: String,
        /// From the credential.
        token: Option<TokenId>,
    },
    Change {
        terms: Terms,
    },
    RotateKey {
        /// How long the old key signs too.
        overlap: Span,
    },
    Pause {
        cause: PauseCause,
        detail: String,
    },
    Resume {
        /// Where deliveries begin anew; without it, they go on where they were.
        after: Option<String>,
        token: Option<TokenId>,
    },
    /// The endpoint does not take this delivery. The others go on.
    SetAside(SetAside),
    Settle {
        event: String,
        how: Settlement,
    },
    Remove,
}

impl Command {
    pub fn name(&self) -> &'static str {
        match self {
            Command::Create { .. } => "create_webhook",
            Command::Change { .. } => "change_webhook",
            Command::RotateKey { .. } => "rotate_webhook_key",
            Command::Pause { .. } => "pause_webhook",
            Command::Resume { .. } => "resume_webhook",
            Command::SetAside(_) => "set_delivery_aside",
            Command::Settle { .. } => "settle_delivery",
            Command::Remove => "remove_webhook",
        }
    }

    pub fn needs(&self) -> Needs {
        match self {
            Command::Create { .. } => Needs { slots: vec![SlotOf::Webhook], ..Needs::default() },
            Command::Change { .. }
            | Command::RotateKey { .. }
            | Command::Pause { .. }
            | Command::Resume { .. }
            | Command::SetAside(_)
            | Command::Settle { .. }
            | Command::Remove => Needs::default(),
        }
    }
}
