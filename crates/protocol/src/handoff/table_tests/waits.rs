//! Who is waited for: it agrees with what the machine lets callers do.

use super::cells::{CALLERS, STATES, cell, world_in};
use super::request::read_span;
use super::script::{World, caller, directory, start};
use crate::agent::Kind;
use crate::handoff::state::REVISIONS_MAX;
use crate::handoff::waits::{OpenFilter, Then, Wait, WaitingFor, due_at, waits};
use crate::time::Time;

/// Actions that move a handoff towards its end. Whoever may do one of them is waited for.
const FORWARD: [&str; 8] =
    ["initiate", "accept", "approve", "counter", "activate", "complete", "confirm", "dispute"];

fn waits_in(world: &World) -> Vec<Wait> {
    waits(&world.handoffs["h1"])
}

fn kind_of(name: &str) -> Option<Kind> {
    directory(name.parse().expect("a name")).map(|agent| agent.kind)
}

#[test]
fn only_those_are_waited_for_who_can_do_it() {
    for state in STATES.into_iter().filter(|state| *state != "none") {
        let all = waits_in(&world_in(state));
        for name in CALLERS {
            let own = all.iter().filter(|wait| wait.who.is(&caller(name), kind_of(name)));
            let own: Vec<&str> = own.flat_map(|wait| wait.actions).copied().collect();
            for action in &own {
                let result = cell(state, action, name);
                assert!(STATES.contains(&&*result), "{state}: {name} {action}: {result}");
            }
            for action in FORWARD {
                let may = STATES.contains(&&*cell(state, action, name));
                // A report that is being checked can be replaced, but is not waited for.
                let is_again =
                    action == "complete" && ["completing", "unconfirmed"].contains(&state);
                assert_eq!(own.contains(&action), may && !is_again, "{state}: {name} {action}");
            }
        }
        let is_over = ["closed", "discarded"].contains(&state);
        assert_eq!(all.is_empty(), is_over, "{state}: {all:?}");
    }
}

/// After the last round the sender can only close it.
#[test]
fn a_counter_offer_is_asked_for_while_there_are_rounds_left() {
    let mut world = world_in("rejected");
    for round in 2..=REVISIONS_MAX {
        assert_eq!(waits_in(&world)[0].actions, ["counter", "close"], "before round {round}");
        world.play(&format!("sender counter h1 reason=round-{round}"));
        world.play("target reject h1");
    }
    assert_eq!(waits_in(&world)[0].actions, ["close"]);
}

#[test]
fn an_overdue_stage_keeps_its_time_and_waits_for_coordinators_too() {
    let mut world = world_in("proposed");
    let due = due_at(&world.handoffs["h1"]);
    assert!(waits_in(&world).iter().all(|wait| (wait.until, wait.then) == (due, Then::Escalates)));
    world.play("wait 1h");
    world.play("system elapse h1");
    let late = waits_in(&world);
    assert!(late.iter().all(|wait| wait.then == Then::Escalated), "{late:?}");
    assert_eq!((late[0].until, late[1].until), (due, None));
    assert_eq!(Some(late[1].since), due, "a coordinator is asked when it is overdue");
    let waiters: Vec<_> = late.iter().map(|wait| wait.who.describe()).collect();
    assert_eq!(waiters, ["agent:target", "coordinator"]);
    for wait in late.iter().filter(|wait| wait.who.describe() == "coordinator") {
        for action in wait.actions {
            let result = cell("proposed", action, "coordinator");
            assert!(STATES.contains(&&*result), "{action}: {result}");
        }
    }
}

/// A wait begins when its actor is asked, which may be later than its stage.
#[test]
fn since_is_when_the_actor_was_asked() {
    let mut world = World::new();
    let mut at = |lines: &[&str]| {
        for line in lines {
            world.play("wait 1m");
            world.play(line);
        }
        let since = |wait: &Wait| format!("{} +{}", wait.who.describe(), wait.since.since(start()));
        waits_in(&world).iter().map(since).collect::<Vec<_>>().join(", ")
    };
    let initiate = "sender initiate h1 policy.requires_verifier=true";
    assert_eq!(at(&[initiate, "target accept h1", "target activate h1"]), "agent:target +3m");
    assert_eq!(at(&["target complete h1"]), "verifier +4m");
    assert_eq!(at(&["sender dispute h1"]), "agent:target +5m");
    assert_eq!(at(&["target delegate h1"]), "parts +6m");
    assert_eq!(at(&["target withdraw h2"]), "agent:target +7m");
    let mut world = World::new();
    for line in ["sender initiate h1 policy.requires_human_approval=true", "wait 1m"] {
        world.play(line);
    }
    world.play("target accept h1");
    let since = |wait: &Wait| (wait.who.describe(), wait.since);
    let waits: Vec<_> = waits_in(&world).iter().map(since).collect();
    assert_eq!(waits, [("approver".to_owned(), start())]);
}

#[test]
fn a_list_can_be_asked_for_by_name_by_role_and_by_what_is_missing() {
    let filters = [
        "agent:sender",
        "agent:target",
        "role:coordinator",
        "role:researcher",
        "role:executor",
        "role:reviewer",
        "role:integrator",
    ];
    for (state, expected) in [
        ("draft", &["agent:sender"][..]),
        ("proposed", &["agent:target"]),
        ("guarded", &["agent:target", "role:coordinator", "role:integrator"]),
        ("accepted", &["agent:target"]),
        ("activated", &["agent:target"]),
        ("completing", &[]),
        ("unconfirmed", &["agent:sender", "role:coordinator", "role:reviewer"]),
        ("rejected", &["agent:sender"]),
        ("completed", &["agent:sender"]),
        ("closed", &[]),
    ] {
        let world = world_in(state);
        let keeps = |filter: OpenFilter, now: Time| {
            filter.keeps(&world.handoffs["h1"], &caller("stranger"), None, now)
        };
        let asked = |text: &str| {
            let waiting_for = Some(text.parse().expect("a filter"));
            keeps(OpenFilter { waiting_for, ..OpenFilter::default() }, start())
        };
        let found: Vec<&str> = filters.into_iter().filter(|text| asked(text)).collect();
        assert_eq!(found, expected, "{state}");
        let wanted = OpenFilter { is_approval_wanted: true, ..OpenFilter::default() };
        assert_eq!(keeps(wanted, start()), state == "guarded", "{state}");
        let late = OpenFilter { is_overdue: Some(true), ..OpenFilter::default() };
        let has_clock = due_at(&world.handoffs["h1"]).is_some();
        assert!(!keeps(late.clone(), start()), "{state}");
        assert_eq!(keeps(late, start().plus(read_span("48h"))), has_clock, "{state}");
    }
    for text in ["", "ME", "bob", "agent:", "role:boss"] {
        assert!(text.parse::<WaitingFor>().is_err(), "{text}");
    }
}
