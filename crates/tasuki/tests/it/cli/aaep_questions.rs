//! Questions at a terminal: open ones are offered, closed ones are not, and a no is always
//! accepted.

use protocol::time::Time;
use rustix::process::Signal;
use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::aaep_files::{SESSION, event};
use super::aaep_live::{announce, bank, teller};
use super::chat::Terminal;
use super::keyboard::Keyboard;
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
    dana.sees("listening");
    let mut asked = started();
    asked.push(confirm(2, "rpl_1", json!({})));
    asked.push(confirm(3, "rpl_2", json!({})));
    announce(&teller, asked).await;
    dana.sees("type accept 2 or reject 2");
    dana.enter("reject");
    dana.sees("several questions wait: say which one, with its number");
    dana.sees("question 1, Pay bill rpl_1: type accept 1 or reject 1");
    dana.sees("question 2, Pay bill rpl_2: type accept 2 or reject 2");
    dana.enter("#1 accept");
    dana.sees("your answer to question 1 is sent: accept");
    let calling = json!({ "from_state": "awaiting_input", "to_state": "calling_tool" });
    let call = json!({ "tool": "pay", "tool_call_id": "call_1", "irreversible": true });
    let done = json!({ "tool": "pay", "tool_call_id": "call_1", "status": "success" });
    let called = vec![
        event(4, "state.changed", calling),
        event(5, "tool.invoked", call),
        event(6, "tool.completed", done),
    ];
    announce(&teller, called).await;
    dana.sees("    pay: success");
    assert_eq!(status(&teller, "rpl_2").await["status"], "open");
    dana.enter("/questions");
    dana.sees("type accept 2 or reject 2");
    dana.enter("/language de en");
    dana.sees("Zum Antworten annehmen 2 oder ablehnen 2 eintippen");
    dana.enter("/questions");
    dana.sees("Frage 2");
    dana.sees("Zum Antworten annehmen 2 oder ablehnen 2 eintippen");
    dana.enter("/language en");
    dana.sees("type accept 2 or reject 2");
    dana.enter("reject");
    dana.sees("your answer to question 2 is sent: reject");
    assert_eq!(status(&teller, "rpl_2").await["decision"], "reject");
    assert_eq!(dana.n_times("is closed"), 0, "{:#?}", dana.seen());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_typed_for_one_question_answers_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let _server = bank(folder.path());
    let teller = teller(folder.path());
    let mut dana = Keyboard::open(folder.path(), "aaep listen --as dana --data data");
    dana.sees("listening");
    let mut asked = started();
    asked.push(confirm(2, "rpl_1", json!({ "irreversible": false, "timeout_seconds": 3 })));
    announce(&teller, asked).await;
    dana.sees("type accept 1 or reject 1");
    dana.press("acc");
    dana.sees("acc");
    dana.sees("question 1 is closed: its time is over");
    let other = json!({ "irreversible": false, "action": "Delete all customer records" });
    announce(&teller, vec![confirm(3, "rpl_2", other)]).await;
    dana.sees("Action: Delete all customer records");
    dana.sees("type accept 2 or reject 2");
    dana.press("ept\r");
    dana.sees("question 1 is closed: nothing is answered");
    assert_eq!(status(&teller, "rpl_2").await["status"], "open");
    dana.press("accept\r");
    dana.sees("your answer to question 2 is sent: accept");
    assert_eq!(status(&teller, "rpl_2").await["decision"], "accept");
    assert!(!dana.echoes(), "keys are taken one by one");
    dana.press("/quit\r");
    dana.ends();
    assert!(dana.echoes(), "the terminal is as it was");
    let shown = dana.shown();
    let glued = shown.lines().find(|line| line.contains("acc") && line.contains("question 1 is"));
    assert_eq!(glued, None, "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_terminal_is_given_back_however_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let _server = bank(folder.path());
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        let mut dana = Keyboard::open(folder.path(), "aaep listen --as dana --data data");
        dana.sees("listening");
        assert!(!dana.echoes());
        dana.signal(signal);
        dana.ends();
        assert!(dana.echoes(), "after {signal:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_comes_late_hears_how_a_question_stands() {
    let folder = tempfile::tempdir().unwrap();
    let _server = bank(folder.path());
    let teller = teller(folder.path());
    let mut asked = started();
    // Only a server reports the result of a question.
    let link = json!({ "extensions": { "tasuki": { "settled": "answered" } },
        "@context": ["https://aaep-protocol.org/context/v1", "urn:tasuki:aaep:v1"] });
    asked.push(confirm(2, "rpl_1", link));
    announce(&teller, asked).await;
    let mut omar = Terminal::open(folder.path(), "aaep listen --as omar --json --data data");
    let heard: Value = serde_json::from_str(&omar.sees("awaiting.confirmation")).unwrap();
    let ours = &heard["extensions"]["tasuki"];
    let time = |at: &Value| at.as_str().unwrap().parse::<Time>().unwrap();
    let open = status(&teller, "rpl_1").await;
    assert_eq!((time(&ours["due_at"]), &ours["settled"]), (time(&open["due_at"]), &Value::Null));
    assert!(ours["seconds_left"].as_u64().is_some_and(|left| (1..=300).contains(&left)), "{ours}");
    let mut dana = Terminal::open(folder.path(), "aaep listen --as dana --data data");
    dana.sees("URGENT Teller asks, question 1");
    dana.sees("type accept 1 or reject 1");
    dana.enter("accept bill rpl_1");
    dana.sees("your answer to question 1 is sent: accept");
    assert_eq!(status(&teller, "rpl_1").await["decision"], "accept");
    let late = "aaep listen --as dana --from beginning --data data";
    let mut late = Terminal::open(folder.path(), late);
    late.sees("Teller asked, and somebody has answered");
    late.enter("accept");
    late.sees("no question waits");
}

/// An answer of which it is not known whether it arrived is sent until it has, and no other one can
/// be given meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_sent_when_the_server_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let server = bank(folder.path());
    let teller = teller(folder.path());
    let mut dana = Terminal::open(folder.path(), "aaep listen --as dana --data data");
    dana.sees("listening");
    let mut asked = started();
    asked.push(confirm(2, "rpl_1", json!({})));
    announce(&teller, asked).await;
    dana.sees("type accept 1 or reject 1");
    drop(server);
    dana.enter("accept 1");
    dana.sees("your answer to question 1 is sent when it is back");
    dana.enter("reject 1");
    // The line may begin just before the question is closed.
    dana.sees_any(&["no question waits", "question 1 is closed"]);
    let _server = bank(folder.path());
    dana.sees("your answer to question 1 is sent: accept");
    assert_eq!(status(&teller, "rpl_1").await["decision"], "accept");
}
