//! A webhook after an event.

use super::event::Event;
use super::state::Webhook;
use crate::ledger::BadHistory;
use crate::time::Time;

pub fn evolve(state: Option<Webhook>, event: &Event, at: Time) -> Result<Webhook, BadHistory> {
    let bad = BadHistory { event: event.name() };
    let mut webhook = match (state, event) {
        (None, Event::Created(created)) => {
            return Ok(Webhook {
                owner: created.owner.clone(),
                token: created.token,
                terms: created.terms.clone(),
                created_at: at,
                key: 1,
                previous_key_until: None,
                after: created.after.clone(),
                round: 1,
                since: at,
                paused: None,
                set_aside: Vec::new(),
                removed: false,
                slot: created.slot,
            });
        }
        (Some(webhook), _) if !webhook.removed => webhook,
        (Some(_) | None, _) => return Err(bad),
    };
    match event {
        Event::Created(_) => return Err(bad),
        Event::Changed(changed) => {
            webhook.terms.clone_from(&changed.terms);
            webhook.since = at;
        }
        Event::KeyRotated(rotated) => {
            webhook.key = rotated.key;
            webhook.previous_key_until = Some(rotated.previous_until);
        }
        Event::Paused(paused) => webhook.paused = Some(paused.clone()),
        Event::Resumed(resumed) => {
            webhook.paused = None;
            webhook.since = at;
            webhook.token = resumed.token.or(webhook.token);
            if let Some(after) = &resumed.after {
                webhook.after.clone_from(after);
                webhook.round += 1;
            }
        }
        Event::SetAside(it) => webhook.set_aside.push(it.clone()),
        Event::Settled(settled) => webhook.set_aside.retain(|it| it.event != settled.event),
        Event::Removed(_) => webhook.removed = true,
    }
    Ok(webhook)
}
