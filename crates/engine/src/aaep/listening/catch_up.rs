//! What a new listener is told first: the state of each open session, and the questions that wait
//! for an answer, so that it can answer them.

use std::collections::BTreeSet;

use aaep::capabilities::Capabilities;
use aaep::cursor::Cursor;
use aaep::shape::Body;
use aaep::stamp::stamp;
use aaep::{CONTEXT, EXTENSION, EXTENSION_CONTEXT, VERSION};
use protocol::conversation::Conversation;
use protocol::ledger::{Stream, Subject};
use protocol::narrator::texts::{Message, hints};
use protocol::session::state::EventPlace;
use protocol::session::{ANSWER_DEADLINE, ANSWER_WAIT_MAX, Question, Session};
use protocol::step::State;
use protocol::time::Time;
use protocol::{canonical, narrator};
use serde_json::json;

use super::{Listening, ReadyEvent, subscription_stream};
use crate::aaep::announce::session_stream;
use crate::ledger::announced;
use crate::ports::store::{Due, List, ListOf, StoreError, StoreReads};

/// Sessions whose state a new listener is told. A person cannot follow more by ear. Open questions
/// are told for all sessions that are looked at.
const UNDER_WAY_MAX: usize = 64;

/// The newest sessions, which are searched for open ones. A session that a subscription names is
/// always found.
pub const SESSIONS_LOOKED_AT_MAX: usize = 1_024;

/// The next deadlines of the server, which are searched for questions of older sessions.
const DEADLINES_LOOKED_AT_MAX: usize = 4_096;

const STATE_CHANGED: &str = "aaep:agent.state.changed";

/// What is told first. A question is read only when it is told.
#[derive(Debug)]
pub enum First {
    Told(ReadyEvent),
    Question { session: Stream, place: EventPlace, until: Cursor },
}

impl Listening {
    pub(super) async fn tell_what_goes_on(
        &mut self,
        honored: &Capabilities,
    ) -> Result<(), StoreError> {
        let start = self.shaper.watermark();
        let mut under_way = Vec::new();
        for (stream, session) in self.sessions_looked_at().await? {
            if !session.is_open() || !self.is_wanted(&session).await? {
                continue;
            }
            let conversation =
                self.engine.sessions().conversation(&stream.teamspace, &session).await?;
            // An agent that has lost its conversation is not heard in it.
            if narrator::is_ours(&session.id) || session.is_heard(conversation.as_deref()) {
                under_way.push((stream, session, conversation));
            }
        }
        // Sessions with open questions come first.
        under_way.sort_by_key(|(_, session, _)| session.questions.is_empty());
        for (n_told, (stream, session, conversation)) in under_way.into_iter().enumerate() {
            if n_told < UNDER_WAY_MAX {
                self.tell_how_it_stands(honored, &session);
            }
            self.put_questions(&stream, &session, conversation.as_deref(), start);
        }
        Ok(())
    }

    /// Queues the questions of a session. Those asked after `until` arrive as ordinary events.
    fn put_questions(
        &mut self,
        stream: &Stream,
        session: &Session,
        conversation: Option<&Conversation>,
        until: Cursor,
    ) {
        let stands = |question: &&Question| session.stands(&question.reply_token, conversation);
        let put = |question: &Question| First::Question {
            session: stream.clone(),
            place: question.place,
            until,
        };
        self.first.extend(session.questions.iter().filter(stands).map(put));
    }

    /// The next question, in its current state. Dropping the future loses nothing.
    pub(super) async fn next_first(&mut self) -> Result<Option<ReadyEvent>, StoreError> {
        while let Some(First::Question { session, place, until }) = self.first.front() {
            let told = self.open_question(session, *place, *until).await?;
            self.first.pop_front();
            if told.is_some() {
                return Ok(told);
            }
        }
        Ok(None)
    }

    /// Tells open questions again that were told before the cursor on another subscription: the
    /// tokens of that one are not valid here. Later questions arrive as ordinary events.
    pub async fn ask_again(&mut self) -> Result<(), StoreError> {
        // A new listener was just told the open questions.
        let Some(place) = self.place() else { return Ok(()) };
        let own = subscription_stream(&self.caller, &self.id);
        let opened = self.engine.store.history(&own, 2, 1).await?;
        if opened.first().is_some_and(|entry| entry.seq <= place.sequence) {
            return Ok(());
        }
        for (stream, session) in self.sessions_looked_at().await? {
            if session.questions.is_empty() || !self.is_wanted(&session).await? {
                continue;
            }
            let conversation =
                self.engine.sessions().conversation(&stream.teamspace, &session).await?;
            self.put_questions(&stream, &session, conversation.as_deref(), place);
        }
        Ok(())
    }

    /// The newest sessions, and all that wait for an answer, however old.
    async fn sessions_looked_at(&self) -> Result<Vec<(Stream, Session)>, StoreError> {
        if let Some(id) = self.scope.session_id.as_ref().and_then(|id| id.parse().ok()) {
            let stream = session_stream(&self.caller, &id);
            let session = self.engine.sessions().session(&stream).await?;
            return Ok(session.map(|session| (stream, session)).into_iter().collect());
        }
        let (teamspace, of) = (self.caller.teamspace.clone(), ListOf::Sessions);
        let list = List { teamspace, of, before: None, limit: SESSIONS_LOOKED_AT_MAX };
        let mut sessions = Vec::new();
        for row in self.engine.store.list(list).await? {
            let state = self.engine.read().listed_state(&row).await?;
            if let Some(State::Session(session)) = state {
                sessions.push((row.stream, *session));
            }
        }
        if sessions.len() == SESSIONS_LOOKED_AT_MAX {
            let seen: BTreeSet<_> = sessions.iter().map(|(stream, _)| stream.clone()).collect();
            for stream in self.sessions_that_wait().await?.difference(&seen) {
                let session = self.engine.sessions().session(stream).await?;
                sessions.extend(session.map(|session| (stream.clone(), session)));
            }
        }
        Ok(sessions)
    }

    async fn sessions_that_wait(&self) -> Result<BTreeSet<Stream>, StoreError> {
        let until = self.engine.clock.now().plus(ANSWER_WAIT_MAX);
        let due = self.engine.store.due(until, DEADLINES_LOOKED_AT_MAX).await?;
        let is_question = |due: &Due| {
            due.stream.teamspace == self.caller.teamspace
                && matches!(due.stream.subject, Subject::Session(_))
                && due.deadline.name.starts_with(ANSWER_DEADLINE)
        };
        Ok(due.into_iter().filter(is_question).map(|due| due.stream).collect())
    }

    fn tell_how_it_stands(&mut self, honored: &Capabilities, session: &Session) {
        let filters = honored.event_filters.clone().unwrap_or_default();
        if filters.pass(STATE_CHANGED) {
            let language = honored.languages.as_deref().and_then(<[String]>::first);
            let language = language.map_or("en", String::as_str);
            let body = Body::Copy(stands(session, language, self.engine.clock.now()));
            self.first.push_back(First::Told(ReadyEvent { body, id: None }));
        }
    }

    async fn open_question(
        &self,
        session: &Stream,
        place: EventPlace,
        until: Cursor,
    ) -> Result<Option<ReadyEvent>, StoreError> {
        let page = self.engine.store.history(session, place.position + 1, 1).await?;
        let Some(entry) = page.first() else { return Ok(None) };
        let at = Cursor::at(entry.seq, place.index);
        if at > until {
            return Ok(None);
        }
        let found = announced::announced(entry).into_iter().find(|one| one.index == at.index);
        let Some(one) = found else { return Ok(None) };
        let body = self.question(at, &Body::Verbatim(one.event)).await?;
        Ok(Some(ReadyEvent { body, id: None }))
    }
}

/// The state of a session, as an event of the server. Its id is derived from the session and its
/// number of events, so a listener that begins twice recognises the event.
fn stands(session: &Session, language: &str, now: Time) -> String {
    let id = session.id.as_str();
    // A question implies that the agent waits, whether or not it said so.
    let state = match session.questions.is_empty() {
        true => session.machine.state(),
        false => "awaiting_input",
    };
    let moment = format!("{id} {}", session.n_events);
    let digest = canonical::hex(&canonical::sha256(&[moment.as_bytes()]));
    let mut event = json!({
        "@context": [CONTEXT, EXTENSION_CONTEXT],
        "aaep_version": VERSION,
        "type": STATE_CHANGED,
        "event_id": format!("evt_{}", &digest[..32]),
        "session_id": id,
        "timestamp": stamp(now),
        "producer": { "agent_id": session.producer.as_str() },
        "urgency": "background",
        "localization_hints": hints(language),
        "from_state": state,
        "to_state": state,
        "extensions": { EXTENSION: { "stands": true, "n_events": session.n_events } },
    });
    // Agents may use the same names for states as the server.
    let ours = narrator::is_ours(&session.id).then(|| narrator::stands(state)).flatten();
    let name = session.agent_name.as_deref().unwrap_or(session.producer.as_str());
    if session.agent_name.is_some() {
        event["producer"]["agent_name"] = name.into();
    }
    let known = ours.or_else(|| Message::of_state(state, name));
    if let (Some(message), Some(fields)) = (known, event.as_object_mut()) {
        let spoken = message.in_language(language);
        fields.insert("summary_normal".to_owned(), spoken.normal.into());
        if let Some(terse) = spoken.terse {
            fields.insert("summary_terse".to_owned(), terse.into());
        }
    }
    event.to_string()
}
