//! The shapes of subscription events.

use crate::step::Event;
use crate::subscription::{Agreed, Closed, Event as SubscriptionEvent, Opened};
use crate::time::Time;
use aaep::capabilities::{Capabilities, Filters, Load};
use aaep::event::{Boundary, Verbosity};

pub fn subscription_shapes() -> Vec<(&'static str, Event)> {
    let until = Time::from_millis(1_772_000_000_000);
    let least = Opened {
        listener: "agent:bob".to_owned(),
        subscriber_id: "nvda".to_owned(),
        subscriber_name: None,
        version: "1.0.0".to_owned(),
        honored: Capabilities::default(),
        slot: 1,
        until,
    };
    let most = Opened {
        subscriber_name: Some("Screen reader".to_owned()),
        honored: everything(),
        ..least.clone()
    };
    let agreed = Agreed { honored: everything(), until };
    let closed = |message: &str| Closed { code: "expired".to_owned(), message: message.to_owned() };
    [
        ("least", SubscriptionEvent::Opened(least)),
        ("most", SubscriptionEvent::Opened(most)),
        ("most", SubscriptionEvent::Agreed(agreed)),
        ("least", SubscriptionEvent::Closed(closed(""))),
        ("most", SubscriptionEvent::Closed(closed("good night"))),
    ]
    .map(|(shape, event)| (shape, Event::Subscription(event)))
    .to_vec()
}

fn everything() -> Capabilities {
    let scope = serde_json::json!({ "session_id": "sess_1" });
    Capabilities {
        max_events_per_second: Some(5),
        preferred_verbosity: Some(Verbosity::Terse),
        languages: Some(vec!["yo".to_owned(), "en".to_owned()]),
        supports_confirmation_reply: Some(true),
        supports_clarification_reply: Some(false),
        coalesce_boundaries: Some(vec![Boundary::Sentence, Boundary::Completion]),
        event_filters: Some(Filters {
            include: Some(vec!["aaep:agent.*".to_owned()]),
            exclude: Some(vec!["aaep:agent.progress.updated".to_owned()]),
        }),
        supported_conformance_levels: Some(vec![1, 2, 3]),
        supported_extensions: Some(vec!["urn:tasuki:aaep:v1".to_owned()]),
        cognitive_load: Some(Load::Low),
        pace_wpm: Some(120),
        accept_signed_manifests_only: Some(true),
        others: [("tasuki".to_owned(), scope)].into_iter().collect(),
    }
}
