//! The fuzz target of the reader, as a bounded property test: it answers any input, names the
//! place, and never accepts what the next reader would refuse.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use super::upstream::examples;
use crate::handshake::{Message, read_message};
use crate::read::{examine, read};

#[derive(Debug, Clone)]
enum Garbage {
    Text(String),
    /// An example with a few characters replaced, or cut.
    Changed(Index, Vec<(Index, char)>, Option<Index>),
}

fn garbage() -> impl Strategy<Value = Garbage> {
    let changed = (any::<Index>(), vec((any::<Index>(), piece()), 0..4), any::<Option<Index>>());
    prop_oneof![
        ".{0,200}".prop_map(Garbage::Text),
        "[\\{\\}\\[\\]\",:0-9.eE+\\\\u truefalsnl-]{0,60}".prop_map(Garbage::Text),
        changed.prop_map(|(example, changes, cut)| Garbage::Changed(example, changes, cut)),
        (any::<Index>(), vec((any::<Index>(), piece()), 0..3))
            .prop_map(|(example, changes)| Garbage::Changed(example, changes, None)),
    ]
}

fn piece() -> impl Strategy<Value = char> {
    let special: Vec<char> =
        "{}[]\",:0159.eE+-\\u \n\t\0tfn_é\u{202e}\u{2066}\u{e0041}𝒳".chars().collect();
    prop_oneof![proptest::sample::select(special), any::<char>()]
}

fn text_of(garbage: &Garbage, bases: &[String]) -> String {
    match garbage {
        Garbage::Text(text) => text.clone(),
        Garbage::Changed(example, changes, cut) => {
            let mut characters: Vec<char> = example.get(bases).chars().collect();
            for (at, character) in changes {
                let at = at.index(characters.len());
                characters[at] = *character;
            }
            if let Some(cut) = cut {
                characters.truncate(cut.index(characters.len()));
            }
            characters.into_iter().collect()
        }
    }
}

#[test]
fn whatever_comes_is_answered() {
    let bases: Vec<String> = examples().map(|example| example.to_string()).collect();
    let cases = if std::env::var_os("TASUKI_TEST_FULL").is_some() { 200_000 } else { 2_000 };
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(garbage in garbage())| {
        let text = text_of(&garbage, &bases);
        let alone = read(&text);
        let examined = examine(&text);
        prop_assert_eq!(alone.as_ref().ok(), examined.event.as_ref());
        prop_assert_eq!(alone.as_ref().err().map_or(&[][..], Vec::as_slice), &examined.flaws[..]);
        match read_message(&text) {
            Ok(message) => {
                let value: Value = serde_json::from_str(&text).expect("what is read is JSON");
                prop_assert!(value["type"].is_string());
                if let Message::Handshake(handshake) = &message {
                    let again = handshake.write();
                    let read_again = read_message(&again);
                    prop_assert_eq!(read_again.as_ref(), Ok(&message));
                }
            }
            Err(flaws) => {
                prop_assert!(!flaws.is_empty() && flaws.len() <= 64);
                for flaw in flaws {
                    let shown = flaw.to_string();
                    prop_assert!(!flaw.field.is_empty() && !flaw.expected.is_empty());
                    prop_assert!(!shown.chars().any(base::json::is_forbidden), "{}", shown);
                }
            }
        }
    });
}
