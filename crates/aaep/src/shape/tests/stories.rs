//! What a listener gets, term by term: each row has the events with their times, and the deliveries
//! with theirs.

use super::*;
use crate::extension::{put_into_extension, take_from_extension};

/// Pushes all events at their times, polls whenever the shaper asks for it, and notes the
/// deliveries: the time in milliseconds, then the text, the percentage, the states or the type.
fn hear(terms: Value, script: impl FnOnce(&mut Producer) -> Vec<i64>) -> Vec<String> {
    let terms = honored(terms);
    let mut from = Producer::default();
    let times = script(&mut from);
    assert_eq!(times.len(), from.events.len(), "a time for each event");
    let mut shaper = Shaper::new(&terms, Cursor::default());
    let mut listener = Listener::default();
    let mut heard = Vec::new();
    let mut listen = |shaper: &mut Shaper, until: i64, now: &mut Time| {
        while let Some(next) = shaper.next_at(*now).filter(|next| *next < at(until)) {
            *now = next;
            while let Some(delivery) = shaper.poll(*now) {
                listener.hear(&delivery, &terms, &from, *now);
                heard.push(format!("{} {}", now.as_millis() - at(0).as_millis(), shown(&delivery)));
            }
        }
        *now = at(until);
    };
    let mut now = at(0);
    for (time, (event, cursor)) in times.iter().zip(&from.events) {
        listen(&mut shaper, *time, &mut now);
        shaper.push(event, *cursor, now);
        listen(&mut shaper, time + 1, &mut at(*time));
    }
    listen(&mut shaper, 1_000_000, &mut now);
    heard
}

fn shown(delivery: &Delivery) -> String {
    let document: Value = serde_json::from_str(delivery.body.text()).unwrap();
    let word = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
    let hint =
        document["coalesce_hint"].as_str().map_or(String::new(), |hint| format!(" ({hint})"));
    match word("type").strip_prefix("aaep:agent.").unwrap_or_default() {
        "output.streaming" => format!("{:?}{hint}", word("chunk")),
        "progress.updated" => format!("{}%", document["progress"]["percent"]),
        "state.changed" => format!("{}>{}", word("from_state"), word("to_state")),
        name => name.to_owned(),
    }
}

#[test]
fn text_is_held_until_a_boundary() {
    let say = |from: &mut Producer| {
        for chunk in ["I fo", "und it. Sh", "all I", " book?", " Yes"] {
            from.say("sess_1", "out_1", chunk);
        }
        from.chunk("sess_1", "out_1", "!", json!({"complete": true}));
        vec![0, 100, 200, 300, 400, 500]
    };
    let rows: &[(Value, &[&str])] = &[
        (
            json!(["sentence", "completion"]),
            &[
                "100 \"I found it. \" (sentence)",
                "300 \"Shall I book?\" (sentence)",
                "500 \" Yes!\" (completion)",
            ],
        ),
        (
            json!(["sentence"]),
            &[
                "100 \"I found it. \" (sentence)",
                "300 \"Shall I book?\" (sentence)",
                "500 \" Yes!\"",
            ],
        ),
        (
            json!(["word"]),
            &[
                "0 \"I \" (word)",
                "100 \"found it. \" (word)",
                "200 \"Shall \" (word)",
                "300 \"I \" (word)",
                "400 \"book? \" (word)",
                "500 \"Yes!\"",
            ],
        ),
        (json!(["completion"]), &["500 \"I found it. Shall I book? Yes!\" (completion)"]),
        (json!(["paragraph"]), &["500 \"I found it. Shall I book? Yes!\""]),
        (
            json!(["none"]),
            &[
                "0 \"I fo\"",
                "100 \"und it. Sh\"",
                "200 \"all I\"",
                "300 \" book?\"",
                "400 \" Yes\"",
                "500 \"!\"",
            ],
        ),
    ];
    for (boundaries, expected) in rows {
        assert_eq!(
            hear(json!({"coalesce_boundaries": boundaries}), say),
            *expected,
            "{boundaries}"
        );
    }
}

#[test]
fn nobody_is_left_in_silence() {
    let pause = hear(json!({}), |from| {
        from.say("sess_1", "out_1", "I am thinking");
        from.say("sess_1", "out_1", " still");
        vec![0, 1_500]
    });
    assert_eq!(pause, ["3500 \"I am thinking still\""], "the producer pauses in mid-sentence");

    let endless = hear(json!({}), |from| {
        (0..12).for_each(|_| from.say("sess_1", "out_1", "la "));
        (0..12).map(|n| n * 1_000).collect()
    });
    assert_eq!(endless[0], format!("10000 {:?}", "la ".repeat(11)), "a sentence without end");

    let tool = hear(json!({"coalesce_boundaries": ["completion"]}), |from| {
        from.say("sess_1", "out_1", "I look");
        from.tool("sess_1");
        from.say("sess_1", "out_1", " it up");
        from.progress("sess_1", 10);
        vec![0, 100, 200, 5_000]
    });
    let expected = ["100 \"I look\"", "100 tool.invoked", "7000 \" it up\"", "7000 10%"];
    assert_eq!(tool, expected, "a tool is not told before what led up to it");
}

#[test]
fn hints_of_the_producer() {
    let hinted = |hint: &'static str| {
        hear(json!({}), move |from| {
            from.chunk(
                "sess_1",
                "out_1",
                "Title",
                json!({"complete": false, "coalesce_hint": hint}),
            );
            vec![0]
        })
    };
    assert_eq!(hinted("sentence"), ["0 \"Title\" (sentence)"], "the producer knows better");
    assert_eq!(hinted("none"), ["2000 \"Title\""], "not announced alone");
    assert_eq!(hinted("paragraph"), ["2000 \"Title\""], "only what was negotiated is hinted");
}

#[test]
fn a_slow_listener_gets_the_newest() {
    let heard =
        hear(json!({"max_events_per_second": 1, "coalesce_boundaries": ["none"]}), |from| {
            from.progress("sess_1", 0);
            for n in 1..=5 {
                from.progress("sess_1", n);
                from.state("sess_1", &format!("s{n}"), &format!("s{}", n + 1));
            }
            from.tool("sess_1");
            from.progress("sess_1", 99);
            from.progress("sess_1", 100);
            from.critical("sess_1");
            vec![0; 15]
        });
    let expected =
        ["0 0%", "0 handoff.requested", "1000 5%", "2000 s1>s6", "3000 tool.invoked", "4000 100%"];
    assert_eq!(heard, expected);
}

#[test]
fn a_listener_who_takes_in_little() {
    let low = || json!({"cognitive_load": "low"});
    let heard = hear(low(), |from| {
        (0..=20).for_each(|n| from.progress("sess_1", n * 5));
        (0..=20).map(|n| n * 1_000).collect()
    });
    assert_eq!(heard, ["5000 25%", "10000 50%", "15000 75%", "20000 100%"]);
    let heard = hear(low(), |from| {
        from.state("sess_1", "idle", "thinking");
        from.state("sess_1", "thinking", "deciding");
        from.state("sess_1", "deciding", "calling_tool");
        vec![0, 500, 9_000]
    });
    assert_eq!(heard, ["2500 idle>deciding", "11000 deciding>calling_tool"], "states that last");
}

#[test]
fn the_next_text_waits_until_the_last_is_spoken() {
    let heard = hear(json!({"pace_wpm": 60}), |from| {
        from.say("sess_1", "out_1", "One two three. ");
        from.say("sess_1", "out_1", "Four. ");
        from.say("sess_1", "out_1", "Five. ");
        from.say("sess_2", "out_1", "Six. ");
        from.tool("sess_2");
        vec![0, 100, 200, 300, 400]
    });
    let expected = [
        "0 \"One two three. \"", // three seconds
        "400 \"Six. \"",         // a tool is not kept waiting
        "400 tool.invoked",
        "4000 \"Four. Five. \" (sentence)",
    ];
    assert_eq!(heard, expected);
}

#[test]
fn the_pace_holds_to_the_end_of_a_session() {
    let long = format!("{}. ", ["word"; 100].join(" "));
    let heard = hear(json!({"pace_wpm": 60}), |from| {
        from.say("sess_1", "out_1", "One two three. ");
        from.chunk("sess_1", "out_1", "Four five. ", json!({"complete": true}));
        from.event("sess_1", "session.completed", json!({"summary_normal": "Done."}));
        from.say("sess_2", "out_1", &long);
        from.chunk("sess_2", "out_1", "Last. ", json!({"complete": true}));
        from.event("sess_2", "session.completed", json!({"summary_normal": "Done."}));
        vec![0, 100, 200, 10_000, 10_100, 10_200]
    });
    let times: Vec<&str> = heard.iter().filter_map(|line| line.split(' ').next()).collect();
    let expected = ["0", "3000", "5000", "10000", "110000", "111000"];
    assert_eq!(times, expected, "{heard:?}");
}

#[test]
fn a_copy_says_what_it_is_made_of() {
    let terms = honored(json!({"languages": ["yo"], "cognitive_load": "low"}));
    let mut from = Producer::default();
    from.say("sess_1", "out_1", "One. Two");
    from.say("sess_1", "out_1", " three. ");
    let mut shaper = Shaper::new(&terms, Cursor::default());
    let mut document = |n: usize| -> Value {
        let (event, cursor) = &from.events[n];
        shaper.push(event, *cursor, at(0));
        let delivery = shaper.poll(at(0)).unwrap();
        assert_eq!(delivery.id.is_some(), n == 1, "resume only after what is whole");
        serde_json::from_str(delivery.body.text()).unwrap()
    };
    let (part, rest) = (document(0), document(1));
    let merged = |n: u32, first: &str| json!({"n_events": n, "first_event_id": first});
    assert_eq!(part["chunk"], "One. ");
    let mut expected = merged(0, "evt_0");
    expected["part_of"] = "evt_0".into();
    assert_eq!(part["extensions"]["tasuki"]["merged"], expected);
    assert_eq!((&rest["chunk"], &rest["position"]), (&json!("Two three. "), &json!(5)));
    assert_eq!(rest["event_id"], "evt_1");
    assert_eq!(rest["extensions"]["tasuki"]["merged"], merged(2, "evt_0"));
    assert_eq!(rest["@context"], json!([CONTEXT, "urn:tasuki:aaep:v1"]));
    assert!(part.get("sequence_number").is_none());

    from.event(
        "sess_1",
        "tool.invoked",
        json!({
            "tool": "pay", "summary_normal": "Paying the bill.", "summary_terse": "Paying.",
            "summary_normal_yo": "Mo ń sanwó.", "summary_detailed": "Paying the bill of 3 euros.",
        }),
    );
    let (event, cursor) = &from.events[2];
    shaper.push(event, *cursor, at(0));
    let told: Value = serde_json::from_str(shaper.poll(at(0)).unwrap().body.text()).unwrap();
    assert_eq!(told["summary_normal"], "Mo ń sanwó.");
    assert_eq!(told["summary_terse_en"], "Paying.");
    assert_eq!(told["localization_hints"]["primary_language"], "yo");
}

#[test]
fn an_event_is_told_at_the_length_that_was_asked_for() {
    let texts = json!({
        "tool": "pay", "summary_terse": "Paying.", "summary_normal": "Paying the bill.",
        "summary_detailed": "Paying the bill of 3 euros.", "summary_normal_yo": "Mo ń sanwó.",
        "summary_detailed_yo": "Mo ń san owó yúrò 3.",
    });
    for (terms, expected, detailed) in [
        (json!({}), "Paying the bill.", true),
        (json!({"preferred_verbosity": "normal"}), "Paying the bill.", true),
        (json!({"preferred_verbosity": "terse"}), "Paying.", false),
        (json!({"preferred_verbosity": "detailed"}), "Paying the bill of 3 euros.", true),
        (json!({"preferred_verbosity": "detailed", "cognitive_load": "low"}), "Paying.", false),
        (
            json!({"preferred_verbosity": "detailed", "languages": ["yo"]}),
            "Mo ń san owó yúrò 3.",
            true,
        ),
        // A summary that is missing in the listener's language is not replaced by one in another
        // language.
        (json!({"preferred_verbosity": "terse", "languages": ["yo"]}), "Mo ń sanwó.", true),
    ] {
        let mut from = Producer::default();
        from.event("sess_1", "tool.invoked", texts.clone());
        let mut shaper = Shaper::new(&honored(terms.clone()), Cursor::default());
        shaper.push(&from.events[0].0, from.events[0].1, at(0));
        let told: Value = serde_json::from_str(shaper.poll(at(0)).unwrap().body.text()).unwrap();
        assert_eq!(told["summary_normal"], expected, "{terms}");
        assert_eq!(told.get("summary_detailed").is_some(), detailed, "{terms}");
    }
}

#[test]
fn whoever_listens_gets_no_secrets_of_a_call() {
    for terms in [json!({}), json!({"coalesce_boundaries": ["none"]})] {
        for (args, expected) in [
            ("to: Maria, api_key=sk_live_4eC39HqLyjWD", "to: Maria, api_key=***"),
            ("to: Maria, 500 USD", "to: Maria, 500 USD"),
        ] {
            let mut from = Producer::default();
            let call = json!({"tool": "pay", "summary_normal": "Paying.", "args_summary": args});
            from.event("sess_1", "tool.invoked", call);
            let mut shaper = Shaper::new(&honored(terms.clone()), Cursor::default());
            shaper.push(&from.events[0].0, from.events[0].1, at(0));
            let delivery = shaper.poll(at(0)).unwrap();
            let told: Value = serde_json::from_str(delivery.body.text()).unwrap();
            assert_eq!(told["args_summary"], expected, "{terms}");
        }
    }
}

#[test]
fn an_event_that_overtakes_carries_no_id() {
    let terms = honored(json!({}));
    let mut from = Producer::default();
    from.say("sess_1", "out_1", "Half a");
    from.tool("sess_2");
    from.critical("sess_2");
    from.tool("sess_1");
    let mut shaper = Shaper::new(&terms, Cursor::default());
    let mut ids = Vec::new();
    for (event, cursor) in &from.events {
        shaper.push(event, *cursor, at(0));
        while let Some(delivery) = shaper.poll(at(0)) {
            ids.push((delivery.cursor.index, delivery.id.is_some()));
        }
    }
    assert_eq!(ids, [(1, false), (2, false), (0, true), (3, true)]);
}

#[test]
fn new_terms_hold_for_what_goes_out_next() {
    let (old, new) = (honored(json!({})), honored(json!({"coalesce_boundaries": ["none"]})));
    let mut from = Producer::default();
    from.say("sess_1", "out_1", "Half a");
    from.say("sess_1", "out_1", " sentence");
    let mut shaper = Shaper::new(&old, Cursor::default());
    shaper.push(&from.events[0].0, from.events[0].1, at(0));
    assert!(shaper.poll(at(0)).is_none());
    shaper.retune(&new, at(0));
    assert_eq!(shown(&shaper.poll(at(0)).unwrap()), "\"Half a\"");
    shaper.push(&from.events[1].0, from.events[1].1, at(0));
    assert_eq!(shown(&shaper.poll(at(0)).unwrap()), "\" sentence\"");
}

#[test]
fn what_is_said_in_our_extension_can_be_taken_back() {
    let of = |text: &str| -> serde_json::Map<String, Value> { serde_json::from_str(text).unwrap() };
    for text in [
        r#"{"@context":"https://aaep-protocol.org/context/v1","action":"Pay"}"#,
        r#"{"@context":["https://aaep-protocol.org/context/v1","urn:tasuki:aaep:v1"],
            "extensions":{"tasuki":{"action_hash":"aa"}}}"#,
        r#"{"@context":["https://aaep-protocol.org/context/v1","urn:x"],"extensions":{"x":{}}}"#,
    ] {
        let mut document = of(text);
        put_into_extension(&mut document, "due_at", "then".into());
        let said = &document["extensions"]["tasuki"]["due_at"];
        let contexts = document["@context"].as_array().unwrap();
        assert!(said == "then" && contexts.contains(&"urn:tasuki:aaep:v1".into()), "{document:?}");
        take_from_extension(&mut document, "due_at");
        assert_eq!(document, of(text));
    }
}
