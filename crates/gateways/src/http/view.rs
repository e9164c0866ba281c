//! The types of answers. They are separate from the types of the rules, so that those can change
//! without changing the API.

use engine::feed::entry_cursor;
use engine::port::Sequenced;
use engine::query::Item;
use engine::submit::Done;
use protocol::caller::{Caller, Role};
use protocol::handoff::edit::Difference;
use protocol::handoff::package::OfferedWorkState;
use protocol::handoff::state::{Approval, Handoff, Note};
use protocol::handoff::{Status, derive};
use protocol::hidden;
use protocol::step::State;
use protocol::time::Time;
use protocol::token::{BearerKind, Token};
use protocol::warning::Warning;
use protocol::{agent, canonical};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Gateway;
use super::auth::Asker;
use super::workq::{self, HandoffContext};

use super::completion_view::{self, CompletionView, Progress};

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
    /// When the current stage is overdue.
    pub due_at: Option<String>,
    /// Whether a human must agree: `not_needed`, `wanted` or `given`.
    pub approval: &'static str,
    /// The progress of a completion: `verifying`, `verification_unavailable`, `unconfirmed` or
    /// `done`; `null` before.
    pub completing: Option<Progress>,
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
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentView {
    pub agent: String,
    pub kind: agent::Kind,
    pub profile: agent::Profile,
    /// How it is introduced in a conversation.
    pub identity: agent::AgentIdentity,
    /// How many conversations it holds at once; `null` for any number.
    pub capacity: Option<u16>,
    /// Of a human: whether it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence: Option<agent::Presence>,
    /// Of a human: the presence that was set. It counts while the human can be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_said: Option<agent::Presence>,
    /// Who set it, if it was not the human itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_by: Option<String>,
    /// When it counts as gone, unless it gives a sign of life before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_at: Option<String>,
    /// Where turns reach it. Shown to operators only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Where it is called when it is sent something critical. Shown to operators only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake: Option<String>,
    /// The roles of the member; without any, nothing is restricted.
    pub roles: Vec<Role>,
    pub changed_at: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TokenView {
    pub token_id: String,
    pub agent: String,
    pub bearer: BearerKind,
    pub roles: Vec<Role>,
    pub issued_at: String,
    pub expires_at: Option<String>,
    pub revoked_at: Option<String>,
}

/// A new token. The secret is shown here and never again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TokenIssued {
    pub token_id: String,
    pub token: String,
}

/// A page of a list. `next_cursor` is there when there is more.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListPage<T> {
    pub items: Vec<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// An entry of the ledger.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EntryView {
    /// Its place in the whole ledger, for operators of the whole server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The cursor with which `/v1/events` continues after this entry.
    pub cursor: String,
    pub stream: String,
    pub position: u64,
    pub event: String,
    pub version: u32,
    pub actor: String,
    pub at: String,
    /// `null` once erased.
    pub data: Option<Value>,
    pub hash: String,
}

pub fn handoff(item: &Item) -> Option<HandoffView> {
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
        title: state.title().map(str::to_owned),
        reason,
        is_return,
        handoff_chain: chain.iter().map(ToString::to_string).collect(),
        package_hash: hash,
        initiated_at: state.initiated_at().to_string(),
        resolved_at: state.resolved_at().map(|at| at.to_string()),
        changed_at: item.changed_at.to_string(),
        due_at: derive::overdue_at(state).map(|due| due.to_string()),
        approval: approval(state),
        completing: completion_view::progress(state),
        revision: made.map_or(1, |made| made.revision),
        parent_handoff_id: made.and_then(|made| made.terms.parent).map(|id| id.to_string()),
        replaces_handoff_id: made.and_then(|made| made.terms.replaces).map(|id| id.to_string()),
        open_delegations: made
            .iter()
            .flat_map(|made| &made.delegations.open)
            .map(ToString::to_string)
            .collect(),
        workq_status: state.workq_status().as_str(),
        context: workq::context(state.workq_status()),
        resolution_notes: state.notes().iter().map(note).collect(),
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
        Handoff::Made(made) => made.differences.clone(),
        Handoff::Draft(_) | Handoff::Discarded { .. } => Vec::new(),
    }
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

/// Converts stored times into the form of answers.
pub fn show_times(fields: &mut Map<String, Value>, names: &[&str]) {
    for name in names {
        let stored = fields.get(*name).and_then(Value::as_str);
        if let Some(at) = stored.and_then(|text| text.parse::<Time>().ok()) {
            fields.insert((*name).to_owned(), at.to_string().into());
        }
    }
}

pub fn action_done(id: &str, done: &Done) -> ActionDone {
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
    }
}

pub fn agent(caller: &Caller, item: &Item) -> Option<AgentView> {
    let State::Agent(agent) = item.state.as_ref() else { return None };
    let human = Some(agent).filter(|agent| agent.kind == agent::Kind::Human);
    let by = agent.attendance.by.as_ref();
    Some(AgentView {
        identity: agent.identity(),
        capacity: agent.capacity(),
        presence: human.map(|human| human.presence()),
        presence_said: human.map(|human| human.attendance.said),
        presence_by: by.map(ToString::to_string),
        missed_at: agent.deadlines().first().map(|deadline| deadline.due.to_string()),
        endpoint: agent.endpoint.clone().filter(|_| caller.is_operator()),
        wake: agent.wake_url.clone().filter(|_| caller.is_operator()),
        agent: agent.id.to_string(),
        kind: agent.kind,
        profile: agent.profile.clone(),
        roles: agent.roles.iter().copied().collect(),
        changed_at: item.changed_at.to_string(),
    })
}

pub fn token(item: &Item) -> Option<TokenView> {
    let State::Token(token) = item.state.as_ref() else { return None };
    let Token { id, grant, issued_at, revoked_at, .. } = token;
    Some(TokenView {
        token_id: id.to_string(),
        agent: grant.bearer.to_string(),
        bearer: grant.bearer_kind,
        roles: grant.roles.iter().copied().collect(),
        issued_at: issued_at.to_string(),
        expires_at: grant.expires_at.map(|at| at.to_string()),
        revoked_at: revoked_at.map(|at| at.to_string()),
    })
}

pub fn entry(gateway: &Gateway, asker: &Asker, sequenced: &Sequenced) -> EntryView {
    let entry = &sequenced.entry;
    EntryView {
        seq: asker.is_server_operator().then_some(sequenced.seq),
        cursor: entry_cursor(gateway.engine.cursor_key(), sequenced),
        stream: entry.stream.subject.to_string(),
        position: entry.position,
        event: entry.name.clone().into_owned(),
        version: entry.version,
        actor: entry.actor.to_string(),
        at: entry.at.to_string(),
        data: entry.body.text().and_then(|text| serde_json::from_str(text).ok()),
        hash: canonical::hex(&entry.hash),
    }
}
