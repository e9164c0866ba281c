//! Waiting for a person: who is next, who takes it, how long it may last, when somebody is there.
//!
//! Sums and comparisons only. A queue's rows, claims and clocks are elsewhere; here are the keys
//! they are sorted by and the choices that are made from them, the same for the same arguments.
//! Read in this order: [`order`], [`choose`], [`patience`], [`wait`], [`hours`], [`settings`].

pub mod choose;
pub mod hours;
pub mod order;
pub mod patience;
pub mod settings;
pub mod wait;

pub use choose::{Candidate, Ineligible, SkillWanted, Wanted, choose, eligible};
pub use hours::OpeningHours;
pub use order::{OrderKey, order_key};
pub use patience::{Overflow, Patience, Relax, RelaxStep};
pub use settings::{Mode, Settings};
pub use wait::{EstimatedWait, Flow, estimate};

#[cfg(test)]
mod tests;
