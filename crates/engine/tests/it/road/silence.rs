//! A producer that is gone: its session ends by itself, for its listeners too.

use aaep::event::{Boundary, Decision};
use aaep::handshake::Request;
use aaep::read::read;
use engine::aaep::announce::session_stream;
use engine::aaep::handshake::Host;
use engine::aaep::listening::{ListenerNews, Listening, Resume};
use protocol::ids::SubscriptionId;
use protocol::ledger::{Stream, Subject};
use protocol::session::Status;
use protocol::session::event::Said;
use protocol::step::Command;
use protocol::teamspace::{self, Configuration, Settings};
use protocol::time::Span;
use serde_json::{Value, json};

use super::Server;
use super::sessions::{
    TOKEN, announce, answer, bank, event, names, opening, says, session, started,
};
use crate::support::{agent, code, default_teamspace, operator};

/// A day, and the hour in which the deadline moves.
const LONG: Span = Span::from_hours(25);

/// A call and an output that are never completed.
fn left_open() -> Vec<Said> {
    let chunk = json!({ "chunk": "I am", "position": 0, "complete": false });
    let call = json!({ "tool": "look", "tool_call_id": "call_9" });
    vec![started(1), event(2, "tool.invoked", call), event(3, "output.streaming", chunk)]
}

fn stream() -> Stream {
    session_stream(&operator(), &session())
}

async fn status(server: &Server) -> Status {
    let session = server.engine.sessions().session(&stream()).await.expect("it can be read");
    session.expect("it exists").status
}

async fn fire(server: &Server) -> usize {
    server.engine.fire_due_deadlines().await.expect("the store works")
}

/// Dana, who wants whole texts.
async fn listen(server: &Server) -> Listening {
    let mut request = Request {
        aaep_version: "1.0.0".to_owned(),
        subscriber_id: "reader".to_owned(),
        ..Request::default()
    };
    request.capabilities.coalesce_boundaries = Some(vec![Boundary::Completion]);
    let accepted =
        server.engine.listeners().subscribe(&agent("dana"), &Host::default(), request).await;
    let accepted = accepted.expect("the store works").expect("the terms are fine");
    let id: SubscriptionId = accepted.subscription_id.parse().expect("an id");
    let listening = server.engine.listeners().listen(&agent("dana"), &id, Resume::No).await;
    listening.expect("the store works").expect("it is hers")
}

/// All events up to the end.
async fn hears(listening: &mut Listening) -> Vec<Value> {
    let mut heard: Vec<Value> = Vec::new();
    while heard.last().is_none_or(|last| last["type"] != "aaep:agent.session.cancelled") {
        match listening.next().await.expect("the store works") {
            ListenerNews::Told(told) => {
                heard.push(serde_json::from_str(told.text()).expect("JSON"))
            }
            ListenerNews::Closed(closed) => panic!("{closed:?}"),
        }
    }
    heard
}

#[tokio::test]
async fn a_session_whose_producer_is_gone_ends_once() {
    let server = bank().await;
    let mut dana = listen(&server).await;
    announce(&server, left_open()).await.expect("the session opens");
    server.clock.advance(Span::from_hours(24));
    assert_eq!((fire(&server).await, status(&server).await), (0, Status::Open));
    server.clock.advance(Span::from_hours(1));
    assert_eq!((fire(&server).await, status(&server).await), (1, Status::Cancelled));
    assert_eq!(fire(&server).await, 0, "once");
    assert_eq!(names(&server).await, ["session.announced", "session.announced"]);
    let heard = hears(&mut dana).await;
    let of = |kind| heard.iter().filter(move |it| it["type"] == format!("aaep:agent.{kind}"));
    let said: String = of("output.streaming").filter_map(|it| it["chunk"].as_str()).collect();
    assert_eq!(said, "I am");
    assert_eq!(of("output.streaming").next_back().expect("a chunk")["complete"], true);
    assert_eq!(of("tool.completed").next_back().expect("it returned")["status"], "timeout");
    let end = heard.last().expect("the end");
    assert_eq!(
        (&end["cancelled_by"], &end["extensions"]["tasuki"]["by"], &end["producer"]["agent_id"]),
        (&json!("timeout"), &json!("server"), &json!("teller"))
    );
    assert!(read(&end.to_string()).is_ok());
    let back = announce(&server, vec![event(4, "session.completed", json!({}))]).await;
    assert_eq!(code(&back), "protocol_violation", "it comes too late");
    let rebuilt = server.engine.read().rebuild(&stream()).await.expect("the ledger makes sense");
    assert_eq!(Some(&rebuilt), server.engine.read().current(&stream()).await.unwrap().as_deref());
}

#[tokio::test]
async fn who_is_heard_of_or_waits_for_an_answer_is_not_gone() {
    let server = bank().await;
    announce(&server, vec![started(1)]).await.expect("the session opens");
    for number in 2..6 {
        server.clock.advance(Span::from_hours(20));
        let progress = json!({ "progress": { "percent": 5 } });
        let goes_on = announce(&server, vec![event(number, "progress.updated", progress)]).await;
        goes_on.expect("it is still at work");
        assert_eq!(fire(&server).await, 0);
    }
    let server = server.restart();
    server.clock.advance(LONG);
    assert_eq!((fire(&server).await, status(&server).await), (1, Status::Cancelled));

    let server = bank().await;
    let day = 86_400;
    let mut events = opening();
    let asks = events
        .pop()
        .expect("the question")
        .text()
        .replace("\"timeout_seconds\":300", &format!("\"timeout_seconds\":{day}"));
    events.push(Said::new(asks).expect("JSON"));
    announce(&server, events).await.expect("the session opens");
    server.clock.advance(Span::from_hours(23));
    assert_eq!(says(&server, &agent("dana"), answer(TOKEN, Decision::Reject)).await, answered());
    server.clock.advance(Span::from_hours(24));
    assert_eq!((fire(&server).await, status(&server).await), (0, Status::Open));
    server.clock.advance(Span::from_hours(1));
    assert_eq!((fire(&server).await, status(&server).await), (1, Status::Cancelled));
}

fn answered() -> engine::aaep::announce::Counted {
    engine::aaep::announce::Counted::Yes
}

#[tokio::test]
async fn a_teamspace_says_how_long_a_silence_is() {
    let server = bank().await;
    let settings = Settings { session_silence_minutes: Some(10), ..Settings::default() };
    let configuration = Configuration { settings, ..Configuration::default() };
    let command = teamspace::Command::Configure { configuration, revision: None };
    let itself = Stream { teamspace: default_teamspace(), subject: Subject::Teamspace };
    let done = server.engine.submit(&operator(), itself, Command::Teamspace(command), None).await;
    done.expect("an operator may");
    announce(&server, left_open()).await.expect("the session opens");
    let server = server.restart();
    server.clock.advance(Span::from_minutes(11));
    assert_eq!((fire(&server).await, status(&server).await), (1, Status::Cancelled));
    let rebuilt = server.engine.read().rebuild(&stream()).await.expect("the ledger makes sense");
    assert_eq!(Some(&rebuilt), server.engine.read().current(&stream()).await.unwrap().as_deref());
}
