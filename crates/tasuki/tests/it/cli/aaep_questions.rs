//! Questions at a terminal: what waits is offered, what does not is not, and a no is always taken.

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::aaep_files::{SESSION, event};
use super::aaep_live::{announce, bank, teller};
use super::chat::Terminal;
use crate::server::ok;

fn started() -> Vec<Value> {
    let thinking = json!({ "from_state": "idle", "to_state": "thinking" });
    vec![
        event(0, "session.started", json!({ "summary_normal": "Pays two bills" })),
        event(1, "state.changed", thinking),
    ]
}

fn confirm(number: u32, token: &str, more: Value) -> Value {
    let mut question = json!({
        "urgency": "critical", "action": format!("Pay bill {token}"),
        "consequence": "The money leaves your account at once and cannot be called back",
        "reply_token": token, "timeout_seconds": 300, "default_decision": "reject",
        "risk_level": "high", "irreversible": true,
    });
    let more = more.as_object().expect("an object").clone();
    question.as_object_mut().expect("an object").extend(more);
    event(number, "awaiting.confirmation", question)
}

async fn status(teller: &Client, token: &str) -> Value {
    let path = format!("/aaep/v1/sessions/{SESSION}/decisions/{token}");
    ok(teller, Call::get(path)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_waits_is_not_said_to_be_closed() {
    let folder = tempfile::tempdir().unwrap();
    let _server = bank(folder.path());
    let teller = teller(folder.path());
    let mut dana = Terminal::open(folder.path(), "aaep listen --as dana --data data");
    dana.sees("listening, as sub_");
    let mut asked = started();
    asked.push(confirm(2, "rpl_1", json!({})));
    asked.push(confirm(3, "rpl_2", json!({})));
    announce(&teller, asked).await;
    dana.sees("URGENT Teller asks, question 2");
    dana.enter("#1 accept");
    dana.sees("question 1 is answered: accept");
    let calling = json!({ "from_state": "awaiting_input", "to_state": "calling_tool" });
    let call = json!({ "tool": "pay", "tool_call_id": "call_1", "irreversible": true });
    let done = json!({ "tool": "pay", "tool_call_id": "call_1", "status": "success" });
    let called = vec![
        event(4, "state.changed", calling),
        event(5, "tool.invoked", call),
        event(6, "tool.completed", done),
    ];
    announce(&teller, called).await;
    dana.sees("Teller: pay: success");
    assert_eq!(status(&teller, "rpl_2").await["status"], "open");
    dana.enter("/questions");
    dana.sees("URGENT Teller asks, question 2");
    dana.enter("reject");
    dana.sees("question 2 is answered: reject");
    assert_eq!(status(&teller, "rpl_2").await["decision"], "reject");
    assert_eq!(dana.n_times("is closed"), 0, "{:#?}", dana.seen());
}
