//! The shapes of webhook events.

use crate::ids::TokenId;
use crate::step::Event;
use crate::time::Time;
use crate::webhook::{
    Changed, Created, Event as WebhookEvent, KeyRotated, PauseCause, Paused, Removed, Resumed,
    SetAside, Settled, Settlement, Terms,
};

pub fn webhook_shapes() -> Vec<(&'static str, Event)> {
    let least = Terms { url: "https://example.com/in".to_owned(), ..Terms::default() };
    let most = Terms {
        events: vec!["handoff".to_owned(), "transfer.over".to_owned()],
        stream: Some("conversation/01a1ece3-9333-7d34-8ad5-74a81e294516".to_owned()),
        agent: Some("bob".parse().expect("an id")),
        description: Some("for the desk".to_owned()),
        ..least.clone()
    };
    let id = "01a1ece3-9333-7d34-8ad5-74a81e294516";
    let created = |terms: &Terms, token: Option<TokenId>| Created {
        owner: "operator:root".to_owned(),
        token,
        terms: terms.clone(),
        after: "cur_1".to_owned(),
        slot: 1,
    };
    let changed = Changed { owner: "agent:bob".to_owned(), terms: most.clone() };
    let paused = |cause, detail: &str| Paused { cause, detail: detail.to_owned() };
    let resumed = |token: Option<&str>, after: Option<&str>| Resumed {
        token: token.map(|id| id.parse().expect("an id")),
        after: after.map(str::to_owned),
    };
    let set_aside = SetAside {
        event: "cur_7".to_owned(),
        name: "handoff.accepted".to_owned(),
        attempts: 5,
        detail: "the endpoint answered 422".to_owned(),
    };
    let settled = |how| Settled { event: "cur_7".to_owned(), how };
    let previous_until = Time::from_millis(1_772_000_000_000);
    [
        ("least", WebhookEvent::Created(Box::new(created(&least, None)))),
        ("most", WebhookEvent::Created(Box::new(created(&most, Some(id.parse().expect("an id")))))),
        ("most", WebhookEvent::Changed(Box::new(changed))),
        ("least", WebhookEvent::KeyRotated(KeyRotated { key: 2, previous_until })),
        ("least", WebhookEvent::Paused(paused(PauseCause::Asked, ""))),
        ("failing", WebhookEvent::Paused(paused(PauseCause::Failing, "it cannot be reached"))),
        ("gone", WebhookEvent::Paused(paused(PauseCause::Gone, "it answered 410"))),
        ("set_aside", WebhookEvent::Paused(paused(PauseCause::SetAside, ""))),
        ("token_ended", WebhookEvent::Paused(paused(PauseCause::TokenEnded, ""))),
        ("least", WebhookEvent::Resumed(resumed(None, None))),
        ("most", WebhookEvent::Resumed(resumed(Some(id), Some("cur_3")))),
        ("least", WebhookEvent::SetAside(set_aside)),
        ("least", WebhookEvent::Settled(settled(Settlement::Delivered))),
        ("most", WebhookEvent::Settled(settled(Settlement::Discarded))),
        ("least", WebhookEvent::Removed(Removed {})),
    ]
    .map(|(shape, event)| (shape, Event::Webhook(event)))
    .to_vec()
}
