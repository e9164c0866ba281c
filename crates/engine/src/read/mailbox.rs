//! A caller's inbox: what lies in all of its mailboxes, newest first. Showing a message delivers
//! it.

use std::sync::Arc;

use protocol::caller::Caller;
use protocol::message::state::mailboxes;
use protocol::message::{self, Delivery};
use protocol::step::{Command, State};
use tokio::task::JoinSet;

use crate::ports::store::{
    INBOX_COUNT_MAX, InboxCounts, InboxStatus, List, ListOf, Listed, StoreError, StoreReads,
};
use crate::read::Read;
use crate::read::query::{Item, LIST_ROWS_MAX, Page};
use crate::road::submit::SubmitError;

impl Read<'_> {
    /// A page of the inbox. Pending messages on it count as delivered from now on.
    pub async fn inbox(
        self,
        caller: &Caller,
        status: InboxStatus,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Page, SubmitError> {
        let limit = limit.clamp(1, LIST_ROWS_MAX);
        let mut rows: Vec<Listed> = Vec::new();
        for agent in mailboxes(caller) {
            let of = ListOf::Inbox { agent, status };
            let teamspace = caller.teamspace.clone();
            let list = List { teamspace, of, before, limit: limit + 1 };
            rows.extend(self.engine.store.list(list).await?);
        }
        // One message may lie in two of them.
        rows.sort_by_key(|row| std::cmp::Reverse(row.row));
        rows.dedup_by_key(|row| row.row);
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let next = if has_more { rows.last().map(|row| row.row) } else { None };
        let mut items = Vec::with_capacity(rows.len());
        for row in rows {
            let Some(state) = self.listed_state(&row).await? else { continue };
            // The index of mailboxes does not decide who may read a message.
            let message = state.as_message();
            if !message.is_some_and(|message| message.is_visible_to(caller)) {
                continue;
            }
            let state = Arc::new(state);
            let Listed { stream, position, at: changed_at, .. } = row;
            items.push(Item { stream, state, position, changed_at });
        }
        self.deliver(caller, &mut items).await?;
        Ok(Page { items, next })
    }

    pub async fn inbox_counts(self, caller: &Caller) -> Result<InboxCounts, StoreError> {
        let mut sum = InboxCounts::default();
        for agent in mailboxes(caller) {
            let counts = self.engine.store.inbox_counts(&caller.teamspace, &agent).await?;
            let add = |one: usize, other: usize| (one + other).min(INBOX_COUNT_MAX);
            sum = InboxCounts {
                pending: add(sum.pending, counts.pending),
                delivered: add(sum.delivered, counts.delivered),
                read: add(sum.read, counts.read),
            };
        }
        Ok(sum)
    }

    /// All at once, so that they share a sync.
    async fn deliver(self, caller: &Caller, items: &mut [Item]) -> Result<(), SubmitError> {
        let mut delivering = JoinSet::new();
        for (index, item) in items.iter().enumerate() {
            let State::Message(message) = item.state.as_ref() else { continue };
            if message.status_for(caller) != Some(Delivery::Pending) {
                continue;
            }
            let (engine, caller, stream) =
                (self.engine.clone(), caller.clone(), item.stream.clone());
            delivering.spawn(async move {
                let command = Command::Message(message::Command::Deliver);
                engine.submit(&caller, stream.clone(), command, None).await?;
                Ok::<_, SubmitError>((index, engine.read().item(&stream).await?))
            });
        }
        while let Some(delivered) = delivering.join_next().await {
            let (index, item) = delivered.expect("delivering does not panic")?;
            if let Some(item) = item {
                items[index] = item;
            }
        }
        Ok(())
    }
}
