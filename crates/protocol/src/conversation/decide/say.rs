//! `say`: the customer may always speak, an agent only while it holds the conversation. Messages
//! out of turn are recorded and not shown.

use super::shared::open_to;
use super::turn;
use crate::conversation::command::Say;
use crate::conversation::event::{Event, NotHeard, Said, Speaker};
use crate::conversation::not_heard::Why;
use crate::conversation::part::{self, Part};
use crate::conversation::silence::limit_of;
use crate::conversation::state::{Conversation, Side};
use crate::facts::Context;
use crate::ids::AgentId;
use crate::rejection::Rejection;
use crate::route::words::looked_at;
use crate::signal::promise::{OwnPromises, promises_transfer};
use crate::transfer::Transfer;

/// How many messages out of turn are recorded in one epoch; more are refused without a record.
pub const NOT_HEARD_MAX: u16 = 16;

pub fn decide(
    state: Option<&Conversation>,
    say: &Say,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let (conversation, side) = open_to(state, context, "say")?;
    let parts = part::check(&say.parts)?;
    if say.in_reply_to.is_some_and(|number| number == 0 || number > conversation.transcript.count) {
        return Err(Rejection::SchemaInvalid {
            field: "in_reply_to".to_owned(),
            expected: "the number of a message of this conversation".to_owned(),
        });
    }
    let mut deliver = false;
    let by = match side {
        Side::Customer => {
            deliver = context.facts.at_endpoint.contains(&conversation.holder);
            Speaker::Customer
        }
        Side::Agent(agent) => {
            let epoch = say.epoch.ok_or(Rejection::EpochRequired)?;
            if let Some(why) = out_of_turn(conversation, agent, epoch, say.in_reply_to) {
                return not_heard(conversation, agent, epoch, why, parts);
            }
            Speaker::Agent(agent.clone())
        }
        Side::Overseer => {
            let who = "the customer or the holder";
            return Err(Rejection::NotAllowed { action: "speak in a conversation", who });
        }
    };
    let said = Said {
        holder: conversation.holder.clone(),
        number: conversation.transcript.count + 1,
        by,
        epoch: conversation.epoch,
        parts,
        in_reply_to: say.in_reply_to,
        deliver,
        parting: false,
        listener: conversation.open_transfer().and_then(Transfer::listener).cloned(),
        answer_within: None,
        signals: Vec::new(),
        escalation: None,
        route: None,
    };
    // People and queues hold a conversation only in a transfer. They have no limit.
    let is_with_bot = conversation.open_transfer().is_none();
    let graph = context.facts.turn.as_deref().and_then(|turn| turn.graph());
    let limit = || limit_of(&conversation.holder, graph, context.facts).filter(|_| is_with_bot);
    Ok(match said.by {
        Speaker::Customer => {
            let said = Said { answer_within: limit(), ..said };
            turn::follow(conversation, said, context)
        }
        Speaker::Agent(_) => {
            let answer_within = limit().filter(|_| is_promise(&said.parts, context));
            vec![Event::Said(Said { answer_within, ..said })]
        }
    })
}

/// Whether the holder tells the customer that it transfers them.
fn is_promise(parts: &[Part], context: Context<'_>) -> bool {
    let none = OwnPromises::default();
    let own = context.facts.graph.as_ref().map_or(&none, |graph| graph.promises());
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(part) => Some(looked_at(&part.text)),
        Part::Attachment(_) | Part::File(_) => None,
    });
    // A sentence may go on in the next part.
    promises_transfer(&texts.collect::<Vec<_>>().join(" "), own)
}

fn out_of_turn(
    conversation: &Conversation,
    agent: &AgentId,
    epoch: u64,
    in_reply_to: Option<u64>,
) -> Option<Why> {
    if epoch != conversation.epoch {
        return Some(Why::EpochOutdated);
    }
    if conversation.speaker() != Some(agent) {
        return Some(Why::NotHolder);
    }
    let answered = in_reply_to.is_some_and(|number| number <= conversation.turn.answered);
    answered.then_some(Why::AlreadyAnswered)
}

fn not_heard(
    conversation: &Conversation,
    agent: &AgentId,
    epoch: u64,
    why: Why,
    parts: Vec<Part>,
) -> Result<Vec<Event>, Rejection> {
    if conversation.turn.refused >= NOT_HEARD_MAX {
        let holder = conversation.holder.clone();
        return Err(Rejection::NotHeard { why, holder, epoch: conversation.epoch });
    }
    Ok(vec![Event::NotHeard(NotHeard {
        holder: conversation.holder.clone(),
        agent: agent.clone(),
        epoch,
        current: conversation.epoch,
        why,
        parts,
    })])
}
