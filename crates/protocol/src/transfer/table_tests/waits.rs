//! What an open transfer waits for, step by step, and what the customer of a conversation does.

use super::world::World;
use crate::conversation;
use crate::transfer::waits::waits;
use crate::waiting::Wait;

fn shown(world: &World) -> String {
    let Some(transfer) = world.conversation().open_transfer() else { return "-".to_owned() };
    told(world, waits(transfer, None))
}

fn told(world: &World, waits: impl IntoIterator<Item = Wait>) -> String {
    let all = waits.into_iter().map(|wait| {
        let since = wait.since.map_or("-".to_owned(), |it| world.now.since(it).to_string());
        let until = wait.until.map_or("-".to_owned(), |it| it.since(world.now).to_string());
        let to = wait.then.to().map(|to| format!(" to {to}")).unwrap_or_default();
        let (who, actions, then) =
            (wait.who.describe(), wait.actions.join(","), wait.then.as_str());
        format!("{who} {actions} since {since} until {until} {then}{to}")
    });
    all.collect::<Vec<_>>().join("; ")
}

#[test]
fn each_step_says_who_until_when_and_what_then() {
    let mut world = World::script(&["shop open agent=bob => idle bob@1"]);
    for (line, expected) in [
        ("customer request => queued support@2", "queue:support pickup since - until 1h fails"),
        (
            "hana pickup epoch=2 => ringing support@2",
            "agent:hana accept,decline since 0ms until 30s returns_to_queue",
        ),
        (
            "hana accept epoch=2 => connected hana@3",
            "agent:hana complete,end,transfer since - until - nothing",
        ),
        ("hana hold epoch=3 => on_hold hana@3", "agent:hana resume since 0ms until 10m hold_ends"),
        (
            "hana resume epoch=3 => connected hana@3",
            "agent:hana complete,end,transfer since - until - nothing",
        ),
        (
            "hana transfer epoch=3 to=ivan => connected hana@3",
            "agent:hana complete,end,transfer since - until - nothing; \
             agent:ivan accept,decline since 0ms until 30s invitation_ends",
        ),
        ("hana complete epoch=3 => completed bob@4", "-"),
    ] {
        world.check(line);
        assert_eq!(shown(&world), expected, "{line}");
    }
}

#[test]
fn a_wait_that_overflows_says_where_to() {
    let world = World::script(&[
        "shop open agent=bob customer_queues=[\"brief\"] => idle bob@1",
        "customer request queue=brief => queued brief@2",
    ]);
    assert!(shown(&world).ends_with("overflows to support"), "{}", shown(&world));
}

/// By a line of the script: what the customer waits for after it.
#[test]
fn a_customer_waits_for_the_holder_or_a_person_of_a_queue() {
    let bot = "agent:bob answer since 0ms until 1m falls_back";
    for lines in [
        &[
            ("shop open agent=bob => idle bob@1", "-"),
            ("customer say => idle bob@1", bot),
            ("bob say epoch=1 => idle bob@1", "-"),
            ("customer say => idle bob@1", bot),
            (
                "bob request queue=prompt epoch=1 => queued prompt@2",
                "queue:prompt pickup since - until 1h fails",
            ),
            (
                "hana pickup epoch=2 => ringing prompt@2",
                "agent:hana accept,decline since 0ms until 30s returns_to_queue",
            ),
            (
                "hana accept epoch=2 => connected hana@3",
                "agent:hana answer since 0ms until 2m reminds",
            ),
            // A reminder comes once for what waits.
            ("wait 2m => connected hana@3", "agent:hana answer since 2m until - nothing"),
            ("hana say epoch=3 => connected hana@3", "-"),
            ("customer say => connected hana@3", "agent:hana answer since 0ms until 2m reminds"),
            ("hana complete epoch=3 => completed bob@4", bot),
            ("customer close => completed bob@4 closed", "-"),
        ][..],
        &[
            ("shop open agent=bob => idle bob@1", "-"),
            ("customer request => queued support@2", "queue:support pickup since - until 1h fails"),
            ("hana answer epoch=2 => connected hana@3", "-"),
            ("customer say => connected hana@3", "agent:hana answer since 0ms until - nothing"),
            (
                "hana hold epoch=3 => on_hold hana@3",
                "agent:hana resume since 0ms until 10m hold_ends",
            ),
            (
                "hana resume epoch=3 => connected hana@3",
                "agent:hana answer since 0ms until - nothing",
            ),
        ],
    ] {
        let mut world = World::new();
        for (line, expected) in lines {
            world.check(line);
            let waits = conversation::waits::waits(world.conversation(), None);
            let shown = told(&world, waits);
            let shown = if shown.is_empty() { "-" } else { &shown };
            assert_eq!(shown, *expected, "{line}");
        }
    }
}
