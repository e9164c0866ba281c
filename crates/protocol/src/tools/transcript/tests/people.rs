//! People in a history: each change of hands between them is a call, with their reasons.

use super::*;

/// `bob` asks for a person, and `hana` answers.
fn person() -> [(&'static str, Value); 2] {
    [requested("agent:bob", json!({})), connected("default", "hana")]
}

#[test]
fn every_change_of_hands_between_people_is_found() {
    let cases = [
        (person().to_vec(), "bob human Accepted, default hana Accepted: a person"),
        (
            [person().to_vec(), vec![connected("hana", "ivan")]].concat(),
            "bob human Accepted, default hana Accepted, hana ivan Accepted",
        ),
        (
            [person().to_vec(), vec![over("hana", "carol", "completed", json!({}))]].concat(),
            "bob human Accepted, default hana Accepted, hana carol Accepted",
        ),
        (
            vec![
                requested("agent:bob", json!({})),
                over("default", "bob", "failed", json!({ "actor": "system", "reason": "late" })),
            ],
            "bob human Accepted, default bob Accepted: no person took it over",
        ),
        // A customer who asks to be called back wants a person.
        (
            vec![
                requested("agent:bob", json!({})),
                over(
                    "default",
                    "bob",
                    "cancelled",
                    json!({ "actor": "customer:c", "is_for_callback": true }),
                ),
            ],
            "bob human Accepted, default bob Accepted: will call the customer back",
        ),
        // The words are those of the caller, and not of the holder.
        (
            [
                person().to_vec(),
                vec![over(
                    "hana",
                    "bob",
                    "completed",
                    json!({ "actor": "agent:cora", "summary": "Paid." }),
                )],
            ]
            .concat(),
            "bob human Accepted, default hana Accepted, hana bob Accepted: words of cora",
        ),
        // A person who is gone leaves no line, and the conversation waits in the queue again.
        (
            [person().to_vec(), vec![held_by("default", "Hello?")]].concat(),
            "bob human Accepted, default hana Accepted, hana default Accepted: Hello?",
        ),
        (
            [person().to_vec(), vec![connected("second", "ivan")]].concat(),
            "bob human Accepted, default hana Accepted, hana second Accepted, second ivan Accepted",
        ),
        (
            vec![over("hana", "bob", "completed", json!({ "disposition": "refunded" }))],
            "hana bob Accepted: Disposition: refunded",
        ),
        (vec![over("hana", "hana", "ended", json!({}))], ""),
        (vec![over("hana", "bob", "completed", json!({}))], "hana bob Accepted"),
    ];
    check_found(&cases);
}

/// A person who passes the customer to a queue asks for a person.
#[test]
fn a_customer_who_is_passed_to_a_queue_is_found() {
    let cases = [
        (
            [person().to_vec(), vec![passed_on("hana", "second", "")]].concat(),
            "bob human Accepted, default hana Accepted, hana human Accepted: in the queue second",
        ),
        (
            [
                person().to_vec(),
                vec![passed_on("hana", "second", "tax"), connected("second", "ivan")],
            ]
            .concat(),
            "bob human Accepted, default hana Accepted, hana human Accepted, second ivan Accepted",
        ),
    ];
    check_found(&cases);
}

/// A person's reason is an argument of the call, as a model's is.
#[test]
fn the_reason_of_a_person_is_in_the_call() {
    let mut warm = connected("hana", "ivan");
    warm.1["reason"] = "tax".into();
    for (event, tool, expected) in [
        (
            passed_on("hana", "second", "tax"),
            "transfer_to_human",
            json!({ "reason": "tax", "queue": "second" }),
        ),
        (passed_on("hana", "second", ""), "transfer_to_human", json!({ "queue": "second" })),
        (warm, "transfer_to_ivan", json!({ "reason": "tax" })),
        (connected("hana", "ivan"), "transfer_to_ivan", json!({})),
    ] {
        let lines = lines(vec![requested("agent:bob", json!({})), event]);
        let messages = history(HistoryForm::Responses, conversation(), &lines).messages;
        let calls: Vec<_> = messages.iter().filter(|it| it["type"] == "function_call").collect();
        let last = calls.last().expect("a call");
        let arguments: Value =
            serde_json::from_str(last["arguments"].as_str().expect("a text")).expect("JSON");
        assert_eq!((last["name"].as_str(), arguments), (Some(tool), expected));
        let told = Value::from(messages.clone()).to_string();
        assert!(!told.contains("A colleague is asked."), "that is for the customer: {told}");
    }
}
