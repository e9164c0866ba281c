//! Trying an offer out: everything the server would refuse, and what could be better, without
//! proposing anything.

use axum::Json;
use axum::response::{IntoResponse, Response};
use engine::submit::SubmitError;
use protocol::handoff::lint::{self, Remark, Weight};
use protocol::handoff::{Command, Offer};
use protocol::step;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Gateway;
use super::handoffs::stream;
use super::input::Write;
use super::problem::Problem;

/// How to propose.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InitiateQuery {
    /// `true`: only say what would come of it.
    #[serde(default)]
    pub dry_run: Option<String>,
}

/// What would come of proposing.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DryRun {
    /// Whether it would be proposed.
    pub ok: bool,
    /// What is in the way, and what could be better.
    pub remarks: Vec<Remark>,
}

impl InitiateQuery {
    pub fn is_dry_run(&self) -> Result<bool, Problem> {
        match self.dry_run.as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Problem::schema_invalid("dry_run", "true or false")),
        }
    }
}

pub async fn answer(
    gateway: &Gateway,
    write: Write<()>,
    offer: Offer,
) -> Result<Response, Problem> {
    try_out(gateway, write, offer).await.map(|found| Json(found).into_response())
}

pub async fn try_out(gateway: &Gateway, write: Write<()>, offer: Offer) -> Result<DryRun, Problem> {
    let asker = write.asker.member()?;
    let mut remarks = lint::lint(&offer, gateway.engine.clock().now());
    let stream = stream(&asker.caller.teamspace, gateway.engine.new_handoff_id());
    let command = step::Command::Handoff(Command::Initiate { offer: Some(Box::new(offer)) });
    match gateway.engine.try_out(&asker.caller, stream, command).await {
        Ok(_) => {}
        Err(SubmitError::Rejected(rejection)) => {
            let is_refused = remarks.iter().any(|remark| remark.weight == Weight::Refused);
            // The rules stop at the first fault; those of the offer itself were all found above.
            if !is_refused {
                remarks.insert(
                    0,
                    Remark {
                        weight: Weight::Refused,
                        field: rejection.field().unwrap_or("body").to_owned(),
                        problem: rejection.to_string(),
                        fix: format!("see `{}` in the list of errors", rejection.code()),
                    },
                );
            }
        }
        Err(error) => return Err(error.into()),
    }
    let ok = remarks.iter().all(|remark| remark.weight != Weight::Refused);
    Ok(DryRun { ok, remarks })
}
