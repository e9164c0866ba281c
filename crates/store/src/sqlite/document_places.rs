//! Where the packages that were written last are. A handoff is accepted soon after it was proposed,
//! and finding its package through the row of the handoff reads three times as many pages.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use protocol::ledger::{Stream, Subject};

/// How many streams are remembered: far more than are in motion at once.
const PLACES_MAX: usize = 4_096;

/// The numbers of packages, by their handoffs. They are only hints: a reader names the package that
/// it wants by its hash. Other documents can be removed by an entry without one, and are not here.
#[derive(Debug, Default)]
pub struct DocumentPlaces(Mutex<HashMap<Stream, u64>>);

impl DocumentPlaces {
    pub fn remember(&self, stream: &Stream, seq: u64) {
        if !matches!(stream.subject, Subject::Handoff(_)) {
            return;
        }
        let mut places = self.lock();
        if places.len() >= PLACES_MAX {
            places.clear();
        }
        places.insert(stream.clone(), seq);
    }

    pub fn of(&self, stream: &Stream) -> Option<u64> {
        self.lock().get(stream).copied()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Stream, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
