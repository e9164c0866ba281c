//! Announcements about a transfer and a route: each event keeps the rules, in every language, and
//! reveals nothing that is for colleagues only.

use std::path::Path;

use serde_json::Value;

use aaep::STATES;

use super::*;
use crate::narrator::texts::catalogues;
use crate::step::Event;
use crate::time::Span;
use crate::{codec, transfer};
use aaep::lint::{Heard, Texts, lint};
use aaep::machine::{self, Weak};
use aaep::read::read;

/// A recorded event from a golden file.
fn golden(name: &str) -> conversation::Event {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/{name}.json"));
    let text = std::fs::read_to_string(path).expect("a golden file");
    let kept: Value = serde_json::from_str(&text).expect("JSON");
    let body = kept["body"].to_string();
    match codec::decode(kept["name"].as_str().expect("a name"), 1, &body) {
        Ok(Event::Conversation(event)) => event,
        other => panic!("{name}: {other:?}"),
    }
}

fn conversation() -> Conversation {
    let id = "01938c2e-0000-7000-8000-000000000001".parse().expect("an id");
    let opened = golden("conversation.opened.v1.most");
    conversation::evolve(id, None, &opened, Time::from_millis(0)).expect("it opens")
}

/// The announcements about a story, event after event, all of them valid.
fn heard(story: &[&str], actor: &str, asked: Option<&HandoverRequest>) -> Vec<Value> {
    heard_in_line(story, actor, asked, None)
}

fn heard_in_line(
    story: &[&str],
    actor: &str,
    asked: Option<&HandoverRequest>,
    line: Option<QueuePlace>,
) -> Vec<Value> {
    let conversation = conversation();
    let names = BTreeMap::from([("hana".parse().expect("a name"), "Hana \u{202e}B".to_owned())]);
    let mut session = machine::Session::default();
    let mut state: Option<String> = None;
    let mut heard = Vec::new();
    for (at, name) in story.iter().enumerate() {
        let event = golden(name);
        let hash = canonical::sha256(&[name.as_bytes(), &[u8::try_from(at).expect("short")]]);
        // People take their time.
        let at = Time::from_millis(60_000 * i64::try_from(at).expect("short"));
        let (conversation, names, hash) = (&conversation, &names, &hash);
        let cause = Cause { conversation, at, hash, actor, names, asked, line };
        let Some(told) = cause.told(&event, state.as_deref()) else { continue };
        state = Some(told.state);
        for text in told.events {
            let event = read(&text).unwrap_or_else(|flaws| panic!("{flaws:?} {text}"));
            let followed = session.follow(&event, at, Weak::default(), &|_| false, &mut Vec::new());
            followed.unwrap_or_else(|flaw| panic!("{flaw:?} {text}"));
            heard.push(serde_json::from_str(&text).expect("JSON"));
        }
    }
    heard
}

/// Each event in a few words.
fn words(heard: &[Value]) -> Vec<String> {
    let text = |event: &Value, name: &str| event[name].as_str().unwrap_or_default().to_owned();
    let word = |event: &Value| {
        let kind = text(event, "type").replace("aaep:agent.", "");
        let more = ["to_state", "target_uri", "cancelled_by"];
        let more = more.iter().map(|name| text(event, name)).find(|text| !text.is_empty());
        format!("{kind} {}", more.unwrap_or_default()).trim().to_owned()
    };
    heard.iter().map(word).collect()
}

const ASKED: &str = "transfer.requested.v1.most";

#[test]
fn a_transfer_is_told_from_its_request_to_its_end() {
    let story = [
        ASKED,
        "transfer.queued.v1.least",
        "transfer.noted.v1.least",
        "transfer.connected.v1.least",
        "transfer.noted.v1.whispered",
        "transfer.leg_requested.v1.most",
        "transfer.held.v1.least",
        "transfer.resumed.v1.least",
        "transfer.over.v1.most",
    ];
    let heard = heard(&story, "agent:hana", None);
    assert_eq!(
        words(&heard),
        [
            "session.started",
            "state.changed handing_off",
            "handoff.requested queue://support",
            "state.changed waiting",
            "state.changed connected",
            "state.changed on_hold",
            "state.changed connected",
            "session.completed",
        ]
    );
    for event in &heard {
        for one in catalogues().iter().filter(|one| one.language != "es") {
            let name = format!("summary_normal_{}", one.language);
            assert!(event[&name].is_string(), "{name}: {event}");
        }
        assert_eq!(event["localization_hints"]["primary_language"], "es");
        assert!(!event.to_string().contains('\u{202e}'), "{event}");
    }
    let joined = heard[4]["summary_normal"].as_str().expect("a text");
    assert!(joined.contains("Hana B"), "{joined}");
}

#[test]
fn how_it_ends_is_told_and_not_why() {
    for (over, actor, expected) in [
        ("cancelled", "customer:c", "session.cancelled user"),
        ("cancelled", "agent:bob", "session.cancelled system"),
        ("failed", "system", "session.cancelled timeout"),
        ("failed", "operator:root", "session.cancelled system"),
        ("ended", "agent:hana", "session.completed"),
    ] {
        let over = format!("transfer.over.v1.{over}");
        let heard = heard(&[ASKED, "transfer.queued.v1.most", &over], actor, None);
        let words = words(&heard);
        assert_eq!(words.last().map(String::as_str), Some(expected), "{over} by {actor}");
    }
}

/// Our own sessions have no lint findings, and nothing is announced twice.
#[test]
fn what_we_announce_is_as_we_advise() {
    let whole = [
        ASKED,
        "transfer.queued.v1.least",
        "transfer.ringing.v1.least",
        "transfer.returned.v1.not_answered",
        "transfer.queued.v1.most",
        "transfer.connected.v1.least",
        "transfer.held.v1.least",
        "transfer.resumed.v1.least",
    ];
    let ends = ["most", "cancelled", "failed", "ended"].map(|it| format!("transfer.over.v1.{it}"));
    let mut stories: Vec<Vec<&str>> = vec![vec!["conversation.routed.v1.most"]];
    stories.push(vec!["callback.asked.v1.most"]);
    stories.extend(ends.iter().map(|end| whole.iter().copied().chain([end.as_str()]).collect()));
    for story in stories {
        let heard = heard(&story, "agent:hana", None);
        let texts: Vec<String> = heard.iter().map(Value::to_string).collect();
        let events: Vec<_> = texts.iter().map(|text| read(text).expect("by the rules")).collect();
        let session: Vec<Heard<'_>> = events
            .iter()
            .zip(&texts)
            .map(|(event, text)| Heard { event, texts: Texts::read(text) })
            .collect();
        assert_eq!(lint(&session), [], "{story:?}");
        for pair in heard.windows(2) {
            assert_ne!(pair[0]["summary_normal"], pair[1]["summary_normal"], "{story:?}");
        }
    }
}

/// A person who answered and was lost is not one who has not answered.
#[test]
fn a_lost_person_is_named() {
    for (why, expected) in [
        ("returned.v1.not_answered", "Todavía no ha respondido nadie."),
        ("returned.v1.agent_lost", "Ya no es posible contactar con \u{2068}Hana B\u{2069}."),
        ("returned.v1.blind", "\u{2068}Hana B\u{2069} ha pasado la conversación y se ha ido."),
        ("passed_on.v1.most", "\u{2068}Hana B\u{2069} ha pasado la conversación y se ha ido."),
    ] {
        let returned = format!("transfer.{why}");
        let heard = heard(&[ASKED, "transfer.queued.v1.least", &returned], "system", None);
        let told = heard.last().expect("it waits again")["summary_normal"].as_str();
        assert!(told.is_some_and(|it| it.starts_with(expected)), "{why}: {told:?}");
    }
}

#[test]
fn whoever_waits_hears_in_which_place_and_for_how_long() {
    let minutes =
        |from, to| EstimatedWait { from: Span::from_minutes(from), to: Span::from_minutes(to) };
    let queue = "support";
    for (line, expected) in [
        (None, Message::TransferWaiting { queue }),
        (Some(QueuePlace { place: 3, wait: None }), Message::TransferPlace { queue, place: 3 }),
        (
            Some(QueuePlace { place: 2, wait: Some(minutes(4, 15)) }),
            Message::TransferWait { queue, place: 2, least: 4, most: 15 },
        ),
    ] {
        let heard = heard_in_line(&[ASKED, "transfer.queued.v1.least"], "agent:bob", None, line);
        let last = heard.last().expect("it waits");
        assert_eq!(last["summary_normal"], expected.in_language("es").normal);
        assert_eq!(last["summary_normal_yo"], expected.in_language("yo").normal);
    }
}

#[test]
fn a_callback_is_told_without_where_and_why() {
    let heard = heard(&["callback.asked.v1.most", "callback.settled.v1.most"], "customer:c", None);
    assert_eq!(words(&heard), ["session.started", "session.completed"]);
    let conversation::Event::Callback(callback::Event::Asked(it)) =
        golden("callback.asked.v1.most")
    else {
        panic!("it was asked for")
    };
    let queue = it.queue.as_str();
    let arranged = Message::CallbackArranged { queue }.in_language("ja");
    assert_eq!(heard[1]["summary_normal_ja"], arranged.normal);
    let text = Value::from(heard).to_string();
    assert!(!text.contains(&it.contact) && !text.contains(&it.note), "{text}");
}

#[test]
fn each_state_of_ours_is_known_to_whoever_comes_later() {
    for state in STATES {
        let message = stands(state).unwrap_or_else(|| panic!("{state}"));
        assert_eq!(message.key(), format!("state_{state}"));
    }
    assert_eq!(stands("thinking"), None);
}

#[test]
fn nobody_is_said_to_have_ended_what_somebody_else_closed() {
    let story = [ASKED, "transfer.queued.v1.most", "transfer.over.v1.ended"];
    for actor in ["customer:c", "agent:coordinator", "operator:root"] {
        let heard = heard(&story, actor, None);
        let closed = Message::ConversationClosed.in_language("es").normal;
        assert_eq!(heard.last().expect("an end")["summary_normal"], closed, "{actor}");
    }
}

#[test]
fn whoever_answers_afterwards_is_named_in_every_language() {
    for over in ["most", "cancelled", "failed"] {
        let over = format!("transfer.over.v1.{over}");
        let heard = heard(&[ASKED, "transfer.queued.v1.most", &over], "agent:hana", None);
        let last = heard.last().expect("an end");
        for one in catalogues() {
            let name = match one.language {
                "es" => "summary_normal".to_owned(),
                other => format!("summary_normal_{other}"),
            };
            let text = last[&name].as_str().expect("a text");
            assert!(text.contains("\u{2068}bob\u{2069}"), "{over}: {text}");
        }
    }
}

#[test]
fn reasons_and_notes_are_for_colleagues() {
    let secrets: Vec<String> = [ASKED, "transfer.over.v1.most", "conversation.routed.v1.most"]
        .iter()
        .map(|name| golden(name))
        .flat_map(|event| {
            if let conversation::Event::Routed(it) = event {
                vec![it.reason, it.context]
            } else if let conversation::Event::Transfer(transfer::Event::Requested(it)) = event {
                vec![it.reason]
            } else if let conversation::Event::Transfer(transfer::Event::Over(it)) = event {
                vec![it.reason, it.summary]
            } else {
                panic!("{event:?}")
            }
        })
        .filter(|text| !text.is_empty())
        .collect();
    assert!(secrets.len() >= 3, "{secrets:?}");
    let stories: [&[&str]; 2] =
        [&[ASKED, "transfer.over.v1.most"], &["conversation.routed.v1.most"]];
    for story in stories {
        let text = Value::from(heard(story, "agent:hana", None)).to_string();
        for secret in &secrets {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

#[test]
fn whoever_begins_to_listen_late_is_told_where_it_stands() {
    let heard = heard(&["transfer.connected.v1.least"], "agent:hana", None);
    let expected =
        ["session.started", "state.changed handing_off", "handoff.requested queue://bob"];
    assert_eq!(words(&heard)[..3], expected, "the holder, if the queue is not known any more");
    assert_eq!(words(&heard)[3], "state.changed connected");
}

#[test]
fn a_route_is_a_session_of_its_own_and_says_who_asked_for_it() {
    let asked = HandoverRequest::parse("sess_a evt_1 routed").expect("a value");
    let heard = heard(&["conversation.routed.v1.most"], "agent:bob", Some(&asked));
    let expected = ["session.started", "handoff.requested agent://carol", "session.completed"];
    assert_eq!(words(&heard), expected);
    let link = &heard[1]["extensions"]["tasuki"];
    assert_eq!(
        (&link["requested_by_session"], &link["outcome"]),
        (&Value::from("sess_a"), &Value::from("routed"))
    );
    assert_eq!(heard[1]["target_kind"], "specialist_agent");
}

/// The announced reason is the sender's text for the customer, never a model's own reason.
#[test]
fn the_reason_that_is_heard_is_meant_for_the_customer() {
    for (event, expected) in [
        ("transfer.requested.v1.customer_text", Some("Hana knows more.")),
        (ASKED, None),
        ("conversation.routed.v1.customer_text", Some("Carol knows more about bills.")),
        ("conversation.routed.v1.most", None),
    ] {
        let heard = heard(&[event], "agent:bob", None);
        let is_request = |event: &&Value| event["type"] == "aaep:agent.handoff.requested";
        let request = heard.iter().find(is_request).expect("a request");
        let fixed = request["summary_normal"].as_str().expect("a sentence");
        assert_eq!(request["reason"], expected.unwrap_or(fixed), "{event}");
        let all = request.to_string();
        assert!(!all.contains("angry") && !all.contains("a bill from May"), "{all}");
    }
}
