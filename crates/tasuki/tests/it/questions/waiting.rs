//! What waits for a human, who sees it, and who is told.

use std::process::Command;

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::{Desk, answer, ask, at, refund};
use crate::server::{offer, ok, refused};
use crate::sse::Stream;

/// The kinds and the words of what waits for a caller.
async fn waiting(client: &Client) -> Vec<(String, String)> {
    let page = ok(client, Call::get("/v1/questions?waiting_for=me")).await;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items = page["items"].as_array().expect("a list").iter();
    let words =
        |it: &Value| if it["text"].is_string() { text(&it["text"]) } else { text(&it["title"]) };
    items.map(|it| (text(&it["kind"]), words(it))).collect()
}

fn event(number: u32, kind: &str) -> Value {
    json!({
        "@context": "https://aaep-protocol.org/context/v1",
        "type": format!("aaep:agent.{kind}"),
        "event_id": format!("evt_{number}"),
        "session_id": "sess_1",
        "timestamp": "2026-05-24T14:22:01.000Z",
        "producer": { "agent_id": "bot" },
        "summary_normal": "What happens",
    })
}

#[tokio::test]
async fn all_that_waits_for_a_human_is_in_one_list() {
    let desk = Desk::open().await;
    ask(&desk.bot, refund()).await;
    let for_hana = ask(&desk.bot, json!({ "to": "hana", "text": "May I call?" })).await;
    let mut guarded = offer("T-guarded", "bob");
    guarded["policy"] = json!({ "human_gate": "required" });
    guarded["task"]["title"] = json!("Move the data");
    desk.server.agent("bob");
    ok(&desk.bot, Call::post("/v1/handoffs", guarded)).await;
    let mut clarifies = event(2, "awaiting.clarification");
    let more = [
        ("urgency", json!("critical")),
        ("question", json!("Which account?")),
        ("reply_token", json!("rpl_1")),
        ("timeout_seconds", json!(60)),
    ];
    for (name, value) in more {
        clarifies[name] = value;
    }
    let events = json!([event(1, "session.started"), clarifies]);
    ok(&desk.bot, Call::post("/aaep/v1/events", events)).await;

    let of = |kind: &str, text: &str| (kind.to_owned(), text.to_owned());
    let both = [
        of("approval", "Move the data"),
        of("confirmation", "Which account?"),
        of("question", "Refund order 7?"),
    ];
    assert_eq!(waiting(&desk.dana).await, both);
    let all = waiting(&desk.hana).await;
    assert_eq!(all, [&both[..], &[of("question", "May I call?")]].concat());
    for client in [&desk.bot, &desk.operator] {
        assert_eq!(waiting(client).await, []);
    }
    let page = ok(&desk.hana, Call::get("/v1/questions?waiting_for=me")).await;
    let answer_at = |index: usize| page["items"][index]["answer_at"].as_str().expect("a path");
    assert!(answer_at(0).starts_with("POST /v1/handoffs/") && answer_at(0).ends_with("/approve"));
    assert_eq!(answer_at(1), "POST /aaep/v1/sessions/sess_1/answer");
    assert_eq!(answer_at(3), format!("POST {}", at(&for_hana, "/answer")));

    // Pages have each question once, and the other kinds once.
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/v1/questions?waiting_for=me&limit=1{cursor}");
        let page = ok(&desk.hana, Call::get(path)).await;
        seen.extend(page["items"].as_array().expect("a list").clone());
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen.len(), 4);
    ok(&desk.hana, answer(&for_hana, "approve")).await;
    assert_eq!(waiting(&desk.hana).await, both);
}

/// A session of the bot that asks for a confirmation and for a clarification.
async fn ask_in_a_session(bot: &Client) {
    let mut confirms = event(2, "awaiting.confirmation");
    let more = [
        ("urgency", json!("critical")),
        ("action", json!("Wire 200 EUR")),
        ("consequence", json!("The money is gone")),
        ("reversibility", json!("irreversible")),
        ("default_decision", json!("reject")),
        ("reply_token", json!("rpl_1")),
        ("timeout_seconds", json!(60)),
    ];
    let mut clarifies = event(3, "awaiting.clarification");
    let others = [
        ("urgency", json!("critical")),
        ("question", json!("Which account?")),
        ("reply_token", json!("rpl_2")),
        ("timeout_seconds", json!(60)),
        ("accepted_response_kinds", json!(["multiple_choice"])),
        ("choices", json!([{ "value": "a", "label": "Giro" }, { "value": "b", "label": "Depot" }])),
    ];
    more.into_iter().for_each(|(name, value)| confirms[name] = value);
    others.into_iter().for_each(|(name, value)| clarifies[name] = value);
    let events = json!([event(1, "session.started"), confirms, clarifies]);
    ok(bot, Call::post("/aaep/v1/events", events)).await;
}

#[tokio::test]
async fn what_a_session_asks_is_answered_from_the_list() {
    let desk = Desk::open().await;
    ask_in_a_session(&desk.bot).await;
    let page = ok(&desk.hana, Call::get("/v1/questions?waiting_for=me")).await;
    let [confirmation, clarification] = [&page["items"][0], &page["items"][1]];
    assert_eq!(
        (&confirmation["wants"], &clarification["wants"]),
        (&json!("decision"), &json!("response"))
    );
    assert_eq!(confirmation["text"], "Wire 200 EUR");
    assert_eq!(confirmation["consequence"], "The money is gone");
    assert_eq!(confirmation["irreversible"], true);
    assert_eq!(clarification["choices"][1], json!({ "value": "b", "label": "Depot" }));
    assert!(!page.to_string().contains("rpl_"), "the token is the producer's: {page}");

    let path = "/aaep/v1/sessions/sess_1/answer";
    let answered = |event: &str, name: &str, given: Value| {
        let mut body = json!({ "event_id": event });
        body[name] = given;
        Call::post(path, body)
    };
    let carol = desk.server.agent("carol");
    for (client, call, code) in [
        (&desk.bot, answered("evt_2", "decision", json!("accept")), "not_allowed"),
        (&carol, answered("evt_2", "decision", json!("accept")), "not_found"),
        (&desk.hana, answered("evt_2", "response", json!("b")), "not_answered"),
        (&desk.hana, answered("evt_3", "response", json!("c")), "not_answered"),
        (&desk.hana, answered("evt_3", "response", json!("\u{200b}")), "schema_invalid"),
        (&desk.hana, answered("evt_9", "decision", json!("accept")), "not_answered"),
        (&desk.hana, answered("evt_2", "rationale", json!("why not")), "schema_invalid"),
    ] {
        assert_eq!(refused(client, call).await.body["code"], code);
    }
    for (call, expected) in [
        (answered("evt_2", "response", json!("b")), "expected `decision`: accept or reject"),
        (
            answered("evt_3", "response", json!("c")),
            "expected `response`: the value of one of the choices",
        ),
    ] {
        assert_eq!(refused(&desk.hana, call).await.body["detail"], expected);
    }
    let accepted = answered("evt_2", "decision", json!("accept"));
    let shown = ok(&desk.hana, accepted.clone()).await;
    assert_eq!(
        (&shown["decision"], &shown["answered_by"]),
        (&json!("accept"), &json!("agent:hana"))
    );
    assert!(shown["expires_at"].is_string() && shown["reply_token"].is_null(), "{shown}");
    assert_eq!(
        refused(&desk.dana, accepted).await.body["code"],
        "not_answered",
        "the first counts"
    );
    ok(&desk.dana, answered("evt_3", "response", json!("b"))).await;
    for (token, name, given) in [("rpl_1", "decision", "accept"), ("rpl_2", "response", "b")] {
        let path = format!("/aaep/v1/sessions/sess_1/decisions/{token}");
        let decided = ok(&desk.bot, Call::get(path)).await;
        assert_eq!((&decided["status"], &decided[name]), (&json!("answered"), &json!(given)));
    }
    assert_eq!(waiting(&desk.hana).await, []);
}

#[tokio::test]
async fn a_question_is_seen_by_those_it_concerns() {
    let desk = Desk::open().await;
    let carol = desk.server.agent("carol");
    let worker = desk.server.agent("w1");
    let mut question = refund();
    (question["to"], question["workers"]) = (json!("hana"), json!(["w1"]));
    let asked = ask(&desk.bot, question).await;
    for client in [&desk.bot, &desk.hana, &worker, &desk.operator] {
        ok(client, Call::get(at(&asked, ""))).await;
    }
    for client in [&carol, &desk.dana] {
        let unseen = refused(client, Call::get(at(&asked, ""))).await;
        assert_eq!(unseen.status, 404);
        let listed = ok(client, Call::get("/v1/questions")).await;
        assert_eq!(listed["items"], json!([]));
    }
    ok(&desk.hana, answer(&asked, "approve")).await;
    for (filter, n) in [
        ("status=answered", 1),
        ("status=open", 0),
        ("asker=bot", 1),
        ("asker=w1", 0),
        ("to_continue=true", 1),
    ] {
        let listed = ok(&worker, Call::get(format!("/v1/questions?{filter}"))).await;
        assert_eq!(listed["items"].as_array().map(Vec::len), Some(n), "{filter}");
    }
    let both = Call::get("/v1/questions?waiting_for=me&status=open");
    assert_eq!(refused(&worker, both).await.body["field"], "status");
}

/// Over HTTP; `notices::of_questions` plays every event.
#[tokio::test]
async fn those_who_are_asked_are_told_and_so_are_those_who_go_on() {
    let desk = Desk::open().await;
    let worker = desk.server.agent("w1");
    let mut question = refund();
    question["workers"] = json!(["w1", "bot"]);
    let asked = ask(&desk.bot, question).await;
    let told = async |client: &Client| {
        let notices = ok(client, Call::get("/v1/notices")).await;
        notices["questions"].as_array().map_or(Value::Null, |all| all[0]["kinds"].clone())
    };
    for client in [&desk.hana, &desk.dana] {
        assert_eq!(told(client).await, json!(["question_asked"]));
    }
    for client in [&desk.bot, &worker] {
        assert_eq!(told(client).await, Value::Null);
    }
    // A person of the queue who asks it is not told what it did itself.
    let second = Call::post("/v1/questions", refund());
    ok(&desk.hana, second).await;
    let n_told = async |client: &Client| {
        let notices = ok(client, Call::get("/v1/notices")).await;
        notices["questions"].as_array().map(Vec::len)
    };
    assert_eq!((n_told(&desk.hana).await, n_told(&desk.dana).await), (Some(1), Some(2)));
    ok(&desk.hana, answer(&asked, "approve")).await;
    for client in [&desk.bot, &worker] {
        assert_eq!(told(client).await, json!(["question_answered"]));
    }
    let mute = json!({ "kinds": ["question_asked"] });
    ok(&desk.hana, Call::put("/v1/notices/muted", mute)).await;
    assert_eq!(told(&desk.hana).await, Value::Null);
    let withdrawn = ask(&desk.bot, json!({ "to": "dana", "text": "Again?" })).await;
    ok(&desk.bot, Call::post(at(&withdrawn, "/withdraw"), json!({}))).await;
    let notices = ok(&desk.dana, Call::get("/v1/notices")).await;
    let id = &withdrawn["question_id"];
    let about = notices["questions"].as_array().expect("a list").iter();
    let about = about.filter(|it| it["question_id"] == *id).collect::<Vec<_>>();
    assert_eq!(about[0]["kinds"], json!(["question_asked", "question_withdrawn"]));
}

/// Who must act, until when, and what happens then: in every answer about a question.
#[tokio::test]
async fn every_answer_says_what_a_question_waits_for() {
    let desk = Desk::open().await;
    let worker = desk.server.agent("w1");
    let mut question = refund();
    question["workers"] = json!(["w1"]);
    question["default"] = json!({ "decision": "decline" });
    let asked = ask(&desk.bot, question).await;
    let open = json!([{
        "who": "queue:desk", "for": ["answer"], "since": asked["asked_at"],
        "until": asked["until"], "then": "defaults", "default": { "decision": "decline" },
    }]);
    assert_eq!(asked["waiting_for"], open);
    assert_eq!(ok(&desk.hana, Call::get(at(&asked, ""))).await["waiting_for"], open);
    for path in ["/v1/questions?waiting_for=me", "/v1/questions"] {
        let listed = ok(&desk.hana, Call::get(path)).await;
        assert_eq!(listed["items"][0]["waiting_for"], open, "{path}");
    }
    let notices = ok(&desk.dana, Call::get("/v1/notices")).await;
    assert_eq!(notices["questions"][0]["waiting_for"], open);
    for (client, n_questions) in [(&desk.hana, 1), (&desk.bot, 0)] {
        let status = ok(client, Call::get("/v1/acp/status")).await;
        assert_eq!(status["questions_for_you"], n_questions);
        let inbox = ok(client, Call::get("/v1/acp/inbox")).await;
        assert_eq!(inbox["n_questions_for_you"], n_questions);
    }
    let id = asked["question_id"].as_str().expect("an id");
    let events = format!("/v1/events?stream=question/{id}&after=0");
    let mut live = Stream::open(&desk.bot, &events, None).await;
    assert_eq!(live.next_entry().await.expect("an entry").data["waiting_for"], open);

    let answered = ok(&desk.hana, answer(&asked, "decline")).await;
    let unclaimed = json!([{
        "who": "worker", "for": ["claim"], "since": answered["settled_at"], "until": null,
        "then": "nothing",
    }]);
    assert_eq!(answered["waiting_for"], unclaimed);
    let notices = ok(&worker, Call::get("/v1/notices")).await;
    assert_eq!(notices["questions"][0]["waiting_for"], unclaimed);
    // Those who may claim it find it among what waits for them, until one of them does.
    let found = async |client: &Client| {
        let listed = ok(client, Call::get("/v1/questions?waiting_for=me")).await;
        let items = listed["items"].as_array().expect("a list").iter();
        items.map(|item| item["answer_at"].clone()).collect::<Vec<_>>()
    };
    let claim_at = json!(format!("POST /v1/questions/{id}/claim"));
    for (client, expected) in
        [(&desk.bot, vec![claim_at.clone()]), (&worker, vec![claim_at]), (&desk.hana, vec![])]
    {
        assert_eq!(found(client).await, expected);
    }
    let claim = ok(&worker, Call::post(at(&asked, "/claim"), json!({}))).await;
    assert!(found(&worker).await.is_empty() && found(&desk.bot).await.is_empty());
    let wait = &claim["question"]["waiting_for"][0];
    assert_eq!((&wait["who"], &wait["for"]), (&json!("agent:w1"), &json!(["finish", "renew"])));
    assert_eq!((&wait["until"], &wait["then"]), (&claim["until"], &json!("claim_lapses")));
    assert!(wait["since"].is_string() && wait.get("default").is_none(), "{wait}");
    let finish = Call::post(at(&asked, "/finish"), json!({ "epoch": 1 }));
    assert_eq!(ok(&worker, finish).await.get("waiting_for"), None);
}

#[tokio::test]
async fn the_command_line_asks_answers_and_goes_on() {
    let desk = Desk::open().await;
    let tokens = ["bot", "hana"].map(|name| desk.server.token(name, &[]));
    let run = |token: &str, args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_tasuki"))
            .args(args)
            .args(["--server", &format!("http://{}", desk.server.address())])
            .env("TASUKI_TOKEN", token)
            .output()
            .expect("the executable runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("a text")
    };
    let [bot, hana] = &tokens;
    let asked = run(
        bot,
        &[
            "question",
            "ask",
            "Refund order 7?",
            "--to",
            "hana",
            "--action",
            "refund",
            "--arguments",
            r#"{"order":7}"#,
            "--default",
            "decline",
            "--json",
        ],
    );
    let asked: Value = serde_json::from_str(&asked).expect("JSON");
    let id = asked["question_id"].as_str().expect("an id");
    let todo = run(hana, &["todo"]);
    assert!(todo.contains("Refund order 7?"), "{todo}");
    assert!(todo.contains("the default counts: decline"), "{todo}");
    assert!(run(hana, &["question", "list", "--mine"]).contains(id));
    let inbox = run(hana, &["inbox"]);
    assert!(inbox.contains("question_asked"), "{inbox}");
    assert!(inbox.contains("waits for agent:hana: answer; since"), "{inbox}");
    let shown = run(bot, &["question", "show", id]);
    assert!(shown.contains(", then the default counts: decline"), "{shown}");
    let answered = run(hana, &["question", "answer", id, "--approve", "--note", "once"]);
    assert!(answered.contains("agent:hana") && answered.contains("approve: once"), "{answered}");
    let shown = run(bot, &["question", "show", id]);
    assert!(shown.contains("unclaimed") && shown.contains("agent:bot: claim; since"), "{shown}");
    let claimed = run(bot, &["question", "claim", id]);
    assert!(claimed.contains(&format!("question-{id}")), "{claimed}");
    run(bot, &["question", "renew", id, "--epoch", "1", "--lease", "2m"]);
    let done = run(bot, &["question", "finish", id, "--epoch", "1", "--result", "refunded"]);
    assert!(done.contains("finished") && done.contains("refunded"), "{done}");
    assert_eq!(run(hana, &["todo"]), "nothing waits\n");

    let choice = ["question", "ask", "How much?", "--to", "hana", "--wants", "choose"];
    let options = ["--option", "all", "--option", "half", "--worker", "bot", "--reference", "r-7"];
    let asked = run(bot, &[&choice[..], &options].concat());
    run(hana, &["question", "answer", asked.trim_end(), "--choose", "half"]);
    let shown = run(bot, &["question", "show", asked.trim_end()]);
    for said in ["choose: half", "workers", "r-7"] {
        assert!(shown.contains(said), "{shown}");
    }

    ask_in_a_session(&desk.bot).await;
    assert!(run(hana, &["todo"]).contains("sess_1 --event evt_2"));
    let accept = ["question", "answer", "sess_1", "--event", "evt_2", "--approve"];
    assert_eq!(run(hana, &accept), "evt_2 accept\n");
    let choose = ["question", "answer", "sess_1", "--event", "evt_3", "--text", "b"];
    assert_eq!(run(hana, &choose), "evt_3 answered\n");
}
