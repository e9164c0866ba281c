//! One teamspace has a lot to do, and another one piece of work, which came last: each loop of the
//! server serves it after few pieces of the other.

use aaep::handshake::Request;
use engine::aaep::handshake::Host;
use engine::loops::retention::{PURGED_MAX, Retention};
use protocol::agent::{self, Kind, Presence, Profile};
use protocol::caller::{Caller, Principal};
use protocol::conversation;
use protocol::conversation::command::Open;
use protocol::conversation::state::customer_name;
use protocol::ids::ConversationId;
use protocol::ledger::{Stream, Subject};
use protocol::step::Command;
use protocol::time::Span;
use protocol::transfer;
use serde_json::json;

use super::Server;
use crate::support::{self, id, initiate, register_as, reject};

/// The teamspace with much to do comes first in every order.
const FLOOD: &str = "flood";
const SMALL: &str = "small";

/// Pieces of work of the one. The other has one.
const MANY: usize = 50;

/// A turn of a loop that writes, and the entries of a teamspace that a loop remembers; see
/// docs/limits.md.
const TURN: usize = 16;
const REMEMBERED: usize = 1_024;

/// Everybody's work, in the order in which it came.
fn all_work() -> impl Iterator<Item = (&'static str, usize)> {
    (0..MANY).map(|number| (FLOOD, number)).chain([(SMALL, 0)])
}

fn within(teamspace: &str, caller: Caller) -> Caller {
    Caller { teamspace: teamspace.parse().expect("a teamspace"), ..caller }
}

fn operator(teamspace: &str) -> Caller {
    within(teamspace, support::operator())
}

fn member(teamspace: &str, name: &str) -> Caller {
    within(teamspace, support::agent(name))
}

async fn submit(server: &Server, caller: &Caller, subject: Subject, command: Command) {
    let stream = Stream { teamspace: caller.teamspace.clone(), subject };
    let done = server.engine.submit(caller, stream, command, None).await;
    done.unwrap_or_else(|error| panic!("{error:?}"));
}

async fn register(server: &Server, teamspace: &str, name: &str, kind: Kind, profile: Profile) {
    let register = Command::Agent(agent::Command::Register { kind, profile });
    submit(server, &operator(teamspace), Subject::Agent(id(name)), register).await;
}

async fn says(server: &Server, teamspace: &str, name: &str, presence: Presence) {
    let says = Command::Agent(agent::Command::SetPresence { presence });
    submit(server, &member(teamspace, name), Subject::Agent(id(name)), says).await;
}

async fn says_available(server: &Server, teamspace: &str, name: &str) {
    says(server, teamspace, name, Presence::Available).await;
}

/// A conversation that `bob` holds.
async fn conversation(server: &Server, teamspace: &str) -> ConversationId {
    let chat = server.engine.new_conversation_id();
    let open = Open { agent: Some(id("bob")), ..Open::default() };
    let open = Command::Conversation(conversation::Command::Open(Box::new(open)));
    submit(server, &operator(teamspace), Subject::Conversation(chat), open).await;
    chat
}

/// A customer of a new conversation asks for a person.
async fn asks_for_a_person(server: &Server, teamspace: &str) {
    let chat = conversation(server, teamspace).await;
    let principal = Principal::Customer(customer_name(chat));
    let customer = Caller { principal, ..operator(teamspace) };
    let transfer = server.engine.new_transfer_id();
    let request = transfer::Command::Request { transfer, request: Box::default() };
    let request = Command::Conversation(conversation::Command::Transfer(request));
    submit(server, &customer, Subject::Conversation(chat), request).await;
}

/// How many entries with this name the other teamspace got before the small one, and in all.
async fn n_before(server: &Server, after: u64, name: &str) -> (usize, usize) {
    let entries = support::all_after(&*server.store, after).await.expect("the ledger can be read");
    let named = entries.iter().map(|one| &one.entry).filter(|entry| entry.name == name);
    let whose: Vec<_> = named.map(|entry| entry.stream.teamspace.to_string()).collect();
    let place = whose.iter().position(|teamspace| teamspace == SMALL);
    (place.unwrap_or_else(|| panic!("{name}: {whose:?}")), whose.len())
}

async fn newest(server: &Server) -> u64 {
    server.engine.ledger().newest().await.expect("the ledger can be read")
}

#[tokio::test]
async fn notices() {
    let server = Server::start();
    for teamspace in [FLOOD, SMALL] {
        for name in ["alice", "bob"] {
            let agent = Subject::Agent(id(name));
            submit(&server, &operator(teamspace), agent, register_as(name)).await;
        }
    }
    for (teamspace, number) in all_work() {
        let handoff = Subject::Handoff(server.engine.new_handoff_id());
        let (alice, bob) = (member(teamspace, "alice"), member(teamspace, "bob"));
        submit(&server, &alice, handoff.clone(), initiate("bob", &format!("T-{number}"))).await;
        submit(&server, &bob, handoff, reject("no time")).await;
    }
    let before = newest(&server).await;
    assert_eq!(server.engine.send_due_notices().await.expect("the store works"), MANY + 1);
    let (n_before, n_all) = n_before(&server, before, "message.sent").await;
    assert!(n_before <= TURN && n_all == MANY + 1, "{n_before} of {n_all}");
    assert_eq!(server.engine.send_due_notices().await.expect("the store works"), 0);
}

/// What the server itself announces: that a conversation changes hands.
#[tokio::test]
async fn announcements_of_the_server() {
    let server = Server::start();
    for teamspace in [FLOOD, SMALL] {
        for name in ["bob", "eve"] {
            let agent = Subject::Agent(id(name));
            submit(&server, &operator(teamspace), agent, register_as(name)).await;
        }
        let request = json!({
            "aaep_version": "1.0.0", "subscriber_id": "ear", "capabilities": {},
        });
        let request: Request = serde_json::from_value(request).expect("a request");
        let listeners = server.engine.listeners();
        let heard = listeners.subscribe(&operator(teamspace), &Host::default(), request).await;
        heard.expect("the store works").expect("the terms are fine");
    }
    server.engine.sessions().speak_due().await.expect("the store works");
    for (teamspace, _) in all_work() {
        let chat = conversation(&server, teamspace).await;
        let route = serde_json::from_value(json!({ "goto": "eve", "epoch": 1 })).expect("a route");
        let route = Command::Conversation(conversation::Command::Route(route));
        submit(&server, &member(teamspace, "bob"), Subject::Conversation(chat), route).await;
    }
    let before = newest(&server).await;
    assert_eq!(server.engine.sessions().speak_due().await.expect("the store works"), MANY + 1);
    let (n_before, n_all) = n_before(&server, before, "session.announced").await;
    assert!(n_before <= TURN && n_all == MANY + 1, "{n_before} of {n_all}");
}

#[tokio::test]
async fn calling_people() {
    let server = Server::start();
    for teamspace in [FLOOD, SMALL] {
        let bob = Subject::Agent(id("bob"));
        submit(&server, &operator(teamspace), bob, register_as("bob")).await;
        register(&server, teamspace, "default", Kind::Queue, Profile::default()).await;
        let profile = Profile { capacity: Some(64), ..Profile::default() };
        register(&server, teamspace, "hana", Kind::Human, profile).await;
    }
    for (teamspace, _) in all_work() {
        asks_for_a_person(&server, teamspace).await;
    }
    for teamspace in [FLOOD, SMALL] {
        says_available(&server, teamspace, "hana").await;
    }
    let before = newest(&server).await;
    let offered = server.engine.queues().dispatch_due().await;
    assert_eq!(offered.expect("the store works"), MANY + 1);
    let (n_before, n_all) = n_before(&server, before, "transfer.ringing").await;
    assert!(n_before <= TURN && n_all == MANY + 1, "{n_before} of {n_all}");
}

/// The conversations of people who have gone go back into their queues.
#[tokio::test]
async fn people_who_have_gone() {
    let server = Server::start();
    for teamspace in [FLOOD, SMALL] {
        let bob = Subject::Agent(id("bob"));
        submit(&server, &operator(teamspace), bob, register_as("bob")).await;
        register(&server, teamspace, "default", Kind::Queue, Profile::default()).await;
    }
    for (teamspace, number) in all_work() {
        let (name, profile) = (format!("h{number}"), Profile::default());
        register(&server, teamspace, &name, Kind::Human, profile).await;
        says_available(&server, teamspace, &name).await;
        asks_for_a_person(&server, teamspace).await;
    }
    let offered = server.engine.queues().dispatch_due().await;
    assert_eq!(offered.expect("the store works"), MANY + 1, "one for each");
    for (teamspace, number) in all_work() {
        let name = format!("h{number}");
        says(&server, teamspace, &name, Presence::Offline).await;
    }
    let before = newest(&server).await;
    assert_eq!(server.engine.queues().dispatch_due().await.expect("the store works"), 0);
    let (n_before, n_all) = n_before(&server, before, "transfer.returned").await;
    assert!(n_before <= TURN && n_all == MANY + 1, "{n_before} of {n_all}");
}

/// More entries than a loop remembers of a teamspace: the rest is read again, and all are served.
#[tokio::test]
async fn more_than_is_remembered() {
    let server = Server::start();
    for teamspace in [FLOOD, SMALL] {
        let bob = Subject::Agent(id("bob"));
        submit(&server, &operator(teamspace), bob, register_as("bob")).await;
        register(&server, teamspace, "default", Kind::Queue, Profile::default()).await;
        register(&server, teamspace, "hugo", Kind::Human, Profile::default()).await;
        says_available(&server, teamspace, "hugo").await;
        asks_for_a_person(&server, teamspace).await;
    }
    assert_eq!(server.engine.queues().dispatch_due().await.expect("the store works"), 2);
    register(&server, FLOOD, "hana", Kind::Human, Profile::default()).await;
    for number in 0..REMEMBERED + MANY {
        let presence = [Presence::Away, Presence::Busy][number % 2];
        says(&server, FLOOD, "hana", presence).await;
    }
    for teamspace in [FLOOD, SMALL] {
        says(&server, teamspace, "hugo", Presence::Offline).await;
    }
    let before = newest(&server).await;
    server.engine.queues().dispatch_due().await.expect("the store works");
    assert_eq!(n_before(&server, before, "transfer.returned").await, (0, 2));
}

#[tokio::test]
async fn connections() {
    let server = Server::start();
    let mut open = Vec::new();
    for (teamspace, number) in all_work() {
        let name = format!("h{number}");
        register(&server, teamspace, &name, Kind::Human, Profile::default()).await;
        let teamspace = teamspace.parse().expect("a teamspace");
        open.push(server.engine.queues().connection_opened(&teamspace, &id(&name)));
    }
    let before = newest(&server).await;
    server.engine.queues().settle_connections().await.expect("the store works");
    assert_eq!(n_before(&server, before, "agent.connected").await, (1, MANY + 1));
    // A restart ends them all, and the next run notices.
    let server = server.restart();
    drop(open);
    let before = newest(&server).await;
    server.engine.queues().note_all_disconnected().await.expect("the store works");
    let (_, n_all) = n_before(&server, before, "agent.connection_lost").await;
    assert_eq!(n_all, MANY + 1);
}

#[tokio::test]
async fn retention() {
    let server = Server::start();
    for teamspace in [FLOOD, SMALL] {
        for name in ["alice", "bob"] {
            let agent = Subject::Agent(id(name));
            submit(&server, &operator(teamspace), agent, register_as(name)).await;
        }
    }
    let many = std::iter::repeat_n(FLOOD, PURGED_MAX + MANY);
    for teamspace in many.chain([SMALL]) {
        let body = json!({ "to": ["bob"], "type": "status.update" });
        support::sent(&server.engine, &member(teamspace, "alice"), body).await;
    }
    server.clock.advance(Span::from_hours(72));
    let before = newest(&server).await;
    let kept = Retention { kept: Some(Span::from_hours(24)), archive: None };
    let n_purged = server.engine.ledger().purge_due(&kept).await.expect("the store works");
    assert_eq!(n_purged, PURGED_MAX + MANY + 1);
    let (n_before, _) = n_before(&server, before, "ledger.erased").await;
    assert!(n_before <= PURGED_MAX, "{n_before}");
}
