//! Handoffs by tool call: the tools for a model, and its calls performed as routes.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use axum::extract::State;
use engine::port::ListOf;
use engine::query::LIST_ROWS_MAX;
use engine::submit::SubmitError;
use protocol::agent::{Agent, Kind};
use protocol::caller::Caller;
use protocol::conversation::command::Route;
use protocol::conversation::event::Why;
use protocol::conversation::topology::{Level, Topology};
use protocol::conversation::{Command, Conversation};
use protocol::ids::{AgentId, ConversationId, TeamspaceId};
use protocol::rejection::Rejection;
use protocol::step::{self, State as Aggregate};
use protocol::tools::answers::{Answers, Refusal};
use protocol::tools::calls::{Call, CallKind, calls};
use protocol::tools::definitions::{Dialect, HandoffTools, TARGETS_MAX, Target, Tool};
use protocol::tools::{Form, Malformed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Taken, conversation_of, stream, taken, visible};
use crate::http::Gateway;
use crate::http::agents;
use crate::http::auth::Asker;
use crate::http::input::{Asked, Named, Write};
use crate::http::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalledInput {
    /// `openai`, `anthropic` or `langchain`.
    pub form: String,
    /// The assistant's message with the calls.
    pub turn: Value,
    #[serde(default)]
    pub epoch: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CalledView {
    /// To be appended to the history, as they are.
    pub messages: Vec<Value>,
    /// The ids of ordinary calls, which whoever runs the tools has still to answer.
    pub waiting: Vec<String>,
    /// The handoff that was performed, if one was.
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
}

pub async fn definitions(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(agent): Named<AgentId>,
    Asked(input): Asked<ToolsInput>,
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
    Ok(Json(ToolsView { tools: tools.tools().iter().map(render).collect() }))
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
    let form: Form = input.form.parse().map_err(|error| malformed("", &error))?;
    let topology = conversation_of(&item)?.setup.topology.clone();
    let tools = tools_of(&gateway, &caller, &topology, agent).await?;
    let calls = calls(form, &input.turn, &tools).map_err(|error| malformed("turn.", &error))?;
    let routers = routers(&gateway, &caller.teamspace, &calls, &tools).await?;
    let mut denied: BTreeMap<String, String> = BTreeMap::new();
    loop {
        let answers = Answers::decide(calls.clone(), |request| {
            let unknown = match routers.contains(&request.target) {
                true => Refusal::SystemAgent,
                false => Refusal::UnknownAgent,
            };
            let target = tools.target(&request.target).ok_or(unknown)?;
            match denied.get(&request.target) {
                Some(reason) => Err(Refusal::Denied { reason: reason.clone() }),
                None => Ok(target.clone()),
            }
        });
        let view = |routed| CalledView {
            messages: answers.messages(form, &input.turn),
            waiting: answers.waiting().map(|call| call.call_id.clone()).collect(),
            routed,
        };
        let Some(request) = answers.accepted() else {
            check_turn(conversation_of(&item)?, agent, input.epoch)?;
            return Ok(Json(view(None)));
        };
        let goto: AgentId = request.target.parse().expect("a target of the tools is an agent");
        let route = Route {
            goto,
            update: Map::new(),
            graph: Level::Here,
            reason: request.reason.clone(),
            context: request.context.clone(),
            epoch: input.epoch,
        };
        let key = write.key.clone().for_action("call_tools", Some(&id.to_string()));
        let command = step::Command::Conversation(Command::Route(Box::new(route)));
        let stream = stream(&caller.teamspace, id);
        match gateway.engine.submit(&caller, stream, command, Some(key)).await {
            Ok(done) => return Ok(Json(view(Some(taken(id, &done))))),
            Err(SubmitError::Rejected(rejection)) if is_about_target(&rejection) => {
                denied.insert(request.target.clone(), rejection.to_string());
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Where nothing is handed over no command asks this: whoever has lost the conversation is not told
/// to run tools for it.
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

/// The targets of a turn that are system agents to which nobody hands over.
async fn routers(
    gateway: &Gateway,
    teamspace: &TeamspaceId,
    calls: &[Call],
    tools: &HandoffTools,
) -> Result<BTreeSet<String>, Problem> {
    let mut routers = BTreeSet::new();
    for call in calls {
        if let CallKind::Handoff(request) = &call.kind
            && tools.target(&request.target).is_none()
            && let Ok(id) = request.target.parse::<AgentId>()
            && let Some(agent) = find(gateway, teamspace, &id).await?
            && agent.kind == Kind::System
        {
            routers.insert(request.target.clone());
        }
    }
    Ok(routers)
}

/// Whether another target might be allowed.
fn is_about_target(rejection: &Rejection) -> bool {
    matches!(rejection.field(), Some("goto"))
}

fn malformed(before: &str, error: &Malformed) -> Problem {
    Problem::schema_invalid(&format!("{before}{}", error.field), &error.expected)
}

/// Tools for those to whom this agent may hand over: the other workers of the directory, or
/// whoever the topology names.
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
            return HandoffTools::new(others.map(target).collect())
                .map_err(|error| malformed("", &error));
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
    HandoffTools::new(targets).map_err(|error| malformed("", &error))
}

/// Those of the directory, or as many as show that they are too many.
async fn workers(gateway: &Gateway, teamspace: &TeamspaceId) -> Result<Vec<Agent>, Problem> {
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let of = ListOf::Agents;
        let page = gateway.engine.list(teamspace, of, before, LIST_ROWS_MAX).await?;
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
    let stream = agents::stream(teamspace, id.clone());
    Ok(match gateway.engine.current(&stream).await?.as_deref() {
        Some(Aggregate::Agent(agent)) => Some(agent.clone()),
        Some(_) | None => None,
    })
}

fn target(agent: Agent) -> Target {
    let Agent { id, profile, .. } = agent;
    Target { id, name: profile.name, description: profile.description }
}
