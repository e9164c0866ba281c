//! Webhooks over real sockets: signed, in order, tried again, set aside, paused and resumed, and
//! never more than their makers may read.

use std::sync::Arc;

use adapters::artifacts::{Artifacts, Settings};
use adapters::effect_runner::EffectRunner;
use adapters::webhook::Webhook as Caller;
use engine::Engine;
use engine::ports::clock::ManualClock;
use protocol::ledger::{Stream, Subject};
use protocol::step::Command;
use protocol::time::Span;
use protocol::wake::WakeKey;
use protocol::webhook::{self, Terms};
use serde_json::{Value, json};
use store::Sqlite;
use tasuki::client::{Call, Client};
use tempfile::TempDir;
use tokio::sync::watch;

use crate::receiver::{Answer, Receiver, Seen};
use crate::server::{Server, act, initiate, is_full_run, ok, refused};
use crate::support::{self, default_teamspace, operator};

fn event(seen: &Seen) -> Value {
    serde_json::from_str(&seen.body).expect("a CloudEvent")
}

fn types(seen: &[Seen]) -> Vec<String> {
    seen.iter().map(|one| event(one)["type"].as_str().expect("a type").to_owned()).collect()
}

/// A server that may call this machine.
fn server(data: &std::path::Path) -> Server {
    Server::start_on(data, |command| {
        command.env("TASUKI_MESSAGES_WAKE_PRIVATE_ADDRESSES", "true");
    })
}

async fn add(client: &Client, url: &str, events: &[&str]) -> Value {
    let body = json!({ "url": url, "events": events });
    ok(client, Call::post("/v1/webhooks", body)).await
}

fn path(webhook: &Value, action: &str) -> String {
    format!("/v1/webhooks/{}{action}", webhook["webhook_id"].as_str().expect("an id"))
}

/// Waits until a webhook looks like this.
async fn until(client: &Client, webhook: &Value, is_so: impl Fn(&Value) -> bool) -> Value {
    loop {
        let shown = ok(client, Call::get(path(webhook, ""))).await;
        if is_so(&shown) {
            return shown;
        }
        tokio::task::yield_now().await;
    }
}

/// Checks a signature as a receiver would, with the secret that it was given.
fn is_signed_with(seen: &Seen, secret: &str) -> bool {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let key = STANDARD.decode(secret.strip_prefix("whsec_").expect("a secret")).expect("base64");
    let key: [u8; 32] = key.try_into().expect("32 bytes");
    let [id, at] = ["webhook-id", "webhook-timestamp"].map(|name| seen.headers[name].as_bytes());
    let signed = protocol::keyed::hmac(&key, &[id, b".", at, b".", seen.body.as_bytes()]);
    let expected = format!("v1,{}", STANDARD.encode(signed));
    seen.headers["webhook-signature"].split(' ').any(|one| one == expected)
}

#[tokio::test]
async fn events_arrive_in_order_signed_and_as_cloud_events() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(&folder.path().join("data"));
    let [alice, bob] = [server.agent("alice"), server.agent("bob")];
    let receiver = Receiver::answering(&[Answer::Status(204)]).await;
    let webhook = add(&alice, &receiver.url, &["handoff"]).await;
    let id = initiate(&alice, "T-1", "bob").await;
    act(&bob, &id, "accept", json!({})).await;
    act(&bob, &id, "activate", json!({})).await;
    let seen = receiver.called(4).await;
    let expected = ["proposed", "validation_started", "accepted", "activated"];
    assert_eq!(types(&seen), expected.map(|name| format!("handoff.{name}")));
    let first = event(&seen[0]);
    assert_eq!(first["specversion"], "1.0");
    assert_eq!(first["subject"], json!(format!("handoff/{id}")));
    assert_eq!(first["source"], "/teamspaces/default");
    assert_eq!(first["data"]["cursor"], first["id"]);
    assert_eq!(seen[0].headers["content-type"], "application/cloudevents+json");
    let secret = webhook["secret"].as_str().expect("it is shown once");
    assert!(seen.iter().all(|one| is_signed_with(one, secret)));
    let ids: std::collections::BTreeSet<_> =
        seen.iter().map(|one| one.headers["webhook-id"].clone()).collect();
    assert_eq!(ids.len(), 4, "{ids:?}");

    // While the key is rotated, both sign.
    let rotated = ok(&alice, Call::post(path(&webhook, "/rotate_key"), json!({}))).await;
    let tested = ok(&alice, Call::post(path(&webhook, "/test"), json!({}))).await;
    assert_eq!(tested["delivered"], true);
    let test = receiver.called(5).await.remove(4);
    assert_eq!(event(&test)["type"], "webhook.test");
    for secret in [secret, rotated["secret"].as_str().expect("a new one")] {
        assert!(is_signed_with(&test, secret), "{:?}", test.headers);
    }
    let now = json!({ "overlap_seconds": 0 });
    assert!(rotated["previous_key_until"].is_string());
    let rotated_at_once = ok(&alice, Call::post(path(&webhook, "/rotate_key"), now)).await;
    assert_eq!(rotated_at_once.get("previous_key_until"), None, "it has passed");
    ok(&alice, Call::post(path(&webhook, "/test"), json!({}))).await;
    let test = receiver.called(6).await.remove(5);
    assert!(!is_signed_with(&test, rotated["secret"].as_str().unwrap_or_default()));

    let shown = until(&alice, &webhook, |it| it["caught_up"] == true).await;
    assert_eq!((&shown["status"], &shown["n_delivered"]), (&json!("active"), &json!(4)));
    assert_eq!(shown.get("secret"), None);
    let tried = ok(&alice, Call::get(path(&webhook, "/deliveries"))).await;
    let names = tried["attempts"].as_array().expect("a list").iter().map(|it| &it["name"]);
    let names: Vec<_> = names.take(3).collect();
    assert_eq!(names, ["webhook.test", "webhook.test", "handoff.activated"]);
    let removed = ok(&alice, Call::post(path(&webhook, "/remove"), json!({}))).await;
    assert_eq!(removed["status"], "removed");
}

#[tokio::test]
async fn what_a_webhook_says_of_itself_is_current() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(&folder.path().join("data"));
    let alice = server.agent("alice");
    server.agent("bob");
    let receiver = Receiver::answering(&[Answer::Status(503)]).await;
    let webhook = add(&alice, &receiver.url, &["handoff"]).await;
    initiate(&alice, "T-1", "bob").await;
    until(&alice, &webhook, |it| it["status"] == "failing").await;
    receiver.answers(&[Answer::Status(200)]);
    let mut terms = json!({ "url": receiver.url, "events": ["handoff"], "agent": "carol" });
    let changed = ok(&alice, Call::put(path(&webhook, ""), terms.clone())).await;
    assert_eq!((&changed["status"], &changed["failing"]), (&json!("active"), &Value::Null));
    assert_eq!(changed["warnings"][0]["field"], "agent", "{changed}");
    terms["agent"] = json!("bob");
    let changed = ok(&alice, Call::put(path(&webhook, ""), terms)).await;
    assert_eq!(changed["warnings"], Value::Null);
}

#[tokio::test]
async fn what_fails_is_tried_again_before_the_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let running = server(&data);
    let alice_token = running.token("alice", &[]);
    let alice = running.with_token(&alice_token);
    running.agent("bob");
    let receiver = Receiver::answering(&[Answer::Status(503), Answer::Status(200)]).await;
    let webhook = add(&alice, &receiver.url, &["handoff.proposed"]).await;
    for task in ["T-1", "T-2"] {
        initiate(&alice, task, "bob").await;
    }
    let seen = receiver.called(3).await;
    let [first, again, second] = [&seen[0], &seen[1], &seen[2]].map(event);
    assert_eq!(first["id"], again["id"]);
    assert_eq!(seen[0].headers["webhook-id"], seen[1].headers["webhook-id"]);
    assert_ne!(first["id"], second["id"]);

    // A restart goes on where it was; what happened meanwhile is not lost.
    until(&alice, &webhook, |it| it["caught_up"] == true).await;
    receiver.answers(&[Answer::Status(500)]);
    initiate(&alice, "T-3", "bob").await;
    until(&alice, &webhook, |it| it["status"] == "failing").await;
    assert_eq!(running.stop(), Some(0));
    receiver.answers(&[Answer::Status(200)]);
    let n_before = receiver.seen().len();
    let running = server(&data);
    let alice = running.with_token(&alice_token);
    let seen = receiver.called(n_before + 1).await;
    let last = event(seen.last().expect("one"));
    assert_eq!(last["data"]["data"]["task_id"], "T-3", "{last}");
    until(&alice, &webhook, |it| it["caught_up"] == true).await;

    // Paused, events wait. From the beginning means all of them again.
    ok(&alice, Call::post(path(&webhook, "/pause"), json!({ "reason": "we move" }))).await;
    initiate(&alice, "T-4", "bob").await;
    let shown = ok(&alice, Call::get(path(&webhook, ""))).await;
    assert_eq!((&shown["status"], &shown["paused"]["cause"]), (&json!("paused"), &json!("asked")));
    let n_before = receiver.seen().len();
    ok(&alice, Call::post(path(&webhook, "/resume"), json!({}))).await;
    receiver.called(n_before + 1).await;
    let again = json!({ "after": "0" });
    ok(&alice, Call::post(path(&webhook, "/resume"), again)).await;
    let seen = receiver.called(n_before + 5).await;
    let tasks: Vec<_> =
        seen[n_before..].iter().map(|one| event(one)["data"]["data"]["task_id"].clone()).collect();
    assert_eq!(tasks, ["T-4", "T-1", "T-2", "T-3", "T-4"]);
}

#[tokio::test]
async fn a_delivery_that_is_refused_for_its_content_is_set_aside() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(&folder.path().join("data"));
    let alice = server.agent("alice");
    server.agent("bob");
    // Only refusals for the content count.
    let mut answers = vec![Answer::Status(503)];
    answers.extend(vec![Answer::Status(422); 5]);
    answers.push(Answer::Status(200));
    let receiver = Receiver::answering(&answers).await;
    let webhook = add(&alice, &receiver.url, &["handoff.proposed"]).await;
    for task in ["T-1", "T-2", "T-3"] {
        initiate(&alice, task, "bob").await;
    }
    let seen = receiver.called(8).await;
    assert_eq!(event(&seen[0])["id"], event(&seen[5])["id"]);
    let shown = until(&alice, &webhook, |it| it["caught_up"] == true).await;
    let aside = &shown["set_aside"][0];
    assert_eq!(aside["event"], event(&seen[0])["id"]);
    assert_eq!(aside["detail"], "the endpoint answered 422");
    let redeliver = Call::post(path(&webhook, "/redeliver"), json!({ "event": aside["event"] }));
    assert_eq!(ok(&alice, redeliver).await["delivered"], true);
    assert_eq!(ok(&alice, Call::get(path(&webhook, ""))).await["set_aside"], json!([]));
    let discard = Call::post(path(&webhook, "/discard"), json!({ "event": aside["event"] }));
    assert_eq!(refused(&alice, discard).await.status, 404);

    // An endpoint that is gone is left alone.
    receiver.answers(&[Answer::Status(410)]);
    initiate(&alice, "T-4", "bob").await;
    let shown = until(&alice, &webhook, |it| it["status"] == "paused").await;
    assert_eq!(shown["paused"]["cause"], "gone");
}

#[tokio::test]
async fn the_command_line_keeps_the_description_and_names_its_own_flags() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(&folder.path().join("data"));
    let alice = server.agent("alice");
    let body = json!({ "url": "https://example.com/a", "description": "for billing" });
    let webhook = ok(&alice, Call::post("/v1/webhooks", body)).await;
    let id = webhook["webhook_id"].as_str().expect("an id");
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_tasuki"))
            .args(["webhook", "--as", "alice", "--data"])
            .arg(&server.data)
            .args(arguments)
            .output()
            .expect("the executable runs");
        String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
    };
    let said = run(&["set", id, "https://example.com/b"]);
    assert!(said.contains("for billing"), "{said}");
    assert!(run(&["deliveries", id]).starts_with("nothing was tried"));
    let said = run(&["set", id, "nowhere"]);
    assert!(said.contains("<URL>: expected an http or https URL"), "{said}");
    assert!(!said.contains("null"), "{said}");
    for (arguments, flag) in [
        (&["set", id, "https://example.com/b", "--event", "no such"][..], "--event: "),
        (&["rotate-key", id, "--overlap", "999999999"][..], "--overlap: "),
    ] {
        let said = run(arguments);
        assert!(said.contains(flag), "{arguments:?}: {said}");
    }
}

#[tokio::test]
async fn a_webhook_reads_what_its_maker_may_and_no_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(&folder.path().join("data"));
    let root = server.with_token(&server.token("root", &["--kind", "operator"]));
    let [alice, bob, eve] = [server.agent("alice"), server.agent("bob"), server.agent("eve")];
    let receiver = Receiver::answering(&[Answer::Status(200)]).await;
    let hers = add(&eve, &receiver.url, &[]).await;
    let all = Receiver::answering(&[Answer::Status(200)]).await;
    let theirs = add(&root, &all.url, &["message"]).await;
    let letter = json!({ "to": ["bob"], "type": "status.update", "payload": { "text": "psst" } });
    ok(&alice, Call::post("/v1/acp/messages", letter)).await;
    all.called(1).await;
    let shared = initiate(&alice, "T-1", "bob").await;
    let seen = receiver.called(1).await;
    assert_eq!(event(&seen[0])["subject"], json!(format!("handoff/{shared}")), "{seen:?}");

    // Nobody else sees or changes it.
    for call in [
        Call::get(path(&hers, "")),
        Call::get(path(&hers, "/deliveries")),
        Call::post(path(&hers, "/pause"), json!({})),
        Call::post(path(&hers, "/test"), json!({})),
        Call::post(path(&hers, "/remove"), json!({})),
    ] {
        assert_eq!(refused(&bob, call).await.status, 404);
    }
    assert_eq!(ok(&bob, Call::get("/v1/webhooks")).await["items"], json!([]));
    assert_eq!(
        ok(&root, Call::get("/v1/webhooks")).await["items"].as_array().map(Vec::len),
        Some(2)
    );

    // Once the token is revoked, nothing more is delivered.
    let tokens = ok(&root, Call::get("/v1/tokens")).await;
    let own = tokens["items"].as_array().expect("tokens").iter().find(|it| it["agent"] == "eve");
    let revoke = format!(
        "/v1/tokens/{}/revoke",
        own.expect("hers")["token_id"].as_str().unwrap_or_default()
    );
    ok(&root, Call::post(revoke, json!({}))).await;
    let shown = until(&root, &hers, |it| it["status"] == "paused").await;
    assert_eq!(shown["paused"]["cause"], "token_ended");
    let n_before = receiver.seen().len();
    initiate(&alice, "T-2", "bob").await;
    until(&root, &theirs, |it| it["caught_up"] == true).await;
    assert_eq!(receiver.seen().len(), n_before);
    let resume = || Call::post(path(&hers, "/resume"), json!({}));
    assert_eq!(refused(&root, resume()).await.body["code"], "not_allowed");
    let eve = server.agent("eve");
    ok(&eve, resume()).await;
    assert_eq!(receiver.called(n_before + 1).await.len(), n_before + 1);

    // As many as one may have.
    for _ in 1..webhook::OWNED_MAX {
        add(&root, &all.url, &["message"]).await;
    }
    let more = Call::post("/v1/webhooks", json!({ "url": all.url }));
    let full = refused(&root, more).await;
    assert_eq!((full.status, &full.body["code"]), (429, &json!("too_many_webhooks")));
    ok(&root, Call::post(path(&theirs, "/remove"), json!({}))).await;
    add(&root, &all.url, &[]).await;
}

#[tokio::test]
async fn private_addresses_are_not_called_unless_that_is_allowed() {
    let server = Server::start();
    let alice = server.agent("alice");
    server.agent("bob");
    let receiver = Receiver::answering(&[Answer::Status(200)]).await;
    let webhook = add(&alice, &receiver.url, &[]).await;
    assert!(webhook["warnings"].to_string().contains("never called"), "{webhook}");
    let tested = ok(&alice, Call::post(path(&webhook, "/test"), json!({}))).await;
    assert_eq!(tested["delivered"], false);
    initiate(&alice, "T-1", "bob").await;
    until(&alice, &webhook, |it| it["status"] == "failing").await;
    assert_eq!(receiver.seen().len(), 0);
}

/// An engine on a clock of its own, with the real adapter.
struct World {
    engine: Engine,
    clock: Arc<ManualClock>,
    _folder: TempDir,
}

impl World {
    async fn new() -> (Self, watch::Sender<bool>) {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Sqlite::open(folder.path()).expect("a new database");
        let (engine, clock) = support::engine_on(Arc::new(store));
        let artifacts = Artifacts::new(Settings::default()).expect("no roots, no trouble");
        let adapter = Caller::new(WakeKey::from_seed(&[7; 32]), true);
        let adapter = Arc::new(EffectRunner::new(artifacts, None, adapter));
        let (stop, stopped) = watch::channel(false);
        let serving = engine.clone();
        tokio::spawn(async move { serving.outbox().serve_webhooks(adapter, stopped).await });
        (Self { engine, clock, _folder: folder }, stop)
    }

    async fn add(&self, url: &str) -> Stream {
        let subject = Subject::Webhook(self.engine.new_webhook_id());
        let stream = Stream { teamspace: default_teamspace(), subject };
        let terms = Terms { url: url.to_owned(), ..Terms::default() };
        let create = webhook::Command::Create { terms, after: String::new(), token: None };
        let command = Command::Webhook(create);
        self.engine.submit(&operator(), stream.clone(), command, None).await.expect("it may");
        stream
    }
}

/// The pause before the next try is kept, whatever is written meanwhile: what was set aside is
/// written too.
#[tokio::test]
async fn nothing_shortens_the_pause_before_the_next_try() {
    let (world, _stop) = World::new().await;
    let receiver = Receiver::answering(&[Answer::Status(422)]).await;
    world.add(&receiver.url).await;
    support::register(&world.engine, &["first", "second"]).await;
    // The first is refused five times, and then the second once.
    while receiver.seen().len() < 6 {
        world.clock.advance(Span::from_millis(1_000));
        tokio::task::yield_now().await;
    }
    let seen = receiver.seen();
    assert_ne!(event(&seen[5])["id"], event(&seen[4])["id"]);
    let other = Receiver::answering(&[Answer::Status(200)]).await;
    world.add(&other.url).await;
    other.called(2).await;
    support::register(&world.engine, &["third"]).await;
    other.called(3).await;
    assert_eq!(receiver.seen().len(), 6);
    world.clock.advance(Span::from_millis(1_250));
    assert_eq!(event(&receiver.called(7).await[6])["id"], event(&seen[5])["id"]);
}

/// What waits for an endpoint that is down takes no memory. The server keeps the newest entries in
/// memory anyway; beyond them, twice as many waiting events take no more.
#[tokio::test]
async fn what_waits_for_an_endpoint_takes_no_memory() {
    const GROWTH_KIB_MAX: u64 = 6 * 1_024;
    let n_events = if is_full_run() { 10_000 } else { 6_000 };
    let folder = TempDir::new().expect("a folder");
    let server = server(folder.path());
    let ada = server.with_token(&server.token("ada", &["--kind", "operator"]));
    // Nothing listens there.
    let webhook = add(&ada, "http://127.0.0.1:9/in", &["agent"]).await;
    let text = "x".repeat(1_900);
    let write = async |numbers: std::ops::Range<u64>| {
        for number in numbers {
            let profile = json!({ "name": "Ada", "description": format!("{text}{number}") });
            let agent = json!({ "kind": "worker", "profile": profile });
            ok(&ada, Call::put("/v1/agents/ada", agent)).await;
        }
    };
    write(0..n_events / 2).await;
    let before = server.resident_kib();
    write(n_events / 2..n_events).await;
    let growth = server.resident_kib().saturating_sub(before);
    println!("{n_events} events wait; the second half took {growth} KiB");
    assert!(growth <= GROWTH_KIB_MAX, "{growth} KiB");
    until(&ada, &webhook, |shown| shown["status"] == "failing").await;
}

/// An endpoint is down for a day. What happens meanwhile waits in the ledger, not in memory, and
/// arrives in order once it is back. Another endpoint does not notice.
#[tokio::test]
async fn a_day_of_events_waits_for_an_endpoint_that_is_down() {
    let n_events = if is_full_run() { 10_000 } else { 1_000 };
    let (world, _stop) = World::new().await;
    let down = Receiver::answering(&[Answer::Status(503)]).await;
    let up = Receiver::answering(&[Answer::Status(200)]).await;
    world.add(&down.url).await;
    world.add(&up.url).await;
    let ends = world.engine.clock().now().plus(Span::from_hours(24));
    for number in 0..n_events {
        support::register(&world.engine, &[&format!("agent-{number}")]).await;
        world.clock.advance(Span::from_millis(24 * 3_600_000 / n_events));
    }
    assert!(world.engine.clock().now() >= ends.plus(Span::from_millis(-3_600_000)));
    let in_time = up.called(usize::try_from(n_events).expect("it fits")).await;
    assert!(down.n_seen() < 1_000, "{} tries in a day", down.n_seen());
    down.answers(&[Answer::Status(200)]);
    let n_tried = down.n_seen();
    while down.n_seen() < n_tried + in_time.len() {
        world.clock.advance(Span::from_millis(60_000));
        tokio::task::yield_now().await;
    }
    let all = down.seen();
    let ids = |seen: &[Seen]| seen.iter().map(|one| event(one)["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&all[all.len() - in_time.len()..]), ids(&in_time));
}
