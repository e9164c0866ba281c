//! Who may open, change and close a subscription, and when it ends.

use super::*;
use crate::ids::TeamspaceId;
use crate::step::Facts;

fn now() -> Time {
    Time::from_millis(1_772_000_000_000)
}

fn caller(principal: &str) -> Caller {
    let (kind, name) = principal.split_once(':').unwrap_or((principal, ""));
    let id = || name.parse().unwrap();
    let principal = match kind {
        "agent" => Principal::Agent(id()),
        "operator" => Principal::Operator(id()),
        "customer" => Principal::Customer(id()),
        _ => Principal::System,
    };
    Caller { principal, ..Caller::system(TeamspaceId::default_teamspace()) }
}

fn open() -> Command {
    Command::Open(Box::new(Open {
        subscriber_id: "nvda".to_owned(),
        subscriber_name: None,
        version: "1.0.0".to_owned(),
        honored: Capabilities::default(),
    }))
}

fn agree() -> Command {
    let honored = Capabilities { pace_wpm: Some(120), ..Capabilities::default() };
    Command::Agree { before: Box::default(), honored: Box::new(honored) }
}

fn close() -> Command {
    Command::Close { code: "subscriber_shutdown".to_owned(), message: String::new() }
}

/// The result of a command: the names of events, or the code of a rejection.
fn comes_to(
    state: Option<&Subscription>,
    who: &str,
    command: &Command,
    slot: Option<u16>,
) -> String {
    let slots = slot.map(|slot| (SlotOf::Listener, slot)).into_iter().collect();
    let facts = Facts { slots, ..Facts::default() };
    let caller = caller(who);
    match decide(state, command, Context { caller: &caller, facts: &facts, now: now() }) {
        Ok(events) => events.iter().map(Event::name).collect::<Vec<_>>().join(" "),
        Err(rejection) => rejection.code().to_owned(),
    }
}

fn known(closed: bool) -> Subscription {
    Subscription {
        listener: "agent:bob".to_owned(),
        subscriber_id: "nvda".to_owned(),
        version: "1.0.0".to_owned(),
        honored: Capabilities::default(),
        slot: 1,
        until: now(),
        closed,
    }
}

#[test]
fn who_may_do_what() {
    let (is_open, is_closed) = (known(false), known(true));
    let rows = [
        (None, "agent:bob", open(), "subscription.opened"),
        (None, "customer:ann", open(), "subscription.opened"),
        (None, "operator:root", open(), "subscription.opened"),
        (None, "system", open(), "not_allowed"),
        (None, "agent:bob", agree(), "not_found"),
        (None, "agent:bob", close(), "not_found"),
        (Some(&is_open), "agent:bob", open(), "already_exists"),
        (Some(&is_open), "agent:bob", agree(), "subscription.agreed"),
        (Some(&is_open), "agent:eve", agree(), "not_found"),
        (Some(&is_open), "operator:root", agree(), "not_found"),
        (Some(&is_open), "agent:bob", close(), "subscription.closed"),
        (Some(&is_open), "agent:eve", close(), "not_found"),
        (Some(&is_open), "operator:root", close(), "subscription.closed"),
        (Some(&is_closed), "agent:bob", agree(), "not_found"),
        (Some(&is_closed), "agent:bob", close(), ""),
        (Some(&is_open), "system", Command::Elapse { due: now() }, "subscription.closed"),
        (Some(&is_open), "system", Command::Elapse { due: now().plus(LASTS) }, ""),
        (Some(&is_closed), "system", Command::Elapse { due: now() }, ""),
    ];
    for (state, who, command, expected) in rows {
        assert_eq!(comes_to(state, who, &command, Some(1)), expected, "{who} {command:?}");
    }
}

#[test]
fn nobody_has_more_than_their_places() {
    assert_eq!(comes_to(None, "agent:bob", &open(), None), "too_many_subscriptions");
    let bob = caller("agent:bob").principal;
    let key = |k: u16| format!("{}{k:03}", slot_prefix(&bob));
    assert_eq!(free_slot(&bob, &[]), Some(1));
    assert_eq!(free_slot(&bob, &[key(1), key(3)]), Some(2));
    let all: Vec<_> = (1..=OPEN_MAX).map(key).collect();
    assert_eq!(free_slot(&bob, &all), None);
    assert_eq!(known(false).hold().key, key(1));
}

#[test]
fn terms_that_changed_meanwhile_are_not_mixed() {
    let mut state = known(false);
    state.honored.pace_wpm = Some(300);
    assert_eq!(comes_to(Some(&state), "agent:bob", &agree(), None), "already_exists");
}
