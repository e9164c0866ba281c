//! What a holder may do in one command: say parting words, change what is shared, hand over to an
//! agent or to people, or end it.

use serde_json::json;

use super::world::World;
use crate::conversation::command::{Command, Say, TurnAnswer};

const WORDS: &str = r#"parts=[{"type":"text","text":"Bye"}]"#;

fn check(lines: &[&str]) -> World {
    let mut world = World::with_people();
    for line in lines {
        world.check(&line.replace("WORDS", WORDS));
    }
    world
}

/// The customer reads them before the new holder speaks, and the new holder still has to answer.
#[test]
fn parting_words_are_said_before_the_bot_falls_silent() {
    let world = check(&[
        "shop open agent=bob => bob@1",
        "customer say => #1",
        "bob route goto=carol epoch=1 WORDS => #2 carol@2 #3",
    ]);
    assert_eq!(world.recorded, ["conversation.said", "conversation.routed"]);
    assert_eq!(world.bodies[0]["by"], json!({ "agent": "bob" }));
    assert_eq!((&world.bodies[0]["epoch"], world.bodies[0].get("in_reply_to")), (&json!(1), None));
    assert_eq!(world.conversation().turn.open(), Some(1));

    check(&[
        "shop open agent=bob => bob@1",
        "bob route goto=human epoch=1 WORDS => #1 default@2 #2 requested queued",
        "bob say epoch=1 => epoch_outdated",
    ]);
    // Nothing is said if the handoff is refused.
    let world = check(&[
        "shop open agent=bob => bob@1",
        "bob route goto=ghost epoch=1 WORDS => unknown_agent",
        "bob route goto=bob epoch=1 WORDS => schema_invalid",
        r#"bob route goto=carol epoch=1 parts=[{"type":"text","text":"_"}] => #1 carol@2 #2"#,
        r#"carol route goto=bob epoch=2 parts=[{"type":"text","text":""}] => schema_invalid"#,
    ]);
    assert_eq!(world.conversation().transcript.count, 2);
    // Words that come too late are recorded as any late answer.
    check(&[
        "shop open agent=bob => bob@1",
        "bob route goto=carol epoch=1 => carol@2 #1",
        "bob route goto=dora epoch=1 WORDS => epoch_outdated",
        "bob route goto=dora epoch=2 WORDS => not_holder",
        "dora route goto=bob epoch=2 WORDS => not_found",
        "customer route goto=carol epoch=1 WORDS => not_allowed",
    ]);
}

#[test]
fn goto_human_asks_for_a_person() {
    let world = check(&[
        "shop open agent=bob => bob@1",
        concat!(
            r#"bob route goto=human epoch=1 reason="r" context="c" customer_text="t" "#,
            r#"update={"a":1} => updated {"a":1} default@2 #1 requested queued"#
        ),
        "bob route goto=human epoch=2 => not_holder",
    ]);
    let transfer = world.conversation().transfer.as_deref().expect("a transfer");
    let terms = &transfer.terms;
    assert_eq!((terms.reason.as_str(), terms.customer_text.as_str()), ("r", "t"));
    let bundle = terms.bundle.as_ref().expect("a bundle");
    assert_eq!(bundle.transcript_summary.as_deref(), Some("c"));
    assert_eq!(terms.requested_by, "agent:bob");
    assert_eq!(world.conversation().shared, *json!({ "a": 1 }).as_object().expect("a map"));

    let mut world = World::new();
    for line in [
        "shop open agent=bob => bob@1",
        "bob route goto=human epoch=1 => no_default_queue",
        r#"bob route goto=human queue="vip" epoch=1 => unknown_agent"#,
        r#"bob route goto=carol queue="vip" epoch=1 => schema_invalid"#,
        r#"bob route queue="vip" epoch=1 => schema_invalid"#,
        "bob route goto=human end=true epoch=1 => schema_invalid",
    ] {
        world.check(line);
    }
    // No topology keeps an agent from asking for a person.
    let topology = r#"{"kind":"supervisor","supervisor":"router","workers":["bob","carol"]}"#;
    check(&[
        &format!("shop open agent=bob topology={topology} => bob@1"),
        "bob route goto=human epoch=1 => default@2 #1 requested queued",
    ]);
}

#[test]
fn an_update_needs_no_new_holder() {
    let world = check(&[
        "shop open agent=bob => bob@1",
        "customer say => #1",
        r#"bob route update={"a":1,"b":2} epoch=1 => updated {"a":1,"b":2}"#,
        r#"bob route update={"b":null} epoch=1 WORDS => #2 updated {"b":null}"#,
        "bob route epoch=1 WORDS => #3",
        "bob route epoch=1 => schema_invalid",
        r#"bob route epoch=1 reason="r" WORDS => schema_invalid"#,
        r#"bob route epoch=1 context="c" WORDS => schema_invalid"#,
        r#"bob route epoch=1 customer_text="c" WORDS => schema_invalid"#,
        r#"bob route update={"a":1} epoch=2 => epoch_outdated"#,
        r#"carol route update={"a":1} epoch=1 => not_found"#,
        r#"coord route update={"a":1} epoch=1 => not_holder"#,
    ]);
    assert_eq!(world.conversation().shared, *json!({ "a": 1 }).as_object().expect("a map"));
}

#[test]
fn a_command_may_end_the_conversation() {
    check(&[
        "shop open agent=bob => bob@1",
        "bob route end=true goto=carol epoch=1 => schema_invalid",
        r#"bob route end=true update={"a":1} epoch=1 WORDS => #1 updated {"a":1} closed"#,
        r#"bob route end=true reason="r" epoch=1 => conversation_closed"#,
    ]);
}

/// An endpoint that only speaks says a message as before; everything else is a command.
#[test]
fn what_an_endpoint_answers_is_a_command() {
    let read = |answer| serde_json::from_value::<TurnAnswer>(answer).expect("an answer");
    let parts = json!([{ "type": "text", "text": "Hi" }]);
    let said = read(json!({ "parts": parts })).command(3, Some(7));
    let Command::Say(Say { epoch, in_reply_to, .. }) = said else { panic!("{said:?}") };
    assert_eq!((epoch, in_reply_to), (Some(3), Some(7)));
    for more in [
        json!({ "goto": "carol" }),
        json!({ "goto": "human", "queue": "vip" }),
        json!({ "update": { "a": 1 } }),
        json!({ "end": true }),
        // Refused, but not ignored.
        json!({ "reason": "r" }),
    ] {
        let mut answer = json!({ "parts": parts });
        for (name, value) in more.as_object().expect("fields") {
            answer[name] = value.clone();
        }
        let command = read(answer).command(3, Some(7));
        let Command::Route(route) = command else { panic!("{command:?}") };
        assert_eq!((route.epoch, route.in_reply_to), (Some(3), Some(7)));
        assert_eq!(json!(route.goto), more.get("goto").cloned().unwrap_or_default());
        assert!(!route.parts.is_empty() && !route.is_for_person);
    }
}

/// Words of a holder that stays are its answer; parting words are not.
#[test]
fn words_answer_the_customer_only_if_the_holder_stays() {
    for (answer, open) in [
        (json!({ "update": { "a": 1 } }), None),
        (json!({ "goto": "carol" }), Some(1)),
        (json!({ "goto": "human" }), Some(1)),
    ] {
        let mut world = World::with_people();
        world.check("shop open agent=bob => bob@1");
        world.check("customer say => #1");
        let mut answer = answer.clone();
        answer["parts"] = json!([{ "type": "text", "text": "Hi" }]);
        let answer: TurnAnswer = serde_json::from_value(answer).expect("an answer");
        let command = answer.command(1, Some(1));
        let command = crate::step::Command::Conversation(command);
        world.submit("bob", command).expect("the holder may");
        assert_eq!(world.conversation().turn.open(), open);
    }
}
