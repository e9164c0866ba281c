//! The names against the events that they stand for.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::*;
use crate::aggregate::Event;
use crate::codec;
use crate::{conversation, question, session, transfer};

#[derive(Debug, Default, PartialEq)]
struct Told {
    queue: bool,
    transfer: bool,
    callback: bool,
    sides: bool,
    places: bool,
    settles: bool,
    listeners: bool,
}

#[test]
fn every_name_tells_what_its_event_is() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let mut n_read = 0;
    for file in fs::read_dir(folder).expect("the golden files") {
        let text = fs::read_to_string(file.expect("a file").path()).expect("a text");
        let line: Value = serde_json::from_str(&text).expect("an event");
        let name = line["name"].as_str().expect("a name");
        let version = line["version"].as_u64().expect("a version");
        let version = u32::try_from(version).expect("a small number");
        let event = codec::decode(name, version, &line["body"].to_string()).expect("an event");
        let by_name = Told {
            queue: concerns_queue(name),
            transfer: is_of_transfer(name),
            callback: is_of_callback(name),
            sides: changes_sides(name),
            places: changes_places(name),
            settles: settles_question(name),
            listeners: is_for_listeners(name),
        };
        assert_eq!(by_name, told(&event), "{name}");
        n_read += 1;
    }
    assert!(n_read > 100, "{n_read} files");
}

fn told(event: &Event) -> Told {
    match event {
        Event::Conversation(event) => of_conversation(event),
        Event::Session(event) => match event {
            session::Event::Announced(_) => Told { listeners: true, ..Told::default() },
            session::Event::Answered(_)
            | session::Event::TimedOut(_)
            | session::Event::Withdrawn(_) => {
                Told { settles: true, listeners: true, ..Told::default() }
            }
            session::Event::HandedOver(_) | session::Event::Delivered(_) => Told::default(),
        },
        Event::Question(event) => {
            let settles = matches!(
                event,
                question::Event::Answered(_)
                    | question::Event::Defaulted(_)
                    | question::Event::Unanswered(_)
                    | question::Event::Withdrawn(_)
            );
            Told { settles, ..Told::default() }
        }
        Event::Handoff(_)
        | Event::File(_)
        | Event::Agent(_)
        | Event::Token(_)
        | Event::Message(_)
        | Event::Teamspace(_)
        | Event::Graph(_)
        | Event::Subscription(_)
        | Event::Webhook(_)
        | Event::Erased(_)
        | Event::Forked(_) => Told::default(),
    }
}

fn of_conversation(event: &conversation::Event) -> Told {
    match event {
        conversation::Event::Transfer(event) => Told {
            queue: true,
            transfer: true,
            sides: true,
            places: moves(event),
            ..Told::default()
        },
        conversation::Event::Callback(_) => Told { queue: true, callback: true, ..Told::default() },
        conversation::Event::ReplyOverdue(_) => Told { queue: true, ..Told::default() },
        conversation::Event::Routed(_) => Told { sides: true, ..Told::default() },
        conversation::Event::Opened(_)
        | conversation::Event::Said(_)
        | conversation::Event::NotHeard(_)
        | conversation::Event::Updated(_)
        | conversation::Event::SignalsObserved(_)
        | conversation::Event::HolderSilent(_)
        | conversation::Event::Extended(_)
        | conversation::Event::Delivered(_)
        | conversation::Event::Unreached(_)
        | conversation::Event::Closed(_) => Told::default(),
    }
}

fn moves(event: &transfer::Event) -> bool {
    match event {
        transfer::Event::Ringing(_)
        | transfer::Event::Queued(_)
        | transfer::Event::Returned(_)
        | transfer::Event::PassedOn(_)
        | transfer::Event::Over(_) => true,
        transfer::Event::Requested(_)
        | transfer::Event::Connected(_)
        | transfer::Event::Consulted(_)
        | transfer::Event::Held(_)
        | transfer::Event::Resumed(_)
        | transfer::Event::LegRequested(_)
        | transfer::Event::LegEnded(_)
        | transfer::Event::Noted(_)
        | transfer::Event::Rated(_) => false,
    }
}
