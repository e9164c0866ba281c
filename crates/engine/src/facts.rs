//! What a decision needs to know besides its own stream: read before, handed in.

use protocol::agent::Agent;
use protocol::caller::Caller;
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::message::decide::send::BROADCAST_MAX;
use protocol::step::{Directory, Facts, HoldState, Needs, State};

use crate::Engine;
use crate::port::{List, ListOf, StoreError};

/// Everyone, the sender among them, and one more that shows that they are too many.
const DIRECTORY_ROWS_MAX: usize = BROADCAST_MAX + 2;

impl Engine {
    pub(crate) async fn facts(
        &self,
        caller: &Caller,
        stream: &Stream,
        needs: Needs,
        hold: HoldState,
    ) -> Result<Facts, StoreError> {
        let mut facts = Facts::default();
        if let Some(id) = needs.agent {
            facts.agent = self.agent(&stream.teamspace, id).await?;
        }
        if needs.caller
            && let Some(id) = caller.agent()
        {
            facts.caller = self.agent(&stream.teamspace, id.clone()).await?;
        }
        if needs.hold.is_some() {
            facts.hold = hold;
        }
        if let Some(hash) = needs.document {
            facts.document = self.store.document(stream, &hash).await?;
        }
        if let Some(directory) = needs.directory {
            facts.directory = self.directory(&stream.teamspace, directory).await?;
        }
        if let Some(id) = needs.message {
            let subject = Subject::Message(id);
            let stream = Stream { teamspace: stream.teamspace.clone(), subject };
            facts.message = match self.current(&stream).await?.as_deref() {
                Some(State::Message(message)) => Some(message.clone()),
                Some(
                    State::Handoff(_)
                    | State::Agent(_)
                    | State::Token(_)
                    | State::Ledger(_)
                    | State::Teamspace(_),
                )
                | None => None,
            };
        }
        if needs.settings {
            facts.settings = self.settings(&stream.teamspace).await?;
        }
        Ok(facts)
    }

    async fn agent(
        &self,
        teamspace: &TeamspaceId,
        id: AgentId,
    ) -> Result<Option<Agent>, StoreError> {
        let stream = Stream { teamspace: teamspace.clone(), subject: Subject::Agent(id) };
        Ok(match self.current(&stream).await?.as_deref() {
            Some(State::Agent(agent)) => Some(agent.clone()),
            Some(
                State::Handoff(_)
                | State::Token(_)
                | State::Message(_)
                | State::Ledger(_)
                | State::Teamspace(_),
            )
            | None => None,
        })
    }

    async fn directory(
        &self,
        teamspace: &TeamspaceId,
        directory: Directory,
    ) -> Result<Vec<AgentId>, StoreError> {
        match directory {
            Directory::Named(names) => {
                let mut found = Vec::with_capacity(names.len());
                for name in names {
                    found.extend(self.agent(teamspace, name).await?.map(|agent| agent.id));
                }
                Ok(found)
            }
            Directory::Everyone => {
                let (teamspace, limit) = (teamspace.clone(), DIRECTORY_ROWS_MAX);
                let list = List { teamspace, of: ListOf::Agents, before: None, limit };
                let rows = self.store.list(list).await?;
                let id_of = |subject: Subject| match subject {
                    Subject::Agent(id) => Some(id),
                    Subject::Handoff(_)
                    | Subject::Token(_)
                    | Subject::Message(_)
                    | Subject::Teamspace
                    | Subject::Ledger => None,
                };
                Ok(rows.into_iter().filter_map(|row| id_of(row.stream.subject)).collect())
            }
        }
    }
}
