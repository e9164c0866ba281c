//! Random JSON, and valid JSON with one fault.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Number, Value};

#[derive(Debug, Clone)]
pub enum Mutation {
    Replace(usize, Value),
    Remove(usize),
    Add(usize, String, Value),
    Wrap(usize),
}

pub fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let place = any::<usize>();
    let mutation = prop_oneof![
        4 => (place, any_json()).prop_map(|(place, value)| Mutation::Replace(place, value)),
        2 => place.prop_map(Mutation::Remove),
        2 => (place, key(), any_json()).prop_map(|(place, key, value)| {
            Mutation::Add(place, key, value)
        }),
        1 => place.prop_map(Mutation::Wrap),
    ];
    vec(mutation, 0..4)
}

/// Any value, with a preference for edge cases.
pub fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|double| Number::from_f64(double).map_or(Value::Null, Value::Number)),
        (-200..200i64).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(key(), inner, 0..5).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,12}",
        "\\PC{0,40}",
        select(vec![
            "",
            " ",
            "alice",
            "bob",
            "router",
            "nobody",
            "worker",
            "T-1",
            "2026-02-21T14:00:00Z",
            "9999-12-31T23:59:59.999999999Z",
            "-271821-04-20T00:00:00Z",
            "01938c2e-0000-7000-8000-000000000001",
            "\u{202e}",
            "\u{1b}[2J",
            "\u{0}",
        ])
        .prop_map(str::to_owned),
        (0..400usize).prop_map(|n| "é".repeat(n)),
    ]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,10}",
        select(vec![
            "action",
            "from",
            "from_agent",
            "to_agent",
            "task",
            "context",
            "deadline",
            "return",
            "handoff_id",
            "artifacts",
            "thread_id",
            "limit",
            "cursor",
            "percent_complete",
            "roles",
            "expires_at",
        ])
        .prop_map(str::to_owned),
    ]
}

pub fn apply(mut value: Value, mutations: &[Mutation]) -> Value {
    for mutation in mutations {
        let pointers = pointers(&value);
        let at = |place: usize| pointers[place % pointers.len()].as_str();
        match mutation {
            Mutation::Replace(place, new) => *found(&mut value, at(*place)) = new.clone(),
            Mutation::Wrap(place) => {
                let inner = found(&mut value, at(*place));
                *inner = Value::Array(vec![inner.take()]);
            }
            Mutation::Remove(place) => {
                if let Some((outer, name)) = at(*place).rsplit_once('/')
                    && let Some(fields) = found(&mut value, outer).as_object_mut()
                {
                    fields.remove(&name.replace("~1", "/").replace("~0", "~"));
                }
            }
            Mutation::Add(place, key, new) => {
                if let Some(fields) = found(&mut value, at(*place)).as_object_mut() {
                    fields.insert(key.clone(), new.clone());
                }
            }
        }
    }
    value
}

fn found<'a>(value: &'a mut Value, pointer: &str) -> &'a mut Value {
    value.pointer_mut(pointer).expect("the pointers of a value lead into it")
}

/// Every place in a value.
fn pointers(value: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut add = |name: &str, inner: &Value| {
        let name = name.replace('~', "~0").replace('/', "~1");
        found.extend(pointers(inner).into_iter().map(|rest| format!("/{name}{rest}")));
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, inner)| add(name, inner)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, inner)| add(&index.to_string(), inner));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    found
}
