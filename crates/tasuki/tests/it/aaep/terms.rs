//! The terms of a subscription: what is granted, what is refused, how they change and end, and what
//! each listener then hears.

use engine::aaep::listening::SESSIONS_LOOKED_AT_MAX;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tasuki::client::Call;

use super::bank::Bank;
use super::listener::{Listener, request, terms};
use crate::server::{ok, refused};

#[tokio::test]
async fn nobody_is_granted_more_than_they_asked_for() {
    let bank = Bank::open().await;
    let asked = json!({
        "max_events_per_second": 5, "languages": ["yo", "en-US"], "pace_wpm": 120,
        "supports_confirmation_reply": true, "supports_clarification_reply": false,
        "coalesce_boundaries": ["sentence", "completion"], "preferred_verbosity": "terse",
        "supported_extensions": ["urn:tasuki:aaep:v1", "https://example.org/other/v1"],
        "accept_signed_manifests_only": true,
    });
    let call = Call::post("/aaep/v1/subscriptions", request(&asked));
    let accepted = ok(&bank.dana, call).await;
    let honored = &accepted["honored_capabilities"];
    for (name, expected) in [
        ("max_events_per_second", json!(5)),
        ("supports_confirmation_reply", json!(true)),
        ("supports_clarification_reply", json!(false)),
        ("coalesce_boundaries", json!(["sentence", "completion"])),
        ("supported_extensions", json!(["urn:tasuki:aaep:v1"])),
        ("accept_signed_manifests_only", json!(true)),
    ] {
        assert_eq!(honored[name], expected, "{name}: {accepted}");
    }
    let signed = accepted["signed_manifest"].as_str().expect("it was demanded");
    assert_eq!(signed.split('.').count(), 3, "a compact JWS");
    // An agent listens too, but never decides.
    let yes = json!({ "supports_confirmation_reply": true });
    let call = Call::post("/aaep/v1/subscriptions", request(&yes));
    let accepted = ok(&bank.teller, call).await;
    assert_eq!(accepted["honored_capabilities"]["supports_confirmation_reply"], false);
}

#[tokio::test]
async fn a_refusal_says_why_in_the_words_of_the_protocol() {
    let bank = Bank::open().await;
    let mut later = request(&json!({}));
    later["aaep_version"] = "2.0.0".into();
    let twice = json!({ "supported_extensions": ["https://a.org/med/v1", "https://b.org/med/v1"] });
    let odd = json!({ "tasuki": { "session": "sess_1" } });
    let mut nameless = request(&json!({}));
    nameless["subscriber_id"] = Value::Null;
    for (request, status, reason) in [
        (later, 422, "version_unsupported"),
        (request(&twice), 422, "capabilities_incompatible"),
        (request(&odd), 422, "capabilities_incompatible"),
        (nameless, 422, "capabilities_incompatible"),
        (request(&json!({ "pace_wpm": 5 })), 422, "capabilities_incompatible"),
        (request(&json!({ "max_events_per_second": 0 })), 422, "capabilities_incompatible"),
    ] {
        let answer = refused(&bank.dana, Call::post("/aaep/v1/subscriptions", request)).await;
        assert_eq!((answer.status, &answer.body["reason_code"]), (status, &json!(reason)));
        assert_eq!(answer.body["type"], "subscription.rejected");
    }
    for (body, field) in [
        (json!({ "type": "subscription.close", "subscription_id": "sub_1" }), "type"),
        (json!({ "type": "subscription.renegotiate" }), "subscription_id"),
    ] {
        let answer = refused(&bank.dana, Call::post("/aaep/v1/subscriptions", body)).await;
        assert_eq!((answer.status, &answer.body["field"]), (422, &json!(field)), "{}", answer.body);
        let detail = answer.body["detail"].as_str().expect("a text");
        assert!(!detail.contains("events["), "it is no event: {detail}");
    }
    let stranger = refused(
        &bank.server.anonymous(),
        Call::post("/aaep/v1/subscriptions", request(&json!({}))),
    )
    .await;
    assert_eq!(stranger.status, 401);
}

#[tokio::test]
async fn terms_change_and_end() {
    let bank = Bank::open().await;
    let mut dana = Listener::open(bank.dana.clone(), &terms(json!({}))).await;
    let tools = json!({ "event_filters": { "exclude": ["aaep:agent.tool.*"] } });
    let change = json!({
        "type": "subscription.renegotiate", "subscription_id": dana.subscription,
        "capabilities": tools,
    });
    let accepted = dana.reply(&change).await;
    assert_eq!((accepted.status, &accepted.body["type"]), (200, &json!("subscription.accepted")));
    assert_eq!(
        accepted.body["honored_capabilities"]["supports_confirmation_reply"], true,
        "as before"
    );
    let by_omar = bank.server.agent("omar").call(Call::post("/aaep/v1/replies", change)).await;
    assert_eq!(by_omar.expect("an answer").status, 404, "a name is no credential");
    bank.announce(&bank.story.opening(300)).await;
    let mut heard = Vec::new();
    while heard.last() != Some(&json!("aaep:agent.awaiting.confirmation")) {
        heard.push(dana.next().await.expect("the stream goes on")["type"].clone());
    }
    assert!(!heard.iter().any(|kind| kind.as_str().is_some_and(|it| it.contains("tool"))));
    assert_eq!(heard.len(), 5, "{heard:?}");
    let close = json!({
        "type": "subscription.close", "subscription_id": dana.subscription,
        "reason_code": "subscriber_shutdown",
    });
    assert_eq!(dana.reply(&close).await.status, 204);
    let last = dana.next().await.expect("a farewell");
    assert_eq!(
        (&last["type"], &last["reason_code"]),
        (&json!("subscription.close"), &json!("subscriber_shutdown"))
    );
    assert_eq!(dana.next().await, None);
    let path = format!("/aaep/v1/events?subscription_id={}", dana.subscription);
    assert_eq!(refused(&bank.dana, Call::get(path)).await.status, 404);
}

#[tokio::test]
async fn each_hears_in_their_language_and_at_their_boundaries() {
    let bank = Bank::open().await;
    let yoruba = terms(json!({ "languages": ["yo"], "coalesce_boundaries": ["sentence"] }));
    let mut dana = Listener::open(bank.dana.clone(), &yoruba).await;
    let mut omar = Listener::open(bank.server.agent("omar"), &terms(json!({}))).await;
    let started = json!({
        "summary_normal": "The bank's agent is at work.",
        "summary_normal_yo": "Aṣojú báǹkì ń ṣiṣẹ́.",
    });
    let chunk = |number: u32, text: &str, position: usize, complete: bool| {
        let more = json!({ "chunk": text, "position": position, "complete": complete });
        bank.story.event(number, "output.streaming", more)
    };
    bank.announce(&[
        bank.story.event(1, "session.started", started),
        chunk(2, "Your bal", 0, false),
        chunk(3, "ance is $3. It", 8, false),
        chunk(4, " is fine.", 22, true),
        bank.story.event(5, "session.completed", json!({ "summary_normal": "Done." })),
    ])
    .await;
    let heard = dana.until_the_end().await;
    assert_eq!(heard[0]["summary_normal"], "Aṣojú báǹkì ń ṣiṣẹ́.");
    assert_eq!(heard[0]["localization_hints"]["primary_language"], "yo");
    let texts: Vec<_> = heard.iter().filter_map(|event| event["chunk"].as_str()).collect();
    assert_eq!(texts.concat(), "Your balance is $3. It is fine.");
    assert!(texts.len() < 3 && texts[0].starts_with("Your balance is $3."), "{texts:?}");
    let heard = omar.until_the_end().await;
    assert_eq!(heard.len(), 5);
    assert_eq!(heard[0]["summary_normal"], "The bank's agent is at work.");
}

#[tokio::test]
async fn whoever_comes_back_goes_on_where_they_were() {
    let bank = Bank::open().await;
    let mut dana = Listener::open(bank.dana.clone(), &terms(json!({}))).await;
    bank.announce(&bank.story.opening(300)).await;
    let second = [dana.next().await, dana.next().await].map(|event| event.expect("an event"));
    assert_eq!(second[1]["event_id"], "evt_2");
    let (client, subscription) = (dana.client.clone(), dana.subscription.clone());
    let places = [dana.place.clone().expect("a place"), "evt_2".to_owned()];
    drop(dana);
    for place in places {
        let place = Some(place);
        let mut again = Listener::resume(client.clone(), subscription.clone(), place.clone()).await;
        let next = again.next().await.expect("an event");
        assert_eq!(next["event_id"], "evt_3", "after {place:?}");
    }
}

#[tokio::test]
async fn whoever_comes_back_on_other_terms_is_asked_again() {
    let bank = Bank::open().await;
    let mut dana = Listener::open(bank.dana.clone(), &terms(json!({}))).await;
    bank.announce(&bank.story.opening(300)).await;
    let mut asked = dana.next().await.expect("an event");
    while asked["type"] != "aaep:agent.awaiting.confirmation" {
        asked = dana.next().await.expect("an event");
    }
    let place = dana.place.clone();
    let close = json!({
        "type": "subscription.close", "subscription_id": dana.subscription,
        "reason_code": "subscriber_shutdown",
    });
    assert_eq!(dana.reply(&close).await.status, 204);
    let mut fresh = Listener::open(bank.dana.clone(), &terms(json!({}))).await;
    fresh = Listener::resume(fresh.client.clone(), fresh.subscription.clone(), place).await;
    let again = fresh.next().await.expect("the question waits");
    assert_eq!(again["event_id"], asked["event_id"]);
    assert_ne!(again["reply_token"], asked["reply_token"], "a token is good where it was given");
    fresh.answer(&again, "accept").await;
    assert_eq!(bank.decision().await["decision"], "accept");
}

#[tokio::test]
async fn a_customer_hears_what_happens_in_their_conversation_and_nothing_else() {
    let bank = Bank::open().await;
    let open = json!({ "agent": "teller" });
    let opened = ok(&bank.operator, Call::post("/v1/conversations", open)).await;
    let conversation = opened["conversation_id"].as_str().expect("an id").to_owned();
    let customer = bank.server.with_token(opened["customer_token"].as_str().expect("a token"));
    let mut ann = Listener::open(customer, &terms(json!({}))).await;
    bank.announce(&bank.story.opening(300)).await;
    let mut hers = bank.story.opening(300);
    for event in &mut hers {
        event["session_id"] = "sess_ann".into();
    }
    hers[0]["@context"] = json!(["https://aaep-protocol.org/context/v1", "urn:tasuki:aaep:v1"]);
    hers[0]["extensions"] = json!({ "tasuki": { "conversation_id": conversation } });
    bank.announce(&hers).await;
    for expected in &hers[..6] {
        assert_eq!(ann.next().await.as_ref(), Some(expected), "only her own session");
    }
    let question = ann.next().await.expect("a question");
    ann.answer(&question, "accept").await;
    let path = "/aaep/v1/sessions/sess_ann/decisions/rpl_xyz?wait=20s";
    let decided = ok(&bank.teller, Call::get(path)).await;
    assert_eq!(decided["decision"], "accept", "the customer decides about her own money");
}

#[tokio::test]
async fn a_revoked_token_ends_a_stream_that_is_never_quiet() {
    let bank = Bank::open().await;
    let issued = ok(&bank.operator, Call::post("/v1/tokens", json!({ "agent": "dana" }))).await;
    let client = bank.server.with_token(issued["token"].as_str().expect("a token"));
    let mut dana = Listener::open(client, &terms(json!({}))).await;
    let started = json!({ "summary_normal": "It goes on and on." });
    bank.announce(&[bank.story.event(1, "session.started", started)]).await;
    dana.until("session.started").await;
    let id = issued["token_id"].as_str().expect("an id");
    ok(&bank.operator, Call::post(format!("/v1/tokens/{id}/revoke"), json!({}))).await;
    let mut number = 1;
    loop {
        number += 1;
        assert!(number < 5_000, "it hears everything, though its token is revoked");
        let mut event =
            bank.story.event(1, "progress.updated", json!({ "progress": { "percent": 5 } }));
        event["event_id"] = format!("evt_{number}").into();
        bank.announce(&[event]).await;
        if dana.next().await.is_none() {
            break;
        }
    }
}

#[tokio::test]
async fn who_was_told_nothing_comes_back_to_where_they_were() {
    let bank = Bank::open().await;
    let deaf = terms(json!({ "event_filters": { "exclude": ["aaep:agent.state.changed"] } }));
    let accepted = ok(&bank.dana, Call::post("/aaep/v1/subscriptions", request(&deaf))).await;
    let id = accepted["subscription_id"].as_str().expect("an id").to_owned();
    let mut dana = Listener::resume(bank.dana.clone(), id.clone(), None).await;
    let place = dana.greeted().await;
    drop(dana);
    bank.announce(&bank.story.opening(300)).await;
    let mut dana = Listener::resume(bank.dana.clone(), id, Some(place)).await;
    assert_eq!(dana.next().await.expect("an event")["event_id"], "evt_1", "nothing is missing");
}

/// A newcomer is told the open questions without a cursor, and gets one soon after: it may have to
/// come back to hear that they are settled.
#[tokio::test]
async fn a_newcomer_can_come_back() {
    let bank = Bank::open().await;
    bank.announce(&bank.story.opening(300)).await;
    let accepted =
        ok(&bank.dana, Call::post("/aaep/v1/subscriptions", request(&terms(json!({}))))).await;
    let id = accepted["subscription_id"].as_str().expect("an id").to_owned();
    let mut dana = Listener::resume(bank.dana.clone(), id.clone(), None).await;
    while dana.next().await.expect("an event")["type"] != "aaep:agent.awaiting.confirmation" {}
    let place = dana.greeted().await;
    drop(dana);
    let goes_on = json!({ "from_state": "thinking", "to_state": "deciding" });
    let opening = bank.story.opening(300);
    let mut next = opening[1].clone();
    next["event_id"] = "evt_next".into();
    next["timestamp"] = opening[6]["timestamp"].clone();
    next.as_object_mut().expect("an object").extend(goes_on.as_object().expect("one").clone());
    bank.announce(&[next]).await;
    let mut dana = Listener::resume(bank.dana.clone(), id, Some(place)).await;
    assert_eq!(dana.next().await.expect("an event")["event_id"], "evt_next");
}

#[tokio::test]
async fn a_teamspace_may_want_every_call_named_by_its_hash() {
    let bank = Bank::open().await;
    let strict = json!({ "settings": { "strong_consent_required": true } });
    ok(&bank.operator, Call::put("/v1/teamspace", strict)).await;
    let call = Call::post("/aaep/v1/events", json!(bank.story.opening(300)));
    let answer = refused(&bank.teller, call).await;
    let at = (&answer.body["rule"], &answer.body["field"], &answer.body["index"]);
    assert_eq!(at, (&json!("4.3.1"), &json!("extensions.tasuki.action_hash"), &json!(6)));
    let mut opening = bank.story.opening(300);
    opening[6]["@context"] = json!(["https://aaep-protocol.org/context/v1", "urn:tasuki:aaep:v1"]);
    opening[6]["extensions"] = json!({ "tasuki": { "action_hash": "ab".repeat(32) } });
    bank.announce(&opening).await;
}

#[tokio::test]
async fn a_newcomer_is_asked_what_waits_however_much_goes_on() {
    let bank = Bank::open().await;
    bank.announce(&bank.story.opening(300)).await;
    let begins = |number: usize| {
        let mut newer = bank.story.opening(300).remove(0);
        newer["session_id"] = format!("sess_newer{number}").into();
        Call::post("/aaep/v1/events", newer)
    };
    let newer =
        stream::iter(0..=SESSIONS_LOOKED_AT_MAX).map(|number| ok(&bank.teller, begins(number)));
    newer.buffer_unordered(32).collect::<Vec<_>>().await;
    let mut dana = Listener::open(bank.dana.clone(), &terms(json!({}))).await;
    assert_eq!(
        dana.next().await.expect("an event")["session_id"],
        bank.story.session,
        "it comes first"
    );
    let question = dana.next().await.expect("an event");
    assert_eq!(question["type"], "aaep:agent.awaiting.confirmation");
    dana.answer(&question, "accept").await;
    assert_eq!(bank.decision().await["decision"], "accept");
}
