//! How a question ends: by a reply, by its timeout, by the producer. Our clock decides whether a
//! reply is in time.

use super::question::{Outcome, PendingQuestion, Question, Reversal, Settled};
use super::{Consents, Covers, Grant, Lasts};
use crate::event::{Decision, ResponseKind};
use crate::machine::Session;
use base::time::Time;

/// An answer to a clarification.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Response<'a> {
    Text(&'a str),
    Flag(bool),
    Number(f64),
}

/// Whether any listener could have answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Audience {
    Able,
    #[default]
    NoListener,
}

/// Why a reply or a timeout changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSettled {
    #[error("no question waits with this token")]
    Unknown,
    #[error("the question has timed out")]
    TooLate,
    #[error("the question has not timed out yet")]
    NotDue,
    #[error("this answers another kind of question")]
    WrongKind,
    #[error("the question does not allow this answer")]
    NotAllowed,
}

impl Session {
    /// A decision on a confirmation. The first one counts; an accept expires.
    pub fn resolve(
        &mut self,
        reply_token: &str,
        decision: Decision,
        now: Time,
        lasts: Lasts,
    ) -> Result<Settled, NotSettled> {
        let index = self.consents.in_time(reply_token, now)?;
        let PendingQuestion::Confirmation { allowed, reversal, .. } =
            self.consents.questions[index].asked()
        else {
            return Err(NotSettled::WrongKind);
        };
        let needs_a_person = decision == Decision::Accept
            && lasts == Lasts::NotAtAll
            && *reversal == Reversal::Irreversible;
        if !allowed.contains(&decision) || needs_a_person {
            return Err(NotSettled::NotAllowed);
        }
        Ok(self.consents.settle(index, decision, By::Reply(lasts)))
    }

    /// An answer to a clarification.
    pub fn answer(
        &mut self,
        reply_token: &str,
        response: Response<'_>,
        now: Time,
    ) -> Result<Settled, NotSettled> {
        let index = self.consents.in_time(reply_token, now)?;
        let question = &self.consents.questions[index];
        let PendingQuestion::Clarification { kinds, choices, .. } = question.asked() else {
            return Err(NotSettled::WrongKind);
        };
        if !response.fits(kinds, choices) {
            return Err(NotSettled::NotAllowed);
        }
        let (settled, _) = self.consents.questions.remove(index).settled(Outcome::Answered);
        Ok(settled)
    }

    /// No answer to this question counts any more, also not one that was given and not used yet:
    /// the action asked about is not done.
    pub fn withdraw(&mut self, reply_token: &str) -> Result<Settled, NotSettled> {
        let grants = &mut self.consents.grants;
        if let Some(index) = grants.iter().position(|it| it.reply_token == reply_token) {
            let Grant { event_id, reply_token, target, action, .. } = grants.remove(index);
            self.consents.refuse(&target, &action);
            return Ok(Settled { event_id, reply_token, outcome: Outcome::Withdrawn });
        }
        let index = self.consents.waiting(reply_token)?;
        let question = self.consents.questions.remove(index);
        Ok(self.consents.withdraw_one(question))
    }

    /// A question timed out: its default applies. An irreversible action is rejected, and so is any
    /// action if no listener could have answered.
    pub fn elapse(
        &mut self,
        reply_token: &str,
        now: Time,
        audience: Audience,
    ) -> Result<Settled, NotSettled> {
        let index = self.consents.waiting(reply_token)?;
        let question = &self.consents.questions[index];
        if now < question.due() {
            return Err(NotSettled::NotDue);
        }
        let decision = match (question.asked(), audience) {
            (PendingQuestion::Clarification { .. }, _) => {
                let question = self.consents.questions.remove(index);
                return Ok(question.settled(Outcome::Unanswered).0);
            }
            (PendingQuestion::Confirmation { reversal: Reversal::Irreversible, .. }, _)
            | (PendingQuestion::Confirmation { .. }, Audience::NoListener) => Decision::Reject,
            (PendingQuestion::Confirmation { default, .. }, Audience::Able) => *default,
        };
        Ok(self.consents.settle(index, decision, By::Timeout))
    }
}

#[derive(Clone, Copy)]
enum By {
    Reply(Lasts),
    Timeout,
}

impl Consents {
    fn waiting(&self, reply_token: &str) -> Result<usize, NotSettled> {
        let is_it = |question: &Question| question.reply_token() == reply_token;
        self.questions.iter().position(is_it).ok_or(NotSettled::Unknown)
    }

    fn in_time(&self, reply_token: &str, now: Time) -> Result<usize, NotSettled> {
        let index = self.waiting(reply_token)?;
        if now < self.questions[index].due() { Ok(index) } else { Err(NotSettled::TooLate) }
    }

    /// Ends a confirmation.
    fn settle(&mut self, index: usize, decision: Decision, by: By) -> Settled {
        let question = self.questions.remove(index);
        let outcome = match decision {
            Decision::Accept => Outcome::Accepted,
            Decision::Reject => Outcome::Rejected,
        };
        let (settled, asked) = question.settled(outcome);
        let PendingQuestion::Confirmation { target, action, reversal, .. } = asked else {
            unreachable!("only a confirmation is decided");
        };
        match decision {
            Decision::Reject => {
                self.refuse(&target, &action);
                self.is_untold = true;
            }
            Decision::Accept => {
                self.forget(&target);
                self.grants.push(Grant {
                    event_id: settled.event_id.clone(),
                    reply_token: settled.reply_token.clone(),
                    target,
                    action,
                    covers: Covers::of(reversal, by),
                    is_owed: true,
                    until: by.until(),
                });
            }
        }
        settled
    }
}

impl By {
    /// An accept by default has no expiry, because nothing irreversible rests on it anyway.
    fn until(self) -> Option<Time> {
        match self {
            By::Reply(Lasts::Until(until)) => Some(until),
            By::Reply(Lasts::WithoutEnd | Lasts::NotAtAll) | By::Timeout => None,
        }
    }
}

impl Covers {
    fn of(reversal: Reversal, by: By) -> Self {
        match (reversal, by) {
            (_, By::Timeout | By::Reply(Lasts::NotAtAll))
            | (Reversal::Promised | Reversal::WithEffort, By::Reply(_)) => Covers::Reversible,
            (Reversal::Irreversible, By::Reply(_)) => Covers::Irreversible,
            (Reversal::Possible, By::Reply(_)) => Covers::Either,
        }
    }
}

impl Response<'_> {
    /// Without kinds, any text fits, or one of the choices if there are any.
    fn fits(self, kinds: &[ResponseKind], choices: &[String]) -> bool {
        let is_choice = |text: &str| choices.iter().any(|choice| choice == text);
        if kinds.is_empty() {
            return match self {
                Response::Text(text) => !text.is_empty(),
                Response::Flag(_) | Response::Number(_) => false,
            };
        }
        kinds.iter().any(|kind| match (kind, self) {
            (ResponseKind::Freetext, Response::Text(text)) => !text.is_empty(),
            (ResponseKind::MultipleChoice, Response::Text(text)) => is_choice(text),
            (ResponseKind::YesNo, Response::Flag(_)) => true,
            (ResponseKind::Numeric, Response::Number(number)) => number.is_finite(),
            (ResponseKind::Freetext, _)
            | (ResponseKind::MultipleChoice, _)
            | (ResponseKind::YesNo, _)
            | (ResponseKind::Numeric, _) => false,
        })
    }
}
