//! The text of an event, for readers and listeners. Texts from agents are made harmless, and carry
//! the name of the agent.

use aaep::event::Verbosity;
use serde_json::Value;

use super::speech::{Speech, Text};
use crate::output::clean;

/// What is said of an event; nothing if there is nothing to say.
pub fn said(event: &Value, verbosity: Verbosity, speech: Speech) -> Option<String> {
    let text = |name: &str| event[name].as_str().map(clean);
    if kind(event) == "output.streaming" {
        let chunk = sentences(event, speech).or_else(|| text("chunk")).unwrap_or_default();
        return (!chunk.trim().is_empty()).then(|| chunk.trim().to_owned());
    }
    let longer = match verbosity {
        Verbosity::Terse => text("summary_terse"),
        Verbosity::Normal => None,
        Verbosity::Detailed => text("summary_detailed"),
    };
    let summary = longer.or_else(|| text("summary_normal"));
    let mut words = summary.unwrap_or_else(|| without_summary(event, speech));
    if let Some(hint) = text("remediation_hint") {
        let hint = translated(event, "remediation_hint", speech).unwrap_or(hint);
        words.push(' ');
        words.push_str(&speech.say(Text::CanDo, &[("hint", &hint)]));
    }
    Some(words)
}

/// A text of an event in the listener's language, where its producer gives one.
pub fn translated(event: &Value, name: &str, speech: Speech) -> Option<String> {
    event["extensions"]["tasuki"]["translations"][speech.language()][name].as_str().map(clean)
}

/// A piece of output in the listener's language, where its producer gives translated sentences. A
/// sentence is identified by its start position, as the server may have joined several pieces.
fn sentences(event: &Value, speech: Speech) -> Option<String> {
    let ours = &event["extensions"]["tasuki"];
    // A sentence that was cut has no translation.
    if !ours["merged"]["part_of"].is_null() {
        return None;
    }
    let from = event["position"].as_u64()?;
    let all = ours["translations"][speech.language()]["sentences"].as_array()?;
    let begins = |sentence: &Value| sentence["position"].as_u64();
    all.iter().find(|sentence| begins(sentence) == Some(from))?;
    let heard = all.iter().filter(|sentence| begins(sentence).is_some_and(|at| at >= from));
    let heard: Vec<_> = heard.filter_map(|sentence| sentence["text"].as_str()).map(clean).collect();
    Some(heard.join(" "))
}

/// The name of the producer.
pub fn who(event: &Value, speech: Speech) -> String {
    let producer = &event["producer"];
    let name = producer["agent_name"].as_str().or_else(|| producer["agent_id"].as_str());
    name.map_or_else(|| speech.word(Text::Somebody), clean)
}

/// The name of the producer, and its id if that is another: the name is its own choice.
pub fn who_exactly(event: &Value, speech: Speech) -> String {
    let (name, id) =
        (who(event, speech), clean(event["producer"]["agent_id"].as_str().unwrap_or_default()));
    match id.is_empty() || name.eq_ignore_ascii_case(&id) {
        true => name,
        false => format!("{name} ({id})"),
    }
}

/// The type without its namespace.
pub fn kind(event: &Value) -> &str {
    let name = event["type"].as_str().unwrap_or_default();
    name.strip_prefix("aaep:agent.").unwrap_or(name)
}

pub fn is_terminal(event: &Value) -> bool {
    matches!(kind(event), "session.completed" | "session.errored" | "session.cancelled")
}

fn without_summary(event: &Value, speech: Speech) -> String {
    let text = |name: &str| clean(event[name].as_str().unwrap_or_default());
    let tool = text("tool");
    let of_tool = |said| speech.say(said, &[("tool", &tool)]);
    match kind(event) {
        "session.started" => speech.word(Text::Started),
        "session.completed" => speech.word(Text::Finished),
        "session.errored" => speech.word(Text::Failed),
        "session.cancelled" => speech.word(Text::Stopped),
        "state.changed" => state(&text("to_state"), speech),
        "progress.updated" => progress(&event["progress"], speech),
        "tool.invoked" => of_tool(Text::Uses),
        "tool.completed" => of_tool(match event["status"].as_str() {
            Some("success") => Text::ToolSuccess,
            Some("timeout") => Text::ToolTimeout,
            Some(_) | None => Text::ToolError,
        }),
        "handoff.requested" => speech.say(Text::HandsOver, &[("reason", &text("reason"))]),
        other => clean(other),
    }
}

fn state(state: &str, speech: Speech) -> String {
    let known = match state {
        "idle" => Text::StateIdle,
        "thinking" => Text::StateThinking,
        "calling_tool" => Text::StateCallingTool,
        "writing_output" => Text::StateWritingOutput,
        "awaiting_input" => Text::StateAwaitingInput,
        "deciding" => Text::StateDeciding,
        "handing_off" => Text::StateHandingOff,
        other => return speech.say(Text::StateOther, &[("state", other)]),
    };
    speech.word(known)
}

fn progress(progress: &Value, speech: Speech) -> String {
    let step = progress["step"].as_u64().map(|step| {
        let step = step.to_string();
        match progress["total_steps"].as_u64() {
            Some(all) => speech.say(Text::StepOf, &[("step", &step), ("all", &all.to_string())]),
            None => speech.say(Text::Step, &[("step", &step)]),
        }
    });
    let percent = progress["percent"].as_f64();
    let percent = percent.map(|it| speech.say(Text::Percent, &[("percent", &it.to_string())]));
    let description = progress["description"].as_str().map(clean);
    let all = [percent, step, description].into_iter().flatten();
    all.collect::<Vec<_>>().join(", ")
}
