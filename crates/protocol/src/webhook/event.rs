//! What happens to a webhook.

use serde::{Deserialize, Serialize};

use super::terms::Terms;
use crate::ids::TokenId;
use crate::time::Time;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Created(Box<Created>),
    Changed(Box<Changed>),
    KeyRotated(KeyRotated),
    Paused(Paused),
    Resumed(Resumed),
    SetAside(SetAside),
    Settled(Settled),
    Removed(Removed),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    pub owner: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenId>,
    pub terms: Terms,
    pub after: String,
    pub slot: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    pub owner: String,
    pub terms: Terms,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRotated {
    pub key: u32,
    pub previous_until: Time,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    pub cause: PauseCause,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseCause {
    /// A caller wanted it.
    Asked,
    /// It failed for days.
    Failing,
    /// The endpoint answered that it is gone for good.
    Gone,
    /// As many deliveries are set aside as may be.
    SetAside,
    /// The token it was made with was revoked or has expired.
    TokenEnded,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// The owner's token, if the owner resumed it with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A delivery that the endpoint did not take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAside {
    /// The cursor of the event.
    pub event: String,
    pub name: String,
    pub attempts: u32,
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    pub event: String,
    pub how: Settlement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    Delivered,
    Discarded,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {}

impl Event {
    pub fn name(&self) -> &'static str {
        match self {
            Event::Created(_) => "webhook.created",
            Event::Changed(_) => "webhook.changed",
            Event::KeyRotated(_) => "webhook.key_rotated",
            Event::Paused(_) => "webhook.paused",
            Event::Resumed(_) => "webhook.resumed",
            Event::SetAside(_) => "webhook.set_aside",
            Event::Settled(_) => "webhook.settled",
            Event::Removed(_) => "webhook.removed",
        }
    }
}

impl PauseCause {
    pub fn as_str(self) -> &'static str {
        match self {
            PauseCause::Asked => "asked",
            PauseCause::Failing => "failing",
            PauseCause::Gone => "gone",
            PauseCause::SetAside => "set_aside",
            PauseCause::TokenEnded => "token_ended",
        }
    }
}
