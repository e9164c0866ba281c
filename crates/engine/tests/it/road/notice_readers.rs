//! Readers of notices while the loop of the index runs: they get all that was committed before they
//! asked, and do not wait for a slow reader of another teamspace. The clock stands still, so the
//! loop reads only when it starts and when a reader asks.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use engine::Engine;
use protocol::caller::Caller;
use tokio::task::JoinSet;

use super::Server;
use super::deadlines::start_loops;
use super::feed::write_drafts;
use crate::support::{agent, proposed};

/// Far more than any wait here takes; a test that reaches it has found a reader that waits forever.
const PATIENCE: Duration = Duration::from_secs(20);

/// More entries than the index reads at once.
const N_WRITERS: usize = 8;
const N_EACH: usize = 100;

#[tokio::test(flavor = "multi_thread")]
async fn readers_get_all_that_was_committed_before_they_asked() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let loops = start_loops(&server);
    for round in 1..=3 {
        write_much(&server.engine, round).await;
        proposed(&server.engine, "barry", "tim", &format!("round-{round}")).await;
        let mut readers = JoinSet::new();
        for _ in 0..4 {
            let engine = server.engine.clone();
            readers.spawn(async move { n_told(&engine, agent("tim")).await });
        }
        let told = tokio::time::timeout(PATIENCE, readers.join_all()).await;
        assert_eq!(told.expect("the loop is woken"), [round; 4]);
    }
    loops.stop().await;
}

#[tokio::test]
async fn a_slow_reader_of_another_teamspace_holds_no_other_up() {
    let mut server = Server::with_agents(&["barry", "tim"]).await;
    write_much(&server.engine, 1).await;
    proposed(&server.engine, "barry", "tim", "t1").await;
    for n_polls in 0..12 {
        // Then no entry is in memory, and each page of them is waited for.
        server = server.restart();
        let elsewhere = Caller { teamspace: "other".parse().unwrap(), ..agent("tim") };
        let engine = server.engine.clone();
        let reading = Box::pin(async move { n_told(&engine, elsewhere).await });
        let loops = start_loops(&server);
        tokio::task::yield_now().await;
        let slow = tokio::spawn(Stalled { reading, n_polls });
        let told = tokio::time::timeout(PATIENCE, n_told(&server.engine, agent("tim"))).await;
        assert_eq!(told, Ok(1), "a reader that stalls after {n_polls} steps");
        slow.abort();
        drop(slow.await);
        loops.stop().await;
    }
}

/// A reader that is served so often, and then no more.
struct Stalled<F> {
    reading: Pin<Box<F>>,
    n_polls: usize,
}

impl<F: Future> Future for Stalled<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        match self.n_polls.checked_sub(1) {
            Some(left) => self.n_polls = left,
            None => return Poll::Pending,
        }
        self.reading.as_mut().poll(context)
    }
}

async fn write_much(engine: &Engine, round: usize) {
    let mut writers = JoinSet::new();
    for writer in 0..N_WRITERS {
        let (engine, writer) = (engine.clone(), round * N_WRITERS + writer);
        writers.spawn(async move { write_drafts(&engine, writer, N_EACH).await });
    }
    writers.join_all().await;
}

/// How many handoffs the caller is told of.
async fn n_told(engine: &Engine, caller: Caller) -> usize {
    let page = engine.read().notices(&caller, Some(0), 200).await;
    page.expect("the ledger can be read").about.len()
}
