//! An agent graph on the command line: what is wrong with one, and where turns go.

use std::path::Path;

use serde_json::{Value, json};

use super::shell::{Outcome, split, tasuki};

/// The example of the documentation.
const EXAMPLE: &str = include_str!("../../../../../docs/examples/graph.json");

fn run(folder: &Path, line: &str, input: &str) -> Outcome {
    tasuki(folder, &split(line), &[], input)
}

#[test]
fn a_sound_graph_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("graph.json"), EXAMPLE).unwrap();
    let shown = run(folder.path(), "graph check graph.json", "");
    let expected = "ok: 2 routers, 4 specialists, 6 rules, 1 intents\n";
    assert_eq!((shown.code, &*shown.stdout, &*shown.stderr), (0, expected, ""));
    let shown = run(folder.path(), "graph check - --json", EXAMPLE);
    let told: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!((shown.code, &told["ok"], &told["rules"]), (0, &json!(true), &json!(6)));
}

#[test]
fn everything_wrong_is_named_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut graph: Value = serde_json::from_str(EXAMPLE).unwrap();
    graph["nodes"][0]["rules"][1]["goto"] = json!("\u{1b}[2Jorder");
    graph["nodes"][1]["rules"][1]["regex"] = json!("(");
    let shown = run(folder.path(), "graph check -", &graph.to_string());
    let lines: Vec<&str> = shown.stdout.lines().collect();
    let expected =
        ["schema_invalid  nodes[0].rules[1].goto: expected text without the character U+001B"];
    assert_eq!((shown.code, lines), (1, expected.to_vec()));

    graph["nodes"][0]["rules"][1]["goto"] = json!("order");
    let shown = run(folder.path(), "graph check -", &graph.to_string());
    let lines: Vec<&str> = shown.stdout.lines().collect();
    let expected = [
        "unknown_node  nodes[0].rules[1].goto (triage): expected the id of a node, or `human`; \
         there is no `order`",
        "bad_regex  nodes[1].rules[1].regex (orders): expected a regex that compiles: \
         unclosed group",
        "unreachable_node  nodes[1] (orders): expected a way to it from the entry",
        "unreachable_node  nodes[2] (parcels): expected a way to it from the entry",
    ];
    assert_eq!((shown.code, lines), (1, expected.to_vec()));
    assert_eq!(shown.stderr, "4 problems: it cannot be used\n");
    let shown = run(folder.path(), "graph try - --text hello --json", &graph.to_string());
    let told: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!((shown.code, &told["problems"][1]["code"]), (1, &json!("bad_regex")));
    assert_eq!(told["problems"][1]["rule_index"], json!(1));

    let shown = run(folder.path(), "graph check missing.json", "");
    assert_eq!((shown.code, shown.stdout.as_str()), (2, ""));
    assert!(shown.stderr.contains("cannot read missing.json"), "{}", shown.stderr);
    assert_eq!(run(folder.path(), "graph try - --attribute tier --text x", EXAMPLE).code, 2);
}

#[test]
fn a_turn_is_followed_to_whoever_answers() {
    let folder = tempfile::tempdir().unwrap();
    let asked = [
        "--text \"My parcel is LOST\" --attribute tier=gold",
        "--text \"I want my money back\"",
        "--text Hola --language es-MX",
    ];
    let mut pages = String::new();
    for asked in asked {
        let shown = run(folder.path(), &format!("graph try - {asked}"), EXAMPLE);
        assert_eq!((shown.code, &*shown.stderr), (0, ""), "{asked}");
        pages.push_str(&format!("$ tasuki graph try graph.json {asked}\n{}\n", shown.stdout));
    }
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("graph", pages);
    });
    let shown = run(folder.path(), "graph try - --text \"where is my order\" --json", EXAMPLE);
    let mut told: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert!(told["routeDecision"]["latencyMs"].take().as_f64().unwrap() >= 0.0);
    let expected = json!({
        "target": "parcels", "agent": "parcel-bot", "graphPath": ["triage", "orders", "parcels"],
        "routeDecision": { "from": "orders", "to": "parcels", "latencyMs": null },
        "intent": null,
        "hops": [
            { "from": "triage", "to": "orders", "rule_index": 1, "reason": "about an order",
              "because": ["keyword `order`"] },
            { "from": "orders", "to": "parcels", "rule_index": null, "reason": null,
              "because": ["no rule holds"] },
        ],
    });
    assert_eq!(told, expected);
}
