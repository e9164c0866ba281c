//! Parses bytes into a document. Each node and each rule is parsed on its own, so that one misspelt
//! field does not hide the next.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::graph::{AgentGraph, Node, RULES_MAX, Rule};
use super::graph_problem::{GraphProblem, ProblemCode, Site};
use crate::form::{Form, Misfit};
use crate::json::{self, Bounds};
use crate::strict::Strict;

/// The largest size of a document: the largest graph with keywords of usual length.
pub const GRAPH_BYTES_MAX: usize = 8 * 1024 * 1024;

const BOUNDS: Bounds = Bounds {
    depth_max: 16,
    string_bytes_max: 4 * 1024,
    array_items_max: RULES_MAX,
    object_keys_max: 256,
    free_text: &[],
    free_below: &[],
};

impl AgentGraph {
    /// Parses and checks a document; returns all problems together.
    pub fn read(bytes: &[u8]) -> Result<AgentGraph, Vec<GraphProblem>> {
        if bytes.len() > GRAPH_BYTES_MAX {
            let expected = format!("at most {GRAPH_BYTES_MAX} bytes");
            return Err(vec![Site::graph("").problem(ProblemCode::TooLarge, expected)]);
        }
        let value = json::parse(bytes, &BOUNDS).map_err(|error| {
            let site = Site::graph(&error.path);
            let expected = error.kind.to_string();
            let expected = expected.strip_prefix("expected ").unwrap_or(&expected);
            vec![site.problem(ProblemCode::SchemaInvalid, expected)]
        })?;
        let Value::Object(mut fields) = value else {
            return Err(vec![Site::graph("").problem(ProblemCode::SchemaInvalid, "an object")]);
        };
        let mut problems = Vec::new();
        let nodes = read_nodes(fields.remove("nodes"), &mut problems);
        fields.insert("nodes".to_owned(), Value::Array(Vec::new()));
        let rest = Value::Object(fields);
        let graph = AgentGraph::deserialize(Strict(rest.clone())).ok();
        if graph.is_none() {
            problems.push(unreadable::<AgentGraph>(&Site::graph(""), &rest));
        }
        match graph {
            Some(graph) if problems.is_empty() => {
                let graph = AgentGraph { nodes, ..graph };
                let problems = graph.problems();
                if problems.is_empty() { Ok(graph) } else { Err(problems) }
            }
            Some(_) | None => Err(problems),
        }
    }
}

fn read_nodes(nodes: Option<Value>, problems: &mut Vec<GraphProblem>) -> Vec<Node> {
    let Some(Value::Array(nodes)) = nodes else {
        problems.push(Site::graph("nodes").problem(ProblemCode::SchemaInvalid, "a list of nodes"));
        return Vec::new();
    };
    let mut read = Vec::with_capacity(nodes.len());
    for (index, node) in nodes.into_iter().enumerate() {
        let id = node["id"].as_str().unwrap_or_default().to_owned();
        let site = Site::node(index, &id);
        let Value::Object(mut fields) = node else {
            problems.push(site.problem(ProblemCode::SchemaInvalid, "an object"));
            continue;
        };
        let rules = read_rules(&mut fields, &site, problems);
        let node = Value::Object(fields);
        match Node::deserialize(Strict(node.clone())) {
            Ok(node) => read.push(Node { rules, ..node }),
            Err(_) => problems.push(unreadable::<Node>(&site, &node)),
        }
    }
    read
}

fn read_rules(
    fields: &mut Map<String, Value>,
    site: &Site<'_>,
    problems: &mut Vec<GraphProblem>,
) -> Vec<Rule> {
    let rules = match fields.remove("rules") {
        None => return Vec::new(),
        Some(Value::Array(rules)) => rules,
        Some(_) => {
            let site = site.field("rules");
            problems.push(site.problem(ProblemCode::SchemaInvalid, "a list of rules"));
            return Vec::new();
        }
    };
    let mut read = Vec::with_capacity(rules.len());
    for (index, rule) in rules.into_iter().enumerate() {
        match Rule::deserialize(Strict(rule.clone())) {
            Ok(rule) => read.push(rule),
            Err(_) => problems.push(unreadable::<Rule>(&site.rule(index), &rule)),
        }
    }
    read
}

/// Where a part of the document does not have its form, in the form's words.
fn unreadable<T: JsonSchema>(site: &Site<'_>, part: &Value) -> GraphProblem {
    match Form::of::<T>().check(part) {
        Ok(()) => site.problem(ProblemCode::SchemaInvalid, "another value"),
        Err(Misfit { path, expected }) if path.is_empty() => {
            site.problem(ProblemCode::SchemaInvalid, expected)
        }
        Err(Misfit { path, expected }) => {
            site.field(&path).problem(ProblemCode::SchemaInvalid, expected)
        }
    }
}
