//! A handoff that follows from another one: a delegated part, or the successor of a reassigned
//! handoff. The server sends it in the same commit.

use super::draft::thread_of;
use super::initiate::{EarlierTerms, propose};
use super::shared::Decision;
use crate::facts::Context;
use crate::handoff::command::Follow;
use crate::handoff::derive::Task;
use crate::handoff::event::Event;
use crate::handoff::state::Handoff;
use crate::ids::HandoffId;
use crate::rejection::Rejection;

pub fn decide(
    id: HandoffId,
    state: Option<&Handoff>,
    follow: &Follow,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    if state.is_some() {
        return Err(Rejection::AlreadyExists { what: "handoff" });
    }
    let known = EarlierTerms {
        thread_id: Some(thread_of(id, None, &follow.offer)),
        task: Some(Task { chain: follow.chain.clone(), kind: follow.kind, ..Task::default() }),
        agreed: follow.agreed.clone(),
        slas: follow.slas,
        parent: follow.parent,
        replaces: follow.replaces,
    };
    let (proposed, document) = propose(id, &follow.from, &follow.offer, known, context)?;
    Ok(Decision {
        events: vec![Event::Proposed(Box::new(proposed))],
        document: Some(document),
        ..Decision::default()
    })
}
