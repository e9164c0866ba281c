//! Thirty turns in which a model hands over, each in the documented shape of four forms: the
//! result is a valid history, by our own checker and by the providers' packages.

#![expect(clippy::unwrap_used, reason = "what helps a test fails like the test")]

mod page;
mod play;
pub mod python;

use std::fs;
use std::path::Path;

use protocol::tools::Form;
use protocol::tools::check::check;
use protocol::tools::detect::{self, Found};
use serde_json::{Value, json};

use play::{Script, play, scripts};

#[test]
fn every_turn_comes_out_as_a_valid_history() {
    let scripts = scripts();
    assert_eq!(scripts.len(), 30);
    for Script { name, script } in &scripts {
        for form in Form::ALL {
            let history = play(form, script);
            let problems: Vec<_> = check(form, &history).iter().map(|p| p.to_string()).collect();
            let shown = json!(history);
            assert_eq!(problems, [""; 0], "{name} {form:?}: {shown:#}");
            let found = detect::handoffs(form, &history).unwrap();
            let expected: Vec<_> = script["handoffs"].as_array().unwrap().iter().collect();
            assert_eq!(found.len(), expected.len(), "{name} {form:?}: {found:?}");
            for (found, expected) in found.iter().zip(expected) {
                check_found(found, expected.as_str().unwrap(), &format!("{name} {form:?}"));
            }
        }
    }
}

/// `from to outcome direction reason`. Anthropic's form does not say who hands over first.
fn check_found(found: &Found, expected: &str, about: &str) {
    let said = serde_json::to_value(found).unwrap();
    let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
    let line = ["to", "outcome", "direction", "reason"].map(text).join(" ");
    let (from, rest) = expected.split_once(' ').unwrap();
    assert_eq!(line.trim_end(), rest, "{about}");
    assert!(found.from.as_deref().is_none_or(|found| found == from), "{about}: {found:?}");
}

#[test]
fn the_packages_of_the_providers_load_every_history() {
    let python = python::ready();
    let folder = tempfile::tempdir().unwrap();
    let mut n_written = 0;
    for Script { name, script } in scripts() {
        for form in Form::ALL {
            write(folder.path(), &name, form, &Value::from(play(form, &script)));
            n_written += 1;
        }
    }
    for (form, name, broken) in broken() {
        write(folder.path(), name, form, &broken);
    }
    let lines = python::run(&python, folder.path());
    let (ok, refused): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.ends_with(" ok"));
    let is_meant = |line: &&&String| line.starts_with("broken");
    let surprises: Vec<_> = refused.iter().filter(|line| !is_meant(line)).collect();
    assert!(surprises.is_empty(), "{surprises:#?}");
    assert_eq!(ok.len(), n_written, "{ok:#?}");
    assert_eq!(refused.len(), broken().len(), "the loader can say no: {refused:#?}");

    let converted = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let converted = converted.filter(|path| path.extension().is_some_and(|e| e == "converted"));
    let mut n_converted = 0;
    for path in converted {
        let history: Vec<Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(check(Form::OpenAi, &history), [], "{}", path.display());
        n_converted += 1;
    }
    // One turn has a call that LangChain itself cannot read, and does not convert.
    assert_eq!(n_converted, 29);
}

fn write(folder: &Path, name: &str, form: Form, history: &Value) {
    let file = folder.join(format!("{name}.{}.json", form.as_str()));
    fs::write(file, history.to_string()).unwrap();
}

/// Histories that the packages must reject: a loader that accepts everything shows nothing.
fn broken() -> Vec<(Form, &'static str, Value)> {
    vec![
        (Form::OpenAi, "broken-1", json!([{ "role": "tool", "content": "x" }])),
        (Form::OpenAi, "broken-2", json!([{ "role": "person", "content": "x" }])),
        (
            Form::OpenAi,
            "broken-3",
            json!([{ "role": "assistant", "tool_calls": [{ "id": "c1", "type": "function" }] }]),
        ),
        (
            Form::Responses,
            "broken-1",
            json!([{ "type": "message", "role": "person", "content": "x" }]),
        ),
        (
            Form::Responses,
            "broken-2",
            json!([{ "type": "function_call", "call_id": "c1", "name": "x" }]),
        ),
        (
            Form::Responses,
            "broken-3",
            json!([{ "type": "function_call", "call_id": "c1", "name": "x", "arguments": {} }]),
        ),
        (Form::Anthropic, "broken-1", json!([{ "role": "tool", "content": "x" }])),
        (
            Form::Anthropic,
            "broken-2",
            json!([{ "role": "user", "content": [{ "type": "tool_result", "content": "x" }] }]),
        ),
        (
            Form::Anthropic,
            "broken-3",
            json!([{ "role": "assistant", "content": [
                { "type": "tool_use", "id": "t1", "name": "x", "input": "{}" },
            ] }]),
        ),
        (Form::LangChain, "broken-1", json!([{ "type": "person", "content": "x" }])),
        (Form::LangChain, "broken-2", json!([{ "type": "tool", "content": "x" }])),
        (
            Form::LangChain,
            "broken-3",
            json!([{ "type": "ai", "content": "", "tool_calls": [
                { "name": "x", "args": {}, "id": "c1" },
            ] }]),
        ),
    ]
}
