//! What a notice is about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a notice is about. Agents can mute each kind.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    Proposed,
    ApprovalWanted,
    Approved,
    Accepted,
    Rejected,
    Countered,
    Activated,
    Progressed,
    Recalled,
    ConfirmationWanted,
    CompletionFailed,
    Disputed,
    Completed,
    Closed,
    Withdrawn,
    Reassigned,
    Delegated,
    PartEnded,
    VerificationUnavailable,
    SlaWarned,
    SlaExtended,
    Escalated,
    WorkqDegraded,
    QuestionAsked,
    QuestionAnswered,
    QuestionUnanswered,
    QuestionWithdrawn,
}

impl NoticeKind {
    pub const ALL: [NoticeKind; 27] = [
        NoticeKind::Proposed,
        NoticeKind::ApprovalWanted,
        NoticeKind::Approved,
        NoticeKind::Accepted,
        NoticeKind::Rejected,
        NoticeKind::Countered,
        NoticeKind::Activated,
        NoticeKind::Progressed,
        NoticeKind::Recalled,
        NoticeKind::ConfirmationWanted,
        NoticeKind::CompletionFailed,
        NoticeKind::Disputed,
        NoticeKind::Completed,
        NoticeKind::Closed,
        NoticeKind::Withdrawn,
        NoticeKind::Reassigned,
        NoticeKind::Delegated,
        NoticeKind::PartEnded,
        NoticeKind::VerificationUnavailable,
        NoticeKind::SlaWarned,
        NoticeKind::SlaExtended,
        NoticeKind::Escalated,
        NoticeKind::WorkqDegraded,
        NoticeKind::QuestionAsked,
        NoticeKind::QuestionAnswered,
        NoticeKind::QuestionUnanswered,
        NoticeKind::QuestionWithdrawn,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            NoticeKind::Proposed => "proposed",
            NoticeKind::ApprovalWanted => "approval_wanted",
            NoticeKind::Approved => "approved",
            NoticeKind::Accepted => "accepted",
            NoticeKind::Rejected => "rejected",
            NoticeKind::Countered => "countered",
            NoticeKind::Activated => "activated",
            NoticeKind::Progressed => "progressed",
            NoticeKind::Recalled => "recalled",
            NoticeKind::ConfirmationWanted => "confirmation_wanted",
            NoticeKind::CompletionFailed => "completion_failed",
            NoticeKind::Disputed => "disputed",
            NoticeKind::Completed => "completed",
            NoticeKind::Closed => "closed",
            NoticeKind::Withdrawn => "withdrawn",
            NoticeKind::Reassigned => "reassigned",
            NoticeKind::Delegated => "delegated",
            NoticeKind::PartEnded => "part_ended",
            NoticeKind::VerificationUnavailable => "verification_unavailable",
            NoticeKind::SlaWarned => "sla_warned",
            NoticeKind::SlaExtended => "sla_extended",
            NoticeKind::Escalated => "escalated",
            NoticeKind::WorkqDegraded => "workq_degraded",
            NoticeKind::QuestionAsked => "question_asked",
            NoticeKind::QuestionAnswered => "question_answered",
            NoticeKind::QuestionUnanswered => "question_unanswered",
            NoticeKind::QuestionWithdrawn => "question_withdrawn",
        }
    }
}
