//! Attacks by requests that are answered: one step is one request, or a few that build on each
//! other.

use anyhow::Result;
use serde_json::json;

use super::super::super::aaep::{Names, written};
use super::super::wire::{Answer, request};
use super::{Attacker, Kind};

/// Messages to one conversation before the next is opened.
const SAYS: usize = 8;

/// Events of one request.
const EVENTS: usize = 200;

/// Large handoffs of each reader, so that there is something to read.
const READ_HANDOFFS: u64 = 10;

impl Attacker {
    /// Saves graphs that take long to compile and to match, and lets customers speak.
    pub(super) async fn graphs(&mut self) -> Result<()> {
        let bodies = self.target.bodies.clone();
        let graph = format!("graph-{}", self.number % 4);
        match self.kind {
            Kind::Operator => {
                self.put(&format!("/v1/graphs/{graph}"), &bodies.graph).await?;
            }
            Kind::Customer => {
                let path = self.own_messages();
                self.post(&path, &bodies.turn).await?;
            }
            Kind::Worker | Kind::Human | Kind::System => {
                let open = json!({ "graph": graph }).to_string();
                let opened = self.post("/v1/conversations", &open).await?;
                let fields = (opened.field("conversation_id"), opened.field("customer_token"));
                let (Some(id), Some(token)) = fields else { return Ok(()) };
                let path = format!("/v1/conversations/{id}/messages");
                let say = request("POST", &path, token, Some(&bodies.turn));
                for _ in 0..SAYS {
                    self.ask(&say).await?;
                }
            }
        }
        Ok(())
    }

    /// Packages, messages and files of the largest size.
    pub(super) async fn uploads(&mut self) -> Result<()> {
        let bodies = self.target.bodies.clone();
        match self.kind {
            Kind::Customer => {
                let path = self.own_messages();
                self.post(&path, &bodies.attachment).await?;
            }
            Kind::Operator | Kind::Worker | Kind::Human | Kind::System => {
                let offer = bodies.large(&self.unique());
                self.post("/v1/handoffs", &offer).await?;
            }
        }
        Ok(())
    }

    /// Sessions that begin, say a lot and never end, and people who subscribe to them.
    pub(super) async fn sessions(&mut self) -> Result<()> {
        if self.kind != Kind::Worker {
            let terms = json!({
                "type": "subscription.request", "aaep_version": "1.0.0",
                "subscriber_id": self.unique(),
                "capabilities": { "languages": ["en"], "coalesce_boundaries": ["sentence"],
                    "max_events_per_second": 5, "supports_confirmation_reply": true,
                    "supports_clarification_reply": true } });
            self.post("/aaep/v1/subscriptions", &terms.to_string()).await?;
            return Ok(());
        }
        let agent = format!("worker-{}", self.number);
        let session = format!("sess_{}n{}", self.number, self.n_steps);
        let names = Names { session: &session, agent: &agent };
        let started = json!({ "requested_by": "user:bench", "summary_normal": "It begins." });
        let mut events = vec![written(names, 0, "session.started", &started)];
        events.extend((1..EVENTS).map(|index| {
            let chunk = "Everything that can be said is said. ";
            let position = (index - 1) * chunk.len();
            let payload = json!({ "chunk": chunk, "position": position, "complete": false });
            written(names, index, "output.streaming", &payload)
        }));
        self.post("/aaep/v1/events", &events.join("\n")).await?;
        Ok(())
    }

    /// Every command, one after the other, whether it makes sense or not.
    pub(super) async fn writes(&mut self) -> Result<()> {
        let offer = self.target.bodies.small(&self.unique());
        match self.kind {
            Kind::Customer => self.speak_as_customer().await,
            Kind::Operator | Kind::System => {
                let body = json!({ "name": self.unique() }).to_string();
                self.put("/v1/teamspace", &body).await.map(drop)
            }
            Kind::Human => {
                let words = ["available", "busy", "away", "offline"];
                let presence = words[self.n_steps as usize % words.len()];
                let path = format!("/v1/agents/human-{}/presence", self.number);
                self.put(&path, &json!({ "presence": presence }).to_string()).await?;
                let made = self.post("/v1/handoffs", &offer).await?;
                self.act(&made, &["withdraw"]).await
            }
            Kind::Worker => match self.n_steps % 3 {
                0 => {
                    let made = self.post("/v1/handoffs/drafts", &offer).await?;
                    self.act(&made, &["initiate", "withdraw"]).await
                }
                1 => {
                    let made = self.post("/v1/handoffs", &offer).await?;
                    self.act_as_target(&made).await
                }
                _ => self.tell_others().await,
            },
        }
    }

    async fn speak_as_customer(&mut self) -> Result<()> {
        let path = self.own_messages();
        let say = json!({ "parts": [{ "type": "text", "text": "And another thing." }] });
        self.post(&path, &say.to_string()).await?;
        let choose = path.replace("/messages", "/agent");
        let choice = json!({ "agent_id": format!("worker-{}", self.other()) }).to_string();
        self.put(&choose, &choice).await?;
        Ok(())
    }

    async fn tell_others(&mut self) -> Result<()> {
        let message = json!({ "to": [format!("worker-{}", self.other())], "type": "knowledge.push",
            "payload": { "text": "x".repeat(4_000) } });
        self.post("/v1/acp/messages", &message.to_string()).await?;
        let open = json!({ "agent": format!("worker-{}", self.number) }).to_string();
        let opened = self.post("/v1/conversations", &open).await?;
        let Some(id) = opened.field("conversation_id") else { return Ok(()) };
        self.post(&format!("/v1/conversations/{id}/close"), "{}").await?;
        Ok(())
    }

    /// Actions on a handoff that was just made.
    async fn act(&mut self, made: &Answer, actions: &[&str]) -> Result<()> {
        let Some(id) = made.field("handoff_id").map(str::to_owned) else { return Ok(()) };
        for action in actions {
            self.post(&format!("/v1/handoffs/{id}/{action}"), "{}").await?;
        }
        Ok(())
    }

    async fn act_as_target(&mut self, made: &Answer) -> Result<()> {
        let Some(id) = made.field("handoff_id") else { return Ok(()) };
        for action in ["accept", "activate", "complete", "close"] {
            let path = format!("/v1/handoffs/{id}/{action}");
            let request = request("POST", &path, &self.target.team.workers[0], Some("{}"));
            self.ask(&request).await?;
        }
        Ok(())
    }

    /// Long lists, histories and exports.
    pub(super) async fn reads(&mut self) -> Result<()> {
        if self.kind == Kind::Worker && self.n_steps < READ_HANDOFFS {
            let offer = self.target.bodies.middle(&self.unique());
            let made = self.post("/v1/handoffs", &offer).await?;
            let path = self.conversation_path("/messages");
            let parts = json!([{ "type": "text", "text": "x".repeat(16_000) }]);
            self.post(&path, &json!({ "parts": parts, "epoch": 1 }).to_string()).await?;
            if let Some(id) = made.field("handoff_id") {
                self.get(&format!("/v1/handoffs/{id}/history")).await?;
            }
            return Ok(());
        }
        let (export, said) =
            (self.conversation_path("/export"), self.conversation_path("/messages?limit=200"));
        let paths = [
            "/v1/handoffs?limit=200",
            "/v1/agents?limit=200",
            "/v1/conversations?limit=200",
            export.as_str(),
            said.as_str(),
            "/v1/acp/messages?limit=200",
            "/v1/acp/inbox?limit=200",
            "/v1/usage",
            "/openapi.json",
        ];
        self.get(paths[self.n_steps as usize % paths.len()]).await?;
        Ok(())
    }

    /// Agents, queues, tokens and roles without end.
    pub(super) async fn directory(&mut self) -> Result<()> {
        let name = self.unique();
        match self.n_steps % 4 {
            0 => {
                let made = json!({ "agent": name, "kind": "worker" }).to_string();
                self.post("/v1/tokens", &made).await?;
            }
            1 => {
                let profile = json!({ "name": name, "description": "x".repeat(1_900) });
                let agent = json!({ "kind": "human", "profile": profile }).to_string();
                self.put(&format!("/v1/agents/{name}"), &agent).await?;
            }
            2 => {
                let queue = json!({ "kind": "queue" }).to_string();
                self.put(&format!("/v1/agents/{name}"), &queue).await?;
            }
            _ => {
                let path = format!("/v1/agents/worker-{}/roles", self.number);
                self.put(&path, &json!({ "roles": ["executor"] }).to_string()).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn wrong_tokens(&mut self) -> Result<()> {
        let token = format!("tasuki_{:064x}", self.n_steps * 1_000 + self.number as u64);
        let request = request("GET", "/v1/handoffs", &token, None);
        self.ask(&request).await?;
        Ok(())
    }

    /// Each waits up to three seconds for its artifacts, which never come.
    pub(super) async fn dry_runs(&mut self) -> Result<()> {
        let bodies = self.target.bodies.clone();
        match self.n_steps % 2 {
            0 => {
                let large = bodies.large(&self.unique());
                self.post("/v1/handoffs?dry_run=true", &large).await?
            }
            _ => self.post("/v1/handoffs?dry_run=true", &bodies.many_artifacts).await?,
        };
        Ok(())
    }

    /// Long documents in which everything is wrong.
    pub(super) async fn faults(&mut self) -> Result<()> {
        let bodies = self.target.bodies.clone();
        match self.kind {
            Kind::Operator => self.put("/v1/graphs/wrong", &bodies.faults).await?,
            Kind::Customer => {
                let path = self.own_messages();
                self.post(&path, &bodies.faults).await?
            }
            Kind::Worker | Kind::Human | Kind::System => {
                self.post("/v1/handoffs", &bodies.faults).await?
            }
        };
        Ok(())
    }

    fn own_messages(&self) -> String {
        self.conversation_path("/messages")
    }

    fn conversation_path(&self, rest: &str) -> String {
        let id = &self.target.team.customers[self.number].conversation;
        format!("/v1/conversations/{id}{rest}")
    }
}
