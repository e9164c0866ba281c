//! A webhook as the record has it, and the slots of its owner.

use serde::{Deserialize, Serialize};

use super::event::{Paused, SetAside};
use super::terms::Terms;
use crate::caller::{Caller, Principal};
use crate::ids::TokenId;
use crate::stored::Hold;
use crate::time::Time;

/// How many one bearer may have.
pub const OWNED_MAX: u16 = 8;

/// Deliveries that are set aside at once. One more pauses the webhook instead.
pub const SET_ASIDE_MAX: usize = 100;

/// The state of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// As the record names principals.
    pub owner: String,
    /// The token that it was made with: it may read what that may. `None` on the control socket.
    pub token: Option<TokenId>,
    pub terms: Terms,
    pub created_at: Time,
    /// From 1. Each has a secret of its own, which derives from a key of the server.
    pub key: u32,
    /// Until when the key before it signs too.
    pub previous_key_until: Option<Time>,
    /// Deliveries begin after the event with this cursor.
    pub after: String,
    /// Grows when deliveries begin anew somewhere else.
    pub round: u32,
    /// When it was made, changed or resumed: since then it may fail.
    pub since: Time,
    pub paused: Option<Paused>,
    pub set_aside: Vec<SetAside>,
    pub removed: bool,
    /// The owner's slot that it occupies.
    pub(super) slot: u16,
}

/// The prefix of the slots of one owner, among the holds.
pub fn slot_prefix(owner: &Principal) -> String {
    format!("webhook/{owner}/")
}

/// The lowest free slot of an owner.
pub fn free_slot(owner: &Principal, occupied: &[String]) -> Option<u16> {
    let prefix = slot_prefix(owner);
    (1..=OWNED_MAX).find(|k| !occupied.contains(&format!("{prefix}{k:03}")))
}

impl Webhook {
    pub fn is_of(&self, caller: &Caller) -> bool {
        self.owner == caller.principal.to_string()
    }

    /// Whether a caller may see it and change it: its owner, and operators.
    pub fn is_shown_to(&self, caller: &Caller) -> bool {
        self.is_of(caller) || caller.is_operator()
    }

    /// The slot that it occupies.
    pub fn hold(&self) -> Hold {
        let key = format!("webhook/{}/{:03}", self.owner, self.slot);
        Hold { key, occupied: !self.removed, value: None }
    }
}
