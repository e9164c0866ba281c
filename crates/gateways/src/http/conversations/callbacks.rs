//! `/v1/conversations/{conversation}/callbacks`: a person of a queue calls the customer, instead of
//! a chat or after it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use protocol::callback::{Ask, Callback, Command, Settle};
use protocol::caller::Caller;
use protocol::conversation::Command as ConversationCommand;
use protocol::conversation::reader::Reader;
use protocol::hidden;
use protocol::ids::{AgentId, ConversationId};
use protocol::step::State as Aggregate;
use protocol::time::Time;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::conversations::access::{conversation_of, reader, submit, visible};
use crate::http::conversations::transfer_waits::{self, TransferWaitView};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Chat, Named, Write};
use crate::http::shared::problem::Problem;

/// How many callbacks are shown.
const SHOWN_MAX: usize = 50;

/// A customer who shall be called.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CallbackView {
    pub conversation_id: String,
    pub queue: String,
    pub asked_at: String,
    /// `null` once erased.
    pub contact: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<String>,
    /// A person of its queue, since the customer wants to be called.
    pub waiting_for: Vec<TransferWaitView>,
    /// For agents and operators only.
    #[serde(flatten)]
    pub inside: Option<Inside>,
}

/// What is not for the customer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Inside {
    pub asked_by: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A callback that is settled.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CallbackSettled {
    pub conversation_id: String,
    pub outcome: String,
}

pub async fn ask(
    State(gateway): State<Gateway>,
    Named(id): Named<ConversationId>,
    Chat(write): Chat<Ask>,
) -> Result<(StatusCode, Json<CallbackView>), Problem> {
    let (write, ask) = write.split();
    let caller = write.asker.caller;
    let key = write.key.for_action("ask_callback", Some(&id.to_string()));
    let command = ConversationCommand::Callback(Command::Ask(Box::new(ask)));
    submit(&gateway, &caller, id, command, key).await?;
    let item = visible(&gateway, &caller, id).await?;
    // A request that is repeated after the callback was settled has none to show.
    let callback = conversation_of(&item)?.callback.as_deref();
    let callback = callback.ok_or_else(|| Problem::not_found("callback"))?;
    let reader = reader(&gateway, &caller).await?;
    Ok((StatusCode::CREATED, Json(view(reader, id, callback))))
}

pub async fn settle(
    State(gateway): State<Gateway>,
    Named(id): Named<ConversationId>,
    write: Write<Settle>,
) -> Result<Json<CallbackSettled>, Problem> {
    let (write, settle) = write.split();
    let caller = write.asker.caller;
    let key = write.key.for_action("settle_callback", Some(&id.to_string()));
    let outcome = settle.outcome.clone();
    let command = ConversationCommand::Callback(Command::Settle(settle));
    submit(&gateway, &caller, id, command, key).await?;
    Ok(Json(CallbackSettled { conversation_id: id.to_string(), outcome }))
}

/// The callbacks of a queue, the first to be called first.
pub async fn of_queue(
    gateway: &Gateway,
    caller: &Caller,
    queue: &AgentId,
) -> Result<Vec<CallbackView>, Problem> {
    let rows = gateway.engine.queues().callbacks(&caller.teamspace, queue, SHOWN_MAX).await?;
    let reader = reader(gateway, caller).await?;
    let mut shown = Vec::with_capacity(rows.len());
    for row in rows {
        let state = gateway.engine.read().current(&row.stream).await?;
        let Some(Aggregate::Conversation(conversation)) = state.as_deref() else { continue };
        let open = conversation.callback.as_deref();
        shown.extend(open.map(|callback| view(reader, conversation.id, callback)));
    }
    Ok(shown)
}

/// The callbacks that are due in the queues whose people include the caller.
pub async fn due_for(
    gateway: &Gateway,
    caller: &Caller,
    now: Time,
) -> Result<Vec<CallbackView>, Problem> {
    let reader = reader(gateway, caller).await?;
    let due = gateway.engine.access().callbacks_due_for(caller, now, SHOWN_MAX).await?;
    let due = due.iter().filter_map(|state| {
        let conversation = state.as_conversation()?;
        Some(view(reader, conversation.id, conversation.callback.as_deref()?))
    });
    Ok(due.collect())
}

pub fn view(reader: Reader, id: ConversationId, callback: &Callback) -> CallbackView {
    // The customer's text; for programs, invisible characters are written out.
    let shown = |text: &str| match reader {
        Reader::Customer | Reader::Person => text.to_owned(),
        Reader::Program => hidden::visible(text).into_owned(),
    };
    let inside = || Inside { asked_by: callback.by.clone(), note: shown(&callback.note) };
    CallbackView {
        conversation_id: id.to_string(),
        queue: callback.queue.to_string(),
        asked_at: callback.asked_at.to_string(),
        contact: Some(shown(&callback.contact)).filter(|contact| !contact.is_empty()),
        not_before: callback.not_before.map(|at| at.to_string()),
        waiting_for: transfer_waits::of_callback(reader, callback),
        inside: match reader {
            Reader::Customer => None,
            Reader::Person | Reader::Program => Some(inside()),
        },
    }
}
