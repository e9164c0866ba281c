//! The reference: an OpenAPI 3.1 document made from the operations and their types, and a page that
//! shows it without scripts or anything from elsewhere.

use axum::Json;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use protocol::aaep::VERSION;
use protocol::aaep::schemas::SCHEMAS;
use protocol::handoff::package::{Offer, PACKAGE_VERSION, Package};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::operations::{OPERATIONS, Operation, Response as Answer, Who};

/// The document.
pub fn openapi() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for operation in &OPERATIONS {
        let described = describe(operation, &mut generator);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = described;
    }
    let mut schemas = generator.take_definitions(true);
    // The fields of a query are parameters, so nothing refers to the object they are read into.
    for query in OPERATIONS.iter().filter_map(|operation| operation.query) {
        schemas.remove(name_of(&query(&mut generator).to_value()).unwrap_or_default());
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tasuki",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Work passes from agent to agent: verified, to one holder, on record.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

/// What a sealed package looks like: what the gate reads it as.
pub async fn package_schema() -> Response {
    schema_file(published::<Package>("handoff-package"))
}

/// What a sender may offer.
pub async fn offer_schema() -> Response {
    schema_file(published::<Offer>("handoff-offer"))
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
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    schema["$id"] = format!("urn:tasuki:schema:{name}:{PACKAGE_VERSION}").into();
    schema
}

fn schema_file(schema: Value) -> Response {
    ([(header::CONTENT_TYPE, "application/schema+json")], schema.to_string()).into_response()
}

fn describe(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let content = match operation.response {
        Answer::Json(schema) => json!({ "application/json": { "schema": schema(generator) } }),
        Answer::Text(kind) => json!({ kind: { "schema": { "type": "string" } } }),
    };
    let problem = json!({
        "description": "A problem: see its `code`.",
        "content": { "application/problem+json": { "schema": problem_schema() } },
    });
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": parameters(operation, generator),
        "responses": {
            operation.status.to_string(): { "description": "Done.", "content": content },
            "default": problem,
        },
        "security": match operation.who {
            Who::Anyone => json!([]),
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
        described["requestBody"] =
            json!({ "content": { "application/json": { "schema": schema(generator) } } });
    }
    described
}

fn parameters(operation: &Operation, generator: &mut SchemaGenerator) -> Vec<Value> {
    let mut parameters = Vec::new();
    for part in operation.path.split('/') {
        if let Some(name) = part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            let schema = json!({ "type": "string" });
            parameters
                .push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
        }
    }
    if operation.method != "get" {
        let schema = json!({ "type": "string", "maxLength": 200 });
        parameters.push(json!({ "name": "Idempotency-Key", "in": "header", "schema": schema }));
    }
    if let Some(query) = operation.query {
        let schema = query(generator).to_value();
        let fields = name_of(&schema)
            .and_then(|name| generator.definitions().get(name))
            .and_then(|definition| definition.get("properties"))
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        for (name, schema) in fields {
            parameters.push(json!({ "name": name, "in": "query", "schema": schema }));
        }
    }
    parameters
}

/// The name of the definition that a schema refers to.
fn name_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str().and_then(|name| name.rsplit('/').next())
}

fn problem_schema() -> Value {
    let codes: Vec<_> = super::CODES.iter().map(|(code, _)| *code).collect();
    json!({
        "type": "object",
        "required": ["type", "title", "status", "code", "detail"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "code": { "type": "string", "enum": codes },
            "detail": { "type": "string" },
            "field": { "type": "string" },
        },
    })
}

pub async fn openapi_json() -> Json<Value> {
    Json(openapi())
}

/// The reference as a page: plain HTML, so that it reads in any browser and with any reader.
pub async fn page() -> Response {
    let mut body = String::new();
    let document = openapi();
    for operation in &OPERATIONS {
        let described = &document["paths"][operation.path][operation.method];
        body.push_str(&section(operation, described));
    }
    body.push_str("<h2>Types</h2>");
    if let Some(schemas) = document["components"]["schemas"].as_object() {
        for (name, schema) in schemas {
            let name = escape(name);
            body.push_str(&format!("<details id=\"{name}\"><summary>{name}</summary>"));
            body.push_str(&format!("<pre>{}</pre></details>", escape(&pretty(schema))));
        }
    }
    let page = include_str!("../../assets/reference.html").replace("<!--operations-->", &body);
    let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
    let headers =
        [(header::CONTENT_SECURITY_POLICY, policy), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (headers, Html(page)).into_response()
}

fn section(operation: &Operation, described: &Value) -> String {
    let who = match operation.who {
        Who::Anyone => "Anyone may ask.",
        Who::Member => "Needs a token.",
        Who::Party => "Needs a token, which may be that of the customer.",
        Who::Operator => "Needs an operator's token.",
    };
    format!(
        "<section><h3 id=\"{id}\"><span class=\"method\">{method}</span> <code>{path}</code></h3>\
         <p>{summary} {who}</p><details><summary>Request and response</summary><pre>{detail}</pre>\
         </details></section>",
        id = operation.id,
        method = operation.method.to_uppercase(),
        path = escape(operation.path),
        summary = escape(operation.summary),
        detail = escape(&pretty(described)),
    )
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
