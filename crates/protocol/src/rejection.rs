//! The reasons to reject a command: a closed set, each with a stable code. A rejection changes
//! nothing; the caller may correct what it names and try again.

use crate::conversation::not_heard::Why;
use crate::handoff::Status;
use crate::ids::{AgentId, HandoffId, TaskId, TransferId};
use crate::question::Status as QuestionStatus;
use crate::quota::{Measure, Quota};
use crate::session::Unanswered;
use crate::time::{Span, Time};
use crate::transfer::Status as TransferStatus;
use aaep::flaw::Flaw;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error("{field}: expected {expected}")]
    SchemaInvalid { field: String, expected: String },

    #[error("{field}: {rule}")]
    PolicyViolation { field: String, rule: String },

    #[error("{}", describe_conflict(.task_id, .conflict))]
    OwnershipConflict { task_id: TaskId, conflict: Conflict },

    /// The sender or the teamspace requires evidence. Names no criterion if all evidence is missing
    /// and only the teamspace requires it.
    #[error("{}", describe_unanswered(.unanswered))]
    EvidenceMissing { unanswered: Vec<String> },

    #[error("{}", describe_wrong_state(action, *state, needed))]
    WrongState { action: &'static str, state: Status, needed: &'static str },

    #[error("only {who} may {action}")]
    NotAllowed { action: &'static str, who: &'static str },

    /// Also the answer for anything in another teamspace, so that the two cases look alike.
    #[error("no such {what}")]
    NotFound { what: &'static str },

    #[error("{field}: no agent `{agent}` in this teamspace")]
    UnknownAgent { field: &'static str, agent: AgentId },

    #[error("{what} exists already")]
    AlreadyExists { what: &'static str },

    #[error(
        "payload: expected at most {bytes_max} bytes as canonical JSON, not {n_bytes}; put larger \
         content into an artifact and refer to it in `context.artifacts`"
    )]
    PayloadTooLarge { n_bytes: usize, bytes_max: usize },

    /// A thread has reached its maximum length, in all or within a span of time.
    #[error("{}", describe_guard(*.n_max, *.within))]
    LoopGuard { n_max: usize, within: Option<Span> },

    /// `last` is of the caller's own messages in the thread, or of the message that it answers.
    #[error(
        "sequence: expected more than {last}, the last one of the sender in the thread or that of \
         the answered message, not {given}"
    )]
    SequenceOutOfOrder { given: u64, last: u64 },

    /// Another caller has changed it since this caller read it.
    #[error("{field}: expected {current}, the current one, not {given}; read it again first")]
    RevisionOutdated { field: &'static str, given: u64, current: u64 },

    /// Agents must say for which epoch they speak.
    #[error("epoch: expected the epoch of the conversation for which the agent speaks")]
    EpochRequired,

    /// An agent spoke, or handed on, without holding the conversation.
    #[error("{}; `{holder}` holds the conversation in epoch {epoch}", describe_why(*.why))]
    NotHeard { why: Why, holder: AgentId, epoch: u64 },

    #[error("agent_id: customers cannot choose `{agent}`")]
    NotSelectable { agent: AgentId },

    /// The agents hand a conversation round in circles.
    #[error("{}", describe_loop(*.hops_max))]
    HandoffLoop { hops_max: u16 },

    #[error("cannot {action}: the conversation is closed")]
    ConversationClosed { action: &'static str },

    /// Another caller claimed the transfer first.
    #[error("`{by}` has already claimed it")]
    AlreadyClaimed { by: AgentId },

    #[error("a transfer is open already: {transfer} is {}", .status.as_str())]
    DuplicateRequest { transfer: TransferId, status: TransferStatus },

    /// Names the status, unless a later transfer has replaced this one.
    #[error("{}", describe_gone(*.status))]
    TransferGone { status: Option<TransferStatus> },

    #[error("cannot {action} while the transfer is {}", .status.as_str())]
    WrongTransferState { action: &'static str, status: TransferStatus },

    /// It waits in a queue of the caller, who must pick it up first.
    #[error("cannot {action} a transfer that is not picked up yet; `pickup` takes it")]
    NotPickedUp { action: &'static str },

    /// Another person is being asked in; only one can be at a time.
    #[error("{}", describe_leg(*.leg, .to, .agent.as_ref()))]
    LegOpen { leg: u16, to: AgentId, agent: Option<AgentId> },

    #[error("`{agent}` is not available, or has as many conversations as it can take")]
    NoCapacity { agent: AgentId },

    #[error("at most {n_max} subscriptions of one bearer are open at once; close one first")]
    TooManySubscriptions { n_max: u16 },

    #[error("a bearer has at most {n_max} webhooks; remove one first")]
    TooManyWebhooks { n_max: u16 },

    #[error("{field}: expected a queue; this teamspace has no default one")]
    NoDefaultQueue { field: &'static str },

    #[error("{}", describe_closed_queue(.field, .queue, *.opens_at))]
    QueueClosed { field: &'static str, queue: AgentId, opens_at: Option<Time> },

    /// An event of a session breaks these rules; the first one is named.
    #[error("{}", describe_event(*.index, .flaws))]
    EventRefused { index: usize, flaws: Vec<Flaw> },

    /// A session has reached a limit, for good or for a while.
    #[error("{}", describe_full(*.index, .what, *.n_max, *.retry_after))]
    SessionFull { index: usize, what: &'static str, n_max: u64, retry_after: Option<Span> },

    /// As much was written as may be for now.
    #[error("{}", describe_reached(*.quota, *.limit))]
    QuotaReached { quota: Quota, limit: u64, retry_after: Span },

    /// One request alone is more than the whole quota, so waiting does not help.
    #[error("{}", describe_too_large(*.quota, *.limit))]
    LargerThanQuota { quota: Quota, limit: u64 },

    /// As much is kept, or open, as may be. `used` is counted as `limit` is.
    #[error("{}", describe_quota(*.quota, *.limit, *.used))]
    QuotaFull { quota: Quota, limit: u64, used: u64 },

    /// What is left of the disk is reserved.
    #[error(
        "the disk is nearly full; what is left is kept for operators and for what ends something"
    )]
    StorageReserved,

    /// An answer that does not count. Its sender is not told why.
    #[error("the answer was not recorded")]
    NotAnswered { why: Unanswered },

    #[error("cannot {action} a question that is {}", .status.as_str())]
    WrongQuestionState { action: &'static str, status: QuestionStatus },

    /// The answer is about something else than what is asked.
    #[error("hash: expected the hash of the question that is answered; read it again first")]
    OtherQuestion,

    /// Another worker goes on with the answer.
    #[error("`{by}` has claimed it until {until}")]
    QuestionClaimed { by: AgentId, until: Time },

    /// The worker's claim is not the last one.
    #[error("epoch: {}", not_the_last_claim(*given, *current))]
    ClaimOutdated { given: u64, current: u64 },

    #[error("cannot {action} a question whose continuation is finished")]
    QuestionFinished { action: &'static str },
}

/// `0` is the epoch of a question that no worker has claimed.
fn not_the_last_claim(given: u64, current: u64) -> String {
    match current {
        0 => format!("no worker has claimed it yet, so there is no epoch {given}"),
        _ if given == current => format!("{given} is the epoch of another worker's claim"),
        _ => format!("expected {current}, the epoch of the last claim, not {given}"),
    }
}

/// Why a task cannot change hands now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conflict {
    /// Another handoff of the same task is under way.
    Active { handoff: HandoffId },
    /// The target has owned the task before. `previous`: the owner before the sender, to whom
    /// `return` hands it.
    Cycle { target: AgentId, previous: Option<AgentId>, chain: Vec<AgentId> },
    /// `return` was asked for, but the target is not the owner before the sender.
    NotPrevious { target: AgentId, previous: Option<AgentId>, chain: Vec<AgentId> },
    /// The sender never owned the task.
    NotOwner { sender: AgentId, chain: Vec<AgentId> },
    /// The chain has reached its maximum length.
    TooManyHops { chain: Vec<AgentId> },
    /// One of the other reasons, for a caller who may not know whose task it is.
    Withheld,
}

impl Rejection {
    /// The stable code, part of every protocol we speak. Listed in `docs/errors.md`.
    pub fn code(&self) -> &'static str {
        match self {
            Rejection::SchemaInvalid { .. } => "schema_invalid",
            Rejection::PolicyViolation { .. } => "policy_violation",
            Rejection::OwnershipConflict { .. } => "ownership_conflict",
            Rejection::EvidenceMissing { .. } => "evidence_missing",
            Rejection::WrongState { .. } => "wrong_state",
            Rejection::NotAllowed { .. } => "not_allowed",
            Rejection::NotFound { .. } => "not_found",
            Rejection::UnknownAgent { .. } => "unknown_agent",
            Rejection::AlreadyExists { .. } => "already_exists",
            Rejection::PayloadTooLarge { .. } => "payload_too_large",
            Rejection::LoopGuard { .. } => "loop_guard",
            Rejection::SequenceOutOfOrder { .. } => "sequence_out_of_order",
            Rejection::RevisionOutdated { .. } => "revision_outdated",
            Rejection::EpochRequired => "epoch_required",
            Rejection::NotHeard { why, .. } => why.as_str(),
            Rejection::NotSelectable { .. } => "agent_not_selectable",
            Rejection::HandoffLoop { .. } => "loop_guard",
            Rejection::ConversationClosed { .. } => "conversation_closed",
            Rejection::AlreadyClaimed { .. } => "HANDOFF_ALREADY_CLAIMED",
            Rejection::DuplicateRequest { .. } => "HANDOFF_DUPLICATE_REQUEST",
            Rejection::TransferGone { .. } => "HANDOFF_GONE",
            Rejection::WrongTransferState { .. } | Rejection::NotPickedUp { .. } => "wrong_state",
            Rejection::LegOpen { .. } => "HANDOFF_DUPLICATE_REQUEST",
            Rejection::NoCapacity { .. } => "no_capacity",
            Rejection::TooManySubscriptions { .. } => "too_many_subscriptions",
            Rejection::TooManyWebhooks { .. } => "too_many_webhooks",
            Rejection::NoDefaultQueue { .. } => "no_default_queue",
            Rejection::QueueClosed { .. } => "queue_closed",
            Rejection::EventRefused { flaws, .. } => {
                flaws.first().map_or("schema_invalid", |flaw| flaw.tier.code())
            }
            Rejection::SessionFull { retry_after: Some(_), .. } => "rate_limited",
            Rejection::SessionFull { retry_after: None, .. } => "session_full",
            Rejection::QuotaReached { .. } => "quota_reached",
            Rejection::LargerThanQuota { .. } => "body_too_large",
            Rejection::QuotaFull { .. } => "quota_full",
            Rejection::StorageReserved => "storage_reserved",
            Rejection::NotAnswered { .. } => "not_answered",
            Rejection::WrongQuestionState { .. } => "wrong_state",
            Rejection::OtherQuestion => "hash_mismatch",
            Rejection::QuestionClaimed { .. } => "question_claimed",
            Rejection::ClaimOutdated { .. } => "claim_outdated",
            Rejection::QuestionFinished { .. } => "question_finished",
        }
    }

    /// The index of the announced event at fault, if one of them is.
    pub fn event_index(&self) -> Option<usize> {
        if let Rejection::EventRefused { index, .. } | Rejection::SessionFull { index, .. } = self {
            Some(*index)
        } else {
            None
        }
    }

    /// The same rejection for the event with another index.
    pub fn at_event(mut self, at: usize) -> Self {
        if let Rejection::EventRefused { index, .. } | Rejection::SessionFull { index, .. } =
            &mut self
        {
            *index = at;
        }
        self
    }

    /// The field of the request that is at fault, if there is one.
    pub fn field(&self) -> Option<&str> {
        match self {
            Rejection::SchemaInvalid { field, .. } | Rejection::PolicyViolation { field, .. } => {
                Some(field)
            }
            Rejection::UnknownAgent { field, .. } => Some(field),
            Rejection::EvidenceMissing { .. } => Some("evidence"),
            Rejection::PayloadTooLarge { .. } => Some("payload"),
            Rejection::LoopGuard { .. } => Some("thread_id"),
            Rejection::SequenceOutOfOrder { .. } => Some("sequence"),
            Rejection::RevisionOutdated { field, .. } => Some(*field),
            Rejection::EpochRequired | Rejection::ClaimOutdated { .. } => Some("epoch"),
            Rejection::OtherQuestion => Some("hash"),
            Rejection::NotSelectable { .. } => Some("agent_id"),
            Rejection::HandoffLoop { .. } => Some("goto"),
            Rejection::NoDefaultQueue { field } | Rejection::QueueClosed { field, .. } => {
                Some(field)
            }
            Rejection::EventRefused { flaws, .. } => flaws.first().map(|flaw| flaw.field.as_str()),
            Rejection::QuotaReached { quota, .. }
            | Rejection::LargerThanQuota { quota, .. }
            | Rejection::QuotaFull { quota, .. } => Some(quota.as_str()),
            Rejection::OwnershipConflict { .. }
            | Rejection::WrongState { .. }
            | Rejection::NotAllowed { .. }
            | Rejection::NotFound { .. }
            | Rejection::AlreadyExists { .. }
            | Rejection::NotHeard { .. }
            | Rejection::ConversationClosed { .. }
            | Rejection::AlreadyClaimed { .. }
            | Rejection::DuplicateRequest { .. }
            | Rejection::TransferGone { .. }
            | Rejection::WrongTransferState { .. }
            | Rejection::NotPickedUp { .. }
            | Rejection::LegOpen { .. }
            | Rejection::NoCapacity { .. }
            | Rejection::TooManySubscriptions { .. }
            | Rejection::TooManyWebhooks { .. }
            | Rejection::SessionFull { .. }
            | Rejection::StorageReserved
            | Rejection::NotAnswered { .. }
            | Rejection::WrongQuestionState { .. }
            | Rejection::QuestionClaimed { .. }
            | Rejection::QuestionFinished { .. } => None,
        }
    }
}

fn describe_conflict(task_id: &TaskId, conflict: &Conflict) -> String {
    match conflict {
        Conflict::Active { handoff } => {
            format!("task `{task_id}` has an active handoff already: {handoff}")
        }
        Conflict::Cycle { target, chain, .. } if chain.last() == Some(target) => {
            format!("`{target}` is the last owner of task `{task_id}`; name another agent")
        }
        Conflict::Cycle { target, previous, chain } => {
            let advice = match previous {
                Some(previous) if previous == target => {
                    "set `return` to hand it back to the previous owner".to_owned()
                }
                Some(_) | None => who_gets_it_back(previous.as_ref()),
            };
            let chain = arrows(chain);
            format!("`{target}` has owned task `{task_id}` before (chain: {chain}); {advice}")
        }
        Conflict::NotPrevious { target, previous, chain } => format!(
            "`{target}` is not the previous owner of task `{task_id}` (chain: {}); {}",
            arrows(chain),
            who_gets_it_back(previous.as_ref())
        ),
        Conflict::NotOwner { sender, chain } => {
            format!("`{sender}` has never owned task `{task_id}` (chain: {})", arrows(chain))
        }
        Conflict::TooManyHops { chain } => format!(
            "task `{task_id}` has changed hands as often as it may (chain: {})",
            arrows(chain)
        ),
        Conflict::Withheld => format!(
            "task `{task_id}` is not the sender's to hand on now; if yours is another task of that \
             name, give it another `task_id`"
        ),
    }
}

/// What is missing if the state is right but delegated parts of the work are still open.
pub const PARTS_AT_AN_END: &str = "every delegated part to be at an end";

fn describe_wrong_state(action: &str, state: Status, needed: &str) -> String {
    match needed {
        PARTS_AT_AN_END => {
            format!("cannot {action} a handoff while its delegated parts are under way")
        }
        needed => format!("cannot {action} a handoff that is {state}; that needs {needed}"),
    }
}

/// A task goes back one owner at a time.
fn who_gets_it_back(previous: Option<&AgentId>) -> String {
    match previous {
        Some(previous) => format!("`return` hands it back to `{previous}` only"),
        None => "no owner before the sender could get it back".to_owned(),
    }
}

fn describe_guard(n_max: usize, within: Option<Span>) -> String {
    match within {
        Some(within) => format!("a thread has at most {n_max} messages in {within}; try later"),
        None => format!("a thread has at most {n_max} messages; start another one"),
    }
}

fn describe_why(why: Why) -> &'static str {
    match why {
        Why::EpochOutdated => "the conversation is in another epoch",
        Why::NotHolder => "only its holder may do this",
        Why::AlreadyAnswered => "what this answers was answered before",
    }
}

fn describe_gone(status: Option<TransferStatus>) -> String {
    match status {
        Some(status) => format!("the transfer is over: it is {}", status.as_str()),
        None => "the transfer is over, and another one has taken its place".to_owned(),
    }
}

fn describe_leg(leg: u16, to: &AgentId, agent: Option<&AgentId>) -> String {
    let who = match agent {
        Some(agent) => format!("`{agent}` is asked in"),
        None => format!("a person of `{to}` is asked in"),
    };
    format!("{who} already, as leg {leg}; `cancel` takes that back")
}

fn describe_closed_queue(field: &str, queue: &AgentId, opens_at: Option<Time>) -> String {
    match opens_at {
        Some(opens_at) => format!("{field}: `{queue}` is closed until {opens_at}"),
        None => format!("{field}: `{queue}` is closed"),
    }
}

fn describe_event(index: usize, flaws: &[Flaw]) -> String {
    match flaws {
        [] => format!("events[{index}]: expected a valid event"),
        [only] => format!("events[{index}]: {only}"),
        [first, rest @ ..] => format!("events[{index}]: {first}; and {} more", rest.len()),
    }
}

fn describe_full(index: usize, what: &str, n_max: u64, retry_after: Option<Span>) -> String {
    match retry_after {
        Some(span) => format!("events[{index}]: at most {n_max} {what}; try again in {span}"),
        None => format!("events[{index}]: a session has at most {n_max} {what}"),
    }
}

fn describe_reached(quota: Quota, limit: u64) -> String {
    let name = quota.as_str();
    format!("{name}: {limit} are used up for now; nothing was changed")
}

fn describe_too_large(quota: Quota, limit: u64) -> String {
    let name = quota.as_str();
    let unit = match quota.measure() {
        Measure::Sent => " KiB",
        Measure::Daily | Measure::Stored => " MiB",
        Measure::Requests | Measure::Entries | Measure::Open(_) => "",
    };
    format!("{name}: expected at most {limit}{unit} in one request; nothing was changed")
}

fn describe_quota(quota: Quota, limit: u64, used: u64) -> String {
    let name = quota.as_str();
    match quota.measure() {
        Measure::Open(thing) => {
            format!("{name}: {used} are open, of {limit}; {}", thing.freed_by())
        }
        Measure::Stored => format!(
            "{name}: {used} of {limit} MiB are kept, and this does not fit; erasing makes room, \
             and operators of the server can raise it"
        ),
        Measure::Requests | Measure::Sent | Measure::Entries | Measure::Daily => {
            format!("{name}: {used} are used, of {limit}")
        }
    }
}

fn describe_loop(hops_max: u16) -> String {
    format!(
        "goto: the agents hand the conversation round in a circle, or more than {hops_max} times \
         until the customer speaks; answer instead"
    )
}

fn describe_unanswered(criteria: &[String]) -> String {
    let quoted: Vec<_> = criteria.iter().map(|criterion| format!("`{criterion}`")).collect();
    let which = if quoted.is_empty() { "any of them".to_owned() } else { quoted.join(", ") };
    format!("evidence: expected what shows that each success criterion is met; not shown: {which}")
}

fn arrows(chain: &[AgentId]) -> String {
    chain.iter().map(AgentId::as_str).collect::<Vec<_>>().join(" → ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handoff_in_the_wrong_state_names_what_is_in_the_way() {
        let cases = [
            (PARTS_AT_AN_END, "cannot complete a handoff while its delegated parts are under way"),
            ("a draft", "cannot complete a handoff that is activated; that needs a draft"),
        ];
        for (needed, expected) in cases {
            let state = Status::Activated;
            let refused = Rejection::WrongState { action: "complete", state, needed };
            assert_eq!(refused.to_string(), expected);
        }
    }
}
