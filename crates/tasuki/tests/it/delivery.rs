//! Turns that reach the holder of a conversation at its endpoint, over real sockets: told once each
//! and in order, answered in place or separately, too late, not at all, and across restarts.

mod answers;
mod calling;
mod hand_back;
mod pauses;
mod silent;

use std::collections::BTreeSet;
use std::sync::Arc;

use adapters::artifacts::{Artifacts, Settings};
use adapters::effect_runner::EffectRunner;
use adapters::webhook::Webhook;
use engine::Engine;
use engine::loops::outbox_pools::places_of_teamspace;
use engine::ports::clock::ManualClock;
use engine::ports::outbox::OutboxList;
use engine::ports::store::Store as _;
use engine::road::submit::Done;
use protocol::agent::Command as AgentCommand;
use protocol::caller::{Caller, Principal};
use protocol::conversation::command::{Open, Route, Say};
use protocol::conversation::state::customer_name;
use protocol::conversation::{Command as Asked, Conversation};
use protocol::ids::ConversationId;
use protocol::ledger::{Stream, Subject};
use protocol::step::{Command, EffectKind, State};
use protocol::time::{Span, Time};
use protocol::wake::WakeKey;
use serde_json::{Value, json};
use store::Sqlite;
use tasuki::client::{Call, Client};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::receiver::{Answer, Receiver, Seen};
use crate::server::{Server, ok};
use crate::support::{self, agent, default_teamspace, id};

const SEED: [u8; 32] = [7; 32];

/// A conversation that bob holds, who has an endpoint, on a clock of its own.
struct World {
    store: Arc<Sqlite>,
    engine: Engine,
    clock: Arc<ManualClock>,
    outside: EffectRunner,
    stream: Stream,
    customer: Caller,
    _folder: TempDir,
}

impl World {
    async fn new(allow_private_addresses: bool, topology: Value, url: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Arc::new(Sqlite::open(folder.path()).expect("a new database"));
        let (engine, clock) = support::engine_on(store.clone());
        support::register(&engine, &["alice", "bob", "carol"]).await;
        let artifacts = Artifacts::new(Settings::default()).expect("no roots, no trouble");
        let key = WakeKey::from_seed(&SEED);
        let webhook = Webhook::new(key, allow_private_addresses).taking_at_most(300);
        let outside = EffectRunner::new(artifacts, None, webhook);
        let conversation: ConversationId = engine.new_conversation_id();
        let subject = Subject::Conversation(conversation);
        let stream = Stream { teamspace: default_teamspace(), subject };
        let principal = Principal::Customer(customer_name(conversation));
        let customer = Caller { principal, ..agent("alice") };
        let world = Self { store, engine, clock, outside, stream, customer, _folder: folder };
        world.bob_is_at(Some(url)).await;
        let open = json!({ "agent": "bob", "topology": topology, "customer": { "name": "Ana" } });
        let open: Open = serde_json::from_value(open).expect("a conversation");
        world.ask(&agent("alice"), Asked::Open(Box::new(open))).await;
        world
    }

    async fn ask(&self, caller: &Caller, command: Asked) -> Done {
        let command = Command::Conversation(command);
        self.engine.submit(caller, self.stream.clone(), command, None).await.expect("they may")
    }

    async fn bob_is_at(&self, url: Option<&str>) {
        let command = AgentCommand::SetEndpoint { url: url.map(str::to_owned), history: None };
        let stream = support::agent_stream("bob");
        let command = Command::Agent(command);
        self.engine.submit(&support::operator(), stream, command, None).await.expect("they may");
    }

    async fn customer_says(&self, text: &str) {
        let say = json!({ "parts": [{ "type": "text", "text": text }] });
        let say: Say = serde_json::from_value(say).expect("a message");
        self.ask(&self.customer, Asked::Say(say)).await;
    }

    /// From now on this is about a new conversation with bob.
    async fn open_another(&mut self) {
        let conversation = self.engine.new_conversation_id();
        self.stream.subject = Subject::Conversation(conversation);
        self.customer.principal = Principal::Customer(customer_name(conversation));
        let open = json!({ "agent": "bob", "topology": free() });
        let open: Open = serde_json::from_value(open).expect("a conversation");
        self.ask(&agent("alice"), Asked::Open(Box::new(open))).await;
    }

    async fn bob_routes(&self, to: &str) {
        let route = json!({ "goto": to, "epoch": 1 });
        let route: Route = serde_json::from_value(route).expect("a route");
        self.ask(&agent("bob"), Asked::Route(Box::new(route))).await;
    }

    /// Carries out what is due now; returns how much that was.
    async fn carry_out(&self) -> usize {
        self.engine.outbox().carry_out_due(&self.outside).await.expect("the store works")
    }

    /// Repeats until nothing is left, a minute at a time; returns the number of attempts.
    async fn carry_out_all(&self) -> usize {
        let mut n_tried = 0;
        loop {
            let left =
                self.engine.outbox().outstanding(&default_teamspace(), OutboxList::All).await;
            if left.expect("the store works").is_empty() {
                return n_tried;
            }
            n_tried += self.carry_out().await;
            self.clock.advance(Span::from_minutes(1));
        }
    }

    async fn conversation(&self) -> Conversation {
        let state =
            self.engine.read().current(&self.stream).await.expect("a state").expect("it is open");
        let State::Conversation(conversation) = state.as_ref() else { panic!("{state:?}") };
        conversation.as_ref().clone()
    }

    /// The events of the conversation after the first, by name and body.
    async fn events(&self) -> Vec<(String, Value)> {
        let history = self.engine.read().history(&self.stream, u64::MAX, 99).await;
        let mut events: Vec<_> = history
            .expect("the store works")
            .into_iter()
            .map(|one| {
                let body = one.entry.body.text().expect("nothing was erased");
                let name = one.entry.name.strip_prefix("conversation.").expect("our own stream");
                (name.to_owned(), serde_json::from_str(body).expect("a body is JSON"))
            })
            .collect();
        events.reverse();
        events.split_off(1)
    }

    async fn names(&self) -> Vec<String> {
        self.events().await.into_iter().map(|(name, _)| name).collect()
    }
}

fn free() -> Value {
    json!({ "kind": "free" })
}

fn text(text: &str) -> String {
    json!({ "parts": [{ "type": "text", "text": text }] }).to_string()
}

/// The delivered texts, in order.
fn texts(seen: &Seen) -> Vec<String> {
    let data = seen.data();
    let messages = data["messages"].as_array().expect("messages").iter();
    let text = |message: &Value| message["parts"][0]["text"].as_str().map(str::to_owned);
    messages.filter_map(text).collect()
}

#[tokio::test]
async fn a_holder_is_told_each_turn_once_and_answers_in_place_or_by_itself() {
    let answers = [Answer::Says(text("good morning")), Answer::Status(204)];
    let receiver = Receiver::answering(&answers).await;
    let world = World::new(true, free(), &receiver.url).await;
    assert_eq!(world.carry_out_all().await, 0, "nothing was said yet");
    world.customer_says("hello").await;
    world.customer_says("anybody there?").await;
    assert_eq!(world.carry_out_all().await, 2);
    let seen = receiver.seen();
    assert_eq!(seen.iter().map(texts).collect::<Vec<_>>(), [["hello"], ["anybody there?"]]);
    check_signed(&seen[0]);
    let data = seen[0].data();
    let expected = json!({
        "teamspace": "default", "agent": "bob", "conversation_id": world.stream.subject.id(),
        "epoch": 1, "delivery_id": seen[0].headers["webhook-id"], "in_reply_to": null,
        "customer": { "name": "Ana" }, "shared": {},
        "messages": [{
            "number": 1, "at": data["messages"][0]["at"], "epoch": 1,
            "from": { "kind": "customer" }, "parts": [{ "type": "text", "text": "hello" }],
        }],
    });
    assert_eq!(data, expected);
    assert_eq!(seen[1].data()["in_reply_to"], 2);
    assert_ne!(seen[0].headers["webhook-id"], seen[1].headers["webhook-id"]);
    let events = world.events().await;
    let names: Vec<_> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["said", "said", "said", "delivered", "delivered"]);
    assert_eq!(events[2].1["by"], json!({ "agent": "bob" }));
    assert_eq!(events[2].1["parts"][0]["text"], "good morning");
}

fn check_signed(seen: &Seen) {
    let body: Value = serde_json::from_str(&seen.body).expect("JSON");
    assert_eq!(body["type"], "conversation.turn");
    let at: Time = body["timestamp"].as_str().expect("a time").parse().expect("a time");
    let seconds = at.as_millis().div_euclid(1_000).to_string();
    assert_eq!(seen.headers["webhook-timestamp"], seconds);
    let secret = WakeKey::from_seed(&SEED).secret(&default_teamspace(), &id("bob"));
    let signature = secret.signature(&seen.headers["webhook-id"], at, seen.body.as_bytes());
    assert_eq!(seen.headers["webhook-signature"], signature);
}

/// The next holder is told why it has the conversation, and the shared data.
#[tokio::test]
async fn a_change_of_hands_is_told_with_its_reason() {
    let receiver = Receiver::answering(&[Answer::Status(200)]).await;
    let world = World::new(true, free(), &receiver.url).await;
    let select = |name: &str| Asked::Route(Box::new(route(name, 1)));
    world.bob_is_at(None).await;
    world.customer_says("my bill").await;
    world.ask(&agent("bob"), select("carol")).await;
    world.bob_is_at(Some(&receiver.url)).await;
    let back = Route {
        reason: Some("a refund".to_owned()),
        context: Some("May".to_owned()),
        update: serde_json::from_value(json!({ "bill": 7 })).expect("a map"),
        ..route("bob", 2)
    };
    world.ask(&agent("carol"), Asked::Route(Box::new(back))).await;
    assert_eq!(world.carry_out_all().await, 1, "carol has no endpoint, and costs nothing");
    let data = receiver.seen()[0].data();
    assert_eq!((&data["epoch"], &data["in_reply_to"]), (&json!(3), &json!(1)));
    assert_eq!(data["shared"], json!({ "bill": 7 }));
    let numbers: Vec<_> = data["messages"].as_array().expect("a list").iter().collect();
    assert_eq!(numbers.len(), 3);
    let expected = json!({ "from": "carol", "to": "bob", "how": "agent_handoff",
                           "reason": "a refund", "context": "May" });
    assert_eq!(numbers[2]["route"], expected);
}

fn route(to: &str, epoch: u64) -> Route {
    serde_json::from_value(json!({ "goto": to, "epoch": epoch })).expect("a route")
}

/// A failing delivery is retried for two minutes and recorded, and nothing of it is lost.
#[tokio::test]
async fn a_holder_that_cannot_be_told_is_recorded_and_told_all_of_it_later() {
    let elsewhere = Receiver::answering(&[Answer::Status(200)]).await;
    let long = format!("{{\"parts\": [\"{}\"]}}", "x".repeat(4 * 1024 * 1024));
    let wordy = json!({ "parts": [{ "type": "text", "text": "x".repeat(17 * 1024) }] });
    let neither = "the answer of the agent is neither empty nor an object such as ";
    for (answer, is_private_allowed, expected) in [
        (Answer::Status(500), true, "the endpoint answered 500"),
        (Answer::Silence, true, "the endpoint does not answer in time"),
        (
            Answer::Redirect(elsewhere.url.clone()),
            true,
            "the endpoint redirects, which is not followed",
        ),
        (Answer::Says("certainly!".to_owned()), true, neither),
        (
            Answer::Says(r#"{"parts": [], "epoch": 7}"#.to_owned()),
            true,
            "the answer of the agent: epoch: expected ",
        ),
        (Answer::Says("{}".to_owned()), true, neither),
        (
            Answer::Says(r#"{"parts": [{"type": "html"}]}"#.to_owned()),
            true,
            "the answer of the agent: parts[0].type: expected one of ",
        ),
        (Answer::Says(long), true, "the answer of the agent is cut off or too long"),
        (
            Answer::Says(wordy.to_string()),
            true,
            "the answer of the agent: parts[0].text: expected text ",
        ),
        (Answer::Says(r#"{"parts": []}"#.to_owned()), true, "what the agent answered is refused: "),
        (Answer::Status(200), false, "its URL is not https"),
    ] {
        let receiver = Receiver::answering(&[answer]).await;
        let world = World::new(is_private_allowed, free(), &receiver.url).await;
        world.customer_says("hello").await;
        world.customer_says("hello?").await;
        let n_tried = world.carry_out_all().await;
        assert!(n_tried > 2, "{expected}: {n_tried}");
        let events = world.events().await;
        let (name, body) = events.last().expect("an event");
        assert_eq!(name, "unreached", "{expected}");
        assert!(body["detail"].as_str().expect("a text").starts_with(expected), "{body}");
        assert_eq!(events.len(), 3, "it is recorded once, and nothing was said");
        let ids = receiver.seen().into_iter().map(|one| one.headers["webhook-id"].clone());
        assert!(ids.collect::<BTreeSet<_>>().len() <= 1, "one id for all tries");
        if is_private_allowed {
            receiver.answers(&[Answer::Status(200)]);
            world.customer_says("still there?").await;
            world.carry_out_all().await;
            let last = receiver.seen().pop().expect("a call");
            assert_eq!(texts(&last), ["hello", "hello?", "still there?"], "{expected}");
        }
    }
    assert!(elsewhere.seen().is_empty(), "redirects are not followed");
}

/// Their supervisor gets the conversation then.
#[tokio::test]
async fn a_supervisor_gets_what_a_worker_was_not_told() {
    let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let down = format!("http://{}/", nobody.local_addr().expect("an address"));
    drop(nobody);
    let led = json!({ "kind": "supervisor", "supervisor": "carol", "workers": ["bob"] });
    let world = World::new(true, led, &down).await;
    world.customer_says("hello").await;
    world.carry_out_all().await;
    assert_eq!(world.names().await, ["said", "unreached", "routed"]);
    let conversation = world.conversation().await;
    assert_eq!((conversation.holder, conversation.epoch), (id("carol"), 2));
}

/// The answer to a turn of an earlier epoch is recorded but not shown, and a former holder is not
/// told.
#[tokio::test]
async fn an_answer_after_a_handoff_is_not_heard() {
    let go = Arc::new(Notify::new());
    let late = Answer::Late(Arc::clone(&go), text("too late"));
    let receiver = Receiver::answering(&[late, Answer::Status(500)]).await;
    let world = World::new(true, free(), &receiver.url).await;
    world.customer_says("hello").await;
    let handed_over = async {
        receiver.called(1).await;
        world.bob_routes("carol").await;
        go.notify_one();
    };
    let (n_done, ()) = tokio::join!(world.carry_out(), handed_over);
    assert_eq!((n_done, world.carry_out_all().await), (1, 0));
    assert_eq!(world.names().await, ["said", "routed", "not_heard"]);
    assert_eq!(world.conversation().await.transcript.count, 2);

    // The delivery fails, and then another agent is the holder.
    let world = World::new(true, free(), &receiver.url).await;
    world.customer_says("hello").await;
    world.carry_out().await;
    world.bob_routes("carol").await;
    assert_eq!(world.carry_out_all().await, 0);
    assert_eq!(receiver.seen().len(), 2);
    assert_eq!(world.names().await, ["said", "routed"]);
}

/// Delivered twice because its arrival was not recorded: the first answer counts.
#[tokio::test]
async fn a_turn_that_arrives_twice_is_answered_once() {
    let receiver = Receiver::answering(&[Answer::Says(text("yes"))]).await;
    let world = World::new(true, free(), &receiver.url).await;
    world.customer_says("hello").await;
    let now = support::start().plus(Span::from_minutes(1));
    let lease = engine::ports::outbox::Claim {
        now,
        until: now.plus(Span::from_millis(1)),
        kind: EffectKind::Deliver,
        limit: 1,
        per_teamspace: 1,
        running: std::collections::HashMap::new(),
        after: None,
    };
    // A server claimed it, told bob, and died.
    assert_eq!(world.store.claim(lease).await.expect("the store works").len(), 1);
    world.clock.advance(Span::from_minutes(2));
    assert_eq!(world.carry_out_all().await, 1);
    assert_eq!(world.names().await, ["said", "said"], "an answer says that it was told");
}

struct Chat {
    customer: Client,
    path: String,
}

async fn chat(server: &Server, endpoint: &str) -> Chat {
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let shop = server.agent("shop");
    server.agent("bob");
    let set = Call::put("/v1/agents/bob/endpoint", json!({ "url": endpoint }));
    let set = ok(&operator, set).await;
    assert!(set["secret"].as_str().expect("a secret").starts_with("whsec_"), "{set}");
    let opened = ok(&shop, Call::post("/v1/conversations", json!({ "agent": "bob" }))).await;
    let customer = server.with_token(opened["customer_token"].as_str().expect("a token"));
    let id = opened["conversation_id"].as_str().expect("an id");
    Chat { customer, path: format!("/v1/conversations/{id}/messages") }
}

fn allow(command: &mut std::process::Command) {
    command.env("TASUKI_MESSAGES_WAKE_PRIVATE_ADDRESSES", "true");
}

async fn say(chat: &Chat, text: &str) {
    let parts = json!({ "parts": [{ "type": "text", "text": text }] });
    ok(&chat.customer, Call::post(chat.path.clone(), parts)).await;
}

/// The server dies while bob is down; the next one tells everything, in order.
#[tokio::test]
async fn a_server_that_starts_again_tells_what_was_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let server = Server::start_on(&data, allow);
    let receiver = Receiver::answering(&[Answer::Silence]).await;
    let chat = chat(&server, &receiver.url).await;
    for number in 1..=20 {
        say(&chat, &number.to_string()).await;
    }
    let first = receiver.called(1).await.remove(0);
    server.kill();
    receiver.answers(&[Answer::Says(text("understood")), Answer::Status(200)]);
    // The lease of the dead server expires on the new server's own clock.
    let _server = Server::start_on(&data, allow);
    let seen = receiver.called(4).await;
    let again = &seen[1];
    assert_eq!(first.headers["webhook-id"], again.headers["webhook-id"], "the same delivery");
    let told: Vec<String> = seen[1..].iter().flat_map(texts).collect();
    let said: Vec<String> = (1..=20).map(|number| number.to_string()).collect();
    assert_eq!(told, said);
}

/// Calls that wait for a slow agent do not delay a chat.
#[tokio::test]
async fn what_is_slow_does_not_delay_a_turn() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start_on(&folder.path().join("data"), allow);
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let alice = server.agent("alice");
    server.agent("sleepy");
    let silent = Receiver::answering(&[Answer::Silence]).await;
    let call = Call::put("/v1/agents/sleepy/wake", json!({ "url": silent.url }));
    ok(&operator, call).await;
    let n_at_once = places_of_teamspace(EffectKind::Wake);
    for _ in 0..2 * n_at_once {
        let body = json!({ "to": ["sleepy"], "type": "status.blocked", "priority": "critical" });
        ok(&alice, Call::post("/v1/acp/messages", body)).await;
    }
    silent.called(n_at_once).await;
    let receiver = Receiver::answering(&[Answer::Status(200)]).await;
    let chat = chat(&server, &receiver.url).await;
    say(&chat, "hello").await;
    receiver.called(1).await;
    let waiting = silent.seen().len();
    assert_eq!(waiting, n_at_once, "the turn did not wait for any of them");
}
