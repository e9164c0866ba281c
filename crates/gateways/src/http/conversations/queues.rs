//! `/v1/queues`: the transfers that wait for a person, and the settings of each queue.

use axum::Json;
use axum::extract::State;
use protocol::agent;
use protocol::agent::{Agent, AgentIdentity, Kind, Presence};
use protocol::caller::Caller;
use protocol::ids::AgentId;
use protocol::queue::{EstimatedWait, Mode, Settings, Wanted, estimate};
use protocol::step::{Command, State as Aggregate};
use protocol::time::Span;
use protocol::warning::Warning;
use schemars::JsonSchema;
use serde::ser::Error;
use serde::{Serialize, Serializer};

use crate::http::conversations::callbacks;
use crate::http::conversations::callbacks::CallbackView;
use crate::http::conversations::transfer_view::{self, TransferView};
use crate::http::shared::auth::Asker;
use crate::http::shared::cursors;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, QueryParameters, Write};
use crate::http::shared::lookup;
use crate::http::shared::lookup::agent;
use crate::http::shared::paging::{ListPage, PageInput, parse_limit};
use crate::http::shared::problem::Problem;

/// How many waiting transfers are shown.
const SHOWN_MAX: usize = 50;

/// How many people of a queue are shown.
const PEOPLE_MAX: usize = 200;

/// The current state of a queue.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueView {
    pub queue: String,
    pub is_open: bool,
    /// When it opens next, if it is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opens_at: Option<String>,
    /// How many wait and are not rung for a person now; counting ends at 1,000.
    pub n_waiting: usize,
    /// How long the customer has waited who has waited longest, of those for whom it does not ring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_wait: Option<Span>,
    /// People of the queue who take conversations now.
    pub n_available: usize,
    /// The estimated wait of a new transfer, while the queue is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_wait: Option<EstimatedWait>,
    /// The first 50, in their order. For people of the queue and coordinators only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Vec<TransferView>>,
    /// More than the first 50 wait: `GET /v1/transfers?queue=ID&status=queued` lists all of them,
    /// with their places.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_incomplete: bool,
    /// The first 50 customers who shall be called, in their order. For people of the queue and
    /// coordinators only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callbacks: Option<Vec<CallbackView>>,
    /// All of them, also where they were not set.
    #[serde(serialize_with = "with_defaults")]
    pub settings: Settings,
    /// After a change: what does not work at present.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// A queue in the list of queues.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueSummary {
    pub queue: String,
    /// How it is introduced to customers.
    pub identity: AgentIdentity,
    pub is_open: bool,
    /// When it opens next, if it is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opens_at: Option<String>,
    pub mode: Mode,
    /// What people must have to belong to it: a team, skills, a language.
    pub wanted: Wanted,
    /// Within this time a person should answer.
    pub target: Span,
    /// How many wait and are not rung for a person now; counting ends at 1,000.
    pub n_waiting: usize,
    /// How long the customer has waited who has waited longest, of those for whom it does not ring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_wait: Option<Span>,
    /// People of the queue who take conversations now.
    pub n_available: usize,
    /// The first 200 people of the queue who are not offline, by their ids. For people of the
    /// queue and coordinators only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub people: Option<Vec<PersonView>>,
}

/// A person of a queue.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PersonView {
    pub agent: String,
    pub identity: AgentIdentity,
    pub presence: Presence,
}

/// Settings leave out what is at its default, as the ledger does. A reader wants to see it.
fn with_defaults<S: Serializer>(settings: &Settings, to: S) -> Result<S::Ok, S::Error> {
    let mut shown = serde_json::to_value(settings).map_err(S::Error::custom)?;
    shown["rings"] = settings.rings.into();
    shown["target"] = serde_json::to_value(settings.target).map_err(S::Error::custom)?;
    shown.serialize(to)
}

pub async fn list(
    State(gateway): State<Gateway>,
    asker: Asker,
    QueryParameters(input): QueryParameters<PageInput>,
) -> Result<Json<ListPage<QueueSummary>>, Problem> {
    let caller = asker.member()?.caller;
    let limit = parse_limit(input.limit.as_deref())?;
    let before = cursors::row_before(&gateway, &caller, "queues", input.cursor.as_deref())?;
    let page = gateway.engine.access().queues_for(&caller, before, limit).await?;
    let mut items = Vec::with_capacity(page.items.len());
    for item in &page.items {
        if let Some(queue) = item.state.as_agent() {
            items.push(summary(&gateway, &caller, queue).await?);
        }
    }
    let next_cursor = cursors::next_row(&gateway, &caller, "queues", page.next);
    Ok(Json(ListPage { items, next_cursor }))
}

async fn summary(
    gateway: &Gateway,
    caller: &Caller,
    queue: &Agent,
) -> Result<QueueSummary, Problem> {
    let engine = &gateway.engine;
    let (queues, teamspace, now) = (engine.queues(), &caller.teamspace, engine.clock().now());
    let settings = queue.queue_settings();
    let hours = settings.hours.as_ref();
    let is_open = hours.is_none_or(|hours| hours.is_open(now));
    let opens_at = hours.and_then(|hours| hours.next_opening(now)).filter(|_| !is_open);
    let waiting_since = queues.longest_waits_since(teamspace, &queue.id).await?;
    let people = match engine.access().sees_who_waits(caller, queue).await? {
        true => Some(queues.members(teamspace, queue, PEOPLE_MAX).await?),
        false => None,
    };
    let shown = |person: Agent| PersonView {
        agent: person.id.to_string(),
        identity: person.identity(),
        presence: person.presence(),
    };
    Ok(QueueSummary {
        queue: queue.id.to_string(),
        identity: queue.identity(),
        is_open,
        opens_at: opens_at.map(|at| at.to_string()),
        mode: settings.mode,
        wanted: settings.wanted.clone(),
        target: settings.target,
        n_waiting: queues.n_waiting(teamspace, &queue.id).await?,
        longest_wait: waiting_since.map(|since| now.since(since)),
        n_available: queues.shift(teamspace, queue).await?.n_available,
        people: people.map(|people| people.into_iter().map(shown).collect()),
    })
}

pub async fn show(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<AgentId>,
) -> Result<Json<QueueView>, Problem> {
    let caller = asker.member()?.caller;
    queue_view(&gateway, &caller, &id).await.map(Json)
}

pub async fn configure(
    State(gateway): State<Gateway>,
    Named(id): Named<AgentId>,
    write: Write<Settings>,
) -> Result<Json<QueueView>, Problem> {
    let (write, settings) = write.split();
    let caller = write.asker.member()?.caller;
    let key = write.key.for_action("set_queue", Some(id.as_str()));
    let command = Command::Agent(agent::Command::SetQueue { settings: Box::new(settings) });
    let stream = lookup::stream(&caller.teamspace, id.clone());
    let done = gateway.engine.submit(&caller, stream, command, Some(key)).await?;
    let view = queue_view(&gateway, &caller, &id).await?;
    Ok(Json(QueueView { warnings: done.outcome.warnings, ..view }))
}

async fn queue_view(
    gateway: &Gateway,
    caller: &Caller,
    id: &AgentId,
) -> Result<QueueView, Problem> {
    let nothing = || Problem::not_found("queue");
    let queue = agent(gateway, &caller.teamspace, id).await?.ok_or_else(nothing)?;
    if queue.kind != Kind::Queue {
        return Err(nothing());
    }
    let settings = queue.queue_settings();
    let now = gateway.engine.clock().now();
    let opens_at = settings.hours.as_ref().and_then(|hours| hours.next_opening(now));
    let is_open = settings.hours.as_ref().is_none_or(|hours| hours.is_open(now));
    let n_waiting = gateway.engine.queues().n_waiting(&caller.teamspace, id).await?;
    let waiting_since = gateway.engine.queues().longest_waits_since(&caller.teamspace, id).await?;
    let shift = gateway.engine.queues().shift(&caller.teamspace, &queue).await?;
    let flow = gateway.engine.flows().of(&caller.teamspace, id, shift.slots, now);
    let place = u32::try_from(n_waiting + 1).unwrap_or(u32::MAX);
    let (waiting, callbacks) = match gateway.engine.access().sees_who_waits(caller, &queue).await? {
        true => {
            let callbacks = callbacks::of_queue(gateway, caller, id).await?;
            (Some(waiting(gateway, caller, id).await?), Some(callbacks))
        }
        false => (None, None),
    };
    Ok(QueueView {
        queue: id.to_string(),
        is_open,
        opens_at: opens_at.filter(|_| !is_open).map(|at| at.to_string()),
        n_waiting,
        longest_wait: waiting_since.map(|since| now.since(since)),
        n_available: shift.n_available,
        estimated_wait: estimate(place, &flow).filter(|_| is_open),
        is_incomplete: waiting.is_some() && n_waiting > SHOWN_MAX,
        waiting,
        callbacks,
        settings,
        warnings: Vec::new(),
    })
}

async fn waiting(
    gateway: &Gateway,
    caller: &Caller,
    queue: &AgentId,
) -> Result<Vec<TransferView>, Problem> {
    let rows = gateway.engine.queues().waiting(&caller.teamspace, queue, SHOWN_MAX).await?;
    let mut shown = Vec::with_capacity(rows.len());
    for row in rows {
        let state = gateway.engine.read().current(&row.stream).await?;
        let Some(Aggregate::Conversation(conversation)) = state.as_deref() else { continue };
        let Some(transfer) = conversation.open_transfer() else { continue };
        shown.push(transfer_view::view(gateway, caller, conversation, transfer).await?);
    }
    Ok(shown)
}
