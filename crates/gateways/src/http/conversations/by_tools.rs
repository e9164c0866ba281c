//! Handoffs by tool call: the tools for a model, and its calls performed as routes.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use engine::road::submit::{Done, SubmitError};
use protocol::agent::Kind;
use protocol::conversation::command::Route;
use protocol::conversation::not_heard::Why;
use protocol::conversation::part::{self, PARTS_MAX, Part, TEXT_BYTES_MAX};
use protocol::conversation::topology::Topology;
use protocol::conversation::{Command, Conversation};
use protocol::ids::{AgentId, ConversationId, TeamspaceId};
use protocol::queue::DEFAULT_QUEUE;
use protocol::rejection::Rejection;
use protocol::route::graph::HUMAN;
use protocol::tools::answers::{Answers, Called, Redirect, Refusal};
use protocol::tools::calls::{Call, CallKind, Goal, Request, calls, words};
use protocol::tools::definitions::{Dialect, HandoffTools, Target, Tool};
use protocol::tools::{Form, Malformed, name};
use protocol::{form, step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::http::conversations::access::{conversation_of, stream, visible};
use crate::http::conversations::lifecycle::{Taken, taken};
use crate::http::conversations::tool_targets::{find, queues, tools_of};
use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Chat, FreeText, Named, QueryParameters};
use crate::http::shared::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalledInput {
    /// `openai`, `responses`, `anthropic` or `langchain`.
    #[schemars(transform = form::one_of(Form::ALL))]
    pub form: String,
    /// The assistant's message with the calls. In `responses`: the response, or an object with
    /// its `output`.
    #[schemars(with = "Map<String, Value>")]
    pub turn: Value,
    #[serde(default)]
    pub epoch: Option<u64>,
    /// Whether the customer has the text of the turn already. Otherwise it is said before a
    /// handoff.
    #[serde(default)]
    pub spoken: bool,
}

/// What the model says is speech, and the arguments of its other tools are for their programs. The
/// texts of a handoff are checked when they are read.
impl FreeText for CalledInput {
    const FREE_TEXT: &'static [&'static str] = &[];
    const FREE_BELOW: &'static [&'static str] = &["turn"];
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CalledView {
    /// To be appended to the history, unchanged.
    pub messages: Vec<Value>,
    /// The result of each call, in the order of the turn.
    pub calls: Vec<Called>,
    /// The ids of the calls that have no result in `messages`: those of other tools, which your
    /// program runs.
    pub waiting: Vec<String>,
    /// The handoff that was performed, if there was one.
    pub routed: Option<Taken>,
    /// The number of the message with the text of the turn, if it was said before the handoff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<u64>,
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
    Responses,
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
    let queues = queues(&gateway, &caller.teamspace).await?;
    let tools = tools_of(&gateway, &caller, &topology, &agent).await?.with_people(&queues);
    let dialect = match input.format.unwrap_or_default() {
        Format::OpenAi => Dialect::OpenAi,
        Format::Responses => Dialect::Responses,
        Format::Anthropic => Dialect::Anthropic,
        Format::Mcp => Dialect::Mcp,
        Format::JsonSchema => Dialect::JsonSchema,
    };
    let render = |tool: &Tool| tool.render(dialect);
    let targets = tools.named_targets().map(|(name, id)| (name.to_owned(), id.to_string()));
    let person = (name::PERSON.to_owned(), HUMAN.to_owned());
    let targets = targets.chain([person]).collect();
    Ok(Json(ToolsView { tools: tools.tools().iter().map(render).collect(), targets }))
}

/// The rules are asked about one handoff after the other, until they allow one.
pub async fn called(
    State(gateway): State<Gateway>,
    Named(id): Named<ConversationId>,
    Chat(write): Chat<CalledInput>,
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
    // A queue that a call names is looked up by the rules.
    let tools = tools_of(&gateway, &caller, &topology, agent).await?.with_people(&[]);
    let in_turn = |it: Malformed| malformed(&it.within("turn"));
    let calls = calls(form, &input.turn, &tools).map_err(in_turn)?;
    let words = if input.spoken { Vec::new() } else { words_of(form, &input.turn)? };
    let others = others(&gateway, &caller.teamspace, &calls, &tools).await?;
    let mut denied: BTreeMap<(String, Goal), Denied> = BTreeMap::new();
    loop {
        let mut answers = Answers::decide(calls.clone(), |request| {
            let is_person = request.goal != Goal::Agent;
            let target = if is_person { person() } else { tools.target(&request.target).cloned() };
            let target = target.ok_or_else(|| not_offered(agent, request, &others))?;
            match denied.get(&aim(request)) {
                Some((code, reason)) => Err(Refusal::Denied { code, reason: reason.clone() }),
                None => Ok(target),
            }
        });
        let Some(request) = answers.accepted().cloned() else {
            check_turn(conversation_of(&item)?, agent, input.epoch)?;
            return Ok(Json(view(form, &input.turn, &answers, None)));
        };
        let route = route(&request, words.clone(), input.epoch);
        let key = write.key.clone().for_action("call_tools", Some(&id.to_string()));
        let command = step::Command::Conversation(Command::Route(Box::new(route)));
        let stream = stream(&caller.teamspace, id);
        match gateway.engine.submit(&caller, stream, command, Some(key)).await {
            // A retry of a turn in which the first handoff was denied and a later one was
            // performed.
            Ok(done) if is_of_another(&done, &request, &calls, &denied) => {
                denied.insert(aim(&request), (DENIED, DENIED_BEFORE.to_owned()));
            }
            Ok(done) => {
                if let Some(refused) = &done.outcome.refused {
                    return Err(Problem::not_heard(refused, &done.outcome));
                }
                answered(&mut answers, &done, &request);
                let number = done.outcome.number.filter(|_| !words.is_empty());
                let view = view(form, &input.turn, &answers, Some(taken(id, &done)));
                return Ok(Json(CalledView { said: number, ..view }));
            }
            Err(SubmitError::Rejected(rejection)) if is_about_target(&rejection, &request) => {
                let code = code_of(&rejection);
                denied.insert(aim(&request), (code, without_field(&rejection)));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// What a call aims at: calls with the same aim have the same answer.
fn aim(request: &Request) -> (String, Goal) {
    (request.target.clone(), request.goal.clone())
}

/// A person as a target: no agent may have this id.
fn person() -> Option<Target> {
    let id = HUMAN.parse().ok()?;
    Some(Target { id, name: String::new(), description: String::new() })
}

/// The text of a turn, as it is said to the customer.
fn words_of(form: Form, turn: &Value) -> Result<Vec<Part>, Problem> {
    let words = words(form, turn).map_err(|it| malformed(&it.within("turn")))?;
    part::of_text(&words).ok_or_else(|| {
        let expected = format!("at most {} bytes of text", PARTS_MAX * TEXT_BYTES_MAX);
        Problem::schema_invalid("turn", &expected)
    })
}

fn route(request: &Request, parts: Vec<Part>, epoch: Option<u64>) -> Route {
    let Request { reason, context, customer_text, .. } = request.clone();
    let route = Route { parts, reason, context, customer_text, epoch, ..Route::default() };
    match &request.goal {
        Goal::Agent => Route { goto: request.target.parse().ok(), ..route },
        Goal::Person { queue } => Route { is_for_person: true, queue: queue.clone(), ..route },
    }
}

/// Where the conversation went: to the target, to a queue of people, or elsewhere.
fn answered(answers: &mut Answers, done: &Done, request: &Request) {
    match (&request.goal, &done.outcome.holder) {
        (Goal::Person { .. }, Some(queue)) => answers.waits(queue),
        (Goal::Person { .. }, None) => {}
        (Goal::Agent, _) => {
            if let Some(redirect) = redirect(done, &request.target) {
                answers.redirected(&redirect);
            }
        }
    }
}

fn view(form: Form, turn: &Value, answers: &Answers, routed: Option<Taken>) -> CalledView {
    CalledView {
        messages: answers.messages(form, turn),
        calls: answers.called(),
        waiting: answers.waiting().map(|call| call.call_id.clone()).collect(),
        routed,
        said: None,
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

/// Whether the performed handoff is the one of this request.
fn is_about(done: &Done, request: &Request) -> bool {
    let outcome = &done.outcome;
    match &request.goal {
        Goal::Person { queue } => {
            let queue = queue.as_ref().map_or(DEFAULT_QUEUE, AgentId::as_str);
            let is_asked = outcome.transfer().is_some() && outcome.instead_of().is_none();
            is_asked && outcome.holder.as_ref().is_some_and(|holder| holder.as_str() == queue)
        }
        Goal::Agent => {
            let meant = outcome.instead_of().or(outcome.holder.as_ref());
            meant.is_some_and(|agent| agent.as_str() == request.target)
        }
    }
}

/// Whether another handoff of the turn, which was not tried yet, was performed.
fn is_of_another(
    done: &Done,
    tried: &Request,
    calls: &[Call],
    denied: &BTreeMap<(String, Goal), Denied>,
) -> bool {
    if done.outcome.refused.is_some() || is_about(done, tried) {
        return false;
    }
    calls.iter().any(|call| match &call.kind {
        CallKind::Handoff(request) => {
            aim(request) != aim(tried) && !denied.contains_key(&aim(request))
        }
        CallKind::Unreadable { .. } | CallKind::Other => false,
    })
}

/// Where the loop guard sent the conversation, if it did.
fn redirect(done: &Done, target: &str) -> Option<Redirect> {
    let holder = done.outcome.holder.clone().filter(|holder| holder.as_str() != target)?;
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
fn is_about_target(rejection: &Rejection, request: &Request) -> bool {
    match request.goal {
        Goal::Agent => rejection.field() == Some("goto"),
        Goal::Person { .. } => matches!(rejection.field(), Some("queue" | "context.summary")),
    }
}

/// Programs can act on these codes; the other reasons are about the target.
fn code_of(rejection: &Rejection) -> &'static str {
    let is_for_programs = matches!(
        rejection,
        Rejection::HandoffLoop { .. }
            | Rejection::NoDefaultQueue { .. }
            | Rejection::QueueClosed { .. }
            | Rejection::UnknownAgent { field: "queue", .. }
    );
    if is_for_programs { rejection.code() } else { DENIED }
}

/// The reason without the name of the field, which the model did not write.
fn without_field(rejection: &Rejection) -> String {
    let text = rejection.to_string();
    let bare = ["goto: ", "queue: "].iter().find_map(|field| text.strip_prefix(field));
    bare.map(str::to_owned).unwrap_or(text)
}

fn malformed(error: &Malformed) -> Problem {
    Problem::schema_invalid(&error.field, &error.expected)
}
