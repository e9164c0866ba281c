//! The JSON of a delivery.

use std::sync::Arc;

use super::prepared::Prepared;

/// The JSON of a delivery.
#[derive(Debug)]
pub enum Body {
    /// The event as it was sent, shared by all subscriptions that get it so.
    Verbatim(Arc<Prepared>),
    /// The same without its sequence number, shared as well.
    Unnumbered(Arc<Prepared>),
    Copy(String),
}

impl Body {
    pub fn text(&self) -> &str {
        match self {
            Body::Verbatim(event) => &event.text,
            Body::Unnumbered(event) => event.unnumbered(),
            Body::Copy(text) => text,
        }
    }
}
