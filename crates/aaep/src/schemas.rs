//! The published JSON Schemas of all messages: each is self-contained, without references. They are
//! equivalent to the upstream schemas; where upstream has none, they are our own.

macro_rules! schemas {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("schemas/", $name, ".json")))),*]
    };
}

/// Name and text. The name is that of the type, without `aaep:`.
pub const SCHEMAS: &[(&str, &str)] = schemas![
    "envelope",
    "agent.output.streaming",
    "agent.session.started",
    "agent.session.completed",
    "agent.session.errored",
    "agent.session.cancelled",
    "agent.state.changed",
    "agent.progress.updated",
    "agent.tool.invoked",
    "agent.tool.completed",
    "agent.awaiting.confirmation",
    "agent.awaiting.clarification",
    "agent.handoff.requested",
    "subscription.request",
    "subscription.accepted",
    "subscription.rejected",
    "subscription.renegotiate",
    "subscription.close",
    "confirmation.reply",
    "clarification.reply",
    "producer.manifest",
];
