//! A row of a table, and the requests it stands for: one through the native API and, where the
//! row names an action, one through ACP.
//!
//! Columns: what is wrong, who asks, the action with its handoff (or a request line, which has no
//! ACP form), the change to an otherwise good request, and the expected status, code and field.
//!
//! A change is `path = value`, `- path`, `raw text`, `@header: value` or, beside one that is there,
//! `@header+: value`; several are divided by
//! ` ; `. A value is JSON, or `text(n)`, `list(n)`, `keys(n)`, `nest(n)` for large ones. A field
//! that is expected and ends with `…` is only the beginning of it.

use serde_json::{Map, Value, json};

use super::world::World;
use crate::server::offer;
use crate::wire::Request;

#[derive(Debug, Clone)]
pub struct Row {
    pub what: String,
    caller: String,
    action: String,
    change: String,
    pub expected: Expected,
}

#[derive(Debug, Clone)]
pub struct Expected {
    pub status: u16,
    pub code: String,
    pub field: Option<String>,
}

/// Reads a table, one row to a line.
pub fn rows(table: &str) -> Vec<Row> {
    let lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(Row::parse).collect()
}

impl Row {
    pub fn new(caller: &str, action: &str, expected: &str) -> Self {
        Self::parse(&format!("{action} by {caller} | {caller} | {action} | | {expected}"))
    }

    fn parse(line: &str) -> Self {
        let cells: Vec<_> = line.split(" |").map(|cell| cell.trim().to_owned()).collect();
        let [what, caller, action, change, expected] =
            cells.try_into().unwrap_or_else(|_| panic!("expected five cells: {line}"));
        let mut words = expected.split(' ').map(str::to_owned);
        let status = words.next().and_then(|status| status.parse().ok()).expect("a status");
        let code = words.next().expect("a code");
        Self {
            what,
            caller,
            action,
            change,
            expected: Expected { status, code, field: words.next() },
        }
    }

    /// The request through the native API; `None` for a row about ACP's own form.
    pub fn native(&self, world: &World) -> Option<Request> {
        let (action, subject) = self.split_action();
        let body = good_body(action);
        if action == "ACP" {
            return None;
        }
        if action == "query" {
            let request = world.request(&self.caller, "GET /v1/handoffs");
            return Some(self.apply_to_query(request));
        }
        let line = match action {
            "initiate" if subject.is_empty() => "POST /v1/handoffs".to_owned(),
            "draft" => "POST /v1/handoffs/drafts".to_owned(),
            "edit" => format!("PUT /v1/handoffs/{}/draft", world.id(subject)),
            "initiate" | "accept" | "reject" | "activate" | "complete" | "close" | "approve"
            | "refuse" | "counter" | "withdraw" | "delegate" | "reassign" | "extend_sla"
            | "progress" | "recall" | "discard" => {
                format!("POST /v1/handoffs/{}/{action}", world.id(subject))
            }
            _ => self.action.clone(),
        };
        let request = world.request(&self.caller, &line);
        Some(self.apply(request, body, None))
    }

    /// The request through ACP; `None` for a row about a path of the native API.
    pub fn acp(&self, world: &World) -> Option<Request> {
        let (action, subject) = self.split_action();
        let action = match action {
            "edit" => "draft",
            "initiate" | "draft" | "accept" | "reject" | "activate" | "complete" | "close"
            | "approve" | "refuse" | "counter" | "withdraw" | "delegate" | "reassign"
            | "extend_sla" | "progress" | "recall" | "discard" | "query" => action,
            "ACP" => {
                let request = world.request(&self.caller, "POST /v1/acp/handoff");
                return Some(self.apply(request, Some(json!({})), None));
            }
            _ => return None,
        };
        let mut body = good_body(self.split_action().0).unwrap_or_else(|| json!({}));
        body["action"] = action.into();
        if !subject.is_empty() {
            body["handoff_id"] = world.id(subject).into();
        }
        let request = world.request(&self.caller, "POST /v1/acp/handoff");
        Some(self.apply(request, Some(body), Some(action)))
    }

    fn split_action(&self) -> (&str, &str) {
        self.action.split_once(' ').unwrap_or((&self.action, ""))
    }

    fn changes(&self) -> impl Iterator<Item = &str> {
        self.change.split(" ; ").map(str::trim).filter(|change| !change.is_empty())
    }

    fn apply(&self, request: Request, body: Option<Value>, action: Option<&str>) -> Request {
        let mut body = body;
        let mut raw = None;
        let mut headers = vec![("content-type".to_owned(), b"application/json".to_vec())];
        for change in self.changes() {
            if let Some(header) = change.strip_prefix('@') {
                let (name, value) = header.split_once(':').expect("a header has a colon");
                let name = match name.strip_suffix('+') {
                    Some(name) => name,
                    None => {
                        headers.retain(|(known, _)| known != name);
                        name
                    }
                };
                if value != "-" {
                    headers.push((name.to_owned(), header_value(value.trim())));
                }
            } else if let Some(text) = change.strip_prefix("raw ") {
                let named = action.filter(|_| text.starts_with("{\"")).map(|action| {
                    format!("{{\"action\":\"{action}\",{}", text.trim_start_matches('{'))
                });
                raw = Some(named.unwrap_or_else(|| text.to_owned()).into_bytes());
            } else if let Some(hex) = change.strip_prefix("hex ") {
                raw = Some(from_hex(hex));
            } else {
                edit(body.get_or_insert_with(|| json!({})), change);
            }
        }
        let bytes = raw.or_else(|| body.map(|body| written(&body).into_bytes()));
        let is_reading = matches!(request.method.as_str(), "GET" | "HEAD");
        let body = bytes.filter(|_| !is_reading).unwrap_or_default();
        let headers = request.headers.iter().cloned().chain(headers).collect();
        Request { headers, body, ..request }
    }

    /// In a list the fields are parameters of the query.
    fn apply_to_query(&self, mut request: Request) -> Request {
        let mut separator = '?';
        for change in self.changes() {
            let (name, value) = change.split_once(" = ").expect("a list has only parameters");
            let value = value.trim_matches('"').replace(' ', "%20");
            request.path.push_str(&format!("{separator}{name}={value}"));
            separator = '&';
        }
        request
    }
}

fn good_body(action: &str) -> Option<Value> {
    match action {
        "initiate" | "draft" | "edit" => Some(offer("T-NEW", "bob")),
        "delegate" => Some(offer("T-PART", "bob")),
        "reassign" => Some(json!({ "to_agent": "bob", "why": "nobody answers" })),
        "reject" => Some(json!({ "reason": "other", "detail": "no" })),
        "counter" => Some(json!({ "context": { "summary": "changed" } })),
        "refuse" => Some(json!({ "why": "no" })),
        "progress" => Some(json!({ "percent": 40 })),
        "recall" => Some(json!({ "reason": "plans changed" })),
        "extend_sla" => Some(json!({ "due": "2027-06-01T00:00:00Z", "why": "it is hard" })),
        "accept" | "activate" | "complete" | "close" | "approve" | "withdraw" | "discard"
        | "POST" => Some(json!({})),
        "PUT" => Some(json!({ "kind": "worker" })),
        _ => None,
    }
}

/// `a.b[0] = value` or `- a.b`.
fn edit(body: &mut Value, change: &str) {
    if let Some(path) = change.strip_prefix("- ") {
        let (outer, name) = path.rsplit_once('.').unwrap_or(("", path));
        let outer = place(body, outer).as_object_mut().expect("a field is in an object");
        assert!(outer.remove(name).is_some(), "{change}: nothing to remove");
        return;
    }
    let (path, value) = change.split_once(" = ").unwrap_or_else(|| panic!("no change: {change}"));
    *place(body, path) = parse_value(value);
}

fn place<'a>(body: &'a mut Value, path: &str) -> &'a mut Value {
    let steps = path.split('.').filter(|step| !step.is_empty());
    steps.fold(body, |value, step| &mut value[step])
}

fn parse_value(text: &str) -> Value {
    let large = text.strip_suffix(')').and_then(|text| text.split_once('('));
    let Some((kind, n)) = large.filter(|(kind, _)| kind.len() == 4) else {
        return serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    };
    let n: usize = n.parse().expect("a number");
    match kind {
        "text" => Value::String("x".repeat(n)),
        "list" => Value::Array(vec![json!("x"); n]),
        "keys" => {
            Value::Object((0..n).map(|key| (key.to_string(), json!(1))).collect::<Map<_, _>>())
        }
        // Only text: a value of this depth would overflow our own stack.
        "nest" => Value::String(format!("nest {n}")),
        other => panic!("no such value: {other}"),
    }
}

/// The body as text, with what is nested unfolded.
fn written(body: &Value) -> String {
    let text = body.to_string();
    let Some((before, rest)) = text.split_once("\"nest ") else { return text };
    let (n, after) = rest.split_once('"').expect("a string ends");
    let n = n.parse().expect("a number");
    format!("{before}{}{}{after}", "[".repeat(n), "]".repeat(n))
}

fn header_value(text: &str) -> Vec<u8> {
    if text.starts_with("text(") {
        return parse_value(text).as_str().expect("text").as_bytes().to_vec();
    }
    text.as_bytes().to_vec()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).expect("a byte")).collect()
}
