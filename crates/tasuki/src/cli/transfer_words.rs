//! The effect of a step of a transfer, as a sentence to its caller; and the person who is rung.

use protocol::time::Time;
use serde_json::Value;

use crate::cli::transfer_view::{place, text};
use crate::output::{clean, relative};

/// `action` is the last part of the request's path, `asked` its body, `transfer` the answer.
pub fn did(action: &str, asked: &Value, transfer: &Value) -> String {
    let is = |status: &str| transfer["status"] == status;
    let name = customer(transfer);
    let (to, holder) = (clean(&text(asked, "to")), clean(&text(transfer, "holder")));
    match action {
        "pickup" | "accept" => taken(transfer),
        "decline" if is("queued") => format!("you declined; {}", waits(transfer)),
        "decline" => "you declined".to_owned(),
        "hold" => format!("you put {name} on hold"),
        "resume" => format!("you took {name} off hold"),
        "complete" if is("completed") => {
            format!("{name}'s chat is settled; {holder} answers again")
        }
        "complete" => format!("you have left; {} goes on with {name}", answering(transfer)),
        "end" => format!("you ended {name}'s chat"),
        "cancel" if is("cancelled") && name == YOU => {
            format!("no person is asked for you any more; {holder} answers")
        }
        "cancel" if is("cancelled") => {
            format!("no person is asked for {name} any more; {holder} answers")
        }
        "cancel" => format!("no colleague is asked in any more; {name} stays with you"),
        "fail" => format!("no person could come to {name}; {holder} answers again"),
        "transfer" if asked["type"] == "supervisor_consult" => {
            format!("you asked {to} for advice; {name} does not see it")
        }
        "transfer" if is("queued") => format!("you passed {name} on; {}", waits(transfer)),
        "transfer" => {
            format!("you asked {to} to take {name} over; {name} stays with you until then")
        }
        "note" => format!("your note is kept for colleagues; {name} does not see it"),
        "whisper" => format!("you told {}; {name} does not see it", answering(transfer)),
        "rate" => "thank you".to_owned(),
        _ => waits(transfer),
    }
}

/// Where the customer waits for a person, or which person comes.
pub fn waits(transfer: &Value) -> String {
    let name = customer(transfer);
    let (verb, queue) =
        (if name == YOU { "wait" } else { "waits" }, clean(&text(transfer, "queue")));
    match (transfer["status"].as_str(), place(transfer)) {
        (Some("queued" | "requested"), Some(place)) => {
            format!("{name} {verb} for a person in the queue {queue}: {place}")
        }
        (Some("queued" | "requested"), None) => {
            format!("{name} {verb} for a person in the queue {queue}")
        }
        (Some("ringing"), _) => format!("a person is being asked for {name}"),
        (Some("connected" | "on_hold"), _) => format!("{} answers {name}", answering(transfer)),
        (_, _) => format!("no person is asked for {name} any more"),
    }
}

/// What the caller now has: a ring, a customer, or a colleague to advise.
fn taken(transfer: &Value) -> String {
    let name = customer(transfer);
    match (transfer["status"].as_str(), transfer["leg"]["status"].as_str()) {
        (_, Some("consulting")) => {
            format!("you advise {}; {name} does not see you", answering(transfer))
        }
        (Some("ringing"), _) | (_, Some("ringing")) => {
            format!("{name} rings for you; `tasuki transfer accept ID` answers")
        }
        (_, _) => format!("you answer {name} from here on"),
    }
}

const YOU: &str = "you";

fn customer(transfer: &Value) -> String {
    if transfer.get("requested_by").is_none() {
        return YOU.to_owned();
    }
    let name = transfer["bundle"]["identity"]["displayName"].as_str();
    name.map_or("the customer".to_owned(), clean)
}

/// The person who answers, or is asked.
fn answering(transfer: &Value) -> String {
    let name = transfer["agent"]["agentName"].as_str();
    name.map_or("the person who answers".to_owned(), clean)
}

/// A person who is asked, and has not answered yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rung {
    pub agent: String,
    pub when: When,
}

/// What is known of the ring's duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Until(Time),
    Since(Time),
    Unknown,
}

impl Rung {
    /// A colleague who is asked in has only an id here; `transfer_story::rung` looks the name up.
    pub fn of(transfer: &Value) -> Option<Self> {
        let time = |value: &Value| value.as_str().and_then(|at| at.parse().ok());
        let leg = &transfer["leg"];
        if leg["status"] == "ringing" {
            // The bundle for a colleague is written when they are asked.
            let when = time(&leg["bundle"]["createdAt"]).map_or(When::Unknown, When::Since);
            return Some(Self { agent: clean(&text(leg, "agent")), when });
        }
        let when = time(&transfer["until"]).map_or(When::Unknown, When::Until);
        (transfer["status"] == "ringing").then(|| Self { agent: answering(transfer), when })
    }

    /// `Hana, for 25 s more`; `Ivan, asked 5 s ago`.
    pub fn told(&self, now: Time) -> String {
        let agent = &self.agent;
        match self.when {
            When::Until(until) if until > now => {
                let until = relative(until, now);
                format!("{agent}, for {} more", until.strip_prefix("in ").unwrap_or("a moment"))
            }
            When::Since(since) => format!("{agent}, asked {}", relative(since, now)),
            When::Until(_) | When::Unknown => agent.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::time::Span;
    use serde_json::json;

    use super::*;

    #[test]
    fn who_is_rung_is_named_with_how_long() {
        let now = "2026-01-01T00:00:10.000Z".parse::<Time>().unwrap();
        let at = |seconds: i64| now.plus(Span::from_millis(seconds * 1_000)).to_string();
        let hana = json!({ "agentName": "Hana" });
        let cases = [
            (
                json!({ "status": "ringing", "agent": hana, "until": at(25) }),
                Some("Hana, for 25 s more"),
            ),
            (json!({ "status": "ringing", "agent": hana, "until": at(0) }), Some("Hana")),
            (json!({ "status": "connected", "agent": hana }), None),
            (
                json!({ "status": "connected", "agent": hana, "leg": {
                    "status": "ringing", "agent": "ivan",
                    "bundle": { "createdAt": "2026-01-01T00:00:05.000Z" } } }),
                Some("ivan, asked 5 s ago"),
            ),
            (
                json!({ "status": "connected", "agent": hana, "leg": {
                    "status": "consulting", "agent": "ivan" } }),
                None,
            ),
        ];
        for (transfer, expected) in cases {
            let told = Rung::of(&transfer).map(|rung| rung.told(now));
            assert_eq!(told.as_deref(), expected, "{transfer}");
        }
    }
}
