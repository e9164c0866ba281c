//! News of a colleague that a person asked in: whether they come, and when they leave. Covers only
//! what others do; the person's own actions are answered where they are typed.

use serde_json::Value;

use crate::output;

/// One step, from the stream of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Colleague {
    pub transfer: String,
    /// The id of the colleague; none if none was asked yet.
    pub agent: Option<String>,
    pub did: Did,
    /// The colleague's words for it.
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Did {
    Rung,
    Joined,
    Declined(Then),
    NotAnswered(Then),
    Lost(Then),
    Withdrawn,
    Left,
}

/// Whether another colleague is asked instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    NextIsAsked,
    NobodyIsAsked,
}

impl Colleague {
    /// Of an entry about a conversation that this person holds.
    pub fn read(entry: &Value, me: &str) -> Option<Self> {
        let data = &entry["data"];
        // Leg 0 is the transfer itself.
        let is_leg = data["leg"].as_u64().is_some_and(|leg| leg > 0);
        let is_own_doing =
            entry["actor"].as_str().and_then(|it| it.strip_prefix("agent:")) == Some(me);
        if !is_leg || is_own_doing || data["holder"] != *me {
            return None;
        }
        let did = match (entry["event"].as_str()?, data["why"].as_str()) {
            // A colleague who picked it from the queue was not asked.
            ("transfer.ringing", _) if data["picked"] != true => Did::Rung,
            ("transfer.consulted", _) => Did::Joined,
            ("transfer.returned", Some("declined")) => Did::Declined(Then::NextIsAsked),
            ("transfer.returned", Some("not_answered")) => Did::NotAnswered(Then::NextIsAsked),
            ("transfer.returned", Some("agent_lost")) => Did::Lost(Then::NextIsAsked),
            ("transfer.leg_ended", Some("declined")) => Did::Declined(Then::NobodyIsAsked),
            ("transfer.leg_ended", Some("not_answered")) => Did::NotAnswered(Then::NobodyIsAsked),
            ("transfer.leg_ended", Some("agent_lost")) => Did::Lost(Then::NobodyIsAsked),
            ("transfer.leg_ended", Some("cancelled")) => Did::Withdrawn,
            ("transfer.leg_ended", Some("finished")) => Did::Left,
            (_, _) => return None,
        };
        Some(Self {
            transfer: data["transfer"].as_str()?.to_owned(),
            agent: data["agent"].as_str().map(str::to_owned),
            did,
            reason: data["reason"].as_str().map(output::clean).filter(|it| !it.is_empty()),
        })
    }

    /// For the person who asked: `name` is that of the colleague.
    pub fn told(&self, name: &str, customer: &str) -> String {
        let then = |then: Then| match then {
            Then::NextIsAsked => "; the next one is asked",
            Then::NobodyIsAsked => "",
        };
        match self.did {
            Did::Rung => format!("{name} is being asked"),
            Did::Joined => format!("{name} joins; {customer} does not see what {name} writes"),
            Did::Declined(next) => {
                let reason = self.reason.as_ref().map(|reason| format!(" ({reason})"));
                format!("{name} declines{}{}", reason.unwrap_or_default(), then(next))
            }
            Did::NotAnswered(next) => format!("{name} did not answer{}", then(next)),
            Did::Lost(next) => format!("{name} has gone offline{}", then(next)),
            Did::Withdrawn => format!("{name} is not asked any more"),
            Did::Left => format!("{name} has left"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn who_asked_hears_what_becomes_of_a_colleague() {
        // The event, who caused it, the leg, who holds the conversation, why; and what is said.
        let cases = [
            ("ringing", "agent:hana", 1, "hana", "", None),
            ("ringing", "system", 1, "hana", "", Some("Ivan is being asked")),
            ("ringing", "system", 0, "default", "", None),
            (
                "consulted",
                "agent:ivan",
                1,
                "hana",
                "",
                Some("Ivan joins; Ana does not see what Ivan writes"),
            ),
            ("consulted", "agent:ivan", 1, "olga", "", None),
            ("leg_ended", "agent:ivan", 1, "hana", "declined", Some("Ivan declines")),
            ("leg_ended", "agent:ivan", 1, "hana", "finished", Some("Ivan has left")),
            ("leg_ended", "agent:hana", 1, "hana", "cancelled", None),
            ("leg_ended", "system", 1, "hana", "not_answered", Some("Ivan did not answer")),
            ("leg_ended", "system", 1, "hana", "agent_lost", Some("Ivan has gone offline")),
            (
                "returned",
                "agent:ivan",
                2,
                "hana",
                "declined",
                Some("Ivan declines; the next one is asked"),
            ),
            ("connected", "agent:ivan", 1, "hana", "", None),
        ];
        for (event, actor, leg, holder, why, expected) in cases {
            let mut entry = json!({
                "event": format!("transfer.{event}"), "actor": actor,
                "data": { "agent": "ivan", "holder": holder, "leg": leg, "transfer": "t" },
            });
            if !why.is_empty() {
                entry["data"]["why"] = why.into();
            }
            let told = Colleague::read(&entry, "hana").map(|it| it.told("Ivan", "Ana"));
            assert_eq!(told.as_deref(), expected, "{entry}");
            if why == "declined" {
                entry["data"]["reason"] = "at \u{1b}lunch".into();
                let told = Colleague::read(&entry, "hana").expect("it is told");
                let told = told.told("Ivan", "Ana");
                assert!(told.starts_with("Ivan declines (at \u{fffd}lunch)"), "{told}");
            }
        }
    }
}
