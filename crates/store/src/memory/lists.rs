//! Which streams are in which list.

use engine::ports::store::{HandoffFilter, InboxStatus, ListOf, MessageFilter};
use protocol::handoff::{Handoff, Status};
use protocol::message::Message;
use protocol::step::State;
use protocol::transfer::Transfer;

pub fn is_listed(of: &ListOf, state: &State) -> bool {
    match (of, state) {
        (ListOf::Handoffs(filter), State::Handoff(handoff)) => passes(filter, handoff),
        (ListOf::Agents, State::Agent(_))
        | (ListOf::Tokens, State::Token(_))
        | (ListOf::Graphs, State::Graph(_))
        | (ListOf::Sessions, State::Session(_))
        | (ListOf::Webhooks, State::Webhook(_))
        | (ListOf::Files, State::File(_))
        | (ListOf::Questions, State::Question(_)) => true,
        (ListOf::Messages(filter), State::Message(message)) => is_wanted(filter, message),
        (ListOf::Conversations(filter), State::Conversation(conversation)) => {
            filter.holder.as_ref().is_none_or(|holder| conversation.holder == *holder)
                && filter.status.is_none_or(|status| conversation.status() == status)
                && filter.asked.as_ref().is_none_or(|asked| {
                    conversation.open_transfer().and_then(Transfer::asked) == Some(asked)
                })
        }
        (ListOf::Inbox { agent, status }, State::Message(message)) => {
            !message.purged
                && message.recipients.get(agent).is_some_and(|found| match status {
                    InboxStatus::Open => found.is_in_inbox(),
                    InboxStatus::Only(status) => found == status,
                })
        }
        (
            ListOf::Handoffs(_)
            | ListOf::Messages(_)
            | ListOf::Inbox { .. }
            | ListOf::Conversations(_)
            | ListOf::Agents
            | ListOf::Tokens
            | ListOf::Graphs
            | ListOf::Sessions
            | ListOf::Webhooks
            | ListOf::Files
            | ListOf::Questions
            | ListOf::Waiting { .. }
            | ListOf::Callbacks { .. },
            _,
        ) => false,
    }
}

fn is_wanted(filter: &MessageFilter, message: &Message) -> bool {
    if message.purged {
        return false;
    }
    let sent = &message.sent;
    let takes_part = |agent| message.recipients.contains_key(agent) || sent.from == *agent;
    let own = filter.parties.first().and_then(|agent| message.recipients.get(agent));
    let status = own.copied().unwrap_or_else(|| message.status());
    filter.parties.iter().all(takes_part)
        && filter.thread_id.as_ref().is_none_or(|thread| sent.thread_id == *thread)
        && filter.kind.is_none_or(|kind| sent.kind == kind)
        && filter.topic.as_ref().is_none_or(|topic| sent.topic.as_ref() == Some(topic))
        && filter.since.is_none_or(|since| message.created_at >= since)
        && filter.until.is_none_or(|until| message.created_at < until)
        && filter.status.is_none_or(|wanted| status == wanted)
}

fn passes(filter: &HandoffFilter, handoff: &Handoff) -> bool {
    filter.task_id.as_ref().is_none_or(|task| handoff.task_id() == Some(task))
        && filter.from_agent.as_ref().is_none_or(|agent| handoff.from() == agent)
        && filter.to_agent.as_ref().is_none_or(|agent| handoff.to() == Some(agent))
        && filter.status.is_none_or(|status| handoff.status() == status)
        && filter
            .party
            .as_ref()
            .is_none_or(|agent| handoff.from() == agent || handoff.to() == Some(agent))
        && !(filter.is_open && handoff.status() == Status::Closed)
}
