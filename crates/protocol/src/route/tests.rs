//! What graphs decide, and the problems of unusable ones.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::graph::{HOPS_MAX, NODES_MAX, REGEXES_MAX, RULE_ITEMS_MAX, RULES_MAX};
use super::limits::{KEYWORD_BYTES_MAX, REGEX_BYTES_MAX};
use super::*;

fn shop() -> Value {
    json!({
        "entry": "triage",
        "nodes": [
            { "id": "triage", "kind": "router", "default": "general", "rules": [
                { "goto": "human", "reason": "asked for a person",
                  "keywords": { "any": ["human", "agent please"] } },
                { "goto": "orders", "keywords": { "all": ["where", "parcel"] } },
                { "goto": "orders", "regex": r"(?i)\border\s+#?\d{4}\b" },
                { "goto": "spanish", "language": ["es", "ca-ES"] },
                { "goto": "refunds", "intent": { "label": "refund", "min_confidence": 0.6 } },
                { "goto": "refunds", "keywords": { "any": ["money"] },
                  "attributes": { "tier": { "one_of": ["gold", 7] },
                                  "banned": { "exists": false } } }
            ] },
            { "id": "orders", "kind": "router", "default": "parcels", "rules": [
                { "goto": "refunds", "attributes": { "returned": { "equals": true } } }
            ] },
            { "id": "parcels", "kind": "specialist", "agent": "parcel-bot" },
            { "id": "refunds", "kind": "specialist", "agent": "refund-bot" },
            { "id": "spanish", "kind": "specialist", "agent": "bot-es" },
            { "id": "general", "kind": "specialist", "agent": "helper", "description": "Anything" }
        ]
    })
}

fn read(graph: &Value) -> Result<AgentGraph, Vec<GraphProblem>> {
    AgentGraph::read(graph.to_string().as_bytes())
}

fn compiled(graph: &Value) -> Compiled {
    Compiled::new(read(graph).unwrap()).unwrap()
}

/// `language|label at confidence|name=value,…` before the text; any of them may be empty.
fn told(graph: &Compiled, script: &str) -> String {
    let parts: Vec<&str> = script.splitn(4, '|').collect();
    let [language, intent, attributes, text] = parts[..] else { panic!("{script}") };
    let attributes: BTreeMap<String, String> = attributes
        .split_terminator(',')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let intent = intent.split_once(" at ").map(|(label, sure)| (label, sure.parse().unwrap()));
    let language = Some(language).filter(|language| !language.is_empty());
    let routed = graph.route(&Turn { text, language, intent, attributes: &attributes });
    let rules: Vec<String> = routed
        .hops
        .iter()
        .map(|hop| hop.rule_index.map_or("-".to_owned(), |index| index.to_string()))
        .collect();
    format!("{} > {} by {}", routed.path.join(" "), routed.target.as_str(), rules.join(" "))
}

#[test]
fn the_first_rule_that_holds_decides() {
    let graph = compiled(&shop());
    let cases = [
        ("|||Hello", "triage general > general by -"),
        ("|||Get me a HUMAN.", "triage > human by 0"),
        ("|||Agent, please", "triage general > general by -"),
        ("|||agent  please!", "triage > human by 0"),
        ("|||humane", "triage general > general by -"),
        ("|||Where is my parcel?", "triage orders parcels > parcels by 1 -"),
        ("|||Where is my letter?", "triage general > general by -"),
        ("||returned=true|where is the parcel", "triage orders refunds > refunds by 1 0"),
        ("|||My Order #1234 is late", "triage orders parcels > parcels by 2 -"),
        ("|||order 12345", "triage general > general by -"),
        ("es-MX|||Hola", "triage spanish > spanish by 3"),
        ("ES|||Hola", "triage spanish > spanish by 3"),
        ("est|||Tere", "triage general > general by -"),
        ("ca|||Bon dia", "triage general > general by -"),
        ("es|||human por favor", "triage > human by 0"),
        ("|refund at 0.6||Hm", "triage refunds > refunds by 4"),
        ("|refund at 0.59||Hm", "triage general > general by -"),
        ("|sales at 0.9||Hm", "triage general > general by -"),
        ("||tier=gold|my money", "triage refunds > refunds by 5"),
        ("||tier=7|my money", "triage refunds > refunds by 5"),
        ("||tier=silver|my money", "triage general > general by -"),
        ("||tier=gold,banned=no|my money", "triage general > general by -"),
        ("||tier=gold|my honey", "triage general > general by -"),
    ];
    for (script, expected) in cases {
        assert_eq!(told(&graph, script), expected, "{script}");
    }
}

#[test]
fn a_choice_is_told_as_others_expect_it_and_explained() {
    let graph = compiled(&shop());
    let attributes = BTreeMap::from([("tier".to_owned(), "gold".to_owned())]);
    let turn = Turn {
        text: "my money",
        language: None,
        intent: Some(("refund", 0.2)),
        attributes: &attributes,
    };
    let routed = graph.route(&turn);
    let decision = serde_json::to_value(routed.decision(turn.intent, 0.25)).unwrap();
    let expected = json!({ "from": "triage", "to": "refunds", "latencyMs": 0.25, "ruleIndex": 5,
        "intentLabel": "refund", "intentConfidence": 0.2 });
    assert_eq!(decision, expected);
    let why = graph.explain(&routed.hops[0], &turn);
    assert_eq!(why, ["keyword `money`", "no attribute banned", "attribute tier = gold"]);

    let human = graph.route(&Turn { text: "human", ..turn });
    let decision = serde_json::to_value(human.decision(None, 0.0)).unwrap();
    let expected = json!({ "from": "triage", "to": "human", "latencyMs": 0.0, "ruleIndex": 0,
        "reason": "asked for a person" });
    assert_eq!((decision, human.path), (expected, vec!["triage".to_owned()]));
}

#[test]
fn the_example_of_the_docs_can_be_used() {
    let example = include_bytes!("../../../../docs/examples/graph.json");
    let graph = Compiled::new(AgentGraph::read(example).unwrap()).unwrap();
    let cases = [
        ("|||Where is my parcel?", "triage orders parcels > parcels by 1 -"),
        ("|||Put me through to a person", "triage > human by 0"),
        ("es|||¿Dónde está mi paquete?", "triage spanish > spanish by 2"),
    ];
    for (script, expected) in cases {
        assert_eq!(told(&graph, script), expected, "{script}");
    }
    let found = graph.classify("I want my money back").unwrap();
    let script = format!("|{} at {}||I want my money back", found.label, found.confidence);
    assert_eq!(told(&graph, &script), "triage refunds > refunds by 3");
}

#[test]
fn a_snapshot_shows_who_leads_to_whom() {
    let snapshot = serde_json::to_value(read(&shop()).unwrap().snapshot()).unwrap();
    let ways = json!(["human", "orders", "spanish", "refunds", "general"]);
    assert_eq!((&snapshot["entry"], &snapshot["nodes"][0]["handoffTo"]), (&json!("triage"), &ways));
    let refunds = json!({ "id": "refunds", "kind": "specialist", "handoffTo": [],
        "intentName": "refund" });
    assert_eq!(snapshot["nodes"][3], refunds);
}

#[test]
fn a_specialist_can_be_the_entry() {
    let graph = json!({ "entry": "only",
        "nodes": [{ "id": "only", "kind": "specialist", "agent": "bot" }] });
    assert_eq!(told(&compiled(&graph), "|||Hello"), "only > only by ");
}

/// Two routers that send a turn back and forth until the hop limit.
fn ping_pong() -> Value {
    json!({ "entry": "ping", "max_hops": 5, "nodes": [
        { "id": "ping", "kind": "router", "default": "end",
          "rules": [{ "goto": "pong", "keywords": { "any": ["ball"] } }] },
        { "id": "pong", "kind": "router", "default": "ping" },
        { "id": "end", "kind": "specialist", "agent": "bot" }
    ] })
}

#[test]
fn a_loop_ends_with_a_person() {
    let graph = compiled(&ping_pong());
    let ended = told(&graph, "|||ball");
    assert_eq!(ended, "ping pong ping pong ping > human by 0 - 0 - 0");
    assert_eq!(told(&graph, "|||end"), "ping end > end by -");
    let turn = Turn { text: "ball", language: None, intent: None, attributes: &BTreeMap::new() };
    let reason = graph.route(&turn).hops.pop().unwrap().reason;
    assert_eq!(reason.as_deref(), Some("5 routers were passed"));
}

/// Changes one graph and lists its problems: `code field (node) #rule`, in order.
fn wrong(graph: Value, change: impl Fn(&mut Value)) -> Vec<String> {
    let mut graph = graph;
    change(&mut graph);
    let shown = |problem: GraphProblem| {
        assert!(!problem.expected.is_empty());
        let node = problem.node.map(|node| format!(" ({node})")).unwrap_or_default();
        let rule = problem.rule_index.map(|index| format!(" #{index}")).unwrap_or_default();
        format!("{} {}{node}{rule}", problem.code.as_str(), problem.field)
    };
    read(&graph).err().unwrap_or_default().into_iter().map(shown).collect()
}

/// The place of a change, its value, and the problems that result.
const MISTAKES: &str = r#"
/entry | "start" | unknown_node entry
/max_hops | 0 | too_large max_hops
/nodes | {} | schema_invalid nodes
/colour | 1 | schema_invalid colour
/nodes/1/colour | 1 | schema_invalid nodes[1].colour (orders)
/nodes/1/kind | "queue" | schema_invalid nodes[1].kind (orders)
/nodes/0/rules/2/gotoo | 1 | schema_invalid nodes[0].rules[2].gotoo (triage) #2
/nodes/0/rules/5/attributes/tier | { "equals": [] } | schema_invalid nodes[0].rules[5].attributes.tier.equals (triage) #5
/nodes/0/rules/5/attributes/tier | { "one_of": [] } | empty_rule nodes[0].rules[5].attributes.tier.one_of (triage) #5
/nodes/1/default | "nobody" | unknown_node nodes[1].default (orders), unreachable_node nodes[2] (parcels)
/nodes/1/default | null | no_default nodes[1].default (orders), unreachable_node nodes[2] (parcels)
/nodes/1/rules/0/goto | "nobody" | unknown_node nodes[1].rules[0].goto (orders) #0
/nodes/1/agent | "x" | misplaced nodes[1].agent (orders)
/nodes/0/rules/2/intent | ["a"] | schema_invalid nodes[0].rules[2].intent (triage) #2
/signals | [[]] | schema_invalid signals
/nodes/2/agent | "Not a name" | schema_invalid nodes[2].agent (parcels)
/nodes/2/agent | null | schema_invalid nodes[2].agent (parcels)
/signals | {"rules": [{"name": "", "signal": "shouting", "above": 0.5, "turns": 2}]} | schema_invalid signals.rules[0].name
/signals | {"rules": [{"name": "a", "signal": "shouting", "above": 0.5, "turns": 17}]} | schema_invalid signals.rules[0].turns
/signals | {"rules": [{"name": "a", "signal": "joy", "above": 0.5, "turns": 1}]} | schema_invalid signals.rules[0].signal
/queue | "No queue" | schema_invalid queue
/nodes/2/default | "human" | misplaced nodes[2].default (parcels)
/nodes/5/description | "two\nlines" | schema_invalid nodes[5].description (general)
/nodes/0/rules/0/reason | "two\nlines" | schema_invalid nodes[0].rules[0].reason (triage) #0
/nodes/0/rules/0/keywords | { "any": [] } | empty_rule nodes[0].rules[0] (triage) #0
/nodes/0/rules/0/keywords/any/1 | "\u200b " | schema_invalid nodes[0].rules[0].keywords.any[1] (triage) #0
/nodes/0/rules/2/regex | "(unclosed" | bad_regex nodes[0].rules[2].regex (triage) #2
/nodes/0/rules/2/regex | "(?=ahead)" | bad_regex nodes[0].rules[2].regex (triage) #2
/nodes/0/rules/2/regex | "(\\w{100}){100}" | bad_regex nodes[0].rules[2].regex (triage) #2
/nodes/0/rules/3/language/0 | "Español" | schema_invalid nodes[0].rules[3].language[0] (triage) #3
/nodes/0/rules/4/intent/label | " " | schema_invalid nodes[0].rules[4].intent.label (triage) #4
/nodes/0/rules/4/intent/min_confidence | 1.5 | schema_invalid nodes[0].rules[4].intent.min_confidence (triage) #4
"#;

#[test]
fn each_mistake_is_named_with_its_place() {
    assert_eq!(wrong(shop(), |_| ()), [""; 0]);
    let mut differences = Vec::new();
    for row in MISTAKES.lines().filter(|row| !row.is_empty()) {
        let [pointer, value, expected] = row.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let value: Value = serde_json::from_str(value).unwrap();
        let told = wrong(shop(), |graph| put(graph, pointer, value.clone()));
        let told = told.join(", ");
        if told.trim() != expected {
            differences.push(format!("{row}\n    told: {told}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn put(graph: &mut Value, pointer: &str, value: Value) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = graph.pointer_mut(parent).unwrap();
    match name.parse::<usize>() {
        Ok(index) => parent[index] = value,
        Err(_) => parent[name] = value,
    }
}

#[test]
fn all_mistakes_are_named_at_once() {
    let told = wrong(ping_pong(), |graph| {
        graph.as_object_mut().unwrap().remove("max_hops");
        graph["nodes"][0]["rules"][0]["regex"] = json!("[");
        let nodes = graph["nodes"].as_array_mut().unwrap();
        nodes.push(json!({ "id": "end", "kind": "specialist", "agent": "bot" }));
        nodes.push(json!({ "id": "human", "kind": "specialist", "agent": "bot" }));
        nodes.push(json!({ "id": "self", "kind": "router", "default": "self" }));
    });
    let expected = [
        "duplicate_id nodes[3].id (end)",
        "reserved_id nodes[4].id (human)",
        "bad_regex nodes[0].rules[0].regex (ping) #0",
        "unreachable_node nodes[4] (human)",
        "unreachable_node nodes[5] (self)",
        "cycle_without_guard nodes[1].default (pong)",
        "cycle_without_guard nodes[5].default (self)",
    ];
    assert_eq!(told, expected);
}

#[test]
fn what_is_unreadable_is_named_at_once() {
    let told = wrong(shop(), |graph| {
        graph["nodes"][0]["rules"][0] = json!({ "keywords": {} });
        graph["nodes"][0]["rules"][1] = json!(7);
        graph["nodes"][3] = json!([]);
        graph["max_hops"] = json!("many");
    });
    let expected = [
        "schema_invalid nodes[0].rules[0].goto (triage) #0",
        "schema_invalid nodes[0].rules[1] (triage) #1",
        "schema_invalid nodes[3]",
        "schema_invalid max_hops",
    ];
    assert_eq!(told, expected);
    let broken = AgentGraph::read(b"{\"entry\": \"a\", \"entry\": \"b\"}").unwrap_err();
    assert_eq!(broken[0].to_string(), "schema_invalid  entry: expected each key once");
}

#[test]
fn graphs_have_limits() {
    let chain = |n_routers: u32| {
        let mut nodes = vec![json!({ "id": "end", "kind": "specialist", "agent": "bot" })];
        for index in 0..n_routers {
            let next = if index == 0 { "end".to_owned() } else { format!("r{}", index - 1) };
            nodes.push(json!({ "id": format!("r{index}"), "kind": "router", "default": next }));
        }
        json!({ "entry": format!("r{}", n_routers - 1), "nodes": nodes })
    };
    assert_eq!(wrong(chain(HOPS_MAX), |_| ()), [""; 0]);
    assert_eq!(wrong(chain(HOPS_MAX + 1), |_| ()), ["too_deep entry"]);
    let guarded = |graph: &mut Value| graph["max_hops"] = json!(HOPS_MAX);
    assert_eq!(wrong(chain(HOPS_MAX + 1), guarded), [""; 0]);
    assert_eq!(wrong(chain(NODES_MAX as u32), |_| ()), ["too_large nodes"]);
    let many = |n: usize, rule: Value| {
        move |graph: &mut Value| graph["nodes"][1]["rules"] = json!(vec![rule.clone(); n])
    };
    let rule = json!({ "goto": "refunds", "regex": "a" });
    assert_eq!(wrong(shop(), many(REGEXES_MAX - 1, rule.clone())), [""; 0]);
    assert_eq!(wrong(shop(), many(REGEXES_MAX, rule)), ["too_large nodes"]);
    let words = "nodes[1].rules[0].keywords.any";
    let long = "a".repeat(KEYWORD_BYTES_MAX + 1);
    let cases = [
        (json!({ "keywords": { "any": vec!["a"; RULE_ITEMS_MAX + 1] } }), "too_large", words),
        (json!({ "keywords": { "any": [long] } }), "schema_invalid", &*format!("{words}[0]")),
        (
            json!({ "regex": "a".repeat(REGEX_BYTES_MAX + 1) }),
            "bad_regex",
            "nodes[1].rules[0].regex",
        ),
    ];
    for (mut rule, code, field) in cases {
        rule["goto"] = json!("refunds");
        assert_eq!(wrong(shop(), many(1, rule)), [format!("{code} {field} (orders) #0")]);
    }
    let rule = json!({ "goto": "refunds", "language": ["de"] });
    assert_eq!(wrong(shop(), many(RULES_MAX, rule)), ["too_large nodes"]);
}

#[test]
fn a_document_survives_being_written() {
    let graph = read(&shop()).unwrap();
    assert_eq!(read(&serde_json::to_value(&graph).unwrap()).unwrap(), graph);
    let schema = serde_json::to_value(schemars::schema_for!(AgentGraph)).unwrap();
    assert_eq!(schema["additionalProperties"], json!(false));
}
