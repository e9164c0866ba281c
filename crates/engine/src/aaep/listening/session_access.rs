//! Which sessions a listener hears: those that it asked for and that its token may hear.

use aaep::negotiate::Scope;
use protocol::caller::Caller;
use protocol::entry_names::is_for_listeners;
use protocol::ledger::{Stream, Subject};
use protocol::session::Session;
use protocol::step::State;
use protocol::visibility;

use super::Listening;
use crate::aaep::Listeners;
use crate::ledger::announced::tells;
use crate::ledger::feed::Followed;
use crate::ports::store::StoreError;

/// Sessions that are cached. Beyond that the cache is cleared.
const SIGHTS_MAX: usize = 1_024;

impl Listeners<'_> {
    /// Whether a caller may hear what is announced in a session.
    pub async fn may_hear(self, caller: &Caller, session: &Session) -> Result<bool, StoreError> {
        let conversation = match session.conversation {
            Some(id) => {
                let subject = Subject::Conversation(id);
                let stream = Stream { teamspace: caller.teamspace.clone(), subject };
                self.engine.read().current(&stream).await?
            }
            None => None,
        };
        let agent = match caller.agent() {
            Some(id) => self.engine.agent(&caller.teamspace, id.clone()).await?,
            None => None,
        };
        let conversation = conversation.as_deref().and_then(State::as_conversation);
        Ok(visibility::may_hear(caller, session, conversation, agent.map(|agent| agent.kind)))
    }
}

impl Listening {
    /// The same as [`Self::is_heard`], if the answer is known without reading the store.
    pub(super) fn known_sight(&self, followed: &Followed) -> Option<bool> {
        let entry = &followed.sequenced.entry;
        let Subject::Session(id) = &entry.stream.subject else { return Some(false) };
        if entry.stream.teamspace != self.caller.teamspace || !is_for_listeners(&entry.name) {
            return Some(false);
        }
        self.sights.get(id).copied()
    }

    /// Whether an entry announces something that this listener may hear and asked for.
    pub(super) async fn is_heard(&mut self, followed: &Followed) -> Result<bool, StoreError> {
        if let Some(known) = self.known_sight(followed) {
            return Ok(known);
        }
        let entry = &followed.sequenced.entry;
        let Subject::Session(id) = &entry.stream.subject else { return Ok(false) };
        let is_heard = match self.engine.sessions().session(&entry.stream).await? {
            Some(session) => self.is_wanted(&session).await?,
            None => false,
        };
        if self.sights.len() >= SIGHTS_MAX {
            self.sights.clear();
        }
        self.sights.insert(id.clone(), is_heard);
        Ok(is_heard)
    }

    pub(super) async fn is_wanted(&self, session: &Session) -> Result<bool, StoreError> {
        let Scope { session_id, conversation_id, agent_id, .. } = &self.scope;
        let conversation = session.conversation.map(|id| id.to_string());
        let is_in_scope = session_id.as_deref().is_none_or(|id| id == session.id.as_str())
            && agent_id.as_deref().is_none_or(|id| id == session.producer.as_str())
            && (conversation_id.is_none() || *conversation_id == conversation);
        Ok(is_in_scope && self.engine.listeners().may_hear(&self.caller, session).await?)
    }
}
