//! Complaints of users of other systems, each told as one short story: it cannot happen here.

mod bots;
mod people;
mod work;

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::transfers::Desk;

/// A message of a model that called these tools, in the form of OpenAI.
fn turn(names: &[&str]) -> Value {
    let calls = names.iter().enumerate().map(|(index, name)| {
        let function = json!({ "name": name, "arguments": "{}" });
        json!({ "id": format!("call-{index}"), "type": "function", "function": function })
    });
    json!({ "role": "assistant", "content": null, "tool_calls": calls.collect::<Vec<_>>() })
}

fn tool_calls(desk: &Desk, names: &[&str], epoch: u64) -> Call {
    let body = json!({ "form": "openai", "turn": turn(names), "epoch": epoch });
    Call::post(desk.path("/tool-calls"), body)
}

fn route(desk: &Desk, to: &str, epoch: u64) -> Call {
    Call::post(desk.path("/commands"), json!({ "goto": to, "epoch": epoch }))
}

/// A message of an agent, or, without an epoch, of the customer.
fn words(desk: &Desk, text: &str, epoch: Option<u64>) -> Call {
    let mut body = json!({ "parts": [{ "type": "text", "text": text }] });
    if let Some(epoch) = epoch {
        body["epoch"] = epoch.into();
    }
    Call::post(desk.path("/messages"), body)
}

/// The holder of the conversation, and the epoch.
async fn holder(desk: &Desk) -> String {
    let shown = crate::server::ok(&desk.operator, Call::get(desk.path(""))).await;
    format!("{}@{}", shown["holder"].as_str().expect("a holder"), shown["epoch"])
}

async fn code(who: &Client, call: Call) -> String {
    let refusal = crate::server::refused(who, call).await;
    refusal.body["code"].as_str().expect("a code").to_owned()
}
