//! The published schemas match what is enforced, in both directions: a request that they allow is
//! never refused for its form, and one that breaks them in one place is refused, with that place
//! named.

mod flat;
mod generate;
mod violate;
mod words;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use protocol::form::Form;
use serde_json::Value;
use tasuki::client::percent_encode;

use self::generate::Generator;
use self::violate::{Violation, violations};
use self::world::{Place, World};
use crate::server::{is_full_run, seed};
use crate::wire::Answer;

pub use self::words::inner_words;

/// Requests of each direction: with `TASUKI_TEST_FULL=1`, and otherwise.
const REQUESTS_FULL: usize = 10_000;
const REQUESTS: usize = 600;

/// Bodies that are messages of AAEP. They have their own reader, whose tables make
/// `/schemas/aaep.json`; `aaep::read` compares the two.
const OWN_READER: [&str; 5] =
    ["announce_events", "compat_message", "compat_session", "open_subscription", "reply"];

/// The codes for a body of the wrong form.
const OF_FORM: [&str; 4] = ["graph_invalid", "json_invalid", "payload_too_large", "schema_invalid"];

/// Rules about several values together, or about a value and the state of the server. No schema
/// expresses them; docs/gateways/http.md lists them.
const RELATIONS: [&str; 80] = [
    "`*` alone, or names",
    "2 to 32 options for `choose`",
    "a graph that was saved",
    "a human; a",
    "a human other than the asker",
    "a name of its own",
    "a name that is not used twice",
    "an offer that differs",
    "a person or a queue",
    "a queue;",
    "a `reply_target` for its people",
    "a shift that does not overlap",
    "a stored file that you uploaded",
    "a time at most 30 days ahead",
    "a time in the future",
    "a worker",
    "accept or reject for a confirmation",
    "a text that shows something",
    "an agent id, but it is missing",
    "an agent of the topology",
    "an agent that is a queue",
    "an agent that the topology",
    "an item in 1 to",
    "an option that does not look",
    "another agent than the holder",
    "another id than the whole",
    "another name; its conversation",
    "another person or queue",
    "another queue",
    "as it was",
    "an agent or `human`; or `parts`",
    "at least `turns`",
    "at least one of `percent`",
    "at most 4096 bytes as JSON",
    "bytes that can be seen",
    "each agent and queue once",
    "each artifact once",
    "each criterion once",
    "each skill once",
    "false for a system agent",
    "handoff/<id>, message/<id>",
    "later than `from`",
    "left out unless `goto`",
    "left out with `goto`",
    "left out without `goto`",
    "left out without a `url`",
    "left out by a person",
    "longer than the one before",
    "names and 16384 bytes in all",
    "names with a text",
    "no more than this server stores",
    "none, as the graph",
    "nothing for a blind transfer",
    "nothing for supervisor_consult",
    "null; turns reach a worker",
    "one of the members",
    "one of the options",
    "or decline",
    "one of the task's success criteria",
    "the agent that answers",
    "the deadline of the whole",
    "the id of an artifact of the package",
    "the id of one of the `final_artifacts`",
    "the message that is answered",
    "the cursor of an event",
    "the name of events",
    "the number of a message",
    "the position of an entry",
    "the SHA-256 of the data",
    "the size of the data",
    "the thread of the message",
    "to be given for `text`",
    "to be left out but by",
    "to be left out, except for",
    "to be left out by a customer",
    "to be left out for a draft",
    "to be left out with `decision`",
    "to be left out, or a queue",
    "to stay as",
    "without itself",
];

/// Fields whose values have the form of a model's provider, which `form` names.
const PROVIDERS_OWN: [&str; 2] = ["messages[", "turn"];

/// An incomplete offer may be tried out, so the rules say what it needs, not the schema.
const PROPOSALS: [&str; 3] = ["acp_handoff", "initiate_handoff", "propose_draft"];

#[derive(Debug, Clone)]
struct Operation {
    id: String,
    method: String,
    path: String,
    schema: Value,
}

#[test]
fn what_the_schemas_allow_has_the_form_that_is_asked_for() {
    let document = gateways::http::openapi();
    let operations = operations(&document);
    let mut world = World::open();
    let mut generator = generator(&document, "what_the_schemas_allow", &world);
    let n_requests = if is_full_run() { REQUESTS_FULL } else { REQUESTS };
    generator.known.insert("handoff_id".to_owned(), vec![world.draft()]);
    let mut tally: BTreeMap<String, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for number in 0..n_requests {
        let operation = &operations[number % operations.len()];
        let place = world.place(&operation.id, &operation.method, &operation.path);
        let task = world.new_task();
        generator.known.insert("task_id".to_owned(), vec![task]);
        let body = generator.value(&operation.schema).value;
        let answer = world.ask(&place, &body);
        let (code, said) = code_and_detail(&answer);
        *tally.entry(code.clone()).or_default() += 1;
        // A counter-offer can clear a field that a package needs, and a saved draft can lack it.
        let is_draft = body["action"] == "initiate" && !body["handoff_id"].is_null();
        let clears = operation.id == "counter_handoff"
            || operation.id == "propose_draft"
            || body["action"] == "counter"
            || is_draft;
        let is_known = |said: &String| {
            is_relation(said)
                || PROVIDERS_OWN.iter().any(|field| said.starts_with(field))
                || (clears && said.ends_with("but it is missing"))
        };
        let is_of_form = OF_FORM.contains(&code.as_str()) && !said.iter().all(is_known);
        if answer.status >= 500 || is_of_form {
            failures.push(format!("{}: {body}\n    {}", operation.id, shown(&answer)));
        }
    }
    println!("{n_requests} valid requests, by result: {tally:#?}");
    assert!(failures.is_empty(), "{} wrong:\n{}", failures.len(), first(&failures));
    assert!(tally["done"] * 3 > n_requests, "few got through: {tally:?}");
}

/// Lists take the parameters that their schemas allow. Only cursors and teamspaces are of nowhere.
#[test]
fn what_the_schemas_of_parameters_allow_is_taken() {
    let document = gateways::http::openapi();
    let mut world = World::open();
    let mut generator = generator(&document, "what_the_parameters_allow", &world);
    let (mut n_taken, mut failures) = (0, Vec::new());
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let described = &methods["get"];
        let parameters = described["parameters"].as_array().into_iter().flatten();
        let parameters: Vec<_> = parameters.filter(|it| it["in"] == "query").collect();
        let answers = described["responses"]["200"]["content"].as_object();
        // A stream does not end.
        let is_stream = answers.is_none_or(|it| it.contains_key("text/event-stream"));
        if parameters.is_empty() || is_stream || path.contains('{') {
            continue;
        }
        let id = described["operationId"].as_str().expect("an id");
        for parameter in parameters.iter().cycle().take(8 * parameters.len()) {
            let value = generator.value(&parameter["schema"]).value;
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let name = parameter["name"].as_str().expect("a name");
            let place = world.place(id, "get", path);
            let line = format!("{}?{name}={}", place.line, percent_encode(&text));
            let answer = world.ask(&Place { line: line.clone(), ..place }, &Value::Null);
            let (code, _) = code_and_detail(&answer);
            match code.as_str() {
                "done" => n_taken += 1,
                "cursor_invalid" if ["cursor", "after", "read_until"].contains(&name) => {}
                "not_found" if name == "teamspace" => {}
                _ => failures.push(format!("{id}: {line}\n    {}", shown(&answer))),
            }
        }
    }
    assert!(failures.is_empty(), "{} wrong:\n{}", failures.len(), first(&failures));
    assert!(n_taken > 100, "{n_taken}");
}

/// The examples of the reference can be sent as they are.
#[test]
fn each_example_of_a_request_has_the_form_that_is_asked_for() {
    let document = gateways::http::openapi();
    let mut world = World::open();
    let mut failures = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, described) in methods.as_object().expect("methods") {
            let example = &described["requestBody"]["content"]["application/json"]["example"];
            if example.is_null() {
                continue;
            }
            let id = described["operationId"].as_str().expect("an id");
            let place = world.place(id, method, path);
            let answer = world.ask(&place, example);
            let (code, said) = code_and_detail(&answer);
            let is_of_form = OF_FORM.contains(&code.as_str());
            if answer.status >= 500 || is_of_form && !said.iter().all(|it| is_of_state(it)) {
                failures.push(format!("{id}: {example}\n    {}", shown(&answer)));
            }
        }
    }
    assert!(failures.is_empty(), "{} wrong:\n{}", failures.len(), first(&failures));
}

/// Readers of the reference do not read the code.
#[test]
fn no_description_names_what_only_the_code_has() {
    let document = gateways::http::openapi().to_string();
    for word in document.split_whitespace() {
        let path = word.split_once("::").filter(|(from, _)| from.ends_with(char::is_alphanumeric));
        assert!(path.is_none() && !word.contains("[`"), "{word}");
    }
}

/// Texts of refusals for what an example names and the world does not have.
fn is_of_state(said: &str) -> bool {
    is_relation(said) && !said.contains("but it is missing")
}

#[test]
fn what_breaks_a_schema_is_refused_and_the_place_named() {
    let document = gateways::http::openapi();
    let operations = operations(&document);
    let mut world = World::open();
    let mut generator = generator(&document, "what_breaks_a_schema", &world);
    let n_requests = if is_full_run() { REQUESTS_FULL } else { REQUESTS };
    generator.known.insert("handoff_id".to_owned(), vec![world.draft()]);
    let mut places: BTreeMap<String, Place> = BTreeMap::new();
    for operation in &operations {
        let place = world.place(&operation.id, &operation.method, &operation.path);
        places.insert(operation.id.clone(), place);
    }
    let mut tally: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut broken = BTreeSet::new();
    let mut failures = Vec::new();
    let mut number = 0;
    for operation in operations.iter().cycle() {
        if number == n_requests {
            break;
        }
        let task = world.new_task();
        generator.known.insert("task_id".to_owned(), vec![task]);
        let all = violations(&generator.value(&operation.schema));
        if all.is_empty() {
            continue;
        }
        let violation = generator.one(&all).clone();
        // Only the rules limit the size of an object. Those about messages count their attempts,
        // and those about a transfer check the caller first; the refusals have rows for these.
        let is_weighed = violation.keyword == "x-maxBytes of an object";
        if is_weighed && operation.id != "request_human" {
            continue;
        }
        // So many intents have more regexes than a graph may have in all, which is reported
        // instead.
        if violation.keyword == "maxItems" && violation.field == "intents" {
            continue;
        }
        // A dry run reports what is missing, and refuses nothing.
        if violation.value["dry_run"] == true && violation.field != "dry_run" {
            continue;
        }
        // Without a handoff, a query asks for a list.
        if violation.value["action"] == "query" && violation.field == "handoff_id" {
            continue;
        }
        let answer = world.ask(&places[&operation.id], &violation.value);
        // The rules check what a proposal needs, and may find another fault first.
        let is_other_fault = code_and_detail(&answer).1.iter().any(|said| is_relation(said));
        if is_other_fault && PROPOSALS.contains(&operation.id.as_str()) {
            continue;
        }
        number += 1;
        *tally.entry(violation.keyword).or_default() += 1;
        broken.insert((operation.id.clone(), violation.keyword, violation.field.clone()));
        failures.extend(wrong_with(operation, &violation, &answer));
    }
    println!("{number} violations of {} kinds, by keyword: {tally:#?}", broken.len());
    assert!(failures.is_empty(), "{} wrong:\n{}", failures.len(), first(&failures));
}

fn is_relation(said: &str) -> bool {
    RELATIONS.iter().any(|relation| said.contains(relation))
}

/// Packages of generated proposals, as the server sealed them; and packages that the schema once
/// wrongly allowed.
#[test]
fn what_the_server_seals_has_the_published_form() {
    let document = gateways::http::openapi();
    let operations = operations(&document);
    let initiate = operations.iter().find(|it| it.id == "initiate_handoff").expect("it is there");
    let mut world = World::open();
    let mut generator = generator(&document, "what_the_server_seals", &world);
    let form = Form::new(&world.get("/schemas/handoff-package.json"));
    let mut packages = Vec::new();
    for _ in 0..60 {
        let place = world.place(&initiate.id, &initiate.method, &initiate.path);
        let task = world.new_task();
        generator.known.insert("task_id".to_owned(), vec![task]);
        let answer = world.ask(&place, &generator.value(&initiate.schema).value).json();
        if let Some(id) = answer["handoff_id"].as_str() {
            packages.push(world.get(&format!("/v1/handoffs/{id}"))["package"].clone());
        }
    }
    assert!(packages.len() > 10, "only {} were proposed", packages.len());
    for package in &packages {
        assert_eq!(form.check(package), Ok(()), "{package}");
    }
    let broken = [
        ("/task/task_id", Value::Null, "task.task_id"),
        ("/work_state", serde_json::json!({ "percent_complete": 101 }), "work_state"),
        ("/verification/package_hash", "00".into(), "verification.package_hash"),
    ];
    for (pointer, value, field) in broken {
        let mut package = packages[0].clone();
        *package.pointer_mut(pointer).expect("a place") = value;
        let misfit = form.check(&package).expect_err("it is broken");
        assert!(misfit.path.starts_with(field), "{misfit}");
    }
}

fn wrong_with(operation: &Operation, violation: &Violation, answer: &Answer) -> Option<String> {
    let (code, said) = code_and_detail(answer);
    let Violation { keyword, field, value } = violation;
    let named = |said: &String| {
        let name = said.split(": expected").next().filter(|name| !name.is_empty());
        let name = name.unwrap_or("body");
        let rest = name.strip_prefix(field.as_str());
        // A missing value may be named by a field inside it.
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    // A cursor has a code of its own, for its form as well.
    let is_of_form =
        OF_FORM.contains(&code.as_str()) || (code == "cursor_invalid" && field == "cursor");
    let is_refused = (400..500).contains(&answer.status) && is_of_form;
    // A refusal may quote what the request says.
    let asked = value.to_string();
    let inner = said.iter().find_map(|said| inner_words(said).filter(|it| !asked.contains(it)));
    let wrong = match (is_refused, said.iter().any(named), inner) {
        (true, true, None) => return None,
        (true, true, Some(word)) => format!("it says `{word}`"),
        (true, false, _) => "another place is named".to_owned(),
        (false, _, _) => "it is not refused for its form".to_owned(),
    };
    let id = &operation.id;
    Some(format!("{id}: {keyword} at {field}: {wrong}\n    {value}\n    {}", shown(answer)))
}

/// The code of an answer and its details: for a graph, those of each problem.
fn code_and_detail(answer: &Answer) -> (String, Vec<String>) {
    let body = answer.json();
    let error = if body["error"].is_object() { &body["error"] } else { &body };
    let Some(code) = error["code"].as_str().filter(|_| answer.status >= 400) else {
        return ("done".to_owned(), Vec::new());
    };
    let problems = body["problems"].as_array().into_iter().flatten();
    let of_form = problems.clone().filter(|one| one["code"] == "schema_invalid");
    let said: Vec<_> = of_form
        .map(|one| {
            let text = |name: &str| one[name].as_str().unwrap_or_default();
            format!("{}: expected {}", text("field"), text("expected"))
        })
        .collect();
    let others = problems.filter(|one| one["code"] != "schema_invalid").map(|one| {
        let text = |name: &str| one[name].as_str().unwrap_or_default();
        format!("{}: expected {}", text("field"), text("expected"))
    });
    if body["problems"].is_array() {
        // A graph without its references is refused for them; those are not faults of its form.
        let relations = others.map(|said| format!("{said}; a name of its own"));
        return (code.to_owned(), said.into_iter().chain(relations).collect());
    }
    (code.to_owned(), vec![error["detail"].as_str().unwrap_or_default().to_owned()])
}

fn operations(document: &Value) -> Vec<Operation> {
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, described) in methods.as_object().expect("methods") {
            let id = described["operationId"].as_str().expect("an id").to_owned();
            let schema = &described["requestBody"]["content"]["application/json"]["schema"];
            if schema.is_object() && !OWN_READER.contains(&id.as_str()) {
                let (method, path) = (method.clone(), path.clone());
                operations.push(Operation { id, method, path, schema: schema.clone() });
            }
        }
    }
    assert!(operations.len() > 60, "{} operations write", operations.len());
    operations
}

fn generator<'d>(document: &'d Value, test: &str, world: &World) -> Generator<'d> {
    let mut generator = Generator::new(document, seed(test), world.now());
    let agents = ["alice", "bob", "carol", "dora", "desk", "router"];
    let names = ["to_agent", "agent", "to", "goto", "queue", "agent_id", "supervisor", "workers"];
    for name in names {
        generator.known.insert(name.to_owned(), agents.map(str::to_owned).to_vec());
    }
    let criteria = vec!["Every retry is idempotent".to_owned()];
    generator.known.insert("criterion".to_owned(), criteria);
    generator
}

fn shown(answer: &Answer) -> String {
    let body: String = String::from_utf8_lossy(&answer.bytes).chars().take(600).collect();
    format!("{} {body}", answer.status)
}

fn first(failures: &[String]) -> String {
    failures.iter().take(40).cloned().collect::<Vec<_>>().join("\n")
}
