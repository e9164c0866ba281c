//! `/v1/bundles`: what a person was told before they began to answer, by the id that a transcript
//! names.

use axum::Json;
use axum::extract::State;
use engine::ports::store::{Sequenced, StoreError};
use protocol::caller::Caller;
use protocol::conversation::Event as ConversationEvent;
use protocol::conversation::reader::Reader;
use protocol::entry_names::is_of_transfer;
use protocol::ids::ConversationId;
use protocol::ledger::Erased;
use protocol::ledger::Stream;
use protocol::transfer::bundle::{Bundle, BundleId};
use serde_json::Value;

use crate::http::conversations::access::{conversation_of, reader, stream};
use crate::http::conversations::bundle_view::{shown_bundle, visible_bundle};
use crate::http::conversations::history;
use crate::http::conversations::transfers::found;
use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::Named;
use crate::http::shared::problem::Problem;

/// Entries that are read at a time on the way back to where the bundle was made.
const PAGE: usize = 200;

pub async fn show(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<BundleId>,
) -> Result<Json<Value>, Problem> {
    let caller = asker.member()?.caller;
    let conversation = found(&gateway, &caller, id.transfer).await.map_err(|_| nothing())?;
    if !may_see(&gateway, &caller, conversation, id).await? {
        return Err(nothing());
    }
    let stream = stream(&caller.teamspace, conversation);
    let bundle = find(&gateway, &stream, id).await?.ok_or_else(nothing)?;
    let reader = reader(&gateway, &caller).await?;
    Ok(Json(shown(bundle, reader)))
}

/// The bundle of this id, unless the conversation has erased content.
pub async fn find(
    gateway: &Gateway,
    stream: &Stream,
    id: BundleId,
) -> Result<Option<Bundle>, StoreError> {
    let mut before = u64::MAX;
    // A bundle is in one entry of its conversation, so this ends with the conversation at the
    // latest.
    loop {
        let page = gateway.engine.read().history(stream, before, PAGE).await?;
        let Some(oldest) = page.last() else { return Ok(None) };
        before = oldest.entry.position;
        if let Some(made) = page.iter().find_map(|line| made_by(line, id)) {
            return Ok(made);
        }
    }
}

pub fn shown(bundle: Bundle, reader: Reader) -> Value {
    match reader {
        Reader::Program => shown_bundle(&visible_bundle(bundle)),
        Reader::Person | Reader::Customer => shown_bundle(&bundle),
    }
}

fn nothing() -> Problem {
    Problem::not_found("bundle")
}

async fn may_see(
    gateway: &Gateway,
    caller: &Caller,
    conversation: ConversationId,
    id: BundleId,
) -> Result<bool, Problem> {
    let stream = stream(&caller.teamspace, conversation);
    let item = gateway.engine.read().item(&stream).await?.ok_or_else(nothing)?;
    let conversation = conversation_of(&item)?;
    let transfer = conversation.transfer.as_deref().filter(|transfer| transfer.id == id.transfer);
    Ok(gateway.engine.access().may_read_transfer(caller, conversation, transfer).await?)
}

/// The bundle, or that there is none, if this entry settles it.
fn made_by(line: &Sequenced, id: BundleId) -> Option<Option<Bundle>> {
    // The erased content may be part of a bundle that was made before.
    if line.entry.name == Erased::NAME {
        return Some(None);
    }
    if !is_of_transfer(&line.entry.name) {
        return None;
    }
    let Some(ConversationEvent::Transfer(event)) = history::event(line) else { return None };
    event.bundle(id).map(|bundle| bundle.cloned())
}
