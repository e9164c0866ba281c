//! `GET /v1/transfers`: the transfers that a caller may see, and those that ring for it.

use axum::Json;
use axum::extract::State;
use engine::ports::store::{ConversationFilter, ListOf};
use engine::ports::transfers::TransferFilter;
use protocol::caller::Caller;
use protocol::conversation;
use protocol::conversation::Conversation;
use protocol::form;
use protocol::ids::{AgentId, ConversationId, TransferId};
use protocol::step::State as Aggregate;
use protocol::time::Time;
use protocol::transfer::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::conversations::access::{reader, stream};
use crate::http::conversations::callbacks::{self, CallbackView};
use crate::http::conversations::transfer_record::{self, TransferRecordView, ring};
use crate::http::shared::auth::Asker;
use crate::http::shared::cursors;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::QueryParameters;
use crate::http::shared::paging::parse_limit;
use crate::http::shared::problem::Problem;

/// The name of the list in its cursors.
const LIST: &str = "transfers";
const RINGING: &str = "ringing";

/// The filters of the list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransfersInput {
    #[serde(default)]
    pub status: Option<Status>,
    /// Only this one, also when a newer one of its conversation has replaced it.
    #[serde(default)]
    pub transfer: Option<TransferId>,
    /// Only those that wait in this queue, or waited there last.
    #[serde(default)]
    pub queue: Option<AgentId>,
    /// Only those that ring for this person, or that this person answers or answered last.
    #[serde(default)]
    pub agent: Option<AgentId>,
    /// Only those of this conversation.
    #[serde(default)]
    pub conversation: Option<ConversationId>,
    /// Requested at this time or later.
    #[serde(default)]
    pub since: Option<Time>,
    /// Requested before this time.
    #[serde(default)]
    pub until: Option<Time>,
    /// `me` for what rings for the caller now, and whom its queues shall call; without any other
    /// filter.
    #[serde(default)]
    #[schemars(transform = form::exactly("me"))]
    pub ringing_for: Option<String>,
    /// The most items in a page, 1 to 200.
    #[serde(default)]
    pub limit: Option<String>,
    /// `next_cursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// A page of transfers, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TransferPage {
    pub items: Vec<TransferRecordView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// With `ringing_for`, on the first page: the first customers whom the caller's queues shall
    /// call now, at most 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callbacks: Option<Vec<CallbackView>>,
}

pub async fn list(
    State(gateway): State<Gateway>,
    asker: Asker,
    QueryParameters(input): QueryParameters<TransfersInput>,
) -> Result<Json<TransferPage>, Problem> {
    let caller = asker.member()?.caller;
    let limit = parse_limit(input.limit.as_deref())?;
    if input.ringing_for.is_some() {
        return ringing(&gateway, &caller, &input, limit).await.map(Json);
    }
    let after = cursors::row_before(&gateway, &caller, LIST, input.cursor.as_deref())?;
    let TransfersInput { status, transfer, queue, agent, conversation, since, until, .. } = input;
    let filter = TransferFilter { status, queue, agent, conversation, since, until };
    let access = gateway.engine.access();
    let page = match transfer {
        Some(id) => {
            let found = access.transfer_for(&caller, id).await?;
            let items = found.into_iter().filter(|row| filter.matches(row)).collect();
            engine::read::transfers::TransferPage { items, next: None }
        }
        None => access.transfers_for(&caller, filter, after, limit).await?,
    };
    let (reader, now) = (reader(&gateway, &caller).await?, gateway.engine.clock().now());
    let queues = gateway.engine.queues();
    let mut items = Vec::with_capacity(page.items.len());
    for row in &page.items {
        let stream = stream(&caller.teamspace, row.conversation);
        let state = gateway.engine.read().current(&stream).await?;
        let conversation = state.as_deref().and_then(Aggregate::as_conversation);
        let mut item = transfer_record::view(reader, row, conversation, now);
        if let (Some(Status::Queued), Some(open)) = (status, &mut item.open) {
            let waiting = conversation.and_then(Conversation::open_transfer);
            open.queue_position = match waiting {
                Some(waiting) => queues.place(&caller.teamspace, row.conversation, waiting).await?,
                None => None,
            };
        }
        items.push(item);
    }
    let next_cursor = cursors::next_row(&gateway, &caller, LIST, page.next);
    Ok(Json(TransferPage { items, next_cursor, callbacks: None }))
}

/// What rings for the caller is found by the person who is asked; these are few.
async fn ringing(
    gateway: &Gateway,
    caller: &Caller,
    input: &TransfersInput,
    limit: usize,
) -> Result<TransferPage, Problem> {
    check_alone(input)?;
    let before = cursors::row_before(gateway, caller, RINGING, input.cursor.as_deref())?;
    // Nothing rings for an operator.
    let Some(own) = caller.agent() else {
        let callbacks = Some(Vec::new());
        return Ok(TransferPage { items: Vec::new(), next_cursor: None, callbacks });
    };
    let of = ListOf::Conversations(ConversationFilter {
        asked: Some(own.clone()),
        holder: None,
        status: Some(conversation::Status::Open),
    });
    let page = gateway.engine.read().list(&caller.teamspace, of, before, limit).await?;
    let (reader, now) = (reader(gateway, caller).await?, gateway.engine.clock().now());
    let mut items = Vec::new();
    for item in &page.items {
        let Some(conversation) = item.state.as_conversation() else { continue };
        let Some(transfer) = conversation.open_transfer() else { continue };
        if ring(transfer).is_none_or(|(agent, ..)| agent != own) {
            continue;
        }
        let row = gateway.engine.read().transfer(&caller.teamspace, transfer.id).await?;
        items.extend(row.map(|row| transfer_record::view(reader, &row, Some(conversation), now)));
    }
    let callbacks = match before {
        None => Some(callbacks::due_for(gateway, caller, now).await?),
        Some(_) => None,
    };
    let next_cursor = cursors::next_row(gateway, caller, RINGING, page.next);
    Ok(TransferPage { items, next_cursor, callbacks })
}

fn check_alone(input: &TransfersInput) -> Result<(), Problem> {
    let TransfersInput {
        status,
        transfer,
        queue,
        agent,
        conversation,
        since,
        until,
        ringing_for,
        ..
    } = input;
    if ringing_for.as_deref() != Some("me") {
        return Err(Problem::schema_invalid("ringing_for", "me"));
    }
    let others = [
        ("status", status.is_some()),
        ("transfer", transfer.is_some()),
        ("queue", queue.is_some()),
        ("agent", agent.is_some()),
        ("conversation", conversation.is_some()),
        ("since", since.is_some()),
        ("until", until.is_some()),
    ];
    match others.iter().find(|(_, is_given)| *is_given) {
        Some((field, _)) => Err(Problem::schema_invalid(field, "to be left out with ringing_for")),
        None => Ok(()),
    }
}
