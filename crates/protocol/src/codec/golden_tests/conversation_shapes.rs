//! The shapes of what happens in a conversation.

use serde_json::json;

use super::handoff_shapes::agent;
use crate::conversation::Event as ConversationEvent;
use crate::conversation::event::{
    Closed, Delivered, How, NotHeard, Opened, Routed, Said, Speaker, Unreached, Why, is_line,
};
use crate::conversation::part::{Attachment, Part, Text};
use crate::conversation::state::{Customer, Setup};
use crate::conversation::topology::Topology;
use crate::step::Event;

pub fn conversation_shapes() -> Vec<(&'static str, Event)> {
    let shapes = opened().into_iter().chain(said()).chain(routed()).chain(told()).chain([
        (
            "least",
            ConversationEvent::Closed(Closed { holder: agent("bob"), reason: String::new() }),
        ),
        (
            "most",
            ConversationEvent::Closed(Closed { holder: agent("bob"), reason: "solved".to_owned() }),
        ),
    ]);
    shapes.map(|(shape, event)| (shape, Event::Conversation(event))).collect()
}

#[test]
fn the_name_of_an_event_tells_whether_it_is_a_line() {
    for (shape, event) in conversation_shapes() {
        let Event::Conversation(event) = event else { panic!("{shape}: {event:?}") };
        assert_eq!(is_line(event.name()), event.number().is_some(), "{}", event.name());
    }
}

fn opened() -> Vec<(&'static str, ConversationEvent)> {
    let opened = |customer, topology| {
        let setup = Setup { opened_by: "agent:shop".to_owned(), customer, topology, hops_max: 8 };
        ConversationEvent::Opened(Box::new(Opened { holder: agent("bob"), setup }))
    };
    let customer = Customer {
        external_id: Some("c-1".to_owned()),
        name: Some("Ana".to_owned()),
        language: Some("es".to_owned()),
    };
    let workers = vec![agent("bob"), agent("carol")];
    let members = workers.clone();
    vec![
        ("least", opened(Customer::default(), Topology::Free)),
        ("most", opened(customer, Topology::Supervisor { supervisor: agent("router"), workers })),
        (
            "swarm",
            opened(Customer::default(), Topology::Swarm { members, default_agent: agent("bob") }),
        ),
    ]
}

fn said() -> Vec<(&'static str, ConversationEvent)> {
    let text = Part::Text(Text { text: "Hello".to_owned() });
    let attachment = Part::Attachment(Attachment {
        name: "bill.txt".to_owned(),
        media_type: "text/plain".to_owned(),
        data: "aGk=".to_owned(),
        sha256: Some("8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4".to_owned()),
        size_bytes: Some(2),
    });
    let least = Said {
        holder: agent("bob"),
        number: 1,
        by: Speaker::Customer,
        epoch: 1,
        parts: vec![text.clone()],
        in_reply_to: None,
        deliver: false,
    };
    let most = Said {
        number: 2,
        by: Speaker::Agent(agent("bob")),
        parts: vec![text.clone(), attachment],
        in_reply_to: Some(1),
        ..least.clone()
    };
    let not_heard = |why| {
        ConversationEvent::NotHeard(NotHeard {
            holder: agent("carol"),
            agent: agent("bob"),
            epoch: 1,
            current: 2,
            why,
            parts: vec![text.clone()],
        })
    };
    vec![
        ("told", ConversationEvent::Said(Said { deliver: true, ..least.clone() })),
        ("least", ConversationEvent::Said(least)),
        ("most", ConversationEvent::Said(most)),
        ("least", not_heard(Why::EpochOutdated)),
        ("not_holder", not_heard(Why::NotHolder)),
        ("answered", not_heard(Why::AlreadyAnswered)),
    ]
}

fn routed() -> Vec<(&'static str, ConversationEvent)> {
    let least = Routed {
        holder: agent("bob"),
        to: agent("carol"),
        number: 3,
        epoch: 2,
        how: How::AgentHandoff,
        reason: String::new(),
        context: String::new(),
        update: Default::default(),
        instead_of: None,
        deliver: false,
    };
    let most = Routed {
        how: How::SupervisorRouting,
        reason: "billing".to_owned(),
        context: "a bill from May".to_owned(),
        update: serde_json::from_value(json!({ "bill": 7, "draft": null })).expect("a map"),
        instead_of: Some(agent("dora")),
        ..least.clone()
    };
    let chosen = Routed { how: How::UserSelection, ..least.clone() };
    vec![
        ("told", ConversationEvent::Routed(Routed { deliver: true, ..least.clone() })),
        ("least", ConversationEvent::Routed(least)),
        ("most", ConversationEvent::Routed(most)),
        ("chosen", ConversationEvent::Routed(chosen)),
    ]
}

fn told() -> Vec<(&'static str, ConversationEvent)> {
    let holder = agent("bob");
    let delivered = Delivered { holder: holder.clone(), epoch: 2, through: 5 };
    let detail = "the agent cannot be reached".to_owned();
    let unreached = Unreached { holder, epoch: 2, through: 5, detail };
    vec![
        ("least", ConversationEvent::Delivered(delivered)),
        ("least", ConversationEvent::Unreached(unreached)),
    ]
}
