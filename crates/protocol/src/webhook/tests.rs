//! What a webhook allows, as tables.

use super::*;
use crate::caller::{Caller, Principal};
use crate::facts::{Context, Facts};
use crate::ids::TeamspaceId;
use crate::needs::SlotOf;
use crate::rejection::Rejection;
use crate::time::{Span, Time};

fn caller(principal: Principal) -> Caller {
    Caller {
        teamspace: TeamspaceId::default_teamspace(),
        principal,
        roles: Default::default(),
        session: "test".to_owned(),
    }
}

fn agent(name: &str) -> Caller {
    caller(Principal::Agent(name.parse().unwrap()))
}

fn terms() -> Terms {
    Terms { url: "https://example.com/in".to_owned(), ..Terms::default() }
}

fn at(seconds: i64) -> Time {
    Time::from_millis(seconds * 1_000)
}

fn code(rejection: &Rejection) -> String {
    format!("{}: {rejection}", rejection.code())
}

/// Decides and evolves; the name of the event, or why not.
fn act(state: &mut Option<Webhook>, caller: &Caller, command: &Command) -> String {
    let facts = Facts { slots: [(SlotOf::Webhook, 3)].into(), ..Facts::default() };
    let context = Context { caller, now: at(10), facts: &facts };
    match decide(state.as_ref(), command, context) {
        Ok(Some(event)) => {
            *state = Some(evolve(state.take(), &event, at(10)).unwrap());
            event.name().to_owned()
        }
        Ok(None) => "nothing".to_owned(),
        Err(rejection) => code(&rejection),
    }
}

#[test]
fn its_owner_and_operators_change_it_until_it_is_removed() {
    let (alice, bob) = (agent("alice"), agent("bob"));
    let root = caller(Principal::Operator("root".parse().unwrap()));
    let server = Caller::system(TeamspaceId::default_teamspace());
    let create = Command::Create { terms: terms(), after: "cur_1".to_owned(), token: None };
    let pause = Command::Pause { cause: PauseCause::Asked, detail: String::new() };
    let aside = SetAside {
        event: "cur_7".to_owned(),
        name: "handoff.accepted".to_owned(),
        attempts: 5,
        detail: "the endpoint answered 422".to_owned(),
    };
    let settle = Command::Settle { event: "cur_7".to_owned(), how: Settlement::Discarded };
    let elsewhere = Terms { description: Some("elsewhere".to_owned()), ..terms() };
    let invisible = Terms { description: Some("\u{200b}".to_owned()), ..terms() };
    let story: [(&Caller, Command, &str); 18] = [
        (&bob, pause.clone(), "not_found: no such webhook"),
        (&server, create.clone(), "not_allowed: only a member of the teamspace may make a webhook"),
        (&alice, create.clone(), "webhook.created"),
        (&alice, create, "already_exists: the webhook exists already"),
        (&bob, pause.clone(), "not_found: no such webhook"),
        (&alice, Command::Change { terms: terms() }, "nothing"),
        (&alice, Command::Change { terms: invisible }, "nothing"),
        (&alice, Command::Change { terms: elsewhere }, "webhook.changed"),
        (&root, pause.clone(), "webhook.paused"),
        (&alice, pause.clone(), "nothing"),
        (&alice, Command::Resume { after: None, token: None }, "webhook.resumed"),
        (&alice, Command::Resume { after: None, token: None }, "nothing"),
        (
            &alice,
            Command::Resume { after: Some("cur_0".to_owned()), token: None },
            "webhook.resumed",
        ),
        (&server, Command::SetAside(aside.clone()), "webhook.set_aside"),
        (&server, Command::SetAside(aside), "nothing"),
        (&alice, settle.clone(), "webhook.settled"),
        (&alice, settle, "not_found: no such delivery that is set aside"),
        (&alice, Command::Remove, "webhook.removed"),
    ];
    let mut state = None;
    for (caller, command, expected) in story {
        assert_eq!(act(&mut state, caller, &command), expected, "{command:?}");
    }
    assert_eq!(act(&mut state, &alice, &pause), "not_found: no such webhook");
    let hold = state.unwrap().hold();
    assert_eq!((hold.key.as_str(), hold.occupied), ("webhook/agent:alice/003", false));
}

#[test]
fn deliveries_that_begin_anew_are_another_round() {
    let alice = agent("alice");
    let mut state = None;
    act(
        &mut state,
        &alice,
        &Command::Create { terms: terms(), after: "cur_5".to_owned(), token: None },
    );
    let round = |state: &Option<Webhook>| {
        let webhook = state.as_ref().unwrap();
        (webhook.after.clone(), webhook.round)
    };
    assert_eq!(round(&state), ("cur_5".to_owned(), 1));
    act(&mut state, &alice, &Command::Resume { after: Some("cur_2".to_owned()), token: None });
    assert_eq!(round(&state), ("cur_2".to_owned(), 2));
}

#[test]
fn a_key_that_was_replaced_signs_for_a_while() {
    let alice = agent("alice");
    let mut state = None;
    act(&mut state, &alice, &Command::Create { terms: terms(), after: String::new(), token: None });
    for (overlap, expected) in [
        (Span::from_millis(0), at(10)),
        (ROTATION_DEFAULT, at(10).plus(ROTATION_DEFAULT)),
        (Span::from_hours(1_000), at(10).plus(ROTATION_MAX)),
    ] {
        let key = state.as_ref().unwrap().key;
        act(&mut state, &alice, &Command::RotateKey { overlap });
        let webhook = state.as_ref().unwrap();
        assert_eq!((webhook.key, webhook.previous_key_until), (key + 1, Some(expected)));
    }
}

#[test]
fn terms_that_can_mean_nothing_are_refused() {
    let alice = agent("alice");
    let long = vec!["handoff".to_owned(); EVENTS_MAX + 1];
    let url = |url: &str| Terms { url: url.to_owned(), ..terms() };
    let events = |events: Vec<String>| Terms { events, ..terms() };
    for (terms, field) in [
        (url("ftp://example.com"), "url"),
        (url("https://user@example.com"), "url"),
        (events(vec!["handoff".to_owned(), "nonsense".to_owned()]), "events[1]"),
        (events(long), "events"),
        (Terms { stream: Some("handoff".to_owned()), ..terms() }, "stream"),
    ] {
        let facts = Facts { slots: [(SlotOf::Webhook, 1)].into(), ..Facts::default() };
        let context = Context { caller: &alice, now: at(1), facts: &facts };
        let create = Command::Create { terms, after: String::new(), token: None };
        match decide(None, &create, context) {
            Err(Rejection::SchemaInvalid { field: found, .. }) => assert_eq!(found, field),
            other => panic!("{field}: {other:?}"),
        }
    }
    let context = Context { caller: &alice, now: at(1), facts: &Facts::default() };
    let create = Command::Create { terms: terms(), after: String::new(), token: None };
    let full = decide(None, &create, context).unwrap_err();
    assert_eq!(full.code(), "too_many_webhooks");
}
