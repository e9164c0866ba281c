//! Which conversation a request is about, and what its caller is to it.

use engine::read::query::Item;
use engine::road::submit::{Done, Key};
use protocol::caller::Caller;
use protocol::conversation::reader::Reader;
use protocol::conversation::{Command, Conversation};
use protocol::ids::{ConversationId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::queue::EstimatedWait;
use protocol::step;
use protocol::step::State as Aggregate;
use protocol::transfer::Transfer;

use crate::http::shared::gateway::Gateway;
use crate::http::shared::lookup;
use crate::http::shared::problem::Problem;

/// A message out of turn is recorded, and its sender is still told that it does not count.
pub async fn submit(
    gateway: &Gateway,
    caller: &Caller,
    id: ConversationId,
    command: Command,
    key: Key,
) -> Result<Done, Problem> {
    let stream = stream(&caller.teamspace, id);
    let command = step::Command::Conversation(command);
    let done = gateway.engine.submit(caller, stream, command, Some(key)).await?;
    match &done.outcome.refused {
        Some(refused) => Err(Problem::not_heard(refused, &done.outcome)),
        None => Ok(done),
    }
}

/// The conversation, if it exists and the caller takes part in it.
pub async fn visible(
    gateway: &Gateway,
    caller: &Caller,
    id: ConversationId,
) -> Result<Item, Problem> {
    let nothing = || Problem::not_found("conversation");
    let item =
        gateway.engine.read().item(&stream(&caller.teamspace, id)).await?.ok_or_else(nothing)?;
    match gateway.engine.access().may_read(caller, &item.stream, &item.state).await? {
        true => Ok(item),
        false => Err(nothing()),
    }
}

pub fn conversation_of(item: &Item) -> Result<&Conversation, Problem> {
    item.state.as_conversation().ok_or_else(|| Problem::not_found("conversation"))
}

pub fn stream(teamspace: &TeamspaceId, id: ConversationId) -> Stream {
    Stream { teamspace: teamspace.clone(), subject: Subject::Conversation(id) }
}

/// The customer's language, if it is known.
pub async fn language(gateway: &Gateway, stream: &Stream) -> Result<Option<String>, Problem> {
    Ok(match gateway.engine.read().current(stream).await?.as_deref() {
        Some(Aggregate::Conversation(conversation)) => conversation.setup.customer.language.clone(),
        Some(_) | None => None,
    })
}

/// Who reads: a customer, a person, or a program.
pub async fn reader(gateway: &Gateway, caller: &Caller) -> Result<Reader, Problem> {
    let kind = match caller.agent() {
        Some(own) => lookup::agent(gateway, &caller.teamspace, own).await?.map(|own| own.kind),
        None => None,
    };
    Ok(Reader::of(caller, kind))
}

/// The place of a conversation in its queue, and how long it may take from there.
pub async fn place(
    gateway: &Gateway,
    caller: &Caller,
    conversation: ConversationId,
    transfer: &Transfer,
) -> Result<Option<(usize, Option<EstimatedWait>)>, Problem> {
    Ok(gateway.engine.queues().place_in_line(&caller.teamspace, conversation, transfer).await?)
}
