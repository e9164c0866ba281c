//! Whether a listener was able to answer a question.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard};

use aaep::machine::Audience;
use protocol::ledger::Stream;
use protocol::time::Time;

use crate::Engine;
use crate::port::StoreError;

/// Questions that are remembered. Beyond that they are all dropped.
const QUESTIONS_MAX: usize = 65_536;

/// The questions that were told to a listener that can answer them. They are lost with the process:
/// then no listener counts as able, and what was asked is refused rather than granted.
#[derive(Debug, Default)]
pub struct Asked {
    questions: Mutex<HashSet<(Stream, String)>>,
}

impl Asked {
    pub(super) fn note(&self, session: &Stream, event_id: &str) {
        let mut questions = self.lock();
        if questions.len() >= QUESTIONS_MAX {
            questions.clear();
        }
        questions.insert((session.clone(), event_id.to_owned()));
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<(Stream, String)>> {
        self.questions.lock().expect("nothing panics while holding it")
    }
}

impl Engine {
    /// Whether listeners could have answered every question of a session that is due now.
    pub(crate) async fn audience(
        &self,
        stream: &Stream,
        due: Time,
    ) -> Result<Audience, StoreError> {
        let Some(session) = self.session(stream).await? else { return Ok(Audience::NoListener) };
        let asked = self.asked.lock();
        let mut questions = session.machine.pending().iter().filter(|one| one.due() <= due);
        let is_asked =
            questions.all(|one| asked.contains(&(stream.clone(), one.event_id().to_owned())));
        Ok(if is_asked { Audience::Able } else { Audience::NoListener })
    }
}
