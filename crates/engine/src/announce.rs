//! What agents announce. Requests for a session that arrive while its last commit is under way
//! share the next one: an agent that streams an answer costs the ledger as few entries as its disk
//! is slow. Each request has its own answer, and one that is refused fails alone.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use protocol::caller::Caller;
use protocol::codec;
use protocol::ids::SessionId;
use protocol::ledger::{Stream, Subject};
use protocol::rejection::Rejection;
use protocol::session::event::Said;
use protocol::session::state::Place;
use protocol::session::{self, ANNOUNCED_EVENTS_MAX, Answer, Known};
use protocol::step::{self, Command, HoldState};
use tokio::sync::oneshot;

use crate::Engine;
use crate::port::StoreError;
use crate::submit::{Asked, AssumedHold, Done, SubmitError};

/// An entry is read as a whole, so what is joined stays well below what a request may carry.
const JOINED_BYTES_MAX: usize = 1024 * 1024;

/// More requests than this for one session wait for a disk that does not keep up.
const WAITING_REQUESTS_MAX: usize = 1_024;

/// What is read of the ledger to compare a batch with that is sent again. It was recorded together,
/// or nearly so.
const COMPARED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The requests that wait, by session. One that is here, with or without any, has somebody who
/// works on it.
#[derive(Debug, Default)]
pub struct Announcing {
    waiting: Mutex<HashMap<Stream, VecDeque<Waiting>>>,
}

#[derive(Debug)]
struct Waiting {
    caller: Caller,
    events: Vec<Said>,
    answer: oneshot::Sender<Result<Done, SubmitError>>,
}

/// Whether an answer counted. Whoever gave it is not told why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    Yes,
    No,
}

impl Engine {
    /// Records events of a session, all of them or none. `Ok` means that they are in the ledger.
    pub async fn announce(
        &self,
        caller: &Caller,
        session: &SessionId,
        events: Vec<Said>,
    ) -> Result<Done, SubmitError> {
        let stream = session_stream(caller, session);
        if !(1..=ANNOUNCED_EVENTS_MAX).contains(&events.len()) {
            let command = Command::Session(session::Command::Announce { events });
            return self.submit(caller, stream, command, None).await;
        }
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting { caller: caller.clone(), events, answer };
        let leads = self.announcing.push(&stream, waiting)?;
        if leads {
            // Not part of this request: whoever goes away must not leave the others waiting.
            let engine = self.clone();
            tokio::spawn(async move { engine.announce_waiting(stream).await });
        }
        answered.await.unwrap_or(Err(SubmitError::Store(StoreError::Unknown)))
    }

    /// Somebody answers a question, by the token with which its producer asked it.
    pub async fn answer(
        &self,
        caller: &Caller,
        session: &SessionId,
        answer: Answer,
    ) -> Result<Heard, SubmitError> {
        let stream = session_stream(caller, session);
        let command = Command::Session(session::Command::Answer(Box::new(answer)));
        match self.submit(caller, stream, command, None).await {
            Ok(_) => Ok(Heard::Yes),
            Err(SubmitError::Rejected(Rejection::NotAnswered { why })) => {
                tracing::debug!(%session, caller = %caller.principal, ?why, "an answer is ignored");
                Ok(Heard::No)
            }
            Err(error) => Err(error),
        }
    }

    async fn announce_waiting(self, stream: Stream) {
        while let Some(group) = self.announcing.take(&stream) {
            self.announce_group(&stream, group).await;
        }
    }

    /// One entry for all of them. Who breaks a rule is taken out, and the others try again.
    async fn announce_group(&self, stream: &Stream, mut group: Vec<Waiting>) {
        while let Some(first) = group.first() {
            let caller = first.caller.clone();
            let events = group.iter().flat_map(|one| one.events.iter().cloned()).collect();
            let command = Command::Session(session::Command::Announce { events });
            let result = self.submit(&caller, stream.clone(), command, None).await;
            let refused = match (&result, group.len()) {
                (Err(SubmitError::Rejected(rejection)), 2..) => culprit(&group, rejection),
                (_, _) => None,
            };
            match refused {
                Some((at, rejection)) => {
                    let one = group.remove(at);
                    // Whoever asked may be gone.
                    let _ = one.answer.send(Err(rejection.into()));
                }
                None => {
                    for one in group.drain(..) {
                        let _ = one.answer.send(result.clone());
                    }
                }
            }
        }
    }

    /// What the events of a command meet: the ids that were used, and the events that used them.
    pub(crate) async fn known_of_session(
        &self,
        asked: &Asked<'_>,
    ) -> Result<AssumedHold, StoreError> {
        let mut known = Known::default();
        let mut positions = BTreeSet::new();
        for key in step::holds_needed(asked.stream, asked.command) {
            let hold = self.store.hold(&asked.stream.teamspace, &key).await?;
            if hold == HoldState::default() {
                continue;
            }
            let place = hold.value.as_deref().and_then(Place::parse);
            positions.extend(place.map(|place| place.position));
            known.holds.insert(key, hold);
        }
        let mut n_bytes = 0;
        for position in positions {
            let page = self.store.history(asked.stream, position + 1, 1).await?;
            let Some(entry) = page.into_iter().next().map(|one| one.entry) else { continue };
            let text = entry.body.text().unwrap_or_default();
            n_bytes += text.len();
            if n_bytes > COMPARED_BYTES_MAX {
                return Err(StoreError::Overloaded);
            }
            let event = codec::decode(&entry.name, entry.version, text);
            if let Ok(step::Event::Session(session::Event::Announced(announced))) = event {
                known.said.insert(entry.position, announced.events);
            }
        }
        Ok(AssumedHold::Session(Arc::new(known)))
    }
}

/// Who among several is to blame, and what it is told.
fn culprit(group: &[Waiting], rejection: &Rejection) -> Option<(usize, Rejection)> {
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

impl Announcing {
    /// Whether it falls to the caller to see to the session.
    fn push(&self, stream: &Stream, waiting: Waiting) -> Result<bool, StoreError> {
        let mut all = self.lock();
        let leads = !all.contains_key(stream);
        let queue = all.entry(stream.clone()).or_default();
        if queue.len() >= WAITING_REQUESTS_MAX {
            return Err(StoreError::Overloaded);
        }
        queue.push_back(waiting);
        Ok(leads)
    }

    /// Those that go together next, in order; nobody is at work any more if there are none.
    fn take(&self, stream: &Stream) -> Option<Vec<Waiting>> {
        let mut all = self.lock();
        let Some(first) = all.get_mut(stream).and_then(VecDeque::pop_front) else {
            all.remove(stream);
            return None;
        };
        let queue = all.get_mut(stream).expect("it was here just now");
        let size = |one: &Waiting| one.events.iter().map(|said| said.text().len()).sum::<usize>();
        let (mut n_events, mut n_bytes) = (first.events.len(), size(&first));
        let mut group = vec![first];
        while let Some(next) = queue.front() {
            n_events += next.events.len();
            n_bytes += size(next);
            let fits = n_events <= ANNOUNCED_EVENTS_MAX && n_bytes <= JOINED_BYTES_MAX;
            if !fits || next.caller.principal != group[0].caller.principal {
                break;
            }
            group.extend(queue.pop_front());
        }
        Some(group)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Stream, VecDeque<Waiting>>> {
        self.waiting.lock().expect("nothing panics while holding the queues")
    }
}
