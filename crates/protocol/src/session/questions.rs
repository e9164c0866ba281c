//! The questions of a session: in which epoch of its conversation each was asked, and whether it
//! still counts. What the rules of the protocol need of them is in the machine.

use serde::{Deserialize, Serialize};

use super::state::{EventPlace, Session, hold_key};
use crate::conversation::state::Conversation;
use crate::ids::{ConversationId, SessionId};
use crate::stored::{HoldState, HoldWrite};
use aaep::machine::{self, Used};

/// A question that waits for an answer, until it is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub reply_token: String,
    pub place: EventPlace,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_hash: Option<String>,
    /// SHA-256 of the words for the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The epoch of the conversation in which it was asked. Earlier releases did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// Whether a hold of the conversation lists its session while it is open. Earlier releases did
    /// not list it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub listed: bool,
}

/// A question that was accepted by the entry at this position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    pub question: Question,
    pub event_id: String,
    pub position: u64,
}

impl Session {
    pub(super) fn question(&self, reply_token: &str) -> Option<&Question> {
        self.questions.iter().find(|question| question.reply_token == reply_token)
    }

    /// Whether an open question still counts: its producer is heard, and the conversation has not
    /// changed hands since it was asked.
    pub fn stands(&self, reply_token: &str, conversation: Option<&Conversation>) -> bool {
        self.still_counts(self.question(reply_token), conversation)
    }

    fn still_counts(
        &self,
        question: Option<&Question>,
        conversation: Option<&Conversation>,
    ) -> bool {
        let asked_in = question.and_then(|question| question.epoch);
        let is_same = |epoch| conversation.is_some_and(|it| it.epoch == epoch);
        self.is_heard(conversation) && asked_in.is_none_or(is_same)
    }

    /// Whether an accept of this question was given and does not count any more.
    pub fn has_lost_accept(&self, token: &str, conversation: Option<&Conversation>) -> bool {
        let mut lost = self.lost_accepts(conversation);
        lost.any(|it| it.question.reply_token == token) && self.machine.has_unused_accept(token)
    }

    pub(super) fn lost_accepts(
        &self,
        conversation: Option<&Conversation>,
    ) -> impl Iterator<Item = &Accepted> {
        let is_lost = move |it: &&Accepted| !self.still_counts(Some(&it.question), conversation);
        self.accepted.iter().filter(is_lost)
    }

    /// The open questions that do not count any more.
    pub(super) fn lost_questions(
        &self,
        conversation: Option<&Conversation>,
    ) -> impl Iterator<Item = &machine::Question> {
        let is_lost = move |one: &&machine::Question| !self.stands(one.reply_token(), conversation);
        self.machine.pending().iter().filter(is_lost)
    }

    /// Notes the epoch of the conversation for the question at this place, if there is one.
    pub(super) fn asked_in(&mut self, place: EventPlace, epoch: Option<u64>, listed: bool) -> bool {
        let question = self.questions.iter_mut().find(|question| question.place == place);
        question.map(|question| (question.epoch, question.listed) = (epoch, listed)).is_some()
    }

    /// The key under which a session with open questions or unused accepts is found by its
    /// conversation.
    pub fn asking_key(&self) -> Option<String> {
        let conversation = self.conversation?;
        let accepted = self.accepted.iter().map(|accepted| &accepted.question);
        let is_asking = self.questions.iter().chain(accepted).any(|question| question.listed);
        is_asking.then(|| format!("{}{}", asking_prefix(conversation), self.id))
    }

    pub(super) fn forget(&mut self, reply_token: &str) {
        self.questions.retain(|question| question.reply_token != reply_token);
    }

    /// The next entry settled this question.
    pub(super) fn settled(&mut self, reply_token: &str, event_id: &str) {
        let question = self.question(reply_token).cloned();
        self.forget(reply_token);
        let (event_id, position) = (event_id.to_owned(), self.n_entries + 1);
        self.accepted.extend(question.map(|question| Accepted { question, event_id, position }));
        self.forget_used_accepts();
    }

    pub(super) fn forget_used_accepts(&mut self) {
        let machine = &self.machine;
        self.accepted.retain(|it| machine.has_accept(&it.question.reply_token));
    }
}

impl Question {
    /// How the hold of its token changes when the entry at this position settles it.
    pub(super) fn settled_hold(&self, id: &SessionId, position: u64) -> HoldWrite {
        self.hold_write(id, self.place.to_string(), position)
    }

    fn hold_write(&self, id: &SessionId, expected: String, position: u64) -> HoldWrite {
        let value = |text: String| HoldState { holder: None, value: Some(text) };
        HoldWrite {
            key: hold_key(id, &Used::Token(self.reply_token.clone())),
            expected: value(expected),
            next: value(format!("{}.{position}", self.place)),
        }
    }
}

impl Accepted {
    /// How the hold of its token changes when the entry at this position withdraws it.
    pub(super) fn withdrawn_hold(&self, id: &SessionId, position: u64) -> HoldWrite {
        let expected = format!("{}.{}", self.question.place, self.position);
        self.question.hold_write(id, expected, position)
    }
}

/// The sessions of a conversation that have open questions or unused accepts; their ids follow this
/// prefix.
pub fn asking_prefix(conversation: ConversationId) -> String {
    format!("asking/{conversation}/")
}
