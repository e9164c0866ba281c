//! Following: nothing is missed or repeated, however slow the reader, across restarts, and even if
//! the caller of a command has gone.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use engine::Engine;
use engine::ledger::feed::Follower;
use protocol::handoff;
use protocol::step::Command;
use store::Memory;

use super::{Server, story};
use crate::support::{
    Random, accept, agent, close, coordinator, engine_on, handoff_stream, initiate, offer,
    operator, proposed, register,
};

/// Far more than any wait here takes; a test that reaches it has found a missing wake-up.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_with_restarts_misses_nothing_and_repeats_nothing() {
    const N_WRITERS: usize = 8;
    const N_EACH: usize = 40;
    let server = Server::with_agents(&["barry", "tim"]).await;
    let total = (2 + N_WRITERS * N_EACH) as u64;
    let mut writers = Vec::new();
    for writer in 0..N_WRITERS {
        let engine = server.engine.clone();
        writers.push(tokio::spawn(async move { write_drafts(&engine, writer, N_EACH).await }));
    }
    let mut random = Random::from_seed(11);
    let mut readers = Vec::new();
    for _ in 0..3 {
        let seed = random.draw();
        let engine = server.engine.clone();
        readers.push(tokio::spawn(async move { read_slowly(&engine, seed, total).await }));
    }
    for task in writers.into_iter().chain(readers) {
        task.await.unwrap();
    }
}

pub(super) async fn write_drafts(engine: &Engine, writer: usize, n_drafts: usize) {
    for number in 0..n_drafts {
        let offer = Box::new(offer("tim", &format!("t{writer}-{number}")));
        let stream = handoff_stream(engine.new_handoff_id());
        let draft = Command::Handoff(handoff::Command::Draft { offer });
        let done = engine.submit(&agent("barry"), stream, draft, None).await;
        done.expect("anybody may draft");
    }
}

/// Reads to the end, dropping its follower now and then and resuming at its cursor.
async fn read_slowly(engine: &Engine, seed: u64, total: u64) {
    let mut random = Random::from_seed(seed);
    let mut follower = engine.ledger().follow(0);
    let mut seen = 0;
    while seen < total {
        for followed in next(&mut follower).await {
            seen += 1;
            assert_eq!(followed, seen, "seed {seed}");
        }
        assert_eq!(follower.cursor(), seen);
        for _ in 0..random.below(20) {
            tokio::task::yield_now().await;
        }
        if random.happens(30) {
            follower = engine.ledger().follow(seen);
        }
    }
    assert_eq!(follower.available().await.expect("the ledger can be read").len(), 0);
}

async fn next(follower: &mut Follower) -> Vec<u64> {
    let page = tokio::time::timeout(PATIENCE, follower.next()).await;
    let page = page.expect("the bell rings").expect("the ledger can be read");
    page.iter().map(|followed| followed.seq()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_goes_on_after_the_server_restarted() {
    let mut server = Server::with_agents(&["barry", "tim"]).await;
    let mut seen = 0;
    for round in 0..5u64 {
        let mut follower = server.engine.ledger().follow(seen);
        write_drafts(&server.engine, usize::try_from(round).unwrap(), 10).await;
        // The rest of the round is left for after the restart.
        for seq in next(&mut follower).await.into_iter().take(6) {
            seen += 1;
            assert_eq!(seq, seen);
        }
        drop(follower);
        server = server.restart();
    }
    let mut follower = server.engine.ledger().follow(seen);
    while seen < 52 {
        for seq in next(&mut follower).await {
            seen += 1;
            assert_eq!(seq, seen);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_behind_the_shared_ring_get_everything_too() {
    let (engine, _) = engine_on(Arc::new(Memory::default()));
    register(&engine, &["barry", "tim"]).await;
    let mut tip = engine.ledger().follow(0);
    let total = 5_000;
    for batch in 0..(total - 2) / 100 + 1 {
        write_drafts(&engine, batch, (total - 2 - batch * 100).min(100)).await;
        if batch % 7 == 0 {
            next(&mut tip).await;
        }
    }
    for start in [0, 1, 100, 2_900, 4_990] {
        let mut follower = engine.ledger().follow(start);
        let mut seen = start;
        while seen < total as u64 {
            for seq in next(&mut follower).await {
                seen += 1;
                assert_eq!(seq, seen, "from {start}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_beyond_the_end_is_answered() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let mut tip = server.engine.ledger().follow(0);
    assert_eq!(next(&mut tip).await, [1, 2]);
    for cursor in [2, 3, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
        let mut follower = server.engine.ledger().follow(cursor);
        assert!(follower.available().await.unwrap().is_empty(), "after {cursor}");
    }
}

/// A read of the newest position may show an entry before the followers are told of it.
#[tokio::test(flavor = "multi_thread")]
async fn asking_for_the_newest_place_keeps_nobody_from_being_told() {
    let (server, mut gate) = Server::gated();
    gate.open(2);
    register(&server.engine, &["barry", "tim"]).await;
    let engine = &server.engine;
    let mut follower = engine.ledger().follow(0);
    assert_eq!(next(&mut follower).await, [1, 2]);
    gate.reached(2).await;

    let writing = tokio::spawn({
        let engine = engine.clone();
        async move { write_drafts(&engine, 0, 1).await }
    });
    gate.reached(1).await;
    assert_eq!(
        engine.ledger().newest().await.unwrap(),
        3,
        "it can be read, and no follower was told"
    );
    let mut told = pin!(next(&mut follower));
    assert!(told.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    gate.open(1);
    assert_eq!(told.await, [3]);
    writing.await.unwrap();
}

/// A client that disconnects undoes nothing, and every follower hears of its change.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_submit_is_still_announced() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let engine = &server.engine;
    let mut follower = engine.ledger().follow(2);
    let barry = agent("barry");
    let mut n_dropped = 0;
    for number in 0..500u64 {
        // On a busy machine the answer often comes first.
        if number >= 20 && n_dropped > 0 {
            break;
        }
        let task = format!("t{number}");
        let stream = handoff_stream(engine.new_handoff_id());
        let submit = engine.submit(&barry, stream.clone(), initiate("tim", &task), None);
        n_dropped += drop_once_written(engine, 3 + number, submit).await;
        assert_eq!(next(&mut follower).await, [3 + number], "no other caller commits meanwhile");
        assert_eq!(story(engine, &stream).await, ["handoff.proposed"]);
    }
    assert!(n_dropped > 0, "some were dropped before they were answered");
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_submits_lose_nothing_and_block_nobody() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let engine = &server.engine;
    let mut random = Random::from_seed(5);
    let barry = agent("barry");
    for number in 0..40 {
        let stream = handoff_stream(engine.new_handoff_id());
        let task = format!("t{number}");
        let draft = |title: usize| {
            let mut offer = offer("tim", &task);
            offer.reason = format!("edit {title}");
            Command::Handoff(handoff::Command::Draft { offer: Box::new(offer) })
        };
        for edit in 0..5 {
            let submit = engine.submit(&barry, stream.clone(), draft(edit), None);
            drop_after_polls(submit, random.below(6)).await;
        }
        let saved = engine.submit(&barry, stream.clone(), draft(9), None).await.unwrap();
        let proposal = Command::Handoff(handoff::Command::Initiate { offer: None });
        let done = engine.submit(&barry, stream.clone(), proposal, None).await.unwrap();
        assert_eq!(done.position, saved.position + 1);
        let story = story(engine, &stream).await;
        assert_eq!(story.len() as u64, done.position, "no gap, no fork: {story:?}");
        assert_eq!(story.last().map(String::as_str), Some("handoff.proposed"));
        let state = engine.read().current(&stream).await.unwrap();
        assert_eq!(engine.read().rebuild(&stream).await.unwrap(), *state.unwrap());
    }
}

/// Polls a future until the ledger has grown, then drops it, unless its answer came first. Returns
/// how many were dropped, one or none.
async fn drop_once_written<F: Future>(engine: &Engine, newest: u64, future: F) -> usize {
    let mut future = pin!(future);
    loop {
        let mut context = Context::from_waker(Waker::noop());
        if future.as_mut().poll(&mut context).is_ready() {
            return 0;
        }
        if engine.ledger().newest().await.expect("the ledger can be read") == newest {
            return 1;
        }
    }
}

async fn drop_after_polls<F: Future>(future: F, n_polls: usize) {
    let mut future = pin!(future);
    for _ in 0..n_polls {
        let mut context = Context::from_waker(Waker::noop());
        if future.as_mut().poll(&mut context).is_ready() {
            return;
        }
        // A read of the store is answered by another thread; give it time to do so.
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }
}

/// Erased content is gone for every later reader, also from memory.
#[tokio::test(flavor = "multi_thread")]
async fn followers_do_not_get_what_was_erased() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let engine = &server.engine;
    let stream = proposed(engine, "barry", "tim", "t1").await;
    engine.submit(&agent("tim"), stream.clone(), accept(), None).await.unwrap();
    engine.submit(&coordinator("zoe"), stream.clone(), close(), None).await.unwrap();
    let mut follower = engine.ledger().follow(0);
    assert_eq!(next(&mut follower).await.len(), 6, "the ring is filled");
    let erase = Command::Erase { position: 1, reason: "asked by its subject".to_owned() };
    engine.submit(&operator(), stream, erase, None).await.unwrap();
    let mut late = engine.ledger().follow(0);
    let page = late.next().await.unwrap();
    assert_eq!(page[2].sequenced.entry.name, "handoff.proposed");
    assert_eq!(page[2].sequenced.entry.body.text(), None);
    assert!(!String::from_utf8_lossy(page[2].json(engine.cursor_key())).contains("Mend the build"));
}
