//! What counts as an answer, whichever way it is said, and bots that pass an unanswered customer
//! round.

use serde_json::json;

use super::silence::{check_in, graph_of_bob, left};
use super::world::World;
use crate::time::Span;

/// Texts as parts, without spaces: words of a line have none.
fn words(texts: &[&str]) -> String {
    let parts: Vec<_> = texts.iter().map(|it| json!({ "type": "text", "text": it })).collect();
    format!("parts={}", json!(parts)).replace(' ', "\\u0020")
}

/// The limit is that of the bot, as for its messages.
#[test]
fn words_of_a_command_are_words() {
    for (text, update, left) in [
        ("I am transferring you.", "", "2s"),
        ("I am transferring you.", r#" update={"a":1}"#, "2s"),
        ("Let me look.", "", "off"),
        ("Let me look.", r#" update={"a":1}"#, "off"),
    ] {
        let mut world = World::with_people();
        world.limits.insert("bob".parse().expect("a name"), Span::from_millis(2_000));
        let said = format!("bob route epoch=1 {}{update}", words(&[text]));
        let mut world = check_in(world, &["shop open agent=bob => bob@1", "customer say => #1"]);
        assert!(world.line(&said).starts_with("#2"), "{said}");
        check_in(world, &[&format!("? {left}")]);
    }
}

/// A sentence may go on in the next part of a message.
#[test]
fn what_is_unanswered_is_what_the_time_runs_for() {
    for (text, unanswered) in [("Let me look.", None), ("I am transferring you.", Some(1))] {
        let said = format!("bob say epoch=1 text={} => #2", text.replace(' ', "_"));
        let lines = ["shop open agent=bob => bob@1", "customer say => #1", &said];
        let world = check_in(World::with_people(), &lines);
        assert_eq!(world.conversation().unanswered(), unanswered, "{text}");
    }
    let said = format!("bob route epoch=1 {} => #2", words(&["I am transferring", "you now."]));
    let lines = ["shop open agent=bob => bob@1", "customer say => #1", &said, "? 1m"];
    let world = check_in(World::with_people(), &lines);
    // The next holder may answer with the number, also what was answered before.
    assert_eq!(world.conversation().unanswered(), Some(1));
    check_in(
        World::with_people(),
        &[
            "shop open agent=bob => bob@1",
            "customer say => #1",
            "bob say epoch=1 in_reply_to=1 => #2",
            "bob say epoch=1 text=I_am_transferring_you. => #3",
            "bob route goto=carol epoch=1 => carol@2 #4",
            "carol say epoch=2 in_reply_to=1 => #5",
            "? off",
        ],
    );
}

/// Each of them is in time, but none answers.
#[test]
fn bots_that_pass_a_customer_round_lose_it_together() {
    let mut world = World::with_people();
    world.settings.answer_within = Some(Span::from_millis(2_000));
    let mut document = graph_of_bob();
    document["silence"] = json!({ "fallback": [{ "agent": "carol" }, { "agent": "fay" }] });
    world.save(&document);
    let lines = ["shop open graph=support hops_max=64 => bob@1", "customer say => #1 stayed"];
    let mut world = check_in(world, &lines);
    let mut epoch = 1;
    while left(&world) != "0ms" && epoch < 40 {
        world.now = world.now.plus(Span::from_millis(500));
        let bots = ["bob", "carol", "dora"];
        let (from, to) = (bots[(epoch - 1) % 3], bots[epoch % 3]);
        let passed = world.line(&format!("{from} route goto={to} epoch={epoch}"));
        epoch += 1;
        assert_eq!(passed, format!("{to}@{epoch} #{epoch}"));
    }
    assert_eq!(epoch, 21, "half of a limit for each that passed it on");
    let lines = "system miss_answer => fay@22 #22 silent owed=\"answer\" next={\"agent\":\"fay\"} \
                 fay@22 #23 no_answer";
    check_in(world, &[lines, "? 2s"]);
}

#[test]
fn a_bot_that_asks_for_a_person_and_cancels_gains_no_time() {
    let mut world = World::with_people();
    world.limits.insert("bob".parse().expect("a name"), Span::from_millis(2_000));
    let mut world = check_in(world, &["shop open agent=bob => bob@1", "customer say => #1"]);
    let mut n_rounds = 0;
    while left(&world) != "0ms" && n_rounds < 40 {
        world.now = world.now.plus(Span::from_millis(1_300));
        let epoch = world.conversation().epoch;
        world.line(&format!("bob route goto=human epoch={epoch}"));
        // Time in the queue does not count.
        world.now = world.now.plus(Span::from_millis(60_000));
        world.line("customer say");
        let mut over = world.line("bob cancel");
        if over == "not_allowed" {
            over = world.line("customer cancel");
        }
        assert!(over.starts_with("bob@") && over.ends_with("over"), "{over}");
        n_rounds += 1;
    }
    assert_eq!(n_rounds, 16, "10 limits of 2 s, each round 1.3 s");
    let passed = world.line("system miss_answer of_earlier_state=true");
    assert!(passed.ends_with("requested queued"), "{passed}");
}

/// Also if it is faster than the server looks at deadlines.
#[test]
fn a_bot_whose_time_is_used_up_does_not_get_the_customer_back() {
    let mut world =
        check_in(World::with_people(), &["shop open agent=bob => bob@1", "customer say => #1"]);
    let mut n_rounds = 0;
    loop {
        let epoch = world.conversation().epoch;
        world.line(&format!("bob route goto=human epoch={epoch}"));
        if world.line("bob cancel") == "not_allowed" {
            break;
        }
        n_rounds += 1;
    }
    assert_eq!(n_rounds, 19, "the 20th uses up ten limits");
    let over = world.line("customer cancel");
    assert!(over.ends_with("over"), "the customer need not wait: {over}");
}
