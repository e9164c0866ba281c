//! People give a conversation back: what the bot is told at its endpoint.

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::{allow, chat, say};
use crate::receiver::{Answer, Receiver};
use crate::server::{Server, ok};

/// A person settles it: the bot is told what happened since it asked for a person, and is not asked
/// to answer what was settled.
#[tokio::test]
async fn a_bot_that_gets_a_customer_back_is_told_what_happened_since() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start_on(&folder.path().join("data"), allow);
    let receiver = Receiver::answering(&[Answer::Status(204)]).await;
    let chat = chat(&server, &receiver.url).await;
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    ok(&operator, Call::put("/v1/agents/default", json!({ "kind": "queue" }))).await;
    ok(&operator, Call::put("/v1/queues/default", json!({ "mode": "pick" }))).await;
    ok(&operator, Call::put("/v1/agents/hana", json!({ "kind": "human" }))).await;
    let (bob, hana) = (server.agent("bob"), server.agent("hana"));
    let there = json!({ "presence": "available" });
    ok(&hana, Call::put("/v1/agents/hana/presence", there)).await;
    let conversation = chat.path.strip_suffix("/messages").expect("a path");
    for (round, is_answered) in [(0, true), (1, false)] {
        let epoch = 1 + 3 * round;
        say(&chat, "my bill is wrong").await;
        receiver.called(2 * usize::try_from(round).expect("small") + 1).await;
        until_nothing_is_left(&operator).await;
        let asked = json!({ "epoch": epoch, "reason": "a refund" });
        let asked = ok(&bob, Call::post(format!("{conversation}/transfers"), asked)).await;
        let id = asked["transfer_id"].as_str().expect("an id");
        let act = |action: &str, body| Call::post(format!("/v1/transfers/{id}/{action}"), body);
        ok(&hana, act("pickup", json!({ "epoch": epoch + 1, "accept": true }))).await;
        let parts = json!([{ "type": "text", "text": "I have refunded it" }]);
        let words = json!({ "parts": parts, "epoch": epoch + 2 });
        ok(&hana, Call::post(chat.path.clone(), words)).await;
        if !is_answered {
            say(&chat, "and the other bill?").await;
        }
        let done = json!({
            "epoch": epoch + 2, "summary": "refunded", "disposition": "goodwill",
        });
        ok(&hana, act("complete", done)).await;
        let seen = receiver.called(2 * usize::try_from(round).expect("small") + 2).await;
        let data = seen.last().expect("a call").data();
        let messages = data["messages"].as_array().expect("messages");
        let lines: Vec<_> = messages.iter().map(line_of).collect();
        let mut expected = vec!["requested a refund", "connected hana", "hana: I have refunded it"];
        expected.extend((!is_answered).then_some("customer: and the other bill?"));
        expected.push("completed refunded goodwill");
        assert_eq!(lines, expected, "{data}");
        let unanswered = messages.iter().find(|line| line["from"]["kind"] == "customer");
        let unanswered = unanswered.map(|line| line["number"].clone()).unwrap_or_default();
        assert_eq!((&data["epoch"], &data["in_reply_to"]), (&json!(epoch + 3), &unanswered));
    }
}

/// An unanswered message is repeated in the turn that asks for an answer to it.
#[tokio::test]
async fn what_a_bot_is_to_answer_is_in_its_turn() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start_on(&folder.path().join("data"), allow);
    let receiver = Receiver::answering(&[Answer::Status(204)]).await;
    let chat = chat(&server, &receiver.url).await;
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    ok(&operator, Call::put("/v1/agents/default", json!({ "kind": "queue" }))).await;
    ok(&operator, Call::put("/v1/queues/default", json!({ "mode": "pick" }))).await;
    ok(&operator, Call::put("/v1/agents/hana", json!({ "kind": "human" }))).await;
    let (bob, hana) = (server.agent("bob"), server.agent("hana"));
    ok(&hana, Call::put("/v1/agents/hana/presence", json!({ "presence": "available" }))).await;
    let conversation = chat.path.strip_suffix("/messages").expect("a path");
    let mut epoch = 1;
    let mut n_calls = 0;
    for how in ["complete", "fail"] {
        say(&chat, "refund please").await;
        n_calls += 1;
        receiver.called(n_calls).await;
        until_nothing_is_left(&operator).await;
        let asked = json!({ "epoch": epoch, "reason": "a refund" });
        let asked = ok(&bob, Call::post(format!("{conversation}/transfers"), asked)).await;
        let id = asked["transfer_id"].as_str().expect("an id");
        let act = |action: &str, body| Call::post(format!("/v1/transfers/{id}/{action}"), body);
        epoch += 1;
        if how == "complete" {
            ok(&hana, act("pickup", json!({ "epoch": epoch, "accept": true }))).await;
            epoch += 1;
            ok(&hana, act("complete", json!({ "epoch": epoch, "summary": "phoned" }))).await;
        } else {
            ok(&operator, act("fail", json!({ "reason": "nobody", "epoch": epoch }))).await;
        }
        epoch += 1;
        n_calls += 1;
        let seen = receiver.called(n_calls).await;
        let data = seen.last().expect("a call").data();
        let numbers: Vec<_> =
            data["messages"].as_array().expect("messages").iter().map(|it| &it["number"]).collect();
        let in_reply_to = &data["in_reply_to"];
        assert!(in_reply_to.is_number() && numbers.contains(&in_reply_to), "{how}: {data}");
    }
}

/// A message that was told, in a few words.
fn line_of(message: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let transfer = &message["transfer"];
    match message["parts"][0]["text"].as_str() {
        Some(said) => {
            let from = &message["from"];
            let who = from["agent_id"].as_str().or(from["kind"].as_str()).unwrap_or_default();
            format!("{who}: {said}")
        }
        None => {
            let names = ["agent_id", "summary", "disposition", "reason"];
            let about = names.iter().map(|name| text(&transfer[*name]));
            let about = about.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
            format!("{} {about}", text(&transfer["status"]))
        }
    }
}

async fn until_nothing_is_left(operator: &Client) {
    loop {
        let left = ok(operator, Call::get("/v1/outbox")).await;
        if left["items"].as_array().is_some_and(Vec::is_empty) {
            return;
        }
    }
}
