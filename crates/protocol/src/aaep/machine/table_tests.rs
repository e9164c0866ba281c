//! Sessions in one line each: what is legal, what is refused and by which rule, and the page that
//! says so.

mod broken;
mod broken_consent;
pub(in crate::aaep) mod legal;
mod page;
pub(in crate::aaep) mod script;
