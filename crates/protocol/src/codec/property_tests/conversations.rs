//! Conversations that might have been.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value};

use super::{agent, text};
use crate::conversation::Event as ConversationEvent;
use crate::conversation::event::{
    Closed, Delivered, How, NotHeard, Opened, Routed, Said, Speaker, Unreached, Why,
};
use crate::conversation::part::{Attachment, Part, Text};
use crate::conversation::state::{Customer, Setup};
use crate::conversation::topology::Topology;
use crate::step::Event;

pub fn conversations() -> impl Strategy<Value = Event> {
    prop_oneof![opened(), said(), not_heard(), routed(), delivered(), unreached(), closed()]
        .prop_map(Event::Conversation)
}

fn opened() -> impl Strategy<Value = ConversationEvent> {
    let topology = prop_oneof![
        Just(Topology::Free),
        (agent(), vec(agent(), 0..3))
            .prop_map(|(supervisor, workers)| Topology::Supervisor { supervisor, workers }),
        (vec(agent(), 0..3), agent())
            .prop_map(|(members, default_agent)| Topology::Swarm { members, default_agent }),
    ];
    let customer = (option::of(text()), option::of(text()), option::of(text()))
        .prop_map(|(external_id, name, language)| Customer { external_id, name, language });
    (agent(), text(), customer, topology, any::<u16>()).prop_map(
        |(holder, opened_by, customer, topology, hops_max)| {
            let setup = Setup { opened_by, customer, topology, hops_max };
            ConversationEvent::Opened(Box::new(Opened { holder, setup }))
        },
    )
}

fn said() -> impl Strategy<Value = ConversationEvent> {
    let by = prop_oneof![Just(Speaker::Customer), agent().prop_map(Speaker::Agent)];
    let numbers = (any::<u64>(), any::<u64>(), option::of(any::<u64>()));
    (agent(), by, parts(), numbers, any::<bool>()).prop_map(
        |(holder, by, parts, (number, epoch, in_reply_to), deliver)| {
            ConversationEvent::Said(Said { holder, number, by, epoch, parts, in_reply_to, deliver })
        },
    )
}

fn not_heard() -> impl Strategy<Value = ConversationEvent> {
    let why = select(vec![Why::EpochOutdated, Why::NotHolder, Why::AlreadyAnswered]);
    (agent(), agent(), any::<u64>(), any::<u64>(), why, parts()).prop_map(
        |(holder, agent, epoch, current, why, parts)| {
            ConversationEvent::NotHeard(NotHeard { holder, agent, epoch, current, why, parts })
        },
    )
}

fn routed() -> impl Strategy<Value = ConversationEvent> {
    let how = select(vec![How::AgentHandoff, How::SupervisorRouting, How::UserSelection]);
    let value = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from)
    ];
    let update = vec((text(), value), 0..3).prop_map(Map::from_iter);
    let numbers = (any::<u64>(), any::<u64>(), any::<bool>());
    (agent(), agent(), numbers, how, text(), text(), update, option::of(agent())).prop_map(
        |(holder, to, (number, epoch, deliver), how, reason, context, update, instead_of)| {
            ConversationEvent::Routed(Routed {
                holder,
                to,
                number,
                epoch,
                how,
                reason,
                context,
                update,
                instead_of,
                deliver,
            })
        },
    )
}

fn delivered() -> impl Strategy<Value = ConversationEvent> {
    (agent(), any::<u64>(), any::<u64>()).prop_map(|(holder, epoch, through)| {
        ConversationEvent::Delivered(Delivered { holder, epoch, through })
    })
}

fn unreached() -> impl Strategy<Value = ConversationEvent> {
    (agent(), any::<u64>(), any::<u64>(), text()).prop_map(|(holder, epoch, through, detail)| {
        ConversationEvent::Unreached(Unreached { holder, epoch, through, detail })
    })
}

fn closed() -> impl Strategy<Value = ConversationEvent> {
    (agent(), text())
        .prop_map(|(holder, reason)| ConversationEvent::Closed(Closed { holder, reason }))
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let attachment = (text(), text(), text(), option::of(text()), option::of(any::<u64>()))
        .prop_map(|(name, media_type, data, sha256, size_bytes)| {
            Part::Attachment(Attachment { name, media_type, data, sha256, size_bytes })
        });
    vec(prop_oneof![text().prop_map(|text| Part::Text(Text { text })), attachment], 0..3)
}
