//! A person passes a customer to any bot or queue: no topology binds people.

use super::world::World;

const SWARM: &str =
    r#"topology={"kind":"swarm","members":["bob","dora"],"default_agent":"bob"} agent=bob"#;

fn with_hana(lines: &[&str]) -> World {
    let mut world = World::script(&[&format!("shop open {SWARM} => idle bob@1")]);
    for line in ["customer say", "bob request epoch=1", "hana answer epoch=2"] {
        world.line(line);
    }
    for line in lines {
        world.check(line);
    }
    world
}

#[test]
fn a_person_hands_a_customer_to_any_bot() {
    for line in
        ["hana complete epoch=3 to=carol summary=s", "hana route epoch=3 goto=carol context=s"]
    {
        let world = with_hana(&[&format!("{line} => completed carol@4")]);
        assert_eq!(world.recorded, ["transfer.over"]);
        assert_eq!(world.bodies[0]["to"], "carol");
        assert_eq!(world.bodies[0]["summary"], "s");
        assert!(world.slots().is_empty(), "{:?}", world.slots());
    }
    // A bot at an endpoint is told what happened since the bot before had it.
    let world = with_hana(&["hana complete epoch=3 to=erin => completed erin@4"]);
    let conversation = world.conversation();
    let effect = conversation.effects().pop().expect("a delivery");
    let turn = conversation.turn_of(&effect.name).expect("it is wanted");
    assert_eq!((turn.after, turn.through, turn.in_reply_to), (0, 4, Some(1)));
    with_hana(&["hana complete epoch=3 to=bob => completed bob@4"]);
    with_hana(&[
        "hana hold epoch=3 => on_hold hana@3",
        "hana route epoch=3 goto=carol => completed carol@4",
    ]);
}

#[test]
fn what_a_person_may_not() {
    with_hana(&[
        "hana complete epoch=3 to=ghost => unknown_agent",
        "hana complete epoch=3 to=router => invalid to",
        "hana complete epoch=3 to=support => invalid to",
        "hana complete epoch=3 to=ivan => invalid to",
        "hana complete epoch=2 to=carol => epoch_outdated",
        "hana route epoch=3 goto=ghost => unknown_agent",
        "hana route epoch=3 goto=support => invalid goto",
        "hana route epoch=3 goto=ivan => invalid goto",
        "hana route epoch=3 goto=human context=c => invalid context",
        "hana route epoch=2 goto=human => epoch_outdated",
        "hana route epoch=3 goto=carol customer_text=t => invalid customer_text",
        "hana route epoch=2 goto=carol => epoch_outdated",
        "bob route epoch=3 goto=carol => not_holder",
        "bob complete epoch=3 to=carol => not_allowed",
        "hana transfer epoch=3 to=ivan type=supervisor_consult => connected hana@3",
        "ivan accept epoch=3 => connected hana@3",
        "ivan complete epoch=3 to=carol => invalid to",
    ]);
    // No bot hands on a customer who waits.
    let mut world = World::script(&[&format!("shop open {SWARM} => idle bob@1")]);
    world.line("bob request epoch=1");
    world.check("bob route epoch=2 goto=carol => not_holder");
}

/// By a transfer, or by a command.
#[test]
fn a_person_passes_a_customer_to_any_queue() {
    for (kind, expected) in [("blind", "queued bills@5"), ("warm", "connected hana@3")] {
        with_hana(&[&format!("hana transfer epoch=3 to=bills type={kind} => {expected}")]);
    }
    let words = r#"parts=[{"type":"text","text":"x"}]"#;
    for line in ["goto=human queue=bills", "goto=human queue=bills reason=r customer_text=t"] {
        with_hana(&[&format!("hana route epoch=3 {line} => queued bills@5")]);
        let world = with_hana(&[&format!("hana route epoch=3 {line} {words} => queued bills@5")]);
        let names = ["conversation.said", "transfer.passed_on", "transfer.queued"];
        assert_eq!(world.recorded, names);
    }
}

/// Also if the bots before have used up the time for the customer's message.
#[test]
fn a_bot_to_which_a_person_gives_a_customer_has_its_own_time() {
    let mut world = World::script(&[&format!("shop open {SWARM} => idle bob@1")]);
    world.line("customer say");
    let mut epoch = 1;
    loop {
        world.line(&format!("bob request epoch={epoch}"));
        epoch += 1;
        if world.line(&format!("bob cancel epoch={epoch}")) == "not_allowed" {
            break;
        }
        epoch += 1;
    }
    world.line(&format!("hana answer epoch={epoch}"));
    world.line(&format!("hana complete epoch={} to=carol", epoch + 1));
    assert_eq!(world.conversation().holder.as_str(), "carol");
    let owed = world.conversation().wait.owed.expect("carol must answer");
    assert_eq!(owed.until.since(world.now).to_string(), "1m");
}

/// A person may also write to the customer, share data, or end it, in one command.
#[test]
fn a_person_ends_it_with_parting_words() {
    let words = r#"parts=[{"type":"text","text":"x"}]"#;
    let world =
        with_hana(&[&format!("hana route epoch=3 goto=carol {words} => completed carol@4")]);
    assert_eq!(world.recorded, ["conversation.said", "transfer.over"]);
    assert_eq!(world.conversation().turn.open(), Some(1), "the bot has still to answer");
    let line = format!("hana route epoch=3 goto=carol {words} => completed carol@4");
    let world = with_hana(&["hana say epoch=3 => connected hana@3", &line]);
    assert_eq!(world.conversation().turn.open(), None, "the person has answered");
    let world =
        with_hana(&[&format!("hana route epoch=3 end=true {words} => ended hana@3 closed")]);
    assert_eq!(world.recorded, ["conversation.said", "transfer.over", "conversation.closed"]);
}
