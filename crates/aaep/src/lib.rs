//! AAEP, the Agent Accessibility Event Protocol. Agents announce what they do, so that everyone can
//! follow it, and they ask before an action that cannot be undone.
//!
//! - [`event`]: an event after it is parsed. [`flaw`]: what is wrong with a document, by tier and
//!   rule.
//! - [`machine`]: the rules of a session, over all its events. [`lint`]: advice that makes a
//!   session better for listeners.
//! - [`recorded`]: the same rules over a recording, in which answers may be missing.
//! - [`read`]: parses text into an event, or reports all its flaws. [`handshake`]: the messages
//!   that are not events. [`schemas`]: the same rules as JSON Schema, for other programs.
//! - [`capabilities`]: the terms of a subscription. [`negotiate`]: which of the requested terms are
//!   granted.
//! - [`shape`]: the events as one subscription gets them. [`language`]: in which language, and
//!   [`text`]: cut where a listener would pause.
//! - [`manifest`]: what a producer says about itself. [`jws`], [`keys`]: the signature on it.
//! - [`stamp`]: a time as events write it. [`cursor`]: the position of an event.

pub mod capabilities;
pub mod cursor;
pub mod event;
pub mod extension;
pub mod flaw;
pub mod handshake;
pub mod jws;
pub mod keys;
pub mod language;
pub mod lint;
pub mod machine;
pub mod manifest;
pub mod negotiate;
pub mod read;
pub mod recorded;
pub mod schemas;
pub mod secrets;
pub mod shape;
pub mod stamp;
pub mod text;

/// The version of the protocol that we speak.
pub const VERSION: &str = "1.0.0";

/// What every event's `@context` is, or begins with.
pub const CONTEXT: &str = "https://aaep-protocol.org/context/v1";

/// The namespace of our own extension, as it stands in `@context`.
pub const EXTENSION_CONTEXT: &str = "urn:tasuki:aaep:v1";

/// As whom a Tasuki server itself announces, and answers those who subscribe.
pub const AGENT_ID: &str = "tasuki";

/// The states of a transfer, which a Tasuki server announces besides those of AAEP.
pub const STATES: [&str; 4] = [WAITING, RINGING, CONNECTED, ON_HOLD];
pub const WAITING: &str = "waiting";
pub const RINGING: &str = "ringing";
pub const CONNECTED: &str = "connected";
pub const ON_HOLD: &str = "on_hold";

/// Marks, in our extension, the first recorded event of a session that had already begun.
pub const RECORDED_FROM_HERE: &str = "recorded_from_here";

/// The key of our own extension in `extensions` and in `capabilities`.
pub const EXTENSION: &str = "tasuki";

/// The longest event, in bytes of its JSON. It is four times the length that the specification
/// advises, and more than a listener hears to its end.
pub const EVENT_BYTES_MAX: usize = 256 * 1024;

/// What an event should not exceed, in bytes of its JSON (§3.7): some tools take no more.
pub const EVENT_BYTES_ADVISED: usize = 64 * 1024;

/// The most members of an event, the keys of `extensions` counted.
pub const FIELDS_MAX: usize = 32;

/// How deeply objects and lists of an event may nest, not counting the event itself.
pub const NESTING_MAX: usize = 8;

/// What no text of an event should exceed, in bytes. The schemas count characters, so a text in
/// another script may be longer and still be valid.
pub const STRING_BYTES_ADVISED: usize = 16 * 1024;
