//! Whether there was anybody to answer.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard};

use protocol::aaep::machine::Audience;
use protocol::ledger::Stream;

use crate::Engine;

/// Sessions that are remembered; beyond that the memory begins anew.
const SESSIONS_MAX: usize = 65_536;

/// The sessions in which a question was put to somebody who can answer. Forgotten with the process:
/// then nobody counts as able, and what was asked is refused rather than taken for granted.
#[derive(Debug, Default)]
pub struct Asked {
    sessions: Mutex<HashSet<Stream>>,
}

impl Asked {
    pub(super) fn note(&self, session: &Stream) {
        let mut sessions = self.lock();
        if sessions.len() >= SESSIONS_MAX {
            sessions.clear();
        }
        sessions.insert(session.clone());
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Stream>> {
        self.sessions.lock().expect("nothing panics while holding it")
    }
}

impl Engine {
    /// Whether somebody could have answered the questions of a session.
    pub(crate) fn audience(&self, session: &Stream) -> Audience {
        match self.asked.lock().contains(session) {
            true => Audience::Able,
            false => Audience::Nobody,
        }
    }
}
