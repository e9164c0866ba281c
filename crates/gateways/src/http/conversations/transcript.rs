//! The messages of a conversation, by number, and their files. Stored images are shown; a browser
//! gets everything else as downloads that cannot run.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use engine::ports::store::Sequenced;
use protocol::caller::Caller;
use protocol::conversation::event::{HolderSilent, Line, Routed, Said, Speaker};
use protocol::conversation::part::{Attachment, FilePart, Part, file_path};
use protocol::conversation::reader::Reader;
use protocol::conversation::{Event, customer_text};
use protocol::hidden::make_visible;
use protocol::ids::ConversationId;
use protocol::json::INTEGER_MAX;
use protocol::signal::{Escalate, SignalScore};
use protocol::visibility::details::sees_inside;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::http::conversations::access::{conversation_of, language, reader, visible};
use crate::http::conversations::history::event;
use crate::http::conversations::names::{DisplayNames, From};
use crate::http::conversations::to_people;
use crate::http::files::serving::{Served, disposition, serve};
use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, QueryParameters};
use crate::http::shared::paging::{ListPage, parse_limit};
use crate::http::shared::problem::Problem;

/// A message of a conversation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LineView {
    /// Its place in the transcript, from 1.
    pub number: u64,
    /// The position of its entry in the record.
    pub position: u64,
    /// `null` once erased.
    pub from: Option<From>,
    /// The epoch in which it was said; `null` once erased.
    pub epoch: Option<u64>,
    /// Texts, attachments and transfers; none once erased.
    pub parts: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<u64>,
    /// For agents and operators only.
    #[serde(flatten)]
    pub heard: Heard,
    pub at: String,
    /// Whether its content was erased.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
}

/// How a message of the customer sounds, and how the graph routes it.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Heard {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<SignalScore>,
    /// The rule that asks for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalate>,
    /// `routeDecision` and `graphPath`, unless the message changed the holder: then the
    /// `agent-transfer` has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<Value>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TranscriptInput {
    /// Only messages with a larger number.
    #[serde(default)]
    pub after: Option<String>,
    /// The most items in a page, 1 to 200.
    #[serde(default)]
    pub limit: Option<String>,
}

pub async fn read(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<ConversationId>,
    QueryParameters(input): QueryParameters<TranscriptInput>,
) -> Result<Json<ListPage<LineView>>, Problem> {
    let limit = parse_limit(input.limit.as_deref())?;
    let after = parse_after(input.after.as_deref())?;
    let item = visible(&gateway, &asker.caller, id).await?;
    let lines = gateway.engine.read().transcript(&item.stream, after, limit).await?;
    let reader = reader(&gateway, &asker.caller).await?;
    let language = conversation_of(&item)?.setup.customer.language.clone();
    let caller = &asker.caller;
    let mut names = DisplayNames::new(&gateway, caller, language);
    let mut items = Vec::with_capacity(lines.len());
    // Numbers have no gaps, so erased messages have one too.
    let mut last = after;
    for (number, line) in (after.saturating_add(1)..).zip(&lines) {
        last = number;
        // Internal messages have a number too, but only people may read them.
        if reader.may_read(&line.entry.name) {
            let mut shown = shown(&mut names, id, number, line).await?;
            if reader == Reader::Program {
                shown.parts.iter_mut().for_each(make_visible);
            }
            items.push(shown);
        }
        // A message may be large, and others wait for this thread.
        tokio::task::yield_now().await;
    }
    let n_lines = conversation_of(&item)?.transcript.count;
    let next_cursor = (last < n_lines).then(|| last.to_string());
    Ok(Json(ListPage { items, next_cursor }))
}

fn parse_after(text: Option<&str>) -> Result<u64, Problem> {
    let Some(text) = text else { return Ok(0) };
    text.parse().ok().filter(|number| *number <= INTEGER_MAX).ok_or_else(|| {
        let detail = "after: expected the number of a message";
        Problem::new("cursor_invalid", detail).field("after")
    })
}

pub async fn download(
    State(gateway): State<Gateway>,
    asker: Asker,
    path: Result<Path<(String, String, String)>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let nothing = || Problem::not_found("attachment");
    let Path((id, number, index)) = path.map_err(|_| nothing())?;
    let id: ConversationId = id.parse().map_err(|_| Problem::not_found("conversation"))?;
    let item = visible(&gateway, &asker.caller, id).await?;
    let number: u64 = number.parse().ok().filter(|number| *number > 0).ok_or_else(nothing)?;
    let index: usize = index.parse().map_err(|_| nothing())?;
    let line = gateway.engine.read().transcript(&item.stream, number - 1, 1).await?.pop();
    let Some(Event::Said(said)) = line.as_ref().and_then(event) else { return Err(nothing()) };
    let attachment = match said.parts.get(index) {
        Some(Part::Attachment(attachment)) => attachment,
        Some(Part::File(part)) => {
            let files = gateway.engine.files();
            let known = files.kept(&asker.caller.teamspace, &part.file).await?;
            let known = known.ok_or_else(nothing)?;
            let (name, media_type) = (Some(&*part.name), Some(&*part.media_type));
            let served = Served { file: &part.file, known: &known, name, media_type };
            return serve(&gateway, &asker.caller.teamspace, served, &headers).await;
        }
        Some(Part::Text(_)) | None => return Err(nothing()),
    };
    let headers = [
        (header::CONTENT_TYPE, plain(&attachment.media_type)),
        (header::CONTENT_DISPOSITION, disposition(false, &attachment.name)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-store")),
    ];
    Ok((headers, attachment.bytes()).into_response())
}

fn plain(media_type: &str) -> HeaderValue {
    let unknown = HeaderValue::from_static("application/octet-stream");
    HeaderValue::from_str(media_type).unwrap_or(unknown)
}

/// One message as the caller sees it; `None` if it is no message, was erased, or is not for the
/// caller.
pub async fn one(
    gateway: &Gateway,
    caller: &Caller,
    id: ConversationId,
    line: &Sequenced,
) -> Result<Option<LineView>, Problem> {
    if !reader(gateway, caller).await?.may_read(&line.entry.name) {
        return Ok(None);
    }
    let Some(number) = event(line).and_then(|event| event.number()) else { return Ok(None) };
    let language = language(gateway, &line.entry.stream).await?;
    let mut names = DisplayNames::new(gateway, caller, language);
    shown(&mut names, id, number, line).await.map(Some)
}

async fn shown(
    names: &mut DisplayNames<'_>,
    id: ConversationId,
    number: u64,
    line: &Sequenced,
) -> Result<LineView, Problem> {
    let at = line.entry.at.to_string();
    let mut heard = Heard::default();
    let event = event(line);
    let (from, epoch, parts, in_reply_to) = match event.as_ref().and_then(Event::line) {
        Some(Line::Said(said)) => {
            let from = match &said.by {
                Speaker::Customer => From::Customer,
                Speaker::Agent(agent) => From::Agent(names.of(agent).await?),
            };
            let parts = parts_of(id, said);
            if sees_inside(names.caller) {
                let route = said.route.as_ref().map(|route| json!(route));
                heard = Heard {
                    signals: said.signals.clone(),
                    escalation: said.escalation.clone(),
                    route,
                };
            }
            (Some(from), Some(said.epoch), parts, said.in_reply_to)
        }
        Some(Line::Routed(routed)) => {
            let part = transfer(names, id, routed).await?;
            (Some(From::System), Some(routed.epoch), vec![part], None)
        }
        Some(Line::HolderSilent(silent)) => {
            let part = silence(names, silent).await?;
            (Some(From::System), Some(silent.epoch), vec![part], None)
        }
        Some(Line::Transfer(told)) => to_people::shown(names, id, told, line).await?,
        None => (None, None, Vec::new(), None),
    };
    let erased = from.is_none();
    let position = line.entry.position;
    Ok(LineView { number, position, from, epoch, parts, in_reply_to, heard, at, erased })
}

/// Texts unchanged, files by their URL.
fn parts_of(id: ConversationId, said: &Said) -> Vec<Value> {
    let numbered = said.parts.iter().enumerate();
    let shown = numbered.map(|(index, part)| match part {
        Part::Text(text) => json!({ "type": "text", "text": text.text }),
        Part::Attachment(Attachment { name, media_type, sha256, size_bytes, .. }) => json!({
            "type": "attachment", "name": name, "media_type": media_type, "sha256": sha256,
            "size_bytes": size_bytes, "path": file_path(id, said.number, index),
        }),
        Part::File(FilePart { file, name, media_type }) => json!({
            "type": "file", "name": name, "media_type": media_type, "file": file,
            "path": file_path(id, said.number, index),
        }),
    });
    shown.collect()
}

/// That a bot was silent, as a text in the language of the customer. Colleagues also see the facts.
async fn silence(names: &mut DisplayNames<'_>, silent: &HolderSilent) -> Result<Value, Problem> {
    let from = names.of(&silent.holder).await?.agent_name;
    let to = match silent.next.asked() {
        Some(next) => names.of(next).await?.agent_name,
        None => String::new(),
    };
    let text = customer_text::of_silence(silent, names.language.as_deref(), &from, &to);
    let mut part = json!({ "type": "text", "text": text });
    if sees_inside(names.caller) {
        part["silence"] = json!({
            "agent": silent.holder,
            "owed": silent.owed,
            "since": silent.since.to_string(),
            "within": silent.within,
            "next": silent.next,
        });
        if silent.no_person {
            part["silence"]["no_person"] = true.into();
        }
    }
    Ok(part)
}

/// An `AgentTransferPart`. The reason and the context for the next agent are not for the customer,
/// who gets a text of their own.
async fn transfer(
    names: &mut DisplayNames<'_>,
    id: ConversationId,
    routed: &Routed,
) -> Result<Value, Problem> {
    let (from, to) = (names.of(&routed.holder).await?, names.of(&routed.to).await?);
    let mut part = json!({
        "type": "agent-transfer",
        "id": format!("{id}-{}", routed.number),
        "transferType": "bot_to_bot",
        "status": "completed",
        "handoffType": routed.how,
        "fromAgent": from,
        "toAgent": to,
    });
    if !sees_inside(names.caller) {
        let language = names.language.as_deref();
        let told = customer_text::of_route(routed, language, &from.agent_name, &to.agent_name);
        part["reason"] = told.into();
    } else {
        if !routed.reason.is_empty() {
            part["reason"] = routed.reason.as_str().into();
        }
        if !routed.customer_text.is_empty() {
            part["customerText"] = routed.customer_text.as_str().into();
        }
        if !routed.context.is_empty() {
            part["context"] = routed.context.as_str().into();
        }
        if let Some(instead_of) = &routed.instead_of {
            part["insteadOf"] = instead_of.as_str().into();
        }
        if let Some(route) = &routed.route {
            part["routeDecision"] = json!(route.decision);
            part["graphPath"] = json!(route.path);
            part["graph"] = json!({ "id": route.graph, "version": route.version });
        }
    }
    Ok(part)
}
