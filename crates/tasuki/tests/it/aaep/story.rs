//! The session that the protocol gives as its example: the bank's agent looks up a balance, asks
//! before it moves money, and moves it once a listener said yes.

use serde_json::{Value, json};

/// As the agent chose it.
pub const TOKEN: &str = "rpl_xyz";

/// The events of one session of the bank's agent.
#[derive(Debug, Clone)]
pub struct Story {
    pub session: String,
}

impl Story {
    pub fn new(session: &str) -> Self {
        Self { session: session.to_owned() }
    }

    pub fn event(&self, number: u32, kind: &str, more: Value) -> Value {
        let mut event = json!({
            "@context": "https://aaep-protocol.org/context/v1",
            "type": format!("aaep:agent.{kind}"),
            "event_id": format!("evt_{number}"),
            "session_id": self.session,
            "timestamp": format!("2026-05-24T14:22:{number:02}.000Z"),
            "producer": { "agent_id": "teller" },
            "localization_hints": { "primary_language": "en" },
            "urgency": "normal",
        });
        let fields = event.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        event
    }

    /// Up to the question, which comes last.
    pub fn opening(&self, timeout_seconds: u32) -> Vec<Value> {
        let state = |from: &str, to: &str| json!({ "from_state": from, "to_state": to });
        let fetch = json!({ "tool": "fetch_balance", "summary_normal": "Looks up the balance." });
        let fetched = json!({ "tool": "fetch_balance", "status": "success" });
        let asks = json!({
            "urgency": "critical", "action": "Transfer $500 to savings.",
            "consequence": "Funds move immediately.", "reply_token": TOKEN,
            "timeout_seconds": timeout_seconds, "default_decision": "reject",
            "risk_level": "high", "irreversible": true,
        });
        let started = json!({ "summary_normal": "The bank's agent is at work." });
        vec![
            self.event(1, "session.started", started),
            self.event(2, "state.changed", state("idle", "thinking")),
            self.event(3, "tool.invoked", fetch),
            self.event(4, "tool.completed", fetched),
            self.event(5, "state.changed", state("thinking", "deciding")),
            self.event(6, "state.changed", state("deciding", "thinking")),
            self.event(7, "awaiting.confirmation", asks),
        ]
    }

    /// After the customer said yes.
    pub fn carried_out(&self) -> Vec<Value> {
        let call = json!({
            "tool": "transfer_funds", "irreversible": true, "risk_level": "high",
            "summary_normal": "Transfers the money.",
        });
        let done = json!({ "tool": "transfer_funds", "status": "success" });
        let writing = json!({ "from_state": "calling_tool", "to_state": "writing_output" });
        let said = "Transferred $500 successfully.";
        let first = json!({ "chunk": said, "position": 0, "complete": false });
        let last = json!({
            "chunk": " New balance: $12,000.", "position": said.len(), "complete": true,
        });
        vec![
            self.event(8, "tool.invoked", call),
            self.event(9, "tool.completed", done),
            self.event(10, "state.changed", writing),
            self.event(11, "output.streaming", first),
            self.event(12, "output.streaming", last),
            self.event(13, "session.completed", json!({ "summary_normal": "Done." })),
        ]
    }

    /// After the customer said no, or nothing.
    pub fn given_up(&self) -> Vec<Value> {
        let back = json!({ "from_state": "awaiting_input", "to_state": "thinking" });
        vec![
            self.event(8, "state.changed", back),
            self.event(9, "session.completed", json!({ "summary_normal": "Nothing was moved." })),
        ]
    }
}
