//! Examples, changed at random in one to three places: the upstream schemas, ours and the reader
//! must agree on each.

use serde_json::{Map, Value, json};

use super::upstream::{Schemas, examples};
use super::{breaks_schema, flaws_of};
use crate::EVENT_BYTES_MAX;

const N_DOCUMENTS: u32 = 6_000;
const N_DOCUMENTS_FULL: u32 = 300_000;

#[test]
fn changed_examples_get_one_verdict_from_all() {
    let seed = std::env::var("TASUKI_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(0x5EED_AAE9);
    let is_full = std::env::var_os("TASUKI_TEST_FULL").is_some();
    let schemas = Schemas::load();
    let bases: Vec<Value> = examples().chain(without_upstream()).collect();
    let mut dice = Dice(seed);
    let (mut n_valid, mut n_invalid) = (0, 0);
    for _ in 0..if is_full { N_DOCUMENTS_FULL } else { N_DOCUMENTS } {
        let mut document = dice.one_of(&bases).clone();
        for _ in 0..dice.below(3) + 1 {
            if dice.below(3) == 0 {
                change(&mut document, &bases, &mut dice);
            } else {
                nudge(&mut document, &mut dice);
            }
        }
        if document.to_string().len() > EVENT_BYTES_MAX {
            continue;
        }
        let (upstream, ours) = schemas.verdicts(&document);
        let flaws = flaws_of(&document);
        let reader = !breaks_schema(&flaws);
        assert!(
            upstream.is_none_or(|upstream| upstream == ours) && ours == reader,
            "seed {seed}: upstream {upstream:?}, ours {ours}, reader {reader} {flaws:?}\n{document}"
        );
        if reader { n_valid += 1 } else { n_invalid += 1 }
    }
    assert!(n_valid > N_DOCUMENTS / 10 && n_invalid > N_DOCUMENTS / 10, "{n_valid} {n_invalid}");
}

/// Messages without an upstream schema.
fn without_upstream() -> [Value; 3] {
    [
        json!({"type": "subscription.renegotiate", "subscription_id": "sub_1",
            "capabilities": {"pace_wpm": 120}, "extensions": {"x": {}}}),
        json!({"type": "subscription.close", "subscription_id": "sub_1",
            "reason_code": "subscriber_shutdown", "reason_message": "Bye."}),
        json!({"@context": ["https://aaep-protocol.org/context/v1", "urn:tasuki:aaep:v1"],
            "type": "aaep:producer.manifest", "agent_id": "planner",
            "aaep_versions_supported": ["1.0.0"], "conformance_levels_supported": [1, 2, 3],
            "transports_supported": ["sse"], "languages_supported": ["en"], "contact": "us"}),
    ]
}

fn change(document: &mut Value, bases: &[Value], dice: &mut Dice) {
    let n_places = count(document);
    let mut place = dice.below(n_places);
    let strange = strange(dice);
    let other = dice.one_of(bases).clone();
    let what = dice.below(8);
    let chosen = at(document, &mut place).expect("there are as many places as were counted");
    match (what, chosen) {
        (0 | 1, Value::Object(members)) if !members.is_empty() => {
            let key = key_of(members, dice);
            members.remove(&key);
        }
        (2, Value::Object(members)) => {
            members.insert((*dice.one_of(&NAMES)).to_owned(), strange);
        }
        (3 | 4, Value::Object(members)) if !members.is_empty() => {
            let key = key_of(members, dice);
            members.insert(key, strange);
        }
        (5, Value::Object(members)) => {
            // A member of another message, which may or may not be known here.
            if let Some(others) = other.as_object().filter(|others| !others.is_empty()) {
                let key = key_of(others, dice);
                members.insert(key.clone(), others[&key].clone());
            }
        }
        (0 | 1, Value::Array(items)) if !items.is_empty() => {
            items.pop();
        }
        (2 | 3, Value::Array(items)) => items.push(strange),
        (4, Value::Array(items)) if !items.is_empty() => {
            let again = dice.one_of(items).clone();
            items.push(again);
        }
        (_, value) => *value = strange,
    }
}

/// A small change that often leaves the document valid.
fn nudge(document: &mut Value, dice: &mut Dice) {
    let n_places = count(document);
    let mut place = dice.below(n_places);
    let chosen = at(document, &mut place).expect("there are as many places as were counted");
    match chosen {
        Value::Null => {}
        Value::Bool(value) => *value = !*value,
        Value::Number(number) => {
            let moved = number.as_f64().unwrap_or(0.0) + [-1.0, 0.0, 0.5, 1.0][dice.below(4)];
            *chosen = json!(moved);
        }
        Value::String(text) => match dice.below(3) {
            0 => drop(text.pop()),
            1 => text.push('é'),
            _ => text.push('a'),
        },
        Value::Array(items) => items.reverse(),
        Value::Object(members) if dice.below(2) == 0 || members.is_empty() => {
            members.insert("note".to_owned(), json!({"text": "n"}));
        }
        Value::Object(members) => {
            let key = key_of(members, dice);
            members.remove(&key);
        }
    }
}

const NAMES: [&str; 12] = [
    "irreversible",
    "risk_level",
    "urgency",
    "language",
    "extensions",
    "localization_hints",
    "progress",
    "choices",
    "aaep_own",
    "note",
    "sequence_number",
    "packaged_context",
];

const TEXTS: [&str; 58] = [
    "",
    "x",
    "critical",
    "normal",
    "terse",
    "high",
    "medium",
    "low",
    "accept",
    "reject",
    "none",
    "irreversible",
    "2026-05-24T14:22:11Z",
    "2026-05-24t14:22:11.5z",
    "2026-02-30T00:00:00Z",
    "2026-05-24T24:00:00Z",
    "2026-12-31T23:59:60Z",
    "2026-12-31T22:59:60-01:00",
    "2026-05-24T23:58:60Z",
    "2026-05-24T14:22:11+23:59",
    "2026-05-24T14:22:11+24:00",
    "2026-05-24T14:22:11",
    "2026-05-24 14:22:11Z",
    "2024-02-29T00:00:00.123456789-00:00",
    "2026-05-24T14:22:11.Z",
    "https://example.org/a?b#c",
    "queue://x/y",
    "urn:a",
    "no uri",
    "https://[::1]:80/",
    "https://[::1",
    "http://a b",
    "http://ä.example",
    "a:%zz",
    "a:%20",
    "1a:b",
    "//host/path",
    "mailto:a@b",
    "http://u@h:8x/",
    "http://u:p@h:80/#f#g",
    "evt_1",
    "evt_a-b",
    "evt_a\n",
    "sess_é",
    "rpl_",
    "call_0",
    "out_0",
    "en",
    "en-",
    "EN-us-x-12345678",
    "abcdefghi",
    "1.2.3",
    "1.2",
    "1.2.3-",
    "1.2.3-a.b-c",
    "text/plain",
    "text/plain;charset=utf-8",
    "Latn",
];

/// A value at the edge of some rule.
fn strange(dice: &mut Dice) -> Value {
    match dice.below(12) {
        0 => Value::Null,
        1 => json!(dice.below(2) == 0),
        2 => json!([-1, 0, 1, 2, 3, 50, 100, 101, 1_000, 86_400, 86_401][dice.below(11)]),
        3 => json!([-0.0, 5.0, 1.5, 100.0, 100.1, 86_400_000.0, 1e15, -1.0, 0.3][dice.below(9)]),
        4 => json!([100_000_u64, 100_001, 86_400_001, 1 << 53, u64::MAX][dice.below(5)]),
        5 => json!([1e19, 1e30, -1e30, 1e300, 1.0][dice.below(5)]),
        6 => json!([]),
        7 => json!({}),
        8 => [json!([1, 1.0]), json!(["a", "b"]), json!({"a": {"b": []}}), json!([{}, []])]
            [dice.below(4)]
        .clone(),
        9 => {
            let lengths = [1, 8, 9, 64, 65, 256, 257, 1_024, 1_025, 4_096, 4_097, 16_384, 16_385];
            json!(dice.one_of(&["a", "é", "𝒳"]).repeat(*dice.one_of(&lengths)))
        }
        _ => json!(dice.one_of(&TEXTS)),
    }
}

fn key_of(members: &Map<String, Value>, dice: &mut Dice) -> String {
    let at = dice.below(members.len());
    members.keys().nth(at).expect("the place is one of them").clone()
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum::<usize>(),
        Value::Object(members) => members.values().map(count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn at<'v>(value: &'v mut Value, place: &mut usize) -> Option<&'v mut Value> {
    if *place == 0 {
        return Some(value);
    }
    *place -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| at(item, place)),
        Value::Object(members) => members.values_mut().find_map(|member| at(member, place)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// A random source that is the same everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    fn one_of<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        &items[self.below(items.len())]
    }
}
