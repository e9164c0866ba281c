//! Arbitrary events of files.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::text;
use crate::file::{Deleted, Event as FileEvent, Image, Referenced, Released, Removed, Stored};
use crate::step::Event;
use crate::time::Time;

pub fn files() -> impl Strategy<Value = Event> {
    let images = select(vec![Image::Png, Image::Jpeg, Image::Gif, Image::Webp]);
    let stored = (text(), any::<u64>(), option::of(images), 0..4_000_000_000_000_i64);
    let stored = stored.prop_map(|(by, size_bytes, image, until)| {
        let until = Time::from_millis(until);
        FileEvent::Stored(Stored { by, size_bytes, image, until })
    });
    let referenced = (vec(text(), 0..3), text())
        .prop_map(|(by, user)| FileEvent::Referenced(Referenced { by, user }));
    let released = text().prop_map(|by| FileEvent::Released(Released { by }));
    let removed = any::<u64>().prop_map(|size_bytes| FileEvent::Removed(Removed { size_bytes }));
    let deleted = Just(FileEvent::Deleted(Deleted {}));
    prop_oneof![stored, referenced, released, removed, deleted].prop_map(Event::File)
}
