//! The shapes of file events.

use crate::file::{Deleted, Event as FileEvent, Image, Referenced, Released, Removed, Stored};
use crate::step::Event;
use crate::time::Time;

pub fn file_shapes() -> Vec<(&'static str, Event)> {
    let conversation = "conversation/01a1ece3-9333-7d34-8ad5-74a81e294516".to_owned();
    let handoff = "handoff/01a1ece3-9333-7d34-8ad5-74a81e294517".to_owned();
    let least = Stored {
        by: "agent:bob".to_owned(),
        size_bytes: 5,
        image: None,
        until: Time::from_millis(1_771_682_400_000),
    };
    let most = Stored { image: Some(Image::Png), ..least.clone() };
    let referenced = |by: Vec<String>| Referenced { by, user: "agent:bob".to_owned() };
    let shapes = [
        ("least", FileEvent::Stored(least)),
        ("most", FileEvent::Stored(most)),
        ("least", FileEvent::Referenced(referenced(vec![conversation.clone()]))),
        ("most", FileEvent::Referenced(referenced(vec![conversation.clone(), handoff]))),
        ("least", FileEvent::Released(Released { by: conversation })),
        ("least", FileEvent::Removed(Removed { size_bytes: 5 })),
        ("least", FileEvent::Deleted(Deleted {})),
    ];
    shapes.map(|(shape, event)| (shape, Event::File(event))).into()
}
