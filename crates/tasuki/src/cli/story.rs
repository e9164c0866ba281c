//! `tasuki handoff show`: the history, in sentences.

use anyhow::Result;
use protocol::time::Time;
use serde_json::Value;

use super::package_story::{final_artifacts, line, package, waits_for};
use super::progress_story::{progress, recall, reported};
use super::token::now;
use super::waits;
use crate::client::{Call, Client, percent_encode};
use crate::output::{self, clean};

pub async fn print(client: &Client, id: &str, json: bool) -> Result<()> {
    let id = percent_encode(id);
    let handoff = client.call(Call::get(format!("/v1/handoffs/{id}"))).await?.success()?;
    let mut entries = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/v1/handoffs/{id}/history?limit=200{cursor}");
        let page = client.call(Call::get(path)).await?.success()?;
        entries.extend(page["items"].as_array().into_iter().flatten().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    entries.reverse();
    if json {
        output::json(&serde_json::json!({ "handoff": handoff, "history": entries }));
        return Ok(());
    }
    output::line(&tell(&handoff, &entries, now()));
    Ok(())
}

/// The whole story as text.
pub fn tell(handoff: &Value, entries: &[Value], now: Time) -> String {
    let text = |name: &str| clean(handoff[name].as_str().unwrap_or("–"));
    let mut lines = vec![
        format!("{}  [{}]", text("title"), text("status")),
        line("task", &text("task_id")),
        line("from", &format!("{} to {}", text("from_agent"), text("to_agent"))),
        line("id", &text("handoff_id")),
    ];
    let chain = handoff["handoff_chain"].as_array().into_iter().flatten();
    let chain: Vec<_> = chain.filter_map(Value::as_str).map(clean).collect();
    if !chain.is_empty() {
        lines.push(line("owners", &chain.join(" → ")));
    }
    lines.extend(waits_for(handoff, entries).map(|whom| line("waits for", &whom)));
    if let Some(due) = handoff["due_at"].as_str().and_then(|at| at.parse().ok()) {
        lines.push(line("due", &due_line(handoff, due, now)));
    }
    if let Some(parent) = handoff["parent_handoff_id"].as_str() {
        lines.push(line("part of", &clean(parent)));
    }
    if let Some(replaced) = handoff["replaces_handoff_id"].as_str() {
        lines.push(line("after", &clean(replaced)));
    }
    if handoff["workq_status"].as_str().is_some_and(|status| status != "not_applicable") {
        lines.push(line("workq", &text("workq_status")));
    }
    lines.extend(recall(&handoff["recall"], now));
    lines.extend(package(handoff, entries, now));
    lines.extend(progress(&handoff["progress"], now));
    lines.extend(completion(&handoff["completion"]));
    lines.push(String::new());
    for entry in entries {
        let at = entry["at"].as_str().and_then(|at| at.parse::<Time>().ok());
        let when = at.map_or_else(|| "–".to_owned(), |at| output::relative(at, now));
        lines.push(format!("  {when:>10}  {}", sentence(entry)));
    }
    lines.join("\n")
}

/// When the stage is overdue, what happens then, and since when its next actor is asked.
fn due_line(handoff: &Value, due: Time, now: Time) -> String {
    let all = handoff["waiting_for"].as_array().into_iter().flatten();
    let Some(wait) = all.into_iter().find(|wait| waits::until(wait) == Some(due)) else {
        return output::relative(due, now);
    };
    let then = waits::then(wait).map(|then| format!(", then {then}"));
    let since = waits::since(wait).map(|at| format!("; asked {}", output::relative(at, now)));
    let (then, since) = (then.unwrap_or_default(), since.unwrap_or_default());
    format!("{}{then}{since}", output::relative(due, now))
}

/// The result for each criterion once the work was reported as done.
fn completion(completion: &Value) -> Vec<String> {
    let criteria = completion["criteria"].as_array().into_iter().flatten();
    let shown = |one: &Value| {
        let criterion = clean(one["criterion"].as_str().unwrap_or_default());
        match one["evidence"].as_str() {
            Some(evidence) => line("shown", &format!("{criterion}: “{}”", clean(evidence))),
            None => line("not shown", &criterion),
        }
    };
    let mut lines: Vec<_> = criteria.map(shown).collect();
    lines.extend(final_artifacts(completion));
    if let Some(by) = completion["confirmed_by"].as_str() {
        lines.push(line("confirmed", &format!("by {}", clean(by))));
    }
    lines
}

fn sentence(entry: &Value) -> String {
    let actor = clean(entry["actor"].as_str().unwrap_or_default());
    let actor = actor.strip_prefix("agent:").unwrap_or(&actor);
    let data = &entry["data"];
    let text = |name: &str| clean(data[name].as_str().unwrap_or_default());
    let quoted = |name: &str| match data[name].as_str() {
        Some(text) if !text.is_empty() => format!(": “{}”", clean(text)),
        Some(_) | None => String::new(),
    };
    let list = |name: &str| {
        let items = data[name].as_array().into_iter().flatten();
        items.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    };
    let event = entry["event"].as_str().unwrap_or_default();
    if data.is_null() {
        return format!("{actor}: {} (its content was erased)", clean(event));
    }
    match event {
        "handoff.drafted" => format!("{actor} saved a draft"),
        "handoff.proposed" => format!("{actor} {}{}", proposal(data), quoted("reason")),
        "handoff.validation_started" => {
            format!("{actor} agreed, and the gate began to check{}", quoted("notes"))
        }
        "handoff.accepted" => format!("accepted: {} hold", list("passed")),
        "handoff.rejected" => {
            let fix = match data["suggested_fix"].as_str() {
                Some(fix) => format!("; suggests: “{}”", clean(fix)),
                None => String::new(),
            };
            let reopened =
                if text("from_status") == "activated" { ", which re-opens the task" } else { "" };
            format!("{actor} rejected it ({}){reopened}{}{fix}", text("reason"), quoted("detail"))
        }
        "handoff.activated" => format!("{actor} started the work and owns the task"),
        "handoff.closed" => format!("{actor} {}{}", closing(data), quoted("closure_notes")),
        "handoff.escalated" => {
            let (limit, to) = (text("sla_configured"), text("escalated_to"));
            match data["trigger"] == "recall" {
                true => format!("the recall was not answered within {limit} and went to the {to}"),
                false => {
                    let stage = text("stage");
                    format!("overdue: {stage} took longer than {limit} and went to the {to}")
                }
            }
        }
        "ledger.erased" => {
            format!("{actor} erased entry {}{}", data["position"], quoted("reason"))
        }
        "handoff.workq_settled" if list("transferred").is_empty() => {
            format!("the work queue has no item {}", clean(&list("missing")))
        }
        "handoff.workq_settled" => {
            format!("the work queue has {} with {}", clean(&list("transferred")), text("to"))
        }
        "handoff.workq_degraded" => {
            let (items, reason) = (clean(&list("orphaned")), text("reason"));
            format!("orphaned in the work queue ({reason}): {items}{}", quoted("detail"))
        }
        other => ending(other, actor, data).unwrap_or_else(|| negotiation(other, actor, data)),
    }
}

fn closing(data: &Value) -> String {
    let is = |name: &str| data[name].as_bool() == Some(true);
    match (data["reassigned_to"].as_str(), is("forced"), is("withdrawn")) {
        (Some(new), _, _) => format!("gave the task to another agent, in {}", clean(new)),
        (None, true, _) => "forced it closed".to_owned(),
        (None, false, true) => "took it back".to_owned(),
        (None, false, false) if data["from_status"] == "draft" => "discarded the draft".to_owned(),
        (None, false, false) => "closed it".to_owned(),
    }
}

fn proposal(data: &Value) -> String {
    let target = clean(data["parties"]["to"].as_str().unwrap_or_default());
    let back = if data["return"].as_bool() == Some(true) { "back " } else { "" };
    let looser = match data["differences"].is_array() {
        true => format!(", bound less than was agreed ({})", differences(data)),
        false => String::new(),
    };
    format!("proposed to hand it {back}to {target}{looser}")
}

/// The changes in a package, each with its value before and after.
fn differences(data: &Value) -> String {
    let side = |value: &Value| match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => clean(text),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            clean(&value.to_string())
        }
    };
    let one = |one: &Value| {
        let field = clean(one["field"].as_str().unwrap_or_default());
        format!("{field} from {} to {}", side(&one["before"]), side(&one["after"]))
    };
    let all = data["differences"].as_array().into_iter().flatten();
    all.map(one).collect::<Vec<_>>().join("; ")
}

/// What happens between the work and its end.
fn ending(event: &str, actor: &str, data: &Value) -> Option<String> {
    let quoted = |name: &str| match data[name].as_str() {
        Some(text) if !text.is_empty() => format!(": “{}”", clean(text)),
        Some(_) | None => String::new(),
    };
    let passed = data["passed"].as_array().into_iter().flatten();
    let passed = passed.filter_map(Value::as_str).map(clean).collect::<Vec<_>>().join(", ");
    Some(match event {
        "handoff.progressed" => format!("{actor} reported progress: {}", reported(&data["report"])),
        "handoff.recalled" => format!("{actor} asked for the task back{}", quoted("reason")),
        "handoff.completion_started" => {
            format!("{actor} reported it as done{}", quoted("completion_notes"))
        }
        "handoff.completion_checked" => format!("{passed} hold"),
        "handoff.completion_failed" => {
            let reason = clean(data["reason"].as_str().unwrap_or_default());
            format!("the result could not be verified ({reason}){}", quoted("detail"))
        }
        "handoff.confirmed" => format!("{actor} confirmed that it is done{}", quoted("why")),
        "handoff.disputed" => format!("{actor} disputed that it is done{}", quoted("why")),
        // An earlier sentence names the reporter; the actor of this entry only ended the wait.
        "handoff.completed" if !passed.is_empty() || data["confirmed_by"].is_string() => {
            "completed".to_owned()
        }
        "handoff.completed" => format!("{actor} completed it{}", quoted("completion_notes")),
        _ => return None,
    })
}

/// What happens between a proposal and the work.
fn negotiation(event: &str, actor: &str, data: &Value) -> String {
    let why = match data["why"].as_str() {
        Some(why) if !why.is_empty() => format!(": “{}”", clean(why)),
        Some(_) | None => String::new(),
    };
    let list = |name: &str| {
        let items = data[name].as_array().into_iter().flatten();
        items.filter_map(Value::as_str).map(clean).collect::<Vec<_>>().join(", ")
    };
    match event {
        "handoff.verification_unavailable" => {
            "the artifacts cannot be looked at just now; the server keeps trying".to_owned()
        }
        "handoff.checked" => format!("{} hold; a human must agree", list("passed")),
        "handoff.approved" => format!("{actor} approved it{why}"),
        "handoff.refused" => format!("{actor} refused it{why}"),
        "handoff.countered" if data["differences"].is_array() => {
            format!("{actor} proposed again, with changes: {}", differences(data))
        }
        "handoff.countered" => format!("{actor} proposed again, with other {}", list("changes")),
        "handoff.delegated" => {
            let text = |name: &str| clean(data[name].as_str().unwrap_or_default());
            let (task, to) = (text("child_task"), text("child_to"));
            format!("{actor} gave the part {task} to {to}, in {}", text("child"))
        }
        "handoff.delegation_ended" => {
            let text = |name: &str| clean(data[name].as_str().unwrap_or_default());
            format!("the part {} is {}", text("child"), text("status"))
        }
        "handoff.delegation_reopened" => {
            let child = clean(data["child"].as_str().unwrap_or_default());
            format!("the part {child} was proposed again")
        }
        "handoff.delegation_recalled" => {
            let child = clean(data["child"].as_str().unwrap_or_default());
            format!("{actor} asked for the part {child} back")
        }
        "handoff.sla_extended" => {
            let stage = match data["recall_only"] == true {
                true => "the recall".to_owned(),
                false => clean(data["stage"].as_str().unwrap_or_default()),
            };
            let due = data["due"].as_str().and_then(|at| at.parse::<Time>().ok());
            let until = due.map_or_else(String::new, |due| format!(" until {due}"));
            format!("{actor} gave {stage} more time{until}{why}")
        }
        "handoff.sla_warned" => {
            let stage = clean(data["stage"].as_str().unwrap_or_default());
            let due = clean(data["due"].as_str().unwrap_or_default());
            format!("{stage} will be overdue at {due}")
        }
        other => format!("{actor}: {}", clean(other)),
    }
}
