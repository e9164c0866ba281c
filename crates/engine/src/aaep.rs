//! What agents announce while they work, who hears it, and the answers.

pub mod announce;
pub mod handshake;
pub mod listening;
pub mod manifest_signing;
pub mod narrator;
pub(crate) mod producer_callbacks;
pub(crate) mod session_handoffs;
pub mod sessions;

use crate::Engine;

/// Sessions: what agents announce, and the questions in it.
#[derive(Debug, Clone, Copy)]
pub struct Sessions<'a> {
    pub(crate) engine: &'a Engine,
}

/// Listeners: their subscriptions, what they hear, and their answers.
#[derive(Debug, Clone, Copy)]
pub struct Listeners<'a> {
    pub(crate) engine: &'a Engine,
}

impl Engine {
    pub fn sessions(&self) -> Sessions<'_> {
        Sessions { engine: self }
    }

    pub fn listeners(&self) -> Listeners<'_> {
        Listeners { engine: self }
    }
}
