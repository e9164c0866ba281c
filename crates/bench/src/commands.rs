//! The parts that can be measured alone: their arguments, and how their reports are shown.

pub mod aaep;
pub mod artifacts;
pub mod conversation;
pub mod neighbours;
pub mod route;
