//! Token lookup: who a bearer is. The secret is hashed and looked up; its rights come from the
//! token's own stream and from the directory. The result is cached in memory, since every request
//! needs it. The store reports a change before it answers the caller that made it, so a token whose
//! revocation was confirmed is no longer in the cache.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use protocol::caller::{Caller, Principal, Role};
use protocol::canonical::{self, Hash};
use protocol::ids::{AgentId, TeamspaceId, TokenId};
use protocol::ledger::{Stream, Subject};
use protocol::step::State;
use protocol::time::Time;
use protocol::token::Token;
use protocol::webhook::Webhook;

use crate::ports::store::{Sequenced, StoreError};
use crate::read::Access;

/// A few hundred bytes each. Past this many the cache is cleared.
const KNOWN_BEARERS_MAX: usize = 10_000;

/// Long enough for any runtime's own session ids.
pub const SESSION_BYTES_MAX: usize = 200;

/// An authenticated bearer.
#[derive(Debug, Clone)]
pub struct Bearer {
    pub token: TokenId,
    pub caller: Caller,
    expires_at: Option<Time>,
}

#[derive(Debug, Default)]
pub struct KnownBearers {
    known: RwLock<BearerTable>,
    /// The latest time that was ever seen, in milliseconds. A token that has expired stays expired
    /// when the clock goes back.
    latest: AtomicI64,
}

#[derive(Debug, Default)]
struct BearerTable {
    /// By the hash of the secret.
    bearers: HashMap<Hash, Bearer>,
    /// Grows with every change, so that a value read before the change is not cached after it.
    generation: u64,
}

impl Access<'_> {
    /// The bearer of a secret, or `None` when there is no such token, or no longer.
    pub async fn authenticate(self, secret: &str) -> Result<Option<Bearer>, StoreError> {
        let hash = canonical::sha256(&[secret.as_bytes()]);
        let generation = {
            let known = self.engine.access.read();
            if let Some(bearer) = known.bearers.get(&hash) {
                let has_ended = bearer.expires_at.is_some_and(|expiry| expiry <= self.latest());
                return Ok((!has_ended).then(|| bearer.clone()));
            }
            known.generation
        };
        let bearer = Box::pin(self.read_bearer(&hash)).await?;
        if let Some(bearer) = &bearer {
            self.engine.access.learn(hash, bearer, generation);
        }
        Ok(bearer)
    }

    /// Time has been here, according to the ledger.
    pub fn note_time(self, at: Time) {
        self.engine.access.latest.fetch_max(at.as_millis(), Ordering::Relaxed);
    }

    /// Now, or the latest time that was ever seen.
    fn latest(self) -> Time {
        let now = self.engine.clock.now().as_millis();
        let before = self.engine.access.latest.fetch_max(now, Ordering::Relaxed);
        Time::from_millis(now.max(before))
    }

    async fn read_bearer(self, hash: &Hash) -> Result<Option<Bearer>, StoreError> {
        let Some(stream) = self.engine.store.token_stream(&canonical::hex(hash)).await? else {
            return Ok(None);
        };
        let state = self.engine.read().current(&stream).await?;
        let Some(State::Token(token)) = state.as_deref() else { return Ok(None) };
        // The index of secrets does not decide who a bearer is.
        if token.secret_hash != canonical::hex(hash) {
            return Ok(None);
        }
        let Some(caller) = self.caller_with(stream.teamspace, token).await? else {
            return Ok(None);
        };
        Ok(Some(Bearer { token: token.id, caller, expires_at: token.grant.expires_at }))
    }

    /// The caller with a token, if the token is still valid.
    async fn caller_with(
        self,
        teamspace: TeamspaceId,
        token: &Token,
    ) -> Result<Option<Caller>, StoreError> {
        let Some(principal) = token.bearer(self.latest()) else { return Ok(None) };
        let mut roles = token.grant.roles.clone();
        if let Principal::Agent(id) = &principal {
            roles.extend(self.roles_of(&teamspace, id).await?);
        }
        let session = format!("token:{}", token.id);
        Ok(Some(Caller { teamspace, principal, roles, session }))
    }

    /// Whose eyes a webhook has: those of the token that it was made with, as long as that is
    /// valid. One that was made on the control socket has those of its owner.
    pub(crate) async fn webhook_reader(
        self,
        stream: &Stream,
        webhook: &Webhook,
    ) -> Result<Option<Caller>, StoreError> {
        let teamspace = stream.teamspace.clone();
        if let Some(id) = webhook.token {
            let stream = Stream { teamspace: teamspace.clone(), subject: Subject::Token(id) };
            let state = self.engine.read().current(&stream).await?;
            let Some(State::Token(token)) = state.as_deref() else { return Ok(None) };
            let caller = self.caller_with(teamspace, token).await?;
            return Ok(caller.filter(|caller| webhook.is_of(caller)));
        }
        let Ok(principal) = webhook.owner.parse::<Principal>() else { return Ok(None) };
        let roles = match &principal {
            Principal::Agent(id) => self.roles_of(&teamspace, id).await?,
            Principal::Operator(_) | Principal::Customer(_) | Principal::System => BTreeSet::new(),
        };
        Ok(Some(Caller { principal, roles, ..Caller::system(teamspace) }))
    }

    /// The roles that the directory gives an agent.
    pub async fn roles_of(
        self,
        teamspace: &TeamspaceId,
        id: &AgentId,
    ) -> Result<BTreeSet<Role>, StoreError> {
        let subject = Subject::Agent(id.clone());
        let stream = Stream { teamspace: teamspace.clone(), subject };
        let state = self.engine.read().current(&stream).await?;
        let agent = state.as_deref().and_then(State::as_agent);
        Ok(agent.map(|agent| agent.roles.clone()).unwrap_or_default())
    }
}

impl KnownBearers {
    /// Drops the bearers that committed entries change. The next lookup reads them again.
    pub fn update(&self, entries: &[Sequenced]) {
        for Sequenced { entry, .. } in entries {
            // All that can change who a bearer is, or what it may do.
            let is_heeded = ["token.revoked", "agent.roles_changed"].contains(&&*entry.name);
            if is_heeded {
                let mut known = self.write();
                known.bearers.retain(|_, bearer| !bearer.is_of(&entry.stream));
                known.generation += 1;
            }
        }
    }

    fn learn(&self, hash: Hash, bearer: &Bearer, generation: u64) {
        let mut known = self.write();
        if known.generation != generation {
            return;
        }
        if known.bearers.len() >= KNOWN_BEARERS_MAX {
            known.bearers.clear();
        }
        known.bearers.insert(hash, bearer.clone());
    }

    fn read(&self) -> RwLockReadGuard<'_, BearerTable> {
        self.known.read().expect("nothing panics in here")
    }

    fn write(&self) -> RwLockWriteGuard<'_, BearerTable> {
        self.known.write().expect("nothing panics in here")
    }
}

impl Bearer {
    /// Whether a stream is that of its token, or of the agent behind it.
    fn is_of(&self, stream: &Stream) -> bool {
        let is_subject = matches!(&stream.subject, Subject::Token(id) if *id == self.token)
            || matches!(&stream.subject, Subject::Agent(id) if self.caller.agent() == Some(id));
        is_subject && stream.teamspace == self.caller.teamspace
    }
}

/// The form in which a secret is stored.
pub fn secret_hash(secret: &str) -> String {
    canonical::hex(&canonical::sha256(&[secret.as_bytes()]))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use protocol::ledger::{Body, Entry, GENESIS};

    use super::*;

    fn entry(stream: Stream, name: &'static str) -> Vec<Sequenced> {
        let entry = Entry {
            stream,
            position: 2,
            name: name.into(),
            version: 1,
            actor: Arc::from("operator:root"),
            at: Time::from_millis(1),
            body: Body::Erased { commitment: GENESIS },
            hash: GENESIS,
        };
        vec![Sequenced { seq: 2, entry }]
    }

    #[test]
    fn what_was_read_before_a_change_is_not_kept_and_what_is_kept_goes_with_it() {
        let token: TokenId = "01938c2e-0000-7000-8000-000000000001".parse().unwrap();
        let teamspace = TeamspaceId::default_teamspace();
        let principal = Principal::Agent("barry".parse().unwrap());
        let (roles, session) = (BTreeSet::new(), String::new());
        let caller = Caller { teamspace: teamspace.clone(), principal, roles, session };
        let bearer = Bearer { token, caller, expires_at: None };
        let stream = |subject| Stream { teamspace: teamspace.clone(), subject };
        let own = || Subject::Agent("barry".parse().unwrap());
        let other = || Subject::Agent("tim".parse().unwrap());
        // A change, whether a value read before it may be cached, and whether it evicts a cached
        // one.
        let rows = [
            (Subject::Token(token), "token.revoked", false, true),
            (Subject::Token(token), "token.issued", true, false),
            (own(), "agent.roles_changed", false, true),
            (own(), "agent.presence_changed", true, false),
            (other(), "agent.roles_changed", false, false),
        ];
        for (subject, name, may_keep, takes) in rows {
            let known = KnownBearers::default();
            let generation = known.read().generation;
            known.update(&entry(stream(subject.clone()), name));
            known.learn(GENESIS, &bearer, generation);
            assert_eq!(known.read().bearers.len(), usize::from(may_keep), "{subject} {name}");
            let generation = known.read().generation;
            known.learn(GENESIS, &bearer, generation);
            known.update(&entry(stream(subject.clone()), name));
            assert_eq!(known.read().bearers.is_empty(), takes, "{subject} {name}");
        }
    }
}
