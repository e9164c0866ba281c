//! The steps of a conversation in the form of a provider.

use serde_json::{Value, json};

use super::steps::{Handoff, Step, StepKind};
use crate::tools::Form;
use crate::tools::history::join;
use crate::tools::history_form::HistoryForm;

/// Gemini asks for a signature of the model's own thoughts with each call. No model made these
/// calls, and this is the value that its documentation gives for such a case.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The mark that LangGraph puts on the messages with which work comes back.
const IS_BACK: &str = "__is_handoff_back";

pub fn write(form: HistoryForm, n_left_out: u64, steps: &[Step]) -> Vec<Value> {
    let mut writer = Writer { form, messages: Vec::new(), holder: String::new() };
    match (n_left_out, steps.first()) {
        (1.., _) => writer.user(&left_out(n_left_out)),
        (0, Some(Step { kind: StepKind::Agent { .. } | StepKind::Handoff(_), .. }))
            if writer.user_begins() =>
        {
            writer.user("[The conversation begins.]");
        }
        (0, _) => {}
    }
    for step in steps {
        match &step.kind {
            StepKind::Customer(said) => writer.user(said),
            StepKind::Agent { by, said } => writer.assistant(by.as_str(), said),
            StepKind::Handoff(handoff) => writer.handoff(step.number, handoff),
        }
    }
    writer.messages
}

fn left_out(n_left_out: u64) -> String {
    let messages = if n_left_out == 1 { "message" } else { "messages" };
    format!("[The first {n_left_out} {messages} of this conversation are left out.]")
}

struct Writer {
    form: HistoryForm,
    messages: Vec<Value>,
    /// Who got the conversation with the last handoff.
    holder: String,
}

impl Writer {
    /// Whether the first message must be one of the user.
    fn user_begins(&self) -> bool {
        match self.form {
            HistoryForm::Anthropic | HistoryForm::Gemini => true,
            HistoryForm::OpenAi | HistoryForm::Responses | HistoryForm::LangChain => false,
        }
    }

    fn user(&mut self, text: &str) {
        match self.form {
            HistoryForm::OpenAi => self.messages.push(json!({ "role": "user", "content": text })),
            HistoryForm::Responses => {
                self.messages.push(json!({ "type": "message", "role": "user", "content": text }));
            }
            HistoryForm::Anthropic => self.block("user", json!({ "type": "text", "text": text })),
            HistoryForm::LangChain => {
                self.messages.push(json!({ "type": "human", "content": text }));
            }
            HistoryForm::Gemini => {
                // A turn with the result of a call has nothing else in it.
                let last = self.messages.last();
                let is_result =
                    last.is_some_and(|last| last["parts"][0].get("functionResponse").is_some());
                if is_result {
                    let says = format!("[{} has the conversation now.]", self.holder);
                    self.gemini_part("model", json!({ "text": says }));
                }
                self.gemini_part("user", json!({ "text": text }));
            }
        }
    }

    fn assistant(&mut self, by: &str, text: &str) {
        match self.form {
            HistoryForm::OpenAi => {
                self.messages.push(json!({ "role": "assistant", "name": by, "content": text }));
            }
            HistoryForm::Responses => {
                let said = json!({ "type": "message", "role": "assistant", "content": text });
                self.messages.push(said);
            }
            HistoryForm::Anthropic => {
                self.block("assistant", json!({ "type": "text", "text": text }));
            }
            HistoryForm::LangChain => {
                self.messages.push(json!({ "type": "ai", "name": by, "content": text }));
            }
            HistoryForm::Gemini => self.gemini_part("model", json!({ "text": text })),
        }
    }

    /// A call and its result. The number of the line makes the id, so that the same history has the
    /// same ids.
    fn handoff(&mut self, number: u64, handoff: &Handoff) {
        let call_id = match handoff.has_line {
            true => format!("handoff_{number}"),
            false => format!("handoff_before_{number}"),
        };
        match self.form {
            HistoryForm::OpenAi => self.messages.extend(openai(&call_id, handoff)),
            HistoryForm::Responses => self.responses(&call_id, handoff),
            HistoryForm::Anthropic => self.anthropic(&call_id, handoff),
            HistoryForm::LangChain => self.messages.extend(langchain(&call_id, handoff)),
            HistoryForm::Gemini => self.gemini(&call_id, handoff),
        }
        self.holder = handoff.to.to_string();
    }

    fn responses(&mut self, call_id: &str, it: &Handoff) {
        if let Some(says) = &it.says {
            self.assistant(it.from.as_str(), says);
        }
        let arguments = Value::from(it.arguments.clone()).to_string();
        self.messages.push(json!({
            "type": "function_call", "call_id": call_id, "name": it.tool, "arguments": arguments,
        }));
        self.messages.push(json!({
            "type": "function_call_output", "call_id": call_id, "output": it.result,
        }));
    }

    fn anthropic(&mut self, call_id: &str, it: &Handoff) {
        if let Some(says) = &it.says {
            self.assistant(it.from.as_str(), says);
        }
        let call = json!({
            "type": "tool_use", "id": call_id, "name": it.tool, "input": it.arguments,
        });
        self.block("assistant", call);
        let result = json!({ "type": "tool_result", "tool_use_id": call_id, "content": it.result });
        self.block("user", result);
    }

    /// Blocks of one speaker become one message.
    fn block(&mut self, role: &str, block: Value) {
        let message = json!({ "role": role, "content": [block] });
        join(Form::Anthropic, &mut self.messages, vec![message]);
    }

    fn gemini(&mut self, call_id: &str, it: &Handoff) {
        if let Some(says) = &it.says {
            self.assistant(it.from.as_str(), says);
        }
        self.gemini_part(
            "model",
            json!({
                "functionCall": { "id": call_id, "name": it.tool, "args": it.arguments },
                "thoughtSignature": NO_SIGNATURE,
            }),
        );
        self.gemini_part(
            "user",
            json!({
                "functionResponse": {
                    "id": call_id, "name": it.tool, "response": { "result": it.result },
                },
            }),
        );
    }

    /// Parts of one speaker become one turn.
    fn gemini_part(&mut self, role: &str, part: Value) {
        let last = self.messages.last_mut().filter(|last| last["role"] == role);
        match last.and_then(|last| last["parts"].as_array_mut()) {
            Some(parts) => parts.push(part),
            None => self.messages.push(json!({ "role": role, "parts": [part] })),
        }
    }
}

fn openai(call_id: &str, it: &Handoff) -> [Value; 2] {
    let arguments = Value::from(it.arguments.clone()).to_string();
    [
        json!({
            "role": "assistant",
            "name": it.from,
            "content": it.says,
            "tool_calls": [{
                "id": call_id,
                "type": "function",
                "function": { "name": it.tool, "arguments": arguments },
            }],
        }),
        json!({ "role": "tool", "tool_call_id": call_id, "content": it.result }),
    ]
}

fn langchain(call_id: &str, it: &Handoff) -> [Value; 2] {
    let call = json!({ "name": it.tool, "args": it.arguments, "id": call_id, "type": "tool_call" });
    let mut called = json!({
        "type": "ai",
        "name": it.from,
        "content": it.says.as_deref().unwrap_or_default(),
        "tool_calls": [call],
    });
    let mut result = json!({
        "type": "tool",
        "name": it.tool,
        "tool_call_id": call_id,
        "content": it.result,
        "status": "success",
    });
    if it.is_back {
        for message in [&mut called, &mut result] {
            message["response_metadata"] = json!({ IS_BACK: true });
        }
    }
    [called, result]
}
