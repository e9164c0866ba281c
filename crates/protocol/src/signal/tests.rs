//! The signals of messages, and when a person is called.

use proptest::prelude::*;
use serde_json::json;

use super::rules::TURNS_KEPT;
use super::score::hear;
use super::*;

fn example() -> EscalationRules {
    let example = include_bytes!("../../../../docs/examples/signals.json");
    serde_json::from_slice(example).unwrap()
}

#[test]
fn words_tell_how_somebody_feels() {
    use Polarity::{Negative, Neutral, Positive};
    let rows = [
        ("Where is my parcel?", 0.0, 0.0, Neutral),
        ("Thank you, that was great!", 0.0, 0.0, Positive),
        ("THANK YOU SO MUCH!!!", 0.4, 0.0, Positive),
        ("I am frustrated", 0.5, 0.0, Negative),
        ("This is ridiculous and a waste of time", 0.9, 0.0, Negative),
        ("That was not helpful", 0.5, 0.0, Negative),
        ("not at all helpful", 0.5, 0.0, Negative),
        ("No. That was helpful", 0.0, 0.0, Positive),
        ("thanks for nothing", 0.7, 0.0, Negative),
        ("THIS IS STILL NOT WORKING!!!", 0.7, 0.0, Negative),
        ("NASA", 0.0, 0.0, Neutral),
        ("what the fuck", 0.6, 0.0, Negative),
        ("Agent, please", 0.0, 0.0, Neutral),
        ("agent please", 0.0, 0.9, Neutral),
        ("I want to talk to a human", 0.0, 0.9, Neutral),
        ("I do not want to talk to a human", 0.0, 0.0, Neutral),
        ("Estoy harto, quiero hablar con una persona", 0.7, 0.9, Negative),
        ("No estoy contento", 0.5, 0.0, Negative),
        ("Das ist eine Unverschämtheit!", 0.7, 0.0, Negative),
        ("Ich bin nicht zufrieden", 0.5, 0.0, Negative),
        ("Ich möchte mit einem Menschen sprechen", 0.0, 0.9, Neutral),
        ("J\u{2019}en ai marre, je veux parler à un conseiller", 0.7, 0.9, Negative),
        ("オペレーターにつないでください", 0.0, 0.9, Neutral),
        ("最悪です。ふざけるな！！！", 0.9, 0.0, Negative),
        ("ありがとうございます", 0.0, 0.0, Positive),
        ("", 0.0, 0.0, Neutral),
    ];
    for (text, frustration, human_request, polarity) in rows {
        let heard = hear(text, None);
        let is_about = |score: f64, wanted: f64| (wanted..wanted + 0.1).contains(&(score + 1e-9));
        assert!(is_about(heard.human_request, human_request), "{text}: {heard:?}");
        match polarity {
            Positive => assert!(heard.frustration <= frustration, "{text}: {heard:?}"),
            Negative | Neutral => {
                assert!(is_about(heard.frustration, frustration), "{text}: {heard:?}");
            }
        }
        assert_eq!(heard.polarity, polarity, "{text}: {heard:?}");
    }
}

#[test]
fn a_known_language_is_listened_to_with_its_own_list() {
    // `sauer` is a German word of anger, and none in French.
    assert!(hear("sauer", Some("de-AT")).frustration > 0.0);
    assert!(hear("sauer", None).frustration > 0.0);
    assert_eq!(hear("sauer", Some("fr")).frustration, 0.0);
    assert!(hear("this is ridiculous", Some("fr")).frustration > 0.0, "people mix");
    let (strange, silent) = (hear("dobrý den", Some("cs")), hear("hello", Some("en")));
    assert!(strange.confidence < silent.confidence);
    assert!(silent.confidence < hear("ridiculous", Some("en")).confidence);
}

/// Sends messages and notes which rule calls when: `2:frustrated` after the second.
fn calls(rules: &EscalationRules, messages: &[&str]) -> Vec<String> {
    let mut state = SignalState::default();
    let mut calls = Vec::new();
    for (n, message) in (1..).zip(messages) {
        let observed = observe(state, rules, message, None);
        state = observed.state;
        calls.extend(observed.escalation.map(|call| format!("{n}:{}", call.rule)));
    }
    calls
}

#[test]
fn a_person_is_called_when_a_rule_holds() {
    let (angry, ask, calm) = ("this is ridiculous", "agent please", "hello");
    let rows: [(&[&str], &[&str]); 8] = [
        (&[angry], &[]),
        (&[angry, angry], &["2:frustrated"]),
        (&[angry, calm, angry], &[]),
        (&[angry, angry, angry], &["2:frustrated"]),
        (&[angry, angry, angry, angry], &["2:frustrated", "4:frustrated"]),
        (&[ask, ask], &[]),
        (&[ask, calm, ask, calm, calm, ask], &["6:asked_for_a_person"]),
        (&[calm; 40], &[]),
    ];
    for (messages, expected) in rows {
        assert_eq!(calls(&example(), messages), expected, "{messages:?}");
    }
    // Turns before the window do not count.
    let mut late = vec![ask, ask];
    late.extend([calm; 9]);
    late.push(ask);
    assert_eq!(calls(&example(), &late), [""; 0]);
}

#[test]
fn reasons_say_what_was_heard() {
    let rules: EscalationRules = serde_json::from_value(json!({ "rules": [
        { "name": "a", "signal": "profanity", "above": 0.5, "turns": 1, "within": 4 }] }))
    .unwrap();
    let call = observe(SignalState::default(), &rules, "bullshit", None).escalation.unwrap();
    assert_eq!(call.reason, "profanity above 0.5 in 1 of 4 turns");
}

#[test]
fn signals_have_the_names_that_clients_know() {
    let observed = observe(SignalState::default(), &example(), "agent please", None);
    let names: Vec<_> = observed.signals.iter().map(|heard| heard.signal.as_str()).collect();
    assert_eq!(names, ["frustration", "human_request"]);
    let part = observed.signals[1].part("s1".to_owned(), "m1".to_owned(), 0.1);
    let expected = json!({ "id": "s1", "signal": "human_request", "score": 0.9, "confidence": 0.75,
        "polarity": "neutral", "source": "rules", "latencyMs": 0.1, "attributedMessageId": "m1" });
    let mut shown = serde_json::to_value(part).unwrap();
    shown["score"] = json!((shown["score"].as_f64().unwrap() * 1e6).round() / 1e6);
    assert_eq!(shown, expected);
}

#[test]
fn mistakes_in_rules_are_named_with_their_field() {
    assert_eq!(example().problems(), []);
    let rules: EscalationRules = serde_json::from_value(json!({ "rules": [
        { "name": "a", "signal": "shouting", "above": 1.0, "turns": 0 },
        { "name": "a", "signal": "shouting", "above": -0.1, "turns": TURNS_KEPT + 1,
          "reason": "\n" },
        { "name": " ", "signal": "shouting", "above": 0.5, "turns": 3, "within": 2 },
        { "name": "d", "signal": "shouting", "above": 0.5, "turns": 3, "within": TURNS_KEPT + 1 },
    ] }))
    .unwrap();
    let told: Vec<_> = rules.problems().into_iter().map(|problem| problem.field).collect();
    let expected = [
        "rules[0].above",
        "rules[0].turns",
        "rules[1].name",
        "rules[1].reason",
        "rules[1].above",
        "rules[1].turns",
        "rules[2].name",
        "rules[2].within",
        "rules[3].within",
    ];
    assert_eq!(told, expected);
}

proptest! {
    #[test]
    fn any_message_is_heard(text in any::<String>(), language in "[a-z]{0,3}(-[A-Z]{2})?") {
        let observed = observe(SignalState::default(), &example(), &text, Some(&language));
        for heard in &observed.signals {
            prop_assert!((0.0..=1.0).contains(&heard.score), "{heard:?}");
            prop_assert!((0.0..=1.0).contains(&heard.confidence), "{heard:?}");
        }
    }

    /// The memory survives a JSON round trip, and never grows.
    #[test]
    fn what_is_remembered_is_small(messages in prop::collection::vec("\\PC{0,60}", 0..40)) {
        let mut state = SignalState::default();
        for message in &messages {
            state = observe(state, &EscalationRules::default(), message, None).state;
        }
        let json = serde_json::to_string(&state).unwrap();
        prop_assert!(json.len() < 80 * TURNS_KEPT, "{} bytes", json.len());
        prop_assert_eq!(serde_json::from_str::<SignalState>(&json).unwrap(), state);
    }
}
