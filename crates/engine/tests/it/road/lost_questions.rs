//! Questions of an agent that has lost its conversation: nobody is asked in its name any more, and
//! the record says so, whichever part of the server notices first.

use engine::aaep::announce::session_stream;
use engine::aaep::sessions::Question;
use protocol::conversation;
use protocol::conversation::command::Open;
use protocol::ids::ConversationId;
use protocol::ledger::{Stream, Subject};
use protocol::session::event::Said;
use protocol::session::state::asking_prefix;
use protocol::step::Command;
use protocol::time::Span;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Server;
use super::sessions::{TOKEN, announce, asks, bank, event, names, session};
use crate::support::{agent, default_teamspace, operator};

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
            let server = bank().await;
            let open = Open { agent: Some("teller".parse().unwrap()), ..Open::default() };
            ask(&server, "teller", conversation::Command::Open(Box::new(open))).await;
            let second = json!({ "reply_token": "rpl_2", "action": "Close the account" });
            announce(&server, vec![started(), asks(2, json!({})), asks(3, second)])
                .await
                .expect("the session opens");
            assert_eq!(asking(&server).await.len(), 1);
            server.engine.sessions().speak_due().await.unwrap();
            let command = match lost_by {
                "route" => {
                    let route: Value = json!({ "goto": "other", "epoch": 1 });
                    conversation::Command::Route(serde_json::from_value(route).expect("a route"))
                }
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
                assert_eq!(found, Some(Question::Withdrawn), "{what} {token}");
            }
            let rebuilt = server.engine.read().rebuild(&stream).await.expect("a history");
            let current = server.engine.read().current(&stream).await.unwrap();
            assert_eq!(Some(&rebuilt), current.as_deref(), "{what}");
        }
    }
}
