//! What the engine needs from outside: a store, a clock, and randomness.

pub mod clock;
pub mod ids;
pub mod outbox;
pub mod store;
