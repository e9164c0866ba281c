//! Handoffs by tool call: the tools for a model, and its calls performed as routes.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use engine::ports::store::ListOf;
use engine::read::query::LIST_ROWS_MAX;
use engine::road::submit::{Done, SubmitError};
use protocol::agent::{Agent, Kind};
use protocol::caller::Caller;
use protocol::conversation::command::Route;
use protocol::conversation::not_heard::Why;
use protocol::conversation::topology::{Level, Topology};
use protocol::conversation::{Command, Conversation};
use protocol::ids::{AgentId, ConversationId, TeamspaceId};
use protocol::rejection::Rejection;
use protocol::step::State as Aggregate;
use protocol::tools::answers::{Answers, Called, Redirect, Refusal};
use protocol::tools::calls::{Call, CallKind, Request, calls};
use protocol::tools::definitions::{Dialect, HandoffTools, TARGETS_MAX, Target, Tool};
use protocol::tools::{Form, Malformed};
use protocol::{form, step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::http::conversations::access::{conversation_of, stream, visible};
use crate::http::conversations::lifecycle::{Taken, taken};
use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, QueryParameters, Write};
use crate::http::shared::lookup;
use crate::http::shared::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalledInput {
    /// `openai`, `anthropic` or `langchain`.
    #[schemars(transform = form::one_of(Form::ALL))]
    pub form: String,
    /// The assistant's message with the calls.
    #[schemars(with = "Map<String, Value>")]
    pub turn: Value,
    #[serde(default)]
    pub epoch: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CalledView {
    /// To be appended to the history, unchanged.
    pub messages: Vec<Value>,
    /// The result of each call, in the order of the turn.
    pub calls: Vec<Called>,
    /// The ids of ordinary calls, which the program that runs the tools still has to answer.
    pub waiting: Vec<String>,
    /// The handoff that was performed, if there was one.
    pub routed: Option<Taken>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolsInput {
    /// `openai` when absent.
    #[serde(default)]
    pub format: Option<Format>,
    /// Only agents to which this conversation may go.
    #[serde(default)]
    pub conversation: Option<ConversationId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    #[default]
    OpenAi,
    Anthropic,
    Mcp,
    JsonSchema,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ToolsView {
    pub tools: Vec<Value>,
    /// The id of the agent that each tool hands over to, by the name of the tool. A tool whose
    /// target is an argument is not listed.
    pub targets: BTreeMap<String, String>,
}

pub async fn definitions(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(agent): Named<AgentId>,
    QueryParameters(input): QueryParameters<ToolsInput>,
) -> Result<Json<ToolsView>, Problem> {
    let caller = asker.member()?.caller;
    if find(&gateway, &caller.teamspace, &agent).await?.is_none() {
        return Err(Problem::not_found("agent"));
    }
    let topology = match input.conversation {
        Some(id) => {
            let item = visible(&gateway, &caller, id).await?;
            conversation_of(&item)?.setup.topology.clone()
        }
        None => Topology::Free,
    };
    let tools = tools_of(&gateway, &caller, &topology, &agent).await?;
    let dialect = match input.format.unwrap_or_default() {
        Format::OpenAi => Dialect::OpenAi,
        Format::Anthropic => Dialect::Anthropic,
        Format::Mcp => Dialect::Mcp,
        Format::JsonSchema => Dialect::JsonSchema,
    };
    let render = |tool: &Tool| tool.render(dialect);
    let targets = tools.named_targets().map(|(name, id)| (name.to_owned(), id.to_string()));
    let targets = targets.collect();
    Ok(Json(ToolsView { tools: tools.tools().iter().map(render).collect(), targets }))
}

/// The rules are asked about one handoff after the other, until they allow one.
pub async fn called(
    State(gateway): State<Gateway>,
    Named(id): Named<ConversationId>,
    write: Write<CalledInput>,
) -> Result<Json<CalledView>, Problem> {
    let (write, input) = write.split();
    let caller = write.asker.caller;
    let item = visible(&gateway, &caller, id).await?;
    let Some(agent) = caller.agent() else {
        let detail = "only the agent that holds the conversation may do this";
        return Err(Problem::new("not_allowed", detail));
    };
    let form: Form = input.form.parse().map_err(|error| malformed(&error))?;
    let topology = conversation_of(&item)?.setup.topology.clone();
    let tools = tools_of(&gateway, &caller, &topology, agent).await?;
    let calls = calls(form, &input.turn, &tools).map_err(|it| malformed(&it.within("turn")))?;
    let others = others(&gateway, &caller.teamspace, &calls, &tools).await?;
    let mut denied: BTreeMap<String, Denied> = BTreeMap::new();
    loop {
        let mut answers = Answers::decide(calls.clone(), |request| {
            let Some(target) = tools.target(&request.target) else {
                return Err(not_offered(agent, request, &others));
            };
            match denied.get(&request.target) {
                Some((code, reason)) => Err(Refusal::Denied { code, reason: reason.clone() }),
                None => Ok(target.clone()),
            }
        });
        let Some(request) = answers.accepted() else {
            check_turn(conversation_of(&item)?, agent, input.epoch)?;
            return Ok(Json(view(form, &input.turn, &answers, None)));
        };
        let target: AgentId = request.target.parse().expect("a target of the tools is an agent");
        let route = Route {
            goto: target.clone(),
            update: Map::new(),
            graph: Level::Here,
            reason: request.reason.clone(),
            customer_text: request.customer_text.clone(),
            context: request.context.clone(),
            epoch: input.epoch,
        };
        let key = write.key.clone().for_action("call_tools", Some(&id.to_string()));
        let command = step::Command::Conversation(Command::Route(Box::new(route)));
        let stream = stream(&caller.teamspace, id);
        match gateway.engine.submit(&caller, stream, command, Some(key)).await {
            // A retry of a turn in which the first handoff was denied and a later one was
            // performed.
            Ok(done) if !is_about(&done, &target) && others_left(&calls, &denied, &target) => {
                denied.insert(target.to_string(), (DENIED, DENIED_BEFORE.to_owned()));
            }
            Ok(done) => {
                if let Some(redirect) = redirect(&done, &target) {
                    answers.redirected(&redirect);
                }
                let routed = Some(taken(id, &done));
                return Ok(Json(view(form, &input.turn, &answers, routed)));
            }
            Err(SubmitError::Rejected(rejection)) if is_about_target(&rejection) => {
                let is_loop = matches!(rejection, Rejection::HandoffLoop { .. });
                let code = if is_loop { rejection.code() } else { DENIED };
                denied.insert(target.to_string(), (code, without_field(&rejection)));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn view(form: Form, turn: &Value, answers: &Answers, routed: Option<Taken>) -> CalledView {
    CalledView {
        messages: answers.messages(form, turn),
        calls: answers.called(),
        waiting: answers.waiting().map(|call| call.call_id.clone()).collect(),
        routed,
    }
}

/// Why a handoff to an agent that is not among the tools is not performed.
fn not_offered(agent: &AgentId, request: &Request, others: &BTreeMap<String, Kind>) -> Refusal {
    match others.get(&request.target) {
        None => Refusal::UnknownAgent,
        Some(_) if agent.as_str() == request.target => Refusal::Itself,
        Some(Kind::System) => Refusal::SystemAgent,
        Some(Kind::Human | Kind::Queue) => Refusal::Person,
        Some(Kind::Worker) => Refusal::NotOffered,
    }
}

/// Whether the performed handoff was requested with this agent as its target.
fn is_about(done: &Done, target: &AgentId) -> bool {
    let outcome = &done.outcome;
    outcome.instead_of().or(outcome.holder.as_ref()) == Some(target)
}

/// Whether another handoff of the turn was not tried yet.
fn others_left(calls: &[Call], denied: &BTreeMap<String, Denied>, target: &AgentId) -> bool {
    calls.iter().any(|call| match &call.kind {
        CallKind::Handoff(request) => {
            request.target != target.as_str() && !denied.contains_key(&request.target)
        }
        CallKind::Unreadable { .. } | CallKind::Other => false,
    })
}

/// Where the loop guard sent the conversation, if it did.
fn redirect(done: &Done, target: &AgentId) -> Option<Redirect> {
    let holder = done.outcome.holder.clone().filter(|holder| holder != target)?;
    Some(match done.outcome.transfer() {
        Some(_) => Redirect::Queue(holder),
        None => Redirect::Supervisor(holder),
    })
}

/// A turn without a handoff makes no command that checks this: an agent that has lost the
/// conversation must not be told to run tools for it.
fn check_turn(
    conversation: &Conversation,
    agent: &AgentId,
    epoch: Option<u64>,
) -> Result<(), Rejection> {
    if conversation.closed.is_some() {
        return Err(Rejection::ConversationClosed { action: "call tools" });
    }
    let why = match epoch.ok_or(Rejection::EpochRequired)? == conversation.epoch {
        true if conversation.holder == *agent => return Ok(()),
        true => Why::NotHolder,
        false => Why::EpochOutdated,
    };
    let (holder, epoch) = (conversation.holder.clone(), conversation.epoch);
    Err(Rejection::NotHeard { why, holder, epoch })
}

/// Why a handoff is not performed: a stable code, and a sentence.
type Denied = (&'static str, String);

/// The code for all other reasons.
const DENIED: &str = "denied";

/// The reason for a handoff in a turn that was answered before.
const DENIED_BEFORE: &str = "it was not allowed when this turn was answered first";

/// The targets of a turn that are in the directory and not among the tools.
async fn others(
    gateway: &Gateway,
    teamspace: &TeamspaceId,
    calls: &[Call],
    tools: &HandoffTools,
) -> Result<BTreeMap<String, Kind>, Problem> {
    let mut others = BTreeMap::new();
    for call in calls {
        if let CallKind::Handoff(request) = &call.kind
            && tools.target(&request.target).is_none()
            && let Ok(id) = request.target.parse::<AgentId>()
            && let Some(agent) = find(gateway, teamspace, &id).await?
        {
            others.insert(request.target.clone(), agent.kind);
        }
    }
    Ok(others)
}

/// Whether another target might be allowed.
fn is_about_target(rejection: &Rejection) -> bool {
    matches!(rejection.field(), Some("goto"))
}

/// The reason without the field's name: the model wrote no `goto`.
fn without_field(rejection: &Rejection) -> String {
    let text = rejection.to_string();
    text.strip_prefix("goto: ").map(str::to_owned).unwrap_or(text)
}

fn malformed(error: &Malformed) -> Problem {
    Problem::schema_invalid(&error.field, &error.expected)
}

fn handoff_tools(targets: Vec<Target>) -> Result<HandoffTools, Problem> {
    HandoffTools::new(targets).map_err(|_| {
        let detail = format!(
            "the agent may hand over to more than {TARGETS_MAX} agents, which no model can choose \
             from; open the conversation with a topology that names fewer"
        );
        Problem::new("schema_invalid", detail)
    })
}

/// Tools for the agents that this agent may hand over to: the other workers of the directory, or
/// the agents that the topology names.
async fn tools_of(
    gateway: &Gateway,
    caller: &Caller,
    topology: &Topology,
    from: &AgentId,
) -> Result<HandoffTools, Problem> {
    let teamspace = &caller.teamspace;
    let mut targets = Vec::new();
    let members: Vec<AgentId> = match topology {
        Topology::Free => {
            let workers = workers(gateway, teamspace).await?;
            let others = workers.into_iter().filter(|worker| worker.id != *from);
            return handoff_tools(others.map(target).collect());
        }
        Topology::Supervisor { supervisor, workers } => {
            workers.iter().chain([supervisor]).cloned().collect()
        }
        Topology::Swarm { members, .. } => members.clone(),
    };
    let may_take = |to: &AgentId| to != from && topology.allows(from, to, Level::Here);
    for member in members.iter().filter(|member| may_take(member)) {
        targets.extend(find(gateway, teamspace, member).await?.map(target));
    }
    handoff_tools(targets)
}

/// The workers of the directory, or just enough to show that there are too many.
async fn workers(gateway: &Gateway, teamspace: &TeamspaceId) -> Result<Vec<Agent>, Problem> {
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let of = ListOf::Agents;
        let page = gateway.engine.read().list(teamspace, of, before, LIST_ROWS_MAX).await?;
        for item in &page.items {
            if let Aggregate::Agent(agent) = item.state.as_ref()
                && agent.kind == Kind::Worker
            {
                found.push(agent.clone());
            }
        }
        before = page.next;
        if before.is_none() || found.len() > TARGETS_MAX + 1 {
            return Ok(found);
        }
    }
}

async fn find(
    gateway: &Gateway,
    teamspace: &TeamspaceId,
    id: &AgentId,
) -> Result<Option<Agent>, Problem> {
    let stream = lookup::stream(teamspace, id.clone());
    Ok(match gateway.engine.read().current(&stream).await?.as_deref() {
        Some(Aggregate::Agent(agent)) => Some(agent.clone()),
        Some(_) | None => None,
    })
}

fn target(agent: Agent) -> Target {
    let Agent { id, profile, .. } = agent;
    Target { id, name: profile.name, description: profile.description }
}
