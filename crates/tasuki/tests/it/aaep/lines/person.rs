//! The listener's end of a line: it hears one session, and answers its questions.

use std::collections::{HashSet, VecDeque};

use aaep::extension::take_from_extension;
use serde_json::{Value, json};

use super::branch::{Branch, Who};
use super::peer::Peer;
use super::{Line, Stage};
use crate::aaep::compat::client::{self, Way};
use crate::aaep::listener::{Listener, request, terms};
use crate::aaep::story::TOKEN;

/// What tools send where they know no subscription.
const MADE_UP: &str = "sub_0123456789abcdef";

pub struct Person {
    pub who: Who,
    stage: Stage,
    end: End,
    /// Messages that arrived while another was awaited.
    waiting: VecDeque<Value>,
    /// The events that were heard, by their ids.
    heard: HashSet<String>,
}

enum End {
    Http(Box<Listener>),
    Connection { peer: Box<Peer>, subscription: String, place: Option<String> },
    Compat { listener: Box<client::Listener>, way: Way },
}

impl Person {
    pub async fn open(branch: &Branch, stage: &Stage, who: &Who) -> Self {
        Self::open_on(branch, stage, who, json!({})).await
    }

    /// A listener that hears everything and said that it does not answer.
    pub async fn open_mute(branch: &Branch, stage: &Stage, who: &Who) -> Self {
        let mute = json!({ "supports_confirmation_reply": false });
        let mut person = Self::open_on(branch, stage, who, mute.clone()).await;
        if let End::Compat { listener, .. } = &mut person.end {
            listener.send(&request(&terms(mute))).await;
            while listener.next().await["type"] != "subscription.accepted" {}
        }
        person
    }

    /// A listener that hears all of the session, also what came before it subscribed.
    pub async fn open_late(branch: &Branch, stage: &Stage, who: &Who) -> Self {
        let ours = json!({ "session_id": stage.story.session, "from": "beginning" });
        Self::open_on(branch, stage, who, json!({ "tasuki": ours })).await
    }

    async fn open_on(branch: &Branch, stage: &Stage, who: &Who, more: Value) -> Self {
        let end = match stage.line {
            Line::Http => {
                let client = branch.server.with_token(&who.token);
                End::Http(Box::new(Listener::open(client, &terms(more)).await))
            }
            Line::Connection(road) => {
                let mut asked = terms(more);
                asked["tasuki"]["places"] = true.into();
                let mut peer = Box::new(Peer::open(branch, road, who).await);
                let subscription = subscribe(&mut peer, &asked).await;
                End::Connection { peer, subscription, place: None }
            }
            Line::Compat(way) => {
                let token = Some(who.token.as_str());
                let listener = client::Listener::open_at(&branch.server, way, token, "teller");
                End::Compat { listener: Box::new(listener.await), way }
            }
        };
        let (waiting, heard) = (VecDeque::new(), HashSet::new());
        Self { who: who.clone(), stage: stage.clone(), end, waiting, heard }
    }

    /// Reconnects after a restart of the server, at its cursor. Other tools begin anew.
    pub async fn comes_back(self, branch: &Branch) -> Self {
        let Self { who, stage, end, heard, .. } = self;
        let end = match (end, stage.line) {
            (End::Http(was), _) => {
                let client = branch.server.with_token(&who.token);
                let listener = Listener::resume(client, was.subscription, was.place).await;
                End::Http(Box::new(listener))
            }
            (End::Connection { place, .. }, Line::Connection(road)) => {
                let ours = json!({ "places": true, "resume_after": place });
                let mut peer = Box::new(Peer::open(branch, road, &who).await);
                let subscription = subscribe(&mut peer, &terms(json!({ "tasuki": ours }))).await;
                End::Connection { peer, subscription, place }
            }
            (End::Compat { .. } | End::Connection { .. }, _) => {
                Self::open(branch, &stage, &who).await.end
            }
        };
        Self { who, stage, end, waiting: VecDeque::new(), heard }
    }

    /// An event that it already heard.
    pub async fn hears_again(&mut self, event_id: &Value) -> Value {
        loop {
            let event = self.receive().await;
            if event["event_id"] == *event_id {
                return event;
            }
        }
    }

    /// The next event of the session. A connection may repeat an event, which is recognised by its
    /// id.
    pub async fn next(&mut self) -> Value {
        loop {
            let event = self.receive().await;
            let id = event["event_id"].as_str().expect("an id").to_owned();
            let is_new = self.heard.insert(id);
            if is_new {
                return event;
            }
            assert!(matches!(self.end, End::Connection { .. }), "twice: {event}");
        }
    }

    async fn receive(&mut self) -> Value {
        loop {
            let message = match self.waiting.pop_front() {
                Some(message) => message,
                None => match &mut self.end {
                    End::Http(listener) => listener.next().await.expect("the stream goes on"),
                    End::Connection { peer, .. } => peer.next().await,
                    End::Compat { listener, .. } => listener.next().await,
                },
            };
            if let End::Connection { place, .. } = &mut self.end
                && message["type"] == "tasuki.place"
            {
                *place = message["resume_after"].as_str().map(str::to_owned);
            }
            if message["session_id"] == self.stage.story.session.as_str() {
                return message;
            }
        }
    }

    /// Hears the events of an opening as they were sent, except for the token of the question,
    /// which may overtake the others. Returns the question.
    pub async fn is_asked(&mut self, opening: &[Value]) -> Value {
        let mut heard = Vec::new();
        while heard.len() < opening.len() {
            heard.push(self.next().await);
        }
        let at = heard.iter().position(|event| event["urgency"] == "critical");
        let question = heard.remove(at.expect("a question"));
        assert_ne!(question["reply_token"], TOKEN, "listeners never get the agent's own token");
        heard.push(as_sent(question.clone()));
        assert_eq!(heard, opening, "{:?}", self.stage.line);
        self.knows_its_place().await;
        question
    }

    /// Hears exactly these events.
    pub async fn hears(&mut self, events: &[Value]) {
        for event in events {
            assert_eq!(self.next().await, *event, "{:?}", self.stage.line);
        }
    }

    /// Its cursor to resume at, once it was told everything so far.
    async fn knows_its_place(&mut self) {
        let End::Connection { peer, place, .. } = &mut self.end else { return };
        while place.is_none() {
            let message = peer.next().await;
            match message["type"] == "tasuki.place" {
                true => *place = message["resume_after"].as_str().map(str::to_owned),
                false => self.waiting.push_back(message),
            }
        }
    }

    /// The subscription that an answer names.
    pub fn subscription(&self) -> &str {
        match &self.end {
            End::Http(listener) => &listener.subscription,
            End::Connection { subscription, .. } => subscription,
            End::Compat { .. } => MADE_UP,
        }
    }

    pub async fn answers(&mut self, question: &Value, decision: &str) {
        let token = question["reply_token"].as_str().expect("a token").to_owned();
        let reply = self.reply(&token, decision);
        self.says(&reply).await;
    }

    pub fn reply(&self, token: &str, decision: &str) -> Value {
        json!({
            "type": "confirmation.reply", "reply_token": token, "decision": decision,
            "subscription_id": self.subscription(), "timestamp": "2026-05-24T14:22:30.000Z",
            "decided_by": format!("user:{}", self.who.name),
        })
    }

    /// Sends a reply, and waits until the server has handled it. Whether it counted is not said.
    pub async fn says(&mut self, reply: &Value) {
        match &mut self.end {
            End::Http(listener) => {
                let answer = listener.reply(reply).await;
                assert_eq!((answer.status, &answer.body), (204, &Value::Null), "as to any reply");
            }
            End::Connection { peer, .. } => {
                peer.send(reply.clone()).await;
                self.waiting.extend(peer.received().await);
            }
            End::Compat { listener, way } => {
                listener.send(reply).await;
                if let Way::Socket = way {
                    // Earlier messages are handled before this one is refused.
                    listener.send(&json!({ "kind": "user_input" })).await;
                    loop {
                        let frame = listener.next().await;
                        if frame["error"].is_string() {
                            break;
                        }
                        self.waiting.push_back(frame);
                    }
                }
            }
        }
    }
}

async fn subscribe(peer: &mut Peer, terms: &Value) -> String {
    peer.send(request(terms)).await;
    let accepted = peer.next().await;
    assert_eq!(accepted["type"], "subscription.accepted", "{accepted}");
    accepted["subscription_id"].as_str().expect("an id").to_owned()
}

/// The question as the agent asked it: only the copies have what the server adds.
fn as_sent(mut question: Value) -> Value {
    question["reply_token"] = TOKEN.into();
    let document = question.as_object_mut().expect("an object");
    for name in ["due_at", "seconds_left", "settled"] {
        take_from_extension(document, name);
    }
    question
}
