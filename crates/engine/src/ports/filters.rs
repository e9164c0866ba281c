//! The filters of lists.

use protocol::conversation::state::Status as ConversationStatus;
use protocol::handoff::Status;
use protocol::ids::{AgentId, TaskId, ThreadId, Topic};
use protocol::message::{Delivery, Kind};
use protocol::time::Time;

#[derive(Debug, Clone, Default)]
pub struct ConversationFilter {
    pub holder: Option<AgentId>,
    /// Who is asked or advises, besides the holder.
    pub asked: Option<AgentId>,
    pub status: Option<ConversationStatus>,
}

#[derive(Debug, Clone, Default)]
pub struct MessageFilter {
    /// Only messages in which all of these take part. `status` is that of the first, or of the
    /// message as a whole if there is none.
    pub parties: Vec<AgentId>,
    pub thread_id: Option<ThreadId>,
    pub kind: Option<Kind>,
    pub status: Option<Delivery>,
    pub topic: Option<Topic>,
    /// Sent at this time or later, and before that one.
    pub since: Option<Time>,
    pub until: Option<Time>,
}

#[derive(Debug, Clone, Default)]
pub struct HandoffFilter {
    pub task_id: Option<TaskId>,
    pub from_agent: Option<AgentId>,
    pub to_agent: Option<AgentId>,
    pub status: Option<Status>,
    /// Only those that are not closed.
    pub is_open: bool,
    /// Only those that this agent sent or got.
    pub party: Option<AgentId>,
}
