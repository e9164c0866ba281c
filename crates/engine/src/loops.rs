//! What the server does by itself.

pub mod connections;
pub mod deadlines;
pub mod deliver;
pub mod destinations;
pub mod dispatch;
pub mod notices;
pub mod outbox;
pub mod outbox_pools;
pub mod retention;
pub mod wake;
pub mod webhooks;

use crate::Engine;

/// Queues, the people who take from them, and who waits.
#[derive(Debug, Clone, Copy)]
pub struct Queues<'a> {
    pub(crate) engine: &'a Engine,
}

/// What must happen outside, and is not done yet.
#[derive(Debug, Clone, Copy)]
pub struct Outbox<'a> {
    pub(crate) engine: &'a Engine,
}

impl Engine {
    pub fn queues(&self) -> Queues<'_> {
        Queues { engine: self }
    }

    pub fn outbox(&self) -> Outbox<'_> {
        Outbox { engine: self }
    }
}
