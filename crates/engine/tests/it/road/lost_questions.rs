//! Questions of an agent that has lost its conversation: nobody is asked in its name any more, and
//! the record says so, whichever part of the server notices first.

use aaep::event::Decision;
use engine::aaep::announce::{Counted, session_stream};
use engine::aaep::sessions::Question;
use engine::ports::store::StoreReads;
use protocol::conversation;
use protocol::conversation::command::Open;
use protocol::ids::ConversationId;
use protocol::ledger::{Stream, Subject};
use protocol::session::event::Said;
use protocol::session::questions::asking_prefix;
use protocol::step::Command;
use protocol::time::Span;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Server;
use super::sessions::{TOKEN, announce, answer, asks, bank, event, names, says, session};
use crate::support::{agent, code, default_teamspace, operator};

fn conversation_id() -> ConversationId {
    ConversationId::new(Uuid::from_u128(7))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    /// The loop that follows the ledger.
    Follower,
    /// The deadline of the question.
    Deadline,
    /// The agent, which ends its session.
    Producer,
}

fn conversation() -> Stream {
    Stream { teamspace: default_teamspace(), subject: Subject::Conversation(conversation_id()) }
}

async fn ask(server: &Server, caller: &str, command: conversation::Command) {
    let command = Command::Conversation(command);
    let done = server.engine.submit(&agent(caller), conversation(), command, None).await;
    done.unwrap_or_else(|error| panic!("{error:?}"));
}

/// A bank whose teller holds the conversation.
async fn bank_with_conversation() -> Server {
    let server = bank().await;
    let open = Open { agent: Some("teller".parse().expect("a name")), ..Open::default() };
    let open = Command::Conversation(conversation::Command::Open(Box::new(open)));
    let opened = server.engine.submit(&operator(), conversation(), open, None).await;
    opened.expect("an operator may open one");
    server
}

fn route(to: &str, epoch: u64) -> conversation::Command {
    let route: Value = json!({ "goto": to, "epoch": epoch });
    conversation::Command::Route(serde_json::from_value(route).expect("a route"))
}

fn started() -> Said {
    let link = json!({
        "@context": ["https://aaep-protocol.org/context/v1", "urn:tasuki:aaep:v1"],
        "extensions": { "tasuki": { "conversation_id": conversation_id() } },
    });
    event(1, "session.started", link)
}

/// The sessions that are found by the conversation.
async fn asking(server: &Server) -> Vec<String> {
    let prefix = asking_prefix(conversation_id());
    server.store.held(&default_teamspace(), &prefix, 9).await.expect("the store works")
}

#[tokio::test]
async fn they_are_withdrawn_once_whoever_notices_first() {
    for lost_by in ["route", "close"] {
        for first in [First::Follower, First::Deadline, First::Producer] {
            let server = bank_with_conversation().await;
            let second = json!({ "reply_token": "rpl_2", "action": "Close the account" });
            announce(&server, vec![started(), asks(2, json!({})), asks(3, second)])
                .await
                .expect("the session opens");
            assert_eq!(asking(&server).await.len(), 1);
            server.engine.sessions().speak_due().await.unwrap();
            let command = match lost_by {
                "route" => route("other", 1),
                _ => conversation::Command::Close { reason: None },
            };
            ask(&server, "teller", command).await;
            server.clock.advance(Span::from_minutes(6));
            match first {
                First::Follower => drop(server.engine.sessions().speak_due().await.unwrap()),
                First::Deadline => drop(server.engine.fire_due_deadlines().await.unwrap()),
                First::Producer => {
                    let ends = vec![event(9, "session.completed", json!({}))];
                    announce(&server, ends).await.expect("it may end what it began");
                }
            }
            let mut expected = vec!["session.announced", "session.withdrawn", "session.withdrawn"];
            expected.extend((first == First::Producer).then_some("session.announced"));
            let what = format!("{lost_by} {first:?}");
            assert_eq!(names(&server).await, expected, "{what}");
            server.engine.sessions().speak_due().await.unwrap();
            server.engine.fire_due_deadlines().await.unwrap();
            assert_eq!(names(&server).await, expected, "once: {what}");
            assert_eq!(asking(&server).await, [""; 0], "{what}");
            let stream = session_stream(&operator(), &session());
            for token in [TOKEN, "rpl_2"] {
                let found = server.engine.sessions().question(&stream, token).await.unwrap();
                assert!(matches!(found, Some(Question::Lost { .. })), "{what} {token}: {found:?}");
            }
            let rebuilt = server.engine.read().rebuild(&stream).await.expect("a history");
            let current = server.engine.read().current(&stream).await.unwrap();
            assert_eq!(Some(&rebuilt), current.as_deref(), "{what}");
        }
    }
}

/// A yes that was not used yet does not count for what the agent does when it has the conversation
/// back, and does not keep the agent from ending its session.
#[tokio::test]
async fn an_accept_is_lost_with_the_conversation() {
    for comes_back in [false, true] {
        let server = bank_with_conversation().await;
        announce(&server, vec![started(), asks(2, json!({}))]).await.expect("the session opens");
        let said = says(&server, &operator(), answer(TOKEN, Decision::Accept)).await;
        assert_eq!(said, Counted::Yes);
        assert_eq!(asking(&server).await.len(), 1, "its call was not made yet");
        ask(&server, "teller", route("other", 1)).await;
        let stream = session_stream(&operator(), &session());
        let found = server.engine.sessions().question(&stream, TOKEN).await.unwrap();
        assert!(matches!(found, Some(Question::Lost { .. })), "{found:?}");
        if comes_back {
            ask(&server, "other", route("teller", 2)).await;
            let call = json!({
                "tool": "transfer_funds", "tool_call_id": "call_2", "risk_level": "high",
                "irreversible": true,
            });
            let refused = announce(&server, vec![event(3, "tool.invoked", call)]).await;
            assert_eq!(code(&refused), "protocol_violation", "{refused:?}");
        }
        let ends = vec![event(9, "session.completed", json!({}))];
        announce(&server, ends).await.expect("it may end what it began");
        let expected =
            ["session.announced", "session.answered", "session.withdrawn", "session.announced"];
        assert_eq!(names(&server).await, expected);
        assert_eq!(asking(&server).await, [""; 0]);
        let found = server.engine.sessions().question(&stream, TOKEN).await.unwrap();
        assert!(matches!(found, Some(Question::Lost { .. })), "{found:?}");
        let rebuilt = server.engine.read().rebuild(&stream).await.expect("a history");
        let current = server.engine.read().current(&stream).await.unwrap();
        assert_eq!(Some(&rebuilt), current.as_deref());
    }
}

/// Several questions about one action: what ends one of them ends the others' accepts.
#[tokio::test]
async fn an_action_may_be_asked_about_twice() {
    for first in [First::Follower, First::Deadline, First::Producer] {
        for accepted in [&[TOKEN][..], &[TOKEN, "rpl_2"]] {
            let server = bank_with_conversation().await;
            announce(&server, vec![started(), asks(2, json!({}))]).await.expect("it opens");
            says(&server, &operator(), answer(TOKEN, Decision::Accept)).await;
            announce(&server, vec![asks(3, json!({ "reply_token": "rpl_2" }))])
                .await
                .expect("it may ask again");
            if accepted.len() == 2 {
                says(&server, &operator(), answer("rpl_2", Decision::Accept)).await;
            }
            server.engine.sessions().speak_due().await.unwrap();
            ask(&server, "teller", conversation::Command::Close { reason: None }).await;
            server.clock.advance(Span::from_minutes(6));
            match first {
                First::Follower => drop(server.engine.sessions().speak_due().await.unwrap()),
                First::Deadline => drop(server.engine.fire_due_deadlines().await.unwrap()),
                First::Producer => {}
            }
            let ends = vec![event(9, "session.completed", json!({}))];
            announce(&server, ends).await.expect("it may end what it began");
            assert_eq!(asking(&server).await, [""; 0], "{first:?}");
            let stream = session_stream(&operator(), &session());
            for token in [TOKEN, "rpl_2"] {
                let found = server.engine.sessions().question(&stream, token).await.unwrap();
                assert!(matches!(found, Some(Question::Lost { .. })), "{first:?}: {found:?}");
            }
            let rebuilt = server.engine.read().rebuild(&stream).await.expect("a history");
            let current = server.engine.read().current(&stream).await.unwrap();
            assert_eq!(Some(&rebuilt), current.as_deref(), "{first:?}");
        }
    }
}

/// What was accepted is done: nobody is told otherwise, and nothing irreversible may follow later.
#[tokio::test]
async fn a_used_accept_is_withdrawn_in_silence() {
    let server = bank_with_conversation().await;
    let mut question: Value = serde_json::from_str(asks(2, json!({})).text()).expect("JSON");
    question.as_object_mut().expect("an object").remove("irreversible");
    let question = Said::new(question.to_string()).expect("JSON");
    announce(&server, vec![started(), question]).await.expect("it opens");
    says(&server, &operator(), answer(TOKEN, Decision::Accept)).await;
    let call = |number: u32, irreversible: bool| {
        let call = json!({ "tool": "pay", "risk_level": "high", "irreversible": irreversible });
        event(number, "tool.invoked", call)
    };
    announce(&server, vec![call(3, false)]).await.expect("it may call");
    ask(&server, "teller", route("other", 1)).await;
    ask(&server, "other", route("teller", 2)).await;
    let refused = announce(&server, vec![call(4, true)]).await;
    assert_eq!(code(&refused), "protocol_violation");
    let done = json!({ "tool": "pay", "status": "success" });
    announce(&server, vec![event(5, "tool.completed", done)]).await.expect("the call returns");
    let stream = session_stream(&operator(), &session());
    let found = server.engine.sessions().question(&stream, TOKEN).await.unwrap();
    assert!(matches!(found, Some(Question::Answered { .. })), "{found:?}");
    let last = server.store.history(&stream, u64::MAX, 2).await.expect("the store works");
    let names: Vec<&str> = last.iter().map(|it| it.entry.name.as_ref()).collect();
    assert_eq!(names, ["session.announced", "session.withdrawn"]);
    assert!(last[1].entry.body.text().is_some_and(|it| it.contains("\"used\":true")));
}
