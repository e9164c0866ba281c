//! The setting of the refusals: the callers, their credentials, and one handoff in every state.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::hidden_places::newest;
use crate::server::{Server, act, initiate, offer, ok, told_of_rejections};
use crate::sse::{Event, whole_ledger};
use crate::wire::Request;

/// No handoff has this id.
const UNKNOWN: &str = "01938c2e-0000-7000-8000-000000000001";

#[derive(Debug)]
pub struct World {
    pub server: Server,
    /// The `Authorization` header of each caller; none for `nobody`.
    credentials: BTreeMap<&'static str, String>,
    /// The id for each word in capitals.
    ids: BTreeMap<&'static str, String>,
    operator: Client,
    other_operator: Client,
}

impl World {
    pub async fn build() -> Self {
        let server = Server::start();
        let operator_token = server.token("root", &["--kind", "operator"]);
        let other = ["--teamspace", "other"];
        let other_token = server.token("root", &["--kind", "operator", other[0], other[1]]);
        let mut world = Self {
            operator: server.with_token(&operator_token),
            other_operator: server.with_token(&other_token),
            credentials: BTreeMap::new(),
            ids: BTreeMap::new(),
            server,
        };
        world.admit("operator", &operator_token);
        for agent in ["alice", "bob", "carol"] {
            world.admit(agent, &world.server.token(agent, &[]));
        }
        let coordinator = world.server.token("dora", &["--role", "coordinator"]);
        world.admit("coordinator", &coordinator);
        world.admit("system", &world.server.token("router", &["--kind", "system"]));
        world.admit("customer", &world.server.token("zoe", &["--kind", "customer"]));
        world.add_bad_credentials().await;
        world.add_handoffs().await;
        world.add_others().await;
        world
    }

    fn admit(&mut self, name: &'static str, token: &str) {
        self.credentials.insert(name, format!("Bearer {token}"));
    }

    async fn add_bad_credentials(&mut self) {
        let alice = self.credentials["alice"].clone();
        let alice = alice.trim_start_matches("Bearer ");
        self.credentials.insert("basic", format!("Basic {alice}"));
        self.credentials.insert("bare", alice.to_owned());
        self.admit("garbage", "tasuki_0000");
        self.admit("cut", &alice[..alice.len() - 1]);
        let issued = self.issue(json!({ "agent": "alice" })).await;
        let id = issued["token_id"].as_str().expect("an id").to_owned();
        ok(&self.operator, Call::post(format!("/v1/tokens/{id}/revoke"), json!({}))).await;
        self.admit("revoked", issued["token"].as_str().expect("a token"));
        self.ids.insert("TOKEN", id);
        let now = engine::ports::clock::Clock::now(&engine::ports::clock::SystemClock);
        let expires_at = now.plus(protocol::time::Span::from_millis(2_000)).to_string();
        let issued = self.issue(json!({ "agent": "alice", "expires_at": expires_at })).await;
        self.admit("expired", issued["token"].as_str().expect("a token"));
        let ask = self.request("expired", "GET /v1/agents");
        while ask.send(self.server.address()).await.status == 200 {}
    }

    async fn issue(&self, body: Value) -> Value {
        ok(&self.operator, Call::post("/v1/tokens", body)).await
    }

    /// A handoff from alice to bob in each state, and a task that both have owned.
    async fn add_handoffs(&mut self) {
        let [alice, bob] = ["alice", "bob"].map(|name| self.client(name));
        for name in ["DRAFT", "DISCARDED"] {
            let drafts = Call::post("/v1/handoffs/drafts", offer(name, "bob"));
            let id = ok(&alice, drafts).await["handoff_id"].as_str().expect("an id").to_owned();
            self.ids.insert(name, id);
        }
        act(&self.operator, &self.ids["DISCARDED"], "close", json!({})).await;
        let refusal = json!({ "reason": "other", "detail": "no" });
        let roads: [(&str, &[&str]); 7] = [
            ("PROPOSED", &[]),
            ("ACCEPTED", &["accept"]),
            ("ACTIVATED", &["accept", "activate"]),
            ("REJECTED", &["reject"]),
            ("COMPLETED", &["accept", "activate", "complete"]),
            ("CLOSED", &["reject", "close"]),
            ("OWNED", &["accept", "activate", "complete"]),
        ];
        for (name, road) in roads {
            let id = initiate(&alice, name, "bob").await;
            for action in road {
                let body = if *action == "reject" { refusal.clone() } else { json!({}) };
                act(&bob, &id, action, body).await;
            }
            self.ids.insert(name, id);
        }
        let message = json!({ "to": ["bob"], "type": "status.update" });
        let sent = ok(&alice, Call::post("/v1/acp/messages", message)).await;
        self.ids.insert("MESSAGE", sent["id"].as_str().expect("an id").to_owned());
        let opened = json!({ "agent": "bob" });
        let opened = ok(&alice, Call::post("/v1/conversations", opened)).await;
        let id = opened["conversation_id"].as_str().expect("an id").to_owned();
        self.ids.insert("CHAT", format!("/v1/conversations/{id}"));
        self.admit("caller", opened["customer_token"].as_str().expect("a token"));
        // The server's notices of the rejections must not come between the refusals.
        told_of_rejections(&self.operator, 2).await;
        let key = Some("used-key".to_owned());
        ok(&alice, Call { key, ..Call::post("/v1/handoffs", offer("KEYED", "bob")) }).await;
    }

    /// Another teamspace, with names of its own and some of ours.
    async fn add_others(&mut self) {
        let more = ["--teamspace", "other"];
        let alice = self.server.with_token(&self.server.token("alice", &more));
        let token = self.server.token("olga", &more);
        self.admit("olga", &token);
        self.ids.insert("OTHERS", initiate(&alice, "T-1", "olga").await);
        let listed = ok(&self.other_operator, Call::get("/v1/tokens?limit=1")).await;
        let token = listed["items"][0]["token_id"].as_str().expect("an id").to_owned();
        self.ids.insert("OTHERS_TOKEN", token);
        self.ids.insert("UNKNOWN", UNKNOWN.to_owned());
        self.ids.insert("MALFORMED", "not-a-uuid".to_owned());
        self.ids.insert("UPPER", self.ids["PROPOSED"].to_uppercase());
    }

    fn client(&self, name: &str) -> Client {
        let credential = &self.credentials[name];
        self.server.with_token(credential.trim_start_matches("Bearer "))
    }

    pub fn id(&self, name: &str) -> &str {
        self.ids.get(name).unwrap_or_else(|| panic!("nothing is called {name}"))
    }

    /// A request by a caller; words in braces stand for ids.
    pub fn request(&self, caller: &str, line: &str) -> Request {
        let mut line = line.to_owned();
        for (name, id) in &self.ids {
            line = line.replace(&format!("{{{name}}}"), id);
        }
        let request = Request::new(&line);
        match caller {
            "nobody" => request,
            caller => {
                let credential = self.credentials.get(caller);
                let credential =
                    credential.unwrap_or_else(|| panic!("no caller is named {caller}"));
                request.header("authorization", credential.as_bytes())
            }
        }
    }

    pub fn newest(&self) -> u64 {
        newest()
    }

    /// The ledger as the operators of both teamspaces see it.
    pub async fn ledger(&self) -> [Vec<Event>; 2] {
        [whole_ledger(&self.operator, "").await, whole_ledger(&self.other_operator, "").await]
    }
}
