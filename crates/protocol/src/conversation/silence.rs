//! The time in which the holder of a conversation must answer the customer. A bot that lets it pass
//! loses the conversation to the next fallback; a person is only reminded.

use super::answer_within::{ANSWER_WITHIN_DEFAULT, ANSWER_WITHIN_OFF};
use super::state::Conversation;
use crate::facts::Facts;
use crate::graph::Ready;
use crate::ids::AgentId;
use crate::stored::Deadline;
use crate::time::Span;
use crate::transfer::Transfer;

/// The names of the deadlines.
pub const SILENT: &str = "silent";
pub const REPLY: &str = "reply";

/// How long this agent has to answer: its own limit, else that of the graph, else that of the
/// teamspace, else the default. `None` if the limit is off.
pub fn limit_of(agent: &AgentId, graph: Option<&Ready>, facts: &Facts) -> Option<Span> {
    let own = facts.answer_within(agent);
    let of_graph = || graph.or(facts.graph.as_deref()).and_then(Ready::answer_within);
    let limit = own.or_else(of_graph).or(facts.settings.answer_within);
    Some(limit.unwrap_or(ANSWER_WITHIN_DEFAULT)).filter(|limit| *limit != ANSWER_WITHIN_OFF)
}

impl Conversation {
    pub fn deadlines(&self) -> Vec<Deadline> {
        let mut all = self.open_transfer().map(Transfer::deadlines).unwrap_or_default();
        if self.closed.is_none() {
            let owed = self.wait.owed.map(|owed| (SILENT, owed.until));
            let reply = self.wait.reply_at.map(|at| (REPLY, at));
            let armed = owed.into_iter().chain(reply);
            all.extend(armed.map(|(name, due)| Deadline { name: name.into(), due }));
        }
        all
    }
}
