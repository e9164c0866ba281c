//! A transfer, as its caller sees it.

use crate::http::conversations::access;
use crate::http::conversations::access::reader;
use crate::http::conversations::bundle_view::{shown_bundle, visible_bundle};
use crate::http::conversations::transfer_record::{self, TransferRecordView};
use crate::http::conversations::transfer_waits::{self, TransferWaitView};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::lookup::identity;
use crate::http::shared::problem::Problem;
use engine::ports::transfers::TransferRow;
use protocol::agent::AgentIdentity;
use protocol::caller::Caller;
use protocol::conversation::Status::Open;
use protocol::conversation::reader::Reader;
use protocol::conversation::{Conversation, customer_text};
use protocol::hidden::visible as visible_text;
use protocol::queue::EstimatedWait;
use protocol::transfer::Status;
use protocol::transfer::bundle::Bundle;
use protocol::transfer::kind::Kind;
use protocol::transfer::state::{Leg, LegStage, Stage, Terms, Transfer};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// A transfer, as the caller sees it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TransferView {
    pub transfer_id: String,
    pub conversation_id: String,
    pub status: Status,
    /// The kind of transfer for the person who answers or is asked.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Who holds the conversation now, and in which epoch.
    pub holder: String,
    pub epoch: u64,
    pub queue: String,
    pub requested_at: String,
    /// Why a person is wanted. A customer gets the text that is meant for them, what they said
    /// themselves, or a sentence in their language.
    pub reason: String,
    /// Who is asked, or answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentIdentity>,
    /// The first is 1. Only while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<usize>,
    /// Only while a person is on shift and there is an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_wait: Option<EstimatedWait>,
    /// What it waits for while it is open, its own step first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<TransferWaitView>,
    /// Whether the customer is asked for a rating.
    pub asks_rating: bool,
    /// For people and operators only.
    #[serde(flatten)]
    pub inside: Option<Inside>,
}

/// What is not for the customer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Inside {
    pub requested_by: String,
    /// Who gave the reason: `customer`, `agent`, `operator` or `system`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason_by: Option<String>,
    /// What the customer is told instead of the reason, if the sender said so.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub customer_text: String,
    pub priority: i32,
    /// The newest bundle: what the person should know beforehand.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "show_bundle")]
    pub bundle: Option<Bundle>,
    /// Until when it rings, or is on hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Who held the conversation before, and gets it back.
    pub previous: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leg: Option<LegView>,
    /// What happened to it so far: how long the customer waited, who answered, and how it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<TransferRecordView>,
}

fn show_bundle<S: Serializer>(bundle: &Option<Bundle>, serializer: S) -> Result<S::Ok, S::Error> {
    bundle.as_ref().map(shown_bundle).serialize(serializer)
}

/// Another person who is asked in.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LegView {
    pub number: u16,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub to: String,
    pub reason: String,
    /// `queued`, `ringing` or `consulting`.
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "show_bundle")]
    pub bundle: Option<Bundle>,
}

pub async fn view(
    gateway: &Gateway,
    caller: &Caller,
    conversation: &Conversation,
    transfer: &Transfer,
) -> Result<TransferView, Problem> {
    let agent = match transfer.claim() {
        Some(claim) => Some(identity(gateway, &caller.teamspace, &claim.agent).await?),
        None => None,
    };
    let place = match transfer.stage {
        Stage::Queued => access::place(gateway, caller, conversation.id, transfer).await?,
        Stage::Requested
        | Stage::Ringing { .. }
        | Stage::Connected { .. }
        | Stage::OnHold { .. }
        | Stage::Over { .. } => None,
    };
    let (queue_position, estimated_wait) = place.map_or((None, None), |it| (Some(it.0), it.1));
    let status = transfer.status();
    let (reader, row) = (reader(gateway, caller).await?, row(gateway, caller, transfer).await?);
    let record = row.as_ref().map(|row| &row.record);
    Ok(TransferView {
        transfer_id: transfer.id.to_string(),
        conversation_id: conversation.id.to_string(),
        status,
        kind: transfer.kind(),
        holder: conversation.holder.to_string(),
        epoch: conversation.epoch,
        queue: transfer.queue.to_string(),
        requested_at: transfer.terms.requested_at.to_string(),
        reason: reason(gateway, caller, conversation, transfer).await?,
        agent,
        queue_position,
        estimated_wait,
        waiting_for: transfer_waits::of_transfer(reader, transfer, record),
        asks_rating: status == Status::Completed && !transfer.rated,
        inside: match reader {
            Reader::Customer => None,
            Reader::Person => Some(with_record(gateway, reader, conversation, transfer, row)),
            Reader::Program => {
                let inside = with_record(gateway, reader, conversation, transfer, row);
                Some(shown_to_program(inside))
            }
        },
    })
}

async fn row(
    gateway: &Gateway,
    caller: &Caller,
    transfer: &Transfer,
) -> Result<Option<TransferRow>, Problem> {
    Ok(gateway.engine.read().transfer(&caller.teamspace, transfer.id).await?)
}

fn with_record(
    gateway: &Gateway,
    reader: Reader,
    conversation: &Conversation,
    transfer: &Transfer,
    row: Option<TransferRow>,
) -> Inside {
    let now = gateway.engine.clock().now();
    let record = row.map(|row| transfer_record::view(reader, &row, Some(conversation), now));
    Inside { record, ..inside(transfer) }
}

async fn reason(
    gateway: &Gateway,
    caller: &Caller,
    conversation: &Conversation,
    transfer: &Transfer,
) -> Result<String, Problem> {
    let Terms { requested_by: by, reason, customer_text, .. } = &*transfer.terms;
    match reader(gateway, caller).await? {
        Reader::Customer => {}
        Reader::Person => return Ok(transfer.reason().to_owned()),
        Reader::Program => return Ok(visible_text(transfer.reason()).into_owned()),
    }
    let queue = identity(gateway, &caller.teamspace, &transfer.queue).await?.agent_name;
    let language = conversation.setup.customer.language.as_deref();
    if transfer.status() == Status::Failed && conversation.status() == Open {
        let to = identity(gateway, &caller.teamspace, &conversation.holder).await?.agent_name;
        return Ok(customer_text::of_failure(language, &to));
    }
    let asked = match (&transfer.passed, transfer.answering()) {
        // A person who is gone was replaced by one from the queue.
        (Some(passed), Some(claim)) if passed.to.as_ref().is_none_or(|to| *to == claim.agent) => {
            let from = identity(gateway, &caller.teamspace, &passed.by).await?.agent_name;
            let to = identity(gateway, &caller.teamspace, &claim.agent).await?.agent_name;
            return Ok(customer_text::of_passed(&passed.customer_text, language, &from, &to));
        }
        (Some(passed), _) => {
            return Ok(customer_text::of_passing(&passed.customer_text, language, &queue));
        }
        (None, _) => customer_text::PersonRequest { by, reason, customer_text },
    };
    Ok(customer_text::of_request(asked, language, &queue))
}

/// The customer's texts, with invisible characters written out.
fn shown_to_program(mut inside: Inside) -> Inside {
    inside.bundle = inside.bundle.map(visible_bundle);
    if let Some(leg) = &mut inside.leg {
        leg.bundle = leg.bundle.take().map(visible_bundle);
    }
    inside
}

fn inside(transfer: &Transfer) -> Inside {
    let terms = &transfer.terms;
    let until = match &transfer.stage {
        Stage::Ringing { until, .. } | Stage::OnHold { until, .. } => Some(until.to_string()),
        Stage::Requested | Stage::Queued | Stage::Connected { .. } | Stage::Over { .. } => None,
    };
    Inside {
        requested_by: terms.requested_by.clone(),
        reason_by: Some(transfer.reason_by().to_owned()).filter(|_| !transfer.reason().is_empty()),
        customer_text: transfer.customer_text().to_owned(),
        priority: terms.priority,
        bundle: transfer.bundle().cloned(),
        until,
        previous: terms.previous.to_string(),
        leg: transfer.leg.as_ref().map(leg),
        record: None,
    }
}

fn leg(leg: &Leg) -> LegView {
    LegView {
        number: leg.number,
        kind: leg.kind,
        to: leg.target.id().to_string(),
        reason: leg.reason.clone(),
        status: match &leg.stage {
            LegStage::Queued => "queued",
            LegStage::Ringing { .. } => "ringing",
            LegStage::Consulting { .. } => "consulting",
        },
        agent: leg.claim().map(|claim| claim.agent.to_string()),
        bundle: leg.bundle.as_deref().cloned(),
    }
}
