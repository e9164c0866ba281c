//! The next holder after the holder could not be reached: its supervisor. Without one, or if the
//! supervisor itself is unreachable, a person. If no person can be asked, the next message of the
//! customer is delivered together with the undelivered ones.

use serde_json::Map;

use super::human::{self, Ask, AskedBy};
use crate::conversation::event::{Event, How, Routed};
use crate::conversation::silence::limit_of;
use crate::conversation::state::Conversation;
use crate::facts::Context;
use crate::transfer::state::Stage;

const REASON: &str = "the agent could not be reached";

pub fn next_hands(conversation: &Conversation, context: Context<'_>) -> Vec<Event> {
    let supervisor = conversation.setup.topology.supervisor();
    let Some(to) = supervisor.filter(|agent| **agent != conversation.holder) else {
        if !waits_for_an_answer(conversation) {
            return Vec::new();
        }
        let (by, reason) = (AskedBy::Unreached, REASON.to_owned());
        let ask = Ask { by, reason, queue: None, instead_of: None };
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
        customer_text: String::new(),
        update: Map::new(),
        instead_of: None,
        route: None,
        deliver: context.facts.at_endpoint.contains(to),
        answer_within: limit_of(to, None, context.facts),
    })]
}

/// Whether the customer has an unanswered message since people last had the conversation. No person
/// is called about a customer who has left.
fn waits_for_an_answer(conversation: &Conversation) -> bool {
    let last_over = match conversation.transfer.as_deref().map(|transfer| &transfer.stage) {
        Some(Stage::Over { number, .. }) => *number,
        Some(
            Stage::Requested
            | Stage::Queued
            | Stage::Ringing { .. }
            | Stage::Connected { .. }
            | Stage::OnHold { .. },
        )
        | None => 0,
    };
    conversation.turn.number > last_over.max(conversation.turn.answered)
}
