//! What the engine asks of a store about transfers: what happened to each, and when each person was
//! last rung. Both follow from the entries alone.

use protocol::ids::{AgentId, ConversationId, TeamspaceId, TransferId};
use protocol::time::Time;
use protocol::transfer::{Record, Status};

/// A page of the transfers of a teamspace.
#[derive(Debug, Clone)]
pub struct TransferList {
    pub teamspace: TeamspaceId,
    pub of: TransfersOf,
    /// Only those after this row, in the order of the list.
    pub after: Option<u64>,
    pub limit: usize,
}

/// Which transfers, and in which order.
#[derive(Debug, Clone)]
pub enum TransfersOf {
    /// Those that match, the newest first.
    Matching(TransferFilter),
    /// Those that were requested in this time, the oldest first.
    Requested {
        since: Time,
        until: Time,
    },
    /// Those whose customers wait in a queue, also while it rings; the longest wait first.
    WaitingIn(AgentId),
    One(TransferId),
}

#[derive(Debug, Clone, Default)]
pub struct TransferFilter {
    pub status: Option<Status>,
    /// Where it waits, or waited last.
    pub queue: Option<AgentId>,
    /// For whom it rings, who answers, or who answered last.
    pub agent: Option<AgentId>,
    pub conversation: Option<ConversationId>,
    /// Requested at this time or later, and before that one.
    pub since: Option<Time>,
    pub until: Option<Time>,
}

/// A transfer, and the conversation to which it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferRow {
    /// The number of the entry that requested it; the cursor of a list.
    pub row: u64,
    pub conversation: ConversationId,
    pub record: Record,
}

impl TransferFilter {
    pub fn matches(&self, TransferRow { conversation, record, .. }: &TransferRow) -> bool {
        self.status.is_none_or(|status| record.status == status)
            && self.queue.as_ref().is_none_or(|queue| record.queue == *queue)
            && self.agent.as_ref().is_none_or(|agent| record.agent.as_ref() == Some(agent))
            && self.conversation.is_none_or(|wanted| *conversation == wanted)
            && self.since.is_none_or(|since| record.requested_at >= since)
            && self.until.is_none_or(|until| record.requested_at < until)
    }
}
