//! Documents that are broken in one place each, from a readable table.

use serde_json::{Map, Value, json};

use super::upstream::examples;
use crate::flaw::{Flaw, Tier};
use crate::handshake::read_message;
use crate::read::examine;

const TABLE: &str = include_str!("../../../tests/data/broken.txt");

/// The required number of refused documents.
const N_REFUSED_MIN: usize = 150;

#[test]
fn every_broken_document_is_refused_by_its_rule() {
    let mut n_refused = 0;
    let mut wrong = Vec::new();
    let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        let columns: Vec<&str> =
            line.split(" | ").map(|one| one.trim_matches([' ', '|'])).collect();
        let [base, edit, tier, ..] = columns[..] else { panic!("{line}") };
        let text = edited(&base_of(base), edit);
        let flaws = read_message(&text).err().unwrap_or_default();
        let is_event = text.contains("event_id");
        let warnings = if is_event { examine(&text).warnings } else { Vec::new() };
        let said: Vec<String> = match tier {
            "schema" | "spec" => flaws.iter().map(told).collect(),
            "warning" if flaws.is_empty() => warnings.iter().map(warned).collect(),
            "good" => flaws.iter().chain(&warnings).map(told).collect(),
            _ => flaws.iter().map(told).collect(),
        };
        let expected = if tier == "good" { Vec::new() } else { vec![columns[2..].join(" | ")] };
        if said != expected {
            wrong.push(format!("{line}\n    said: {said:?}"));
        }
        n_refused += usize::from(matches!(tier, "schema" | "spec"));
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(n_refused >= N_REFUSED_MIN, "only {n_refused}");
}

fn told(flaw: &Flaw) -> String {
    let tier = match flaw.tier {
        Tier::Schema => "schema",
        Tier::Spec => "spec",
        Tier::Session => "session",
    };
    format!("{tier} | {} | {}", flaw.rule, flaw.field)
}

fn warned(flaw: &Flaw) -> String {
    format!("warning | {} | {}", flaw.rule, flaw.field)
}

/// The last example of a type, or one of ours.
fn base_of(name: &str) -> Value {
    let of_type = |name: &str| {
        let mut example =
            examples().filter(|one| one["type"] == name).last().expect("each type has an example");
        if example.get("event_id").is_some() {
            example["localization_hints"] = json!({"primary_language": "en-US"});
        }
        example
    };
    let accepting = |risk: Value| {
        let mut base = of_type("aaep:agent.awaiting.confirmation");
        base["default_decision"] = json!("accept");
        base["risk_level"] = risk;
        let members = base.as_object_mut().expect("an event is an object");
        members.remove("reversibility");
        members.retain(|_, value| !value.is_null());
        base
    };
    match name {
        "accepting" => accepting(json!("medium")),
        "accepting at low risk" => accepting(json!("low")),
        "accepting at no risk" => accepting(Value::Null),
        "linked" => {
            let mut base = of_type("aaep:agent.session.started");
            base["@context"] = json!([crate::CONTEXT, crate::EXTENSION_CONTEXT]);
            base["extensions"] = json!({"tasuki": {"conversation_id": "c-1"}});
            base
        }
        "subscription.renegotiate" => json!({"type": name, "subscription_id": "sub_1",
            "capabilities": {"pace_wpm": 120}}),
        "subscription.close" => json!({"type": name, "subscription_id": "sub_1",
            "reason_code": "subscriber_shutdown", "reason_message": "Bye."}),
        "producer.manifest" => json!({"@context": crate::CONTEXT,
            "type": "aaep:producer.manifest", "agent_id": "planner",
            "aaep_versions_supported": ["1.0.0"], "conformance_levels_supported": [1, 2, 3],
            "transports_supported": ["sse"]}),
        name if name.starts_with("subscription.") || name.ends_with(".reply") => of_type(name),
        name => of_type(&format!("aaep:agent.{name}")),
    }
}

fn edited(base: &Value, edit: &str) -> String {
    if let Some((old, new)) = edit.split_once(" => ") {
        let (old, new) = (old.trim_matches('\''), new.trim_matches('\''));
        let text = base.to_string();
        assert!(text.contains(old), "{old} is not in {text}");
        return text.replacen(old, new, 1);
    }
    let mut document = base.clone();
    if let Some(path) = edit.strip_prefix("- ") {
        let (last, place) = place_of(&mut document, path);
        place.as_object_mut().expect("it is taken out of an object").remove(last).unwrap();
        return document.to_string();
    }
    let (path, value) = edit.split_once(" = ").expect("an edit has a form");
    // Numbers keep their notation.
    let (last, place) = place_of(&mut document, path);
    match last.split_once('[') {
        Some((name, index)) => {
            let index: usize = index.trim_end_matches(']').parse().unwrap();
            place[name][index] = json!("<edit>");
        }
        None => place[last] = json!("<edit>"),
    }
    document.to_string().replacen("\"<edit>\"", &value_of(value), 1)
}

/// The object that contains the last step of a path.
fn place_of<'v, 'p>(document: &'v mut Value, path: &'p str) -> (&'p str, &'v mut Value) {
    let Some((first, rest)) = path.split_once('.') else { return (path, document) };
    let next = match first.split_once('[') {
        Some((name, index)) => {
            let index: usize = index.trim_end_matches(']').parse().unwrap();
            &mut document[name][index]
        }
        None => &mut document[first],
    };
    if next.is_null() {
        *next = Value::Object(Map::new());
    }
    place_of(next, rest)
}

fn value_of(written: &str) -> String {
    let Some((name, size)) = written.strip_suffix(')').and_then(|call| call.split_once('(')) else {
        return written.to_owned();
    };
    let Ok(size) = size.parse::<usize>() else { return written.to_owned() };
    match name {
        "text" => json!("a".repeat(size)).to_string(),
        "wide" => json!("𝒳".repeat(size)).to_string(),
        "tags" => json!((0..size).map(|n| format!("en-x{n}")).collect::<Vec<_>>()).to_string(),
        "deep" => format!("{}{{}}{}", "{\"a\":".repeat(size - 1), "}".repeat(size - 1)),
        _ => written.to_owned(),
    }
}
