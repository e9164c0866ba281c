//! What happened to transfers: one of them, a list of those that a caller may see, and the figures
//! of the queues.

use std::sync::Arc;

use protocol::agent::{Agent, Kind};
use protocol::caller::Caller;
use protocol::ids::{AgentId, TeamspaceId, TransferId};
use protocol::ledger::{Stream, Subject};
use protocol::queue::report::{Report, Requested};
use protocol::step::State;
use protocol::time::Time;
use protocol::transfer::Transfer;
use protocol::visibility::details;

use crate::ports::store::{ListOf, StoreError, StoreReads};
use crate::ports::transfers::{TransferFilter, TransferList, TransferRow, TransfersOf};
use crate::read::query::{LIST_ROWS_MAX, Page};
use crate::read::reading::ROWS_LOOKED_THROUGH_MAX;
use crate::read::{Access, Read};

/// Transfers that one report counts. Reading so many takes about a second, in small steps.
pub const REPORT_TRANSFERS_MAX: usize = 50_000;

/// Transfers, the newest first, and where to go on.
#[derive(Debug, Clone)]
pub struct TransferPage {
    pub items: Vec<TransferRow>,
    pub next: Option<u64>,
}

/// The figures, unless there are more transfers than one report counts.
#[derive(Debug)]
pub enum Counted {
    All(Report),
    TooMany,
}

impl Read<'_> {
    /// What happened to a transfer.
    pub async fn transfer(
        self,
        teamspace: &TeamspaceId,
        id: TransferId,
    ) -> Result<Option<TransferRow>, StoreError> {
        let (teamspace, of) = (teamspace.clone(), TransfersOf::One(id));
        let list = TransferList { teamspace, of, after: None, limit: 1 };
        Ok(self.engine.store.transfers(list).await?.pop())
    }

    /// The figures of the transfers that were requested in a time.
    pub async fn queue_report(
        self,
        teamspace: &TeamspaceId,
        requested: Requested,
    ) -> Result<Counted, StoreError> {
        let Requested { since, until, .. } = requested;
        let now = self.engine.clock.now();
        let mut report = Report::new(requested);
        let (mut after, mut n_read) = (None, 0);
        loop {
            let (teamspace, of) = (teamspace.clone(), TransfersOf::Requested { since, until });
            let list = TransferList { teamspace, of, after, limit: LIST_ROWS_MAX };
            let page = self.engine.store.transfers(list).await?;
            n_read += page.len();
            if n_read > REPORT_TRANSFERS_MAX {
                return Ok(Counted::TooMany);
            }
            let Some(last) = page.last() else { return Ok(Counted::All(report)) };
            after = Some(last.row);
            page.iter().for_each(|row| report.add(&row.record, now));
        }
    }
}

impl Access<'_> {
    /// The conversations whose customers a queue of the caller shall call by now, the first to be
    /// called first.
    pub async fn callbacks_due_for(
        self,
        caller: &Caller,
        now: Time,
        limit: usize,
    ) -> Result<Vec<Arc<State>>, StoreError> {
        let Some(own) = self.own(caller).await? else { return Ok(Vec::new()) };
        let (mut due, mut after) = (Vec::new(), None);
        loop {
            let store = &self.engine.store;
            let teamspace = &caller.teamspace;
            let queues = store.calling_queues(teamspace, after.as_ref(), LIST_ROWS_MAX).await?;
            let Some(last) = queues.last() else { break };
            after = Some(last.clone());
            for id in queues {
                let queue = self.engine.agent(teamspace, id.clone()).await?;
                if queue.is_some_and(|queue| details::serves(&own, &queue)) {
                    due.extend(self.due_callbacks(teamspace, &id, now, limit).await?);
                }
            }
        }
        due.sort_by_key(|(at, _)| *at);
        Ok(due.into_iter().take(limit).map(|(_, state)| state).collect())
    }

    async fn due_callbacks(
        self,
        teamspace: &TeamspaceId,
        queue: &AgentId,
        now: Time,
        limit: usize,
    ) -> Result<Vec<(Time, Arc<State>)>, StoreError> {
        let mut due = Vec::new();
        for row in self.engine.queues().callbacks(teamspace, queue, limit).await? {
            let Some(state) = self.engine.read().current(&row.stream).await? else { continue };
            let at = state.as_conversation().and_then(|it| Some(it.callback.as_ref()?.due()));
            due.extend(at.filter(|at| *at <= now).map(|at| (at, state)));
        }
        Ok(due)
    }

    /// The queues that the caller may see, the newest first.
    pub async fn queues_for(
        self,
        caller: &Caller,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        let is_queue = |state: &State| state.as_agent().is_some_and(|it| it.kind == Kind::Queue);
        self.list_kept(caller, ListOf::Agents, before, limit, is_queue).await
    }

    /// The transfers that match and that the caller may see: a full page, unless there are no more
    /// or too many between them are not visible.
    pub async fn transfers_for(
        self,
        caller: &Caller,
        filter: TransferFilter,
        mut after: Option<u64>,
        limit: usize,
    ) -> Result<TransferPage, StoreError> {
        let limit = limit.clamp(1, LIST_ROWS_MAX);
        let own = self.own(caller).await?;
        let mut items = Vec::new();
        let mut n_looked_through = 0;
        // One row more than asked for tells whether there is a next page.
        let n_wanted = limit + 1;
        while n_looked_through < ROWS_LOOKED_THROUGH_MAX {
            let (teamspace, of) = (caller.teamspace.clone(), TransfersOf::Matching(filter.clone()));
            let list = TransferList { teamspace, of, after, limit: n_wanted };
            let rows = self.engine.store.transfers(list).await?;
            let is_end = rows.len() < n_wanted;
            for row in rows {
                if items.len() == limit {
                    return Ok(TransferPage { items, next: after });
                }
                n_looked_through += 1;
                after = Some(row.row);
                if self.sees_row(caller, own.as_ref(), &row).await? {
                    items.push(row);
                }
            }
            if is_end {
                return Ok(TransferPage { items, next: None });
            }
        }
        Ok(TransferPage { items, next: after })
    }

    /// One transfer, if the caller may see it, also when a newer one has replaced it.
    pub async fn transfer_for(
        self,
        caller: &Caller,
        id: TransferId,
    ) -> Result<Option<TransferRow>, StoreError> {
        let own = self.own(caller).await?;
        let row = self.engine.read().transfer(&caller.teamspace, id).await?;
        let Some(row) = row else { return Ok(None) };
        Ok(self.sees_row(caller, own.as_ref(), &row).await?.then_some(row))
    }

    /// Participants of the conversation see all its transfers. People of the queue see the one that
    /// waits there.
    async fn sees_row(
        self,
        caller: &Caller,
        own: Option<&Agent>,
        row: &TransferRow,
    ) -> Result<bool, StoreError> {
        let teamspace = caller.teamspace.clone();
        let stream = Stream { teamspace, subject: Subject::Conversation(row.conversation) };
        let state = self.engine.read().current(&stream).await?;
        let Some(State::Conversation(conversation)) = state.as_deref() else { return Ok(false) };
        let is_it = |transfer: &&Transfer| transfer.id == row.record.transfer;
        let waiting = conversation.open_transfer().filter(is_it).and_then(Transfer::waiting);
        let queue = match waiting {
            Some(waiting) => self.engine.agent(&caller.teamspace, waiting.queue.clone()).await?,
            None => None,
        };
        Ok(details::sees_transfer(caller, conversation, own, queue.as_ref()))
    }
}
