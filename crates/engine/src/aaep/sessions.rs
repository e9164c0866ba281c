//! Reading sessions: their events by cursor, and the result of a question.

use std::sync::Arc;

use aaep::cursor::Cursor;
use aaep::machine::{Outcome, Used};
use protocol::conversation::Conversation;
use protocol::ids::TeamspaceId;
use protocol::ledger::{Stream, Subject};
use protocol::session::Event;
use protocol::session::event::{Answered, Said, TimedOut};
use protocol::session::state::{EventPlace, Session, hold_key};
use protocol::session::{Given, Response};
use protocol::step::{self, State};
use protocol::time::{Span, Time};
use protocol::{codec, hidden};

use crate::aaep::Sessions;
use crate::ports::store::{Sequenced, StoreError, StoreReads};

/// The longest wait for an answer in one request: less than a request may take.
pub const DECISION_WAIT_MAX: Span = Span::from_millis(25_000);

/// The most events in one page.
pub const SESSION_EVENTS_PAGE_MAX: usize = 256;

/// Entries that are read at once for a page: one may carry as much as a page.
const PAGE_ENTRIES: usize = 32;

/// One event, where it is and when it was recorded.
#[derive(Debug, Clone)]
pub struct Placed {
    pub cursor: Cursor,
    pub at: Time,
    pub said: Said,
}

/// The reader's cursor is not in this session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoSuchPlace;

/// The state of a question, or its result.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// It can still be answered.
    Open {
        due: Time,
    },
    Answered {
        outcome: Outcome,
        answer: Box<Answered>,
        at: Time,
    },
    /// No answer came in time.
    TimedOut {
        outcome: Outcome,
        /// The default answer to a clarification, if its producer gave one.
        default_response: Option<String>,
        at: Time,
    },
    /// The producer went on, or the session is over.
    Withdrawn,
    /// The producer has lost the conversation.
    Lost {
        at: Time,
    },
    /// It was settled, and what was said is gone.
    Erased {
        at: Time,
    },
}

impl Sessions<'_> {
    /// The current state of the session of this stream.
    pub async fn session(self, stream: &Stream) -> Result<Option<Session>, StoreError> {
        let state = self.engine.read().current(stream).await?;
        let Some(State::Session(session)) = state.as_deref() else { return Ok(None) };
        Ok(Some(session.as_ref().clone()))
    }

    /// The events after a place, in order, and whether there are more.
    pub async fn session_events(
        self,
        stream: &Stream,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Result<(Vec<Placed>, bool), NoSuchPlace>, StoreError> {
        let limit = limit.clamp(1, SESSION_EVENTS_PAGE_MAX);
        let mut position = match after {
            None => 1,
            Some(cursor) => match self.position_of(stream, cursor).await? {
                Some(position) => position,
                None => return Ok(Err(NoSuchPlace)),
            },
        };
        let mut found = Vec::new();
        loop {
            let page = self.engine.store.history_from(stream, position, PAGE_ENTRIES).await?;
            let Some(last) = page.last() else { return Ok(Ok((found, false))) };
            position = last.entry.position + 1;
            for one in &page {
                // An entry may be large, and others wait for this thread.
                tokio::task::yield_now().await;
                for placed in events_of(one).filter(|it| after.is_none_or(|at| it.cursor > at)) {
                    if found.len() == limit {
                        return Ok(Ok((found, true)));
                    }
                    found.push(placed);
                }
            }
        }
    }

    /// Where the event with this id is.
    pub async fn place_of_event(
        self,
        stream: &Stream,
        event_id: &str,
    ) -> Result<Option<Cursor>, StoreError> {
        let used = Used::Event(event_id.to_owned());
        let Some(value) = self.session_hold(stream, &used).await? else { return Ok(None) };
        let Some(place) = EventPlace::parse(&value) else { return Ok(None) };
        let entry = self.entry_at(stream, place.position).await?;
        Ok(entry.map(|entry| Cursor::at(entry.seq, place.index)))
    }

    /// The result of a question; `None` if it was never asked.
    pub async fn question(
        self,
        stream: &Stream,
        reply_token: &str,
    ) -> Result<Option<Question>, StoreError> {
        let Some(session) = self.session(stream).await? else { return Ok(None) };
        let pending = session.machine.pending().iter();
        let mut open = pending.filter(|question| question.reply_token() == reply_token);
        if let Some(question) = open.next() {
            let conversation = self.conversation(&stream.teamspace, &session).await?;
            return Ok(Some(match session.stands(reply_token, conversation.as_deref()) {
                true => Question::Open { due: question.due() },
                false => Question::Lost { at: self.engine.clock.now() },
            }));
        }
        if !session.accepted.is_empty() {
            let conversation = self.conversation(&stream.teamspace, &session).await?;
            if session.has_lost_accept(reply_token, conversation.as_deref()) {
                return Ok(Some(Question::Lost { at: self.engine.clock.now() }));
            }
        }
        let used = Used::Token(reply_token.to_owned());
        let Some(value) = self.session_hold(stream, &used).await? else { return Ok(None) };
        let Some(position) = EventPlace::settled_at(&value) else {
            return Ok(Some(Question::Withdrawn));
        };
        let Some(Sequenced { entry, .. }) = self.entry_at(stream, position).await? else {
            return Ok(Some(Question::Withdrawn));
        };
        let at = entry.at;
        let Some(text) = entry.body.text() else { return Ok(Some(Question::Erased { at })) };
        let event = codec::decode(&entry.name, entry.version, text)
            .map_err(|error| StoreError::Corrupt(format!("{}: {error}", stream.subject)))?;
        let step::Event::Session(event) = event else { return Ok(Some(Question::Withdrawn)) };
        Ok(Some(match event {
            Event::Answered(answer) => {
                Question::Answered { outcome: answer.outcome, answer: shown(answer), at }
            }
            Event::TimedOut(TimedOut { outcome, default_response, .. }) => {
                Question::TimedOut { outcome, default_response, at }
            }
            Event::Withdrawn(_) => Question::Lost { at },
            Event::Announced(_) | Event::HandedOver(_) | Event::Delivered(_) => Question::Withdrawn,
        }))
    }

    /// The same, once it is settled or the wait is over.
    pub async fn question_settled(
        self,
        stream: &Stream,
        reply_token: &str,
        wait: Span,
    ) -> Result<Option<Question>, StoreError> {
        let mut bell = self.engine.ledger().settled_bell();
        let until = self.engine.clock.sleep(wait.min(DECISION_WAIT_MAX));
        tokio::pin!(until);
        loop {
            // The bell is checked before reading, so an entry that arrives in between rings it
            // again.
            bell.borrow_and_update();
            let found = self.question(stream, reply_token).await?;
            if !matches!(found, Some(Question::Open { .. })) {
                return Ok(found);
            }
            tokio::select! {
                () = &mut until => return self.question(stream, reply_token).await,
                rung = bell.changed() => rung.map_err(|_| StoreError::Closed)?,
            }
        }
    }

    /// The conversation of a session, if it has one.
    pub async fn conversation(
        self,
        teamspace: &TeamspaceId,
        session: &Session,
    ) -> Result<Option<Arc<Conversation>>, StoreError> {
        let Some(id) = session.conversation else { return Ok(None) };
        let stream = Stream { teamspace: teamspace.clone(), subject: Subject::Conversation(id) };
        let state = self.engine.read().current(&stream).await?;
        Ok(state.and_then(|state| state.shared_conversation()))
    }

    async fn session_hold(
        self,
        stream: &Stream,
        used: &Used,
    ) -> Result<Option<String>, StoreError> {
        let Subject::Session(id) = &stream.subject else { return Ok(None) };
        let hold = self.engine.store.hold(&stream.teamspace, &hold_key(id, used)).await?;
        Ok(hold.value)
    }

    async fn entry_at(
        self,
        stream: &Stream,
        position: u64,
    ) -> Result<Option<Sequenced>, StoreError> {
        Ok(self.engine.store.history(stream, position + 1, 1).await?.pop())
    }

    async fn position_of(self, stream: &Stream, cursor: Cursor) -> Result<Option<u64>, StoreError> {
        let Some(before) = cursor.sequence.checked_sub(1) else { return Ok(None) };
        let entries = self.engine.store.entries(before, 1).await?;
        let own = entries.into_iter().find(|one| one.seq == cursor.sequence);
        Ok(own.filter(|one| one.entry.stream == *stream).map(|one| one.entry.position))
    }
}

/// The events that an entry carries; none if it carries something else, or was erased.
pub fn events_of(sequenced: &Sequenced) -> impl Iterator<Item = Placed> + use<> {
    let Sequenced { seq, entry } = sequenced;
    let (seq, at) = (*seq, entry.at);
    let text = entry.body.text().unwrap_or_default();
    let events = match codec::decode(&entry.name, entry.version, text) {
        Ok(step::Event::Session(Event::Announced(announced))) => announced.events,
        Ok(_) | Err(_) => Vec::new(),
    };
    let place = move |(index, said)| Placed { cursor: Cursor::at(seq, index), at, said };
    events.into_iter().enumerate().map(place)
}

/// The answer as its producer gets it: invisible characters are written out.
fn shown(mut answer: Box<Answered>) -> Box<Answered> {
    let visible = |text: String| hidden::visible(&text).into_owned();
    answer.decided_by = answer.decided_by.map(visible);
    answer.rationale = answer.rationale.map(visible);
    if let Some(action) = &mut answer.modified_action {
        hidden::make_members_visible(action);
    }
    if let Given::Response(Response::Text(text)) = answer.given {
        answer.given = Given::Response(Response::Text(visible(text)));
    }
    answer
}

impl Question {
    /// The answer, if there was one.
    pub fn given(&self) -> Option<&Given> {
        match self {
            Question::Answered { answer, .. } => Some(&answer.given),
            Question::Open { .. }
            | Question::TimedOut { .. }
            | Question::Withdrawn
            | Question::Lost { .. }
            | Question::Erased { .. } => None,
        }
    }
}
