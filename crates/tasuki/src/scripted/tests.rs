//! The scenes, event by event, for every answer; and that the user's words are never repeated.

use std::collections::HashSet;
use std::fmt::Write;

use aaep::event::Decision;
use aaep::lint::{Heard, Texts, lint};
use aaep::machine::{Audience, Lasts, Phase, Response, Session, Used, Weak};
use aaep::read::read;
use engine::ports::ids::SeededIds;

use super::closing::{Cut, closing};
use super::*;

/// Every way through every scene. `check` sees all events of a session, in their order.
fn every_way(check: &mut dyn FnMut(&str, &[Value])) {
    for (words, replies) in WAYS {
        let name = format!("{words} / {replies:?}");
        check(&name, &play(words, replies));
    }
}

const WAYS: &[(&str, &[Reply<'static>])] = &[
    ("What is my balance?", &[]),
    ("Transfer 500 dollars", &[Reply::Accept]),
    ("Transfer 500 dollars", &[Reply::Reject]),
    ("Transfer 500 dollars", &[Reply::TimedOut]),
    ("Book a table", &[Reply::Answer("18:00")]),
    ("Book a table", &[Reply::Answer("19:30")]),
    ("Book a table", &[Reply::Answer("21:00")]),
    ("Book a table", &[Reply::TimedOut]),
    ("Write a report", &[]),
    ("Will it fail?", &[]),
    ("Get me a person", &[]),
    ("Sing a song", &[]),
    ("Send an email to Maria", &[Reply::Accept]),
    ("Send an email to Maria", &[Reply::Reject]),
    ("Delete my files", &[Reply::Accept]),
    ("Delete my files", &[Reply::TimedOut]),
    ("Please confirm", &[Reply::Accept]),
    ("Please confirm", &[Reply::Reject]),
    ("What is the weather like?", &[]),
    ("Fetch the page", &[]),
    ("Ask me something", &[Reply::Answer("green")]),
    ("Wie wird das Wetter?", &[]),
    ("メールを送信して", &[Reply::Accept]),
    ("Pregúntame algo", &[Reply::Answer("red")]),
];

fn play(words: &str, replies: &[Reply<'_>]) -> Vec<Value> {
    let ids = SeededIds::new(7);
    let mut play = Play::new(words, Stage::default(), &ids);
    let mut replies = replies.iter();
    let mut events = Vec::new();
    loop {
        let now = Time::from_millis(1_790_000_000_000 + 250 * events.len() as i64);
        match play.next(&ids, now) {
            Next::Say(event) => events.push(event),
            Next::Wait(wait) => {
                let asked = events.last().expect("it asks before it waits");
                assert_eq!(asked["reply_token"], wait.reply_token.as_str());
                assert_eq!(asked["timeout_seconds"], wait.timeout_seconds);
                assert_eq!(play.waits_for(), Some(&wait));
                play.reply(*replies.next().expect("a reply for each question")).unwrap();
            }
            Next::Done => break,
        }
    }
    assert_eq!(replies.next(), None, "more replies than questions");
    events
}

#[test]
fn the_events_of_every_way_through() {
    let mut told = String::new();
    every_way(&mut |name, events| {
        writeln!(told, "{name}").unwrap();
        for event in events {
            let kind = event["type"].as_str().unwrap().strip_prefix("aaep:agent.").unwrap();
            let detail = match kind {
                "state.changed" => format!("{} → {}", event["from_state"], event["to_state"]),
                "tool.invoked" => format!("{} risk {}", event["tool"], event["risk_level"]),
                "tool.completed" => format!("{} {}", event["tool"], event["status"]),
                "output.streaming" => {
                    format!("{} at {} {}", event["chunk"], event["position"], event["complete"])
                }
                _ => event["summary_normal"].to_string(),
            };
            writeln!(told, "  {kind}: {}", detail.replace('"', "")).unwrap();
        }
    });
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("");
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("every_way", told));
}

/// The result of a call, the answer and the end say different things.
#[test]
fn no_text_is_said_twice() {
    every_way(&mut |name, events| {
        for language in words::languages() {
            let mut said = HashSet::new();
            let all = events.iter().filter_map(|event| said_in(event, language, choose(name).1));
            for text in all {
                assert!(said.insert(text), "{name}, in {language}: {text}");
            }
        }
    });
}

/// The text of an event that is no change of state, in a language.
fn said_in<'e>(event: &'e Value, language: &str, primary: &str) -> Option<&'e str> {
    let is_primary = language == primary;
    match event["type"].as_str()?.strip_prefix("aaep:agent.")? {
        "state.changed" => None,
        "output.streaming" if is_primary => event["chunk"].as_str().map(str::trim),
        "output.streaming" => {
            let translated = &event["extensions"]["tasuki"]["translations"][language];
            translated["sentences"].as_array()?.last()?["text"].as_str()
        }
        _ if is_primary => event["summary_normal"].as_str(),
        _ => event[format!("summary_normal_{language}")].as_str(),
    }
}

#[test]
fn the_transfer_has_the_shape_of_the_specification() {
    let events = play("transfer", &[Reply::Accept]);
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "aaep:agent.session.started",
            "aaep:agent.state.changed",
            "aaep:agent.tool.invoked",
            "aaep:agent.tool.completed",
            "aaep:agent.state.changed",
            "aaep:agent.state.changed",
            "aaep:agent.awaiting.confirmation",
            "aaep:agent.tool.invoked",
            "aaep:agent.tool.completed",
            "aaep:agent.state.changed",
            "aaep:agent.output.streaming",
            "aaep:agent.output.streaming",
            "aaep:agent.session.completed",
        ]
    );
    let (asked, called) = (&events[6], &events[7]);
    assert_eq!(asked["default_decision"], "reject");
    assert_eq!(asked["risk_level"], "high");
    assert_eq!(asked["irreversible"], true);
    assert_eq!(called["irreversible"], true);
    for name in ["tool_call_id", "action_hash"] {
        let of = |event: &Value| event["extensions"]["tasuki"][name].clone();
        assert_eq!(of(asked), of(called));
    }
    assert_eq!(asked["extensions"]["tasuki"]["tool_call_id"], called["tool_call_id"]);
    let action = "{\"arguments\":{\"amount\":500,\"currency\":\"USD\",\"from\":\"checking\",\
                  \"to\":\"savings\"},\"tool\":\"transfer_funds\"}";
    assert_eq!(
        asked["extensions"]["tasuki"]["action_hash"],
        canonical::hex(&canonical::sha256(&[action.as_bytes()]))
    );
}

#[test]
fn every_event_is_complete() {
    every_way(&mut |name, events| {
        for (number, event) in events.iter().enumerate() {
            check_document(name, number, event);
        }
        check_session(name, events);
    });
}

/// What every document must have.
fn check_document(name: &str, number: usize, event: &Value) {
    let at = format!("{name}, event {number}: {event}");
    let text = event.to_string();
    assert!(read(&text).is_ok(), "{at}: {:?}", read(&text).err());
    let has = |prefix: &str, field: &str| {
        let text = event[field].as_str().unwrap_or_default();
        let body = text.strip_prefix(prefix).unwrap_or_default();
        assert!(body.len() == 32 && body.bytes().all(|b| b.is_ascii_hexdigit()), "{field}, {at}");
    };
    has("evt_", "event_id");
    has("sess_", "session_id");
    assert_eq!(event["sequence_number"], number, "{at}");
    assert_eq!(event["aaep_version"], VERSION);
    assert_eq!(event["producer"]["agent_id"], AGENT_ID);
    assert_eq!(event["producer"]["agent_name"], AGENT_NAME);
    let primary = event["localization_hints"]["primary_language"].as_str().unwrap();
    assert_eq!(primary, choose(name).1, "{at}");
    assert_eq!(event["timestamp"].as_str().unwrap().len(), "2026-09-21T13:33:20.000Z".len());
    let kind = event["type"].as_str().unwrap().strip_prefix("aaep:agent.").unwrap();
    let is_critical =
        ["awaiting.", "handoff.", "session.errored"].iter().any(|c| kind.starts_with(c));
    assert_eq!(event["urgency"] == "critical", is_critical, "{at}");
    let is_extended = event.get("extensions").is_some();
    assert_eq!(event["@context"].is_array(), is_extended, "{at}");
    if kind != "output.streaming" {
        for language in event["localization_hints"]["available_languages"].as_array().unwrap() {
            let suffix = match language.as_str().unwrap() {
                own if own == primary => String::new(),
                other => format!("_{other}"),
            };
            let text = |level: &str| event[format!("summary_{level}{suffix}")].as_str();
            let normal = text("normal").unwrap_or_default();
            assert!(!normal.is_empty(), "{suffix}, {at}");
            let longest = text("detailed").unwrap_or(normal);
            let is_shorter = text("terse").is_some_and(|terse| terse.len() < longest.len());
            assert!(is_critical || is_shorter, "terse and detailed differ{suffix}, {at}");
        }
    }
    assert!(event.to_string().len() < 12 * 1024, "{at}");
}

/// The rules for a session as a whole, followed by the protocol's state machine with the given
/// answers.
fn check_session(name: &str, events: &[Value]) {
    let (session, _) = follow(name, events, events.len());
    assert_eq!(session.phase(), Phase::Over, "{name}");
    let kind = |event: &Value| event["type"].as_str().unwrap()["aaep:agent.".len()..].to_owned();
    assert_eq!(kind(&events[0]), "session.started", "{name}");
    let is_last =
        |kind: &str| ["session.completed", "session.errored", "session.cancelled"].contains(&kind);
    let ends: Vec<usize> =
        (0..events.len()).filter(|number| is_last(&kind(&events[*number]))).collect();
    assert_eq!(ends, [events.len() - 1], "{name}");
    let stamps: Vec<&str> = events.iter().map(|e| e["timestamp"].as_str().unwrap()).collect();
    assert!(stamps.is_sorted(), "{name}");
    let mut written = 0;
    for event in events.iter().filter(|event| kind(event) == "output.streaming") {
        assert_eq!(event["position"], written, "{name}");
        written += event["chunk"].as_str().unwrap().chars().count();
    }
}

/// The session after its first events, by the rules of the protocol, and the ids it has used.
fn follow(name: &str, events: &[Value], n_events: usize) -> (Session, Vec<Used>) {
    let mut session = Session::default();
    let mut uses = Vec::new();
    for (number, event) in events[..n_events].iter().enumerate() {
        if let Some(asked) = number.checked_sub(1).map(|before| &events[before])
            && asked.get("reply_token").is_some()
        {
            settle(&mut session, events, number);
        }
        add(&mut session, &mut uses, event, &format!("{name}, event {number}"));
    }
    (session, uses)
}

fn add(session: &mut Session, uses: &mut Vec<Used>, event: &Value, what: &str) {
    let text = event.to_string();
    let event = read(&text).unwrap_or_else(|flaws| panic!("{what}: {flaws:?}"));
    let earlier = uses.clone();
    let is_used = |one: &Used| earlier.contains(one);
    let at = Time::from_millis(1_790_000_000_000);
    let followed = session.follow(&event, at, Weak::Refused, &is_used, uses);
    assert!(followed.is_ok(), "{what}: {:?}", followed.err());
}

/// Gives the answer after which the session continues with this event, or lets it time out.
fn settle(session: &mut Session, events: &[Value], number: usize) {
    let (asked, next) = (&events[number - 1], &events[number]);
    let token = asked["reply_token"].as_str().unwrap();
    let due = session.pending()[0].due();
    let at = Time::from_millis(1_790_000_000_000);
    let is_late = events.last().is_some_and(|last| last["cancelled_by"] == "timeout");
    let settled = match asked["choices"].as_array() {
        _ if is_late => session.elapse(token, due, Audience::Able),
        Some(choices) => {
            session.answer(token, Response::Text(choices[0]["value"].as_str().unwrap()), at)
        }
        None if next["type"] == "aaep:agent.tool.invoked" => {
            session.resolve(token, Decision::Accept, at, Lasts::WithoutEnd)
        }
        None => session.resolve(token, Decision::Reject, at, Lasts::WithoutEnd),
    };
    settled.expect("the question is answered or times out");
}

#[test]
fn what_is_cut_off_anywhere_can_be_ended() {
    every_way(&mut |name, events| {
        for n_events in 1..events.len() {
            let (mut session, mut uses) = follow(name, events, n_events);
            let cut = Cut {
                session_id: events[0]["session_id"].as_str().unwrap(),
                agent_id: AGENT_ID,
                n_events: n_events as u64,
                ends: session.loose_ends(),
            };
            let ends = closing(&cut, &SeededIds::new(9), Time::from_millis(1_790_000_100_000));
            for (number, event) in ends.iter().enumerate() {
                let what = format!("{name}, cut after {n_events}, {number}");
                add(&mut session, &mut uses, event, &what);
            }
            assert_eq!(session.phase(), Phase::Over, "{name}, cut after {n_events}");
            assert_eq!(ends.last().unwrap()["cancelled_by"], "system");
        }
    });
}

#[test]
fn nothing_is_played_that_we_advise_against() {
    every_way(&mut |name, events| {
        let texts: Vec<String> = events.iter().map(Value::to_string).collect();
        let read: Vec<_> = texts.iter().map(|text| read(text).unwrap()).collect();
        let session: Vec<Heard<'_>> = read
            .iter()
            .zip(&texts)
            .map(|(event, text)| Heard { event, texts: Texts::read(text) })
            .collect();
        assert_eq!(lint(&session), [], "{name}");
    });
}

#[test]
fn whoever_listens_is_told_that_nothing_is_real() {
    every_way(&mut |name, events| {
        let suffix = if choose(name).1 == "en" { "" } else { "_en" };
        let started = events[0][format!("summary_normal{suffix}")].as_str().unwrap();
        let is_said = started.starts_with("Scripted demo: ");
        assert!(is_said && started.ends_with("Nothing here is real."), "{name}: {started}");
        assert_eq!(events[0][format!("summary_terse{suffix}")], "Demo, not real.", "{name}");
    });
    let events = play("Get me a person", &[]);
    let last = events.last().unwrap();
    assert_eq!(last["summary_normal"], "The demo is over. Nobody was called.");
}

#[test]
fn the_same_words_give_the_same_events() {
    every_way(&mut |name, events| {
        let (words, replies) =
            WAYS.iter().find(|(words, replies)| format!("{words} / {replies:?}") == name).unwrap();
        assert_eq!(play(words, replies), events, "{name}");
    });
}

#[test]
fn what_the_user_said_never_comes_back() {
    for secret in ["hunter2-8F3K", "\u{202E}drowssap", "<script>alert(1)</script>", "rpl_forged"] {
        for (words, replies) in WAYS {
            let hostile = format!("{words} {secret} {}", secret.repeat(2_000));
            let events = play(&hostile, replies);
            assert!(events.iter().all(|event| !event.to_string().contains(secret)), "{words}");
        }
    }
}

#[test]
fn only_an_answer_to_the_question_is_taken() {
    let ids = SeededIds::new(1);
    let now = Time::from_millis(0);
    let mut transfer = Play::new("transfer", Stage::default(), &ids);
    assert_eq!(transfer.reply(Reply::Accept), Err(NotTaken::NotAsked));
    let (_, wait) = transfer.run(&ids, now);
    assert_eq!(transfer.reply(Reply::Answer("accept")), Err(NotTaken::NotADecision));
    assert_eq!(transfer.next(&ids, now), Next::Wait(wait.unwrap()));
    transfer.reply(Reply::Reject).unwrap();
    assert_eq!(transfer.reply(Reply::Accept), Err(NotTaken::NotAsked));
    let (events, wait) = transfer.run(&ids, now);
    assert_eq!(wait, None);
    assert!(events.iter().all(|event| event["type"] != "aaep:agent.tool.invoked"));
    assert_eq!(transfer.next(&ids, now), Next::Done);

    let mut booking = Play::new("book", Stage::default(), &ids);
    booking.run(&ids, now);
    for wrong in [Reply::Answer("17:00"), Reply::Answer(""), Reply::Accept, Reply::Reject] {
        assert_eq!(booking.reply(wrong), Err(NotTaken::NotAChoice));
    }
    assert_eq!(booking.waits_for().map(|wait| wait.kind), Some(WaitKind::Clarification));
}

#[test]
fn a_clock_that_goes_back_does_not_take_the_session_along() {
    let ids = SeededIds::new(1);
    let mut play = Play::new("hello", Stage::default(), &ids);
    let Next::Say(first) = play.next(&ids, Time::from_millis(5_000)) else { panic!("it begins") };
    let Next::Say(second) = play.next(&ids, Time::from_millis(4_000)) else { panic!("it goes on") };
    assert_eq!(first["timestamp"], second["timestamp"]);
}

#[test]
fn the_conversation_is_named_once() {
    let ids = SeededIds::new(1);
    let stage = Stage {
        agent_id: "bank-bot".to_owned(),
        conversation_id: Some("c1".to_owned()),
        timeout_seconds: None,
    };
    let (events, _) = Play::new("hello", stage, &ids).run(&ids, Time::from_millis(0));
    let is_named = |event: &&Value| event["extensions"]["tasuki"]["conversation_id"].is_string();
    assert_eq!(events.iter().filter(is_named).count(), 1);
    assert_eq!(events[0]["extensions"]["tasuki"]["conversation_id"], "c1");
    assert_eq!(events[0]["producer"]["agent_id"], "bank-bot");
}

#[test]
fn the_scene_is_chosen_by_words_of_several_languages() {
    for (words, scene) in [
        ("What's my BALANCE?", Scene::Balance),
        ("¿Cuál es mi saldo?", Scene::Balance),
        ("残高を教えて", Scene::Balance),
        ("Bitte überweisen Sie 500 Euro", Scene::Transfer),
        ("Bitte ÜBERWEISEN", Scene::Transfer),
        ("500ドルを送金して", Scene::Transfer),
        ("Je voudrais faire un virement", Scene::Transfer),
        ("Mo fẹ́ fi owó ránṣẹ́", Scene::Transfer),
        ("transfer me to a human", Scene::Person),
        ("Quiero hablar con una persona", Scene::Person),
        ("担当者につないでください", Scene::Person),
        ("Mo fẹ́ bá ènìyàn sọ̀rọ̀", Scene::Person),
        ("Réserver une table", Scene::Booking),
        ("予約したい", Scene::Booking),
        ("Einen langen Bericht bitte", Scene::Report),
        ("my booking failed", Scene::Failure),
        ("notable events", Scene::Other),
        ("accessible", Scene::Other),
        ("", Scene::Other),
        ("Send an email to Bob", Scene::Email),
        ("send $50 to Bob", Scene::Transfer),
        ("Buy me a ticket", Scene::Transfer),
        ("Delete my account", Scene::Delete),
        ("Bitte alle Dateien löschen", Scene::Delete),
        ("削除して", Scene::Delete),
        ("What's the weather tomorrow?", Scene::Weather),
        ("¿Qué tiempo hará?", Scene::Weather),
        ("fetch the latest news", Scene::Fetch),
        ("ask me something", Scene::Ask),
        ("Pose-moi une question", Scene::Ask),
        ("confirm", Scene::Confirm),
        ("Book a flight", Scene::Booking),
        ("Hello!", Scene::Other),
    ] {
        assert_eq!(choose(words).0, scene, "{words}");
    }
    for (words, language) in [
        ("Bonjour", "fr"),
        ("¿Cuál es mi saldo?", "es"),
        ("Wie ist das Wetter?", "de"),
        ("残高を教えて", "ja"),
        ("Mo fẹ́ fi owó ránṣẹ́", "yo"),
        ("What is this?", "en"),
    ] {
        assert_eq!(choose(words).1, language, "{words}");
    }
}

#[test]
fn a_greeting_is_short_and_what_cannot_be_undone_is_asked() {
    assert!(play("Hello", &[]).len() <= 5);
    every_way(&mut |name, events| {
        for (at, event) in events.iter().enumerate() {
            if event["irreversible"] == true && event["type"] == "aaep:agent.tool.invoked" {
                let is_asked = events[..at].iter().any(|it| it["default_decision"] == "reject");
                assert!(is_asked, "{name}: {event}");
            }
        }
    });
}

/// A listener is asked in its own language, whatever the language of the session.
#[test]
fn questions_are_in_every_language() {
    every_way(&mut |name, events| {
        for event in events.iter().filter(|event| event.get("reply_token").is_some()) {
            let primary = choose(name).1;
            let translations = &event["extensions"]["tasuki"]["translations"];
            for language in words::languages().filter(|language| *language != primary) {
                let texts = &translations[language];
                for field in ["action", "consequence", "question", "context"] {
                    let (own, other) = (&event[field], &texts[field]);
                    assert_eq!(own.is_string(), other.is_string(), "{name}, {language}, {field}");
                    assert!(own.is_null() || own != other, "{name}, {language}, {field}");
                }
                for choice in event["choices"].as_array().into_iter().flatten() {
                    let label = &texts["choices"][choice["value"].as_str().unwrap()];
                    assert!(label.is_string() && *label != choice["label"], "{name}, {language}");
                }
            }
        }
    });
}
