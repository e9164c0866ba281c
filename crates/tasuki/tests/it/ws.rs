//! Sockets: a customer, bots and people on one connection each. Requests are answered as over HTTP,
//! events are told once and in order, and no client is told of what it may not see.

mod bounds;
mod frames;
mod handshake;
mod resume;
pub mod socket;
mod story;
mod unfinished;

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::server::{Server, ok};
use socket::Socket;

/// A conversation with its customer, and tokens of its possible holders.
struct Chat {
    server: Server,
    operator: Client,
    id: String,
    customer: String,
    bob: String,
    carol: String,
}

impl Chat {
    async fn open(server: Server) -> Self {
        let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
        let profiles = [("bob", true), ("carol", true), ("dora", false)];
        for (name, user_selectable) in profiles {
            let profile =
                json!({ "name": name.to_uppercase(), "user_selectable": user_selectable });
            let agent = json!({ "kind": "worker", "profile": profile });
            ok(&operator, Call::put(format!("/v1/agents/{name}"), agent)).await;
        }
        let body = json!({ "agent": "bob", "customer": { "name": "Ana" } });
        let opened = ok(&operator, Call::post("/v1/conversations", body)).await;
        let text = |name: &str| opened[name].as_str().expect("text").to_owned();
        let (id, customer) = (text("conversation_id"), text("customer_token"));
        let (bob, carol) = (server.token("bob", &[]), server.token("carol", &[]));
        Self { server, operator, id, customer, bob, carol }
    }

    async fn start() -> Self {
        Self::open(Server::start()).await
    }

    async fn socket(&self, token: &str) -> Socket {
        Socket::open(&self.server, token).await
    }

    /// A command about this conversation.
    fn command(&self, name: &str, body: Value) -> Value {
        json!({ "do": name, "with": { "conversation": self.id }, "body": body })
    }

    fn say(&self, text: &str) -> Value {
        self.command("say", json!({ "parts": [{ "type": "text", "text": text }] }))
    }

    fn answer(&self, text: &str, epoch: u64) -> Value {
        let parts = json!([{ "type": "text", "text": text }]);
        self.command("say", json!({ "parts": parts, "epoch": epoch }))
    }

    /// A subscription to this conversation, after a cursor or from now on.
    fn follow(&self, after: Option<Value>) -> Value {
        let mut frame = json!({ "do": "subscribe", "conversation": self.id });
        if let Some(after) = after {
            frame["after"] = after;
        }
        frame
    }
}
