//! The work queue's part of a handoff, in the words of the ACP design.

use protocol::handoff::workq::WorkqStatus;
use schemars::JsonSchema;
use serde::Serialize;

/// The mark that the ACP design puts into the context of a handoff. It is outside the package,
/// which is sealed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HandoffContext {
    /// `degraded`: the items of the work queue are orphaned and must be claimed by hand.
    pub workq_integration: &'static str,
}

/// The mark, if one is needed.
pub fn context(status: WorkqStatus) -> Option<HandoffContext> {
    match status {
        WorkqStatus::Degraded => Some(HandoffContext { workq_integration: "degraded" }),
        WorkqStatus::NotApplicable | WorkqStatus::Pending | WorkqStatus::Transferred => None,
    }
}

/// The status by the three names of the ACP design. A queue that has not answered is no better for
/// the caller than one that is down.
pub fn answered(status: WorkqStatus) -> &'static str {
    match status {
        WorkqStatus::Pending | WorkqStatus::Degraded => WorkqStatus::Degraded.as_str(),
        WorkqStatus::Transferred | WorkqStatus::NotApplicable => status.as_str(),
    }
}
