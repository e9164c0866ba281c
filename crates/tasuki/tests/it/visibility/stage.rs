//! The cast of the matrix, and a handoff under each policy in which every role has its part.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::Row;
use super::ways::{WAYS, Way};
use crate::server::{Server, act, offer, ok};
use crate::sse::Stream;
use crate::ws::socket::Socket;

/// The columns of the table, in its order.
pub const ROLES: [&str; 10] = [
    "sender",
    "target",
    "owner",
    "delegator",
    "approver",
    "verifier",
    "coordinator",
    "operator",
    "human",
    "member",
];

/// The agent of a role: the name, the kind, and its roles.
const CAST: [(&str, &str, &str, &[&str]); 9] = [
    ("sender", "sam", "worker", &[]),
    ("target", "tara", "worker", &[]),
    ("owner", "olaf", "worker", &[]),
    ("delegator", "dina", "worker", &[]),
    ("approver", "hana", "human", &[]),
    ("verifier", "vera", "worker", &["reviewer"]),
    ("coordinator", "cora", "worker", &["coordinator"]),
    // A role that may not approve.
    ("human", "hugo", "human", &["executor"]),
    ("member", "mia", "worker", &[]),
];

/// Whether the policy asks for an approver and a verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    Both,
    Neither,
}

/// A reader, and the events that it received live.
#[derive(Debug)]
pub struct Reader {
    pub client: Client,
    pub token: String,
    pub streamed: Vec<Value>,
    pub told: Vec<Value>,
}

/// The handoff that readers look for.
#[derive(Debug)]
pub struct Subject {
    row: usize,
    asks: Asks,
    pub id: String,
    pub task: String,
    /// The handoff that it is a part of, which all may read, and its task.
    pub whole: String,
    pub whole_task: String,
}

#[derive(Debug)]
pub struct Stage {
    pub server: Server,
    pub readers: BTreeMap<&'static str, Reader>,
    subjects: Vec<Subject>,
}

impl Stage {
    pub async fn set(rows: &[Row]) -> Self {
        let server = Server::start();
        let operator = server.token("root", &["--kind", "operator"]);
        let mut readers = BTreeMap::new();
        let reader = |token: &str| Reader {
            client: server.with_token(token),
            token: token.to_owned(),
            streamed: Vec::new(),
            told: Vec::new(),
        };
        readers.insert("operator", reader(&operator));
        for (role, agent, kind, roles) in CAST {
            let body = json!({ "agent": agent, "kind": kind, "roles": roles });
            let issued = ok(&readers["operator"].client, Call::post("/v1/tokens", body)).await;
            readers.insert(role, reader(issued["token"].as_str().expect("a token")));
        }
        let mut live = Vec::new();
        for (role, reader) in &readers {
            let stream = Stream::open(&reader.client, "/v1/events", None).await;
            let mut socket = Socket::open(&server, &reader.token).await;
            socket.ok(json!({ "do": "subscribe" })).await;
            live.push((*role, stream, socket));
        }
        let mut stage = Self { server, readers, subjects: Vec::new() };
        for (number, row) in rows.iter().enumerate() {
            for asks in [Asks::Both, Asks::Neither] {
                let subject = stage.subject(number, row.policy(asks), asks).await;
                stage.subjects.push(subject);
            }
        }
        // Every reader is told of the last one, and so was told all before it.
        let last = offer("LAST", "tara");
        ok(&stage.readers["sender"].client, Call::post("/v1/handoffs", last)).await;
        for (role, mut stream, mut socket) in live {
            let is_last = |entry: &Value| entry["data"]["task_id"] == "LAST";
            let reader = stage.readers.get_mut(role).expect("one of the cast");
            while !reader.streamed.last().is_some_and(is_last) {
                reader.streamed.push(stream.next_entry().await.expect("it goes on").data);
            }
            while !reader.told.last().is_some_and(is_last) {
                reader.told.push(socket.event().await["event"].clone());
            }
        }
        stage
    }

    /// A task of the owner goes to the delegator, who hands a part on under the policy. The first
    /// target begins the work, and a coordinator reassigns it to the target.
    async fn subject(&self, row: usize, policy: Value, asks: Asks) -> Subject {
        let client = |role: &str| &self.readers[role].client;
        let task = format!("T-{row}-{asks:?}");
        let whole = ok(client("owner"), Call::post("/v1/handoffs", offer(&task, "dina"))).await;
        let whole = whole["handoff_id"].as_str().expect("an id").to_owned();
        act(client("delegator"), &whole, "accept", json!({})).await;
        act(client("delegator"), &whole, "activate", json!({})).await;
        let mut part = offer("", "sam");
        part["task"]["task_id"] = json!(format!("{task}.part"));
        part["policy"] = policy;
        let began = act(client("delegator"), &whole, "delegate", part).await;
        let first = began["new_handoff_id"].as_str().expect("an id").to_owned();
        if asks == Asks::Both {
            act(client("approver"), &first, "approve", json!({})).await;
        }
        act(client("sender"), &first, "accept", json!({})).await;
        act(client("sender"), &first, "activate", json!({})).await;
        let instead = json!({ "to_agent": "tara", "why": "sam is away" });
        let began = act(client("coordinator"), &first, "reassign", instead).await;
        let id = began["new_handoff_id"].as_str().expect("an id").to_owned();
        Subject { row, asks, id, task: format!("{task}.part"), whole, whole_task: task }
    }

    /// Reads each subject in each way in each role. `read_as` may put another reader into a role.
    /// Returns the differences from the table, the number of cells, and the number of closed ones.
    pub async fn judge(
        &self,
        rows: &[Row],
        read_as: fn(&'static str) -> &'static str,
    ) -> (Vec<String>, usize, usize) {
        let (mut wrong, mut n_cells, mut n_closed) = (Vec::new(), 0, 0);
        for subject in &self.subjects {
            let row = &rows[subject.row];
            for role in ROLES {
                let may_read = row.may_read(role, subject.asks);
                let reader = &self.readers[read_as(role)];
                for way in WAYS {
                    // An operator is not an agent and proposes nothing.
                    if role == "operator" && matches!(way, Way::Conflict | Way::DryRun) {
                        continue;
                    }
                    n_cells += 1;
                    n_closed += usize::from(!may_read);
                    let seen = way.reads(self, reader, subject).await;
                    if seen != may_read {
                        let Row { visibility, classification, .. } = row;
                        wrong.push(format!(
                            "{visibility} {classification} ({:?} asked): {role} by {way:?}: \
                             {seen}, expected {may_read}",
                            subject.asks
                        ));
                    }
                }
            }
        }
        (wrong, n_cells, n_closed)
    }
}
