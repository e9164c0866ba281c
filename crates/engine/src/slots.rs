//! One slot per stream in use: the latest state, durable or about to be, behind a lock that lets
//! commands on one stream take turns. A slot is only an optimisation: the store compares positions
//! at commit, so a lost or doubled slot costs a retry and nothing else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use protocol::canonical::Hash;
use protocol::ledger::Stream;
use protocol::step::State;
use protocol::time::Time;
use tokio::sync::watch;

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
    pub durable: watch::Receiver<Durability>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    Pending,
    Durable,
    Failed,
}

pub type Slot = Arc<tokio::sync::Mutex<Option<Latest>>>;

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
    /// The slot of a stream, made if need be. When a generation is full the one before it is
    /// forgotten, so that what is used stays and what is not leaves.
    pub fn of(&self, stream: &Stream) -> Slot {
        let mut generations = self.generations.lock().expect("nothing panics in here");
        if let Some(slot) = generations.young.get(stream) {
            return Arc::clone(slot);
        }
        let slot = generations.old.remove(stream).unwrap_or_default();
        if generations.young.len() >= GENERATION_STREAMS_MAX {
            generations.old = std::mem::take(&mut generations.young);
        }
        generations.young.insert(stream.clone(), Arc::clone(&slot));
        slot
    }
}

impl Latest {
    pub fn durable(state: Option<Arc<State>>, position: u64, head: Hash, at: Time) -> Self {
        Self { state, position, head, at, durable: watch::channel(Durability::Durable).1 }
    }

    /// Waits until it is known whether this state was written.
    pub async fn settled(&self) -> Durability {
        let mut durable = self.durable.clone();
        match durable.wait_for(|durability| *durability != Durability::Pending).await {
            Ok(durability) => *durability,
            // Whoever was waiting for the commit gave up; only the store knows.
            Err(_) => Durability::Failed,
        }
    }

    /// Whether the next command may build on this state.
    pub fn is_usable(&self) -> bool {
        let durability = *self.durable.borrow();
        match durability {
            Durability::Durable => true,
            Durability::Pending => self.durable.has_changed().is_ok(),
            Durability::Failed => false,
        }
    }
}
