//! Sessions in the language of the machine's tables, with the findings about them. `+12` before a
//! step is 12 seconds after the last one (one second if it is left out); texts are JSON after the
//! step, and replace good ones.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{ALL, Heard, LintFinding, Texts, lint};
use crate::event::{Event, Payload, Urgency};
use crate::machine::table_tests::script::{Script, Step, steps};

#[test]
fn a_listener_says() {
    let wrong = table().filter_map(|(story, session, names)| {
        let found: Vec<_> = findings(session).iter().map(|finding| finding.name).collect();
        (found.join(", ") != names).then(|| format!("{story}: {}", found.join(", ")))
    });
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn everything_that_can_be_said_is_in_the_table() {
    let said: BTreeSet<_> = table().flat_map(|(_, _, names)| names.split(", ")).collect();
    for advice in ALL {
        assert!(said.contains(advice.name), "{} is in no row", advice.name);
    }
}

#[test]
fn the_same_is_said_once_with_the_first_event() {
    let text = r#"start; call f; +11 return f {"summary_terse": null}; call f;
        return f {"summary_terse": null}; complete"#;
    let findings = findings(text);
    let said: Vec<_> = findings
        .iter()
        .map(|finding| (finding.name, finding.event_id.as_str(), finding.index, finding.n_events))
        .collect();
    assert_eq!(said, [("progress_missing", "evt_2", 1, 1), ("terse_missing", "evt_3", 2, 2)]);
}

#[test]
fn texts_are_read_from_the_event() {
    let texts = Texts::read(r#"{"type":"x","summary_terse":"Done.","summary_normal":"All done."}"#);
    assert_eq!(texts.summary_terse.as_deref(), Some("Done."));
    assert_eq!(texts.summary_normal.as_deref(), Some("All done."));
    assert_eq!(Texts::read("no JSON"), Texts::default());
}

/// `story | session | findings`
const TABLE: &str = r#"
a good session | start; state idle>thinking; call look; return look; confirm t1 high irreversible hash=aa; call pay irreversible hash=aa; return pay; chunk 0 Done. last; complete |
no summary | start; state idle>thinking {"summary_normal": null}; complete | summary_missing
no terse summary | start {"summary_terse": null}; complete | terse_missing
a terse summary that is longer | start {"summary_terse": "I am about to start with what was asked for, at last."}; complete | terse_long
a terse summary that is the same | start {"summary_terse": "Working.", "summary_normal": "Working."}; complete |
a detailed summary that is shorter | start {"summary_detailed": "Go."}; complete | detailed_short
a summary that is a lecture | start {"summary_normal": "LONG", "summary_detailed": null}; complete | summary_long
a summary with JSON | start; call f {"summary_normal": "Calling f with {\"id\": 7} for you now."}; return f; complete | summary_technical
a summary with a link | start; complete {"summary_normal": "Done, see https://example.org."} | summary_technical
a password among the arguments | start; call f {"args_summary": "user dana, password: hunter2"}; return f; complete | secret_shown
a card number in a summary | start; call f {"summary_detailed": "I am paying with the card 4111 1111 1111 1111 now."}; return f; complete | secret_shown
arguments without secrets | start; call f {"args_summary": "500 USD, from checking to savings"}; return f; complete |
no language, told once | start {"language": null}; progress {"language": null}; complete | language_missing
an error without help | start; error {"remediation_hint": null} | error_without_help
an error with help | start; error |
a critical chunk | start; chunk 0 Done. last urgency=critical; complete | critical_overused
critical state changes | start; state idle>thinking urgency=critical; state thinking>idle urgency=critical; complete | critical_overused
progress as loud as the rest | start; progress urgency=normal; complete | progress_loud
eleven events at once | start; +0 call f; +0 return f; +0 call f; +0 return f; +0 call f; +0 return f; +0 call f; +0 return f; +0 call f; +0 return f; complete | events_too_many
many chunks at once | start; +0 chunk 0 a; +0 chunk 1 b; +0 chunk 2 c; +0 chunk 3 d; +0 chunk 4 e; +0 chunk 5 f; +0 chunk 6 g; +0 chunk 7 h; +0 chunk 8 i; +0 chunk 9 j; +0 chunk 10 - last; complete |
progress every percent | start; progress {"percent": 10}; progress {"percent": 11}; progress {"percent": 12}; complete | progress_too_often
progress every five percent, and the end | start; progress {"percent": 90}; progress {"percent": 95}; progress {"percent": 99.5}; complete | progress_too_often
the last step of progress | start; progress {"percent": 97}; progress {"percent": 100}; complete |
progress that goes back | start; progress {"percent": 50}; progress {"percent": 20}; complete | progress_backwards
progress of another task | start; progress {"percent": 50}; call f; progress {"percent": 20}; return f; complete |
a long call in silence | start; call f; +11 return f; complete | progress_missing
a long call with progress | start; call f; +8 progress; +8 return f; complete |
a gap | start; +16 complete | silent_gap
a gap while a person thinks | start; confirm t1; +200 call pay; return pay; complete |
a gap while a person is found | start; handoff; +200 complete |
words without a hint | start; chunk 0 Your {"hint": null}; chunk 4 plan {"hint": null}; chunk 8 is. last {"hint": null}; complete | hint_missing
sentences without a hint | start; chunk 0 Done. {"hint": null}; chunk 5 Good! last {"hint": null}; complete |
two outputs without hints | start; chunk 0 a out=a {"hint": null}; chunk 0 b out=b {"hint": null}; chunk 1 - out=a last; chunk 1 - out=b last; complete | hint_missing, hint_missing
an action that could be anything | start; confirm t1 {"action": "Are you sure?"}; cancel | action_vague
an action of one word | start; confirm t1 {"action": "Transfer"}; cancel | action_vague
an action in Japanese | start; confirm t1 {"action": "普通預金に五百円を振り込みます。"}; cancel |
a consequence that is missing | start; confirm t1 {"consequence": null}; cancel | consequence_vague
a consequence that repeats the action | start; confirm t1 {"action": "Delete all of it", "consequence": "Delete all of it"}; cancel | consequence_vague
little time for what is grave | start; confirm t1 high timeout=179; cancel | timeout_short
little time for what cannot be undone | start; confirm t1 irreversible hash=aa timeout=60; cancel | timeout_short
little time at medium risk | start; confirm t1 medium timeout=59; cancel | timeout_short
little time at low risk | start; confirm t1 low timeout=29; cancel | timeout_short
enough time at low risk | start; confirm t1 low timeout=30; cancel |
little time for an answer | start; ask t1 timeout=30; cancel | timeout_short
accept by default at high risk | start; confirm t1 high default=accept; cancel | default_unsafe
the confirmation does not say that it cannot be undone | start; confirm t1; call pay irreversible; return pay; complete | irreversible_unsaid
what cannot be undone, without a hash | start; confirm t1 irreversible; cancel | link_missing
four questions in a row | start; ask t1; ask t2; ask t3; ask t4; cancel | questions_too_many
four questions, with time between | start; ask t1; +30 ask t2; +30 ask t3; +30 ask t4; cancel |
"#;

fn table() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    TABLE.lines().filter(|line| !line.is_empty()).map(|line| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        (cells[0], cells[1], cells[2])
    })
}

fn findings(session: &str) -> Vec<LintFinding> {
    let mut script = Script::default();
    let mut at = 0;
    let heard: Vec<_> = steps(session).map(|line| step(&mut script, &mut at, line)).collect();
    let heard: Vec<_> =
        heard.iter().map(|(event, texts)| Heard { event, texts: texts.clone() }).collect();
    lint(&heard)
}

/// An event with good texts, except those that the step replaces.
fn step(script: &mut Script, at: &mut i64, line: &str) -> (Event<'static>, Texts) {
    let (line, json) = line.split_once('{').map_or((line, String::from("}")), |(line, json)| {
        (line.trim(), json.replace("LONG", &"on and on ".repeat(40)))
    });
    let given: Map<String, Value> = serde_json::from_str(&format!("{{{json}")).expect("JSON");
    let (seconds, line) = match line.strip_prefix('+') {
        Some(rest) => rest.split_once(' ').expect("seconds and a step"),
        None => ("1", line),
    };
    *at += seconds.parse::<i64>().expect("seconds") * 1_000_000;
    let Step::Event(mut event) = script.step(line) else { panic!("{line} is no event") };
    event.envelope.timestamp_micros = *at;
    if given.contains_key("language") {
        event.envelope.primary_language = None;
    }
    let text = |key: &str| given.get(key).and_then(Value::as_str).map(str::to_owned);
    if let Payload::ProgressUpdated { percent } = &mut event.payload {
        *percent = given.get("percent").and_then(Value::as_f64).or(*percent);
        event.envelope.urgency = event.envelope.urgency.or(Some(Urgency::Background));
    }
    if let Payload::OutputStreaming(chunk) = &mut event.payload
        && given.contains_key("hint")
    {
        chunk.coalesce_hint = None;
    }
    if let Payload::AwaitingConfirmation(confirmation) = &mut event.payload {
        let action = text("action").unwrap_or("Transfer 500 dollars to savings.".to_owned());
        confirmation.action = action.into();
    }
    let mut texts = json!({
        "summary_terse": "Working.",
        "summary_normal": "I am working on it.",
        "summary_detailed": "I am working on what you have asked me for.",
        "consequence": "The money moves at once.",
        "remediation_hint": "Try again.",
    });
    texts.as_object_mut().expect("an object").extend(given);
    (*event, Texts::read(&texts.to_string()))
}
