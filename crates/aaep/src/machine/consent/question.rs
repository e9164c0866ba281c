//! An open question.

use serde::{Deserialize, Serialize};

use crate::event::{Confirmation, Decision, ResponseKind, Reversibility};
use base::time::Time;

/// A question that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    pub event_id: String,
    pub reply_token: String,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Accepted,
    Rejected,
    /// A clarification has its answer.
    Answered,
    /// A clarification timed out without an answer.
    Unanswered,
    Withdrawn,
}

/// What a confirmation says about its call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Target {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) action_hash: Option<String>,
}

/// Settled by an entitled answer or by its timeout; withdrawn by the producer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    event_id: String,
    reply_token: String,
    due: Time,
    asked: PendingQuestion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    Confirmation,
    Clarification,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PendingQuestion {
    Confirmation {
        target: Target,
        /// SHA-256 of the text.
        action: String,
        reversal: Reversal,
        default: Decision,
        allowed: Vec<Decision>,
    },
    Clarification {
        kinds: Vec<ResponseKind>,
        choices: Vec<String>,
        /// The result of a timeout.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default_response: Option<String>,
    },
}

/// What a confirmation says about undoing its action. The action is irreversible if `irreversible`
/// or `reversibility` says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reversal {
    Irreversible,
    /// The confirmation does not say.
    Possible,
    /// The action can be undone with effort.
    WithEffort,
    Promised,
}

impl Question {
    pub(super) fn new(
        event_id: String,
        reply_token: String,
        due: Time,
        asked: PendingQuestion,
    ) -> Self {
        Self { event_id, reply_token, due, asked }
    }

    /// The event that asks.
    pub fn event_id(&self) -> &str {
        &self.event_id
    }

    /// The producer's token, which no subscriber sees.
    pub fn reply_token(&self) -> &str {
        &self.reply_token
    }

    /// When its time is over, by our clock.
    pub fn due(&self) -> Time {
        self.due
    }

    pub fn kind(&self) -> QuestionKind {
        match self.asked {
            PendingQuestion::Confirmation { .. } => QuestionKind::Confirmation,
            PendingQuestion::Clarification { .. } => QuestionKind::Clarification,
        }
    }

    /// What an answer to it must be.
    pub fn expected(&self) -> String {
        match &self.asked {
            PendingQuestion::Confirmation { allowed, .. } => match allowed[..] {
                [Decision::Accept] => "`decision`: accept".to_owned(),
                [Decision::Reject] => "`decision`: reject".to_owned(),
                _ => "`decision`: accept or reject".to_owned(),
            },
            PendingQuestion::Clarification { kinds, .. } if kinds.is_empty() => {
                format!("`response`: {}", expected_of(ResponseKind::Freetext))
            }
            PendingQuestion::Clarification { kinds, .. } => {
                let kinds: Vec<_> = kinds.iter().map(|kind| expected_of(*kind)).collect();
                format!("`response`: {}", kinds.join(" or "))
            }
        }
    }

    /// The producer's default if a clarification is not answered.
    pub fn default_response(&self) -> Option<&str> {
        match &self.asked {
            PendingQuestion::Clarification { default_response, .. } => default_response.as_deref(),
            PendingQuestion::Confirmation { .. } => None,
        }
    }

    pub(super) fn forget_default_response(&mut self) {
        if let PendingQuestion::Clarification { default_response, .. } = &mut self.asked {
            *default_response = None;
        }
    }

    pub(super) fn asked(&self) -> &PendingQuestion {
        &self.asked
    }

    pub(super) fn is_confirmation(&self) -> bool {
        self.kind() == QuestionKind::Confirmation
    }

    /// The target, if this is a confirmation with a link.
    pub(super) fn target(&self) -> Option<&Target> {
        match &self.asked {
            PendingQuestion::Confirmation { target, .. } => Some(target),
            PendingQuestion::Clarification { .. } => None,
        }
    }

    /// Whether it asks for the same action.
    pub(super) fn is_about(&self, target: &Target, words: &str) -> bool {
        let PendingQuestion::Confirmation { target: own, action, .. } = &self.asked else {
            return false;
        };
        own.is_same(action, target, words)
    }

    pub(super) fn settled(self, outcome: Outcome) -> (Settled, PendingQuestion) {
        let Question { event_id, reply_token, asked, .. } = self;
        (Settled { event_id, reply_token, outcome }, asked)
    }
}

impl Reversal {
    pub(super) fn of(confirmation: &Confirmation<'_>) -> Self {
        match confirmation.reversibility {
            Some(Reversibility::Irreversible) => Reversal::Irreversible,
            _ if confirmation.irreversible => Reversal::Irreversible,
            Some(Reversibility::Reversible) => Reversal::Promised,
            None if confirmation.said_reversible => Reversal::Promised,
            Some(Reversibility::WithEffort) => Reversal::WithEffort,
            None => Reversal::Possible,
        }
    }
}

fn expected_of(kind: ResponseKind) -> &'static str {
    match kind {
        ResponseKind::YesNo => "true or false",
        ResponseKind::MultipleChoice => "the value of one of the choices",
        ResponseKind::Freetext => "a text",
        ResponseKind::Numeric => "a number",
    }
}
