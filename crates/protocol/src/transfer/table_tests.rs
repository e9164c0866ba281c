//! The rules of a transfer as tables: on the left of `=>` the caller and the command, on the right
//! the status of the transfer, the holder and the epoch. `bob` is the bot that had the
//! conversation. `world` describes the others.

mod bundles;
mod callbacks;
mod cells;
mod customers;
mod hand_back;
mod page;
mod passed_on;
mod reminders;
mod rings;
mod to_bots;
mod waits;
mod world;

use serde_json::json;

use world::World;

const QUEUED: [&str; 2] =
    ["shop open agent=bob => idle bob@1", "customer request => queued support@2"];

fn after<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    QUEUED.iter().chain(lines).copied().collect()
}

fn check(lines: &[&str]) -> World {
    World::script(&after(lines))
}

#[test]
fn from_bot_to_human_and_back() {
    let mut world = World::script(&[
        "shop open agent=bob => idle bob@1",
        "customer say => idle bob@1",
        "bob request epoch=1 reason=angry => queued support@2",
    ]);
    assert_eq!(world.recorded, ["transfer.requested", "transfer.queued"]);
    for line in [
        "bob say epoch=1 => epoch_outdated",
        "bob say epoch=2 => not_holder",
        "customer say => queued support@2",
        "hana pickup epoch=2 => ringing support@2",
        "customer say => ringing support@2",
        "hana say epoch=2 => not_holder",
        "hana accept epoch=2 => connected hana@3",
        "bob say epoch=3 => not_holder",
        "hana say epoch=3 in_reply_to=1 => connected hana@3",
        "hana hold epoch=3 => on_hold hana@3",
        "customer say => on_hold hana@3",
        "hana resume epoch=3 => connected hana@3",
        "hana complete epoch=3 summary=done disposition=refunded => completed bob@4",
    ] {
        world.check(line);
    }
    let over = &world.bodies[0];
    assert_eq!((&over["summary"], &over["disposition"]), (&json!("done"), &json!("refunded")));
    for line in [
        "hana say epoch=4 => not_holder",
        "bob say epoch=4 => completed bob@4",
        "customer rate score=6 => invalid score",
        "bob rate score=5 => not_allowed",
        "customer rate score=5 => completed bob@4",
        "customer rate score=4 => already_exists",
        "bob request epoch=4 => queued support@5",
        "hana pickup of=1 epoch=5 => HANDOFF_GONE",
    ] {
        world.check(line);
    }
    assert!(world.slots().is_empty());
    // The bot closes it, and the customer rates it afterwards.
    check(&[
        "hana answer epoch=2 => connected hana@3",
        "hana complete epoch=3 => completed bob@4",
        "bob close => completed bob@4 closed",
        "customer rate score=4 => completed bob@4 closed",
        "customer rate score=4 => already_exists",
        "hana note epoch=4 => HANDOFF_GONE",
    ]);
}

#[test]
fn the_first_to_pick_up_wins_and_the_others_learn_who() {
    let world = check(&[
        "hana pickup epoch=2 => ringing support@2",
        "ivan pickup epoch=2 => claimed by hana",
        "ivan accept epoch=2 => not_found",
        "ivan decline epoch=2 => not_found",
        "hana accept epoch=2 => connected hana@3",
        "ivan pickup epoch=2 => claimed by hana",
        "ivan pickup epoch=3 => claimed by hana",
        "hana accept epoch=3 => wrong_state",
    ]);
    assert_eq!(world.slots(), ["hana/1"]);
    check(&["hana answer epoch=2 => connected hana@3"]);
    // It rings for them, so they may pick it up, more than once or with an answer.
    check(&[
        "hana pickup epoch=2 => ringing support@2",
        "hana pickup epoch=1 => epoch_outdated",
        "hana pickup epoch=2 => nothing",
        "hana answer epoch=2 => connected hana@3",
        "hana pickup epoch=3 => claimed by hana",
    ]);
}

#[test]
fn who_may_pick_up() {
    check(&[
        "bob pickup epoch=2 => not_allowed",
        "customer pickup => not_allowed",
        "operator pickup => not_allowed",
        "hana pickup => epoch_required",
        "hana pickup epoch=1 => epoch_outdated",
        "paul pickup epoch=2 => not_allowed",
        "olga pickup epoch=2 => ringing support@2",
    ]);
    World::script(&[
        "shop open agent=bob => idle bob@1",
        "bob request epoch=1 queue=bills => queued bills@2",
        "hana pickup epoch=2 => not_found",
        "sue pickup epoch=2 => ringing bills@2",
    ]);
}

#[test]
fn who_may_ask_for_a_person_and_how() {
    let no_skill = r#"{"skills":[{"name":"","level_min":1}]}"#;
    World::script(&[
        "shop open agent=bob => idle bob@1",
        "carol request epoch=1 => not_found",
        "shop request epoch=1 => not_holder",
        "bob request => epoch_required",
        "bob request epoch=2 => epoch_outdated",
        "bob request epoch=1 queue=nobody => unknown_agent",
        "bob request epoch=1 queue=bob => invalid queue",
        "bob request epoch=1 queue=night => queue_closed",
        "bob request epoch=1 type=bot_to_bot => invalid type",
        "bob request epoch=1 type=human_to_human => invalid type",
        "bob request epoch=1 priority=101 => invalid priority",
        &format!("bob request epoch=1 wanted={no_skill} => invalid wanted.skills"),
        r#"bob request epoch=1 context={"summary":""} => invalid context.summary"#,
        r#"bob request epoch=1 type=blind context={"summary":"s"} => invalid context"#,
        "bob request epoch=1 words=mine => invalid words",
        "operator request words=mine => invalid words",
        "coord request => queued support@2",
        "customer request => HANDOFF_DUPLICATE_REQUEST",
        "customer select agent=carol => wrong_state",
    ]);
    for who in ["customer", "operator", "coord"] {
        World::script(&[
            "shop open agent=bob => idle bob@1",
            &format!("{who} request => queued support@2"),
        ]);
    }
}

#[test]
fn a_request_sent_twice_is_one() {
    let mut world = World::script(&[
        "shop open agent=bob => idle bob@1",
        "customer request request_key=a => queued support@2",
        "customer request request_key=a => nothing",
        "customer request request_key=b => HANDOFF_DUPLICATE_REQUEST",
        "hana answer epoch=2 => connected hana@3",
        "customer request request_key=a => nothing",
        "hana complete epoch=3 => completed bob@4",
        "customer request request_key=a => nothing",
    ]);
    world.check("customer request request_key=b => queued support@5");
    world.check("customer cancel => cancelled bob@6");
    world.check("customer request request_key=b => nothing");
}

#[test]
fn whoever_does_not_answer_or_says_no_gives_it_back() {
    let world = check(&[
        "system ring agent=olga => no_capacity",
        "hana ring agent=hana => not_allowed",
        "system ring agent=hana => ringing support@2",
        "system ring agent=ivan => claimed by hana",
        "wait 29s => nothing",
        "wait 1s => queued support@2",
        "hana accept epoch=2 => wrong_state",
        "system ring agent=ivan => ringing support@2",
        "hana accept epoch=2 => claimed by ivan",
        "ivan decline epoch=2 => queued support@2",
        "system ring agent=ivan => no_capacity",
        "system ring agent=hana => ringing support@2",
        "hana accept epoch=2 => connected hana@3",
    ]);
    let transfer = world.conversation().transfer.as_ref().unwrap();
    assert_eq!((transfer.declined.len(), transfer.missed.len()), (1, 1));
    assert_eq!(world.slots(), ["hana/1"]);
}

#[test]
fn a_lost_person_is_replaced_and_the_place_is_kept() {
    let mut world = check(&["hana answer epoch=2 => connected hana@3"]);
    let order = world.conversation().transfer.as_ref().unwrap().order;
    for line in [
        "hana lose agent=hana => not_allowed",
        "system lose agent=ivan => nothing",
        "wait 1h => nothing",
        "system lose agent=hana => queued support@4",
        "hana say epoch=3 => epoch_outdated",
        "hana accept epoch=4 => wrong_state",
        "customer say => queued support@4",
        "ivan answer epoch=4 => connected ivan@5",
    ] {
        world.check(line);
    }
    assert_eq!(world.conversation().transfer.as_ref().unwrap().order, order);
    assert_eq!(world.slots(), ["ivan/1"]);
    // If a person is lost late, the customer waits as long as any other.
    check(&[
        "hana answer epoch=2 => connected hana@3",
        "wait 3h => nothing",
        "system lose agent=hana => queued support@4",
        "wait 59m => nothing",
        "wait 1m => failed bob@5",
    ]);
    check(&[
        "system ring agent=hana => ringing support@2",
        "system lose agent=hana => queued support@2",
    ]);
    check(&[
        "hana answer epoch=2 => connected hana@3",
        "hana hold epoch=3 => on_hold hana@3",
        "system lose agent=hana => queued support@4",
    ]);
}

#[test]
fn nobody_is_given_more_than_they_can_take() {
    let mut world = check(&["hana answer epoch=2 => connected hana@3"]);
    world.holds.insert(
        "slot/ivan/1".to_owned(),
        crate::step::HoldState { holder: Some("another".to_owned()), value: None },
    );
    world.check("hana transfer to=ivan epoch=3 => no_capacity");
    world.check("hana transfer to=olga epoch=3 => no_capacity");
    world.check("system lose agent=hana => queued support@4");
    world.check("ivan pickup epoch=4 => no_capacity");
    world.check("system ring agent=ivan => no_capacity");
}

#[test]
fn nobody_comes() {
    let world = check(&["wait 59m => nothing", "wait 1m => failed bob@3"]);
    assert_eq!(world.bodies[0]["reason"], "nobody came in time");
    // A person who is there and does not answer does not extend the wait.
    check(&[
        "wait 59m => nothing",
        "system ring agent=hana => ringing support@2",
        "wait 2m => queued support@2",
        "system ring agent=hana => wrong_state",
        "wait 1s => failed bob@3",
    ]);
    World::script(&[
        "shop open agent=bob => idle bob@1",
        "bob request epoch=1 queue=slow => queued slow@2",
        "system ring agent=hana => ringing slow@2",
        "wait 3m => queued slow@2",
        "system ring agent=hana => wrong_state",
        "wait 1s => queued support@3",
    ]);
    World::script(&[
        "shop open agent=bob => idle bob@1",
        "bob request epoch=1 queue=slow => queued slow@2",
        "wait 2m => queued support@3",
        // The wait of the first queue goes on.
        "wait 57m => nothing",
        "wait 1m => failed bob@4",
    ]);
}

/// If a bot is unreachable, no person is called about a customer who has left.
#[test]
fn people_are_called_about_customers_who_wait_for_an_answer() {
    let mut world = World::script(&[
        "shop open agent=erin => idle erin@1",
        "customer request => queued support@2",
        "hana answer epoch=2 => connected hana@3",
        "hana complete epoch=3 => completed erin@4",
    ]);
    assert_eq!(world.bodies[0]["deliver"], true);
    world.check("wait 1h => nothing");
    world.check("system not_delivered epoch=4 through=3 => completed erin@4");
    assert_eq!(world.recorded, ["conversation.unreached"]);
    world.check("customer say => completed erin@4");
    world.check("wait 1h => nothing");
    world.check("system not_delivered epoch=4 through=4 => queued support@5");
}

#[test]
fn hold_has_an_end() {
    let world = check(&[
        "hana answer epoch=2 => connected hana@3",
        "hana hold epoch=3 => on_hold hana@3",
        "hana hold epoch=3 => wrong_state",
        "wait 10m => connected hana@3",
    ]);
    assert_eq!(world.bodies[0]["overdue"], true);
}

#[test]
fn a_second_person_takes_over_and_the_customer_is_never_alone() {
    let mut world = check(&[
        "hana answer epoch=2 => connected hana@3",
        "ivan transfer to=hana epoch=3 => not_found",
        "hana transfer to=hana epoch=3 => invalid to",
        "hana transfer to=bob epoch=3 => invalid to",
        "hana transfer to=nobody epoch=3 => unknown_agent",
        "hana transfer to=ivan type=blind epoch=3 => invalid to",
        "hana transfer to=ivan type=bot_to_human epoch=3 => invalid type",
        "hana transfer to=ivan => epoch_required",
        "hana transfer to=ivan epoch=3 => connected hana@3",
        "hana transfer to=sue epoch=3 => HANDOFF_DUPLICATE_REQUEST",
        "hana say epoch=3 => connected hana@3",
        "customer say => connected hana@3",
        "sue accept epoch=3 => not_found",
    ]);
    assert_eq!(world.slots(), ["hana/1", "ivan/1"]);
    world.check("ivan accept epoch=3 => connected ivan@4");
    assert_eq!(world.slots(), ["ivan/1"]);
    world.check("hana say epoch=4 => not_holder");
    world.check("ivan say epoch=4 => connected ivan@4");
    world.check("ivan complete epoch=4 => completed bob@5");
}

#[test]
fn whoever_is_asked_in_may_not_come() {
    for (line, expected) in [
        ("ivan decline epoch=3", "connected hana@3"),
        ("wait 30s", "connected hana@3"),
        ("system lose agent=ivan", "connected hana@3"),
        ("hana cancel epoch=3", "connected hana@3"),
        ("coord cancel epoch=3", "connected hana@3"),
    ] {
        let world = check(&[
            "hana answer epoch=2 => connected hana@3",
            "hana transfer to=ivan type=warm epoch=3 => connected hana@3",
            &format!("{line} => {expected}"),
            "hana say epoch=3 => connected hana@3",
        ]);
        assert!(world.conversation().transfer.as_ref().unwrap().leg.is_none(), "{line}");
        assert_eq!(world.slots(), ["hana/1"], "{line}");
    }
    for line in ["ivan decline epoch=3 reason=lunch", "hana cancel epoch=3 reason=lunch"] {
        let world = check(&[
            "hana answer epoch=2 => connected hana@3",
            "hana transfer to=ivan type=warm epoch=3 => connected hana@3",
            &format!("{line} => connected hana@3"),
        ]);
        assert_eq!(world.bodies[0]["reason"], "lunch", "{line}");
    }
    // The person who asked is gone: the customer waits, and the other person is not needed any
    // more.
    let world = check(&[
        "hana answer epoch=2 => connected hana@3",
        "hana transfer to=ivan epoch=3 => connected hana@3",
        "system lose agent=hana => queued support@4",
    ]);
    assert!(world.slots().is_empty());
}

#[test]
fn another_queue_is_asked() {
    let world = check(&[
        "hana answer epoch=2 => connected hana@3",
        "hana transfer to=bills epoch=3 => connected hana@3",
        "hana transfer to=ivan epoch=3 => HANDOFF_DUPLICATE_REQUEST",
        "ivan pickup epoch=3 => not_found",
        "ivan accept epoch=3 => not_found",
        "hana pickup epoch=3 => not_allowed",
        "sue accept epoch=3 => wrong_state",
        "sue note epoch=3 => not_allowed",
        "sue pickup epoch=3 => connected hana@3",
        "sue decline epoch=3 => connected hana@3",
        "sue pickup epoch=3 => connected hana@3",
        "sue accept epoch=3 => connected sue@4",
    ]);
    assert_eq!(world.conversation().transfer.as_ref().unwrap().queue.as_str(), "bills");
    check(&[
        "hana answer epoch=2 => connected hana@3",
        "hana transfer to=support epoch=3 => connected hana@3",
        "hana pickup epoch=3 => claimed by hana",
        "ivan pickup epoch=3 => connected hana@3",
        "ivan decline epoch=3 => connected hana@3",
        "system ring agent=ivan => no_capacity",
        "system lose agent=hana => queued support@4",
        "system ring agent=ivan => ringing support@4",
    ]);
    check(&[
        "hana answer epoch=2 => connected hana@3",
        "hana transfer to=bills epoch=3 => connected hana@3",
        "wait 1h => connected hana@3",
        "sue pickup epoch=3 => claimed by hana",
    ]);
}

#[test]
fn a_blind_transfer_leaves_at_once_and_takes_nothing_along() {
    let mut world = check(&[
        "hana answer epoch=2 => connected hana@3",
        "hana transfer to=night type=blind epoch=3 => queue_closed",
        r#"hana transfer to=bills type=blind context={"summary":"s"} epoch=3 => invalid context"#,
        "hana transfer to=bills type=blind epoch=3 => queued bills@5",
    ]);
    assert!(world.slots().is_empty());
    let terms = &world.conversation().transfer.as_ref().unwrap().terms;
    assert_eq!((&terms.bundle, terms.reason.as_str()), (&None, ""));
    world.check("hana say epoch=5 => not_holder");
    world.check("sue answer epoch=5 => connected sue@6");
    let connected = &world.bodies[1];
    assert_eq!((&connected["kind"], &connected["passed_by"]), (&json!("blind"), &json!("hana")));
    assert_eq!(connected.get("bundle_id"), None, "{connected}");
}

#[test]
fn a_supervisor_listens_and_advises() {
    let mut world = check(&[
        "hana answer epoch=2 => connected hana@3",
        "hana transfer to=ivan type=supervisor_consult epoch=3 => connected hana@3",
        "ivan accept epoch=3 => connected hana@3",
        "ivan say epoch=3 => not_holder",
        "ivan whisper epoch=3 => connected hana@3",
        "hana whisper epoch=3 => not_allowed",
        "hana note epoch=3 => connected hana@3",
        "customer note => not_allowed",
        "bob note epoch=3 => not_allowed",
        "coord whisper epoch=3 => connected hana@3",
    ]);
    assert_eq!(world.slots(), ["hana/1", "ivan/1"]);
    world.check("ivan complete epoch=3 summary=twenty => invalid summary");
    world.check("ivan complete epoch=3 disposition=refunded => invalid disposition");
    world.check("ivan complete epoch=3 => connected hana@3");
    assert_eq!(world.recorded, ["transfer.leg_ended"]);
    assert_eq!(world.slots(), ["hana/1"]);
    world.check("hana say epoch=3 => connected hana@3");
}

#[test]
fn whoever_may_end_it_does() {
    for (lines, expected) in [
        (&["customer cancel"][..], "cancelled bob@3"),
        (&["operator cancel"], "cancelled bob@3"),
        (&["coord cancel epoch=2"], "cancelled bob@3"),
        (&["bob cancel epoch=2"], "not_allowed"),
        (&["hana complete epoch=2"], "not_allowed"),
        (&["sue complete epoch=2"], "not_allowed"),
        (&["hana accept epoch=2"], "wrong_state"),
        (&["hana decline epoch=2"], "wrong_state"),
        (&["hana hold epoch=2"], "not_allowed"),
        (&["hana cancel epoch=2"], "not_allowed"),
        (&["hana fail epoch=2"], "not_allowed"),
        (&["hana whisper epoch=2"], "not_allowed"),
        (&["hana rate score=1"], "not_allowed"),
        (&["carol accept epoch=2"], "not_found"),
        (&["customer complete"], "not_allowed"),
        (&["coord complete epoch=2"], "wrong_state"),
        (&["coord fail epoch=2"], "failed bob@3"),
        (&["system fail"], "failed bob@3"),
        (&["bob fail epoch=2"], "not_allowed"),
        (&["customer close"], "cancelled support@2 closed"),
        (&["hana answer epoch=2", "customer cancel"], "not_allowed"),
        (&["hana answer epoch=2", "hana cancel epoch=3"], "not_allowed"),
        (&["hana answer epoch=2", "coord cancel epoch=3"], "cancelled bob@4"),
        (&["hana answer epoch=2", "hana end epoch=3"], "ended hana@3 closed"),
        (&["hana answer epoch=2", "hana end epoch=2"], "epoch_outdated"),
        (&["hana answer epoch=2", "bob end epoch=3"], "not_allowed"),
        (&["hana answer epoch=2", "hana close"], "ended hana@3 closed"),
        (&["hana answer epoch=2", "customer close"], "ended hana@3 closed"),
        (&["hana answer epoch=2", "hana hold epoch=3", "hana complete epoch=3"], "completed bob@4"),
        (&["hana answer epoch=2", "hana hold epoch=3", "hana end epoch=3"], "ended hana@3 closed"),
    ] {
        let mut world = check(&[]);
        let shown: Vec<_> = lines.iter().map(|line| world.line(line)).collect();
        assert_eq!(shown.last().map(String::as_str), Some(expected), "{lines:?}");
        if world.conversation().open_transfer().is_none() {
            assert!(world.slots().is_empty(), "{lines:?}");
            assert_eq!(world.line("hana pickup epoch=9"), "HANDOFF_GONE", "{lines:?}");
        }
    }
}
