//! Who a bearer is. The secret is hashed and looked up; what it may do comes from the token's own
//! stream, so that a revocation counts from the moment it is committed.

use std::collections::HashMap;
use std::sync::Mutex;

use protocol::caller::{Caller, Principal};
use protocol::canonical::{self, Hash};
use protocol::ids::TokenId;
use protocol::ledger::Stream;
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
        let principal: Option<Principal> = token.bearer(self.clock.now());
        Ok(principal.map(|principal| Bearer {
            token: token.id,
            caller: Caller {
                teamspace: stream.teamspace.clone(),
                principal,
                roles: token.grant.roles.clone(),
                session: format!("token:{}", token.id),
            },
        }))
    }
}

/// How a secret is kept.
pub fn secret_hash(secret: &str) -> String {
    canonical::hex(&canonical::sha256(&[secret.as_bytes()]))
}
