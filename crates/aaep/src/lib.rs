//! AAEP, the Agent Accessibility Event Protocol: agents announce what they do, so that everyone can
//! follow it, and ask before they do what cannot be undone.
//!
//! - [`event`]: an event as it is read, once. [`flaw`]: what is wrong with a document, by tier and
//!   rule.
//! - [`machine`]: the rules of a session, over all its events. [`lint`]: what would make one better
//!   for somebody who listens.
//! - [`recorded`]: the same rules over a recording, in which answers may be missing.
//! - [`read`]: from text to an event, or all that is wrong with it. [`handshake`]: the messages
//!   that are no events. [`schemas`]: the same rules, for others to check by.
//! - [`capabilities`]: on which terms somebody listens. [`negotiate`]: what of them is granted.
//! - [`shape`]: the events as one subscription gets them. [`language`]: in which language, and
//!   [`text`]: cut where a listener would pause.
//! - [`manifest`]: what a producer says about itself; [`jws`], [`keys`]: who vouches for it.
//! - [`stamp`]: a moment as events write it. [`cursor`]: where an event stands.

pub mod capabilities;
pub mod cursor;
pub mod event;
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

/// In our extension of the first event that was recorded of a session under way.
pub const RECORDED_FROM_HERE: &str = "recorded_from_here";

/// The key of our own extension in `extensions` and in `capabilities`.
pub const EXTENSION: &str = "tasuki";

/// The longest event, in bytes of its JSON. The specification lets events be longer than it
/// advises; four times as long is more than anybody hears to its end.
pub const EVENT_BYTES_MAX: usize = 256 * 1024;

/// What an event should not exceed, in bytes of its JSON (§3.7): some tools take no more.
pub const EVENT_BYTES_ADVISED: usize = 64 * 1024;

/// The most members of an event, the keys of `extensions` counted.
pub const FIELDS_MAX: usize = 32;

/// How deep objects and lists of an event may be inside one another, the event itself not counted.
pub const NESTING_MAX: usize = 8;

/// What no text of an event should exceed, in bytes. The schemas count characters, so a text in
/// another script may be longer and still be valid.
pub const STRING_BYTES_ADVISED: usize = 16 * 1024;
