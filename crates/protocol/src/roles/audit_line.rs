//! The lines of `roles/ledger.jsonl`: one for each agent that joins and for each change of a
//! member's roles. A pure function of ledger entries, so that the file can be rebuilt.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::agent::{Event, Kind};
use crate::caller::Role;
use crate::ids::AgentId;
use crate::time::Time;

/// One line. Fields are written in this order.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RolesAuditLine<'a> {
    MemberRegistered {
        agent: &'a AgentId,
        kind: Kind,
        before: [Role; 0],
        after: [Role; 0],
        actor: &'a str,
        timestamp: Time,
    },
    RolesChanged {
        agent: &'a AgentId,
        /// Absent if the entry is too old to tell.
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<&'a BTreeSet<Role>>,
        after: &'a BTreeSet<Role>,
        actor: &'a str,
        timestamp: Time,
    },
}

/// The line of an event, if it has one. Only the first registration adds a member; a later one
/// changes its profile.
pub fn line<'a>(
    agent: &'a AgentId,
    position: u64,
    event: &'a Event,
    actor: &'a str,
    at: Time,
) -> Option<RolesAuditLine<'a>> {
    match event {
        Event::Registered(registered) if position == 1 => Some(RolesAuditLine::MemberRegistered {
            agent,
            kind: registered.kind,
            before: [],
            after: [],
            actor,
            timestamp: at,
        }),
        Event::Registered(_)
        | Event::WakeChanged(_)
        | Event::EndpointChanged(_)
        | Event::QueueChanged(_)
        | Event::PresenceChanged(_)
        | Event::NoticesRead(_)
        | Event::NoticesMuted(_)
        | Event::Connected(_)
        | Event::ConnectionLost(_)
        | Event::Lost(_) => None,
        Event::RolesChanged(changed) => Some(RolesAuditLine::RolesChanged {
            agent,
            before: changed.before.as_ref(),
            after: &changed.roles,
            actor,
            timestamp: at,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{codec, step};

    #[test]
    fn every_shape_of_a_line() {
        let by = r#""actor":"operator:root","timestamp":"2026-02-21T14:00:00Z"}"#;
        let cases = [
            (
                1,
                "agent.registered",
                r#"{"kind":"worker","profile":{}}"#,
                concat!(
                    r#"{"event":"member_registered","agent":"bob","kind":"worker","#,
                    r#""before":[],"after":[],"#
                ),
            ),
            (2, "agent.registered", r#"{"kind":"worker","profile":{"name":"Bob"}}"#, ""),
            (
                3,
                "agent.roles_changed",
                r#"{"roles":["executor"],"before":[]}"#,
                r#"{"event":"roles_changed","agent":"bob","before":[],"after":["executor"],"#,
            ),
            (
                4,
                "agent.roles_changed",
                r#"{"roles":[]}"#,
                r#"{"event":"roles_changed","agent":"bob","after":[],"#,
            ),
        ];
        let bob = "bob".parse().unwrap();
        let at = Time::from_millis(1_771_682_400_000);
        for (position, name, body, begins) in cases {
            let event = codec::decode(name, 1, body).unwrap();
            let step::Event::Agent(event) = event else { panic!("{name} is about an agent") };
            let line = line(&bob, position, &event, "operator:root", at);
            let text = line.map(|line| serde_json::to_string(&line).unwrap()).unwrap_or_default();
            let expected = if begins.is_empty() { String::new() } else { format!("{begins}{by}") };
            assert_eq!(text, expected, "{position}");
        }
    }
}
