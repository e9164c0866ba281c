//! What Chat Completions requires of a history.

use serde_json::Value;

use super::{Findings, Rule, batch, check_calls};
use crate::tools::Form;
use crate::tools::turn::{Arguments, Part, Speaker, Turn};

pub(super) fn check(history: &[Value], turns: &[Turn<'_>], findings: &mut Findings) {
    for (index, (message, turn)) in history.iter().zip(turns).enumerate() {
        check_calls(Form::OpenAi, index, turn, findings);
        for call in turn.calls() {
            match call.arguments {
                Arguments::Text(_) => {}
                Arguments::Object(_) => findings.see(index, Rule::Arguments),
            }
        }
        check_fields(index, message, turn, findings);
    }
    batch::check(turns, findings);
}

fn check_fields(index: usize, message: &Value, turn: &Turn<'_>, findings: &mut Findings) {
    let calls = message.get("tool_calls");
    let content = message.get("content").filter(|content| !content.is_null());
    let is_empty_list = calls.is_some_and(|calls| calls.as_array().is_none_or(Vec::is_empty));
    match turn.speaker {
        Speaker::Assistant => {
            if is_empty_list {
                findings.see(index, Rule::CallCount);
            }
            if content.is_none() && turn.calls().next().is_none() {
                findings.see(index, Rule::Empty);
            }
        }
        Speaker::System | Speaker::User | Speaker::Tool => {
            if calls.is_some() {
                findings.see(index, Rule::WrongSpeaker);
            }
            if content.is_none() {
                findings.see(index, Rule::Empty);
            }
        }
    }
    if turn.speaker != Speaker::Tool && message.get("tool_call_id").is_some() {
        findings.see(index, Rule::WrongSpeaker);
    }
    if turn.speaker == Speaker::Tool && !is_text_only(content) {
        findings.add(index, Rule::Shape, "content: expected text, in one or more parts".to_owned());
    }
    if turn.parts.iter().any(|part| matches!(part, Part::Call(_)))
        && let Some(calls) = calls.and_then(Value::as_array)
        && calls.iter().any(|call| !has_type(call))
    {
        let detail = "tool_calls: expected the type `function` or `custom`".to_owned();
        findings.add(index, Rule::Shape, detail);
    }
    if let Some(name) = turn.name
        && (name.is_empty() || name.contains(|c: char| c.is_whitespace() || "<|\\/>".contains(c)))
    {
        let detail = r"name: expected no spaces and none of < | \ / >".to_owned();
        findings.add(index, Rule::Shape, detail);
    }
}

fn has_type(call: &Value) -> bool {
    matches!(call.get("type").and_then(Value::as_str), Some("function" | "custom"))
}

fn is_text_only(content: Option<&Value>) -> bool {
    let parts = content.and_then(Value::as_array);
    parts.is_none_or(|parts| parts.iter().all(|part| part["type"] == "text"))
}
