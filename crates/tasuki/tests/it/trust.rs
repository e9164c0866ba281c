//! A trustworthy handoff, over HTTP: its artifacts are checked at their real place, a human
//! approves it, it is negotiated, and its story can be told.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::ports::clock::{Clock, SystemClock};
use protocol::time::Span;
use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::server::{Server, act, is_full_run, offer, ok, refused};
use crate::slow_sockets::{good_callers, p99};

/// A server whose artifacts are in a folder beside its data.
struct Shop {
    server: Server,
    root: PathBuf,
    _folder: tempfile::TempDir,
}

impl Shop {
    fn open() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().join("work");
        fs::create_dir(&root).expect("the folder is new");
        let roots = root.clone();
        let server = Server::start_on(&folder.path().join("data"), |command: &mut Command| {
            command.env("TASUKI_ARTIFACTS_ROOTS", &roots);
        });
        Self { server, root, _folder: folder }
    }
}

fn file(id: &str, path: &Path) -> Value {
    json!({ "artifact_id": id, "ref": { "type": "file", "path": path } })
}

fn with_artifacts(task: &str, artifacts: &[Value]) -> Value {
    let mut offer = offer(task, "bob");
    offer["artifacts"] = json!(artifacts);
    offer
}

#[tokio::test]
async fn a_file_that_changed_after_the_proposal_is_caught() {
    let shop = Shop::open();
    let (alice, bob) = (shop.server.agent("alice"), shop.server.agent("bob"));
    let path = shop.root.join("report.txt");
    fs::write(&path, "finished\n").unwrap();
    let digest = sha256(b"finished\n");
    let mut report = file("report", &path);
    report["ref"]["sha256"] = digest.clone().into();

    let sound =
        ok(&alice, Call::post("/v1/handoffs", with_artifacts("T-1", &[report.clone()]))).await;
    let accepted = act(&bob, id(&sound), "accept", json!({})).await;
    assert_eq!(accepted["status"], "accepted");
    let passed = json!(["schema", "policy", "chain", "package_hash", "artifact:report"]);
    assert_eq!(accepted["verification_passed"], passed);

    let changed = ok(&alice, Call::post("/v1/handoffs", with_artifacts("T-2", &[report]))).await;
    fs::write(&path, "almost finished\n").unwrap();
    let accept = Call::post(format!("/v1/handoffs/{}/accept", id(&changed)), json!({}));
    let refusal = refused(&bob, accept).await;
    assert_eq!((refusal.status, &refusal.body["code"]), (422, &json!("hash_mismatch")));
    let detail = refusal.body["detail"].as_str().unwrap();
    assert!(detail.contains("artifact:report") && detail.contains(&digest), "{detail}");
    let shown = ok(&alice, Call::get(format!("/v1/handoffs/{}", id(&changed)))).await;
    assert_eq!(shown["status"], "rejected");
}

#[tokio::test]
async fn paths_that_lead_out_of_the_roots_are_refused() {
    let shop = Shop::open();
    let (alice, bob) = (shop.server.agent("alice"), shop.server.agent("bob"));
    let outside = shop.root.parent().unwrap().join("secret.txt");
    fs::write(&outside, "secret").unwrap();
    symlink(&outside, shop.root.join("link")).unwrap();
    symlink(shop.root.parent().unwrap(), shop.root.join("up")).unwrap();
    fs::create_dir(shop.root.join("folder")).unwrap();
    let sparse = fs::File::create(shop.root.join("sparse")).unwrap();
    sparse.set_len(10 * 1024 * 1024 * 1024).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, shop.root.join("fifo"), 0o600.into()).unwrap();

    let rows: [(&str, PathBuf, &str); 9] = [
        ("outside", outside.clone(), "policy_violation"),
        ("dots", shop.root.join("../secret.txt"), "policy_violation"),
        ("a link out", shop.root.join("link"), "policy_violation"),
        ("a link in the middle", shop.root.join("up/secret.txt"), "policy_violation"),
        ("a device", PathBuf::from("/dev/zero"), "policy_violation"),
        ("10 GiB", shop.root.join("sparse"), "policy_violation"),
        ("a folder", shop.root.join("folder"), "missing_artifact"),
        ("a pipe", shop.root.join("fifo"), "missing_artifact"),
        ("nothing", shop.root.join("nothing"), "missing_artifact"),
    ];
    for (number, (name, path, code)) in rows.iter().enumerate() {
        let offer = with_artifacts(&format!("T-{number}"), &[file("it", path)]);
        let proposed = ok(&alice, Call::post("/v1/handoffs", offer)).await;
        let accept = Call::post(format!("/v1/handoffs/{}/accept", id(&proposed)), json!({}));
        let refusal = refused(&bob, accept).await;
        assert_eq!(refusal.body["code"], json!(code), "{name}: {}", refusal.body);
        assert!(!refusal.body.to_string().contains("secret\""), "{name}: {}", refusal.body);
    }
    assert_eq!(ok(&alice, Call::get("/readyz")).await["status"], "ready");
}

#[tokio::test]
async fn a_human_answers_for_what_the_policy_guards() {
    let shop = Shop::open();
    let (alice, bob) = (shop.server.agent("alice"), shop.server.agent("bob"));
    let human = |name: &str| shop.server.with_token(&shop.server.token(name, &["--kind", "human"]));
    let (dana, erin) = (human("dana"), human("erin"));
    let mut guarded = offer("T-1", "bob");
    guarded["policy"] = json!({ "human_gate": "required" });
    let proposed = ok(&alice, Call::post("/v1/handoffs", guarded)).await;
    let waiting = act(&bob, id(&proposed), "accept", json!({})).await;
    assert_eq!(waiting["status"], "validating");
    let by_agent = Call::post(format!("/v1/handoffs/{}/approve", id(&proposed)), json!({}));
    assert_eq!(refused(&bob, by_agent).await.body["code"], "not_allowed");

    // Both at the same instant: one wins, and the other is told.
    let path = |action: &str| format!("/v1/handoffs/{}/{action}", id(&proposed));
    let (yes, no) = tokio::join!(
        dana.call(Call::post(path("approve"), json!({ "why": "sound" }))),
        erin.call(Call::post(path("refuse"), json!({ "why": "not this week" }))),
    );
    let (yes, no) = (yes.unwrap(), no.unwrap());
    let winners = [yes.status, no.status].iter().filter(|status| **status == 200).count();
    assert_eq!(winners, 1, "{} {}", yes.body, no.body);
    let loser = if yes.status == 200 { &no } else { &yes };
    assert_eq!(loser.body["code"], "wrong_state");
    let shown = ok(&alice, Call::get(format!("/v1/handoffs/{}", id(&proposed)))).await;
    let expected = if yes.status == 200 { "accepted" } else { "rejected" };
    assert_eq!(shown["status"], expected);
}

#[tokio::test]
async fn a_negotiation_reads_like_a_story() {
    let shop = Shop::open();
    let (alice, bob) = (shop.server.agent("alice"), shop.server.agent("bob"));
    let dana = shop.server.with_token(&shop.server.token("dana", &["--kind", "human"]));
    let lead = shop.server.with_token(&shop.server.token("lead", &["--role", "coordinator"]));
    let mut guarded = offer("T-1", "bob");
    guarded["policy"] = json!({ "requires_human_approval": true });
    guarded["sla"] = json!({ "activated": "1s" });
    let proposed = ok(&alice, Call::post("/v1/handoffs", guarded)).await;
    let handoff = id(&proposed);
    let vague = json!({ "reason": "success_criteria_ambiguous", "detail": "How green?" });
    act(&bob, handoff, "reject", vague).await;
    let clearer = json!({ "task": { "success_criteria": ["CI is green on main for a day"] } });
    assert_eq!(act(&alice, handoff, "counter", clearer).await["status"], "proposed");
    let later = json!({ "due": "2027-02-01T00:00:00Z", "why": "bob is away" });
    act(&lead, handoff, "extend_sla", later).await;
    act(&bob, handoff, "accept", json!({})).await;
    act(&dana, handoff, "approve", json!({ "why": "sound" })).await;
    act(&bob, handoff, "activate", json!({})).await;
    shop.server.agent("carl");
    let mut part = offer("ignored", "carl");
    part["policy"] = json!({ "requires_human_approval": true });
    part["task"].as_object_mut().unwrap().remove("task_id");
    let delegated = act(&bob, handoff, "delegate", part).await;
    let child = delegated["new_handoff_id"].as_str().unwrap();
    let early = bob.call(Call::post(format!("/v1/handoffs/{handoff}/complete"), json!({}))).await;
    assert_eq!(early.unwrap().body["code"], "wrong_state");
    let elsewhere = json!({ "to_agent": "erin", "why": "carl is away" });
    shop.server.agent("erin");
    let reassigned = act(&lead, child, "reassign", elsewhere).await;
    assert_eq!(reassigned["status"], "closed");
    let successor = reassigned["new_handoff_id"].as_str().unwrap();
    let erin = shop.server.agent("erin");
    let shown = ok(&erin, Call::get(format!("/v1/handoffs/{successor}"))).await;
    assert_eq!(
        (&shown["parent_handoff_id"], &shown["replaces_handoff_id"], &shown["task_id"]),
        (&json!(handoff), &json!(child), &json!("T-1.1"))
    );
    act(&dana, successor, "approve", json!({})).await;
    for action in ["accept", "activate", "complete"] {
        act(&erin, successor, action, json!({})).await;
    }
    until_overdue(&bob, handoff).await;
    act(&bob, handoff, "complete", json!({})).await;

    let told = Command::new(env!("CARGO_BIN_EXE_tasuki"))
        .args(["handoff", "show", handoff, "--data"])
        .arg(&shop.server.data)
        .output()
        .unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    for sentence in [
        "alice proposed to hand it to bob",
        "bob rejected it (success_criteria_ambiguous): “How green?”",
        "alice proposed again, with changes: task.success_criteria from [",
        "lead gave proposed→validating more time until 2027-02-01T00:00:00.000Z: “bob is away”",
        "schema, policy, chain, package_hash hold; a human must agree",
        "dana approved it: “sound”",
        "bob started the work and owns the task",
        "bob gave the part T-1.1 to carl, in ",
        " is closed",
        "lead gave the part T-1.1 to erin, in ",
        " is completed",
        "overdue: activated→completed took longer than 1s and went to the coordinator",
        "bob completed it",
    ] {
        assert!(told.contains(sentence), "{sentence:?} is missing in\n{told}");
    }
}

async fn until_overdue(client: &Client, handoff: &str) {
    loop {
        let shown = ok(client, Call::get(format!("/v1/handoffs/{handoff}"))).await;
        let mut notes = shown["resolution_notes"].as_array().expect("a list").iter();
        if notes.any(|note| note["escalation"]["stage"] == "activated→completed") {
            return;
        }
        SystemClock.sleep(Span::from_millis(20)).await;
    }
}

#[tokio::test]
async fn an_offer_can_be_tried_out() {
    let shop = Shop::open();
    let (alice, bob) = (shop.server.agent("alice"), shop.server.agent("bob"));
    let try_out =
        async |offer: Value| ok(&alice, Call::post("/v1/handoffs?dry_run=true", offer)).await;
    assert_eq!(try_out(offer("T-1", "bob")).await["ok"], true);
    let nobody = try_out(offer("T-1", "nobody")).await;
    assert_eq!(
        (&nobody["ok"], &nobody["remarks"][0]["field"]),
        (&json!(false), &json!("to_agent"))
    );
    let empty = try_out(json!({})).await;
    assert!(empty["remarks"].as_array().unwrap().len() > 3, "{empty}");
    ok(&alice, Call::post("/v1/handoffs", offer("T-1", "bob"))).await;
    let taken = try_out(offer("T-1", "bob")).await;
    assert!(taken["remarks"][0]["problem"].as_str().unwrap().contains("active handoff"), "{taken}");
    let looked_at = try_out(with_artifacts(
        "T-2",
        &[
            file("gone", &shop.root.join("gone")),
            json!({ "artifact_id": "pr", "ref": { "type": "pr", "path": "#7" } }),
        ],
    ))
    .await;
    let remark = |index: usize| &looked_at["remarks"][index];
    assert_eq!((&looked_at["ok"], &remark(0)["weight"]), (&json!(false), &json!("refused")));
    assert!(remark(0)["problem"].as_str().unwrap().contains("missing_artifact"), "{looked_at}");
    assert_eq!(remark(0)["field"], "artifacts[0].ref.path");
    let listed = ok(&bob, Call::get("/v1/handoffs")).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "nothing else was proposed");
}

/// Not only the first one; also one of the target behind those of the offer.
#[tokio::test]
async fn a_dry_run_names_every_fault() {
    let server = Server::start();
    let alice = server.agent("alice");
    let try_out =
        async |offer: Value| ok(&alice, Call::post("/v1/handoffs?dry_run=true", offer)).await;
    let fields = |found: &Value| -> BTreeSet<String> {
        let remarks = found["remarks"].as_array().expect("a list").iter();
        let refused = remarks.filter(|remark| remark["weight"] == "refused");
        refused.map(|remark| remark["field"].as_str().expect("a text").to_owned()).collect()
    };
    let all_wrong = json!({
        "to_agent": "nobody",
        "task": { "task_id": "T-9", "title": "", "success_criteria": ["", "shown"], "zkind": 1 },
        "context": { "summary": "" }, "work_state": { "next_step": " ", "percent_complete": 101 },
        "deadline": "yesterday", "sla": { "proposed": "soon" },
    });
    let mut readable = all_wrong.clone();
    readable["deadline"] = "2020-01-01T00:00:00Z".into();
    readable["sla"] = json!({});
    readable["task"].as_object_mut().unwrap().remove("zkind");
    let both = [
        "context.summary",
        "deadline",
        "task.success_criteria[0]",
        "task.title",
        "to_agent",
        "work_state.next_step",
        "work_state.percent_complete",
    ];
    for (offer, more) in [(&all_wrong, &["sla.proposed", "task.zkind"][..]), (&readable, &[])] {
        let expected: BTreeSet<_> = both.iter().chain(more).map(|it| (*it).to_owned()).collect();
        let found = try_out(offer.clone()).await;
        assert_eq!((&found["ok"], fields(&found)), (&json!(false), expected), "{found}");
        let mut by_acp = offer.clone();
        (by_acp["action"], by_acp["dry_run"]) = ("initiate".into(), true.into());
        let by_acp = ok(&alice, Call::post("/v1/acp/handoff", by_acp)).await;
        assert_eq!(by_acp["dry_run"], found);
    }
}

/// The target and the approver see everything that changed, also what is not in the package.
#[tokio::test]
async fn a_counter_names_everything_that_it_changes() {
    let server = Server::start();
    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    for (number, counter, expected) in [
        (1, json!({ "sla": { "activated": "1m" } }), &["sla.activated"][..]),
        (2, json!({ "reason": "I am away" }), &["reason"]),
        (4, json!({ "sla": null }), &["sla.proposed"]),
        (
            3,
            json!({ "provenance": { "decision_refs": ["d2"] }, "task": { "title": "Other" } }),
            &["task.title", "provenance.decision_refs"],
        ),
    ] {
        let mut offered = offer(&format!("T-{number}"), "bob");
        if counter["sla"].is_null() && counter.get("sla").is_some() {
            offered["sla"] = json!({ "proposed": "2h" });
        }
        let made = ok(&alice, Call::post("/v1/handoffs", offered)).await;
        let id = made["handoff_id"].as_str().expect("an id").to_owned();
        act(&bob, &id, "reject", json!({ "reason": "other", "detail": "busy" })).await;
        let nothing = alice.call(Call::post(format!("/v1/handoffs/{id}/counter"), json!({}))).await;
        assert_eq!(nothing.expect("the server answers").status, 422);
        act(&alice, &id, "counter", counter.clone()).await;
        let shown = ok(&bob, Call::get(format!("/v1/handoffs/{id}"))).await;
        let differences = shown["differences"].as_array().unwrap_or_else(|| panic!("{shown}"));
        let fields: Vec<_> = differences.iter().map(|it| it["field"].as_str().unwrap()).collect();
        assert_eq!(fields, expected, "{counter}: {differences:?}");
    }
}

/// How much slower other callers may be while gigabytes are hashed beside them.
const SLOWDOWN_MAX: f64 = 1.5;

/// How much the server may grow: its buffers, whatever the size of the artifact.
const GROWTH_KIB_MAX: u64 = 32 * 1_024;

/// `bench artifacts` measures the same on a release build, in rounds.
#[tokio::test(flavor = "multi_thread")]
async fn hashing_gigabytes_slows_nobody_and_takes_no_memory() {
    let megabytes = if is_full_run() { 2_048 } else { 256 };
    let shop = Shop::open();
    let token = shop.server.token("alice", &[]);
    let (alice, bob) = (shop.server.with_token(&token), shop.server.agent("bob"));
    let path = shop.root.join("image");
    fs::File::create(&path).unwrap().set_len(megabytes * 1_048_576).unwrap();
    let calm = Arc::new(AtomicBool::new(true));
    let before = p99(good_callers(&shop.server, &token, "before", &calm).await);
    let small = shop.server.resident_kib();
    calm.store(false, Ordering::Relaxed);
    let offer = with_artifacts("BIG", &[file("image", &path)]);
    let big = ok(&alice, Call::post("/v1/handoffs", offer)).await;
    let (largest, during) = tokio::join!(
        async {
            let accept = Call::post(format!("/v1/handoffs/{}/accept", id(&big)), json!({}));
            bob.call(accept).await.unwrap();
            let mut largest = 0;
            loop {
                largest = largest.max(shop.server.resident_kib());
                let shown = ok(&bob, Call::get(format!("/v1/handoffs/{}", id(&big)))).await;
                if shown["status"] == "accepted" {
                    break;
                }
                assert_eq!(shown["status"], "validating");
                SystemClock.sleep(Span::from_millis(20)).await;
            }
            calm.store(true, Ordering::Relaxed);
            largest
        },
        good_callers(&shop.server, &token, "during", &calm),
    );
    let during = p99(during);
    let ratio = during / before;
    let growth = largest.saturating_sub(small);
    let (before, during) = (before * 1e3, during * 1e3);
    println!(
        "{megabytes} MiB hashed: others' p99 {during:.2} ms after {before:.2} ms, \
         {ratio:.2} times; {growth} KiB more in memory"
    );
    assert!(growth <= GROWTH_KIB_MAX, "{growth} KiB");
    assert!(!is_full_run() || ratio <= SLOWDOWN_MAX, "{ratio:.2} times slower");
}

#[tokio::test]
async fn what_cannot_be_looked_at_waits_in_the_outbox() {
    let shop = Shop::open();
    let (alice, bob) = (shop.server.agent("alice"), shop.server.agent("bob"));
    let root = shop.server.with_token(&shop.server.token("root", &["--kind", "operator"]));
    // A name that never resolves, whatever network the test runs in.
    let url = json!({ "type": "url", "path": "http://artifact.invalid/log" });
    let artifact = json!({ "artifact_id": "log", "ref": url });
    let proposed = ok(&alice, Call::post("/v1/handoffs", with_artifacts("T-1", &[artifact]))).await;
    let answer = act(&bob, id(&proposed), "accept", json!({})).await;
    assert_eq!(answer["status"], "validating");
    assert_eq!(answer["verification_failed"], json!(["verification_unavailable"]));
    let outbox = ok(&root, Call::get("/v1/outbox")).await;
    let stream = format!("handoff/{}", id(&proposed));
    assert_eq!(
        (&outbox["items"][0]["stream"], &outbox["items"][0]["effect"]),
        (&json!(stream), &json!("fetch"))
    );
    assert_eq!(refused(&bob, Call::get("/v1/outbox")).await.body["code"], "not_allowed");
    ok(&root, Call::post("/v1/outbox/revive", json!({}))).await;
    act(&alice, id(&proposed), "withdraw", json!({})).await;
    assert_eq!(ok(&root, Call::get("/v1/outbox")).await["items"], json!([]));
}

#[tokio::test]
async fn roles_hold_from_the_moment_they_are_given() {
    let shop = Shop::open();
    let (alice, bob) = (shop.server.agent("alice"), shop.server.agent("bob"));
    let lead = shop.server.with_token(&shop.server.token("lead", &["--role", "coordinator"]));
    let give = |roles: Value| Call::put("/v1/agents/bob/roles", json!({ "roles": roles }));
    assert_eq!(refused(&bob, give(json!(["coordinator"]))).await.body["code"], "not_allowed");
    ok(&lead, give(json!(["researcher"]))).await;
    let proposed = ok(&alice, Call::post("/v1/handoffs", offer("T-1", "bob"))).await;
    let accept = || Call::post(format!("/v1/handoffs/{}/accept", id(&proposed)), json!({}));
    assert_eq!(refused(&bob, accept()).await.body["code"], "not_allowed");
    // The command line acts for an agent with that agent's roles.
    let as_bob = Command::new(env!("CARGO_BIN_EXE_tasuki"))
        .args(["handoff", "accept", id(&proposed), "--as", "bob", "--data"])
        .arg(&shop.server.data)
        .output()
        .unwrap();
    assert!(!as_bob.status.success());
    ok(&lead, give(json!(["researcher", "executor"]))).await;
    assert_eq!(ok(&bob, accept()).await["status"], "accepted");
}

#[tokio::test]
async fn the_schema_of_a_package_is_published() {
    let shop = Shop::open();
    let anyone = shop.server.anonymous();
    let schema = ok(&anyone, Call::get("/schemas/handoff-package.json")).await;
    assert_eq!(schema["additionalProperties"], false);
    let alice = shop.server.agent("alice");
    shop.server.agent("bob");
    let proposed = ok(&alice, Call::post("/v1/handoffs", offer("T-1", "bob"))).await;
    let shown = ok(&alice, Call::get(format!("/v1/handoffs/{}", id(&proposed)))).await;
    for (field, _) in shown["package"].as_object().unwrap() {
        assert!(schema["properties"].get(field).is_some(), "{field} is not in the schema");
    }
    for field in schema["required"].as_array().unwrap() {
        assert!(shown["package"].get(field.as_str().unwrap()).is_some(), "{field} is required");
    }
    let offered = ok(&anyone, Call::get("/schemas/handoff-offer.json")).await;
    assert!(offered["properties"].get("to_agent").is_some());
}

fn id(answer: &Value) -> &str {
    answer["handoff_id"].as_str().expect("an answer names its handoff")
}

pub fn sha256(bytes: &[u8]) -> String {
    protocol::canonical::hex(&protocol::canonical::sha256(&[bytes]))
}
