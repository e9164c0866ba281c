//! The rules of a conversation as tables: on the left of `=>` the caller and the command, on the
//! right the result. `bob` and `carol` are workers that customers may choose, `dora` is one they
//! may not; `erin` and `eve` have an endpoint, and `fresh` only has a token; `router` is a system
//! agent, `hana` a person, `coord` a coordinator. `shop` opens conversations. `customer` is that of
//! the conversation, `stranger` that of another one.

mod commands;
mod graphs;
mod signals;
mod silence;
mod silence_bounds;
mod turn_delivery;
mod world;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::command::{Command, Say};
use super::decide::{NOT_HEARD_MAX, SHARED_BYTES_MAX, SHARED_NAMES_MAX};
use super::part::{ATTACHMENT_BYTES_MAX, PARTS_MAX, TEXT_BYTES_MAX};
use super::state::HELD_MAX;
use super::topology::MEMBERS_MAX;
use crate::{canonical, step};
use world::World;

#[test]
fn one_agent_speaks_with_the_customer() {
    check(&[
        "shop open agent=bob => bob@1",
        "shop open agent=bob => already_exists",
        "customer say => #1",
        "bob say epoch=1 in_reply_to=1 => #2",
        "bob say epoch=1 => #3",
        "customer say in_reply_to=3 => #4",
        "bob close => closed",
        "customer say => conversation_closed",
        "bob say epoch=1 => conversation_closed",
        "bob route goto=carol epoch=1 => conversation_closed",
        "customer select agent=carol => conversation_closed",
        "customer close => conversation_closed",
        "operator erase position=2 => erased",
    ]);
}

#[test]
fn who_may_open_one_and_for_whom() {
    check(&[
        "customer open agent=bob => not_allowed",
        "system open agent=bob => not_allowed",
        "shop open => schema_invalid",
        "shop open agent=nobody => unknown_agent",
        "shop open agent=router => schema_invalid",
        "shop open agent=hana => schema_invalid",
        "shop open agent=bob hops_max=0 => schema_invalid",
        "shop open agent=bob hops_max=65 => schema_invalid",
        r#"shop open agent=bob customer={"name":"\u0007"} => schema_invalid"#,
        r#"shop open agent=bob customer={"language":""} => schema_invalid"#,
        "operator open agent=bob hops_max=64 => bob@1",
    ]);
}

#[test]
fn everybody_has_their_part() {
    check(&[
        "bob say epoch=1 => not_found",
        "customer say => not_found",
        "shop open agent=bob => bob@1",
        "stranger say => not_found",
        "stranger select agent=carol => not_found",
        "stranger close => not_found",
        "carol say epoch=1 => not_found",
        "carol route goto=bob epoch=1 => not_found",
        "carol close => not_found",
        "operator say => not_allowed",
        "system say => not_allowed",
        "customer route goto=carol epoch=1 => not_allowed",
        "operator route goto=carol epoch=1 => not_allowed",
        "bob select agent=carol => not_allowed",
        "operator select agent=carol => not_allowed",
        "shop close => not_allowed",
        "shop say epoch=1 => not_holder",
        "coord say epoch=1 => not_holder",
        "bob erase position=1 => not_allowed",
        "coord erase position=1 => not_allowed",
        "customer erase position=1 => not_allowed",
        "system erase position=1 => not_allowed",
        "coord close => closed",
    ]);
    for who in ["customer", "operator", "bob"] {
        check(&["shop open agent=bob => bob@1", &format!("{who} close => closed")]);
    }
}

/// It is recorded, so that an operator can look into it, and is never part of the transcript.
#[test]
fn a_late_answer_is_not_heard() {
    check(&[
        "shop open agent=bob => bob@1",
        "customer say => #1",
        "bob say => epoch_required",
        "bob say epoch=0 => epoch_outdated",
        "bob say epoch=2 => epoch_outdated",
        "bob route goto=carol => epoch_required",
        "bob route goto=carol epoch=1 => carol@2 #2",
        "bob say epoch=1 in_reply_to=1 => epoch_outdated",
        "bob say epoch=2 in_reply_to=1 => not_holder",
        "bob route goto=dora epoch=1 => epoch_outdated",
        "bob route goto=dora epoch=2 => not_holder",
        "carol say epoch=2 in_reply_to=1 => #3",
        "customer say => #4",
        "bob say epoch=1 => epoch_outdated",
        "customer select agent=bob => bob@3 #5 user_selection",
        "carol say epoch=2 in_reply_to=4 => epoch_outdated",
        "bob say epoch=1 => epoch_outdated",
        "bob say epoch=3 in_reply_to=4 => #6",
    ]);
}

#[test]
fn each_message_is_answered_once() {
    check(&[
        "shop open agent=bob => bob@1",
        "customer say => #1",
        "customer say => #2",
        "bob say epoch=1 in_reply_to=0 => schema_invalid",
        "bob say epoch=1 in_reply_to=3 => schema_invalid",
        "bob say epoch=1 in_reply_to=1 => #3",
        "bob say epoch=1 in_reply_to=1 => already_answered",
        "bob say epoch=1 in_reply_to=2 => #4",
        "bob say epoch=1 in_reply_to=2 => already_answered",
        "bob route goto=carol epoch=1 => carol@2 #5",
        "carol say epoch=2 in_reply_to=2 => already_answered",
        "carol say epoch=2 => #6",
    ]);
}

/// A bot that does not stop must not fill the disk.
#[test]
fn what_is_not_heard_is_recorded_so_often_and_then_only_refused() {
    let mut world = World::new();
    world.check("shop open agent=bob => bob@1");
    world.check("bob route goto=carol epoch=1 => carol@2 #1");
    for _ in 0..NOT_HEARD_MAX {
        world.check("bob say epoch=1 => epoch_outdated");
        assert_eq!(world.recorded, ["conversation.not_heard"]);
    }
    world.check("bob say epoch=1 => epoch_outdated");
    assert!(world.recorded.is_empty());
    world.check("carol route goto=dora epoch=2 => dora@3 #2");
    world.check("bob say epoch=1 => epoch_outdated");
    assert_eq!(world.recorded, ["conversation.not_heard"]);
}

#[test]
fn a_refusal_says_who_holds_it_and_in_which_epoch() {
    let mut world = World::new();
    world.check("shop open agent=bob => bob@1");
    world.check("bob route goto=carol epoch=1 => carol@2 #1");
    world.check("bob say epoch=1 => epoch_outdated");
    assert_eq!(
        world.detail,
        "the conversation is in another epoch; `carol` holds the conversation in epoch 2"
    );
    world.check("bob route goto=dora epoch=2 => not_holder");
    assert_eq!(
        world.detail,
        "only its holder may do this; `carol` holds the conversation in epoch 2"
    );
}

#[test]
fn agents_hand_over_to_workers_they_do_not_have() {
    check(&[
        "shop open agent=bob => bob@1",
        "bob route goto=nobody epoch=1 => unknown_agent",
        "bob route goto=router epoch=1 => schema_invalid",
        "bob route goto=hana epoch=1 => schema_invalid",
        "bob route goto=bob epoch=1 => schema_invalid",
        "bob route goto=dora epoch=1 => dora@2 #1",
    ]);
}

#[test]
fn a_circle_is_stopped_until_the_customer_speaks() {
    check(&[
        "shop open agent=bob => bob@1",
        "customer say => #1",
        "bob route goto=carol epoch=1 => carol@2 #2",
        "carol route goto=bob epoch=2 => bob@3 #3",
        "bob route goto=carol epoch=3 => loop_guard",
        "bob route goto=dora epoch=3 => dora@4 #4",
        "dora route goto=carol epoch=4 => carol@5 #5",
        "customer say => #6",
        "carol route goto=bob epoch=5 => bob@6 #7",
    ]);
    check(&[
        "shop open agent=bob hops_max=2 => bob@1",
        "bob route goto=carol epoch=1 => carol@2 #1",
        "carol route goto=dora epoch=2 => dora@3 #2",
        "dora route goto=bob epoch=3 => loop_guard",
        "customer say => #3",
        "dora route goto=bob epoch=3 => bob@4 #4",
    ]);
}

/// Without a supervisor, a loop ends with a person.
#[test]
fn a_circle_ends_with_a_person() {
    let mut world = World::with_people();
    for line in [
        "shop open agent=bob => bob@1",
        "customer say => #1",
        "bob route goto=carol epoch=1 => carol@2 #2",
        "carol route goto=bob epoch=2 => bob@3 #3",
        "bob route goto=carol epoch=3 => default@4 #4 requested instead_of=carol queued",
        "bob route goto=dora epoch=4 => not_holder",
        "bob say epoch=3 => epoch_outdated",
        "customer select agent=bob => wrong_state",
        "customer say => #5",
    ] {
        world.check(line);
    }
}

/// A loop of agents ends at their supervisor.
#[test]
fn a_supervisor_hands_out_and_gets_back() {
    let workers = ["bob", "carol"];
    let topology = json!({ "kind": "supervisor", "supervisor": "router", "workers": workers });
    let open = format!("shop open topology={topology}");
    check(&[
        &format!("{open} agent=dora => schema_invalid"),
        &format!("{open} => router@1"),
        "customer say => #1",
        "router route goto=dora epoch=1 => schema_invalid",
        "router route goto=bob epoch=1 => bob@2 #2 supervisor_routing",
        "bob route goto=carol epoch=2 => schema_invalid",
        "bob route goto=carol graph=parent epoch=2 => carol@3 #3",
        "carol route goto=bob graph=parent epoch=3 => bob@4 #4",
        "bob route goto=carol graph=parent epoch=4 => router@5 #5 instead_of=carol",
        "router route goto=bob epoch=5 => bob@6 #6 supervisor_routing",
        "bob route goto=router epoch=6 => router@7 #7",
        "dora say epoch=7 => not_found",
        "carol say epoch=7 => not_holder",
        // Another try for the same worker is no loop, but counts as a hop.
        "router route goto=bob epoch=7 => bob@8 #8 supervisor_routing",
        "bob route goto=router epoch=8 => router@9 #9",
        "router route goto=bob epoch=9 => loop_guard",
        "customer say => #10",
        "router route goto=bob epoch=9 => bob@10 #11 supervisor_routing",
    ]);
    check(&[
        &format!("{open} hops_max=4 => router@1"),
        "router route goto=bob epoch=1 => bob@2 #1 supervisor_routing",
        "bob route goto=router epoch=2 => router@3 #2",
        "router route goto=bob epoch=3 => bob@4 #3 supervisor_routing",
        "bob route goto=carol graph=parent epoch=4 => carol@5 #4",
        "carol route goto=bob graph=parent epoch=5 => router@6 #5 instead_of=bob",
        "router route goto=carol epoch=6 => loop_guard",
    ]);
    check(&[&format!("{open} agent=carol => carol@1")]);
}

#[test]
fn members_of_a_swarm_hand_to_each_other() {
    let open =
        r#"shop open topology={"kind":"swarm","members":["bob","carol"],"default_agent":"carol"}"#;
    check(&[
        &format!("{open} agent=dora => schema_invalid"),
        &format!("{open} => carol@1"),
        "carol route goto=dora epoch=1 => schema_invalid",
        "carol route goto=bob epoch=1 => bob@2 #1",
        "bob route goto=carol graph=parent epoch=2 => carol@3 #2",
    ]);
    check(&[&format!("{open} agent=bob => bob@1")]);
}

#[test]
fn a_topology_makes_sense() {
    for topology in [
        json!({ "kind": "swarm", "members": [], "default_agent": "bob" }),
        json!({ "kind": "swarm", "members": ["carol"], "default_agent": "bob" }),
        json!({ "kind": "swarm", "members": ["bob", "bob"], "default_agent": "bob" }),
        json!({ "kind": "supervisor", "supervisor": "router", "workers": [] }),
        json!({ "kind": "supervisor", "supervisor": "bob", "workers": ["bob"] }),
        json!({ "kind": "supervisor", "supervisor": "hana", "workers": ["bob"] }),
        json!({ "kind": "supervisor", "supervisor": "router", "workers": ["bob", "hana"] }),
        json!({ "kind": "supervisor", "supervisor": "bob", "workers": ["router"] }),
        json!({ "kind": "swarm", "members": ["bob", "default"], "default_agent": "bob" }),
        json!({
            "kind": "swarm", "default_agent": "a0",
            "members": (0..=MEMBERS_MAX).map(|n| format!("a{n}")).collect::<Vec<_>>(),
        }),
    ] {
        check(&[&format!("shop open topology={topology} => schema_invalid")]);
    }
}

/// A choice resets the loop guard.
#[test]
fn the_customer_chooses_among_those_that_may_be_chosen() {
    check(&[
        "shop open agent=bob hops_max=1 => bob@1",
        "customer select agent=nobody => unknown_agent",
        "customer select agent=dora => agent_not_selectable",
        "customer select agent=router => agent_not_selectable",
        "customer select agent=hana => agent_not_selectable",
        "customer select agent=bob => nothing",
        "bob route goto=carol epoch=1 => carol@2 #1",
        "carol route goto=bob epoch=2 => loop_guard",
        "customer select agent=bob => bob@3 #2 user_selection",
        "bob route goto=carol epoch=3 => carol@4 #3",
    ]);
    let mut world = World::new();
    world.check("shop open agent=bob => bob@1");
    for number in 1..=100 {
        let other = if number % 2 == 1 { "carol" } else { "bob" };
        let epoch = number + 1;
        let expected = format!("{other}@{epoch} #{number} user_selection");
        world.check(&format!("customer select agent={other} => {expected}"));
    }
    assert_eq!(world.conversation().turn.holders.len(), 1);
}

#[test]
fn what_agents_share_is_merged_by_name_and_stays_small() {
    let mut world = World::new();
    world.check("shop open agent=bob => bob@1");
    let update = r#"{"bill":7,"who":{"name":"Ana","since":2019}}"#;
    world.check(&format!("bob route goto=carol epoch=1 update={update} => carol@2 #1"));
    let update = r#"{"bill":null,"who":{"name":"Eva"},"none":null}"#;
    world.check(&format!("carol route goto=dora epoch=2 update={update} => dora@3 #2"));
    let shared = Value::Object(world.conversation().shared.clone());
    assert_eq!(shared, json!({ "who": { "name": "Eva" } }));

    let many: Value = (0..SHARED_NAMES_MAX).map(|n| (n.to_string(), json!(n))).collect();
    world.check(&format!("dora route goto=bob epoch=3 update={many} => schema_invalid"));
    let large = json!({ "text": "x".repeat(SHARED_BYTES_MAX) });
    world.check(&format!("dora route goto=bob epoch=3 update={large} => schema_invalid"));
    let mut many = many;
    many["who"] = Value::Null;
    world.check(&format!("dora route goto=bob epoch=3 update={many} => bob@4 #3"));

    world.check("operator erase position=2 => erased");
    assert!(world.conversation().shared.is_empty());
}

#[test]
fn parts_are_checked_one_by_one() {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let file = |name: &str, media_type: &str, data: &str| {
        let kind = "attachment";
        json!({ "type": kind, "name": name, "media_type": media_type, "data": data })
    };
    let with = |field: &str, value: Value| {
        let mut attachment = file("a.txt", "text/plain", "aGk=");
        attachment[field] = value;
        attachment
    };
    let of_size = |n_bytes| file("a", "a/b", &STANDARD.encode(vec![7_u8; n_bytes]));
    let sha256 = canonical::hex(&canonical::sha256(&[b"hi"]));
    let cases = [
        (vec![], Some("parts")),
        (vec![text("x"); PARTS_MAX], None),
        (vec![text("x"); PARTS_MAX + 1], Some("parts")),
        (vec![text("x"), text(" \n")], Some("parts[1].text")),
        (vec![text(&"x".repeat(TEXT_BYTES_MAX))], None),
        (vec![text(&"x".repeat(TEXT_BYTES_MAX + 1))], Some("parts[0].text")),
        (vec![file("a.txt", "text/plain", "aGk=")], None),
        (vec![file("../a.txt", "text/plain", "aGk=")], Some("parts[0].name")),
        (vec![file("a\r\nb", "text/plain", "aGk=")], Some("parts[0].name")),
        (vec![file("", "text/plain", "aGk=")], Some("parts[0].name")),
        (vec![file("a", "text", "aGk=")], Some("parts[0].media_type")),
        (vec![file("a", "text/html; charset=x", "aGk=")], Some("parts[0].media_type")),
        (vec![file("a", "text/plain", "aGk")], Some("parts[0].data")),
        (vec![file("a", "text/plain", "")], Some("parts[0].data")),
        (vec![of_size(ATTACHMENT_BYTES_MAX)], None),
        (vec![of_size(ATTACHMENT_BYTES_MAX + 1)], Some("parts[0].data")),
        (vec![with("sha256", json!(sha256))], None),
        (vec![with("sha256", json!("00"))], Some("parts[0].sha256")),
        (vec![with("size_bytes", json!(2))], None),
        (vec![with("size_bytes", json!(3))], Some("parts[0].size_bytes")),
    ];
    for (parts, wrong) in cases {
        let mut world = World::new();
        world.check("shop open agent=bob => bob@1");
        let say: Say = serde_json::from_value(json!({ "parts": parts })).expect("parts");
        let change = world.submit("customer", step::Command::Conversation(Command::Say(say)));
        match (change, wrong) {
            (Ok(_), None) => {}
            (Err(rejection), Some(wrong)) => assert_eq!(rejection.field(), Some(wrong)),
            (change, wrong) => panic!("{wrong:?}: {change:?}"),
        }
    }
}

#[test]
fn only_the_latest_holders_are_remembered() {
    let mut world = World::new();
    world.check("shop open agent=w0 => w0@1");
    for number in 1..=HELD_MAX {
        let (from, epoch) = (number - 1, number);
        let line = format!("w{from} route goto=w{number} epoch={epoch}");
        world.check(&format!("{line} => w{number}@{} #{}", epoch + 1, 2 * number - 1));
        world.check(&format!("customer say => #{}", 2 * number));
    }
    assert_eq!(world.conversation().held.len(), HELD_MAX);
    world.check("w0 say epoch=1 => not_found");
    world.check("w1 say epoch=2 => epoch_outdated");
}

fn check(script: &[&str]) {
    let mut world = World::new();
    for line in script {
        world.check(line);
    }
}
