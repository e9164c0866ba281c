//! Whether a listener was able to answer a question.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard};

use aaep::machine::Audience;
use protocol::ledger::Stream;

/// Questions that are remembered. Beyond that they are all dropped.
const QUESTIONS_MAX: usize = 65_536;

/// The questions that were told to a listener that can answer them. They are lost with the process:
/// then no listener counts as able, and what was asked is refused rather than granted.
#[derive(Debug, Default)]
pub struct AnswerableQuestions {
    questions: Mutex<HashSet<(Stream, String)>>,
}

impl AnswerableQuestions {
    pub(super) fn note(&self, session: &Stream, event_id: &str) {
        let mut questions = self.lock();
        if questions.len() >= QUESTIONS_MAX {
            questions.clear();
        }
        questions.insert((session.clone(), event_id.to_owned()));
    }

    /// Whether listeners could have answered all of these questions of a session.
    pub(crate) fn audience(&self, session: &Stream, event_ids: &[String]) -> Audience {
        let questions = self.lock();
        let is_asked = |id: &String| questions.contains(&(session.clone(), id.clone()));
        match event_ids.iter().all(is_asked) {
            true => Audience::Able,
            false => Audience::NoListener,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<(Stream, String)>> {
        self.questions.lock().expect("nothing panics while holding it")
    }
}
