//! `tasuki graph`: checks an agent graph and tries it out, without a server, and saves it at one.

mod saved;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use engine::ports::clock::Stopwatch;
use engine::read::matching::LANE_SECONDS_MAX;
use protocol::route::read::GRAPH_BYTES_MAX;
use protocol::route::{
    AgentGraph, Compiled, GraphProblem, Hop, IntentClassification, NodeKind, Routed, Target, Turn,
};
use serde_json::{Value, json};

use super::reach::{Reach, offline};
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct GraphArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    command: GraphCommand,
}

#[derive(Debug, Subcommand)]
enum GraphCommand {
    /// Name everything that is wrong with a graph; exits with 1 if there is something, and with 2
    /// if the file cannot be read
    #[command(args = offline())]
    Check {
        /// A JSON file with the graph; `-` reads standard input
        file: PathBuf,
    },
    /// Show where a turn goes, by which rule, and why
    #[command(args = offline())]
    Try(TryArgs),
    /// Save a graph at the server, as the next version
    Save {
        /// The graph's id: a-z, 0-9, '.', '_' and '-'
        id: String,
        /// A JSON file with the graph; `-` reads standard input
        file: PathBuf,
        /// Only if this is the version there, 0 for none
        #[arg(long, value_name = "N")]
        version: Option<u64>,
    },
    /// Print a graph as it was saved last
    Show {
        /// The graph's id
        id: String,
    },
    /// List the graphs of your teamspace
    List,
    /// Remove a graph; conversations stay with the agents that hold them
    Remove {
        /// The graph's id
        id: String,
    },
}

#[derive(Debug, Args)]
struct TryArgs {
    /// A JSON file with the graph; `-` reads standard input
    file: PathBuf,
    /// What the customer says
    #[arg(long, value_name = "TEXT")]
    text: String,
    /// The language of the turn, such as es-MX
    #[arg(long, value_name = "TAG")]
    language: Option<String>,
    /// What else is known of the conversation; may be repeated
    #[arg(long = "attribute", value_name = "NAME=VALUE", value_parser = attribute)]
    attributes: Vec<(String, String)>,
}

pub fn attribute(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

pub async fn run(args: GraphArgs) -> Result<u8> {
    let GraphArgs { reach, command } = args;
    let json = reach.json;
    let (file, then) = match command {
        GraphCommand::Check { file } => (file, Then::Approve),
        GraphCommand::Try(turn) => (turn.file.clone(), Then::Try(turn)),
        GraphCommand::Save { id, file, version } => (file, Then::Save { id, version }),
        GraphCommand::Show { id } => return saved::show(&reach, &id).await,
        GraphCommand::List => return saved::list(&reach).await,
        GraphCommand::Remove { id } => return saved::remove(&reach, &id).await,
    };
    let bytes = match read(&file) {
        Ok(bytes) => bytes,
        Err(error) => {
            output::remark(&format!("error: {}", output::clean(&format!("{error:#}"))));
            return Ok(exit_code::USAGE);
        }
    };
    if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(&bytes) {
        let said = format!("error: {} is not JSON: {error}", file.display());
        output::remark(&output::clean(&said));
        return Ok(exit_code::USAGE);
    }
    let graph = match AgentGraph::read(&bytes).and_then(Compiled::new) {
        Ok(graph) => graph,
        Err(problems) => return Ok(refuse(&problems, json)),
    };
    let problems = graph.graph().cost_problems();
    if !problems.is_empty() {
        return Ok(refuse(&problems, json));
    }
    match then {
        Then::Approve => Ok(approve(graph.graph(), json)),
        Then::Try(turn) => Ok(try_out(&graph, turn, json)),
        Then::Save { id, version } => saved::save(&reach, &id, graph.graph(), version).await,
    }
}

/// What to do with a graph that was read.
enum Then {
    Approve,
    Try(TryArgs),
    Save { id: String, version: Option<u64> },
}

/// Reads one byte more than is allowed, which is enough to be refused.
fn read(path: &Path) -> Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let limit = GRAPH_BYTES_MAX as u64 + 1;
    if path.as_os_str() == "-" {
        let stdin = std::io::stdin().lock();
        stdin.take(limit).read_to_end(&mut bytes).context("cannot read standard input")?;
    } else {
        let file = std::fs::File::open(path);
        let read = file.and_then(|file| file.take(limit).read_to_end(&mut bytes));
        read.with_context(|| format!("cannot read {}", path.display()))?;
    }
    Ok(bytes)
}

fn refuse(problems: &[GraphProblem], json: bool) -> u8 {
    if json {
        output::json(&json!({ "ok": false, "problems": problems }));
    } else {
        for problem in problems {
            output::line(&output::clean(&problem.to_string()));
        }
        output::remark(&match problems.len() {
            1 => "1 problem: it cannot be used".to_owned(),
            n => format!("{n} problems: it cannot be used"),
        });
    }
    exit_code::FAILED
}

fn approve(graph: &AgentGraph, json: bool) -> u8 {
    let of = |kind: NodeKind| graph.nodes.iter().filter(|node| node.kind == kind).count();
    let (routers, specialists) = (of(NodeKind::Router), of(NodeKind::Specialist));
    let (rules, intents) = (graph.n_rules(), graph.intents.len());
    if json {
        output::json(&json!({ "ok": true, "problems": [], "routers": routers,
            "specialists": specialists, "rules": rules, "intents": intents }));
    } else {
        output::line(&format!(
            "ok: {routers} routers, {specialists} specialists, {rules} rules, {intents} intents"
        ));
    }
    exit_code::OK
}

fn try_out(graph: &Compiled, args: TryArgs, json: bool) -> u8 {
    let attributes: BTreeMap<String, String> = args.attributes.into_iter().collect();
    let started = Stopwatch::start();
    let intent = graph.classify(&args.text);
    let turn = Turn {
        text: &args.text,
        language: args.language.as_deref(),
        intent: intent.as_ref().map(|intent| (intent.label.as_str(), intent.confidence)),
        attributes: &attributes,
    };
    let routed = graph.route(&turn);
    let seconds = started.seconds();
    let latency_ms = seconds * 1_000.0;
    let why = |hop: &Hop| graph.explain(hop, &turn);
    if json {
        let decision = routed.decision(turn.intent, latency_ms);
        let hops: Vec<Value> = routed.hops.iter().map(|hop| as_json(hop, why(hop))).collect();
        let agent = match &routed.target {
            Target::Specialist { agent, .. } => Some(agent.as_str()),
            Target::Human => None,
        };
        output::json(&json!({ "target": routed.target.as_str(), "agent": agent,
            "graphPath": routed.path, "routeDecision": decision, "intent": intent, "hops": hops }));
    } else {
        show(&routed, intent.as_ref(), why);
    }
    if seconds > LANE_SECONDS_MAX {
        output::remark(&format!(
            "matching took {seconds:.1} s; a server stops after about {LANE_SECONDS_MAX} s, and \
             the defaults of the routers decide"
        ));
    }
    exit_code::OK
}

fn as_json(hop: &Hop, why: Vec<String>) -> Value {
    json!({ "from": hop.from, "to": hop.to, "rule_index": hop.rule_index, "reason": hop.reason,
        "because": why })
}

fn show(routed: &Routed, intent: Option<&IntentClassification>, why: impl Fn(&Hop) -> Vec<String>) {
    if let Some(intent) = intent {
        let label = output::clean(&intent.label);
        output::line(&format!("intent {label} at {:.2}", intent.confidence));
    }
    let rows = routed.hops.iter().map(|hop| {
        let rule = hop.rule_index.map_or("default".to_owned(), |index| format!("rules[{index}]"));
        let reason = hop.reason.clone().unwrap_or_default();
        vec![hop.from.clone(), hop.to.clone(), rule, why(hop).join(", "), reason]
    });
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        output::line(&output::table(&["from", "to", "by", "because", "reason"], rows));
    }
    output::line(&match &routed.target {
        Target::Specialist { node, agent } => format!("{node}: {agent} answers"),
        Target::Human => "human: a person answers".to_owned(),
    });
}
