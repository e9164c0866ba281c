//! `initiate`: the sender proposes the task to another agent. The package is completed and sealed,
//! and the task is held until the handoff is rejected, completed or closed.

use super::draft::{check_may_edit, thread_of};
use super::shared::{Decision, calling_agent};
use crate::agent::Kind;
use crate::canonical;
use crate::facts::Context;
use crate::file::references;
use crate::handoff::check::Essentials;
use crate::handoff::derive::{self, Task, decode_task};
use crate::handoff::edit::policy_differences;
use crate::handoff::event::{Event, Parties, Proposed};
use crate::handoff::package::{
    Artifact, Broken, Offer, PACKAGE_VERSION, PROTOCOL, Package, Policy, Provenance, Verification,
};
use crate::handoff::readers::Readers;
use crate::handoff::sla::Slas;
use crate::handoff::state::Handoff;
use crate::handoff::workq;
use crate::ids::{AgentId, HandoffId, ThreadId};
use crate::notes::check_text;
use crate::rejection::{Conflict, Rejection};
use crate::roles::{self, RoleAction};
use crate::stored::Document;

/// Cycles are refused already, so this only bounds the size of a chain in every package. A longer
/// chain is a loop with changing names.
pub const CHAIN_OWNERS_MAX: usize = 32;

pub fn decide(
    id: HandoffId,
    state: Option<&Handoff>,
    offer: Option<&Offer>,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let sender = calling_agent(context, "initiate")?;
    if let Some(handoff) = state {
        check_may_edit(handoff, context, "initiate")?;
    }
    let saved = if offer.is_none() { saved_offer(state, context)? } else { None };
    let offer = offer.or(saved.as_ref()).ok_or(Rejection::NotFound { what: "handoff" })?;
    let thread_id = Some(thread_of(id, state, offer));
    let known = EarlierTerms { thread_id, ..EarlierTerms::default() };
    let (proposed, document) = propose(id, sender, offer, known, context)?;
    let events = vec![Event::Proposed(Box::new(proposed))];
    Ok(Decision { events, document: Some(document), ..Decision::default() })
}

/// Data of a handoff that is proposed again, or that follows from another one.
#[derive(Debug, Default)]
pub struct EarlierTerms {
    pub thread_id: Option<ThreadId>,
    /// The task, unless its hold has newer data.
    pub task: Option<Task>,
    pub slas: Option<Slas>,
    pub parent: Option<HandoffId>,
    pub replaces: Option<HandoffId>,
    /// The policy that the sender and the target, or a human, agreed on before.
    pub agreed: Option<Policy>,
}

/// Completes and seals an offer, if the task may go from the sender to the target.
pub fn propose(
    id: HandoffId,
    sender: &AgentId,
    offer: &Offer,
    known: EarlierTerms,
    context: Context<'_>,
) -> Result<(Proposed, Document), Rejection> {
    let essentials = offer.complete(context.now)?;
    let target_kind = check_target(&essentials.to, context)?;
    let Task { chain, kind, parts, gated, readers: _ } =
        check_task(id, sender, offer, &essentials, known.task, context)?;
    // The policy of a task that a human was asked about stays, unless the offer states another.
    let policy = offer.policy.clone().or_else(|| gated.clone()).unwrap_or_default();
    let loosens = [gated.clone(), known.agreed]
        .into_iter()
        .flatten()
        .find(|agreed| policy.check_narrows(agreed).is_err());
    policy
        .check(&essentials.to)
        .map_err(|Broken { field, rule }| Rejection::PolicyViolation { field, rule })?;
    let target_is_human = is_human(target_kind);
    let thread_id = known.thread_id.unwrap_or_else(|| thread_of(id, None, offer));
    let mut package = assemble(id, &thread_id, &chain, offer, &essentials, context);
    package.policy = policy.clone();
    package.provenance.parent_handoff_id = known.parent;
    package.task.kind = Some(kind).filter(|kind| !kind.is_execution());
    let needs_human = policy.needs_human() || loosens.is_some();
    let has_artifacts = !package.artifacts.is_empty();
    let has_remote_artifacts = package.artifacts.iter().any(Artifact::is_remote);
    let has_workq_items = package.task.external_refs.iter().any(workq::is_item);
    let files = references::of_artifacts(&package.artifacts);
    let (text, hash) = package.seal();
    let package_hash = canonical::hex(&hash);
    let proposed = Proposed {
        parties: Parties { from: sender.clone(), to: essentials.to },
        task_id: essentials.task_id,
        thread_id,
        title: essentials.title,
        reason: check_text("reason", Some(&offer.reason))?.unwrap_or_default(),
        is_return: offer.is_return,
        needs_human,
        target_is_human,
        has_artifacts,
        has_remote_artifacts,
        has_workq_items,
        // Humans who could approve it before still can.
        is_guarded: policy.is_guarded() || loosens.as_ref().is_some_and(Policy::is_guarded),
        task_kind: kind,
        requires_evidence: policy.requires_evidence,
        requires_verifier: policy.requires_verifier,
        deadline: essentials.deadline,
        slas: limits(offer.sla, known.slas, context.facts.settings.sla),
        chain,
        parts,
        origin_session: context.caller.session.clone(),
        package_hash: package_hash.clone(),
        parent: known.parent,
        replaces: known.replaces,
        readers: Some(Readers::of(&policy)),
        differences: loosens.iter().flat_map(|old| policy_differences(old, &policy)).collect(),
        loosens: loosens.map(Box::new),
        // The policy that a human was asked about binds the task from then on, even if a later one
        // needs no human.
        gated: if needs_human { Some(policy) } else { gated }.map(Box::new),
        files,
    };
    Ok((proposed, Document { hash: package_hash, text }))
}

/// A queue hands the work to a person.
fn is_human(kind: Kind) -> bool {
    match kind {
        Kind::Human | Kind::Queue => true,
        Kind::Worker | Kind::System => false,
    }
}

fn saved_offer(state: Option<&Handoff>, context: Context<'_>) -> Result<Option<Offer>, Rejection> {
    if state.is_none() {
        return Ok(None);
    }
    let gone = Rejection::NotFound { what: "draft content" };
    let text = context.facts.document.as_deref().ok_or(gone.clone())?;
    serde_json::from_str(text).map(Some).map_err(|_| gone)
}

fn check_target(target: &AgentId, context: Context<'_>) -> Result<Kind, Rejection> {
    let unknown = Rejection::UnknownAgent { field: "to_agent", agent: target.clone() };
    let kind = context.facts.agent.as_ref().map(|agent| agent.kind).ok_or(unknown)?;
    match kind {
        Kind::Worker | Kind::Human | Kind::Queue => Ok(kind),
        Kind::System => Err(Rejection::SchemaInvalid {
            field: "to_agent".to_owned(),
            expected: "a worker, a human or a queue; a system agent never owns a task".to_owned(),
        }),
    }
}

/// The handoff's own limits come first, then those of the teamspace, then the defaults. Limits that
/// were agreed on before stay, even if the teamspace's have changed.
fn limits(own: Option<Slas>, before: Option<Slas>, teamspace: Slas) -> Slas {
    match (own, before) {
        (Some(own), _) => own.or(teamspace),
        (None, Some(before)) => before,
        (None, None) => teamspace,
    }
}

/// The owners so far and the kind, if the task is free and may go from the sender to the target.
fn check_task(
    id: HandoffId,
    sender: &AgentId,
    offer: &Offer,
    essentials: &Essentials,
    known: Option<Task>,
    context: Context<'_>,
) -> Result<Task, Rejection> {
    let conflict = |conflict| {
        Err(Rejection::OwnershipConflict { task_id: essentials.task_id.clone(), conflict })
    };
    let hold = context.facts.holds.get(&derive::task_key(&essentials.task_id));
    if let Some(holder) = hold.holder.as_deref()
        && let Ok(handoff) = holder.parse::<HandoffId>()
        && handoff != id
    {
        return conflict(Conflict::Active { handoff });
    }
    let offered = offer.task.as_ref().and_then(|task| task.kind);
    let before = match (hold.value.as_deref(), known) {
        (Some(value), _) => Some(decode_task(value)),
        (None, known) => known,
    };
    let task = match before {
        Some(before) => before,
        None => {
            roles::check(context.caller, RoleAction::CreateTask, "initiate")?;
            let (chain, kind) = (vec![sender.clone()], offered.unwrap_or_default());
            Task { chain, kind, ..Task::default() }
        }
    };
    let (chain, kind) = (task.chain.clone(), task.kind);
    if !chain.contains(sender) && !roles::may_assign(context.caller, kind) {
        return conflict(Conflict::NotOwner { sender: sender.clone(), chain });
    }
    if offered.is_some_and(|offered| offered != kind) {
        return Err(Rejection::SchemaInvalid {
            field: "task.kind".to_owned(),
            expected: "to stay as the first handoff of the task said, or to be left out".to_owned(),
        });
    }
    let target = essentials.to.clone();
    // A coordinator need not be an owner; it returns the task on behalf of the last one.
    let place = chain.iter().position(|owner| owner == sender);
    let last = chain.len().saturating_sub(1);
    let previous = place.unwrap_or(last).checked_sub(1).map(|index| chain[index].clone());
    if offer.is_return {
        if previous.as_ref() != Some(&target) {
            return conflict(Conflict::NotPrevious { target, previous, chain });
        }
    } else if chain.contains(&target) {
        return conflict(Conflict::Cycle { target, previous, chain });
    } else if chain.len() >= CHAIN_OWNERS_MAX {
        return conflict(Conflict::TooManyHops { chain });
    }
    Ok(task)
}

fn assemble(
    id: HandoffId,
    thread_id: &ThreadId,
    chain: &[AgentId],
    offer: &Offer,
    essentials: &Essentials,
    context: Context<'_>,
) -> Package {
    let mut task = offer.task.clone().unwrap_or_default();
    task.objective.get_or_insert_with(|| essentials.title.clone());
    task.deadline = essentials.deadline;
    let mut work_state = offer.work_state.clone().unwrap_or_default();
    work_state.status.get_or_insert_default();
    let added = offer.provenance.clone().unwrap_or_default();
    Package {
        protocol: PROTOCOL.to_owned(),
        version: PACKAGE_VERSION.to_owned(),
        handoff_id: id,
        thread_id: thread_id.clone(),
        task,
        context: offer.context.clone().unwrap_or_default(),
        work_state,
        artifacts: offer.artifacts.clone(),
        provenance: Provenance {
            origin_session: context.caller.session.clone(),
            parent_handoff_id: None,
            related_sessions: added.related_sessions,
            decision_refs: added.decision_refs,
            message_thread_refs: vec![thread_id.to_string()],
            handoff_chain: chain.to_vec(),
        },
        policy: Policy::default(),
        verification: Verification {
            schema_version: PACKAGE_VERSION.to_owned(),
            package_hash: String::new(),
        },
    }
}
