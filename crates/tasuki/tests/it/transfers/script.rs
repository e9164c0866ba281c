//! Scripts: actions on one transfer, a line each, such as `hana transfer ivan warm`. The epoch is
//! the one that the actor would see.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::{Desk, path, until};
use crate::server::ok;
use crate::ws::socket::Socket;

/// Everything arrives sooner, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A desk whose people pick from `default`, and are offered the customers of `second`.
pub struct Stage {
    pub desk: Desk,
    /// By name; the customer is `ana`.
    pub tokens: BTreeMap<&'static str, String>,
    pub transfer: Value,
}

impl Stage {
    pub async fn set() -> Self {
        let desk = Desk::open(json!({ "mode": "pick" })).await;
        ok(&desk.operator, Call::put("/v1/agents/second", json!({ "kind": "queue" }))).await;
        let mut tokens = BTreeMap::new();
        for name in ["hana", "ivan"] {
            desk.person(name).await;
            tokens.insert(name, desk.server.token(name, &[]));
        }
        tokens.insert("root", desk.server.token("root", &["--kind", "operator"]));
        let minted = ok(&desk.bob, Call::post(desk.path("/tokens"), json!({}))).await;
        tokens.insert("ana", minted["token"].as_str().expect("a token").to_owned());
        Self { desk, tokens, transfer: Value::Null }
    }

    pub fn client(&self, name: &str) -> Client {
        match name {
            "bob" => self.desk.bob.clone(),
            _ => self.desk.server.with_token(&self.tokens[name]),
        }
    }

    pub async fn socket(&self, name: &str) -> Socket {
        Socket::open(&self.desk.server, &self.tokens[name]).await
    }

    /// Follows the conversation, after a cursor or from now on.
    pub fn follow(&self, after: Option<Value>) -> Value {
        let mut frame = json!({ "do": "subscribe", "conversation": self.desk.conversation });
        if let Some(after) = after {
            frame["after"] = after;
        }
        frame
    }

    pub async fn play(&mut self, line: &str) {
        let words: Vec<_> = line.split(' ').collect();
        let [name, action, rest @ ..] = &words[..] else { panic!("who does what: {line}") };
        let who = self.client(name);
        let shown = ok(&self.desk.operator, Call::get(self.desk.path(""))).await;
        // Customers have no epoch.
        let mut body = match *name {
            "ana" => json!({}),
            _ => json!({ "epoch": shown["epoch"] }),
        };
        match (*action, rest) {
            ("says", _) => {
                let epoch = shown["epoch"].as_u64().filter(|_| *name != "ana");
                self.desk.say(&who, &rest.join(" "), epoch).await;
                return;
            }
            ("asks", []) => {
                self.transfer = self.desk.request(&who, body).await;
                return;
            }
            ("is", [presence]) => {
                let said = json!({ "presence": presence });
                ok(&who, Call::put(format!("/v1/agents/{name}/presence"), said)).await;
                return;
            }
            ("waits", [status]) => {
                until(&who, &self.transfer, status).await;
                return;
            }
            ("rings", []) => return self.until_it_rings_for(name).await,
            ("transfer", [to, kind]) => {
                (body["to"], body["type"]) = (json!(to), json!(kind));
            }
            ("note" | "whisper", text) => body["text"] = json!(text.join(" ")),
            (_, []) => {}
            (_, more) => panic!("not understood: {line}, {more:?}"),
        }
        ok(&who, Call::post(path(&self.transfer, action), body)).await;
    }

    /// The server asks people asynchronously.
    async fn until_it_rings_for(&self, name: &str) {
        let id = self.transfer["transfer_id"].as_str().expect("it was asked for");
        let rings = async {
            loop {
                let shown = ok(&self.desk.operator, Call::get(format!("/v1/transfers/{id}"))).await;
                let leg = (&shown["leg"]["status"], &shown["leg"]["agent"]);
                if leg == (&json!("ringing"), &json!(name)) {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, rings).await.expect("it rings in time");
    }
}

/// The messages, in the order of their numbers, each once.
#[derive(Debug, Default)]
pub struct Screen {
    lines: BTreeMap<u64, String>,
}

impl Screen {
    /// A line of a transcript, or of an event that has the same form.
    pub fn show(&mut self, line: &Value) {
        let Some(text) = line["parts"][0]["text"].as_str() else { return };
        let number = line["number"].as_u64().expect("a line has a number");
        let before = self.lines.insert(number, text.to_owned());
        assert!(before.is_none_or(|before| before == text), "two lines have number {number}");
    }

    pub fn texts(&self) -> Vec<&str> {
        self.lines.values().map(String::as_str).collect()
    }
}
