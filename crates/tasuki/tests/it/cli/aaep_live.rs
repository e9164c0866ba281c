//! AAEP at a terminal: a person listens and answers, with the server away in between; the recording
//! is valid, and can be replayed.

use std::path::Path;
use std::process::Command;

use protocol::time::Time;
use serde_json::{Value, json};
use tasuki::client::{Call, Client, Identity};
use tasuki::node::control_socket;

use super::aaep_files::{SESSION, TOKEN, transfer};
use super::chat::Terminal;
use super::shell::{split, tasuki};
use crate::server::{Server, ok};

/// A server with an agent that announces, and two people.
pub fn bank(folder: &Path) -> Server {
    bank_with(folder, |_| {})
}

fn bank_with(folder: &Path, settings: impl FnOnce(&mut Command)) -> Server {
    let server = Server::start_on(&folder.join("data"), settings);
    for agent in ["teller --kind worker", "dana --kind human", "omar --kind human"] {
        let command = format!("agent register {agent} --data data --init");
        let outcome = tasuki(folder, &split(&command), &[], "");
        assert_eq!(outcome.code, 0, "{command}: {}", outcome.stderr);
    }
    server
}

pub fn teller(folder: &Path) -> Client {
    let act_as = Some("teller".to_owned());
    let identity = Identity { act_as, ..Identity::default() };
    Client::socket(control_socket(&folder.join("data"))).with_identity(identity)
}

pub async fn announce(teller: &Client, events: Vec<Value>) {
    ok(teller, Call::post("/aaep/v1/events", Value::from(events))).await;
}

async fn decision(teller: &Client) -> Value {
    let path = format!("/aaep/v1/sessions/{SESSION}/decisions/{TOKEN}");
    ok(teller, Call::get(path)).await
}

/// A server that opens no stream accepts terms all the same.
#[test]
fn a_listener_does_not_claim_to_listen_before_its_stream_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let _server = bank_with(folder.path(), |command| {
        command.env("TASUKI_LIMITS_STREAMS", "0");
    });
    for command in
        ["aaep listen --as dana --data data", "aaep capture --as dana --data data -o out"]
    {
        let mut dana = Terminal::open(folder.path(), command);
        dana.sees("the server does not answer");
        assert_eq!(dana.n_times("listening") + dana.n_times("recording"), 0, "{:?}", dana.seen());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_listens_and_answers() {
    let folder = tempfile::tempdir().unwrap();
    let server = bank(folder.path());
    let teller = teller(folder.path());
    let mut dana = Terminal::open(folder.path(), "aaep listen --as dana --signed --data data");
    let mut omar = Terminal::open(folder.path(), "aaep listen --as omar --data data");
    dana.sees("the manifest of tasuki is signed");
    dana.sees("listening");
    omar.sees("listening");
    dana.enter("accept");
    dana.sees("no question waits");
    let [before, after] = transfer();
    announce(&teller, before).await;
    dana.sees("Teller: Transfers 500 dollars");
    dana.sees("URGENT Teller asks, question 1");
    dana.sees("  Action: Transfer 500 dollars to Maria Lopez");
    dana.sees("  Consequence: The money leaves your account");
    dana.sees("  Risk: high");
    dana.sees("  This cannot be undone.");
    dana.sees(". Then it is rejected.");
    dana.sees("type accept 1 or reject");
    omar.sees("type accept 1 or reject");
    for typed in ["", "yes", "accept"] {
        dana.enter(typed);
    }
    dana.sees("question 1: expected accept 1 or reject");
    dana.sees("question 1 cannot be undone: type accept 1");
    assert_eq!(decision(&teller).await["status"], "open", "none of them is an answer");
    dana.enter("accept 1");
    dana.sees("your answer to question 1 is sent: accept");
    let decided = decision(&teller).await;
    assert_eq!(
        (&decided["decision"], &decided["answered_by"]),
        (&json!("accept"), &json!("agent:dana"))
    );

    server.kill();
    dana.sees("the server does not answer");
    let server = Server::start_on(&folder.path().join("data"), |_| {});
    dana.sees("the server is back");
    omar.sees("the server is back");
    for (typed, expected) in [
        ("/pace 120", "the terms are changed"),
        ("/terse", "the terms are changed"),
        ("/pace fast", "expected something like: /pace 120"),
        ("/sing", "no such command: /sing"),
        ("/questions", "no question waits"),
    ] {
        dana.enter(typed);
        dana.sees(expected);
    }
    announce(&teller, after).await;
    omar.sees("question 1 is closed: somebody accepted");
    dana.sees("Anything else?");
    dana.sees("    Transferred 500 dollars");
    dana.enter("/quit");
    omar.interrupt();
    assert_eq!((dana.leave(), omar.leave()), (Some(0), Some(0)));
    for words in ["Transfers 500 dollars", "your answer to question 1 is sent"] {
        assert_eq!(dana.n_times(words), 1, "{words}: {:#?}", dana.seen());
    }
    drop(server);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_recorded_is_valid_and_can_be_played_again() {
    let folder = tempfile::tempdir().unwrap();
    let _server = bank(folder.path());
    let teller = teller(folder.path());
    let mut capture = "aaep capture --as dana --answer ask --until-end --data data".to_owned();
    capture.push_str(&format!(" --session {SESSION} -o record.jsonl"));
    let [before, after] = transfer();
    announce(&teller, before.clone()).await;
    let mut dana = Terminal::open(folder.path(), &capture);
    dana.sees("type accept 1 or reject");
    dana.enter("accept 1");
    dana.sees("your answer to question 1 is sent: accept");
    announce(&teller, after.clone()).await;
    dana.sees("8 events recorded");
    assert_eq!(dana.leave(), Some(0), "{:#?}", dana.seen());
    let command = "aaep validate record.jsonl --strict";
    let checked = tasuki(folder.path(), &split(command), &[], "");
    let expected = "1 file, 9 documents, 1 session: valid, 0 warnings\n";
    assert_eq!((checked.code, checked.stderr.as_str()), (0, expected), "{}", checked.stdout);
    let again = tasuki(folder.path(), &split(&capture), &[], "");
    assert_eq!(again.code, 1, "a recording is not written over: {}", again.stderr);

    let mut omar = Terminal::open(folder.path(), "aaep listen --as omar --from now --data data");
    omar.sees("listening");
    let replay =
        "aaep replay record.jsonl --to-server --as teller --new-ids --speed max --data data";
    let mut replay = Terminal::open(folder.path(), replay);
    let session = replay.sees("sess_");
    omar.sees("type accept 1 or reject");
    omar.enter("accept 1");
    replay.sees("answered: accept");
    replay.sees("8 events announced");
    assert_eq!(replay.leave(), Some(0));
    let page = ok(&teller, Call::get(format!("/aaep/v1/sessions/{session}/events"))).await;
    let played = page["items"].as_array().unwrap().iter().map(|item| item["event"].clone());
    let played: Vec<Value> = played.map(|event| anonymous(event, &session)).collect();
    let announced = [before, after].concat();
    let announced: Vec<Value> = announced.into_iter().map(|it| anonymous(it, SESSION)).collect();
    assert_eq!(played, announced, "the same session, but for its ids and times");

    let command =
        "aaep replay record.jsonl --to-server --as teller --new-ids --speed max --data data";
    let mut replay = Terminal::open(folder.path(), command);
    let session = replay.sees("sess_");
    omar.sees("type accept 2 or reject");
    omar.enter("reject");
    replay.sees("answered: reject");
    replay.sees("the recording does not fit any more");
    assert_eq!(replay.leave(), Some(3));
    let shown = ok(&teller, Call::get(format!("/aaep/v1/sessions/{session}"))).await;
    assert_eq!(shown["status"], "cancelled");
}

/// An event without the fields that differ on each announcement.
fn anonymous(mut event: Value, session: &str) -> Value {
    assert_eq!(event["session_id"], session);
    assert!(event["timestamp"].as_str().is_some_and(|at| at.parse::<Time>().is_ok()));
    for name in ["session_id", "event_id", "timestamp", "reply_token"] {
        event.as_object_mut().expect("an object").remove(name);
    }
    event
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_may_begin_in_the_middle_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let _server = bank(folder.path());
    let teller = teller(folder.path());
    let [before, after] = transfer();
    announce(&teller, before[..2].to_vec()).await;
    let capture =
        "aaep capture --as dana --answer ask --until-end --from now --data data -o r.jsonl";
    let mut dana = Terminal::open(folder.path(), capture);
    dana.sees("recording; Ctrl-C ends it");
    announce(&teller, before[2..].to_vec()).await;
    dana.sees("type accept 1 or reject");
    dana.enter("accept 1");
    dana.sees("your answer to question 1 is sent: accept");
    announce(&teller, after).await;
    dana.sees("6 events recorded");
    assert_eq!(dana.leave(), Some(0), "{:#?}", dana.seen());
    let recorded = std::fs::read_to_string(folder.path().join("r.jsonl")).unwrap();
    assert!(!recorded.contains("stands"), "only what was announced is recorded: {recorded}");
    let check = |options: &str| {
        let command = format!("aaep validate r.jsonl --tier session --warnings{options}");
        let checked = tasuki(folder.path(), &split(&command), &[], "");
        (checked.code, checked.stdout)
    };
    let said = format!("rule 4.1.1  type: expected the start of {SESSION}");
    let (code, shown) = check("");
    assert!(code == 0 && shown.contains(&said), "{shown}");
    assert_eq!(check(" --strict").0, 1);
}
