//! Values checked against the forms of our types, and the texts for what does not fit.

use serde_json::{Value, json};

use crate::conversation::command::{Open, Say};
use crate::form::Form;
use crate::handoff::check::{Delegation, Proposal};
use crate::handoff::package::Offer;
use crate::queue::Settings;

/// Where a value does not fit and what is expected there; empty if it fits.
fn found(form: &Form, value: &Value) -> String {
    form.check(value).map_or_else(|misfit| misfit.to_string(), |()| String::new())
}

#[test]
fn offers_are_held_against_their_form() {
    let form = Form::of::<Offer>();
    for (value, expected) in [
        (json!({}), ""),
        (json!({ "task": null, "to_agent": "bob" }), ""),
        (json!([]), ": expected an object"),
        (json!({ "task": "x" }), "task: expected an object"),
        (json!({ "task": { "title": " " } }), "task.title: expected one line of 1 to 300 bytes"),
        (json!({ "task": { "title": "a\nb" } }), "task.title: expected one line of 1 to 300 bytes"),
        (
            json!({ "task": { "title": "é".repeat(151) } }),
            "task.title: expected one line of 1 to 300 bytes",
        ),
        (
            json!({ "work_state": { "percent_complete": 101 } }),
            "work_state.percent_complete: expected a number from 0 to 100",
        ),
        (
            json!({ "task": { "priority": "urgent" } }),
            "task.priority: expected one of low, normal, high, critical",
        ),
        (json!({ "sla": { "proposed": "0ms" } }), "sla.proposed: expected a span from 1s to 365d"),
        (
            json!({ "artifacts": [{ "artifact_id": "a" }] }),
            "artifacts[0].ref: expected an object, but it is missing",
        ),
        (
            json!({ "deadline": "tomorrow" }),
            "deadline: expected an RFC 3339 time such as 2026-02-21T14:00:00Z",
        ),
    ] {
        assert_eq!(found(&form, &value), expected, "{value}");
    }
    let unknown = found(&form, &json!({ "colour": "red" }));
    assert!(unknown.starts_with("colour: expected to be left out; the fields here are artifacts"));
}

#[test]
fn a_proposal_has_what_an_offer_may_lack() {
    let whole = json!({
        "to_agent": "bob",
        "task": { "task_id": "T-1", "title": "Mend it", "success_criteria": ["It is mended"] },
        "context": { "summary": "It is broken." },
        "work_state": { "next_step": "Look at it" },
    });
    let (proposal, delegation) = (Form::of::<Proposal>(), Form::of::<Delegation>());
    assert_eq!(found(&proposal, &whole), "");
    for (pointer, name, expected) in [
        ("", "to_agent", "to_agent: expected 1 to 64 of"),
        ("/task", "task_id", "task.task_id: expected a task id, but it is missing"),
        ("/task", "success_criteria", "task.success_criteria: expected a list, but it is missing"),
        ("/context", "summary", "context.summary: expected what the next owner must know"),
    ] {
        let mut value = whole.clone();
        value.pointer_mut(pointer).and_then(Value::as_object_mut).unwrap().remove(name);
        let found = found(&proposal, &value);
        assert!(found.starts_with(expected), "{name}: {found}");
    }
    let mut part = whole.clone();
    part["task"].as_object_mut().unwrap().remove("task_id");
    assert_eq!(found(&delegation, &part), "");
}

#[test]
fn of_several_forms_the_one_that_is_meant_is_explained() {
    let say = Form::of::<Say>();
    let part = |part: Value| json!({ "parts": [part] });
    for (value, expected) in [
        (part(json!({ "type": "text", "text": "hi" })), ""),
        (part(json!({ "type": "video" })), "parts[0].type: expected one of text, attachment, file"),
        (
            part(json!({ "type": "text" })),
            "parts[0].text: expected text that is not blank, of at most 16384 bytes, but it is \
             missing",
        ),
        (json!({ "parts": [] }), "parts: expected 1 to 16 items"),
    ] {
        assert_eq!(found(&say, &value), expected, "{value}");
    }
    let open = Form::of::<Open>();
    let twice =
        json!({ "topology": { "kind": "swarm", "members": ["a", "a"], "default_agent": "a" } });
    assert_eq!(found(&open, &twice), "topology.members: expected each item once");
    let queue = Form::of::<Settings>();
    let steps =
        json!({ "patience": { "relax": [{ "after": "5m", "relax": { "levels_by": 9 } }] } });
    let found = found(&queue, &steps);
    assert_eq!(found, "patience.relax[0].relax.levels_by: expected a whole number from 1 to 5");
}
