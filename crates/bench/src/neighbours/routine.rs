//! What an ordinary member does: hands tasks over, reads, and speaks in a conversation.

use std::sync::Arc;

use engine::ports::clock::{Clock, SystemClock};
use engine::ports::ids::{Ids, SeededIds};
use serde_json::{Value, json};

use super::super::work::{cheap_ids, offer_json};
use super::stage::{TOKENS, Team};
use super::wire::{Answer, request};

/// One member that works with another. Its requests come in a fixed order.
#[derive(Debug)]
pub struct Routine {
    team: Arc<Team>,
    sender: usize,
    target: usize,
    ids: SeededIds,
    n_asked: usize,
    handoff: String,
}

impl Routine {
    pub fn new(team: &Arc<Team>, number: usize) -> Self {
        let sender = number % TOKENS;
        Self {
            team: Arc::clone(team),
            sender,
            target: (sender + 1) % TOKENS,
            ids: cheap_ids(),
            n_asked: 0,
            handoff: String::new(),
        }
    }

    /// The next request.
    pub fn next_request(&mut self) -> Vec<u8> {
        let (sender, target) = (&self.team.workers[self.sender], &self.team.workers[self.target]);
        let act = |action: &str, body: &str| {
            let path = format!("/v1/handoffs/{}/{action}", self.handoff);
            request("POST", &path, target, Some(body))
        };
        let read = |path: &str| request("GET", path, sender, None);
        self.n_asked += 1;
        match self.n_asked % 8 {
            1 => request("POST", "/v1/handoffs", sender, Some(&self.offer().to_string())),
            2 => read(&format!("/v1/handoffs/{}", self.handoff)),
            3 => act("accept", "{}"),
            4 => act("activate", "{}"),
            5 => read("/v1/acp/inbox"),
            6 => act("complete", "{\"completion_notes\":\"All done, and shown.\"}"),
            7 => act("close", "{}"),
            _ => {
                let conversation = &self.team.customers[self.sender].conversation;
                let path = format!("/v1/conversations/{conversation}/messages");
                let parts = json!([{ "type": "text", "text": "We are looking into it." }]);
                let body = json!({ "parts": parts, "epoch": 1 }).to_string();
                request("POST", &path, sender, Some(&body))
            }
        }
    }

    /// Remembers the handoff that was made.
    pub fn note(&mut self, answer: &Answer) {
        if self.n_asked % 8 == 1 {
            self.handoff = answer.field("handoff_id").unwrap_or_default().to_owned();
        }
    }

    /// An offer of a new task.
    pub fn offer(&self) -> Value {
        let mut offer = offer_json(&format!("T-{}", self.ids.uuid(SystemClock.now())));
        offer["to_agent"] = format!("worker-{}", self.target).into();
        offer
    }

    pub fn sender_token(&self) -> &str {
        &self.team.workers[self.sender]
    }

    pub fn target_token(&self) -> &str {
        &self.team.workers[self.target]
    }
}
