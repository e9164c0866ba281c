//! A question as one listener gets it: with a token of its own, and the question's current state. A
//! listener that joins late is told how much time is left, or that the question is settled.

use aaep::extension::{put_into_extension, take_from_extension};
use aaep::shape::{Body, Cursor};
use aaep::stamp::stamp;
use protocol::session::reply_token::Put;
use serde_json::{Map, Value};

use super::{CONFIRMATION, Listening, ReadyEvent};
use crate::aaep::announce::session_stream;
use crate::aaep::sessions::Question;
use crate::ports::store::StoreError;

/// The fields that the server adds to a question in its extension. A producer cannot set them.
const DUE_AT: &str = "due_at";
const SECONDS_LEFT: &str = "seconds_left";
const SETTLED: &str = "settled";

impl Listening {
    /// The question to tell next. Dropping the future loses nothing.
    pub(super) async fn next_question(&mut self) -> Result<Option<ReadyEvent>, StoreError> {
        let Some(delivery) = &self.asking else { return Ok(None) };
        let id = delivery.id.is_some().then_some(delivery.cursor);
        let body = self.question(delivery.cursor, &delivery.body).await?;
        self.asking = None;
        Ok(Some(ReadyEvent { body, id }))
    }

    /// A question with the token with which this listener may answer it.
    pub(super) async fn question(&self, at: Cursor, body: &Body) -> Result<Body, StoreError> {
        let mut document: Map<String, Value> =
            serde_json::from_str(body.text()).expect("an event is an object");
        let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
        let session = text("session_id").parse().expect("it was read with the event");
        let session = session_stream(&self.caller, &session);
        let standing = self.engine.sessions().question(&session, text("reply_token")).await?;
        let listener = self.caller.principal.to_string();
        let put = Put {
            session: &session,
            event_id: text("event_id"),
            subscription: &self.id,
            listener: &listener,
        };
        let token = self.engine.reply_key.token(at, put);
        let can_answer = match text("type") {
            CONFIRMATION => self.can_confirm,
            _ => self.can_clarify,
        };
        if can_answer {
            self.engine.asked.note(&session, text("event_id"));
        }
        document.insert("reply_token".to_owned(), token.into());
        self.say_how_it_stands(&mut document, standing.as_ref());
        Ok(Body::Copy(Value::Object(document).to_string()))
    }

    fn say_how_it_stands(&self, document: &mut Map<String, Value>, standing: Option<&Question>) {
        for name in [DUE_AT, SECONDS_LEFT, SETTLED] {
            take_from_extension(document, name);
        }
        let settled = match standing {
            Some(Question::Open { due }) => {
                let millis_left = due.since(self.engine.clock.now()).as_millis().max(0);
                put_into_extension(document, DUE_AT, stamp(*due).into());
                put_into_extension(document, SECONDS_LEFT, ((millis_left + 999) / 1_000).into());
                return;
            }
            Some(Question::Answered { .. }) => "answered",
            Some(Question::TimedOut { .. }) => "timed_out",
            Some(Question::Withdrawn | Question::Lost { .. }) | None => "withdrawn",
            Some(Question::Erased { .. }) => "erased",
        };
        put_into_extension(document, SETTLED, settled.into());
    }
}
