//! Arbitrary events of sessions.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use uuid::Uuid;

use super::{text, time};
use crate::ids::TransferId;
use crate::session::event::{
    Announced, Answered, Consented, Delivered, Handover, HandoverOutcome, Said, TimedOut, Withdrawn,
};
use crate::session::{self, Given, Response};
use crate::step::Event;
use aaep::event::Decision;
use aaep::machine::{Binding, Outcome};

pub fn sessions() -> impl Strategy<Value = Event> {
    prop_oneof![announced(), answered(), timed_out(), withdrawn(), handed_over(), delivered()]
        .prop_map(Event::Session)
}

fn announced() -> impl Strategy<Value = session::Event> {
    let said = (text(), text()).prop_map(|(name, value)| {
        let event = serde_json::json!({ name: value });
        Said::new(format!("{event:#}")).expect("JSON")
    });
    let binding = select(vec![Binding::Strong, Binding::Weak]);
    let consents = (any::<u16>(), text(), text(), binding).prop_map(|it| Consented {
        index: usize::from(it.0),
        event_id: it.1,
        reply_token: it.2,
        binding: it.3,
    });
    let more = (vec(text(), 0..3), option::of(any::<u32>()), any::<bool>());
    (vec(said, 1..4), vec(consents, 0..3), more).prop_map(
        |(events, consents, (withdrawn, silence_minutes, listed))| {
            let announced = Announced {
                consents,
                withdrawn,
                silence_minutes,
                listed,
                ..Announced::new(events)
            };
            session::Event::Announced(Box::new(announced))
        },
    )
}

fn outcome() -> impl Strategy<Value = Outcome> {
    select(vec![
        Outcome::Accepted,
        Outcome::Rejected,
        Outcome::Answered,
        Outcome::Unanswered,
        Outcome::Withdrawn,
    ])
}

fn answered() -> impl Strategy<Value = session::Event> {
    let given = prop_oneof![
        select(vec![Decision::Accept, Decision::Reject]).prop_map(Given::Decision),
        text().prop_map(Response::Text).prop_map(Given::Response),
        any::<bool>().prop_map(Response::YesNo).prop_map(Given::Response),
        any::<i32>().prop_map(|n| Response::Number(n.into())).prop_map(Given::Response),
    ];
    let names = (text(), text(), outcome(), given, text());
    let more = vec(option::of(text()), 5);
    let action = option::of((text(), text()));
    let flags = (any::<bool>(), action, option::of(any::<u8>()), option::of(time()));
    (names, more, flags).prop_map(|(names, more, (deliver, action, confidence, expires_at))| {
        let (reply_token, event_id, outcome, given, by) = names;
        let mut more = more.into_iter().map(|text: Option<String>| text);
        let mut next = || more.next().flatten();
        session::Event::Answered(Box::new(Answered {
            reply_token,
            event_id,
            outcome,
            given,
            by,
            decided_by: next(),
            rationale: next(),
            subscription_id: next(),
            tool_call_id: next(),
            action_hash: next(),
            modified: action.is_some(),
            modified_action: action
                .map(|(name, value)| [(name, value.into())].into_iter().collect()),
            confidence: confidence.map(Into::into),
            deliver,
            automatic: confidence.is_some_and(|it| it % 2 == 1),
            expires_at,
        }))
    })
}

fn timed_out() -> impl Strategy<Value = session::Event> {
    let more = (any::<bool>(), any::<bool>(), option::of(text()));
    (text(), text(), outcome(), more).prop_map(|(reply_token, event_id, outcome, more)| {
        let (unheard, deliver, default_response) = more;
        session::Event::TimedOut(TimedOut {
            reply_token,
            event_id,
            outcome,
            default_response,
            unheard,
            deliver,
        })
    })
}

fn withdrawn() -> impl Strategy<Value = session::Event> {
    (text(), text(), any::<bool>(), any::<bool>()).prop_map(|it| {
        let (reply_token, event_id, accepted, deliver) = it;
        let used = accepted && !deliver;
        session::Event::Withdrawn(Withdrawn { reply_token, event_id, accepted, used, deliver })
    })
}

fn handed_over() -> impl Strategy<Value = session::Event> {
    let outcome = prop_oneof![
        Just(HandoverOutcome::Requested),
        Just(HandoverOutcome::Routed),
        Just(HandoverOutcome::DefaultQueue),
        text().prop_map(|code| HandoverOutcome::Refused { code }),
    ];
    let to = option::of(select(vec!["bob", "default"]));
    let transfer = option::of(any::<u128>());
    (text(), outcome, transfer, to, option::of(any::<u64>())).prop_map(
        |(event_id, outcome, transfer, to, number)| {
            session::Event::HandedOver(Handover {
                event_id,
                outcome,
                transfer: transfer.map(|bits| TransferId::new(Uuid::from_u128(bits))),
                to: to.map(|name| name.parse().expect("a name")),
                number,
            })
        },
    )
}

fn delivered() -> impl Strategy<Value = session::Event> {
    text().prop_map(|reply_token| session::Event::Delivered(Delivered { reply_token }))
}
