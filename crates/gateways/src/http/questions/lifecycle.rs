//! `/v1/questions`: asking, answering, withdrawing, and going on with the answer.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::read::questions::ANSWER_WAIT_MAX;
use engine::road::submit::Done;
use protocol::caller::Principal;
use protocol::ids::{QuestionId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::notes::NOTES_BYTES_MAX;
use protocol::question::event::{Decision, Given};
use protocol::question::{
    ANSWER_BYTES_MAX, Answer, Ask, Claim, Command, Finish, LEASE_MAX, LEASE_MIN, Question,
    Withdraw, idempotency_key,
};
use protocol::rejection::Rejection;
use protocol::time::Span;
use protocol::{form, step};
use schemars::JsonSchema;
use serde::Deserialize;

use super::view::{ClaimView, QuestionView, question_view};
use crate::http::handoffs::erase::EraseInput;
use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, QueryParameters, Write};
use crate::http::shared::problem::Problem;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowInput {
    /// How long to wait for an answer, such as `20s`; at most 25 seconds.
    #[serde(default)]
    #[schemars(transform = form::span(Span::from_millis(0), ANSWER_WAIT_MAX))]
    pub wait: Option<Span>,
}

/// What a human answers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerInput {
    /// The `hash` of the question that the human was shown.
    #[schemars(transform = form::sha256)]
    pub hash: String,
    pub decision: Decision,
    /// For `choose`: one of the options.
    #[serde(default)]
    pub option: Option<String>,
    /// For `text`.
    #[serde(default)]
    #[schemars(transform = form::text(ANSWER_BYTES_MAX))]
    pub text: Option<String>,
    /// More words, for the asker.
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub note: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenewInput {
    /// The epoch of your claim.
    pub epoch: u64,
    /// From now on: a minute if it is left out, at most an hour.
    #[serde(default)]
    #[schemars(transform = form::span(LEASE_MIN, LEASE_MAX))]
    pub lease: Option<Span>,
}

pub async fn ask(
    State(gateway): State<Gateway>,
    write: Write<Ask>,
) -> Result<(StatusCode, Json<QuestionView>), Problem> {
    let (write, ask) = write.split();
    let asker = write.asker.member()?;
    let key = write.key.for_action("ask_question", None);
    let stream = stream(&asker.caller.teamspace, gateway.engine.new_question_id());
    let command = step::Command::Question(Command::Ask(Box::new(ask)));
    let done = gateway.engine.submit_new(&asker.caller, stream, command, Some(key)).await?;
    let question = asked(&gateway, &asker, &done).await?;
    Ok((StatusCode::CREATED, Json(question_view(&question))))
}

/// The question that a command made, also if an earlier try made it.
pub async fn asked(gateway: &Gateway, asker: &Asker, done: &Done) -> Result<Question, Problem> {
    let nothing = || Problem::not_found("question");
    let subject: Subject = done.subject.parse().map_err(|_| nothing())?;
    let Subject::Question(id) = subject else { return Err(nothing()) };
    visible(gateway, asker, id).await
}

pub async fn show(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<QuestionId>,
    QueryParameters(input): QueryParameters<ShowInput>,
) -> Result<Json<QuestionView>, Problem> {
    let asker = asker.member()?;
    let question = visible(&gateway, &asker, id).await?;
    let Some(wait) = input.wait else { return Ok(Json(question_view(&question))) };
    let stream = stream(&asker.caller.teamspace, id);
    let settled = gateway.engine.read().question_settled(&stream, wait).await?;
    let settled = settled.as_deref().and_then(step::State::as_question);
    Ok(Json(question_view(settled.unwrap_or(&question))))
}

pub async fn answer(
    State(gateway): State<Gateway>,
    Named(id): Named<QuestionId>,
    write: Write<AnswerInput>,
) -> Result<Json<QuestionView>, Problem> {
    let (write, input) = write.split();
    let AnswerInput { hash, decision, option, text, note } = input;
    let operator = match &write.asker.caller.principal {
        Principal::Operator(name) => Some(name.clone()),
        Principal::Agent(_) | Principal::Customer(_) | Principal::System => None,
    };
    let given = Given { decision, option, text };
    let command = Command::Answer(Answer { hash, given, note, operator });
    let (asker, _) = act(&gateway, write, "answer_question", id, command).await?;
    view(&gateway, &asker, id).await
}

pub async fn withdraw(
    State(gateway): State<Gateway>,
    Named(id): Named<QuestionId>,
    write: Write<Withdraw>,
) -> Result<Json<QuestionView>, Problem> {
    let (write, input) = write.split();
    let command = Command::Withdraw(input);
    let (asker, _) = act(&gateway, write, "withdraw_question", id, command).await?;
    view(&gateway, &asker, id).await
}

pub async fn claim(
    State(gateway): State<Gateway>,
    Named(id): Named<QuestionId>,
    write: Write<Claim>,
) -> Result<Json<ClaimView>, Problem> {
    let (write, input) = write.split();
    let (asker, done) = act(&gateway, write, "claim_question", id, Command::Claim(input)).await?;
    claimed(&gateway, &asker, id, done.outcome.epoch.unwrap_or_default()).await
}

pub async fn renew(
    State(gateway): State<Gateway>,
    Named(id): Named<QuestionId>,
    write: Write<RenewInput>,
) -> Result<Json<ClaimView>, Problem> {
    let (write, RenewInput { epoch, lease }) = write.split();
    let command = Command::Renew { epoch, lease };
    let (asker, _) = act(&gateway, write, "renew_claim", id, command).await?;
    claimed(&gateway, &asker, id, epoch).await
}

pub async fn finish(
    State(gateway): State<Gateway>,
    Named(id): Named<QuestionId>,
    write: Write<Finish>,
) -> Result<Json<QuestionView>, Problem> {
    let (write, input) = write.split();
    let command = Command::Finish(input);
    let (asker, _) = act(&gateway, write, "finish_question", id, command).await?;
    view(&gateway, &asker, id).await
}

/// Erases the content of one entry. The entry stays in the chain, and the erasure is recorded.
pub async fn erase(
    State(gateway): State<Gateway>,
    Named(id): Named<QuestionId>,
    write: Write<EraseInput>,
) -> Result<Json<QuestionView>, Problem> {
    let (write, EraseInput { position, reason }) = write.split();
    let asker = write.asker.operator()?;
    let nothing = || Problem::not_found("question");
    let stream = stream(&asker.caller.teamspace, id);
    let item = gateway.engine.read().item(&stream).await?.ok_or_else(nothing)?;
    if !(1..=item.position).contains(&position) {
        let expected = "the position of an entry of this question";
        return Err(Problem::schema_invalid("position", expected));
    }
    let key = write.key.for_action("erase_question", Some(&id.to_string()));
    let command = step::Command::Erase { position, reason };
    gateway.engine.submit(&asker.caller, stream, command, Some(key)).await?;
    view(&gateway, &asker, id).await
}

/// Submits a command about a question that the caller may see.
async fn act(
    gateway: &Gateway,
    write: Write<()>,
    action: &'static str,
    id: QuestionId,
    command: Command,
) -> Result<(Asker, Done), Problem> {
    let asker = write.asker.member()?;
    visible(gateway, &asker, id).await?;
    let key = write.key.for_action(action, Some(&id.to_string()));
    let stream = stream(&asker.caller.teamspace, id);
    let command = step::Command::Question(command);
    let done = gateway.engine.submit(&asker.caller, stream, command, Some(key)).await?;
    Ok((asker, done))
}

/// The claim of an epoch. A retry of a claim that is not the last one any more gets none.
async fn claimed(
    gateway: &Gateway,
    asker: &Asker,
    id: QuestionId,
    epoch: u64,
) -> Result<Json<ClaimView>, Problem> {
    let question = visible(gateway, asker, id).await?;
    let current = question.continuation.epoch;
    let claim = question.continuation.claim.as_ref().filter(|_| epoch == current);
    let Some(claim) = claim else {
        return Err(match &question.continuation.finished {
            Some(_) => Rejection::QuestionFinished { action: "claim" },
            None => Rejection::ClaimOutdated { given: epoch, current },
        }
        .into());
    };
    let (idempotency_key, until) = (idempotency_key(id), claim.until.to_string());
    Ok(Json(ClaimView { epoch, idempotency_key, until, question: question_view(&question) }))
}

async fn view(
    gateway: &Gateway,
    asker: &Asker,
    id: QuestionId,
) -> Result<Json<QuestionView>, Problem> {
    visible(gateway, asker, id).await.map(|question| Json(question_view(&question)))
}

/// A question that the caller may see.
async fn visible(gateway: &Gateway, asker: &Asker, id: QuestionId) -> Result<Question, Problem> {
    let nothing = || Problem::not_found("question");
    let stream = stream(&asker.caller.teamspace, id);
    let state = gateway.engine.read().current(&stream).await?.ok_or_else(nothing)?;
    let is_shown = gateway.engine.access().may_read(&asker.caller, &stream, &state).await?;
    let question = state.as_question().filter(|_| is_shown);
    question.cloned().ok_or_else(nothing)
}

pub fn stream(teamspace: &TeamspaceId, id: QuestionId) -> Stream {
    Stream { teamspace: teamspace.clone(), subject: Subject::Question(id) }
}
