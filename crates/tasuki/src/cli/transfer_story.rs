//! `tasuki transfer show` and `list`: the state of transfers, in sentences. What customers and
//! agents wrote is shown behind a bar, so that no line of theirs looks like one of ours.

use anyhow::Result;
use protocol::time::Time;
use serde_json::{Value, json};

use super::token::now;
use super::transfer_words::Rung;
use super::waits;
use crate::cli::transfer_record;
use crate::cli::transfer_view::{name_of, path_of, place, text};
use crate::client::{Call, Client, percent_encode};
use crate::output::{self, clean};

const NOT_FOUND: u16 = 404;

pub async fn print(client: &Client, id: &str, json: bool) -> Result<()> {
    let answer = client.call(Call::get(path_of(id, ""))).await?;
    // A newer transfer of the conversation has replaced it: only its record is left.
    if answer.status == NOT_FOUND
        && let Some(record) = record(client, id).await?
    {
        match json {
            true => output::json(&json!({ "transfer_id": id, "record": record })),
            false => output::line(&tell_replaced(&record, now())),
        }
        return Ok(());
    }
    let answer = answer.success()?;
    if json {
        output::json(&answer);
        return Ok(());
    }
    let rung = rung(client, &answer).await?;
    output::line(&tell(&answer, rung.as_ref(), now()));
    Ok(())
}

/// What happened to a transfer, if the caller may see it.
async fn record(client: &Client, id: &str) -> Result<Option<Value>> {
    let path = format!("/v1/transfers?transfer={}", percent_encode(id));
    let answer = client.call(Call::get(path)).await?;
    Ok(answer.success().ok().and_then(|mut page| page.get_mut("items")?.as_array_mut()?.pop()))
}

fn tell_replaced(record: &Value, now: Time) -> String {
    let of = |name: &str| clean(&text(record, name));
    let whom = record["customer"].as_str().map_or("a customer".to_owned(), clean);
    let at = text(record, "requested_at").parse::<Time>().ok();
    let when = at.map_or("–".to_owned(), |at| output::relative(at, now));
    let mut lines = vec![
        format!("A person for {whom}  [{}]; a newer transfer has replaced it", of("status")),
        format!("  id            {}", of("transfer_id")),
        format!("  conversation  {}", of("conversation_id")),
        format!("  queue         {}", of("queue")),
        format!("  asked for     by {}, {when}", of("requested_by")),
    ];
    lines.extend(transfer_record::tell(record, now));
    lines.join("\n")
}

/// What rings for the caller now, and the customers whom its queues shall call.
pub async fn print_ringing(
    client: &Client,
    limit: usize,
    cursor: Option<&str>,
    json: bool,
) -> Result<()> {
    let mut path = format!("/v1/transfers?ringing_for=me&limit={limit}");
    if let Some(cursor) = cursor {
        path.push_str(&format!("&cursor={}", percent_encode(cursor)));
    }
    let answer = client.call(Call::get(path)).await?.success()?;
    if json {
        output::json(&answer);
        return Ok(());
    }
    let now = now();
    let rows = answer["items"].as_array().into_iter().flatten().map(|one| {
        let until = one["ringing"]["until"].as_str().and_then(|at| at.parse::<Time>().ok());
        vec![
            text(one, "transfer_id"),
            one["customer"].as_str().unwrap_or("–").to_owned(),
            text(one, "queue"),
            one["epoch"].to_string(),
            until.map_or("–".to_owned(), |at| output::relative(at, now)),
        ]
    });
    output::list(&["transfer", "customer", "queue", "epoch", "until"], rows.collect());
    let n_calls = answer["callbacks"].as_array().map_or(0, Vec::len);
    if n_calls > 0 {
        output::remark(&format!("{n_calls} to call back: `tasuki queue show`"));
    }
    if let Some(cursor) = answer["next_cursor"].as_str() {
        output::remark(&format!("more with --cursor {}", clean(cursor)));
    }
    Ok(())
}

/// The transfers that a path finds, with what each waits for.
pub async fn print_list(client: &Client, path: String, json: bool) -> Result<()> {
    let answer = client.call(Call::get(path)).await?.success()?;
    if json {
        output::json(&answer);
        return Ok(());
    }
    let now = now();
    let rows = answer["items"].as_array().into_iter().flatten().map(|one| {
        let of = |name: &str| one[name].as_str().map_or("–".to_owned(), clean);
        let at = text(one, "requested_at").parse::<Time>().ok();
        let epoch = one["epoch"].as_u64().map_or("–".to_owned(), |epoch| epoch.to_string());
        let waiting = one["waiting_for"].as_array().into_iter().flatten();
        let waiting: Vec<_> = waiting.map(|wait| waits::told(wait, now)).collect();
        vec![
            of("transfer_id"),
            of("status"),
            of("customer"),
            of("queue"),
            of("agent"),
            epoch,
            at.map_or("–".to_owned(), |at| output::relative(at, now)),
            if waiting.is_empty() { "–".to_owned() } else { waiting.join("; ") },
        ]
    });
    let header =
        ["transfer", "status", "customer", "queue", "person", "epoch", "asked", "waits for"];
    output::list(&header, rows.collect());
    if let Some(cursor) = answer["next_cursor"].as_str() {
        output::remark(&format!("more with --cursor {}", clean(cursor)));
    }
    Ok(())
}

/// The transfer of a listed conversation, if a person may be rung and the caller may see it.
pub async fn look(client: &Client, conversation: &Value) -> Result<Option<Value>> {
    let status = conversation["transfer_status"].as_str().unwrap_or_default();
    if !["ringing", "connected", "on_hold"].contains(&status) {
        return Ok(None);
    }
    let shown = client.call(Call::get(path_of(&text(conversation, "transfer_id"), ""))).await?;
    Ok(shown.success().ok())
}

/// The person for whom a transfer rings, with their name from the directory.
pub async fn rung(client: &Client, transfer: &Value) -> Result<Option<Rung>> {
    let Some(mut rung) = Rung::of(transfer) else { return Ok(None) };
    let leg = &transfer["leg"];
    if leg["status"] == "ringing" {
        let path = format!("/v1/agents/{}", percent_encode(&text(leg, "agent")));
        let agent = client.call(Call::get(path)).await?.body;
        if let Some(name) = agent["identity"]["agentName"].as_str() {
            rung.agent = clean(name);
        }
    }
    Ok(Some(rung))
}

fn tell(transfer: &Value, rung: Option<&Rung>, now: Time) -> String {
    let of = |name: &str| clean(&text(transfer, name));
    let is_customers = transfer.get("requested_by").is_none();
    let whom = if is_customers { "you".to_owned() } else { clean(&name_of(transfer)) };
    let mut lines = vec![
        format!("A person for {whom}  [{}]", of("status")),
        format!("  id            {}", of("transfer_id")),
        format!("  conversation  {}", of("conversation_id")),
        format!("  queue         {}", of("queue")),
        format!("  holder        {}, epoch {}", of("holder"), transfer["epoch"]),
    ];
    let at = text(transfer, "requested_at").parse::<Time>().ok();
    let when = at.map_or("–".to_owned(), |at| output::relative(at, now));
    lines.push(match transfer["requested_by"].as_str() {
        Some(by) if by.starts_with("customer:") => {
            let name = transfer["bundle"]["identity"]["displayName"].as_str();
            let who = name.map_or(String::new(), |name| format!("{}, ", clean(name)));
            format!("  asked for     by {who}the customer, {when}")
        }
        Some(by) => format!("  asked for     by {}, {when}", clean(by)),
        None => format!("  asked for     {when}"),
    });
    if let Some(rung) = rung {
        lines.push(format!("  rings         {}", rung.told(now)));
    }
    if let Some(agent) = transfer["agent"]["agentName"].as_str() {
        lines.push(format!("  person        {}", clean(agent)));
    }
    if let Some(place) = place(transfer) {
        lines.push(format!("  waits         {place}"));
    }
    for wait in transfer["waiting_for"].as_array().into_iter().flatten() {
        lines.push(format!("  waits for     {}", waits::told(wait, now)));
    }
    let leg = &transfer["leg"];
    if leg.is_object() {
        let of = |name: &str| clean(&text(leg, name));
        lines.push(format!("  asked in      {}, {}, {}", of("to"), of("type"), of("status")));
    }
    lines.extend(transfer_record::tell(&transfer["record"], now));
    lines.extend(known(transfer).into_iter().map(|line| format!("  {line}")));
    if transfer["asks_rating"] == true {
        lines.push("  the customer is asked how it was".to_owned());
    }
    lines.join("\n")
}

/// What the person is told in advance.
pub fn known(transfer: &Value) -> Vec<String> {
    let bundle = &transfer["bundle"];
    // The reason's author is the last party that passed it on, which need not be the first
    // requester.
    let reason = match (transfer["reason_by"].as_str(), transfer["type"].as_str()) {
        (Some("customer"), _) => "the customer's reason",
        (Some(_), Some("warm" | "blind" | "human_to_human")) => "the latest reason",
        (_, _) => "reason",
    };
    let told = [
        (reason, transfer["reason"].as_str().map(str::to_owned)),
        ("the customer's words", bundle["customerWords"].as_str().map(str::to_owned)),
        ("summary", bundle["transcriptSummary"].as_str().map(str::to_owned)),
        ("context", bundle["warmContext"].as_object().map(|it| json!(it).to_string())),
        ("attributes", bundle["customAttributes"].as_object().map(|it| json!(it).to_string())),
    ];
    let mut lines = Vec::new();
    for (name, text) in told {
        let text = text.unwrap_or_default();
        lines.extend(text.lines().map(|line| format!("| {name}: {}", clean(line))));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_as_those_of_whoever_wrote_them() {
        let now = "2026-01-01T00:00:10.000Z".parse::<Time>().unwrap();
        let named = json!({ "identity": { "displayName": "Ana" } });
        // who asked first, whose the reason is, what is known, the lines that tell it
        let cases = [
            (
                "customer:c-1",
                "customer",
                &named,
                "by Ana, the customer, –",
                "the customer's reason",
            ),
            ("customer:c-1", "agent", &named, "by Ana, the customer, –", "reason"),
            ("customer:c-1", "customer", &json!({}), "by the customer, –", "the customer's reason"),
            ("agent:bob", "agent", &json!({}), "by agent:bob, –", "reason"),
        ];
        for (by, reason_by, bundle, asked, label) in cases {
            let transfer = json!({ "requested_by": by, "reason": "a bill", "bundle": bundle,
                "reason_by": reason_by });
            let told = tell(&transfer, None, now);
            for line in [format!("  asked for     {asked}"), format!("  | {label}: a bill")] {
                assert!(told.lines().any(|it| it == line), "{line} in {told}");
            }
        }
        // A blind step brings no bundle; the record knows the customer.
        let blind = json!({ "requested_by": "agent:bob", "record": { "customer": "Ana" } });
        assert!(tell(&blind, None, now).starts_with("A person for Ana  ["));
        // A replaced one is told by its record alone.
        let record = json!({ "status": "completed", "customer": "Ana", "requested_by": "agent:bob",
            "waited": "5s", "served_by": ["hana"], "handled": "5m" });
        let told = tell_replaced(&record, now);
        assert!(told.starts_with("A person for Ana  [completed]; a newer transfer"), "{told}");
        assert!(told.contains("\n  served by     hana\n"), "{told}");
        // Another person's reason is not told as that of the first request.
        let passed = json!({ "requested_by": "agent:bob", "reason": "tax", "reason_by": "agent",
            "type": "blind" });
        assert!(tell(&passed, None, now).contains("| the latest reason: tax"));
    }
}
