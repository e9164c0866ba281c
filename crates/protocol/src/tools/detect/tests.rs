//! Handoffs in histories of other frameworks, in their shapes.

use serde_json::json;

use super::*;
use crate::tools::history::form_of;

fn lines(history: &Value) -> Vec<String> {
    let history = history.as_array().unwrap();
    let found = handoffs(form_of(history), history).unwrap();
    let line = |found: &Found| {
        let from = found.from.as_deref().unwrap_or("?");
        let Found { index, call_id, to, outcome, direction, .. } = found;
        let reason = found.reason.as_deref().unwrap_or("-");
        format!("{index} {call_id} {from} {to} {outcome:?} {direction:?} {reason}")
    };
    found.iter().map(line).collect()
}

#[test]
fn a_supervisor_of_langgraph() {
    let back = json!({ "__is_handoff_back": true });
    let history = json!([
        { "type": "human", "data": { "content": "A refund, please" } },
        { "type": "ai", "data": { "content": "", "name": "supervisor", "tool_calls": [
            { "name": "transfer_to_billing_expert", "args": {}, "id": "c1", "type": "tool_call" },
        ] } },
        { "type": "tool", "data": {
            "content": "Successfully transferred to billing_expert", "tool_call_id": "c1",
            "name": "transfer_to_billing_expert", "status": "success",
        } },
        { "type": "ai", "data": { "content": "Done.", "name": "billing_expert" } },
        { "type": "ai", "data": {
            "content": "Transferring back to supervisor", "name": "billing_expert",
            "response_metadata": back.clone(), "tool_calls": [
                { "name": "transfer_back_to_supervisor", "args": {}, "id": "c2" },
            ],
        } },
        { "type": "tool", "data": {
            "content": "Successfully transferred back to supervisor", "tool_call_id": "c2",
            "name": "transfer_back_to_supervisor", "response_metadata": back,
        } },
    ]);
    let expected = [
        "1 c1 supervisor billing_expert Accepted Forth -",
        "4 c2 billing_expert supervisor Accepted Back -",
    ];
    assert_eq!(lines(&history), expected);
}

/// The items of the Responses API: a turn has an item for each call, and an agent of OpenAI's SDK
/// answers with the name of the next one.
#[test]
fn items_of_the_responses_api() {
    let call = |id: &str, name: &str| {
        json!({ "type": "function_call", "call_id": id, "name": name,
                "arguments": "{\"reason\": \"r\"}" })
    };
    let output = |id: &str, text: &str| {
        let kind = "function_call_output";
        json!({ "type": kind, "call_id": id, "output": text })
    };
    let history = json!([
        { "role": "user", "content": "Hi" },
        { "type": "reasoning", "id": "rs_1", "summary": [] },
        call("c1", "transfer_to_refund_agent"),
        call("c2", "transfer_to_sales"),
        output("c1", "{'assistant': 'Refund agent'}"),
        output("c2", "Multiple handoffs detected, ignoring this one."),
        { "type": "message", "role": "assistant",
          "content": [{ "type": "output_text", "text": "Hello" }] },
        call("c3", "transfer_to_human"),
        { "role": "user", "content": "Hurry" },
        output("c3", "Successfully transferred to human: a person was asked for"),
        call("c4", "transfer_to_agent"),
    ]);
    let expected = [
        "2 c1 ? refund_agent Accepted Forth r",
        "3 c2 ? sales Refused Forth r",
        "7 c3 refund_agent human Accepted Forth r",
        "10 c4 human  Unanswered Forth r",
    ];
    assert_eq!(lines(&history), expected);
}

#[test]
fn surplus_handoffs_of_openais_agents() {
    let call = |id: &str, name: &str| {
        let function = json!({ "name": name, "arguments": "{}" });
        json!({ "id": id, "type": "function", "function": function })
    };
    let history = json!([
        { "role": "user", "content": "Hi" },
        { "role": "assistant", "content": null, "tool_calls": [
            call("c1", "transfer_to_refund_agent"), call("c2", "transfer_to_sales"),
        ] },
        { "role": "tool", "tool_call_id": "c1", "content": "{\"assistant\": \"Refund agent\"}" },
        { "role": "tool", "tool_call_id": "c2",
          "content": "Multiple handoffs detected, ignoring this one." },
        { "role": "assistant", "content": null, "tool_calls": [call("c3", "transfer_to_sales")] },
    ]);
    let expected = [
        "1 c1 ? refund_agent Accepted Forth -",
        "1 c2 ? sales Refused Forth -",
        "4 c3 refund_agent sales Unanswered Forth -",
    ];
    assert_eq!(lines(&history), expected);
}

#[test]
fn the_tool_for_all_in_anthropics_form() {
    let history = json!([
        { "role": "user", "content": "Hi" },
        { "role": "assistant", "content": [
            { "type": "text", "text": "One moment." },
            { "type": "tool_use", "id": "t1", "name": "transfer_to_agent",
              "input": { "targetAgent": "tech.eu", "reason": "no\nheat" } },
            { "type": "tool_use", "id": "t2", "name": "transfer_to_agent",
              "input": { "agent_name": "sales" } },
            { "type": "tool_use", "id": "t3", "name": "lookup", "input": {} },
        ] },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "t1", "content": [
                { "type": "text", "text": "Cannot handoff: agent 'tech.eu' not found" },
            ] },
            { "type": "tool_result", "tool_use_id": "t2", "content": "ok" },
            { "type": "tool_result", "tool_use_id": "t3", "is_error": true },
        ] },
    ]);
    let expected = ["1 t1 ? tech.eu Refused Forth no heat", "1 t2 ? sales Accepted Forth -"];
    assert_eq!(lines(&history), expected);
}

/// The loop guard redirected it: the next speaker is not the agent that the call names.
#[test]
fn a_handoff_that_went_elsewhere_is_told_apart() {
    let call = |id: &str, name: &str| {
        let function = json!({ "name": name, "arguments": "{}" });
        json!({ "id": id, "type": "function", "function": function })
    };
    let history = json!([
        { "role": "assistant", "tool_calls": [call("c1", "transfer_to_carol")] },
        { "role": "tool", "tool_call_id": "c1",
          "content": "Not transferred to carol: a person was asked for" },
        { "role": "assistant", "tool_calls": [call("c2", "transfer_to_dora")] },
    ]);
    let expected = ["0 c1 ? carol Redirected Forth -", "2 c2 ? dora Unanswered Forth -"];
    assert_eq!(lines(&history), expected);
}

#[test]
fn what_is_no_message_is_named() {
    let history = [
        json!({ "role": "user", "content": "Hi" }),
        json!({ "role": "assistant", "tool_calls": [{}] }),
    ];
    let refused = handoffs(Form::OpenAi, &history).unwrap_err();
    assert_eq!(refused.to_string(), "[1].tool_calls[0].id: expected a text");
    let long = vec![json!({ "role": "user", "content": "Hi" }); MESSAGES_MAX + 1];
    assert!(handoffs(Form::OpenAi, &long).is_err());
}
