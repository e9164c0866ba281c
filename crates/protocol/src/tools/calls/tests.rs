//! What is read from a turn, as rows: the same calls in each form, and turns that are refused.

use serde_json::{Value, json};

use super::*;
use crate::tools::definitions::Target;

fn tools() -> HandoffTools {
    let long = "x".repeat(64);
    let target = |id: &str| Target {
        id: id.parse().unwrap(),
        name: String::new(),
        description: String::new(),
    };
    let targets = ["billing", "tech.eu", "agent", &long].map(target).to_vec();
    HandoffTools::new(targets).unwrap().with_people(&[target("default"), target("vip")])
}

/// One call with these arguments in a form, as its provider documents it.
fn turn(form: Form, calls: &[(&str, &str, Value)]) -> Value {
    let each = calls.iter().map(|(id, name, arguments)| match form {
        Form::OpenAi => {
            let arguments = arguments.as_str().map_or(arguments.to_string(), str::to_owned);
            let function = json!({ "name": name, "arguments": arguments });
            json!({ "id": id, "type": "function", "function": function })
        }
        Form::Responses => {
            let arguments = arguments.as_str().map_or(arguments.to_string(), str::to_owned);
            json!({ "type": "function_call", "call_id": id, "name": name, "arguments": arguments })
        }
        Form::Anthropic => {
            json!({ "type": "tool_use", "id": id, "name": name, "input": arguments })
        }
        Form::LangChain => {
            json!({ "id": id, "name": name, "args": arguments, "type": "tool_call" })
        }
    });
    let calls: Vec<Value> = each.collect();
    match form {
        Form::OpenAi => json!({ "role": "assistant", "content": null, "tool_calls": calls }),
        Form::Responses => json!({ "object": "response", "output": calls }),
        Form::Anthropic => json!({ "role": "assistant", "content": calls }),
        Form::LangChain => json!({ "type": "ai", "content": "", "tool_calls": calls }),
    }
}

fn shown(call: &Call) -> String {
    match &call.kind {
        CallKind::Other => "other".to_owned(),
        CallKind::Unreadable { target, malformed } => {
            format!("unreadable {target} {malformed}")
        }
        CallKind::Handoff(Request { target, goal, reason, context, customer_text }) => {
            let or_none = |text: &Option<String>| text.clone().unwrap_or("-".to_owned());
            let told = customer_text.as_ref().map(|text| format!(" tells {text}"));
            let told = told.unwrap_or_default();
            let waits = match goal {
                Goal::Agent => String::new(),
                Goal::Person { queue: None } => " person".to_owned(),
                Goal::Person { queue: Some(queue) } => format!(" person of {queue}"),
            };
            format!("handoff {target}{waits} {} {}{told}", or_none(reason), or_none(context))
        }
    }
}

/// A tool, its arguments, and what is read.
fn arguments_as_read() -> Vec<(&'static str, Value, &'static str)> {
    let mut all = to_people();
    all.extend(to_agents());
    all.extend(refused_arguments());
    all
}

fn to_people() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("transfer_to_Ihuman", json!({}), "handoff human - -"),
        ("transfer_to_human", json!({}), "handoff human person - -"),
        (
            "transfer_to_human",
            json!({ "queue": "vip", "reason": "r", "context": "Twice", "customer_text": "Hana" }),
            "handoff human person of vip r Twice tells Hana",
        ),
        (
            "transfer_to_human",
            json!({ "queue": "Not An Id" }),
            "unreadable human queue: expected the id of a queue, or none",
        ),
        (
            "transfer_to_human",
            json!({ "team": 1 }),
            concat!(
                "unreadable human team: expected no arguments but queue, reason, context and ",
                "customer_text"
            ),
        ),
        (
            "transfer_to_agent",
            json!({ "targetAgent": "human", "reason": "r" }),
            "handoff human person r -",
        ),
    ]
}

fn to_agents() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("lookup", json!({ "order": 7 }), "other"),
        ("lookup", json!("garbage"), "other"),
        ("transfer_to_billing", json!({}), "handoff billing - -"),
        ("transfer_to_billing", json!(""), "handoff billing - -"),
        ("transfer_to_billing", json!({ "reason": null, "context": " " }), "handoff billing - -"),
        ("transfer_to_billing", json!(r#"{"reason":"refund"}"#), "handoff billing refund -"),
        ("transfer_to_techDeu", json!({ "context": "v2" }), "handoff tech.eu - v2"),
        ("transfer_to_Iagent", json!({}), "handoff agent - -"),
        ("transfer_to_Data_Team", json!({}), "handoff Data_Team - -"),
        ("transfer_to_", json!({}), "handoff  - -"),
        ("transfer_back_to_triage", json!({}), "handoff triage - -"),
        (
            "transfer_to_agent",
            json!({ "targetAgent": "tech.eu", "reason": "r" }),
            "handoff tech.eu r -",
        ),
    ]
}

fn refused_arguments() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        (
            "transfer_to_agent",
            json!({ "reason": "r" }),
            "unreadable  targetAgent: expected the id of an agent",
        ),
        (
            "transfer_to_agent",
            json!({ "targetAgent": "billing" }),
            "unreadable billing reason: expected why the conversation is transferred",
        ),
        (
            "transfer_to_agent",
            json!({ "targetAgent": 7, "reason": "r" }),
            "unreadable  targetAgent: expected a text",
        ),
        (
            "transfer_to_billing",
            json!({ "reason": ["x"] }),
            "unreadable billing reason: expected a text",
        ),
        (
            "transfer_to_billing",
            json!({ "task": "x" }),
            "unreadable billing task: expected no arguments but reason, context and customer_text",
        ),
        (
            "transfer_to_billing",
            json!({ "reason": "fraud", "customer_text": "Moment" }),
            "handoff billing fraud - tells Moment",
        ),
        ("transfer_to_billing", json!({ "reason": "a\u{202e}b" }), "unreadable billing"),
        (
            "transfer_to_billing",
            json!({ "reason": "x".repeat(501) }),
            "unreadable billing reason: expected at most 500 bytes",
        ),
        (
            "transfer_to_billing",
            json!({ "context": "x".repeat(4_097) }),
            "unreadable billing context: expected at most 4096 bytes",
        ),
        ("transfer_to_billing", json!("{"), "unreadable billing arguments: expected valid JSON"),
        ("transfer_to_billing", json!("[]"), "unreadable billing arguments: expected an object"),
        (
            "transfer_to_billing",
            json!(r#"{"reason":"a","reason":"b"}"#),
            "unreadable billing arguments: expected each key once in reason",
        ),
    ]
}

#[test]
fn calls_are_read_alike_in_every_form() {
    let long = format!("transfer_to_{}H7ce100971f64e700", "x".repeat(35));
    for form in Form::ALL {
        for (name, arguments, expected) in arguments_as_read() {
            let read = calls(form, &turn(form, &[("c1", name, arguments)]), &tools());
            let read = read.unwrap();
            assert!(shown(&read[0]).starts_with(expected), "{form:?} {name}: {}", shown(&read[0]));
            assert_eq!((read[0].call_id.as_str(), read[0].name.as_str()), ("c1", name));
        }
        let read = calls(form, &turn(form, &[("c1", &long, json!({}))]), &tools()).unwrap();
        assert_eq!(shown(&read[0]), format!("handoff {} - -", "x".repeat(64)));
    }
}

#[test]
fn all_calls_of_a_turn_are_read_in_order() {
    let turn = json!({
        "lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "AIMessage"],
        "kwargs": {
            "content": [{ "type": "tool_use", "id": "c1", "name": "lookup", "input": {} }],
            "tool_calls": [{ "name": "lookup", "args": {}, "id": "c1" }],
            "invalid_tool_calls": [
                { "name": "transfer_to_billing", "args": "{\"reason", "id": "c2", "error": "x" },
            ],
        },
    });
    let read = calls(Form::LangChain, &turn, &tools()).unwrap();
    let lines: Vec<_> = read.iter().map(|call| (call.call_id.as_str(), shown(call))).collect();
    let unreadable =
        "unreadable billing arguments: expected valid JSON, stopped at line 1 column 8";
    assert_eq!(lines, [("c1", "other".to_owned()), ("c2", unreadable.to_owned())]);

    let custom = json!({
        "role": "assistant",
        "tool_calls": [{ "id": "c1", "type": "custom", "custom": { "name": "sql", "input": "1" } }],
    });
    assert_eq!(shown(&calls(Form::OpenAi, &custom, &tools()).unwrap()[0]), "other");
}

#[test]
fn turns_that_no_history_could_go_on_from_are_refused() {
    let twice = [("c1", "lookup", json!({})), ("c1", "lookup", json!({}))];
    let many: Vec<_> = (0..129).map(|i| (format!("c{i}"), "lookup", json!({}))).collect();
    let many: Vec<_> =
        many.iter().map(|(id, name, input)| (id.as_str(), *name, input.clone())).collect();
    let long = "x".repeat(257);
    for (form, list, name) in [
        (Form::OpenAi, "tool_calls", "function.name"),
        (Form::Anthropic, "content", "name"),
        (Form::LangChain, "tool_calls", "name"),
        (Form::Responses, "output", "name"),
    ] {
        let cases = [
            (turn(form, &twice), "LIST[1].id: expected an id that no other"),
            (turn(form, &many), "LIST: expected at most 128 calls"),
            (turn(form, &[("", "lookup", json!({}))]), "LIST[0].id: expected 1 to"),
            (turn(form, &[("a b", "lookup", json!({}))]), "LIST[0].id: expected 1 to"),
            (turn(form, &[(&long, "lookup", json!({}))]), "LIST[0].id: expected 1 to"),
            (turn(form, &[("c1", "", json!({}))]), "LIST[0].NAME: expected 1 to"),
            (turn(form, &[("c1", "a\u{202e}b", json!({}))]), "LIST[0].NAME: expected 1 to"),
            (json!([]), ": expected an object"),
            (json!({ "role": 7 }), ""),
        ];
        for (message, expected) in cases {
            let expected = expected.replace("LIST", list).replace("NAME", name);
            let id = if form == Form::Responses { "].call_id" } else { "].id" };
            let expected = expected.replace("].id", id);
            let refused = calls(form, &message, &tools()).unwrap_err().to_string();
            assert!(refused.starts_with(&expected), "{form:?}: {refused}");
        }
    }
    let user = json!({ "role": "user", "content": "Hi" });
    assert!(calls(Form::OpenAi, &user, &tools()).is_err());
    assert!(calls(Form::Anthropic, &user, &tools()).is_err());
}

/// Texts are for the customer; reasoning and calls are not.
#[test]
fn the_words_of_a_turn_are_what_its_reader_is_meant_to_see() {
    let cases = [
        (Form::OpenAi, json!({ "role": "assistant", "content": " One moment. " }), "One moment."),
        (Form::OpenAi, json!({ "role": "assistant", "content": null, "tool_calls": [] }), ""),
        (
            Form::OpenAi,
            json!({ "role": "assistant", "content": [
                { "type": "text", "text": "One" }, { "type": "reasoning", "text": "They lie" },
                { "type": "text", "text": "moment" },
            ] }),
            "One\n\nmoment",
        ),
        (
            Form::Anthropic,
            json!({ "role": "assistant", "content": [
                { "type": "thinking", "thinking": "They lie", "signature": "x" },
                { "type": "text", "text": "One moment" },
                { "type": "tool_use", "id": "c1", "name": "transfer_to_human", "input": {} },
            ] }),
            "One moment",
        ),
        (
            Form::LangChain,
            json!({ "type": "ai", "content": [
                { "type": "reasoning", "text": "They lie" }, "One", { "type": "text", "text": " " },
            ] }),
            "One",
        ),
        (
            Form::Responses,
            json!({ "output": [
                { "type": "reasoning", "summary": [{ "type": "summary_text", "text": "Lies" }] },
                { "type": "message", "role": "assistant", "content": [
                    { "type": "output_text", "text": "One moment", "annotations": [] },
                    { "type": "refusal", "refusal": "No" },
                ] },
                { "type": "function_call", "call_id": "c1", "name": "x", "arguments": "{}" },
            ] }),
            "One moment",
        ),
    ];
    for (form, turn, expected) in cases {
        assert_eq!(words(form, &turn).unwrap(), expected, "{turn}");
    }
}

/// A refusal names the place in the caller's own message.
#[test]
fn a_refusal_names_the_place_as_it_was_written() {
    let call = |id: &str| json!({ "id": id, "name": "lookup", "args": {} });
    let ai = json!({ "content": "", "tool_calls": [call("c1"), call("c1")] });
    let constructor = |class: &str, kwargs: &Value| {
        let id = ["langchain", "schema", "messages", class];
        json!({ "lc": 1, "type": "constructor", "id": id, "kwargs": kwargs })
    };
    let custom = json!({ "id": "c1", "type": "custom", "custom": { "name": "", "input": "1" } });
    for (form, message, expected) in [
        (Form::LangChain, json!({ "type": "ai", "data": ai }), "data.tool_calls[1].id"),
        (Form::LangChain, constructor("AIMessage", &ai), "kwargs.tool_calls[1].id"),
        (Form::LangChain, constructor("AIMessage", &json!({})), "kwargs.content"),
        (Form::LangChain, constructor("HumanMessage", &json!({ "content": "" })), "id"),
        (Form::LangChain, constructor("Message", &json!({})), "id"),
        (Form::LangChain, json!({ "type": "human", "content": "" }), "type"),
        (Form::LangChain, json!({ "role": "user", "content": "" }), "role"),
        (
            Form::OpenAi,
            json!({ "role": "assistant", "tool_calls": [custom] }),
            "tool_calls[0].custom.name",
        ),
        (Form::OpenAi, json!({ "role": "user", "content": "" }), "role"),
        (Form::Anthropic, json!("x"), ""),
    ] {
        let refused = calls(form, &message, &tools()).unwrap_err();
        assert_eq!(refused.field, expected, "{message}");
    }
    let nothing = calls(Form::Anthropic, &json!("x"), &tools()).unwrap_err();
    assert_eq!(nothing.within("turn").to_string(), "turn: expected an object");
}
