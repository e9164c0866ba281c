//! `tasuki todo`: which handoffs and questions wait for you, for what, and until when.

use anyhow::Result;
use clap::Args;
use protocol::time::Time;
use serde_json::Value;

use super::own_name::own_name;
use super::question::{id_and_text, until};
use super::reach::Reach;
use super::{token, waits};
use crate::client::{Call, Client, percent_encode};
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct TodoArgs {
    #[command(flatten)]
    reach: Reach,
    /// Whom they wait for: me, agent:ID, or role:ROLE with one of coordinator, researcher,
    /// executor, reviewer, integrator
    #[arg(long = "for", value_name = "WHOM", default_value = "me")]
    whom: String,
    /// Only those whose approval is wanted
    #[arg(long)]
    approvals: bool,
    /// Only those that are overdue
    #[arg(long)]
    overdue: bool,
}

pub async fn run(args: TodoArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    let mut path = format!("/v1/handoffs?limit=200&waiting_for={}", percent_encode(&args.whom));
    if args.approvals {
        path.push_str("&approval=wanted");
    }
    if args.overdue {
        path.push_str("&overdue=true");
    }
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = reached.client.call(Call::get(format!("{path}{cursor}"))).await?.success()?;
        found.extend(page["items"].as_array().into_iter().flatten().cloned());
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={}", percent_encode(next));
    }
    if args.whom == "me" && !args.approvals && !args.overdue {
        found.extend(questions(&reached.client).await?);
    }
    if args.reach.json {
        output::json(&found);
    } else if found.is_empty() {
        output::line("nothing waits");
    } else {
        let now = token::now();
        // A terminal of the folder's owner need not be an agent's.
        let me = own_name(&reached.client).await.ok();
        let rows = found.iter().map(|handoff| row(handoff, me.as_deref(), now)).collect();
        let header = ["id", "title", "from → to", "waits for", "since", "until", "then"];
        output::list(&header, rows);
    }
    reached.finish().await;
    Ok(exit_code::OK)
}

/// What agents ask you. Handoffs that want your approval are among the handoffs.
async fn questions(client: &Client) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/v1/questions?limit=200&waiting_for=me{cursor}");
        let page = client.call(Call::get(path)).await?.success()?;
        let items = page["items"].as_array().into_iter().flatten();
        found.extend(items.filter(|item| item["kind"] != "approval").cloned());
        let Some(next) = page["next_cursor"].as_str() else { return Ok(found) };
        cursor = format!("&cursor={}", percent_encode(next));
    }
}

fn row(handoff: &Value, me: Option<&str>, now: Time) -> Vec<String> {
    if handoff["kind"].is_string() {
        let (id, text) = id_and_text(handoff);
        let of = |name: &str| handoff[name].as_str().map(output::clean);
        let asker = of("asker").unwrap_or_default();
        let between = format!("{asker} → {}", of("to").unwrap_or_else(|| "you".to_owned()));
        let since = of("asked_at").and_then(|at| at.parse().ok());
        let since = since.map_or("–".to_owned(), |at| output::relative(at, now));
        let wait = &handoff["waiting_for"][0];
        let then = waits::then(wait).unwrap_or("–".to_owned());
        // Any of several workers may claim an answer, so the wait need not name the caller.
        let (waits, until) = match wait["for"][0].as_str() {
            Some("claim") => ("you: claim", "–".to_owned()),
            Some(_) | None => ("you: answer", until(handoff, now)),
        };
        return vec![id, text, between, waits.to_owned(), since, until, then];
    }
    let text = |name: &str| handoff[name].as_str().unwrap_or("–").to_owned();
    let all = handoff["waiting_for"].as_array().map(Vec::as_slice).unwrap_or_default();
    let since = all.iter().filter_map(waits::since).min();
    // The first limit that runs: that of the stage, or of a recall.
    let limits = all.iter().filter_map(|wait| Some((waits::until(wait)?, wait)));
    let first = limits.min_by_key(|(until, _)| *until);
    let then = first.and_then(|(_, wait)| waits::then(wait));
    let when = |at: Option<Time>| at.map_or("–".to_owned(), |at| output::relative(at, now));
    vec![
        text("handoff_id"),
        text("title"),
        format!("{} → {}", text("from_agent"), text("to_agent")),
        all.iter().map(|wait| who(wait, me)).collect::<Vec<_>>().join("; "),
        when(since),
        when(first.map(|(until, _)| until)),
        then.unwrap_or("–".to_owned()),
    ]
}

/// As `waits::who`, with `you` for the caller.
fn who(wait: &Value, me: Option<&str>) -> String {
    let is_me = me.is_some_and(|me| wait["who"].as_str() == Some(&format!("agent:{me}")));
    if !is_me {
        return waits::who(wait);
    }
    let mut wait = wait.clone();
    wait["who"] = "you".into();
    waits::who(&wait)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A question that waits for a human, and an answer that waits for a worker.
    #[test]
    fn a_question_says_what_the_caller_does_next() {
        let now = "2026-01-01T00:00:00.000Z".parse().unwrap();
        let until = "2026-01-01T00:15:00Z";
        for (action, expected) in
            [("answer", ["you: answer", "in 15 min"]), ("claim", ["you: claim", "–"])]
        {
            let question = json!({
                "kind": "question", "question_id": "q", "text": "Refund?", "asker": "bot",
                "to": "hana", "asked_at": "2025-12-31T23:59:00Z", "until": until,
                "waiting_for": [{ "who": "worker", "for": [action], "until": null }],
            });
            let row = row(&question, None, now);
            assert_eq!([row[3].as_str(), &row[5]], expected);
        }
    }

    /// The limit of a recall comes before that of its stage.
    #[test]
    fn the_limit_that_comes_first_is_shown() {
        let now = "2026-01-01T00:00:00.000Z".parse().unwrap();
        let (soon, later) = ("2026-01-01T00:15:00Z", "2026-01-01T23:00:00Z");
        let handoff = json!({
            "handoff_id": "h", "title": "t", "from_agent": "a", "to_agent": "b", "due_at": later,
            "waiting_for": [
                { "who": "agent:b", "for": ["withdraw", "recall"], "parts": ["p"], "until": soon,
                  "since": "2025-12-31T23:59:00Z", "then": "escalates" },
                { "who": "parts", "for": [], "parts": ["p"], "until": later, "then": "nothing" },
                { "who": "coordinator", "for": ["close"], "until": null },
            ],
        });
        for (me, b) in [(None, "agent:b"), (Some("a"), "agent:b"), (Some("b"), "you")] {
            let waits = format!("{b}: withdraw, recall of its parts; parts; coordinator: close");
            let expected = [waits.as_str(), "1 min ago", "in 15 min", "it escalates"];
            assert_eq!(row(&handoff, me, now)[3..], expected);
        }
    }
}
