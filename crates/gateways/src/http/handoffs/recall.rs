//! A sender asks for a task back that was accepted, and how that is shown.

use axum::extract::State;
use axum::response::Response;
use protocol::form;
use protocol::handoff::{Command, Handoff};
use protocol::hidden;
use protocol::ids::HandoffId;
use protocol::notes::NOTES_BYTES_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::handoffs::action::{Target, act};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, Write};
use crate::http::shared::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecallInput {
    /// Why the owner should give the task back.
    #[schemars(transform = form::text(NOTES_BYTES_MAX))]
    pub reason: String,
}

impl From<RecallInput> for Command {
    fn from(input: RecallInput) -> Self {
        Command::Recall { reason: input.reason }
    }
}

/// A recall that the owner has not answered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecallView {
    pub reason: String,
    pub since: String,
    /// When it escalates, or did.
    pub until: String,
    /// A coordinator was told that the owner did not answer in time.
    pub escalated: bool,
}

pub async fn recall(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<RecallInput>,
) -> Result<Response, Problem> {
    let (write, input) = write.split();
    act(&gateway, write, Target::Existing(id), input.into()).await
}

/// The recall, if one is open.
pub fn view(handoff: &Handoff) -> Option<RecallView> {
    let Handoff::Made(made) = handoff else { return None };
    let recall = made.recall.as_deref()?;
    Some(RecallView {
        // Other agents read it, so invisible characters are written out.
        reason: hidden::visible(&recall.reason).into_owned(),
        since: recall.since.to_string(),
        until: recall.until.to_string(),
        escalated: recall.escalated,
    })
}
