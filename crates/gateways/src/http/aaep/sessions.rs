//! `/aaep/v1`: agents announce what they do, and learn what people decided. The events are passed
//! on unchanged; their rules are in [`protocol::session`].

use aaep::machine::Outcome;
use aaep::read::read;
use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, Path, Request, State};
use engine::aaep::announce::session_stream;
use engine::aaep::sessions::{DECISION_WAIT_MAX, Placed, Question, SESSION_EVENTS_PAGE_MAX};
use engine::ports::store::ListOf;
use protocol::caller::Caller;
use protocol::form;
use protocol::ids::SessionId;
use protocol::rejection::Rejection;
use protocol::session::event::{Handover, HandoverOutcome, Said};
use protocol::session::{ANNOUNCED_EVENTS_MAX, Given, Session, Status};
use protocol::step::State as Aggregate;
use protocol::time::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use crate::http::aaep::critical::count_critical;
use crate::http::aaep::state::Aaep;
use crate::http::shared::auth::{Asker, authenticate};
use crate::http::shared::cursors;
use crate::http::shared::input::{Named, Names, QueryParameters, media_type, read_within_quota};
use crate::http::shared::paging::{ListPage, parse_limit};
use crate::http::shared::problem::Problem;

/// The largest request. Events have a few hundred bytes, and the longest 256 KiB.
pub const EVENTS_BYTES_MAX: usize = 1024 * 1024;

const NDJSON: &str = "application/x-ndjson";

const JSON: &str = "application/json";

impl Names for SessionId {
    const WHAT: &'static str = "session";
}

/// An event, a list of events, or one on each line: of one session, in order.
/// `/schemas/aaep.json` says what an event is.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub enum EventsInput {
    #[expect(dead_code, reason = "it is read by hand")]
    One(Map<String, Value>),
    #[expect(dead_code, reason = "it is read by hand")]
    Several(#[schemars(length(min = 1, max = ANNOUNCED_EVENTS_MAX))] Vec<Map<String, Value>>),
}

/// What was recorded.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EventsRecorded {
    pub session_id: String,
    /// How many events the request had, including those that were already recorded.
    pub n_events: usize,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionsInput {
    /// `open`, or another status.
    #[serde(default)]
    #[schemars(transform = form::one_of(["open", "completed", "errored", "cancelled"]))]
    pub status: Option<String>,
    #[serde(default)]
    pub limit: Option<String>,
    #[serde(default)]
    pub cursor: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionEventsInput {
    /// The cursor of the last event that is known.
    #[serde(default)]
    pub after: Option<String>,
    #[serde(default)]
    pub limit: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionInput {
    /// How long to wait for an answer, such as `20s`; at most 25 seconds.
    #[serde(default)]
    #[schemars(transform = form::span(Span::from_millis(0), DECISION_WAIT_MAX))]
    pub wait: Option<Span>,
}

/// The current state of a session.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionView {
    pub session_id: String,
    pub producer: String,
    pub status: Status,
    pub started_at: String,
    pub n_events: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    /// Questions that wait for an answer.
    pub pending: Vec<PendingView>,
    /// The result of the last requested handoff, in a session of a conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff: Option<HandoverView>,
}

/// The result of a handoff that a producer requested.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HandoverView {
    /// The event that requested it.
    pub event_id: String,
    /// `requested`, `routed`, `default_queue` or `refused`.
    pub outcome: &'static str,
    /// Why it was refused, as a code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_id: Option<String>,
    /// For a change of hands between AI agents: its place in the transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<u64>,
    /// The agent or the queue that has the conversation since then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct PendingView {
    pub reply_token: String,
    pub event_id: String,
    pub due_at: String,
}

/// Events in order. `next_cursor` is there when there are more.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionEvents {
    pub items: Vec<SessionEvent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionEvent {
    pub cursor: String,
    pub recorded_at: String,
    #[schemars(with = "Map<String, Value>")]
    pub event: Said,
}

/// The result of a question.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DecisionView {
    pub session_id: String,
    pub reply_token: String,
    pub status: DecisionStatus,
    /// `accept` or `reject`, for a confirmation: from an answer, or because its time is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<&'static str>,
    /// For a clarification: the answer, or the default that its producer gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Value>,
    /// Who answered, as the record names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// The name that the answer itself gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_rationale: Option<String>,
    /// Another action that the answer asks for instead. The original action is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_action: Option<Map<String, Value>>,
    /// How sure the sender of a clarification's answer is, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub confidence: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<String>,
    /// Until when an action that cannot be undone may rely on this accept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionStatus {
    /// There is no answer yet.
    Open,
    Answered,
    TimedOut,
    /// The producer went on, or the session is over.
    Withdrawn,
    /// The answer was erased.
    Erased,
}

/// Events from a caller that may announce them.
pub struct Announce {
    caller: Caller,
    session: SessionId,
    events: Vec<Said>,
}

impl FromRequest<Aaep> for Announce {
    type Rejection = Problem;

    async fn from_request(request: Request, gateway: &Aaep) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let caller = authenticate(gateway, &parts).await?.member()?.caller;
        let bytes = read_within_quota(gateway, &caller, body, EVENTS_BYTES_MAX).await?;
        let events = match media_type(&parts.headers)?.to_ascii_lowercase().as_str() {
            JSON => events_in(&bytes)?,
            NDJSON => lines_in(&bytes)?,
            _ => {
                let expected = format!("{JSON} or {NDJSON}");
                return Err(Problem::unsupported_media_type("content-type", &expected));
            }
        };
        let session = session_of(&events)?;
        Ok(Self { caller, session, events })
    }
}

pub fn events_in(bytes: &[u8]) -> Result<Vec<Said>, Problem> {
    let is_list = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    let read = match is_list {
        true => serde_json::from_slice::<Vec<Box<RawValue>>>(bytes),
        false => serde_json::from_slice(bytes).map(|one| vec![one]),
    };
    let events = read.map_err(|error| not_json("body", &error))?;
    Ok(events.into_iter().map(Said::from).collect())
}

/// Empty lines are skipped, so the last line may end with a line feed.
fn lines_in(bytes: &Bytes) -> Result<Vec<Said>, Problem> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let read = |(index, line): (usize, &[u8])| {
        let event = serde_json::from_slice::<Box<RawValue>>(line);
        event.map(Said::from).map_err(|error| not_json(&format!("events[{index}]"), &error))
    };
    lines.enumerate().map(read).collect()
}

fn not_json(field: &str, error: &serde_json::Error) -> Problem {
    let detail = format!("{field}: expected an event as JSON ({error})");
    Problem::new("json_invalid", detail).field(field)
}

/// The session of the first event. The rules check that the other events belong to it.
pub fn session_of(events: &[Said]) -> Result<SessionId, Problem> {
    let first = events.first().ok_or_else(|| Problem::schema_invalid("events", "an event"))?;
    let event = read(first.text()).map_err(|flaws| Rejection::EventRefused { index: 0, flaws })?;
    let id = event.envelope.session_id.parse::<SessionId>();
    id.map_err(|error| Problem::schema_invalid("session_id", error.expected))
}

pub async fn announce(
    State(gateway): State<Aaep>,
    Announce { caller, session, events }: Announce,
) -> Result<Json<EventsRecorded>, Problem> {
    let n_events = events.len();
    let counted = count_critical(&gateway, &caller, &events)?;
    let recorded = gateway.engine.sessions().announce(&caller, &session, events).await;
    if recorded.is_err() {
        counted.give_back();
    }
    recorded?;
    Ok(Json(EventsRecorded { session_id: session.to_string(), n_events }))
}

pub async fn list(
    State(gateway): State<Aaep>,
    asker: Asker,
    QueryParameters(input): QueryParameters<SessionsInput>,
) -> Result<Json<ListPage<SessionView>>, Problem> {
    let caller = asker.member()?.caller;
    let limit = parse_limit(input.limit.as_deref())?;
    let before = cursors::row_before(&gateway, &caller, "sessions", input.cursor.as_deref())?;
    let status = input.status.as_deref().map(parse_status).transpose()?;
    let page =
        gateway.engine.read().list(&caller.teamspace, ListOf::Sessions, before, limit).await?;
    let mut items = Vec::new();
    for item in &page.items {
        let Aggregate::Session(session) = item.state.as_ref() else { continue };
        let is_wanted = status.is_none_or(|status| session.status == status);
        if is_wanted && session.is_shown_to(&caller) {
            items.push(view(&gateway, &caller, session).await?);
        }
    }
    Ok(Json(ListPage {
        items,
        next_cursor: cursors::next_row(&gateway, &caller, "sessions", page.next),
    }))
}

pub async fn show(
    State(gateway): State<Aaep>,
    asker: Asker,
    Named(id): Named<SessionId>,
) -> Result<Json<SessionView>, Problem> {
    let caller = asker.member()?.caller;
    let session = visible(&gateway, &caller, &id).await?;
    Ok(Json(view(&gateway, &caller, &session).await?))
}

pub async fn events(
    State(gateway): State<Aaep>,
    asker: Asker,
    Named(id): Named<SessionId>,
    QueryParameters(input): QueryParameters<SessionEventsInput>,
) -> Result<Json<SessionEvents>, Problem> {
    let caller = asker.member()?.caller;
    visible(&gateway, &caller, &id).await?;
    let teamspace = &caller.teamspace;
    let after = input.after.as_deref();
    let opened = after.map(|text| cursors::announced_after(&gateway, teamspace, ("after", text)));
    let after_cursor = opened.transpose()?;
    let no_place = || {
        let expected = "the cursor of an event of this session";
        cursors::refused("after", after.unwrap_or_default(), expected)
    };
    let limit = parse_limit(input.limit.as_deref())?.min(SESSION_EVENTS_PAGE_MAX);
    let stream = session_stream(&caller, &id);
    let found = gateway.engine.sessions().session_events(&stream, after_cursor, limit).await?;
    let (events, has_more) = found.map_err(|_| no_place())?;
    let show = |Placed { cursor, at, said }| SessionEvent {
        cursor: cursors::announced(&gateway, teamspace, cursor),
        recorded_at: at.to_string(),
        event: said,
    };
    let items: Vec<_> = events.into_iter().map(show).collect();
    let last = items.last().map(|shown| shown.cursor.clone());
    Ok(Json(SessionEvents { items, next_cursor: last.filter(|_| has_more) }))
}

pub async fn decision(
    State(gateway): State<Aaep>,
    asker: Asker,
    path: Result<Path<(String, String)>, PathRejection>,
    QueryParameters(input): QueryParameters<DecisionInput>,
) -> Result<Json<DecisionView>, Problem> {
    let caller = asker.member()?.caller;
    let nothing = || Problem::not_found("session");
    let Path((id, reply_token)) = path.map_err(|_| nothing())?;
    let id: SessionId = id.parse().map_err(|_| nothing())?;
    visible(&gateway, &caller, &id).await?;
    let stream = session_stream(&caller, &id);
    let engine = &gateway.engine;
    let question = match input.wait {
        Some(wait) => engine.sessions().question_settled(&stream, &reply_token, wait).await?,
        None => engine.sessions().question(&stream, &reply_token).await?,
    };
    let question = question.ok_or_else(|| Problem::not_found("question"))?;
    Ok(Json(decided(&id, reply_token, question)))
}

/// A session of the caller's teamspace, if it is the caller's own or the caller sees all of them.
pub async fn visible(gateway: &Aaep, caller: &Caller, id: &SessionId) -> Result<Session, Problem> {
    let session = gateway.engine.sessions().session(&session_stream(caller, id)).await?;
    let shown = session.filter(|session| session.is_shown_to(caller));
    shown.ok_or_else(|| Problem::not_found("session"))
}

fn parse_status(word: &str) -> Result<Status, Problem> {
    let all = [Status::Open, Status::Completed, Status::Errored, Status::Cancelled];
    let found = all.into_iter().find(|status| status.as_str() == word);
    let expected = "open, completed, errored or cancelled";
    found.ok_or_else(|| Problem::schema_invalid("status", expected))
}

pub async fn view(
    gateway: &Aaep,
    caller: &Caller,
    session: &Session,
) -> Result<SessionView, Problem> {
    let pending = session.machine.pending();
    let conversation = match pending.is_empty() {
        true => None,
        false => gateway.engine.sessions().conversation(&caller.teamspace, session).await?,
    };
    let stands = |token: &str| session.stands(token, conversation.as_deref());
    let pending = pending.iter().filter(|it| stands(it.reply_token()));
    let pending = pending.map(|question| PendingView {
        reply_token: question.reply_token().to_owned(),
        event_id: question.event_id().to_owned(),
        due_at: question.due().to_string(),
    });
    Ok(SessionView {
        session_id: session.id.to_string(),
        producer: session.producer.to_string(),
        status: session.status,
        started_at: session.started_at.to_string(),
        n_events: session.n_events,
        conversation_id: session.conversation.map(|id| id.to_string()),
        parent_session_id: session.parent.as_ref().map(ToString::to_string),
        pending: pending.collect(),
        handoff: session.handover.as_ref().map(handover),
    })
}

fn handover(it: &Handover) -> HandoverView {
    let (code, is_route) = match &it.outcome {
        HandoverOutcome::Refused { code } => (Some(code.clone()), false),
        HandoverOutcome::Routed => (None, true),
        HandoverOutcome::Requested | HandoverOutcome::DefaultQueue => (None, false),
    };
    HandoverView {
        event_id: it.event_id.clone(),
        outcome: it.outcome.as_str(),
        code,
        transfer_id: it.transfer.map(|id| id.to_string()),
        route: it.number.filter(|_| is_route),
        to: it.to.as_ref().map(ToString::to_string),
    }
}

pub fn decided(id: &SessionId, reply_token: String, question: Question) -> DecisionView {
    let (status, outcome, at) = match &question {
        Question::Open { .. } => (DecisionStatus::Open, None, None),
        Question::Answered { outcome, at, .. } => {
            (DecisionStatus::Answered, Some(*outcome), Some(*at))
        }
        Question::TimedOut { outcome, at, .. } => {
            (DecisionStatus::TimedOut, Some(*outcome), Some(*at))
        }
        Question::Withdrawn => (DecisionStatus::Withdrawn, None, None),
        Question::Lost { at } => (DecisionStatus::Withdrawn, None, Some(*at)),
        Question::Erased { at } => (DecisionStatus::Erased, None, Some(*at)),
    };
    let mut shown = DecisionView {
        session_id: id.to_string(),
        reply_token,
        status,
        decision: outcome.and_then(|outcome| match outcome {
            Outcome::Accepted => Some("accept"),
            Outcome::Rejected => Some("reject"),
            Outcome::Answered | Outcome::Unanswered | Outcome::Withdrawn => None,
        }),
        response: None,
        answered_by: None,
        decided_by: None,
        decision_rationale: None,
        modified_action: None,
        confidence: None,
        due_at: None,
        settled_at: at.as_ref().map(Time::to_string),
        expires_at: None,
    };
    match question {
        Question::Open { due } => shown.due_at = Some(due.to_string()),
        Question::Answered { answer, .. } => {
            shown.answered_by = Some(answer.by);
            shown.expires_at = answer.expires_at.as_ref().map(Time::to_string);
            shown.decided_by = answer.decided_by;
            shown.decision_rationale = answer.rationale;
            shown.modified_action = answer.modified_action;
            shown.confidence = answer.confidence;
            if let Given::Response(response) = answer.given {
                let value = serde_json::to_value(response).expect("an answer is plain data");
                shown.response = Some(value);
            }
        }
        Question::TimedOut { default_response, .. } => {
            shown.response = default_response.map(Value::from);
        }
        Question::Withdrawn | Question::Lost { .. } | Question::Erased { .. } => {}
    }
    shown
}
