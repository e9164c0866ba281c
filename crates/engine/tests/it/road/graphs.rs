//! Graphs in memory: compiled once for each version, and never older than an acknowledged save.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::Engine;
use engine::read::graphs::{RulePlace, SignalReader};
use protocol::caller::{Caller, Principal};
use protocol::conversation::command::{Open, Say};
use protocol::conversation::state::customer_name;
use protocol::conversation::{self, Conversation};
use protocol::graph::{self, Checked};
use protocol::ids::{ConversationId, GraphId};
use protocol::ledger::{Stream, Subject};
use protocol::signal::{EscalationRules, Heard, Polarity};
use protocol::step::{Command, State};
use serde_json::{Value, json};

use super::Server;
use crate::support::{default_teamspace, operator};

const AGENTS: [&str; 2] = ["bob", "carol"];

fn id() -> GraphId {
    "support".parse().expect("a name")
}

fn stream(subject: Subject) -> Stream {
    Stream { teamspace: default_teamspace(), subject }
}

/// Sends everything to one agent.
async fn save(engine: &Engine, agent: &str, reason: u64) {
    let rule = json!({ "goto": "all", "reason": reason.to_string(), "regex": "." });
    let graph = json!({ "entry": "in", "nodes": [
        { "id": "in", "kind": "router", "default": "all", "rules": [rule] },
        { "id": "all", "kind": "specialist", "agent": agent } ] });
    let graph = Arc::new(Checked::read(graph.to_string().as_bytes()).expect("a sound graph"));
    let save = Command::Graph(graph::Command::Save { graph, version: None });
    let done = engine.submit(&operator(), stream(Subject::Graph(id())), save, None).await;
    done.expect("an operator may save a graph");
}

async fn open(engine: &Engine) -> ConversationId {
    let id = engine.new_conversation_id();
    let open = Open { graph: Some(self::id()), ..Open::default() };
    let open = Command::Conversation(conversation::Command::Open(Box::new(open)));
    let done = engine.submit_new(&operator(), stream(Subject::Conversation(id)), open, None).await;
    done.expect("it is new");
    id
}

async fn say(engine: &Engine, id: ConversationId) {
    let principal = Principal::Customer(customer_name(id));
    let caller = Caller { principal, ..operator() };
    let say: Say = serde_json::from_value(json!({ "parts": [{ "type": "text", "text": "x" }] }))
        .expect("a message");
    let say = Command::Conversation(conversation::Command::Say(say));
    let said = engine.submit(&caller, stream(Subject::Conversation(id)), say, None).await;
    said.expect("a customer may always speak");
}

async fn conversation(engine: &Engine, id: ConversationId) -> Conversation {
    let state =
        engine.read().current(&stream(Subject::Conversation(id))).await.expect("it can be read");
    match state.as_deref() {
        Some(State::Conversation(conversation)) => conversation.as_ref().clone(),
        other => panic!("no conversation: {other:?}"),
    }
}

#[tokio::test]
async fn a_version_is_compiled_once_and_counts_its_decisions() {
    let server = Server::with_agents(&AGENTS).await;
    let engine = &server.engine;
    let teamspace = default_teamspace();
    assert_eq!(engine.read().graph(&teamspace, &id()).await.unwrap(), None);
    save(engine, "bob", 1).await;
    let first = engine.read().graph(&teamspace, &id()).await.unwrap().expect("it was saved");
    let chat = open(engine).await;
    for _ in 0..3 {
        say(engine, chat).await;
    }
    let again = engine.read().graph(&teamspace, &id()).await.unwrap().expect("it was saved");
    assert!(Arc::ptr_eq(&first, &again));
    let place = RulePlace::Rule { router: "in".to_owned(), rule_index: Some(0) };
    assert_eq!(engine.read().decisions(&teamspace, &id()), [(place, 3)].into());

    save(engine, "carol", 2).await;
    say(engine, chat).await;
    assert_eq!(conversation(engine, chat).await.holder.as_str(), "carol");
    assert_eq!(engine.read().turn_counts().to_agents.load(Ordering::Relaxed), 4);
    let server = server.restart();
    say(&server.engine, chat).await;
    let last = server.engine.read().graph(&teamspace, &id()).await.unwrap().expect("it was saved");
    assert_eq!((first.version, last.version), (1, 2));
    let shown = conversation(&server.engine, chat).await;
    assert_eq!((shown.holder.as_str(), shown.epoch), ("carol", 2));
}

/// Versions lead to one agent and the other in turn. A message after an acknowledged save is routed
/// by that version or a later one.
#[tokio::test(flavor = "multi_thread")]
async fn no_message_is_routed_by_what_was_replaced_before_it() {
    const SAVES: u64 = 40;
    let server = Server::with_agents(&AGENTS).await;
    save(&server.engine, AGENTS[0], 1).await;
    let answered = Arc::new(AtomicU64::new(1));
    let speakers = (0..3).map(|_| {
        let (engine, answered) = (server.engine.clone(), Arc::clone(&answered));
        tokio::spawn(async move {
            let chat = open(&engine).await;
            loop {
                let before = answered.load(Ordering::SeqCst);
                say(&engine, chat).await;
                let found = version(&engine, chat).await;
                assert!(found >= before, "version {found} after {before} was answered");
                if before == SAVES {
                    return;
                }
            }
        })
    });
    let speakers: Vec<_> = speakers.collect();
    for number in 2..=SAVES {
        save(&server.engine, AGENTS[(number % 2) as usize], number).await;
        answered.store(number, Ordering::SeqCst);
    }
    for speaker in speakers {
        speaker.await.expect("no message was routed by an old version");
    }
}

/// The version that routed the last message of a conversation.
async fn version(engine: &Engine, id: ConversationId) -> u64 {
    let entries = engine.read().history(&stream(Subject::Conversation(id)), u64::MAX, 1).await;
    let entries = entries.expect("it can be read");
    let body = entries[0].entry.body.text().expect("nothing was erased");
    let body: Value = serde_json::from_str(body).expect("a body is JSON");
    body["route"]["version"].as_u64().expect("it was routed")
}

/// Hears anger in everything.
struct Gloomy;

impl SignalReader for Gloomy {
    fn hear(&self, _: &str, _: Option<&str>) -> Heard {
        Heard {
            frustration: 1.0,
            human_request: 0.0,
            profanity: 0.0,
            shouting: 0.0,
            confidence: 1.0,
            polarity: Polarity::Negative,
        }
    }
}

#[tokio::test]
async fn something_else_may_listen() {
    let server = Server::with_agents(&AGENTS).await;
    let engine = server.engine.clone().with_signal_reader(Arc::new(Gloomy));
    save(&engine, "bob", 1).await;
    let chat = open(&engine).await;
    say(&server.engine, chat).await;
    let silent = conversation(&engine, chat).await.signals;
    say(&engine, chat).await;
    let heard = conversation(&engine, chat).await.signals;
    let angry = json!({ "rules": [
        { "name": "angry", "signal": "frustration", "above": 0.9, "turns": 1 } ] });
    let angry: EscalationRules = serde_json::from_value(angry).expect("a sound rule");
    assert_eq!(angry.escalation(&silent), None);
    assert!(angry.escalation(&heard).is_some());
}
