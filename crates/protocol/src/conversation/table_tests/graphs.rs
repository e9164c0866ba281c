//! Conversations with a graph: each message of the customer is routed to exactly one agent, or to a
//! person, in the same step. `bob` is for everything, `carol` for refunds; `nobody` is not in the
//! directory, `hana` is a person.

use serde_json::{Value, json};

use super::world::World;
use crate::conversation::state::{ATTRIBUTES_MAX, Status};
use crate::step::State;

#[test]
fn each_message_goes_to_exactly_one_agent() {
    check(&[
        "shop open graph=support => bob@1",
        "customer say text=hello => #1 stayed",
        "bob say epoch=1 in_reply_to=1 => #2",
        "customer say text=my_refund_please => #3 carol@2 #4 graph",
        "carol say epoch=2 in_reply_to=3 => #5",
        "customer say text=the_refund_again => #6 stayed",
        "customer say text=thanks => #7 bob@3 #8 graph",
    ]);
}

/// The first rule that matches decides, whatever comes after it.
#[test]
fn rules_are_looked_at_in_order() {
    check(&[
        "shop open graph=support agent=dora => dora@1",
        "customer say text=a_human_for_my_refund => #1 nobody_to_ask",
        "customer say text=a_refund_for_a_ghost => #2 carol@2 #3 graph",
        "customer say text=ghost => #4 unknown_agent",
        "customer say text=person => #5 unknown_agent",
    ]);
}

/// The bot was asked before the message, and answers after it.
#[test]
fn who_was_moved_away_is_not_heard() {
    check(&[
        "shop open graph=support => bob@1",
        "customer say text=hello => #1 stayed",
        "customer say text=refund => #2 carol@2 #3 graph",
        "bob say epoch=1 in_reply_to=1 => epoch_outdated",
        "bob say epoch=2 in_reply_to=1 => not_holder",
        "carol say epoch=2 in_reply_to=2 => #4",
        "carol close => closed",
        "customer say text=hello => conversation_closed",
    ]);
}

#[test]
fn agents_and_customers_may_still_change_it() {
    check(&[
        "shop open graph=support hops_max=1 => bob@1",
        "customer say text=refund => #1 carol@2 #2 graph",
        "carol route goto=bob epoch=2 => bob@3 #3",
        "bob route goto=carol epoch=3 => loop_guard",
        "customer select agent=carol => carol@4 #4 user_selection",
        "customer say text=hello => #5 bob@5 #6 graph",
        // The graph's choice does not count towards a loop.
        "bob route goto=carol epoch=5 => carol@6 #7",
    ]);
}

#[test]
fn a_new_version_counts_from_the_next_message_on() {
    let mut world = world();
    world.check("shop open graph=support => bob@1");
    world.check("customer say text=parcel => #1 stayed");
    let mut graph = support();
    graph["nodes"][0]["rules"][1]["keywords"]["any"] = json!(["parcel"]);
    world.save(&graph);
    world.check("customer say text=parcel => #2 carol@2 #3 graph");
    world.check("customer say text=refund => #4 bob@3 #5 graph");
    world.graph = None;
    world.check("customer say text=refund => #6 no_graph");
    assert_eq!(world.conversation().holder.as_str(), "bob");
}

#[test]
fn who_may_have_a_graph_and_who_holds_it_first() {
    let topology = json!({ "kind": "swarm", "members": ["bob"], "default_agent": "bob" });
    check(&[
        &format!("shop open graph=support topology={topology} => schema_invalid"),
        "shop open graph=support agent=hana => schema_invalid",
        "shop open graph=support agent=nobody => unknown_agent",
        "shop open graph=support agent=dora => dora@1",
    ]);
    World::new().check("shop open graph=support => schema_invalid");
    let mut graph = support();
    graph["nodes"][0]["default"] = json!("human");
    graph["nodes"][0]["rules"][0]["goto"] = json!("general");
    let mut world = World::new();
    world.save(&graph);
    world.check("shop open graph=support => schema_invalid");
    world.check("shop open graph=support agent=bob => bob@1");
}

/// Rules can test attributes from the backend, data that the agents share, and the language.
#[test]
fn attributes_come_from_the_backend_and_from_the_agents() {
    let open = r#"shop open graph=support attributes={"tier":"gold"}"#;
    check(&[
        &format!("{open} => bob@1"),
        "customer say text=hello => #1 dora@2 #2 graph",
        r#"dora route goto=bob epoch=2 update={"tier":7.0} => bob@3 #3"#,
        "customer say text=hello => #4 stayed",
        r#"bob route goto=carol epoch=3 update={"tier":null} => carol@4 #5"#,
        "customer say text=hello => #6 dora@5 #7 graph",
    ]);
    let many: Value = (0..=ATTRIBUTES_MAX).map(|n| (n.to_string(), json!(n))).collect();
    let long = json!({ "tier": "x".repeat(201) });
    check(&[
        &format!("shop open graph=support attributes={many} => schema_invalid"),
        &format!("shop open graph=support attributes={long} => schema_invalid"),
        r#"shop open graph=support customer={"language":"es-MX"} => bob@1"#,
        "customer say text=hola => #1 dora@2 #2 graph",
    ]);
}

#[test]
fn the_record_says_what_the_graph_chose_and_why() {
    let mut world = world();
    world.check("shop open graph=support => bob@1");
    world.check("customer say text=refund => #1 carol@2 #2 graph");
    assert_eq!(
        world.bodies[1]["route"],
        json!({
            "graph": "support", "version": 1, "outcome": "moved",
            "routeDecision": {
                "from": "triage", "to": "refunds", "reason": "about money", "ruleIndex": 1,
                "intentLabel": "refund", "intentConfidence": 0.7, "latencyMs": 0.0,
            },
            "graphPath": ["triage", "refunds"],
        })
    );
    assert!(world.bodies[0].get("route").is_none(), "one of the two has it");
    world.check("customer say text=human => #3 nobody_to_ask");
    let route = &world.bodies[0]["route"];
    assert_eq!(route["routeDecision"]["to"], "human");
    assert_eq!(route["graphPath"], json!(["triage"]));
}

/// If a person can be asked, that happens in the same step; from then on the graph does not route.
#[test]
fn a_person_who_is_wanted_is_asked_at_once() {
    let anger = "customer say text=this_is_terrible_and_unacceptable";
    let wish = "customer say text=agent_please";
    for (lines, last) in [
        (vec![], "customer say text=human => #1 human_asked default@2 #2 requested queued"),
        (
            vec![format!("{anger} => #1 stayed")],
            &*format!("{anger} => #2 called_by=frustrated default@2 #3 requested queued"),
        ),
        (
            vec![format!("{wish} => #1 stayed"), format!("{wish} => #2 stayed")],
            &*format!("{wish} => #3 called_by=asked default@2 #4 requested queued"),
        ),
    ] {
        let mut world = world();
        world.queue = World::with_people().queue;
        world.check("shop open graph=support => bob@1");
        lines.iter().for_each(|line| world.check(line));
        world.check(last);
        let number = world.conversation().transcript.count + 1;
        world.check("bob say epoch=2 text=wait => not_holder");
        world.check(&format!("customer say text=refund => #{number}"));
    }
}

/// However a person came to hold the conversation, the graph does not route it away.
#[test]
fn a_person_is_never_routed_away() {
    let mut world = world();
    world.check("shop open graph=support => bob@1");
    let Some(State::Conversation(conversation)) = &mut world.state else { panic!("it is open") };
    std::sync::Arc::make_mut(conversation).holder = "hana".parse().expect("a name");
    world.check("customer say text=refund => #1");
    world.check("customer say text=this_is_terrible_and_unacceptable => #2");
    world.check("customer say text=this_is_terrible_and_unacceptable => #3");
    assert_eq!(world.conversation().holder.as_str(), "hana");
    assert_eq!(world.conversation().status(), Status::Open);
}

#[test]
fn anger_in_two_turns_calls_a_person() {
    let mut world = world();
    world.check("shop open graph=support => bob@1");
    world.check("customer say text=this_is_terrible_and_unacceptable => #1 stayed");
    let heard = &world.bodies[0]["signals"][0];
    assert_eq!(heard["signal"], "frustration");
    assert!(heard["score"].as_f64() > Some(0.7), "{heard}");
    world.check("customer say text=well => #2 stayed");
    assert!(world.bodies[0].get("signals").is_none());
    world.check("customer say text=this_is_terrible_and_unacceptable => #3 stayed");
    let again = "text=this_is_terrible_and_unacceptable";
    world.check(&format!("customer say {again} => #4 called_by=frustrated stayed"));
    assert_eq!(world.bodies[0]["escalation"]["reason"], "frustration above 0.7 for 2 turns");
    // The same turns do not call twice. No person came, so the graph routes again.
    world.check(&format!("customer say {again} => #5 stayed"));
    world.check("customer say text=refund => #6 carol@2 #7 graph");
}

#[test]
fn three_wishes_for_a_person_are_enough() {
    check(&[
        "shop open graph=support => bob@1",
        "customer say text=agent_please => #1 stayed",
        "customer say text=where_is_it => #2 stayed",
        "customer say text=Agent_please! => #3 stayed",
        "customer say text=agent_please => #4 called_by=asked stayed",
    ]);
}

/// Only customers' messages are scored, and only with a graph.
#[test]
fn only_customers_are_listened_to() {
    let mut world = world();
    world.check("shop open graph=support => bob@1");
    world.check("bob say epoch=1 text=this_is_terrible_human => #1");
    assert!(world.bodies[0].get("signals").is_none());
    world.check("customer say epoch=7 text=refund => #2 carol@2 #3 graph");
    world.check("customer say text=terrible => #4 bob@3 #5 graph");
    assert!(!world.conversation().signals.is_empty());
    world.check("operator erase position=2 => erased");
    assert!(world.conversation().signals.is_empty());
    let mut world = self::world();
    world.check("shop open agent=bob => bob@1");
    world.check("customer say text=this_is_terrible => #1");
    assert!(world.bodies[0].get("signals").is_none());
    assert!(world.conversation().signals.is_empty());
}

fn support() -> Value {
    json!({
        "entry": "triage",
        "intents": [{ "label": "refund", "patterns": [{ "keyword": "refund", "weight": 0.7 }] }],
        "signals": { "rules": [
            { "name": "frustrated", "signal": "frustration", "above": 0.7, "turns": 2 },
            { "name": "asked", "signal": "human_request", "above": 0.5, "turns": 3, "within": 10 }
        ] },
        "nodes": [
            { "id": "triage", "kind": "router", "default": "general", "rules": [
                { "goto": "human", "keywords": { "any": ["human"] } },
                { "goto": "refunds", "reason": "about money", "keywords": { "any": ["refund"] } },
                { "goto": "ghosts", "keywords": { "any": ["ghost"] } },
                { "goto": "people", "keywords": { "any": ["person"] } },
                { "goto": "special", "attributes": { "tier": { "equals": "gold" } } },
                { "goto": "special", "language": ["es"] }
            ] },
            { "id": "general", "kind": "specialist", "agent": "bob" },
            { "id": "refunds", "kind": "specialist", "agent": "carol" },
            { "id": "special", "kind": "specialist", "agent": "dora" },
            { "id": "ghosts", "kind": "specialist", "agent": "nobody" },
            { "id": "people", "kind": "specialist", "agent": "hana" }
        ]
    })
}

fn world() -> World {
    let mut world = World::new();
    world.save(&support());
    world
}

fn check(script: &[&str]) {
    let mut world = world();
    for line in script {
        world.check(line);
    }
}
