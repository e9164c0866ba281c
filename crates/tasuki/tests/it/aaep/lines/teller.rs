//! The producer's end of a line: it announces, asks, and learns the result of its question.

use std::collections::VecDeque;

use aaep::handshake::read_handshake;
use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::Line;
use super::branch::Branch;
use super::peer::Peer;
use crate::aaep::story::TOKEN;

pub enum Teller {
    Http(Client),
    Connection {
        peer: Box<Peer>,
        /// The results of its questions that it received.
        told: VecDeque<Value>,
        /// Questions whose results it will receive.
        n_asked: usize,
    },
}

/// The result of a question, as its producer learns it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    pub status: String,
    pub decision: String,
    /// The name of the listener that answered.
    pub by: Option<String>,
}

impl Decided {
    pub fn by(name: &str, decision: &str) -> Self {
        let [status, decision] = ["answered", decision].map(str::to_owned);
        Self { status, decision, by: Some(name.to_owned()) }
    }

    /// A timeout, which counts as a no.
    pub fn by_nobody() -> Self {
        let [status, decision] = ["timed_out", "reject"].map(str::to_owned);
        Self { status, decision, by: None }
    }
}

impl Teller {
    pub async fn open(branch: &Branch, line: Line) -> Self {
        match line {
            Line::Http | Line::Compat(_) => {
                Self::Http(branch.server.with_token(&branch.teller.token))
            }
            Line::Connection(road) => Self::Connection {
                peer: Box::new(branch.producer(road).await),
                told: VecDeque::new(),
                n_asked: 0,
            },
        }
    }

    /// Announces events that must be recorded: two together, the others alone.
    pub async fn announce(&mut self, events: &[Value]) {
        let (together, alone) = events.split_at(events.len().min(2));
        for message in std::iter::once(json!(together)).chain(alone.iter().cloned()) {
            self.tries(&message).await.unwrap_or_else(|why| panic!("{message}: {why}"));
        }
    }

    /// Announces an event or a list, or learns why it is refused.
    pub async fn tries(&mut self, message: &Value) -> Result<(), Value> {
        match self {
            Self::Http(client) => {
                let call = Call::post("/aaep/v1/events", message.clone());
                let answer = client.call(call).await.expect("the server answers");
                if answer.status < 300 { Ok(()) } else { Err(answer.body) }
            }
            Self::Connection { peer, told, n_asked } => {
                peer.send(message.clone()).await;
                loop {
                    let answer = peer.next().await;
                    match answer["type"].as_str() {
                        Some("tasuki.recorded") => {
                            *n_asked += usize::from(message["reply_token"].is_string());
                            return Ok(());
                        }
                        Some("tasuki.refused") => return Err(answer),
                        Some(_) | None => told.push_back(answer),
                    }
                }
            }
        }
    }

    /// The result of a question. A producer that was told already asks again, with the same bytes.
    pub async fn decision(&mut self, question: &Value) -> Decided {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        // The name that the server knows, not the one that the listener claims.
        let name = |value: &Value| {
            value.as_str().map(|by| by.strip_prefix("agent:").expect("its kind").to_owned())
        };
        if let Self::Http(client) = self {
            let session = question["session_id"].as_str().expect("a session");
            let path = format!("/aaep/v1/sessions/{session}/decisions/{TOKEN}?wait=20s");
            let decided = crate::server::ok(client, Call::get(path)).await;
            return Decided {
                status: text(&decided["status"]).expect("a status"),
                decision: text(&decided["decision"]).expect("a decision"),
                by: name(&decided["answered_by"]),
            };
        }
        if self.n_awaited() == 0 {
            self.tries(question).await.expect("what is recorded may be sent again");
        }
        let Self::Connection { peer, told, n_asked } = self else { unreachable!("it is no other") };
        *n_asked -= 1;
        let reply = match told.pop_front() {
            Some(reply) => reply,
            None => peer.next().await,
        };
        assert_eq!(
            (&reply["type"], &reply["reply_token"]),
            (&json!("confirmation.reply"), &json!(TOKEN)),
            "{reply}"
        );
        let status = text(&reply["extensions"]["tasuki"]["status"]);
        if status.is_none() {
            read_handshake(&reply.to_string()).expect("a reply as the protocol has it");
        }
        Decided {
            status: status.unwrap_or_else(|| "answered".to_owned()),
            decision: text(&reply["decision"]).expect("a decision"),
            by: name(&reply["decided_by"]),
        }
    }

    fn n_awaited(&self) -> usize {
        match self {
            Self::Http(_) => 0,
            Self::Connection { n_asked, .. } => *n_asked,
        }
    }

    /// An answer to its own question.
    pub async fn answers_itself(&mut self, reply: &Value) {
        match self {
            Self::Http(client) => {
                let call = Call::post("/aaep/v1/replies", reply.clone());
                let answer = client.call(call).await.expect("the server answers");
                assert_eq!((answer.status, &answer.body), (204, &Value::Null));
            }
            Self::Connection { peer, .. } => {
                peer.send(reply.clone()).await;
                assert_eq!(peer.received().await, Vec::<Value>::new(), "nothing is said to it");
            }
        }
    }
}
