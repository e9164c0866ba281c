//! Negotiation: tables of what is granted or refused, and random terms that are never looser than
//! asked.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::event::Verbosity;
use super::super::handshake::Handshake;
use super::*;

fn asked(document: Value) -> Capabilities {
    serde_json::from_value(document).expect("the test writes capabilities")
}

#[test]
fn what_is_granted() {
    let tools = "aaep:agent.tool.*";
    let able = Offer { may_confirm: true, can_sign: true, ..Offer::default() };
    let capped = Offer {
        rate_max: Some(5),
        languages: vec!["en-US".into(), "yo".into()],
        exclude: vec!["aaep:agent.tool.*".into()],
        ..Offer::default()
    };
    // name, offer, asked, granted
    let rows = [
        ("nothing asked, nothing named", &able, json!({}), json!({})),
        (
            "a cap holds for those who ask for more",
            &capped,
            json!({"max_events_per_second": 9}),
            json!({"max_events_per_second": 5, "event_filters": {"exclude": [tools]}}),
        ),
        (
            "and for those who say nothing",
            &capped,
            json!({}),
            json!({"max_events_per_second": 5, "event_filters": {"exclude": [tools]}}),
        ),
        (
            "the tag that was asked for is answered",
            &capped,
            json!({"max_events_per_second": 1, "languages": ["ja", "yo-NG", "en"],
                "event_filters": {"include": ["x:*"], "exclude": ["aaep:agent.tool.*"]}}),
            json!({"max_events_per_second": 1, "languages": ["yo-NG", "en"],
                "event_filters": {"include": ["x:*"], "exclude": ["aaep:agent.tool.*"]}}),
        ),
        (
            "no language that we have",
            &capped,
            json!({"languages": ["ja"], "max_events_per_second": 1}),
            json!({"max_events_per_second": 1, "event_filters": {"exclude": [tools]}}),
        ),
        (
            "replies as far as the token may",
            &able,
            json!({"supports_confirmation_reply": true, "supports_clarification_reply": true}),
            json!({"supports_confirmation_reply": true, "supports_clarification_reply": false}),
        ),
        (
            "no replies where none were offered",
            &able,
            json!({"supports_confirmation_reply": false}),
            json!({"supports_confirmation_reply": false}),
        ),
        (
            "signed manifests",
            &able,
            json!({"accept_signed_manifests_only": true}),
            json!({"accept_signed_manifests_only": true}),
        ),
        (
            "unknown extensions are passed over",
            &able,
            json!({"supported_extensions": ["https://x.org/med/v1", "urn:tasuki:aaep:v1"],
                "med": {"dose": 1}, "tasuki": {"session_id": "sess_1", "from": "beginning"}}),
            json!({"supported_extensions": ["urn:tasuki:aaep:v1"],
                "tasuki": {"session_id": "sess_1", "from": "beginning"}}),
        ),
    ];
    for (what, offer, request, expected) in rows {
        let honored = negotiate(&asked(request), offer).expect(what);
        assert_eq!(serde_json::to_value(honored).unwrap(), expected, "{what}");
    }
}

#[test]
fn what_is_refused_and_why() {
    let offer = Offer::default;
    let rows = [
        (
            json!({"accept_signed_manifests_only": true}),
            offer(),
            "manifest_signature_required",
            "no key",
        ),
        (
            json!({"languages": ["ja"]}),
            Offer { languages: vec!["en".into()], is_language_required: true, ..offer() },
            "capabilities_incompatible",
            "languages: expected one of en",
        ),
        (
            json!({"supported_conformance_levels": [3]}),
            Offer { levels: vec![1, 2], ..offer() },
            "capabilities_incompatible",
            "supported_conformance_levels: expected one of [1,2]",
        ),
        (
            json!({"supported_extensions": ["https://x.org/med/v1", "https://y.org/med/v2"]}),
            offer(),
            "capabilities_incompatible",
            "the prefix med is there twice",
        ),
        (json!({"tasuki": {"from": "yesterday"}}), offer(), "capabilities_incompatible", "tasuki"),
        (
            json!({"tasuki": {"sesion_id": "sess_1"}}),
            offer(),
            "capabilities_incompatible",
            "sesion_id",
        ),
        (
            json!({}),
            Offer { admission: Admission::Unknown, ..offer() },
            "authentication_required",
            "token",
        ),
        (
            json!({}),
            Offer { admission: Admission::Denied, ..offer() },
            "authorization_denied",
            "token",
        ),
        (
            json!({}),
            Offer { admission: Admission::Full { retry_after_seconds: 60 }, ..offer() },
            "rate_limit",
            "as many subscriptions",
        ),
        (
            json!({}),
            Offer { admission: Admission::Unavailable { retry_after_seconds: 5 }, ..offer() },
            "transport_unavailable",
            "stream",
        ),
    ];
    for (request, offer, code, words) in rows {
        let refusal = negotiate(&asked(request.clone()), &offer).expect_err(code);
        let document = json!(Handshake::Rejected(refusal.into()));
        assert_eq!(document["reason_code"], code, "{request}");
        let message = document["reason_message"].as_str().unwrap();
        assert!(message.contains(words), "{message:?} says {words:?}");
        let may_retry = matches!(code, "rate_limit" | "transport_unavailable");
        assert_eq!(document.get("retry_after_seconds").is_some(), may_retry);
    }
}

#[test]
fn versions() {
    for (asked, is_spoken) in [
        ("1.0.0", true),
        ("1.4.2", true),
        ("1.0.0-draft", true),
        ("0.1.0-draft", false),
        ("2.0.0", false),
        ("10.0.0", false),
        ("1", false),
        ("", false),
    ] {
        match version(asked) {
            Ok(ours) => assert!(is_spoken && ours == "1.0.0", "{asked}"),
            Err(refusal) => {
                assert!(!is_spoken, "{asked}");
                assert_eq!(refusal.reason_code, Reason::VersionUnsupported);
            }
        }
    }
}

#[test]
fn what_a_change_does_not_name_stays() {
    let offer = Offer { rate_max: Some(5), ..Offer::default() };
    let first = asked(json!({"max_events_per_second": 3, "languages": ["yo"],
        "tasuki": {"session_id": "sess_1"}}));
    let honored = negotiate(&first, &offer).unwrap();
    let change = asked(json!({"languages": ["de", "en"], "pace_wpm": 120}));
    assert_eq!(
        serde_json::to_value(renegotiate(&honored, &change, &offer).unwrap()).unwrap(),
        json!({"max_events_per_second": 3, "languages": ["de", "en"], "pace_wpm": 120,
            "tasuki": {"session_id": "sess_1"}})
    );
    let faster = asked(json!({"max_events_per_second": 100}));
    let after = renegotiate(&honored, &faster, &offer).unwrap();
    assert_eq!(after.max_events_per_second, Some(5));
}

#[test]
fn filters() {
    let rows: &[(Value, &[&str], &[&str])] = &[
        (
            json!({}),
            &["aaep:agent.tool.invoked", "aaep:agent.session.started"],
            &["med:alert", "aaep:x"],
        ),
        (
            json!({"include": ["aaep:agent.tool.*", "med:*"]}),
            &["aaep:agent.tool.invoked", "med:alert"],
            &["aaep:agent.state.changed", "aaep:agent.tool"],
        ),
        (
            json!({"exclude": ["aaep:agent.progress.updated"]}),
            &["aaep:agent.state.changed"],
            &["aaep:agent.progress.updated", "med:alert"],
        ),
        (
            json!({"include": ["aaep:agent.tool.invoked"], "exclude": ["aaep:agent.tool.*"]}),
            &[],
            &["aaep:agent.tool.invoked"],
        ),
        (json!({"include": ["*"]}), &["med:alert", "aaep:agent.tool.invoked"], &[]),
        (json!({"include": []}), &[], &["aaep:agent.tool.invoked"]),
    ];
    for (document, pass, stay) in rows {
        let filters: Filters = serde_json::from_value(document.clone()).unwrap();
        assert!(pass.iter().all(|name| filters.pass(name)), "{document} lets pass {pass:?}");
        assert!(!stay.iter().any(|name| filters.pass(name)), "{document} keeps back {stay:?}");
    }
}

fn capabilities() -> impl Strategy<Value = Capabilities> {
    let words = |all: &'static [&'static str]| {
        proptest::option::of(proptest::sample::subsequence(all.to_vec(), 0..=all.len()))
            .prop_map(|some| some.map(|all| all.into_iter().map(str::to_owned).collect::<Vec<_>>()))
    };
    let yes = || proptest::option::of(any::<bool>());
    let patterns: &[&str] =
        &["aaep:agent.*", "aaep:agent.tool.*", "aaep:agent.tool.invoked", "x:*", "*"];
    (
        (
            proptest::option::of(1..50u32),
            words(&["en", "en-US", "yo-NG", "ja", "de"]),
            yes(),
            yes(),
            yes(),
        ),
        proptest::option::of(proptest::sample::subsequence(Boundary::ALL, 1..=5)),
        proptest::option::of((words(patterns), words(patterns))),
        proptest::option::of(proptest::sample::subsequence(vec![1u8, 2, 3], 1..=3)),
        words(&["urn:tasuki:aaep:v1", "https://x.org/a/v1", "https://x.org/b/v1"]),
    )
        .prop_map(
            |((rate, languages, confirm, clarify, signed), boundaries, filters, levels, urls)| {
                Capabilities {
                    max_events_per_second: rate,
                    preferred_verbosity: rate.map(|_| Verbosity::Terse),
                    languages: languages.filter(|all| !all.is_empty()),
                    supports_confirmation_reply: confirm,
                    supports_clarification_reply: clarify,
                    accept_signed_manifests_only: signed,
                    coalesce_boundaries: boundaries,
                    event_filters: filters.map(|(include, exclude)| Filters { include, exclude }),
                    supported_conformance_levels: levels,
                    supported_extensions: urls,
                    others: [("x".to_owned(), json!({})), (EXTENSION.to_owned(), json!({}))]
                        .into_iter()
                        .collect(),
                    ..Capabilities::default()
                }
            },
        )
}

proptest! {
    #[test]
    fn nothing_granted_is_looser_than_asked(
        first in capabilities(),
        change in capabilities(),
        // An offer is made of the same parts.
        offered in capabilities(),
        (is_language_required, can_sign) in (any::<bool>(), any::<bool>()),
    ) {
        let offer = Offer {
            admission: Admission::Welcome,
            rate_max: offered.max_events_per_second,
            languages: offered.languages.unwrap_or_default(),
            is_language_required,
            boundaries: offered.coalesce_boundaries.unwrap_or_default(),
            levels: offered.supported_conformance_levels.unwrap_or_default(),
            extensions: offered.supported_extensions.unwrap_or_default(),
            may_confirm: offered.supports_confirmation_reply == Some(true),
            may_clarify: offered.supports_clarification_reply == Some(true),
            can_sign,
            exclude: offered.event_filters.and_then(|filters| filters.exclude).unwrap_or_default(),
        };
        let Ok(honored) = negotiate(&first, &offer) else { return Ok(()) };
        prop_assert!(is_no_looser(&honored, &first));
        if let Some(most) = offer.rate_max {
            prop_assert!(honored.max_events_per_second.is_some_and(|rate| rate <= most));
        }
        let Ok(after) = renegotiate(&honored, &change, &offer) else { return Ok(()) };
        let rate = change.max_events_per_second.or(honored.max_events_per_second);
        prop_assert!(rate.is_none_or(|rate| after.max_events_per_second.unwrap() <= rate));
        if let Some(asked) = &change.languages {
            prop_assert!(after.languages.iter().flatten().all(|one| asked.contains(one)));
        }
    }
}
