//! The upstream schemas as published, and ours, both through an independent validator.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use serde_json::{Value, json};

use super::{breaks_schema, flaws_of};
use crate::read::{examine, read};
use crate::schemas::SCHEMAS;

/// Validators by the name of the type, without `aaep:`; events of other types use `envelope`.
pub struct Schemas {
    upstream: BTreeMap<String, Validator>,
    ours: BTreeMap<String, Validator>,
}

impl Schemas {
    pub fn load() -> Schemas {
        let envelope = load("envelope");
        let upstream = upstream_names().into_iter().map(|name| {
            let mut schema = load(&name);
            if name.starts_with("agent.") {
                schema["$defs"] = json!({"envelope": envelope});
            }
            (name, validator(&schema))
        });
        let ours = SCHEMAS.iter().map(|(name, text)| {
            ((*name).to_owned(), validator(&serde_json::from_str(text).unwrap()))
        });
        Schemas { upstream: upstream.collect(), ours: ours.collect() }
    }

    /// Whether the upstream schema and ours accept the document. Some messages have no upstream
    /// schema.
    pub fn verdicts(&self, document: &Value) -> (Option<bool>, bool) {
        let name = document["type"].as_str().unwrap_or_default();
        let name = match name.strip_prefix("aaep:") {
            Some(core) if self.ours.contains_key(core) && core != "envelope" => core,
            None if self.ours.contains_key(name) && !name.starts_with("agent.") => name,
            Some(_) | None => "envelope",
        };
        let upstream = self.upstream.get(name).map(|schema| schema.is_valid(document));
        (upstream, self.ours[name].is_valid(document))
    }
}

#[test]
fn all_examples_are_valid_by_the_schemas_and_by_us() {
    let schemas = Schemas::load();
    let mut n_examples = 0;
    for example in examples() {
        n_examples += 1;
        let (upstream, ours) = schemas.verdicts(&example);
        // The smallest envelope upstream has no summary, which its own type requires.
        if example["type"] == "aaep:agent.session.started" && example["summary_normal"].is_null() {
            let flaws = flaws_of(&example);
            assert_eq!((upstream, ours, flaws.len()), (Some(false), false, 1), "{flaws:?}");
            assert_eq!((flaws[0].rule, &*flaws[0].field), ("required", "summary_normal"));
            continue;
        }
        // The largest one is incomplete too: no tool, no summary.
        if example["type"] == "aaep:agent.tool.invoked" && example["tool"].is_null() {
            assert_eq!((upstream, ours), (Some(false), false));
            assert!(breaks_schema(&flaws_of(&example)));
            continue;
        }
        assert_eq!((upstream, ours), (Some(true), true), "{example}");
        assert_eq!(flaws_of(&example), [], "{example}");
    }
    assert_eq!(n_examples, 58 + 13);
}

/// The envelope's own examples lack only their payload, so they are valid as envelopes.
#[test]
fn envelopes_alone_are_valid_as_such() {
    let schema = validator(&load("envelope"));
    let ours = Schemas::load().ours;
    for example in load("envelope")["examples"].as_array().unwrap() {
        assert!(schema.is_valid(example) && ours["envelope"].is_valid(example), "{example}");
    }
}

#[test]
fn the_order_of_members_does_not_matter() {
    for example in examples().filter(|one| one.get("event_id").is_some()) {
        let members = example.as_object().unwrap();
        let backwards: Vec<String> =
            members.iter().rev().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
        let backwards = format!("{{{}}}", backwards.join(",\n "));
        let forwards = example.to_string();
        assert_eq!(read(&backwards), read(&forwards), "{example}");
        assert_eq!(examine(&backwards).warnings, examine(&forwards).warnings, "{example}");
    }
}

/// The examples of the upstream schemas, and those of the chapter on the twelve events.
pub fn examples() -> impl Iterator<Item = Value> {
    let chapter = std::fs::read_to_string(data().join("chapter_4_examples.jsonl")).unwrap();
    let chapter: Vec<Value> =
        chapter.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_schemas = upstream_names().into_iter().flat_map(|name| {
        load(&name)["examples"].as_array().cloned().expect("every schema has examples")
    });
    of_schemas.collect::<Vec<_>>().into_iter().chain(chapter)
}

fn validator(schema: &Value) -> Validator {
    jsonschema::options().should_validate_formats(true).build(schema).unwrap()
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn load(name: &str) -> Value {
    let text = std::fs::read_to_string(data().join(format!("{name}.schema.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn upstream_names() -> Vec<String> {
    let files = std::fs::read_dir(data()).unwrap().map(|file| file.unwrap().file_name());
    let mut names: Vec<String> = files
        .filter_map(|name| Some(name.to_str()?.strip_suffix(".schema.json")?.to_owned()))
        .collect();
    names.sort();
    names
}
