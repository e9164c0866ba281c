//! What a bot is told when it gets a conversation back. `erin` has an endpoint.

use super::world::World;

/// The bot that gets a conversation back is told what happened since, and is asked for an answer if
/// the customer waits for one.
#[test]
fn a_bot_that_gets_it_back_is_told_what_happened_and_not_asked_again() {
    let to_hana = ["customer say", "erin request epoch=1", "hana answer epoch=2"];
    for (lines, expected) in [
        // 1 customer, 2 requested, 3 connected, then what follows.
        (&["hana say epoch=3", "hana complete epoch=3"][..], "1-5"),
        (&["hana complete epoch=3"], "1-4 answers 1"),
        (&["hana say epoch=3", "customer say", "hana complete epoch=3"], "1-6 answers 5"),
        (&["customer say", "hana say epoch=3 in_reply_to=1", "hana complete epoch=3"], "1-6"),
        (&["hana say epoch=3", "hana say epoch=3 in_reply_to=1", "hana complete epoch=3"], "1-6"),
        (&["coord cancel epoch=3"], "1-4 answers 1"),
        (&["hana end epoch=3"], "nothing"),
    ] {
        let mut world = World::script(&["shop open agent=erin => idle erin@1"]);
        for line in to_hana.iter().chain(lines) {
            world.line(line);
        }
        assert_eq!(told(&world), expected, "{lines:?}");
    }
    // Messages that the bot got or answered before are not told again, unless it must answer them
    // now.
    for (before, expected) in [
        (&["customer say", "system delivered epoch=1 through=1"][..], "1-4 answers 1"),
        (&["customer say", "erin say epoch=1 in_reply_to=1"], "3-5"),
        (&["erin say epoch=1", "customer say"], "2-5 answers 2"),
    ] {
        let mut world = World::script(&["shop open agent=erin => idle erin@1"]);
        let lines = ["erin request epoch=1", "hana answer epoch=2", "hana complete epoch=3"];
        for line in before.iter().chain(&lines) {
            world.line(line);
        }
        assert_eq!(told(&world), expected, "{before:?}");
    }
    // No person came.
    let mut world = World::script(&["shop open agent=erin => idle erin@1"]);
    for line in ["customer say", "erin say epoch=1", "customer request", "customer say", "wait 1h"]
    {
        world.line(line);
    }
    assert_eq!(told(&world), "3-5 answers 4");
}

/// The messages that are being delivered to the holder, and the one it must answer.
fn told(world: &World) -> String {
    let conversation = world.conversation();
    let Some(effect) = conversation.effects().pop() else { return "nothing".to_owned() };
    let turn = conversation.turn_of(&effect.name).expect("it is wanted");
    assert_eq!(turn.agent.as_str(), "erin");
    let answers = turn.in_reply_to.map(|number| format!(" answers {number}")).unwrap_or_default();
    format!("{}-{}{answers}", turn.after + 1, turn.through)
}
