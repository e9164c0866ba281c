//! The conversations that wait for a person or for a callback, and their queues.

use std::collections::BTreeSet;

use engine::ports::store::{Listed, Place, WAITING_COUNT_MAX};
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::Stream;
use protocol::queue::OrderKey;
use protocol::time::Time;
use protocol::transfer::state::Waiting;

use super::Tables;

impl Tables {
    /// Conversations that wait for a person, and where.
    fn waiting(&self) -> impl Iterator<Item = (&Stream, Waiting<'_>)> {
        self.streams.iter().filter_map(|(stream, row)| {
            let transfer = row.state.as_conversation()?.open_transfer()?;
            Some((stream, transfer.waiting()?))
        })
    }

    pub(super) fn waiting_queues(
        &self,
        teamspace: &TeamspaceId,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Vec<AgentId> {
        let own = self.waiting().filter(|(stream, _)| stream.teamspace == *teamspace);
        let queues: BTreeSet<_> = own.map(|(_, it)| it.queue.clone()).collect();
        let wanted = queues.into_iter().filter(|queue| after.is_none_or(|after| queue > after));
        wanted.take(limit).collect()
    }

    pub(super) fn calling_queues(
        &self,
        teamspace: &TeamspaceId,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Vec<AgentId> {
        let own = self.streams.iter().filter(|(stream, _)| stream.teamspace == *teamspace);
        let callbacks = own.filter_map(|(_, row)| row.state.as_conversation()?.callback.as_ref());
        let queues: BTreeSet<_> = callbacks.map(|callback| callback.queue.clone()).collect();
        let wanted = queues.into_iter().filter(|queue| after.is_none_or(|after| queue > after));
        wanted.take(limit).collect()
    }

    pub(super) fn waiting_listed(
        &self,
        teamspace: &TeamspaceId,
        queue: &AgentId,
        after: Option<Place>,
        limit: usize,
    ) -> Vec<Listed> {
        let after = after.map(|(order, id)| (order, id.to_string()));
        let mut waiting: Vec<_> = self.waiting_in(teamspace, queue).collect();
        waiting
            .retain(|(order, id, _)| after.as_ref().is_none_or(|it| (*order, id) > (it.0, &it.1)));
        waiting.sort();
        let streams = waiting.into_iter().map(|(_, _, stream)| stream).take(limit);
        streams.map(|stream| self.streams[stream].listed(stream)).collect()
    }

    pub(super) fn n_waiting_in(
        &self,
        teamspace: &TeamspaceId,
        queue: &AgentId,
        before: Option<Place>,
    ) -> usize {
        let before = before.map(|(order, id)| (order, id.to_string()));
        let is_before = |(order, id): (OrderKey, String)| match &before {
            Some(before) => (order, id) < *before,
            None => true,
        };
        let waiting = self.waiting_in(teamspace, queue);
        let counted = waiting.filter(|(order, id, _)| is_before((*order, id.clone())));
        counted.take(WAITING_COUNT_MAX).count()
    }

    pub(super) fn callbacks_listed(
        &self,
        teamspace: &TeamspaceId,
        queue: &AgentId,
        limit: usize,
    ) -> Vec<Listed> {
        let mut callbacks: Vec<_> = self.callbacks_in(teamspace, queue).collect();
        callbacks.sort();
        let streams = callbacks.into_iter().map(|(_, _, stream)| stream).take(limit);
        streams.map(|stream| self.streams[stream].listed(stream)).collect()
    }

    fn waiting_in<'t>(
        &'t self,
        teamspace: &'t TeamspaceId,
        queue: &'t AgentId,
    ) -> impl Iterator<Item = (OrderKey, String, &'t Stream)> {
        let here = self
            .waiting()
            .filter(move |(stream, it)| stream.teamspace == *teamspace && it.queue == queue);
        here.map(|(stream, waiting)| (waiting.order, stream.subject.id(), stream))
    }

    fn callbacks_in<'t>(
        &'t self,
        teamspace: &'t TeamspaceId,
        queue: &'t AgentId,
    ) -> impl Iterator<Item = (Time, String, &'t Stream)> {
        let own = self.streams.iter().filter(|(stream, _)| stream.teamspace == *teamspace);
        own.filter_map(move |(stream, row)| {
            let callback = row.state.as_conversation()?.callback.as_ref();
            let open = callback.filter(|it| it.queue == *queue)?;
            Some((open.due(), stream.subject.id(), stream))
        })
    }
}
