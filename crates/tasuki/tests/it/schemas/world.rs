//! A server in this process, and for each operation a setting in which a valid request can succeed.

use std::collections::BTreeMap;

use axum::body::Body;
use gateways::listen::Peer;
use protocol::time::Time;
use serde_json::{Value, json};
use tasuki::client::{Call, Client, Identity};
use tasuki::config::Config;
use tasuki::node::Node;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tower::ServiceExt;

use crate::server::offer;
use crate::wire::{Answer, Request};

pub struct World {
    runtime: Runtime,
    node: Node,
    tokens: BTreeMap<String, String>,
    root: Client,
    n_tasks: u64,
    _stop: tokio::sync::watch::Sender<bool>,
    _folder: TempDir,
}

/// The caller, and the first line of the request.
#[derive(Debug, Clone)]
pub struct Place {
    pub caller: String,
    pub line: String,
}

impl World {
    pub fn open() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let runtime = Runtime::new().expect("a runtime");
        let config = Config { data: folder.path().join("data"), ..Config::default() };
        let (stop, stopping) = tokio::sync::watch::channel(false);
        let node = {
            let _inside = runtime.enter();
            Node::start(&config, stopping).expect("a new folder can be opened")
        };
        let root = Client::in_process(node.router.clone());
        let (tokens, n_tasks) = (BTreeMap::new(), 0);
        let mut world = Self { runtime, node, tokens, root, n_tasks, _stop: stop, _folder: folder };
        world.fill();
        world
    }

    fn fill(&mut self) {
        let bearers = [
            ("alice", "worker"),
            ("bob", "worker"),
            ("carol", "worker"),
            ("dora", "human"),
            ("desk", "queue"),
            ("spare", "queue"),
            ("extra", "worker"),
            ("router", "system"),
            ("operator", "operator"),
        ];
        for (name, kind) in bearers {
            let issued = self.post("", "/v1/tokens", json!({ "agent": name, "kind": kind }));
            self.tokens.insert(name.to_owned(), text(&issued["token"]));
        }
        let other = json!({ "teamspace": "other", "operator": "olga" });
        let issued = self.post("", "/v1/teamspaces", other);
        self.tokens.insert("olga".to_owned(), text(&issued["token"]));
        let graph = json!({
            "entry": "hello",
            "nodes": [{ "id": "hello", "kind": "specialist", "agent": "bob" }],
        });
        self.call("", Call::put("/v1/graphs/support", graph));
    }

    pub fn now(&self) -> Time {
        self.node.engine.clock().now()
    }

    /// A task that does not exist yet.
    pub fn new_task(&mut self) -> String {
        self.n_tasks += 1;
        format!("T-{}", self.n_tasks)
    }

    pub fn ask(&self, place: &Place, body: &Value) -> Answer {
        let request = Request::new(&place.line).token(&self.tokens[&place.caller]).json(body);
        let mut built = request.build().expect("a request").map(Body::new);
        built.extensions_mut().insert(Peer::Remote([127, 0, 0, 1].into()));
        self.runtime.block_on(async {
            let response = self.node.router.clone().oneshot(built).await.expect("an answer");
            Answer::read(response).await
        })
    }

    /// What can be read at a path.
    pub fn get(&self, path: &str) -> Value {
        self.call("", Call::get(path))
    }

    /// A call that must succeed; by the operator if `by` is empty.
    fn call(&self, by: &str, call: Call) -> Value {
        let act_as = Some(by.to_owned()).filter(|by| !by.is_empty());
        let client = self.root.clone().with_identity(Identity { act_as, ..Identity::default() });
        self.runtime.block_on(crate::server::ok(&client, call))
    }

    fn post(&self, by: &str, path: &str, body: Value) -> Value {
        self.call(by, Call::post(path, body))
    }

    /// A setting in which a valid request of this operation can succeed.
    pub fn place(&mut self, id: &str, method: &str, path: &str) -> Place {
        let (caller, path) = match path.split('/').nth(2) {
            Some("handoffs") => self.of_handoffs(id, path),
            Some("conversations") => self.of_conversations(id, path),
            Some("transfers") => self.of_transfers(id, path),
            _ => self.of_others(id, path),
        };
        Place { caller, line: format!("{} {path}", method.to_uppercase()) }
    }

    fn of_handoffs(&mut self, id: &str, path: &str) -> (String, String) {
        let at = |handoff: String| path.replace("{handoff}", &handoff);
        match id {
            "edit_draft" | "propose_draft" | "discard_draft" => ("alice".into(), at(self.draft())),
            "accept_handoff" | "reject_handoff" => ("bob".into(), at(self.made(&[]))),
            "withdraw_handoff" => ("alice".into(), at(self.made(&[]))),
            "extend_sla" => ("operator".into(), at(self.made(&[]))),
            "approve_handoff" | "refuse_handoff" => {
                let policy = json!({ "requires_human_approval": true });
                ("dora".into(), at(self.made_with(policy, &["accept"])))
            }
            "counter_handoff" => ("alice".into(), at(self.made(&["reject"]))),
            "activate_handoff" => ("bob".into(), at(self.made(&["accept"]))),
            "delegate_handoff" | "complete_handoff" | "report_progress" => {
                ("bob".into(), at(self.made(&["accept", "activate"])))
            }
            "recall_handoff" => ("alice".into(), at(self.made(&["accept"]))),
            "reassign_handoff" => ("operator".into(), at(self.made(&["accept", "activate"]))),
            "confirm_completion" | "dispute_completion" => {
                let policy = json!({ "requires_verifier": true });
                let steps = ["accept", "activate", "complete"];
                ("carol".into(), at(self.made_with(policy, &steps)))
            }
            "close_handoff" => ("bob".into(), at(self.made(&["reject"]))),
            "erase_content" => ("operator".into(), at(self.made(&["reject", "close"]))),
            _ => ("alice".into(), path.to_owned()),
        }
    }

    pub fn draft(&mut self) -> String {
        let body = offer(&self.new_task(), "bob");
        text(&self.post("alice", "/v1/handoffs/drafts", body)["handoff_id"])
    }

    fn made(&mut self, steps: &[&str]) -> String {
        self.made_with(json!({}), steps)
    }

    /// A handoff from alice to bob, after these steps of bob.
    fn made_with(&mut self, policy: Value, steps: &[&str]) -> String {
        let mut body = offer(&self.new_task(), "bob");
        body["policy"] = policy;
        let id = text(&self.post("alice", "/v1/handoffs", body)["handoff_id"]);
        for step in steps {
            let body = match *step {
                "reject" => json!({ "reason": "other", "detail": "no" }),
                _ => json!({}),
            };
            self.post("bob", &format!("/v1/handoffs/{id}/{step}"), body);
        }
        id
    }

    /// A conversation that alice opened and bob holds, and its customer's token.
    fn conversation(&mut self) -> String {
        let opened = self.post("alice", "/v1/conversations", json!({ "agent": "bob" }));
        self.tokens.insert("customer".to_owned(), text(&opened["customer_token"]));
        text(&opened["conversation_id"])
    }

    fn of_conversations(&mut self, id: &str, path: &str) -> (String, String) {
        if id == "open_conversation" {
            return ("alice".into(), path.to_owned());
        }
        let conversation = self.conversation();
        let path = path.replace("{conversation}", &conversation);
        let caller = match id {
            "select_agent" | "close_conversation" => "customer",
            "mint_customer_token" => "alice",
            "erase_message" | "request_human" => "operator",
            "settle_callback" => {
                let asked = json!({ "contact": "ana@example.com", "queue": "desk", "epoch": 1 });
                let at = format!("/v1/conversations/{conversation}/callbacks");
                self.post("bob", &at, asked);
                "dora"
            }
            _ => "bob",
        };
        (caller.to_owned(), path)
    }

    fn of_transfers(&mut self, id: &str, path: &str) -> (String, String) {
        let conversation = self.conversation();
        let asked = json!({ "queue": "desk", "epoch": 1 });
        let at = format!("/v1/conversations/{conversation}/transfers");
        let transfer = text(&self.post("bob", &at, asked)["transfer_id"]);
        let path = path.replace("{transfer}", &transfer);
        if matches!(id, "pick_up_transfer" | "accept_transfer" | "decline_transfer") {
            return ("dora".into(), path);
        }
        let caller = match id {
            "rate_transfer" => "customer",
            "cancel_transfer" => "customer",
            "fail_transfer" => "operator",
            _ => "dora",
        };
        (caller.to_owned(), path)
    }

    /// A question of alice to dora, as far as the operation needs it.
    fn of_questions(&mut self, id: &str, path: &str) -> (String, String) {
        let question = json!({ "to": "dora", "text": "May I?" });
        let asked = self.post("alice", "/v1/questions", question);
        let at = format!("/v1/questions/{}", text(&asked["question_id"]));
        let is_continued = matches!(id, "claim_question" | "renew_claim" | "finish_question");
        if is_continued || id == "erase_question" {
            let answer = json!({ "hash": asked["hash"], "decision": "approve" });
            self.post("dora", &format!("{at}/answer"), answer);
        }
        if is_continued && id != "claim_question" {
            self.post("alice", &format!("{at}/claim"), json!({}));
        }
        let caller = match id {
            "answer_question" => "dora",
            "erase_question" => "operator",
            _ => "alice",
        };
        (caller.to_owned(), path.replace("{question}", &text(&asked["question_id"])))
    }

    fn of_others(&mut self, id: &str, path: &str) -> (String, String) {
        let as_operator = |path: String| ("operator".to_owned(), path);
        match id {
            "acp_handoff" | "acp_send" | "read_notices" | "mute_notices" => {
                ("alice".into(), path.to_owned())
            }
            "acp_respond" | "read_message" => {
                let message = "01938c2e-0000-7000-8000-000000000001";
                ("bob".into(), path.replace("{message}", message))
            }
            "set_presence" => ("dora".into(), path.replace("{agent}", "dora")),
            "register_agent" => as_operator(path.replace("{agent}", "newcomer")),
            "set_roles" | "set_wake" | "set_endpoint" => {
                as_operator(path.replace("{agent}", "extra"))
            }
            "configure_teamspace" => ("olga".into(), path.to_owned()),
            "configure_queue" => as_operator(path.replace("{queue}", "spare")),
            "save_graph" | "remove_graph" => as_operator(path.replace("{graph}", "other")),
            "ask_question" | "ask_by_tool" => ("alice".into(), path.to_owned()),
            _ if path.contains("{question}") => self.of_questions(id, path),
            _ if path.contains("{webhook}") => {
                let listed = self.call("", Call::get("/v1/webhooks"));
                let id = match listed["items"][0]["webhook_id"].as_str() {
                    Some(id) => id.to_owned(),
                    None => {
                        let body = json!({ "url": "https://127.0.0.1:9/in" });
                        text(&self.post("", "/v1/webhooks", body)["webhook_id"])
                    }
                };
                as_operator(path.replace("{webhook}", &id))
            }
            _ if path.contains("{upload}") => {
                let upload = self.post("", "/v1/uploads", json!({ "size_bytes": 0 }));
                as_operator(path.replace("{upload}", &text(&upload["upload_id"])))
            }
            "revoke_token" => {
                let body = json!({ "agent": "extra" });
                let token = self.post("", "/v1/tokens", body);
                as_operator(path.replace("{token}", &text(&token["token_id"])))
            }
            _ => as_operator(path.replace("{session}", "sess_1")),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
