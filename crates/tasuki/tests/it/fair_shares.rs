//! One teamspace with a lot of slow work: the others do not notice.

use std::fs;
use std::path::Path;
use std::process::Command;

use engine::loops::outbox_pools::{places, places_of_teamspace};
use protocol::step::EffectKind;
use serde_json::{Value, json};
use tasuki::client::{Call, Client};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::server::{Server, act, offer, ok};

/// Accepts connections and never answers.
struct Silent {
    url: String,
    count: watch::Receiver<usize>,
}

impl Silent {
    async fn listen() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/file", listener.local_addr().expect("it is bound"));
        let (counted, count) = watch::channel(0);
        tokio::spawn(async move {
            let mut kept = Vec::new();
            while let Ok((connection, _)) = listener.accept().await {
                kept.push(connection);
                counted.send_replace(kept.len());
            }
        });
        Self { url, count }
    }
}

fn member(server: &Server, teamspace: &str, agent: &str) -> Client {
    server.with_token(&server.token(agent, &["--teamspace", teamspace]))
}

/// An offer to bob with one artifact.
async fn propose(alice: &Client, task: &str, kind: &str, path: &str) -> String {
    let mut offer = offer(task, "bob");
    let reference = json!({ "type": kind, "path": path });
    offer["artifacts"] = json!([{ "artifact_id": "a", "ref": reference }]);
    let proposed = ok(alice, Call::post("/v1/handoffs", offer)).await;
    proposed["handoff_id"].as_str().expect("an id").to_owned()
}

/// A server with the root `work`, which has the file `small`.
fn serve(folder: &Path) -> Server {
    let root = folder.join("work");
    fs::create_dir(&root).expect("the folder is new");
    fs::write(root.join("small"), "hello").expect("it can be written");
    Server::start_on(&folder.join("data"), |command: &mut Command| {
        command.env("TASUKI_ARTIFACTS_ROOTS", &root);
        command.env("TASUKI_ARTIFACTS_ALLOW_PRIVATE_ADDRESSES", "true");
    })
}

/// Accepts more work of a teamspace than is looked at at once, all of it at the silent URL.
async fn flood(server: &Server, teamspace: &str, silent: &mut Silent) {
    let (alice, bob) = (member(server, teamspace, "alice"), member(server, teamspace, "bob"));
    let before = *silent.count.borrow();
    for number in 0..2 * places_of_teamspace(EffectKind::Fetch) {
        let id = propose(&alice, &format!("T-{number}"), "url", &silent.url).await;
        let bob = bob.clone();
        // The answer waits a while for the look.
        tokio::spawn(async move { act(&bob, &id, "accept", json!({})).await });
    }
    let n_at_once = before + places_of_teamspace(EffectKind::Fetch);
    silent.count.wait_for(|count| *count == n_at_once).await.expect("it listens");
}

/// Every look of `flood` waits for a server that never answers. A URL of another teamspace that
/// answers is fetched while its accept waits for the answer.
#[tokio::test(flavor = "multi_thread")]
async fn slow_looks_of_one_teamspace_do_not_delay_another() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = serve(folder.path());
    let mut silent = Silent::listen().await;
    flood(&server, "flood", &mut silent).await;
    let n_at_once = *silent.count.borrow();

    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    let id = propose(&alice, "T-1", "url", &format!("{}/healthz", server.url)).await;
    let accepted: Value = act(&bob, &id, "accept", json!({})).await;
    assert_eq!(accepted["status"], "accepted");
    assert_eq!(*silent.count.borrow(), n_at_once, "the others wait for their turn");
}

/// Slow URLs of many teamspaces take all places for what is fetched, and none of those for files.
#[tokio::test(flavor = "multi_thread")]
async fn slow_urls_do_not_delay_a_look_at_a_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = serve(folder.path());
    let n_teamspaces = places(EffectKind::Fetch) / places_of_teamspace(EffectKind::Fetch);
    for number in 0..n_teamspaces {
        // An endpoint of a teamspace has a limit of its own.
        let mut silent = Silent::listen().await;
        flood(&server, &format!("flood-{number}"), &mut silent).await;
    }

    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    let path = folder.path().join("work/small").display().to_string();
    let id = propose(&alice, "T-1", "file", &path).await;
    let accepted: Value = act(&bob, &id, "accept", json!({})).await;
    assert_eq!(accepted["status"], "accepted");
}
