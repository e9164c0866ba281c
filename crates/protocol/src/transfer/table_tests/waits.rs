//! What an open transfer waits for, step by step.

use super::world::World;
use crate::transfer::waits::waits;

fn shown(world: &World) -> String {
    let Some(transfer) = world.conversation().open_transfer() else { return "-".to_owned() };
    let all = waits(transfer, None).into_iter().map(|wait| {
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
