//! Trying an offer out: everything the server would refuse, and what could be better, without
//! proposing anything.

use axum::Json;
use axum::response::{IntoResponse, Response};
use engine::read::verdict::VERDICT_WAIT_MAX;
use engine::road::submit::SubmitError;
use protocol::caller::Caller;
use protocol::handoff::artifact::Finding;
use protocol::handoff::lint::{Remark, Weight};
use protocol::handoff::package::Artifact;
use protocol::handoff::{Command, Offer, lint};
use protocol::{form, step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::http::handoffs::action::stream;
use crate::http::shared::forms;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::Write;
use crate::http::shared::problem::Problem;

/// How to propose.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InitiateQuery {
    /// `true`: only report what the result would be.
    #[serde(default)]
    #[schemars(transform = form::true_or_false)]
    pub dry_run: Option<String>,
}

/// The result that a proposal would have.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DryRun {
    /// Whether the proposal would succeed, and its artifacts would be accepted as they are now.
    pub ok: bool,
    /// What prevents the proposal, and what could be better.
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
    offer: &Value,
) -> Result<Response, Problem> {
    try_out(gateway, write, offer).await.map(|found| Json(found).into_response())
}

pub async fn try_out(
    gateway: &Gateway,
    write: Write<()>,
    document: &Value,
) -> Result<DryRun, Problem> {
    let asker = write.asker.member()?;
    let now = gateway.engine.clock().now();
    let (offer, mut remarks) = lint::read(document, forms::of::<Offer>(), now);
    let is_sound = remarks.iter().all(|remark| remark.weight != Weight::Refused);
    let artifacts = offer.as_ref().map(|offer| offer.artifacts.clone()).unwrap_or_default();
    // The rules stop at the first fault. Those of the offer itself were all found above; whether
    // the task may go to this target is tried out apart from them.
    let id = gateway.engine.new_handoff_id();
    let offer = match is_sound {
        true => offer,
        false => offer.and_then(|offer| lint::with_sample_texts(&offer, id)),
    };
    let Some(offer) = offer else { return Ok(DryRun { ok: false, remarks }) };
    let stream = stream(&asker.caller.teamspace, id);
    let command = step::Command::Handoff(Command::Initiate { offer: Some(Box::new(offer)) });
    match gateway.engine.try_out(&asker.caller, stream, command).await {
        Ok(outcome) => remarks.extend(outcome.warnings.into_iter().map(|warning| Remark {
            weight: Weight::Advice,
            field: warning.field,
            problem: warning.detail,
            fix: "change it, or propose it as it is if you mean it".to_owned(),
        })),
        Err(SubmitError::Rejected(rejection)) => remarks.insert(
            0,
            Remark {
                weight: Weight::Refused,
                field: rejection.field().unwrap_or("body").to_owned(),
                problem: rejection.to_string(),
                fix: format!("see `{}` in the list of errors", rejection.code()),
            },
        ),
        Err(error) => return Err(error.into()),
    }
    // Artifacts are looked at only if the offer could be proposed: a look reveals what is there.
    if remarks.iter().all(|remark| remark.weight != Weight::Refused) {
        remarks.extend(look(gateway, &asker.caller, artifacts).await);
    }
    remarks.sort_by_key(|remark| remark.weight);
    let ok = remarks.iter().all(|remark| remark.weight != Weight::Refused);
    Ok(DryRun { ok, remarks })
}

/// What an accept would find for the artifacts, as far as that is known in time.
async fn look(gateway: &Gateway, caller: &Caller, artifacts: Vec<Artifact>) -> Vec<Remark> {
    if artifacts.is_empty() {
        return Vec::new();
    }
    let seen = tokio::select! {
        seen = gateway.engine.outbox().look(caller, artifacts.clone()) => seen,
        () = gateway.engine.clock().sleep(VERDICT_WAIT_MAX) => None,
    };
    let Some(seen) = seen else {
        return vec![Remark {
            weight: Weight::Advice,
            field: "artifacts".to_owned(),
            problem: "there was no time to look at them".to_owned(),
            fix: "try again later, or let the accept look".to_owned(),
        }];
    };
    let of = |artifact: &Artifact| seen.iter().find(|one| one.artifact_id == artifact.artifact_id);
    let numbered = artifacts.iter().enumerate();
    numbered
        .filter_map(|(index, artifact)| remark(index, artifact, &of(artifact)?.finding))
        .collect()
}

fn remark(index: usize, artifact: &Artifact, finding: &Finding) -> Option<Remark> {
    let detail = finding.detail()?;
    let field = format!("artifacts[{index}].ref.path");
    let advice = |fix: &str| Remark {
        weight: Weight::Advice,
        field: field.clone(),
        problem: detail.to_owned(),
        fix: fix.to_owned(),
    };
    let is_needed = artifact.reference.is_required() || matches!(finding, Finding::Mismatch { .. });
    match finding.reason() {
        Some(reason) if is_needed => Some(Remark {
            weight: Weight::Refused,
            field,
            problem: format!("an accept would be rejected with `{reason}`: {detail}"),
            fix: "put it where the package says, or say what is there".to_owned(),
        }),
        Some(_) => Some(advice("it is optional; provide it if the next owner needs it")),
        None => Some(advice("an accept looks again")),
    }
}
