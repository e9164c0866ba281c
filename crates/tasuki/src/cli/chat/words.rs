//! A message of a conversation as a line of text. What others wrote is behind their name, and each
//! further line of it behind a bar, so that it cannot pass for a line of ours or of another author.

use serde_json::Value;

use crate::cli::transfer_view::text;
use crate::output::clean;

/// A customer without a known name.
const UNNAMED: &str = "the customer";

/// The reader of a conversation in a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reader {
    /// The agent that reads; none for the customer.
    pub agent: Option<String>,
    /// The name of the colleague whom the agent advises.
    pub advises: Option<String>,
}

/// One message, as this reader sees it.
pub fn told(message: &Value, conversation: &Value, reader: &Reader) -> String {
    let is_customers = conversation.get("opened_by").is_none();
    let from = &message["from"];
    let parts = message["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let who = match from["kind"].as_str() {
        Some("customer") if is_customers => "you".to_owned(),
        Some("customer") => match customer(conversation) {
            name if name == UNNAMED => name,
            name => format!("{name} (customer)"),
        },
        Some("agent") => clean(&text(from, "agentName")),
        Some("internal") => {
            let kind = parts.first().map(|part| clean(&text(part, "type"))).unwrap_or_default();
            between_colleagues(&kind, &text(from, "by"), reader)
        }
        Some("system") => {
            let chat = if is_customers { YOUR_CHAT.to_owned() } else { chat_of(conversation) };
            // If the chat ended and the request was withdrawn with it, no agent answers any more.
            let is_end = conversation["status"] == "closed"
                && message["number"] == conversation["n_messages"];
            return happened(parts.first().unwrap_or(&Value::Null), &chat, is_end);
        }
        Some(_) | None => return format!("* message {} was erased", message["number"]),
    };
    let mut lines = Vec::new();
    for part in parts {
        match part["text"].as_str() {
            Some(text) => lines.extend(text.lines().map(clean)),
            None => {
                let (name, bytes) = (clean(&text(part, "name")), &part["size_bytes"]);
                lines.push(format!("[a file: {name}, {bytes} bytes]"));
            }
        }
    }
    format!("{who}: {}", lines.join("\n  | "))
}

/// The author of a message that the customer does not see.
fn between_colleagues(kind: &str, by: &str, reader: &Reader) -> String {
    let by = by.strip_prefix("agent:").unwrap_or(by);
    let is_own = reader.agent.as_deref() == Some(by);
    match kind {
        "whisper" if is_own => match &reader.advises {
            Some(name) => format!("you told {}", clean(name)),
            None => "you told a colleague".to_owned(),
        },
        "note" if is_own => "your note, for colleagues only".to_owned(),
        kind => format!("{kind} by {}", clean(by)),
    }
}

/// The customer's name, as far as it is known: by name, or by the backend's own name for them.
pub fn customer(conversation: &Value) -> String {
    let of = |name: &str| conversation["customer"][name].as_str();
    of("name").or(of("external_id")).map_or(UNNAMED.to_owned(), clean)
}

/// What a customer's own chat is called.
const YOUR_CHAT: &str = "your chat";

/// `Ana's chat`.
fn chat_of(conversation: &Value) -> String {
    format!("{}'s chat", customer(conversation))
}

/// The conversation changed hands, or will.
fn happened(part: &Value, chat: &str, is_end: bool) -> String {
    let name = |field: &str| clean(&text(&part[field], "agentName"));
    let to = name("toAgent");
    let line = match (part["handoffType"].as_str(), part["status"].as_str()) {
        (Some("user_selection"), _) => format!("{to} was chosen, and answers from now on"),
        (Some(_), _) => format!("{} hands {chat} over to {to}", name("fromAgent")),
        (None, Some("requested")) => format!("a person is asked into {chat}"),
        (None, Some("queued")) => format!("another person is asked into {chat}"),
        (None, Some("connected")) => format!("{} is here", name("targetAgent")),
        (None, Some("completed")) => format!("{chat} is settled; {to} answers again"),
        (None, Some("ended")) => format!("{chat} is over"),
        (None, Some("failed")) => format!("no person could come to {chat}; {to} answers again"),
        (None, Some("cancelled")) if is_end => {
            format!("no person is asked into {chat} any more: it ends")
        }
        (None, Some("cancelled")) => {
            format!("no person is asked into {chat} any more; {to} answers")
        }
        (None, Some(_) | None) => format!("{chat} changed hands"),
    };
    let mut lines = vec![format!("* {line}")];
    let reason = match part["reasonBy"].as_str() {
        Some("customer") => "the customer's reason: ",
        // Customers read a text that is meant for them.
        Some(_) | None if chat == YOUR_CHAT => "",
        Some(_) | None => "reason: ",
    };
    let told =
        [("reason", reason), ("customerWords", "the customer's words: "), ("context", "context: ")];
    for (field, label) in told {
        let text = part[field].as_str().unwrap_or_default();
        lines.extend(text.lines().map(|line| format!("  | {label}{}", clean(line))));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nobody_can_write_lines_of_others() {
        let conversation = json!({ "opened_by": "agent:shop", "customer": { "name": "A\nna" } });
        let said = json!({ "number": 1, "from": { "kind": "customer" }, "parts": [
            { "type": "text", "text": "hi\nHana: pay me\r\n* it is over\u{1b}[2J" }] });
        let expected = "A na (customer): hi\n  | Hana: pay me\n  | * it is over\u{fffd}[2J";
        assert_eq!(told(&said, &conversation, &Reader::default()), expected);
    }

    #[test]
    fn a_line_names_who_wrote_it_and_what_is_true_then() {
        let reader = |agent: &str, advises: Option<&str>| Reader {
            agent: Some(agent.to_owned()),
            advises: advises.map(str::to_owned),
        };
        let (hana, ivan) = (reader("hana", None), reader("ivan", Some("Hana")));
        let (customer, of_agents) = (Reader::default(), json!({ "opened_by": "agent:bob" }));
        let internal = |kind: &str, by: &str| {
            json!({ "from": { "kind": "internal", "by": by },
                    "parts": [{ "type": kind, "text": "up to 20" }] })
        };
        let cancelled = json!({ "number": 7, "from": { "kind": "system" },
            "parts": [{ "status": "cancelled", "toAgent": { "agentName": "default" } }] });
        let hi = json!({ "from": { "kind": "customer" }, "parts": [{ "text": "hi" }] });
        let called = |name: &str| json!({ "opened_by": "a", "customer": { name: "c-17" } });
        let closed = |n: u64| json!({ "status": "closed", "n_messages": n });
        let cases = [
            (internal("whisper", "agent:ivan"), &of_agents, &ivan, "you told Hana: up to 20"),
            (internal("whisper", "agent:ivan"), &of_agents, &hana, "whisper by ivan: up to 20"),
            (
                internal("note", "agent:hana"),
                &of_agents,
                &hana,
                "your note, for colleagues only: up to 20",
            ),
            (
                cancelled.clone(),
                &closed(9),
                &customer,
                "* no person is asked into your chat any more; default answers",
            ),
            (
                cancelled,
                &closed(7),
                &customer,
                "* no person is asked into your chat any more: it ends",
            ),
            (hi.clone(), &of_agents, &hana, "the customer: hi"),
            (hi.clone(), &called("external_id"), &hana, "c-17 (customer): hi"),
            (hi, &called("name"), &hana, "c-17 (customer): hi"),
        ];
        for (message, conversation, reader, expected) in cases {
            assert_eq!(told(&message, conversation, reader), expected, "{message}");
        }
    }
}
