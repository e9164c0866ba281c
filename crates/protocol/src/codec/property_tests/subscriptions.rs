//! Arbitrary events of subscriptions.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::text;
use crate::step::Event;
use crate::subscription::{Agreed, Closed, Event as SubscriptionEvent, Opened};
use crate::time::Time;
use aaep::capabilities::{Capabilities, Filters};
use aaep::event::{Boundary, Verbosity};

pub fn subscriptions() -> impl Strategy<Value = Event> {
    let until = || (0..4_000_000_000_000_i64).prop_map(Time::from_millis);
    let names = (text(), text(), option::of(text()), text());
    let opened =
        (names, terms(), any::<u16>(), until()).prop_map(|(names, honored, slot, until)| {
            let (listener, subscriber_id, subscriber_name, version) = names;
            SubscriptionEvent::Opened(Opened {
                listener,
                subscriber_id,
                subscriber_name,
                version,
                honored,
                slot,
                until,
            })
        });
    let agreed = (terms(), until())
        .prop_map(|(honored, until)| SubscriptionEvent::Agreed(Agreed { honored, until }));
    let closed = (text(), text())
        .prop_map(|(code, message)| SubscriptionEvent::Closed(Closed { code, message }));
    prop_oneof![opened, agreed, closed].prop_map(Event::Subscription)
}

fn terms() -> impl Strategy<Value = Capabilities> {
    let filters = (option::of(vec(text(), 0..3)), option::of(vec(text(), 0..3)))
        .prop_map(|(include, exclude)| Filters { include, exclude });
    let parts = (
        option::of(any::<u32>()),
        option::of(select(Verbosity::ALL)),
        option::of(vec(text(), 0..3)),
        option::of(any::<bool>()),
        option::of(vec(select(Boundary::ALL), 0..3)),
        option::of(filters),
    );
    parts.prop_map(|(rate, verbosity, languages, replies, boundaries, filters)| Capabilities {
        max_events_per_second: rate,
        preferred_verbosity: verbosity,
        languages,
        supports_confirmation_reply: replies,
        coalesce_boundaries: boundaries,
        event_filters: filters,
        ..Capabilities::default()
    })
}
