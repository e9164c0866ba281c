//! How many streams and sockets are open: in all, of each teamspace and by each credential.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::loops::connections::OpenConnection;
use protocol::caller::{Caller, Principal};
use protocol::ids::TeamspaceId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::shared::auth::Asker;
use crate::http::shared::credential::Credential;
use crate::http::shared::gateway::{Gateway, OpenStreams, UnreadRooms};
use crate::http::shared::problem::Problem;

/// The part of all streams that one teamspace cannot take: one in so many.
const OTHERS_SHARE: usize = 4;

/// What the streams and sockets of one token hold for their readers, in bytes, and those of a
/// teamspace. Beyond it they wait until something was read; who reads nothing is cut off. Most of
/// the streams that wait for each other have the same token, and so the same owner.
const TOKEN_UNREAD_BYTES_MAX: usize = 4 * 1024 * 1024;
const UNREAD_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Something that waits for a reader. Its room is given back when it is dropped.
#[derive(Debug)]
pub struct Unread {
    of_token: OwnedSemaphorePermit,
    of_teamspace: OwnedSemaphorePermit,
}

impl Unread {
    pub fn merge(&mut self, other: Self) {
        self.of_token.merge(other.of_token);
        self.of_teamspace.merge(other.of_teamspace);
    }
}

/// The room for what a stream holds for its reader.
#[derive(Debug, Clone)]
pub struct UnreadRoom {
    of_token: Arc<Semaphore>,
    of_teamspace: Arc<Semaphore>,
}

impl UnreadRoom {
    /// Waits until there is room for so many bytes more.
    pub async fn hold(&self, n_bytes: usize) -> Unread {
        let Self { of_token, of_teamspace } = self.clone();
        let n_bytes = counted(n_bytes);
        // In this order: who waits for the others holds nothing that they wait for.
        let of_token = of_token.acquire_many_owned(n_bytes).await.expect("it is never closed");
        let of_teamspace = of_teamspace.acquire_many_owned(n_bytes).await;
        Unread { of_token, of_teamspace: of_teamspace.expect("it is never closed") }
    }

    /// The same if there is room at once.
    pub fn try_hold(&self, n_bytes: usize) -> Option<Unread> {
        let Self { of_token, of_teamspace } = self.clone();
        let n_bytes = counted(n_bytes);
        let of_token = of_token.try_acquire_many_owned(n_bytes).ok()?;
        let of_teamspace = of_teamspace.try_acquire_many_owned(n_bytes).ok()?;
        Some(Unread { of_token, of_teamspace })
    }
}

/// One that is longer than all that a token may hold takes all of it.
fn counted(n_bytes: usize) -> u32 {
    u32::try_from(n_bytes.min(TOKEN_UNREAD_BYTES_MAX)).expect("it is small")
}

impl OpenStreams {
    /// The room of a caller, for as long as a stream of its teamspace is open.
    pub fn unread_room(&self, asker: &Asker) -> UnreadRoom {
        let mut owners = self.by_owner.lock().expect("nothing panics in here");
        let rooms = owners.unread.entry(asker.caller.teamspace.clone());
        let rooms = rooms.or_insert_with(|| UnreadRooms {
            all: Arc::new(Semaphore::new(UNREAD_BYTES_MAX)),
            by_credential: HashMap::new(),
        });
        let own = rooms.by_credential.entry(asker.credential);
        let own = own.or_insert_with(|| Arc::new(Semaphore::new(TOKEN_UNREAD_BYTES_MAX)));
        UnreadRoom { of_token: Arc::clone(own), of_teamspace: Arc::clone(&rooms.all) }
    }
}

/// A counted place among the open streams, given back when dropped.
pub struct OpenStream {
    streams: Arc<OpenStreams>,
    credential: Credential,
    teamspace: TeamspaceId,
    /// Marks the subscriber as connected; only people's connections are recorded.
    _connection: Option<OpenConnection>,
}

impl OpenStream {
    /// Counts a new stream. Refused if the credential has `per_token_max` streams open, if its
    /// teamspace has taken what is not kept for others, or if the server has its maximum.
    pub fn take(gateway: &Gateway, asker: &Asker, per_token_max: usize) -> Result<Self, Problem> {
        let (credential, teamspace) = (asker.credential, asker.caller.teamspace.clone());
        let streams = Arc::clone(&gateway.streams);
        let full = || Problem::new("too_many_streams", "too many streams are open");
        {
            let mut owners = streams.by_owner.lock().expect("nothing panics in here");
            let streams_max = gateway.limits.streams_max;
            let of_teamspace_max = streams_max - streams_max / OTHERS_SHARE;
            let n_open = |count: Option<&usize>| count.copied().unwrap_or_default();
            let is_full = n_open(owners.credentials.get(&credential)) >= per_token_max
                || n_open(owners.teamspaces.get(&teamspace)) >= of_teamspace_max
                || streams.all.load(Ordering::Relaxed) >= streams_max;
            if is_full {
                return Err(full());
            }
            *owners.credentials.entry(credential).or_default() += 1;
            *owners.teamspaces.entry(teamspace.clone()).or_default() += 1;
        }
        streams.all.fetch_add(1, Ordering::Relaxed);
        let connection = match (credential, asker.caller.agent()) {
            (Credential::Token(_), Some(agent)) => {
                Some(gateway.engine.queues().connection_opened(&asker.caller.teamspace, agent))
            }
            // The owner of the data folder may act as any agent, but that does not mean the agent
            // is connected.
            (Credential::Local | Credential::Open, _) | (Credential::Token(_), None) => None,
        };
        Ok(Self { streams, credential, teamspace, _connection: connection })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.streams.all.fetch_sub(1, Ordering::Relaxed);
        let mut owners = self.streams.by_owner.lock().expect("nothing panics in here");
        give_back(&mut owners.credentials, &self.credential);
        give_back(&mut owners.teamspaces, &self.teamspace);
        let has_streams = owners.credentials.contains_key(&self.credential);
        let is_followed = owners.teamspaces.contains_key(&self.teamspace);
        match owners.unread.get_mut(&self.teamspace) {
            Some(_) if !is_followed => drop(owners.unread.remove(&self.teamspace)),
            Some(rooms) if !has_streams => drop(rooms.by_credential.remove(&self.credential)),
            Some(_) | None => {}
        }
    }
}

fn give_back<K: Eq + Hash>(open: &mut HashMap<K, usize>, owner: &K) {
    if let Some(n_open) = open.get_mut(owner) {
        *n_open -= 1;
        if *n_open == 0 {
            open.remove(owner);
        }
    }
}

/// A counted place among the exports of a caller and its teamspace, given back when dropped.
pub struct OpenExport {
    streams: Arc<OpenStreams>,
    teamspace: TeamspaceId,
    principal: Principal,
}

/// How many exports may be open at once.
#[derive(Debug, Clone, Copy)]
pub struct ExportsMax {
    pub of_caller: usize,
    pub of_teamspace: usize,
}

impl OpenExport {
    pub fn take(
        streams: &Arc<OpenStreams>,
        caller: &Caller,
        n_max: ExportsMax,
    ) -> Result<Self, Problem> {
        let Caller { teamspace, principal, .. } = caller;
        {
            let mut exports = streams.exports.lock().expect("nothing panics in here");
            let open = exports.entry(teamspace.clone()).or_default();
            let n_own = open.get(principal).copied().unwrap_or_default();
            let (whose, n_max) = match open.values().sum::<usize>() {
                _ if n_own >= n_max.of_caller => ("the caller", n_max.of_caller),
                n_open if n_open >= n_max.of_teamspace => ("the teamspace", n_max.of_teamspace),
                _ => {
                    *open.entry(principal.clone()).or_default() += 1;
                    let (teamspace, principal) = (teamspace.clone(), principal.clone());
                    return Ok(Self { streams: Arc::clone(streams), teamspace, principal });
                }
            };
            let detail = format!("{whose} has {n_max} exports open; end one first");
            Err(Problem::new("too_many_streams", detail).retry_after(1))
        }
    }
}

impl Drop for OpenExport {
    fn drop(&mut self) {
        let mut exports = self.streams.exports.lock().expect("nothing panics in here");
        let Some(open) = exports.get_mut(&self.teamspace) else { return };
        if let Some(own) = open.get_mut(&self.principal) {
            *own -= 1;
        }
        open.retain(|_, own| *own > 0);
        if open.is_empty() {
            exports.remove(&self.teamspace);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[tokio::test]
    async fn who_does_not_read_delays_only_streams_of_the_same_token() {
        let room = |of_teamspace: &Arc<Semaphore>| UnreadRoom {
            of_token: Arc::new(Semaphore::new(TOKEN_UNREAD_BYTES_MAX)),
            of_teamspace: Arc::clone(of_teamspace),
        };
        let all = Arc::new(Semaphore::new(3 * TOKEN_UNREAD_BYTES_MAX / 2));
        let (slow, reading) = (room(&all), room(&all));
        let mut held = slow.hold(TOKEN_UNREAD_BYTES_MAX - 1).await;
        held.merge(slow.hold(1).await);
        assert!(slow.try_hold(1).is_none());
        let small = reading.try_hold(1).expect("it has its own room");
        assert!(reading.try_hold(TOKEN_UNREAD_BYTES_MAX).is_none(), "the teamspace has a limit");
        drop(held);
        drop(small);
        let whole = slow.hold(usize::MAX).await;
        assert!(slow.try_hold(1).is_none(), "a long one takes all that a token has");
        drop(whole);
        assert_eq!(all.available_permits(), 3 * TOKEN_UNREAD_BYTES_MAX / 2);
    }

    #[test]
    fn a_caller_and_a_teamspace_have_a_few_exports_open() {
        let streams = Arc::<OpenStreams>::default();
        let take = |teamspace: &str, agent: &str| {
            let teamspace = teamspace.parse().expect("a teamspace");
            let principal = Principal::Agent(agent.parse().expect("an agent"));
            let roles = BTreeSet::new();
            let caller = Caller { teamspace, principal, roles, session: String::new() };
            OpenExport::take(&streams, &caller, ExportsMax { of_caller: 2, of_teamspace: 3 })
        };
        let is_full = |taken: Result<OpenExport, Problem>, whose: &str| {
            taken.is_err_and(|it| it.code == "too_many_streams" && it.detail.contains(whose))
        };
        let (first, second) = (take("acme", "bob").ok(), take("acme", "bob").ok());
        assert!(first.is_some() && is_full(take("acme", "bob"), "the caller"));
        let third = take("acme", "eve").ok();
        assert!(third.is_some(), "another caller has its own");
        assert!(is_full(take("acme", "ann"), "the teamspace"));
        assert!(take("other", "bob").is_ok(), "another teamspace has its own");
        drop(first);
        assert!(take("acme", "bob").is_ok(), "one has ended");
        drop((third, second));
        assert!(streams.exports.lock().expect("nothing panics").is_empty());
    }
}
