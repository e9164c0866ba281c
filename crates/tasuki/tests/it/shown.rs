//! Completion with proof, over HTTP: evidence for each criterion, final artifacts that are checked
//! at their real place, and a confirmation by an agent other than the owner.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::server::{Server, act, offer, ok, refused};
use crate::trust::sha256;

/// The one criterion of every offer here.
const CRITERION: &str = "Every retry is idempotent";

/// A server with one task that bob works on.
struct Work {
    server: Server,
    root: PathBuf,
    alice: Client,
    bob: Client,
    handoff: String,
    _folder: tempfile::TempDir,
}

impl Work {
    async fn begin(policy: Value) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().join("work");
        fs::create_dir(&root).expect("the folder is new");
        let roots = root.clone();
        let server = Server::start_on(&folder.path().join("data"), |command: &mut Command| {
            command.env("TASUKI_ARTIFACTS_ROOTS", &roots);
        });
        let (alice, bob) = (server.agent("alice"), server.agent("bob"));
        let mut offer = offer("T-1", "bob");
        offer["policy"] = policy;
        let proposed = ok(&alice, Call::post("/v1/handoffs", offer)).await;
        let handoff = proposed["handoff_id"].as_str().expect("an id").to_owned();
        act(&bob, &handoff, "accept", json!({})).await;
        act(&bob, &handoff, "activate", json!({})).await;
        Self { server, root, alice, bob, handoff, _folder: folder }
    }

    async fn act(&self, who: &Client, action: &str, body: Value) -> Value {
        act(who, &self.handoff, action, body).await
    }

    async fn refused(&self, who: &Client, action: &str, body: Value) -> (u16, Value) {
        let path = format!("/v1/handoffs/{}/{action}", self.handoff);
        let refusal = refused(who, Call::post(path, body)).await;
        (refusal.status, refusal.body)
    }

    async fn show(&self) -> Value {
        ok(&self.alice, Call::get(format!("/v1/handoffs/{}", self.handoff))).await
    }

    /// The newest message to an agent, once there are so many.
    async fn told(&self, who: &Client, n_messages: usize) -> Value {
        loop {
            let page = ok(who, Call::get("/v1/acp/inbox")).await;
            let items = page["items"].as_array().expect("a list");
            if items.len() >= n_messages {
                return items[0]["payload"].clone();
            }
        }
    }
}

fn file(id: &str, path: &Path) -> Value {
    json!({ "artifact_id": id, "ref": { "type": "file", "path": path } })
}

fn shows(evidence: &str) -> Value {
    json!([{ "criterion": CRITERION, "evidence": evidence }])
}

#[tokio::test]
async fn what_nobody_answered_is_not_shown() {
    let work = Work::begin(json!({})).await;
    assert_eq!(work.show().await["completion"], Value::Null);
    let (status, unknown) = work
        .refused(
            &work.bob,
            "complete",
            json!({ "evidence": [{ "criterion": "x", "evidence": "y" }] }),
        )
        .await;
    assert_eq!(
        (status, &unknown["code"], &unknown["field"]),
        (422, &json!("schema_invalid"), &json!("evidence[0].criterion"))
    );
    // As callers did before evidence existed.
    assert_eq!(work.act(&work.bob, "complete", json!({})).await["status"], "completed");
    let shown = work.show().await;
    assert_eq!(shown["completing"], "done");
    assert_eq!(shown["completion"]["unanswered"], json!([CRITERION]));
    assert_eq!(shown["completion"]["criteria"][0]["evidence"], Value::Null);
}

#[tokio::test]
async fn evidence_that_is_asked_for_must_be_given() {
    let work = Work::begin(json!({ "requires_evidence": true })).await;
    let (status, refusal) = work.refused(&work.bob, "complete", json!({})).await;
    assert_eq!((status, &refusal["code"]), (422, &json!("evidence_missing")));
    assert_eq!(
        (&refusal["field"], &refusal["unanswered"]),
        (&json!("evidence"), &json!([CRITERION]))
    );
    let body = json!({ "evidence": shows("run 7"), "completion_notes": "merged" });
    assert_eq!(work.act(&work.bob, "complete", body).await["status"], "completed");
    work.act(&work.alice, "close", json!({})).await;
    let completion = &work.show().await["completion"];
    assert_eq!(completion["unanswered"], json!([]));
    assert_eq!(completion["criteria"][0]["evidence"], "run 7");
    assert_eq!(completion["notes"], "merged");
}

#[tokio::test]
async fn final_artifacts_are_looked_at_and_the_owner_may_try_again() {
    let work = Work::begin(json!({})).await;
    let path = work.root.join("report.txt");
    let body = json!({ "final_artifacts": [file("report", &path)], "evidence": shows("see it") });
    let (status, missing) = work.refused(&work.bob, "complete", body.clone()).await;
    assert_eq!((status, &missing["code"]), (422, &json!("missing_artifact")));
    assert_eq!(missing["handoff_status"], "activated");
    assert_eq!(missing["verification_failed"], json!(["artifact:report"]));
    assert_eq!(work.show().await["completion"], Value::Null);
    let told = work.told(&work.bob, 1).await;
    assert_eq!(told["reason"], "missing_artifact");

    fs::write(&path, "finished\n").unwrap();
    let mut wrong = body.clone();
    wrong["final_artifacts"][0]["ref"]["sha256"] = "ab".repeat(32).into();
    let acp = json!({ "action": "complete", "handoff_id": work.handoff });
    let mut request = wrong;
    request.as_object_mut().unwrap().extend(acp.as_object().unwrap().clone());
    let answer = work.bob.call(Call::post("/v1/acp/handoff", request)).await.unwrap();
    assert_eq!((&answer.body["status"], answer.status), (&json!("activated"), 422));
    assert_eq!(answer.body["error"]["code"], "hash_mismatch");
    assert_eq!(answer.body["metadata"]["verification_failed"], json!(["artifact:report"]));

    let done = work.act(&work.bob, "complete", body).await;
    assert_eq!(done["status"], "completed");
    assert_eq!(done["verification_passed"], json!(["artifact:report"]));
    let verified = &work.show().await["completion"]["verified"][0];
    assert_eq!(verified["finding"]["sha256"], json!(sha256(b"finished\n")));
    assert_eq!(verified["finding"]["size_bytes"], 9);
}

#[tokio::test]
async fn what_cannot_be_looked_at_stays_under_way() {
    let work = Work::begin(json!({})).await;
    // A name that never resolves, whatever network the test runs in.
    let url = json!({ "type": "url", "path": "http://artifact.invalid/log" });
    let body = json!({ "final_artifacts": [{ "artifact_id": "log", "ref": url }] });
    let answer = work.act(&work.bob, "complete", body).await;
    assert_eq!(answer["status"], "activated");
    assert_eq!(answer["verification_failed"], json!(["verification_unavailable"]));
    assert_eq!(work.show().await["completing"], "verification_unavailable");
    let root = work.server.with_token(&work.server.token("root", &["--kind", "operator"]));
    let outbox = ok(&root, Call::get("/v1/outbox")).await;
    assert_eq!(outbox["items"][0]["effect"], "fetch/1");
    // An owner that named the wrong place names another, or none.
    assert_eq!(work.act(&work.bob, "complete", json!({})).await["status"], "completed");
    assert_eq!(ok(&root, Call::get("/v1/outbox")).await["items"], json!([]));
}

#[tokio::test]
async fn somebody_else_confirms_and_the_story_says_who() {
    let work = Work::begin(json!({ "requires_verifier": true })).await;
    let reviewer = work.server.token("rita", &["--kind", "human", "--role", "reviewer"]);
    let rita = work.server.with_token(&reviewer);
    fs::write(work.root.join("report"), "almost").unwrap();
    let report = file("report", &work.root.join("report"));
    let body = json!({ "final_artifacts": [report], "evidence": shows("run 7") });
    let waiting = work.act(&work.bob, "complete", body.clone()).await;
    assert_eq!(waiting["status"], "activated");
    assert_eq!(waiting["verification_passed"], json!(["artifact:report"]));
    assert_eq!(work.show().await["completing"], "unconfirmed");
    assert!(work.told(&work.alice, 1).await["completion"].as_str().unwrap().contains("confirm"));
    let (_, own) = work.refused(&work.bob, "confirm", json!({})).await;
    assert_eq!(own["code"], "not_allowed");

    work.act(&rita, "dispute", json!({ "why": "run 7 is red" })).await;
    let told = work.told(&work.bob, 1).await;
    assert_eq!((&told["reason"], &told["detail"]), (&json!("disputed"), &json!("run 7 is red")));
    assert_eq!(work.show().await["completing"], Value::Null);
    let (_, twice) = work.refused(&rita, "confirm", json!({})).await;
    assert_eq!(twice["code"], "wrong_state");

    work.act(&work.bob, "complete", body).await;
    let confirm =
        json!({ "action": "confirm", "handoff_id": work.handoff, "why": "run 8 is green" });
    let confirmed = ok(&rita, Call::post("/v1/acp/handoff", confirm)).await;
    assert_eq!(confirmed["status"], "completed");
    assert_eq!(work.show().await["completion"]["confirmed_by"], "agent:rita");

    let told = Command::new(env!("CARGO_BIN_EXE_tasuki"))
        .args(["handoff", "show", &work.handoff, "--data"])
        .arg(&work.server.data)
        .output()
        .unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    for sentence in [
        "shown     Every retry is idempotent: “run 7”",
        "[verified, 6 bytes]",
        "confirmed by agent:rita",
        "bob reported it as done",
        "artifact:report hold",
        "rita disputed that it is done: “run 7 is red”",
        "rita confirmed that it is done: “run 8 is green”",
    ] {
        assert!(told.contains(sentence), "{sentence:?} is missing in\n{told}");
    }
}
