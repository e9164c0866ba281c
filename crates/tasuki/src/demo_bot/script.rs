//! What Bob says: a function of the conversation.

use protocol::signal::score::{SignalKind, hear};
use serde_json::Value;

use super::AGENT_ID;

/// From this score on, the customer asks for a person, rather than about one.
const HUMAN_REQUEST_MIN: f64 = 0.5;

/// The length to which each of the customer's messages is quoted to the person.
const QUOTED_CHARS_MAX: usize = 200;

/// How many of the customer's last messages are quoted to the person.
const QUOTED_MESSAGES_MAX: usize = 5;

pub const NO_PERSON: &str = "I cannot reach a person just now. I am still here.";

const HELLO: &str = "I am Bob, a bot. Ask me about your bill, or say “I want a person”.";
const BILL: &str = "Your bill of May has 10 twice. I am a bot and may not refund it: say “I want a \
    person”, and a person takes over.";
const HOURS: &str = "I am here day and night. People are here while their terminal is open.";
const WELCOME: &str = "You are welcome.";
const HELP: &str = "I am a scripted bot: I know about bills and opening hours. Say “I want a \
    person” to talk to one.";
const BACK: &str = "I am back. Is there anything else?";
const CAME_BACK_ALONE: &str = "No person has come. I am still here; ask for one again \
    whenever you like.";

/// Keywords and their answers. The first match wins.
const ANSWERS: [(&[&str], &str); 4] = [
    (&["bill", "charge", "charged", "invoice", "refund", "money"], BILL),
    (&["hours", "open", "when"], HOURS),
    (&["thanks", "thank"], WELCOME),
    (&["hello", "hi", "hey"], HELLO),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BotStep {
    Say { text: String, in_reply_to: Option<u64> },
    HandOver { reason: String, summary: String, in_reply_to: u64 },
}

/// Bob's next action in a conversation that he holds, if any.
pub fn next(conversation: &Value, messages: &[Value]) -> Option<BotStep> {
    let epoch = &conversation["epoch"];
    let kind = |message: &Value| message["from"]["kind"].as_str().unwrap_or_default().to_owned();
    let is_talk = |message: &&Value| matches!(kind(message).as_str(), "customer" | "agent");
    let last = messages.iter().rfind(is_talk);
    let is_new = last.is_none_or(|last| last["epoch"] != *epoch);
    let say = |text: &str| BotStep::Say { text: text.to_owned(), in_reply_to: None };
    if is_new {
        match came_back(messages, epoch) {
            Some("completed") => return Some(say(BACK)),
            Some(_) => return Some(say(CAME_BACK_ALONE)),
            None => {}
        }
    }
    let Some(last) = last else {
        let name = conversation["customer"]["name"].as_str().unwrap_or("there");
        return Some(say(&format!("Hello {name}. {HELLO}")));
    };
    if kind(last) != "customer" {
        return None;
    }
    let number = last["number"].as_u64()?;
    let text = text_of(last);
    if is_for_a_person(&text) {
        let said = messages.iter().filter(|message| kind(message) == "customer");
        let mut said: Vec<_> = said.rev().take(QUOTED_MESSAGES_MAX).map(text_of).collect();
        said.reverse();
        let summary = format!("The customer said: {}", said.join(" / "));
        let reason = "the customer asks for a person".to_owned();
        return Some(BotStep::HandOver { reason, summary, in_reply_to: number });
    }
    Some(BotStep::Say { text: answer(&text).to_owned(), in_reply_to: Some(number) })
}

/// How the transfer ended that gave Bob the conversation back, if there was one.
fn came_back<'a>(messages: &'a [Value], epoch: &Value) -> Option<&'a str> {
    let first = messages.iter().find(|message| message["epoch"] == *epoch)?;
    let part = &first["parts"][0];
    let is_back = part["type"] == "agent-transfer" && part["toAgent"]["agentId"] == AGENT_ID;
    part["status"].as_str().filter(|_| is_back)
}

fn text_of(message: &Value) -> String {
    let parts = message["parts"].as_array().into_iter().flatten();
    let texts: Vec<_> = parts.filter_map(|part| part["text"].as_str()).collect();
    texts.join(" ").chars().take(QUOTED_CHARS_MAX).collect()
}

/// Matches the phrases that a graph detects too, and the word that Bob himself suggests.
fn is_for_a_person(text: &str) -> bool {
    let is_heard = hear(text, None).score(SignalKind::HumanRequest) >= HUMAN_REQUEST_MIN;
    is_heard || has_one_of(text, &["person", "human"])
}

fn answer(text: &str) -> &'static str {
    let answer = ANSWERS.iter().find(|(words, _)| has_one_of(text, words));
    answer.map_or(HELP, |(_, answer)| answer)
}

fn has_one_of(text: &str, words: &[&str]) -> bool {
    let text = text.to_lowercase();
    text.split(|it: char| !it.is_alphanumeric()).any(|word| words.contains(&word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(number: u64, epoch: u64, who: &str, text: &str) -> Value {
        json!({ "number": number, "epoch": epoch, "from": { "kind": who },
                "parts": [{ "type": "text", "text": text }] })
    }

    fn transfer(number: u64, epoch: u64, status: &str, to: &str) -> Value {
        json!({ "number": number, "epoch": epoch, "from": { "kind": "system" }, "parts": [
            { "type": "agent-transfer", "status": status, "toAgent": { "agentId": to } }] })
    }

    fn say(text: &str, in_reply_to: Option<u64>) -> Option<BotStep> {
        Some(BotStep::Say { text: text.to_owned(), in_reply_to })
    }

    #[test]
    fn what_there_is_to_do_follows_from_the_transcript() {
        let person = |number, said: &str| {
            let summary = format!("The customer said: {said}");
            let reason = "the customer asks for a person".to_owned();
            Some(BotStep::HandOver { reason, summary, in_reply_to: number })
        };
        let hello = say(&format!("Hello Ana. {HELLO}"), None);
        let ask = || said(1, 1, "customer", "My bill is wrong");
        let over = |status| transfer(4, 4, status, "bob");
        let rows = [
            (1, vec![], hello),
            (1, vec![ask()], say(BILL, Some(1))),
            (1, vec![ask(), said(2, 1, "agent", BILL)], None),
            (1, vec![said(1, 1, "customer", "open?")], say(HOURS, Some(1))),
            (1, vec![said(1, 1, "customer", "Thanks!")], say(WELCOME, Some(1))),
            (1, vec![said(1, 1, "customer", "What is the moon?")], say(HELP, Some(1))),
            (
                1,
                vec![ask(), said(2, 1, "agent", BILL), said(3, 1, "customer", "I want a person")],
                person(3, "My bill is wrong / I want a person"),
            ),
            // Messages to the person are not answered again.
            (4, vec![said(3, 3, "customer", "thanks"), over("completed")], say(BACK, None)),
            (4, vec![ask(), over("failed")], say(CAME_BACK_ALONE, None)),
            (4, vec![ask(), over("completed"), said(5, 4, "agent", BACK)], None),
            (4, vec![ask(), over("completed"), said(5, 4, "customer", "hi")], say(HELLO, Some(5))),
            // Another bot has handed over a question.
            (2, vec![ask(), transfer(2, 2, "", "carol")], say(BILL, Some(1))),
        ];
        for (epoch, messages, expected) in rows {
            let conversation = json!({ "epoch": epoch, "customer": { "name": "Ana" } });
            assert_eq!(next(&conversation, &messages), expected, "{messages:#?}");
        }
    }

    #[test]
    fn a_wish_for_a_person_is_heard_in_many_words() {
        for text in ["I want a person", "agent please", "Can I talk to a human?", "real person"] {
            let messages = [said(1, 1, "customer", text)];
            let next = next(&json!({ "epoch": 1 }), &messages);
            assert!(matches!(next, Some(BotStep::HandOver { .. })), "{text}: {next:?}");
        }
    }
}
