//! The reference itself: it lists exactly the routes that exist, and everything it refers to
//! exists.

use std::collections::BTreeSet;

use gateways::http::OPERATIONS;
use serde_json::Value;

use crate::server::{Server, ok};
use crate::wire::Request;
use tasuki::client::Call;

/// One operation, as the document has it.
#[derive(Debug, Clone)]
pub struct Operation {
    pub id: String,
    pub method: String,
    pub path: String,
    pub who: String,
    pub success: u16,
    pub has_pages: bool,
}

pub fn operations(document: &Value) -> Vec<Operation> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, described) in methods.as_object().expect("methods") {
            let responses = described["responses"].as_object().expect("responses");
            // The lower one is for a dry run, or for a call that changes nothing.
            let success = responses.keys().filter_map(|status| status.parse().ok()).max();
            let parameters = described["parameters"].as_array().expect("parameters");
            operations.push(Operation {
                id: text(&described["operationId"]),
                method: method.clone(),
                path: path.clone(),
                who: text(&described["x-who"]),
                success: success.expect("an operation can succeed"),
                has_pages: parameters.iter().any(|parameter| parameter["name"] == "limit"),
            });
        }
    }
    operations
}

#[tokio::test]
async fn the_reference_lists_what_is_routed_and_nothing_else() {
    let server = Server::start();
    let document = ok(&server.anonymous(), Call::get("/openapi.json")).await;
    let listed = operations(&document);
    let described: BTreeSet<_> =
        listed.iter().map(|operation| (operation.path.clone(), operation.method.clone())).collect();
    let table: BTreeSet<_> =
        OPERATIONS.iter().map(|row| (row.path.to_owned(), row.method.to_owned())).collect();
    assert_eq!(described, table);
    assert_eq!(described, routes_in_source());

    let paths: BTreeSet<_> = described.iter().map(|(path, _)| path).collect();
    for path in paths {
        let some =
            path.replace("{handoff}", super::UNKNOWN_ID).replace("{token}", super::UNKNOWN_ID);
        let some = some.replace("{message}", super::UNKNOWN_ID);
        let some = some.replace("{conversation}", super::UNKNOWN_ID);
        let some = some.replace("{transfer}", super::UNKNOWN_ID);
        let some = some.replace("{bundle}", super::UNKNOWN_ID);
        let some = some.replace("{queue}", super::UNKNOWN_NAME);
        let some = some.replace("{number}", "1").replace("{index}", "0");
        let some = some.replace("{agent}", super::UNKNOWN_NAME);
        let some = some.replace("{graph}", super::UNKNOWN_NAME);
        for method in ["get", "post", "put", "patch", "delete"] {
            let is_listed = described.contains(&(path.clone(), method.to_owned()));
            let answer = Request::new(&format!("{} {some}", method.to_uppercase()));
            let answer = answer.send(server.address()).await;
            assert_eq!(answer.status != 405, is_listed, "{method} {path}: {}", answer.status);
            let allowed = answer.header("allow").to_lowercase();
            for (other, method) in described.iter().filter(|_| !is_listed) {
                let is_allowed = allowed.split(',').any(|allowed| allowed.trim() == method);
                assert!(other != path || is_allowed, "{path} answers {method}, allow: {allowed}");
            }
        }
    }
}

/// The paths and methods that the router is built from, read where they are written.
fn routes_in_source() -> BTreeSet<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../gateways/src/http");
    let files = std::fs::read_dir(folder).expect("the routers' sources");
    let files = files.map(|file| file.expect("a file").path()).filter(|path| path.is_file());
    let source: String = files.map(|path| std::fs::read_to_string(path).expect("text")).collect();
    let mut routes = BTreeSet::new();
    for route in source.split(".route(").skip(1) {
        let route = route.trim_start().strip_prefix('"').expect("a path begins");
        let (path, handlers) = route.split_once('"').expect("a path ends");
        for method in ["get", "post", "put", "patch", "delete"] {
            let is_handled =
                [" ", "."].iter().any(|before| handlers.contains(&format!("{before}{method}(")));
            if is_handled {
                routes.insert((path.to_owned(), method.to_owned()));
            }
        }
    }
    routes
}

#[test]
fn the_reference_is_complete_in_itself() {
    let document = gateways::http::openapi();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["info"]["title"].is_string() && document["info"]["version"].is_string());
    let mut used = BTreeSet::new();
    check_references(&document, &document, &mut used);
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let unused: Vec<_> = schemas.keys().filter(|name| !used.contains(*name)).collect();
    assert!(unused.is_empty(), "nothing refers to {unused:?}");
    let mut ids = BTreeSet::new();
    for operation in operations(&document) {
        let described = &document["paths"][&operation.path][&operation.method];
        assert!(ids.insert(operation.id.clone()), "{} is there twice", operation.id);
        assert!(!described["summary"].as_str().unwrap().is_empty(), "{}", operation.id);
        let problem = "/responses/default/content/application~1problem+json/schema";
        assert!(described.pointer(problem).is_some(), "{}", operation.id);
        let is_secured = !described["security"].as_array().unwrap().is_empty();
        assert_eq!(is_secured, operation.who != "anyone", "{}", operation.id);
        let kind = match operation.id.as_str() {
            // Another protocol fixes its form.
            "add_checkpoint" => "text/plain",
            "store_file" | "append_to_upload" => "application/octet-stream",
            _ => "application/json",
        };
        let has_body = described["requestBody"]["content"][kind].is_object();
        assert_eq!(has_body, operation.method != "get", "{}", operation.id);
        let parameters = described["parameters"].as_array().unwrap();
        for name in operation.path.split(['{', '}']).skip(1).step_by(2) {
            let is_there = |parameter: &&Value| {
                parameter["name"] == name
                    && parameter["in"] == "path"
                    && parameter["required"] == true
            };
            assert_eq!(parameters.iter().filter(is_there).count(), 1, "{} {name}", operation.id);
        }
        assert!(parameters.iter().all(|parameter| parameter["schema"].is_object()));
    }
}

fn check_references(document: &Value, value: &Value, used: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                let pointer = reference.strip_prefix('#').expect("references stay inside");
                assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
                used.extend(pointer.strip_prefix("/components/schemas/").map(str::to_owned));
            }
            fields.values().for_each(|inner| check_references(document, inner, used));
        }
        Value::Array(items) => {
            items.iter().for_each(|inner| check_references(document, inner, used));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_list_of_operations_is_a_promise() {
    let document = gateways::http::openapi();
    let lines = operations(&document).into_iter().map(|operation| {
        let Operation { id, method, path, who, success, .. } = operation;
        format!("{:<4} {path:<32} {id:<18} {who:<9} {success}", method.to_uppercase())
    });
    let list = lines.collect::<Vec<_>>().join("\n");
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("operations", list);
    });
}

/// Every event has a golden file, so their names are those of all events.
#[test]
fn the_page_lists_the_events_that_there_are() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let files = std::fs::read_dir(format!("{root}/crates/protocol/golden")).expect("golden files");
    let names = files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned());
    let events: BTreeSet<_> =
        names.map(|name| name.split(".v1.").next().unwrap_or_default().to_owned()).collect();
    let page = std::fs::read_to_string(format!("{root}/docs/gateways/http.md")).expect("the page");
    let list = page.split("The event names, by family:").nth(1).expect("the list");
    let list = list.split("New ones may come").next().expect("its end");
    let cells = list.split('`').skip(1).step_by(2).filter(|cell| cell.contains('.'));
    let listed: BTreeSet<_> = cells.map(str::to_owned).collect();
    assert_eq!(listed, events);
}

#[test]
fn every_operation_is_explained_and_shown() {
    let document = gateways::http::openapi();
    let tags = document["tags"].as_array().expect("tags");
    let tags: BTreeSet<_> = tags.iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    let mut used = BTreeSet::new();
    for operation in operations(&document) {
        let described = &document["paths"][&operation.path][&operation.method];
        let id = &operation.id;
        let tag = described["tags"][0].as_str().unwrap_or_else(|| panic!("{id} has no tag"));
        assert!(tags.contains(tag), "{id}: {tag} is not explained");
        used.insert(tag);
        let text = described["description"].as_str().unwrap_or_default();
        assert!(text.len() > 20 && text.ends_with('.'), "{id} is not described: {text:?}");
        for parameter in described["parameters"].as_array().into_iter().flatten() {
            let text = parameter["description"].as_str().unwrap_or_default();
            assert!(text.len() > 10 && text.ends_with('.'), "{id}: {parameter}");
        }
        let bodies = [
            ("request", &described["requestBody"]["content"]),
            ("response", &described["responses"][operation.success.to_string()]["content"]),
            ("problem", &described["responses"]["default"]["content"]),
        ];
        for (what, content) in bodies {
            for (kind, media) in content.as_object().into_iter().flatten() {
                let example = media.get("example");
                let example = example.unwrap_or_else(|| panic!("{id}: no example of its {what}"));
                let form = protocol::form::Form::part(&document, &media["schema"]);
                let fits = form.check(example);
                assert_eq!(fits, Ok(()), "{id}: its {what} as {kind} is {example}");
            }
        }
    }
    assert_eq!(used, tags, "a tag without operations");
}
