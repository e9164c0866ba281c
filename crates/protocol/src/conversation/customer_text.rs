//! What a customer is told when the conversation changes hands. A model's own reason is for
//! colleagues. The customer gets the sender's text for them, or a sentence of ours in their
//! language.

use super::author::is_customer;
use super::event::{Fallback, HolderSilent, How, Routed};
use super::wait::OwedKind;
use crate::hidden::is_blank;
use crate::narrator::texts::{DEFAULT_LANGUAGE, Message};
use crate::rejection::Rejection;

/// A sentence or two: the customer waits while reading it.
pub const CUSTOMER_TEXT_BYTES_MAX: usize = 500;

/// A request for a person: by whom, and with which words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PersonRequest<'a> {
    /// As the record names them.
    pub by: &'a str,
    pub reason: &'a str,
    pub customer_text: &'a str,
}

/// The text for the customer, as it is recorded; empty for none.
pub fn check(text: Option<&str>) -> Result<String, Rejection> {
    match text {
        Some(text) if is_blank(text) || text.len() > CUSTOMER_TEXT_BYTES_MAX => {
            Err(Rejection::SchemaInvalid {
                field: "customer_text".to_owned(),
                expected: format!("1 to {CUSTOMER_TEXT_BYTES_MAX} bytes of text"),
            })
        }
        Some(text) => Ok(text.to_owned()),
        None => Ok(String::new()),
    }
}

/// For a route between bots. `language` is a BCP 47 tag; `from` and `to` are display names.
pub fn of_route(routed: &Routed, language: Option<&str>, from: &str, to: &str) -> String {
    if !routed.customer_text.is_empty() {
        return routed.customer_text.clone();
    }
    let message = match routed.how {
        How::UserSelection | How::NoAnswer => Message::RouteChanged { from, to },
        How::AgentHandoff | How::SupervisorRouting | How::Graph => {
            Message::RouteRequested { from, to }
        }
    };
    message.in_language(language.unwrap_or(DEFAULT_LANGUAGE)).normal
}

/// For a bot that was silent. `from` and `to` are the display names of the bot and of who is asked.
pub fn of_silence(silent: &HolderSilent, language: Option<&str>, from: &str, to: &str) -> String {
    let message = match (silent.owed, &silent.next) {
        (OwedKind::Answer, Fallback::Nothing) if silent.no_person => Message::SilentAlone,
        (OwedKind::Transfer, Fallback::Nothing) if silent.no_person => Message::UnkeptAlone,
        (OwedKind::Answer, Fallback::Agent(_)) => Message::SilentNext { from, to },
        (OwedKind::Answer, Fallback::Queue(_)) => Message::SilentPerson { from },
        (OwedKind::Answer, Fallback::Nothing) => Message::SilentEnd,
        (OwedKind::Transfer, Fallback::Agent(_)) => Message::UnkeptNext { from, to },
        (OwedKind::Transfer, Fallback::Queue(_)) => Message::UnkeptPerson { from },
        (OwedKind::Transfer, Fallback::Nothing) => Message::UnkeptEnd,
    };
    message.in_language(language.unwrap_or(DEFAULT_LANGUAGE)).normal
}

/// For a request for a person. The customer may see their own words.
pub fn of_request(asked: PersonRequest<'_>, language: Option<&str>, queue: &str) -> String {
    said(asked).map_or_else(
        || {
            let message = Message::TransferRequested { queue };
            message.in_language(language.unwrap_or(DEFAULT_LANGUAGE)).normal
        },
        str::to_owned,
    )
}

/// For a person who passes the customer on to a queue.
pub fn of_passing(customer_text: &str, language: Option<&str>, queue: &str) -> String {
    of_request(PersonRequest { by: "agent:", reason: "", customer_text }, language, queue)
}

/// For a person who takes over from another one. `from` and `to` are display names.
pub fn of_passed(customer_text: &str, language: Option<&str>, from: &str, to: &str) -> String {
    if !customer_text.is_empty() {
        return customer_text.to_owned();
    }
    let message = Message::TransferPassedOn { from, to };
    message.in_language(language.unwrap_or(DEFAULT_LANGUAGE)).normal
}

/// For a request for a person that no person could answer. `to` is the display name of who answers
/// again.
pub fn of_failure(language: Option<&str>, to: &str) -> String {
    let message = Message::TransferFailed { to };
    message.in_language(language.unwrap_or(DEFAULT_LANGUAGE)).normal
}

/// The words that the customer may see, if there are any.
fn said(asked: PersonRequest<'_>) -> Option<&str> {
    let PersonRequest { by, reason, customer_text } = asked;
    if !customer_text.is_empty() {
        return Some(customer_text);
    }
    Some(reason).filter(|reason| !reason.is_empty() && is_customer(by))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::narrator::texts::catalogues;

    #[test]
    fn a_customer_is_told_what_was_meant_for_them() {
        let fixed = "A person is asked to take over, through \u{2068}Support\u{2069}.";
        for (by, reason, customer_text, expected) in [
            ("agent:bob", "customer is abusive, fraud score 0.93", "", fixed),
            ("system", "frustration above 0.7 for 2 turns", "", fixed),
            ("agent:bob", "abusive", "Hana knows more of this.", "Hana knows more of this."),
            ("customer:c", "my bill", "", "my bill"),
            ("customer:c", "", "", fixed),
        ] {
            let asked = PersonRequest { by, reason, customer_text };
            assert_eq!(of_request(asked, None, "Support"), expected, "{asked:?}");
        }
        let asked = PersonRequest { by: "agent:bob", reason: "abusive", customer_text: "" };
        for language in catalogues().iter().map(|catalogue| catalogue.language) {
            let told = of_request(asked, Some(language), "Support");
            assert!(!told.contains("abusive") && told.contains("Support"), "{told}");
            assert_eq!(told == fixed, language == "en", "{language}: {told}");
        }
    }
}
