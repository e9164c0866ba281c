//! Two teamspaces with the same cast: a sender, a target, and agents that have no part in it.

mod making;

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::bodies::{
    body_of, first_checkpoint, graph, human_is_there, make_file, make_upload, started, subscribes,
    tool_call, webhook, witnessed_log,
};
use super::questions::body_of_question;
use super::rules::Case;
use crate::server::{Server, act, initiate, offer, ok, told_of_rejections};
use crate::wire::{Answer, Line, Request};

pub const OWN: &str = "default";
pub const OTHER: &str = "other";

/// Kinds of ids in a path besides a handoff.
pub const AGENT: &str = "agent";
pub const HUMAN: &str = "human";
pub const TOKEN: &str = "token";
pub const MESSAGE: &str = "message";
pub const CONVERSATION: &str = "conversation";
/// A conversation whose customer shall be called.
pub const CALLED: &str = "called";
pub const QUEUE: &str = "queue";

/// A queue from which people pick.
const BACKROOM: &str = "backroom";
pub const GRAPH: &str = "graph";
pub const SESSION: &str = "session";
pub const SUBSCRIPTION: &str = "subscription";
pub const WEBHOOK: &str = "webhook";
pub const FILE: &str = "file";
pub const UPLOAD: &str = "upload";

pub const CALLERS: [&str; 12] = [
    "none",
    "garbage",
    "revoked",
    "expired",
    "customer",
    "stranger",
    "sender",
    "target",
    "coordinator",
    "system",
    "operator",
    "human",
];

const BEARERS: [(&str, &str, &str); 9] = [
    ("customer", "zoe", "customer"),
    ("stranger", "carol", "worker"),
    ("sender", "alice", "worker"),
    ("target", "bob", "worker"),
    ("coordinator", "dora", "worker"),
    ("system", "router", "system"),
    ("human", "dana", "human"),
    ("revoked", "alice", "worker"),
    ("expired", "alice", "worker"),
];

/// Agents that only our own teamspace has.
const HERMIT: &str = "hermit";
const RECLUSE: &str = "recluse";

#[derive(Debug)]
pub struct Cast {
    pub server: Server,
    tokens: BTreeMap<(&'static str, &'static str), String>,
    /// Things of our own teamspace, by kind, which others must not find.
    hidden: BTreeMap<&'static str, String>,
    /// The tokens of customers, by conversation.
    customers: Mutex<BTreeMap<String, String>>,
    /// Transfers that the human has a part in.
    taken: Mutex<Vec<String>>,
    n_made: std::sync::atomic::AtomicUsize,
}

impl Cast {
    pub async fn assemble() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let server = Server::start_on(&folder.path().join("data"), |command| {
            command.env("TASUKI_WITNESS_ORIGINS", witnessed_log().verifier_key());
        })
        .owning(folder);
        let (tokens, hidden) = (BTreeMap::new(), BTreeMap::new());
        let customers = Mutex::default();
        let taken = Mutex::default();
        let mut cast = Self { server, tokens, hidden, customers, taken, n_made: 0.into() };
        for teamspace in [OWN, OTHER] {
            let more = ["--kind", "operator", "--teamspace", teamspace];
            cast.tokens.insert((teamspace, "operator"), cast.server.token("root", &more));
            cast.add_bearers(teamspace).await;
        }
        let operator = cast.operator(OWN);
        for (id, kind) in [(HERMIT, "worker"), (RECLUSE, "human"), (BACKROOM, "queue")] {
            ok(&operator, Call::put(format!("/v1/agents/{id}"), json!({ "kind": kind }))).await;
        }
        let pick = Call::put(format!("/v1/queues/{BACKROOM}"), json!({ "mode": "pick" }));
        ok(&operator, pick).await;
        for state in ["t.queued", "t.ringing", "t.connected", "t.on_hold", "t.completed"] {
            let id = cast.make(state).await;
            cast.hidden.insert(state, id);
        }
        for state in ["draft", "discarded", "proposed", "guarded", "accepted", "activated"] {
            let id = cast.make(state).await;
            cast.hidden.insert(state, id);
        }
        for state in
            ["unconfirmed", "rejected", "completed", "closed", TOKEN, MESSAGE, CONVERSATION, CALLED]
        {
            let id = cast.make(state).await;
            cast.hidden.insert(state, id);
        }
        for kind in ["q.open", "q.answered", "q.claimed", "q.withdrawn"] {
            let id = cast.make(kind).await;
            cast.hidden.insert(kind, id);
        }
        for kind in [GRAPH, SESSION, SUBSCRIPTION, WEBHOOK, FILE, UPLOAD] {
            let id = cast.make(kind).await;
            cast.hidden.insert(kind, id);
        }
        cast.hidden.insert(AGENT, HERMIT.to_owned());
        cast.hidden.insert(HUMAN, RECLUSE.to_owned());
        cast.hidden.insert(QUEUE, BACKROOM.to_owned());
        told_of_rejections(&operator, 2).await;
        cast
    }

    async fn add_bearers(&mut self, teamspace: &'static str) {
        let operator = self.operator(teamspace);
        for (role, agent, kind) in BEARERS {
            let mut body = json!({ "agent": agent, "kind": kind });
            match role {
                "coordinator" => body["roles"] = json!(["coordinator"]),
                "expired" => {
                    // Later than the request takes, even on a machine that is busy.
                    let now = engine::ports::clock::Clock::now(&engine::ports::clock::SystemClock);
                    let soon = now.plus(protocol::time::Span::from_millis(2_000));
                    body["expires_at"] = soon.to_string().into();
                }
                _ => {}
            }
            let issued = ok(&operator, Call::post("/v1/tokens", body)).await;
            if role == "revoked" {
                let id = issued["token_id"].as_str().expect("an id");
                ok(&operator, Call::post(format!("/v1/tokens/{id}/revoke"), json!({}))).await;
            }
            let token = issued["token"].as_str().expect("a token").to_owned();
            self.tokens.insert((teamspace, role), token);
        }
        let expired = self.client(teamspace, "expired");
        while expired.call(Call::get("/v1/agents")).await.expect("an answer").status == 200 {}
        ok(&operator, human_is_there()).await;
        ok(&operator, Call::put("/v1/agents/hana", json!({ "kind": "human" }))).await;
        // An agent that every caller can hand a task to.
        let eve = json!({ "kind": "worker", "profile": { "user_selectable": true } });
        ok(&operator, Call::put("/v1/agents/eve", eve)).await;
    }

    pub fn client(&self, teamspace: &'static str, caller: &'static str) -> Client {
        self.server.with_token(&self.tokens[&(teamspace, caller)])
    }

    pub fn operator(&self, teamspace: &'static str) -> Client {
        self.client(teamspace, "operator")
    }

    /// Ids and names that only our own teamspace has.
    pub fn secrets(&self) -> Vec<String> {
        self.hidden.values().cloned().chain(["OWN-".to_owned()]).collect()
    }

    /// Those that the ledger has. An upload is no entry of it.
    pub fn recorded_secrets(&self) -> Vec<String> {
        let recorded = self.hidden.iter().filter(|(kind, _)| **kind != UPLOAD);
        recorded.map(|(_, id)| id.clone()).collect()
    }

    /// A thing of our own teamspace that existed from the start.
    pub fn hidden(&self, case: &Case) -> String {
        self.hidden[case.subject_kind()].clone()
    }

    /// A fresh thing for a case: a handoff in its state, an agent, a token; or nothing.
    pub async fn subject(&self, case: &Case) -> String {
        match case.subject_kind() {
            "" => String::new(),
            AGENT => HERMIT.to_owned(),
            HUMAN => RECLUSE.to_owned(),
            QUEUE => BACKROOM.to_owned(),
            // No case changes what another may do to it, and its sender may send only so many.
            MESSAGE => self.hidden[MESSAGE].clone(),
            kind => self.make(kind).await,
        }
    }

    async fn make(&self, kind: &str) -> String {
        let task = self.new_task();
        let [alice, bob] = ["sender", "target"].map(|caller| self.client(OWN, caller));
        let road: &[&str] = match kind {
            TOKEN => {
                let spare = Call::post("/v1/tokens", json!({ "agent": HERMIT }));
                let issued = ok(&self.operator(OWN), spare).await;
                return issued["token_id"].as_str().expect("an id").to_owned();
            }
            MESSAGE => return self.make_message(&task).await,
            CONVERSATION => return self.make_conversation(&alice).await,
            CALLED => return Box::pin(self.make_called()).await,
            kind if kind.starts_with("t.") => return self.transfer(kind).await,
            kind if kind.starts_with("q.") => return self.question(kind).await,
            GRAPH => return self.make_graph(&task).await,
            SESSION => return self.make_session(&task).await,
            SUBSCRIPTION => return self.make_subscription().await,
            WEBHOOK => return self.make_webhook().await,
            FILE => return make_file(&alice, &task).await,
            UPLOAD => return make_upload(&alice).await,
            "draft" | "discarded" => {
                let drafts = Call::post("/v1/handoffs/drafts", offer(&task, "bob"));
                let id = ok(&alice, drafts).await["handoff_id"].as_str().expect("an id").to_owned();
                if kind == "discarded" {
                    act(&self.operator(OWN), &id, "close", json!({})).await;
                }
                return id;
            }
            "guarded" => {
                let mut guarded = offer(&task, "bob");
                guarded["policy"] = json!({ "human_gate": "required" });
                let proposed = ok(&alice, Call::post("/v1/handoffs", guarded)).await;
                return proposed["handoff_id"].as_str().expect("an id").to_owned();
            }
            "unconfirmed" => {
                let mut shown = offer(&task, "bob");
                shown["policy"] = json!({ "requires_verifier": true });
                let proposed = ok(&alice, Call::post("/v1/handoffs", shown)).await;
                let id = proposed["handoff_id"].as_str().expect("an id").to_owned();
                for action in ["accept", "activate", "complete"] {
                    act(&bob, &id, action, json!({})).await;
                }
                return id;
            }
            "proposed" => &[],
            "accepted" => &["accept"],
            "activated" => &["accept", "activate"],
            "completed" => &["accept", "activate", "complete"],
            "rejected" => &["reject"],
            "closed" => &["reject", "close"],
            other => panic!("no road to {other}"),
        };
        let id = initiate(&alice, &task, "bob").await;
        for action in road {
            act(&bob, &id, action, body_of(action, &task)).await;
        }
        id
    }

    /// A transfer that the human of our teamspace takes to this state.
    async fn transfer(&self, kind: &str) -> String {
        let road: &[&str] = match kind {
            "t.queued" => &[],
            "t.ringing" => &["pickup"],
            "t.connected" => &["pickup", "accept"],
            "t.on_hold" => &["pickup", "accept", "hold"],
            "t.completed" => &["pickup", "accept", "complete"],
            other => panic!("no road to {other}"),
        };
        let [alice, human] = ["sender", "human"].map(|caller| self.client(OWN, caller));
        // People take only so many at once.
        let before = std::mem::take(&mut *self.taken.lock().expect("no test panics"));
        let operator = self.operator(OWN);
        // Streams that the human had are closed, and on a slow machine that was noticed.
        ok(&operator, human_is_there()).await;
        for id in before {
            let done = Call::post(format!("/v1/transfers/{id}/cancel"), json!({}));
            operator.call(done).await.expect("an answer");
        }
        let open = json!({ "agent": "bob", "customer": { "name": self.new_task() } });
        let opened = ok(&alice, Call::post("/v1/conversations", open)).await;
        let token = opened["customer_token"].as_str().expect("a token").to_owned();
        let path = opened["conversation_id"].as_str().expect("an id");
        let path = format!("/v1/conversations/{path}/transfers");
        let asked = ok(&operator, Call::post(path, json!({ "queue": BACKROOM }))).await;
        let id = asked["transfer_id"].as_str().expect("an id").to_owned();
        for action in road {
            let epoch = if ["pickup", "accept"].contains(action) { 2 } else { 3 };
            let path = format!("/v1/transfers/{id}/{action}");
            ok(&human, Call::post(path, json!({ "epoch": epoch }))).await;
        }
        self.customers.lock().expect("no test panics").insert(id.clone(), token);
        self.taken.lock().expect("no test panics").push(id.clone());
        id
    }

    fn new_task(&self) -> String {
        let n = self.n_made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        format!("OWN-{n}")
    }

    /// Asks for a case as a caller. The subject may belong to another teamspace.
    pub async fn ask(
        &self,
        teamspace: &'static str,
        caller: &'static str,
        case: &Case,
        subject: &str,
    ) -> Answer {
        let path = case.path.split('/').map(|step| match step {
            "{number}" => "1",
            "{index}" => "0",
            "{reply_token}" => "rpl_1",
            step if step.starts_with('{') => subject,
            step => step,
        });
        let path = match (path.collect::<Vec<_>>().join("/"), case.operation.as_str()) {
            (path, "listen") => format!("{path}?subscription_id={subject}"),
            (path, "show_bundle") => format!("{path}-0"),
            (path, _) => path,
        };
        let mut request = Request::new(&format!("{} {path}", case.method.to_uppercase()));
        request = match caller {
            "none" => request,
            "garbage" => request.token("tasuki_0000"),
            caller => {
                let customers = self.customers.lock().expect("no test panics").clone();
                let own = customers.get(subject);
                let own = own.filter(|_| (teamspace, caller) == (OWN, "customer"));
                request.token(own.unwrap_or(&self.tokens[&(teamspace, caller)]))
            }
        };
        if case.method != "get" {
            let of_question = body_of_question(&case.operation);
            let mut body = of_question.unwrap_or_else(|| self.body(case, subject));
            if case.operation == "announce_events" {
                let own = BEARERS.iter().find(|(role, _, _)| *role == caller);
                body = started(&self.new_task(), own.map_or("root", |(_, agent, _)| agent));
            }
            request = match case.operation.as_str() {
                "add_checkpoint" => request.text(&first_checkpoint()),
                "store_file" | "append_to_upload" => request.text(""),
                _ => request.json(&body),
            };
        }
        if case.operation.ends_with("_socket") {
            let protocol = match case.operation.as_str() {
                "open_aaep_socket" => "aaep.v1",
                _ => "tasuki.v1",
            };
            let handshake = [
                ("sec-websocket-protocol", protocol),
                ("connection", "upgrade"),
                ("upgrade", "websocket"),
                ("sec-websocket-version", "13"),
                ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ];
            for (name, value) in handshake {
                request = request.header(name, value.as_bytes());
            }
        }
        let mut line = Line::open(self.server.address()).await;
        if ["follow_events", "listen", "compat_listen"].contains(&case.operation.as_str()) {
            line.begin(&request).await
        } else {
            line.ask(&request).await
        }
    }

    fn body(&self, case: &Case, subject: &str) -> Value {
        let task = self.new_task();
        let mut body = match (&case.action, case.operation.as_str()) {
            (Some(action), _) => body_of(action, &task),
            (None, "register_agent") => json!({ "kind": "worker" }),
            (None, "set_wake" | "set_endpoint") => json!({ "url": null }),
            (None, "compat_message") => json!({ "kind": "nothing to us" }),
            (None, "compat_session") => json!({ "user_message": "hello" }),
            (None, "read_notices") => json!({ "until": "0" }),
            (None, "mute_notices") => json!({ "kinds": ["activated"] }),
            (None, "set_presence") => json!({ "presence": "away" }),
            (None, "set_roles") => json!({ "roles": ["executor"] }),
            (None, "configure_teamspace") => json!({ "name": task }),
            (None, "create_teamspace") => {
                json!({ "teamspace": task.to_lowercase(), "operator": "root" })
            }
            (None, "set_quotas") => json!({ "teamspace": "default", "quotas": {} }),
            (None, "save_graph") => graph(),
            (None, "create_webhook" | "change_webhook") => webhook(),
            (None, "begin_upload" | "store_file") => json!({ "size_bytes": 0 }),
            (None, operation) if operation.ends_with("_upload") => json!({}),
            (None, "redeliver_event" | "discard_delivery") => json!({ "event": "cur_1" }),
            (None, "open_subscription") => subscribes(),
            (None, "reply") => json!({
                "type": "confirmation.reply", "reply_token": "rpl_1", "decision": "accept",
                "subscription_id": "sub_1", "timestamp": "2026-05-24T14:22:01.000Z",
            }),
            (None, "open_conversation") => json!({ "agent": "eve" }),
            (None, "say") => json!({ "parts": [{ "type": "text", "text": "hi" }], "epoch": 1 }),
            (None, "request_human") => json!({ "queue": BACKROOM, "epoch": 1 }),
            (None, "ask_callback") => json!({ "queue": BACKROOM, "contact": "c", "epoch": 1 }),
            (None, "settle_callback") => json!({ "outcome": "reached" }),
            (None, "configure_queue") => json!({ "mode": "pick" }),
            (None, "transfer_on") => json!({ "to": BACKROOM, "epoch": 3 }),
            (None, "rate_transfer") => json!({ "score": 5 }),
            (None, "fail_transfer") => json!({ "epoch": 2, "reason": "r" }),
            (None, "note_transfer" | "whisper_transfer") => json!({ "epoch": 3, "text": "t" }),
            (None, operation) if operation.ends_with("_transfer") => {
                let epoch = match case.state {
                    "t.queued" | "t.ringing" => 2,
                    _ => 3,
                };
                json!({ "epoch": epoch })
            }
            (None, "route_conversation") => json!({ "goto": "eve", "epoch": 1 }),
            (None, "observe_signals") => json!({
                "message": 1, "signals": [{ "signal": "frustration", "score": 0.5 }],
            }),
            (None, "select_agent") => json!({ "agent_id": "eve" }),
            (None, "call_tools") => tool_call(),
            (None, "acp_send") => json!({ "to": ["eve"], "type": "status.update" }),
            (None, "acp_respond") => json!({ "type": "status.update" }),
            (None, "issue_token") => json!({ "agent": "eve" }),
            (None, "declare_fork") => json!({ "reason": "a restore" }),
            (None, "purge_messages") => {
                json!({ "before": "2000-01-01T00:00:00Z", "reason": "asked for" })
            }
            (None, "erase_content" | "erase_message" | "erase_session") => {
                json!({ "position": 1, "reason": "asked for" })
            }
            (None, operation) => body_of(operation.split('_').next().expect("a verb"), &task),
        };
        if let Some(action) = &case.action {
            body["action"] = action.as_str().into();
            if !subject.is_empty() {
                body["handoff_id"] = subject.into();
            }
        }
        body
    }
}
