//! Who a bearer is. The secret is hashed and looked up; what it may do comes from the token's own
//! stream, so that a revocation counts from the moment it is committed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;

use protocol::caller::{Caller, Principal, Role};
use protocol::canonical::{self, Hash};
use protocol::ids::{AgentId, TeamspaceId, TokenId};
use protocol::ledger::{Stream, Subject};
use protocol::step::State;

use crate::Engine;
use crate::port::StoreError;

/// Which stream belongs to a secret never changes, so it is worth remembering; past this many the
/// memory starts afresh.
const KNOWN_SECRETS_MAX: usize = 10_000;

/// Long enough for any runtime's own session ids.
pub const SESSION_BYTES_MAX: usize = 200;

#[derive(Debug, Default)]
pub struct Directory {
    /// By the hash of the secret.
    streams: Mutex<HashMap<Hash, Stream>>,
}

/// An authenticated bearer.
#[derive(Debug, Clone)]
pub struct Bearer {
    pub token: TokenId,
    pub caller: Caller,
}

impl Engine {
    /// The bearer of a secret, or `None` when there is no such token, or no longer.
    pub async fn authenticate(&self, secret: &str) -> Result<Option<Bearer>, StoreError> {
        let hash = canonical::sha256(&[secret.as_bytes()]);
        let known = self.access.streams.lock().expect("nothing panics in here").get(&hash).cloned();
        let stream = match known {
            Some(stream) => stream,
            None => {
                let Some(stream) = self.store.token_stream(&canonical::hex(&hash)).await? else {
                    return Ok(None);
                };
                let mut streams = self.access.streams.lock().expect("nothing panics in here");
                if streams.len() >= KNOWN_SECRETS_MAX {
                    streams.clear();
                }
                streams.insert(hash, stream.clone());
                stream
            }
        };
        let state = self.current(&stream).await?;
        let Some(State::Token(token)) = state.as_deref() else { return Ok(None) };
        let Some(principal) = token.bearer(self.clock.now()) else { return Ok(None) };
        let mut roles = token.grant.roles.clone();
        if let Principal::Agent(id) = &principal {
            roles.extend(self.roles_of(&stream.teamspace, id).await?);
        }
        let session = format!("token:{}", token.id);
        let caller = Caller { teamspace: stream.teamspace, principal, roles, session };
        Ok(Some(Bearer { token: token.id, caller }))
    }

    /// What the directory trusts an agent with.
    pub async fn roles_of(
        &self,
        teamspace: &TeamspaceId,
        id: &AgentId,
    ) -> Result<BTreeSet<Role>, StoreError> {
        let subject = Subject::Agent(id.clone());
        let stream = Stream { teamspace: teamspace.clone(), subject };
        Ok(match self.current(&stream).await?.as_deref() {
            Some(State::Agent(agent)) => agent.roles.clone(),
            Some(
                State::Handoff(_)
                | State::Token(_)
                | State::Ledger(_)
                | State::Message(_)
                | State::Conversation(_)
                | State::Graph(_)
                | State::Subscription(_)
                | State::Session(_)
                | State::Teamspace(_),
            )
            | None => BTreeSet::new(),
        })
    }
}

/// How a secret is kept.
pub fn secret_hash(secret: &str) -> String {
    canonical::hex(&canonical::sha256(&[secret.as_bytes()]))
}
