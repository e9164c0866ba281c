//! The bank's agent asks before it moves money, and somebody who listens decides: the session that
//! the protocol gives as its example, and everything that can go wrong with an answer.

use protocol::aaep::read::read;
use protocol::aaep::shape::take_from_extension;
use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::listener::{Listener, terms};
use crate::server::{Server, ok, refused};

const TOKEN: &str = "rpl_xyz";

/// A bank with an agent and a person who listens.
pub struct Bank {
    pub server: Server,
    pub operator: Client,
    pub teller: Client,
    pub dana: Client,
    pub session: &'static str,
}

impl Bank {
    pub async fn open() -> Self {
        Self::with(Server::start()).await
    }

    pub async fn with(server: Server) -> Self {
        let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
        for (name, kind) in [("teller", "worker"), ("dana", "human"), ("omar", "human")] {
            ok(&operator, Call::put(format!("/v1/agents/{name}"), json!({ "kind": kind }))).await;
        }
        let (teller, dana) = (server.agent("teller"), server.agent("dana"));
        Self { server, operator, teller, dana, session: "sess_bank" }
    }

    pub fn event(&self, number: u32, kind: &str, more: Value) -> Value {
        let mut event = json!({
            "@context": "https://aaep-protocol.org/context/v1",
            "type": format!("aaep:agent.{kind}"),
            "event_id": format!("evt_{number}"),
            "session_id": self.session,
            "timestamp": format!("2026-05-24T14:22:{number:02}.000Z"),
            "producer": { "agent_id": "teller" },
            "localization_hints": { "primary_language": "en" },
            "urgency": "normal",
        });
        let fields = event.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        event
    }

    /// Up to the question.
    pub fn opening(&self, timeout_seconds: u32) -> Vec<Value> {
        let state = |from: &str, to: &str| json!({ "from_state": from, "to_state": to });
        let fetch = json!({ "tool": "fetch_balance", "summary_normal": "Looks up the balance." });
        let fetched = json!({ "tool": "fetch_balance", "status": "success" });
        let asks = json!({
            "urgency": "critical", "action": "Transfer $500 to savings.",
            "consequence": "Funds move immediately.", "reply_token": TOKEN,
            "timeout_seconds": timeout_seconds, "default_decision": "reject",
            "risk_level": "high", "irreversible": true,
        });
        let started = json!({ "summary_normal": "The bank's agent is at work." });
        vec![
            self.event(1, "session.started", started),
            self.event(2, "state.changed", state("idle", "thinking")),
            self.event(3, "tool.invoked", fetch),
            self.event(4, "tool.completed", fetched),
            self.event(5, "state.changed", state("thinking", "deciding")),
            self.event(6, "state.changed", state("deciding", "thinking")),
            self.event(7, "awaiting.confirmation", asks),
        ]
    }

    /// After the customer said yes.
    pub fn carried_out(&self) -> Vec<Value> {
        let call = json!({
            "tool": "transfer_funds", "irreversible": true, "risk_level": "high",
            "summary_normal": "Transfers the money.",
        });
        let done = json!({ "tool": "transfer_funds", "status": "success" });
        let writing = json!({ "from_state": "calling_tool", "to_state": "writing_output" });
        let said = "Transferred $500 successfully.";
        let first = json!({ "chunk": said, "position": 0, "complete": false });
        let last = json!({
            "chunk": " New balance: $12,000.", "position": said.len(), "complete": true,
        });
        vec![
            self.event(8, "tool.invoked", call),
            self.event(9, "tool.completed", done),
            self.event(10, "state.changed", writing),
            self.event(11, "output.streaming", first),
            self.event(12, "output.streaming", last),
            self.event(13, "session.completed", json!({ "summary_normal": "Done." })),
        ]
    }

    /// After the customer said no, or nothing.
    pub fn given_up(&self) -> Vec<Value> {
        let back = json!({ "from_state": "awaiting_input", "to_state": "thinking" });
        vec![
            self.event(8, "state.changed", back),
            self.event(9, "session.completed", json!({ "summary_normal": "Nothing was moved." })),
        ]
    }

    pub async fn announce(&self, events: &[Value]) {
        ok(&self.teller, Call::post("/aaep/v1/events", json!(events))).await;
    }

    /// What the agent learns when it waits for the decision.
    pub async fn decision(&self) -> Value {
        let session = self.session;
        let path = format!("/aaep/v1/sessions/{session}/decisions/{TOKEN}?wait=20s");
        ok(&self.teller, Call::get(path)).await
    }
}

/// What was heard, the question as the agent asked it: what the server says of it is in its copies.
fn as_sent(mut heard: Vec<Value>) -> Vec<Value> {
    for event in heard.iter_mut().filter(|event| event["reply_token"].is_string()) {
        assert_ne!(event["reply_token"], TOKEN, "the agent's own token is nobody else's");
        event["reply_token"] = TOKEN.into();
        let document = event.as_object_mut().expect("an object");
        for name in ["due_at", "seconds_left", "settled"] {
            take_from_extension(document, name);
        }
    }
    heard
}

#[tokio::test]
async fn money_moves_once_somebody_said_yes() {
    let bank = Bank::open().await;
    let mut dana = Listener::open(bank.dana.clone(), &terms(json!({}))).await;
    let opening = bank.opening(300);
    bank.announce(&opening).await;
    let question = dana.until("awaiting.confirmation").await;
    let early =
        refused(&bank.teller, Call::post("/aaep/v1/events", json!(bank.carried_out()))).await;
    assert_eq!(
        (&early.body["code"], &early.body["rule"]),
        (&json!("protocol_violation"), &json!("4.3.1"))
    );
    assert_eq!(dana.answer(&question, "accept").await.status, 204);
    let decided = bank.decision().await;
    assert_eq!(
        (&decided["decision"], &decided["answered_by"]),
        (&json!("accept"), &json!("agent:dana"))
    );
    let carried_out = bank.carried_out();
    bank.announce(&carried_out).await;
    let heard = dana.until_the_end().await;
    assert_eq!(heard, carried_out, "as it was sent, in order");
    // Somebody who listens from the beginning hears all of it again.
    let from = json!({ "tasuki": { "session_id": bank.session, "from": "beginning" } });
    let mut late = Listener::open(bank.server.agent("omar"), &terms(from)).await;
    assert_eq!(as_sent(late.until_the_end().await), [opening, carried_out].concat());
}

#[tokio::test]
async fn a_no_and_a_silence_leave_the_money_where_it_is() {
    for (timeout, answer, status) in [(300, Some("reject"), "answered"), (1, None, "timed_out")] {
        let bank = Bank::open().await;
        let mut dana = Listener::open(bank.dana.clone(), &terms(json!({}))).await;
        bank.announce(&bank.opening(timeout)).await;
        let question = dana.until("awaiting.confirmation").await;
        if let Some(answer) = answer {
            dana.answer(&question, answer).await;
        }
        let decided = bank.decision().await;
        assert_eq!((&decided["status"], &decided["decision"]), (&json!(status), &json!("reject")));
        // A change of mind comes too late.
        assert_eq!(dana.answer(&question, "accept").await.status, 204);
        assert_eq!(bank.decision().await["decision"], "reject");
        let call = Call::post("/aaep/v1/events", json!(bank.carried_out()));
        assert_eq!(refused(&bank.teller, call).await.body["code"], "protocol_violation");
        bank.announce(&bank.given_up()).await;
        assert_eq!(dana.until_the_end().await, bank.given_up());
    }
}

#[tokio::test]
async fn an_answer_counts_once_and_only_from_whom_it_was_asked() {
    let bank = Bank::open().await;
    let mut dana = Listener::open(bank.dana.clone(), &terms(json!({}))).await;
    let mut omar = Listener::open(bank.server.agent("omar"), &terms(json!({}))).await;
    let deaf = terms(json!({ "supports_confirmation_reply": false }));
    let mut mute = Listener::open(bank.server.agent("omar"), &deaf).await;
    let elsewhere = bank.server.token("eve", &["--kind", "operator", "--teamspace", "red"]);
    let eve = Listener::open(bank.server.with_token(&elsewhere), &terms(json!({}))).await;
    bank.announce(&bank.opening(300)).await;
    let asked = dana.until("awaiting.confirmation").await;
    let asked_omar = omar.until("awaiting.confirmation").await;
    let asked_mute = mute.until("awaiting.confirmation").await;
    let token = asked["reply_token"].as_str().expect("a token").to_owned();
    let token_of_mute = asked_mute["reply_token"].as_str().expect("a token").to_owned();
    assert_ne!(asked["reply_token"], asked_omar["reply_token"], "each has a token of their own");
    let (head, last) = token.split_at(token.len() - 1);
    let changed = format!("{head}{}", if last == "0" { "1" } else { "0" });
    let by_teller = json!({
        "type": "confirmation.reply", "reply_token": token, "decision": "accept",
        "subscription_id": dana.subscription, "timestamp": "2026-05-24T14:22:30.000Z",
    });
    let mut of_another = dana.confirmation(&token, "accept");
    of_another["subscription_id"] = omar.subscription.clone().into();
    let worthless = [
        ("a token that was changed", dana.reply(&dana.confirmation(&changed, "accept")).await),
        ("the agent's own token", dana.reply(&dana.confirmation(TOKEN, "accept")).await),
        ("a token from nowhere", dana.reply(&dana.confirmation("rpl_1", "accept")).await),
        ("somebody else's token", omar.reply(&omar.confirmation(&token, "accept")).await),
        ("somebody else's subscription", dana.reply(&of_another).await),
        ("from another teamspace", eve.reply(&eve.confirmation(&token, "accept")).await),
        ("who said not to answer", mute.reply(&mute.confirmation(&token_of_mute, "accept")).await),
        (
            "the agent itself",
            bank.teller.call(Call::post("/aaep/v1/replies", by_teller)).await.expect("an answer"),
        ),
    ];
    for (what, answer) in worthless {
        assert_eq!((answer.status, &answer.body), (204, &Value::Null), "{what} looks like any");
        let path = format!("/aaep/v1/sessions/{}/decisions/{TOKEN}", bank.session);
        assert_eq!(ok(&bank.teller, Call::get(path)).await["status"], "open", "{what}");
    }
    // Two who answer at once: one of them decides, and both are answered alike.
    let (yes, no) = tokio::join!(dana.answer(&asked, "accept"), omar.answer(&asked_omar, "reject"));
    assert_eq!((yes.status, no.status), (204, 204));
    let decided = bank.decision().await;
    let by = decided["answered_by"].as_str().expect("somebody").to_owned();
    for _ in 0..3 {
        dana.answer(&asked, "accept").await;
        omar.answer(&asked_omar, "reject").await;
    }
    assert_eq!(bank.decision().await, decided, "{by} was first");
}

#[tokio::test]
async fn a_question_outlives_the_server_that_asked_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    let bank = Bank::with(Server::start_on(&data, |_| {})).await;
    let (token_of_dana, token_of_teller) =
        (bank.server.token("dana", &[]), bank.server.token("teller", &[]));
    let client = bank.server.with_token(&token_of_dana);
    let mut dana = Listener::open(client, &terms(json!({}))).await;
    bank.announce(&bank.opening(300)).await;
    let question = dana.until("awaiting.confirmation").await;
    let (subscription, place) = (dana.subscription.clone(), dana.place.clone());
    bank.server.kill();
    let server = Server::start_on(&data, |_| {});
    let bank = Bank { teller: server.with_token(&token_of_teller), server, ..bank };
    let client = bank.server.with_token(&token_of_dana);
    let mut dana = Listener::resume(client, subscription, place).await;
    assert_eq!(dana.answer(&question, "accept").await.status, 204);
    let decided = bank.decision().await;
    assert_eq!(decided["decision"], "accept", "the token from before is still good");
    bank.announce(&bank.carried_out()).await;
    assert_eq!(dana.until_the_end().await, bank.carried_out(), "nothing twice, nothing missing");
}

#[tokio::test]
async fn who_comes_late_is_asked_too() {
    let bank = Bank::open().await;
    bank.announce(&bank.opening(300)).await;
    let mut dana = Listener::open(bank.dana.clone(), &terms(json!({}))).await;
    let stands = dana.next().await.expect("how it stands");
    assert_eq!(
        (&stands["to_state"], &stands["session_id"]),
        (&json!("thinking"), &json!(bank.session))
    );
    assert_eq!(read(&stands.to_string()).map(|_| ()), Ok(()), "an event like any other");
    let question = dana.next().await.expect("what waits for an answer");
    dana.answer(&question, "accept").await;
    assert_eq!(bank.decision().await["decision"], "accept");
}

#[tokio::test]
async fn a_teamspace_may_want_every_call_named_by_its_hash() {
    let bank = Bank::open().await;
    let strict = json!({ "settings": { "strong_consent_required": true } });
    ok(&bank.operator, Call::put("/v1/teamspace", strict)).await;
    let call = Call::post("/aaep/v1/events", json!(bank.opening(300)));
    let answer = refused(&bank.teller, call).await;
    let at = (&answer.body["rule"], &answer.body["field"], &answer.body["index"]);
    assert_eq!(at, (&json!("4.3.1"), &json!("extensions.tasuki.action_hash"), &json!(6)));
    let mut opening = bank.opening(300);
    opening[6]["@context"] = json!(["https://aaep-protocol.org/context/v1", "urn:tasuki:aaep:v1"]);
    opening[6]["extensions"] = json!({ "tasuki": { "action_hash": "ab".repeat(32) } });
    bank.announce(&opening).await;
}
