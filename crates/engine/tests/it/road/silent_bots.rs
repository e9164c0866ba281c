//! Bots that never answer, answer late, vanish, are out of reach, or promise a transfer and do not
//! do it, while the server restarts: each customer is served or told something true within the
//! time, and none twice. With each bot there is another help: no one, a closed queue, one to which
//! no person comes, people, an agent that answers, and agents that are silent too.

mod chat;
mod checks;

use std::sync::Arc;

use engine::loops::connections::OpenConnection;
use protocol::agent::{self, Kind, Profile};
use protocol::caller::Caller;
use protocol::conversation;
use protocol::conversation::command::Open;
use protocol::graph::{self, Checked};
use protocol::ids::TeamspaceId;
use protocol::ledger::{Stream, Subject};
use protocol::step::Command;
use protocol::time::Span;
use serde_json::{Value, json};

use super::Server;
use crate::support::{self, id};
use chat::Chat;

/// How often each combination is played in a full run, which makes 1,008 conversations; once
/// otherwise.
const ROUNDS_FULL: usize = 12;

/// The time that passes at once, and the time between two restarts.
const STEP: Span = Span::from_millis(5_000);
const STEPS_PER_RESTART: usize = 7;

/// A bot that types until it vanishes has its limit ten times, then a queue waits, and then it
/// types again.
const STEPS: usize = 27 * 12;

/// After this long an agent whose connection goes away is gone, and people pick up.
const GONE_AT: Span = Span::from_millis(20_000);
const PICKED_UP_AFTER: Span = Span::from_millis(30_000);

/// More than the time in which a turn must arrive.
const OUT_OF_REACH_WITHIN: Span = Span::from_minutes(3);

/// How long a queue waits for a person.
const WAIT: Span = Span::from_minutes(5);

/// What a bot does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bot {
    Answers,
    Never,
    Late,
    /// Shows that it is working, for ever.
    Types,
    Promises,
    /// Takes conversations only while it is connected, and its connection goes away.
    Vanishes,
    /// Turns do not arrive at its endpoint.
    OutOfReach,
}

const BOTS: [Bot; 7] = [
    Bot::Answers,
    Bot::Never,
    Bot::Late,
    Bot::Types,
    Bot::Promises,
    Bot::Vanishes,
    Bot::OutOfReach,
];

impl Bot {
    fn name(self) -> &'static str {
        match self {
            Bot::Answers | Bot::Never | Bot::Late | Bot::Types | Bot::Promises => "bob",
            Bot::Vanishes => "vera",
            Bot::OutOfReach => "eve",
        }
    }
}

/// Who is there when a bot fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Help {
    Nothing,
    ClosedQueue,
    /// A queue to which no person comes.
    EmptyQueue,
    People,
    Agent,
    /// Two agents that are silent too, and a queue to which no person comes.
    SilentAgents,
}

const HELPS: [Help; 6] = [
    Help::Nothing,
    Help::ClosedQueue,
    Help::EmptyQueue,
    Help::People,
    Help::Agent,
    Help::SilentAgents,
];

impl Help {
    /// One teamspace each.
    fn teamspace(self) -> TeamspaceId {
        let name = match self {
            Help::Nothing => "nothing",
            Help::ClosedQueue => "closed-queue",
            Help::EmptyQueue => "empty-queue",
            Help::People => "people",
            Help::Agent => "agent",
            Help::SilentAgents => "silent-agents",
        };
        name.parse().expect("a teamspace")
    }

    fn queue(self) -> Option<Value> {
        match self {
            Help::Nothing | Help::Agent => None,
            Help::ClosedQueue => {
                let hours = json!({ "monday": [{ "from": "01:00", "to": "02:00" }] });
                Some(json!({ "wait": WAIT, "hours": hours }))
            }
            Help::EmptyQueue | Help::People | Help::SilentAgents => Some(json!({ "wait": WAIT })),
        }
    }

    /// Whether a customer who asks for a person gets one, or at least a place in a queue.
    fn has_open_queue(self) -> bool {
        matches!(self, Help::EmptyQueue | Help::People | Help::SilentAgents)
    }

    /// The fallbacks of the graph. `gina` only has a token, and is never connected.
    fn fallback(self) -> Value {
        match self {
            Help::Nothing | Help::ClosedQueue | Help::EmptyQueue | Help::People => json!([]),
            Help::Agent => json!([{ "agent": "gina" }, { "agent": "carol" }]),
            Help::SilentAgents => json!([{ "agent": "carol" }, { "agent": "dan" }]),
        }
    }

    /// How often the customer of a silent bot is told that an agent has failed.
    fn n_failures(self) -> usize {
        match self {
            Help::Nothing | Help::ClosedQueue | Help::People | Help::Agent => 1,
            // No person came, and the bot is silent again.
            Help::EmptyQueue => 2,
            // The bot, two agents, and the second of them again.
            Help::SilentAgents => 4,
        }
    }
}

#[tokio::test]
async fn no_customer_of_a_silent_bot_is_forgotten_or_served_twice() {
    let is_full = std::env::var_os("TASUKI_TEST_FULL").is_some();
    let rounds = if is_full { ROUNDS_FULL } else { 1 };
    let mut server = Server::start();
    let mut chats: Vec<Chat> = Vec::new();
    let (mut bots, mut people) = (Vec::new(), Vec::new());
    for help in HELPS {
        bots.push(set_up(&server, help).await);
    }
    for _ in 0..rounds {
        for (bot, help) in BOTS.iter().flat_map(|bot| HELPS.map(|help| (*bot, help))) {
            for writes_again in [false, true] {
                chats.push(Chat::begin(&server, bot, help, writes_again).await);
            }
        }
    }
    for (number, chat) in chats.iter_mut().enumerate() {
        people.extend(chat.person_arrives(&server, number).await);
    }
    let mut passed = Span::from_millis(0);
    for step in 1..=STEPS {
        server.clock.advance(STEP);
        passed = Span::from_millis(passed.as_millis() + STEP.as_millis());
        if passed == GONE_AT {
            bots.clear();
            settle(&server).await;
        }
        if step % STEPS_PER_RESTART == 0 {
            // The next process knows of no loss of a connection.
            people.clear();
            server = server.restart();
        }
        while server.engine.fire_due_deadlines().await.expect("the store works") > 0 {}
        for chat in &chats {
            chat.act(&server, passed).await;
        }
        if step % STEPS_PER_RESTART == 0 {
            for chat in &chats {
                checks::what_was_told_last_is_true(&server, chat).await;
            }
        }
    }
    for chat in &chats {
        checks::record_is_in_order(&server, chat).await;
        checks::a_person_can_be_asked_as_told(&server, chat).await;
    }
}

/// The bots of a teamspace, its queue, and the graphs that name its fallbacks. Returns the
/// connection of the bot that vanishes.
async fn set_up(server: &Server, help: Help) -> OpenConnection {
    let teamspace = help.teamspace();
    let submit = async |subject: Subject, command: Command| {
        let operator = Caller { teamspace: teamspace.clone(), ..support::operator() };
        let stream = Stream { teamspace: teamspace.clone(), subject };
        server.engine.submit(&operator, stream, command, None).await.expect("an operator may");
    };
    let agent = async |name: &str, command: agent::Command| {
        submit(Subject::Agent(id(name)), Command::Agent(command)).await;
    };
    let register = |kind: Kind, answer_within: Option<Span>| {
        let profile = Profile { answer_within, ..Profile::default() };
        agent::Command::Register { kind, profile }
    };
    for name in ["bob", "carol", "dan"] {
        agent(name, register(Kind::Worker, None)).await;
    }
    agent("eve", register(Kind::Worker, Some(OUT_OF_REACH_WITHIN))).await;
    let url = Some("https://bots.example/turns".to_owned());
    agent("eve", agent::Command::SetEndpoint { url, history: None }).await;
    for name in ["vera", "gina"] {
        agent(name, agent::Command::Introduce).await;
    }
    if let Some(settings) = help.queue() {
        agent("default", register(Kind::Queue, None)).await;
        let settings = serde_json::from_value(settings).expect("settings");
        agent("default", agent::Command::SetQueue { settings: Box::new(settings) }).await;
    }
    let vera = server.engine.queues().connection_opened(&teamspace, &id("vera"));
    settle(server).await;
    for name in ["bob", "eve", "vera"] {
        let document = json!({
            "entry": name,
            "nodes": [{ "id": name, "kind": "specialist", "agent": name }],
            "silence": { "fallback": help.fallback() },
        });
        let graph = Checked::read(document.to_string().as_bytes()).expect("a sound graph");
        let save = graph::Command::Save { graph: Arc::new(graph), version: None };
        let graph = name.parse().expect("a name");
        submit(Subject::Graph(graph), Command::Graph(save)).await;
    }
    vera
}

async fn settle(server: &Server) {
    server.engine.queues().settle_connections().await.expect("the store works");
}

#[tokio::test]
async fn a_worker_that_only_has_a_token_takes_conversations_while_it_is_connected() {
    let server = Server::start();
    let teamspace = TeamspaceId::default_teamspace();
    let introduce = async |name: &str, command: agent::Command| {
        let command = Command::Agent(command);
        let stream = support::agent_stream(name);
        server.engine.submit(&support::operator(), stream, command, None).await.expect("it may");
    };
    let opens = async || {
        let subject = Subject::Conversation(server.engine.new_conversation_id());
        let stream = Stream { teamspace: teamspace.clone(), subject };
        let open = Open { agent: Some(id("bob")), ..Open::default() };
        let open = Command::Conversation(conversation::Command::Open(Box::new(open)));
        server.engine.submit_new(&support::operator(), stream, open, None).await.is_ok()
    };
    introduce("bob", agent::Command::Introduce).await;
    assert!(!opens().await, "no one has said that it takes conversations");
    let connection = server.engine.queues().connection_opened(&teamspace, &id("bob"));
    settle(&server).await;
    assert!(opens().await, "it is connected");
    drop(connection);
    settle(&server).await;
    assert!(!opens().await, "it is gone");
    let url = Some("https://bots.example/turns".to_owned());
    introduce("bob", agent::Command::SetEndpoint { url, history: None }).await;
    assert!(opens().await, "it has an endpoint");
    introduce("bob", agent::Command::SetEndpoint { url: None, history: None }).await;
    assert!(!opens().await, "it has none any more");
    introduce("bob", agent::Command::Introduce).await;
    assert!(!opens().await, "another token changes nothing");
    let (kind, profile) = (Kind::Worker, Profile::default());
    introduce("bob", agent::Command::Register { kind, profile }).await;
    assert!(opens().await, "it was declared");
}
