//! Questions, accepts, and the calls that may rest on them. An accept is used up by one call. A
//! confirmation that names its call or the hash of its action allows only that one. A confirmation
//! that names neither allows one later irreversible call, and that binding is weak.

mod act;
mod question;
mod settle;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub(super) use self::act::Act;
pub use self::question::{Outcome, Question, QuestionKind, Settled};
use self::question::{PendingQuestion, Reversal, Target};
pub use self::settle::{Audience, NotSettled, Response};
use super::limits::{
    CHOICE_BYTES_MAX, CHOICES_MAX, CONSENTS_MAX, DEFAULT_RESPONSE_BYTES_MAX, ID_BYTES_MAX,
    QUESTIONS_MAX, REFUSED_MAX, kept, room,
};
use super::rules::{self, flaw};
use super::{Session, Step, Used};
use crate::event::{Clarification, Confirmation, Decision, Link, ResponseKind, Risk};
use crate::flaw::Flaw;
use base::lookalike::letters;
use base::time::{Span, Time};

/// The accept that an irreversible call rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// The id of the confirmation event.
    pub event_id: String,
    pub reply_token: String,
    pub binding: Binding,
}

/// How strongly a call is bound to its confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Binding {
    /// By the hash of tool and arguments.
    Strong,
    /// By its order, or by the id of the call: the arguments may differ.
    Weak,
}

/// Until when an irreversible call may rest on an accept, by our clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    Until(Time),
    /// The time of the accept is unknown, or it is from before accepts expired.
    WithoutEnd,
    /// A rule gave it, not a person: nothing irreversible may rest on it.
    NotAtAll,
}

/// Whether an irreversible call may rest on a weak binding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weak {
    #[default]
    Allowed,
    Refused,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Consents {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    questions: Vec<Question>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    grants: Vec<Grant>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    refused: Vec<Name>,
    /// Whether a reject still waits for an event that reports it.
    is_untold: bool,
}

/// One of the two names under which an action is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Name {
    Call(String),
    Action(String),
}

/// An accept that waits for its call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Grant {
    event_id: String,
    reply_token: String,
    target: Target,
    /// Its words, by their digests.
    action: String,
    covers: Covers,
    /// Whether the session cannot complete before the call.
    is_owed: bool,
    /// When it lapses: then nothing irreversible may rest on it any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Time>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Covers {
    /// The action was said to be irreversible.
    Irreversible,
    /// The confirmation does not say.
    Either,
    /// The action was said to be reversible, with or without effort, or a default accepted it.
    Reversible,
}

impl Session {
    /// The open questions, the oldest first.
    pub fn pending(&self) -> &[Question] {
        &self.consents.questions
    }

    /// Whether a call may still rest on the accept of this question.
    pub fn has_accept(&self, reply_token: &str) -> bool {
        self.consents.grants.iter().any(|grant| grant.reply_token == reply_token)
    }

    /// Whether no call has been made on the accept of this question.
    pub fn has_unused_accept(&self, reply_token: &str) -> bool {
        let is_it = |grant: &Grant| grant.reply_token == reply_token && grant.is_owed;
        self.consents.grants.iter().any(is_it)
    }

    /// Drops erased default responses: a question that times out then has no answer.
    pub fn forget_default_responses(&mut self) {
        self.consents.questions.iter_mut().for_each(Question::forget_default_response);
    }
}

impl Consents {
    pub(super) fn ask(
        &mut self,
        confirmation: &Confirmation<'_>,
        step: &Step<'_>,
        uses: &mut Vec<Used>,
    ) -> Result<(), Flaw> {
        let reversal = Reversal::of(confirmation);
        check_default(confirmation, reversal)?;
        let token = self.new_token(&confirmation.reply_token, step)?;
        let link = &step.event.envelope.link;
        let target = Target::of(link)?;
        let action = words_of(&confirmation.action);
        if self.questions.iter().any(|question| question.is_about(&target, &action)) {
            let expected = "no second question about an action while the first waits";
            return Err(flaw(&rules::ASKED_ONCE, "action", expected));
        }
        if let Some(id) = &target.tool_call_id
            && (step.is_used)(&Used::Call(id.clone()))
        {
            let expected = "a call that is not made yet";
            return Err(flaw(&rules::ASKED_BEFORE, "extensions.tasuki.tool_call_id", expected));
        }
        if step.weak == Weak::Refused
            && reversal == Reversal::Irreversible
            && target.action_hash.is_none()
        {
            let expected = "the hash of the action";
            return Err(flaw(&rules::BOUND_BY_HASH, "extensions.tasuki.action_hash", expected));
        }
        let n_consents = self.questions.iter().filter(|question| question.is_confirmation());
        let is_replaced = |grant: &Grant| {
            grant.is_lapsed(step.at) && grant.target.is_same(&grant.action, &target, &action)
        };
        let n_grants = self.grants.iter().filter(|grant| !is_replaced(grant)).count();
        let n_consents = n_consents.count() + n_grants;
        room(n_consents, CONSENTS_MAX, "type", "confirmations without their call")?;
        self.grants.retain(|grant| !is_replaced(grant));
        let asked = PendingQuestion::Confirmation {
            target,
            action,
            reversal,
            default: confirmation.default_decision,
            allowed: allowed(confirmation),
        };
        self.wait(asked, token, confirmation.timeout_seconds, step, uses);
        Ok(())
    }

    pub(super) fn ask_to_clarify(
        &mut self,
        clarification: &Clarification<'_>,
        step: &Step<'_>,
        uses: &mut Vec<Used>,
    ) -> Result<(), Flaw> {
        let token = self.new_token(&clarification.reply_token, step)?;
        if clarification.choices.len() > CHOICES_MAX {
            return Err(flaw(&rules::LIMIT, "choices", format!("at most {CHOICES_MAX}")));
        }
        for choice in &clarification.choices {
            kept(choice, CHOICE_BYTES_MAX, "choices")?;
        }
        let mut kinds = clarification.accepted_kinds.clone();
        kinds.truncate(ResponseKind::ALL.len());
        let choices = clarification.choices.iter().map(|choice| choice.as_ref().to_owned());
        let default_response = clarification.default_response.as_deref();
        if let Some(default) = default_response {
            kept(default, DEFAULT_RESPONSE_BYTES_MAX, "default_response")?;
        }
        let default_response = default_response.filter(|it| !it.is_empty()).map(str::to_owned);
        let asked =
            PendingQuestion::Clarification { kinds, choices: choices.collect(), default_response };
        self.wait(asked, token, clarification.timeout_seconds, step, uses);
        Ok(())
    }

    /// A reject was reported.
    pub(super) fn told(&mut self) {
        self.is_untold = false;
    }

    /// Withdraws all questions; the actions asked about are not done.
    pub(super) fn withdraw(&mut self) -> Vec<Settled> {
        let questions = std::mem::take(&mut self.questions);
        questions.into_iter().map(|question| self.withdraw_one(question)).collect()
    }

    fn withdraw_one(&mut self, question: Question) -> Settled {
        let (settled, asked) = question.settled(Outcome::Withdrawn);
        if let PendingQuestion::Confirmation { target, action, .. } = asked {
            self.refuse(&target, &action);
        }
        settled
    }

    pub(super) fn end(&mut self) -> Vec<Settled> {
        let withdrawn = self.withdraw();
        *self = Consents::default();
        withdrawn
    }

    /// Whether no question, no accept and no reject is still open.
    pub(super) fn check_settled(&self) -> Result<(), Flaw> {
        if let Some(question) = self.questions.first() {
            let event_id = question.event_id();
            let expected = format!("an answer to {event_id}, its timeout, or to withdraw it");
            return Err(flaw(&rules::SETTLED, "type", expected));
        }
        if let Some(grant) = self.grants.iter().find(|grant| grant.is_owed) {
            let Grant { event_id, .. } = grant;
            let expected = format!("tool.invoked for what {event_id} asked for, or to ask again");
            return Err(flaw(&rules::DONE, "type", expected));
        }
        if self.is_untold {
            let expected = "an event that tells of the reject, such as state.changed";
            return Err(flaw(&rules::TOLD, "type", expected));
        }
        Ok(())
    }

    /// Checks that there is room for one more question, and that its token is new.
    fn new_token(&self, token: &str, step: &Step<'_>) -> Result<Used, Flaw> {
        kept(token, ID_BYTES_MAX, "reply_token")?;
        let used = Used::Token(token.to_owned());
        if (step.is_used)(&used) {
            let expected = "a token that was never used";
            return Err(flaw(&rules::TOKEN_ONCE, "reply_token", expected));
        }
        room(self.questions.len(), QUESTIONS_MAX, "type", "open questions")?;
        Ok(used)
    }

    fn wait(
        &mut self,
        asked: PendingQuestion,
        token: Used,
        timeout_seconds: u32,
        step: &Step<'_>,
        uses: &mut Vec<Used>,
    ) {
        let Used::Token(reply_token) = &token else { unreachable!("a token was checked") };
        let due = step.at.plus(Span::from_millis(i64::from(timeout_seconds) * 1000));
        let event_id = step.event.envelope.event_id.as_ref().to_owned();
        self.questions.push(Question::new(event_id, reply_token.clone(), due, asked));
        uses.push(token);
        self.told();
    }

    /// Remembers that an action must not be called. The last decision counts, even over an unused
    /// accept.
    fn refuse(&mut self, target: &Target, action: &str) {
        let read_as = |words: &str| words.rsplit('.').next().map(str::to_owned);
        let own = read_as(action);
        self.grants.retain(|grant| {
            let is_alike = read_as(&grant.action) == own;
            let words = if is_alike { action } else { &grant.action };
            !grant.target.is_same(words, target, action)
        });
        self.forget(target);
        self.refused.extend(target.names());
        let n_over = self.refused.len().saturating_sub(REFUSED_MAX);
        self.refused.drain(..n_over);
    }

    /// Forgets a refusal: the action is accepted, or refused again.
    fn forget(&mut self, target: &Target) {
        self.refused.retain(|name| !target.names().any(|other| other == *name));
    }
}

impl Target {
    fn of(link: &Link<'_>) -> Result<Self, Flaw> {
        let text = |text: Option<&str>, field| match text {
            Some(text) => kept(text, ID_BYTES_MAX, field).map(|()| Some(text.to_owned())),
            None => Ok(None),
        };
        Ok(Self {
            tool_call_id: text(link.tool_call_id.as_deref(), "extensions.tasuki.tool_call_id")?,
            action_hash: text(link.action_hash.as_deref(), "extensions.tasuki.action_hash")?,
        })
    }

    fn is_linked(&self) -> bool {
        self.tool_call_id.is_some() || self.action_hash.is_some()
    }

    fn names(&self) -> impl Iterator<Item = Name> {
        let call = self.tool_call_id.clone().map(Name::Call);
        call.into_iter().chain(self.action_hash.clone().map(Name::Action))
    }

    /// Whether both are about the same action: the same call, else the same hash, else, if one of
    /// them has no hash, the same words.
    fn is_same(&self, words: &str, other: &Target, other_words: &str) -> bool {
        let both_hashed = self.action_hash.is_some() && other.action_hash.is_some();
        self.touches(other) || (!both_hashed && words == other_words)
    }

    /// Whether both name the same call or the same action.
    fn touches(&self, other: &Target) -> bool {
        let same = |one: &Option<String>, other: &Option<String>| one.is_some() && one == other;
        same(&self.tool_call_id, &other.tool_call_id) || same(&self.action_hash, &other.action_hash)
    }
}

/// The decisions that may be given; a reject is always one of them.
fn allowed(confirmation: &Confirmation<'_>) -> Vec<Decision> {
    let replies = &confirmation.allowed_replies;
    let is_allowed = |decision: &Decision| match decision {
        Decision::Reject => true,
        Decision::Accept => replies.is_empty() || replies.iter().any(|it| it == decision.as_str()),
    };
    Decision::ALL.iter().copied().filter(is_allowed).collect()
}

fn check_default(confirmation: &Confirmation<'_>, reversal: Reversal) -> Result<(), Flaw> {
    let is_grave = match confirmation.risk {
        Some(Risk::Medium | Risk::High) => true,
        Some(Risk::Low) | None => false,
    };
    let must_reject = match reversal {
        Reversal::Irreversible => true,
        Reversal::WithEffort => is_grave,
        Reversal::Possible | Reversal::Promised => false,
    };
    if must_reject && confirmation.default_decision == Decision::Accept {
        return Err(flaw(&rules::DEFAULT_REJECT, "default_decision", "reject"));
    }
    Ok(())
}

/// The words of an action as a person reads them: another spelling that looks alike is the same.
pub fn as_read(action: &str) -> Cow<'_, str> {
    let letters = letters(action);
    if letters.is_empty() { Cow::Borrowed(action) } else { Cow::Owned(letters) }
}

/// Tells actions apart without keeping their texts: by their words, and behind the dot by their
/// words as a person reads them.
fn words_of(action: &str) -> String {
    format!("{}.{}", digest(action), digest(&as_read(action)))
}

fn digest(action: &str) -> String {
    Sha256::digest(action).iter().map(|byte| format!("{byte:02x}")).collect()
}
