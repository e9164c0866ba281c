//! The checker finds problems: one sound history in each form, and the findings when something in
//! it is broken.

use serde_json::{Value, json};

use super::*;

fn call(id: &str, name: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": "{}" } })
}

/// Two calls in a turn, their results, and a last word.
fn sound(form: Form) -> Vec<Value> {
    let history = match form {
        Form::OpenAi => json!([
            { "role": "system", "content": "Be kind." },
            { "role": "user", "content": "A refund, please" },
            { "role": "assistant", "content": null,
              "tool_calls": [call("c1", "lookup"), call("c2", "transfer_to_billing")] },
            { "role": "tool", "tool_call_id": "c1", "content": "42" },
            { "role": "tool", "tool_call_id": "c2", "content": "Successfully transferred" },
            { "role": "assistant", "name": "billing", "content": "Done." },
        ]),
        Form::Responses => json!([
            { "role": "developer", "content": "Be kind." },
            { "type": "message", "role": "user",
              "content": [{ "type": "input_text", "text": "A refund, please" }] },
            { "type": "reasoning", "id": "rs_1", "summary": [] },
            { "type": "function_call", "id": "fc_1", "call_id": "c1", "name": "lookup",
              "arguments": "{}" },
            { "type": "function_call", "call_id": "c2", "name": "transfer_to_billing",
              "arguments": "{}" },
            { "type": "function_call_output", "call_id": "c2", "output": "Successfully" },
            { "type": "function_call_output", "call_id": "c1",
              "output": [{ "type": "input_text", "text": "42" }] },
            { "type": "message", "role": "assistant",
              "content": [{ "type": "output_text", "text": "Done." }] },
        ]),
        Form::Anthropic => json!([
            { "role": "user", "content": "A refund, please" },
            { "role": "assistant", "content": [
                { "type": "text", "text": "One moment." },
                { "type": "tool_use", "id": "c1", "name": "lookup", "input": {} },
                { "type": "tool_use", "id": "c2", "name": "transfer_to_billing", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "c1", "content": "42" },
                { "type": "tool_result", "tool_use_id": "c2", "content": "Successfully" },
                { "type": "text", "text": "And hurry." },
            ] },
            { "role": "assistant", "content": "Done." },
        ]),
        Form::LangChain => json!([
            { "type": "system", "content": "Be kind." },
            { "type": "human", "content": "A refund, please" },
            { "type": "ai", "content": "", "name": "triage", "tool_calls": [
                { "name": "lookup", "args": {}, "id": "c1", "type": "tool_call" },
                { "name": "transfer_to_billing", "args": {}, "id": "c2", "type": "tool_call" },
            ] },
            { "type": "tool", "tool_call_id": "c2", "content": "Successfully transferred" },
            { "type": "tool", "tool_call_id": "c1", "content": "42", "status": "error" },
            { "type": "ai", "content": "Done.", "name": "billing" },
        ]),
    };
    history.as_array().unwrap().clone()
}

struct Row {
    what: &'static str,
    breaks: fn(&mut Vec<Value>),
    /// The findings, as `index code`.
    finds: &'static [&'static str],
}

const fn row(
    what: &'static str,
    breaks: fn(&mut Vec<Value>),
    finds: &'static [&'static str],
) -> Row {
    Row { what, breaks, finds }
}

const OPENAI: &[Row] = &[
    row("a result is missing", |h| drop(h.remove(3)), &["2 unanswered"]),
    row("both results are missing", |h| drop(h.drain(3..5)), &["2 unanswered", "2 unanswered"]),
    row("a turn without results ends it", |h| h.truncate(3), &["2 unanswered", "2 unanswered"]),
    row("a result comes twice", |h| h.insert(4, h[3].clone()), &["4 answered_twice"]),
    row("the call is missing", |h| drop(h.remove(2)), &["2 orphan", "3 orphan"]),
    row(
        "a result is of no call",
        |h| h[4]["tool_call_id"] = json!("c9"),
        &["4 orphan", "2 unanswered"],
    ),
    row(
        "results come before the call",
        |h| h.swap(2, 4),
        &["2 orphan", "3 orphan", "4 unanswered", "4 unanswered"],
    ),
    row(
        "the user speaks in between",
        |h| h.insert(4, json!({ "role": "user", "content": "?" })),
        &["2 unanswered", "5 orphan"],
    ),
    row("a result comes after the next word", |h| h.swap(4, 5), &["2 unanswered", "5 orphan"]),
    row(
        "two calls have one id",
        |h| h[2]["tool_calls"][1]["id"] = json!("c1"),
        &["2 call_id_twice", "4 orphan"],
    ),
    row(
        "an id is too long",
        |h| h[2]["tool_calls"][0]["id"] = json!("c".repeat(65)),
        &["2 call_id", "3 orphan", "2 unanswered"],
    ),
    row(
        "a name has a dot",
        |h| h[2]["tool_calls"][0]["function"]["name"] = json!("a.b"),
        &["2 tool_name"],
    ),
    row(
        "a name is too long",
        |h| h[2]["tool_calls"][0]["function"]["name"] = json!("a".repeat(65)),
        &["2 tool_name"],
    ),
    row(
        "arguments are an object",
        |h| h[2]["tool_calls"][0]["function"]["arguments"] = json!({}),
        &["2 arguments"],
    ),
    row(
        "a call has no type",
        |h| {
            h[2]["tool_calls"][0].as_object_mut().unwrap().remove("type");
        },
        &["2 shape"],
    ),
    row("a list of calls is empty", |h| h[5]["tool_calls"] = json!([]), &["5 call_count"]),
    row("a list of calls is null", |h| h[5]["tool_calls"] = json!(null), &["5 call_count"]),
    row(
        "there are too many calls",
        |h| {
            let calls: Vec<_> = (0..129).map(|i| call(&format!("c{i}"), "x")).collect();
            h[2]["tool_calls"] = json!(calls);
            h.splice(
                3..5,
                (0..129).map(
                    |i| json!({ "role": "tool", "tool_call_id": format!("c{i}"), "content": "" }),
                ),
            );
        },
        &["2 call_count"],
    ),
    row("an assistant says nothing", |h| h[5]["content"] = json!(null), &["5 empty"]),
    row("a result says nothing", |h| h[3]["content"] = json!(null), &["3 empty"]),
    row(
        "a result is a picture",
        |h| h[3]["content"] = json!([{ "type": "image_url" }]),
        &["3 shape"],
    ),
    row("a user calls", |h| h[1]["tool_calls"] = json!([]), &["1 wrong_speaker"]),
    row("a name has a space", |h| h[5]["name"] = json!("Bill Ing"), &["5 shape"]),
    row("an unknown role", |h| h[1]["role"] = json!("human"), &["1 shape"]),
    row(
        "a result names no call",
        |h| {
            h[3].as_object_mut().unwrap().remove("tool_call_id");
        },
        &["3 shape"],
    ),
];

const RESPONSES: &[Row] = &[
    row("a result is missing", |h| drop(h.remove(5)), &["4 unanswered"]),
    row("calls end it", |h| h.truncate(5), &["3 unanswered", "4 unanswered"]),
    row("a result comes later", |h| h.swap(6, 7), &[]),
    row("a result comes before its call", |h| h.swap(4, 5), &["4 orphan", "5 unanswered"]),
    row("a result comes twice", |h| h.insert(6, h[5].clone()), &["6 answered_twice"]),
    row("the call is missing", |h| drop(h.remove(3)), &["5 orphan"]),
    row(
        "an id is used again",
        |h| {
            let call = h[3].clone();
            let result = h[6].clone();
            h.extend([call, result]);
        },
        &["8 call_id_twice", "9 answered_twice"],
    ),
    row("a name has a dot", |h| h[3]["name"] = json!("a.b"), &["3 tool_name"]),
    row("arguments are an object", |h| h[3]["arguments"] = json!({}), &["3 arguments"]),
    row(
        "arguments are missing",
        |h| drop(h[3].as_object_mut().unwrap().remove("arguments")),
        &["3 shape"],
    ),
    row(
        "an id is too long",
        |h| h[3]["call_id"] = json!("c".repeat(65)),
        &["3 call_id", "3 unanswered", "6 orphan"],
    ),
    row("a message of the role of a tool", |h| h[7]["role"] = json!("tool"), &["7 shape"]),
    row("a message has calls", |h| h[7]["tool_calls"] = json!([]), &["7 shape"]),
    row("a message of LangChain", |h| h[1]["type"] = json!("human"), &["1 shape"]),
    row("a result has no output", |h| h[5]["output"] = json!(null), &["5 shape"]),
    row("a message is empty", |h| h[7]["content"] = json!([]), &["7 empty"]),
];

const ANTHROPIC: &[Row] = &[
    row("a result is missing", |h| drop(blocks(h, 2).remove(0)), &["1 unanswered"]),
    row(
        "the message of results is missing",
        |h| drop(h.remove(2)),
        &["1 unanswered", "1 unanswered", "2 turns"],
    ),
    row("calls end it", |h| h.truncate(2), &["1 unanswered", "1 unanswered"]),
    row(
        "a result comes twice",
        |h| {
            let twice = h[2]["content"][0].clone();
            blocks(h, 2).insert(1, twice)
        },
        &["2 answered_twice"],
    ),
    row(
        "a result is of no call",
        |h| h[2]["content"][1]["tool_use_id"] = json!("c9"),
        &["2 orphan", "1 unanswered"],
    ),
    row(
        "text comes before results",
        |h| blocks(h, 2).rotate_right(1),
        &["2 results_first", "2 results_first"],
    ),
    row(
        "results are in two messages",
        |h| {
            let late = blocks(h, 2).remove(1);
            h.insert(3, json!({ "role": "user", "content": [late] }));
        },
        &["1 unanswered", "3 orphan", "3 turns"],
    ),
    row(
        "a result comes a turn late",
        |h| {
            let late = blocks(h, 2).remove(0);
            h.push(json!({ "role": "user", "content": [late] }));
        },
        &["1 unanswered", "4 orphan"],
    ),
    row("text follows a call", |h| blocks(h, 1).rotate_left(1), &["1 calls_last"]),
    row(
        "an id is used again",
        |h| {
            let call = json!({ "type": "tool_use", "id": "c1", "name": "x", "input": {} });
            let result = json!({ "type": "tool_result", "tool_use_id": "c1" });
            h.push(json!({ "role": "user", "content": "More" }));
            h.push(json!({ "role": "assistant", "content": [call] }));
            h.push(json!({ "role": "user", "content": [result] }));
        },
        &["5 call_id_twice"],
    ),
    row(
        "an id has a dot",
        |h| {
            h[1]["content"][1]["id"] = json!("c.1");
            h[2]["content"][0]["tool_use_id"] = json!("c.1");
        },
        &["1 call_id"],
    ),
    row("a name has a space", |h| h[1]["content"][1]["name"] = json!("look up"), &["1 tool_name"]),
    row("input is a text", |h| h[1]["content"][1]["input"] = json!("{}"), &["1 arguments"]),
    row(
        "input is missing",
        |h| {
            h[1]["content"][1].as_object_mut().unwrap().remove("input");
        },
        &["1 shape"],
    ),
    row("an assistant speaks first", |h| drop(h.drain(..3)), &["0 first_speaker"]),
    row(
        "a user speaks twice",
        |h| h.insert(0, json!({ "role": "user", "content": "Hello" })),
        &["1 turns"],
    ),
    row(
        "a user calls",
        |h| h[0]["content"] = json!([{ "type": "tool_use", "id": "c0", "name": "x", "input": {} }]),
        &["0 wrong_speaker", "0 unanswered"],
    ),
    row(
        "an assistant brings results",
        |h| h[3]["content"] = json!([{ "type": "tool_result", "tool_use_id": "c0" }]),
        &["3 wrong_speaker", "3 orphan"],
    ),
    row("a text is empty", |h| h[1]["content"][0]["text"] = json!(""), &["1 empty"]),
    row("a message is empty", |h| h[3]["content"] = json!([]), &["3 empty"]),
    row(
        "the last word ends with a space",
        |h| h[3]["content"] = json!("Done. "),
        &["3 trailing_space"],
    ),
    row("the role of a tool", |h| h[2]["role"] = json!("tool"), &["2 shape"]),
    row("a block has no type", |h| h[1]["content"][0] = json!({ "text": "x" }), &["1 shape"]),
];

const LANGCHAIN: &[Row] = &[
    row("a result is missing", |h| drop(h.remove(3)), &["2 unanswered"]),
    row("a turn without results ends it", |h| h.truncate(3), &["2 unanswered", "2 unanswered"]),
    row("a result comes twice", |h| h.insert(4, h[3].clone()), &["4 answered_twice"]),
    row("the call is missing", |h| drop(h.remove(2)), &["2 orphan", "3 orphan"]),
    row(
        "a result is of no call",
        |h| h[3]["tool_call_id"] = json!("c9"),
        &["3 orphan", "2 unanswered"],
    ),
    row("a result comes after the next word", |h| h.swap(4, 5), &["2 unanswered", "5 orphan"]),
    row(
        "a call that could not be read has no result",
        |h| {
            h[2]["invalid_tool_calls"] =
                json!([{ "name": "x", "args": "{", "id": "c3", "error": "no" }]);
        },
        &["2 unanswered"],
    ),
    row(
        "two calls have one id",
        |h| h[2]["tool_calls"][1]["id"] = json!("c1"),
        &["2 call_id_twice", "3 orphan"],
    ),
    row("a name has a dot", |h| h[2]["tool_calls"][0]["name"] = json!("a.b"), &["2 tool_name"]),
    row("an id is missing", |h| h[2]["tool_calls"][0]["id"] = json!(null), &["2 shape"]),
    row("arguments are a list", |h| h[2]["tool_calls"][0]["args"] = json!([]), &["2 shape"]),
    row("a status is unknown", |h| h[3]["status"] = json!("maybe"), &["3 shape"]),
    row("an unknown type", |h| h[1]["type"] = json!("person"), &["1 shape"]),
    row(
        "a result has no content",
        |h| {
            h[3].as_object_mut().unwrap().remove("content");
        },
        &["3 shape"],
    ),
    row("a user says nothing", |h| h[1]["content"] = json!(""), &["1 empty"]),
];

fn blocks(history: &mut [Value], index: usize) -> &mut Vec<Value> {
    history[index]["content"].as_array_mut().unwrap()
}

#[test]
fn what_is_broken_is_found() {
    for (form, rows) in [
        (Form::OpenAi, OPENAI),
        (Form::Responses, RESPONSES),
        (Form::Anthropic, ANTHROPIC),
        (Form::LangChain, LANGCHAIN),
    ] {
        assert_eq!(check(form, &sound(form)), []);
        for Row { what, breaks, finds } in rows {
            let mut history = sound(form);
            breaks(&mut history);
            let found = check(form, &history);
            let mut found: Vec<_> =
                found.iter().map(|p| format!("{} {}", p.index, p.rule.code())).collect();
            let mut expected: Vec<_> = finds.iter().map(|find| (*find).to_owned()).collect();
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{form:?}: {what}");
        }
    }
}

#[test]
fn findings_end_somewhere() {
    let history = vec![json!(7); 1_000];
    assert_eq!(check(Form::OpenAi, &history).len(), PROBLEMS_MAX);
    let long = vec![json!({ "role": "user", "content": "Hi" }); MESSAGES_MAX + 1];
    let found = check(Form::OpenAi, &long);
    assert_eq!(found[0].to_string(), "[0] length: expected at most 10000 messages");
    let orphan = [json!({ "role": "tool", "tool_call_id": "c1", "content": "" })];
    let found = check(Form::OpenAi, &orphan);
    assert_eq!(found[0].to_string(), "[0] orphan: expected a call right before its result: `c1`");
}
