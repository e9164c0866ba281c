//! A person who does not reply is reminded once for each row of messages that waits, and keeps the
//! customer. `prompt` is a queue with a `reply_target` of two minutes.

use super::world::World;

fn with_hana(lines: &[&str]) -> World {
    let to_hana = [
        "shop open agent=bob => idle bob@1",
        "bob request queue=prompt epoch=1 => queued prompt@2",
        "hana answer epoch=2 => connected hana@3",
    ];
    World::script(&to_hana.iter().chain(lines).copied().collect::<Vec<_>>())
}

#[test]
fn a_person_is_reminded_and_nothing_moves() {
    let mut world = with_hana(&["wait 10m => nothing", "customer say => connected hana@3"]);
    world.check("wait 90s => nothing");
    // A second message does not begin anew.
    world.check("customer say => connected hana@3");
    world.check("wait 30s => connected hana@3");
    assert_eq!(world.recorded, ["conversation.reply_overdue"]);
    assert_eq!(world.bodies[0]["holder"], "hana");
    assert_eq!(world.bodies[0]["within"], "2m");
    assert_eq!(world.bodies[0]["queue"], "prompt");
    for line in [
        "wait 10m => nothing",
        "customer say => connected hana@3",
        "wait 2m => connected hana@3",
        "hana say epoch=3 => connected hana@3",
        "wait 10m => nothing",
        "customer say => connected hana@3",
        "hana say epoch=3 => connected hana@3",
        "wait 10m => nothing",
    ] {
        world.check(line);
    }
}

#[test]
fn what_was_said_while_the_customer_waited_counts_from_the_arrival_of_the_person() {
    World::script(&[
        "shop open agent=bob => idle bob@1",
        "bob request queue=prompt epoch=1 => queued prompt@2",
        "customer say => queued prompt@2",
        "wait 5m => nothing",
        "hana answer epoch=2 => connected hana@3",
        "wait 90s => nothing",
        "wait 30s => connected hana@3",
        "hana complete epoch=3 => completed bob@4",
    ]);
}

#[test]
fn a_reply_to_an_older_message_leaves_the_later_one() {
    let mut world = with_hana(&[
        "customer say => connected hana@3",
        "customer say => connected hana@3",
        "wait 90s => nothing",
        "hana say epoch=3 in_reply_to=3 => connected hana@3",
        "wait 90s => nothing",
        "wait 30s => connected hana@3",
    ]);
    assert_eq!(world.recorded, ["conversation.reply_overdue"]);
    assert_eq!(world.bodies[0]["message"], 4);
    world.check("hana say epoch=3 in_reply_to=4 => connected hana@3");
    world.check("wait 10m => nothing");
}

#[test]
fn without_a_target_no_one_is_reminded() {
    World::script(&[
        "shop open agent=bob => idle bob@1",
        "customer request => queued support@2",
        "hana answer epoch=2 => connected hana@3",
        "customer say => connected hana@3",
        "wait 24h => nothing",
    ]);
}
