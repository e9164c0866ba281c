//! A bank with an agent that announces what it does, and people who listen.

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::story::{Story, TOKEN};
use crate::server::{Server, ok};

pub struct Bank {
    pub server: Server,
    pub operator: Client,
    pub teller: Client,
    pub dana: Client,
    pub story: Story,
}

impl Bank {
    pub async fn open() -> Self {
        Self::with(Server::start()).await
    }

    pub async fn with(server: Server) -> Self {
        let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
        for (name, kind) in [("teller", "worker"), ("dana", "human"), ("omar", "human")] {
            ok(&operator, Call::put(format!("/v1/agents/{name}"), json!({ "kind": kind }))).await;
        }
        let (teller, dana) = (server.agent("teller"), server.agent("dana"));
        Self { server, operator, teller, dana, story: Story::new("sess_bank") }
    }

    pub async fn announce(&self, events: &[Value]) {
        ok(&self.teller, Call::post("/aaep/v1/events", json!(events))).await;
    }

    /// What the agent learns when it waits for the decision.
    pub async fn decision(&self) -> Value {
        let session = &self.story.session;
        let path = format!("/aaep/v1/sessions/{session}/decisions/{TOKEN}?wait=20s");
        ok(&self.teller, Call::get(path)).await
    }
}
