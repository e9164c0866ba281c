//! The road that every change takes: load, step, commit.

mod attempt;
pub(crate) mod holds;
pub(crate) mod multi_stream;
mod outcomes;
pub(crate) mod pending_commit;
pub mod slots;
pub mod submit;
