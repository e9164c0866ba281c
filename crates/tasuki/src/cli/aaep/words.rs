//! An event as one line of words, for whoever reads or hears them. Texts from agents are made
//! harmless, and stand behind the name of who says it.

use protocol::aaep::event::Verbosity;
use serde_json::Value;

use crate::output::clean;

/// What is said of an event; nothing if there is nothing to say.
pub fn announce(event: &Value, verbosity: Verbosity) -> Option<String> {
    let said = said(event, verbosity)?;
    let urgent = if event["urgency"] == "critical" { "URGENT " } else { "" };
    Some(format!("{urgent}{}{said}", who(event)))
}

/// Who announces it.
pub fn who(event: &Value) -> String {
    let producer = &event["producer"];
    let name = producer["agent_name"].as_str().or_else(|| producer["agent_id"].as_str());
    clean(name.unwrap_or("somebody"))
}

/// The type without its namespace.
pub fn kind(event: &Value) -> &str {
    let name = event["type"].as_str().unwrap_or_default();
    name.strip_prefix("aaep:agent.").unwrap_or(name)
}

pub fn is_terminal(event: &Value) -> bool {
    matches!(kind(event), "session.completed" | "session.errored" | "session.cancelled")
}

fn said(event: &Value, verbosity: Verbosity) -> Option<String> {
    let text = |name: &str| event[name].as_str().map(clean);
    if kind(event) == "output.streaming" {
        let chunk = text("chunk").unwrap_or_default();
        return (!chunk.trim().is_empty()).then(|| format!(" says: {}", chunk.trim()));
    }
    let longer = match verbosity {
        Verbosity::Terse => text("summary_terse"),
        Verbosity::Normal => None,
        Verbosity::Detailed => text("summary_detailed"),
    };
    let summary = longer.or_else(|| text("summary_normal"));
    let mut words = summary.unwrap_or_else(|| without_summary(event));
    if let Some(hint) = text("remediation_hint") {
        words.push_str(&format!(" What you can do: {hint}"));
    }
    Some(format!(": {words}"))
}

fn without_summary(event: &Value) -> String {
    let text = |name: &str| clean(event[name].as_str().unwrap_or("something"));
    match kind(event) {
        "session.started" => "started".to_owned(),
        "session.completed" => "finished".to_owned(),
        "session.errored" => "failed".to_owned(),
        "session.cancelled" => "stopped".to_owned(),
        "state.changed" => format!("is now {}", text("to_state")),
        "progress.updated" => progress(&event["progress"]),
        "tool.invoked" => format!("uses {}", text("tool")),
        "tool.completed" => format!("{}: {}", text("tool"), text("status")),
        "awaiting.confirmation" => format!("asks to {}", text("action")),
        "awaiting.clarification" => format!("asks: {}", text("question")),
        "handoff.requested" => format!("hands over: {}", text("reason")),
        other => clean(other),
    }
}

fn progress(progress: &Value) -> String {
    let step = progress["step"].as_u64().map(|step| match progress["total_steps"].as_u64() {
        Some(all) => format!("step {step} of {all}"),
        None => format!("step {step}"),
    });
    let percent = progress["percent"].as_f64().map(|percent| format!("{percent} percent"));
    let description = progress["description"].as_str().map(clean);
    let all = [percent, step, description].into_iter().flatten();
    all.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_told_in_one_line() {
        let cases = [
            ("session.started", json!({"summary_normal": "Pays a bill"}), "Tom: Pays a bill"),
            ("session.started", json!({"summary_terse": "Bill"}), "Tom: Bill"),
            ("session.completed", json!({}), "Tom: finished"),
            ("state.changed", json!({"to_state": "thinking"}), "Tom: is now thinking"),
            ("progress.updated", json!({"progress": {"percent": 40}}), "Tom: 40 percent"),
            (
                "progress.updated",
                json!({"progress": {"step": 2, "total_steps": 3, "description": "reads"}}),
                "Tom: step 2 of 3, reads",
            ),
            ("tool.completed", json!({"tool": "f", "status": "error"}), "Tom: f: error"),
            (
                "output.streaming",
                json!({"chunk": "Hi\nURGENT you: \u{1b}[2J"}),
                "Tom says: Hi URGENT you: \u{fffd}[2J",
            ),
            (
                "session.errored",
                json!({"urgency": "critical", "summary_terse": "No.", "remediation_hint": "Wait."}),
                "URGENT Tom: No. What you can do: Wait.",
            ),
            ("x:y", json!({}), "Tom: x:y"),
        ];
        for (kind, mut event, expected) in cases {
            let name =
                if kind.contains(':') { kind.to_owned() } else { format!("aaep:agent.{kind}") };
            event["type"] = name.into();
            event["producer"] = json!({"agent_id": "tom", "agent_name": "Tom"});
            assert_eq!(announce(&event, Verbosity::Terse).as_deref(), Some(expected));
        }
        let silent = json!({"type": "aaep:agent.output.streaming", "chunk": "", "complete": true});
        assert_eq!(announce(&silent, Verbosity::Normal), None);
    }
}
