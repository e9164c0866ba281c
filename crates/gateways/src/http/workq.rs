//! Waiting for the work queue. It is asked in the background and answers soon or not at all, so the
//! answer to an activate contains the result.

use engine::submit::Done;
use protocol::handoff::Handoff;
use protocol::handoff::workq::WorkqStatus;
use protocol::ledger::Stream;
use protocol::step::State;
use schemars::JsonSchema;
use serde::Serialize;

use super::Gateway;
use super::problem::Problem;
use super::verdict::wait_while;

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

/// The outcome with what the queue answered, if it answers soon.
pub async fn awaited(gateway: &Gateway, stream: &Stream, mut done: Done) -> Result<Done, Problem> {
    let is_pending = |handoff: &Handoff| handoff.workq_status() == WorkqStatus::Pending;
    wait_while(gateway, stream, is_pending).await?;
    if let Some(State::Handoff(handoff)) = gateway.engine.current(stream).await?.as_deref() {
        done.outcome.workq = handoff.workq_status();
    }
    Ok(done)
}

/// The status by the three names of the ACP design. A queue that has not answered is no better for
/// the caller than one that is down.
pub fn answered(status: WorkqStatus) -> &'static str {
    match status {
        WorkqStatus::Pending | WorkqStatus::Degraded => WorkqStatus::Degraded.as_str(),
        WorkqStatus::Transferred | WorkqStatus::NotApplicable => status.as_str(),
    }
}
