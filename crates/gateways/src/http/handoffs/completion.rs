//! How work ends: the owner reports it as done, with evidence. Where the package requires it, a
//! verifier confirms or disputes it.

use axum::extract::State;
use axum::response::Response;
use protocol::form;
use protocol::handoff::Command;
use protocol::handoff::completion::{Completion, Evidence};
use protocol::handoff::package::Artifact;
use protocol::ids::HandoffId;
use protocol::notes::NOTES_BYTES_MAX;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::handoffs::action::{Target, act};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, Write};
use crate::http::shared::problem::Problem;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompleteInput {
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub completion_notes: Option<String>,
    /// The results of the work. The server verifies them before it accepts the report.
    #[serde(default)]
    pub final_artifacts: Vec<Artifact>,
    /// The evidence that the success criteria are met. A criterion without evidence counts as not
    /// shown.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfirmInput {
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub why: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DisputeInput {
    /// What the owner must know to finish the work.
    #[schemars(transform = form::text(NOTES_BYTES_MAX))]
    pub why: String,
}

impl From<CompleteInput> for Command {
    fn from(input: CompleteInput) -> Self {
        let CompleteInput { completion_notes, final_artifacts, evidence } = input;
        Command::Complete(Completion { notes: completion_notes, final_artifacts, evidence })
    }
}

impl From<ConfirmInput> for Command {
    fn from(input: ConfirmInput) -> Self {
        Command::Confirm { why: input.why }
    }
}

impl From<DisputeInput> for Command {
    fn from(input: DisputeInput) -> Self {
        Command::Dispute { why: input.why }
    }
}

pub async fn complete(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<CompleteInput>,
) -> Result<Response, Problem> {
    let (write, input) = write.split();
    act(&gateway, write, Target::Existing(id), input.into()).await
}

pub async fn confirm(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<ConfirmInput>,
) -> Result<Response, Problem> {
    let (write, input) = write.split();
    act(&gateway, write, Target::Existing(id), input.into()).await
}

pub async fn dispute(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<DisputeInput>,
) -> Result<Response, Problem> {
    let (write, input) = write.split();
    act(&gateway, write, Target::Existing(id), input.into()).await
}
