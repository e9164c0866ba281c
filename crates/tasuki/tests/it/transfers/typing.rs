//! A customer who goes on typing, whatever happens meanwhile: all of it reaches the person who has
//! the conversation in the end, in order and once.

use serde_json::json;
use tasuki::client::Call;

use super::script::{Screen, Stage};
use crate::hidden_places::place_in;
use crate::server::{is_full_run, ok};
use crate::ws::socket::Socket;

/// Each line is a step. The customer says something before each of them and after the last.
const SCRIPTS: [(&str, &[&str]); 7] = [
    ("hana", &["bob asks", "hana pickup", "hana accept", "hana hold", "hana resume"]),
    ("ivan", &["ana asks", "hana pickup", "hana decline", "ivan pickup", "ivan accept"]),
    (
        "ivan",
        &[
            "bob asks",
            "hana pickup",
            "hana accept",
            "hana transfer ivan human_to_human",
            "hana hold",
            "ivan accept",
        ],
    ),
    (
        "ivan",
        &[
            "bob asks",
            "hana pickup",
            "hana accept",
            "hana transfer second human_to_human",
            "ivan rings",
            "ivan accept",
        ],
    ),
    (
        "hana",
        &[
            "bob asks",
            "hana pickup",
            "hana accept",
            "hana transfer ivan supervisor_consult",
            "ivan accept",
            "ivan whisper offer her a refund",
            "ivan complete",
        ],
    ),
    (
        "ivan",
        &[
            "bob asks",
            "hana pickup",
            "hana accept",
            "hana is offline",
            "root waits queued",
            "ivan pickup",
            "ivan accept",
        ],
    ),
    (
        "ivan",
        &[
            "bob asks",
            "hana pickup",
            "hana accept",
            "hana transfer default blind",
            "ivan pickup",
            "ivan accept",
        ],
    ),
];

#[tokio::test]
async fn what_is_typed_between_any_two_steps_reaches_whoever_has_it_in_the_end() {
    for (last, script) in SCRIPTS {
        let mut stage = Stage::set().await;
        let mut ana = Chat::open(&stage, "ana").await;
        let mut said = Vec::new();
        for (number, step) in script.iter().enumerate() {
            said.push(format!("before {number}"));
            stage.play(&format!("ana says before {number}")).await;
            stage.play(step).await;
        }
        // The holder subscribes first and then reads, as a screen does.
        let mut cockpit = Chat::open(&stage, last).await;
        for number in 0..3 {
            said.push(format!("after {number}"));
            stage.play(&format!("ana says after {number}")).await;
        }
        assert_eq!(cockpit.until(said.len()).await, said, "{script:?}");
        assert_eq!(cockpit.n_told, 3, "what came while {last} had it was told, and once");
        assert_eq!(ana.until(said.len()).await, said, "{script:?}");
        assert_eq!(ana.n_told, said.len(), "the customer's own words, once");
    }
}

/// Types without waiting for anything, while the conversation goes from hand to hand and back.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_typed_during_all_of_it_is_neither_lost_nor_doubled() {
    let n_rounds = if is_full_run() { 20 } else { 2 };
    let mut stage = Stage::set().await;
    let mut ana = Chat::open(&stage, "ana").await;
    let mut typing = stage.socket("ana").await;
    let conversation = stage.desk.conversation.clone();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let typist = tokio::spawn(async move {
        let (mut said, mut stopped) = (Vec::new(), stopped);
        while stopped.try_recv().is_err() {
            let text = format!("message {}", said.len());
            let body = json!({ "parts": [{ "type": "text", "text": text }] });
            let with = json!({ "conversation": conversation });
            let key = format!("key-{}", said.len());
            let say = json!({ "do": "say", "with": with, "body": body, "key": key });
            let answer = typing.ask(say).await;
            match answer["status"].as_u64() {
                Some(201) => said.push(text),
                // Faster than people type: the same message is sent again.
                Some(429) => tokio::task::yield_now().await,
                _ => panic!("{answer}"),
            }
        }
        said
    });
    for _ in 0..n_rounds {
        for step in [
            "bob asks",
            "hana pickup",
            "hana accept",
            "hana hold",
            "hana transfer ivan human_to_human",
            "ivan accept",
            "ivan transfer second warm",
            "hana rings",
            "hana accept",
            "hana is offline",
            // It went on to `second`, which asks the next person.
            "root waits ringing",
            "hana is available",
        ] {
            stage.play(step).await;
        }
        let id = stage.transfer["transfer_id"].as_str().expect("an id");
        let rung = ok(&stage.desk.operator, Call::get(format!("/v1/transfers/{id}"))).await;
        let last = rung["agent"]["agentId"].as_str().expect("a person is asked").to_owned();
        stage.play(&format!("{last} accept")).await;
        stage.play(&format!("{last} complete")).await;
    }
    for step in ["bob asks", "hana pickup", "hana accept"] {
        stage.play(step).await;
    }
    let mut cockpit = Chat::open(&stage, "hana").await;
    stop.send(()).expect("the typist runs");
    let said = typist.await.expect("every word was taken");
    println!("{} messages in {n_rounds} rounds", said.len());
    assert_eq!(cockpit.until(said.len()).await, said);
    assert_eq!(ana.until(said.len()).await, said);
}

/// A screen that follows a conversation, and has read the earlier messages.
struct Chat {
    socket: Socket,
    screen: Screen,
    n_told: usize,
}

impl Chat {
    async fn open(stage: &Stage, name: &str) -> Self {
        let mut socket = stage.socket(name).await;
        socket.ok(stage.follow(None)).await;
        let mut screen = Screen::default();
        let mut after = Some("0".to_owned());
        while let Some(place) = after {
            let path = stage.desk.path(&format!("/messages?limit=200&after={place}"));
            let page = ok(&stage.client(name), Call::get(path)).await;
            page["items"].as_array().expect("a page").iter().for_each(|line| screen.show(line));
            after = page["next_cursor"].as_str().map(str::to_owned);
        }
        Self { socket, screen, n_told: 0 }
    }

    /// The customer's messages once there are as many. Each is told once, after the last.
    async fn until(&mut self, n_texts: usize) -> Vec<String> {
        let mut newest = 0;
        while self.said().len() < n_texts {
            let frame = self.socket.event().await;
            let cursor = place_in(&frame);
            assert!(cursor > newest, "told twice: {frame}");
            newest = cursor;
            if frame["event"]["event"] == "conversation.said" {
                self.screen.show(&frame["event"]["data"]);
                self.n_told += 1;
            }
        }
        self.said()
    }

    fn said(&self) -> Vec<String> {
        let is_whisper = |text: &&&str| **text == "offer her a refund";
        let all = self.screen.texts();
        all.iter().filter(|text| !is_whisper(text)).map(ToString::to_string).collect()
    }
}
