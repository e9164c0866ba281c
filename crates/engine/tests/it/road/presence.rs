//! Presence: connections that open and close, are lost, and survive a restart, or do not.

use protocol::agent::{Agent, Command, Kind, Presence, Profile};
use protocol::step::{self, State};
use protocol::time::Span;

use super::{Server, story};
use crate::support::{agent, agent_stream, default_teamspace, id, operator};

#[tokio::test]
async fn only_the_first_connection_and_the_end_of_the_last_are_written() {
    let server = with_humans(&["ann"]).await;
    says(&server, "ann", Presence::Available).await;
    let open = || server.engine.queues().connection_opened(&default_teamspace(), &id("ann"));
    let (first, second) = (open(), open());
    settle(&server).await;
    drop(first);
    settle(&server).await;
    let third = open();
    drop(second);
    // Closed and open again before the server looked.
    drop(third);
    let fourth = open();
    settle(&server).await;
    let told = ["agent.registered", "agent.presence_changed", "agent.connected"];
    assert_eq!(story(&server.engine, &agent_stream("ann")).await, told);
    drop(fourth);
    settle(&server).await;
    let told = [&told[..], &["agent.connection_lost"]].concat();
    assert_eq!(story(&server.engine, &agent_stream("ann")).await, told);
    assert_eq!(ann(&server).await.presence(), Presence::Available);
}

#[tokio::test]
async fn a_lost_connection_is_noticed_after_its_grace_and_not_before() {
    let server = with_humans(&["ann"]).await;
    let open = || server.engine.queues().connection_opened(&default_teamspace(), &id("ann"));
    let connection = open();
    settle(&server).await;
    says(&server, "ann", Presence::Available).await;
    drop(connection);
    settle(&server).await;
    for (after_ms, fired, presence) in [
        (29_999, 0, Presence::Available),
        (1, 1, Presence::Offline),
        (60_000, 0, Presence::Offline),
    ] {
        server.clock.advance(Span::from_millis(after_ms));
        assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), fired);
        assert_eq!(ann(&server).await.presence(), presence);
    }
    assert_eq!(story(&server.engine, &agent_stream("ann")).await.last().unwrap(), "agent.lost");
    // Her stated presence still holds once she is back; and a person who is back in time was never
    // lost.
    let connection = open();
    settle(&server).await;
    assert!(ann(&server).await.is_available());
    drop(connection);
    settle(&server).await;
    server.clock.advance(Span::from_millis(29_000));
    let _connection = open();
    settle(&server).await;
    server.clock.advance(Span::from_minutes(60));
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 0);
    assert!(ann(&server).await.is_available());
}

#[tokio::test]
async fn a_restart_loses_every_connection_and_forgets_no_deadline() {
    let server = with_humans(&["ann", "ben", "cat"]).await;
    let open = |server: &Server, name| {
        server.engine.queues().connection_opened(&default_teamspace(), &id(name))
    };
    // They count with the run that is about to end.
    let connections = ["ann", "ben"].map(|name| open(&server, name));
    settle(&server).await;
    for name in ["ann", "ben", "cat"] {
        says(&server, name, Presence::Available).await;
    }
    let server = server.restart();
    drop(connections);
    // Ben is back before the server checks which connections are gone.
    let _connection = open(&server, "ben");
    server.engine.queues().note_all_disconnected().await.expect("the store works");
    let last = async |name| story(&server.engine, &agent_stream(name)).await.pop().unwrap();
    assert_eq!(last("ann").await, "agent.connection_lost");
    assert_eq!(last("ben").await, "agent.presence_changed");
    assert_eq!(last("cat").await, "agent.presence_changed");
    assert_eq!(
        server.engine.queues().note_all_disconnected().await.unwrap(),
        1,
        "ben, who is there"
    );
    server.clock.advance(Span::from_millis(30_000));
    let server = server.restart();
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 1);
    assert_eq!(ann(&server).await.presence(), Presence::Offline);
    // Cat never had a connection: her report is valid for a quarter of an hour.
    server.clock.advance(Span::from_minutes(15));
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 1);
    assert_eq!(story(&server.engine, &agent_stream("cat")).await.last().unwrap(), "agent.lost");
}

async fn with_humans(names: &[&str]) -> Server {
    let server = Server::start();
    for name in names {
        let profile = Profile::default();
        let command = step::Command::Agent(Command::Register { kind: Kind::Human, profile });
        let done = server.engine.submit(&operator(), agent_stream(name), command, None).await;
        done.expect("an operator may register an agent");
    }
    server
}

async fn says(server: &Server, name: &str, presence: Presence) {
    let command = step::Command::Agent(Command::SetPresence { presence });
    let done = server.engine.submit(&agent(name), agent_stream(name), command, None).await;
    done.expect("everybody may say where it is");
}

async fn settle(server: &Server) {
    server.engine.queues().settle_connections().await.expect("the store works");
}

async fn ann(server: &Server) -> Agent {
    let state = server.engine.read().current(&agent_stream("ann")).await.expect("a state");
    match state.as_deref() {
        Some(State::Agent(agent)) => agent.clone(),
        other => panic!("not an agent: {other:?}"),
    }
}
