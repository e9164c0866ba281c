//! What a handoff waits for, as answers tell a caller: without the delegated parts that the caller
//! may not read.

use protocol::caller::Caller;
use protocol::handoff::Handoff;
use protocol::handoff::waits::Wait;
use protocol::ids::HandoffId;
use protocol::ledger::{Stream, Subject};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::shared::gateway::Gateway;
use crate::http::shared::problem::Problem;

/// One thing that a handoff waits for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WaitView {
    /// `agent:ID`, `approver`, `verifier`, `coordinator` (operators count as coordinators), `parts`
    /// (those that the owner delegated must end first) or `server`.
    pub who: String,
    /// The actions that they can take.
    #[serde(rename = "for")]
    pub actions: &'static [&'static str],
    /// The delegated parts that they take these actions on, or that must end. Absent when it is
    /// this handoff, and when you may read none of the parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    pub since: String,
    /// When it is, or was, overdue.
    pub until: Option<String>,
    /// What happens then: `escalates`, which may have happened (`escalated`), or `nothing`.
    pub then: &'static str,
}

/// What a handoff that the caller may read waits for, the next step first.
pub async fn waiting_for(
    gateway: &Gateway,
    caller: &Caller,
    handoff: &Handoff,
) -> Result<Vec<WaitView>, Problem> {
    let all = gateway.engine.access().waits(caller, handoff).await?;
    Ok(all.iter().map(view).collect())
}

/// The same by the id: nothing if there is no such handoff, or none that the caller may read.
pub async fn waiting_for_id(
    gateway: &Gateway,
    caller: &Caller,
    id: HandoffId,
) -> Result<Vec<WaitView>, Problem> {
    let (teamspace, subject) = (caller.teamspace.clone(), Subject::Handoff(id));
    let stream = Stream { teamspace, subject };
    let Some(state) = gateway.engine.read().current(&stream).await? else { return Ok(Vec::new()) };
    let Some(handoff) = state.as_handoff() else { return Ok(Vec::new()) };
    match gateway.engine.access().may_read(caller, &stream, &state).await? {
        true => waiting_for(gateway, caller, handoff).await,
        false => Ok(Vec::new()),
    }
}

pub fn view(wait: &Wait) -> WaitView {
    WaitView {
        who: wait.who.describe(),
        actions: wait.actions,
        parts: wait.parts.iter().map(ToString::to_string).collect(),
        since: wait.since.to_string(),
        until: wait.until.map(|until| until.to_string()),
        then: wait.then.as_str(),
    }
}
