//! What an endpoint answers besides a message: a handoff, a change of what is shared, an end. And
//! the history that goes along with a turn.

use protocol::tools::Form;
use protocol::tools::check::check;
use serde_json::{Value, json};
use tasuki::client::Call;

use super::{World, allow, chat, free, say, texts};
use crate::receiver::{Answer, Receiver};
use crate::server::{Server, ok};
use crate::support::id;

fn answer(more: Value) -> Answer {
    let mut answer = json!({ "parts": [{ "type": "text", "text": "One moment" }] });
    for (name, value) in more.as_object().expect("fields") {
        answer[name] = value.clone();
    }
    Answer::Says(answer.to_string())
}

#[tokio::test]
async fn an_answer_hands_over_shares_or_ends() {
    for (more, names, holder, open) in [
        (
            json!({ "goto": "carol", "reason": "r" }),
            vec!["said", "said", "routed"],
            "carol",
            Some(1),
        ),
        (json!({ "update": { "a": 1 } }), vec!["said", "said", "updated"], "bob", None),
        (json!({ "end": true }), vec!["said", "said", "closed"], "bob", None),
        (json!({ "parts": [], "goto": "carol" }), vec!["said", "routed"], "carol", Some(1)),
    ] {
        let receiver = Receiver::answering(&[answer(more.clone())]).await;
        let world = World::new(true, free(), &receiver.url).await;
        world.customer_says("hello").await;
        world.carry_out_all().await;
        let recorded = world.names().await;
        let recorded: Vec<_> = recorded.iter().filter(|name| *name != "delivered").collect();
        assert_eq!(recorded, names.iter().collect::<Vec<_>>(), "{more}");
        assert_eq!(receiver.seen().len(), 1, "{more}: it is delivered once");
        let conversation = world.conversation().await;
        assert_eq!((conversation.holder, conversation.turn.open()), (id(holder), open), "{more}");
        assert_eq!(conversation.shared.is_empty(), more.get("update").is_none());
    }
}

/// A command that the rules refuse changes nothing, not even its words; the delivery has failed.
#[tokio::test]
async fn an_answer_that_is_refused_changes_nothing() {
    for (more, expected) in [
        (json!({ "goto": "zoe" }), "what the agent answered is refused: goto: no agent `zoe`"),
        (json!({ "goto": "human" }), "what the agent answered is refused: queue: expected a queue"),
        (json!({ "end": true, "goto": "carol" }), "what the agent answered is refused: end: "),
        (json!({ "epoch": 1 }), "the answer of the agent: epoch: expected "),
        (json!({ "goto": "No Id" }), "the answer of the agent: goto: expected "),
        (json!({ "end": "yes" }), "the answer of the agent: end: expected "),
    ] {
        let receiver = Receiver::answering(&[answer(more.clone())]).await;
        let world = World::new(true, free(), &receiver.url).await;
        world.customer_says("hello").await;
        world.carry_out_all().await;
        let events = world.events().await;
        let (name, body) = events.last().expect("an event");
        assert_eq!((name.as_str(), events.len()), ("unreached", 2), "{more}");
        assert!(body["detail"].as_str().expect("a text").starts_with(expected), "{body}");
    }
}

/// An answer after a handoff is recorded with its words, and nothing of it is performed.
#[tokio::test]
async fn a_late_command_of_an_endpoint_is_not_heard() {
    let go = std::sync::Arc::new(tokio::sync::Notify::new());
    let Answer::Says(body) = answer(json!({ "goto": "alice" })) else { panic!("an answer") };
    let receiver = Receiver::answering(&[Answer::Late(std::sync::Arc::clone(&go), body)]).await;
    let world = World::new(true, free(), &receiver.url).await;
    world.customer_says("hello").await;
    let handed_over = async {
        receiver.called(1).await;
        world.bob_routes("carol").await;
        go.notify_one();
    };
    tokio::join!(world.carry_out(), handed_over);
    assert_eq!(world.names().await, ["said", "routed", "not_heard"]);
    assert_eq!(world.conversation().await.holder, id("carol"));
}

/// An endpoint asks for a person; when the person is done, its turn has the history for its model.
#[tokio::test]
async fn an_endpoint_asks_for_a_person_and_gets_the_history() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start_on(&folder.path().join("data"), allow);
    let asks = answer(json!({ "goto": "human", "reason": "a refund" }));
    let receiver = Receiver::answering(&[asks, Answer::Status(204)]).await;
    let chat = chat(&server, &receiver.url).await;
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let endpoint = |history: Value| {
        let body = json!({ "url": receiver.url, "history": history });
        Call::put("/v1/agents/bob/endpoint", body)
    };
    let set = ok(&operator, endpoint(json!("anthropic"))).await;
    assert_eq!(set["history"], "anthropic");
    ok(&operator, Call::put("/v1/agents/default", json!({ "kind": "queue" }))).await;
    ok(&operator, Call::put("/v1/queues/default", json!({ "mode": "pick" }))).await;
    ok(&operator, Call::put("/v1/agents/hana", json!({ "kind": "human" }))).await;
    let hana = server.agent("hana");
    ok(&hana, Call::put("/v1/agents/hana/presence", json!({ "presence": "available" }))).await;
    say(&chat, "my bill is wrong").await;
    let first = receiver.called(1).await.remove(0);
    let history = &first.data()["history"];
    let said =
        json!([{ "role": "user", "content": [{ "type": "text", "text": "my bill is wrong" }] }]);
    assert_eq!((&history["form"], &history["messages"]), (&json!("anthropic"), &said));
    assert_eq!((&history["left_out"], &history["through"]), (&json!(0), &json!(1)));

    let conversation = chat.path.strip_suffix("/messages").expect("a path");
    let transfer = loop {
        let shown = ok(&operator, Call::get(conversation)).await;
        if let Some(id) = shown["transfer_id"].as_str() {
            break id.to_owned();
        }
    };
    let act = |action: &str, body| Call::post(format!("/v1/transfers/{transfer}/{action}"), body);
    ok(&hana, act("pickup", json!({ "epoch": 2, "accept": true }))).await;
    let parts = json!([{ "type": "text", "text": "I have refunded it" }]);
    ok(&hana, Call::post(chat.path.clone(), json!({ "parts": parts, "epoch": 3 }))).await;
    ok(&hana, act("complete", json!({ "epoch": 3, "summary": "refunded" }))).await;
    let back = receiver.called(2).await.remove(1);
    let history = back.data()["history"].clone();
    let messages = history["messages"].as_array().expect("messages");
    assert_eq!(check(Form::Anthropic, messages), [], "{history}");
    let text = history.to_string();
    for part in ["One moment", "transfer_to_human", "I have refunded it", "> refunded"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // It goes along only while the endpoint asks for it.
    let set = ok(&operator, endpoint(Value::Null)).await;
    assert_eq!(set.get("history"), None);
    say(&chat, "thanks").await;
    let last = receiver.called(3).await.remove(2);
    assert_eq!((texts(&last), last.data().get("history")), (vec!["thanks".to_owned()], None));
}
