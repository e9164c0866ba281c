//! `draft`: an agent saves what it may propose later. Only its sender sees it change; the task is
//! not held, so it may have any number of drafts.

use super::shared::{Decision, calling_agent};
use crate::canonical;
use crate::facts::Context;
use crate::handoff::event::{Drafted, Event};
use crate::handoff::package::Offer;
use crate::handoff::state::Handoff;
use crate::ids::{HandoffId, ThreadId};
use crate::rejection::Rejection;
use crate::stored::Document;

pub fn decide(
    id: HandoffId,
    state: Option<&Handoff>,
    offer: &Offer,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let sender = calling_agent(context, "draft")?;
    if let Some(handoff) = state {
        check_may_edit(handoff, context, "draft")?;
    }
    offer.check()?;
    let text = canonical::of(offer);
    let offer_hash = canonical::hex(&canonical::sha256(&[text.as_bytes()]));
    let task = offer.task.as_ref();
    Ok(Decision {
        events: vec![Event::Drafted(Drafted {
            from: sender.clone(),
            thread_id: thread_of(id, state, offer),
            offer_hash: offer_hash.clone(),
            to: offer.to_agent.clone(),
            task_id: task.and_then(|task| task.task_id.clone()),
            title: task.and_then(|task| task.title.clone()),
        })],
        document: Some(Document { hash: offer_hash, text }),
        ..Decision::default()
    })
}

/// Guards shared with `initiate`: only its sender may change a draft, and only while it is one.
pub fn check_may_edit(
    handoff: &Handoff,
    context: Context<'_>,
    action: &'static str,
) -> Result<(), Rejection> {
    if context.caller.agent() != Some(handoff.from()) {
        return Err(Rejection::NotAllowed { action, who: "the sender" });
    }
    match handoff {
        Handoff::Draft(_) => Ok(()),
        Handoff::Discarded { .. } | Handoff::Made(_) => {
            Err(Rejection::WrongState { action, state: handoff.status(), needed: "a draft" })
        }
    }
}

/// The thread: that of the offer, else that of the draft, else one named after the handoff.
pub fn thread_of(id: HandoffId, state: Option<&Handoff>, offer: &Offer) -> ThreadId {
    offer.thread_id.clone().or_else(|| state.map(|draft| draft.thread_id().clone())).unwrap_or_else(
        || format!("thread-{id}").parse().expect("a UUID with a prefix is a valid reference"),
    )
}
