//! An operation of the API, called by its name within the process: the same router and the same
//! credential, hence the same rules, limits and errors. A new operation of the API can be called
//! without further code.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};
use tower::ServiceExt;

use super::operations::OPERATIONS;
use super::shared::auth::{ACT_AS_HEADER, SESSION_HEADER, TEAMSPACE_HEADER};
use super::shared::input::KEY_HEADER;
use super::shared::operation::{self, Operation};
use super::shared::problem::Problem;
use crate::listen::Peer;

/// The timeout for a handler without one of its own, as for a request over HTTP.
const CALL_MS_MAX: u64 = 30_000;

/// The identity of the caller, which each call carries.
#[derive(Debug, Clone)]
pub struct Identity {
    headers: HeaderMap,
    peer: Option<Peer>,
}

/// One operation and its input.
#[derive(Debug)]
pub struct Call {
    method: Method,
    uri: String,
    body: Option<Map<String, Value>>,
    key: Option<HeaderValue>,
}

impl Identity {
    pub fn of(parts: &Parts) -> Self {
        let mut headers = HeaderMap::new();
        let said = [&header::AUTHORIZATION, &SESSION_HEADER, &TEAMSPACE_HEADER, &ACT_AS_HEADER];
        for name in said {
            let name: &HeaderName = name;
            if let Some(value) = parts.headers.get(name) {
                headers.insert(name.clone(), value.clone());
            }
        }
        Self { headers, peer: parts.extensions.get().copied() }
    }
}

impl Call {
    /// `with` has the parameters of the path, and those of the query.
    pub fn new(
        name: &str,
        with: Map<String, Value>,
        body: Option<Map<String, Value>>,
        key: Option<String>,
    ) -> Result<Self, Problem> {
        let operation = callable(name)?;
        let method = operation.method.to_ascii_uppercase();
        let method = Method::from_bytes(method.as_bytes()).expect("the table has real methods");
        if method == Method::GET && body.is_some() {
            return Err(Problem::schema_invalid("body", "none: this operation only reads"));
        }
        let key = key.map(|key| HeaderValue::from_str(&key)).transpose();
        let key =
            key.map_err(|_| Problem::schema_invalid("key", "1 to 200 visible ASCII characters"))?;
        Ok(Self { method, uri: uri(operation, with)?, body, key })
    }

    /// Asks the router, and returns its answer.
    pub async fn run(self, operations: Router, who: Identity) -> Response {
        let Self { method, uri, body, key } = self;
        let body = body.map(|body| Value::Object(body).to_string()).unwrap_or_default();
        let n_bytes = body.len();
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri.parse().expect("what is not plain was escaped");
        *request.headers_mut() = who.headers;
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
        request.headers_mut().insert(header::CONTENT_LENGTH, n_bytes.into());
        request.headers_mut().insert(header::HOST, HeaderValue::from_static("tasuki"));
        if let Some(key) = key {
            request.headers_mut().insert(KEY_HEADER.clone(), key);
        }
        if let Some(peer) = who.peer {
            request.extensions_mut().insert(peer);
        }
        let limit = Duration::from_millis(CALL_MS_MAX);
        match tokio::time::timeout(limit, operations.oneshot(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(_elapsed) => Problem::unknown_outcome().into_response(),
        }
    }
}

/// The operation of this name, if its body and its answer are JSON.
fn callable(name: &str) -> Result<&'static Operation, Problem> {
    static TABLE: [Operation; OPERATIONS.len()] = OPERATIONS;
    let nothing = |detail: &str| Problem::new("not_found", detail).field("do");
    let found = TABLE.iter().find(|operation| operation.id == name);
    let found = found.ok_or_else(|| {
        nothing("no such operation; `/openapi.json` has their names, each as `operationId`")
    })?;
    match (found.response, found.text_request) {
        (operation::Response::Json(_), None) => Ok(found),
        (operation::Response::Json(_) | operation::Response::Text(_), _) => {
            Err(nothing("this operation is asked for over HTTP"))
        }
    }
}

fn uri(operation: &Operation, mut with: Map<String, Value>) -> Result<String, Problem> {
    let mut uri = String::new();
    for step in operation.path.split('/').skip(1) {
        uri.push('/');
        match step.strip_prefix('{').and_then(|step| step.strip_suffix('}')) {
            None => uri.push_str(step),
            Some(name) => {
                let field = format!("with.{name}");
                let given = with.remove(name);
                let text = given.as_ref().and_then(text_of).filter(|text| !text.is_empty());
                let missing = || Problem::schema_invalid(&field, "text or a number");
                escape(&mut uri, &text.ok_or_else(missing)?);
            }
        }
    }
    for (index, (name, value)) in with.iter().enumerate() {
        let field = format!("with.{name}");
        if operation.query.is_none() {
            return Err(Problem::schema_invalid(&field, "to be left out"));
        }
        let text = text_of(value);
        let text = text.ok_or_else(|| Problem::schema_invalid(&field, "text or a number"))?;
        uri.push(if index == 0 { '?' } else { '&' });
        escape(&mut uri, name);
        uri.push('=');
        escape(&mut uri, &text);
    }
    Ok(uri)
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Characters that are not plain are escaped, so that no parameter can change the path or the
/// query.
fn escape(uri: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
}
