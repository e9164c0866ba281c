//! The contents of a handoff, line by line: what `tasuki handoff show` tells of its package, and of
//! the agent that it waits for.

use protocol::time::Time;
use serde_json::Value;

use crate::output::{self, clean};

/// A line of the story: the topic and the text.
pub fn line(name: &str, text: &str) -> String {
    format!("  {name:<9} {text}")
}

/// The agent that the handoff waits for, and the action.
pub fn waits_for(handoff: &Value, entries: &[Value]) -> Option<String> {
    let mut told = next_step(handoff, entries)?;
    let all = handoff["waiting_for"].as_array().into_iter().flatten();
    for wait in all.filter(|wait| wait["who"] == "coordinator") {
        let actions = wait["for"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let actions: Vec<_> = actions.map(coordinator_action).collect();
        told.push_str(&format!(", and a coordinator to {}", either(&actions)));
    }
    Some(told)
}

fn coordinator_action(action: &str) -> String {
    match action {
        "extend_sla" => "give it more time".to_owned(),
        "reassign" | "close" => format!("{action} it"),
        other => clean(other),
    }
}

/// `a, b or c`.
fn either(actions: &[String]) -> String {
    match actions {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        all => all.concat(),
    }
}

fn next_step(handoff: &Value, entries: &[Value]) -> Option<String> {
    let text = |name: &str| clean(handoff[name].as_str().unwrap_or("–"));
    let (from, to) = (text("from_agent"), text("to_agent"));
    Some(match handoff["status"].as_str()? {
        "draft" => format!("{from} to propose it"),
        "proposed" if handoff["approval"] == "wanted" => {
            format!("a human to approve or refuse it, and {to} to accept or reject it")
        }
        "proposed" => format!("{to} to accept or reject it"),
        "validating" => gate(entries).to_owned(),
        "accepted" | "activated"
            if handoff["recall"].is_object() && handoff["completing"].is_null() =>
        {
            let complete = if text("status") == "activated" { " or complete it" } else { "" };
            let asked_back = waiting(handoff, |wait| is_for(wait, "recall"));
            let waits_for_parts = waiting(handoff, |wait| wait["who"] == "parts");
            match (asked_back, waits_for_parts) {
                (Some(wait), _) => {
                    format!("{to} to take back its parts first{}", named_parts(wait))
                }
                (None, Some(wait)) => format!("its parts{}", named_parts(wait)),
                (None, None) => format!("{to} to give it back{complete}"),
            }
        }
        "accepted" => format!("{to} to start the work"),
        "activated" => match handoff["completing"].as_str() {
            Some("verifying") => "the gate, which checks the final artifacts".to_owned(),
            Some("verification_unavailable") => {
                "the final artifacts, which cannot be looked at just now".to_owned()
            }
            Some("unconfirmed") => {
                format!("someone other than {to} to confirm or dispute that it is done")
            }
            Some(_) | None => match waiting(handoff, |wait| wait["who"] == "parts") {
                Some(wait) => format!("its parts{}", named_parts(wait)),
                None => format!("{to} to complete it"),
            },
        },
        "rejected" if waiting(handoff, |wait| is_for(wait, "counter")).is_some() => {
            format!("{from} to propose it again or close it")
        }
        "rejected" => format!("{from} to close it"),
        "completed" => format!("{from} or {to} to close it"),
        _ => return None,
    })
}

/// The first entry of `waiting_for` of this kind.
fn waiting(handoff: &Value, is_wanted: impl Fn(&Value) -> bool) -> Option<&Value> {
    handoff["waiting_for"].as_array().into_iter().flatten().find(|wait| is_wanted(wait))
}

fn is_for(wait: &Value, action: &str) -> bool {
    wait["for"].as_array().is_some_and(|actions| actions.contains(&action.into()))
}

/// The parts that a wait is about, as far as the reader may know them.
fn named_parts(wait: &Value) -> String {
    let parts = wait["parts"].as_array().into_iter().flatten();
    let parts: Vec<_> = parts.filter_map(Value::as_str).map(clean).collect();
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) }
}

/// What the gate waits for, by its last event.
fn gate(entries: &[Value]) -> &'static str {
    let said = entries.iter().rev().filter_map(|entry| entry["event"].as_str());
    let mut said = said.filter_map(|event| match event {
        "handoff.checked" => Some("a human to approve or refuse it"),
        "handoff.verification_unavailable" => {
            Some("the artifacts, which cannot be looked at just now")
        }
        "handoff.validation_started" => Some("the gate, which checks the package"),
        _ => None,
    });
    said.next().unwrap_or("the gate, which checks the package")
}

/// The package, with the findings on its artifacts, and the work as last reported.
pub fn package(handoff: &Value, entries: &[Value], now: Time) -> Vec<String> {
    let (package, work) = (&handoff["package"], &handoff["work_state"]);
    let (task, context) = (&package["task"], &package["context"]);
    let mut lines = Vec::new();
    if let Some(priority) = task["priority"].as_str() {
        lines.push(line("priority", &clean(priority)));
    }
    lines.extend(policy(&package["policy"], handoff["approval"].as_str()));
    let can_be_approved = matches!(handoff["status"].as_str(), Some("proposed" | "validating"));
    if can_be_approved && handoff["approval"] == "wanted" {
        let revision = &handoff["revision"];
        lines.push(line("revision", &format!("{revision}; approve it with --revision {revision}")));
    }
    let deadline = task["deadline"].as_str().and_then(|at| at.parse::<Time>().ok());
    lines.extend(deadline.map(|at| line("deadline", &output::relative(at, now))));
    if task["objective"] != task["title"] {
        lines.extend(texts("objective", &task["objective"]));
    }
    lines.extend(texts("summary", &context["summary"]));
    for reference in task["external_refs"].as_array().into_iter().flatten() {
        lines.push(line("ref", &named(&reference["type"], &reference["value"])));
    }
    lines.extend(texts("must hold", &context["constraints"]));
    lines.extend(texts("risk", &context["known_risks"]));
    lines.extend(texts("question", &context["open_questions"]));
    lines.extend(texts("assumes", &context["assumptions"]));
    for artifact in package["artifacts"].as_array().into_iter().flatten() {
        lines.push(line("artifact", &told(artifact, verdict(artifact, entries))));
    }
    // A status report is out of date once the work is done.
    let is_done = handoff["completion"].is_object()
        && matches!(handoff["status"].as_str(), Some("completed" | "closed"));
    lines.extend(state(work).filter(|_| !is_done));
    lines.extend(texts("branch", &work["branch"]));
    lines.extend(texts("worktree", &work["worktree_path"]));
    lines.extend(texts("finished", &work["completed_steps"]));
    lines.extend(texts("next", &work["next_step"]));
    lines.extend(texts("done if", &task["success_criteria"]));
    lines
}

/// The result that an owner reported.
pub fn final_artifacts(completion: &Value) -> Vec<String> {
    let all = completion["final_artifacts"].as_array().into_iter().flatten();
    let verdict = |artifact: &Value| {
        let verified = completion["verified"].as_array().into_iter().flatten();
        let mut own = verified.filter(|seen| seen["artifact_id"] == artifact["artifact_id"]);
        own.next().map(|seen| found(&seen["finding"]))
    };
    all.map(|artifact| line("result", &told(artifact, verdict(artifact)))).collect()
}

/// One line for a text, or for each of several.
fn texts(name: &str, value: &Value) -> Vec<String> {
    let one = std::slice::from_ref(value);
    let all = value.as_array().map_or(one, Vec::as_slice);
    all.iter().filter_map(Value::as_str).map(|text| line(name, &clean(text))).collect()
}

fn named(kind: &Value, value: &Value) -> String {
    let text = |value: &Value| clean(value.as_str().unwrap_or("–"));
    format!("{} {}", text(kind), text(value))
}

fn policy(policy: &Value, approval: Option<&str>) -> Option<String> {
    let mut said = vec![clean(policy["classification"].as_str()?)];
    if let Some(visibility) = policy["visibility"].as_str() {
        said.push(format!("visibility {}", clean(visibility)));
    }
    if let Some(sensitivity) = policy["sensitivity"].as_str() {
        said.push(format!("{} sensitivity", clean(sensitivity)));
    }
    let is = |name: &str| policy[name] == true;
    if is("requires_human_approval") || policy["human_gate"] == "required" {
        let given = if approval == Some("given") { "; one has" } else { "" };
        said.push(format!("a human must approve{given}"));
    }
    if is("requires_verifier") {
        said.push("someone other than the owner must confirm".to_owned());
    }
    if is("requires_evidence") {
        said.push("each criterion needs evidence".to_owned());
    }
    let rules = policy["export_restrictions"].as_array().into_iter().flatten();
    said.extend(rules.filter_map(Value::as_str).map(|rule| format!("not for {}", clean(rule))));
    Some(line("policy", &said.join(", ")))
}

fn state(work: &Value) -> Option<String> {
    let mut said = vec![clean(work["status"].as_str()?)];
    if let Some(percent) = work["percent_complete"].as_f64() {
        said.push(format!("{percent} %"));
    }
    if let Some(tests) = work["test_status"].as_str() {
        said.push(format!("tests {}", clean(tests)));
    }
    Some(line("work", &said.join(", ")))
}

fn told(artifact: &Value, verdict: Option<String>) -> String {
    let (id, reference) = (&artifact["artifact_id"], &artifact["ref"]);
    let id = clean(id.as_str().unwrap_or("–"));
    let optional = if reference["required"] == false { ", optional" } else { "" };
    let verdict = verdict.unwrap_or_else(|| "not looked at yet".to_owned());
    format!("{id}: {}{optional} [{verdict}]", named(&reference["type"], &reference["path"]))
}

/// The last check of an artifact of the package.
fn verdict(artifact: &Value, entries: &[Value]) -> Option<String> {
    // A counter-offer has artifacts of its own.
    let looks = entries.iter().rev().take_while(|entry| entry["event"] != "handoff.countered");
    looks.into_iter().find_map(|entry| match entry["event"].as_str()? {
        "handoff.accepted" | "handoff.checked" | "handoff.verification_unavailable" => {
            let mut seen = entry["data"]["artifacts"].as_array()?.iter();
            let seen = seen.find(|seen| seen["artifact_id"] == artifact["artifact_id"])?;
            Some(found(&seen["finding"]))
        }
        "handoff.rejected" => gate_verdict(artifact, &entry["data"]),
        _ => None,
    })
}

/// The gate's finding on an artifact when it rejected the handoff. The gate gives more detail on
/// the first failed check than on the others.
fn gate_verdict(artifact: &Value, rejected: &Value) -> Option<String> {
    let check = format!("artifact:{}", artifact["artifact_id"].as_str()?);
    let has = |name: &str| {
        rejected[name].as_array().into_iter().flatten().any(|one| *one == check.as_str())
    };
    if has("failed") {
        let detail = rejected["detail"].as_str().unwrap_or_default();
        let own = detail.strip_prefix(&check).and_then(|rest| rest.strip_prefix(": "));
        return Some(own.map_or("failed".to_owned(), |own| format!("failed: {}", clean(own))));
    }
    has("passed").then(|| "passed".to_owned())
}

fn found(finding: &Value) -> String {
    let result = clean(finding["result"].as_str().unwrap_or("–")).replace('_', " ");
    match (finding["size_bytes"].as_u64(), finding["detail"].as_str()) {
        (Some(n_bytes), _) => format!("{result}, {n_bytes} bytes"),
        (None, Some(detail)) => format!("{result}: {}", clean(detail)),
        (None, None) => result,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_waits_names_whom_it_waits_for() {
        let cases = [
            ("proposed", Some("bob to accept or reject it")),
            ("activated", Some("bob to complete it")),
            ("rejected", Some("alice to propose it again or close it")),
            ("completed", Some("alice or bob to close it")),
            ("closed", None),
        ];
        for (status, expected) in cases {
            let waits = json!([{ "for": ["counter", "close"] }]);
            let handoff = json!({ "status": status, "from_agent": "alice", "to_agent": "bob",
                "waiting_for": waits });
            assert_eq!(waits_for(&handoff, &[]).as_deref(), expected, "{status}");
        }
        let last = json!({ "status": "rejected", "from_agent": "alice",
            "waiting_for": [{ "for": ["close"] }] });
        assert_eq!(waits_for(&last, &[]).as_deref(), Some("alice to close it"));
        let recalls = [
            ("accepted", false, "bob to give it back"),
            ("activated", false, "bob to give it back or complete it"),
            ("accepted", true, "bob to give it back, and a coordinator to reassign it or close it"),
        ];
        for (status, escalated, expected) in recalls {
            let recall = json!({ "escalated": escalated });
            let coordinator = json!([{ "who": "coordinator", "for": ["reassign", "close"] }]);
            let waiting_for = if escalated { coordinator } else { json!([]) };
            let handoff = json!({ "status": status, "to_agent": "bob", "recall": recall,
                "waiting_for": waiting_for });
            assert_eq!(waits_for(&handoff, &[]).as_deref(), Some(expected), "{status}");
        }
        let parts = json!({ "who": "parts", "for": [], "parts": ["h2", "h3"] });
        let hidden = json!({ "who": "parts", "for": [] });
        let ask =
            |parts| json!({ "who": "agent:bob", "for": ["withdraw", "recall"], "parts": parts });
        let recall = json!({ "escalated": false });
        let wholes = [
            (json!([ask(json!(["h2"])), parts]), "bob to take back its parts first: h2"),
            (json!([ask(json!([])), hidden]), "bob to take back its parts first"),
            (json!([parts]), "its parts: h2, h3"),
            (json!([hidden]), "its parts"),
        ];
        for (waiting_for, expected) in wholes {
            let handoff = json!({ "status": "activated", "to_agent": "bob", "recall": recall,
                "waiting_for": waiting_for });
            assert_eq!(waits_for(&handoff, &[]).as_deref(), Some(expected));
        }
        let wanted = json!({ "status": "proposed", "approval": "wanted", "to_agent": "bob" });
        let expected = "a human to approve or refuse it, and bob to accept or reject it";
        assert_eq!(waits_for(&wanted, &[]).as_deref(), Some(expected));
    }

    #[test]
    fn only_what_can_be_approved_says_how() {
        let now = "2026-01-01T00:00:00.000Z".parse::<Time>().unwrap();
        let cases = [
            ("proposed", "wanted", true),
            ("validating", "wanted", true),
            ("proposed", "given", false),
            ("rejected", "wanted", false),
            ("closed", "wanted", false),
        ];
        for (status, approval, expected) in cases {
            let handoff = json!({ "status": status, "approval": approval, "revision": 1 });
            let said = line("revision", "1; approve it with --revision 1");
            let lines = package(&handoff, &[], now);
            assert_eq!(lines.contains(&said), expected, "{status}, {approval}: {lines:?}");
        }
    }
}
