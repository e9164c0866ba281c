//! AAEP as JSON-RPC 2.0, one object on each line: requests of a peer become messages of a
//! connection, and its messages become answers and notifications. Pure: it does no I/O itself.

use std::borrow::Cow;
use std::collections::BTreeMap;

use aaep::handshake::is_handshake;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// The line is not JSON.
pub const PARSE_ERROR: i32 = -32_700;
/// The line is no JSON-RPC request.
pub const INVALID_REQUEST: i32 = -32_600;
pub const METHOD_NOT_FOUND: i32 = -32_601;
pub const INVALID_PARAMS: i32 = -32_602;
/// The server refuses; `data` has its stable `code`, and what was expected.
pub const REFUSED: i32 = -32_001;

/// Messages without an answer yet. Past this the next line is not read.
pub const WAITING_MAX: usize = 1_024;

const METHODS: &str = "aaep.event, aaep.announce, aaep.subscribe, aaep.renegotiate, aaep.reply, \
                       aaep.close or aaep.ping";

/// What to do for a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A message for the server.
    Send(String),
    /// A line for the peer.
    Say(String),
    /// The peer is done.
    Leave,
    Nothing,
}

/// The messages that wait for an answer.
#[derive(Debug, Default)]
pub struct Bridge {
    n_sent: u64,
    /// By the number of the message.
    waiting: BTreeMap<u64, RpcWaiting>,
}

#[derive(Debug)]
enum RpcWaiting {
    /// Events sent as notifications, which are answered only if they are refused.
    Events,
    Announcement(Id),
    /// Answered by `subscription.accepted` or `.rejected`.
    Terms(Id),
}

type Id = Box<RawValue>;

#[derive(Deserialize)]
struct RpcLine<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    id: Option<Id>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct RpcResult<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    message: Option<u64>,
}

impl Bridge {
    /// How many messages the server has not answered.
    pub fn n_waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Handles a line of the peer.
    pub fn heard(&mut self, text: &str) -> Step {
        let line: RpcLine<'_> = match serde_json::from_str(text) {
            Ok(line) => line,
            Err(_) => {
                let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
                let code = if is_json { INVALID_REQUEST } else { PARSE_ERROR };
                return refuse(None, code, "expected one JSON-RPC 2.0 object on each line");
            }
        };
        if line.method.is_none() && (line.result.is_some() || line.error.is_some()) {
            return Step::Nothing;
        }
        let id = line.id;
        let is_id = |id: &Id| !id.get().starts_with(['{', '[', 't', 'f']);
        if line.jsonrpc.as_deref() != Some("2.0") || !id.as_ref().is_none_or(is_id) {
            let expected = "expected jsonrpc 2.0, and a text or a number as id";
            return refuse(None, INVALID_REQUEST, expected);
        }
        let Some(method) = line.method else {
            return refuse(id.as_deref(), INVALID_REQUEST, "method: expected a text");
        };
        match method.as_ref() {
            "aaep.event" | "aaep.announce" => self.announce(id, line.params),
            "aaep.subscribe" => self.ask(id, line.params, "subscription.request"),
            "aaep.renegotiate" => self.ask(id, line.params, "subscription.renegotiate"),
            "aaep.reply" => match message(line.params, "") {
                Some(reply) => self.send(reply),
                None => refuse(id.as_deref(), INVALID_PARAMS, "params: expected a reply"),
            },
            "aaep.close" => match message(line.params, "subscription.close") {
                Some(close) if close.contains("\"subscription_id\"") => self.send(close),
                Some(_) | None => Step::Leave,
            },
            "aaep.ping" => match id {
                Some(id) => Step::Say(result(&id, "{}")),
                None => Step::Nothing,
            },
            _ => match id {
                Some(id) => {
                    refuse(Some(&id), METHOD_NOT_FOUND, &format!("method: expected {METHODS}"))
                }
                None => Step::Nothing,
            },
        }
    }

    /// Turns a message of the server into a line for the peer.
    pub fn told(&mut self, message: &str) -> Option<String> {
        let told: RpcResult<'_> = serde_json::from_str(message).ok()?;
        let settled = told.message.and_then(|number| self.waiting.remove(&number));
        match (told.kind.as_ref(), settled) {
            ("tasuki.recorded", Some(RpcWaiting::Announcement(id))) => Some(result(&id, message)),
            ("tasuki.recorded", _) => None,
            ("tasuki.refused", Some(RpcWaiting::Announcement(id) | RpcWaiting::Terms(id))) => {
                Some(refused(&id, message))
            }
            ("subscription.accepted" | "subscription.rejected", _) => {
                let is_terms = |one: &RpcWaiting| matches!(one, RpcWaiting::Terms(_));
                let first = self.waiting.iter().find(|(_, one)| is_terms(one));
                let number = first.map(|(number, _)| *number)?;
                match self.waiting.remove(&number) {
                    Some(RpcWaiting::Terms(id)) => Some(result(&id, message)),
                    Some(RpcWaiting::Events | RpcWaiting::Announcement(_)) | None => None,
                }
            }
            ("confirmation.reply" | "clarification.reply", _) => {
                Some(notify("aaep.reply", message))
            }
            ("subscription.close", _) => Some(notify("aaep.close", message)),
            (ours, _) if ours.starts_with("tasuki.") => Some(notify(ours, message)),
            (_, _) => Some(notify("aaep.event", message)),
        }
    }

    fn announce(&mut self, id: Option<Id>, params: Option<&RawValue>) -> Step {
        let events = params.filter(|params| {
            params.get().starts_with('[')
                || (params.get().starts_with('{') && !is_handshake(params.get()))
        });
        let Some(events) = events else {
            let expected = "params: expected an event, or a list of events";
            return refuse(id.as_deref(), INVALID_PARAMS, expected);
        };
        let step = self.send(events.get().to_owned());
        let waiting = id.map_or(RpcWaiting::Events, RpcWaiting::Announcement);
        self.waiting.insert(self.n_sent, waiting);
        step
    }

    fn ask(&mut self, id: Option<Id>, params: Option<&RawValue>, kind: &str) -> Step {
        let Some(id) = id else {
            return refuse(None, INVALID_REQUEST, "id: expected one, under which to answer");
        };
        let Some(message) = message(params, kind) else {
            return refuse(Some(&id), INVALID_PARAMS, &format!("params: expected a {kind}"));
        };
        let step = self.send(message);
        self.waiting.insert(self.n_sent, RpcWaiting::Terms(id));
        step
    }

    fn send(&mut self, message: String) -> Step {
        self.n_sent += 1;
        Step::Send(message)
    }
}

/// A notification.
pub fn notify(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":{},"params":{params}}}"#, json!(method))
}

/// The parameters as a message, with the type that the method stands for.
fn message(params: Option<&RawValue>, kind: &str) -> Option<String> {
    let mut fields: Map<String, Value> = serde_json::from_str(params?.get()).ok()?;
    let kind = match (kind, fields.contains_key("decision")) {
        ("", true) => "confirmation.reply",
        ("", false) => "clarification.reply",
        (kind, _) => kind,
    };
    let named = fields.entry("type").or_insert_with(|| kind.into());
    let is_reply = named.as_str().is_some_and(|name| name.ends_with(".reply"));
    let is_right = named.as_str() == Some(kind) || (is_reply && kind.ends_with(".reply"));
    is_right.then(|| Value::Object(fields).to_string())
}

fn result(id: &RawValue, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.get())
}

fn refused(id: &RawValue, message: &str) -> String {
    let data: Value = serde_json::from_str(message).unwrap_or_default();
    let error = json!({ "code": REFUSED, "message": data["detail"], "data": data });
    format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id.get())
}

fn refuse(id: Option<&RawValue>, code: i32, message: &str) -> Step {
    let id = id.map_or("null", RawValue::get);
    let error = json!({ "code": code, "message": message });
    Step::Say(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(line: &str) -> Value {
        match Bridge::default().heard(line) {
            Step::Say(line) => serde_json::from_str(&line).unwrap(),
            step @ (Step::Send(_) | Step::Leave | Step::Nothing) => panic!("{line}: {step:?}"),
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_code() {
        for (line, code) in [
            ("{", PARSE_ERROR),
            ("[]", INVALID_REQUEST),
            ("7", INVALID_REQUEST),
            (r#"{"jsonrpc":"1.0","id":1,"method":"aaep.ping"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":{},"method":"aaep.ping"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":"aaep.fly"}"#, METHOD_NOT_FOUND),
            (r#"{"jsonrpc":"2.0","id":1,"method":"aaep.announce"}"#, INVALID_PARAMS),
            (r#"{"jsonrpc":"2.0","id":1,"method":"aaep.event","params":7}"#, INVALID_PARAMS),
            (r#"{"jsonrpc":"2.0","id":1,"method":"aaep.subscribe","params":[]}"#, INVALID_PARAMS),
            (r#"{"jsonrpc":"2.0","method":"aaep.subscribe","params":{}}"#, INVALID_REQUEST),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"aaep.subscribe","params":{"type":"x"}}"#,
                INVALID_PARAMS,
            ),
        ] {
            assert_eq!(say(line)["error"]["code"], code, "{line}");
        }
    }

    #[test]
    fn answers_find_their_requests() {
        let mut bridge = Bridge::default();
        let ask = |id: &str, method: &str| {
            format!(r#"{{"jsonrpc":"2.0",{id}"method":"{method}","params":{{"a":1}}}}"#)
        };
        let subscribe = bridge.heard(&ask(r#""id":"s","#, "aaep.subscribe"));
        assert_eq!(subscribe, Step::Send(r#"{"a":1,"type":"subscription.request"}"#.to_owned()));
        assert_eq!(bridge.heard(&ask("", "aaep.event")), Step::Send(r#"{"a":1}"#.to_owned()));
        bridge.heard(&ask(r#""id":7,"#, "aaep.announce"));
        bridge.heard(&ask(r#""id":8,"#, "aaep.renegotiate"));
        assert_eq!(bridge.n_waiting(), 4);
        let mut told = |message: &str| bridge.told(message);
        let event = told(r#"{"type":"aaep:agent.x"}"#).unwrap();
        let aaep_event =
            r#"{"jsonrpc":"2.0","method":"aaep.event","params":{"type":"aaep:agent.x"}}"#;
        assert_eq!(event, aaep_event);
        let accepted = told(r#"{"type":"subscription.accepted"}"#).unwrap();
        assert!(accepted.starts_with(r#"{"jsonrpc":"2.0","id":"s","result":"#), "{accepted}");
        assert_eq!(told(r#"{"type":"tasuki.recorded","message":2}"#), None);
        let refused = told(r#"{"type":"tasuki.refused","message":3,"code":"x","detail":"y"}"#);
        let refused: Value = serde_json::from_str(&refused.unwrap()).unwrap();
        let error = &refused["error"];
        assert_eq!((&refused["id"], &error["code"]), (&json!(7), &json!(REFUSED)));
        assert_eq!((&error["message"], &error["data"]["code"]), (&json!("y"), &json!("x")));
        let rejected = told(r#"{"type":"subscription.rejected"}"#).unwrap();
        assert!(rejected.contains(r#""id":8"#), "{rejected}");
        assert_eq!(bridge.n_waiting(), 0);
    }
}
