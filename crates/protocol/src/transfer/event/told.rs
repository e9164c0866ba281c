//! What an event of a transfer tells those who read it later. A new event has its place in each of
//! these lists, and so in everything that reads them.

use super::{
    Connected, Event, LegRequested, Noted, Over, PassedOn, Queued, Requested, WhyLegEnded,
    WhyReturned,
};
use crate::ids::AgentId;
use crate::transfer::bundle::{Bundle, BundleId};
use crate::transfer::kind::Kind;
use crate::transfer::state::Outcome;
use crate::transfer::status::Status;

/// A line that an event adds to the transcript.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Line<'e> {
    Requested(&'e Requested),
    PassedOn(&'e PassedOn),
    Connected(&'e Connected),
    Noted(&'e Noted),
    Over(&'e Over),
}

impl Line<'_> {
    /// Its position in the transcript.
    pub fn number(self) -> u64 {
        match self {
            Line::Requested(it) => it.number,
            Line::PassedOn(it) => it.number,
            Line::Connected(it) => it.number,
            Line::Noted(it) => it.number,
            Line::Over(it) => it.number,
        }
    }
}

/// What changes for the people of a queue. Leg 0 is the transfer itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum QueueStep<'e> {
    /// It waits in a queue, and no longer in another one that held it.
    Entered(&'e Queued),
    /// A person is asked, answers, or listens.
    WithPerson {
        leg: u16,
        status: Status,
        agent: &'e AgentId,
    },
    /// It waits again or is over, and no person has it.
    WithoutPerson {
        leg: u16,
        status: Status,
    },
    LegRequested(&'e LegRequested),
    /// A leg is over, which this person had.
    LegLeft {
        leg: u16,
        status: Status,
        agent: &'e AgentId,
    },
}

impl Event {
    /// The line that it adds to the transcript, if it adds one.
    pub fn line(&self) -> Option<Line<'_>> {
        match self {
            Event::Requested(it) => Some(Line::Requested(it)),
            Event::PassedOn(it) => Some(Line::PassedOn(it)),
            Event::Connected(it) => Some(Line::Connected(it)),
            Event::Noted(it) => Some(Line::Noted(it)),
            Event::Over(it) => Some(Line::Over(it)),
            Event::Queued(_)
            | Event::Ringing(_)
            | Event::Returned(_)
            | Event::Consulted(_)
            | Event::Held(_)
            | Event::Resumed(_)
            | Event::LegRequested(_)
            | Event::LegEnded(_)
            | Event::Rated(_) => None,
        }
    }

    /// Its position in the transcript, if it has one.
    pub fn number(&self) -> Option<u64> {
        self.line().map(Line::number)
    }

    /// What it changes for the people of a queue.
    pub fn queue_step(&self) -> Option<QueueStep<'_>> {
        Some(match self {
            Event::Queued(it) => QueueStep::Entered(it),
            Event::Ringing(it) => {
                QueueStep::WithPerson { leg: it.leg, status: Status::Ringing, agent: &it.agent }
            }
            Event::Connected(it) => {
                QueueStep::WithPerson { leg: it.leg, status: Status::Connected, agent: &it.agent }
            }
            Event::Consulted(it) => {
                QueueStep::WithPerson { leg: it.leg, status: Status::Connected, agent: &it.agent }
            }
            Event::Returned(it) => QueueStep::WithoutPerson { leg: it.leg, status: Status::Queued },
            Event::PassedOn(_) => QueueStep::WithoutPerson { leg: 0, status: Status::Queued },
            Event::LegRequested(it) => QueueStep::LegRequested(it),
            Event::LegEnded(it) => {
                let status = match it.why {
                    WhyLegEnded::Finished => Status::Completed,
                    WhyLegEnded::Cancelled => Status::Cancelled,
                    WhyLegEnded::Declined | WhyLegEnded::NotAnswered | WhyLegEnded::AgentLost => {
                        Status::Failed
                    }
                };
                match &it.agent {
                    Some(agent) => QueueStep::LegLeft { leg: it.leg, status, agent },
                    None => QueueStep::WithoutPerson { leg: it.leg, status },
                }
            }
            Event::Over(it) => QueueStep::WithoutPerson { leg: 0, status: it.outcome.status() },
            Event::Requested(_)
            | Event::Held(_)
            | Event::Resumed(_)
            | Event::Noted(_)
            | Event::Rated(_) => return None,
        })
    }

    /// The action of a person, in the words of their desk.
    pub fn desk_action(&self) -> Option<&'static str> {
        match self {
            Event::Ringing(it) => it.picked.then_some("pickup"),
            Event::Connected(_) | Event::Consulted(_) => Some("accept"),
            Event::Returned(it) => match it.why {
                WhyReturned::Declined => Some("decline"),
                WhyReturned::Blind => Some("transfer"),
                WhyReturned::NotAnswered | WhyReturned::AgentLost => None,
            },
            Event::Held(_) => Some("hold"),
            Event::Resumed(it) => (!it.overdue).then_some("resume"),
            Event::PassedOn(_) | Event::LegRequested(_) => Some("transfer"),
            Event::LegEnded(it) => match it.why {
                WhyLegEnded::Declined => Some("decline"),
                WhyLegEnded::Finished => Some("complete"),
                WhyLegEnded::Cancelled => Some("cancel"),
                WhyLegEnded::NotAnswered | WhyLegEnded::AgentLost => None,
            },
            Event::Noted(it) => Some(if it.whispered { "whisper" } else { "note" }),
            Event::Over(it) => match it.outcome {
                Outcome::Completed => Some("complete"),
                Outcome::Ended => Some("end"),
                Outcome::Cancelled => Some("cancel"),
                Outcome::Failed => Some("fail"),
            },
            Event::Requested(_) | Event::Queued(_) | Event::Rated(_) => None,
        }
    }

    /// The reason that its actor gave, for colleagues; empty for none.
    pub fn reason(&self) -> &str {
        match self {
            Event::Requested(it) => &it.reason,
            Event::Returned(it) => &it.reason,
            Event::PassedOn(it) => &it.reason,
            Event::LegRequested(it) => &it.reason,
            Event::LegEnded(it) => &it.reason,
            Event::Over(it) => &it.reason,
            Event::Queued(_)
            | Event::Ringing(_)
            | Event::Connected(_)
            | Event::Consulted(_)
            | Event::Held(_)
            | Event::Resumed(_)
            | Event::Noted(_)
            | Event::Rated(_) => "",
        }
    }

    /// What its actor wrote for the customer; empty for nothing.
    pub fn customer_text(&self) -> &str {
        match self {
            Event::Requested(it) => &it.customer_text,
            Event::Returned(it) => &it.customer_text,
            Event::PassedOn(it) => &it.customer_text,
            Event::Connected(it) => &it.customer_text,
            Event::LegRequested(it) => &it.customer_text,
            Event::Queued(_)
            | Event::Ringing(_)
            | Event::Consulted(_)
            | Event::Held(_)
            | Event::Resumed(_)
            | Event::LegEnded(_)
            | Event::Noted(_)
            | Event::Over(_)
            | Event::Rated(_) => "",
        }
    }

    /// The queue where it waits from then on, if it says so.
    pub fn queue(&self) -> Option<&AgentId> {
        match self {
            Event::Requested(it) => Some(&it.queue),
            Event::Queued(it) => Some(&it.queue),
            Event::PassedOn(it) => Some(&it.queue),
            Event::Ringing(_)
            | Event::Returned(_)
            | Event::Connected(_)
            | Event::Consulted(_)
            | Event::Held(_)
            | Event::Resumed(_)
            | Event::LegRequested(_)
            | Event::LegEnded(_)
            | Event::Noted(_)
            | Event::Over(_)
            | Event::Rated(_) => None,
        }
    }

    /// Whether it is for people only.
    pub fn is_between_people(&self) -> bool {
        match self {
            Event::Noted(_) => true,
            Event::Requested(_)
            | Event::Queued(_)
            | Event::Ringing(_)
            | Event::Returned(_)
            | Event::PassedOn(_)
            | Event::Connected(_)
            | Event::Consulted(_)
            | Event::Held(_)
            | Event::Resumed(_)
            | Event::LegRequested(_)
            | Event::LegEnded(_)
            | Event::Over(_)
            | Event::Rated(_) => false,
        }
    }

    /// The epoch from then on, if it says so.
    pub fn epoch(&self) -> Option<u64> {
        match self {
            Event::Requested(it) => Some(it.epoch),
            Event::Queued(it) => Some(it.epoch),
            Event::Returned(it) => Some(it.epoch),
            Event::PassedOn(it) => Some(it.epoch),
            Event::Connected(it) => Some(it.epoch),
            Event::Over(it) => Some(it.epoch),
            Event::Ringing(_)
            | Event::Consulted(_)
            | Event::Held(_)
            | Event::Resumed(_)
            | Event::LegRequested(_)
            | Event::LegEnded(_)
            | Event::Noted(_)
            | Event::Rated(_) => None,
        }
    }

    /// The agents that are named when it is announced.
    pub fn named(&self) -> Vec<&AgentId> {
        match self {
            Event::Requested(it) => vec![&it.queue],
            Event::Queued(it) => vec![&it.queue],
            Event::Ringing(it) => vec![&it.agent],
            Event::Returned(it) => vec![&it.agent],
            Event::PassedOn(it) => vec![&it.holder, &it.queue],
            Event::Connected(it) => vec![&it.holder, &it.agent],
            Event::Held(it) => vec![&it.holder],
            Event::Resumed(it) => vec![&it.holder],
            Event::Over(it) => vec![&it.holder, &it.to],
            Event::Consulted(_)
            | Event::LegRequested(_)
            | Event::LegEnded(_)
            | Event::Noted(_)
            | Event::Rated(_) => Vec::new(),
        }
    }

    /// The person who is asked, or answers.
    pub fn person(&self) -> Option<&AgentId> {
        match self {
            Event::Ringing(it) => Some(&it.agent),
            Event::Connected(it) => Some(&it.agent),
            Event::Held(it) => Some(&it.holder),
            Event::Resumed(it) => Some(&it.holder),
            Event::Requested(_)
            | Event::Queued(_)
            | Event::Returned(_)
            | Event::PassedOn(_)
            | Event::Consulted(_)
            | Event::LegRequested(_)
            | Event::LegEnded(_)
            | Event::Noted(_)
            | Event::Over(_)
            | Event::Rated(_) => None,
        }
    }

    /// The kind of the transfer, or of its leg, from then on.
    pub fn kind(&self) -> Option<Kind> {
        if let Event::Requested(it) = self {
            return Some(it.kind);
        }
        if let Event::PassedOn(_) = self {
            return Some(Kind::Blind);
        }
        if let Event::Connected(it) = self { Some(it.kind) } else { None }
    }

    /// Why a person passed it on, so that another one answers with this leg; empty if no person
    /// did. `None` if the event does not tell.
    pub fn passed_on_because(&self, leg: u16) -> Option<&str> {
        if let Event::LegRequested(it) = self {
            return (it.leg == leg).then_some(&it.reason);
        }
        if let Event::Returned(it) = self {
            return (it.why == WhyReturned::Blind && leg == 0).then_some(&it.reason);
        }
        if let Event::PassedOn(it) = self {
            return (leg == 0).then_some(&it.reason);
        }
        matches!(self, Event::Requested(_)).then_some("")
    }

    /// The bundle with this id, if it was made here; `Some(None)` if there is none.
    pub fn bundle(&self, id: BundleId) -> Option<Option<&Bundle>> {
        if let Event::Requested(it) = self {
            let own = it.bundle.as_ref().filter(|_| id.leg == 0);
            return (it.transfer == id.transfer).then_some(own);
        }
        let Event::LegRequested(it) = self else { return None };
        (it.transfer == id.transfer && it.leg == id.leg).then_some(it.bundle.as_ref())
    }
}

/// Whether entries of this name are lines of the transcript. Of an erased entry, only the name is
/// left.
pub fn is_line(name: &str) -> bool {
    let of_one = ["transfer.requested", "transfer.passed_on", "transfer.connected"];
    of_one.contains(&name) || ["transfer.noted", "transfer.over"].contains(&name)
}
