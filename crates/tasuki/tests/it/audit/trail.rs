//! Decisions of people, verifications and messages, each in a log of its own: derived from the
//! ledger, compared with it, and resumed after a crash.

use engine::ports::adapter::{Adapter, Taken, WakeCall};
use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use adapters::audit_log::log::Log;
use protocol::agent::{self, Kind, Profile};
use protocol::handoff::artifact::{Finding, Seen};
use protocol::handoff::command::{Accept, Command as Action};
use protocol::handoff::completion::Completion;
use protocol::handoff::package::Artifact;
use protocol::ids::{HandoffId, TeamspaceId};
use protocol::ledger::Subject;
use protocol::message;
use protocol::step::Command;
use serde_json::json;
use tempfile::TempDir;

use super::ledger::{Server, assert_findings, caller, findings, offer, report};

/// Everything is there.
struct Finds;

impl Adapter for Finds {
    fn look(&self, artifacts: Vec<Artifact>) -> Pin<Box<dyn Future<Output = Vec<Seen>> + Send>> {
        let finding = Finding::Verified { sha256: "ab".repeat(32), size_bytes: 7 };
        let seen = artifacts.into_iter().map(move |artifact| Seen {
            artifact_id: artifact.artifact_id,
            path: None,
            finding: finding.clone(),
        });
        Box::pin(std::future::ready(seen.collect()))
    }

    fn wake(&self, _: WakeCall) -> Taken {
        Box::pin(std::future::ready(Ok(())))
    }
}

fn file(id: &str) -> Artifact {
    let artifact =
        json!({ "artifact_id": id, "ref": { "type": "file", "path": format!("/work/{id}") } });
    serde_json::from_value(artifact).unwrap()
}

/// A handoff that a human approved, whose artifacts were checked twice, and whose completion was
/// disputed and then confirmed; and a message. Closed, so that it can be erased.
async fn made() -> (TempDir, HandoffId) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), 1);
    let operator = caller("default", "operator:root");
    for (name, kind) in [("tim", Kind::Worker), ("barry", Kind::Worker), ("dana", Kind::Human)] {
        let register = agent::Command::Register { kind, profile: Profile::default() };
        let subject = Subject::Agent(name.parse().unwrap());
        server.submit(&operator, subject, Command::Agent(register)).await;
    }
    let [tim, barry, dana] =
        ["tim", "barry", "dana"].map(|name| caller("default", &format!("agent:{name}")));
    let mut offer = offer("shown");
    offer.artifacts = vec![file("log"), file("plan")];
    let policy = json!({ "human_gate": "required", "requires_verifier": true });
    offer.policy = Some(serde_json::from_value(policy).unwrap());
    let id = server.engine.new_handoff_id();
    server.handoff(&tim, id, Action::Initiate { offer: Some(Box::new(offer)) }).await;
    server.handoff(&barry, id, Action::Accept(Accept::default())).await;
    server.engine.outbox().carry_out_due(&Finds).await.unwrap();
    server
        .handoff(&dana, id, Action::Approve { revision: None, why: Some("it is sound".to_owned()) })
        .await;
    server.handoff(&barry, id, Action::Activate { work_state_update: None }).await;
    let report = Completion { final_artifacts: vec![file("report")], ..Completion::default() };
    server.handoff(&barry, id, Action::Complete(report.clone())).await;
    server.engine.outbox().carry_out_due(&Finds).await.unwrap();
    server.handoff(&tim, id, Action::Dispute { why: "page 3 is empty".to_owned() }).await;
    server.handoff(&barry, id, Action::Complete(report)).await;
    server.engine.outbox().carry_out_due(&Finds).await.unwrap();
    server.handoff(&tim, id, Action::Confirm { why: None }).await;
    server.handoff(&tim, id, Action::Close { closure_notes: None }).await;
    let outgoing =
        json!({ "to": ["barry"], "type": "status.update", "payload": { "note": "thanks" } });
    let send = message::Command::Send(Box::new(serde_json::from_value(outgoing).unwrap()));
    let message = Subject::Message(server.engine.new_message_id());
    server.submit(&tim, message, Command::Message(send)).await;
    server.seal().await;
    server.stop().await;
    (folder, id)
}

fn path(folder: &Path, log: Log) -> PathBuf {
    log.lines_path(folder, &TeamspaceId::default_teamspace())
}

fn text(folder: &Path, log: Log) -> String {
    fs::read_to_string(path(folder, log)).unwrap()
}

#[tokio::test]
async fn decisions_and_artifacts_have_their_lines() {
    let (folder, id) = made().await;
    let at = |seconds: u32| format!("2026-02-21T14:00:{seconds:02}Z");
    let decided = |event: &str, actor: &str, why: &str, seconds: u32| {
        format!(
            concat!(
                r#"{{"event":"{}","handoff_id":"{}","actor":"agent:{}","#,
                r#""why":{},"timestamp":"{}"}}"#,
            ),
            event,
            id,
            actor,
            why,
            at(seconds)
        )
    };
    let decisions = text(folder.path(), Log::Decisions);
    let expected = [
        decided("handoff_approved", "dana", r#""it is sound""#, 5),
        decided("handoff_disputed", "tim", r#""page 3 is empty""#, 8),
        decided("handoff_confirmed", "tim", "null", 10),
    ];
    assert_eq!(decisions.lines().collect::<Vec<_>>(), expected);

    let verified = |artifact: &str, when: &str, seconds: u32| {
        format!(
            concat!(
                r#"{{"event":"artifact_verified","handoff_id":"{}","artifact_id":"{}","#,
                r#""path":"/work/{}","sha256":"{}","size_bytes":7,"#,
                r#""verified_at":"{}","timestamp":"{}"}}"#,
            ),
            id,
            artifact,
            artifact,
            "ab".repeat(32),
            when,
            at(seconds)
        )
    };
    let registry = text(folder.path(), Log::Artifacts);
    let expected = [
        verified("log", "accept", 5),
        verified("plan", "accept", 5),
        verified("report", "complete", 8),
        verified("report", "complete", 10),
    ];
    assert_eq!(registry.lines().collect::<Vec<_>>(), expected);
    let untouched = report(folder.path());
    assert_eq!((findings(&untouched).as_str(), untouched.remarks.len()), ("", 0));
    let n_lines: usize = Log::ALL.iter().map(|log| text(folder.path(), *log).lines().count()).sum();
    assert_eq!(untouched.n_lines, n_lines as u64);
}

#[tokio::test]
async fn every_change_to_any_log_is_found_and_named() {
    type Change = fn(&str) -> String;
    let without_first: Change = |text| text.split_once('\n').unwrap().1.to_owned();
    let without_last: Change = |text| {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        lines[..lines.len() - 1].concat()
    };
    let (made, _) = made().await;
    for (log, name, last, word, other) in [
        (Log::Handoffs, "handoffs/handoffs.jsonl", 13, "barry", "Barry"),
        (Log::Messages, "messages/messages.jsonl", 1, "thanks", "Thanks"),
        (Log::Decisions, "decisions/decisions.jsonl", 3, "it is sound", "it is Sound"),
        (Log::Artifacts, "artifacts/registry.jsonl", 4, "/work/log", "/work/lot"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        super::ledger::copy_folder(made.path(), folder.path());
        let path = path(folder.path(), log);
        let whole = fs::read_to_string(&path).unwrap();
        let file = format!("teamspaces/default/{name}");
        let changed = whole.replacen(word, other, 1);
        assert_ne!(changed, whole, "{name}");
        fs::write(&path, changed).unwrap();
        assert_findings(name, &report(folder.path()), &format!("entry …{file}:…differs"));

        fs::write(&path, without_first(&whole)).unwrap();
        let expected = if last == 1 { "is missing" } else { "differs" };
        let expected = format!("entry …{file}:1 {expected}");
        assert_findings(name, &report(folder.path()), &expected);

        fs::write(&path, without_last(&whole)).unwrap();
        let expected = format!("entry …{file}:{last} is missing");
        assert_findings(name, &report(folder.path()), &expected);

        fs::remove_file(&path).unwrap();
        let expected = format!("entry …{file}:1 is missing");
        assert_findings(name, &report(folder.path()), &expected);

        // The next start writes it as it was.
        Server::start(folder.path(), 9).stop().await;
        assert_eq!(fs::read_to_string(&path).unwrap(), whole, "{name}");
        assert_eq!(findings(&report(folder.path())), "", "{name}");
    }
}

/// The lines were being written and their record was not: nothing is lost, and nothing repeated.
#[tokio::test]
async fn a_start_after_a_crash_takes_every_log_up_where_it_was_recorded() {
    let (made, _) = made().await;
    for log in Log::ALL {
        let whole = fs::read(path(made.path(), log)).unwrap();
        for n_bytes in [0, 1, whole.len() / 2, whole.len()] {
            let folder = tempfile::tempdir().unwrap();
            super::ledger::copy_folder(made.path(), folder.path());
            let path = path(folder.path(), log);
            fs::write(&path, &whole[..n_bytes]).unwrap();
            fs::remove_file(path.with_added_extension("position")).unwrap();
            fs::remove_file(log.common_position_path(folder.path())).unwrap();
            assert_eq!(findings(&report(folder.path())), "", "{log:?} {n_bytes}");
            Server::start(folder.path(), 9).stop().await;
            assert_eq!(fs::read(&path).unwrap(), whole, "{log:?} {n_bytes}");
        }
    }
}

#[tokio::test]
async fn what_is_erased_leaves_these_logs_too() {
    let (folder, id) = made().await;
    let before = tempfile::tempdir().unwrap();
    super::ledger::copy_folder(folder.path(), before.path());
    let server = Server::start(folder.path(), 7);
    let operator = caller("default", "operator:root");
    // The check of the artifacts, and the approval.
    for position in [3, 4] {
        let erase = Command::Erase { position, reason: "asked by the customer".to_owned() };
        server.submit(&operator, Subject::Handoff(id), erase).await;
    }
    server.seal().await;
    server.stop().await;
    assert!(!text(folder.path(), Log::Decisions).contains("sound"));
    assert_eq!(text(folder.path(), Log::Decisions).lines().count(), 2);
    assert_eq!(text(folder.path(), Log::Artifacts).lines().count(), 2);
    let erased = report(folder.path());
    assert_eq!((findings(&erased).as_str(), erased.remarks.len()), ("", 0));

    // A crash before the logs were rewritten: the remaining parts of the lines are compared.
    for log in Log::ALL {
        let path = path(folder.path(), log);
        fs::copy(self::path(before.path(), log), &path).unwrap();
        for position in [
            log.common_position_path(Path::new("")),
            log.position_path(Path::new(""), &TeamspaceId::default_teamspace()),
        ] {
            fs::copy(before.path().join(&position), folder.path().join(&position)).unwrap();
        }
    }
    let left = report(folder.path());
    assert_eq!(findings(&left), "");
    let remark = "4 lines are about bodies that were erased since, and cannot be derived again";
    assert!(left.remarks.iter().any(|found| found == remark), "{:?}", left.remarks);
    let path = path(folder.path(), Log::Decisions);
    let changed = text(folder.path(), Log::Decisions).replace("agent:dana", "agent:tom");
    fs::write(&path, changed).unwrap();
    assert_findings("who approved", &report(folder.path()), "entry …decisions.jsonl:1 differs");
}
