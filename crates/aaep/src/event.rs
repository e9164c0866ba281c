//! An event of a session, parsed once. The fields that the rules, the shaping and the answers use
//! are typed and borrowed from the text. The text itself is what is stored and sent on.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A text of the event: borrowed unless it was escaped.
pub type Text<'a> = Cow<'a, str>;

#[derive(Debug, Clone, PartialEq)]
pub struct Event<'a> {
    pub envelope: Envelope<'a>,
    pub payload: Payload<'a>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Envelope<'a> {
    pub event_id: Text<'a>,
    pub session_id: Text<'a>,
    /// Microseconds since 1970, by the producer's clock.
    pub timestamp_micros: i64,
    pub agent_id: Text<'a>,
    pub agent_name: Option<Text<'a>>,
    pub sequence_number: Option<u64>,
    pub verbosity: Option<Verbosity>,
    pub urgency: Option<Urgency>,
    pub primary_language: Option<Text<'a>>,
    pub correlation_id: Option<Text<'a>>,
    /// The content of our own extension.
    pub link: Link<'a>,
}

/// `extensions.tasuki` on events of producers. Unknown members are allowed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Link<'a> {
    /// On `session.started`: the conversation in which this session happens.
    pub conversation_id: Option<Text<'a>>,
    /// On `session.started`: the session that began this one.
    pub parent_session_id: Option<Text<'a>>,
    /// On a confirmation: the call that it is about.
    pub tool_call_id: Option<Text<'a>>,
    /// On a confirmation and on the call: SHA-256 of canonical `{"arguments":…,"tool":…}`, as 64
    /// lower-case hexadecimal digits.
    pub action_hash: Option<Text<'a>>,
}

/// The twelve core types, each with the fields that its rules use, and all others.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload<'a> {
    SessionStarted {
        requested_by: Option<Text<'a>>,
    },
    SessionCompleted,
    SessionErrored,
    SessionCancelled,
    StateChanged {
        from: Text<'a>,
        to: Text<'a>,
    },
    ProgressUpdated {
        percent: Option<f64>,
    },
    ToolInvoked {
        tool: Text<'a>,
        tool_call_id: Option<Text<'a>>,
        risk: Risk,
        irreversible: bool,
    },
    ToolCompleted {
        tool: Text<'a>,
        tool_call_id: Option<Text<'a>>,
        status: ToolStatus,
    },
    OutputStreaming(Chunk<'a>),
    AwaitingConfirmation(Box<Confirmation<'a>>),
    AwaitingClarification(Box<Clarification<'a>>),
    HandoffRequested(Box<HandoffRequest<'a>>),
    /// An event of another namespace: passed through.
    Extension {
        name: Text<'a>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Chunk<'a> {
    pub text: Text<'a>,
    /// In Unicode scalar values.
    pub position: u64,
    pub complete: bool,
    pub coalesce_hint: Option<Boundary>,
    pub output_id: Option<Text<'a>>,
    pub language: Option<Text<'a>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Confirmation<'a> {
    pub action: Text<'a>,
    pub reply_token: Text<'a>,
    pub timeout_seconds: u32,
    pub default_decision: Decision,
    pub risk: Option<Risk>,
    pub irreversible: bool,
    /// `irreversible` is present, and false.
    pub said_reversible: bool,
    pub reversibility: Option<Reversibility>,
    /// Empty for the default, accept and reject.
    pub allowed_replies: Vec<Text<'a>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Clarification<'a> {
    pub question: Text<'a>,
    pub reply_token: Text<'a>,
    pub timeout_seconds: u32,
    /// Empty if the producer names none.
    pub accepted_kinds: Vec<ResponseKind>,
    /// The values to choose from.
    pub choices: Vec<Text<'a>>,
    pub default_response: Option<Text<'a>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct HandoffRequest<'a> {
    pub reason: Text<'a>,
    pub target_kind: TargetKind,
    pub target_uri: Option<Text<'a>>,
    /// JSON text of an object.
    pub packaged_context: Option<&'a str>,
    pub urgency: Option<Risk>,
    pub summary: Option<Text<'a>>,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $(#[serde(rename = $word)] $variant,)*
        }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }

            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == word)
            }
        }
    };
}

words!(Verbosity { Terse = "terse", Normal = "normal", Detailed = "detailed" });
words!(Urgency { Background = "background", Normal = "normal", Critical = "critical" });
words!(Risk { Low = "low", Medium = "medium", High = "high" });
words!(ToolStatus { Success = "success", Error = "error", Timeout = "timeout" });
words!(Decision { Accept = "accept", Reject = "reject" });
words!(
    /// Where a text may be cut for a listener, the finest first.
    Boundary {
        None = "none",
        Word = "word",
        Sentence = "sentence",
        Paragraph = "paragraph",
        Completion = "completion",
    }
);
words!(Reversibility {
    Reversible = "reversible",
    WithEffort = "reversible_with_effort",
    Irreversible = "irreversible",
});
words!(ResponseKind {
    Freetext = "freetext",
    YesNo = "yes_no",
    MultipleChoice = "multiple_choice",
    Numeric = "numeric",
});
words!(TargetKind {
    Human = "human",
    SpecialistAgent = "specialist_agent",
    EscalationQueue = "escalation_queue",
});

impl Event<'_> {
    /// Whether it is never delayed, merged or filtered.
    pub fn is_critical(&self) -> bool {
        self.envelope.urgency == Some(Urgency::Critical)
    }

    /// Whether it is part of an output that goes on, and may wait for more of it.
    pub fn is_piece(&self) -> bool {
        let goes_on = matches!(&self.payload, Payload::OutputStreaming(piece) if !piece.complete);
        goes_on && !self.is_critical()
    }
}

impl Payload<'_> {
    /// The name of the type, as in `type`.
    pub fn name(&self) -> &str {
        match self {
            Payload::SessionStarted { .. } => "aaep:agent.session.started",
            Payload::SessionCompleted => "aaep:agent.session.completed",
            Payload::SessionErrored => "aaep:agent.session.errored",
            Payload::SessionCancelled => "aaep:agent.session.cancelled",
            Payload::StateChanged { .. } => "aaep:agent.state.changed",
            Payload::ProgressUpdated { .. } => "aaep:agent.progress.updated",
            Payload::ToolInvoked { .. } => "aaep:agent.tool.invoked",
            Payload::ToolCompleted { .. } => "aaep:agent.tool.completed",
            Payload::OutputStreaming(_) => "aaep:agent.output.streaming",
            Payload::AwaitingConfirmation(_) => "aaep:agent.awaiting.confirmation",
            Payload::AwaitingClarification(_) => "aaep:agent.awaiting.clarification",
            Payload::HandoffRequested(_) => "aaep:agent.handoff.requested",
            Payload::Extension { name } => name,
        }
    }

    /// The token of a question.
    pub fn reply_token(&self) -> Option<&str> {
        match self {
            Payload::AwaitingConfirmation(asked) => Some(&asked.reply_token),
            Payload::AwaitingClarification(asked) => Some(&asked.reply_token),
            Payload::SessionStarted { .. }
            | Payload::SessionCompleted
            | Payload::SessionErrored
            | Payload::SessionCancelled
            | Payload::StateChanged { .. }
            | Payload::ProgressUpdated { .. }
            | Payload::ToolInvoked { .. }
            | Payload::ToolCompleted { .. }
            | Payload::OutputStreaming(_)
            | Payload::HandoffRequested(_)
            | Payload::Extension { .. } => None,
        }
    }

    pub fn is_terminal(&self) -> bool {
        match self {
            Payload::SessionCompleted | Payload::SessionErrored | Payload::SessionCancelled => true,
            Payload::SessionStarted { .. }
            | Payload::StateChanged { .. }
            | Payload::ProgressUpdated { .. }
            | Payload::ToolInvoked { .. }
            | Payload::ToolCompleted { .. }
            | Payload::OutputStreaming(_)
            | Payload::AwaitingConfirmation(_)
            | Payload::AwaitingClarification(_)
            | Payload::HandoffRequested(_)
            | Payload::Extension { .. } => false,
        }
    }
}
