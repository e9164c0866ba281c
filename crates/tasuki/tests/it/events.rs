//! Promise 7: a follower that reconnects misses nothing and recognises any repeat by its id. And
//! what a stream must not show, and when it must end.

use std::process::{Command, Stdio};
use std::time::Duration;

use engine::ports::clock::Stopwatch;
use serde_json::{Value, json};
use tasuki::client::{Call, Client};
use tokio::task::JoinSet;

use crate::hidden_places::newest;
use crate::power_loss::Random;
use crate::server::{Server, act, initiate, offer, ok, refused, seed};
use crate::sse::{Event, Stream, whole_ledger};

#[tokio::test]
async fn a_stream_shows_what_its_filters_ask_for() {
    let server = Server::start();
    let root = server.with_token(&server.token("root", &["--kind", "operator"]));
    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    server.agent("carol");
    let first = initiate(&alice, "T-1", "bob").await;
    act(&bob, &first, "accept", json!({})).await;
    let second = initiate(&bob, "T-2", "carol").await;
    let cases: [(&str, &str); 10] = [
        ("kind=handoff", "proposed validation_started accepted proposed"),
        ("kind=handoff.proposed", "proposed proposed"),
        ("kind=agent", "registered registered registered"),
        ("stream=handoff/FIRST", "proposed validation_started accepted"),
        ("stream=handoff/SECOND&kind=handoff.accepted", ""),
        ("stream=agent/carol", "registered"),
        ("agent=carol", "registered proposed"),
        ("agent=alice&kind=handoff", "proposed validation_started accepted"),
        ("agent=bob&stream=handoff/SECOND", "proposed"),
        ("agent=nobody", ""),
    ];
    for (filter, expected) in cases {
        let filter = filter.replace("FIRST", &first).replace("SECOND", &second);
        let entries = whole_ledger(&root, &format!("&{filter}")).await;
        let names = entries.iter().filter_map(|entry| entry.name.as_deref()?.split('.').nth(1));
        assert_eq!(names.collect::<Vec<_>>().join(" "), expected, "{filter}");
    }
    for kind in ["handoff.proposed.", "hand", "Handoff", "handoff.lost"] {
        let answer = root.call(Call::get(format!("/v1/events?kind={kind}"))).await.unwrap();
        let refused = (answer.status, answer.body["field"].as_str());
        assert_eq!(refused, (422, Some("kind")), "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_keeps_coming_back_misses_nothing_and_repeats_nothing() {
    let server = Server::start();
    let alice = server.agent("alice");
    server.agent("bob");
    const TASKS: usize = 200;
    let writing = tokio::spawn(write_tasks(alice.clone(), TASKS, String::new()));
    let mut random = Random::from_seed(seed("a_reader_that_keeps_coming_back"));
    let mut read: Vec<Event> = Vec::new();
    let mut place = "0".to_owned();
    let mut n_connections = 0;
    let path = "/v1/events?kind=handoff";
    while read.len() < TASKS {
        let mut stream = Stream::open(&alice, path, Some(&place)).await;
        n_connections += 1;
        for _ in 0..=random.below(12) {
            let event = stream.next().await.expect("the stream goes on");
            read.extend(Some(event).filter(|event| event.name.is_some()));
        }
        place = stream.place.expect("every block has an id");
    }
    writing.await.unwrap();
    assert_eq!(read, whole_ledger(&alice, "&kind=handoff").await);
    println!("{n_connections} connections for {TASKS} entries");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_catches_up() {
    let server = Server::start();
    let alice = server.agent("alice");
    server.agent("bob");
    let mut stream = Stream::open(&alice, "/v1/events?kind=handoff", Some("0")).await;
    // More than the buffers of a connection hold: about 10 MB of events.
    write_tasks(alice.clone(), 640, "x".repeat(16_000)).await;
    let mut read = Vec::new();
    while read.len() < 640 {
        read.push(stream.next_entry().await.expect("the stream goes on").id);
    }
    let ledger = whole_ledger(&alice, "&kind=handoff").await;
    assert_eq!(read, ledger.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>());
}

/// Proposes many tasks, several at a time.
async fn write_tasks(client: Client, n_tasks: usize, reason: String) {
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let (client, reason) = (client.clone(), reason.clone());
        writers.spawn(async move {
            for task in (writer..n_tasks).step_by(8) {
                let mut body = offer(&format!("T-{task}"), "bob");
                body["reason"] = reason.clone().into();
                ok(&client, Call::post("/v1/handoffs", body)).await;
            }
        });
    }
    writers.join_all().await;
}

#[tokio::test]
async fn the_stream_of_a_token_ends_with_the_token() {
    let server = Server::start();
    let root = server.with_token(&server.token("root", &["--kind", "operator"]));
    for ends_by in ["revocation", "expiry"] {
        let now = engine::ports::clock::Clock::now(&engine::ports::clock::SystemClock);
        let soon = now.plus(protocol::time::Span::from_millis(400)).to_string();
        let expires_at = Some(soon).filter(|_| ends_by == "expiry");
        let body = json!({ "agent": "alice", "expires_at": expires_at });
        let issued = ok(&root, Call::post("/v1/tokens", body)).await;
        let client = server.with_token(issued["token"].as_str().unwrap());
        let mut stream = Stream::open(&client, "/v1/events", None).await;
        if ends_by == "revocation" {
            let id = issued["token_id"].as_str().unwrap();
            ok(&root, Call::post(format!("/v1/tokens/{id}/revoke"), json!({}))).await;
        }
        let stopwatch = Stopwatch::start();
        let mut last = None;
        while let Some(event) = stream.next().await {
            last = event.name;
        }
        let seconds = stopwatch.seconds();
        assert_eq!(last.as_deref(), Some("stream.closing"));
        assert!(seconds < 2.5, "{ends_by}: the stream ended after {seconds} s");
        let again = refused(&client, Call::get("/v1/events")).await;
        assert_eq!(again.body["code"], "unauthenticated");
    }
}

#[tokio::test]
async fn there_are_only_so_many_streams() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_on(&folder.path().join("data"), |command| {
        command.env("TASUKI_LIMITS_STREAMS", "3").env("TASUKI_LIMITS_STREAMS_PER_TOKEN", "2");
    });
    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    let first = Stream::open(&alice, "/v1/events", None).await;
    let _second = Stream::open(&alice, "/v1/events", None).await;
    let mut third = Vec::new();
    for (client, what) in [(&alice, "a third of one token"), (&bob, "a fourth of all")] {
        let full = refused(client, Call::get("/v1/events")).await;
        assert_eq!((full.status, &full.body["code"]), (429, &json!("too_many_streams")), "{what}");
        if what == "a third of one token" {
            third.push(Stream::open(&bob, "/v1/events", None).await);
        }
    }
    drop(first);
    let opening =
        async { while bob.open(&Call::get("/v1/events"), &[]).await.unwrap().status() != 200 {} };
    tokio::time::timeout(Duration::from_secs(10), opening).await.expect("a place is given back");
}

/// However many tokens a teamspace has, some streams are left for the others.
#[tokio::test]
async fn one_teamspace_cannot_take_all_streams() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_on(&folder.path().join("data"), |command| {
        command.env("TASUKI_LIMITS_STREAMS", "4");
    });
    let greedy = ["ann", "bea", "cyd", "dot"]
        .map(|agent| server.with_token(&server.token(agent, &["--teamspace", "greedy"])));
    let mut open = Vec::new();
    for client in &greedy[..3] {
        open.push(Stream::open(client, "/v1/events", None).await);
    }
    let full = refused(&greedy[3], Call::get("/v1/events")).await;
    assert_eq!((full.status, &full.body["code"]), (429, &json!("too_many_streams")));
    let alice = server.agent("alice");
    open.push(Stream::open(&alice, "/v1/events", None).await);
    let full = refused(&alice, Call::get("/v1/events")).await;
    assert_eq!(full.body["code"], "too_many_streams", "a fifth of all");
}

#[tokio::test]
async fn credentials_are_shown_to_operators_and_drafts_to_their_sender() {
    let server = Server::start();
    let root = server.with_token(&server.token("root", &["--kind", "operator"]));
    let (alice, bob, carol) = (server.agent("alice"), server.agent("bob"), server.agent("carol"));
    let dora = server.with_token(&server.token("dora", &["--role", "coordinator"]));
    for task in ["T-1", "T-2"] {
        let saved = ok(&alice, Call::post("/v1/handoffs/drafts", offer(task, "bob"))).await;
        let id = saved["handoff_id"].as_str().unwrap();
        let edited = Call::put(format!("/v1/handoffs/{id}/draft"), offer(task, "bob"));
        ok(&alice, edited).await;
        match task {
            "T-1" => act(&dora, id, "close", json!({})).await,
            _ => act(&alice, id, "initiate", json!({})).await,
        };
    }
    let drafts = "handoff.drafted handoff.drafted handoff.closed \
                  handoff.drafted handoff.drafted handoff.proposed";
    let cases = [
        ("alice, who wrote them", &alice, false, drafts),
        ("bob, who is named in them", &bob, false, "handoff.proposed"),
        ("carol, a stranger", &carol, false, "handoff.proposed"),
        ("dora, a coordinator", &dora, false, drafts),
        ("root, an operator", &root, true, drafts),
    ];
    for (who, client, sees_tokens, expected) in cases {
        let ledger = whole_ledger(client, "").await;
        let names: Vec<_> = ledger.iter().filter_map(|entry| entry.name.as_deref()).collect();
        let of = |family: &str| {
            let names = names.iter().copied().filter(|name| name.starts_with(family));
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("handoff"), expected, "{who}");
        assert_eq!(!of("token").is_empty(), sees_tokens, "{who}");
        assert!(!of("agent").is_empty(), "{who}");
    }
}

#[tokio::test]
async fn a_quiet_stream_moves_its_place_along() {
    let server = Server::start();
    let (alice, _) = (server.agent("alice"), server.agent("bob"));
    let mut stream = Stream::open(&alice, "/v1/events?kind=teamspace", Some("0")).await;
    for task in ["T-1", "T-2"] {
        initiate(&alice, task, "bob").await;
        assert_eq!(stream.until(newest()).await, Vec::new());
    }
}

#[tokio::test]
async fn on_a_stop_streams_say_where_to_resume() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |_| {});
    let tokens = ["alice", "bob"].map(|agent| server.token(agent, &[]));
    let alice = server.with_token(&tokens[0]);
    let mut stream = Stream::open(&alice, "/v1/events?kind=handoff", Some("0")).await;
    initiate(&alice, "T-1", "bob").await;
    assert_eq!(stream.next_entry().await.unwrap().data["data"]["task_id"], "T-1");
    let stopping = tokio::task::spawn_blocking(move || server.stop());
    let mut last = None;
    while let Some(event) = stream.next().await {
        last = Some(event);
    }
    let last = last.expect("a farewell");
    assert_eq!(last.name.as_deref(), Some("stream.closing"));
    let place = last.data["resume_after"].as_str().expect("a cursor");
    assert_eq!((Some(place), Some(place)), (last.id.as_deref(), stream.place.as_deref()));
    assert_eq!(stopping.await.unwrap(), Some(0));

    let server = Server::start_on(&data, |_| {});
    let alice = server.with_token(&tokens[0]);
    let mut stream = Stream::open(&alice, "/v1/events?kind=handoff", Some(place)).await;
    initiate(&alice, "T-2", "bob").await;
    assert_eq!(stream.next_entry().await.unwrap().data["data"]["task_id"], "T-2");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_watches_through_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |_| {});
    let tokens = ["alice", "bob"].map(|agent| server.token(agent, &[]));
    let mut watching = Command::new(env!("CARGO_BIN_EXE_tasuki"))
        .args(["handoff", "watch", "--after", "0", "--kind", "handoff", "--json", "--data"])
        .arg(&data)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = std::io::BufReader::new(watching.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(lines);
    let mut next_task = || {
        let entry: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        entry["data"]["task_id"].as_str().unwrap().to_owned()
    };
    let alice = server.with_token(&tokens[0]);
    initiate(&alice, "T-1", "bob").await;
    initiate(&alice, "T-2", "bob").await;
    assert_eq!([next_task(), next_task()], ["T-1", "T-2"]);
    assert_eq!(server.stop(), Some(0));
    let server = Server::start_on(&data, |_| {});
    let alice = server.with_token(&tokens[0]);
    initiate(&alice, "T-3", "bob").await;
    assert_eq!(next_task(), "T-3");
    watching.kill().unwrap();
    watching.wait().unwrap();
}
