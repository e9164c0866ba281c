//! What a ring asks of a person: to answer a customer, to take one over from a colleague, or to
//! advise the colleague.

use protocol::time::Time;
use serde_json::Value;

use crate::cli::queue::name_of;
use crate::cli::transfer::text;
use crate::cli::transfer_story::known;
use crate::output::{clean, relative};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
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

impl Asked {
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

    /// What can be typed, and what happens without it.
    pub fn remark(&self, transfer: &Value, until: Option<Time>, now: Time) -> String {
        let until = match self.by {
            By::Customer => until.or_else(|| text(transfer, "until").parse().ok()),
            By::ForAdvice(_) | By::ToTakeOver(_) => until,
        };
        let left = until.map(|at| relative(at, now)).unwrap_or("soon".to_owned());
        match &self.by {
            By::Customer => format!("/accept or /decline; the next one is asked {left}"),
            By::ForAdvice(name) => format!(
                "/accept or /decline; the request ends {left}; {} does not see what you tell \
                 {name}",
                self.customer
            ),
            By::ToTakeOver(_) => format!("/accept or /decline; the request ends {left}"),
        }
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
            By::Customer => format!("you declined; the next person is asked for {}", self.customer),
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
}
