//! Sessions in one line each: legal ones, refused ones with their rules, and the page that
//! documents them.

mod broken;
mod broken_consent;
pub(in crate::aaep) mod legal;
mod page;
pub(in crate::aaep) mod script;
