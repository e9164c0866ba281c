//! What the regexes of a graph may cost in the worst case. It is checked when a graph is saved:
//! graphs that were saved before stay usable, and their turns have a time limit like all others.

use super::graph::AgentGraph;
use super::graph_problem::{GraphProblem, ProblemCode, Site};
use super::regexes::n_states;

/// States of all regexes of a graph together, once compiled. Ordinary regexes have some ten to a
/// few hundred: `\d{4,8}` has 24, `\w+` some two hundred.
pub const REGEX_STATES_MAX: usize = 64 * 1024;

/// States of one regex. It is matched without a look at the time, so it bounds how far a turn can
/// exceed its time limit.
pub const ONE_REGEX_STATES_MAX: usize = 2 * 1024;

impl AgentGraph {
    /// The regexes that are too costly, and the one with which all together become so.
    pub fn cost_problems(&self) -> Vec<GraphProblem> {
        let mut problems = Vec::new();
        let mut total = 0;
        for (site, regex) in self.regexes() {
            let states = n_states(regex);
            if states > ONE_REGEX_STATES_MAX {
                let expected =
                    format!("a regex of at most {ONE_REGEX_STATES_MAX} states, not {states}");
                problems.push(site.problem(ProblemCode::TooLarge, expected));
            }
            let was_within = total <= REGEX_STATES_MAX;
            total += states;
            if was_within && total > REGEX_STATES_MAX {
                let expected = format!(
                    "regexes of at most {REGEX_STATES_MAX} states in all; with this one they have \
                     {total}"
                );
                problems.push(site.problem(ProblemCode::TooLarge, expected));
            }
        }
        problems
    }

    /// Every regex, and where it stands.
    fn regexes(&self) -> impl Iterator<Item = (Site<'_>, &str)> {
        let nodes = self.nodes.iter().enumerate();
        let rules = nodes.flat_map(|(index, node)| {
            let site = Site::node(index, &node.id);
            node.rules.iter().enumerate().filter_map(move |(index, rule)| {
                Some((site.rule(index).field("regex"), rule.regex.as_deref()?))
            })
        });
        let intents = self.intents.iter().enumerate();
        let patterns = intents.flat_map(|(index, intent)| {
            intent.patterns.iter().enumerate().filter_map(move |(number, pattern)| {
                let path = format!("intents[{index}].patterns[{number}].regex");
                Some((Site::graph(&path), pattern.regex.as_deref()?))
            })
        });
        rules.chain(patterns)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use crate::route::decision::SPENT;
    use crate::route::spent::Spent;
    use crate::route::{AgentGraph, Compiled, Target, Turn};

    fn graph(regexes: &[String]) -> Value {
        let rule = |regex: &String| json!({ "goto": "other", "regex": regex });
        json!({
            "entry": "desk",
            "nodes": [
                { "id": "desk", "kind": "router", "default": "fallback",
                  "rules": regexes.iter().map(rule).collect::<Vec<_>>() },
                { "id": "fallback", "kind": "specialist", "agent": "bob" },
                { "id": "other", "kind": "specialist", "agent": "carol" }
            ]
        })
    }

    fn read(graph: &Value) -> AgentGraph {
        AgentGraph::read(graph.to_string().as_bytes()).expect("a graph")
    }

    #[test]
    fn a_costly_regex_is_named_when_its_graph_is_saved() {
        let repeated = |n: usize| format!("[ab]*a[ab]{{{n}}}c");
        let of = |regexes: &[String]| -> Vec<String> {
            let problems = read(&graph(regexes)).cost_problems();
            problems
                .iter()
                .map(|problem| format!("{} {}", problem.code.as_str(), problem.field))
                .collect()
        };
        let mail = r"\b[\w.]+@[\w.]+\b|\border (no\.? )?\d{4,8}\b".to_owned();
        assert_eq!(of(&vec![mail; 60]), [""; 0], "ordinary ones fit");
        let first = "too_large nodes[0].rules[0].regex";
        assert_eq!(of(&[repeated(3_000)]), [first]);
        let many = of(&vec![repeated(1_500); 256]);
        assert_eq!(many.len(), 1, "{many:?}");
        assert!(many[0].starts_with("too_large nodes[0].rules["), "{many:?}");
    }

    #[test]
    fn once_the_time_is_spent_the_defaults_decide() {
        let graph = Compiled::new(read(&graph(&["x".to_owned()]))).expect("it compiles");
        let turn = Turn { text: "x", language: None, intent: None, attributes: &BTreeMap::new() };
        let agent = |target: &Target| match target {
            Target::Specialist { agent, .. } => agent.to_string(),
            Target::Human => "human".to_owned(),
        };
        assert_eq!(agent(&graph.route(&turn).target), "carol");
        let routed = graph.route_within(&turn, &|| true);
        let hop = &routed.hops[0];
        assert_eq!((agent(&routed.target), hop.rule_index), ("bob".to_owned(), None));
        assert_eq!(hop.reason.as_deref(), Some(SPENT));
        assert_eq!(routed.decision(None, 1.0).reason.as_deref(), Some(SPENT));
    }

    /// What was found before the time was spent counts.
    #[test]
    fn an_intent_that_is_cut_short_follows_from_its_keywords() {
        let mut graph = graph(&[]);
        let rule = json!({ "goto": "other", "intent": { "label": "help", "min_confidence": 0.5 } });
        graph["nodes"][0]["rules"] = json!([rule]);
        graph["intents"] = json!([{ "label": "help", "patterns": [
            { "keyword": "help", "weight": 0.9 }, { "regex": "x", "weight": 0.5 },
        ] }]);
        let graph = Compiled::new(read(&graph)).expect("it compiles");
        let (intent, looked) = graph.classify_within("help", &|| true);
        assert_eq!(looked, Err(Spent));
        assert_eq!(intent.map(|intent| intent.label).as_deref(), Some("help"));
        assert_eq!(graph.classify_within("help", &|| false).1, Ok(()));
    }

    /// The decision is of the last router, and says that an earlier one was cut short.
    #[test]
    fn a_decision_says_that_an_earlier_router_was_cut_short() {
        let mut graph = graph(&["x".to_owned()]);
        let second = json!({ "id": "second", "kind": "router", "default": "fallback", "rules": [
            { "goto": "other", "keywords": { "any": ["x"] }, "reason": "they said x" },
        ] });
        graph["nodes"][0]["default"] = "second".into();
        graph["nodes"].as_array_mut().expect("nodes").push(second);
        let graph = Compiled::new(read(&graph)).expect("it compiles");
        let turn = Turn { text: "x", language: None, intent: None, attributes: &BTreeMap::new() };
        let routed = graph.route_within(&turn, &|| true);
        let decision = routed.decision(None, 1.0);
        assert_eq!((decision.from.as_str(), decision.rule_index), ("second", Some(0)));
        assert_eq!(decision.reason, Some(format!("{SPENT}; they said x")));
    }
}
