//! What the engine needs from outside: a store, a clock, and randomness.

pub mod adapter;
pub mod clock;
pub mod files;
pub mod filters;
pub mod ids;
pub mod outbox;
pub mod store;
pub mod transfers;
