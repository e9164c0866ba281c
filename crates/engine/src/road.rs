//! The road that every change takes: load, step, commit.

pub(crate) mod holds;
pub(crate) mod multi_stream;
pub(crate) mod pending_commit;
pub mod slots;
pub mod submit;
