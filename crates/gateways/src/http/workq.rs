//! Waiting for the work queue. It is asked beside the request and answers soon or not at all, so
//! that the answer to an activate says what came of it.

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

/// What the ACP design marks in the context of a handoff. Beside the package, which is sealed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HandoffContext {
    /// `degraded`: the items of the work queue are orphaned, and somebody claims them by hand.
    pub workq_integration: &'static str,
}

/// The mark, if there is something to mark.
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
