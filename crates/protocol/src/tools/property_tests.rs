//! Any JSON is answered without a panic, and the answers make a valid history.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::answers::{Answers, Refusal};
use super::calls::calls;
use super::check::check;
use super::definitions::{HandoffTools, Target};
use super::history::{HandBack, form_of, hand_back, join};
use super::{Form, detect};

fn tools() -> HandoffTools {
    let target = |id: &str| Target {
        id: id.parse().unwrap(),
        name: String::new(),
        description: String::new(),
    };
    let tools = HandoffTools::new(vec![target("billing"), target("tech.eu")]).unwrap();
    tools.with_people(&[target("default")])
}

/// Words of the forms, so that generated messages get past their first field.
fn word() -> impl Strategy<Value = String> {
    let words = [
        "role",
        "assistant",
        "user",
        "tool",
        "content",
        "tool_calls",
        "id",
        "type",
        "function",
        "name",
        "arguments",
        "transfer_to_billing",
        "transfer_to_agent",
        "transfer_back_to_x",
        "tool_use",
        "tool_result",
        "tool_use_id",
        "tool_call_id",
        "input",
        "text",
        "ai",
        "human",
        "data",
        "kwargs",
        "lc",
        "args",
        "status",
        "error",
        "reason",
        "targetAgent",
        "{}",
        "c1",
        "",
        "{\"reason\":\"x\"}",
        "invalid_tool_calls",
        "is_error",
        "\u{202e}",
        "constructor",
        "output",
        "message",
        "function_call",
        "function_call_output",
        "call_id",
        "transfer_to_human",
        "queue",
    ];
    prop_oneof![proptest::sample::select(words.to_vec()).prop_map(str::to_owned), ".{0,12}"]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(word(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A turn in the shape of its form, with arbitrary names, ids and arguments.
fn any_turn(form: Form) -> impl Strategy<Value = Value> {
    let call = ("[a-z0-9_]{1,12}", word(), any_json());
    proptest::collection::btree_map("[a-zA-Z0-9_-]{1,20}", call, 1..6).prop_map(move |calls| {
        let each = calls.into_iter().map(|(id, (name, other, arguments))| {
            let name = if name.len() % 3 == 0 { format!("transfer_to_{name}") } else { name };
            let fields = json!({ "reason": other.clone(), "targetAgent": other });
            let input = if arguments.is_object() { arguments } else { fields };
            match form {
                Form::OpenAi => json!({
                    "id": id, "type": "function",
                    "function": { "name": name, "arguments": input.to_string() },
                }),
                Form::Responses => json!({
                    "type": "function_call", "call_id": id, "name": name,
                    "arguments": input.to_string(),
                }),
                Form::Anthropic => {
                    json!({ "type": "tool_use", "id": id, "name": name, "input": input })
                }
                Form::LangChain => json!({ "id": id, "name": name, "args": input }),
            }
        });
        let calls: Vec<Value> = each.collect();
        match form {
            Form::OpenAi => json!({ "role": "assistant", "content": null, "tool_calls": calls }),
            Form::Responses => json!({ "output": calls }),
            Form::Anthropic => json!({ "role": "assistant", "content": calls }),
            Form::LangChain => json!({ "type": "ai", "content": "", "tool_calls": calls }),
        }
    })
}

fn any_of_four() -> impl Strategy<Value = (Form, Value)> {
    let of = |form| any_turn(form).prop_map(move |turn| (form, turn));
    prop_oneof![of(Form::OpenAi), of(Form::Responses), of(Form::Anthropic), of(Form::LangChain)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_json_is_answered(history in proptest::collection::vec(any_json(), 1..6)) {
        form_of(&history);
        for form in Form::ALL {
            let _ = calls(form, &history[0], &tools());
            let _ = detect::handoffs(form, &history);
            check(form, &history);
            let mut joined = history.clone();
            join(form, &mut joined, history.clone());
        }
    }

    /// Whatever a model calls, its provider accepts the turn with our answers, and the performed
    /// handoff is found in it.
    #[test]
    fn any_turn_is_answered_validly((form, turn) in any_of_four(), allow in any::<bool>()) {
        let found = calls(form, &turn, &tools()).unwrap();
        let mut answers = Answers::decide(found, |request| {
            let known = tools().target(&request.target).cloned();
            let refusal = if allow { Refusal::UnknownAgent } else { Refusal::SystemAgent };
            known.filter(|_| allow).ok_or(refusal)
        });
        answers.will_not_run("the conversation goes to another agent");
        let user = match form {
            Form::OpenAi | Form::Responses | Form::Anthropic => {
                json!({ "role": "user", "content": "Hello" })
            }
            Form::LangChain => json!({ "type": "human", "content": "Hello" }),
        };
        let mut history = vec![user];
        join(form, &mut history, vec![turn.clone()]);
        join(form, &mut history, answers.messages(form, &turn));
        if let Some(request) = answers.accepted() {
            let back = HandBack {
                from: request.target.parse().unwrap(),
                to: "triage".parse().unwrap(),
                call_id: "back_1-not-one-of-theirs".to_owned(),
                summary: request.reason.clone(),
            };
            join(form, &mut history, hand_back(form, &back, Some(&turn)).unwrap());
        }
        prop_assert_eq!(check(form, &history), Vec::new(), "{:?}", history);
        let found = detect::handoffs(form, &history).unwrap();
        let accepted = found.iter().filter(|found| found.outcome == detect::Outcome::Accepted);
        let expected = if answers.accepted().is_some() { 2 } else { 0 };
        prop_assert_eq!(accepted.count(), expected);
    }
}
