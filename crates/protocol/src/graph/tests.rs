//! Graphs are saved and removed: the allowed callers, and the results.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::caller::{Caller, Principal, Role};
use crate::ids::TeamspaceId;
use crate::step::Facts;

#[test]
fn each_save_is_a_version() {
    let coordinator = caller("coordinator");
    let mut state = None;
    for (command, expected) in [
        (Command::Remove, "not_found"),
        (save("bob", Some(1)), "revision_outdated"),
        (save("bob", Some(0)), "graph.saved 1"),
        (save("bob", None), "nothing"),
        (save("carol", Some(0)), "revision_outdated"),
        (save("carol", Some(1)), "graph.saved 2"),
        (Command::Remove, "graph.removed 0"),
        (Command::Remove, "nothing"),
        (save("carol", Some(2)), "revision_outdated"),
        (save("carol", Some(0)), "graph.saved 3"),
        (save("bob", None), "graph.saved 4"),
    ] {
        assert_eq!(run(&mut state, &command, &coordinator), expected, "{command:?}");
    }
    assert_eq!(run(&mut state, &save("carol", Some(4)), &caller("operator")), "graph.saved 5");
    for who in ["agent", "customer", "system"] {
        for command in [save("bob", None), Command::Remove] {
            assert_eq!(run(&mut state, &command, &caller(who)), "not_allowed", "{who}");
        }
    }
}

/// However a document is formatted, it is stored in one form, and its hash is that of the stored
/// form.
#[test]
fn a_version_is_kept_with_its_text() {
    let spelt = r#" {"nodes":[ {"kind":"specialist","agent":"bob","id":"only"}],"entry":"only"} "#;
    let checked = Arc::new(Checked::read(spelt.as_bytes()).expect("a sound graph"));
    let command = Command::Save { graph: Arc::clone(&checked), version: None };
    let (events, document) = asked(None, &command, &caller("operator")).expect("it is saved");
    let document = document.expect("a text");
    let expected = r#"{"entry":"only","nodes":[{"agent":"bob","id":"only","kind":"specialist"}]}"#;
    assert_eq!(document.text, expected);
    assert_eq!(document.hash, canonical::hex(&canonical::sha256(&[expected.as_bytes()])));
    let [Event::Saved(saved)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((&*saved.hash, saved.size_bytes), (&*document.hash, expected.len() as u64));
    assert_eq!((saved.n_routers, saved.n_specialists, saved.n_rules), (0, 1, 0));
    let ready = Ready::new("g".parse().unwrap(), 1, &document.text).expect("it was checked");
    assert_eq!(ready.compiled().first().map(|agent| agent.as_str()), Some("bob"));
}

#[test]
fn what_is_wrong_is_named() {
    let problems = Checked::read(br#"{"entry":"a","nodes":[]}"#).expect_err("there is no node");
    assert_eq!(problems[0].field, "entry");
}

/// `hana` is a human, and `zoe` does not exist.
fn asked(state: Option<&Graph>, command: &Command, caller: &Caller) -> Result<Decision, Rejection> {
    let kinds = [("bob", Kind::Worker), ("carol", Kind::Worker), ("hana", Kind::Human)];
    let kinds = kinds.map(|(name, kind)| (name.parse().unwrap(), kind)).into();
    let facts = Facts { kinds, ..Facts::default() };
    let now = "2026-02-21T14:00:00Z".parse().unwrap();
    decide(state, command, Context { caller, now, facts: &facts })
}

/// A kind never changes, so an agent of another kind can never answer.
#[test]
fn a_graph_that_can_never_work_is_refused() {
    let operator = caller("operator");
    assert_eq!(run(&mut None, &save("hana", None), &operator), "schema_invalid");
    assert_eq!(run(&mut None, &save("zoe", None), &operator), "graph.saved 1");
    let refused = asked(None, &save("hana", None), &operator).unwrap_err();
    assert_eq!(refused.to_string(), "nodes[0].agent: expected a worker; `hana` is a human");
}

fn run(state: &mut Option<Graph>, command: &Command, caller: &Caller) -> String {
    let events = match asked(state.as_ref(), command, caller) {
        Ok((events, _)) => events,
        Err(rejection) => return rejection.code().to_owned(),
    };
    let Some(event) = events.first() else { return "nothing".to_owned() };
    let next = evolve(state.take(), event).unwrap();
    let version = next.version();
    *state = Some(next);
    format!("{} {version}", event.name())
}

fn save(agent: &str, version: Option<u64>) -> Command {
    let nodes = json!([{ "id": "only", "kind": "specialist", "agent": agent }]);
    let text = json!({ "entry": "only", "nodes": nodes }).to_string();
    let graph = Arc::new(Checked::read(text.as_bytes()).expect("a sound graph"));
    Command::Save { graph, version }
}

fn caller(who: &str) -> Caller {
    let id = "root".parse().unwrap();
    let (principal, roles) = match who {
        "operator" => (Principal::Operator(id), BTreeSet::new()),
        "coordinator" => (Principal::Agent(id), BTreeSet::from([Role::Coordinator])),
        "customer" => (Principal::Customer(id), BTreeSet::new()),
        "system" => (Principal::System, BTreeSet::new()),
        _ => (Principal::Agent(id), BTreeSet::new()),
    };
    let teamspace = TeamspaceId::default_teamspace();
    Caller { teamspace, principal, roles, session: "test".to_owned() }
}
