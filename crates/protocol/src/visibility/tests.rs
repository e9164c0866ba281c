//! The parties of an event are those that its stored form names.

use serde_json::Value;

use crate::codec;
use crate::step::Event;

/// Every event of a conversation or a message that was ever written: whom its body names, by the
/// fields that make a party.
#[test]
fn parties_are_those_whom_the_record_names() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");
    let mut n_compared = 0;
    for file in std::fs::read_dir(folder).expect("the golden files") {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("text");
        let golden: Value = serde_json::from_str(&text).expect("JSON");
        let (name, body) = (golden["name"].as_str().expect("a name"), &golden["body"]);
        let event = codec::decode(name, 1, &body.to_string()).expect("it is read");
        let texts = |value: &Value| -> Vec<String> {
            let all = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            all.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect()
        };
        let (mut found, fields): (Vec<String>, &[&str]) = match &event {
            Event::Conversation(event) => {
                let parties = event.parties().into_iter().flatten();
                let fields = &["holder", "agent", "to", "listener"];
                (parties.map(ToString::to_string).collect(), fields)
            }
            Event::Message(event) => {
                let (from, to) = event.parties();
                let all = std::iter::once(from).chain(to);
                (all.map(ToString::to_string).collect(), &["from", "to"])
            }
            Event::Handoff(event) => {
                let (from, to) = event.parties();
                let named = if body["parties"].is_null() { body } else { &body["parties"] };
                let expected = [&named["from"], &named["to"]];
                let expected: Vec<_> = expected.into_iter().flat_map(texts).collect();
                let found: Vec<_> = [Some(from), to].into_iter().flatten().collect();
                assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
                n_compared += 1;
                continue;
            }
            Event::Question(event) => {
                let parties = event.parties();
                (vec![parties.asker.to_string(), parties.to.to_string()], &["asker", "to"])
            }
            Event::Agent(_)
            | Event::Token(_)
            | Event::Teamspace(_)
            | Event::Graph(_)
            | Event::Subscription(_)
            | Event::File(_)
            | Event::Webhook(_)
            | Event::Session(_)
            | Event::Erased(_)
            | Event::Forked(_) => continue,
        };
        let mut named: Vec<String> = fields.iter().flat_map(|it| texts(&body[*it])).collect();
        named.extend(texts(&body["next"]["agent"]));
        found.sort();
        named.sort();
        assert_eq!(found, named, "{name}: {body}");
        n_compared += 1;
    }
    assert!(n_compared > 40, "{n_compared}");
}
