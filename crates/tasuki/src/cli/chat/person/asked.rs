//! What a ring asks of a person: to answer a customer, to take one over from a colleague, or to
//! advise the colleague.

use protocol::time::Time;
use serde_json::Value;

use crate::cli::transfer_story::known;
use crate::cli::transfer_view::{name_of, text};
use crate::output::{clean, relative};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingingRequest {
    customer: String,
    by: By,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum By {
    Customer,
    /// The name of a colleague who wants advice.
    ForAdvice(String),
    /// The name of a colleague who wants to pass the customer on.
    ToTakeOver(String),
}

impl RingingRequest {
    /// What a transfer asks of this person, if it rings for them.
    pub fn of(transfer: &Value, me: &str) -> Option<Self> {
        let (leg, agent) = (&transfer["leg"], &transfer["agent"]);
        let by = if leg["status"] == "ringing" && leg["agent"] == *me {
            let name = clean(&text(agent, "agentName"));
            match leg["type"].as_str() {
                Some("supervisor_consult") => By::ForAdvice(name),
                Some(_) | None => By::ToTakeOver(name),
            }
        } else if transfer["status"] == "ringing" && agent["agentId"] == *me {
            By::Customer
        } else {
            return None;
        };
        Some(Self { customer: clean(&name_of(transfer)), by })
    }

    /// The lines that announce it.
    pub fn lines(&self, transfer: &Value) -> Vec<String> {
        let customer = &self.customer;
        let (first, colleague) = match &self.by {
            By::Customer => (format!("* {customer} rings"), None),
            By::ForAdvice(name) => {
                (format!("* {name} asks you for advice about {customer}"), Some(name))
            }
            By::ToTakeOver(name) => {
                (format!("* {name} asks you to take {customer} over"), Some(name))
            }
        };
        let mut lines = vec![first];
        if let Some(name) = colleague {
            let leg = &transfer["leg"];
            let told = [
                ("reason", leg["reason"].as_str()),
                ("summary", leg["bundle"]["transcriptSummary"].as_str()),
            ];
            for (what, text) in told {
                let text = text.unwrap_or_default().lines();
                lines.extend(text.map(|line| format!("  | {name}'s {what}: {}", clean(line))));
            }
        }
        lines.extend(known(transfer).into_iter().map(|line| format!("  {line}")));
        lines
    }

    /// Until when it rings. The transfer does not say so of a colleague's request.
    pub fn until(&self, transfer: &Value) -> Option<Time> {
        match &self.by {
            By::Customer => text(transfer, "until").parse().ok(),
            By::ForAdvice(_) | By::ToTakeOver(_) => None,
        }
    }

    /// What can be typed, and what happens without it. `first` is a ring that began before.
    pub fn remark(&self, until: Option<Time>, first: Option<&RingingRequest>, now: Time) -> String {
        let left = until.map(|at| relative(at, now)).unwrap_or("soon".to_owned());
        let name = self.name();
        let typed = match first.map(RingingRequest::name) {
            None => "/accept or /decline".to_owned(),
            Some(first) if is_same_name(first, name) => format!("/accept answers {first} first"),
            Some(first) => format!("/accept answers {first} first, /accept {name} answers {name}"),
        };
        match &self.by {
            By::Customer => format!("{typed}; the next one is asked {left}"),
            By::ForAdvice(name) => format!(
                "{typed}; the request ends {left}; {} does not see what you tell {name}",
                self.customer
            ),
            By::ToTakeOver(_) => format!("{typed}; the request ends {left}"),
        }
    }

    /// The remark when it is the first ring, because an earlier one is over.
    pub fn still(&self) -> String {
        match &self.by {
            By::Customer => format!("{} still rings; /accept or /decline", self.customer),
            By::ForAdvice(name) | By::ToTakeOver(name) => {
                format!("{name} still asks you; /accept or /decline")
            }
        }
    }

    /// Whether it is from this customer, or from this colleague.
    pub fn is_from(&self, name: &str) -> bool {
        is_same_name(self.name(), name) || is_same_name(&self.customer, name)
    }

    /// The remark when the ring ends.
    pub fn over(&self) -> String {
        match &self.by {
            By::Customer => format!("{} does not ring any more", self.customer),
            By::ForAdvice(name) | By::ToTakeOver(name) => {
                format!("{name} does not ask you any more")
            }
        }
    }

    /// After `/decline`.
    pub fn declined(&self) -> String {
        match &self.by {
            By::Customer => format!("you declined; {} waits for another person", self.customer),
            By::ForAdvice(name) | By::ToTakeOver(name) => format!("you declined; {name} is told"),
        }
    }

    /// The remark when the person types before they accepted.
    pub fn not_yet(&self) -> String {
        match &self.by {
            By::Customer => {
                format!("{} rings; /accept answers, then what you type is said", self.customer)
            }
            By::ForAdvice(name) | By::ToTakeOver(name) => {
                format!("{name} asks you; /accept answers, then what you type is read")
            }
        }
    }
    /// The customer who rings, or the colleague who asks.
    pub fn name(&self) -> &str {
        match &self.by {
            By::Customer => &self.customer,
            By::ForAdvice(name) | By::ToTakeOver(name) => name,
        }
    }
}

/// Whether two names are the same, as people type them.
pub fn is_same_name(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_further_ring_says_which_one_is_answered() {
        let now = "2026-01-01T00:00:00.000Z".parse::<Time>().unwrap();
        let rings = |name: &str| {
            let transfer = json!({ "status": "ringing", "agent": { "agentId": "hana" },
                "until": "2026-01-01T00:00:25.000Z",
                "bundle": { "identity": { "displayName": name } } });
            let asked = RingingRequest::of(&transfer, "hana").unwrap();
            (asked.until(&transfer), asked)
        };
        let consult = json!({ "status": "connected", "agent": { "agentName": "Ivan" },
            "leg": { "status": "ringing", "agent": "hana", "type": "supervisor_consult" },
            "bundle": { "identity": { "displayName": "Uma" } } });
        let consult = (None, RingingRequest::of(&consult, "hana").unwrap());
        let (mia, noa) = (rings("Mia"), rings("Noa"));
        let cases = [
            (&mia, None, "/accept or /decline; the next one is asked in 25 s"),
            (
                &noa,
                Some(&mia),
                "/accept answers Mia first, /accept Noa answers Noa; the next one is asked in 25 s",
            ),
            (&mia, Some(&mia), "/accept answers Mia first; the next one is asked in 25 s"),
            (
                &consult,
                Some(&mia),
                "/accept answers Mia first, /accept Ivan answers Ivan; the request ends soon; Uma \
                 does not see what you tell Ivan",
            ),
        ];
        for ((until, asked), first, expected) in cases {
            let first = first.map(|(_, first)| first);
            assert_eq!(asked.remark(*until, first, now), expected);
        }
        let cases = [(&noa, "noa", true), (&noa, "mia", false), (&consult, "ivan", true)];
        for ((_, asked), name, expected) in cases {
            assert_eq!(asked.is_from(name), expected, "{asked:?}, {name}");
        }
        assert!(consult.1.is_from("Uma"), "the customer of a colleague can be named, too");
    }
}
