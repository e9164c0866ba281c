//! The state of an agent after an event.

use super::event::{ConnectionLost, Event, PresenceChanged, Registered};
use super::presence::{Attendance, Reach};
use super::state::{Agent, NoticeSettings};
use crate::fixed::Fixed;
use crate::ids::AgentId;
use crate::ledger::BadHistory;

pub fn evolve(id: AgentId, state: Option<Agent>, event: &Event) -> Result<Agent, BadHistory> {
    let bad = BadHistory { event: event.name() };
    let Some(agent) = state else {
        return match event {
            Event::Registered(Registered { kind, profile, undeclared }) => {
                let agent = Agent::new(id, *kind, profile.clone());
                Ok(Agent { undeclared: *undeclared, ..agent })
            }
            Event::RolesChanged(_)
            | Event::WakeChanged(_)
            | Event::EndpointChanged(_)
            | Event::QueueChanged(_)
            | Event::PresenceChanged(_)
            | Event::NoticesRead(_)
            | Event::NoticesMuted(_)
            | Event::Connected(_)
            | Event::ConnectionLost(_)
            | Event::Lost(_) => Err(bad),
        };
    };
    match event {
        Event::Registered(registered) if agent.kind != registered.kind => Err(bad),
        Event::Registered(registered) => {
            let (profile, undeclared) = (registered.profile.clone(), registered.undeclared);
            Ok(Agent { profile, undeclared, ..agent })
        }
        Event::RolesChanged(changed) => Ok(Agent { roles: changed.roles.clone(), ..agent }),
        Event::WakeChanged(changed) => Ok(Agent { wake_url: changed.url.clone(), ..agent }),
        Event::EndpointChanged(changed) => {
            let (endpoint, endpoint_history) = (changed.url.clone(), changed.history);
            Ok(Agent { endpoint, endpoint_history, ..agent })
        }
        Event::QueueChanged(settings) => {
            Ok(Agent { queue: Some(Fixed::from(settings.as_ref().clone())), ..agent })
        }
        Event::PresenceChanged(changed) => Ok(agent.attending(|was| was.said(changed))),
        Event::NoticesRead(read) => {
            let notices = NoticeSettings { read_until: read.until.clone(), ..*agent.notices };
            Ok(Agent { notices: Box::new(notices), ..agent })
        }
        Event::NoticesMuted(muted) => {
            let notices = NoticeSettings { muted: muted.kinds.clone(), ..*agent.notices };
            Ok(Agent { notices: Box::new(notices), ..agent })
        }
        Event::Connected(_) => Ok(agent.attending(|was| was.reached(Reach::Connected))),
        Event::ConnectionLost(lost) => Ok(agent.attending(|was| was.without_connection(lost))),
        Event::Lost(_) => Ok(agent.attending(|was| was.reached(Reach::Gone))),
    }
}

/// Presence after an event.
impl Attendance {
    fn said(self, changed: &PresenceChanged) -> Self {
        let reach = match (changed.until, self.reach) {
            (Some(until), _) => Reach::Said { until },
            (None, Reach::Connected) => Reach::Connected,
            (None, Reach::Gone | Reach::Lost { .. } | Reach::Said { .. }) => Reach::Gone,
        };
        Self { said: changed.presence, by: changed.by.clone(), reach }
    }

    fn reached(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    fn without_connection(self, lost: &ConnectionLost) -> Self {
        self.reached(lost.until.map_or(Reach::Gone, |until| Reach::Lost { until }))
    }
}
