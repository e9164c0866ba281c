//! Tells the other listeners who got a question that it is settled, so that they can close what
//! they show for it. It is an event of our own extension, made from the entry that settles the
//! question. It says the result, and not who decided or why.

use serde_json::{Map, Value, json};

use super::texts::{DEFAULT_LANGUAGE, Message, hints};
use crate::canonical::{self, Hash};
use crate::ids::SessionId;
use crate::session::Event;
use crate::time::Time;
use aaep::machine::Outcome;
use aaep::stamp::stamp;
use aaep::{AGENT_ID, CONTEXT, EXTENSION_CONTEXT, VERSION};

/// Its type.
pub const QUESTION_SETTLED: &str = "tasuki:question.settled";

/// A question that was answered, timed out, or does not count any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The event that asked.
    pub question: String,
    pub outcome: Outcome,
    /// The subscription on which it was answered, which needs no notice.
    pub subscription: Option<String>,
    pub by: By,
    /// It had been accepted before, so that listeners heard that it goes ahead.
    pub was_accepted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Answer,
    Time,
    /// The conversation changed hands, or was closed.
    Conversation,
}

/// The entry that settled it: what an event about it needs.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    pub session: &'a SessionId,
    pub at: Time,
    /// Of the entry. The id of the event derives from it.
    pub hash: &'a Hash,
}

impl Settled {
    pub fn of(event: &Event) -> Option<Self> {
        match event {
            Event::Answered(answered) => Some(Self {
                question: answered.event_id.clone(),
                outcome: answered.outcome,
                subscription: answered.subscription_id.clone(),
                by: By::Answer,
                was_accepted: false,
            }),
            Event::TimedOut(over) => Some(Self {
                question: over.event_id.clone(),
                outcome: over.outcome,
                subscription: None,
                by: By::Time,
                was_accepted: false,
            }),
            Event::Withdrawn(withdrawn) if withdrawn.used => None,
            Event::Withdrawn(withdrawn) => Some(Self {
                question: withdrawn.event_id.clone(),
                outcome: Outcome::Withdrawn,
                subscription: None,
                by: By::Conversation,
                was_accepted: withdrawn.accepted,
            }),
            Event::Announced(_) | Event::HandedOver(_) | Event::Delivered(_) => None,
        }
    }

    /// Whether a listener with these abilities may have been asked. The record of a withdrawn
    /// question does not tell whether it was a confirmation or a clarification.
    pub fn concerns(&self, can_confirm: bool, can_clarify: bool) -> bool {
        match self.outcome {
            Outcome::Accepted | Outcome::Rejected => can_confirm,
            Outcome::Answered | Outcome::Unanswered => can_clarify,
            Outcome::Withdrawn => can_confirm || (can_clarify && !self.was_accepted),
        }
    }

    /// The event, as JSON.
    pub fn told(&self, moment: Moment<'_>) -> String {
        let mut event = Map::from_iter([
            ("@context".to_owned(), json!([CONTEXT, EXTENSION_CONTEXT])),
            ("aaep_version".to_owned(), VERSION.into()),
            ("type".to_owned(), QUESTION_SETTLED.into()),
            ("event_id".to_owned(), format!("evt_{}", &canonical::hex(moment.hash)[..32]).into()),
            ("session_id".to_owned(), moment.session.as_str().into()),
            ("timestamp".to_owned(), stamp(moment.at).into()),
            ("producer".to_owned(), json!({ "agent_id": AGENT_ID })),
            ("urgency".to_owned(), "normal".into()),
            ("localization_hints".to_owned(), hints(DEFAULT_LANGUAGE)),
            ("question".to_owned(), self.question.as_str().into()),
            ("outcome".to_owned(), json!(self.outcome)),
            ("settled_by".to_owned(), self.by.as_str().into()),
        ]);
        self.message().put_summaries(DEFAULT_LANGUAGE, &mut event);
        Value::Object(event).to_string()
    }

    fn message(&self) -> Message<'static> {
        match (self.outcome, self.by) {
            (Outcome::Withdrawn, _) | (_, By::Conversation) => match self.was_accepted {
                true => Message::ConsentWithdrawn,
                false => Message::QuestionWithdrawn,
            },
            (Outcome::Accepted, By::Answer) => Message::AnsweredAccepted,
            (Outcome::Rejected, By::Answer) => Message::AnsweredRejected,
            (Outcome::Accepted, By::Time) => Message::ConfirmationDefaulted,
            (Outcome::Rejected, By::Time) => Message::ConfirmationTimedOut,
            (Outcome::Answered | Outcome::Unanswered, By::Answer) => Message::AnsweredElsewhere,
            (Outcome::Answered | Outcome::Unanswered, By::Time) => Message::ClarificationTimedOut,
        }
    }
}

impl By {
    fn as_str(self) -> &'static str {
        match self {
            By::Answer => "answer",
            By::Time => "time",
            By::Conversation => "conversation",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aaep::read::read;

    #[test]
    fn each_way_is_told_as_a_valid_event_in_its_words() {
        let session = "sess_1".parse().expect("an id");
        let (at, hash) = (Time::from_millis(1_700_000_000_000), [7; 32]);
        for (outcome, by, concerns, words) in [
            (
                Outcome::Accepted,
                By::Answer,
                [true, false],
                "Somebody else has answered: yes. It goes ahead.",
            ),
            (
                Outcome::Rejected,
                By::Answer,
                [true, false],
                "Somebody else has answered: no. Nothing is done.",
            ),
            (
                Outcome::Rejected,
                By::Time,
                [true, false],
                "Nobody answered in time, so nothing was done.",
            ),
            (
                Outcome::Accepted,
                By::Time,
                [true, false],
                "Nobody answered in time. As announced, it goes ahead.",
            ),
            (
                Outcome::Answered,
                By::Answer,
                [false, true],
                "Somebody else has already answered the question.",
            ),
            (Outcome::Unanswered, By::Time, [false, true], "Nobody answered the question in time."),
            (
                Outcome::Withdrawn,
                By::Conversation,
                [true, true],
                "The question is withdrawn. No answer is needed any more.",
            ),
            (
                Outcome::Withdrawn,
                By::Conversation,
                [true, false],
                "The conversation has changed hands or is closed. What was accepted is not done.",
            ),
        ] {
            let question = "evt_7".to_owned();
            let was_accepted = words.contains("accepted");
            let settled = Settled { question, outcome, subscription: None, by, was_accepted };
            let text = settled.told(Moment { session: &session, at, hash: &hash });
            let event = read(&text).unwrap_or_else(|flaws| panic!("{text}: {flaws:?}"));
            assert_eq!(event.payload.name(), QUESTION_SETTLED);
            let told: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(told["summary_normal"], words);
            assert_eq!(told["question"], "evt_7");
            let concerned = [settled.concerns(true, false), settled.concerns(false, true)];
            assert_eq!(concerned, concerns, "{text}");
            assert!(told["summary_normal_yo"].is_string(), "{text}");
        }
    }
}
