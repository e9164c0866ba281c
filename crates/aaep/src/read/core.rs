//! The envelope and the twelve core events, as tables. The fields are in the order in which most
//! producers write them, because the reader tries the next field first.

use super::form::Form;
use super::table::{
    Field, Kind, LONG, Others, SHORT, Shape, Slot, any_length, duration, formed, integer, text,
    truth, word,
};

/// The prefix of all core types.
pub(super) const CORE_PREFIX: &str = "aaep:";

/// The prefix of a core type that is written as a URI.
pub(super) const CORE_URI: &str = "https://aaep-protocol.org/types/";

/// The site of the protocol. Types of other namespaces must not use it.
pub(super) const CORE_SITE: &str = "https://aaep-protocol.org/";

/// One of the twelve.
#[derive(Debug)]
pub(super) struct CoreType {
    /// As in `type`.
    pub name: &'static str,
    pub shape: Shape,
    /// The section of the specification that requires `critical`.
    pub critical: Option<&'static str>,
    pub core: Core,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Core {
    SessionStarted,
    SessionCompleted,
    SessionErrored,
    SessionCancelled,
    StateChanged,
    ProgressUpdated,
    ToolInvoked,
    ToolCompleted,
    OutputStreaming,
    AwaitingConfirmation,
    AwaitingClarification,
    HandoffRequested,
}

/// The core type of this name, as usually written or as a URI.
pub(super) fn core_type(name: &str) -> Option<&'static CoreType> {
    let local = name.strip_prefix(CORE_PREFIX).or_else(|| name.strip_prefix(CORE_URI))?;
    CORE_TYPES.iter().find(|one| &one.name[CORE_PREFIX.len()..] == local)
}

pub(super) static PRODUCER: Shape = Shape {
    fields: &[
        text("agent_id", 1, usize::MAX).required().kept(Slot::AgentId),
        text("agent_version", 0, usize::MAX),
        text("agent_name", 0, usize::MAX).kept(Slot::AgentName),
        text("model", 0, usize::MAX),
        formed("manifest_uri", Form::Uri),
    ],
    others: Others::Refused,
    min_fields: 0,
};

static LANGUAGE: Kind = any_length(Form::Language);

static LOCALIZATION: Shape = Shape {
    fields: &[
        formed("primary_language", Form::Language).kept(Slot::PrimaryLanguage),
        word("text_direction", &["ltr", "rtl", "auto"]),
        Field::new(
            "available_languages",
            Kind::List { items: &LANGUAGE, min: 0, max: 32, unique: true },
        ),
        Field::new(
            "fallback_chain",
            Kind::List { items: &LANGUAGE, min: 0, max: 16, unique: false },
        ),
        formed("script", Form::Script),
        text("calendar", 0, usize::MAX),
    ],
    others: Others::Refused,
    min_fields: 0,
};

pub(super) static ENVELOPE: Shape = Shape {
    fields: &[
        Field::new("@context", Kind::Context).required(),
        formed("aaep_version", Form::Version).kept(Slot::Version),
        text("type", 1, usize::MAX).required().kept(Slot::Type),
        formed("event_id", Form::Id("evt_")).required().kept(Slot::EventId),
        formed("session_id", Form::Id("sess_")).required().kept(Slot::SessionId),
        integer("sequence_number", 0, u64::MAX).kept(Slot::SequenceNumber),
        formed("timestamp", Form::Moment).required().kept(Slot::Timestamp),
        Field::new("producer", Kind::Object(&PRODUCER)).required(),
        word("verbosity", &["terse", "normal", "detailed"]).kept(Slot::Verbosity),
        word("urgency", &["background", "normal", "critical"]).kept(Slot::Urgency),
        Field::new("localization_hints", Kind::Object(&LOCALIZATION)),
        text("correlation_id", 0, usize::MAX).kept(Slot::CorrelationId),
        Field::new("extensions", Kind::Extensions),
    ],
    others: Others::Pass,
    min_fields: 0,
};

/// `extensions.tasuki`. Other members are allowed.
pub(super) static LINK: Shape = Shape {
    fields: &[
        text("conversation_id", 1, 256).kept(Slot::LinkConversation),
        formed("parent_session_id", Form::Id("sess_")).kept(Slot::LinkParent),
        formed("tool_call_id", Form::Id("call_")).kept(Slot::LinkCall),
        formed("action_hash", Form::Hash).kept(Slot::LinkHash),
    ],
    others: Others::Pass,
    min_fields: 0,
};

const fn terse() -> Field {
    text("summary_terse", 1, SHORT)
}

const fn normal() -> Field {
    text("summary_normal", 1, LONG).kept(Slot::Summary)
}

const fn detailed() -> Field {
    text("summary_detailed", 1, LONG)
}

const fn reply_token() -> Field {
    formed("reply_token", Form::Id("rpl_")).required().kept(Slot::ReplyToken)
}

const fn timeout() -> Field {
    integer("timeout_seconds", 1, 86_400).required().kept(Slot::TimeoutSeconds)
}

const fn tool() -> Field {
    Field::new("tool", Kind::Text { form: Form::Tool, min: 1, max: 256 })
        .required()
        .kept(Slot::Tool)
}

const fn tool_call_id() -> Field {
    formed("tool_call_id", Form::Id("call_")).kept(Slot::ToolCall)
}

const fn risk() -> Field {
    word("risk_level", RISKS).kept(Slot::Risk)
}

const RISKS: &[&str] = &["low", "medium", "high"];

static NAME: Kind = Kind::Text { form: Form::Any, min: 1, max: 256 };
static ANY_TEXT: Kind = any_length(Form::Any);
static RESPONSE_KIND: Kind = Kind::Word(&["freetext", "yes_no", "multiple_choice", "numeric"]);

static CHOICE: Kind = Kind::Choice(&Shape {
    fields: &[text("value", 1, 256).required(), text("label", 1, 1_024).required()],
    others: Others::Refused,
    min_fields: 0,
});

static PROGRESS: Shape = Shape {
    fields: &[
        Field::new("percent", Kind::Number { min: 0.0, max: 100.0 }).kept(Slot::Percent),
        integer("step", 1, u64::MAX).kept(Slot::Step),
        integer("total_steps", 1, u64::MAX).kept(Slot::TotalSteps),
        text("description", 1, SHORT),
    ],
    others: Others::Refused,
    min_fields: 1,
};

const fn core(
    core: Core,
    name: &'static str,
    critical: Option<&'static str>,
    fields: &'static [Field],
) -> CoreType {
    CoreType { name, shape: Shape { fields, others: Others::Pass, min_fields: 0 }, critical, core }
}

pub(super) static CORE_TYPES: [CoreType; 12] = [
    core(
        Core::OutputStreaming,
        "aaep:agent.output.streaming",
        None,
        &[
            Field::new("chunk", Kind::Text { form: Form::Piece, min: 0, max: LONG })
                .required()
                .kept(Slot::Chunk),
            integer("position", 0, u64::MAX).required().kept(Slot::Position),
            truth("complete").required().kept(Slot::Complete),
            word("coalesce_hint", &["none", "word", "sentence", "paragraph", "completion"])
                .kept(Slot::CoalesceHint),
            formed("output_id", Form::Id("out_")).kept(Slot::OutputId),
            formed("content_type", Form::MediaType),
            formed("language", Form::Language).kept(Slot::Language),
        ],
    ),
    core(
        Core::SessionStarted,
        "aaep:agent.session.started",
        None,
        &[
            terse(),
            normal().required(),
            detailed(),
            duration("expected_duration_ms"),
            text("requested_by", 1, 256).kept(Slot::RequestedBy),
            text("request_text", 0, LONG),
            Field::new(
                "tools_available",
                Kind::List { items: &NAME, min: 0, max: 256, unique: true },
            ),
        ],
    ),
    core(
        Core::SessionCompleted,
        "aaep:agent.session.completed",
        None,
        &[
            terse(),
            normal().required(),
            detailed(),
            duration("duration_ms"),
            integer("tool_invocations_count", 0, u64::MAX),
            text("output_summary", 0, LONG),
            formed("result_uri", Form::Uri),
        ],
    ),
    core(
        Core::SessionErrored,
        "aaep:agent.session.errored",
        Some("4.1.3"),
        &[
            word("error_category", &["transient", "permanent", "requires_user", "unknown"])
                .required(),
            formed("error_code", Form::ErrorCode),
            terse(),
            normal().required(),
            detailed(),
            formed("error_uri", Form::Uri),
            truth("recoverable"),
            text("remediation_hint", 1, SHORT),
        ],
    ),
    core(
        Core::SessionCancelled,
        "aaep:agent.session.cancelled",
        None,
        &[
            word("cancelled_by", &["user", "producer", "timeout", "system"]).required(),
            formed("cancellation_reason", Form::ReasonCode),
            terse(),
            normal().required(),
            detailed(),
            text("partial_result", 0, LONG),
        ],
    ),
    core(
        Core::StateChanged,
        "aaep:agent.state.changed",
        None,
        &[
            text("from_state", 1, 64).required().kept(Slot::FromState),
            text("to_state", 1, 64).required().kept(Slot::ToState),
            terse(),
            normal(),
            detailed(),
            duration("expected_duration_ms"),
        ],
    ),
    core(
        Core::ProgressUpdated,
        "aaep:agent.progress.updated",
        None,
        &[
            Field::new("progress", Kind::Object(&PROGRESS)).required(),
            terse(),
            normal(),
            detailed(),
            duration("eta_ms"),
        ],
    ),
    core(
        Core::ToolInvoked,
        "aaep:agent.tool.invoked",
        None,
        &[
            tool(),
            tool_call_id(),
            text("description", 1, SHORT),
            text("args_summary", 0, LONG),
            terse(),
            normal().required(),
            detailed(),
            duration("expected_duration_ms"),
            risk(),
            truth("irreversible").kept(Slot::Irreversible),
        ],
    ),
    core(
        Core::ToolCompleted,
        "aaep:agent.tool.completed",
        None,
        &[
            tool(),
            tool_call_id(),
            word("status", &["success", "error", "timeout"]).required().kept(Slot::Status),
            duration("duration_ms"),
            terse(),
            normal(),
            detailed(),
            text("error_message", 1, SHORT).kept(Slot::ErrorMessage),
        ],
    ),
    core(
        Core::AwaitingConfirmation,
        "aaep:agent.awaiting.confirmation",
        Some("4.4.1"),
        &[
            text("action", 1, LONG).required().kept(Slot::Question),
            text("consequence", 1, LONG).required(),
            reply_token(),
            timeout(),
            word("default_decision", &["accept", "reject"]).required().kept(Slot::DefaultDecision),
            terse(),
            normal(),
            detailed(),
            risk(),
            truth("irreversible").kept(Slot::Irreversible),
            word("reversibility", &["reversible", "reversible_with_effort", "irreversible"])
                .kept(Slot::Reversibility),
            Field::new(
                "allowed_replies",
                Kind::List { items: &ANY_TEXT, min: 1, max: 32, unique: true },
            )
            .kept(Slot::AllowedReplies),
            Field::new("extra_context", Kind::Open),
        ],
    ),
    core(
        Core::AwaitingClarification,
        "aaep:agent.awaiting.clarification",
        Some("4.4.2"),
        &[
            text("question", 1, LONG).required().kept(Slot::Question),
            reply_token(),
            timeout(),
            Field::new(
                "accepted_response_kinds",
                Kind::List { items: &RESPONSE_KIND, min: 1, max: 4, unique: true },
            )
            .kept(Slot::Kinds),
            Field::new("choices", Kind::List { items: &CHOICE, min: 2, max: 32, unique: true })
                .kept(Slot::Choices),
            text("context", 1, SHORT),
            text("default_response", 0, SHORT).kept(Slot::DefaultResponse),
            terse(),
            normal(),
            detailed(),
        ],
    ),
    core(
        Core::HandoffRequested,
        "aaep:agent.handoff.requested",
        Some("4.4.3"),
        &[
            text("reason", 1, LONG).required().kept(Slot::Reason),
            word("target_kind", &["human", "specialist_agent", "escalation_queue"])
                .required()
                .kept(Slot::TargetKind),
            formed("target_uri", Form::Uri).kept(Slot::TargetUri),
            word("urgency_for_handoff", RISKS).kept(Slot::Risk),
            Field::new("packaged_context", Kind::OpenText).kept(Slot::PackagedContext),
            terse(),
            normal(),
            detailed(),
        ],
    ),
];
