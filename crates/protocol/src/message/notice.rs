//! The server's own messages: a pure function of the events of a handoff or a conversation, so that
//! the same entry always gives the same notice.

use serde_json::{Map, Value};

use super::command::{Address, Outgoing};
use super::kind::Kind;
use super::state;
use crate::conversation;
use crate::handoff::Handoff;
use crate::handoff::event::{Escalated, Event, Rejected, SlaWarned};
use crate::handoff::package::Priority;
use crate::handoff::sla::SlaStage;
use crate::handoff::state::Note;
use crate::handoff::waits;
use crate::ids::{AgentId, ConversationId, HandoffId};

/// A notice must fit into a payload with all its fields. It points to the handoff, which has the
/// whole text.
const EXCERPT_BYTES_MAX: usize = 1_500;

/// The names of the events that cause a notice.
pub const CAUSES: [&str; 8] = [
    "handoff.rejected",
    "handoff.escalated",
    "handoff.sla_warned",
    "handoff.completion_started",
    "handoff.completion_checked",
    "handoff.completion_failed",
    "handoff.disputed",
    "conversation.reply_overdue",
];

/// The notice that an event of a conversation causes: a person who leaves a customer without a
/// reply is reminded, and the coordinators are told.
pub fn of_conversation(id: ConversationId, event: &conversation::Event) -> Option<Outgoing> {
    let conversation::Event::ReplyOverdue(overdue) = event else { return None };
    let says = [
        ("type", Kind::StatusBlocked.to_string()),
        ("blocking_issue", "reply_overdue".to_owned()),
        ("conversation_id", id.to_string()),
        ("queue", overdue.queue.to_string()),
        ("agent", overdue.holder.to_string()),
        ("waiting_since", overdue.since.to_stored_string()),
        ("reply_target", overdue.within.to_string()),
    ];
    let says = says.into_iter().map(|(name, value)| (name.to_owned(), Value::String(value)));
    Some(Outgoing {
        to: [overdue.holder.clone(), state::coordinators()].map(Address::Agent).to_vec(),
        kind: Some(Kind::StatusBlocked),
        priority: Priority::High,
        payload: says.collect(),
        ..Outgoing::default()
    })
}

/// The notice that an event of a handoff causes, if it does.
pub fn of(id: HandoffId, event: &Event, handoff: &Handoff) -> Option<Outgoing> {
    let (kind, to, priority, says) = told(event, handoff)?;
    let mut payload = Map::new();
    let mut say = |name: &str, value: String| payload.insert(name.to_owned(), Value::String(value));
    say("handoff_id", id.to_string());
    let task = handoff.task_id().map(|task| ("task_id", task.to_string()));
    for (name, value) in task.into_iter().chain(says) {
        say(name, value);
    }
    Some(Outgoing {
        to: vec![Address::Agent(to)],
        thread_id: Some(handoff.thread_id().clone()),
        kind: Some(kind),
        priority,
        payload,
        ..Outgoing::default()
    })
}

type Says = Vec<(&'static str, String)>;

fn told(event: &Event, handoff: &Handoff) -> Option<(Kind, AgentId, Priority, Says)> {
    let told = match event {
        Event::Rejected(rejected) => {
            (Kind::SystemError, rejected.parties.from.clone(), Priority::Normal, why(rejected))
        }
        // The recall's message tells of both.
        Event::Escalated(escalated) if is_told_with_a_recall(escalated, handoff) => return None,
        Event::Escalated(escalated) => {
            (Kind::StatusBlocked, state::coordinators(), Priority::High, to_do(escalated, handoff))
        }
        Event::SlaWarned(warned) => {
            (Kind::StatusUpdate, warned.parties.to.clone(), Priority::Normal, until_when(warned))
        }
        Event::CompletionFailed(failure) => {
            let says =
                vec![("reason", failure.reason.to_string()), ("detail", excerpt(&failure.detail))];
            (Kind::SystemError, failure.parties.to.clone(), Priority::Normal, says)
        }
        Event::Disputed(disputed) => {
            let says = vec![("reason", "disputed".to_owned()), ("detail", excerpt(&disputed.why))];
            (Kind::SystemError, disputed.parties.to.clone(), Priority::Normal, says)
        }
        Event::CompletionStarted(started)
            if started.needs_verifier && started.final_artifacts.is_empty() =>
        {
            (Kind::StatusUpdate, started.parties.from.clone(), Priority::Normal, to_confirm())
        }
        Event::CompletionChecked(checked) if checked.needs_verifier => {
            (Kind::StatusUpdate, checked.parties.from.clone(), Priority::Normal, to_confirm())
        }
        Event::Drafted(_)
        | Event::Proposed(_)
        | Event::ValidationStarted(_)
        | Event::VerificationUnavailable(_)
        | Event::Checked(_)
        | Event::Approved(_)
        | Event::Refused(_)
        | Event::Accepted(_)
        | Event::Activated(_)
        | Event::Progressed(_)
        | Event::Recalled(_)
        | Event::CompletionStarted(_)
        | Event::CompletionChecked(_)
        | Event::Confirmed(_)
        | Event::Completed(_)
        | Event::Closed(_)
        | Event::SlaExtended(_)
        | Event::Countered(_)
        | Event::Delegated(_)
        | Event::DelegationEnded(_)
        | Event::DelegationReopened(_)
        | Event::DelegationRecalled(_)
        | Event::WorkqSettled(_)
        | Event::WorkqDegraded(_) => return None,
    };
    Some(told)
}

/// The time is part of a stored message, so it has the stored form.
fn until_when(warned: &SlaWarned) -> Says {
    vec![("stage", warned.stage.as_str().to_owned()), ("due", warned.due.to_stored_string())]
}

fn why(rejected: &Rejected) -> Says {
    let fix = rejected.suggested_fix.as_deref();
    let mut says =
        vec![("reason", rejected.reason.to_string()), ("detail", excerpt(&rejected.detail))];
    says.extend(fix.map(|fix| ("suggested_fix", excerpt(fix))));
    says
}

/// The sender of the task is the first who can confirm that it is done.
fn to_confirm() -> Says {
    vec![("completion", "reported as done; confirm or dispute it".to_owned())]
}

/// The escalation notification of the ACP design.
fn to_do(escalated: &Escalated, handoff: &Handoff) -> Says {
    let has_parts = match handoff {
        Handoff::Made(made) => waits::has_open_parts(made),
        Handoff::Draft(_) | Handoff::Discarded { .. } => false,
    };
    let recommended = match escalated.stage {
        // A task with parts under way keeps its owner.
        _ if has_parts => "extend_sla",
        // The sender wants the task back.
        _ if escalated.is_of_recall() => "reassign",
        SlaStage::Proposed | SlaStage::Accepted => "reassign",
        // The work is under way, and more time may be enough.
        SlaStage::Validating | SlaStage::Activated => "extend_sla",
    };
    let mut says = vec![
        ("type", Kind::StatusBlocked.to_string()),
        ("blocking_issue", escalated.trigger.clone()),
        ("escalation_level", escalated.escalated_to.clone()),
        ("recommended_action", recommended.to_owned()),
    ];
    let is_of_stage = |other: &Escalated| !other.is_of_recall();
    if escalated.is_of_recall() && escalated_with(escalated, handoff, is_of_stage) {
        says.push(("also_overdue", escalated.stage.as_str().to_owned()));
    }
    says
}

fn is_told_with_a_recall(escalated: &Escalated, handoff: &Handoff) -> bool {
    !escalated.is_of_recall() && escalated_with(escalated, handoff, Escalated::is_of_recall)
}

/// Whether another limit was escalated by the same commit, which has one time.
fn escalated_with(
    escalated: &Escalated,
    handoff: &Handoff,
    is_other: impl Fn(&Escalated) -> bool,
) -> bool {
    handoff.notes().iter().any(|note| match note {
        Note::Escalation(other) => other.escalated_at == escalated.escalated_at && is_other(other),
        Note::Rejection(_) | Note::Closure(_) => false,
    })
}

/// The beginning of a text, measured in bytes of JSON.
fn excerpt(text: &str) -> String {
    let n_bytes = |character: char| match character {
        '"' | '\\' => 2,
        other if other.is_control() => 6,
        other => other.len_utf8(),
    };
    let mut taken = 0;
    let fits = text.chars().take_while(|character| {
        taken += n_bytes(*character);
        taken <= EXCERPT_BYTES_MAX
    });
    let beginning: String = fits.collect();
    if beginning.len() == text.len() { beginning } else { beginning + "…" }
}
