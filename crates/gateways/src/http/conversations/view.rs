//! A conversation in answers.

use std::collections::BTreeMap;

use engine::read::query::Item;
use protocol::conversation::reader::Reader;
use protocol::conversation::state::Customer;
use protocol::conversation::topology::Topology;
use protocol::conversation::{Conversation, Status};
use protocol::hidden;
use protocol::ids::AgentId;
use protocol::route::graph::Scalar;
use protocol::transfer::Status as TransferStatus;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::http::conversations::access::conversation_of;
use crate::http::conversations::callbacks;
use crate::http::conversations::callbacks::CallbackView;
use crate::http::conversations::transfer_waits::{self, TransferWaitView};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::problem::Problem;

/// A conversation, as the caller sees it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConversationView {
    pub conversation_id: String,
    pub status: Status,
    /// The agent that answers.
    pub holder: String,
    /// Grows each time the holder changes.
    pub epoch: u64,
    /// How many messages there are.
    pub n_messages: u64,
    /// The last message of the customer; 0 before the first.
    pub turn: u64,
    /// The last transfer to a person, if there was one, and its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_status: Option<TransferStatus>,
    /// The callback that the customer waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback: Option<CallbackView>,
    /// What the customer waits for now: a person of a queue, or the answer of the holder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<TransferWaitView>,
    pub opened_at: String,
    pub changed_at: String,
    /// For agents and operators only.
    #[serde(flatten)]
    pub inside: Option<Inside>,
}

/// What is not for the customer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Inside {
    pub opened_by: String,
    pub customer: Customer,
    pub topology: Topology,
    /// The graph that routes its messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<String>,
    /// Values that the graph's rules may use, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Scalar>,
    /// The queues that the customer may name, besides those of the graph.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub customer_queues: Vec<AgentId>,
    pub hops_max: u16,
    /// What the agents share, by name.
    pub shared: Map<String, Value>,
    /// SHA-256 over all messages.
    pub transcript_digest: String,
}

pub async fn view(
    gateway: &Gateway,
    reader: Reader,
    item: &Item,
) -> Result<ConversationView, Problem> {
    let conversation = conversation_of(item)?;
    let row = match conversation.waiting_transfer() {
        Some(waiting) => gateway.engine.read().transfer(&item.stream.teamspace, waiting.id).await?,
        None => None,
    };
    let record = row.as_ref().map(|row| &row.record);
    let callback = conversation.callback.as_deref();
    Ok(ConversationView {
        conversation_id: conversation.id.to_string(),
        status: conversation.status(),
        holder: conversation.holder.to_string(),
        epoch: conversation.epoch,
        n_messages: conversation.transcript.count,
        turn: conversation.turn.number,
        transfer_id: conversation.transfer.as_ref().map(|transfer| transfer.id.to_string()),
        transfer_status: conversation.transfer.as_ref().map(|transfer| transfer.status()),
        callback: callback.map(|callback| callbacks::view(reader, conversation.id, callback)),
        waiting_for: transfer_waits::of_conversation(reader, conversation, record),
        opened_at: conversation.opened_at.to_string(),
        changed_at: item.changed_at.to_string(),
        inside: match reader {
            Reader::Customer => None,
            Reader::Person => Some(inside(conversation)),
            Reader::Program => Some(shown_to_program(inside(conversation))),
        },
    })
}

fn inside(conversation: &Conversation) -> Inside {
    let setup = &conversation.setup;
    Inside {
        opened_by: setup.opened_by.clone(),
        customer: setup.customer.clone(),
        topology: setup.topology.clone(),
        graph: setup.graph.as_ref().map(ToString::to_string),
        attributes: setup.attributes.clone(),
        customer_queues: setup.customer_queues.clone(),
        hops_max: setup.hops_max,
        shared: conversation.shared.clone(),
        transcript_digest: conversation.transcript.digest.clone(),
    }
}

/// Texts from other parties, with invisible characters written out.
fn shown_to_program(mut inside: Inside) -> Inside {
    let shown = |text: String| hidden::visible(&text).into_owned();
    let Customer { external_id, name, language } = inside.customer;
    inside.customer = Customer {
        external_id: external_id.map(shown),
        name: name.map(shown),
        language: language.map(shown),
    };
    let attributes = inside.attributes.into_iter();
    let attributes =
        attributes.map(|(name, value)| (shown(name), Scalar::new(hidden::visible(value.as_str()))));
    inside.attributes = attributes.collect();
    hidden::make_members_visible(&mut inside.shared);
    inside
}
