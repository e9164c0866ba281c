//! The queues of requests with events, one per session, and a rate limit on entries. An entry takes
//! a turn. When the turns are used up, pieces of answers wait and are joined with the pieces that
//! follow, so that many agents that stream cost other callers little. The teamspaces that announce
//! have equal shares of the turns, so a teamspace waits only for its own.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use aaep::read::read;
use protocol::caller::Caller;
use protocol::ids::TeamspaceId;
use protocol::ledger::Stream;
use protocol::session::ANNOUNCED_EVENTS_MAX;
use protocol::session::event::Said;
use protocol::time::{Span, Time};
use tokio::sync::{Notify, oneshot};

use crate::ports::store::StoreError;
use crate::road::submit::{Done, SubmitError};

/// An entry is read as a whole, so joined requests stay well below the limit of one request.
const JOINED_BYTES_MAX: usize = 1024 * 1024;

/// When one of the joined requests is refused, the others are decided again.
pub const JOINED_REQUESTS_MAX: usize = 64;

/// More requests than this for one session mean that the disk does not keep up.
const WAITING_REQUESTS_MAX: usize = 1_024;

/// The time of one turn: a thousand entries a second of all teamspaces together, as long as no
/// piece waits longer than allowed.
const TURN_MS: i64 = 1;

/// Up to this many turns ahead an entry is written at once. Past that, pieces of answers wait.
pub const TURNS_AHEAD: i64 = 32;

/// How long a piece of an answer waits for its turn. A person does not read or hear faster.
pub const TURN_WAIT_MAX: Span = Span::from_millis(250);

/// The requests that wait, by session.
#[derive(Debug, Default)]
pub struct Announcing {
    sessions: Mutex<Sessions>,
    /// Notified when no request waits any more.
    silence: Notify,
}

#[derive(Debug, Default)]
struct Sessions {
    /// A session that is here, with or without requests, has a task that writes for it.
    speaking: HashMap<Stream, Speaking>,
    /// Until when the turns of each teamspace are taken.
    taken_until: HashMap<TeamspaceId, Time>,
    /// The engine stops, so no request waits for a turn.
    is_stopping: bool,
}

#[derive(Debug, Default)]
struct Speaking {
    waiting: VecDeque<WaitingRequest>,
    /// The size of all waiting requests.
    size: Size,
    /// Notified when a request arrives that must not wait.
    hurry: Arc<Notify>,
}

#[derive(Debug)]
pub struct WaitingRequest {
    pub caller: Caller,
    pub events: Vec<Said>,
    pub answer: oneshot::Sender<Result<Done, SubmitError>>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Size {
    n_requests: usize,
    n_events: usize,
    n_bytes: usize,
}

impl Announcing {
    /// Queues a request. Returns whether the caller must start the task that writes for the
    /// session.
    pub fn push(
        &self,
        stream: &Stream,
        waiting: WaitingRequest,
        now: Time,
    ) -> Result<bool, StoreError> {
        let is_calm = self.lock().wait(&stream.teamspace, now).is_none();
        // Events are read only where it matters, and without the lock on the queues.
        let may_wait = !is_calm && waiting.events.iter().all(is_piece);
        let speaking = &mut self.lock().speaking;
        let leads = !speaking.contains_key(stream);
        let session = speaking.entry(stream.clone()).or_default();
        if session.waiting.len() >= WAITING_REQUESTS_MAX {
            return Err(StoreError::Overloaded);
        }
        session.size = session.size.and(&waiting);
        session.waiting.push_back(waiting);
        if !may_wait || session.size.fills_an_entry() {
            session.hurry.notify_one();
        }
        Ok(leads)
    }

    /// The requests of a session stop waiting for a turn.
    pub fn hurry(&self, stream: &Stream) {
        if let Some(session) = self.lock().speaking.get(stream) {
            session.hurry.notify_one();
        }
    }

    /// Nothing waits for its turn from now on. Returns when nothing waits at all.
    pub async fn finish(&self) {
        {
            let mut all = self.lock();
            all.is_stopping = true;
            all.speaking.values().for_each(|session| session.hurry.notify_one());
        }
        loop {
            let silence = self.silence.notified();
            if self.lock().speaking.is_empty() {
                return;
            }
            silence.await;
        }
    }

    /// Takes a turn for the next entry of a session. Returns how long to wait for it, if at all,
    /// and what is notified if it must not wait.
    pub fn turn(&self, stream: &Stream, now: Time) -> Option<(Span, Arc<Notify>)> {
        let mut all = self.lock();
        let session = all.speaking.get(stream).filter(|session| !session.waiting.is_empty())?;
        let hurry = session.hurry.clone();
        let wait = all.wait(&stream.teamspace, now);
        all.take_turn(&stream.teamspace, now);
        wait.map(|span| (span, hurry))
    }

    /// The requests that go into the next entry, in order. If there are none, the session is
    /// removed.
    pub fn take(&self, stream: &Stream) -> Option<Vec<WaitingRequest>> {
        let mut all = self.lock();
        let session = all.speaking.get_mut(stream)?;
        let Some(first) = session.waiting.pop_front() else {
            self.forget(&mut all, stream);
            return None;
        };
        let mut size = Size::default().and(&first);
        let mut group = vec![first];
        while let Some(next) = session.waiting.front() {
            let more = size.and(next);
            if !more.fits_an_entry() || next.caller.principal != group[0].caller.principal {
                break;
            }
            size = more;
            group.extend(session.waiting.pop_front());
        }
        session.size = session.size.without(size);
        session.hurry = Arc::default();
        if !session.waiting.is_empty() {
            // There is more already than an entry holds.
            session.hurry.notify_one();
        }
        Some(group)
    }

    /// The task of a session has ended. Requests that still wait are answered that their result is
    /// unknown.
    pub fn give_up(&self, stream: &Stream) {
        self.forget(&mut self.lock(), stream);
    }

    fn forget(&self, all: &mut Sessions, stream: &Stream) {
        all.speaking.remove(stream);
        if all.speaking.is_empty() {
            self.silence.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().expect("nothing panics while holding the queues")
    }
}

impl Sessions {
    fn take_turn(&mut self, teamspace: &TeamspaceId, now: Time) {
        self.taken_until.retain(|_, until| *until > now);
        let taken_until = self.taken_until.entry(teamspace.clone()).or_insert(now);
        let ahead = Span::from_millis(TURNS_AHEAD * TURN_MS + TURN_WAIT_MAX.as_millis());
        let turn = (*taken_until).clamp(now, now.plus(ahead));
        let n_teamspaces = i64::try_from(self.taken_until.len()).unwrap_or(i64::MAX);
        let turn = turn.plus(Span::from_millis(TURN_MS.saturating_mul(n_teamspaces)));
        self.taken_until.insert(teamspace.clone(), turn);
    }

    /// How long the next piece of an answer waits for its turn, if at all.
    fn wait(&self, teamspace: &TeamspaceId, now: Time) -> Option<Span> {
        let ahead_ms = self.taken_until.get(teamspace)?.since(now).as_millis();
        let wait_ms = (ahead_ms - TURNS_AHEAD * TURN_MS).min(TURN_WAIT_MAX.as_millis());
        (wait_ms > 0 && !self.is_stopping).then(|| Span::from_millis(wait_ms))
    }
}

impl Size {
    fn and(self, waiting: &WaitingRequest) -> Self {
        Self {
            n_requests: self.n_requests + 1,
            n_events: self.n_events + waiting.events.len(),
            n_bytes: self.n_bytes
                + waiting.events.iter().map(|said| said.text().len()).sum::<usize>(),
        }
    }

    fn without(self, taken: Size) -> Self {
        Self {
            n_requests: self.n_requests - taken.n_requests,
            n_events: self.n_events - taken.n_events,
            n_bytes: self.n_bytes - taken.n_bytes,
        }
    }

    fn fits_an_entry(&self) -> bool {
        self.n_requests <= JOINED_REQUESTS_MAX
            && self.n_events <= ANNOUNCED_EVENTS_MAX
            && self.n_bytes <= JOINED_BYTES_MAX
    }

    /// Nothing more would fit.
    fn fills_an_entry(&self) -> bool {
        self.n_requests >= JOINED_REQUESTS_MAX
            || self.n_events >= ANNOUNCED_EVENTS_MAX
            || self.n_bytes >= JOINED_BYTES_MAX
    }
}

/// An event that cannot be read does not wait: it is refused.
fn is_piece(said: &Said) -> bool {
    read(said.text()).is_ok_and(|event| event.is_piece())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_teamspace_waits_for_its_own_turns() {
        let now = Time::from_millis(1_000_000);
        let teamspace = |name: &str| name.parse::<TeamspaceId>().expect("a teamspace");
        let (flood, small) = (teamspace("flood"), teamspace("small"));
        let mut all = Sessions::default();
        for _ in 0..10_000 {
            all.take_turn(&flood, now);
        }
        assert_eq!(all.wait(&flood, now), Some(TURN_WAIT_MAX));
        let mut n_at_once = 0;
        while all.wait(&small, now).is_none() {
            all.take_turn(&small, now);
            n_at_once += 1;
        }
        assert_eq!(n_at_once, TURNS_AHEAD / 2 + 1, "half of the turns");
        let later = now.plus(Span::from_millis(TURNS_AHEAD + 2 * TURN_WAIT_MAX.as_millis()));
        assert_eq!(all.wait(&flood, later), None);
        all.take_turn(&small, later);
        assert_eq!(all.taken_until.len(), 1, "those who do not announce are forgotten");
    }
}
