//! Recordings in one line each, and the remarks about them.

use serde_json::Number;

use super::*;
use crate::event::Envelope;
use crate::handshake::{ClarificationReply, ConfirmationReply, Response as Said};
use crate::machine::table_tests::legal::legal;
use crate::machine::table_tests::script::{Answer, Script, Step, steps};
use crate::read::read;

/// `story | recording | remarks`
const RECORDINGS: &str = r"
whole | start; confirm t1 irreversible high; accept t1; call f irreversible; return f; complete | 
refused | start; confirm t1 irreversible high; reject t1; state idle>thinking; complete | 
called after a refusal | start; confirm t1 irreversible high; reject t1; call f irreversible | broken 4.3.1
called without an answer | start; confirm t1 irreversible high; call f irreversible; return f; complete | assumed 4.3.1
called after another state | start; state idle>thinking; confirm t1 irreversible; state awaiting_input>thinking; call f irreversible; return f; complete | assumed 4.3.1
two accepted before another state | start; state idle>thinking; confirm t1 irreversible hash=aa; confirm t2 irreversible hash=bb; state awaiting_input>thinking; call f irreversible hash=aa; return f; call f irreversible hash=bb; return f; complete | assumed 4.3.1, assumed 4.3.1
no after the call | start; confirm t1 irreversible; call f irreversible; reject t1; return f; complete | assumed 4.3.1, broken 4.3.1
one accept, two calls | start; confirm t1 irreversible; call f irreversible; return f; call f irreversible | assumed 4.3.1, broken 4.3.1
never asked | start; call f irreversible | broken 4.3.1
over without an answer | start; ask t1; complete | assumed 4.5.3
answered | start; ask t1 kinds=numeric; answer t1 12; complete | 
answered otherwise | start; ask t1 kinds=numeric; answer t1 blue; complete | idle 6.3, assumed 4.5.3
answered twice | start; ask t1; answer t1 blue; answer t1 red; complete | 
answered elsewhere | start; answer t9 blue; complete | idle 6.3
no start | progress; progress; complete | broken 4.1.1
a gap | start n=0; progress n=2; progress n=3; complete n=4 | broken 3
two flaws | start; return f; return g; complete | broken 4.5.2, broken 4.5.2
a call without consent returns | start; call f irreversible; return f; complete | broken 4.3.1
four flaws | start; state thinking>deciding; return f; chunk 5 Hi last; call g irreversible; return g; complete | broken 4.2.1, broken 4.5.2, broken 4.3.3, broken 4.3.1
a gap explains what is missing | start n=0; progress n=2; return f n=3; return g n=4; complete n=5 | broken 3, assumed 4.5.2, broken 4.5.2
two gaps | start n=0; progress n=2; progress n=4; complete n=5 | broken 3, broken 3
counted wrongly once | start n=0; progress n=7; progress n=2; return f n=3; complete n=4 | broken 3, broken 4.5.2
a state that does not fit | start; state idle>thinking; state deciding>writing_output; state thinking>deciding; complete | broken 4.2.1
an end too early | start; complete; progress; progress; complete | broken 4.5.1
two ends | start; complete; complete | broken 4.1.2
two starts | start; start; complete | broken 4.1.1
a position that slipped | start; chunk 0 Hello; chunk 6 you; chunk 8 x last; complete | broken 4.3.3
a chunk that is missing | start; chunk 0 Hello; chunk 9 you; chunk 12 x last; complete | broken 4.3.3
an output goes on after its end | start; chunk 0 Hi last; chunk 2 you; chunk 5 x last; complete | broken 4.5.4
left too early | start; state idle>calling_tool; call f; state calling_tool>thinking; return f; complete | broken 4.3.2
never returned | start; state idle>calling_tool; call f; state calling_tool>thinking; complete | broken 4.3.2
over too early | start; call f; complete | broken 4.3.2
another producer | start; progress agent=other; progress; complete | broken 2.2.5
another producer from here | start; progress agent=other; progress agent=other; complete agent=other | broken 2.2.5
another producer, and back | start; progress agent=other; progress agent=other; progress; complete | broken 2.2.5, broken 2.2.5
back in time | start; progress; progress back; progress; complete | broken 3
asked with a token twice | start; ask t1; answer t1 blue; ask t1; complete | broken 6.2.4
an id twice | start; progress id=evt_a; progress id=evt_a; complete | broken 3
another producer, again | start; progress agent=other; progress; progress agent=other; complete | broken 2.2.5, broken 2.2.5
an end in place of the start | complete; progress; return f; complete | broken 4.1.1, assumed 4.5.2
one without a number | start n=0; progress; progress n=2; return f n=3; complete n=4 | broken 3, broken 4.5.2
none with a number from here | start n=0; progress; progress; return f; complete | broken 3, broken 4.5.2
two without a number | start n=0; progress; progress; progress n=3; return f n=4; complete n=5 | broken 3, broken 3, broken 4.5.2
a chunk without its output | start; chunk 0 Hi out=a; chunk 2 you; chunk 5 x out=a last; complete | broken 4.3.3
a first chunk without its output | start; chunk 0 Hi; chunk 2 you out=a; chunk 5 x out=a last; complete | broken 4.3.3
a last chunk of another output | start; chunk 0 Hi out=a; chunk 2 you out=b last; complete | broken 4.3.3
another call than was confirmed | start; confirm t1 irreversible call=c1 hash=h1; accept t1; call f c2 irreversible hash=h1; return f c2; return g; complete | broken 4.3.1, broken 4.5.2
no end | start; progress | assumed 4.1.2
";

#[test]
fn a_recording_is_judged_by_what_it_has() {
    for row in RECORDINGS.lines().filter(|row| !row.is_empty()) {
        let [story, text, expected] = row.splitn(3, " | ").collect::<Vec<_>>()[..] else {
            panic!("three columns: {row}");
        };
        let mut recorded = Recorded::default();
        let mut script = Script::default();
        let remarks = steps(text).filter_map(|line| match script.step(line) {
            Step::Event(event) => recorded.event(&event),
            Step::Resolve(token, decision) => recorded.reply(&decided(token, decision)),
            Step::Answer(token, answer) => recorded.reply(&answered(token, answer)),
            Step::Automatic(_) | Step::Elapse(..) | Step::Wait(_) => None,
        });
        let mut told: Vec<String> = remarks.map(|remark| tell(&remark)).collect();
        told.extend(recorded.unfinished().iter().map(|(_, remark)| tell(remark)));
        // A session with a refusal is unfinished too.
        let told = told.join(", ").replace(", assumed 4.1.2", "");
        assert_eq!(told, expected, "{story}");
    }
}

fn salvaged(document: &str) -> Salvaged {
    salvage(document, &read(document).expect_err("it is invalid"))
}

#[test]
fn what_cannot_be_read_explains_one_thing_that_is_missing() {
    for session in [r#"{"session_id":"sess_1"}"#, "{}"] {
        let mut recorded = Recorded::default();
        let mut script = Script::default();
        let mut told = Vec::new();
        for line in ["start n=0", "lost", "return f n=2", "return g n=3", "complete n=4"] {
            match line {
                "lost" => told.extend(recorded.broken(&salvaged(session))),
                line => told.extend(follow(&mut recorded, script.step(line))),
            }
        }
        let told: Vec<_> = told.iter().map(tell).collect();
        assert_eq!(told, ["assumed 4.5.2", "broken 4.5.2"], "{session:?}");
    }
}

#[test]
fn what_a_broken_document_did_is_taken_from_it() {
    let mut recorded = Recorded::default();
    let mut script = Script::default();
    let mut follow = |recorded: &mut Recorded, line| follow(recorded, script.step(line));
    assert_eq!(follow(&mut recorded, "start"), None);
    let broken = r#"{"type": "aaep:agent.tool.invoked", "session_id": "sess_1", "tool": "f"}"#;
    assert_eq!(recorded.broken(&salvaged(broken)), None);
    assert_eq!(follow(&mut recorded, "return f"), None);
    let again = follow(&mut recorded, "return f");
    assert_eq!(again.as_ref().map(tell), Some("broken 4.5.2".to_owned()));
}

/// One wrong event anywhere in a legal session is one error, there, and nowhere else.
#[test]
fn one_wrong_event_is_one_error() {
    let wrong = ["return never_called", "state nowhere>nowhere", "call f irreversible; return f"];
    for [story, text, _] in legal() {
        let lines: Vec<&str> = steps(text).collect();
        // A recording does not have our clock, so lapses and timeouts by it cannot be in one.
        let is_other = |line: &&str| ["n=", "elapse", "wait"].iter().any(|it| line.contains(it));
        if lines.iter().any(is_other) {
            continue;
        }
        for (at, wrong) in (1..lines.len()).flat_map(|at| wrong.iter().map(move |it| (at, it))) {
            if wrong.starts_with("call") && text.contains("confirm") {
                // It may be the allowed call.
                continue;
            }
            let mut with = lines.clone();
            with.splice(at..at, steps(wrong));
            let (mut recorded, mut script) = (Recorded::default(), Script::default());
            let mut broken = Vec::new();
            for (number, line) in with.iter().enumerate() {
                let remark = match script.step(line) {
                    Step::Event(event) => recorded.event(&event),
                    Step::Resolve(token, decision) => recorded.reply(&decided(token, decision)),
                    Step::Answer(token, answer) => recorded.reply(&answered(token, answer)),
                    Step::Automatic(_) | Step::Elapse(..) | Step::Wait(_) => None,
                };
                let is_broken = remark.is_some_and(|it| it.weight == Weight::Broken);
                broken.extend(is_broken.then_some(number));
            }
            assert_eq!(broken, [at], "{story}: {with:?}");
        }
    }
}

/// Typical mistakes of a recording are reported where they are, and nowhere else.
#[test]
fn a_mistake_is_reported_where_it_is() {
    let story = "start n=0 id=a; state idle>thinking n=1 id=b; call fetch n=2 id=c; \
                 return fetch n=3 id=d; state thinking>deciding n=4 id=e; chunk 0 One. n=5 id=f; \
                 chunk 4 Two. last n=6 id=g; complete n=7 id=h";
    let mut script = Script::default();
    let mut events = |text: &str| -> Vec<Event<'static>> {
        let event = |line: &str| {
            let Step::Event(event) = script.step(line) else { panic!("{line} is an event") };
            *event
        };
        steps(text).map(event).collect()
    };
    let right = events(story);
    let late = events("state deciding>idle n=8; state deciding>thinking n=9; chunk 9 Three. n=10");
    let repeated = |at: usize, to: usize, edit: &dyn Fn(&mut Envelope<'static>)| {
        let mut all = right.clone();
        let mut again = right[at].clone();
        edit(&mut again.envelope);
        all.insert(to, again);
        all
    };
    let again = |number: Option<u64>| {
        move |it: &mut Envelope<'static>| {
            it.event_id = "evt_z".into();
            it.sequence_number = number;
        }
    };
    let moved = |from: usize, to: usize| {
        let mut all = right.clone();
        let event = all.remove(from);
        all.insert(to, event);
        all
    };
    for (mistake, all, expected) in [
        ("a call twice", repeated(2, 3, &|_| {}), vec![3]),
        ("a state twice", repeated(1, 2, &|_| {}), vec![2]),
        ("the start again", repeated(0, 2, &again(Some(0))), vec![2]),
        ("the start again, numbered as the next", repeated(0, 2, &again(Some(2))), vec![2]),
        ("the start again, without a number", repeated(0, 2, &again(None)), vec![2]),
        ("a state again, later", repeated(1, 5, &again(Some(1))), vec![5]),
        ("a state again, numbered as the next", repeated(1, 5, &again(Some(5))), vec![5]),
        ("a return again, numbered as the next", repeated(3, 5, &again(Some(5))), vec![5]),
        ("two swapped", moved(2, 1), vec![1]),
        ("the first two swapped", moved(1, 0), vec![0]),
        ("the start too late", moved(0, 3), vec![0]),
        ("a chunk too early", moved(6, 2), vec![2]),
        ("a return first", moved(3, 0), vec![0]),
        ("the end first", moved(7, 0), vec![0]),
        ("the end too early", moved(7, 4), vec![4]),
        ("an end too early, and the end", repeated(7, 4, &again(Some(7))), vec![4]),
        ("events after the end", [right.clone(), late].concat(), vec![8]),
    ] {
        let mut recorded = Recorded::default();
        let mut broken = Vec::new();
        for (number, event) in all.iter().enumerate() {
            let remark = recorded.event(event);
            let is_broken = remark.is_some_and(|it| it.weight == Weight::Broken);
            broken.extend(is_broken.then_some(number));
        }
        assert_eq!(broken, expected, "{mistake}");
    }
}

/// After an event that came too early, a second mistake is reported too.
#[test]
fn a_mistake_hides_no_later_one() {
    for (mistake, text, expected) in [
        ("the end first", "complete n=3; start n=0; return f n=1; return g n=2", "1, 3, 4"),
        ("two starts", "start n=0; progress n=1; start n=0; progress n=3; complete n=4", "3, 4"),
        ("an event first", "progress n=1; start n=0; progress n=3; complete n=4", "1, 3"),
    ] {
        let (mut recorded, mut script) = (Recorded::default(), Script::default());
        let mut broken = Vec::new();
        for (number, line) in (1..).zip(steps(text)) {
            let remark = follow(&mut recorded, script.step(line));
            let is_broken = remark.is_some_and(|it| it.weight == Weight::Broken);
            broken.extend(is_broken.then(|| number.to_string()));
        }
        assert_eq!(broken.join(", "), expected, "{mistake}");
    }
}

/// A start whose session cannot be read starts the next session that has none.
#[test]
fn a_start_without_its_session_is_one_error() {
    let broken = r#"{"type":"aaep:agent.session.started","event_id":"evt_x","session_id":"",
        "sequence_number":0,"timestamp":"1970-01-01T00:00:00.000Z"}"#;
    let (mut recorded, mut script) = (Recorded::default(), Script::default());
    assert_eq!(recorded.broken(&salvaged(broken)), None);
    let text = "state idle>thinking n=1; return f n=2; complete n=3";
    let remarks = steps(text).filter_map(|line| follow(&mut recorded, script.step(line)));
    let told: Vec<_> = remarks.map(|remark| tell(&remark)).collect();
    assert_eq!(told, ["broken 4.5.2"], "only the return, which has no call");
    assert_eq!(recorded.n_sessions(), 1);
}

/// The fields of an invalid event that cannot be read make no later event wrong.
#[test]
fn a_broken_document_makes_no_later_event_wrong() {
    let start = r#"{"type":"aaep:agent.session.started","session_id":"sess_1","event_id":"evt_x""#;
    let call = r#"{"type":"aaep:agent.tool.invoked","session_id":"sess_1","event_id":"evt_y""#;
    let agent = r#""producer":{"agent_id":"teller"}"#;
    let zero = r#""sequence_number":0"#;
    let null = r#""sequence_number":null"#;
    let first = format!("{start},{zero},{agent}}}");
    let then_call =
        |number: &str| format!("{call},{number},{agent},\"tool\":\"f\",\"tool_call_id\":7}}");
    let rest = "return f c1 n=2; return g n=3; complete n=4";
    for (mistake, documents, text) in [
        ("no producer", vec![format!("{start},{zero},\"producer\":null}}")], "progress n=1"),
        ("no first number", vec![format!("{start},{null},{agent}}}")], "progress n=1"),
        ("none at all", vec![format!("{start},{null},{agent}}}")], "progress"),
        ("no id of a call", vec![first.clone(), then_call(r#""sequence_number":1"#)], rest),
        ("no number", vec![first, then_call(null)], rest),
        ("no numbers", vec![format!("{start},{null},{agent}}}"), then_call(null)], rest),
    ] {
        let (mut recorded, mut script) = (Recorded::default(), Script::default());
        for document in &documents {
            assert_eq!(recorded.broken(&salvaged(document)), None, "{mistake}");
        }
        let remarks = steps(text).filter_map(|line| follow(&mut recorded, script.step(line)));
        let broken = remarks.filter(|remark| remark.weight == Weight::Broken);
        let told: Vec<_> = broken.map(|remark| tell(&remark)).collect();
        let expected: &[&str] = if text == rest { &["broken 4.5.2"] } else { &[] };
        assert_eq!(told, expected, "{mistake}");
    }
}

/// An unreadable document whose return came is also the call that was accepted.
#[test]
fn an_unreadable_call_is_the_accepted_one() {
    let (mut recorded, mut script) = (Recorded::default(), Script::default());
    let mut told = Vec::new();
    for line in
        steps("start n=0; confirm t1 irreversible n=1; accept t1; lost; return f n=3; complete n=4")
    {
        match line {
            "lost" => told.extend(recorded.broken(&salvaged(r#"{"session_id":"sess_1"}"#))),
            "accept t1" => {
                told.extend(recorded.reply(&decided("rpl_t1".to_owned(), Decision::Accept)));
            }
            line => told.extend(follow(&mut recorded, script.step(line))),
        }
    }
    let told: Vec<_> = told.iter().map(tell).collect();
    assert_eq!(told, ["assumed 4.5.2"]);
}

/// A chunk without its text is one error: where the next one begins cannot be known.
#[test]
fn a_chunk_without_its_text_makes_no_later_one_wrong() {
    let broken = r#"{"type":"aaep:agent.output.streaming","event_id":"evt_x","session_id":"sess_1",
        "sequence_number":1,"position":0,"complete":false}"#;
    let (mut recorded, mut script) = (Recorded::default(), Script::default());
    let mut event = |recorded: &mut Recorded, line: &str| {
        let Step::Event(event) = script.step(line) else { panic!("{line} is an event") };
        recorded.event(&event).is_some_and(|it| it.weight == Weight::Broken)
    };
    assert!(!event(&mut recorded, "start n=0"));
    assert_eq!(recorded.broken(&salvaged(broken)), None);
    for line in ["chunk 30 Two. last n=2", "complete n=3"] {
        assert!(!event(&mut recorded, line), "{line}");
    }
}

/// An event that names another session is one error too: it counts as missing nowhere.
#[test]
fn one_event_of_another_session_is_one_error() {
    let counted = ["counted", "start n=0; state idle>thinking n=1; progress n=2; complete n=3", ""];
    for [story, text, _] in legal().chain([counted]) {
        let lines: Vec<&str> = steps(text).collect();
        let is_other = |line: &&str| ["elapse", "wait"].iter().any(|it| line.contains(it));
        if lines.iter().any(is_other) {
            continue;
        }
        for at in 1..lines.len() {
            let (mut recorded, mut script) = (Recorded::default(), Script::default());
            let mut broken = Vec::new();
            for (number, line) in lines.iter().enumerate() {
                let remark = match script.step(line) {
                    Step::Event(mut event) if number == at => {
                        event.envelope.session_id = "sess_other".into();
                        recorded.event(&event)
                    }
                    Step::Event(event) => recorded.event(&event),
                    Step::Resolve(token, decision) => recorded.reply(&decided(token, decision)),
                    Step::Answer(token, answer) => recorded.reply(&answered(token, answer)),
                    Step::Automatic(_) | Step::Elapse(..) | Step::Wait(_) => None,
                };
                let is_broken = remark.is_some_and(|it| it.weight == Weight::Broken);
                broken.extend(is_broken.then_some(number));
            }
            let is_event = matches!(Script::default().step(lines[at]), Step::Event(_));
            let expected: Vec<usize> = is_event.then_some(at).into_iter().collect();
            assert_eq!(broken, expected, "{story}: {at} of {lines:?}");
            assert!(recorded.unfinished().iter().all(|(id, _)| *id != "sess_other"), "{story}");
        }
    }
}

#[test]
fn a_recording_may_begin_in_the_middle() {
    let mut recorded = Recorded::default();
    let mut script = Script::default();
    let mut follow = |recorded: &mut Recorded, line| follow(recorded, script.step(line));
    let joined = recorded.joined("sess_1");
    assert_eq!(joined.as_ref().map(tell), Some("assumed 4.1.1".to_owned()));
    assert_eq!(follow(&mut recorded, "progress"), None);
    assert_eq!(recorded.joined("sess_1"), None, "it is said once");
    assert_eq!((recorded.n_sessions(), recorded.unfinished()), (1, Vec::new()));
}

/// For a story that has only events.
fn follow(recorded: &mut Recorded, step: Step) -> Option<Remark> {
    match step {
        Step::Event(event) => recorded.event(&event),
        Step::Resolve(..)
        | Step::Automatic(_)
        | Step::Answer(..)
        | Step::Elapse(..)
        | Step::Wait(_) => None,
    }
}

fn tell(remark: &Remark) -> String {
    let weight = match remark.weight {
        Weight::Broken => "broken",
        Weight::Assumed => "assumed",
        Weight::Idle => "idle",
    };
    format!("{weight} {}", remark.flaw.rule)
}

pub(super) fn decided(reply_token: String, decision: Decision) -> Handshake {
    Handshake::ConfirmationReply(ConfirmationReply {
        reply_token,
        decision,
        subscription_id: "sub_1".to_owned(),
        timestamp: "1970-01-01T00:00:00Z".to_owned(),
        decided_by: None,
        decision_rationale: None,
        modified_action: None,
        correlation_id: None,
    })
}

pub(super) fn answered(reply_token: String, answer: Answer) -> Handshake {
    let response = match answer {
        Answer::Text(text) => Said::Text(text),
        Answer::Flag(flag) => Said::Truth(flag),
        Answer::Number(number) => Said::Number(Number::from_f64(number).expect("finite")),
    };
    Handshake::ClarificationReply(ClarificationReply {
        reply_token,
        response,
        subscription_id: "sub_1".to_owned(),
        timestamp: "1970-01-01T00:00:00Z".to_owned(),
        decided_by: None,
        confidence: None,
        correlation_id: None,
    })
}
