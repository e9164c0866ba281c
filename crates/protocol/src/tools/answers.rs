//! Which handoff of a turn counts, and the answer to each call.
//!
//! One rule for every framework: the first allowed handoff wins, every other handoff is told why it
//! was not performed, and ordinary tools run as if there were no handoff. Every call has exactly
//! one answer, so that the history stays valid wherever the conversation goes.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::calls::{Call, CallKind, Request};
use super::definitions::Target;
use super::history::{self, Written, WrittenOutcome};
use super::{Form, Malformed, name, text};
use crate::ids::AgentId;
use crate::route::graph::HUMAN;

/// Long enough for any id, and for most texts that a model takes for one.
const SHOWN_CHARS_MAX: usize = 80;

/// Long enough for an explanation, short enough for every history that will keep it.
const REASON_CHARS_MAX: usize = 500;

/// Why a handoff is not performed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// No agent has that name.
    UnknownAgent,
    /// A router or supervisor, which never holds a conversation.
    SystemAgent,
    /// A person, or a queue of them.
    Person,
    /// The agent whose turn it is.
    Itself,
    /// An agent to which this agent may not hand this conversation over.
    NotOffered,
    /// An earlier call of the turn was performed.
    Surplus { accepted: String },
    /// The arguments do not fit the tool.
    Unreadable(Malformed),
    /// A rule about conversations refuses it, in its own words.
    Denied { code: &'static str, reason: String },
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAnswer {
    /// The conversation goes to this agent.
    Accepted { to: String },
    /// A person was asked for, and the customer waits in this queue.
    Waits { queue: AgentId },
    /// The conversation was handed over, but not to the agent that the call names.
    Redirected { target: String, to: Redirect },
    /// The conversation does not go where this call wanted it.
    Refused { target: String, refusal: Refusal },
    /// An ordinary tool ran.
    Ran { text: String, ending: Ending },
    /// An ordinary tool was not run.
    NotRun { reason: String },
}

/// Where the loop guard sent a conversation instead of the requested target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redirect {
    /// To the supervisor of the agents.
    Supervisor(AgentId),
    /// A person was asked for, and the customer waits in this queue.
    Queue(AgentId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Success,
    Error,
}

/// The calls of one turn, with their answers as far as known.
#[derive(Debug, Clone)]
pub struct Answers {
    calls: Vec<(Call, Option<ToolAnswer>)>,
    accepted: Option<Request>,
}

/// No ordinary call with that id waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no call of that id waits for an answer")]
pub struct NotWaiting;

impl Refusal {
    /// Stable, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::UnknownAgent => "unknown_agent",
            Refusal::SystemAgent => "system_agent",
            Refusal::Person => "not_a_worker",
            Refusal::Itself => "has_it_already",
            Refusal::NotOffered => "not_offered",
            Refusal::Surplus { .. } => "surplus_handoff",
            Refusal::Unreadable(_) => "arguments_invalid",
            Refusal::Denied { code, .. } => code,
        }
    }

    /// The text for the model.
    pub fn text(&self, target: &str) -> String {
        let target = text::line(target, SHOWN_CHARS_MAX);
        match self {
            Refusal::UnknownAgent => format!("Cannot handoff: agent '{target}' not found"),
            Refusal::SystemAgent => format!("Cannot handoff to system agent '{target}'"),
            Refusal::Person => {
                format!("Cannot handoff to '{target}': ask for a person with {}", name::PERSON)
            }
            Refusal::Itself => format!("Cannot handoff to '{target}': it has the conversation"),
            Refusal::NotOffered => {
                format!("Cannot handoff: this conversation may not go from you to '{target}'")
            }
            Refusal::Surplus { accepted } => format!(
                "Cannot handoff: one handoff per turn, and this turn is transferred to '{}'",
                text::line(accepted, SHOWN_CHARS_MAX)
            ),
            Refusal::Unreadable(malformed) => {
                let said = text::line(&malformed.to_string(), REASON_CHARS_MAX);
                format!("Cannot handoff: {said}")
            }
            Refusal::Denied { reason, .. } => {
                format!("Cannot handoff: {}", text::line(reason, REASON_CHARS_MAX))
            }
        }
    }
}

impl Answers {
    /// Decides about the handoffs of a turn. `judge` is asked in order, until it allows one by
    /// naming its target.
    pub fn decide(
        calls: Vec<Call>,
        mut judge: impl FnMut(&Request) -> Result<Target, Refusal>,
    ) -> Answers {
        let mut accepted: Option<(Request, String)> = None;
        let mut answered = Vec::with_capacity(calls.len());
        for call in calls {
            let answer = match (&call.kind, &accepted) {
                (CallKind::Other, _) => None,
                (CallKind::Unreadable { target, malformed }, _) => {
                    let refusal = Refusal::Unreadable(malformed.clone());
                    Some(ToolAnswer::Refused { target: target.clone(), refusal })
                }
                (CallKind::Handoff(request), Some((_, to))) => {
                    let refusal = Refusal::Surplus { accepted: to.clone() };
                    Some(ToolAnswer::Refused { target: request.target.clone(), refusal })
                }
                (CallKind::Handoff(request), None) => match judge(request) {
                    Ok(target) => {
                        let to = target.id.to_string();
                        let request = Request { target: to.clone(), ..request.clone() };
                        accepted = Some((request, to.clone()));
                        Some(ToolAnswer::Accepted { to })
                    }
                    Err(refusal) => {
                        Some(ToolAnswer::Refused { target: request.target.clone(), refusal })
                    }
                },
            };
            answered.push((call, answer));
        }
        Answers { calls: answered, accepted: accepted.map(|(request, _)| request) }
    }

    /// The handoff was performed, and the conversation went elsewhere. Every call is told so.
    pub fn redirected(&mut self, to: &Redirect) {
        for (_, answer) in &mut self.calls {
            match answer {
                Some(ToolAnswer::Accepted { to: target }) => {
                    let target = std::mem::take(target);
                    *answer = Some(ToolAnswer::Redirected { target, to: to.clone() });
                }
                Some(ToolAnswer::Refused { refusal: Refusal::Surplus { accepted }, .. }) => {
                    *accepted = to.holder().to_string();
                }
                Some(
                    ToolAnswer::Refused { .. }
                    | ToolAnswer::Waits { .. }
                    | ToolAnswer::Redirected { .. }
                    | ToolAnswer::Ran { .. }
                    | ToolAnswer::NotRun { .. },
                )
                | None => {}
            }
        }
    }

    /// A person was asked for, as the performed call wanted.
    pub fn waits(&mut self, queue: &AgentId) {
        for (_, answer) in &mut self.calls {
            if let Some(ToolAnswer::Accepted { .. }) = answer {
                *answer = Some(ToolAnswer::Waits { queue: queue.clone() });
            }
        }
    }

    /// The handoff that is performed, if there is one.
    pub fn accepted(&self) -> Option<&Request> {
        self.accepted.as_ref()
    }

    /// Each call with its answer, in the order of the turn.
    pub fn each(&self) -> impl Iterator<Item = (&Call, Option<&ToolAnswer>)> {
        self.calls.iter().map(|(call, answer)| (call, answer.as_ref()))
    }

    /// The ordinary calls that the client has still to run and answer.
    pub fn waiting(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|(_, answer)| answer.is_none()).map(|(call, _)| call)
    }

    /// An ordinary tool ran.
    pub fn ran(&mut self, call_id: &str, text: String, ending: Ending) -> Result<(), NotWaiting> {
        let is_meant = |(call, answer): &&mut (Call, Option<ToolAnswer>)| {
            call.call_id == call_id && answer.is_none()
        };
        let (_, answer) = self.calls.iter_mut().find(is_meant).ok_or(NotWaiting)?;
        *answer = Some(ToolAnswer::Ran { text, ending });
        Ok(())
    }

    /// The tools that have not run will not run.
    pub fn will_not_run(&mut self, reason: &str) {
        for (_, answer) in self.calls.iter_mut().filter(|(_, answer)| answer.is_none()) {
            *answer = Some(ToolAnswer::NotRun { reason: reason.to_owned() });
        }
    }

    /// The result of each call, for programs, so that no client has to parse tool names.
    pub fn called(&self) -> Vec<Called> {
        let called = |(call, answer): &(Call, Option<ToolAnswer>)| Called {
            call_id: call.call_id.clone(),
            name: call.name.clone(),
            mark: answer.as_ref().map_or_else(Mark::waiting, mark),
        };
        self.calls.iter().map(called).collect()
    }

    /// The messages that answer the turn: a result for each call that has an answer, in the order
    /// of the calls. The client answers the calls that still wait; [`history::join`] adds their
    /// results to these.
    pub fn messages(&self, form: Form, turn: &Value) -> Vec<Value> {
        let results = self.calls.iter().filter_map(|(call, answer)| {
            let (text, outcome) = said(answer.as_ref()?);
            Some(Written { call_id: &call.call_id, name: &call.name, text, outcome })
        });
        history::results(form, turn, results.collect())
    }
}

impl Redirect {
    /// Who holds the conversation now.
    pub fn holder(&self) -> &AgentId {
        match self {
            Redirect::Supervisor(agent) => agent,
            Redirect::Queue(queue) => queue,
        }
    }

    /// The text for the model.
    pub(super) fn text(&self, target: &str) -> String {
        let instead = match self {
            Redirect::Supervisor(agent) => format!("it was transferred to {agent} instead"),
            Redirect::Queue(queue) => {
                format!("a person was asked for, and the customer waits in the queue {queue}")
            }
        };
        format!(
            "{NOT_TRANSFERRED}{target}: the agents handed the conversation round in a circle or \
             too often, so {instead}"
        )
    }
}

/// How the answer to a redirected call begins.
pub(super) const NOT_TRANSFERRED: &str = "Not transferred to ";

/// What the model is told when a person was asked for.
pub(super) fn waits_in(queue: &AgentId) -> String {
    format!(
        "Successfully transferred to {HUMAN}: a person was asked for, and the customer waits in \
         the queue {queue}"
    )
}

fn said(answer: &ToolAnswer) -> (String, WrittenOutcome) {
    let mark = mark(answer);
    match answer {
        ToolAnswer::Accepted { to } => {
            (format!("Successfully transferred to {to}"), WrittenOutcome::done(&mark))
        }
        ToolAnswer::Waits { queue } => (waits_in(queue), WrittenOutcome::done(&mark)),
        ToolAnswer::Redirected { target, to } => (to.text(target), WrittenOutcome::done(&mark)),
        ToolAnswer::Refused { target, refusal } => {
            (refusal.text(target), WrittenOutcome::failed(&mark))
        }
        ToolAnswer::Ran { text, ending: Ending::Success } => (text.clone(), WrittenOutcome::ran()),
        ToolAnswer::Ran { text, ending: Ending::Error } => {
            (text.clone(), WrittenOutcome::ran_badly())
        }
        ToolAnswer::NotRun { reason } => {
            let reason = text::line(reason, REASON_CHARS_MAX);
            (format!("Not run: {reason}"), WrittenOutcome::failed(&mark))
        }
    }
}

fn mark(answer: &ToolAnswer) -> Mark {
    let none = Mark::waiting();
    match answer {
        ToolAnswer::Accepted { to } => {
            let (target, holder) = (to.clone(), to.clone());
            Mark { outcome: CallOutcome::Accepted, target, holder, ..none }
        }
        ToolAnswer::Waits { queue } => {
            let (target, holder) = (HUMAN.to_owned(), queue.to_string());
            Mark { outcome: CallOutcome::Accepted, target, holder, ..none }
        }
        ToolAnswer::Redirected { target, to } => Mark {
            outcome: CallOutcome::Redirected,
            code: Some("loop_guard"),
            target: target.clone(),
            holder: to.holder().to_string(),
        },
        ToolAnswer::Refused { target, refusal } => {
            let (target, code) = (text::line(target, SHOWN_CHARS_MAX), Some(refusal.code()));
            Mark { outcome: CallOutcome::Refused, code, target, ..none }
        }
        ToolAnswer::Ran { .. } => Mark { outcome: CallOutcome::Ran, ..none },
        ToolAnswer::NotRun { .. } => Mark { outcome: CallOutcome::NotRun, ..none },
    }
}

/// One call, and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Called {
    pub call_id: String,
    /// The tool that was called.
    pub name: String,
    #[serde(flatten)]
    pub mark: Mark,
}

/// For programs, where a form has a place that the model does not see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Mark {
    pub outcome: CallOutcome,
    /// Why the conversation did not go where the call wanted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// The id of the agent that the call names.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// Who holds the conversation because of this call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub holder: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// The conversation went to the agent that the call names, or a person was asked for.
    Accepted,
    /// The conversation went to another agent, or to a queue.
    Redirected,
    /// The conversation did not move because of this call.
    Refused,
    /// A tool that is not ours, which the client has to run.
    Waiting,
    Ran,
    NotRun,
}

impl Mark {
    fn waiting() -> Self {
        let (target, holder) = (String::new(), String::new());
        Self { outcome: CallOutcome::Waiting, code: None, target, holder }
    }
}
