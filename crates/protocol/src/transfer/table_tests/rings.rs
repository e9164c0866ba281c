//! Rings that no person answers: a transfer does not go round in circles.

use super::world::World;
use crate::transfer::state::RINGS_IN_ALL_MAX;

fn in_queue(queue: &str) -> World {
    let request = format!("customer request => queued {queue}@2");
    let request = request.replace("request", &format!("request queue={queue}"));
    let open = format!("shop open agent=bob customer_queues=[\"{queue}\"] => idle bob@1");
    World::script(&[open.as_str(), request.as_str()])
}

fn check(queue: &str, lines: &[&str]) -> World {
    let mut world = in_queue(queue);
    lines.iter().for_each(|line| world.check(line));
    world
}

#[test]
fn the_last_ring_moves_it_to_the_next_queue() {
    let world = check(
        "brief",
        &[
            "system ring agent=hana => ringing brief@2",
            "wait 30s => queued brief@2",
            "system ring agent=ivan => ringing brief@2",
            "wait 30s => queued brief@2",
            // It is overdue: the server offers it to no other person here.
            "system ring agent=hana => wrong_state",
            "wait 1s => queued support@3",
            // It has as many rings as ever in the next queue.
            "system ring agent=hana => ringing support@3",
            "wait 30s => queued support@3",
            "wait 1s => nothing",
        ],
    );
    assert_eq!(world.conversation().transfer.as_ref().expect("a transfer").rings, 1);
}

#[test]
fn without_another_queue_the_last_ring_ends_it() {
    for queue in ["shy", "stuck"] {
        let mut world = in_queue(queue);
        for line in [
            "system ring agent=hana => ringing Q@2",
            "hana decline epoch=2 => queued Q@2",
            "system ring agent=ivan => ringing Q@2",
            "ivan decline epoch=2 => queued Q@2",
        ] {
            world.check(&line.replace('Q', queue));
        }
        if queue == "stuck" {
            // The next queue is closed.
            world.check("wait 1s => queued stuck@2");
        }
        world.check("wait 1s => failed bob@3");
        assert!(world.bodies[0]["reason"].is_string());
    }
}

#[test]
fn only_rings_without_an_answer_count() {
    check(
        "shy",
        &[
            "system ring agent=hana => ringing shy@2",
            "system lose agent=hana => queued shy@2",
            "system ring agent=ivan => ringing shy@2",
            "wait 30s => queued shy@2",
            "hana answer epoch=2 => connected hana@3",
            // The wait begins anew, and so do the rings.
            "system lose agent=hana => queued shy@4",
            "system ring agent=ivan => ringing shy@4",
            "wait 30s => queued shy@4",
            "wait 1s => nothing",
        ],
    );
}

#[test]
fn a_colleague_who_is_asked_in_is_rung_as_often() {
    check(
        "shy",
        &[
            "hana answer epoch=2 => connected hana@3",
            "hana transfer epoch=3 to=shy => connected hana@3",
            "system ring agent=ivan => connected hana@3",
            "wait 30s => connected hana@3",
            "system ring agent=ivan => connected hana@3",
            "wait 30s => connected hana@3",
            "system ring agent=ivan => wrong_state",
            "wait 1s => connected hana@3",
            "hana complete epoch=3 => completed bob@4",
        ],
    );
}

#[test]
fn it_visits_each_queue_once_and_then_it_is_over() {
    check(
        "ping",
        &[
            "system ring agent=hana => ringing ping@2",
            "wait 1s => queued ping@2",
            "wait 1s => queued pong@3",
            "system ring agent=hana => ringing pong@3",
            "wait 1s => queued pong@3",
            "wait 1s => failed bob@4",
        ],
    );
    // After an answer, a new wait begins: the other queue may take it once more.
    check(
        "ping",
        &[
            "system ring agent=hana => ringing ping@2",
            "wait 1s => queued ping@2",
            "wait 1s => queued pong@3",
            "hana answer epoch=3 => connected hana@4",
            "hana transfer to=ping type=blind epoch=4 => queued ping@6",
            "system ring agent=ivan => ringing ping@6",
            "wait 1s => queued ping@6",
            "wait 1s => queued pong@7",
            "system ring agent=ivan => ringing pong@7",
            "wait 1s => queued pong@7",
            "wait 1s => failed bob@8",
        ],
    );
}

/// A person answers, and is gone: the customer begins to wait anew, and the other queue is ahead
/// again.
#[test]
fn after_a_lost_person_it_overflows_as_ever() {
    let lost = |more: &[&str]| {
        let answered = [
            "wait 1m => nothing",
            "hana answer epoch=2 => connected hana@3",
            "wait 1m => nothing",
            "system lose agent=hana => queued slow@4",
        ];
        let world = check("slow", &[&answered, more].concat());
        let transfer = world.conversation().transfer.as_ref().expect("a transfer");
        (transfer.order, transfer.limits.gives_up_at)
    };
    // `slow` overflows after two minutes.
    let (order, gives_up_at) = lost(&["wait 1m => nothing", "wait 1m => queued support@5"]);
    // The place and the wait are those of a queue without an overflow.
    assert_eq!((order, gives_up_at), lost(&["wait 1m => nothing"]));
    lost(&["ivan answer epoch=4 => connected ivan@5", "system lose agent=ivan => queued slow@6"]);
    // Rings without an answer lead there too, and not to the end.
    check(
        "brief",
        &[
            "hana answer epoch=2 => connected hana@3",
            "system lose agent=hana => queued brief@4",
            "system ring agent=hana => ringing brief@4",
            "wait 30s => queued brief@4",
            "system ring agent=ivan => ringing brief@4",
            "wait 30s => queued brief@4",
            "wait 1s => queued support@5",
        ],
    );
    // A queue that it had left may have it once more.
    check(
        "ping",
        &[
            "system ring agent=hana => ringing ping@2",
            "wait 1s => queued ping@2",
            "wait 1s => queued pong@3",
            "hana answer epoch=3 => connected hana@4",
            "system lose agent=hana => queued pong@5",
            "wait 20h => queued ping@6",
        ],
    );
    // No person had answered: the same wait goes on.
    check(
        "slow",
        &[
            "wait 1m => nothing",
            "system ring agent=hana => ringing slow@2",
            "system lose agent=hana => queued slow@2",
            "wait 1m => queued support@3",
        ],
    );
}

#[test]
fn the_promised_wait_is_not_begun_anew() {
    // `ping` and `pong` promise 24 hours each, and overflow after 20.
    check("ping", &["wait 20h => queued pong@3", "wait 3h => nothing", "wait 1h => failed bob@4"]);
}

#[test]
fn all_queues_together_ring_only_so_often() {
    let mut world = in_queue("tireless");
    for _ in 1..RINGS_IN_ALL_MAX {
        world.check("system ring agent=hana => ringing tireless@2");
        world.check("wait 1s => queued tireless@2");
    }
    world.check("system ring agent=hana => ringing tireless@2");
    world.check("wait 1s => queued tireless@2");
    world.check("wait 1s => failed bob@3");
}
