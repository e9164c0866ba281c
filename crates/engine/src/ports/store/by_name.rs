//! The reads and writes of a store by the names that their callers know.

use std::str::FromStr;

use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::Stream;
use protocol::message::Delivery;
use protocol::time::Time;

use super::{
    Answer, Count, Entries, InboxCounts, List, ListOf, Listed, OutboxWrite, Place, Sealed,
    Sequenced, Store, StoreError, StoreWrite, StoredNames,
};

/// The reads of a [`Store`] by the names that their callers know.
pub trait StoreReads: Store {
    /// Entries with a sequence number above `after`, in order.
    fn entries(&self, after: u64, limit: usize) -> Answer<Vec<Sequenced>> {
        self.read_entries(Entries::After(after), limit)
    }

    /// Entries of one stream with a position below `before`, newest first.
    fn history(&self, stream: &Stream, before: u64, limit: usize) -> Answer<Vec<Sequenced>> {
        self.read_entries(Entries::Of { stream: stream.clone(), before }, limit)
    }

    /// Entries of one stream from a position on, in order.
    fn history_from(&self, stream: &Stream, position: u64, limit: usize) -> Answer<Vec<Sequenced>> {
        self.read_entries(Entries::From { stream: stream.clone(), position }, limit)
    }

    /// The lines of a stream's transcript with a number above `after`, in order.
    fn transcript(&self, stream: &Stream, after: u64, limit: usize) -> Answer<Vec<Sequenced>> {
        self.read_entries(Entries::Lines { stream: stream.clone(), after }, limit)
    }

    /// The earliest armed deadline.
    fn next_due(&self) -> Answer<Option<Time>> {
        let first = self.due(Time::from_millis(i64::MAX), 1);
        Box::pin(async move { Ok(first.await?.pop().map(|due| due.deadline.due)) })
    }

    /// The conversations that wait in a queue, in their order, those after a place.
    fn waiting(
        &self,
        teamspace: &TeamspaceId,
        queue: &AgentId,
        after: Option<Place>,
        limit: usize,
    ) -> Answer<Vec<Listed>> {
        let of = ListOf::Waiting { queue: queue.clone(), after };
        let teamspace = teamspace.clone();
        self.list(List { teamspace, of, before: None, limit })
    }

    /// The conversations whose customers a queue shall call, the first to be called first.
    fn callbacks(
        &self,
        teamspace: &TeamspaceId,
        queue: &AgentId,
        limit: usize,
    ) -> Answer<Vec<Listed>> {
        let (teamspace, of) = (teamspace.clone(), ListOf::Callbacks { queue: queue.clone() });
        self.list(List { teamspace, of, before: None, limit })
    }

    /// How many wait in a queue, of those before a place if one is given.
    fn n_waiting(
        &self,
        teamspace: &TeamspaceId,
        queue: &AgentId,
        before: Option<Place>,
    ) -> Answer<usize> {
        self.count(teamspace, Count::Waiting { queue: queue.clone(), before })
    }

    /// How many messages are in a mailbox.
    fn inbox_counts(&self, teamspace: &TeamspaceId, agent: &AgentId) -> Answer<InboxCounts> {
        let of = |status| self.count(teamspace, Count::Inbox { agent: agent.clone(), status });
        let pending = of(Delivery::Pending);
        let (delivered, read) = (of(Delivery::Delivered), of(Delivery::Read));
        Box::pin(async move {
            let (pending, delivered) = (pending.await?, delivered.await?);
            Ok(InboxCounts { pending, delivered, read: read.await? })
        })
    }

    /// The keys that begin with `prefix` and are occupied, in order, at most `limit`.
    fn held(&self, teamspace: &TeamspaceId, prefix: &str, limit: usize) -> Answer<Vec<String>> {
        let (teamspace, prefix) = (teamspace.clone(), prefix.to_owned());
        self.names(StoredNames::Held { teamspace, prefix }, limit)
    }

    /// The queues of a teamspace in which a conversation waits for a person, those after `after`.
    fn waiting_queues(
        &self,
        teamspace: &TeamspaceId,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Answer<Vec<AgentId>> {
        let (teamspace, after) = (teamspace.clone(), after.cloned());
        parsed(self.names(StoredNames::WaitingQueues { teamspace, after }, limit))
    }

    /// The queues of a teamspace that shall call a customer, those after `after`.
    fn calling_queues(
        &self,
        teamspace: &TeamspaceId,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Answer<Vec<AgentId>> {
        let (teamspace, after) = (teamspace.clone(), after.cloned());
        parsed(self.names(StoredNames::CallingQueues { teamspace, after }, limit))
    }

    /// The teamspaces in which there is something, those after `after`.
    fn teamspaces(&self, after: Option<&TeamspaceId>, limit: usize) -> Answer<Vec<TeamspaceId>> {
        parsed(self.names(StoredNames::Teamspaces { after: after.cloned() }, limit))
    }
}

/// The writes of a [`Store`] besides commits, by the names that their callers know.
pub trait StoreWrites: Store {
    /// Replaces the sealed edge of the ledger.
    fn seal(&self, sealed: Sealed) -> Answer<()> {
        self.write(StoreWrite::Seal(sealed))
    }

    /// Moves the cursor of a follower of the ledger.
    fn write_place(&self, follower: &str, seq: u64) -> Answer<()> {
        self.write(StoreWrite::Place { follower: follower.to_owned(), seq })
    }

    /// Shows whether commits can succeed.
    fn try_write(&self) -> Answer<()> {
        self.write(StoreWrite::Trial)
    }

    /// Updates an effect that was claimed.
    fn write_outbox(&self, write: OutboxWrite) -> Answer<()> {
        self.write(StoreWrite::Outbox(write))
    }
}

impl<S: Store + ?Sized> StoreReads for S {}
impl<S: Store + ?Sized> StoreWrites for S {}

/// Names as what they name.
fn parsed<T>(names: Answer<Vec<String>>) -> Answer<Vec<T>>
where
    T: FromStr<Err: std::fmt::Display> + Send + 'static,
{
    Box::pin(async move {
        let named = names.await?.into_iter().map(|name| {
            name.parse::<T>()
                .map_err(|error| StoreError::Corrupt(format!("the name {name}: {error}")))
        });
        named.collect()
    })
}
