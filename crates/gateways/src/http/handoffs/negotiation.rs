//! What happens between a proposal and the work besides accepting: human approval, counter-offers,
//! withdrawal, more time.

use axum::extract::State;
use axum::response::Response;
use protocol::form;
use protocol::handoff::Command;
use protocol::handoff::edit::OfferEdit;
use protocol::ids::HandoffId;
use protocol::notes::NOTES_BYTES_MAX;
use protocol::time::Time;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::handoffs::action::{Target, act};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, Write};
use crate::http::shared::problem::Problem;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproveInput {
    /// The revision that the human has read. If the sender has changed the offer since, nothing is
    /// approved.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub revision: Option<u32>,
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub why: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefuseInput {
    /// The revision that the human has read. If the sender has changed the offer since, nothing is
    /// refused.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub revision: Option<u32>,
    /// What the sender must know to do better.
    #[schemars(transform = form::text(NOTES_BYTES_MAX))]
    pub why: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WithdrawInput {
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub why: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtendSlaInput {
    /// The new time at which the current stage, or its recall, is overdue.
    pub due: Time,
    #[schemars(transform = form::text(NOTES_BYTES_MAX))]
    pub why: String,
}

impl From<ApproveInput> for Command {
    fn from(input: ApproveInput) -> Self {
        Command::Approve { revision: input.revision, why: input.why }
    }
}

impl From<RefuseInput> for Command {
    fn from(input: RefuseInput) -> Self {
        Command::Refuse { revision: input.revision, why: input.why }
    }
}

impl From<WithdrawInput> for Command {
    fn from(input: WithdrawInput) -> Self {
        Command::Withdraw { why: input.why }
    }
}

impl From<ExtendSlaInput> for Command {
    fn from(input: ExtendSlaInput) -> Self {
        Command::ExtendSla { due: input.due, why: input.why }
    }
}

pub async fn approve(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<ApproveInput>,
) -> Result<Response, Problem> {
    let (write, input) = write.split();
    act(&gateway, write, Target::Existing(id), input.into()).await
}

pub async fn refuse(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<RefuseInput>,
) -> Result<Response, Problem> {
    let (write, input) = write.split();
    act(&gateway, write, Target::Existing(id), input.into()).await
}

pub async fn counter(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<OfferEdit>,
) -> Result<Response, Problem> {
    let (write, edit) = write.split();
    let command = Command::Counter { edit: Box::new(edit) };
    act(&gateway, write, Target::Existing(id), command).await
}

pub async fn withdraw(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<WithdrawInput>,
) -> Result<Response, Problem> {
    let (write, input) = write.split();
    act(&gateway, write, Target::Existing(id), input.into()).await
}

pub async fn extend_sla(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<ExtendSlaInput>,
) -> Result<Response, Problem> {
    let (write, input) = write.split();
    act(&gateway, write, Target::Existing(id), input.into()).await
}
