//! Arbitrary events of webhooks.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use uuid::Uuid;

use super::text;
use crate::ids::TokenId;
use crate::step::Event;
use crate::time::Time;
use crate::webhook::{
    Changed, Created, Event as WebhookEvent, KeyRotated, PauseCause, Paused, Removed, Resumed,
    SetAside, Settled, Settlement, Terms,
};

pub fn webhooks() -> impl Strategy<Value = Event> {
    let token = || option::of(any::<u128>().prop_map(|bits| TokenId::new(Uuid::from_u128(bits))));
    let created = (text(), token(), terms(), text(), any::<u16>());
    let created = created.prop_map(|(owner, token, terms, after, slot)| {
        WebhookEvent::Created(Box::new(Created { owner, token, terms, after, slot }))
    });
    let changed = (text(), terms())
        .prop_map(|(owner, terms)| WebhookEvent::Changed(Box::new(Changed { owner, terms })));
    let rotated = (any::<u32>(), 0..4_000_000_000_000_i64).prop_map(|(key, until)| {
        let previous_until = Time::from_millis(until);
        WebhookEvent::KeyRotated(KeyRotated { key, previous_until })
    });
    let causes = [
        PauseCause::Asked,
        PauseCause::Failing,
        PauseCause::Gone,
        PauseCause::SetAside,
        PauseCause::TokenEnded,
    ]
    .to_vec();
    let paused = (select(causes), text())
        .prop_map(|(cause, detail)| WebhookEvent::Paused(Paused { cause, detail }));
    let resumed = (token(), option::of(text()))
        .prop_map(|(token, after)| WebhookEvent::Resumed(Resumed { token, after }));
    let aside =
        (text(), text(), any::<u32>(), text()).prop_map(|(event, name, attempts, detail)| {
            WebhookEvent::SetAside(SetAside { event, name, attempts, detail })
        });
    let ways = [Settlement::Delivered, Settlement::Discarded].to_vec();
    let settled = (text(), select(ways))
        .prop_map(|(event, how)| WebhookEvent::Settled(Settled { event, how }));
    let removed = Just(WebhookEvent::Removed(Removed {}));
    prop_oneof![created, changed, rotated, paused, resumed, aside, settled, removed]
        .prop_map(Event::Webhook)
}

fn terms() -> impl Strategy<Value = Terms> {
    let parts = (text(), vec(text(), 0..3), option::of(text()), option::of(text()));
    parts.prop_map(|(url, events, stream, description)| Terms {
        url,
        events,
        stream,
        agent: None,
        description,
    })
}
