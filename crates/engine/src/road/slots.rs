//! One slot per stream in use: the latest state, durable or about to be, and the turn, a lock that
//! commands on the stream take one after the other. Readers of a known state take no turn: the lock
//! is fair, so thousands of readers of one stream, such as that of an agent, would each wait until
//! the reader before it was scheduled.
//!
//! For a command a slot is only an optimisation: the store compares positions at commit, so a lost
//! one costs a retry. Readers rely on it, so while a slot is in use there is no second one for its
//! stream.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use protocol::canonical::Hash;
use protocol::ledger::{GENESIS, Stream};
use protocol::step::State;
use protocol::time::Time;
use tokio::sync::{Notify, OwnedMutexGuard};

use crate::usage::Reservation;

/// How many streams a generation remembers. Two generations of small snapshots stay within a few
/// megabytes, and cover far more streams than are in motion at once.
const GENERATION_STREAMS_MAX: usize = 2_048;

/// The state of a stream as the next command will meet it.
#[derive(Debug, Clone)]
pub struct Latest {
    /// `None`: the stream does not exist.
    pub state: Option<Arc<State>>,
    pub position: u64,
    pub head: Hash,
    pub at: Time,
    pub status: WriteStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    Pending,
    Durable,
    Failed,
}

/// Whether a state was written, as far as the engine knows.
#[derive(Debug, Clone)]
pub enum WriteStatus {
    /// It was read from the store.
    Durable,
    /// It is on its way there.
    Announced(Arc<Announced>),
}

#[derive(Debug, Default)]
pub struct Announced {
    /// [`PENDING`], [`DURABLE`] or [`FAILED`].
    outcome: AtomicU8,
    known: Notify,
}

/// Held by the task that waits for a commit. If it is dropped without an announcement, the commit
/// counts as failed: then only the store knows, and what was reserved for it is taken back. Until
/// then it keeps the slot in use.
#[derive(Debug)]
pub struct CommitNotifier {
    announced: Arc<Announced>,
    reservation: Option<Box<Reservation>>,
    _slot: Slot,
}

const PENDING: u8 = 0;
const DURABLE: u8 = 1;
const FAILED: u8 = 2;

/// The cached state of one stream, and its turn.
#[derive(Debug, Clone, Default)]
pub struct Slot(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    latest: Mutex<Option<Latest>>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// The exclusive right to change a stream.
#[derive(Debug)]
pub struct StreamTurn {
    slot: Slot,
    _turn: OwnedMutexGuard<()>,
}

impl Slot {
    /// The state as the next command will meet it; `None` if it was not loaded.
    pub fn latest(&self) -> Option<Latest> {
        self.lock().clone()
    }

    pub async fn turn(&self) -> StreamTurn {
        StreamTurn { _turn: Arc::clone(&self.0.turn).lock_owned().await, slot: self.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Latest>> {
        self.0.latest.lock().expect("nothing panics in here")
    }
}

impl StreamTurn {
    pub fn latest(&self) -> Option<Latest> {
        self.slot.latest()
    }

    pub fn put(&self, latest: Latest) {
        *self.slot.lock() = Some(latest);
    }

    /// A notifier that announces whether the next state was written, and the status that receives
    /// this.
    pub(crate) fn notifier(&self, reservation: Box<Reservation>) -> (CommitNotifier, WriteStatus) {
        let announced = Arc::<Announced>::default();
        let notifier = CommitNotifier {
            announced: Arc::clone(&announced),
            reservation: Some(reservation),
            _slot: self.slot.clone(),
        };
        (notifier, WriteStatus::Announced(announced))
    }
}

#[derive(Debug, Default)]
pub struct Slots {
    generations: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Stream, Slot>,
    old: HashMap<Stream, Slot>,
}

impl Slots {
    /// The slot of a stream, made if need be. When a generation is full, the one before it is
    /// dropped, so that only slots in recent use stay.
    pub fn of(&self, stream: &Stream) -> Slot {
        let mut generations = self.generations.lock().expect("nothing panics in here");
        if let Some(slot) = generations.young.get(stream) {
            return slot.clone();
        }
        let slot = generations.old.remove(stream).unwrap_or_default();
        if generations.young.len() >= GENERATION_STREAMS_MAX {
            let mut forgotten = std::mem::take(&mut generations.old);
            generations.old = std::mem::take(&mut generations.young);
            // Two slots of one stream would not know of each other's changes.
            forgotten.retain(|_, slot| Arc::strong_count(&slot.0) > 1);
            generations.old.extend(forgotten);
        }
        generations.young.insert(stream.clone(), slot.clone());
        slot
    }
}

impl Latest {
    pub fn durable(state: Option<Arc<State>>, position: u64, head: Hash, at: Time) -> Self {
        Self { state, position, head, at, status: WriteStatus::Durable }
    }

    /// A stream that does not exist.
    pub fn absent() -> Self {
        Self::durable(None, 0, GENESIS, Time::from_millis(0))
    }

    /// Waits until it is known whether this state was written.
    pub async fn settled(&self) -> Durability {
        let WriteStatus::Announced(announced) = &self.status else { return Durability::Durable };
        loop {
            // Registered before the check, so an announcement in between is not missed.
            let known = announced.known.notified();
            match announced.durability() {
                Durability::Pending => known.await,
                settled @ (Durability::Durable | Durability::Failed) => return settled,
            }
        }
    }

    /// Whether the next command may build on this state.
    pub fn is_usable(&self) -> bool {
        match &self.status {
            WriteStatus::Durable => true,
            WriteStatus::Announced(announced) => announced.durability() != Durability::Failed,
        }
    }
}

impl Announced {
    fn durability(&self) -> Durability {
        match self.outcome.load(Ordering::Acquire) {
            PENDING => Durability::Pending,
            DURABLE => Durability::Durable,
            _ => Durability::Failed,
        }
    }
}

impl CommitNotifier {
    pub fn durable(mut self) {
        if let Some(reservation) = self.reservation.take() {
            reservation.keep();
        }
        self.announce(DURABLE);
    }

    /// The first announcement counts.
    fn announce(&self, outcome: u8) {
        let order = (Ordering::AcqRel, Ordering::Acquire);
        if self.announced.outcome.compare_exchange(PENDING, outcome, order.0, order.1).is_ok() {
            self.announced.known.notify_waiters();
        }
    }
}

impl Drop for CommitNotifier {
    fn drop(&mut self) {
        self.announce(FAILED);
    }
}

#[cfg(test)]
mod tests {
    use protocol::ids::TeamspaceId;
    use protocol::ledger::Subject;

    use super::*;

    fn stream(number: usize) -> Stream {
        let id = format!("agent-{number}").parse().expect("an agent");
        Stream { teamspace: TeamspaceId::default_teamspace(), subject: Subject::Agent(id) }
    }

    #[test]
    fn a_slot_in_use_is_not_forgotten_and_others_are() {
        let slots = Slots::default();
        let used = slots.of(&stream(0));
        let unused = Arc::downgrade(&slots.of(&stream(1)).0);
        for number in 2..5 * GENERATION_STREAMS_MAX {
            slots.of(&stream(number));
        }
        assert!(Arc::ptr_eq(&used.0, &slots.of(&stream(0)).0));
        assert!(unused.upgrade().is_none());
        let generations = slots.generations.lock().expect("nothing panics in here");
        let n_slots = generations.young.len() + generations.old.len();
        assert!(n_slots <= 2 * GENERATION_STREAMS_MAX + 1, "{n_slots}");
    }
}
