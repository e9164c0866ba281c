//! A message of a conversation as a line of text. What others wrote stands behind their name, and
//! each further line of it behind a bar, so that none looks like one of ours or of somebody else.

use serde_json::Value;

use crate::cli::transfer::text;
use crate::output::clean;

/// One message, to whoever sees the conversation like this.
pub fn told(message: &Value, conversation: &Value) -> String {
    let is_customers = conversation.get("opened_by").is_none();
    let from = &message["from"];
    let parts = message["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let who = match from["kind"].as_str() {
        Some("customer") if is_customers => "you".to_owned(),
        Some("customer") => format!("{} (customer)", customer(conversation)),
        Some("agent") => clean(&text(from, "agentName")),
        Some("internal") => {
            let kind = parts.first().map(|part| clean(&text(part, "type"))).unwrap_or_default();
            let by = text(from, "by");
            format!("{kind} by {}", clean(by.strip_prefix("agent:").unwrap_or(&by)))
        }
        Some("system") => {
            let chat = if is_customers { "your chat".to_owned() } else { chat_of(conversation) };
            return happened(parts.first().unwrap_or(&Value::Null), &chat);
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

/// What a customer is called, as far as is known.
pub fn customer(conversation: &Value) -> String {
    conversation["customer"]["name"].as_str().map_or("Somebody".to_owned(), clean)
}

/// `Ana's chat`.
pub fn chat_of(conversation: &Value) -> String {
    conversation["customer"]["name"]
        .as_str()
        .map_or("a customer's chat".to_owned(), |name| format!("{}'s chat", clean(name)))
}

/// The conversation changed hands, or will.
fn happened(part: &Value, chat: &str) -> String {
    let name = |field: &str| clean(&text(&part[field], "agentName"));
    let to = name("toAgent");
    let line = match (part["handoffType"].as_str(), part["status"].as_str()) {
        (Some("user_selection"), _) => format!("{to} was chosen, and answers from now on"),
        (Some(_), _) => format!("{} hands {chat} over to {to}", name("fromAgent")),
        (None, Some("requested")) => format!("a person is asked into {chat}"),
        (None, Some("connected")) => format!("{} is here", name("targetAgent")),
        (None, Some("completed")) => format!("{chat} is settled; {to} answers again"),
        (None, Some("ended")) => format!("{chat} is over"),
        (None, Some("failed")) => format!("no person could come to {chat}; {to} answers again"),
        (None, Some("cancelled")) => {
            format!("no person is asked into {chat} any more; {to} answers")
        }
        (None, Some(_) | None) => format!("{chat} changed hands"),
    };
    let mut lines = vec![format!("* {line}")];
    let reason = match part["reasonBy"].as_str() {
        Some("customer") => "the customer's reason",
        Some(_) | None => "reason",
    };
    let told =
        [("reason", reason), ("customerWords", "the customer's words"), ("context", "context")];
    for (field, label) in told {
        let text = part[field].as_str().unwrap_or_default();
        lines.extend(text.lines().map(|line| format!("  | {label}: {}", clean(line))));
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
        assert_eq!(told(&said, &conversation), expected);
    }
}
