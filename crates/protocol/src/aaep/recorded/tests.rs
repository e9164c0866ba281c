//! Recordings in one line each, and what is said of them.

use serde_json::Number;

use super::*;
use crate::aaep::handshake::{ClarificationReply, ConfirmationReply};
use crate::aaep::machine::table_tests::script::{Answer, Script, Step, steps};

/// `story | recording | what is said of it`
const RECORDINGS: &str = r"
whole | start; confirm t1 irreversible high; accept t1; call f irreversible; return f; complete | 
refused | start; confirm t1 irreversible high; reject t1; state idle>thinking; complete | 
called after a refusal | start; confirm t1 irreversible high; reject t1; call f irreversible | broken 4.3.1
called without an answer | start; confirm t1 irreversible high; call f irreversible; return f; complete | assumed 4.3.1
called after another state | start; state idle>thinking; confirm t1 irreversible; state awaiting_input>thinking; call f irreversible; return f; complete | assumed 4.3.1
two accepted before another state | start; state idle>thinking; confirm t1 irreversible hash=aa; confirm t2 irreversible hash=bb; state awaiting_input>thinking; call f irreversible hash=aa; return f; call f irreversible hash=bb; return f; complete | assumed 4.3.1, assumed 4.3.1
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
an id twice | start; progress id=evt_a; progress id=evt_a; complete | broken 3
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
        // Whoever was refused something has not ended either.
        let told = told.join(", ").replace(", assumed 4.1.2", "");
        assert_eq!(told, expected, "{story}");
    }
}

#[test]
fn nothing_is_said_of_the_order_after_a_broken_document() {
    let mut recorded = Recorded::default();
    let mut script = Script::default();
    let mut follow = |recorded: &mut Recorded, line| follow(recorded, script.step(line));
    assert_eq!(follow(&mut recorded, "start"), None);
    recorded.broken("sess_1");
    assert_eq!(follow(&mut recorded, "return never_called"), None);
    assert_eq!((recorded.n_sessions(), recorded.unfinished()), (1, Vec::new()));
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

/// Of a story that has only events.
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

fn decided(reply_token: String, decision: Decision) -> Handshake {
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

fn answered(reply_token: String, answer: Answer) -> Handshake {
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
