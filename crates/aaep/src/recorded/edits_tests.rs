//! One wrong field, of each event of many recordings: it is one error, and no other event becomes
//! wrong.

use serde_json::{Value, json};

use super::tests::{answered, decided};
use super::*;
use crate::event::ToolStatus;
use crate::machine::table_tests::legal::legal;
use crate::machine::table_tests::script::{Script, Step, steps};
use crate::read::read;
use base::time::Time;

/// Sessions with numbers, in which later events rest on earlier ones.
const NUMBERED: &[&str] = &[
    "start n=0; state idle>thinking n=1; call fetch c1 n=2; return fetch c1 n=3; \
     state thinking>deciding n=4; chunk 0 One. n=5; chunk 4 Two. last n=6; complete n=7",
    "start n=0; state idle>thinking n=1; confirm t1 irreversible high call=c1 hash=aa n=2; \
     accept t1; call pay c1 irreversible hash=aa n=3; progress n=4; return pay c1 n=5; \
     chunk 0 Paid. last n=6; complete n=7",
    "start n=0; ask t1 n=1; answer t1 blue; state idle>calling_tool n=2; call f c1 n=3; \
     call g c2 n=4; return g c2 n=5; return f c1 n=6; state calling_tool>thinking n=7; cancel n=8",
    "start n=0; state idle>thinking n=1; chunk 0 ab out=a n=2; chunk 0 x out=b n=3; \
     chunk 2 c out=a last n=4; chunk 1 y out=b last n=5; handoff n=6; \
     state handing_off>idle n=7; error n=8",
];

fn kind(line: &Line) -> String {
    match line {
        Line::Event(it) => it["type"].as_str().unwrap_or("?").replace("aaep:agent.", ""),
        Line::Reply(_) => "reply".to_owned(),
    }
}

#[derive(Clone)]
enum Line {
    Event(Value),
    Reply(Box<Handshake>),
}

/// Each recording as documents.
fn recordings() -> Vec<Vec<Line>> {
    // A recording does not have our clock, so lapses and timeouts by it cannot be in one.
    let other = ["elapse", "wait", "auto", "extension"];
    let stories = legal().map(|[_, text, _]| text);
    let stories = stories.filter(|text| !other.iter().any(|it| text.contains(it)));
    let lines = |text: &str| {
        let mut script = Script::default();
        steps(text)
            .map(|line| match script.step(line) {
                Step::Event(event) => Line::Event(document(&event)),
                Step::Resolve(token, decision) => Line::Reply(Box::new(decided(token, decision))),
                Step::Answer(token, answer) => Line::Reply(Box::new(answered(token, answer))),
                Step::Automatic(_) | Step::Elapse(..) | Step::Wait(_) => {
                    panic!("{line} is not in a recording")
                }
            })
            .collect()
    };
    stories.chain(NUMBERED.iter().copied()).map(lines).collect()
}

fn document(event: &Event<'_>) -> Value {
    let Event { envelope, payload } = event;
    let at = Time::from_millis(1_780_000_000_000 + envelope.timestamp_micros);
    let mut document = json!({
        "@context": "https://aaep-protocol.org/context/v1", "type": payload.name(),
        "event_id": envelope.event_id, "session_id": envelope.session_id,
        "timestamp": at.to_string(), "producer": { "agent_id": envelope.agent_id },
        "summary_normal": "Says so",
    });
    let more = match payload {
        Payload::SessionStarted { .. } | Payload::SessionCompleted | Payload::Extension { .. } => {
            json!({})
        }
        Payload::SessionCancelled => json!({ "cancelled_by": "user" }),
        Payload::SessionErrored => json!({ "error_category": "unknown" }),
        Payload::StateChanged { from, to } => json!({ "from_state": from, "to_state": to }),
        Payload::ProgressUpdated { .. } => json!({ "progress": { "percent": 50 } }),
        Payload::ToolInvoked { tool, tool_call_id, irreversible, .. } => json!({
            "tool": tool, "tool_call_id": tool_call_id, "irreversible": irreversible,
        }),
        Payload::ToolCompleted { tool, tool_call_id, status } => json!({
            "tool": tool, "tool_call_id": tool_call_id, "status": status,
            "error_message": (*status != ToolStatus::Success).then_some("It failed"),
        }),
        Payload::OutputStreaming(chunk) => json!({
            "chunk": chunk.text, "position": chunk.position, "complete": chunk.complete,
            "output_id": chunk.output_id,
        }),
        Payload::AwaitingConfirmation(asked) => json!({
            "action": asked.action, "consequence": "It is done", "reply_token": asked.reply_token,
            "timeout_seconds": asked.timeout_seconds,
            "irreversible": asked.irreversible.then_some(true),
            "reversibility": asked.reversibility,
            "default_decision": asked.default_decision, "risk_level": asked.risk,
        }),
        Payload::AwaitingClarification(asked) => json!({
            "question": asked.question, "reply_token": asked.reply_token,
            "timeout_seconds": asked.timeout_seconds, "accepted_response_kinds": ["freetext"],
        }),
        Payload::HandoffRequested(asked) => json!({
            "reason": asked.reason, "target_kind": asked.target_kind,
        }),
    };
    let ours = json!({
        "tool_call_id": envelope.link.tool_call_id,
        "action_hash": envelope.link.action_hash.as_ref().map(|it| it.repeat(32)),
    });
    let all = document.as_object_mut().expect("an object");
    all.extend(more.as_object().expect("an object").clone());
    all.insert("sequence_number".into(), json!(envelope.sequence_number));
    all.insert("urgency".into(), json!(envelope.urgency));
    all.retain(|_, value| !value.is_null());
    if envelope.link.tool_call_id.is_some() || envelope.link.action_hash.is_some() {
        let mut ours = ours;
        ours.as_object_mut().expect("an object").retain(|_, value| !value.is_null());
        document["extensions"] = json!({ "tasuki": ours });
        document["@context"] =
            json!(["https://aaep-protocol.org/context/v1", "urn:tasuki:aaep:v1"]);
    }
    document
}

/// The lines with errors, each as often as it has some.
fn check(lines: &[Line]) -> Vec<usize> {
    let mut recorded = Recorded::default();
    let mut wrong = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let (is_invalid, remark) = match line {
            Line::Reply(reply) => (false, recorded.reply(reply)),
            Line::Event(document) => {
                let text = document.to_string();
                match read(&text) {
                    Ok(event) => (false, recorded.event(&event)),
                    Err(flaws) => (true, recorded.broken(&salvage(&text, &flaws))),
                }
            }
        };
        let is_broken = remark.is_some_and(|it| it.weight == Weight::Broken);
        if is_invalid || is_broken {
            wrong.push(number);
        }
        if is_invalid && is_broken {
            wrong.push(number);
        }
    }
    wrong
}

#[test]
fn the_recordings_are_right() {
    for lines in recordings() {
        for line in &lines {
            let Line::Event(document) = line else { continue };
            let read = read(&document.to_string()).map(|_| ());
            assert_eq!(read, Ok(()), "{document}");
        }
        assert_eq!(check(&lines), [0; 0], "{:?}", lines.iter().map(kind).collect::<Vec<_>>());
    }
}

const TYPES: &[&str] = &[
    "session.started",
    "session.completed",
    "session.errored",
    "session.cancelled",
    "state.changed",
    "progress.updated",
    "tool.invoked",
    "tool.completed",
    "output.streaming",
    "awaiting.confirmation",
    "awaiting.clarification",
    "handoff.requested",
];

fn edits(document: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (field, value) in document.as_object().expect("an object") {
        let mut others = vec![json!(null), json!([[]]), json!({}), json!("x"), json!(-1)];
        match value {
            Value::Number(number) => {
                let number = number.as_u64().expect("a number");
                others.extend([json!(number + 1), json!(number + 7), json!(0)]);
            }
            Value::Bool(is) => others.push(json!(!is)),
            Value::String(text) if field == "type" => {
                others.clear();
                others.extend(TYPES.iter().map(|it| json!(format!("aaep:agent.{it}"))));
                others.extend([json!("medai:alert"), json!("confirmation.reply")]);
                others.retain(|it| it != text);
            }
            Value::String(text) => others.extend([json!(""), json!(format!("{text}x"))]),
            Value::Null | Value::Array(_) | Value::Object(_) => {}
        }
        for other in others {
            let mut edited = document.clone();
            edited[field] = other.clone();
            all.push((format!("{field}={other}"), edited));
        }
        let mut edited = document.clone();
        edited.as_object_mut().expect("an object").remove(field);
        all.push((format!("no {field}"), edited));
    }
    all
}

/// Each edit of each event of these recordings, with the place of the event.
fn edited(lines: &[Line]) -> impl Iterator<Item = (usize, String, Value)> {
    let events = lines.iter().enumerate().filter_map(|(at, line)| match line {
        Line::Event(right) => Some((at, right)),
        Line::Reply(_) => None,
    });
    events.flat_map(|(at, right)| {
        edits(right).into_iter().map(move |(edit, edited)| (at, edit, edited))
    })
}

fn with<const N: usize>(lines: &[Line], edits: [(usize, &Value); N]) -> Vec<Line> {
    let mut lines = lines.to_vec();
    for (at, edited) in edits {
        lines[at] = Line::Event(edited.clone());
    }
    lines
}

#[test]
fn one_wrong_field_makes_no_other_event_wrong() {
    let mut n_edits = 0;
    for lines in recordings() {
        for (at, edit, edited) in edited(&lines) {
            n_edits += 1;
            let wrong = check(&with(&lines, [(at, &edited)]));
            let is_one = match wrong[..] {
                // It is right as well, such as another text.
                [] => true,
                [only] => only >= at,
                _ => false,
            };
            let kinds: Vec<_> = lines.iter().map(kind).collect();
            assert!(is_one, "{edit} of {at}: {wrong:?} of {kinds:?}");
        }
    }
    println!("{n_edits} edits");
}

/// The same mistake in two events may have one cause, such as a text that is missing.
fn may_have_one_cause(edit: &str, other: &str) -> bool {
    let field = |edit: &str| {
        let edit = edit.strip_prefix("no ").unwrap_or(edit);
        edit.split('=').next().map(str::to_owned)
    };
    field(edit) == field(other)
}

/// Whether what the event did is known although it is wrong.
fn is_certain(document: &Value) -> bool {
    let text = document.to_string();
    let Err(flaws) = read(&text) else { return true };
    let salvaged = salvage(&text, &flaws);
    !salvaged.events.is_empty() && !salvaged.may_be_another && salvaged.session_id.is_some()
}

#[test]
fn two_wrong_events_are_two_errors() {
    let (all, mut n_pairs, mut failed) = (recordings(), 0, Vec::new());
    let n_th = if std::env::var_os("TASUKI_TEST_FULL").is_some() { 1 } else { 37 };
    for lines in &all[all.len() - NUMBERED.len()..] {
        let is_single = |(at, _, edited): &(usize, String, Value)| {
            check(&with(lines, [(*at, edited)])) == [*at]
        };
        let single: Vec<_> = edited(lines).filter(is_single).collect();
        // Another type stands for an event that is missing.
        let first = single
            .iter()
            .enumerate()
            .filter(|(_, (_, edit, edited))| !edit.starts_with("type=") && is_certain(edited));
        for (number, (at, edit, edited)) in first {
            let others = single.iter().skip(number % n_th).step_by(n_th);
            let others = others.filter(|other| other.0 > *at);
            for (other_at, other_edit, other) in others {
                if may_have_one_cause(edit, other_edit) {
                    continue;
                }
                n_pairs += 1;
                let wrong = check(&with(lines, [(*at, edited), (*other_at, other)]));
                let kinds: Vec<_> = lines.iter().map(kind).collect();
                let pair = format!("{edit} of {at} and {other_edit} of {other_at}");
                if wrong.len() != 2 {
                    failed.push(format!("{pair}: {wrong:?} of {kinds:?}"));
                }
            }
        }
    }
    println!("{n_pairs} pairs");
    assert!(failed.is_empty(), "{failed:#?}");
}

/// One event at another place is one error, where it is or where it is missing.
#[test]
fn one_moved_event_is_one_error() {
    let (all, mut n_moves, mut failed) = (recordings(), 0, Vec::new());
    for lines in &all[all.len() - NUMBERED.len()..] {
        let kinds: Vec<_> = lines.iter().map(kind).collect();
        for from in 0..lines.len() {
            for to in (0..lines.len()).filter(|to| *to != from) {
                let mut moved = lines.clone();
                let event = moved.remove(from);
                moved.insert(to, event);
                n_moves += 1;
                let wrong = check(&moved);
                if wrong.len() > 1 {
                    failed.push(format!("{from} to {to}: {wrong:?} of {kinds:?}"));
                }
            }
        }
    }
    println!("{n_moves} moves");
    assert!(failed.is_empty(), "{failed:#?}");
}

/// The id of another session, also of one that goes on at the same time.
#[test]
fn one_wrong_session_is_one_error() {
    let of = |session: &str, number: u64| {
        let kinds =
            ["session.started", "progress.updated", "progress.updated", "session.completed"];
        json!({
            "@context": "https://aaep-protocol.org/context/v1",
            "type": format!("aaep:agent.{}", kinds[number as usize]),
            "event_id": format!("evt_{}{number}", &session[5..]), "session_id": session,
            "timestamp": "2026-05-28T20:26:42.000Z", "producer": { "agent_id": "teller" },
            "summary_normal": "Says so", "progress": { "percent": 50 }, "sequence_number": number,
        })
    };
    let both = |number| [of("sess_a", number), of("sess_b", number)];
    let lines: Vec<_> = (0..4).flat_map(both).map(Line::Event).collect();
    assert_eq!(check(&lines), [0; 0]);
    for (at, line) in lines.iter().enumerate().skip(2) {
        for other in ["sess_a", "sess_b", "sess_c"] {
            let Line::Event(right) = line else { panic!("only events") };
            let mut edited = right.clone();
            edited["session_id"] = other.into();
            let wrong = check(&with(&lines, [(at, &edited)]));
            assert!(wrong.len() <= 1, "{other} of {at}: {wrong:?}");
        }
    }
}
