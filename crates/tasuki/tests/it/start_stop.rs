//! A folder has one server, which stops cleanly: started requests are finished and answered,
//! streams are told where to resume, and everything is on the record.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use adapters::ledger_key::KEY_FILE;
use tasuki::client::Call;
use tasuki::exit_code;

use crate::hidden_places::sequence_of;
use crate::ledger::{self, Ledger};
use crate::load::{Load, Tokens, WRITERS};
use crate::odd_databases::run;
use crate::power_loss::monotonic_ns;
use crate::server::{Server, initiate, ok, refused_start, seed};
use crate::sse::{Event, Stream};

/// The value of `config.default.toml`.
const DRAIN_NS: u64 = 20_000_000_000;

const STREAMS: usize = 16;

#[tokio::test]
async fn a_second_server_on_the_same_folder_does_not_start() {
    let server = Server::start();
    let alice = server.agent("alice");
    server.agent("bob");
    let elsewhere = tempfile::tempdir().unwrap();
    let other_name = elsewhere.path().join("same");
    symlink(&server.data, &other_name).unwrap();
    for name in [&server.data, &other_name] {
        let output = refused_start(name, |_| {});
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(i32::from(exit_code::IN_USE)), "{said}");
        assert!(said.contains(&*name.to_string_lossy()), "{said}");
    }
    initiate(&alice, "T-1", "bob").await;
    assert_eq!(ok(&alice, Call::get("/v1/handoffs")).await["items"].as_array().unwrap().len(), 1);
    assert_eq!(server.stop(), Some(0));
    let next = Server::start_on(&server.data, |_| {});
    assert_eq!(next.stop(), Some(0));
}

/// The key of an older release does not say that rows are signed with it.
#[test]
fn rows_of_an_older_release_are_signed_once_and_it_is_logged() {
    let server = Server::start();
    server.agent("alice");
    assert_eq!(server.stop(), Some(0));
    let warns = |server: &Server| {
        let is_said = |line: &String| line.contains("no row is signed with this key yet");
        server.said_at_start.iter().any(is_said)
    };
    let doctor = || run(&server.data, &["doctor"]).1;
    for (is_older, is_told) in [(false, false), (true, true), (false, false)] {
        if is_older {
            let key = server.data.join(KEY_FILE);
            let line = std::fs::read_to_string(&key).unwrap();
            std::fs::write(&key, line.split_whitespace().last().unwrap()).unwrap();
        }
        assert_eq!(doctor().contains("no row of the database is signed with it"), is_told);
        let next = Server::start_on(&server.data, |_| {});
        assert_eq!(warns(&next), is_told, "{:?}", next.said_at_start);
        assert_eq!(next.stop(), Some(0));
    }
    assert!(!warns(&server), "there was nothing to sign");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_told_to_stop_finishes_and_says_where_to_go_on() {
    let server = Arc::new(Server::start());
    let tokens = Tokens::make(&server);
    let crew = tokens.crew(&server);
    let mut following = Vec::new();
    for _ in 0..STREAMS {
        let stream = Stream::open(&crew.alice, "/v1/events", Some("0")).await;
        following.push(tokio::spawn(until_closed(stream)));
    }
    let mut load = Load::new("stop", WRITERS, seed("stop"));
    let acks = Arc::clone(&load.acks);
    let working = tokio::spawn(async move {
        load.run(&crew, usize::MAX).await;
        load
    });
    acks.until(500).await;
    let told_ns = monotonic_ns();
    let stopping = Arc::clone(&server);
    let code = tokio::task::spawn_blocking(move || stopping.stop()).await.unwrap();
    assert_eq!(code, Some(0));
    assert!(monotonic_ns() - told_ns < DRAIN_NS, "it is done before it would have to be");
    let log_bytes = std::fs::metadata(server.data.join("tasuki.db-wal")).map_or(0, |log| log.len());
    assert_eq!(log_bytes, 0, "the log was moved into the database");

    let load = working.await.unwrap();
    let ledger = Ledger::read(&server.data).unwrap();
    let all = acks.all();
    ledger.check_acknowledged(all.iter().map(|ack| &ack.what)).unwrap();
    let unanswered = load.unanswered();
    let begun: Vec<_> = unanswered.iter().filter(|one| ledger.effect_of(one).is_some()).collect();
    assert!(begun.is_empty(), "carried out and not answered: {begun:?}");
    ledger.check_lines(&server.data).unwrap();
    ledger::check_sealed(&server.data, ledger.newest()).unwrap();
    ledger::audit(&server.data).unwrap();

    let next = Server::start_on(&server.data, |_| {});
    for closed in following {
        check_resumes(&next, &tokens, closed.await.unwrap(), &ledger).await;
    }
}

/// The numbers of the entries on a stream, and its last message.
struct Closed {
    seen: Vec<u64>,
    last: Event,
}

async fn until_closed(mut stream: Stream) -> Closed {
    let mut seen = Vec::new();
    let mut last = None;
    while let Some(event) = stream.next().await {
        if let (Some("handoff" | "agent"), Some(id)) = (family(&event), &event.id) {
            seen.push(sequence_of(id));
        }
        last = Some(event);
    }
    Closed { seen, last: last.expect("a stream says something") }
}

fn family(event: &Event) -> Option<&str> {
    event.name.as_deref()?.split('.').next()
}

/// The entries before and after the restart are everything that an agent may see, once and in
/// order. The server's own notices may come while it stops.
async fn check_resumes(next: &Server, tokens: &Tokens, closed: Closed, ledger: &Ledger) {
    let Closed { mut seen, last } = closed;
    assert_eq!(last.name.as_deref(), Some("stream.closing"), "{last:?}");
    let id = last.id.expect("the last words have an id");
    assert_eq!(last.data["resume_after"], id);
    let place = sequence_of(&id);
    assert!(seen.iter().all(|seq| *seq <= place));
    let mut stream = Stream::open(&tokens.crew(next).alice, "/v1/events", Some(&id)).await;
    if place < ledger.newest() {
        let rest = stream.until(ledger.newest()).await;
        let rest = rest.iter().filter(|one| matches!(family(one), Some("handoff" | "agent")));
        seen.extend(rest.filter_map(|event| event.id.as_deref()).map(sequence_of));
    }
    assert_eq!(seen, visible(ledger));
}

/// Without the credentials, which are the operator's. There are no drafts of other agents: all of
/// them are Alice's own.
fn visible(ledger: &Ledger) -> Vec<u64> {
    let is_visible = |name: &str| name.starts_with("handoff.") || name.starts_with("agent.");
    let entries = ledger.entries.iter().filter(|one| is_visible(&one.entry.name));
    entries.map(|one| one.seq).collect()
}
