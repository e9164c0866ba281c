//! A bot that does not answer, and one that promises a transfer and does not do it. `? SPAN` says
//! how long the holder has left; `+SPAN` lets time pass.

use serde_json::{Value, json};

use super::world::World;
use crate::conversation::answer_within::ANSWER_WITHIN_OFF;
use crate::conversation::customer_text::of_silence;
use crate::conversation::event::Event;
use crate::conversation::silence::SILENT;
use crate::conversation::wait::EXTENDED_MAX;
use crate::narrator::texts::catalogues;
use crate::time::Span;
use crate::{codec, step};

pub(super) fn check_in(mut world: World, lines: &[&str]) -> World {
    for line in lines {
        match (line.strip_prefix("? "), line.strip_prefix('+')) {
            (Some(expected), _) => assert_eq!(left(&world), expected, "{lines:#?}"),
            (None, Some(span)) => {
                world.now = world.now.plus(span.parse().expect("a span"));
            }
            (None, None) => world.check(line),
        }
    }
    world
}

/// The time until the deadline, as the store has it.
pub(super) fn left(world: &World) -> String {
    let state = world.state.as_ref().expect("a conversation");
    let armed = step::deadlines(state).into_iter().find(|deadline| deadline.name == SILENT);
    armed.map_or_else(|| "off".to_owned(), |it| it.due.since(world.now).to_string())
}

#[test]
fn a_bot_that_answers_keeps_the_conversation() {
    check_in(
        World::with_people(),
        &[
            "shop open agent=bob => bob@1",
            "? off",
            "customer say => #1",
            "? 1m",
            // A second message does not give the bot more time.
            "+20s",
            "customer say => #2",
            "? 40s",
            "bob say epoch=1 => #3",
            "? off",
            // An answer to the first of two messages leaves the second one.
            "customer say => #4",
            "+5s",
            "customer say => #5",
            "bob say epoch=1 in_reply_to=4 => #6",
            "? 1m",
            "bob say epoch=1 in_reply_to=5 => #7",
            "? off",
            "customer say => #8",
            "customer close => closed",
            "? off",
        ],
    );
}

#[test]
fn a_silent_bot_loses_it_to_people_and_its_late_answer_is_not_heard() {
    check_in(
        World::with_people(),
        &[
            "shop open agent=bob => bob@1",
            "customer say => #1",
            "system miss_answer => nothing",
            "bob miss_answer => not_allowed",
            "+60s",
            "system miss_answer => default@2 #2 silent owed=\"answer\" \
             next={\"queue\":\"default\"} default@2 #3 requested queued",
            "? off",
            "system miss_answer => nothing",
            "bob say epoch=1 in_reply_to=1 => epoch_outdated",
        ],
    );
}

#[test]
fn without_anyone_to_ask_the_customer_is_told_once() {
    let told = "system miss_answer => bob@1 #2 silent owed=\"answer\" next=\"nothing\" alone";
    check_in(
        World::new(),
        &[
            "shop open agent=bob => bob@1",
            "customer say => #1",
            "+60s",
            told,
            "? off",
            "system miss_answer => nothing",
            // The bot still has it, and may answer late.
            "bob say epoch=1 in_reply_to=1 => #3",
            "customer say => #4",
            "? 1m",
        ],
    );
}

#[test]
fn a_sign_of_work_gives_more_time_but_not_for_ever() {
    let mut world = check_in(
        World::with_people(),
        &[
            "shop open agent=bob => bob@1",
            "bob show_progress epoch=1 => nothing",
            "customer say => #1",
            "bob show_progress epoch=1 => nothing",
            "+29s",
            "bob show_progress epoch=1 => nothing",
            "+1s",
            "bob show_progress => extended",
            "? 1m",
            "bob show_progress epoch=1 => nothing",
            "carol show_progress epoch=1 => not_found",
            "bob show_progress epoch=2 => epoch_outdated",
            "customer show_progress => not_allowed",
        ],
    );
    let mut n_extended = 0;
    for _ in 0..1_000 {
        world.now = world.now.plus(Span::from_millis(1_000));
        n_extended += usize::from(world.line("bob show_progress epoch=1") == "extended");
    }
    let n_extended = i64::try_from(n_extended).expect("at most 1,000");
    assert_eq!(n_extended, 2 * EXTENDED_MAX - 3);
    let lines = "system miss_answer => default@2 #2 silent owed=\"answer\" \
                 next={\"queue\":\"default\"} default@2 #3 requested queued";
    check_in(world, &[lines]);
}

#[test]
fn the_limit_is_that_of_the_agent_the_graph_the_teamspace_or_the_default() {
    let seconds = |n: i64| Span::from_millis(n * 1_000);
    for (agent, graph, teamspace, expected) in [
        (None, None, None, "1m"),
        (None, None, Some(40), "40s"),
        (None, Some("30s"), Some(40), "30s"),
        (Some(20), Some("30s"), Some(40), "20s"),
        (Some(0), Some("30s"), Some(40), "off"),
        (None, Some("0s"), Some(40), "off"),
        (None, None, Some(0), "off"),
        (Some(20), Some("0s"), Some(0), "20s"),
    ] {
        let mut world = World::new();
        assert_eq!(seconds(0), ANSWER_WITHIN_OFF);
        world.settings.answer_within = teamspace.map(seconds);
        world.limits.extend(agent.map(|n| ("bob".parse().expect("a name"), seconds(n))));
        let mut document = graph_of_bob();
        if let Some(limit) = graph {
            document["silence"]["answer_within"] = limit.into();
        }
        world.save(&document);
        let left = format!("? {expected}");
        let opened = "shop open graph=support => bob@1";
        check_in(world, &[opened, "customer say => #1 stayed", &left]);
    }
}

#[test]
fn the_fallbacks_of_a_graph_are_tried_in_order_and_come_to_an_end() {
    let mut world = World::with_people();
    let mut document = graph_of_bob();
    let steps = json!([
        { "agent": "nobody" }, { "agent": "fresh" }, { "agent": "bob" },
        { "agent": "carol" }, { "agent": "router" },
    ]);
    document["silence"] = json!({ "fallback": steps });
    world.save(&document);
    check_in(
        world,
        &[
            "shop open graph=support => bob@1",
            "customer say => #1 stayed",
            "+60s",
            "system miss_answer => carol@2 #2 silent owed=\"answer\" next={\"agent\":\"carol\"} \
             carol@2 #3 no_answer",
            "? 1m",
            // The customer asks again, and the chain goes on.
            "+60s",
            "system miss_answer => router@3 #4 silent owed=\"answer\" next={\"agent\":\"router\"} \
             router@3 #5 no_answer",
            "+60s",
            "system miss_answer => default@4 #6 silent owed=\"answer\" \
             next={\"queue\":\"default\"} default@4 #7 requested queued",
            "? off",
        ],
    );
}

#[test]
fn a_supervisor_is_the_fallback_of_its_workers_and_then_a_person() {
    check_in(
        World::with_people(),
        &[
            "shop open agent=bob topology={\"kind\":\"supervisor\",\"supervisor\":\"router\",\
             \"workers\":[\"bob\",\"carol\"]} => bob@1",
            "customer say => #1",
            "+60s",
            "system miss_answer => router@2 #2 silent owed=\"answer\" next={\"agent\":\"router\"} \
             router@2 #3 no_answer",
            "+60s",
            "system miss_answer => default@3 #4 silent owed=\"answer\" \
             next={\"queue\":\"default\"} default@3 #5 requested queued",
        ],
    );
}

#[test]
fn parting_words_leave_the_answer_to_the_next_agent() {
    check_in(
        World::with_people(),
        &[
            "shop open agent=bob => bob@1",
            "customer say => #1",
            "+10s",
            "bob say epoch=1 text=one_moment => #2",
            "? off",
            "bob route goto=carol epoch=1 => carol@2 #3",
            "? 1m",
            "carol say epoch=2 in_reply_to=1 => #4",
            "carol route goto=bob epoch=2 => bob@3 #5",
            "? off",
        ],
    );
}

/// Also when no person came, because the customer does not wait any more, and when a person parts.
#[test]
fn parting_words_leave_the_answer_to_the_bot_that_gets_it_back() {
    let words = r#"parts=[{"type":"text","text":"One_moment."}]"#;
    let asks = format!("bob route goto=human epoch=1 {words} => #2 default@2 #3 requested queued");
    for ends in ["customer cancel => bob@3 #4 over", "bob cancel => bob@3 #4 over"] {
        check_in(
            World::with_people(),
            &[
                "shop open agent=bob => bob@1",
                "customer say => #1",
                &asks,
                "? off",
                ends,
                "? 1m",
                "bob say epoch=3 => #5",
                "? off",
            ],
        );
    }
}

#[test]
fn a_transfer_that_is_said_and_not_done_is_found() {
    let mut world = World::with_people();
    let mut document = graph_of_bob();
    document["silence"] = json!({ "promises": ["off you go"] });
    world.save(&document);
    let unkept = |place: &str, number: u64, next: u64| {
        format!(
            "system miss_answer => {place} #{number} silent owed=\"transfer\" \
             next={{\"queue\":\"default\"}} {place} #{next} requested queued"
        )
    };
    let first = unkept("default@2", 4, 5);
    check_in(
        world,
        &[
            "shop open graph=support => bob@1",
            "customer say => #1 stayed",
            "bob say epoch=1 in_reply_to=1 text=Off_you_go! => #2",
            "? 1m",
            // Further words and signs of work do not keep the promise.
            "+40s",
            "bob say epoch=1 text=Still_here => #3",
            "bob show_progress epoch=1 => nothing",
            "? 20s",
            "+20s",
            &first,
        ],
    );
    check_in(
        World::with_people(),
        &[
            "shop open agent=bob => bob@1",
            "customer say => #1",
            "bob say epoch=1 text=I_am_transferring_you_to_Carol. => #2",
            "? 1m",
            "bob route goto=carol epoch=1 => carol@2 #3",
            "carol say epoch=2 in_reply_to=1 text=Shall_I_connect_you_now? => #4",
            "? off",
        ],
    );
}

/// The customer still waits: the next holder must speak, and two bots that only promise do not pass
/// the customer to and fro.
#[test]
fn a_promise_is_no_answer() {
    let mut world = World::with_people();
    let mut document = graph_of_bob();
    document["silence"] = json!({ "fallback": [{ "agent": "carol" }, { "agent": "dora" }] });
    world.save(&document);
    let world = check_in(
        world,
        &[
            "shop open graph=support => bob@1",
            "customer say => #1 stayed",
            "bob say epoch=1 in_reply_to=1 text=I_am_transferring_you. => #2",
            "+20s",
            "bob say epoch=1 text=Still_here => #3",
            "+40s",
            "system miss_answer => carol@2 #4 silent owed=\"transfer\" \
             next={\"agent\":\"carol\"} carol@2 #5 no_answer",
            "? 1m",
            "carol say epoch=2 in_reply_to=1 text=I_am_connecting_you_now. => #6",
            "+60s",
            "system miss_answer => dora@3 #7 silent owed=\"transfer\" \
             next={\"agent\":\"dora\"} dora@3 #8 no_answer",
            "+60s",
            "system miss_answer => default@4 #9 silent owed=\"answer\" \
             next={\"queue\":\"default\"} default@4 #10 requested queued",
        ],
    );
    assert_eq!(world.conversation().turn.open(), Some(1));
    // Kept, by a second command.
    check_in(
        World::with_people(),
        &[
            "shop open agent=bob => bob@1",
            "customer say => #1",
            "bob say epoch=1 in_reply_to=1 text=I_am_transferring_you. => #2",
            "bob route goto=carol epoch=1 => carol@2 #3",
            "? 1m",
            "carol say epoch=2 in_reply_to=1 => #4",
            "? off",
        ],
    );
    // What was said before it was an answer.
    check_in(
        World::with_people(),
        &[
            "shop open agent=bob => bob@1",
            "customer say => #1",
            "bob say epoch=1 in_reply_to=1 => #2",
            "bob say epoch=1 text=I_am_transferring_you. => #3",
            "bob say epoch=1 in_reply_to=1 => already_answered",
            "bob route goto=carol epoch=1 => carol@2 #4",
            "? 1m",
        ],
    );
}

/// The customer is told to ask for a person only if one of the queues that they may ask is open.
#[test]
fn whether_a_person_can_be_asked_is_on_the_record() {
    let closed = json!({ "hours": { "monday": [{ "from": "01:00", "to": "02:00" }] } });
    for (queue, billing, expected) in
        [(Value::Null, false, " alone"), (closed, false, " alone"), (Value::Null, true, "")]
    {
        let mut world = World::new();
        if !queue.is_null() {
            world = World::with_people();
            let settings = serde_json::from_value(queue).expect("settings");
            world.queue.as_mut().expect("a queue").queue = Some(settings);
        }
        let queues = if billing { " customer_queues=[\"billing\"]" } else { "" };
        let told = "system miss_answer => bob@1 #2 silent owed=\"answer\" next=\"nothing\"";
        let opened = format!("shop open agent=bob{queues} => bob@1");
        let told = format!("{told}{expected}");
        check_in(world, &[&opened, "customer say => #1", "+60s", &told]);
    }
}

#[test]
fn an_agent_that_only_has_a_token_is_given_no_conversation() {
    check_in(
        World::with_people(),
        &[
            "shop open agent=fresh => schema_invalid",
            "shop open agent=bob => bob@1",
            "bob route goto=fresh epoch=1 => schema_invalid",
            "customer select agent=fresh => agent_not_selectable",
        ],
    );
}

#[test]
fn the_customer_is_told_in_their_language() {
    let world = check_in(
        World::new(),
        &[
            "shop open agent=bob => bob@1",
            "customer say => #1",
            "+60s",
            "system miss_answer => bob@1 #2 silent owed=\"answer\" next=\"nothing\" alone",
        ],
    );
    // Entries of earlier versions do not say whether a person can be asked.
    let alone = world.bodies[0].clone();
    let mut earlier = alone.clone();
    earlier.as_object_mut().expect("an object").remove("no_person").expect("it says so");
    for (body, asks) in [(alone, false), (earlier, true)] {
        for owed in ["answer", "transfer"] {
            let mut body = body.clone();
            body["owed"] = owed.into();
            let told = in_all_languages(&body);
            assert_eq!(told[0].contains("ask for a person"), asks, "{told:?}");
        }
    }
}

/// What a silent bot's customer is told, in each language another text.
fn in_all_languages(body: &Value) -> Vec<String> {
    let event = codec::decode("conversation.holder_silent", 1, &body.to_string());
    let event = event.expect("an event");
    let step::Event::Conversation(Event::HolderSilent(silent)) = event else {
        panic!("another event: {event:?}")
    };
    let mut told = Vec::new();
    for catalogue in catalogues() {
        let text = of_silence(&silent, Some(catalogue.language), "Bob", "");
        assert!(!told.contains(&text), "{}: {text}", catalogue.language);
        told.push(text);
    }
    told
}

pub(super) fn graph_of_bob() -> Value {
    json!({
        "entry": "bob",
        "nodes": [{ "id": "bob", "kind": "specialist", "agent": "bob" }],
        "silence": {},
    })
}
