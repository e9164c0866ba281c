//! A queue that is longer than one look: a person is offered the one item that suits them, wherever
//! it waits.

use std::sync::Arc;

use engine::Engine;
use protocol::agent::{self, Kind, Presence, Profile};
use protocol::conversation::command::Open;
use protocol::ledger::{Stream, Subject};
use protocol::step::Command;
use protocol::transfer::command::Request;
use protocol::{conversation, transfer};
use serde_json::json;
use store::Memory;

use crate::support::{self, agent, agent_stream, default_teamspace, id, operator};

/// More than a look reads at the front, and less than it reads in all.
const AHEAD: usize = 400;

async fn submit(engine: &Engine, stream: Stream, command: Command) {
    let done = engine.submit(&operator(), stream, command, None).await;
    done.unwrap_or_else(|error| panic!("{error:?}"));
}

async fn register(engine: &Engine, name: &str, kind: Kind) {
    let profile = Profile { capacity: Some(8), ..Profile::default() };
    let register = Command::Agent(agent::Command::Register { kind, profile });
    submit(engine, agent_stream(name), register).await;
}

async fn says_available(engine: &Engine, name: &str) {
    let presence = Presence::Available;
    let says = Command::Agent(agent::Command::SetPresence { presence });
    let said = engine.submit(&agent(name), agent_stream(name), says, None).await;
    said.expect("a person may say so");
}

/// A customer waits for a person with these skills.
async fn waits(engine: &Engine, skills: &[&str]) -> Stream {
    let subject = Subject::Conversation(engine.new_conversation_id());
    let stream = Stream { teamspace: default_teamspace(), subject };
    let open = Open { agent: Some(id("bob")), ..Open::default() };
    let open = conversation::Command::Open(Box::new(open));
    submit(engine, stream.clone(), Command::Conversation(open)).await;
    let skills: Vec<_> =
        skills.iter().map(|name| json!({ "name": name, "level_min": 1 })).collect();
    let request: Request = serde_json::from_value(json!({ "wanted": { "skills": skills } }))
        .expect("a request for a person");
    let (transfer, request) = (engine.new_transfer_id(), Box::new(request));
    let request = transfer::Command::Request { transfer, request };
    let request = Command::Conversation(conversation::Command::Transfer(request));
    submit(engine, stream.clone(), request).await;
    stream
}

async fn status(engine: &Engine, stream: &Stream) -> transfer::Status {
    let state = engine.read().current(stream).await.expect("it can be read").expect("it is there");
    let conversation = state.as_conversation().expect("a conversation");
    conversation.transfer.as_ref().expect("it was asked for").status()
}

#[tokio::test]
async fn the_one_at_the_end_is_offered_to_the_person_whom_it_suits() {
    let (engine, _clock) = support::engine_on(Arc::new(Memory::default()));
    support::register(&engine, &["bob"]).await;
    register(&engine, "default", Kind::Queue).await;
    for _ in 0..AHEAD {
        waits(&engine, &["tax"]).await;
    }
    let last = waits(&engine, &[]).await;
    register(&engine, "hana", Kind::Human).await;
    says_available(&engine, "hana").await;
    assert_eq!(engine.queues().dispatch_due().await.expect("the store works"), 1);
    assert_eq!(status(&engine, &last).await, transfer::Status::Ringing);
}

/// Another process on the same store knows who had an item last.
#[tokio::test]
async fn the_person_idle_longest_is_the_same_after_a_restart() {
    let store = Arc::new(Memory::default());
    let (engine, clock) = support::engine_on(store.clone());
    support::register(&engine, &["bob"]).await;
    register(&engine, "default", Kind::Queue).await;
    for name in ["ada", "zoe"] {
        register(&engine, name, Kind::Human).await;
        says_available(&engine, name).await;
    }
    // `ada` is first by name, so she is asked first, and `zoe` after her.
    for _ in 0..3 {
        waits(&engine, &[]).await;
        assert_eq!(engine.queues().dispatch_due().await.expect("the store works"), 1);
        clock.advance(protocol::time::Span::from_millis(1_000));
    }
    let restarted =
        Engine::new(store, clock.clone(), Arc::new(engine::ports::ids::SeededIds::new(8)));
    let next = waits(&restarted, &[]).await;
    assert_eq!(restarted.queues().dispatch_due().await.expect("the store works"), 1);
    let state = restarted.read().current(&next).await.expect("it can be read");
    let conversation = state.as_deref().and_then(|it| it.as_conversation()).expect("it is there");
    let rung = conversation.open_transfer().and_then(|it| it.claim()).expect("it rings");
    assert_eq!(rung.agent.as_str(), "zoe", "`ada` had the last one");
}
