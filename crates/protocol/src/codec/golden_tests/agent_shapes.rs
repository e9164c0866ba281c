//! Every shape of the events of an agent.

use super::handoff_shapes::{agent, time};
use crate::agent::event::{Connected, ConnectionLost, Lost, PresenceChanged};
use crate::agent::{
    EndpointChanged, Event, Kind, NoticesMuted, NoticesRead, Presence, Profile, Registered,
    RolesChanged, Skill, WakeChanged,
};
use crate::caller::Role;
use crate::conversation::answer_within::ANSWER_WITHIN_DEFAULT;
use crate::handoff::notice_kind::NoticeKind;
use crate::tools::history_form::HistoryForm;

/// The kinds of notices that are not in the file of the first release that had notices.
const LATER: [NoticeKind; 2] = [NoticeKind::Progressed, NoticeKind::Recalled];

/// Of questions.
const ASKED: [NoticeKind; 4] = [
    NoticeKind::QuestionAsked,
    NoticeKind::QuestionAnswered,
    NoticeKind::QuestionUnanswered,
    NoticeKind::QuestionWithdrawn,
];

pub fn agent_shapes() -> Vec<(&'static str, Event)> {
    let most = Profile {
        name: "Barry".to_owned(),
        description: "Mends builds".to_owned(),
        capabilities: vec!["rust".to_owned()],
        languages: vec!["en".to_owned()],
        ..Profile::default()
    };
    let routed = Profile {
        icon: "🔧".to_owned(),
        color: "#2f6fde".to_owned(),
        user_selectable: true,
        capacity: Some(5),
        skills: vec![Skill { name: "billing".to_owned(), level: 4 }],
        team: "Mending".to_owned(),
        ..most.clone()
    };
    let registered = |profile| Registered { kind: Kind::Worker, profile, undeclared: false };
    let limit = Some(ANSWER_WITHIN_DEFAULT);
    let limited = Profile { answer_within: limit, ..Profile::default() };
    let introduced = Registered { undeclared: true, ..registered(Profile::default()) };
    let registered = |profile| Event::Registered(registered(profile));
    let roles_changed = |before: Option<Role>| {
        let before = before.map(|role| [role].into_iter().collect());
        Event::RolesChanged(RolesChanged { roles: [Role::Executor].into_iter().collect(), before })
    };
    let url = Some("https://agents.example/wake".to_owned());
    let endpoint = Some("https://agents.example/turns".to_owned());
    let to = |history| EndpointChanged { url: endpoint.clone(), history };
    let said = PresenceChanged { presence: Presence::Away, by: None, until: None };
    let said_for_it =
        PresenceChanged { by: Some(agent("lead")), until: Some(time()), ..said.clone() };
    let muted = |is_muted: fn(&NoticeKind) -> bool| {
        let kinds = NoticeKind::ALL.into_iter().filter(is_muted).collect();
        Event::NoticesMuted(NoticesMuted { kinds })
    };
    vec![
        ("least", registered(Profile::default())),
        ("most", registered(most)),
        ("routed", registered(routed)),
        ("limited", registered(limited)),
        ("introduced", Event::Registered(introduced)),
        ("least", roles_changed(None)),
        ("most", roles_changed(Some(Role::Reviewer))),
        ("least", Event::WakeChanged(WakeChanged { url: None })),
        ("most", Event::WakeChanged(WakeChanged { url })),
        ("least", Event::EndpointChanged(EndpointChanged { url: None, history: None })),
        ("most", Event::EndpointChanged(to(None))),
        ("history", Event::EndpointChanged(to(Some(HistoryForm::Gemini)))),
        ("least", Event::PresenceChanged(said)),
        ("most", Event::PresenceChanged(said_for_it)),
        ("least", Event::NoticesRead(NoticesRead { until: "cur_0123".to_owned() })),
        ("least", Event::NoticesMuted(NoticesMuted { kinds: [].into() })),
        ("most", muted(|kind| !LATER.contains(kind) && !ASKED.contains(kind))),
        ("progress", muted(|kind| LATER.contains(kind))),
        ("questions", muted(|kind| ASKED.contains(kind))),
        ("least", Event::Connected(Connected {})),
        ("least", Event::ConnectionLost(ConnectionLost { until: None })),
        ("most", Event::ConnectionLost(ConnectionLost { until: Some(time()) })),
        ("least", Event::Lost(Lost {})),
    ]
}
