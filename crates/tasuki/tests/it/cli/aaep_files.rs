//! Recorded AAEP files on the command line: errors by line and rule, and advice. No server takes
//! part.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::shell::{Outcome, Transcript, split, tasuki};

pub const SESSION: &str = "sess_2c91a7b4d23f1e88";
pub const TOKEN: &str = "rpl_4f8a2e7d9c1b6a3f";

/// Enough for several windows and threads; the long run is the same, only longer.
const HUGE_LINES: usize = 12_000;

/// A transfer, as a bank's agent announces it: up to its question, and what follows an accept.
pub fn transfer() -> [Vec<Value>; 2] {
    let thinking = json!({ "from_state": "idle", "to_state": "thinking" });
    let question = json!({
        "urgency": "critical", "action": "Transfer 500 dollars to Maria Lopez",
        "consequence": "The money leaves your account at once and cannot be called back",
        "reply_token": TOKEN, "timeout_seconds": 300, "default_decision": "reject",
        "risk_level": "high", "irreversible": true,
    });
    let call = json!({ "tool": "transfer_funds", "tool_call_id": "call_2", "irreversible": true });
    let done = json!({ "tool": "transfer_funds", "tool_call_id": "call_2", "status": "success" });
    let text = json!({ "chunk": "Transferred. ", "position": 0, "complete": false });
    let last = json!({ "chunk": "Anything else?", "position": 13, "complete": true });
    [
        vec![
            event(0, "session.started", json!({ "summary_normal": "Transfers 500 dollars" })),
            event(1, "state.changed", thinking),
            event(2, "awaiting.confirmation", question),
        ],
        vec![
            event(3, "tool.invoked", call),
            event(4, "tool.completed", done),
            event(5, "output.streaming", text),
            event(6, "output.streaming", last),
            event(7, "session.completed", json!({ "summary_normal": "Transferred 500 dollars" })),
        ],
    ]
}

pub fn event(number: u32, kind: &str, more: Value) -> Value {
    let mut event = json!({
        "@context": "https://aaep-protocol.org/context/v1",
        "type": format!("aaep:agent.{kind}"),
        "event_id": format!("evt_{number}"),
        "session_id": SESSION,
        "sequence_number": number,
        "timestamp": format!("2026-05-24T14:22:{number:02}.000Z"),
        "producer": { "agent_id": "teller", "agent_name": "Teller" },
    });
    if kind.starts_with("tool.invoked") {
        event["summary_normal"] = "Sends the money".into();
    }
    let more = more.as_object().expect("an object").clone();
    event.as_object_mut().expect("an object").extend(more);
    event
}

fn accept() -> Value {
    json!({ "type": "confirmation.reply", "reply_token": TOKEN, "decision": "accept",
        "subscription_id": "sub_1", "timestamp": "2026-05-24T14:22:02.500Z" })
}

fn whole() -> Vec<Value> {
    let [before, after] = transfer();
    [before, vec![accept()], after].concat()
}

fn lines(documents: &[Value]) -> String {
    documents.iter().fold(String::new(), |text, document| text + &document.to_string() + "\n")
}

fn run(folder: &Path, line: &str, input: &str) -> Outcome {
    tasuki(folder, &split(line), &[], input)
}

#[test]
fn what_people_and_programs_read() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let [before, after] = transfer();
    write("good.jsonl", &lines(&whole()));
    write("list.json", &serde_json::to_string_pretty(&whole()).unwrap());
    write("unanswered.jsonl", &lines(&[before.clone(), after].concat()));
    let mut broken = whole();
    broken[1]["from_state"] = Value::Null;
    let half = &broken[4].to_string()[..40];
    write("endless.jsonl", &lines(&before[..2]));
    write("broken.jsonl", &format!("{}{half}\n", lines(&broken[..4])));
    let mut order = whole();
    order.remove(5);
    write("order.jsonl", &lines(&order));
    let mut transcript = Transcript::default();
    for command in [
        "aaep validate good.jsonl list.json",
        "aaep validate unanswered.jsonl",
        "aaep validate unanswered.jsonl --strict",
        "aaep validate endless.jsonl",
        "aaep validate endless.jsonl --strict",
        "aaep validate broken.jsonl order.jsonl",
        "aaep validate broken.jsonl order.jsonl --tier session --json",
        "aaep validate broken.jsonl --max-errors 1 --warnings",
        "aaep validate broken.jsonl good.jsonl --junit -",
        "aaep validate broken.jsonl --max-errors 0 --junit -",
        "aaep validate good.jsonl --json --junit -",
        "aaep validate missing.jsonl",
        "aaep lint good.jsonl",
        "aaep lint missing.jsonl",
        "aaep replay good.jsonl --speed max --verbosity terse",
        "aaep replay good.jsonl --speed max --boundary none --json --session sess_none",
    ] {
        transcript.add(command, &run(folder.path(), command, ""));
    }
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("aaep_files", transcript.text);
    });
}

#[test]
fn broken_files_are_refused_with_line_and_rule() {
    let with = |at: usize, field: &str, value: Value| {
        let mut all = whole();
        all[at][field] = value;
        lines(&all)
    };
    let without = |at: usize| {
        let mut all = whole();
        all.remove(at);
        lines(&all)
    };
    let cases = [
        (
            "a number as text",
            with(1, "sequence_number", json!("1")),
            "2 schema type sequence_number",
        ),
        ("no such name", with(1, "type", json!("aaep:agent.sings")), "2 spec 3.9 type"),
        ("an unsafe default", with(2, "default_decision", json!("accept")), "3 schema"),
        ("not critical", with(2, "urgency", json!("normal")), "3 schema const urgency"),
        ("a forged reply", with(3, "decision", json!("perhaps")), "4 schema enum decision"),
        ("no start", without(0), "1 session 4.1.1 type"),
        ("a gap", without(1), "2 session 3 sequence_number"),
        ("a wrong place", with(7, "position", json!(12)), "8 session 4.3.3 position"),
        ("time goes back", with(5, "timestamp", json!("2026-05-24T14:21:00.000Z")), "6 session 3"),
        ("not text", "\u{0}\n".to_owned(), "1 schema json document"),
        ("a list that breaks off", "[\n{},".to_owned(), "2 schema json document"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (story, text, expected) in cases {
        let shown = run(folder.path(), "aaep validate --json -", &text);
        assert_eq!(shown.code, 1, "{story}: {}", shown.stderr);
        let first: Value = serde_json::from_str(shown.stdout.lines().next().unwrap()).unwrap();
        let word = |name: &str| first[name].as_str().unwrap().to_owned();
        let told = format!("{} {} {} {}", first["line"], word("tier"), word("rule"), word("field"));
        assert!(told.starts_with(expected), "{story}: {told}, expected {expected}");
        assert_eq!(first["file"], "-");
    }
    let broken = with(1, "from_state", Value::Null);
    for (text, tier, code) in [
        ("{bad\n", "schema", 1),
        ("{bad\n", "spec", 1),
        ("{bad\n", "session", 1),
        (broken.as_str(), "session", 1),
        (broken.as_str(), "spec", 0),
    ] {
        let shown = run(folder.path(), &format!("aaep validate - --tier {tier}"), text);
        assert_eq!(shown.code, code, "{tier}: {text}{}", shown.stderr);
    }
    for command in ["aaep validate", "aaep validate - --tier none", "aaep lint", "aaep replay"] {
        assert_eq!(run(folder.path(), command, "").code, 2, "{command}");
    }
    let no_recording = run(folder.path(), "aaep replay -", "{bad\n");
    assert_eq!(no_recording.code, 2, "{}", no_recording.stderr);
}

#[test]
fn one_wrong_document_is_one_error() {
    let with = |at: usize, document: Value| {
        let mut all = whole();
        all[at] = document;
        lines(&all)
    };
    let of_no_session = |at: usize| {
        let mut document = whole()[at].clone();
        document["session_id"] = "".into();
        with(at, document)
    };
    let second_start = {
        let mut all = whole();
        let mut again = all[0].clone();
        again["event_id"] = "evt_again".into();
        all.insert(2, again);
        lines(&all)
    };
    let end_first = {
        let mut all = whole();
        all.rotate_right(1);
        lines(&all)
    };
    let no_json = lines(&whole()).replacen("\"evt_4\"", "", 1);
    let cases = [
        ("null", with(5, Value::Null), 6),
        ("null first", with(0, Value::Null), 1),
        ("a list", with(5, json!([1, 2])), 6),
        ("a list first", with(0, json!([1, 2])), 1),
        ("a text", with(5, json!("text")), 6),
        ("no JSON", no_json, 6),
        ("a start of no session", of_no_session(0), 1),
        ("an event of no session", of_no_session(5), 6),
        ("a second start", second_start, 3),
        ("the end first", end_first, 1),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (story, text, line) in cases {
        let shown = run(folder.path(), "aaep validate --json -", &text);
        let found = shown.stdout.lines().map(|it| serde_json::from_str::<Value>(it).unwrap());
        let found: Vec<_> = found.map(|it| it["line"].clone()).collect();
        assert_eq!(found, [json!(line)], "{story}: {}", shown.stdout);
    }
}

/// Each field of each document of a recording, changed on its own: the wrong event is reported
/// where it is, or, if it is valid on its own, where a later one contradicts it.
#[test]
fn one_wrong_field_is_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = "aaep validate --json".to_owned();
    let mut wrong = Vec::new();
    for (at, document) in whole().iter().enumerate() {
        for field in document.as_object().unwrap().keys() {
            for (edit, value) in
                [("missing", None), ("null", Some(json!(null))), ("list", Some(json!([[]])))]
            {
                let mut all = whole();
                let document = all[at].as_object_mut().unwrap();
                match value {
                    Some(value) => document.insert(field.clone(), value),
                    None => document.remove(field),
                };
                let name = format!("{at}-{}-{edit}.jsonl", field.trim_start_matches('@'));
                std::fs::write(folder.path().join(&name), lines(&all)).unwrap();
                command.push_str(&format!(" {name}"));
                wrong.push((name, at + 1, edit == "missing"));
            }
        }
    }
    let shown = run(folder.path(), &command, "");
    let found = shown.stdout.lines().map(|it| serde_json::from_str::<Value>(it).unwrap());
    let mut errors: HashMap<String, Vec<usize>> = HashMap::new();
    for error in found.filter(|it| it["level"] == "error") {
        let line = usize::try_from(error["line"].as_u64().unwrap()).unwrap();
        errors.entry(error["file"].as_str().unwrap().to_owned()).or_default().push(line);
    }
    for (name, line, is_missing) in wrong {
        match errors.get(&name).map_or(&[][..], Vec::as_slice) {
            [] => assert!(is_missing, "{name}: not found"),
            [found] if is_missing => assert!(*found >= line, "{name}: line {found}"),
            [found] => assert_eq!(*found, line, "{name}"),
            found => panic!("{name}: lines {found:?}"),
        }
    }
}

/// A wrong event hides no mistake of its neighbours.
#[test]
fn every_mistake_is_an_error() {
    let id = |at: usize| whole()[at]["event_id"].clone();
    let end = json!("aaep:agent.session.completed");
    let folder = tempfile::tempdir().unwrap();
    for (story, edits, expected) in [
        (
            "an end without a summary, and no summary",
            [(1, "type", end.clone()), (2, "summary_normal", json!(null))],
            vec![2, 3],
        ),
        (
            "an end without a summary, and no time",
            [(1, "type", end), (2, "timestamp", json!("x"))],
            vec![2, 3],
        ),
        (
            "another start, and no context",
            [(0, "producer", json!({ "agent_id": "x" })), (1, "@context", json!(null))],
            vec![2, 2],
        ),
        (
            "no tool, and its id again",
            [(4, "tool", json!(null)), (7, "event_id", id(4))],
            vec![5, 8],
        ),
        (
            "two of no session",
            [(4, "session_id", json!("x")), (5, "session_id", json!("y"))],
            vec![5, 6],
        ),
    ] {
        let mut all = whole();
        for (at, field, value) in edits {
            all[at][field] = value;
        }
        let shown = run(folder.path(), "aaep validate --json -", &lines(&all));
        let found = shown.stdout.lines().map(|it| serde_json::from_str::<Value>(it).unwrap());
        let found: Vec<_> = found.map(|it| it["line"].clone()).collect();
        assert_eq!(json!(found), json!(expected), "{story}: {}", shown.stdout);
    }
}

/// The content of a file decides how its documents are told apart, and not its name.
#[test]
fn documents_are_found_whatever_the_name_is() {
    let folder = tempfile::tempdir().unwrap();
    let pretty = |it: &Value| serde_json::to_string_pretty(it).unwrap();
    let all = Value::from(whole());
    for (story, text) in [
        ("one over many lines", pretty(&whole()[0])),
        ("several over many lines", whole().iter().map(pretty).collect::<Vec<_>>().join("\n")),
        ("a list over many lines", pretty(&all)),
        ("a list on one line", all.to_string()),
        ("one on each line", lines(&whole())),
    ] {
        for name in ["documents.jsonl", "documents.json"] {
            std::fs::write(folder.path().join(name), &text).unwrap();
            let shown = run(folder.path(), &format!("aaep validate {name}"), "");
            assert_eq!(shown.code, 0, "{story} in {name}: {}{}", shown.stdout, shown.stderr);
        }
    }
}

#[test]
fn many_and_huge_files_are_told_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut huge = String::new();
    let start = json!({ "summary_normal": "Counts" });
    let first = event(0, "session.started", start).to_string();
    let end = json!({ "summary_normal": "Counted" });
    for number in 0..HUGE_LINES {
        let mut event = match number {
            0 => first.clone(),
            _ if number == HUGE_LINES - 1 => event(7, "session.completed", end.clone()).to_string(),
            _ => {
                let progress = json!({ "progress": { "percent": 5 },
                    "summary_normal": "x".repeat(700) });
                event(7, "progress.updated", progress).to_string()
            }
        };
        event = event.replace("\"sequence_number\":7", &format!("\"sequence_number\":{number}"));
        event = event.replace("evt_7", &format!("evt_{number}"));
        writeln!(huge, "{event}").unwrap();
    }
    let wrong = huge.replace(&format!("evt_{}\"", HUGE_LINES - 10), "evt_3\"");
    std::fs::write(folder.path().join("huge.jsonl"), &wrong).unwrap();
    let mut command = "aaep validate huge.jsonl".to_owned();
    let mut expected = vec![format!("huge.jsonl:{}: rule 3  event_id: expected", HUGE_LINES - 9)];
    for number in 0..20 {
        let name = format!("small_{number}.json");
        std::fs::write(folder.path().join(&name), "{}").unwrap();
        command.push_str(&format!(" {name}"));
        expected.push(format!("{name}:1: rule required  @context: expected this field"));
    }
    let shown = run(folder.path(), &command, "");
    assert_eq!(shown.code, 1, "{}", shown.stderr);
    // A gap in the numbers follows from the refused event, and is reported once.
    let mut lines = shown.stdout.lines().filter(|line| !line.contains("sequence_number"));
    for expected in &expected {
        let found = lines.find(|line| line.starts_with(expected.as_str()));
        assert!(found.is_some(), "{expected} in its order: {}", shown.stdout);
    }
    let shown = run(folder.path(), "aaep validate -", &huge);
    assert_eq!((shown.code, shown.stdout.as_str()), (0, ""), "{}", shown.stderr);
}

#[test]
fn the_report_for_continuous_integration_is_well_formed() {
    let folder = tempfile::tempdir().unwrap();
    let name = "a&b<\"c'>.jsonl";
    std::fs::write(folder.path().join(name), "{\"\\u001b]&<>\":1}\n").unwrap();
    let arguments = ["aaep", "validate", name, "--junit", "report.xml"].map(str::to_owned);
    assert_eq!(tasuki(folder.path(), &arguments, &[], "").code, 1);
    let xml = std::fs::read_to_string(folder.path().join("report.xml")).unwrap();
    let mut open: Vec<&str> = Vec::new();
    let (_, body) = xml.split_once("?>").unwrap();
    for part in body.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("every tag ends");
        assert!(!text.contains('>') && !tag.contains('&') || tag.contains("&amp;"), "{part}");
        let name = tag.split_whitespace().next().unwrap();
        match (name.strip_prefix('/'), tag.ends_with('/')) {
            (Some(name), _) => assert_eq!(open.pop(), Some(name)),
            (None, true) => {}
            (None, false) => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(xml.contains("a&amp;b&lt;&quot;c&apos;&gt;.jsonl"), "{xml}");
}
