//! The questions of the cast, and the bodies about them.

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::cast::{Cast, OWN};
use crate::server::ok;

impl Cast {
    /// A question of the sender to the human, in this state.
    pub async fn question(&self, kind: &str) -> String {
        let [alice, human] = ["sender", "human"].map(|caller| self.client(OWN, caller));
        let road: &[(&Client, &str)] = match kind {
            "q.open" => &[],
            "q.answered" => &[(&human, "answer")],
            "q.claimed" => &[(&human, "answer"), (&alice, "claim")],
            "q.withdrawn" => &[(&alice, "withdraw")],
            other => panic!("no road to {other}"),
        };
        let asked = ok(&alice, Call::post("/v1/questions", question("dana"))).await;
        let id = asked["question_id"].as_str().expect("an id").to_owned();
        for (client, action) in road {
            let body = body_of_question(&format!("{action}_question")).expect("a body");
            ok(client, Call::post(format!("/v1/questions/{id}/{action}"), body)).await;
        }
        id
    }
}

/// What the sender asks the human.
fn question(to: &str) -> Value {
    json!({ "to": to, "text": "May I?" })
}

/// The hash of what is asked.
fn question_hash() -> String {
    protocol::question::event::hash_of(&json!({
        "action": null, "arguments": null, "irreversible": false, "options": [],
        "text": "May I?", "wants": "approve",
    }))
}

pub fn body_of_question(operation: &str) -> Option<Value> {
    Some(match operation {
        "ask_question" => question("hana"),
        "answer_question" => json!({ "hash": question_hash(), "decision": "approve" }),
        "answer_session" => json!({ "event_id": "evt_2", "response": "this one" }),
        "withdraw_question" | "claim_question" => json!({}),
        "renew_claim" | "finish_question" => json!({ "epoch": 1 }),
        "erase_question" => json!({ "position": 1, "reason": "asked for" }),
        "ask_by_tool" => {
            let arguments = question("hana").to_string();
            let function = json!({ "name": "ask_human", "arguments": arguments });
            let call = json!({ "id": "c1", "type": "function", "function": function });
            let turn = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
            json!({ "form": "openai", "turn": turn, "reference": "thread-1" })
        }
        _ => return None,
    })
}
