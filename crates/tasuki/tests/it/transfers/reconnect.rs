//! Connections that are cut at every step of a transfer: a client that reconnects has missed
//! nothing, both sides see the same, and messages between colleagues never reach the customer.

use std::collections::BTreeSet;

use gateways::http::{OPERATIONS, Operation};
use serde_json::{Value, json};
use tasuki::client::Call;

use super::script::Stage;
use crate::hidden_places::{newest, sequence_of};
use crate::server::ok;
use crate::sse::whole_ledger;
use crate::wire::Request;
use crate::ws::socket::Socket;

/// What no customer and no bot may see, over any transport.
const SECRETS: [&str; 4] = ["hush-note", "hush-whisper", "hush-hint", "hush-after"];

/// From the first request to the last, with a colleague who advises, one who takes over, one who is
/// lost, and a customer who changes her mind.
const SCRIPT: [&str; 25] = [
    "bob asks",
    "hana pickup",
    "hana decline",
    "hana pickup",
    "hana accept",
    "hana note hush-note",
    "hana hold",
    "hana resume",
    "hana transfer ivan supervisor_consult",
    "ivan accept",
    "ivan whisper hush-whisper",
    "ivan complete",
    "hana transfer ivan human_to_human",
    "hana cancel",
    "hana transfer second warm",
    "ivan rings",
    "ivan note hush-hint",
    "ivan accept",
    "ivan is offline",
    "root waits queued",
    "hana pickup",
    "hana accept",
    "hana complete",
    "ana asks",
    "ana cancel",
];

#[tokio::test]
async fn whoever_is_cut_off_at_any_step_comes_back_to_the_same_conversation() {
    let mut stage = Stage::set().await;
    let mut readers = ["ana", "hana", "ivan", "root"].map(Reader::new);
    for (number, step) in SCRIPT.iter().enumerate() {
        stage.play(step).await;
        stage.play(&format!("ana says message {number}")).await;
        if *step == "hana resume" {
            stage.play("root note hush-after").await;
        }
        check_both_sides(&stage, step).await;
        for reader in &mut readers {
            reader.come_and_go(&stage).await;
        }
    }
    println!("{} entries", newest());
    for mut reader in readers {
        let expected = expected(&stage, reader.name).await;
        reader.catch_up(&stage, expected.len()).await;
        assert_eq!(reader.told, expected, "{}", reader.name);
        // Each entry on a connection of its own.
        let mut again = Reader::new(reader.name);
        again.catch_up(&stage, expected.len()).await;
        assert_eq!(again.told, expected, "{}", reader.name);
    }
}

/// Status, holder and epoch are the same for all, and so are the messages except for notes.
async fn check_both_sides(stage: &Stage, step: &str) {
    let sides = loop {
        // Offers that the server makes meanwhile are seen only by those who look later.
        let before = newest();
        let sides = sides(stage).await;
        if newest() == before {
            break sides;
        }
    };
    check_ids(&sides[0][2], step);
    assert_eq!(sides[0][0], sides[0][1], "{step}");
    assert!(sides.len() >= 2 && sides.iter().all(|side| *side == sides[0]), "{step}: {sides:#?}");
}

async fn sides(stage: &Stage) -> Vec<Value> {
    let id = stage.transfer["transfer_id"].as_str().expect("it was asked for");
    let mut sides = Vec::new();
    for name in ["ana", "root", "hana"] {
        if !may_follow(stage, name).await {
            continue;
        }
        let client = stage.client(name);
        let transfer = ok(&client, Call::get(format!("/v1/transfers/{id}"))).await;
        let shown = ok(&client, Call::get(stage.desk.path(""))).await;
        let page = ok(&client, Call::get(stage.desk.path("/messages?limit=200"))).await;
        let is_said = |line: &&Value| line["from"]["kind"] != "internal";
        let line = |line: &Value| {
            let part = &line["parts"][0];
            json!([line["number"], line["epoch"], line["at"], part["text"], part["id"]])
        };
        let lines = page["items"].as_array().expect("a page").iter().filter(is_said).map(line);
        let lines: Vec<_> = lines.collect();
        sides.push(json!([
            [&transfer["status"], &transfer["holder"], &transfer["epoch"]],
            [&shown["transfer_status"], &shown["holder"], &shown["epoch"]],
            lines,
        ]));
    }
    sides
}

/// A repeat is recognised by its id, so no two lines may share one.
fn check_ids(lines: &Value, step: &str) {
    let lines = lines.as_array().expect("lines");
    let ids: Vec<_> = lines.iter().filter_map(|line| line[4].as_str()).collect();
    let different: BTreeSet<_> = ids.iter().collect();
    assert_eq!(different.len(), ids.len(), "{step}: {ids:#?}");
}

/// What a subscription must have told from the beginning.
async fn expected(stage: &Stage, name: &str) -> Vec<Value> {
    if name == "ana" {
        let page = ok(&stage.client(name), Call::get(stage.desk.path("/messages?limit=200"))).await;
        return page["items"].as_array().expect("a page").clone();
    }
    let filter = format!("&stream=conversation/{}", stage.desk.conversation);
    let entries = whole_ledger(&stage.client(name), &filter).await;
    // Announcements have no cursor of their own.
    entries.into_iter().filter(|entry| entry.id.is_some()).map(|entry| entry.data).collect()
}

/// A reader whose connection never lasts.
struct Reader {
    name: &'static str,
    place: Value,
    told: Vec<Value>,
}

impl Reader {
    fn new(name: &'static str) -> Self {
        Self { name, place: json!(0), told: Vec::new() }
    }

    /// Reads what has arrived so far, and is cut off.
    async fn come_and_go(&mut self, stage: &Stage) {
        let mut socket = stage.socket(self.name).await;
        if !may_follow(stage, self.name).await {
            return;
        }
        socket.ok(stage.follow(Some(self.place.clone()))).await;
        for frame in socket.all_told().await {
            self.take(&frame);
        }
    }

    /// Reads the rest, a connection for each entry.
    async fn catch_up(&mut self, stage: &Stage, n_entries: usize) {
        while self.told.len() < n_entries {
            let mut socket = stage.socket(self.name).await;
            socket.ok(stage.follow(Some(self.place.clone()))).await;
            let frame = socket.event().await;
            self.take(&frame);
        }
    }

    fn take(&mut self, frame: &Value) {
        if self.name == "ana" {
            check_nothing_leaks(&frame.to_string(), "a subscription");
        }
        let Some(cursor) = frame["cursor"].as_str() else { return };
        let place = self.place.as_str().map_or(0, sequence_of);
        let is_new = sequence_of(cursor) > place;
        assert!(is_new || frame.get("event").is_none(), "told twice: {frame}");
        self.place = cursor.into();
        let Some(event) = frame.get("event") else { return };
        match self.name {
            // The first entry is not a message.
            "ana" if event["data"]["number"].is_null() => {}
            "ana" => self.told.push(event["data"].clone()),
            _ => self.told.push(event.clone()),
        }
    }
}

/// People cannot see a conversation before it is offered to them.
async fn may_follow(stage: &Stage, name: &str) -> bool {
    let shown = stage.client(name).call(Call::get(stage.desk.path(""))).await;
    shown.expect("the server answers").status == 200
}

fn check_nothing_leaks(text: &str, what: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{what} says {secret}: {text}");
    }
}

/// Neither its customer, nor the bot that had the conversation and gets it back, nor a coordinating
/// bot.
#[tokio::test]
async fn notes_and_whispers_reach_no_customer_and_no_bot_on_any_road() {
    let mut stage = Stage::set().await;
    stage.tokens.insert("bob", stage.desk.server.token("bob", &[]));
    stage.tokens.insert("boss", stage.desk.server.token("boss", &["--role", "coordinator"]));
    let outsiders = ["ana", "bob", "boss"];
    let (mut told, mut asks) = (Vec::new(), Vec::new());
    for name in outsiders {
        let mut socket = stage.socket(name).await;
        socket.ok(stage.follow(Some(json!(0)))).await;
        told.push(socket);
        asks.push(stage.socket(name).await);
    }
    let mut n_answers = 0;
    for step in SCRIPT {
        stage.play(step).await;
        if step == "hana resume" {
            stage.play("root note hush-after").await;
        }
        if !["hana note", "ivan whisper", "ivan note", "hana complete", "ana cancel"]
            .iter()
            .any(|it| step.starts_with(it))
        {
            continue;
        }
        for (name, asks) in outsiders.iter().zip(&mut asks) {
            n_answers += check_answers(&stage, name, asks).await;
        }
    }
    println!("{n_answers} answers");
    stage.play("ana says the last word").await;
    for (name, told) in outsiders.iter().zip(&mut told) {
        loop {
            let frame = told.told().await;
            check_nothing_leaks(&frame.to_string(), &format!("a subscription of {name}"));
            if frame["event"]["data"]["parts"][0]["text"] == "the last word" {
                break;
            }
        }
    }
    for name in ["bob", "boss"] {
        let ledger = whole_ledger(&stage.client(name), "").await;
        let all: String = ledger.iter().map(|event| event.data.to_string()).collect();
        check_nothing_leaks(&all, &format!("the events of {name}"));
    }
    // The colleagues have all of it.
    let all = ok(&stage.client("hana"), Call::get(stage.desk.path("/messages?limit=200"))).await;
    let all = all.to_string();
    assert!(SECRETS.iter().all(|secret| all.contains(secret)), "{all}");
}

/// Reads everything that can be read, over HTTP and on a socket; returns how much that is.
async fn check_answers(stage: &Stage, name: &str, asks: &mut Socket) -> usize {
    let mut n_answers = 0;
    // A stream of events has no end.
    let streams = ["/v1/events", "/aaep/compat/{agent}/events"];
    let is_read =
        |operation: &&Operation| operation.method == "get" && !streams.contains(&operation.path);
    for operation in OPERATIONS.iter().filter(is_read) {
        let (mut with, mut path) = (json!({}), operation.path.to_owned());
        for name in operation.path.split(['{', '}']).skip(1).step_by(2) {
            let value = match name {
                "conversation" => stage.desk.conversation.as_str(),
                "transfer" => stage.transfer["transfer_id"].as_str().expect("an id"),
                "queue" => "default",
                "number" | "index" => "1",
                _ => "hana",
            };
            with[name] = json!(value);
            path = path.replace(&format!("{{{name}}}"), value);
        }
        let request = Request::new(&format!("GET {path}")).token(&stage.tokens[name]);
        let answer = request.send(stage.desk.server.address()).await;
        check_nothing_leaks(&String::from_utf8_lossy(&answer.bytes), &format!("{name}: {path}"));
        let answer = asks.ask(json!({ "do": operation.id, "with": with })).await;
        check_nothing_leaks(&answer.to_string(), &format!("{name}: {}", operation.id));
        n_answers += 1;
    }
    n_answers
}
