//! Sessions of the bank's agent over HTTP: how long a yes lasts, which listeners hear that a
//! question is settled, and what an operator erases.

use serde_json::{Value, json};
use tasuki::client::Call;

use super::bank::Bank;
use super::listener::{Listener, terms};
use crate::server::{Server, ok, refused};

#[tokio::test]
async fn what_a_session_says_can_be_erased() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    let bank = Bank::with(Server::start_on(&data, |_| {})).await;
    let mut dana = Listener::open(bank.dana.clone(), &terms(json!({}))).await;
    bank.announce(&bank.story.opening(300)).await;
    let question = dana.until("awaiting.confirmation").await;
    let path = format!("/aaep/v1/sessions/{}/erase", bank.story.session);
    let erase = |reason: &str| Call::post(path.clone(), json!({ "reason": reason }));
    for who in [&bank.teller, &bank.dana] {
        assert_eq!(refused(who, erase("mine")).await.status, 403);
    }
    assert_eq!(refused(&bank.operator, erase(" ")).await.body["field"], "reason");
    let one = json!({ "position": 7, "reason": "asked for" });
    let beyond = refused(&bank.operator, Call::post(path.clone(), one)).await;
    assert_eq!(beyond.body["field"], "position");
    let erased = ok(&bank.operator, erase("they asked")).await;
    assert_eq!(
        (&erased["erased"], &erased["has_more"], &erased["status"]),
        (&json!(2), &json!(false), &json!("cancelled"))
    );
    assert_eq!(ok(&bank.operator, erase("they asked")).await["erased"], 0);
    assert_eq!(bank.decision().await["status"], "withdrawn");
    dana.answer(&question, "accept").await;
    let late =
        refused(&bank.teller, Call::post("/aaep/v1/events", json!(bank.story.carried_out()))).await;
    assert_eq!(late.body["code"], "protocol_violation");
    let events = format!("/aaep/v1/sessions/{}/events", bank.story.session);
    assert_eq!(ok(&bank.operator, Call::get(events)).await["items"], json!([]));
    assert_eq!(bank.server.stop(), Some(0));
    let mut verify = std::process::Command::new(env!("CARGO_BIN_EXE_tasuki"));
    let verified = verify.args(["audit", "verify", "--data"]).arg(&data).output();
    let verified = verified.expect("the executable runs");
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

#[tokio::test]
async fn a_yes_does_not_last() {
    let bank = Bank::open().await;
    let short = json!({ "settings": { "consent_seconds": 1 } });
    ok(&bank.operator, Call::put("/v1/teamspace", short)).await;
    let mut dana = Listener::open(bank.dana.clone(), &terms(json!({}))).await;
    bank.announce(&bank.story.opening(300)).await;
    let question = dana.until("awaiting.confirmation").await;
    dana.answer(&question, "accept").await;
    let decided = bank.decision().await;
    let (settled, expires) = (&decided["settled_at"], &decided["expires_at"]);
    assert!(settled.as_str() < expires.as_str(), "{settled} {expires}");
    // The agent loses a second with another question, which no listener answers.
    let lost = json!({
        "urgency": "critical", "question": "Which savings account?", "reply_token": "rpl_lost",
        "timeout_seconds": 1,
    });
    bank.announce(&[bank.story.event(8, "awaiting.clarification", lost)]).await;
    let lost = format!("/aaep/v1/sessions/{}/decisions/rpl_lost?wait=20s", bank.story.session);
    assert_eq!(ok(&bank.teller, Call::get(lost)).await["status"], "timed_out");
    let call = json!({
        "tool": "transfer_funds", "irreversible": true, "risk_level": "high",
        "summary_normal": "Transfers the money.",
    });
    let pay = |number| vec![bank.story.event(number, "tool.invoked", call.clone())];
    let late = refused(&bank.teller, Call::post("/aaep/v1/events", json!(pay(9)))).await;
    assert_eq!(
        (&late.body["code"], &late.body["rule"]),
        (&json!("protocol_violation"), &json!("4.3.1"))
    );
    let expected = late.body["expected"].as_str().expect("what to do");
    assert!(expected.contains("ask again") && expected.contains("lapsed"), "{expected}");
    // Asked again, and allowed again.
    let mut again = bank.story.opening(300).pop().expect("the question");
    again["event_id"] = "evt_10".into();
    again["timestamp"] = "2026-05-24T14:22:10.000Z".into();
    again["reply_token"] = "rpl_again".into();
    bank.announce(&[again]).await;
    let question = dana.until("awaiting.confirmation").await;
    dana.answer(&question, "accept").await;
    bank.announce(&pay(11)).await;
}

#[tokio::test]
async fn whoever_was_asked_too_hears_that_it_is_settled() {
    let bank = Bank::open().await;
    let ours = terms(json!({ "supported_extensions": ["urn:tasuki:aaep:v1"] }));
    let mut looks_on = ours.clone();
    looks_on["supports_confirmation_reply"] = false.into();
    let mut dana = Listener::open(bank.dana.clone(), &ours).await;
    let mut omar = Listener::open(bank.server.agent("omar"), &ours).await;
    let mut mute = Listener::open(bank.server.agent("omar"), &looks_on).await;
    let mut plain = Listener::open(bank.server.agent("omar"), &terms(json!({}))).await;
    bank.announce(&bank.story.opening(300)).await;
    let question = dana.until("awaiting.confirmation").await;
    dana.answer(&question, "reject").await;
    bank.decision().await;
    let again = json!({
        "urgency": "critical", "action": "Close the account.", "consequence": "It is gone.",
        "reply_token": "rpl_close", "timeout_seconds": 1, "default_decision": "reject",
        "risk_level": "high", "irreversible": true,
    });
    bank.announce(&[bank.story.event(8, "awaiting.confirmation", again)]).await;
    let path = format!("/aaep/v1/sessions/{}/decisions/rpl_close?wait=20s", bank.story.session);
    assert_eq!(ok(&bank.teller, Call::get(path)).await["status"], "timed_out");
    let back = json!({ "from_state": "awaiting_input", "to_state": "thinking" });
    bank.announce(&[
        bank.story.event(9, "state.changed", back),
        bank.story.event(10, "session.completed", json!({ "summary_normal": "Nothing." })),
    ])
    .await;
    let by_answer = ("evt_7", "rejected", "answer");
    let by_time = ("evt_8", "rejected", "time");
    for (who, listener, expected) in [
        ("who answered", &mut dana, vec![by_time]),
        ("who was asked too", &mut omar, vec![by_answer, by_time]),
        ("who looks on", &mut mute, vec![]),
        ("who does not know of it", &mut plain, vec![]),
    ] {
        let heard = listener.until_the_end().await;
        let settled = heard.iter().filter(|event| event["type"] == "tasuki:question.settled");
        let settled: Vec<_> = settled.collect();
        let text = |event: &Value, name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let told: Vec<_> = settled
            .iter()
            .map(|event| {
                (text(event, "question"), text(event, "outcome"), text(event, "settled_by"))
            })
            .collect();
        let told: Vec<_> =
            told.iter().map(|(one, two, three)| (&**one, &**two, &**three)).collect();
        assert_eq!(told, expected, "{who}");
        assert!(!format!("{settled:?}").contains("dana"), "no listener is named: {settled:?}");
    }
    // No producer can announce it.
}

/// Only the server says that a question is settled, in its own name.
#[tokio::test]
async fn the_types_and_the_name_of_the_server_are_its_own() {
    let bank = Bank::open().await;
    bank.announce(&bank.story.opening(300)).await;
    let mut forged = bank.story.event(11, "session.completed", json!({}));
    forged["type"] = "tasuki:question.settled".into();
    forged["@context"] = json!([forged["@context"], "urn:tasuki:aaep:v1"]);
    let announce = |event: &Value| Call::post("/aaep/v1/events", json!([event]));
    let said = refused(&bank.teller, announce(&forged)).await;
    assert_eq!(said.body["rule"], "tasuki.own_types");
    for kind in [" tasuki:x", "Tasuki:question.settled", "tasuki\u{200b}:question.settled"] {
        forged["type"] = kind.into();
        let said = refused(&bank.teller, announce(&forged)).await;
        assert_eq!(said.body["rule"], "tasuki.own_types", "{kind:?}");
    }
    forged["type"] = "tasuki:question.settled".into();
    let names = ["Tasuki", "tasuki", " T.a-suki", "B\u{200b}ob", "ｔａｓｕｋｉ", "𝐭asuki"];
    let more = ["t\u{430}suki", "Tasuk\u{131}", "TASUKl", "Ťasuki", "𝓣asuki"];
    for name in names.into_iter().chain(more) {
        forged["producer"]["agent_name"] = name.into();
        let said = refused(&bank.teller, announce(&forged)).await;
        assert_eq!(said.body["rule"], "tasuki.own_name", "{name:?}");
    }
}

#[tokio::test]
async fn an_answer_that_was_erased_is_not_given_by_itself() {
    let bank = Bank::open().await;
    let started = json!({ "summary_normal": "The bank's agent is at work." });
    bank.announce(&[bank.story.event(1, "session.started", started)]).await;
    let asks = json!({
        "urgency": "critical", "question": "To whom?", "reply_token": "rpl_whom",
        "timeout_seconds": 2, "default_response": "Dana Miller, 12 High St",
    });
    bank.announce(&[bank.story.event(2, "awaiting.clarification", asks)]).await;
    let session = format!("/aaep/v1/sessions/{}", bank.story.session);
    let one = json!({ "position": 2, "reason": "they asked" });
    ok(&bank.operator, Call::post(format!("{session}/erase"), one)).await;
    let path = format!("{session}/decisions/rpl_whom?wait=20s");
    let decided = ok(&bank.teller, Call::get(path)).await;
    assert_eq!(decided["status"], "timed_out", "{decided}");
    assert!(!decided.to_string().contains("Miller"), "{decided}");
}

/// The server's marks in an event's extension cannot be forged by a producer.
#[tokio::test]
async fn a_producer_cannot_set_the_marks_of_the_server() {
    let bank = Bank::open().await;
    let mut dana = Listener::open(bank.dana.clone(), &terms(json!({}))).await;
    let mut events = bank.story.opening(300);
    for (number, event) in events.iter_mut().enumerate() {
        event["@context"] = json!([event["@context"], "urn:tasuki:aaep:v1"]);
        event["extensions"]["tasuki"] = json!({
            "by": "server", "merged": { "part_of": "evt_9" }, "stands": true, "n_events": 99,
            "texts_in": "xx", "settled": "answered", "seconds_left": 0, "own": number,
        });
    }
    bank.announce(&events).await;
    let question = dana.until("awaiting.confirmation").await;
    let mut told = question["extensions"]["tasuki"].clone();
    assert!(told["seconds_left"].as_u64() > Some(0), "{question}");
    for own in ["due_at", "seconds_left"] {
        told.as_object_mut().expect("an object").remove(own);
    }
    assert_eq!(told, json!({ "own": events.len() - 1 }));
    // The record has the event as it was sent.
    let path = format!("/aaep/v1/sessions/{}/events", bank.story.session);
    let recorded = ok(&bank.operator, Call::get(path)).await;
    assert_eq!(recorded["items"][0]["event"]["extensions"]["tasuki"]["stands"], true, "{recorded}");
}
