//! Arbitrary events of agents: profiles and presence.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::{agent, text, texts, time};
use crate::agent::event::{Connected, ConnectionLost, Lost, PresenceChanged};
use crate::agent::{
    EndpointChanged, Event, Kind, NoticesMuted, NoticesRead, Presence, Profile, Registered, Skill,
};
use crate::handoff::notice_kind::NoticeKind;
use crate::time::Span;
use crate::tools::history_form::HistoryForm;

pub fn agents() -> impl Strategy<Value = Event> {
    let registered = (select(Kind::ALL.to_vec()), profiles(), any::<bool>()).prop_map(
        |(kind, profile, undeclared)| Event::Registered(Registered { kind, profile, undeclared }),
    );
    let said = (select(Presence::ALL.to_vec()), option::of(agent()), option::of(time()));
    prop_oneof![
        registered,
        (option::of(text()), option::of(select(HistoryForm::ALL.to_vec())))
            .prop_map(|(url, history)| Event::EndpointChanged(EndpointChanged { url, history })),
        said.prop_map(|(presence, by, until)| {
            Event::PresenceChanged(PresenceChanged { presence, by, until })
        }),
        text().prop_map(|until| Event::NoticesRead(NoticesRead { until })),
        vec(select(NoticeKind::ALL.to_vec()), 0..4).prop_map(|kinds| {
            Event::NoticesMuted(NoticesMuted { kinds: kinds.into_iter().collect() })
        }),
        Just(Event::Connected(Connected {})),
        option::of(time()).prop_map(|until| Event::ConnectionLost(ConnectionLost { until })),
        Just(Event::Lost(Lost {})),
    ]
}

fn profiles() -> impl Strategy<Value = Profile> {
    let card = (text(), text(), text(), text(), texts(), texts());
    let skill = (text(), any::<u8>()).prop_map(|(name, level)| Skill { name, level });
    let limits =
        (option::of(any::<u16>()), option::of((0..90_000_i64).prop_map(Span::from_millis)));
    let routed = (any::<bool>(), limits, vec(skill, 0..3), text());
    (card, routed).prop_map(|(card, routed)| {
        let (name, description, icon, color, capabilities, languages) = card;
        let (user_selectable, (capacity, answer_within), skills, team) = routed;
        Profile {
            name,
            description,
            capabilities,
            languages,
            icon,
            color,
            user_selectable,
            capacity,
            answer_within,
            skills,
            team,
        }
    })
}
