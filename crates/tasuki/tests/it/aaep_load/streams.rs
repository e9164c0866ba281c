//! Many agents that stream their answers in small pieces, and callers beside them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::ports::clock::Stopwatch;
use serde_json::json;
use tokio::task::JoinSet;

use super::burst::event;
use super::stage::{BATCH_EVENTS, Stage};
use crate::server::is_full_run;
use crate::slow_sockets::{good_callers, p99};
use crate::wire::{Line, Request};

/// The required load.
const FULL: Size = Size { n_streams: 100, chunks_per_second: 50, seconds: 60 };
const SHORT: Size = Size { n_streams: 20, chunks_per_second: 20, seconds: 3 };
const SLOWDOWN_MAX: f64 = 2.0;

/// One piece of a model's output.
const CHUNK: &str = "The plan is on its way. ";

#[derive(Debug, Clone, Copy)]
struct Size {
    n_streams: usize,
    chunks_per_second: u32,
    seconds: u32,
}

/// The slowdown is checked against its limit in a release build: in a test build an event costs ten
/// times as much. `bench aaep --check`, with which `./test --full` ends, is such a run, and
/// reports the bytes.
#[tokio::test(flavor = "multi_thread")]
async fn many_streams_are_recorded_whole_and_others_go_on() {
    let size = if is_full_run() { FULL } else { SHORT };
    let stage = Stage::open();
    let token = stage.server.token("teller", &[]);
    let alice = stage.server.token("alice", &[]);
    stage.server.token("bob", &[]);
    let calm = Arc::new(AtomicBool::new(true));
    let before = good_callers(&stage.server, &alice, "before", &calm).await;
    calm.store(false, Ordering::Relaxed);
    let clock = Stopwatch::start();
    let (n_requests, during) = tokio::join!(
        async {
            let mut streams = JoinSet::new();
            for number in 0..size.n_streams {
                let (address, token) = (stage.server.address().to_owned(), token.clone());
                streams.spawn(stream(address, token, format!("sess_stream{number}"), size));
            }
            let n_requests: usize = streams.join_all().await.into_iter().sum();
            calm.store(true, Ordering::Relaxed);
            n_requests
        },
        good_callers(&stage.server, &alice, "during", &calm),
    );
    let (before, during) = (p99(before), p99(during));
    let n_chunks = size.n_streams * (size.chunks_per_second * size.seconds) as usize;
    println!(
        "{} streams of {} chunks a second for {} s took {:.1} s, {:.1} chunks a request; others' \
         p99 {:.2} ms before, {:.2} ms during: {:.2} times",
        size.n_streams,
        size.chunks_per_second,
        size.seconds,
        clock.seconds(),
        n_chunks as f64 / n_requests as f64,
        before * 1e3,
        during * 1e3,
        during / before,
    );
    assert!(cfg!(debug_assertions) || during / before <= SLOWDOWN_MAX, "{}", during / before);
}

/// One answer, piece by piece: the pieces since the last request go out with the next. Every piece
/// is recorded: the end of the session would be refused if one were missing.
async fn stream(address: String, token: String, session: String, size: Size) -> usize {
    let mut line = Line::open(&address).await;
    let post = Request::new("POST /aaep/v1/events").token(&token);
    let start = event(&session, 0, "session.started", json!({}));
    assert_eq!(line.ask(&post.clone().json(&start)).await.status, 200);
    let n_chunks = (size.chunks_per_second * size.seconds) as usize;
    let mut pace = tokio::time::interval(Duration::from_secs(1) / size.chunks_per_second);
    pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let clock = Stopwatch::start();
    let (mut n_sent, mut n_requests) = (0, 0);
    while n_sent < n_chunks {
        pace.tick().await;
        let n_due = (clock.seconds() * f64::from(size.chunks_per_second)) as usize + 1;
        let n_due = n_due.min(n_chunks).min(n_sent + BATCH_EVENTS);
        if n_due == n_sent {
            continue;
        }
        let chunk = |index: usize| {
            let more = json!({ "chunk": CHUNK, "position": index * CHUNK.len(),
                "complete": index + 1 == n_chunks });
            event(&session, index + 1, "output.streaming", more)
        };
        let events: Vec<_> = (n_sent..n_due).map(chunk).collect();
        let answer = line.ask(&post.clone().json(&events.into())).await;
        assert_eq!(answer.status, 200, "{}", answer.json());
        n_sent = n_due;
        n_requests += 1;
    }
    let end = event(&session, n_chunks + 1, "session.completed", json!({}));
    let answer = line.ask(&post.json(&end)).await;
    assert_eq!(answer.status, 200, "{}", answer.json());
    n_requests
}
