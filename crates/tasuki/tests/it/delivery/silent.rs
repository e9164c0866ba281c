//! An endpoint that takes its turns and never answers.

use protocol::time::Span;
use serde_json::json;

use super::World;
use crate::receiver::{Answer, Receiver};
use crate::support::id;

#[tokio::test]
async fn an_endpoint_that_takes_its_turns_and_says_nothing_loses_the_conversation() {
    let receiver = Receiver::answering(&[Answer::Status(204)]).await;
    let led = json!({ "kind": "supervisor", "supervisor": "carol", "workers": ["bob"] });
    let world = World::new(true, led, &receiver.url).await;
    world.customer_says("hello").await;
    world.carry_out().await;
    world.clock.advance(Span::from_millis(59_000));
    world.engine.fire_due_deadlines().await.expect("the store works");
    assert_eq!(world.conversation().await.holder, id("bob"));
    world.clock.advance(Span::from_millis(1_000));
    world.engine.fire_due_deadlines().await.expect("the store works");
    assert_eq!(world.names().await, ["said", "delivered", "holder_silent", "routed"]);
    let conversation = world.conversation().await;
    assert_eq!((conversation.holder, conversation.epoch), (id("carol"), 2));
}
