//! Shared types: JSON, times, ids. Nothing here knows of handoffs or of AAEP.
//!
//! - [`json`]: JSON from outside, within bounds. [`canonical`]: JSON to be hashed.
//! - [`keyed`]: hashes with a key.
//! - [`time`], [`ids`]: moments, spans and names. [`hidden`]: characters that a person cannot see.
//! - [`lookalike`]: texts that a person cannot tell apart.
//! - [`form`]: what a value must look like, as JSON Schema. [`strict`]: reading a value exactly.

pub mod canonical;
pub mod form;
pub mod hidden;
pub mod ids;
pub mod json;
pub mod keyed;
pub mod lookalike;
pub mod strict;
pub mod time;
