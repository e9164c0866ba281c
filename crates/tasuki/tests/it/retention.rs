//! Messages past their retention: exported, purged by an operator, and archived and purged by the
//! server itself. The ledger stays whole, and no lookup finds them any more.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use adapters::message_archive::MessageArchive;
use engine::Engine;
use engine::loops::retention::Retention;
use engine::ports::outbox::OutboxList;
use protocol::ledger::Stream;
use protocol::step::{self, State};
use protocol::teamspace::{self, Configuration, Settings};
use protocol::time::{Span, Time};
use serde::Deserialize;
use serde_json::{Value, json};
use store::Sqlite;
use tasuki::client::Call;

use crate::server::{Server, ok, refused};
use crate::support;

fn tasuki(data: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tasuki"));
    command.args(args).arg("--data").arg(data).output().expect("the executable runs")
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

fn at(message: &Value) -> Time {
    Time::deserialize(&message["created_at"]).expect("a time")
}

#[tokio::test]
async fn an_operator_exports_and_purges() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |_| {});
    let senders = ["alice", "bob", "carol"].map(|name| server.agent(name));
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let elsewhere = server.with_token(&server.token("alice", &["--teamspace", "other"]));
    let body = |n: usize| {
        let to = ["bob", "carol", "alice"][n % 3];
        json!({ "to": [to], "type": "status.update", "thread_id": "t",
                "payload": { "text": format!("secret {n}") } })
    };
    let mut sent = Vec::new();
    for n in 0..24 {
        sent.push(ok(&senders[n % 3], Call::post("/v1/acp/messages", body(n))).await);
    }
    let to_self = json!({ "to": ["alice"], "type": "status.update", "payload": { "x": "other" } });
    ok(&elsewhere, Call::post("/v1/acp/messages", to_self)).await;
    let split = sent[20]["created_at"].as_str().expect("a time");

    let exported = lines(&tasuki(&data, &["message", "export", "--until", split]));
    let payloads = |messages: &[Value]| -> Vec<Value> {
        messages.iter().map(|one| one["payload"]["text"].clone()).collect()
    };
    let old = sent.iter().filter(|one| at(one) < at(&sent[20]));
    let mut old: Vec<Value> = old.cloned().collect();
    old.reverse();
    assert_eq!(payloads(&exported), payloads(&old), "an operator exports everything, newest first");
    let own = lines(&tasuki(&data, &["message", "export", "--as", "alice"]));
    assert_eq!(own.len(), 16);
    assert!(own.iter().all(|one| one["from"] == "alice" || one["to"][0] == "alice"));

    for who in &senders {
        let call = Call::post("/v1/acp/messages/purge", json!({ "before": split, "reason": "r" }));
        assert_eq!(refused(who, call).await.body["code"], "not_allowed");
    }
    let no_reason = json!({ "before": "2000-01-01T00:00:00Z", "reason": " " });
    let answer = refused(&operator, Call::post("/v1/acp/messages/purge", no_reason)).await;
    assert_eq!(answer.body["code"], "schema_invalid");
    let purge = ["message", "purge", "--before", split, "--reason", "old", "--json"];
    let purged = tasuki(&data, &purge);
    assert_eq!(lines(&purged), [json!({ "purged": old.len() })]);

    let rest = lines(&tasuki(&data, &["message", "export"]));
    assert_eq!(rest.len(), 24 - old.len());
    let path = format!("/v1/acp/messages/{}", sent[0]["id"].as_str().expect("an id"));
    for who in senders.iter().chain([&operator]) {
        assert_eq!(refused(who, Call::get(path.clone())).await.body["code"], "not_found");
    }
    let answer = json!({ "type": "status.update" });
    let answer = refused(&senders[1], Call::post(format!("{path}/respond"), answer)).await;
    assert_eq!(answer.body["code"], "not_found");
    let thread = ok(&operator, Call::get("/v1/acp/messages?thread_id=t&limit=200")).await;
    assert_eq!(thread["items"].as_array().map(Vec::len), Some(rest.len()));
    let other = ok(&elsewhere, Call::get("/v1/acp/inbox")).await;
    assert_eq!(other["items"].as_array().map(Vec::len), Some(1), "another teamspace has its own");

    assert_eq!(server.stop(), Some(0));
    let log = data.join("teamspaces/default/messages/messages.jsonl");
    let log = std::fs::read_to_string(log).expect("the log");
    assert_eq!(log.lines().count(), rest.len());
    assert!(!log.contains("secret 0"), "{log}");
    let verified = tasuki(&data, &["audit", "verify"]);
    let said = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert!(verified.status.success(), "{said}");
    assert!(said.contains(&format!("{} bodies erased", old.len())), "{said}");
    let bytes = std::fs::read(data.join("tasuki.db")).expect("the database");
    let holds = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds("secret 23") && !holds("secret 0"), "what is erased is overwritten");
}

/// On a clock of its own: due messages are archived and purged, whole days at a time.
#[tokio::test]
async fn what_was_kept_long_enough_is_archived_and_purged() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Sqlite::open(folder.path()).expect("a new database");
    let (engine, clock) = support::engine_on(Arc::new(store));
    support::register(&engine, &["alice", "bob"]).await;
    let archive: Arc<MessageArchive> = Arc::new(MessageArchive::new(folder.path()));
    let retention = Retention { kept: Some(Span::from_hours(24)), archive: Some(archive) };
    let send = async || {
        let body = json!({ "to": ["bob"], "type": "status.update" });
        support::sent(&engine, &support::agent("alice"), body).await
    };
    let mut streams = Vec::new();
    // Every six hours from 14:00 on: three messages on the first day, four on the second.
    for _ in 0..8 {
        streams.push(send().await);
        clock.advance(Span::from_hours(6));
    }
    let archived = || {
        let path = folder.path().join("archive/default/messages-2026-02.jsonl");
        std::fs::read_to_string(path).unwrap_or_default().lines().count()
    };
    assert_eq!(
        engine.ledger().purge_due(&Retention { kept: None, ..retention.clone() }).await.unwrap(),
        0
    );
    // It is 14:00 on the third day: everything older than the second goes.
    for (expected, in_all) in [(2, 2), (0, 2)] {
        assert_eq!(engine.ledger().purge_due(&retention).await.unwrap(), expected);
        assert_eq!(archived(), in_all);
    }
    clock.advance(Span::from_hours(24));
    keep_for_days(&engine, Some(30)).await;
    assert_eq!(
        engine.ledger().purge_due(&retention).await.unwrap(),
        0,
        "the teamspace's own word counts"
    );
    keep_for_days(&engine, None).await;
    assert_eq!(engine.ledger().purge_due(&retention).await.unwrap(), 4);
    assert_eq!(archived(), 6);
    let n_left =
        engine.outbox().outstanding(&support::default_teamspace(), OutboxList::All).await.unwrap();
    assert_eq!(n_left, []);
    for (index, stream) in streams.iter().enumerate() {
        let item = engine.read().item(stream).await.unwrap().expect("its place is kept");
        let State::Message(message) = item.state.as_ref() else { panic!("{item:?}") };
        assert_eq!(message.purged, index < 6, "{index}");
    }
    // The same notice again, long after it was purged, is not sent twice.
    let again = support::send_to(&engine, &support::agent("alice"), streams[0].clone()).await;
    assert_eq!(support::code(&again), "already_exists");
}

async fn keep_for_days(engine: &Engine, message_retention_days: Option<u32>) {
    let settings = Settings { message_retention_days, ..Settings::default() };
    let configuration = Configuration { settings, ..Configuration::default() };
    let command =
        step::Command::Teamspace(teamspace::Command::Configure { configuration, revision: None });
    let stream = Stream::of_teamspace(support::default_teamspace());
    let configured = engine.submit(&support::operator(), stream, command, None).await;
    configured.expect("an operator may");
}
