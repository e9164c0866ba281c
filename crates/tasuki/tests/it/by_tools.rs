//! A person by the same door as other agents, parting words, and the history that a model needs.

mod detection;
mod history;
mod packages;
mod targets;

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::server::{Server, ok, refused};
use crate::transfers::{Desk, act, open, until};

/// What a model says and calls, in the form of its provider.
fn turn(form: &str, says: &str, tool: &str, arguments: Value) -> Value {
    match form {
        "openai" => {
            let function = json!({ "name": tool, "arguments": arguments.to_string() });
            json!({ "role": "assistant", "content": says, "tool_calls": [
                { "id": "c1", "type": "function", "function": function },
            ] })
        }
        "responses" => json!({ "object": "response", "output": [
            { "type": "reasoning", "id": "rs_1", "summary": [] },
            { "type": "message", "role": "assistant", "content": [
                { "type": "output_text", "text": says, "annotations": [] },
            ] },
            { "type": "function_call", "call_id": "c1", "name": tool,
              "arguments": arguments.to_string() },
        ] }),
        "anthropic" => json!({ "role": "assistant", "content": [
            { "type": "thinking", "thinking": "They lie", "signature": "x" },
            { "type": "text", "text": says },
            { "type": "tool_use", "id": "c1", "name": tool, "input": arguments },
        ] }),
        "langchain" => json!({ "type": "ai", "content": says, "tool_calls": [
            { "type": "tool_call", "id": "c1", "name": tool, "args": arguments },
        ] }),
        other => panic!("{other}"),
    }
}

fn called(desk: &Desk, body: Value) -> Call {
    Call { key: Some("turn".to_owned()), ..Call::post(desk.path("/tool-calls"), body) }
}

/// The customer reads what the model wrote, and then the bot is silent: one commit, in every form.
#[tokio::test]
async fn a_model_asks_for_a_person_with_parting_words() {
    for form in ["openai", "responses", "anthropic", "langchain"] {
        let desk = Desk::open(json!({ "mode": "pick" })).await;
        ok(&desk.operator, Call::put("/v1/agents/vip", json!({ "kind": "queue" }))).await;
        let hana = desk.person("hana").await;
        desk.say(&desk.customer, "my bill is wrong", None).await;
        let given = json!({ "queue": "vip", "reason": "angry", "context": "Two bills",
                            "customer_text": "Hana helps you." });
        let turn = turn(form, "I ask a colleague.", "transfer_to_human", given);
        let body = json!({ "form": form, "turn": turn, "epoch": 1 });
        let done = ok(&desk.bob, called(&desk, body.clone())).await;
        assert_eq!(
            (&done["routed"]["holder"], &done["routed"]["epoch"]),
            (&json!("vip"), &json!(2))
        );
        assert_eq!((&done["said"], &done["routed"]["number"]), (&json!(2), &json!(2)));
        let call = &done["calls"][0];
        assert_eq!((&call["outcome"], &call["target"]), (&json!("accepted"), &json!("human")));
        assert_eq!(call["holder"], "vip");
        let told = done["messages"].to_string();
        let expected = "Successfully transferred to human: a person was asked for, and the \
                        customer waits in the queue vip";
        assert!(told.contains(expected), "{form}: {told}");
        assert_eq!(ok(&desk.bob, called(&desk, body)).await, done, "a retry is answered the same");

        assert_eq!(desk.texts(&desk.customer).await, ["my bill is wrong", "I ask a colleague."]);
        let late = json!({ "parts": [{ "type": "text", "text": "wait" }], "epoch": 1 });
        let late = refused(&desk.bob, Call::post(desk.path("/messages"), late)).await;
        assert_eq!(late.body["code"], "epoch_outdated");
        let id = done["routed"]["transfer_id"].clone();
        let transfer = json!({ "transfer_id": id });
        act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
        let shown = until(&hana, &transfer, "connected").await;
        assert_eq!((&shown["queue"], &shown["reason"]), (&json!("vip"), &json!("angry")));
        assert_eq!(shown["bundle"]["transcriptSummary"], "Two bills");
    }
}

/// Words are said only with a handoff, once, and not if the customer has them already.
#[tokio::test]
async fn words_without_a_handoff_are_left_to_the_program() {
    for (tool, spoken, expected) in [
        ("transfer_to_carol", false, vec!["Carol knows."]),
        ("transfer_to_carol", true, vec![]),
        ("transfer_to_zoe", false, vec![]),
        ("lookup_order", false, vec![]),
    ] {
        let desk = Desk::open(json!({})).await;
        desk.server.agent("carol");
        let turn = turn("openai", " Carol knows. ", tool, json!({}));
        let body = json!({ "form": "openai", "turn": turn, "epoch": 1, "spoken": spoken });
        let done = ok(&desk.bob, called(&desk, body)).await;
        assert_eq!(done.get("said").is_some(), !expected.is_empty(), "{done}");
        assert_eq!(desk.texts(&desk.customer).await, expected, "{tool} {spoken}");
    }
    // Too late: it is recorded as any late answer, and the customer reads nothing.
    let desk = Desk::open(json!({})).await;
    desk.server.agent("carol");
    ok(&desk.bob, Call::post(desk.path("/commands"), json!({ "goto": "carol", "epoch": 1 }))).await;
    let turn = turn("openai", "Bye", "transfer_to_carol", json!({}));
    let late = json!({ "form": "openai", "turn": turn, "epoch": 1 });
    let late = refused(&desk.bob, called(&desk, late)).await;
    assert_eq!((late.status, &late.body["code"]), (409, &json!("epoch_outdated")));
    assert!(desk.texts(&desk.customer).await.is_empty());
}

#[tokio::test]
async fn the_tool_for_a_person_is_always_listed() {
    let server = Server::start();
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let bob = server.agent("bob");
    let tools = async |bob: &Client| {
        let call = Call::get("/v1/agents/bob/handoff-tools?format=anthropic");
        let page = ok(bob, call).await;
        assert_eq!(page["targets"]["transfer_to_human"], "human");
        let tools = page["tools"].as_array().expect("tools").clone();
        let tool = tools.iter().find(|tool| tool["name"] == "transfer_to_human").cloned();
        (tools.len(), tool.expect("it is listed")["input_schema"].clone())
    };
    // There is no queue yet: the call says so, and so does a command.
    let (n_tools, schema) = tools(&bob).await;
    assert_eq!((n_tools, schema["properties"].get("queue")), (1, None));
    let (conversation, customer) = open(&server, &bob).await;
    let desk = Desk { server, operator, bob, customer, conversation };
    let turn = |arguments| turn("openai", "One moment", "transfer_to_human", arguments);
    for (arguments, code, says) in [
        (json!({}), "no_default_queue", "Cannot handoff: expected a queue"),
        (json!({ "queue": "vip" }), "unknown_agent", "Cannot handoff: no agent `vip`"),
        (json!({ "queue": "bob" }), "denied", "Cannot handoff: expected an agent that is a queue"),
        (json!({ "queue": "?" }), "arguments_invalid", "Cannot handoff: queue: expected the id"),
    ] {
        let body = json!({ "form": "openai", "turn": turn(arguments), "epoch": 1 });
        let done = ok(&desk.bob, Call::post(desk.path("/tool-calls"), body)).await;
        let said = done["messages"][0]["content"].as_str().expect("a text");
        assert!(said.starts_with(says), "{said}");
        assert_eq!((&done["calls"][0]["code"], &done["routed"]), (&json!(code), &Value::Null));
    }
    assert!(desk.texts(&desk.customer).await.is_empty(), "nothing is said");
    let command = json!({ "goto": "human", "epoch": 1 });
    let missing = refused(&desk.bob, Call::post(desk.path("/commands"), command)).await;
    assert_eq!((missing.status, &missing.body["code"]), (409, &json!("no_default_queue")));

    for queue in ["default", "vip"] {
        ok(&desk.operator, Call::put(format!("/v1/agents/{queue}"), json!({ "kind": "queue" })))
            .await;
    }
    for index in 0..20 {
        desk.server.agent(&format!("w{index}"));
    }
    let (n_tools, schema) = tools(&desk.bob).await;
    assert_eq!(n_tools, 2, "one for all agents, and one for a person");
    let mut queues = schema["properties"]["queue"]["enum"].as_array().expect("a list").clone();
    queues.sort_by_key(Value::to_string);
    assert_eq!((queues, &schema["required"]), (vec![json!("default"), json!("vip")], &json!([])));
    // A closed queue is answered with when it opens.
    let gone = json!({ "hours": { "utc_offset_minutes": 0 } });
    ok(&desk.operator, Call::put("/v1/queues/vip", gone)).await;
    let body = json!({ "form": "openai", "turn": turn(json!({ "queue": "vip" })), "epoch": 1 });
    let done = ok(&desk.bob, Call::post(desk.path("/tool-calls"), body)).await;
    assert_eq!(done["calls"][0]["code"], "queue_closed", "{done}");
}

#[tokio::test]
async fn human_is_not_the_id_of_a_new_agent() {
    let desk = Desk::open(json!({})).await;
    for kind in ["worker", "human", "queue", "system"] {
        let refusal =
            refused(&desk.operator, Call::put("/v1/agents/human", json!({ "kind": kind })));
        let refusal = refusal.await;
        assert_eq!((refusal.status, &refusal.body["code"]), (422, &json!("schema_invalid")));
        assert_eq!(refusal.body["field"], "agent", "{kind}");
    }
    let command = json!({
        "goto": "human", "epoch": 1, "reason": "a refund", "update": { "bill": 7 },
        "parts": [{ "type": "text", "text": "One moment" }],
    });
    let done = ok(&desk.bob, Call::post(desk.path("/commands"), command)).await;
    assert_eq!((&done["holder"], &done["epoch"]), (&json!("default"), &json!(2)));
    assert!(done["transfer_id"].is_string(), "{done}");
    assert_eq!(desk.texts(&desk.customer).await, ["One moment"]);
    let shown = ok(&desk.operator, Call::get(desk.path(""))).await;
    assert_eq!(shown["shared"], json!({ "bill": 7 }));
}

/// The rules try the calls in order; a retry finds the one that was performed.
#[tokio::test]
async fn a_person_is_one_of_several_handoffs_of_a_turn() {
    let desk = Desk::open(json!({})).await;
    let gone = json!({ "hours": { "utc_offset_minutes": 0 } });
    desk.server.agent("carol");
    let call = |index: usize, name: &str, arguments: Value| {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        json!({ "id": format!("c{index}"), "type": "function", "function": function })
    };
    ok(&desk.operator, Call::put("/v1/queues/default", gone)).await;
    ok(&desk.operator, Call::put("/v1/agents/vip", json!({ "kind": "queue" }))).await;
    let calls = [
        call(1, "transfer_to_human", json!({})),
        call(2, "transfer_to_human", json!({ "queue": "vip" })),
        call(3, "transfer_to_carol", json!({})),
    ];
    let turn = json!({ "role": "assistant", "content": null, "tool_calls": calls });
    let body = json!({ "form": "openai", "turn": turn, "epoch": 1 });
    let done = ok(&desk.bob, called(&desk, body.clone())).await;
    let codes = |done: &Value| [0, 1, 2].map(|index| done["calls"][index]["code"].clone());
    assert_eq!(codes(&done), [json!("queue_closed"), Value::Null, json!("surplus_handoff")]);
    assert_eq!(done["routed"]["holder"], "vip");
    let again = ok(&desk.bob, called(&desk, body)).await;
    assert_eq!((&again["routed"], codes(&again)[1].clone()), (&done["routed"], Value::Null));
}

/// A person hands a customer to any bot, in one command with parting words.
#[tokio::test]
async fn a_person_hands_a_customer_to_another_bot() {
    for with_command in [true, false] {
        let desk = Desk::open(json!({ "mode": "pick" })).await;
        let hana = desk.person("hana").await;
        let carol = desk.server.agent("carol");
        let transfer = desk.request(&desk.bob, json!({ "epoch": 1 })).await;
        act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
        if with_command {
            let parts = json!([{ "type": "text", "text": "Carol goes on." }]);
            let command =
                json!({ "goto": "carol", "epoch": 3, "context": "refunded", "parts": parts });
            let done = ok(&hana, Call::post(desk.path("/commands"), command)).await;
            assert_eq!((&done["holder"], &done["epoch"]), (&json!("carol"), &json!(4)));
            assert_eq!(desk.texts(&desk.customer).await, ["Carol goes on."]);
        } else {
            let done = json!({ "epoch": 3, "to": "carol", "summary": "refunded" });
            let done = act(&hana, &transfer, "complete", done).await;
            assert_eq!((&done["status"], &done["holder"]), (&json!("completed"), &json!("carol")));
        }
        desk.say(&carol, "Hello", Some(4)).await;
        let page = ok(&carol, Call::get(desk.path("/messages"))).await;
        let parts = page["items"].as_array().expect("lines").iter().map(|line| &line["parts"][0]);
        let over = parts.into_iter().find(|part| part["status"] == "completed").expect("the end");
        assert_eq!(
            (&over["toAgent"]["agentId"], &over["context"]),
            (&json!("carol"), &json!("refunded"))
        );
    }
}
