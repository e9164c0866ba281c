//! Messages are written as they were read.

use serde_json::{Value, json};

use super::*;

#[test]
fn messages_come_back_as_they_were() {
    let token = "rpl_4f8a2e7d9c1b6a3f";
    for message in [
        json!({"type": "subscription.request", "aaep_version": "1.0.0", "subscriber_id": "reader",
            "capabilities": {"max_events_per_second": 3, "languages": ["yo-NG", "en"],
                "event_filters": {"exclude": ["aaep:agent.progress.updated"]},
                "supported_conformance_levels": [1, 2], "cognitive_load": "low", "pace_wpm": 180,
                "tasuki": {"conversation_id": "c-1", "n": 5.0}}}),
        json!({"type": "subscription.accepted", "subscription_id": "sub_1", "aaep_version": "1.0.0",
            "producer": {"agent_id": "planner"}, "honored_capabilities": {}}),
        json!({"type": "subscription.rejected", "reason_code": "rate_limit",
            "reason_message": "Too many.", "retry_after_seconds": 30}),
        json!({"type": "subscription.renegotiate", "subscription_id": "sub_1",
            "capabilities": {"preferred_verbosity": "terse"}}),
        json!({"type": "subscription.close", "subscription_id": "sub_1",
            "reason_code": "subscriber_shutdown", "reason_message": "Bye."}),
        json!({"type": "confirmation.reply", "reply_token": token, "decision": "accept",
            "subscription_id": "sub_1", "timestamp": "2026-05-24T14:22:24.812Z",
            "modified_action": {"amount": 400}}),
        json!({"type": "clarification.reply", "reply_token": token, "response": "65",
            "subscription_id": "sub_1", "timestamp": "2026-05-24T14:22:24Z", "confidence": 0.5}),
        json!({"type": "clarification.reply", "reply_token": token, "response": 65.5,
            "subscription_id": "sub_1", "timestamp": "2026-05-24T14:22:24Z"}),
        json!({"type": "clarification.reply", "reply_token": token, "response": true,
            "subscription_id": "sub_1", "timestamp": "2026-05-24T14:22:24+01:00"}),
    ] {
        let read = read_handshake(&message.to_string()).unwrap();
        assert_eq!(read.name(), message["type"]);
        assert_eq!(serde_json::from_str::<Value>(&read.write()).unwrap(), message);
    }
}

#[test]
fn whole_numbers_may_have_a_dot() {
    let request = r#"{"type": "subscription.request", "aaep_version": "1.0.0",
        "subscriber_id": "r", "capabilities": {"max_events_per_second": 5.0,
        "supported_conformance_levels": [1.0]}}"#;
    let Handshake::Request(request) = read_handshake(request).unwrap() else { panic!() };
    assert_eq!(request.capabilities.max_events_per_second, Some(5));
    assert_eq!(request.capabilities.supported_conformance_levels, Some(vec![1]));
}

#[test]
fn what_is_no_message_is_told_apart() {
    for (text, rule, field) in [
        ("{", "json", "document"),
        ("[]", "type", "document"),
        (r#"{"type": "subscription.ask"}"#, "const", "type"),
        (r#"{"type": 5}"#, "const", "type"),
        ("{}", "const", "type"),
        (r#"{"type": "subscription.close"}"#, "required", "subscription_id"),
        (r#"{"type": "subscription.close", "type": "subscription.close"}"#, "const", "type"),
    ] {
        let flaws = read_handshake(text).unwrap_err();
        assert_eq!((flaws[0].rule, flaws[0].field.as_str()), (rule, field), "{text}");
        assert!(read_message(text).is_err(), "{text}");
    }
}
