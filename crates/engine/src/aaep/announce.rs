//! Recording the events that agents announce. Requests for a session that arrive while its last
//! commit is under way, or while it waits for its turn, share the next commit, so an agent that
//! streams an answer costs the ledger few entries. Each request gets its own answer, and one that
//! is refused fails alone.

mod waiting;

use std::collections::VecDeque;

use protocol::caller::Caller;
use protocol::ids::SessionId;
use protocol::ledger::{Stream, Subject};
use protocol::rejection::Rejection;
use protocol::session::event::Said;
use protocol::session::{self, ANNOUNCED_EVENTS_MAX, Answer};
use protocol::step::Command;
use tokio::sync::{oneshot, watch};

use crate::Engine;
use crate::aaep::Sessions;
use crate::ports::store::StoreError;
use crate::road::submit::{Done, SubmitError};
use waiting::WaitingRequest;

pub use waiting::{Announcing, JOINED_REQUESTS_MAX, TURN_WAIT_MAX, TURNS_AHEAD};

/// Whether an answer counted. The caller that gave it is not told why it did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    Yes,
    No,
}

impl Sessions<'_> {
    /// Records events of a session, all of them or none. `Ok` means that they are in the ledger.
    pub async fn announce(
        self,
        caller: &Caller,
        session: &SessionId,
        events: Vec<Said>,
    ) -> Result<Done, SubmitError> {
        let stream = session_stream(caller, session);
        if !(1..=ANNOUNCED_EVENTS_MAX).contains(&events.len()) {
            let command = Command::Session(session::Command::Announce { events });
            return self.engine.submit(caller, stream, command, None).await;
        }
        let (answer, answered) = oneshot::channel();
        let waiting = WaitingRequest { caller: caller.clone(), events, answer };
        let leads = self.engine.announcing.push(&stream, waiting, self.engine.clock.now())?;
        if leads {
            // A task of its own: a client that disconnects must not leave the other requests
            // waiting.
            let engine = self.engine.clone();
            tokio::spawn(async move { engine.sessions().announce_waiting(stream).await });
        }
        answered.await.unwrap_or(Err(SubmitError::Store(StoreError::Unknown)))
    }

    /// Answers a question, which is named by the token with which its producer asked it.
    pub async fn answer(
        self,
        caller: &Caller,
        session: &SessionId,
        answer: Answer,
    ) -> Result<Counted, SubmitError> {
        let stream = session_stream(caller, session);
        let command = Command::Session(session::Command::Answer(Box::new(answer)));
        match self.engine.submit(caller, stream, command, None).await {
            Ok(_) => Ok(Counted::Yes),
            Err(SubmitError::Rejected(Rejection::NotAnswered { why })) => {
                tracing::debug!(%session, caller = %caller.principal, ?why, "an answer is ignored");
                Ok(Counted::No)
            }
            Err(error) => Err(error),
        }
    }

    /// Records at once what waits in a session for its turn.
    pub fn hurry(self, caller: &Caller, session: &SessionId) {
        self.engine.announcing.hurry(&session_stream(caller, session));
    }

    async fn announce_waiting(self, stream: Stream) {
        let _leading = Leading { announcing: &self.engine.announcing, stream: &stream };
        loop {
            self.await_turn(&stream).await;
            let Some(group) = self.engine.announcing.take(&stream) else { return };
            self.announce_group(&stream, group).await;
        }
    }

    /// Returns at once unless only pieces of an answer wait, and too many entries were written.
    async fn await_turn(self, stream: &Stream) {
        let Some((wait, hurry)) = self.engine.announcing.turn(stream, self.engine.clock.now())
        else {
            return;
        };
        tokio::select! {
            () = self.engine.clock.sleep(wait) => {}
            () = hurry.notified() => {}
        }
    }

    /// One entry for all of them. A request that breaks a rule is taken out, and the others try
    /// again, fewer at once: a group of which many are refused is not decided as often as it is
    /// long.
    async fn announce_group(self, stream: &Stream, group: Vec<WaitingRequest>) {
        let mut group = VecDeque::from(group);
        let mut at_once = AtOnce::all(group.len());
        while let Some(first) = group.front() {
            let n_at_once = at_once.of(group.len());
            let caller = first.caller.clone();
            let joined = group.iter().take(n_at_once);
            let events = joined.flat_map(|one| one.events.iter().cloned()).collect();
            let command = Command::Session(session::Command::Announce { events });
            let result = self.engine.submit(&caller, stream.clone(), command, None).await;
            let refused = match (&result, n_at_once) {
                (Err(SubmitError::Rejected(rejection)), 2..) => culprit(&group, rejection),
                (_, _) => None,
            };
            match refused.and_then(|(at, rejection)| Some((group.remove(at)?, rejection))) {
                Some((one, rejection)) => {
                    // The client may have disconnected.
                    let _ = one.answer.send(Err(rejection.into()));
                    at_once.refused();
                }
                None => {
                    for one in group.drain(..n_at_once) {
                        let _ = one.answer.send(result.clone());
                    }
                    at_once.recorded();
                }
            }
        }
    }
}

/// How many requests are tried at once. Each is then decided a few times at most, however many of
/// them are refused.
#[derive(Debug, Clone, Copy)]
struct AtOnce {
    n: usize,
    /// Whether one was refused since the last that were recorded.
    is_mixed: bool,
}

impl AtOnce {
    fn all(n: usize) -> Self {
        Self { n, is_mixed: false }
    }

    fn of(&mut self, n_left: usize) -> usize {
        self.n = self.n.clamp(1, n_left.max(1));
        self.n
    }

    /// After the first that is refused, the others may be fine.
    fn refused(&mut self) {
        if self.is_mixed {
            self.n /= 2;
        }
        self.is_mixed = true;
    }

    fn recorded(&mut self) {
        self.n *= 2;
        self.is_mixed = false;
    }
}

/// When the engine stops, whatever waits for its turn is recorded before the last checkpoint.
pub(crate) async fn run(engine: Engine, mut stopped: watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
    engine.announcing.finish().await;
}

/// Marks the task that writes for a session. If the task fails, dropping this frees the session.
struct Leading<'a> {
    announcing: &'a Announcing,
    stream: &'a Stream,
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.announcing.give_up(self.stream);
        }
    }
}

/// Which request of a group is refused, and its rejection.
fn culprit(group: &VecDeque<WaitingRequest>, rejection: &Rejection) -> Option<(usize, Rejection)> {
    let mut within = rejection.event_index()?;
    for (at, one) in group.iter().enumerate() {
        if within < one.events.len() {
            return Some((at, rejection.clone().at_event(within)));
        }
        within -= one.events.len();
    }
    None
}

pub fn session_stream(caller: &Caller, session: &SessionId) -> Stream {
    let subject = Subject::Session(session.clone());
    Stream { teamspace: caller.teamspace.clone(), subject }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many requests are decided until all of a full group are answered.
    fn n_decided(is_refused: impl Fn(usize) -> bool) -> usize {
        let mut group: VecDeque<usize> = (0..JOINED_REQUESTS_MAX).collect();
        let (mut at_once, mut n_decided) = (AtOnce::all(group.len()), 0);
        while !group.is_empty() {
            let n_at_once = at_once.of(group.len());
            n_decided += n_at_once;
            let refused = group.iter().take(n_at_once).position(|one| is_refused(*one));
            match refused.filter(|_| n_at_once > 1) {
                Some(at) => {
                    group.remove(at);
                    at_once.refused();
                }
                None => {
                    group.drain(..n_at_once);
                    at_once.recorded();
                }
            }
        }
        n_decided
    }

    #[test]
    fn each_of_a_group_is_decided_a_few_times() {
        assert_eq!(n_decided(|_| false), JOINED_REQUESTS_MAX);
        for every in 1..=JOINED_REQUESTS_MAX {
            for first in 0..every {
                let n_decided = n_decided(|number| number % every == first);
                assert!(n_decided <= 7 * JOINED_REQUESTS_MAX, "{n_decided}, one of {every}");
            }
        }
    }
}
