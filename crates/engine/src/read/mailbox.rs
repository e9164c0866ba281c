//! A caller's inbox: what lies in all of its mailboxes, newest first. Showing a message delivers
//! it.

use std::sync::Arc;

use protocol::caller::Caller;
use protocol::ids::AgentId;
use protocol::message::state::{mailboxes, server};
use protocol::message::{self, Delivery, Message};
use protocol::step::{Command, State};
use tokio::task::JoinSet;

use crate::ports::store::{
    INBOX_COUNT_MAX, InboxCounts, InboxStatus, List, ListOf, Listed, StoreError, StoreReads,
};
use crate::read::Read;
use crate::read::query::{Item, LIST_ROWS_MAX, Page};
use crate::road::submit::SubmitError;

/// Messages of the server that count as read by one cursor: as many as a page of the inbox shows.
pub const SERVER_MESSAGES_READ_MAX: usize = LIST_ROWS_MAX;

/// Delivered messages, those of agents included, among which they are looked for.
pub const DELIVERED_LOOKED_THROUGH_MAX: usize = 5 * LIST_ROWS_MAX;

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

    /// Marks what the server sent the caller, and an inbox has shown, as read up to a place in the
    /// ledger. Messages of agents, and those in the common mailbox of coordinators, stay.
    pub async fn read_server_messages(
        self,
        caller: &Caller,
        until: u64,
    ) -> Result<(), SubmitError> {
        let Some(own) = caller.agent() else { return Ok(()) };
        let status = InboxStatus::Only(Delivery::Delivered);
        let (mut shown, mut before, mut n_looked_through) = (Vec::new(), None, 0);
        while shown.len() < SERVER_MESSAGES_READ_MAX
            && n_looked_through < DELIVERED_LOOKED_THROUGH_MAX
        {
            let (agent, teamspace) = (own.clone(), caller.teamspace.clone());
            let of = ListOf::Inbox { agent, status };
            let list = List { teamspace, of, before, limit: LIST_ROWS_MAX };
            let rows = self.engine.store.list(list).await?;
            n_looked_through += rows.len();
            for row in rows.iter().filter(|row| row.last_seq <= until) {
                let state = self.listed_state(row).await?;
                let message = state.as_ref().and_then(State::as_message);
                if message.is_some_and(|message| is_of_server_to(message, own, caller)) {
                    shown.push(row.stream.clone());
                }
            }
            let Some(last) = rows.get(LIST_ROWS_MAX - 1) else { break };
            before = Some(last.row);
        }
        shown.truncate(SERVER_MESSAGES_READ_MAX);
        let mut reading = JoinSet::new();
        for stream in shown {
            let (engine, caller) = (self.engine.clone(), caller.clone());
            reading.spawn(async move {
                let command = Command::Message(message::Command::Read);
                engine.submit(&caller, stream, command, None).await.map(|_| ())
            });
        }
        while let Some(read) = reading.join_next().await {
            read.expect("reading does not panic")?;
        }
        Ok(())
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

/// Whether the server sent it to this agent, and to no other mailbox of the caller.
fn is_of_server_to(message: &Message, own: &AgentId, caller: &Caller) -> bool {
    let is_shared = |name: &AgentId| name != own && mailboxes(caller).contains(name);
    message.sent.from == server() && !message.recipients.keys().any(is_shared)
}
