//! What happened to a transfer, as members see it: who asked, how long the customer waited, who
//! answered, and how it ended. The customer's name is the only text in it that a person wrote.

use engine::ports::transfers::TransferRow;
use protocol::conversation::Conversation;
use protocol::conversation::reader::Reader;
use protocol::hidden;
use protocol::ids::AgentId;
use protocol::queue::SkillWanted;
use protocol::time::{Span, Time};
use protocol::transfer::kind::Kind;
use protocol::transfer::state::{LegStage, Outcome, Stage};
use protocol::transfer::{Record, Status, Transfer};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::conversations::transfer_waits::{self, TransferWaitView};

/// The record of a transfer. Spans count until now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TransferRecordView {
    pub transfer_id: String,
    pub conversation_id: String,
    pub status: Status,
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Where it waits, or waited last.
    pub queue: String,
    pub priority: i32,
    /// The person for whom it rings, who answers, or who answered last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The name under which the customer is shown, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer: Option<String>,
    /// Who asked for a person, and when.
    pub requested_by: String,
    pub requested_at: String,
    /// How long the customer has waited for a person in all, and since when the customer waits now.
    pub waited: Span,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_since: Option<String>,
    /// When the first person answered, and whether that was within the target of the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_in_time: Option<bool>,
    /// All people who answered, each once, in the order of their first answers.
    pub served_by: Vec<String>,
    /// How long the customer was with people, and how long of that on hold.
    pub handled: Span,
    pub held: Span,
    /// How often it rang or was picked up while the customer waited, and how often that was not
    /// answered. The rings of a colleague who is asked in do not count.
    pub rings: u32,
    pub missed: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<SettledView>,
    /// From 1, very bad, to 5, very good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating: Option<u8>,
    /// While it is the open transfer of its conversation.
    #[serde(flatten)]
    pub open: Option<OpenView>,
}

/// When it was over, how, and by whom.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SettledView {
    pub at: String,
    pub outcome: Outcome,
    /// The code of the person who completed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disposition: Option<String>,
    pub by: String,
}

/// What a person needs to answer it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OpenView {
    pub holder: String,
    pub epoch: u64,
    /// Its place in the queue; the first is 1. Only in the list of those with the status `queued`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<usize>,
    /// The skills that it asks for, besides those of its queue.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<SkillWanted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ringing: Option<RingView>,
    /// What it waits for, its own step first.
    pub waiting_for: Vec<TransferWaitView>,
}

/// For whom it rings, and until when.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RingView {
    pub agent: String,
    pub until: String,
    /// The number of the leg, if a further person is asked in; 0 for the transfer itself.
    pub leg: u16,
}

pub fn view(
    reader: Reader,
    row: &TransferRow,
    conversation: Option<&Conversation>,
    now: Time,
) -> TransferRecordView {
    let TransferRow { record, .. } = row;
    let name = conversation.and_then(|it| it.setup.customer.name.as_deref());
    TransferRecordView {
        transfer_id: record.transfer.to_string(),
        conversation_id: row.conversation.to_string(),
        status: record.status,
        kind: record.kind,
        queue: record.queue.to_string(),
        priority: record.priority,
        agent: record.agent.as_ref().map(ToString::to_string),
        customer: match reader {
            Reader::Customer => None,
            Reader::Person => name.map(str::to_owned),
            Reader::Program => name.map(|name| hidden::visible(name).into_owned()),
        },
        requested_by: record.requested_by.clone(),
        requested_at: record.requested_at.to_string(),
        waited: record.waited_until(now),
        waiting_since: record.waiting_since.map(|at| at.to_string()),
        answered_at: record.answered.as_ref().map(|answer| answer.at.to_string()),
        answered_in_time: record.answered.as_ref().map(|answer| answer.in_time),
        served_by: each_once(&record.served_by),
        handled: record.handled_until(now),
        held: record.held_until(now),
        rings: record.rings,
        missed: record.missed,
        settled: settled(record),
        rating: record.rating,
        open: conversation.and_then(|conversation| open(reader, record, conversation)),
    }
}

/// The record names a person again who answers again.
fn each_once(served_by: &[AgentId]) -> Vec<String> {
    let is_first = |(index, agent): &(usize, &AgentId)| !served_by[..*index].contains(agent);
    let all = served_by.iter().enumerate().filter(is_first);
    all.map(|(_, agent)| agent.to_string()).collect()
}

fn settled(record: &Record) -> Option<SettledView> {
    let settled = record.settled.as_ref()?;
    let disposition = settled.disposition.as_ref().map(ToString::to_string);
    let (at, by) = (settled.at.to_string(), settled.by.clone());
    Some(SettledView { at, outcome: settled.outcome, disposition, by })
}

fn open(reader: Reader, record: &Record, conversation: &Conversation) -> Option<OpenView> {
    let transfer = conversation.open_transfer().filter(|it| it.id == record.transfer)?;
    Some(OpenView {
        holder: conversation.holder.to_string(),
        epoch: conversation.epoch,
        queue_position: None,
        skills: transfer.terms.wanted.skills.clone(),
        ringing: ring(transfer).map(|(agent, until, leg)| RingView {
            agent: agent.to_string(),
            until: until.to_string(),
            leg,
        }),
        waiting_for: transfer_waits::of_transfer(reader, transfer, Some(record)),
    })
}

/// The person for whom it, or its leg, rings.
pub fn ring(transfer: &Transfer) -> Option<(&AgentId, Time, u16)> {
    if let Some(leg) = &transfer.leg
        && let LegStage::Ringing { claim, until } = &leg.stage
    {
        return Some((&claim.agent, *until, leg.number));
    }
    match &transfer.stage {
        Stage::Ringing { claim, until } => Some((&claim.agent, *until, 0)),
        Stage::Requested
        | Stage::Queued
        | Stage::Connected { .. }
        | Stage::OnHold { .. }
        | Stage::Over { .. } => None,
    }
}
