//! Sessions in one line each: legal ones, refused ones with their rules, and the page that
//! documents them.

mod broken;
mod broken_consent;
pub(crate) mod legal;
mod page;
pub(crate) mod script;
