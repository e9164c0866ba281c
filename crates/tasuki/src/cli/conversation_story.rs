//! `tasuki conversation show` and `tail`: the messages, as sentences. What customers and agents
//! wrote is shown behind a bar, so that no line of theirs looks like one of ours.

use anyhow::Result;
use protocol::time::{Span, Time};
use serde_json::{Value, json};

use super::conversation::{path_of, text};
use super::token::now;
use super::waits;
use crate::client::{Call, Client, Refused};
use crate::output::{self, clean};

/// Messages of one page at most.
const PAGE_LINES: u64 = 200;

/// Chats are read by people: a second is fast enough.
const LOOK_EVERY: Span = Span::from_millis(1_000);

/// A server that restarts is back within seconds; a server that is gone should be noticed.
const RECONNECTS_MAX: u32 = 30;

pub async fn print(client: &Client, id: &str, last: Option<u64>, json: bool) -> Result<()> {
    let conversation = client.call(Call::get(path_of(id, ""))).await?.success()?;
    let n_messages = conversation["n_messages"].as_u64().unwrap_or_default();
    let mut after = n_messages.saturating_sub(last.unwrap_or(n_messages));
    let mut messages = Vec::new();
    while after < n_messages {
        let page = page(client, id, after).await?;
        let Some(number) = page.last().and_then(|line| line["number"].as_u64()) else { break };
        after = number;
        messages.extend(page);
    }
    if json {
        output::json(&json!({ "conversation": conversation, "messages": messages }));
        return Ok(());
    }
    output::line(&tell(&conversation, &messages, now()));
    Ok(())
}

/// Follows by number, so that nothing is missed or repeated.
pub async fn tail(client: &Client, id: &str, after: Option<u64>, json: bool) -> Result<()> {
    let shown = client.call(Call::get(path_of(id, ""))).await?.success()?;
    let mut after = after.or(shown["n_messages"].as_u64()).unwrap_or_default();
    let mut tries = 0;
    loop {
        match follow(client, id, &mut after, json).await {
            Ok(true) => return Ok(()),
            Ok(false) => tries = 0,
            Err(error) if error.downcast_ref::<Refused>().is_some() => return Err(error),
            Err(error) if tries >= RECONNECTS_MAX => return Err(error),
            Err(_) => tries += 1,
        }
        engine::ports::clock::Clock::sleep(&engine::ports::clock::SystemClock, LOOK_EVERY).await;
    }
}

/// Shows new messages; returns whether no more can come.
async fn follow(client: &Client, id: &str, after: &mut u64, json: bool) -> Result<bool> {
    // Before the messages: everything said before it was closed is then among them.
    let shown = client.call(Call::get(path_of(id, ""))).await?.success()?;
    loop {
        let page = page(client, id, *after).await?;
        for line in &page {
            *after = line["number"].as_u64().unwrap_or(*after);
            match json {
                true => output::json(line),
                false => output::line(&sentence(line, &shown).join("\n")),
            }
        }
        if (page.len() as u64) < PAGE_LINES {
            return Ok(shown["status"] == "closed");
        }
    }
}

async fn page(client: &Client, id: &str, after: u64) -> Result<Vec<Value>> {
    let path = path_of(id, &format!("/messages?after={after}&limit={PAGE_LINES}"));
    let page = client.call(Call::get(path)).await?.success()?;
    Ok(page["items"].as_array().cloned().unwrap_or_default())
}

/// The whole story as text.
fn tell(conversation: &Value, messages: &[Value], now: Time) -> String {
    let of = |name: &str| clean(&text(conversation, name));
    let customer = conversation["customer"]["name"].as_str().map_or("a customer".to_owned(), clean);
    let mut lines = vec![
        format!("A conversation with {customer}  [{}]", of("status")),
        format!("  id      {}", of("conversation_id")),
        format!("  holder  {}, epoch {}", of("holder"), conversation["epoch"]),
    ];
    if let Some(by) = conversation["opened_by"].as_str() {
        lines.push(format!("  opened  by {}", clean(by)));
    }
    for wait in conversation["waiting_for"].as_array().into_iter().flatten() {
        lines.push(format!("  waits   for {}", waits::told(wait, now)));
    }
    let shared = &conversation["shared"];
    if shared.as_object().is_some_and(|shared| !shared.is_empty()) {
        lines.push(format!("  shared  {}", clean(&shared.to_string())));
    }
    lines.push(String::new());
    for message in messages {
        let at = message["at"].as_str().and_then(|at| at.parse::<Time>().ok());
        let when = at.map_or_else(|| "–".to_owned(), |at| output::relative(at, now));
        let mut told = sentence(message, conversation).into_iter();
        lines.push(format!("  {when:>10}  {}", told.next().unwrap_or_default()));
        lines.extend(told.map(|line| format!("              {line}")));
    }
    lines.join("\n")
}

/// The author, and below it the message.
fn sentence(message: &Value, conversation: &Value) -> Vec<String> {
    let number = &message["number"];
    if message["erased"] == true {
        return vec![format!("#{number} was erased")];
    }
    let parts = message["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let who = match message["from"]["kind"].as_str() {
        Some("customer") => "the customer".to_owned(),
        Some("agent") => clean(&text(&message["from"], "agentId")),
        Some("internal") => {
            let by = clean(&text(&message["from"], "by"));
            let kind = parts.first().map(|part| clean(&text(part, "type"))).unwrap_or_default();
            let by = by.strip_prefix("agent:").unwrap_or(&by);
            format!("{by}, in a {kind} for colleagues")
        }
        _ => {
            // If the chat ended and the request was withdrawn with it, no agent answers any more.
            let is_end =
                conversation["status"] == "closed" && *number == conversation["n_messages"];
            return changed_hands(number, parts.first().unwrap_or(&Value::Null), is_end);
        }
    };
    let answered = message["in_reply_to"].as_u64();
    let answered = answered.map(|number| format!(" to #{number}")).unwrap_or_default();
    let mut lines = vec![format!("#{number} {who}{answered}:")];
    for part in parts {
        match part["text"].as_str() {
            Some(text) => lines.extend(text.lines().map(|line| format!("| {}", clean(line)))),
            None => {
                let size = part["size_bytes"].as_u64().map(|bytes| format!(", {bytes} bytes"));
                let name = clean(&text(part, "name"));
                lines.push(format!("| [{name}{}]", size.unwrap_or_default()));
            }
        }
    }
    lines
}

/// The conversation changed hands between agents, a step of a transfer to a person, or what the
/// server told the customer.
fn changed_hands(number: &Value, part: &Value, is_end: bool) -> Vec<String> {
    if let Some(told) = part["text"].as_str() {
        let told = told.lines().map(|line| format!("| {}", clean(line)));
        return std::iter::once(format!("#{number} the server:")).chain(told).collect();
    }
    let agent = |name: &str| clean(&text(&part[name], "agentId"));
    let (from, to) = (agent("fromAgent"), agent("toAgent"));
    let what = match (part["handoffType"].as_str(), part["status"].as_str()) {
        (Some("user_selection"), _) => format!("the customer chose {to} instead of {from}"),
        (Some(_), _) => format!("{from} handed it to {to}"),
        (None, Some("requested")) => match part["insteadOf"].as_str().map(clean) {
            Some(other) => {
                format!(
                    "a person was asked for instead of {other}, to end a circle; {from} held it"
                )
            }
            None => format!("a person was asked for; {from} held it"),
        },
        (None, Some("queued")) => format!("{from} passed it on to another person"),
        (None, Some("connected")) => format!("{} took it over", agent("targetAgent")),
        (None, Some("completed")) => format!("the transfer is settled; {to} answers again"),
        (None, Some("ended")) => "the transfer and the conversation ended".to_owned(),
        (None, Some("failed")) => format!("no person could come; {to} answers again"),
        (None, Some("cancelled")) if is_end => {
            "the request for a person was taken back, as the conversation ended".to_owned()
        }
        (None, Some("cancelled")) => {
            format!("the request for a person was taken back; {to} answers")
        }
        (None, Some(status)) => format!("the transfer is {}", clean(status)),
        (None, None) => "the conversation changed hands".to_owned(),
    };
    let mut line = format!("#{number} {what}");
    if let Some(instead_of) = part["insteadOf"].as_str()
        && part["status"] != "requested"
    {
        line.push_str(&format!(" instead of {}, to end a circle", clean(instead_of)));
    }
    let mut lines = vec![line];
    let reason = match part["reasonBy"].as_str() {
        Some("customer") => "the customer's reason",
        Some(_) | None => "reason",
    };
    let told =
        [("reason", reason), ("customerWords", "the customer's words"), ("context", "context")];
    for (name, label) in told {
        if let Some(text) = part[name].as_str() {
            lines.extend(text.lines().map(|line| format!("| {label}: {}", clean(line))));
        }
    }
    lines
}
