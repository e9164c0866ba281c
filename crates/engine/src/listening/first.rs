//! What goes on when somebody begins to listen: the questions that wait for an answer, so that they
//! can give one.

use protocol::aaep::shape::Body;
use protocol::ledger::Stream;
use protocol::session::Question;
use protocol::step::State;

use super::{Listening, Told, announced, at};
use crate::port::{List, ListOf, StoreError};

/// The newest sessions, among which those under way are looked for. More than these nobody follows
/// by ear.
pub const UNDER_WAY_MAX: usize = 64;

impl Listening {
    pub(super) async fn tell_what_goes_on(&mut self) -> Result<(), StoreError> {
        let (teamspace, of) = (self.caller.teamspace.clone(), ListOf::Sessions);
        let list = List { teamspace, of, before: None, limit: UNDER_WAY_MAX };
        for row in self.engine.store.list(list).await? {
            let state = self.engine.read_state(&row.stream, &row.state_text).await?;
            let State::Session(session) = state else { continue };
            if !session.is_open() || !self.is_wanted(&session).await? {
                continue;
            }
            for question in &session.questions {
                let told = self.open_question(&row.stream, question).await?;
                self.first.extend(told);
            }
        }
        Ok(())
    }

    async fn open_question(
        &self,
        session: &Stream,
        question: &Question,
    ) -> Result<Option<Told>, StoreError> {
        let place = question.place;
        let page = self.engine.store.history(session, place.position + 1, 1).await?;
        let Some(entry) = page.first() else { return Ok(None) };
        let at = at(entry.seq, place.index);
        let found = announced(entry).into_iter().find(|one| one.index == at.index);
        Ok(found.map(|one| {
            let body = self.question(at, &Body::Verbatim(one.event));
            Told { body, id: None }
        }))
    }
}
