//! One file over its life, with a clock: each act says which events it led to.

use std::collections::BTreeSet;

use super::{
    Command, File, Image, RECENT_MAX, Referrer, UNUSED_KEPT, UPLOADERS_MAX, decide, evolve,
};
use crate::caller::{Caller, Principal};
use crate::facts::{Context, Facts};
use crate::ids::TeamspaceId;
use crate::ledger::Subject;
use crate::time::{Span, Time};

/// A file and a clock. Each act says which events it led to.
struct World {
    file: Option<File>,
    now: Time,
}

fn conversation(number: usize) -> Subject {
    format!("conversation/00000000-0000-7000-8000-{number:012}").parse().unwrap()
}

impl World {
    fn new() -> Self {
        Self { file: None, now: Time::from_millis(1_771_682_400_000) }
    }

    fn act(&mut self, who: &str, may_read_any: bool, command: &Command) -> String {
        let caller = Caller {
            teamspace: TeamspaceId::default_teamspace(),
            principal: who.parse::<Principal>().unwrap(),
            roles: BTreeSet::new(),
            session: String::new(),
        };
        let facts = Facts { may_read_any, ..Facts::default() };
        let context = Context { caller: &caller, now: self.now, facts: &facts };
        match decide(self.file.as_ref(), command, context) {
            Ok(events) => {
                let mut names = Vec::new();
                for event in events {
                    names.push(event.name().trim_start_matches("file."));
                    let before = self.file.take();
                    self.file = Some(evolve(before, &event, self.now).unwrap());
                }
                names.join(" ")
            }
            Err(rejection) => rejection.code().to_owned(),
        }
    }

    fn store(&mut self, who: &str) -> String {
        self.act(who, false, &Command::Store { size_bytes: 5, image: None })
    }

    fn refer(&mut self, who: &str, may_read: bool, number: usize) -> String {
        let by = vec![Referrer { subject: conversation(number), field: "file".to_owned() }];
        self.act(who, may_read, &Command::Refer { by })
    }

    fn release(&mut self, number: usize) -> String {
        self.act("operator:root", true, &Command::Release { by: conversation(number) })
    }

    /// Lets the time of an unused file come, if it is one.
    fn wait(&mut self, span: Span) -> String {
        self.now = self.now.plus(span);
        let due = self.file.as_ref().and_then(|file| file.deadlines().pop());
        let Some(due) = due.map(|deadline| deadline.due).filter(|due| *due <= self.now) else {
            return "nothing is due".to_owned();
        };
        self.act("system", false, &Command::Elapse { due })
    }
}

#[test]
fn a_hash_grants_nothing() {
    let mut world = World::new();
    assert_eq!(world.refer("agent:eve", false, 1), "schema_invalid", "nothing is stored");
    assert_eq!(world.store("agent:bob"), "stored");
    assert_eq!(world.refer("agent:eve", false, 1), "schema_invalid", "the same answer");
    assert_eq!(world.refer("agent:bob", false, 1), "referenced");
    assert_eq!(world.refer("agent:bob", false, 2), "schema_invalid", "the upload is used");
    assert_eq!(world.refer("agent:bob", true, 2), "referenced", "it reads the first message");
    assert_eq!(world.refer("agent:eve", false, 3), "schema_invalid");
    assert_eq!(world.store("agent:eve"), "stored");
    assert_eq!(world.refer("agent:eve", false, 3), "referenced", "she has the bytes herself");
}

#[test]
fn the_last_reference_takes_the_file_along() {
    let mut world = World::new();
    world.store("agent:bob");
    world.refer("agent:bob", false, 1);
    world.refer("agent:bob", true, 1);
    world.refer("agent:bob", true, 2);
    assert_eq!(world.wait(Span::from_hours(1_000)), "nothing is due");
    assert_eq!(world.release(1), "released");
    assert_eq!(world.file.as_ref().unwrap().referring(), [conversation(2), conversation(1)]);
    assert_eq!(world.release(1), "released");
    assert_eq!(world.release(2), "released removed");
    assert_eq!(world.release(2), "", "once");
    assert_eq!(world.file.as_ref().unwrap().effects().len(), 1);
    assert_eq!(world.refer("agent:bob", true, 3), "schema_invalid");
    assert_eq!(world.act("system", false, &Command::NoteDeleted), "deleted");
    assert_eq!(world.act("system", false, &Command::NoteDeleted), "");
    assert_eq!(world.store("agent:bob"), "stored", "the same bytes may come again");
    assert!(world.file.as_ref().unwrap().is_kept());
}

#[test]
fn an_upload_that_is_not_used_yet_is_kept_for_a_day() {
    let mut world = World::new();
    world.store("agent:bob");
    world.refer("agent:bob", false, 1);
    world.store("customer:c");
    assert_eq!(world.release(1), "released", "the customer may still write the message");
    let almost = Span::from_millis(UNUSED_KEPT.as_millis() - 1);
    assert_eq!(world.wait(almost), "nothing is due");
    assert_eq!(world.wait(Span::from_millis(1)), "removed");
    assert_eq!(world.refer("customer:c", false, 2), "schema_invalid");
}

#[test]
fn a_removed_file_that_is_stored_again_is_not_deleted() {
    let mut world = World::new();
    world.store("agent:bob");
    world.wait(UNUSED_KEPT);
    world.store("agent:bob");
    assert_eq!(world.act("system", false, &Command::NoteDeleted), "");
    assert!(world.file.as_ref().unwrap().effects().is_empty());
}

#[test]
fn lists_within_a_file_are_bounded() {
    let mut world = World::new();
    for number in 0..UPLOADERS_MAX + 1 {
        world.store(&format!("agent:a{number}"));
    }
    assert_eq!(world.refer("agent:a0", false, 0), "schema_invalid", "the oldest gave way");
    for number in 0..RECENT_MAX + 1 {
        world.refer("agent:a1", number > 0, number);
    }
    let file = world.file.as_ref().unwrap();
    assert_eq!((file.referring().len(), file.n_references), (RECENT_MAX, RECENT_MAX as u64 + 1));
    for number in 0..RECENT_MAX + 1 {
        assert!(world.release(number).starts_with("released"));
    }
    assert_eq!(world.file.unwrap().n_references, 0);
}

#[test]
fn images_are_told_by_their_bytes() {
    for (head, expected) in [
        (&b"\x89PNG\r\n\x1a\n...."[..], Some(Image::Png)),
        (b"\xff\xd8\xff\xe0", Some(Image::Jpeg)),
        (b"GIF89a", Some(Image::Gif)),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", Some(Image::Webp)),
        (b"RIFF\x10\x00\x00\x00WAVE", None),
        (b"RIFF", None),
        (b"<svg xmlns=", None),
        (b"<html>", None),
        (b"", None),
    ] {
        assert_eq!(Image::of(head), expected, "{head:?}");
    }
}
