//! A person passes a customer on, and what the customer and the record are told.

use serde_json::{Value, json};

use super::check;

/// The customer is told when they begin to wait again, by a line of the transcript, and not again
/// when a person answers.
#[test]
fn a_customer_who_is_passed_on_is_told_at_once() {
    for (line, number) in [
        ("hana transfer to=bills type=blind reason=tax customer_text=t epoch=3", 3),
        ("hana transfer to=support type=blind reason=tax customer_text=t epoch=3", 3),
        ("hana route goto=human queue=bills reason=tax customer_text=t epoch=3", 3),
        ("hana route goto=human queue=support reason=tax customer_text=t epoch=3", 3),
    ] {
        let mut world = check(&["hana answer epoch=2 => connected hana@3"]);
        let waits = world.line(line);
        assert_eq!(world.recorded, ["transfer.passed_on", "transfer.queued"], "{line}");
        let passed = &world.bodies[0];
        let texts = [&passed["reason"], &passed["customer_text"]].map(Value::as_str);
        assert_eq!(texts, [Some("tax"), Some("t")], "{passed}");
        assert_eq!((&passed["number"], &passed["holder"]), (&json!(number), &json!("hana")));
        let (queue, epoch) = waits.rsplit_once('@').expect("who holds it");
        let person = if queue == "queued bills" { "sue" } else { "ivan" };
        assert_eq!(format!("queued {}", passed["queue"].as_str().expect("a queue")), queue);
        world.line(&format!("{person} answer epoch={epoch}"));
        let connected = &world.bodies[1];
        assert_eq!(connected["was_told"], true, "{connected}");
        assert_eq!((connected.get("customer_text"), connected.get("reason")), (None, None));
    }
    // The customer stays with the first person until the second one is there, and is told then.
    let world = check(&[
        "hana answer epoch=2 => connected hana@3",
        "hana transfer to=bills reason=tax customer_text=t epoch=3 => connected hana@3",
        "sue answer epoch=3 => connected sue@4",
    ]);
    let connected = &world.bodies[1];
    assert_eq!((&connected["reason"], &connected["customer_text"]), (&json!("tax"), &json!("t")));
    assert_eq!(connected.get("was_told"), None, "{connected}");
}
