//! For any turn on any sound graph: one target, a bounded path, and the same choices as a plain
//! reading of the document.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use regex::Regex;

use super::graph::{AttributeCondition, HOPS_MAX, IntentCondition, Keywords, Scalar};
use super::*;

/// A plain reading of the document, from top to bottom, without compiling. Words are found by
/// trying every place, letter by letter; the scripts are those of the texts below.
fn plainly(graph: &AgentGraph, turn: &Turn<'_>) -> (String, Vec<String>, Vec<Option<usize>>) {
    let (mut path, mut choices) = (Vec::new(), Vec::new());
    let mut at = graph.entry.clone();
    loop {
        let node = graph.nodes.iter().find(|node| node.id == at).unwrap();
        path.push(at.clone());
        if node.kind == NodeKind::Specialist {
            return (at, path, choices);
        }
        let choice = node.rules.iter().position(|rule| holds(rule, turn));
        choices.push(choice);
        let to = match choice {
            Some(index) => node.rules[index].goto.clone(),
            None => node.default.clone().unwrap(),
        };
        let leads_on = graph.nodes.iter().any(|n| n.id == to && n.kind == NodeKind::Router);
        let is_spent = choices.len() == graph.max_hops.unwrap_or(HOPS_MAX) as usize;
        if to == HUMAN || (is_spent && leads_on) {
            return (HUMAN.to_owned(), path, choices);
        }
        at = to;
    }
}

fn holds(rule: &Rule, turn: &Turn<'_>) -> bool {
    if let Some(words) = &rule.keywords {
        let any = words.any.is_empty() || words.any.iter().any(|word| stands(word, turn.text));
        if !any || !words.all.iter().all(|word| stands(word, turn.text)) {
            return false;
        }
    }
    if let Some(regex) = &rule.regex
        && !Regex::new(regex).unwrap().is_match(turn.text)
    {
        return false;
    }
    let primary = |tag: &str| tag.split('-').next().unwrap().to_ascii_lowercase();
    let language = turn.language.map(primary);
    if !rule.language.is_empty() && !rule.language.iter().any(|tag| Some(primary(tag)) == language)
    {
        return false;
    }
    if let Some(wanted) = &rule.intent {
        match turn.intent {
            Some((label, sure)) if label == wanted.label && sure >= wanted.min_confidence => {}
            Some(_) | None => return false,
        }
    }
    rule.attributes.iter().all(|(name, condition)| match (condition, turn.attributes.get(name)) {
        (AttributeCondition::Exists(wanted), value) => *wanted == value.is_some(),
        (AttributeCondition::Equals(_) | AttributeCondition::OneOf(_), None) => false,
        (AttributeCondition::Equals(wanted), Some(value)) => wanted.as_str() == value,
        (AttributeCondition::OneOf(wanted), Some(value)) => {
            wanted.iter().any(|wanted| wanted.as_str() == value)
        }
    })
}

fn stands(word: &str, text: &str) -> bool {
    let spaced = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let (word, text): (Vec<char>, Vec<char>) =
        (spaced(word).chars().collect(), spaced(text).chars().collect());
    let is_letter = |letter: char| {
        (letter.is_alphanumeric() || letter == '_') && !('\u{3040}'..).contains(&letter)
    };
    let is_cut = |a: Option<&char>, b: Option<&char>| {
        a.zip(b).is_some_and(|(a, b)| is_letter(*a) && is_letter(*b))
    };
    (0..text.len()).any(|start| {
        let end = start + word.len();
        let before = start.checked_sub(1).and_then(|at| text.get(at));
        text.get(start..end) == Some(&word[..])
            && !is_cut(before, word.first())
            && !is_cut(word.last(), text.get(end))
    })
}

/// Few words, so that rules overlap, match together, and contain one another.
fn word() -> impl Strategy<Value = String> {
    let words = ["refund", "Refund me", "me", "fund", "é", "Ä b", "返金", "金", "order", "a", "aa"];
    proptest::sample::select(words.to_vec()).prop_map(str::to_owned)
}

fn text() -> impl Strategy<Value = String> {
    let glue = proptest::sample::select(&["", " ", " ", "  ", ", ", "!\n", "x", "7"][..]);
    let phrase = vec((word(), glue, any::<bool>()), 0..8).prop_map(|parts| {
        let cased = |(word, glue, loud): (String, &str, bool)| {
            let word = if loud { word.to_uppercase() } else { word };
            word + glue
        };
        parts.into_iter().map(cased).collect::<String>()
    });
    prop_oneof![4 => phrase, 1 => "[ -~¡-¬®-ÿぁ-ん一-龥]{0,40}".boxed()]
}

fn rule(n_nodes: usize) -> impl Strategy<Value = Rule> {
    let keywords = option::of((vec(word(), 0..3), vec(word(), 0..3)));
    let regexes = ["refund", r"(?i)order\s*\d", "^a", "金.", r"\bme\b"];
    let regex = option::weighted(0.2, proptest::sample::select(regexes.to_vec()));
    let language = vec(proptest::sample::select(vec!["es", "de", "FR"]), 0..2);
    let intent = option::weighted(0.2, (0..3_u8, 0.0..1.0));
    let value = (0..3_u8).prop_map(|number| Scalar::new(number.to_string()));
    let condition = prop_oneof![
        value.clone().prop_map(AttributeCondition::Equals),
        vec(value, 1..3).prop_map(AttributeCondition::OneOf),
        any::<bool>().prop_map(AttributeCondition::Exists),
    ];
    let attributes = btree_map("[xy]", condition, 0..2);
    let goto = 0..=n_nodes;
    (goto, keywords, regex, language, intent, attributes).prop_map(move |parts| {
        let (goto, keywords, regex, language, intent, attributes) = parts;
        let mut rule = Rule {
            goto: name(goto, n_nodes),
            keywords: keywords.map(|(any, all)| Keywords { any, all }),
            regex: regex.map(str::to_owned),
            language: language.into_iter().map(str::to_owned).collect(),
            intent: intent.map(|(label, min_confidence)| IntentCondition {
                label: label.to_string(),
                min_confidence,
            }),
            attributes,
            reason: None,
        };
        if rule.is_empty() {
            rule.language = vec!["de".to_owned()];
        }
        rule
    })
}

fn name(index: usize, n_nodes: usize) -> String {
    if index == n_nodes { HUMAN.to_owned() } else { format!("n{index}") }
}

/// A few routers and specialists with a hop limit. A node that is unreachable becomes the default
/// of the one before.
fn graph() -> impl Strategy<Value = AgentGraph> {
    (1..6_usize, 1..4_usize).prop_flat_map(|(n_routers, n_specialists)| {
        let n_nodes = n_routers + n_specialists;
        let router = vec(rule(n_nodes), 0..12);
        (vec(router, n_routers), 1..8_u32).prop_map(move |(routers, max_hops)| {
            let mut nodes: Vec<Node> = Vec::new();
            for (index, mut rules) in routers.into_iter().enumerate() {
                // Whatever the rules are, every node is reachable.
                if index + 1 == n_routers {
                    let ways = (index + 1..n_nodes).map(|to| Rule {
                        goto: name(to, n_nodes),
                        language: vec!["fr".to_owned()],
                        ..Rule::default()
                    });
                    rules.extend(ways);
                }
                let default = Some(name(index + 1, n_nodes));
                let (id, kind) = (name(index, n_nodes), NodeKind::Router);
                nodes.push(Node { id, kind, description: None, agent: None, rules, default });
            }
            for index in n_routers..n_nodes {
                let agent = Some(format!("agent-{index}"));
                let (id, kind) = (name(index, n_nodes), NodeKind::Specialist);
                let (description, rules, default) = (None, Vec::new(), None);
                nodes.push(Node { id, kind, description, agent, rules, default });
            }
            let (entry, intents) = (name(0, n_nodes), Vec::new());
            let signals = Default::default();
            AgentGraph {
                entry,
                max_hops: Some(max_hops),
                intents,
                signals,
                silence: Default::default(),
                queue: None,
                customer_queues: Vec::new(),
                nodes,
            }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_turn_goes_where_a_plain_reading_sends_it(
        graph in graph(),
        texts in vec(text(), 1..6),
        language in option::of(proptest::sample::select(vec!["es", "es-MX", "DE", "fr", "it"])),
        intent in option::of((proptest::sample::select(vec!["0", "1", "2"]), 0.0..1.0)),
        attributes in btree_map("[xy]", "[0-2]", 0..3),
    ) {
        let compiled = Compiled::new(graph.clone()).expect("the graph is sound");
        for text in &texts {
            let turn = Turn { text, language, intent, attributes: &attributes };
            let routed = compiled.route(&turn);
            let choices: Vec<_> = routed.hops.iter().map(|hop| hop.rule_index).collect();
            let target = routed.target.as_str().to_owned();
            prop_assert!(routed.path.len() <= compiled.graph().max_hops.unwrap() as usize + 1);
            prop_assert_eq!(&(target, routed.path.clone(), choices), &plainly(&graph, &turn));
            for hop in &routed.hops {
                prop_assert!(!compiled.explain(hop, &turn).is_empty());
            }
        }
    }

    #[test]
    fn any_text_is_answered(text in any::<String>(), n in 1..2_000_usize) {
        let graph = AgentGraph::read(br#"{ "entry": "r", "nodes": [
            { "id": "r", "kind": "router", "default": "s", "rules": [
                { "goto": "human", "keywords": { "any": ["a"], "all": ["b"] }, "regex": "(a+)+$" } ] },
            { "id": "s", "kind": "specialist", "agent": "s" } ] }"#).unwrap();
        let long = text.repeat(n);
        let attributes = BTreeMap::new();
        let language = Some(&*text);
        let turn = Turn { text: &long, language, intent: None, attributes: &attributes };
        let routed = Compiled::new(graph).unwrap().route(&turn);
        prop_assert!(matches!(routed.target.as_str(), "s" | HUMAN));
    }

    #[test]
    fn any_document_is_answered(
        bytes in vec(any::<u8>(), 0..200),
        text in "[\\[\\]{}\":,a-z0-9]{0,80}",
    ) {
        prop_assert!(AgentGraph::read(&bytes).is_err());
        let _ = AgentGraph::read(text.as_bytes());
    }
}
