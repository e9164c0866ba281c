//! `transfer`: the person asks another one in, or passes the conversation on. The customer stays
//! with the first until the second answers, unless it is a blind transfer.

use super::hold::gone_or;
use super::shared::{TransferAct, events};
use super::{pickup, request};
use crate::agent::Kind as AgentKind;
use crate::conversation::customer_text;
use crate::conversation::event::Event as ConversationEvent;
use crate::needs::SlotOf;
use crate::notes::check_text;
use crate::queue::{Settings, order_key};
use crate::rejection::Rejection;
use crate::transfer::bundle::{Bundle, BundleId};
use crate::transfer::command::Transfer as Asking;
use crate::transfer::event::{Event, LegRequested, PassedOn, Queued, Ringing};
use crate::transfer::kind::Kind;
use crate::transfer::state::Target;
use crate::transfer::status::Action;

/// Bounds how often a customer is passed on.
pub const LEGS_MAX: u16 = 32;

pub fn transfer(
    asked: &TransferAct<'_>,
    asking: &Asking,
) -> Result<Vec<ConversationEvent>, Rejection> {
    gone_or(asked)?;
    let first = asked.as_answering("transfer a customer")?.clone();
    let action = match asking.kind {
        Kind::Blind => Action::TransferBlind,
        Kind::HumanToHuman | Kind::Warm | Kind::SupervisorConsult => Action::Transfer,
        Kind::BotToHuman | Kind::BotToBot => {
            let expected = "human_to_human, warm, blind or supervisor_consult";
            return Err(invalid("type", expected));
        }
    };
    asked.may(action)?;
    asked.has_seen()?;
    if let Some(leg) = &asked.transfer.leg {
        let agent = leg.claim().map(|claim| claim.agent.clone());
        return Err(Rejection::LegOpen { leg: leg.number, to: leg.target.id().clone(), agent });
    }
    if asked.transfer.n_legs >= LEGS_MAX {
        return Err(invalid("to", &format!("nobody; a transfer has at most {LEGS_MAX} legs")));
    }
    asking.context.check()?;
    let reason = check_text("reason", asking.reason.as_deref())?.unwrap_or_default();
    customer_text::check(asking.customer_text.as_deref())?;
    if asking.kind == Kind::SupervisorConsult && asking.customer_text.is_some() {
        let expected = "nothing for supervisor_consult: the customer keeps the same person";
        return Err(invalid("customer_text", expected));
    }
    let unknown = Rejection::UnknownAgent { field: "to", agent: asking.to.clone() };
    let to = asked.context.facts.agent.as_ref().ok_or(unknown)?;
    if to.id == first {
        return Err(invalid("to", "another person or queue"));
    }
    match (asking.kind, to.kind) {
        (Kind::Blind, AgentKind::Queue) => blind(asked, asking, &to.queue_settings(), reason),
        (Kind::Blind, AgentKind::Human) => {
            Err(invalid("to", "a queue; a person is asked in with human_to_human or warm"))
        }
        (_, AgentKind::Queue) => {
            let target = Target::Queue(to.id.clone());
            Ok(events([leg(asked, asking, target, &to.queue_settings(), reason)]))
        }
        (_, AgentKind::Human) => {
            let unavailable = Rejection::NoCapacity { agent: to.id.clone() };
            if !to.is_available() {
                return Err(unavailable);
            }
            let slot = pickup::slot(to, asked.context.facts.slot(&SlotOf::Agent(to.id.clone())))?;
            let settings = Settings::default();
            let leg = leg(asked, asking, Target::Human(to.id.clone()), &settings, reason);
            let ringing = Ringing {
                holder: asked.holder(),
                transfer: asked.transfer.id,
                leg: asked.transfer.n_legs + 1,
                agent: to.id.clone(),
                slot,
                until: asked.context.now.plus(settings.ring),
                picked: false,
            };
            Ok(events([leg, Event::Ringing(ringing)]))
        }
        (_, AgentKind::Worker | AgentKind::System) => {
            Err(invalid("to", "a person or a queue; bots get it back with `complete`"))
        }
    }
}

fn leg(
    asked: &TransferAct<'_>,
    asking: &Asking,
    target: Target,
    settings: &Settings,
    reason: String,
) -> Event {
    let number = asked.transfer.n_legs + 1;
    let bundle_id = BundleId { transfer: asked.transfer.id, leg: number };
    let now = asked.context.now;
    let by = asked.context.caller.principal.to_string();
    let about = (by.as_str(), reason.as_str(), &asking.context);
    let bundle = Bundle::of(asked.conversation, bundle_id, asking.kind, about, now);
    Event::LegRequested(Box::new(LegRequested {
        holder: asked.holder(),
        transfer: asked.transfer.id,
        leg: number,
        kind: asking.kind,
        target,
        // The customer keeps the waiting time since the first request.
        order: order_key(
            asked.transfer.terms.requested_at,
            asked.transfer.terms.priority,
            settings.level,
        ),
        limits: request::limits(settings, now),
        reason,
        bundle,
        customer_text: asking.customer_text.clone().unwrap_or_default(),
    }))
}

/// The person leaves at once; the customer waits, and keeps their earlier waiting time.
fn blind(
    asked: &TransferAct<'_>,
    asking: &Asking,
    settings: &Settings,
    reason: String,
) -> Result<Vec<ConversationEvent>, Rejection> {
    if !asking.context.is_empty() {
        return Err(invalid("context", "nothing for a blind transfer; `warm` takes it along"));
    }
    let now = asked.context.now;
    request::check_open("to", &asking.to, settings.hours.as_ref(), now)?;
    let passed = PassedOn {
        holder: asked.holder(),
        transfer: asked.transfer.id,
        queue: asking.to.clone(),
        number: asked.next_number(),
        epoch: asked.next_epoch(),
        reason,
        customer_text: asking.customer_text.clone().unwrap_or_default(),
    };
    let terms = &asked.transfer.terms;
    let is_same = asking.to == asked.transfer.queue;
    let queued = Queued {
        holder: asked.transfer.queue.clone(),
        transfer: asked.transfer.id,
        queue: asking.to.clone(),
        epoch: asked.next_epoch() + u64::from(!is_same),
        order: order_key(terms.requested_at, terms.priority, settings.level),
        limits: request::limits(settings, now),
        overflow: request::overflow(settings, now, now),
    };
    Ok(events([Event::PassedOn(passed), Event::Queued(queued)]))
}

fn invalid(field: &str, expected: &str) -> Rejection {
    Rejection::SchemaInvalid { field: field.to_owned(), expected: expected.to_owned() }
}
