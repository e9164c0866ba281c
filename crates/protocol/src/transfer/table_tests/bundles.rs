//! The bundles of conversations that people pass on.

use serde_json::{Value, json};

use super::world::World;
use crate::transfer::bundle::WARM_CONTEXT_BYTES_MAX;

/// A person sees the newest bundle, and each event names its bundle.
#[test]
fn what_a_person_takes_along_is_what_the_next_one_sees() {
    let context = |summary: &str| json!({ "summary": summary }).to_string();
    let (first, second) = (context("first"), context("second"));
    let mut world = World::script(&[
        "shop open agent=bob => idle bob@1",
        &format!("bob request epoch=1 reason=angry context={first} => queued support@2"),
    ]);
    let seen = |world: &World| {
        let transfer = world.conversation().transfer.clone().expect("it was asked for");
        let bundle = transfer.bundle().cloned();
        let summary = bundle.as_ref().and_then(|bundle| bundle.transcript_summary.clone());
        let reason = bundle.as_ref().and_then(|bundle| bundle.reason.clone());
        assert_eq!(reason.as_deref().unwrap_or_default(), transfer.reason());
        format!("{} {reason:?} {summary:?}", transfer.kind().as_str())
    };
    let id = |world: &World| world.conversation().transfer.as_ref().expect("it was asked for").id;
    assert_eq!(seen(&world), r#"bot_to_human Some("angry") Some("first")"#);
    world.check("hana answer epoch=2 => connected hana@3");
    assert_eq!(world.bodies[1]["bundle_id"], format!("{}-0", id(&world)));
    let leg = format!("hana transfer to=ivan type=warm reason=tax context={second} epoch=3");
    world.check(&format!("{leg} => connected hana@3"));
    assert_eq!(seen(&world), r#"bot_to_human Some("angry") Some("first")"#);
    world.check("ivan accept epoch=3 => connected ivan@4");
    assert_eq!(world.bodies[0]["bundle_id"], format!("{}-1", id(&world)));
    assert_eq!(seen(&world), r#"warm Some("tax") Some("second")"#);
    // A person who answers after another one was lost has the newest one, too.
    world.check("system lose agent=ivan => queued support@5");
    world.check("hana answer epoch=5 => connected hana@6");
    assert_eq!(world.bodies[1]["bundle_id"], format!("{}-1", id(&world)));
    assert_eq!(seen(&world), r#"warm Some("tax") Some("second")"#);
    world.check("hana transfer to=bills type=blind reason=gone epoch=6 => queued bills@8");
    let transfer = world.conversation().transfer.as_ref().expect("it was asked for");
    assert_eq!((transfer.reason(), transfer.bundle()), ("gone", None));
    world.erase(2);
    let transfer = world.conversation().transfer.as_ref().expect("it was asked for");
    assert_eq!((transfer.reason(), transfer.bundle()), ("", None));
}

/// The bundle has every field, under the names that platforms know.
#[test]
fn the_person_knows_what_happened_before() {
    let context = json!({
        "summary": "wants a refund", "warm_context": { "goal": "refund" },
        "voice": { "sipUri": "sip:1@x", "callerId": "+34", "codec": "opus", "dtmfSupported": true },
        "custom_attributes": { "vip": true, "orders": 3, "tier": "gold" },
    });
    let context = context.to_string().replace(", ", ",").replace("wants a refund", "refund");
    let world = World::script(&[
        r#"shop open agent=bob customer={"name":"Ana","external_id":"c7"} => idle bob@1"#,
        "customer say => idle bob@1",
        &format!("bob request epoch=1 type=warm context={context} => queued support@2"),
    ]);
    let bundle = &world.bodies[0]["bundle"];
    assert_eq!(bundle["transferType"], "warm");
    assert_eq!(bundle["identity"]["kind"], "authenticated");
    assert_eq!(bundle["identity"]["displayName"], "Ana");
    assert_eq!(
        (&bundle["messageCount"], &bundle["transcriptSummary"]),
        (&json!(1), &json!("refund"))
    );
    assert_eq!(bundle["transcriptDigest"].as_str().map(str::len), Some(64));
    for field in ["bundleId", "sessionId", "warmContext", "voice", "customAttributes", "createdAt"]
    {
        assert!(!bundle[field].is_null(), "{field}");
    }
    for (voice, field) in [
        (json!(["http://x", "+34", "opus", true]), "context.voice.sipUri"),
        (json!(["sip:", "+34", "opus", true]), "context.voice.sipUri"),
        (json!(["sip:1@x", "", "opus", true]), "context.voice.callerId"),
        (json!(["sips:1@x", "+34", "mp3", true]), "context.voice.codec"),
    ] {
        let voice = json!({
            "sipUri": voice[0], "callerId": voice[1], "codec": voice[2], "dtmfSupported": voice[3],
        });
        let asked = format!("bob request epoch=1 context={}", json!({ "voice": voice }));
        let shown = World::script(&["shop open agent=bob => idle bob@1"]).line(&asked);
        assert_eq!(shown, format!("invalid {field}"), "{voice}");
    }
    // A field that is wrong is named before the rule that a blind transfer takes no context.
    let wrong = json!({ "voice": { "sipUri": "http://x", "callerId": "+34", "codec": "opus",
        "dtmfSupported": true } });
    let large = json!({ "warm_context": { "a": "x".repeat(WARM_CONTEXT_BYTES_MAX) } });
    let fine = json!({ "summary": "refund" });
    for (context, field) in
        [(wrong, "context.voice.sipUri"), (large, "context.warm_context"), (fine, "context")]
    {
        let asked = format!("bob request epoch=1 type=blind context={context}");
        let shown = World::script(&["shop open agent=bob => idle bob@1"]).line(&asked);
        assert_eq!(shown, format!("invalid {field}"));
    }
    let mut world = world;
    world.erase(2);
    let terms = &world.conversation().transfer.as_ref().expect("it was asked for").terms;
    assert_eq!(terms.bundle, None, "what was said about the customer is erased with it");
    let blind = World::script(&[
        "shop open agent=bob => idle bob@1",
        "bob request epoch=1 type=blind => queued support@2",
    ]);
    assert_eq!(blind.bodies[0].get("bundle"), None::<&Value>);
}
