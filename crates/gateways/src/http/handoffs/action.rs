//! A command on a handoff, from the request to the stored answer.

use axum::Json;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::road::submit::{Done, SubmitError};
use protocol::caller::Caller;
use protocol::handoff::workq::WorkqStatus;
use protocol::handoff::{Command, Status};
use protocol::ids::{HandoffId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::step;

use crate::http::handoffs::view::{self, WaitsAfter};
use crate::http::handoffs::waiting::{WaitView, waiting_for_id};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::Write;
use crate::http::shared::problem::Problem;

/// What a command is about.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    New(HandoffId),
    Existing(HandoffId),
}

impl Target {
    pub fn id(self) -> HandoffId {
        match self {
            Target::New(id) | Target::Existing(id) => id,
        }
    }
}

/// Submits a command and answers with its stored outcome, so that a retry gets the same answer.
pub async fn act(
    gateway: &Gateway,
    write: Write<()>,
    target: Target,
    command: Command,
) -> Result<Response, Problem> {
    let caller = write.asker.caller.clone();
    let done = match submit(gateway, write, target, command).await {
        Ok(done) => done,
        Err(problem) => {
            let waits = match target {
                Target::New(_) => Vec::new(),
                Target::Existing(id) => waits_despite(gateway, &caller, id).await,
            };
            return Err(saying(problem, &waits));
        }
    };
    let waits = waits_after(gateway, &caller, &done).await?;
    if let Some(refused) = &done.outcome.refused {
        return Err(saying(Problem::refused(refused, &done.outcome), &waits.own));
    }
    let id = handoff_id_of(&done);
    let status = match target {
        Target::New(_) => StatusCode::CREATED,
        Target::Existing(_) => StatusCode::OK,
    };
    let answer = view::action_done(id, &done, waits);
    let mut response = (status, Json(answer)).into_response();
    let headers = response.headers_mut();
    if let (Target::New(_), Ok(value)) =
        (target, HeaderValue::try_from(format!("/v1/handoffs/{id}")))
    {
        headers.insert(axum::http::header::LOCATION, value);
    }
    Ok(response)
}

/// What the handoff, and another one that the action began, wait for now. A retry gets the stored
/// outcome, with what is true at its time.
pub async fn waits_after(
    gateway: &Gateway,
    caller: &Caller,
    done: &Done,
) -> Result<WaitsAfter, Problem> {
    let mut waits = WaitsAfter::default();
    if let Ok(id) = handoff_id_of(done).parse() {
        waits.own = Box::pin(waiting_for_id(gateway, caller, id)).await?;
    }
    if let Some(began) = done.outcome.began {
        waits.began = Box::pin(waiting_for_id(gateway, caller, began)).await?;
    }
    Ok(waits)
}

/// What a handoff waits for although an action on it was refused. The refusal is told without it
/// where it cannot be read.
pub async fn waits_despite(gateway: &Gateway, caller: &Caller, id: HandoffId) -> Vec<WaitView> {
    Box::pin(waiting_for_id(gateway, caller, id)).await.unwrap_or_default()
}

fn saying(problem: Problem, waits: &[WaitView]) -> Problem {
    if waits.is_empty() {
        return problem;
    }
    problem.fact("waiting_for", serde_json::to_value(waits).expect("a wait is JSON"))
}

/// The handoff an outcome is about: for a retry of a new one, the one made the first time.
pub fn handoff_id_of(done: &Done) -> &str {
    done.subject.split_once('/').map_or(done.subject.as_str(), |(_, id)| id)
}

pub async fn submit(
    gateway: &Gateway,
    write: Write<()>,
    target: Target,
    command: Command,
) -> Result<Done, Problem> {
    let asker = write.asker.member()?;
    let subject = match target {
        Target::New(_) => None,
        Target::Existing(id) => Some(id.to_string()),
    };
    let key = write.key.for_action(command.name(), subject.as_deref());
    let stream = stream(&asker.caller.teamspace, target.id());
    let is_completion = matches!(command, Command::Complete(_));
    let carries_offer = command.carries_offer();
    let command = step::Command::Handoff(command);
    let (engine, caller, key) = (&gateway.engine, &asker.caller, Some(key));
    if let Target::New(_) = target {
        return Ok(engine.submit_new(caller, stream, command, key).await?);
    }
    // The server makes ids, so an offer for an unknown id does not create it.
    if carries_offer && !Box::pin(engine.access().may_read_stream(caller, &stream)).await? {
        return Err(Problem::not_found("handoff"));
    }
    let submitted = engine.submit(caller, stream.clone(), command, key).await;
    // A caller that may not read a handoff gets the same answer as for one that does not exist.
    if let Err(SubmitError::Rejected(_)) = &submitted
        && !Box::pin(engine.access().may_read_stream(caller, &stream)).await?
    {
        return Err(Problem::not_found("handoff"));
    }
    let done = submitted?;
    match done.outcome.status {
        Some(Status::Validating) => Ok(Box::pin(gateway.engine.with_verdict(&stream, done)).await?),
        // Reported as done, but not verified yet.
        Some(Status::Activated) if is_completion => {
            Ok(Box::pin(gateway.engine.with_verdict(&stream, done)).await?)
        }
        Some(Status::Activated | Status::Rejected)
            if done.outcome.workq == WorkqStatus::Pending =>
        {
            Ok(Box::pin(gateway.engine.with_workq(&stream, done)).await?)
        }
        Some(_) | None => Ok(done),
    }
}

pub fn stream(teamspace: &TeamspaceId, id: HandoffId) -> Stream {
    Stream { teamspace: teamspace.clone(), subject: Subject::Handoff(id) }
}
