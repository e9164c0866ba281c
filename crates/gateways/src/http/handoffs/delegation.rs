//! Handing on: the owner delegates a part of the task, a coordinator reassigns all of it. Both
//! begin another handoff in the same commit, and name it in their answer.

use axum::extract::State;
use axum::response::Response;
use protocol::form;
use protocol::handoff::Command;
use protocol::handoff::check::Delegation;
use protocol::handoff::command::Reassign;
use protocol::handoff::package::OfferedWorkState;
use protocol::ids::{AgentId, HandoffId};
use protocol::notes::NOTES_BYTES_MAX;
use protocol::time::Time;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::handoffs::action::{Target, act};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, Write};
use crate::http::shared::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReassignInput {
    /// The agent that shall own the task instead.
    pub to_agent: AgentId,
    #[schemars(transform = form::text(NOTES_BYTES_MAX))]
    pub why: String,
    /// The state of the work. Fields that are left out keep their last value.
    #[serde(default)]
    pub work_state: Option<OfferedWorkState>,
    /// A new deadline for the task; needed when the old one has passed.
    #[serde(default)]
    pub deadline: Option<Time>,
}

impl ReassignInput {
    pub fn command(self, successor: HandoffId) -> Command {
        let ReassignInput { to_agent: to, why, work_state, deadline } = self;
        Command::Reassign(Box::new(Reassign { successor, to, why, work_state, deadline }))
    }
}

pub async fn delegate(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<Delegation>,
) -> Result<Response, Problem> {
    let (write, Delegation(offer)) = write.split();
    let child = gateway.engine.new_handoff_id();
    let command = Command::Delegate { child, offer: Box::new(offer) };
    act(&gateway, write, Target::Existing(id), command).await
}

pub async fn reassign(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<ReassignInput>,
) -> Result<Response, Problem> {
    let (write, input) = write.split();
    let command = input.command(gateway.engine.new_handoff_id());
    act(&gateway, write, Target::Existing(id), command).await
}
