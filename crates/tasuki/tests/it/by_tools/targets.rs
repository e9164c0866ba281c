//! The tools of a model in a large teamspace.

use serde_json::{Value, json};
use tasuki::client::Call;

use super::turn;
use crate::server::ok;
use crate::transfers::Desk;

/// More than a list of tools can have, and more than two pages of the directory.
const N_NEWER: usize = 300;

async fn tools(desk: &Desk) -> Value {
    ok(&desk.bob, Call::get("/v1/agents/bob/handoff-tools")).await
}

/// Agents that have only a token cannot be given a conversation. They take no place in the list.
#[tokio::test]
async fn agents_with_a_token_alone_hide_no_target() {
    let desk = Desk::open(json!({})).await;
    desk.server.agent("billing");
    for index in 0..N_NEWER {
        let token = json!({ "agent": format!("script-{index}") });
        ok(&desk.operator, Call::post("/v1/tokens", token)).await;
    }
    let listed = tools(&desk).await;
    let expected = json!({ "transfer_to_billing": "billing", "transfer_to_human": "human" });
    assert_eq!(listed["targets"], expected);
    let turn = turn("openai", "One moment", "transfer_to_billing", json!({}));
    let body = json!({ "form": "openai", "turn": turn, "epoch": 1 });
    let done = ok(&desk.bob, Call::post(desk.path("/tool-calls"), body)).await;
    assert_eq!(done["routed"]["holder"], "billing", "{done}");
}

/// With so many queues a model writes the id without a list, and may still leave it out.
#[tokio::test]
async fn newer_queues_do_not_hide_the_default_one() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    for index in 0..N_NEWER {
        let queue = Call::put(format!("/v1/agents/q{index}"), json!({ "kind": "queue" }));
        ok(&desk.operator, queue).await;
    }
    let listed = tools(&desk).await;
    let schema = &listed["tools"][0]["function"]["parameters"];
    assert_eq!(
        (&schema["required"], &schema["properties"]["queue"]["enum"]),
        (&json!([]), &Value::Null)
    );
    let turn = turn("openai", "One moment", "transfer_to_human", json!({}));
    let body = json!({ "form": "openai", "turn": turn, "epoch": 1 });
    let done = ok(&desk.bob, Call::post(desk.path("/tool-calls"), body)).await;
    assert_eq!(done["routed"]["holder"], "default", "{done}");
}
