//! What the holder is told at its endpoint. `erin` and `eve` have one, the others do not.

use serde_json::{Value, json};

use super::world::World;
use crate::conversation::Event;
use crate::conversation::told::MESSAGES_MAX;
use crate::conversation::transcript_line::TranscriptLine;
use crate::conversation::turn_delivery::REACHED_WITHIN;
use crate::ids::TeamspaceId;
use crate::{step, transfer};

/// Lines of a script; `? a/b` says which pieces are being delivered, by epoch and numbers.
fn check(lines: &[&str]) {
    check_in(World::new(), lines);
}

fn check_in(mut world: World, lines: &[&str]) {
    for line in lines {
        match line.strip_prefix("? ") {
            Some(expected) => assert_eq!(on_its_way(&world), expected, "{lines:#?}"),
            None if *line == "later" => world.now = world.now.plus(REACHED_WITHIN),
            None => world.check(line),
        }
    }
}

fn on_its_way(world: &World) -> String {
    let conversation = world.conversation();
    let effects = conversation.effects();
    let turns = effects.iter().map(|effect| conversation.turn_of(&effect.name).expect("wanted"));
    let shown: Vec<_> = turns
        .map(|turn| {
            let answers = turn.in_reply_to.map(|number| format!(" answers {number}"));
            let answers = answers.unwrap_or_default();
            format!("{}@{} {}-{}{answers}", turn.agent, turn.epoch, turn.after + 1, turn.through)
        })
        .collect();
    if shown.is_empty() { "nothing".to_owned() } else { shown.join(", ") }
}

#[test]
fn who_has_an_endpoint_is_told_each_turn_and_others_are_not() {
    check(&[
        "shop open agent=bob => bob@1",
        "customer say => #1",
        "? nothing",
        "bob route goto=erin epoch=1 => erin@2 #2 told",
        "? erin@2 1-2 answers 1",
        "system delivered epoch=2 through=2 => delivered",
        "system delivered epoch=2 through=2 => nothing",
        "? nothing",
        "erin say epoch=2 in_reply_to=1 => #3",
        "customer say => #4",
        "? erin@2 4-4 answers 4",
        "system delivered epoch=2 through=4 => delivered",
        "erin route goto=bob epoch=2 => bob@3 #5",
        "? nothing",
    ]);
    check(&[
        "shop open agent=erin => erin@1",
        "? nothing",
        "customer say => #1",
        "? erin@1 1-1 answers 1",
        "customer select agent=bob => bob@2 #2 user_selection",
        "? nothing",
        "system delivered epoch=1 through=1 => nothing",
        "customer select agent=erin => erin@3 #3 user_selection told",
        "? erin@3 1-3 answers 1",
        "customer close => closed",
        "? nothing",
        "system delivered epoch=3 through=3 => nothing",
    ]);
}

/// A piece stays as it is until it is delivered; newer messages form the next one.
#[test]
fn what_is_said_meanwhile_comes_after_and_nothing_is_left_out() {
    check(&[
        "shop open agent=erin => erin@1",
        "customer say => #1",
        "customer say => #2",
        "customer say => #3",
        "? erin@1 1-1",
        "system delivered epoch=1 through=1 => delivered",
        "? erin@1 2-3 answers 3",
        "system delivered epoch=1 through=1 => nothing",
        "system delivered epoch=1 through=3 => delivered",
        "? nothing",
    ]);
    let mut world = World::new();
    world.check("shop open agent=bob => bob@1");
    let n_said = 2 * MESSAGES_MAX + 3;
    for number in 1..=n_said {
        world.check(&format!("customer say => #{number}"));
    }
    let told = format!("bob route goto=erin epoch=1 => erin@2 #{} told", n_said + 1);
    world.check(&told);
    let mut after = 0;
    for through in [MESSAGES_MAX, 2 * MESSAGES_MAX, n_said + 1] {
        let shown = on_its_way(&world);
        assert!(shown.starts_with(&format!("erin@2 {}-{through}", after + 1)), "{shown}");
        world.check(&format!("system delivered epoch=2 through={through} => delivered"));
        after = through;
    }
    assert_eq!(on_its_way(&world), "nothing");
}

#[test]
fn whoever_answers_knows_what_it_answers() {
    check(&[
        "shop open agent=erin => erin@1",
        "customer say => #1",
        "erin say epoch=1 => #2",
        "? erin@1 1-1 answers 1",
        "erin say epoch=1 in_reply_to=1 => #3",
        "? nothing",
        "customer say => #4",
        "customer say => #5",
        "customer say => #6",
        "? erin@1 4-4",
        "erin say epoch=1 in_reply_to=4 => #7",
        "? erin@1 5-6 answers 6",
        "erin say epoch=1 in_reply_to=6 => #8",
        "? nothing",
    ]);
}

/// An answered message is told to the next holder, and is not to be answered again.
#[test]
fn the_next_holder_is_told_the_turn_in_any_case() {
    check(&[
        "shop open agent=bob => bob@1",
        "customer say => #1",
        "bob say epoch=1 in_reply_to=1 => #2",
        "bob route goto=erin epoch=1 => erin@2 #3 told",
        "? erin@2 1-3",
        "erin route goto=eve epoch=2 => eve@3 #4 told",
        "? eve@3 1-4",
    ]);
}

const LED: &str = r#"{"kind":"supervisor","supervisor":"SUPER","workers":["bob","erin"]}"#;

fn led_by(supervisor: &str) -> String {
    LED.replace("SUPER", supervisor)
}

#[test]
fn a_turn_that_does_not_arrive_in_time_goes_to_the_supervisor() {
    for (supervisor, told) in [("router", ""), ("eve", " told")] {
        check(&[
            &format!("shop open agent=erin topology={} => erin@1", led_by(supervisor)),
            "customer say => #1",
            "system not_delivered epoch=1 through=1 => nothing",
            "? erin@1 1-1 answers 1",
            "later",
            "system not_delivered epoch=2 through=1 => nothing",
            "system not_delivered epoch=1 through=1 => \
             unreached SUPER@2 #2 supervisor_routingTOLD"
                .replace("SUPER", supervisor)
                .replace("TOLD", told)
                .as_str(),
            "erin say epoch=1 in_reply_to=1 => epoch_outdated",
        ]);
    }
}

#[test]
fn without_a_supervisor_a_person_has_it_next() {
    let lines = [
        "shop open agent=erin => erin@1",
        "customer say => #1",
        "later",
        "system not_delivered epoch=1 through=1 => unreached default@2 #2 requested queued",
        "? nothing",
        "erin say epoch=1 in_reply_to=1 => epoch_outdated",
    ];
    check_in(World::with_people(), &lines);
}

/// The same as for a silent bot, and none is asked twice.
#[test]
fn the_fallbacks_of_a_graph_have_it_next() {
    let mut world = World::with_people();
    let steps = json!([{ "agent": "fresh" }, { "agent": "eve" }, { "agent": "erin" }]);
    world.save(&json!({
        "entry": "erin",
        "nodes": [{ "id": "erin", "kind": "specialist", "agent": "erin" }],
        "silence": { "answer_within": "0s", "fallback": steps },
    }));
    check_in(
        world,
        &[
            "shop open graph=support => erin@1",
            "customer say => #1 stayed",
            "later",
            "system not_delivered epoch=1 through=1 => unreached eve@2 #2 no_answer told",
            "? eve@2 1-2 answers 1",
            "later",
            "system not_delivered epoch=2 through=2 => unreached default@3 #3 requested queued",
        ],
    );
}

/// The holder stays, and the next message is delivered with the undelivered ones.
#[test]
fn without_a_supervisor_it_is_recorded_and_tried_again_with_the_next_message() {
    check(&[
        "shop open agent=erin => erin@1",
        "customer say => #1",
        "later",
        "system not_delivered epoch=1 through=1 => unreached",
        "? nothing",
        "customer say => #2",
        "? erin@1 1-2 answers 2",
        "system not_delivered epoch=1 through=2 => nothing",
        "system delivered epoch=1 through=2 => delivered",
    ]);
    check(&[
        &format!("shop open agent=eve topology={} => eve@1", led_by("eve")),
        "customer say => #1",
        "later",
        "system not_delivered epoch=1 through=1 => unreached",
    ]);
}

/// The loop guard routes it to a supervisor that has an endpoint.
#[test]
fn a_supervisor_that_steps_in_is_told() {
    let led = led_by("eve");
    check(&[
        &format!("shop open agent=bob hops_max=1 topology={led} => bob@1"),
        "bob route goto=erin graph=parent epoch=1 => erin@2 #1 told",
        "erin route goto=bob graph=parent epoch=2 => eve@3 #2 instead_of=bob told",
        "? eve@3 1-2",
    ]);
}

#[test]
fn only_the_server_says_what_was_delivered() {
    for who in ["bob", "shop", "customer", "operator", "coord"] {
        check(&[
            "shop open agent=erin => erin@1",
            "customer say => #1",
            &format!("{who} delivered epoch=1 through=1 => not_allowed"),
            &format!("{who} not_delivered epoch=1 through=1 => not_allowed"),
        ]);
    }
    let command = crate::conversation::Command::Delivered { epoch: 1, through: 1 };
    let refused = World::new().submit("system", step::Command::Conversation(command));
    assert_eq!(refused.expect_err("there is none").code(), "not_found");
}

/// The bot that gets it back is not told what people wrote to each other.
#[test]
fn no_note_and_no_whisper_is_told_at_an_endpoint() {
    let mut world = World::new();
    world.check("shop open agent=erin => erin@1");
    world.check("customer say => #1");
    let conversation = world.conversation();
    let effects = conversation.effects();
    let turn = conversation.turn_of(&effects[0].name).expect("wanted");
    let transfer = "01938c2e-0000-7000-9000-000000000001";
    let noted = |whispered: bool| {
        let body = json!({ "holder": "hana", "transfer": transfer, "number": 1,
                           "by": "agent:hana", "whispered": whispered, "text": "hush" });
        transfer::Event::Noted(serde_json::from_value(body).expect("a note"))
    };
    let over = json!({ "holder": "hana", "transfer": transfer, "outcome": "completed",
                       "to": "erin", "epoch": 4, "number": 3, "reason": "settled",
                       "summary": "refunded" });
    let over = transfer::Event::Over(serde_json::from_value(over).expect("an end"));
    let events = [noted(false), noted(true), over].map(Event::Transfer);
    let lines: Vec<TranscriptLine> = (1..)
        .zip(events)
        .map(|(number, event)| TranscriptLine {
            number,
            at: world.now,
            actor: "agent:hana".to_owned(),
            event: Some(event),
        })
        .collect();
    let body = turn.body(&TeamspaceId::default_teamspace(), world.now, &lines, None);
    let body: Value = serde_json::from_str(&body).expect("JSON");
    assert!(!body.to_string().contains("hush"), "{body}");
    assert_eq!(body["data"]["messages"].as_array().expect("a list").len(), 1, "{body}");
    let told = &body["data"]["messages"][0]["transfer"];
    assert_eq!((&told["summary"], &told["reason_by"]), (&json!("refunded"), &json!("agent")));
}
