//! Which handoff of a turn counts, and what each call is answered.
//!
//! One rule for every framework: the first handoff that is allowed wins, every other handoff is
//! told why it was not performed, and ordinary tools run as if there were no handoff. Every call
//! has exactly one answer, so that the history goes on wherever the conversation does.

use serde::Serialize;
use serde_json::Value;

use super::calls::{Call, CallKind, Request};
use super::definitions::Target;
use super::history::{self, Outcome, Written};
use super::{Form, Malformed, text};

/// Long enough for any id, and for whatever a model took for one.
const SHOWN_CHARS_MAX: usize = 80;

/// Long enough for an explanation, short enough for every history it will stay in.
const REASON_CHARS_MAX: usize = 500;

/// Why a handoff is not performed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody of that name, or nobody this agent may hand over to.
    UnknownAgent,
    /// A router or supervisor, which never holds a conversation.
    SystemAgent,
    /// An earlier call of the turn was performed.
    Surplus { accepted: String },
    /// The arguments are not what the tool takes.
    Unreadable(Malformed),
    /// A rule about conversations says no, in its own words.
    Denied { reason: String },
}

/// What a call is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The conversation goes to this agent.
    Accepted { to: String },
    /// The conversation does not go where this call wanted it.
    Refused { target: String, refusal: Refusal },
    /// An ordinary tool ran.
    Ran { text: String, ending: Ending },
    /// An ordinary tool was not run.
    NotRun { reason: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Success,
    Error,
}

/// The calls of one turn with what is known about their answers.
#[derive(Debug, Clone)]
pub struct Answers {
    calls: Vec<(Call, Option<Answer>)>,
    accepted: Option<Request>,
}

/// There is no ordinary call of that id that still waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no call of that id waits for an answer")]
pub struct NotWaiting;

impl Refusal {
    /// Stable, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::UnknownAgent => "unknown_agent",
            Refusal::SystemAgent => "system_agent",
            Refusal::Surplus { .. } => "surplus_handoff",
            Refusal::Unreadable(_) => "arguments_invalid",
            Refusal::Denied { .. } => "denied",
        }
    }

    /// What the model is told.
    pub fn text(&self, target: &str) -> String {
        let target = text::line(target, SHOWN_CHARS_MAX);
        match self {
            Refusal::UnknownAgent => format!("Cannot handoff: agent '{target}' not found"),
            Refusal::SystemAgent => format!("Cannot handoff to system agent '{target}'"),
            Refusal::Surplus { accepted } => format!(
                "Cannot handoff: one handoff per turn, and this turn is transferred to '{}'",
                text::line(accepted, SHOWN_CHARS_MAX)
            ),
            Refusal::Unreadable(malformed) => {
                let said = text::line(&malformed.to_string(), REASON_CHARS_MAX);
                format!("Cannot handoff: {said}")
            }
            Refusal::Denied { reason } => {
                format!("Cannot handoff: {}", text::line(reason, REASON_CHARS_MAX))
            }
        }
    }
}

impl Answers {
    /// Decides about the handoffs of a turn. `judge` is asked in order, until it allows one by
    /// saying who it goes to.
    pub fn decide(
        calls: Vec<Call>,
        mut judge: impl FnMut(&Request) -> Result<Target, Refusal>,
    ) -> Answers {
        let mut accepted: Option<(Request, String)> = None;
        let mut answered = Vec::with_capacity(calls.len());
        for call in calls {
            let answer = match (&call.kind, &accepted) {
                (CallKind::Other, _) => None,
                (CallKind::Unreadable(malformed), _) => {
                    let refusal = Refusal::Unreadable(malformed.clone());
                    Some(Answer::Refused { target: String::new(), refusal })
                }
                (CallKind::Handoff(request), Some((_, to))) => {
                    let refusal = Refusal::Surplus { accepted: to.clone() };
                    Some(Answer::Refused { target: request.target.clone(), refusal })
                }
                (CallKind::Handoff(request), None) => match judge(request) {
                    Ok(target) => {
                        let to = target.id.to_string();
                        let request = Request { target: to.clone(), ..request.clone() };
                        accepted = Some((request, to.clone()));
                        Some(Answer::Accepted { to })
                    }
                    Err(refusal) => {
                        Some(Answer::Refused { target: request.target.clone(), refusal })
                    }
                },
            };
            answered.push((call, answer));
        }
        Answers { calls: answered, accepted: accepted.map(|(request, _)| request) }
    }

    /// The handoff that is performed, if there is one.
    pub fn accepted(&self) -> Option<&Request> {
        self.accepted.as_ref()
    }

    /// Each call with its answer, in the order of the turn.
    pub fn each(&self) -> impl Iterator<Item = (&Call, Option<&Answer>)> {
        self.calls.iter().map(|(call, answer)| (call, answer.as_ref()))
    }

    /// The ordinary calls that whoever runs the tools has still to answer.
    pub fn waiting(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|(_, answer)| answer.is_none()).map(|(call, _)| call)
    }

    /// An ordinary tool ran.
    pub fn ran(&mut self, call_id: &str, text: String, ending: Ending) -> Result<(), NotWaiting> {
        let is_meant = |(call, answer): &&mut (Call, Option<Answer>)| {
            call.call_id == call_id && answer.is_none()
        };
        let (_, answer) = self.calls.iter_mut().find(is_meant).ok_or(NotWaiting)?;
        *answer = Some(Answer::Ran { text, ending });
        Ok(())
    }

    /// The tools that have not run will not.
    pub fn will_not_run(&mut self, reason: &str) {
        for (_, answer) in self.calls.iter_mut().filter(|(_, answer)| answer.is_none()) {
            *answer = Some(Answer::NotRun { reason: reason.to_owned() });
        }
    }

    /// The messages that answer the turn: a result for each call that has an answer, in the order
    /// of the calls. Calls that still wait are left to whoever runs them; [`history::join`] puts
    /// their results with these.
    pub fn messages(&self, form: Form, turn: &Value) -> Vec<Value> {
        let results = self.calls.iter().filter_map(|(call, answer)| {
            let (text, outcome) = said(answer.as_ref()?);
            Some(Written { call_id: &call.call_id, name: &call.name, text, outcome })
        });
        history::results(form, turn, results.collect())
    }
}

fn said(answer: &Answer) -> (String, Outcome) {
    match answer {
        Answer::Accepted { to } => {
            let mark = Mark { outcome: "accepted", code: None, target: to };
            (format!("Successfully transferred to {to}"), Outcome::done(&mark))
        }
        Answer::Refused { target, refusal } => {
            let target = text::line(target, SHOWN_CHARS_MAX);
            let mark = Mark { outcome: "refused", code: Some(refusal.code()), target: &target };
            (refusal.text(&target), Outcome::failed(&mark))
        }
        Answer::Ran { text, ending: Ending::Success } => (text.clone(), Outcome::ran()),
        Answer::Ran { text, ending: Ending::Error } => (text.clone(), Outcome::ran_badly()),
        Answer::NotRun { reason } => {
            let mark = Mark { outcome: "not_run", code: None, target: "" };
            let reason = text::line(reason, REASON_CHARS_MAX);
            (format!("Not run: {reason}"), Outcome::failed(&mark))
        }
    }
}

/// What a program can read where a form has a place that the model does not see.
#[derive(Debug, Serialize)]
struct Mark<'a> {
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    target: &'a str,
}
