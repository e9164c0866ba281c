//! Rows that decide access and are changed past a running server: it does not believe them, neither
//! then nor after a restart.

use adapters::ledger_key::KEY_FILE;
use protocol::canonical::{hex, sha256};
use rusqlite::Connection;
use serde_json::{Value, json};
use store::sqlite::FILE_NAME;
use tasuki::client::{Call, Client};

use super::ledger::{findings, report};
use crate::odd_databases::run;
use crate::server::{Server, initiate, ok, refused, refused_start};
use crate::wire::Request;

/// A secret that the attacker made up.
const MADE_UP: &str = "tasuki_0000000000000000000000000000000000000000000000000000000000000000";

const FORGERIES: [&str; 11] = [
    "operator", "token", "secret", "owner", "mailbox", "answer", "revived", "hold", "stolen",
    "package", "settings",
];

struct Attacked {
    server: Server,
    root: Client,
    alice: String,
    mallory: String,
    handoff: String,
}

impl Attacked {
    async fn new(data: &std::path::Path) -> Self {
        Self::on(Server::start_on(data, |_| {})).await
    }

    async fn on(server: Server) -> Self {
        let root = server.with_token(&server.token("root", &["--kind", "operator"]));
        let strict = json!({ "name": "Payments", "revision": 0,
                             "settings": { "verifier_required": true } });
        ok(&root, Call::put("/v1/teamspace", strict)).await;
        let [alice, _bob, mallory] =
            ["alice", "bob", "mallory"].map(|name| server.token(name, &[]));
        let handoff = initiate(&server.with_token(&alice), "T-1", "bob").await;
        let message = json!({ "to": ["bob"], "type": "status.update",
                              "payload": { "text": "for bob alone" } });
        let key = Some("first".to_owned());
        let send = Call { key, ..Call::post("/v1/acp/messages", message) };
        ok(&server.with_token(&alice), send).await;
        Self { server, root, alice, mallory, handoff }
    }

    async fn status(&self, token: &str, call: Call) -> (u16, Value) {
        let answer = self.server.with_token(token).call(call).await.unwrap();
        (answer.status, answer.body)
    }
}

/// The statements of `forgeries.sql`, by name.
fn statement(name: &str) -> &'static str {
    let mut lines = include_str!("forgeries.sql").lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap()
}

fn forge(data: &std::path::Path, name: &str, token_id: &str) {
    let sql = statement(name).replace("{token}", &format!("'token/{token_id}'"));
    let secret = hex(&sha256(&[MADE_UP.as_bytes()]));
    let sql = sql.replace("{secret}", &format!("'{secret}'"));
    let connection = Connection::open(data.join(FILE_NAME)).unwrap();
    assert!(connection.execute(&sql, []).unwrap() > 0, "{name} changes nothing");
}

#[tokio::test]
async fn what_decides_access_is_not_believed_when_it_was_changed_past_the_server() {
    for is_restarted in [false, true] {
        for name in FORGERIES {
            let folder = tempfile::tempdir().unwrap();
            let data = folder.path().join("data");
            let mut attacked = Attacked::new(&data).await;
            let tokens = ok(&attacked.root, Call::get("/v1/tokens")).await;
            let tokens = tokens["items"].as_array().unwrap();
            let own = tokens.iter().find(|token| token["agent"] == "mallory").unwrap();
            let id = own["token_id"].as_str().unwrap().to_owned();
            if name == "revived" {
                ok(&attacked.root, Call::post(format!("/v1/tokens/{id}/revoke"), json!({}))).await;
            }
            if is_restarted {
                assert_eq!(attacked.server.stop(), Some(0));
            }
            forge(&data, name, &id);
            if is_restarted {
                attacked.server = Server::start_on(&data, |_| {});
            }
            check(&attacked, name).await;
        }
    }
}

/// A deleted hold cannot be told from one that never was, so the server lets a second agent have
/// the task. The ledger shows it for good, also after the attacker has tidied up.
#[tokio::test]
async fn a_task_that_was_taken_twice_is_found_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let attacked = Attacked::new(&data).await;
    for name in ["hold", "closed"] {
        forge(&data, name, "");
    }
    let mallory = attacked.server.with_token(&attacked.mallory);
    initiate(&mallory, "T-1", "bob").await;
    assert_eq!(attacked.server.stop(), Some(0));
    let output = findings(&report(&data));
    let expected = format!("takes T-1 while the handoff {} holds it", attacked.handoff);
    assert!(output.contains(&expected), "{output}");
}

/// The hold of a free task carries its kind and the human gate. Without it the server takes the
/// task for a new one; the ledger shows that it was not.
#[tokio::test]
async fn a_task_that_lost_its_gate_or_its_kind_is_found_afterwards() {
    let gate = json!({ "policy": { "human_gate": "required" } });
    let kind = json!({ "task": { "kind": "merge" } });
    for (first, lost) in [(gate, "without the human gate"), (kind, "with another kind")] {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let attacked = Attacked::new(&data).await;
        let alice = attacked.server.with_token(&attacked.alice);
        let mut offer = crate::server::offer("T-2", "bob");
        merge(&mut offer, &first);
        let id = ok(&alice, Call::post("/v1/handoffs", offer)).await["handoff_id"].clone();
        let path = format!("/v1/handoffs/{}/close", id.as_str().unwrap());
        ok(&attacked.root, Call::post(path, json!({}))).await;
        forge(&data, "free", "");
        initiate(&alice, "T-2", "bob").await;
        assert_eq!(attacked.server.stop(), Some(0));
        let output = findings(&report(&data));
        assert!(output.contains(&format!("takes T-2 {lost}")), "{output}");
    }
}

fn merge(into: &mut Value, from: &Value) {
    let Some(from) = from.as_object() else { return into.clone_from(from) };
    for (field, value) in from {
        merge(&mut into[field], value);
    }
}

/// Entries that are not sealed yet could be anybody's; the next checkpoint must not vouch for them.
#[tokio::test]
async fn entries_of_others_after_the_last_checkpoint_are_not_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let attacked = Attacked::new(&data).await;
    assert_eq!(attacked.server.stop(), Some(0));
    let sealed = std::fs::read_to_string(data.join("checkpoint")).unwrap();
    forge(&data, "tail", "");
    let server = Server::start_on(&data, |_| {});
    let ready = refused(&server.anonymous(), Call::get("/readyz")).await;
    let detail = ready.body["detail"].as_str().unwrap();
    assert!(detail.contains("were not written by this server"), "{detail}");
    assert_eq!(server.stop(), Some(0));
    assert_eq!(std::fs::read_to_string(data.join("checkpoint")).unwrap(), sealed);
}

/// Otherwise a rollback to a state without the newest entries would not be noticed.
#[tokio::test]
async fn a_seal_that_was_changed_does_not_end_the_checkpoints() {
    for name in ["edge", "note", "unsealed"] {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let attacked = Attacked::new(&data).await;
        assert_eq!(attacked.server.stop(), Some(0));
        let size = || {
            let note = std::fs::read_to_string(data.join("checkpoint")).unwrap();
            adapters::checkpoint_file::size_of(&note).unwrap()
        };
        let sealed = size();
        forge(&data, name, "");
        let (_, said) = run(&data, &["doctor"]);
        assert!(said.contains("the next start makes it again"), "{name}: {said}");
        let server = Server::start_on(&data, |_| {});
        initiate(&server.with_token(&attacked.alice), "T-2", "bob").await;
        while size() <= sealed {
            assert!(size() >= sealed, "{name}: a checkpoint vouches for less than before");
        }
        server.kill();
        assert_eq!(findings(&report(&data)), "", "{name}");
    }
}

/// Rows that cannot be read at all are left out; the others are found, and time goes on.
#[tokio::test]
async fn a_row_that_cannot_be_read_stops_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let attacked = Attacked::new(&data).await;
    for name in ["effect", "deadline", "shape"] {
        forge(&data, name, "");
    }
    let alice = attacked.server.with_token(&attacked.alice);
    assert_eq!(ok(&alice, Call::get("/v1/handoffs")).await["items"], json!([]));
    let mut offer = crate::server::offer("T-2", "bob");
    offer["sla"] = json!({ "proposed": "1s" });
    let second = ok(&alice, Call::post("/v1/handoffs", offer)).await;
    let path = format!("/v1/handoffs/{}/history", second["handoff_id"].as_str().unwrap());
    let is_escalated = async || {
        let history = ok(&alice, Call::get(path.clone())).await;
        history.to_string().contains("handoff.escalated")
    };
    while !is_escalated().await {
        tokio::task::yield_now().await;
    }
    assert_eq!(attacked.server.stop(), Some(0));
}

#[tokio::test]
async fn no_server_starts_on_a_database_with_a_trigger() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    assert_eq!(Attacked::new(&data).await.server.stop(), Some(0));
    let connection = Connection::open(data.join(FILE_NAME)).unwrap();
    connection.execute_batch(statement("trigger")).unwrap();
    let output = refused_start(&data, |_| {});
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the trigger t is not ours"), "{said}");
}

/// The rows of an older release are signed once, without knowing who wrote them. Without the key
/// an attacker cannot have that done again: for a recorded answer, or for the snapshot of a handoff
/// with an erased entry, which nothing else vouches for.
#[tokio::test]
async fn no_row_is_signed_again_without_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut attacked = Attacked::new(&data).await;
    for (action, body) in [("close", json!({})), ("erase", json!({ "position": 1, "reason": "R" }))]
    {
        let path = format!("/v1/handoffs/{}/{action}", attacked.handoff);
        ok(&attacked.root, Call::post(path, body)).await;
    }
    assert_eq!(attacked.server.stop(), Some(0));
    for name in ["answer", "owner"] {
        forge(&data, name, "");
    }
    let key = std::fs::read_to_string(data.join(KEY_FILE)).unwrap();
    let (mark, _) = key.split_once(' ').unwrap();
    for changed in [" ".repeat(mark.len() + 1), "0".repeat(mark.len() + 1), "rows:other".to_owned()]
    {
        std::fs::write(data.join(KEY_FILE), key.replacen(&key[..changed.len()], &changed, 1))
            .unwrap();
        let said = String::from_utf8(refused_start(&data, |_| {}).stderr).unwrap();
        assert!(said.contains("does not hold a key"), "{changed:?}: {said}");
        let (_, said) = run(&data, &["doctor"]);
        assert!(said.contains("does not hold a key"), "{changed:?}: {said}");
    }
    std::fs::write(data.join(KEY_FILE), &key).unwrap();
    // What an earlier form of the mark was.
    std::fs::write(data.join("rows.signed"), "garbage").unwrap();
    attacked.server = Server::start_on(&data, |_| {});
    check(&attacked, "answer").await;
    let show = Call::get(format!("/v1/handoffs/{}", attacked.handoff));
    assert_eq!(attacked.status(&attacked.alice, show).await.0, 500);
    assert_eq!(attacked.server.stop(), Some(0));
    let found = findings(&report(&data));
    for what in ["the recorded answer to the request forged", "the snapshot of the stream"] {
        assert!(found.contains(what), "{found}");
    }
}

/// It has a valid MAC, and the ledger has gone on since: the next entry would take a position that
/// is taken.
#[tokio::test]
async fn a_snapshot_that_was_put_back_is_not_continued() {
    for is_restarted in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let mut attacked = Attacked::new(&data).await;
        let sql = |name: &str| {
            let connection = Connection::open(data.join(FILE_NAME)).unwrap();
            connection.execute_batch(statement(name)).unwrap();
        };
        let trust = |role: &str| Call::put("/v1/agents/bob/roles", json!({ "roles": [role] }));
        sql("keep");
        ok(&attacked.root, trust("executor")).await;
        if is_restarted {
            assert_eq!(attacked.server.stop(), Some(0));
        }
        sql("put_back");
        let found = findings(&report(&data));
        assert!(found.contains("agent/bob"), "{found}");
        if is_restarted {
            attacked.server = Server::start_on(&data, |_| {});
            let token = attacked.server.token("ruth", &["--kind", "operator"]);
            let root = attacked.server.with_token(&token);
            for call in [trust("reviewer"), Call::get("/v1/agents/bob")] {
                let answer = refused(&root, call).await;
                assert_eq!((answer.status, &answer.body["code"]), (500, &"internal".into()));
            }
        } else {
            // The server knows the newest state, and writes over the old one.
            ok(&attacked.root, trust("reviewer")).await;
        }
        assert_eq!(attacked.server.stop(), Some(0));
        let found = findings(&report(&data));
        assert_eq!(!found.is_empty(), is_restarted, "{found}");
        assert!(!found.contains("at the wrong position"), "{found}");
    }
}

/// A row that no request reads is found in the background, and `/readyz` says so.
#[tokio::test]
async fn a_running_server_scrubs_its_database() {
    for (name, n_findings, expected) in [
        ("owner", 1, "was not written by the server"),
        ("other_holder", 1, "task/T-1 is held otherwise than follows from the state"),
        ("new_hold", 1, "task/T-9 in default follows from nothing"),
        ("hold", 1, "task/T-1 is held otherwise than follows from the state"),
        ("no_deadline", 1, "the deadline"),
        // The scrub may come to the snapshot without its entry before it comes to the gap.
        ("no_entry", 3, "entries 2 to 2 are gone"),
    ] {
        check_scrub(name, n_findings, expected).await;
    }
}

async fn check_scrub(name: &str, n_findings: u64, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |command| {
        command.env("TASUKI_LEDGER_SCRUB_ROWS_PER_SECOND", "10000");
    });
    let attacked = Attacked::on(server).await;
    let warning =
        async || ok(&attacked.server.anonymous(), Call::get("/readyz")).await["warning"].take();
    let metric = async |name: &str| {
        let request = Request::new("GET /metrics").header("host", b"localhost");
        let answer = request.send(attacked.server.address()).await;
        let text = String::from_utf8(answer.bytes.to_vec()).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap().parse::<u64>().unwrap()
    };
    // What changes while it is read is no finding.
    for role in ["executor", "reviewer"].into_iter().cycle() {
        let roles = json!({ "roles": [role] });
        ok(&attacked.root, Call::put("/v1/agents/bob/roles", roles)).await;
        if metric("tasuki_rows_scrubbed_total").await > 1_000 {
            break;
        }
    }
    assert_eq!(metric("tasuki_scrub_findings_total").await, 0);
    assert_eq!(warning().await, Value::Null);
    forge(&data, name, "");
    while metric("tasuki_scrub_findings_total").await < n_findings {
        tokio::task::yield_now().await;
    }
    let warning = warning().await;
    assert!(warning.as_str().unwrap().contains("not as the server wrote them"), "{warning}");
    assert_eq!(attacked.server.stop(), Some(0));
    let log = attacked.server.log();
    let said = log.iter().filter_map(|line| line["message"].as_str());
    let mut said = said.filter(|line| line.starts_with("scrub:"));
    assert!(said.any(|line| line.contains(expected)), "{name}: {log:?}");
}

async fn check(attacked: &Attacked, name: &str) {
    let Attacked { mallory, handoff, .. } = attacked;
    let members = || Call::get("/v1/tokens");
    match name {
        "operator" => assert_ne!(attacked.status(mallory, members()).await.0, 200, "{name}"),
        "token" | "secret" => {
            assert_ne!(attacked.status(MADE_UP, members()).await.0, 200, "{name}");
            assert_ne!(attacked.status(MADE_UP, Call::get("/v1/agents")).await.0, 200, "{name}");
        }
        "owner" => {
            let accept = Call::post(format!("/v1/handoffs/{handoff}/accept"), json!({}));
            assert_ne!(attacked.status(mallory, accept).await.0, 200, "{name}");
        }
        "mailbox" => {
            for list in ["/v1/acp/inbox", "/v1/acp/messages"] {
                let (status, body) = attacked.status(mallory, Call::get(list)).await;
                let n_shown = body["items"].as_array().map(Vec::len);
                assert_eq!((status, n_shown), (200, Some(0)), "{list}: {body}");
            }
        }
        "answer" => {
            let message = json!({ "to": ["bob"], "type": "status.update",
                                  "payload": { "text": "for bob alone" } });
            let key = Some("forged".to_owned());
            let send = Call { key, ..Call::post("/v1/acp/messages", message) };
            let (status, body) = attacked.status(&attacked.alice, send).await;
            assert_eq!(status, 500, "{body}");
        }
        "hold" => {
            let offer = Call::post("/v1/handoffs", crate::server::offer("T-1", "bob"));
            let (status, body) = attacked.status(mallory, offer).await;
            assert_ne!(status, 201, "{body}");
        }
        "stolen" => {
            let offer = Call::post("/v1/handoffs", crate::server::offer("T-1", "bob"));
            let (status, body) = attacked.status(mallory, offer).await;
            assert_eq!(status, 500, "{body}");
        }
        "package" => {
            let show = Call::get(format!("/v1/handoffs/{handoff}"));
            let (status, body) = attacked.status(&attacked.alice, show).await;
            assert_eq!(status, 500, "{body}");
        }
        "settings" => {
            let (status, body) = attacked.status(mallory, Call::get("/v1/teamspace")).await;
            let is_kept = body["in_effect"]["verifier_required"] == true;
            assert!(status == 500 || is_kept, "{body}");
        }
        "revived" => assert_ne!(attacked.status(mallory, Call::get("/v1/agents")).await.0, 200),
        _ => unreachable!("{name} is not tried"),
    }
}
