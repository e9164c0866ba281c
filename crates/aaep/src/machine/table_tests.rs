//! Sessions in one line each: what is legal, what is refused and by which rule, and the page that
//! says so.

mod broken;
mod broken_consent;
pub(crate) mod legal;
mod page;
pub(crate) mod script;
