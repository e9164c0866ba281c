//! A handoff in answers. These types are separate from those of the rules, so that the rules can
//! change without changing the API.

use engine::read::query::Item;
use engine::road::submit::Done;
use protocol::handoff::edit::Difference;
use protocol::handoff::package::OfferedWorkState;
use protocol::handoff::state::{Approval, Handoff, Note};
use protocol::handoff::waits;
use protocol::handoff::{Status, derive};
use protocol::hidden;
use protocol::ids::HandoffId;
use protocol::step::State;
use protocol::warning::Warning;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::http::handoffs::completion_view::{CompletionView, Progress};
use crate::http::handoffs::progress::ProgressView;
use crate::http::handoffs::recall::RecallView;
use crate::http::handoffs::waiting::WaitView;
use crate::http::handoffs::workq::HandoffContext;
use crate::http::handoffs::{completion_view, progress, recall, workq};
use crate::http::shared::entry_view::show_times;

/// A handoff.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HandoffView {
    pub handoff_id: String,
    pub status: Status,
    pub task_id: Option<String>,
    pub from_agent: String,
    pub to_agent: Option<String>,
    pub thread_id: String,
    pub title: Option<String>,
    pub reason: String,
    /// The task goes back to its previous owner.
    #[serde(rename = "return")]
    pub is_return: bool,
    /// The owners of the task as this handoff leaves them, oldest first.
    pub handoff_chain: Vec<String>,
    pub package_hash: Option<String>,
    pub initiated_at: String,
    pub resolved_at: Option<String>,
    pub changed_at: String,
    /// When the current stage is, or was, overdue.
    pub due_at: Option<String>,
    /// What it waits for, the next step first. Empty once it is closed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<WaitView>,
    /// Whether a human must agree: `not_needed`, `wanted` or `given`.
    pub approval: &'static str,
    /// The progress of a completion: `verifying`, `verification_unavailable`, `unconfirmed` or
    /// `done`; `null` before.
    pub completing: Option<Progress>,
    /// The newest report of the owner about its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressView>,
    /// The sender asks for the task back, and the owner has not answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall: Option<RecallView>,
    /// 1 for the first package; each counter-offer adds 1.
    pub revision: u32,
    /// The handoff whose owner delegated this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_handoff_id: Option<String>,
    /// The handoff that this one replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces_handoff_id: Option<String>,
    /// The delegated parts that have not ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open_delegations: Vec<String>,
    /// The result for the items of a work queue: `not_applicable`, `transferred` or `degraded`;
    /// `pending` while the queue is asked.
    pub workq_status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<HandoffContext>,
    /// Rejections, escalations and the closure, oldest first.
    pub resolution_notes: Vec<Value>,
    /// Whether any stage was overdue. It is among the notes, in their own form.
    #[serde(skip)]
    pub has_escalated: bool,
    /// How many entries the ledger has about it.
    pub position: u64,
}

/// A handoff with what it carries.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HandoffDetail {
    #[serde(flatten)]
    pub handoff: HandoffView,
    /// The sealed package, or the offer as saved so far for a draft. `null` once erased.
    pub package: Option<Value>,
    /// The latest state of the work, from the package or from its owner since.
    pub work_state: Option<OfferedWorkState>,
    /// What the newest counter-offer changed, or where the policy is looser than the one that was
    /// agreed on for the task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// The report that the work is done, and which criteria have evidence.
    pub completion: Option<CompletionView>,
}

/// The answer to an action.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ActionDone {
    pub handoff_id: String,
    pub status: Status,
    /// The number of the handoff's last ledger entry after the action.
    pub position: u64,
    /// Another handoff that the action began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_handoff_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verification_passed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verification_failed: Vec<String>,
    /// Once the task has changed hands: `transferred`, `degraded` or `not_applicable`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workq_status: Option<&'static str>,
    /// What was saved but does not work at present.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// What it waits for now, the next step first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<WaitView>,
    /// What the handoff of `new_handoff_id` waits for now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new_waiting_for: Vec<WaitView>,
}

/// What a handoff waits for after an action, and the other handoff that the action began.
#[derive(Debug, Default)]
pub struct WaitsAfter {
    pub own: Vec<WaitView>,
    pub began: Vec<WaitView>,
}

/// A handoff as its reader may see it: with these waits, and these of its open parts.
pub fn handoff(
    item: &Item,
    waiting_for: Vec<WaitView>,
    open_parts: &[HandoffId],
) -> Option<HandoffView> {
    let State::Handoff(state) = item.state.as_ref() else { return None };
    let (reason, is_return, chain, hash) = match state.as_ref() {
        Handoff::Made(made) => (
            hidden::visible(&made.terms.reason).into_owned(),
            made.terms.is_return,
            derive::owners(made),
            Some(made.terms.package_hash.clone()),
        ),
        Handoff::Draft(_) | Handoff::Discarded { .. } => (String::new(), false, Vec::new(), None),
    };
    let made = match state.as_ref() {
        Handoff::Made(made) => Some(made),
        Handoff::Draft(_) | Handoff::Discarded { .. } => None,
    };
    Some(HandoffView {
        handoff_id: state.id().to_string(),
        status: state.status(),
        task_id: state.task_id().map(ToString::to_string),
        from_agent: state.from().to_string(),
        to_agent: state.to().map(ToString::to_string),
        thread_id: state.thread_id().to_string(),
        title: state.title().map(|title| hidden::visible(title).into_owned()),
        reason,
        is_return,
        handoff_chain: chain.iter().map(ToString::to_string).collect(),
        package_hash: hash,
        initiated_at: state.initiated_at().to_string(),
        resolved_at: state.resolved_at().map(|at| at.to_string()),
        changed_at: item.changed_at.to_string(),
        due_at: waits::due_at(state).map(|due| due.to_string()),
        waiting_for,
        approval: approval(state),
        completing: completion_view::progress(state),
        progress: progress::view(state),
        recall: recall::view(state),
        revision: made.map_or(1, |made| made.revision),
        parent_handoff_id: made.and_then(|made| made.terms.parent).map(|id| id.to_string()),
        replaces_handoff_id: made.and_then(|made| made.terms.replaces).map(|id| id.to_string()),
        open_delegations: open_parts.iter().map(ToString::to_string).collect(),
        workq_status: state.workq_status().as_str(),
        context: workq::context(state.workq_status()),
        resolution_notes: state.notes().iter().map(note).collect(),
        has_escalated: state.has_escalated(),
        position: item.position,
    })
}

/// The latest state of the work. For a draft, the state in its offer.
pub fn work_state(handoff: &Handoff, package: Option<&Value>) -> Option<OfferedWorkState> {
    let packaged = package.and_then(|package| package.get("work_state"));
    let packaged: Option<OfferedWorkState> =
        packaged.and_then(|state| serde_json::from_value(state.clone()).ok());
    let said = match handoff {
        Handoff::Made(made) => made.work_state.as_deref().cloned(),
        Handoff::Draft(_) | Handoff::Discarded { .. } => None,
    };
    match said {
        Some(said) => Some(said.or(packaged.unwrap_or_default())),
        None => packaged,
    }
}

pub fn differences(handoff: &Handoff) -> Vec<Difference> {
    match handoff {
        Handoff::Made(made) => made.differences.iter().cloned().map(readable).collect(),
        Handoff::Draft(_) | Handoff::Discarded { .. } => Vec::new(),
    }
}

/// Hidden characters in the reason are written out, as they are in the handoff.
fn readable(mut difference: Difference) -> Difference {
    if difference.field == "reason" {
        for value in [&mut difference.before, &mut difference.after].into_iter().flatten() {
            if let Some(text) = value.as_str() {
                *value = hidden::visible(text).into_owned().into();
            }
        }
    }
    difference
}

fn approval(handoff: &Handoff) -> &'static str {
    match handoff {
        Handoff::Made(made) => match made.approval {
            Approval::NotNeeded => "not_needed",
            Approval::Wanted => "wanted",
            Approval::Given => "given",
        },
        Handoff::Draft(_) | Handoff::Discarded { .. } => "not_needed",
    }
}

fn note(note: &Note) -> Value {
    let mut value = serde_json::to_value(note).expect("a note is plain data");
    // The ACP design's escalation record has no parties; the handoff itself says who they are.
    if let Some(inner) = value.as_object_mut().and_then(|outer| outer.values_mut().next())
        && let Some(fields) = inner.as_object_mut()
    {
        fields.remove("parties");
        show_times(fields, &["at", "escalated_at"]);
    }
    // Other agents read it, so invisible characters are written out.
    hidden::make_visible(&mut value);
    value
}

pub fn action_done(id: &str, done: &Done, waits: WaitsAfter) -> ActionDone {
    let workq_status = done.outcome.workq;
    let status = done.outcome.status.expect("an action on a handoff leaves it with a status");
    let has_moved = status == Status::Activated || !workq_status.is_not_applicable();
    ActionDone {
        handoff_id: id.to_owned(),
        status,
        position: done.position,
        new_handoff_id: done.outcome.began.map(|id| id.to_string()),
        verification_passed: done.outcome.passed.clone(),
        verification_failed: done.outcome.failed.clone(),
        workq_status: has_moved.then(|| workq::answered(workq_status)),
        warnings: done.outcome.warnings.clone(),
        waiting_for: waits.own,
        new_waiting_for: waits.began,
    }
}
