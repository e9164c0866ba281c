//! How questions are asked in a terminal, and which answers count.

use serde_json::json;

use super::*;

fn question(kind: &str, more: &Value) -> Question {
    let mut event = json!({
        "type": format!("aaep:agent.awaiting.{kind}"), "event_id": "evt_1",
        "session_id": "sess_1", "timestamp": "2026-05-24T14:22:00Z", "timeout_seconds": 60,
        "producer": { "agent_id": "teller" },
    });
    for (name, value) in more.as_object().expect("an object") {
        event[name] = value.clone();
    }
    Question::of(&event, 1, Time::from_millis(0), Speech::new(None)).expect("it asks")
}

#[test]
fn only_what_was_meant_is_an_answer() {
    let decision = |it| Some(TypedAnswer::Decision(it));
    let text = |it: &str| Some(TypedAnswer::Response(Response::Text(it.to_owned())));
    let confirm = question("confirmation", &json!({}));
    let only_reject = question("confirmation", &json!({"allowed_replies": ["reject"]}));
    let only_accept = question("confirmation", &json!({"allowed_replies": ["accept"]}));
    let choices = json!({"accepted_response_kinds": ["multiple_choice"], "choices":
        [{"value": "b", "label": "Blue"}, {"value": "1", "label": "One"}]});
    let choice = question("clarification", &choices);
    let free = question("clarification", &json!({}));
    let yes_no = question("clarification", &json!({"accepted_response_kinds": ["yes_no"]}));
    let number = question("clarification", &json!({"accepted_response_kinds": ["numeric"]}));
    let truth = Some(TypedAnswer::Response(Response::Truth(true)));
    let twelve = Some(TypedAnswer::Response(Response::Number(12.into())));
    let cases = [
        (&confirm, "accept", decision(Decision::Accept)),
        (&confirm, " Reject ", decision(Decision::Reject)),
        (&confirm, "", None),
        (&confirm, "yes", None),
        (&confirm, "accept it", None),
        (&only_reject, "accept", None),
        (&only_accept, "reject", decision(Decision::Reject)),
        (&only_accept, "accept", decision(Decision::Accept)),
        (&choice, "2", text("1")),
        (&choice, "1", text("1")),
        (&choice, "b", text("b")),
        (&choice, "3", None),
        (&choice, "", None),
        (&free, "as you like", text("as you like")),
        (&free, " ", None),
        (&yes_no, "Yes", truth),
        (&yes_no, "perhaps", None),
        (&number, "12", twelve),
        (&number, "a dozen", None),
    ];
    for (question, typed, expected) in cases {
        assert_eq!(question.answer(typed).ok(), expected, "{typed:?}");
    }
}

#[test]
fn whoever_comes_late_hears_how_it_stands() {
    let asked = |ours: Value| question("confirmation", &json!({"extensions": {"tasuki": ours}}));
    let cases = [
        (json!({}), 60_000, "URGENT teller asks, question 1"),
        (json!({"seconds_left": 12}), 12_000, "URGENT teller asks, question 1"),
        (json!({"seconds_left": 600}), 60_000, "URGENT teller asks, question 1"),
        (json!({"settled": "answered"}), 60_000, "teller asked, and somebody has answered"),
        (json!({"settled": "timed_out"}), 60_000, "teller asked, and nobody answered in time"),
    ];
    for (ours, due, expected) in cases {
        let question = asked(ours);
        let lines = question.told(Time::from_millis(0));
        assert_eq!((question.due, lines[0].as_str()), (Time::from_millis(due), expected));
        let is_timed = lines.iter().any(|line| line.starts_with("  Seconds left:"));
        assert_eq!(is_timed, question.settled().is_none(), "{lines:?}");
    }
}

#[test]
fn all_that_bears_on_the_decision_is_told() {
    let now = Time::from_millis(0);
    let cases = [
        (json!({"irreversible": true, "reversibility": "reversible"}), "  This cannot be undone."),
        (json!({"irreversible": false}), "  This can be undone."),
        (json!({"reversibility": "reversible"}), "  This can be undone."),
        (
            json!({"irreversible": false, "reversibility": "reversible_with_effort"}),
            "  This can be undone, with effort.",
        ),
        (json!({}), "  Whether this can be undone is not said."),
        (json!({"extra_context": {"to": "Maria\u{1b}"}}), "  Also, to: Maria\u{fffd}"),
        (json!({"extra_context": {"amount": 500}}), "  Also, amount: 500"),
        (json!({"extensions": {"tasuki": {"texts_in": "en"}}}), "  Language of these texts: en"),
        (
            json!({"summary_normal": "Zahlt", "extensions": {"tasuki": {"texts_in": "en"}}}),
            "  In short: Zahlt",
        ),
    ];
    for (more, expected) in cases {
        let lines = question("confirmation", &more).told(now);
        assert!(lines.iter().any(|line| line == expected), "{expected} in {lines:?}");
    }
    let many: serde_json::Map<_, _> =
        (0..10).map(|at| (at.to_string(), "x".repeat(1_000).into())).collect();
    let lines = question("confirmation", &json!({"extra_context": many})).told(now);
    assert!(lines.iter().all(|line| line.len() < 300) && lines.len() < 16, "{lines:?}");
    assert!(lines.contains(&"  Also: 2 more, which --json shows".to_owned()), "{lines:?}");
    let unknown = json!({"extensions": {"tasuki": {"texts_in": "und"}}});
    let told = question("confirmation", &unknown).told(now).join(" ");
    assert!(!told.contains("Language"), "an unknown language is not named: {told}");
    let hashed = json!({"summary_normal": "Pays", "action": "Pay",
        "extensions": {"tasuki": {"action_hash": "5eed"}}});
    let told = question("confirmation", &hashed).told(now).join(" ");
    assert!(!told.contains("5eed") && !told.contains("Pays"), "once, and no hash: {told}");
}

#[test]
fn the_time_is_what_is_left() {
    let asked = question("confirmation", &json!({"default_decision": "reject"}));
    for (now_ms, expected) in [(0, "60"), (900, "60"), (1_000, "59"), (59_999, "1"), (70_000, "0")]
    {
        let line = asked.time_left(Time::from_millis(now_ms));
        assert_eq!(line, format!("Seconds left: {expected}. Then it is rejected."));
    }
}

#[test]
fn a_listener_is_asked_in_their_language() {
    let ours = json!({"translations": {"de": {"question": "Wann?", "choices": {"b": "Blau"}}}});
    let event = json!({
        "type": "aaep:agent.awaiting.clarification", "timeout_seconds": 60,
        "question": "When?", "producer": { "agent_id": "teller" },
        "accepted_response_kinds": ["multiple_choice"],
        "choices": [{"value": "b", "label": "Blue"}], "extensions": {"tasuki": ours},
    });
    let now = Time::from_millis(0);
    let german = Question::of(&event, 1, now, Speech::new(Some("de"))).expect("it asks");
    let expected = "DRINGEND teller fragt, Frage 1\n  Frage: Wann?\n  1: Blau\n  \
                    Noch Sekunden: 60.\n  Zum Antworten #1 und die Nummer oder den Namen \
                    einer Auswahl eintippen";
    assert_eq!(german.asked(now).join("\n"), expected);
}

/// Labels in the listener's language, from the agent itself or as a translation. The value is the
/// agent's own name for a choice, and is not shown.
#[test]
fn a_choice_is_shown_by_its_label_and_taken_by_any_of_its_names() {
    let own = json!([{"value": "blue", "label": "Blau"}, {"value": "green", "label": "Grün"}]);
    let english = json!([{"value": "blue", "label": "Blue"}, {"value": "green", "label": "Green"}]);
    let labels = json!({"choices": {"blue": "Blau", "green": "Grün"}});
    for (choices, labels) in [(own, json!({})), (english, labels)] {
        let event = json!({
            "type": "aaep:agent.awaiting.clarification", "timeout_seconds": 60,
            "accepted_response_kinds": ["multiple_choice"], "choices": choices,
            "extensions": {"tasuki": {"translations": {"de": labels}}},
        });
        let now = Time::from_millis(0);
        let german = Question::of(&event, 1, now, Speech::new(Some("de"))).expect("it asks");
        let told = german.told(now);
        assert_eq!(told[1..3], ["  1: Blau", "  2: Grün"]);
        for typed in ["2", "Grün", "grün", "GRÜN", "green", "Green"] {
            let answer = german.answer(typed).expect(typed);
            assert_eq!(
                answer,
                TypedAnswer::Response(Response::Text("green".to_owned())),
                "{typed}"
            );
            assert_eq!(german.shown(&answer), "Grün");
        }
        let expected = "Frage 1: bitte #1 und die Nummer oder den Namen einer Auswahl eintippen";
        assert_eq!(german.answer("rot"), Err(expected.to_owned()));
    }
}
