//! Questions as JSON.

use protocol::hidden::visible;
use protocol::ids::QuestionId;
use protocol::ledger::Subject;
use protocol::question::event::{Decision, Given, Kind};
use protocol::question::state::Settled;
use protocol::question::{Question, Status};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::wait_view::{QuestionWaitView, waiting_for};
use engine::read::query::Item;

/// A question to a human.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QuestionView {
    pub question_id: String,
    pub status: Status,
    pub asker: String,
    /// The person or the queue that is asked.
    pub to: String,
    /// `person` or `queue`.
    pub to_kind: &'static str,
    /// Empty once erased.
    pub text: String,
    /// What was asked and answered has been erased; the status, the decision and the hashes stay.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
    pub wants: Kind,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The tool or the operation that an approval is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// SHA-256 of the arguments as canonical JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments_hash: Option<String>,
    /// Of all that is asked. An answer names it.
    pub hash: String,
    pub irreversible: bool,
    pub asked_at: String,
    /// Until when an answer counts.
    pub until: String,
    /// The answer that counts if no human gives one in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Given>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// From a human, or the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerView>,
    /// When there was an answer, or none in time, or it was withdrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<String>,
    /// Why it was withdrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The work that goes on with the answer, once it is settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continuation: Option<ContinuationView>,
    /// What it waits for now: an answer, and after that a worker.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<QuestionWaitView>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AnswerView {
    pub decision: Decision,
    /// For `choose`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// For `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Which human, as the record names principals. Absent for the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ContinuationView {
    /// `unclaimed`, `claimed`, `lapsed` (its lease is over, and any worker may claim it) or
    /// `finished`.
    pub status: &'static str,
    /// Of the last claim; 0 before the first.
    pub epoch: u64,
    /// The worker of the last claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When its lease ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// A claim: what a worker needs to go on.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClaimView {
    /// To be named by `renew` and `finish`.
    pub epoch: u64,
    /// The key for the calls that the answer allows. It is the same for every claim of this
    /// question.
    pub idempotency_key: String,
    /// When the lease ends.
    pub until: String,
    pub question: QuestionView,
}

pub fn question_of(item: &Item) -> Option<(QuestionId, &Question)> {
    let Subject::Question(id) = item.stream.subject else { return None };
    Some((id, item.state.as_question()?))
}

pub fn question_view(question: &Question) -> QuestionView {
    let asked = &question.asked;
    let shown = |text: &String| visible(text).into_owned();
    let (answer, settled_at, reason) = settled(&question.state);
    QuestionView {
        question_id: question.id.to_string(),
        status: question.status(),
        asker: asked.parties.asker.to_string(),
        to: asked.parties.to.to_string(),
        to_kind: asked.parties.to_kind.as_str(),
        text: shown(&asked.text),
        erased: question.erased,
        wants: asked.wants,
        options: asked.options.clone(),
        action: asked.action.as_ref().map(shown),
        arguments: asked.arguments.clone(),
        arguments_hash: asked.arguments_hash.clone(),
        hash: asked.hash.clone(),
        irreversible: asked.irreversible,
        asked_at: question.asked_at.to_string(),
        until: asked.until.to_string(),
        default: asked.default.clone(),
        workers: asked.workers.iter().map(ToString::to_string).collect(),
        reference: asked.reference.as_ref().map(shown),
        task_id: asked.task_id.as_ref().map(ToString::to_string),
        answer,
        settled_at,
        reason,
        continuation: continuation(question),
        waiting_for: waiting_for(question),
    }
}

fn settled(state: &Settled) -> (Option<AnswerView>, Option<String>, Option<String>) {
    let default = |given: &Given| {
        let Given { decision, option, text } = given.clone();
        AnswerView { decision, option, text, by: None, note: None }
    };
    match state {
        Settled::Open => (None, None, None),
        Settled::Answered { by, at, given, note } => {
            let (by, note) = (Some(by.clone()), note.clone());
            (Some(AnswerView { by, note, ..default(given) }), Some(at.to_string()), None)
        }
        Settled::Defaulted { at, given } => (Some(default(given)), Some(at.to_string()), None),
        Settled::Unanswered { at } => (None, Some(at.to_string()), None),
        Settled::Withdrawn { at, reason } => (None, Some(at.to_string()), reason.clone()),
    }
}

fn continuation(question: &Question) -> Option<ContinuationView> {
    match question.status() {
        Status::Open | Status::Withdrawn => return None,
        Status::Answered | Status::Defaulted | Status::Unanswered => {}
    }
    let known = &question.continuation;
    let none = ContinuationView {
        status: "unclaimed",
        epoch: known.epoch,
        by: None,
        until: None,
        finished_at: None,
        result: None,
    };
    Some(match (&known.finished, &known.claim) {
        (Some(finished), _) => ContinuationView {
            status: "finished",
            by: Some(finished.by.to_string()),
            finished_at: Some(finished.at.to_string()),
            result: finished.result.clone(),
            ..none
        },
        (None, Some(claim)) => ContinuationView {
            status: if claim.lapsed { "lapsed" } else { "claimed" },
            by: Some(claim.by.to_string()),
            until: Some(claim.until.to_string()),
            ..none
        },
        (None, None) => none,
    })
}
