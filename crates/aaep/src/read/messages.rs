//! The messages of a handshake and the replies, as tables. They have no envelope, and no members
//! that the tables do not name.

use super::core::PRODUCER;
use super::form::Form;
use super::table::{
    Field, Kind, LONG, Others, SHORT, Shape, any_length, formed, integer, text, truth, word,
};

/// The fields of a message; its `type` is known by then.
#[derive(Debug)]
pub(super) struct MessageType {
    pub name: &'static str,
    pub kind: Kind,
}

pub(super) fn message_type(name: &str) -> Option<&'static MessageType> {
    MESSAGE_TYPES.iter().find(|one| one.name == name)
}

static LANGUAGE: Kind = any_length(Form::Language);
static URI: Kind = any_length(Form::Uri);
static BOUNDARY: Kind = Kind::Word(&["none", "word", "sentence", "paragraph", "completion"]);
static LEVEL: Kind = Kind::Level(&[1, 2, 3]);
static PATTERN: Kind = Kind::Text { form: Form::Any, min: 1, max: 256 };

static FILTERS: Shape = Shape {
    fields: &[
        Field::new(
            "include",
            Kind::List { items: &PATTERN, min: 0, max: usize::MAX, unique: true },
        ),
        Field::new(
            "exclude",
            Kind::List { items: &PATTERN, min: 0, max: usize::MAX, unique: true },
        ),
    ],
    others: Others::Refused,
    min_fields: 0,
};

static CAPABILITIES: Shape = Shape {
    fields: &[
        integer("max_events_per_second", 1, 100_000),
        word("preferred_verbosity", &["terse", "normal", "detailed"]),
        Field::new("languages", Kind::List { items: &LANGUAGE, min: 1, max: 32, unique: true }),
        truth("supports_confirmation_reply"),
        truth("supports_clarification_reply"),
        Field::new(
            "coalesce_boundaries",
            Kind::List { items: &BOUNDARY, min: 1, max: 5, unique: true },
        ),
        Field::new("event_filters", Kind::Object(&FILTERS)),
        Field::new(
            "supported_conformance_levels",
            Kind::List { items: &LEVEL, min: 1, max: 3, unique: true },
        ),
        Field::new(
            "supported_extensions",
            Kind::List { items: &URI, min: 0, max: 64, unique: true },
        ),
        word("cognitive_load", &["low", "medium", "high"]),
        integer("pace_wpm", 50, 1_000),
        truth("accept_signed_manifests_only"),
    ],
    others: Others::Objects,
    min_fields: 0,
};

const fn kind() -> Field {
    text("type", 1, usize::MAX).required()
}

const fn version() -> Field {
    formed("aaep_version", Form::Version).required()
}

const fn subscription_id() -> Field {
    formed("subscription_id", Form::Id("sub_")).required()
}

const fn reply_token() -> Field {
    formed("reply_token", Form::Id("rpl_")).required()
}

const fn timestamp() -> Field {
    formed("timestamp", Form::Moment).required()
}

const fn correlation_id() -> Field {
    text("correlation_id", 0, usize::MAX)
}

const fn message(name: &'static str, shape: &'static Shape) -> MessageType {
    MessageType { name, kind: Kind::Object(shape) }
}

const fn closed(fields: &'static [Field]) -> Shape {
    Shape { fields, others: Others::Refused, min_fields: 0 }
}

pub(super) static MESSAGE_TYPES: [MessageType; 7] = [
    message(
        "subscription.request",
        &closed(&[
            kind(),
            version(),
            text("subscriber_id", 1, 256).required(),
            text("subscriber_name", 0, 256),
            text("subscriber_version", 0, 64),
            formed("subscriber_manifest_uri", Form::Uri),
            correlation_id(),
            Field::new("capabilities", Kind::Object(&CAPABILITIES)).required(),
            Field::new("extensions", Kind::Extensions),
        ]),
    ),
    message(
        "subscription.accepted",
        &closed(&[
            kind(),
            subscription_id(),
            version(),
            Field::new("producer", Kind::Object(&PRODUCER)).required(),
            Field::new("honored_capabilities", Kind::Object(&CAPABILITIES)).required(),
            formed("manifest_uri", Form::Uri),
            formed("signed_manifest", Form::Signed),
            text("negotiation_notes", 0, SHORT),
        ]),
    ),
    message(
        "subscription.rejected",
        &closed(&[
            kind(),
            word("reason_code", REJECTED).required(),
            text("reason_message", 1, SHORT).required(),
            integer("retry_after_seconds", 0, 86_400),
            formed("alternative_manifest_uri", Form::Uri),
        ]),
    ),
    message(
        "subscription.renegotiate",
        &closed(&[
            kind(),
            subscription_id(),
            Field::new("capabilities", Kind::Object(&CAPABILITIES)).required(),
            correlation_id(),
            Field::new("extensions", Kind::Extensions),
        ]),
    ),
    message(
        "subscription.close",
        &closed(&[
            kind(),
            subscription_id(),
            text("reason_code", 1, 64),
            text("reason_message", 1, SHORT),
            correlation_id(),
            Field::new("extensions", Kind::Extensions),
        ]),
    ),
    message(
        "confirmation.reply",
        &closed(&[
            kind(),
            reply_token(),
            word("decision", &["accept", "reject"]).required(),
            subscription_id(),
            timestamp(),
            text("decided_by", 1, 256),
            text("decision_rationale", 1, SHORT),
            Field::new("modified_action", Kind::Open),
            correlation_id(),
        ]),
    ),
    message(
        "clarification.reply",
        &closed(&[
            kind(),
            reply_token(),
            Field::new("response", Kind::Answer).required(),
            subscription_id(),
            timestamp(),
            text("decided_by", 1, 256),
            Field::new("confidence", Kind::Number { min: 0.0, max: 1.0 }),
            correlation_id(),
        ]),
    ),
];

/// Why a subscription is refused.
const REJECTED: &[&str] = &[
    "version_unsupported",
    "manifest_signature_required",
    "capabilities_incompatible",
    "rate_limit",
    "authentication_required",
    "authorization_denied",
    "transport_unavailable",
    "unknown",
];

static VERSION: Kind = any_length(Form::Version);
static NAME: Kind = Kind::Text { form: Form::Any, min: 1, max: 256 };

/// A producer's manifest. It may have more members than are listed here.
pub(super) static MANIFEST: MessageType = message(
    "aaep:producer.manifest",
    &Shape {
        fields: &[
            Field::new("@context", Kind::Context).required(),
            kind(),
            text("agent_id", 1, usize::MAX).required(),
            text("agent_version", 0, usize::MAX),
            text("agent_name", 0, usize::MAX),
            Field::new(
                "aaep_versions_supported",
                Kind::List { items: &VERSION, min: 1, max: 64, unique: true },
            )
            .required(),
            Field::new(
                "conformance_levels_supported",
                Kind::List { items: &LEVEL, min: 1, max: 3, unique: true },
            )
            .required(),
            Field::new(
                "transports_supported",
                Kind::List { items: &NAME, min: 1, max: 64, unique: true },
            )
            .required(),
            Field::new(
                "languages_supported",
                Kind::List { items: &LANGUAGE, min: 1, max: 256, unique: true },
            ),
            Field::new(
                "event_types_emitted",
                Kind::List { items: &PATTERN, min: 0, max: 256, unique: true },
            ),
            Field::new(
                "extensions_supported",
                Kind::List { items: &URI, min: 0, max: 64, unique: true },
            ),
            word("default_verbosity", &["terse", "normal", "detailed"]),
            integer("max_concurrent_subscriptions", 0, u64::MAX),
            text("contact", 0, usize::MAX),
        ],
        others: Others::Pass,
        min_fields: 0,
    },
);

/// The longest answer to a question, in characters.
pub(super) const ANSWER_CHARS_MAX: usize = LONG;
