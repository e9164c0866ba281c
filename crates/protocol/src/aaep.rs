//! AAEP, the Agent Accessibility Event Protocol: agents announce what they do, so that everyone can
//! follow it, and ask before they do what cannot be undone.
//!
//! - [`event`]: an event as it is read, once. [`flaw`]: what is wrong with a document, by tier and
//!   rule.
//! - [`machine`]: the rules of a session, over all its events.
//! - [`capabilities`]: on which terms somebody listens.
//! - [`manifest`]: what a producer says about itself; [`jws`], [`keys`]: who vouches for it.
//! - [`stamp`]: a moment as events write it.
//! - [`texts`]: what we announce ourselves, in every language that we have.

pub mod capabilities;
pub mod event;
pub mod flaw;
pub mod jws;
pub mod keys;
pub mod machine;
pub mod manifest;
pub mod stamp;
pub mod texts;

/// The version of the protocol that we speak.
pub const VERSION: &str = "1.0.0";

/// What every event's `@context` is, or begins with.
pub const CONTEXT: &str = "https://aaep-protocol.org/context/v1";

/// The namespace of our own extension, as it stands in `@context`.
pub const EXTENSION_CONTEXT: &str = "urn:tasuki:aaep:v1";

/// The key of our own extension in `extensions` and in `capabilities`.
pub const EXTENSION: &str = "tasuki";

/// The longest event, in bytes of its JSON.
pub const EVENT_BYTES_MAX: usize = 64 * 1024;
