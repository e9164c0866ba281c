//! The rules of a session, over all its events. Pure: what came before is in [`Session`], which
//! stays small; what grows with the session (ids that were used, outputs that are complete) is
//! asked for as [`Used`] and answered by whoever keeps it.

// A stand-in with the final signatures; the machine itself replaces this file whole.

use serde::{Deserialize, Serialize};

use super::event::{Decision, Event, Payload, ResponseKind};
use super::flaw::{Flaw, Tier};
use crate::time::{Span, Time};

/// What a session is so far, as far as its rules need it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Session {
    phase: Phase,
    pending: Vec<Question>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    #[default]
    Unstarted,
    Active,
    Over,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    event_id: String,
    reply_token: String,
    due: Time,
    default: Option<Decision>,
    kinds: Vec<ResponseKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionKind {
    Confirmation,
    Clarification,
}

/// An id that may occur once in a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Used {
    Event(String),
    Call(String),
    /// An output that is complete.
    Output(String),
    Token(String),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Followed {
    pub consent: Option<Consent>,
    pub withdrawn: Vec<Settled>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Consent {
    pub event_id: String,
    pub reply_token: String,
    pub binding: Binding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Binding {
    Strong,
    Weak,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Weak {
    #[default]
    Allowed,
    Refused,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    pub event_id: String,
    pub reply_token: String,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Accepted,
    Rejected,
    Answered,
    Unanswered,
    Withdrawn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSettled {
    Unknown,
    TooLate,
    NotDue,
    WrongKind,
    NotAllowed,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Response<'a> {
    Text(&'a str),
    Flag(bool),
    Number(f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    Able,
    Nobody,
}

impl Question {
    pub fn event_id(&self) -> &str {
        &self.event_id
    }

    pub fn reply_token(&self) -> &str {
        &self.reply_token
    }

    pub fn due(&self) -> Time {
        self.due
    }

    pub fn kind(&self) -> QuestionKind {
        match self.default {
            Some(_) => QuestionKind::Confirmation,
            None => QuestionKind::Clarification,
        }
    }
}

impl Session {
    pub fn follow(
        &mut self,
        event: &Event<'_>,
        at: Time,
        _weak: Weak,
        is_used: &dyn Fn(&Used) -> bool,
        uses: &mut Vec<Used>,
    ) -> Result<Followed, Flaw> {
        let starts = matches!(event.payload, Payload::SessionStarted { .. });
        let flaw = |field: &str, expected: &str| Flaw {
            tier: Tier::Session,
            rule: "4.5.1",
            field: field.to_owned(),
            expected: expected.to_owned(),
        };
        match (self.phase, starts) {
            (Phase::Unstarted, true) | (Phase::Active, false) => {}
            (Phase::Unstarted | Phase::Active, _) => {
                return Err(flaw("type", "session.started once, and first"));
            }
            (Phase::Over, _) => return Err(flaw("type", "nothing after the end")),
        }
        let mut used = vec![Used::Event(event.envelope.event_id.to_string())];
        let due = |seconds: u32| at.plus(Span::from_millis(i64::from(seconds) * 1_000));
        let mut asked = None;
        match &event.payload {
            Payload::AwaitingConfirmation(it) => {
                used.push(Used::Token(it.reply_token.to_string()));
                let default = if it.irreversible { Decision::Reject } else { it.default_decision };
                let due = due(it.timeout_seconds);
                asked = Some((it.reply_token.to_string(), due, Some(default), Vec::new()));
            }
            Payload::AwaitingClarification(it) => {
                used.push(Used::Token(it.reply_token.to_string()));
                let due = due(it.timeout_seconds);
                asked = Some((it.reply_token.to_string(), due, None, it.accepted_kinds.clone()));
            }
            _ => {}
        }
        if let Some(one) = used.iter().find(|one| is_used(one)) {
            return Err(flaw("event_id", &format!("an id that was not used, not {one:?}")));
        }
        uses.extend(used);
        self.phase = Phase::Active;
        if let Some((reply_token, due, default, kinds)) = asked {
            let event_id = event.envelope.event_id.to_string();
            self.pending.push(Question { event_id, reply_token, due, default, kinds });
        }
        let mut followed = Followed::default();
        if event.payload.is_terminal() {
            self.phase = Phase::Over;
            for Question { event_id, reply_token, .. } in std::mem::take(&mut self.pending) {
                let outcome = Outcome::Withdrawn;
                followed.withdrawn.push(Settled { event_id, reply_token, outcome });
            }
        }
        Ok(followed)
    }

    pub fn resolve(
        &mut self,
        reply_token: &str,
        decision: Decision,
        now: Time,
    ) -> Result<Settled, NotSettled> {
        self.take(reply_token, |question| match question.kind() {
            QuestionKind::Clarification => Err(NotSettled::WrongKind),
            QuestionKind::Confirmation if now >= question.due => Err(NotSettled::TooLate),
            QuestionKind::Confirmation => Ok(match decision {
                Decision::Accept => Outcome::Accepted,
                Decision::Reject => Outcome::Rejected,
            }),
        })
    }

    pub fn answer(
        &mut self,
        reply_token: &str,
        response: Response<'_>,
        now: Time,
    ) -> Result<Settled, NotSettled> {
        let kind = match response {
            Response::Text(_) => ResponseKind::Freetext,
            Response::Flag(_) => ResponseKind::YesNo,
            Response::Number(_) => ResponseKind::Numeric,
        };
        self.take(reply_token, |question| match question.kind() {
            QuestionKind::Confirmation => Err(NotSettled::WrongKind),
            QuestionKind::Clarification if now >= question.due => Err(NotSettled::TooLate),
            QuestionKind::Clarification if question.kinds.contains(&kind) => Ok(Outcome::Answered),
            QuestionKind::Clarification => Err(NotSettled::WrongKind),
        })
    }

    pub fn elapse(
        &mut self,
        reply_token: &str,
        now: Time,
        audience: Audience,
    ) -> Result<Settled, NotSettled> {
        self.take(reply_token, |question| match (question.default, audience) {
            _ if now < question.due => Err(NotSettled::NotDue),
            (Some(Decision::Accept), Audience::Able) => Ok(Outcome::Accepted),
            (Some(_), _) => Ok(Outcome::Rejected),
            (None, _) => Ok(Outcome::Unanswered),
        })
    }

    fn take(
        &mut self,
        reply_token: &str,
        outcome: impl FnOnce(&Question) -> Result<Outcome, NotSettled>,
    ) -> Result<Settled, NotSettled> {
        let found = self.pending.iter().position(|question| question.reply_token == reply_token);
        let index = found.ok_or(NotSettled::Unknown)?;
        let outcome = outcome(&self.pending[index])?;
        let Question { event_id, reply_token, .. } = self.pending.remove(index);
        Ok(Settled { event_id, reply_token, outcome })
    }

    pub fn pending(&self) -> &[Question] {
        &self.pending
    }

    pub fn phase(&self) -> Phase {
        self.phase
    }
}
