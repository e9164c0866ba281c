//! Conversations over HTTP: a customer, the bots that answer, and bots that come too late.

mod keeping;

use std::process::Command;

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::server::{Server, ok, refused};
use crate::sse::{Event, whole_ledger};
use crate::wire::Request;

/// A conversation, its customer, and the two bots that may have it.
struct Chat {
    id: String,
    customer: Client,
    token: String,
    shop: Client,
    bob: Client,
    carol: Client,
}

async fn register(server: &Server, operator: &Client, name: &str, profile: Value) -> Client {
    let agent = json!({ "kind": "worker", "profile": profile });
    ok(operator, Call::put(format!("/v1/agents/{name}"), agent)).await;
    server.agent(name)
}

async fn open(server: &Server) -> Chat {
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let profile = json!({ "name": "Bob", "user_selectable": true });
    let bob = register(server, &operator, "bob", profile).await;
    let profile = json!({ "name": "Carol", "description": "Refunds.", "user_selectable": true });
    let carol = register(server, &operator, "carol", profile).await;
    let shop = server.agent("shop");
    let body = json!({ "agent": "bob", "customer": { "name": "Ana" } });
    let opened = ok(&shop, Call::post("/v1/conversations", body)).await;
    let id = opened["conversation_id"].as_str().expect("an id").to_owned();
    let token = opened["customer_token"].as_str().expect("a token").to_owned();
    assert_eq!((&opened["epoch"], &opened["holder"]), (&json!(1), &json!("bob")));
    let customer = server.with_token(&token);
    Chat { id, customer, token, shop, bob, carol }
}

impl Chat {
    fn path(&self, rest: &str) -> String {
        format!("/v1/conversations/{}{rest}", self.id)
    }

    fn post(&self, rest: &str, body: Value) -> Call {
        Call::post(self.path(rest), body)
    }

    fn say(&self, text: &str) -> Call {
        self.post("/messages", json!({ "parts": [{ "type": "text", "text": text }] }))
    }

    fn answer(&self, text: &str, epoch: u64, in_reply_to: u64) -> Call {
        let parts = json!([{ "type": "text", "text": text }]);
        let body = json!({ "parts": parts, "epoch": epoch, "in_reply_to": in_reply_to });
        self.post("/messages", body)
    }

    async fn transcript(&self, reader: &Client, query: &str) -> Vec<Value> {
        let page = ok(reader, Call::get(self.path(&format!("/messages{query}")))).await;
        page["items"].as_array().expect("a page").clone()
    }
}

fn texts(lines: &[Value]) -> Vec<&str> {
    lines.iter().filter_map(|line| line["parts"][0]["text"].as_str()).collect()
}

#[tokio::test]
async fn a_customer_two_bots_and_an_answer_that_comes_too_late() {
    let server = Server::start();
    let chat = open(&server).await;
    let said = ok(&chat.customer, chat.say("my bill is wrong")).await;
    assert_eq!((&said["number"], &said["epoch"]), (&json!(1), &json!(1)));
    let missing = refused(&chat.bob, chat.say("hello")).await;
    assert_eq!((missing.status, &missing.body["code"]), (422, &json!("epoch_required")));
    assert_eq!(missing.body["field"], "epoch");

    let update = json!({ "bill": 7 });
    let route = json!({
        "goto": "carol", "epoch": 1, "reason": "a refund", "context": "May", "update": update,
    });
    let routed = ok(&chat.bob, chat.post("/commands", route)).await;
    assert_eq!((&routed["holder"], &routed["epoch"]), (&json!("carol"), &json!(2)));

    let late = refused(&chat.bob, chat.answer("wait", 1, 1)).await;
    assert_eq!((late.status, &late.body["code"]), (409, &json!("epoch_outdated")));
    assert_eq!((&late.body["holder"], &late.body["epoch"]), (&json!("carol"), &json!(2)));
    ok(&chat.carol, chat.answer("let me see", 2, 1)).await;
    let twice = refused(&chat.carol, chat.answer("let me see again", 2, 1)).await;
    assert_eq!(twice.body["code"], "already_answered");

    let shown = chat.transcript(&chat.customer, "").await;
    assert_eq!(texts(&shown), ["my bill is wrong", "let me see"]);
    let transfer = &shown[1]["parts"][0];
    assert_eq!(
        (&transfer["type"], &transfer["transferType"]),
        (&json!("agent-transfer"), &json!("bot_to_bot"))
    );
    assert_eq!(transfer["fromAgent"], identity("bob", "Bob"));
    assert_eq!(transfer["toAgent"]["agentName"], "Carol");
    let told = "\u{2068}Bob\u{2069} hands the conversation over to \u{2068}Carol\u{2069}.";
    assert_eq!((&transfer["reason"], &transfer["context"]), (&json!(told), &Value::Null));
    let inside = chat.transcript(&chat.carol, "?after=1&limit=1").await;
    assert_eq!(inside[0]["parts"][0]["reason"], "a refund");
    assert_eq!(inside[0]["parts"][0]["context"], "May");
    let view = ok(&chat.carol, Call::get(chat.path(""))).await;
    assert_eq!(view["shared"], update);
    assert_eq!(ok(&chat.customer, Call::get(chat.path(""))).await["shared"], Value::Null);

    // A message that was not heard is on the record, for those it concerns.
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let whole = whole_ledger(&operator, "&kind=conversation").await;
    let is_not_heard = |event: &&Event| event.name.as_deref() == Some("conversation.not_heard");
    assert_eq!(whole.iter().filter(is_not_heard).count(), 2);
    let others = whole_ledger(&server.agent("dora"), "&kind=conversation").await;
    assert!(others.iter().all(|event| event.name.is_none()), "{others:?}");
}

#[tokio::test]
async fn the_customer_chooses_and_ends() {
    let server = Server::start();
    let chat = open(&server).await;
    server.agent("dora");
    let choose = |agent: &str| Call::put(chat.path("/agent"), json!({ "agent_id": agent }));
    let choices = ok(&chat.customer, Call::get(chat.path("/agents"))).await;
    let choices = choices["items"].as_array().expect("a list").iter();
    let choices: Vec<_> = choices.map(|it| (it["agentId"].clone(), it["holds"].clone())).collect();
    let expected = [(json!("carol"), json!(false)), (json!("bob"), json!(true))];
    assert_eq!(choices, expected, "neither dora nor the shop");
    let changed = ok(&chat.customer, choose("carol")).await;
    assert_eq!(
        changed,
        json!({
            "sessionId": chat.id,
            "currentAgent": identity("carol", "Carol"),
            "handoffType": "user_selection",
        })
    );
    let refusal = refused(&chat.customer, choose("dora")).await;
    assert_eq!((refusal.status, &refusal.body["code"]), (422, &json!("agent_not_selectable")));
    let closed = ok(&chat.customer, chat.post("/close", json!({ "reason": "thanks" }))).await;
    assert_eq!(closed["status"], "closed");
    let choices = ok(&chat.customer, Call::get(chat.path("/agents"))).await;
    assert_eq!(choices["items"], json!([]), "no agent can be chosen after the end");
    let over = refused(&chat.customer, chat.say("one more thing")).await;
    assert_eq!((over.status, &over.body["code"]), (409, &json!("conversation_closed")));
    for (reader, query, n_expected) in [
        (&chat.carol, "", 1),
        (&chat.carol, "?status=open", 0),
        (&chat.carol, "?holder=bob", 0),
        (&chat.bob, "", 0),
    ] {
        let page = ok(reader, Call::get(format!("/v1/conversations{query}"))).await;
        assert_eq!(page["items"].as_array().unwrap().len(), n_expected, "{query}");
    }
}

#[tokio::test]
async fn bots_that_go_round_in_a_circle_are_stopped() {
    let server = Server::start();
    let chat = open(&server).await;
    let route =
        |to: &str, epoch: u64| chat.post("/commands", json!({ "goto": to, "epoch": epoch }));
    ok(&chat.bob, route("carol", 1)).await;
    ok(&chat.carol, route("bob", 2)).await;
    let circle = refused(&chat.bob, route("carol", 3)).await;
    assert_eq!((circle.status, &circle.body["code"]), (409, &json!("loop_guard")));
    assert_eq!(circle.body["hops_max"], 8);
    // A model that tries it gets the same answer.
    let called = json!([{ "id": "c0", "name": "transfer_to_carol", "args": {} }]);
    let turn = json!({ "type": "ai", "content": "", "tool_calls": called });
    let body = json!({ "form": "langchain", "turn": turn, "epoch": 3 });
    let told = ok(&chat.bob, chat.post("/tool-calls", body)).await;
    assert_eq!(told["calls"][0]["code"], "loop_guard", "{told}");
}

#[tokio::test]
async fn a_customer_has_one_conversation_and_nothing_else() {
    let server = Server::start();
    let chat = open(&server).await;
    let other = ok(&chat.shop, Call::post("/v1/conversations", json!({ "agent": "bob" }))).await;
    let stranger = server.with_token(other["customer_token"].as_str().unwrap());
    for rest in ["", "/messages", "/messages/1/attachments/0"] {
        let gone = refused(&stranger, Call::get(chat.path(rest))).await;
        assert_eq!((gone.status, &gone.body["code"]), (404, &json!("not_found")), "{rest}");
    }
    assert_eq!(refused(&stranger, chat.say("hi")).await.status, 404);
    for path in ["/v1/conversations", "/v1/agents", "/v1/handoffs", "/v1/events"] {
        assert_eq!(refused(&chat.customer, Call::get(path)).await.status, 403, "{path}");
    }
    assert_eq!(refused(&chat.customer, chat.post("/tokens", json!({}))).await.status, 403);
    assert_eq!(refused(&chat.bob, chat.post("/tokens", json!({}))).await.status, 403);
    let minted = ok(&chat.shop, chat.post("/tokens", json!({}))).await;
    let again = server.with_token(minted["token"].as_str().unwrap());
    ok(&again, chat.say("from another tab")).await;

    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let forged = json!({ "agent": format!("customer-{}", chat.id), "kind": "customer" });
    let forged = refused(&operator, Call::post("/v1/tokens", forged)).await;
    assert_eq!((forged.status, &forged.body["field"]), (422, &json!("agent")));
    let far = ["--kind", "operator", "--teamspace", "far"];
    let far = server.with_token(&server.token("root", &far));
    assert_eq!(refused(&far, Call::get(chat.path(""))).await.status, 404);
}

#[tokio::test]
async fn a_file_is_a_download_that_can_do_nothing() {
    let server = Server::start();
    let chat = open(&server).await;
    let file = json!({
        "type": "attachment", "name": "é\"; x=1.html", "media_type": "text/html",
        "data": "PHNjcmlwdD4=",
    });
    let text = json!({ "type": "text", "text": "see" });
    ok(&chat.customer, chat.post("/messages", json!({ "parts": [text, file] }))).await;
    let line = &chat.transcript(&chat.bob, "").await[0];
    let shown = &line["parts"][1];
    assert_eq!((&shown["data"], &shown["size_bytes"]), (&Value::Null, &json!(8)));
    let path = shown["path"].as_str().expect("a path");
    let request = Request::new(&format!("GET {path}")).token(&chat.token);
    let answer = request.send(server.address()).await;
    assert_eq!((answer.status, &answer.bytes[..]), (200, &b"<script>"[..]));
    let disposition = "attachment; filename*=UTF-8''%C3%A9%22%3B%20x%3D1.html";
    assert_eq!(answer.header("content-disposition"), disposition);
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert!(answer.header("content-security-policy").starts_with("sandbox"));
    for wrong in
        ["/messages/1/attachments/0", "/messages/2/attachments/1", "/messages/0/attachments/1"]
    {
        assert_eq!(refused(&chat.bob, Call::get(chat.path(wrong))).await.status, 404, "{wrong}");
    }
}

/// Each provider's form: the first allowed handoff is performed, and every call answered.
#[tokio::test]
async fn a_model_hands_over_by_tool_call() {
    let server = Server::start();
    let openai = |names: &[&str]| {
        let calls = names.iter().enumerate().map(|(index, name)| {
            let function = json!({ "name": name, "arguments": "{\"reason\": \"a refund\"}" });
            json!({ "id": format!("c{index}"), "type": "function", "function": function })
        });
        let calls: Vec<_> = calls.collect();
        json!({ "role": "assistant", "content": null, "tool_calls": calls })
    };
    let anthropic = |names: &[&str]| {
        let calls = names.iter().enumerate().map(|(index, name)| {
            json!({ "type": "tool_use", "id": format!("c{index}"), "name": name, "input": {} })
        });
        json!({ "role": "assistant", "content": calls.collect::<Vec<_>>() })
    };
    let langchain = |names: &[&str]| {
        let calls = names.iter().enumerate().map(|(index, name)| {
            json!({ "type": "tool_call", "id": format!("c{index}"), "name": name, "args": {} })
        });
        let calls: Vec<_> = calls.collect();
        json!({ "type": "ai", "content": "", "tool_calls": calls })
    };
    let responses = |names: &[&str]| {
        let calls = names.iter().enumerate().map(|(index, name)| {
            json!({ "type": "function_call", "call_id": format!("c{index}"), "name": name,
                    "arguments": "{}" })
        });
        json!({ "object": "response", "output": calls.collect::<Vec<_>>() })
    };
    server.token("router", &["--kind", "system"]);
    let names = ["lookup_order", "transfer_to_router", "transfer_to_carol", "transfer_to_bob"];
    for (form, turn, n_messages) in [
        ("openai", openai(&names), 3),
        ("responses", responses(&names), 3),
        ("anthropic", anthropic(&names), 1),
        ("langchain", langchain(&names), 3),
    ] {
        let chat = open(&server).await;
        let call = || {
            let body = json!({ "form": form, "turn": turn, "epoch": 1 });
            Call { key: Some(format!("turn-{form}")), ..chat.post("/tool-calls", body) }
        };
        let done = ok(&chat.bob, call()).await;
        assert_eq!(
            (&done["routed"]["holder"], &done["routed"]["epoch"]),
            (&json!("carol"), &json!(2))
        );
        assert_eq!(done["waiting"], json!(["c0"]), "{form}");
        assert_eq!(done["messages"].as_array().unwrap().len(), n_messages, "{form}: {done}");
        let text = done["messages"].to_string();
        assert!(text.contains("Successfully transferred to carol"), "{text}");
        assert!(text.contains("Cannot handoff to system agent 'router'"), "{text}");
        assert_eq!(ok(&chat.bob, call()).await, done, "a retry is answered the same");
        let late = json!({ "form": form, "turn": turn, "epoch": 1 });
        let late = refused(&chat.bob, chat.post("/tool-calls", late)).await;
        assert_eq!(late.body["code"], "epoch_outdated");
    }
    let chat = open(&server).await;
    let wrong = json!({ "form": "openai", "turn": { "role": "user", "content": "x" }, "epoch": 1 });
    let wrong = refused(&chat.bob, chat.post("/tool-calls", wrong)).await;
    assert_eq!((wrong.status, &wrong.body["field"]), (422, &json!("turn.role")));
}

#[tokio::test]
async fn the_tools_are_listed_in_the_form_of_each_provider() {
    let server = Server::start();
    let chat = open(&server).await;
    let tools = |query: &str| Call::get(format!("/v1/agents/bob/handoff-tools{query}"));
    for (query, pointer) in [
        ("", "/function/name"),
        ("?format=responses", "/name"),
        ("?format=anthropic", "/name"),
        ("?format=mcp", "/name"),
        ("?format=jsonschema", "/title"),
    ] {
        let page = ok(&chat.bob, tools(query)).await;
        let tools = page["tools"].as_array().expect("tools");
        let names: Vec<_> = tools.iter().filter_map(|tool| tool.pointer(pointer)).collect();
        assert!(names.contains(&&json!("transfer_to_carol")), "{query}: {page}");
        assert_eq!(page["targets"]["transfer_to_carol"], "carol", "{query}: {page}");
        assert!(!names.contains(&&json!("transfer_to_bob")), "{query}: {page}");
    }
}

/// The number stays; the text is gone for every reader.
#[tokio::test]
async fn what_was_said_can_be_erased() {
    let server = Server::start();
    let chat = open(&server).await;
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    for text in ["hello", "my card is 4111", "bye"] {
        ok(&chat.customer, chat.say(text)).await;
    }
    let line = &chat.transcript(&operator, "?after=1&limit=1").await[0];
    let erase = |position: &Value| {
        chat.post("/erase", json!({ "position": position, "reason": "a card number" }))
    };
    assert_eq!(refused(&chat.shop, erase(&line["position"])).await.status, 403);
    let beyond = refused(&operator, erase(&json!(99))).await;
    assert_eq!((beyond.status, &beyond.body["field"]), (422, &json!("position")));
    let shown = ok(&operator, erase(&line["position"])).await;
    assert_eq!((&shown["customer"], &shown["n_messages"]), (&json!({}), &json!(3)));
    let left = chat.transcript(&chat.customer, "").await;
    assert_eq!(texts(&left), ["hello", "bye"]);
    assert_eq!((&left[1]["number"], &left[1]["erased"]), (&json!(2), &json!(true)));
    assert_eq!(left[1]["parts"], json!([]));
    ok(&chat.bob, chat.answer("bye", 1, 3)).await;
}

/// A restart, a retry of an earlier message, and an audit of the whole.
#[tokio::test]
async fn a_conversation_outlives_the_server() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |_| {});
    let chat = open(&server).await;
    let say = || Call { key: Some("first".to_owned()), ..chat.say("hello") };
    let said = ok(&chat.customer, say()).await;
    ok(&chat.bob, chat.post("/commands", json!({ "goto": "carol", "epoch": 1 }))).await;
    let before = chat.transcript(&chat.customer, "").await;
    server.kill();
    let server = Server::start_on(&data, |_| {});
    let customer = server.with_token(&chat.token);
    assert_eq!(chat.transcript(&customer, "").await, before);
    assert_eq!(ok(&customer, say()).await, said);
    let shown = ok(&customer, Call::get(chat.path(""))).await;
    assert_eq!((&shown["holder"], &shown["n_messages"]), (&json!("carol"), &json!(2)));
    assert_eq!(server.stop(), Some(0));
    let mut verify = Command::new(env!("CARGO_BIN_EXE_tasuki"));
    let verified = verify.args(["audit", "verify", "--data"]).arg(&data).output();
    let verified = verified.expect("the executable runs");
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

/// How an agent without an icon and a color is introduced.
fn identity(id: &str, name: &str) -> Value {
    json!({ "agentId": id, "agentName": name, "agentIcon": "", "agentColor": "" })
}
