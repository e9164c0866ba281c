//! Who waits for a person, and where.

use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::Stream;
use protocol::queue::OrderKey;
use protocol::step::State;
use protocol::transfer::state::Waiting;

use super::Tables;

impl Tables {
    /// Conversations that wait for a person, and where.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (&Stream, Waiting<'_>)> {
        self.streams.iter().filter_map(|(stream, row)| match row.state.as_ref() {
            State::Conversation(conversation) => {
                let transfer = conversation.open_transfer()?;
                Some((stream, transfer.waiting()?))
            }
            State::Handoff(_)
            | State::Agent(_)
            | State::Token(_)
            | State::Ledger(_)
            | State::Message(_)
            | State::Graph(_)
            | State::Teamspace(_) => None,
        })
    }

    pub(super) fn waiting_in<'t>(
        &'t self,
        teamspace: &'t TeamspaceId,
        queue: &'t AgentId,
    ) -> impl Iterator<Item = (OrderKey, String, &'t Stream)> {
        let here = self
            .waiting()
            .filter(move |(stream, it)| stream.teamspace == *teamspace && it.queue == queue);
        here.map(|(stream, waiting)| (waiting.order, stream.subject.id(), stream))
    }
}
