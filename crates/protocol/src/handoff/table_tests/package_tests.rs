//! The package: the same request always gives the same text, and any changed field changes the
//! hash.

use serde_json::{Value, json};

use super::script::World;
use crate::canonical;
use crate::handoff::package::{Package, hash_of_stored};

/// Every field that a package can have.
const FULL: &str = r#"sender initiate h1
    task.objective=Green task.priority=high task.deadline=+2h
    task.external_refs=[{"type":"workq_item","value":"workq:7","description":"d","version":"1"}]
    context.constraints=["c"] context.assumptions=["a"] context.open_questions=["q"]
    context.known_risks=["r"]
    work_state.status=in_progress work_state.percent_complete=12.5 work_state.completed_steps=["s"]
    work_state.branch=main work_state.worktree_path=/w work_state.test_status=failing
    artifacts=[{"artifact_id":"log","ref":{"type":"file","path":"/l","sha256":"SHA","description":"d","version":"1","size_bytes":7,"required":true}}]
    provenance={"related_sessions":["s1"],"decision_refs":["d1"]}
    policy={"classification":"restricted","requires_human_approval":true,"export_restrictions":["eu"],"visibility":"human-audit","sensitivity":"high","human_gate":"required"}
    reason=lunch thread_id=thread-7"#;

#[test]
fn a_package_has_one_text_and_one_hash() {
    let mut world = World::new();
    assert_eq!(world.play("sender initiate h1"), "proposed");
    let text = world.document("h1");
    assert_eq!(text, GOLDEN.lines().collect::<String>());
    let hash = canonical::hex(&hash_of_stored(&text).unwrap());
    assert_eq!(hash, "0d762045bb367e9f896dce2a227153088b6de56a6d0b6a8b3534d3a79d65528a");
    assert_eq!(world.handoffs["h1"].document_hash(), hash);
    let package: Package = serde_json::from_str(&text).unwrap();
    assert_eq!(package.seal().0, text, "sealing what is sealed changes nothing");
}

#[test]
fn another_spelling_is_not_what_was_sealed() {
    let text = full_package();
    let value: Value = serde_json::from_str(&text).unwrap();
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    for spelling in [pretty, text.replace("12.5", "1.25e1"), format!("{text} ")] {
        assert_ne!(spelling, text);
        assert_eq!(hash_of_stored(&spelling), None);
    }
}

#[test]
fn any_changed_field_changes_the_hash() {
    let text = full_package();
    let sealed: Value = serde_json::from_str(&text).unwrap();
    let mut paths = Vec::new();
    leaves(&sealed, String::new(), &mut paths);
    assert!(paths.len() > 45, "the package has every field: {paths:?}");
    let hash = hash_of_stored(&text).unwrap();
    for path in paths.iter().filter(|path| *path != "/verification/package_hash") {
        let mut changed = sealed.clone();
        let field = changed.pointer_mut(path).unwrap();
        *field = match field.clone() {
            Value::String(text) => json!(format!("{text}x")),
            Value::Bool(is_so) => json!(!is_so),
            Value::Number(number) => json!(number.as_f64().unwrap() + 1.0),
            Value::Null | Value::Array(_) | Value::Object(_) => panic!("{path} is no leaf"),
        };
        reseal(&mut changed);
        let changed = canonical::canonical(&changed);
        assert_ne!(hash_of_stored(&changed), Some(hash), "{path} was changed");
        let (parent, name) = path.rsplit_once('/').unwrap();
        let mut removed = sealed.clone();
        match removed.pointer_mut(parent).unwrap() {
            Value::Object(fields) => drop(fields.remove(name)),
            Value::Array(items) => items.clear(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                panic!("{parent} has no parts")
            }
        }
        reseal(&mut removed);
        let removed = canonical::canonical(&removed);
        assert_ne!(hash_of_stored(&removed), Some(hash), "{path} was removed");
    }
}

#[test]
fn what_only_the_server_knows_is_in_the_package() {
    let mut world = World::new();
    for line in ["sender initiate h1", "target accept h1", "target activate h1"] {
        world.play(line);
    }
    world.play("target complete h1");
    world.play("target initiate h2 to_agent=third");
    let package: Value = serde_json::from_str(&world.document("h2")).unwrap();
    assert_eq!(
        package["provenance"],
        json!({
            "handoff_chain": ["sender", "target"],
            "message_thread_refs": ["thread-01938c2e-0000-7000-8000-000000000002"],
            "origin_session": "session-of-target",
        })
    );
    assert_eq!(package["task"]["objective"], package["task"]["title"]);
}

fn full_package() -> String {
    let mut world = World::new();
    let line = FULL.replace("SHA", &"ab".repeat(32));
    assert_eq!(world.play(&line), "proposed");
    world.document("h1")
}

fn leaves(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| leaves(value, format!("{path}/{name}"), found));
        }
        Value::Array(items) => {
            let indexed = items.iter().enumerate();
            indexed.for_each(|(index, value)| leaves(value, format!("{path}/{index}"), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => found.push(path),
    }
}

/// Fixes the seal, so that the hash is compared and not the seal.
fn reseal(package: &mut Value) {
    let verification = package["verification"].as_object_mut().expect("an object");
    verification.remove("package_hash");
    let hash = canonical::sha256(&[canonical::canonical(package).as_bytes()]);
    package["verification"]["package_hash"] = canonical::hex(&hash).into();
}

/// One line, broken here to be readable. Another program computed the same hash.
const GOLDEN: &str = r#"
{"artifacts":[],
"context":{"summary":"The linker fails since Tuesday"},
"handoff_id":"01938c2e-0000-7000-8000-000000000001",
"policy":{"classification":"internal","requires_human_approval":false},
"protocol":"acp",
"provenance":{"handoff_chain":["sender"],"message_thread_refs":["thread-01938c2e-0000-7000-8000-000000000001"],"origin_session":"session-of-sender"},
"task":{"objective":"Mend the build","priority":"normal","success_criteria":["CI is green"],"task_id":"t1","title":"Mend the build"},
"thread_id":"thread-01938c2e-0000-7000-8000-000000000001",
"verification":{"package_hash":"0d762045bb367e9f896dce2a227153088b6de56a6d0b6a8b3534d3a79d65528a","schema_version":"1.0.0"},
"version":"1.0.0",
"work_state":{"next_step":"Bisect the lock file","status":"not_started"}}
"#;
