//! Which agents an entry concerns. A follower of the feed filters by it; it allows nothing.

use crate::aggregate::Event;
use crate::ids::AgentId;
use crate::ledger::{Entry, Subject};
use crate::session;

/// Whether an agent did it, is a party to it, or is its subject. `event` is what the entry records;
/// `None` once it is erased.
pub fn concerns(agent: &AgentId, entry: &Entry, event: Option<&Event>) -> bool {
    let is_subject = matches!(&entry.stream.subject, Subject::Agent(subject) if subject == agent);
    let is_actor = || entry.actor.strip_prefix("agent:") == Some(agent.as_str());
    is_subject || is_actor() || event.is_some_and(|event| names(event, agent))
}

fn names(event: &Event, agent: &AgentId) -> bool {
    match event {
        Event::Handoff(event) => {
            let (from, to) = event.parties();
            from == agent || to == Some(agent)
        }
        Event::Message(event) => {
            let (from, to) = event.parties();
            from == agent || to.contains(agent)
        }
        Event::Conversation(event) => event.parties().contains(&Some(agent)),
        Event::Question(event) => {
            let parties = event.parties();
            parties.asker == *agent || parties.to == *agent
        }
        Event::Session(session::Event::HandedOver(it)) => it.to.as_ref() == Some(agent),
        Event::Session(
            session::Event::Announced(_)
            | session::Event::Answered(_)
            | session::Event::TimedOut(_)
            | session::Event::Withdrawn(_)
            | session::Event::Delivered(_),
        )
        | Event::Agent(_)
        | Event::Token(_)
        | Event::Teamspace(_)
        | Event::Graph(_)
        | Event::Subscription(_)
        | Event::File(_)
        | Event::Webhook(_)
        | Event::Erased(_)
        | Event::Forked(_) => false,
    }
}
