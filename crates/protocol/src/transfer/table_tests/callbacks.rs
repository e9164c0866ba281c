//! Callbacks: who may ask for one and settle it, and the effect on a transfer that waits.

use super::world::World;
use crate::callback::CONTACT_BYTES_MAX;
use crate::step::State;

#[test]
fn the_bot_keeps_the_conversation_and_somebody_calls() {
    let mut world = World::script(&[
        "shop open agent=bob => idle bob@1",
        "stranger callback contact=x => not_found",
        "tom callback contact=x epoch=1 => not_found",
        "shop callback contact=x epoch=1 => not_holder",
        "bob callback contact=x => epoch_required",
        "bob callback contact=x epoch=2 => epoch_outdated",
        "customer callback contact= => invalid contact",
        "customer callback contact=\"a\\nb\" => invalid contact",
        "bob callback contact=x queue=bob epoch=1 => invalid queue",
        "bob callback contact=x queue=nobody epoch=1 => unknown_agent",
        "customer callback contact=x not_before=2026-03-24T00:00:00Z => invalid not_before",
        "customer called outcome=x => not_found",
        "bob callback contact=x epoch=1 => idle bob@1",
        "customer callback contact=x => already_exists",
        "coord callback contact=x => already_exists",
    ]);
    let long = format!("bob callback epoch=1 contact={}", "x".repeat(CONTACT_BYTES_MAX + 1));
    let mut other = World::script(&["shop open agent=bob => idle bob@1"]);
    other.check(&format!("{long} => invalid contact"));
    for line in [
        "customer called outcome=x => not_allowed",
        "bob called outcome=x => not_allowed",
        "stranger called outcome=x => not_found",
        "hana called outcome= => invalid outcome",
        // A promised call is made even after the end.
        "customer close => idle bob@1 closed",
        "customer callback contact=x => conversation_closed",
        "hana called outcome=reached => idle bob@1 closed",
        "hana called outcome=reached => not_found",
    ] {
        world.check(line);
    }
}

#[test]
fn what_waits_is_cancelled_with_it() {
    for before in [&[][..], &["hana pickup epoch=2 => ringing support@2"]] {
        let mut world = World::script(&[
            "shop open agent=bob => idle bob@1",
            "customer request => queued support@2",
        ]);
        before.iter().for_each(|line| world.check(line));
        world.check("customer callback contact=x => cancelled bob@3");
        assert_eq!(world.recorded, ["transfer.over", "callback.asked"]);
        assert_eq!(
            (&world.bodies[1]["holder"], &world.bodies[1]["queue"]),
            (&"bob".into(), &"support".into())
        );
        assert!(world.holds.values().all(|hold| hold.holder.is_none()), "{:?}", world.holds);
    }
    // A customer who already speaks with a person stays with that person.
    let mut world = World::script(&[
        "shop open agent=bob => idle bob@1",
        "customer request => queued support@2",
        "hana answer epoch=2 => connected hana@3",
        "hana callback contact=x epoch=3 => connected hana@3",
    ]);
    world.check("coord called outcome=done => connected hana@3");
}

#[test]
fn an_erasure_takes_where_to_call_along() {
    let mut world = World::script(&[
        "shop open agent=bob => idle bob@1",
        "customer callback contact=secret note=secret => idle bob@1",
    ]);
    let Some(State::Conversation(conversation)) = world.state.take() else { unreachable!() };
    let erased =
        crate::conversation::evolve::without_texts(std::sync::Arc::unwrap_or_clone(conversation));
    let text = serde_json::to_string(&erased).expect("plain data");
    assert!(erased.callback.is_some() && !text.contains("secret"), "{text}");
}
