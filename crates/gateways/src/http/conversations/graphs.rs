//! `/v1/graphs`: the graphs that route messages in conversations. Coordinators save them; the
//! answer to an invalid graph lists all its problems.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequest, Request, State};
use engine::ports::store::ListOf;
use engine::read::graphs::RulePlace;
use engine::read::query::Item;
use protocol::caller::Caller;
use protocol::graph::{self, Checked, Command, Graph};
use protocol::ids::{GraphId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::rejection::Rejection;
use protocol::route::read::GRAPH_BYTES_MAX;
use protocol::route::{AgentGraph, GraphProblem};
use protocol::step;
use protocol::warning::Warning;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::http::shared::auth::Asker;
use crate::http::shared::cursors;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, Nothing, QueryParameters, Write, read_document};
use crate::http::shared::paging::{ListPage, PageInput, parse_limit};
use crate::http::shared::problem::Problem;

/// A longer list of problems is of no use.
const PROBLEMS_SHOWN_MAX: usize = 100;

/// A save may come between reading a version and its text; more than a few in a row do not.
const READS_MAX: usize = 8;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveQuery {
    /// The version that this shall replace, 0 for none. If the current version is another one,
    /// nothing is changed.
    #[serde(default)]
    pub version: Option<String>,
}

/// A graph in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GraphListed {
    pub graph: String,
    /// Grows by 1 with every save.
    pub version: u64,
    /// SHA-256 of the document.
    pub hash: String,
    pub n_routers: u64,
    pub n_specialists: u64,
    pub n_rules: u64,
    pub n_signals: u64,
    pub changed_at: String,
}

/// A graph with its document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GraphView {
    #[serde(flatten)]
    pub listed: GraphListed,
    #[schemars(with = "AgentGraph")]
    pub document: Value,
    /// How often each rule decided, since the server first used this version. Rules that never
    /// decided are left out.
    pub decisions: Vec<DecisionCount>,
    /// After a save: what does not work at present.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DecisionCount {
    /// `null` for all rules that are not counted separately.
    pub router: Option<String>,
    /// `null` if no rule held.
    pub rule_index: Option<usize>,
    pub n_turns: u64,
}

/// The graph that was removed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GraphRemoved {
    pub graph: String,
}

/// A checked document, from a caller that may save it.
pub struct Save {
    write: Write<()>,
    graph: Arc<Checked>,
}

impl FromRequest<Gateway> for Save {
    type Rejection = Problem;

    /// A document is larger than other bodies, so it is read only if the caller may save it.
    async fn from_request(request: Request, gateway: &Gateway) -> Result<Self, Problem> {
        let write = read_document(gateway, request, GRAPH_BYTES_MAX, may_save).await?;
        let Write { asker, body: bytes, key } = write;
        let teamspace = &asker.caller.teamspace;
        let checked = gateway.engine.read().check_graph(teamspace, bytes).await?;
        let graph = checked.map_err(|problems| invalid(&problems))?;
        Ok(Self { write: Write { asker, body: (), key }, graph: Arc::new(graph) })
    }
}

fn may_save(asker: Asker) -> Result<Asker, Problem> {
    let asker = asker.member()?;
    match graph::may_change(&asker.caller) {
        true => Ok(asker),
        false => {
            let (action, who) = ("save a graph", "a coordinator");
            Err(Rejection::NotAllowed { action, who }.into())
        }
    }
}

fn invalid(problems: &[GraphProblem]) -> Problem {
    let detail = match problems {
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first}; and {} more", rest.len()),
        [] => "the graph cannot be used".to_owned(),
    };
    let field = problems.first().map(|problem| problem.field.clone()).unwrap_or_default();
    let field = if field.is_empty() { "body".to_owned() } else { field };
    let shown: Vec<_> = problems.iter().take(PROBLEMS_SHOWN_MAX).collect();
    let shown = serde_json::to_value(shown).expect("problems are plain data");
    Problem::new("graph_invalid", detail).field(field).fact("problems", shown)
}

pub async fn save(
    State(gateway): State<Gateway>,
    Named(id): Named<GraphId>,
    QueryParameters(query): QueryParameters<SaveQuery>,
    Save { write, graph }: Save,
) -> Result<Json<GraphView>, Problem> {
    let version = query.version.as_deref().map(str::parse).transpose();
    let version = version.map_err(|_| Problem::schema_invalid("version", "a number"))?;
    let caller = write.asker.caller;
    let key = write.key.for_action("save_graph", Some(&format!("{id} {version:?}")));
    let command = step::Command::Graph(Command::Save { graph, version });
    let stream = stream(&caller.teamspace, &id);
    let done = gateway.engine.submit(&caller, stream, command, Some(key)).await?;
    let view = read(&gateway, &caller, &id).await?;
    Ok(Json(GraphView { warnings: done.outcome.warnings, ..view }))
}

pub async fn show(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<GraphId>,
) -> Result<Json<GraphView>, Problem> {
    let caller = asker.member()?.caller;
    read(&gateway, &caller, &id).await.map(Json)
}

pub async fn list(
    State(gateway): State<Gateway>,
    asker: Asker,
    QueryParameters(input): QueryParameters<PageInput>,
) -> Result<Json<ListPage<GraphListed>>, Problem> {
    let caller = asker.member()?.caller;
    let limit = parse_limit(input.limit.as_deref())?;
    let before = cursors::row_before(&gateway, &caller, "graphs", input.cursor.as_deref())?;
    let page = gateway.engine.read().list(&caller.teamspace, ListOf::Graphs, before, limit).await?;
    let graphs = page.items.iter().filter_map(|item| Some(listed(item, graph_of(item)?)));
    Ok(Json(ListPage {
        items: graphs.collect(),
        next_cursor: cursors::next_row(&gateway, &caller, "graphs", page.next),
    }))
}

pub async fn remove(
    State(gateway): State<Gateway>,
    Named(id): Named<GraphId>,
    write: Write<Nothing>,
) -> Result<Json<GraphRemoved>, Problem> {
    let caller = write.asker.member()?.caller;
    let key = write.key.for_action("remove_graph", Some(id.as_str()));
    let command = step::Command::Graph(Command::Remove);
    gateway.engine.submit(&caller, stream(&caller.teamspace, &id), command, Some(key)).await?;
    Ok(Json(GraphRemoved { graph: id.to_string() }))
}

async fn read(gateway: &Gateway, caller: &Caller, id: &GraphId) -> Result<GraphView, Problem> {
    let nothing = || Problem::not_found("graph");
    let stream = stream(&caller.teamspace, id);
    for _ in 0..READS_MAX {
        let item = gateway.engine.read().item(&stream).await?.ok_or_else(nothing)?;
        let graph = graph_of(&item).ok_or_else(nothing)?;
        let text = gateway.engine.read().document(&stream, &graph.saved.hash).await?;
        let Some(document) = text.and_then(|text| serde_json::from_str(&text).ok()) else {
            continue;
        };
        let counted = gateway.engine.read().decisions(&caller.teamspace, id).into_iter();
        let decisions = counted.map(|(place, n_turns)| match place {
            RulePlace::Rule { router, rule_index } => {
                DecisionCount { router: Some(router), rule_index, n_turns }
            }
            RulePlace::Others => DecisionCount { router: None, rule_index: None, n_turns },
        });
        let decisions = decisions.collect();
        let (listed, warnings) = (listed(&item, graph), Vec::new());
        return Ok(GraphView { listed, document, decisions, warnings });
    }
    Err(Problem::new("internal", "the server failed; its log says why"))
}

/// The graph, unless it was removed.
fn graph_of(item: &Item) -> Option<&Graph> {
    item.state.as_graph().filter(|graph| !graph.removed)
}

fn listed(item: &Item, graph: &Graph) -> GraphListed {
    let saved = &graph.saved;
    GraphListed {
        graph: item.stream.subject.id(),
        version: saved.version,
        hash: saved.hash.clone(),
        n_routers: saved.n_routers,
        n_specialists: saved.n_specialists,
        n_rules: saved.n_rules,
        n_signals: saved.n_signals,
        changed_at: item.changed_at.to_string(),
    }
}

fn stream(teamspace: &TeamspaceId, id: &GraphId) -> Stream {
    Stream { teamspace: teamspace.clone(), subject: Subject::Graph(id.clone()) }
}
