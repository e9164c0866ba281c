//! The lines of a transcript that come from a transfer to a person: parts with the names that chat
//! clients know, and internal messages between colleagues.

use engine::ports::store::Sequenced;
use protocol::conversation::author::{self, whose};
use protocol::conversation::customer_text;
use protocol::conversation::customer_text::PersonRequest;
use protocol::ids::{ConversationId, TransferId};
use protocol::step::State;
use protocol::transfer::event::{Connected, Line, Over, PassedOn, Requested};
use protocol::transfer::kind::Kind;
use protocol::transfer::state::Outcome;
use protocol::visibility::details::sees_inside;
use serde_json::{Value, json};

use crate::http::conversations::history::{add_route, bundle_id, earlier, passed_reason};
use crate::http::conversations::names::{DisplayNames, From};
use crate::http::shared::problem::Problem;

/// The fields of a line besides its number: sender, epoch, parts, and the line that it answers.
type Shown = (Option<From>, Option<u64>, Vec<Value>, Option<u64>);

pub async fn shown(
    names: &mut DisplayNames<'_>,
    id: ConversationId,
    told: Line<'_>,
    line: &Sequenced,
) -> Result<Shown, Problem> {
    let part = |status: &str, number: u64, transfer: TransferId| {
        json!({
            "type": "agent-transfer", "id": format!("{id}-{number}"),
            "transferId": transfer.to_string(), "status": status,
        })
    };
    Ok(match told {
        Line::Requested(it) => {
            let mut part = part("requested", it.number, it.transfer);
            part["transferType"] = json!(it.kind);
            part["fromAgent"] = json!(names.of(&it.holder).await?);
            if let Some(bundle) = &it.bundle {
                part["bundleId"] = bundle.bundle_id.as_str().into();
            }
            add_reasons(&mut part, names, line, it).await?;
            (Some(From::System), Some(it.epoch), vec![part], None)
        }
        Line::PassedOn(it) => {
            let part = passed_on(names, part("queued", it.number, it.transfer), it).await?;
            (Some(From::System), Some(it.epoch), vec![part], None)
        }
        Line::Connected(it) => {
            let part =
                connected(names, part("connected", it.number, it.transfer), line, it).await?;
            (Some(From::System), Some(it.epoch), vec![part], None)
        }
        Line::Over(it) => {
            let mut part = part(it.outcome.status().as_str(), it.number, it.transfer);
            let kind = last_kind(names, line, it).await?;
            part["transferType"] = json!(kind.unwrap_or_default());
            part["toAgent"] = json!(names.of(&it.to).await?);
            // A customer may see a reason that a customer gave.
            let actor = line.entry.actor.as_ref();
            let is_shown = sees_inside(names.caller) || author::is_customer(actor);
            if it.outcome == Outcome::Failed && it.to != it.holder && !sees_inside(names.caller) {
                let to = names.of(&it.to).await?.agent_name;
                let language = names.language.as_deref();
                part["reason"] = customer_text::of_failure(language, &to).into();
            } else if !it.reason.is_empty() && is_shown {
                part["reason"] = it.reason.as_str().into();
                part["reasonBy"] = whose(&line.entry.actor).into();
            }
            if !it.summary.is_empty() && sees_inside(names.caller) {
                part["context"] = it.summary.as_str().into();
            }
            (Some(From::System), Some(it.epoch), vec![part], None)
        }
        Line::Noted(it) => {
            let kind = if it.whispered { "whisper" } else { "note" };
            let part = json!({ "type": kind, "text": it.text });
            (Some(From::Internal { by: it.by.clone() }), None, vec![part], None)
        }
    })
}

/// The part about a person who passed the customer on to a queue, and why, as for a request.
async fn passed_on(
    names: &mut DisplayNames<'_>,
    mut part: Value,
    it: &PassedOn,
) -> Result<Value, Problem> {
    part["transferType"] = json!(Kind::Blind);
    part["fromAgent"] = json!(names.of(&it.holder).await?);
    if !sees_inside(names.caller) {
        let queue = names.of(&it.queue).await?.agent_name;
        let language = names.language.as_deref();
        part["reason"] = customer_text::of_passing(&it.customer_text, language, &queue).into();
        return Ok(part);
    }
    if !it.customer_text.is_empty() {
        part["customerText"] = it.customer_text.as_str().into();
    }
    if !it.reason.is_empty() {
        part["reason"] = it.reason.as_str().into();
        part["reasonBy"] = "agent".into();
    }
    Ok(part)
}

/// The part about a person who answers now.
async fn connected(
    names: &mut DisplayNames<'_>,
    mut part: Value,
    line: &Sequenced,
    it: &Connected,
) -> Result<Value, Problem> {
    part["transferType"] = json!(it.kind);
    if let Some(bundle) = bundle_id(it) {
        part["bundleId"] = bundle.into();
    }
    part["targetAgent"] = json!(names.of(&it.agent).await?);
    let passed_by = it.passed_on_by();
    if !sees_inside(names.caller) {
        if let Some(by) = passed_by.filter(|_| !it.was_told) {
            let from = names.of(by).await?.agent_name;
            let to = names.of(&it.agent).await?.agent_name;
            let language = names.language.as_deref();
            let told = customer_text::of_passed(&it.customer_text, language, &from, &to);
            part["reason"] = told.into();
        }
        return Ok(part);
    }
    if !it.customer_text.is_empty() {
        part["customerText"] = it.customer_text.as_str().into();
    }
    if passed_by.is_some() {
        let reason = passed_reason(names.gateway, line, it).await?.unwrap_or_default();
        if !reason.is_empty() {
            part["reason"] = reason.into();
            part["reasonBy"] = "agent".into();
        }
    }
    Ok(part)
}

/// Why a person was asked for: customers see the text meant for them, members see everything.
async fn add_reasons(
    part: &mut Value,
    names: &mut DisplayNames<'_>,
    line: &Sequenced,
    it: &Requested,
) -> Result<(), Problem> {
    if !sees_inside(names.caller) {
        let asked =
            PersonRequest { by: &it.by, reason: &it.reason, customer_text: &it.customer_text };
        let queue = names.of(&it.queue).await?.agent_name;
        let language = names.language.as_deref();
        part["reason"] = customer_text::of_request(asked, language, &queue).into();
        return Ok(());
    }
    if !it.customer_text.is_empty() {
        part["customerText"] = it.customer_text.as_str().into();
    }
    if !it.reason.is_empty() {
        part["reason"] = it.reason.as_str().into();
        part["reasonBy"] = whose(&it.by).into();
    }
    if let Some(words) = it.bundle.as_ref().and_then(|it| it.customer_words.as_ref()) {
        part["customerWords"] = words.as_str().into();
    }
    if let Some(instead_of) = &it.instead_of {
        part["insteadOf"] = instead_of.as_str().into();
    }
    add_route(part, names.gateway, &line.entry.stream, line, it).await
}

/// The kind under which the last person had it: the state has the last one, the history those
/// before.
async fn last_kind(
    names: &DisplayNames<'_>,
    line: &Sequenced,
    over: &Over,
) -> Result<Option<Kind>, Problem> {
    let entry = &line.entry;
    let state = names.gateway.engine.read().current(&entry.stream).await?;
    if let Some(State::Conversation(conversation)) = state.as_deref()
        && let Some(transfer) = &conversation.transfer
        && transfer.id == over.transfer
    {
        return Ok(Some(transfer.kind()));
    }
    let kind = earlier(names.gateway, &entry.stream, entry.position, |event| {
        event.kind().filter(|_| event.transfer() == over.transfer)
    });
    Ok(kind.await?)
}
