//! Sessions that agents announce: permissions, the record, answers to questions, and how sessions
//! end by themselves.

use std::collections::BTreeSet;

use aaep::cursor::Cursor;
use aaep::event::Decision;
use aaep::machine::Outcome;
use engine::aaep::announce::{Counted, session_stream};
use engine::aaep::sessions::Question;
use engine::road::submit::{Done, SubmitError};
use protocol::agent::{self, Kind, Profile};
use protocol::caller::{Caller, Principal};
use protocol::ids::{SessionId, TeamspaceId};
use protocol::rejection::Rejection;
use protocol::session::event::Said;
use protocol::session::{
    Answer, Given, MODIFIED_ACTION_BYTES_MAX, REFUSED_RESTS, Response, Status,
};
use protocol::step::Command;
use protocol::time::Span;
use serde_json::{Value, json};

use super::{Server, story};
use crate::support::{agent, agent_stream, code, id, operator};

pub(super) const TOKEN: &str = "rpl_4f8a2e7d9c1b6a3f";

pub(super) fn session() -> SessionId {
    "sess_2c91a7b4d23f1e88".parse().expect("an id")
}

/// An event of the session, with extra fields.
pub(super) fn event(number: u32, kind: &str, more: Value) -> Said {
    let mut event = json!({
        "@context": "https://aaep-protocol.org/context/v1",
        "type": format!("aaep:agent.{kind}"),
        "event_id": format!("evt_{number}"),
        "session_id": session(),
        "timestamp": "2026-02-21T14:00:00.000Z",
        "producer": { "agent_id": "teller" },
        "summary_normal": "What happens",
    });
    let fields = event.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    Said::new(event.to_string()).expect("JSON")
}

pub(super) fn started(number: u32) -> Said {
    event(number, "session.started", json!({}))
}

pub(super) fn asks(number: u32, more: Value) -> Said {
    let mut fields = json!({
        "urgency": "critical", "action": "Transfer $500", "consequence": "It cannot be undone",
        "reply_token": TOKEN, "timeout_seconds": 300, "default_decision": "reject",
        "risk_level": "high", "irreversible": true,
    });
    let own = fields.as_object_mut().expect("an object");
    own.extend(more.as_object().expect("an object").clone());
    event(number, "awaiting.confirmation", fields)
}

fn transfers(number: u32) -> Said {
    let call = json!({
        "tool": "transfer_funds", "tool_call_id": "call_2", "risk_level": "high",
        "irreversible": true,
    });
    event(number, "tool.invoked", call)
}

/// The events up to the question of the banking session.
pub(super) fn opening() -> Vec<Said> {
    let state = |from: &str, to: &str| json!({ "from_state": from, "to_state": to });
    vec![
        started(1),
        event(2, "state.changed", state("idle", "thinking")),
        event(3, "tool.invoked", json!({ "tool": "fetch_balance", "tool_call_id": "call_1" })),
        event(
            4,
            "tool.completed",
            json!({ "tool": "fetch_balance", "tool_call_id": "call_1", "status": "success" }),
        ),
        event(5, "state.changed", state("calling_tool", "deciding")),
        event(6, "state.changed", state("deciding", "thinking")),
        asks(7, json!({})),
    ]
}

/// The events after an accept.
fn ending() -> Vec<Said> {
    let chunk = |text: &str, at: u32, complete: bool| -> Value {
        json!({ "chunk": text, "position": at, "complete": complete })
    };
    vec![
        transfers(8),
        event(
            9,
            "tool.completed",
            json!({ "tool": "transfer_funds", "tool_call_id": "call_2", "status": "success" }),
        ),
        event(
            10,
            "state.changed",
            json!({ "from_state": "calling_tool", "to_state": "writing_output" }),
        ),
        event(11, "output.streaming", chunk("Transferred.", 0, false)),
        event(12, "output.streaming", chunk(" New balance: 12,000.", 12, true)),
        event(13, "session.completed", json!({})),
    ]
}

pub(super) fn answer(token: &str, decision: Decision) -> Answer {
    Answer {
        reply_token: token.to_owned(),
        given: Given::Decision(decision),
        decided_by: Some("user:dana".to_owned()),
        rationale: None,
        modified_action: None,
        confidence: None,
        subscription_id: None,
    }
}

pub(super) async fn bank() -> Server {
    let server = Server::with_agents(&["teller", "other"]).await;
    for (name, kind) in [("dana", Kind::Human), ("router", Kind::System)] {
        let profile = Profile { name: name.to_owned(), ..Profile::default() };
        let register = Command::Agent(agent::Command::Register { kind, profile });
        let done = server.engine.submit(&operator(), agent_stream(name), register, None).await;
        done.expect("an operator may register an agent");
    }
    server
}

pub(super) async fn announce(server: &Server, events: Vec<Said>) -> Result<Done, SubmitError> {
    server.engine.sessions().announce(&agent("teller"), &session(), events).await
}

pub(super) async fn says(server: &Server, caller: &Caller, answer: Answer) -> Counted {
    server
        .engine
        .sessions()
        .answer(caller, &session(), answer)
        .await
        .expect("an answer is never an error")
}

pub(super) async fn names(server: &Server) -> Vec<String> {
    story(&server.engine, &session_stream(&operator(), &session())).await
}

async fn question(server: &Server, token: &str) -> Option<Question> {
    let stream = session_stream(&operator(), &session());
    server.engine.sessions().question(&stream, token).await.expect("it can be read")
}

/// `index rule` of a refusal, or its code.
pub(super) fn why(result: &Result<Done, SubmitError>) -> String {
    match result {
        Err(SubmitError::Rejected(Rejection::EventRefused { index, flaws })) => {
            format!("{index} {}", flaws[0].field)
        }
        result => code(result).to_owned(),
    }
}

#[tokio::test]
async fn a_human_accepts_and_the_session_goes_on_to_its_end() {
    let server = bank().await;
    announce(&server, opening()).await.expect("the session opens");
    assert!(matches!(question(&server, TOKEN).await, Some(Question::Open { .. })));
    let early = announce(&server, vec![transfers(8)]).await;
    assert_eq!(code(&early), "protocol_violation", "nothing irreversible without an accept");
    assert_eq!(says(&server, &agent("dana"), answer(TOKEN, Decision::Accept)).await, Counted::Yes);
    announce(&server, ending()).await.expect("it goes on");
    let Some(Question::Answered { outcome, answer, .. }) = question(&server, TOKEN).await else {
        panic!("it was answered");
    };
    assert_eq!((outcome, answer.by.as_str()), (Outcome::Accepted, "agent:dana"));
    let expected = ["session.announced", "session.answered", "session.announced"];
    assert_eq!(names(&server).await, expected);
    let stream = session_stream(&operator(), &session());
    let held = server.engine.sessions().session(&stream).await.unwrap().expect("it exists");
    assert_eq!((held.status, held.n_events), (Status::Completed, 13));
    let after = announce(&server, vec![event(14, "session.completed", json!({}))]).await;
    assert_eq!(why(&after), "0 type");
    // The state in memory matches the ledger.
    let rebuilt = server.engine.read().rebuild(&stream).await.expect("the ledger makes sense");
    assert_eq!(Some(&rebuilt), server.engine.read().current(&stream).await.unwrap().as_deref());
}

#[tokio::test]
async fn what_lies_ahead_of_our_clock_is_refused() {
    let server = bank().await;
    for (timestamp, expected) in [
        ("2099-01-01T00:00:00.000Z", "0 timestamp"),
        ("2026-02-21T14:05:00.001Z", "0 timestamp"),
        ("2026-02-21T14:05:00.000Z", "ok"),
    ] {
        let started = event(1, "session.started", json!({ "timestamp": timestamp }));
        assert_eq!(why(&announce(&server, vec![started]).await), expected, "{timestamp}");
    }
}

#[tokio::test]
async fn only_the_first_answer_of_somebody_entitled_counts() {
    let server = bank().await;
    announce(&server, opening()).await.expect("the session opens");
    let elsewhere = TeamspaceId::try_from("elsewhere".to_owned()).expect("a name");
    let customer = Principal::Customer(id("customer-01938c2e-0000-7000-8000-000000000001"));
    let by = |principal| Caller { principal, ..operator() };
    let yes = || answer(TOKEN, Decision::Accept);
    let response = Given::Response(Response::Text("yes".to_owned()));
    let ignored = [
        ("the producer", agent("teller"), yes()),
        ("a worker", agent("other"), yes()),
        ("a system agent", agent("router"), yes()),
        ("an unknown agent", agent("nobody"), yes()),
        ("a customer of something else", by(customer), yes()),
        ("the server", Caller::system(operator().teamspace), yes()),
        ("another teamspace", Caller { teamspace: elsewhere, ..agent("dana") }, yes()),
        ("a forged token", agent("dana"), answer("rpl_0000", Decision::Accept)),
        ("another kind", agent("dana"), Answer { given: response, ..yes() }),
    ];
    for (what, caller, answer) in ignored {
        assert_eq!(says(&server, &caller, answer).await, Counted::No, "{what}");
    }
    assert_eq!(names(&server).await, ["session.announced"]);
    let large = json!({ "note": "x".repeat(MODIFIED_ACTION_BYTES_MAX) }).as_object().cloned();
    let large = Answer { modified_action: large, ..yes() };
    let refused = server.engine.sessions().answer(&agent("dana"), &session(), large).await;
    let Err(SubmitError::Rejected(refused)) = refused else { panic!("it is too large") };
    assert_eq!(refused.code(), "schema_invalid");
    let instead = json!({ "amount": 50 }).as_object().cloned();
    let modified = Answer { modified_action: instead.clone(), ..yes() };
    assert_eq!(says(&server, &agent("dana"), modified).await, Counted::Yes);
    assert_eq!(says(&server, &operator(), yes()).await, Counted::No, "the first one counts");
    let Some(Question::Answered { outcome, answer, .. }) = question(&server, TOKEN).await else {
        panic!("it was answered");
    };
    assert_eq!(outcome, Outcome::Rejected, "who wants something else does not want this");
    assert_eq!(answer.modified_action, instead);
    let refused = announce(&server, vec![transfers(8)]).await;
    assert_eq!(code(&refused), "protocol_violation");
    assert_eq!(names(&server).await, ["session.announced", "session.answered"]);
}

#[tokio::test]
async fn a_rule_does_not_consent_to_what_cannot_be_undone() {
    let server = bank().await;
    announce(&server, opening()).await.expect("the session opens");
    let by =
        |who: &str| Answer { decided_by: Some(who.to_owned()), ..answer(TOKEN, Decision::Accept) };
    for who in [
        "auto:configured_policy",
        "AUTO:x",
        " system:cron",
        "\u{200b}auto:rule7",
        "\u{feff}system:x",
        "\u{ff41}uto:x",
        "auto\u{ff1a}x",
        "\u{430}uto:x",
    ] {
        assert_eq!(says(&server, &agent("dana"), by(who)).await, Counted::No, "{who}");
    }
    assert_eq!(says(&server, &agent("dana"), by("user:auto:dana")).await, Counted::Yes);
    announce(&server, ending()).await.expect("a person has consented");
    // An action that is declared reversible may be accepted this way; the irreversible call is
    // still refused.
    let server = bank().await;
    let unsaid = asks(2, json!({ "irreversible": false, "risk_level": "low" }));
    announce(&server, vec![started(1), unsaid]).await.expect("the session opens");
    assert_eq!(says(&server, &agent("dana"), by("auto:policy")).await, Counted::Yes);
    assert_eq!(code(&announce(&server, vec![transfers(3)]).await), "protocol_violation");
    let stream = session_stream(&operator(), &session());
    let rebuilt = server.engine.read().rebuild(&stream).await.expect("the ledger makes sense");
    assert_eq!(Some(&rebuilt), server.engine.read().current(&stream).await.unwrap().as_deref());
}

#[tokio::test]
async fn who_said_no_is_not_asked_the_same_again_at_once() {
    let server = bank().await;
    announce(&server, opening()).await.expect("the session opens");
    says(&server, &agent("dana"), answer(TOKEN, Decision::Reject)).await;
    let again = |number: u32, more: Value| {
        let mut fields = json!({ "reply_token": format!("rpl_{number}") });
        let own = fields.as_object_mut().expect("an object");
        own.extend(more.as_object().expect("an object").clone());
        vec![asks(number, fields)]
    };
    let refused = announce(&server, again(8, json!({}))).await;
    assert_eq!(code(&refused), "rate_limited");
    let asked: Value = serde_json::from_str(asks(8, json!({})).text()).expect("an event");
    let words = asked["action"].as_str().expect("a text").to_owned();
    for alike in [words.to_uppercase(), format!("{words} ."), words.replace(' ', "\u{a0}")] {
        let refused = announce(&server, again(8, json!({ "action": alike }))).await;
        assert_eq!(code(&refused), "rate_limited", "{alike}");
    }
    let other = announce(&server, again(9, json!({ "action": "Transfer $50" }))).await;
    other.expect("something else may be asked");
    server.clock.advance(REFUSED_RESTS);
    announce(&server, again(10, json!({}))).await.expect("later it may be asked again");
    // No person said no, so it may be asked again at once.
    server.clock.advance(Span::from_minutes(6));
    server.engine.fire_due_deadlines().await.expect("the store works");
    announce(&server, again(11, json!({}))).await.expect("that was no answer");
    let stream = session_stream(&operator(), &session());
    let rebuilt = server.engine.read().rebuild(&stream).await.expect("the ledger makes sense");
    assert_eq!(Some(&rebuilt), server.engine.read().current(&stream).await.unwrap().as_deref());
}

#[tokio::test]
async fn what_nobody_answers_ends_by_itself_once_also_after_a_restart() {
    let server = bank().await;
    announce(&server, opening()).await.expect("the session opens");
    server.clock.advance(Span::from_millis(299_999));
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 0);
    let server = server.restart();
    server.clock.advance(Span::from_millis(1));
    let late = says(&server, &agent("dana"), answer(TOKEN, Decision::Accept)).await;
    assert_eq!(late, Counted::No, "by our clock, whether or not anybody has looked");
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 1);
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 0);
    let over = question(&server, TOKEN).await;
    let Some(Question::TimedOut { outcome: Outcome::Rejected, .. }) = over else {
        panic!("it is refused: {over:?}");
    };
    assert_eq!(names(&server).await, ["session.announced", "session.timed_out"]);
    let server = server.restart();
    let refused = announce(&server, vec![transfers(8)]).await;
    assert_eq!(code(&refused), "protocol_violation");
    let stream = session_stream(&operator(), &session());
    let rebuilt = server.engine.read().rebuild(&stream).await.expect("the ledger makes sense");
    assert_eq!(Some(&rebuilt), server.engine.read().current(&stream).await.unwrap().as_deref());
}

#[tokio::test]
async fn a_producer_waits_for_the_decision_with_one_request() {
    let server = bank().await;
    announce(&server, opening()).await.expect("the session opens");
    let stream = session_stream(&operator(), &session());
    let waiting = {
        let (engine, stream) = (server.engine.clone(), stream.clone());
        let wait = Span::from_millis(20_000);
        tokio::spawn(async move { engine.sessions().question_settled(&stream, TOKEN, wait).await })
    };
    says(&server, &agent("dana"), answer(TOKEN, Decision::Reject)).await;
    let found = waiting.await.expect("it ends").expect("it can be read");
    let Some(Question::Answered { outcome: Outcome::Rejected, .. }) = found else {
        panic!("it was answered: {found:?}");
    };
    assert_eq!(question(&server, "rpl_never").await, None);
}

#[tokio::test]
async fn what_is_sent_again_is_recorded_once() {
    let server = bank().await;
    announce(&server, opening()).await.expect("the session opens");
    announce(&server, opening()).await.expect("it is known");
    let mut longer = opening();
    longer.push(event(8, "progress.updated", json!({ "progress": { "percent": 5 } })));
    announce(&server, longer).await.expect("only the last is new");
    announce(&server, vec![started(1), started(1)]).await.expect("both are known");
    let n_events = ["session.announced", "session.announced"];
    assert_eq!(names(&server).await, n_events);
    let server = server.restart();
    announce(&server, opening()).await.expect("it is known");
    let other = event(2, "state.changed", json!({ "from_state": "idle", "to_state": "other" }));
    assert_eq!(why(&announce(&server, vec![other]).await), "0 event_id");
    let reused = asks(9, json!({ "action": "Something else" }));
    says(&server, &agent("dana"), answer(TOKEN, Decision::Reject)).await;
    assert_eq!(why(&announce(&server, vec![reused]).await), "0 reply_token");
    assert_eq!(names(&server).await.len(), 3);
}

#[tokio::test]
async fn all_of_a_batch_is_recorded_or_nothing() {
    let server = bank().await;
    let mut broken = opening();
    broken.insert(3, started(20));
    assert_eq!(why(&announce(&server, broken).await), "3 type");
    assert_eq!(names(&server).await, [""; 0]);
    let refusals = [
        ("0 type", vec![event(1, "session.completed", json!({}))]),
        ("0 producer.agent_id", vec![event(1, "x", json!({ "producer": { "agent_id": "x" } }))]),
        ("1 session_id", vec![started(1), event(2, "x", json!({ "session_id": "sess_other" }))]),
        ("schema_invalid", Vec::new()),
        ("schema_invalid", (1..=257).map(started).collect()),
    ];
    for (expected, mut events) in refusals {
        for said in &mut events {
            let kind = said.text().replace("aaep:agent.x", "aaep:agent.session.started");
            *said = Said::new(kind).expect("JSON");
        }
        assert_eq!(why(&announce(&server, events).await), expected);
    }
    announce(&server, opening()).await.expect("the session opens");
    let stolen = vec![event(8, "state.changed", json!({ "from_state": "a", "to_state": "b" }))];
    let by_other = server.engine.sessions().announce(&agent("other"), &session(), stolen).await;
    assert_eq!(code(&by_other), "not_allowed");
    for caller in [agent("dana"), operator()] {
        let id: SessionId = "sess_new".parse().expect("an id");
        let begun = Said::new(
            started(1).text().replace(session().as_str(), id.as_str()).replace("teller", "dana"),
        );
        let refused =
            server.engine.sessions().announce(&caller, &id, vec![begun.expect("JSON")]).await;
        assert_eq!(code(&refused), "not_allowed", "{}", caller.principal);
    }
}

#[tokio::test]
async fn critical_events_are_limited_for_each_minute() {
    let server = bank().await;
    announce(&server, vec![started(0)]).await.expect("the session opens");
    let shouts = |number| {
        event(
            number,
            "state.changed",
            json!({
                "urgency": "critical", "from_state": "idle", "to_state": "idle",
            }),
        )
    };
    announce(&server, (1..=60).map(shouts).collect()).await.expect("so many are fine");
    let refused = announce(&server, vec![shouts(61)]).await;
    assert_eq!(code(&refused), "rate_limited");
    server.clock.advance(Span::from_minutes(1));
    announce(&server, vec![shouts(61)]).await.expect("a minute later");
}

#[tokio::test]
async fn requests_that_wait_share_an_entry_and_fail_alone() {
    let server = bank().await;
    announce(&server, vec![started(0)]).await.expect("the session opens");
    let progress =
        |number: u32| event(number, "progress.updated", json!({ "progress": { "percent": 1 } }));
    let mut asked = tokio::task::JoinSet::new();
    for number in 1..=200_u32 {
        let engine = server.engine.clone();
        let events = match number % 20 {
            0 => vec![progress(number), started(1_000 + number)],
            _ => vec![progress(number)],
        };
        asked.spawn(async move {
            let result = engine.sessions().announce(&agent("teller"), &session(), events).await;
            (number, why(&result))
        });
    }
    while let Some(answered) = asked.join_next().await {
        let (number, answer) = answered.expect("nothing panics");
        let expected = if number % 20 == 0 { "1 type" } else { "ok" };
        assert_eq!(answer, expected, "{number}");
    }
    let n_entries = names(&server).await.len();
    assert!(n_entries < 100, "{n_entries} entries for 200 requests");
    let stream = session_stream(&operator(), &session());
    let mut seen = BTreeSet::new();
    let mut after = None;
    loop {
        let page =
            server.engine.sessions().session_events(&stream, after, 50).await.expect("a page");
        let (events, has_more) = page.expect("the cursor is from here");
        assert!(events.windows(2).all(|pair| pair[0].cursor < pair[1].cursor));
        seen.extend(events.iter().map(|placed| placed.said.text().to_owned()));
        after = events.last().map(|placed| placed.cursor);
        if !has_more {
            break;
        }
    }
    assert_eq!(seen.len(), 191, "each once");
    let place = server.engine.sessions().place_of_event(&stream, "evt_7").await.unwrap();
    assert!(place.is_some(), "an event is found by its id");
    let nowhere = Some(Cursor { sequence: 1, index: 0 });
    assert!(server.engine.sessions().session_events(&stream, nowhere, 5).await.unwrap().is_err());
}

#[tokio::test]
async fn what_was_announced_can_be_erased_and_is_not_said_again() {
    let server = bank().await;
    announce(&server, opening()).await.expect("the session opens");
    let stream = session_stream(&operator(), &session());
    let erase = Command::Erase { position: 1, reason: "asked for".to_owned() };
    server.engine.submit(&operator(), stream.clone(), erase, None).await.expect("an operator may");
    let (events, _) =
        server.engine.sessions().session_events(&stream, None, 50).await.unwrap().unwrap();
    assert!(events.is_empty(), "{events:?}");
    announce(&server, vec![started(1)]).await.expect("it is known, whatever it said");
    says(&server, &agent("dana"), answer(TOKEN, Decision::Accept)).await;
    announce(&server, ending()).await.expect("the session goes on");
}
