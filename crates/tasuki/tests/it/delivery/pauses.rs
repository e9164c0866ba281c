//! An endpoint that is down or busy is left alone, and is told everything when it is back.

use engine::loops::destinations::FAILURES_BEFORE_PAUSE;
use engine::ports::outbox::OutboxList;
use protocol::time::Span;

use super::{World, free, texts};
use crate::receiver::{Answer, Receiver};
use crate::support::default_teamspace;

#[tokio::test]
async fn an_endpoint_that_asks_for_time_gets_it() {
    let receiver = Receiver::answering(&[Answer::Busy(100), Answer::Status(200)]).await;
    let world = World::new(true, free(), &receiver.url).await;
    world.customer_says("hello").await;
    world.carry_out().await;
    world.clock.advance(Span::from_millis(99_000));
    world.customer_says("anybody there?").await;
    world.carry_out().await;
    assert_eq!(receiver.seen().len(), 1, "nothing is sent to it before its time");
    world.carry_out_all().await;
    let told: Vec<_> = receiver.seen()[1..].iter().flat_map(texts).collect();
    assert_eq!(told, ["hello", "anybody there?"]);
}

/// Many conversations wait for one bot. It is not called for each of them while it is down.
#[tokio::test]
async fn an_endpoint_that_is_down_is_tried_by_one_call_at_a_time() {
    let n_failures = usize::try_from(FAILURES_BEFORE_PAUSE).expect("a few");
    let n_conversations = 4 * n_failures;
    let receiver = Receiver::answering(&[Answer::Status(500)]).await;
    let mut world = World::new(true, free(), &receiver.url).await;
    world.customer_says("hello").await;
    for number in 2..=n_conversations {
        world.open_another().await;
        world.customer_says(&number.to_string()).await;
    }
    while world.carry_out().await > 0 {}
    assert_eq!(receiver.seen().len(), n_failures);
    let left = world
        .engine
        .outbox()
        .outstanding(&default_teamspace(), OutboxList::All)
        .await
        .expect("a list");
    assert_eq!(left.len(), n_conversations);
    let (tried, waiting): (Vec<_>, Vec<_>) = left.iter().partition(|one| one.attempts > 0);
    assert_eq!(tried.len(), n_failures);
    for one in waiting {
        assert_eq!(
            one.error.as_deref(),
            Some("the endpoint answered 500; it is left alone for a while")
        );
    }
    for n_calls in 1..=3 {
        world.clock.advance(Span::from_millis(20_000));
        world.carry_out().await;
        assert_eq!(receiver.seen().len(), n_failures + n_calls, "one call to see if it is back");
    }
    receiver.answers(&[Answer::Status(200)]);
    world.clock.advance(Span::from_millis(20_000));
    world.carry_out_all().await;
    assert_eq!(receiver.seen().len(), n_failures + 3 + n_conversations);
}
