//! Waiting for a person: the order, the choice of a person, the maximum wait, and the opening
//! hours.
//!
//! Pure computation only. A queue's rows, claims and clocks are elsewhere; here are the sort keys
//! and the choices made from them, which depend on nothing but their arguments. Read in this order:
//! [`order`], [`choose`], [`patience`], [`wait`], [`hours`], [`settings`], [`report`].

pub mod choose;
pub mod hours;
pub mod order;
pub mod patience;
pub mod report;
pub mod settings;
pub mod wait;
pub mod wanted;

/// The queue of requests that name none.
pub const DEFAULT_QUEUE: &str = "default";

pub use choose::{Candidate, Ineligible, choose, eligible};
pub use hours::OpeningHours;
pub use order::{OrderKey, order_key};
pub use patience::{Overflow, Patience, Relax, RelaxStep};
pub use settings::{Mode, Settings};
pub use wait::{EstimatedWait, Flow, estimate};
pub use wanted::{SkillWanted, Wanted};

#[cfg(test)]
mod tests;
