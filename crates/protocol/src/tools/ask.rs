//! The tool with which a model asks a human, its calls, and their results.

use serde_json::{Map, Value, json};

use super::calls::{arguments, calls};
use super::definitions::{HandoffTools, Tool};
use super::history::{self, Written, WrittenOutcome};
use super::turn::Turn;
use super::{Form, Malformed};
use crate::question::event::Decision;
use crate::question::state::{Question, Settled};
use crate::question::{OPTION_BYTES_MAX, OPTIONS_MAX, TEXT_BYTES_MAX};

/// The tool that asks a human.
pub const ASK_HUMAN: &str = "ask_human";

/// A call of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnCall {
    Ask(AskCall),
    /// Of another tool, which the program runs.
    Other {
        call_id: String,
        name: String,
    },
}

/// A call of the tool.
#[derive(Debug, Clone, PartialEq)]
pub struct AskCall {
    pub call_id: String,
    /// What is asked, or why the arguments cannot be read.
    pub arguments: Result<Map<String, Value>, Malformed>,
}

/// The result of a call, once there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskResult {
    pub call_id: String,
    pub text: String,
    pub is_error: bool,
}

/// The tool. Who is asked is an argument; without it, the default queue is.
pub fn tool() -> Tool {
    let options = json!({
        "type": "array", "items": text("One option, on one line", OPTION_BYTES_MAX),
        "maxItems": OPTIONS_MAX, "description": "For `choose`: the answers to choose from",
    });
    Tool {
        name: ASK_HUMAN.to_owned(),
        title: "Ask a human".to_owned(),
        description: "Ask a human and wait for the answer.\nUse this when:\n\
                      - You need an approval before you act\n\
                      - You need a decision or a fact that only a person has"
            .to_owned(),
        schema: json!({
            "type": "object",
            "properties": {
                "text": text("The question, in full sentences", TEXT_BYTES_MAX),
                "wants": {
                    "type": "string", "enum": ["approve", "choose", "text"],
                    "description": "The kind of answer: yes or no, one of the options, or a text",
                },
                "options": options,
                "action": { "type": "string", "description": "The tool that an approval is for" },
                "arguments": {
                    "type": "object", "description": "The arguments that the human approves",
                },
                "irreversible": {
                    "type": "boolean", "description": "Whether a yes cannot be undone",
                },
                "to": { "type": "string", "description": "ID of the person or the queue to ask" },
            },
            "required": ["text"],
            "additionalProperties": false,
        }),
    }
}

fn text(about: &str, bytes_max: usize) -> Value {
    json!({ "type": "string", "description": about, "maxLength": bytes_max })
}

/// The calls of an assistant's message, in their order. Those of other tools are left to the
/// program.
pub fn asks(form: Form, turn: &Value) -> Result<Vec<TurnCall>, Malformed> {
    let none = HandoffTools::new(Vec::new())?;
    let known = calls(form, turn, &none)?;
    let read = Turn::read(form, turn)?;
    let all = read.calls().zip(known).map(|(raw, call)| match raw.name == ASK_HUMAN {
        true => {
            let arguments = arguments(raw.arguments).and_then(declared);
            TurnCall::Ask(AskCall { call_id: call.call_id, arguments })
        }
        false => TurnCall::Other { call_id: call.call_id, name: call.name },
    });
    Ok(all.collect())
}

/// The arguments, if the tool has all of them. A question has more fields, such as a default, which
/// are not the model's: it would approve its own question.
fn declared(given: Map<String, Value>) -> Result<Map<String, Value>, Malformed> {
    let schema = tool().schema;
    let names: Vec<&String> =
        schema["properties"].as_object().into_iter().flat_map(Map::keys).collect();
    match given.keys().find(|name| !names.contains(name)) {
        Some(other) => {
            let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
            Err(Malformed::new(other, format!("only {}", names.join(", "))))
        }
        None => Ok(given),
    }
}

/// The messages that answer the calls, in the form of the turn.
pub fn answers(form: Form, turn: &Value, results: &[AskResult]) -> Vec<Value> {
    let written = results.iter().map(|result| Written {
        call_id: &result.call_id,
        name: ASK_HUMAN,
        text: result.text.clone(),
        outcome: match result.is_error {
            true => WrittenOutcome::ran_badly(),
            false => WrittenOutcome::ran(),
        },
    });
    history::results(form, turn, written.collect())
}

/// What the model is told about a question; `None` while it is open.
pub fn told(question: &Question) -> Option<String> {
    let (given, note, by) = match &question.state {
        Settled::Open => return None,
        Settled::Answered { given, note, .. } => (given, note.as_deref(), "A human"),
        Settled::Defaulted { given, .. } => {
            (given, None, "No human answered in time, and the default")
        }
        Settled::Unanswered { .. } => {
            return Some("No human answered in time. Do not act as if one had agreed.".to_owned());
        }
        Settled::Withdrawn { .. } => return Some("The question was withdrawn.".to_owned()),
    };
    if question.erased && matches!(given.decision, Decision::Choose | Decision::Text) {
        return Some(format!("{by} answered, and the answer has been erased."));
    }
    let said = match given.decision {
        Decision::Approve => format!("{by} says yes."),
        Decision::Decline => format!("{by} says no."),
        Decision::Choose => format!("{by} chooses: {}", given.option.as_deref().unwrap_or("")),
        Decision::Text => format!("{by} answers: {}", given.text.as_deref().unwrap_or("")),
    };
    Some(match note {
        Some(note) => format!("{said}\nNote: {note}"),
        None => said,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A turn with a call of the tool and another call, and where the id of the result is.
    fn turns() -> [(Form, Value, &'static str); 4] {
        let text = r#"{"text":"Refund?"}"#;
        let fields = json!({ "text": "Refund?" });
        [
            (
                Form::OpenAi,
                json!({ "role": "assistant", "content": null, "tool_calls": [
                    { "id": "c1", "type": "function",
                      "function": { "name": "ask_human", "arguments": text } },
                    { "id": "c2", "type": "function",
                      "function": { "name": "search", "arguments": "{}" } },
                ] }),
                "/0/tool_call_id",
            ),
            (
                Form::Responses,
                json!({ "output": [
                    { "type": "function_call", "call_id": "c1", "name": "ask_human",
                      "arguments": text },
                    { "type": "function_call", "call_id": "c2", "name": "search",
                      "arguments": "{}" },
                ] }),
                "/0/call_id",
            ),
            (
                Form::Anthropic,
                json!({ "role": "assistant", "content": [
                    { "type": "tool_use", "id": "c1", "name": "ask_human", "input": fields },
                    { "type": "tool_use", "id": "c2", "name": "search", "input": {} },
                ] }),
                "/0/content/0/tool_use_id",
            ),
            (
                Form::LangChain,
                json!({ "type": "ai", "content": "", "tool_calls": [
                    { "id": "c1", "name": "ask_human", "args": fields },
                    { "id": "c2", "name": "search", "args": {} },
                ] }),
                "/0/tool_call_id",
            ),
        ]
    }

    #[test]
    fn a_call_is_read_and_answered_in_every_form() {
        for (form, turn, place) in turns() {
            let asked = asks(form, &turn).unwrap();
            let arguments = json!({ "text": "Refund?" }).as_object().cloned().unwrap();
            let ask = AskCall { call_id: "c1".to_owned(), arguments: Ok(arguments) };
            let other = TurnCall::Other { call_id: "c2".to_owned(), name: "search".to_owned() };
            assert_eq!(asked, [TurnCall::Ask(ask), other]);
            let (call_id, text) = ("c1".to_owned(), "A human says yes.".to_owned());
            let results = [AskResult { call_id, text: text.clone(), is_error: false }];
            let messages = Value::Array(answers(form, &turn, &results));
            assert_eq!(messages.pointer(place), Some(&json!("c1")), "{form:?}: {messages}");
            assert!(messages.to_string().contains(&text), "{form:?}: {messages}");
        }
    }

    #[test]
    fn arguments_that_the_tool_does_not_have_are_refused() {
        let given = |more: Value| {
            let mut fields = json!({ "text": "Refund?" }).as_object().cloned().unwrap();
            fields.extend(more.as_object().cloned().unwrap());
            declared(fields).map(|fields| fields.len()).map_err(|error| error.field)
        };
        assert_eq!(given(json!({ "wants": "text", "to": "hana" })), Ok(3));
        for (name, value) in [
            ("timeout", json!("1s")),
            ("default", json!({ "decision": "approve" })),
            ("workers", json!(["w1"])),
            ("reference", json!("thread-1")),
            ("task_id", json!("T-1")),
            ("colour", json!("red")),
        ] {
            assert_eq!(given(json!({ name: value })), Err(name.to_owned()));
        }
    }

    #[test]
    fn arguments_that_cannot_be_read_are_an_answer() {
        let call = json!({ "id": "c1", "type": "function",
                           "function": { "name": "ask_human", "arguments": "{" } });
        let turn = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
        let asked = asks(Form::OpenAi, &turn).unwrap();
        assert!(matches!(&asked[..], [TurnCall::Ask(AskCall { arguments: Err(_), .. })]));
        let of_user = json!({ "role": "user", "content": "hi" });
        assert!(asks(Form::OpenAi, &of_user).is_err());
    }
}
