//! The people of a queue who take conversations now, and the place of a conversation in the queue.

use protocol::ids::{AgentId, ConversationId, TeamspaceId};
use protocol::queue::{EstimatedWait, estimate};
use protocol::time::Time;
use protocol::transfer::{Status, Transfer};

use crate::loops::Queues;
use crate::ports::store::{Listed, StoreError, StoreReads, WAITING_COUNT_MAX};
use crate::ports::transfers::{TransferList, TransfersOf};

/// Transfers that are read for the one that waits longest: a few at first, as few ring at once,
/// then as many as are counted.
const WAITS_READ: [usize; 2] = [8, WAITING_COUNT_MAX];

/// The people of a queue who are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shift {
    pub n_available: usize,
    /// Conversations that they can have at once, all together.
    pub slots: u32,
}

impl Queues<'_> {
    /// How many conversations wait in a queue. One that rings for a person does not wait.
    pub async fn n_waiting(
        self,
        teamspace: &TeamspaceId,
        queue: &AgentId,
    ) -> Result<usize, StoreError> {
        self.engine.store.n_waiting(teamspace, queue, None).await
    }

    /// The conversations that wait in a queue, the next one first, at most `limit`.
    pub async fn waiting(
        self,
        teamspace: &TeamspaceId,
        queue: &AgentId,
        limit: usize,
    ) -> Result<Vec<Listed>, StoreError> {
        self.engine.store.waiting(teamspace, queue, None, limit).await
    }

    /// Since when the customer waits who has waited longest in a queue, of those for whom no person
    /// is rung.
    pub async fn longest_waits_since(
        self,
        teamspace: &TeamspaceId,
        queue: &AgentId,
    ) -> Result<Option<Time>, StoreError> {
        for limit in WAITS_READ {
            let (teamspace, of) = (teamspace.clone(), TransfersOf::WaitingIn(queue.clone()));
            let list = TransferList { teamspace, of, after: None, limit };
            let rows = self.engine.store.transfers(list).await?;
            let first = rows.iter().find(|row| row.record.status == Status::Queued);
            if let Some(first) = first {
                return Ok(first.record.waiting_since);
            }
            if rows.len() < limit {
                break;
            }
        }
        Ok(None)
    }

    /// The conversations whose customers a queue shall call, the next one first, at most `limit`.
    pub async fn callbacks(
        self,
        teamspace: &TeamspaceId,
        queue: &AgentId,
        limit: usize,
    ) -> Result<Vec<Listed>, StoreError> {
        self.engine.store.callbacks(teamspace, queue, limit).await
    }

    /// The place of a conversation in its queue, and how long it may take from there.
    pub async fn place_in_line(
        self,
        teamspace: &TeamspaceId,
        conversation: ConversationId,
        transfer: &Transfer,
    ) -> Result<Option<(usize, Option<EstimatedWait>)>, StoreError> {
        let Some(waiting) = transfer.waiting() else { return Ok(None) };
        let Some(place) = self.place(teamspace, conversation, transfer).await? else {
            return Ok(None);
        };
        let Some(queue) = self.engine.agent(teamspace, waiting.queue.clone()).await? else {
            return Ok(Some((place, None)));
        };
        let shift = self.shift(teamspace, &queue).await?;
        let flow =
            self.engine.flows().of(teamspace, waiting.queue, shift.slots, self.engine.clock.now());
        let estimated = estimate(u32::try_from(place).unwrap_or(u32::MAX), &flow);
        Ok(Some((place, estimated)))
    }

    /// The place of a conversation in its queue; the first is 1.
    pub async fn place(
        self,
        teamspace: &TeamspaceId,
        conversation: ConversationId,
        transfer: &Transfer,
    ) -> Result<Option<usize>, StoreError> {
        let Some(waiting) = transfer.waiting() else { return Ok(None) };
        let before = Some((waiting.order, conversation));
        let n_before = self.engine.store.n_waiting(teamspace, waiting.queue, before).await?;
        Ok(Some(n_before + 1))
    }
}
