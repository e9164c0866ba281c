//! Who has a conversation next whose holder could not be told what was said: its supervisor. Where
//! there is none, or where it is the one that is not reached, a person; and where nobody can be
//! asked, the next message of the customer is tried again together with what was not delivered.

use serde_json::Map;

use super::human::{self, Ask, AskedBy};
use crate::conversation::event::{Event, How, Routed};
use crate::conversation::state::Conversation;
use crate::handoff::decide::Context;

const REASON: &str = "the agent could not be reached";

pub fn next_hands(conversation: &Conversation, context: Context<'_>) -> Vec<Event> {
    let supervisor = conversation.setup.topology.supervisor();
    let Some(to) = supervisor.filter(|agent| **agent != conversation.holder) else {
        let (by, reason) = (AskedBy::Unreached, REASON.to_owned());
        let ask = Ask { by, reason, queue: None };
        return human::ask(conversation, &ask, context).unwrap_or_default();
    };
    vec![Event::Routed(Routed {
        holder: conversation.holder.clone(),
        to: to.clone(),
        number: conversation.transcript.count + 1,
        epoch: conversation.epoch + 1,
        how: How::SupervisorRouting,
        reason: REASON.to_owned(),
        context: String::new(),
        update: Map::new(),
        instead_of: None,
        route: None,
        deliver: context.facts.at_endpoint.contains(to),
    })]
}
