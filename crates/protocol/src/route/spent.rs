//! The time for a decision, which is limited.

/// Says whether the time for a decision is spent.
pub type IsSpent<'s> = &'s dyn Fn() -> bool;

/// Words that are found, or rules that are checked, between two looks at the time: a fraction of a
/// millisecond.
pub const STEPS_PER_LOOK: usize = 1_024;

/// The time for a decision was spent before it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent;
