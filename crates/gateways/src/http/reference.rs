//! The reference: an OpenAPI 3.1 document made from the operations and their types, and a page that
//! shows it without scripts or external resources.

mod examples;
pub mod operations;
mod page;
mod parameters;
mod plain_text;
mod schemas;

use std::sync::LazyLock;

use aaep::VERSION;
use aaep::schemas::SCHEMAS;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use protocol::form;
use protocol::handoff::check::Proposal;
use protocol::handoff::package::{PACKAGE_VERSION, Package};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::http::aaep::message_schemas;
use crate::http::handoffs::acp::AcpResponse;
use crate::http::handoffs::dry_run::DryRun;
use crate::http::operations::OPERATIONS;
use crate::http::operations::tags::TAGS;
use crate::http::reference::parameters::parameters;
use crate::http::reference::schemas::{Schemas, simplify};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::operation::{Operation, Response as Answer, Who};
use crate::http::shared::routes::Routes;
use operations::REFERENCE;
use page::page;

pub fn routes(gateway: Gateway) -> Router {
    Routes::new(&[&REFERENCE])
        .route("/openapi.json", |at| at.get(openapi_json))
        .route("/schemas/handoff-package.json", |at| at.get(package_schema))
        .route("/schemas/handoff-offer.json", |at| at.get(offer_schema))
        .route("/schemas/aaep.json", |at| at.get(aaep_schemas))
        .route("/docs", |at| at.get(page))
        .with_state(gateway)
}

/// The document, made once.
pub fn openapi() -> Value {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(make);
    DOCUMENT.clone()
}

fn make() -> Value {
    let mut generators = Schemas::new();
    let mut paths = Map::new();
    for operation in &OPERATIONS {
        let described = describe(operation, &mut generators);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = described;
    }
    let methods = paths.values_mut().filter_map(Value::as_object_mut).flat_map(Map::values_mut);
    let mut schemas = generators.finish(methods.map(|method| &mut method["responses"]));
    // The fields of a query are parameters, so nothing refers to the object they are read into.
    for query in OPERATIONS.iter().filter_map(|operation| operation.query) {
        schemas.remove(name_of(&query(&mut generators.requests).to_value()).unwrap_or_default());
    }
    paths.values_mut().for_each(simplify);
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tasuki",
            "version": env!("CARGO_PKG_VERSION"),
            "description": DESCRIPTION,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "tags": TAGS.map(|tag| json!({ "name": tag.name, "description": tag.description })),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    });
    for operation in &OPERATIONS {
        add_examples(operation, &mut document);
    }
    document
}

/// Beside each schema of a request or an answer, an example that has its form.
fn add_examples(operation: &Operation, document: &mut Value) {
    let at = |rest: &str| {
        let path = operation.path.replace('~', "~0").replace('/', "~1");
        format!("/paths/{path}/{}/{rest}", operation.method)
    };
    let places = [
        at("requestBody/content"),
        at(&format!("responses/{}/content", operation.status)),
        at("responses/200/content"),
        at("responses/default/content"),
    ];
    for place in places {
        let Some(Value::Object(kinds)) = document.pointer(&place).cloned() else { continue };
        for (kind, media) in kinds {
            let is_request = place.contains("requestBody");
            let written = examples::of_request(operation.id);
            if let Some(example) = written.filter(|_| is_request && takes_example(operation, &kind))
            {
                if let Some(media) = document.pointer_mut(&place) {
                    media[&kind]["example"] = example;
                }
                continue;
            }
            if kind == PROBLEM {
                if let Some(media) = document.pointer_mut(&place) {
                    media[&kind]["example"] = problem_example();
                }
                continue;
            }
            let example = match TEXT_EXAMPLES.iter().find(|(id, _)| *id == operation.id) {
                Some((_, text)) if !place.contains("default") && is_json(&kind) => {
                    serde_json::from_str(text).unwrap_or_default()
                }
                Some((_, text)) if !place.contains("default") => json!(text),
                Some(_) | None => examples::of(document, &media["schema"]),
            };
            if let Some(media) = document.pointer_mut(&place) {
                media[&kind]["example"] = example;
            }
        }
    }
}

/// Whether the written example of a request is of this kind.
fn takes_example(operation: &Operation, kind: &str) -> bool {
    is_json(kind) || operation.text_request == Some(kind)
}

const PROBLEM: &str = "application/problem+json";

fn problem_example() -> Value {
    json!({
        "type": "urn:tasuki:problem:not_found", "title": "Not Found", "status": 404,
        "code": "not_found", "detail": "no such handoff",
    })
}

/// Whether a body of this kind is one JSON document.
fn is_json(kind: &str) -> bool {
    kind.ends_with("/json") || kind.ends_with("+json")
}

const DESCRIPTION: &str = "Work passes from agent to agent: verified, to one holder, on record.\n\n\
    The schemas of requests say what is enforced. Texts hold no control characters and nothing \
    that changes the direction of writing. JSON Schema counts characters and knows no spans, so \
    `x-maxBytes` is the most bytes of a text in UTF-8 or of an object as canonical JSON, and \
    `x-minSpan` and `x-maxSpan` are the ends of a span. `x-expected` is what an answer says when \
    a value does not fit.";

/// Operations whose body may also be a JSON document on each line.
const LINES_TAKEN: [&str; 1] = ["announce_events"];

/// Operations that take any object, and no empty body.
const BODY_NEEDED: [&str; 3] = ["announce_events", "compat_message", "compat_session"];

/// Examples of answers that have no type here.
const TEXT_EXAMPLES: [(&str, &str); 22] = [
    ("aaep_keys", r#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k1","use":"sig","x":"…"}]}"#),
    ("aaep_manifest", r#"{"aaep_version":"1.0.0"}"#),
    ("aaep_schemas", r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{}}"#),
    ("aaep_signed_manifest", "eyJhbGciOiJFZERTQSJ9.eyJhYWVwX3ZlcnNpb24iOiIxLjAuMCJ9.…"),
    ("add_checkpoint", "\u{2014} tasuki-0123456789abcdef/witness jWbPPwAAAABkGFDLEZMHwSRa…\n"),
    ("compat_health", r#"{"status":"alive"}"#),
    ("compat_listen", "data: {\"type\":\"session.started\"}\n\n"),
    ("compat_socket", r#"{}"#),
    ("docs", "<!doctype html>"),
    ("download_attachment", "(the bytes of the file)"),
    ("download_file", "(the bytes of the file)"),
    ("export_conversation", "{\"number\":1,\"kind\":\"message\"}\n"),
    (
        "follow_events",
        concat!(
            "id: cur_0123456789abcdef0123456789abcdef\nevent: handoff.accepted\n",
            "data: {\"event\":\"handoff.accepted\"}\n\n"
        ),
    ),
    ("health", r#"{"status":"alive"}"#),
    ("listen", "event: session.started\ndata: {\"type\":\"session.started\"}\n\n"),
    ("metrics", "# TYPE tasuki_requests counter\n"),
    ("offer_schema", r#"{"$id":"urn:tasuki:schema:handoff-offer:1.0.0","type":"object"}"#),
    ("open_socket", r#"{}"#),
    ("openapi", r#"{"openapi":"3.1.0"}"#),
    ("package_schema", r#"{"$id":"urn:tasuki:schema:handoff-package:1.0.0","type":"object"}"#),
    ("ready", r#"{"status":"ready"}"#),
    ("witness_key", "tasuki-0123456789abcdef/witness+8d66cf3f+BGDlX3…\n"),
];

/// The schema of a sealed package, as the gate parses it.
pub async fn package_schema() -> Response {
    schema_file(published::<Package>("handoff-package"))
}

/// The schema of a proposal: an offer with all required fields.
pub async fn offer_schema() -> Response {
    schema_file(published::<Proposal>("handoff-offer"))
}

/// Every message of AAEP, each by its name.
pub async fn aaep_schemas() -> Response {
    let read = |(name, text): &(&str, &str)| {
        let schema = serde_json::from_str(text).expect("our schemas are JSON");
        ((*name).to_owned(), schema)
    };
    let all: Map<String, Value> = SCHEMAS.iter().map(read).collect();
    schema_file(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("urn:tasuki:schema:aaep:{VERSION}"),
        "$defs": all,
    }))
}

fn published<T: JsonSchema>(name: &str) -> Value {
    let generator = form::settings().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    schema["$id"] = format!("urn:tasuki:schema:{name}:{PACKAGE_VERSION}").into();
    schema
}

fn schema_file(schema: Value) -> Response {
    ([(header::CONTENT_TYPE, "application/schema+json")], schema.to_string()).into_response()
}

fn describe(operation: &Operation, generators: &mut Schemas) -> Value {
    let content = match operation.response {
        Answer::Json(_) if operation.status == 204 => json!({}),
        Answer::Json(schema) => {
            json!({ "application/json": { "schema": schema(&mut generators.answers) } })
        }
        Answer::Text(kind) if is_json(kind) => {
            json!({ kind: { "schema": { "type": "object" } } })
        }
        Answer::Text(kind) => json!({ kind: { "schema": { "type": "string" } } }),
    };
    let problem = json!({
        "description": "A problem: see its `code`.",
        "content": { PROBLEM: { "schema": problem_schema() } },
    });
    let mut described = json!({
        "operationId": operation.id,
        "tags": [operation.tag()],
        "summary": operation.summary,
        "description": operation.description(),
        "parameters": parameters(operation, &mut generators.requests),
        "responses": {
            operation.status.to_string(): { "description": "Done.", "content": content },
            "default": problem,
        },
        "security": match operation.who {
            Who::Anyone => json!([]),
            // The setting `metrics` may open it to callers without a token.
            Who::Operator if operation.id == "metrics" => json!([{ "token": [] }, {}]),
            Who::Member | Who::Party | Who::Operator => json!([{ "token": [] }]),
        },
        "x-who": match operation.who {
            Who::Anyone => "anyone",
            Who::Member => "member",
            Who::Party => "party",
            Who::Operator => "operator",
        },
    });
    if let Some(schema) = operation.request {
        let schema = schema(&mut generators.requests);
        let schema = schema.to_value();
        // An empty body counts as an empty object.
        let is_required = BODY_NEEDED.contains(&operation.id)
            || needs_fields(&schema, generators.requests.definitions());
        described["requestBody"] = json!({
            "required": is_required, "content": { "application/json": { "schema": schema } },
        });
        if LINES_TAKEN.contains(&operation.id) {
            let lines = json!({ "schema": { "type": "string" } });
            described["requestBody"]["content"]["application/x-ndjson"] = lines;
        }
    }
    if let Some(kind) = operation.text_request {
        let content = json!({ kind: { "schema": { "type": "string" } } });
        described["requestBody"] = json!({ "required": true, "content": content });
    }
    for (_, status, kind, schema) in ALSO.iter().filter(|(id, ..)| *id == operation.id) {
        let answer = &mut described["responses"][*status];
        if answer.is_null() {
            answer["description"] = "Done otherwise.".into();
        }
        answer["content"][*kind]["schema"] = schema(&mut generators.answers).to_value();
    }
    described
}

type MakeSchema = fn(&mut SchemaGenerator) -> Schema;

/// Additional answers: operation, status, media type and schema.
const ALSO: [(&str, &str, &str, MakeSchema); 9] = [
    ("initiate_handoff", "200", "application/json", |it| it.subschema_for::<DryRun>()),
    ("acp_handoff", "default", "application/json", |it| it.subschema_for::<AcpResponse>()),
    ("acp_inbox", "200", "text/plain", |_| json_schema!({ "type": "string" })),
    ("download_attachment", "200", "*/*", |_| json_schema!({ "type": "string" })),
    ("open_subscription", "default", "application/json", message_schemas::rejected),
    ("reply", "200", "application/json", message_schemas::accepted),
    ("reply", "default", "application/json", message_schemas::rejected),
    ("compat_message", "default", "application/json", |_| json_schema!({ "type": "object" })),
    ("compat_session", "default", "application/json", |_| json_schema!({ "type": "object" })),
];

/// Whether an object needs fields to have this form.
fn needs_fields(schema: &Value, definitions: &Map<String, Value>) -> bool {
    if let Some(definition) = name_of(schema).and_then(|name| definitions.get(name)) {
        return needs_fields(definition, definitions);
    }
    let has_some = |name: &str| schema[name].as_array().filter(|list| !list.is_empty());
    has_some("required").is_some()
        || has_some("oneOf").is_some_and(|all| all.iter().all(|it| needs_fields(it, definitions)))
}

/// The name of the definition that a schema refers to.
fn name_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str().and_then(|name| name.rsplit('/').next())
}

fn problem_schema() -> Value {
    let codes: Vec<_> = super::CODES.iter().map(|(code, _)| *code).collect();
    let mut properties = json!({
        "type": { "type": "string" },
        "title": { "type": "string" },
        "status": { "type": "integer" },
        "code": { "type": "string", "enum": codes },
        "detail": { "type": "string" },
        "field": { "type": "string" },
    });
    for (name, kind) in FACTS {
        properties[name] = json!({ "type": kind });
    }
    json!({
        "type": "object",
        "required": ["type", "title", "status", "code", "detail"],
        "properties": properties,
    })
}

/// The facts of problems for programs, with their types; `docs/errors.md` says which code has
/// which.
const FACTS: [(&str, &str); 23] = [
    ("active_handoff_id", "string"),
    ("agent", "string"),
    ("bearer", "string"),
    ("claimed_by", "string"),
    ("epoch", "integer"),
    ("expected", "string"),
    ("flaws", "array"),
    ("handoff_chain", "array"),
    ("handoff_status", "string"),
    ("holder", "string"),
    ("hops_max", "integer"),
    ("index", "integer"),
    ("opens_at", "string"),
    ("problems", "array"),
    ("revision", "integer"),
    ("rule", "string"),
    ("task_id", "string"),
    ("tier", "string"),
    ("to", "string"),
    ("transfer_id", "string"),
    ("transfer_status", "string"),
    ("unanswered", "array"),
    ("waiting_for", "array"),
];

pub async fn openapi_json() -> Json<Value> {
    Json(openapi())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_left_out_is_said() {
        let document = openapi();
        let paths = document["paths"].as_object().expect("paths");
        let operations = paths.values().filter_map(Value::as_object).flat_map(Map::values);
        for described in operations {
            let id = described["operationId"].as_str().expect("an id");
            let body = &described["requestBody"]["required"];
            match id {
                "acp_handoff" | "announce_events" | "compat_message" | "initiate_handoff"
                | "open_subscription" | "reply" | "save_graph" => assert_eq!(body, true, "{id}"),
                "accept_handoff" | "propose_draft" => assert_eq!(body, false, "{id}"),
                "metrics" => assert_eq!(described["security"], json!([{ "token": [] }, {}])),
                "list_agents" => assert_eq!(described["security"], json!([{ "token": [] }])),
                _ => {}
            }
        }
    }
}
