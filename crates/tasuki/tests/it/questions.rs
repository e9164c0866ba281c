//! Questions to humans, from outside: asked, answered once, and continued by one worker at a time.

mod claims;
mod waiting;

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::server::{Server, ok, refused};

/// `bot` asks; `hana` and `dana` are humans, and both are of the queue `desk`.
struct Desk {
    server: Server,
    operator: Client,
    bot: Client,
    hana: Client,
    dana: Client,
}

impl Desk {
    async fn open() -> Self {
        Self::on(Server::start()).await
    }

    async fn on(server: Server) -> Self {
        let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
        for (name, kind) in [("hana", "human"), ("dana", "human"), ("desk", "queue")] {
            ok(&operator, Call::put(format!("/v1/agents/{name}"), json!({ "kind": kind }))).await;
        }
        let [bot, hana, dana] = ["bot", "hana", "dana"].map(|name| server.agent(name));
        Self { server, operator, bot, hana, dana }
    }
}

async fn ask(client: &Client, question: Value) -> Value {
    ok(client, Call::post("/v1/questions", question)).await
}

fn at(question: &Value, action: &str) -> String {
    format!("/v1/questions/{}{action}", question["question_id"].as_str().expect("an id"))
}

fn answer(question: &Value, decision: &str) -> Call {
    let body = json!({ "hash": question["hash"], "decision": decision });
    Call::post(at(question, "/answer"), body)
}

fn refund() -> Value {
    json!({
        "to": "desk", "text": "Refund order 7?", "action": "refund",
        "arguments": { "amount": 40, "order": 7 }, "irreversible": true,
    })
}

#[tokio::test]
async fn a_question_is_answered_once_and_continued_once() {
    let desk = Desk::open().await;
    let asked = ask(&desk.bot, refund()).await;
    assert_eq!((&asked["status"], &asked["to_kind"]), (&json!("open"), &json!("queue")));
    let early = refused(&desk.bot, Call::post(at(&asked, "/claim"), json!({}))).await;
    assert_eq!((early.status, &early.body["question_status"]), (409, &json!("open")));

    let mut other = asked.clone();
    other["hash"] = json!("0".repeat(64));
    let mismatch = refused(&desk.hana, answer(&other, "approve")).await;
    assert_eq!((mismatch.status, &mismatch.body["code"]), (422, &json!("hash_mismatch")));
    for client in [&desk.bot, &desk.operator] {
        let by_program = refused(client, answer(&asked, "approve")).await;
        assert_eq!((by_program.status, &by_program.body["code"]), (403, &json!("not_allowed")));
    }
    let answered = ok(&desk.hana, answer(&asked, "approve")).await;
    assert_eq!(answered["answer"], json!({ "decision": "approve", "by": "agent:hana" }));
    let twice = refused(&desk.dana, answer(&asked, "decline")).await;
    assert_eq!((twice.status, &twice.body["question_status"]), (409, &json!("answered")));

    let claimed = ok(&desk.bot, Call::post(at(&asked, "/claim"), json!({ "lease": "1m" }))).await;
    assert_eq!(claimed["epoch"], 1);
    let id = asked["question_id"].as_str().expect("an id");
    assert_eq!(claimed["idempotency_key"], format!("question-{id}"));
    let taken = refused(&desk.bot, Call::post(at(&asked, "/claim"), json!({}))).await;
    assert_eq!((taken.status, &taken.body["claimed_by"]), (409, &json!("bot")));
    ok(&desk.bot, Call::post(at(&asked, "/renew"), json!({ "epoch": 1, "lease": "2m" }))).await;
    let outdated = refused(&desk.bot, Call::post(at(&asked, "/finish"), json!({ "epoch": 7 })));
    assert_eq!(outdated.await.body["code"], "claim_outdated");
    let finish = json!({ "epoch": 1, "result": "refunded" });
    let done = ok(&desk.bot, Call::post(at(&asked, "/finish"), finish)).await;
    assert_eq!(done["continuation"]["status"], "finished");
    let over = refused(&desk.bot, Call::post(at(&asked, "/claim"), json!({}))).await;
    assert_eq!((over.status, &over.body["code"]), (409, &json!("question_finished")));
}

/// A wait ends with the answer, and with the deadline, which applies the default.
#[tokio::test]
async fn the_asker_waits_for_the_answer_or_the_default() {
    let desk = Desk::open().await;
    let asked = ask(&desk.bot, refund()).await;
    let wait = Call::get(at(&asked, "?wait=20s"));
    let (waited, _) = tokio::join!(ok(&desk.bot, wait), ok(&desk.hana, answer(&asked, "decline")));
    assert_eq!(waited["answer"]["decision"], "decline");

    for (default, status) in
        [(json!(null), "unanswered"), (json!({ "decision": "decline" }), "defaulted")]
    {
        let mut question = refund();
        (question["timeout"], question["default"]) = (json!("1s"), default);
        let asked = ask(&desk.bot, question).await;
        let waited = ok(&desk.bot, Call::get(at(&asked, "?wait=20s"))).await;
        assert_eq!(waited["status"], status);
        let late = refused(&desk.hana, answer(&asked, "approve")).await;
        assert_eq!(late.body["code"], "wrong_state");
        ok(&desk.bot, Call::post(at(&asked, "/claim"), json!({}))).await;
    }
    let mut yes = refund();
    yes["default"] = json!({ "decision": "approve" });
    let refused = refused(&desk.bot, Call::post("/v1/questions", yes)).await;
    assert_eq!(refused.body["code"], "policy_violation");
}

/// A model asks by tool; its turn may be sent again until there is an answer, and asks once.
#[tokio::test]
async fn a_model_asks_by_tool() {
    let desk = Desk::open().await;
    for (format, place) in [
        ("openai", "/tool/function/name"),
        ("responses", "/tool/name"),
        ("anthropic", "/tool/name"),
        ("jsonschema", "/tool/title"),
    ] {
        let tool = ok(&desk.bot, Call::get(format!("/v1/questions/tool?format={format}"))).await;
        assert_eq!(tool.pointer(place), Some(&json!("ask_human")), "{format}: {tool}");
    }
    let arguments = json!({ "text": "Which plan?", "wants": "choose", "options": ["S", "L"] });
    let call = |id: &str, arguments: &Value| {
        json!({ "id": id, "type": "function",
                "function": { "name": "ask_human", "arguments": arguments.to_string() } })
    };
    let calls = json!([call("c1", &arguments), call("c2", &json!({ "text": "" }))]);
    let turn = json!({ "role": "assistant", "content": null, "tool_calls": calls });
    let body = json!({ "form": "openai", "turn": turn, "to": "hana", "reference": "thread-1" });
    let send = || ok(&desk.bot, Call::post("/v1/questions/tool_calls", body.clone()));
    let first = send().await;
    assert_eq!(first["waiting"], json!(["c1"]));
    assert_eq!(first["messages"][0]["tool_call_id"], "c2", "{first}");
    let again = send().await;
    assert_eq!(again["calls"][0]["question_id"], first["calls"][0]["question_id"]);

    let id = first["calls"][0]["question_id"].as_str().expect("an id");
    let shown = ok(&desk.hana, Call::get(format!("/v1/questions/{id}"))).await;
    let chosen = json!({ "hash": shown["hash"], "decision": "choose", "option": "L" });
    ok(&desk.hana, Call::post(at(&shown, "/answer"), chosen)).await;
    let done = send().await;
    assert_eq!(done["waiting"], json!([]));
    assert_eq!(done["messages"][0]["content"], "A human chooses: L");
    assert_eq!(shown["reference"], "thread-1");
}

/// Every call of a turn is listed: one that waits for a human, and one of another tool.
#[tokio::test]
async fn calls_of_other_tools_stay_with_the_program() {
    let desk = Desk::open().await;
    let call = |id: &str, name: &str, arguments: Value| {
        json!({ "id": id, "type": "function",
                "function": { "name": name, "arguments": arguments.to_string() } })
    };
    let ask = call("a", "ask_human", json!({ "text": "Refund?" }));
    let calls = json!([ask, call("b", "lookup", json!({ "order": 7 }))]);
    let turn = json!({ "role": "assistant", "content": null, "tool_calls": calls });
    let body = json!({ "form": "openai", "turn": turn, "to": "hana", "reference": "thread-1" });
    let send = || ok(&desk.bot, Call::post("/v1/questions/tool_calls", body.clone()));
    let first = send().await;
    assert_eq!((&first["waiting"], &first["messages"]), (&json!(["a", "b"]), &json!([])));
    let other = json!({ "call_id": "b", "name": "lookup", "outcome": "waiting" });
    assert_eq!(first["calls"][1], other);
    let asked = &first["calls"][0];
    assert_eq!((&asked["outcome"], &asked["status"]), (&json!("waiting"), &json!("open")));

    let shown = ok(&desk.hana, Call::get(at(asked, ""))).await;
    ok(&desk.hana, answer(&shown, "approve")).await;
    let done = send().await;
    assert_eq!((&done["waiting"], &done["calls"][1]), (&json!(["b"]), &other));
    assert_eq!(done["calls"][0]["outcome"], "answered");
    assert_eq!(done["messages"][0]["tool_call_id"], "a", "{done}");
}

/// What a model's calls ask, in the run of this reference.
async fn asks(bot: &Client, reference: &str, calls: &[(&str, Value)]) -> Value {
    let call = |(id, arguments): &(&str, Value)| {
        let function = json!({ "name": "ask_human", "arguments": arguments.to_string() });
        json!({ "id": id, "type": "function", "function": function })
    };
    let calls: Vec<Value> = calls.iter().map(call).collect();
    let turn = json!({ "role": "assistant", "content": null, "tool_calls": calls });
    let body = json!({ "form": "openai", "turn": turn, "to": "hana", "reference": reference });
    ok(bot, Call::post("/v1/questions/tool_calls", body)).await
}

/// Time, default and workers are the program's: a model that could set them would say yes to its
/// own question.
#[tokio::test]
async fn a_model_cannot_answer_its_own_question() {
    let desk = Desk::open().await;
    for (name, value) in [
        ("timeout", json!("1s")),
        ("default", json!({ "decision": "approve" })),
        ("workers", json!(["bot"])),
        ("reference", json!("thread-1")),
    ] {
        let arguments = json!({ "text": "Refund?", name: value });
        let asked = asks(&desk.bot, "thread-1", &[("c1", arguments)]).await;
        let said = asked["messages"][0]["content"].as_str().expect("a text");
        assert!(said.starts_with(&format!("Cannot ask: {name}: ")), "{said}");
    }
    assert_eq!(ok(&desk.bot, Call::get("/v1/questions")).await["items"], json!([]));

    let worker = desk.server.agent("w1");
    let function = json!({ "name": "ask_human", "arguments": "{\"text\": \"Refund?\"}" });
    let call = json!({ "id": "c1", "type": "function", "function": function });
    let turn = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    let mut body = json!({ "form": "openai", "turn": turn, "to": "hana", "reference": "thread-1",
                           "timeout": "1s", "workers": ["nemo"] });
    let send = |body: &Value| Call::post("/v1/questions/tool_calls", body.clone());
    let unknown = refused(&desk.bot, send(&body)).await;
    assert_eq!(
        (&unknown.body["code"], &unknown.body["field"]),
        (&json!("unknown_agent"), &json!("workers"))
    );
    body["workers"] = json!(["w1"]);
    let asked = ok(&desk.bot, send(&body)).await;
    let id = asked["calls"][0]["question_id"].as_str().expect("an id");
    let settled = ok(&worker, Call::get(format!("/v1/questions/{id}?wait=20s"))).await;
    assert_eq!(settled["status"], "unanswered", "no default says yes");
}

/// Providers number calls anew in each conversation, and some in each turn.
#[tokio::test]
async fn an_answer_is_not_reused_by_another_run() {
    let desk = Desk::open().await;
    let text = |text: &str| json!({ "text": text });
    let first = asks(&desk.bot, "thread-1", &[("call_1", text("Refund?"))]).await;
    let id = first["calls"][0]["question_id"].as_str().expect("an id");
    let shown = ok(&desk.hana, Call::get(format!("/v1/questions/{id}"))).await;
    ok(&desk.hana, answer(&shown, "approve")).await;
    let again = asks(&desk.bot, "thread-1", &[("call_1", text("Refund?"))]).await;
    assert_eq!(again["messages"][0]["content"], "A human says yes.", "a retry");
    for (reference, call, text) in [
        ("thread-2", "call_1", text("Refund?")),
        ("thread-1", "call_1", text("Refund all?")),
        ("thread-1", "call_2", text("Refund?")),
    ] {
        let other = asks(&desk.bot, reference, &[(call, text)]).await;
        assert_eq!(other["waiting"], json!([call]), "{reference} {call}");
        assert_ne!(other["calls"][0]["question_id"], *id, "{reference} {call}");
    }
}

/// What was asked and answered can be erased once it is settled; the hashes stay.
#[tokio::test]
async fn an_operator_erases_what_was_said() {
    let desk = Desk::open().await;
    let asked = ask(&desk.bot, refund()).await;
    let erase = || {
        let body = json!({ "position": 1, "reason": "the customer asked" });
        Call::post(at(&asked, "/erase"), body)
    };
    let open = refused(&desk.operator, erase()).await;
    assert_eq!(open.body["code"], "wrong_state");
    ok(&desk.hana, answer(&asked, "approve")).await;
    let erased = ok(&desk.operator, erase()).await;
    assert_eq!((&erased["text"], &erased["arguments"]), (&json!(""), &json!(null)));
    assert_eq!((&erased["hash"], &erased["erased"]), (&asked["hash"], &json!(true)));
    let claimed = ok(&desk.bot, Call::post(at(&asked, "/claim"), json!({}))).await;
    assert_eq!(claimed["question"]["erased"], true, "a worker is told: {claimed}");
    assert_eq!(claimed["question"]["answer"]["decision"], "approve");
}

/// A model that asked for a text is not given an empty one.
#[tokio::test]
async fn a_model_is_told_that_its_answer_was_erased() {
    let desk = Desk::open().await;
    let calls = [("c1", json!({ "text": "Name?", "wants": "text" }))];
    let send = || asks(&desk.bot, "thread-1", &calls);
    let first = send().await;
    let shown = ok(&desk.hana, Call::get(at(&first["calls"][0], ""))).await;
    let said = json!({ "hash": shown["hash"], "decision": "text", "text": "Ana" });
    ok(&desk.hana, Call::post(at(&shown, "/answer"), said)).await;
    let erase = json!({ "position": 2, "reason": "the customer asked" });
    ok(&desk.operator, Call::post(at(&shown, "/erase"), erase)).await;
    let told = "A human answered, and the answer has been erased.";
    assert_eq!(send().await["messages"][0]["content"], told);
}
