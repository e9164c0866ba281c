//! A conversation after an event of its callback.

use super::event::Event;
use super::state::Callback;
use crate::conversation::state::Conversation;
use crate::ledger::BadHistory;
use crate::time::Time;

pub fn evolve(conversation: &mut Conversation, event: &Event, at: Time) -> Result<(), BadHistory> {
    let is_open = conversation.callback.is_some();
    match event {
        Event::Asked(asked) if !is_open && conversation.closed.is_none() => {
            conversation.callback = Some(Box::new(Callback {
                queue: asked.queue.clone(),
                by: asked.by.clone(),
                asked_at: at,
                contact: asked.contact.clone(),
                note: asked.note.clone(),
                not_before: asked.not_before,
            }));
        }
        Event::Settled(_) if is_open => conversation.callback = None,
        Event::Asked(_) | Event::Settled(_) => return Err(BadHistory { event: event.name() }),
    }
    Ok(())
}
