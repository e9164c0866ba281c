//! From bytes to typed input: first strict JSON within limits, then the shape; an error names the
//! field. A body may repeat the caller's identity, but not contradict it.

use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRef, FromRequest, FromRequestParts, Path, Request as HttpRequest};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use engine::road::submit::Key;
use protocol::callback::Ask;
use protocol::caller::{Caller, Principal};
use protocol::canonical::Hash;
use protocol::conversation::command::{Route, Say};
use protocol::ids::{
    AgentId, ConversationId, FileId, GraphId, HandoffId, InvalidId, MessageId, QuestionId, TokenId,
    TransferId, UploadId, WebhookId,
};
use protocol::json::Bounds;
use protocol::strict::{self, Strict};
use protocol::transfer::bundle::BundleId;
use protocol::transfer::command::Request;
use protocol::{canonical, json};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::body::read_body;
use crate::http::shared::auth::{Asker, authenticate, single_header};
use crate::http::shared::forms;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::problem::Problem;
use crate::http::shared::query::parameters;

impl<T> Write<T> {
    /// The request without its body, and the body.
    pub fn split(self) -> (Write<()>, T) {
        (Write { asker: self.asker, body: (), key: self.key }, self.body)
    }
}

/// A key is an id, not a message.
pub const KEY_BYTES_MAX: usize = 200;

pub static KEY_HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// A write: the caller, the body, and the idempotency key.
#[derive(Debug)]
pub struct Write<T> {
    pub asker: Asker,
    pub body: T,
    pub key: GivenKey,
}

/// The idempotency key of a request. If the client sent none, the server makes one, so every write
/// has a key.
#[derive(Debug, Clone)]
pub struct GivenKey {
    text: String,
    body_hash: Hash,
    used: Option<UsedKey>,
}

/// The key under which a write was done; empty if it has none. The answer shows it.
#[derive(Debug, Clone, Default)]
pub struct UsedKey(Arc<OnceLock<HeaderValue>>);

impl UsedKey {
    pub fn get(&self) -> Option<&HeaderValue> {
        self.0.get()
    }
}

impl GivenKey {
    /// The key is bound to the action and its subject: the same key for another action is another
    /// request.
    pub fn for_action(self, action: &str, subject: Option<&str>) -> Key {
        if let (Some(used), Ok(text)) = (&self.used, HeaderValue::from_str(&self.text)) {
            used.0.get_or_init(|| text);
        }
        let subject = subject.unwrap_or("new");
        let fingerprint = canonical::sha256(&[
            action.as_bytes(),
            b"\n",
            subject.as_bytes(),
            b"\n",
            &self.body_hash,
        ]);
        Key { text: self.text, fingerprint }
    }
}

impl<S, T> FromRequest<S> for Write<T>
where
    S: Send + Sync,
    T: DeserializeOwned + JsonSchema + 'static,
    Gateway: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: HttpRequest, state: &S) -> Result<Self, Problem> {
        let write = read_write(&Gateway::from_ref(state), request).await?;
        let body = shape(write.body)?;
        Ok(Write { asker: write.asker, body, key: write.key })
    }
}

/// A write in a chat with a customer.
#[derive(Debug)]
pub struct Chat<T>(pub Write<T>);

/// Which fields hold text that people wrote. It is stored as it was sent, and isolated where it is
/// shown.
pub trait FreeText {
    const FREE_TEXT: &'static [&'static str];
    /// Whether the text is a chat message. Then every sender's text is free; otherwise only a
    /// customer's.
    const IS_SPEECH: bool = false;
    /// Fields in which all texts are free, at any depth, for every sender.
    const FREE_BELOW: &'static [&'static str] = &[];
}

impl FreeText for Say {
    const FREE_TEXT: &'static [&'static str] = &["text"];
    const IS_SPEECH: bool = true;
}

/// Its parting words are a message.
impl FreeText for Route {
    const FREE_TEXT: &'static [&'static str] = &["text"];
    const IS_SPEECH: bool = true;
}

impl FreeText for Request {
    const FREE_TEXT: &'static [&'static str] = &["reason", "words"];
}

impl FreeText for Ask {
    const FREE_TEXT: &'static [&'static str] = &["contact", "note"];
}

impl<S, T> FromRequest<S> for Chat<T>
where
    S: Send + Sync,
    T: DeserializeOwned + JsonSchema + FreeText + 'static,
    Gateway: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: HttpRequest, state: &S) -> Result<Self, Problem> {
        let free_text = |asker: &Asker| {
            let is_customer = matches!(asker.caller.principal, Principal::Customer(_));
            let free_text = if T::IS_SPEECH || is_customer { T::FREE_TEXT } else { &[] };
            FreeTexts { free_text, free_below: T::FREE_BELOW }
        };
        let write = read_with(&Gateway::from_ref(state), request, free_text).await?;
        let body = shape(write.body)?;
        Ok(Chat(Write { asker: write.asker, body, key: write.key }))
    }
}

/// Reads a write whose shape is not known yet.
pub async fn read_write(gateway: &Gateway, request: HttpRequest) -> Result<Write<Value>, Problem> {
    read_with(gateway, request, |_| FreeTexts::default()).await
}

/// Which texts of a body are kept as they were sent.
#[derive(Debug, Default)]
struct FreeTexts {
    free_text: &'static [&'static str],
    free_below: &'static [&'static str],
}

async fn read_with(
    gateway: &Gateway,
    request: HttpRequest,
    free_texts: impl Fn(&Asker) -> FreeTexts,
) -> Result<Write<Value>, Problem> {
    let (parts, body) = request.into_parts();
    let asker = authenticate(gateway, &parts).await?;
    let limits = &gateway.limits;
    let bytes = read_within_quota(gateway, &asker.caller, body, limits.body_bytes_max).await?;
    let FreeTexts { free_text, free_below } = free_texts(&asker);
    let bounds = Bounds { free_text, free_below, ..limits.json };
    let mut body = parse(&bounds, &parts, &bytes)?;
    let body_hash = canonical::sha256(&[canonical::canonical(&body).as_bytes()]);
    check_identity(&asker, &mut body)?;
    let key = given_key(gateway, &parts, body_hash)?;
    Ok(Write { asker, body, key })
}

/// Reads a body and takes it from the quotas of the caller. The announced length is taken before
/// the body is read, and what was not announced as it arrives, because a body that is never
/// finished takes memory too.
pub async fn read_within_quota(
    gateway: &Gateway,
    caller: &Caller,
    body: Body,
    bytes_max: usize,
) -> Result<Bytes, Problem> {
    let announced = body.size_hint().lower();
    let n_announced = usize::try_from(announced).unwrap_or(usize::MAX).min(bytes_max);
    let usage = gateway.engine.usage();
    usage.send(caller, n_announced, gateway.engine.clock().now())?;
    let (mut n_taken, mut n_read, mut refused) = (n_announced, 0, None);
    let goes_on = |n_bytes: usize| {
        n_read += n_bytes;
        if n_read > n_taken {
            let n_more = (n_read - n_taken).next_multiple_of(1024);
            n_taken += n_more;
            let now = gateway.engine.clock().now();
            refused = usage.send_more(caller, n_more, n_taken, now).err();
        }
        refused.is_none()
    };
    let read = read_body(body, bytes_max, gateway.limits.body_read_ms_max, goes_on).await;
    match (read, refused) {
        (_, Some(refused)) => Err(refused.into()),
        (read, None) => Ok(read?),
    }
}

/// Reads a document as it is, once the asker may send one.
pub async fn read_document(
    gateway: &Gateway,
    request: HttpRequest,
    bytes_max: usize,
    may_send: impl FnOnce(Asker) -> Result<Asker, Problem>,
) -> Result<Write<Bytes>, Problem> {
    let (parts, body) = request.into_parts();
    let asker = may_send(authenticate(gateway, &parts).await?)?;
    let bytes = read_within_quota(gateway, &asker.caller, body, bytes_max).await?;
    check_is_json(&parts.headers)?;
    let key = given_key(gateway, &parts, canonical::sha256(&[&bytes]))?;
    Ok(Write { asker, body: bytes, key })
}

fn given_key(gateway: &Gateway, parts: &Parts, body_hash: Hash) -> Result<GivenKey, Problem> {
    let text = match key_text(&parts.headers)? {
        Some(text) => text,
        None => gateway.engine.new_key_text(),
    };
    Ok(GivenKey { text, body_hash, used: parts.extensions.get::<UsedKey>().cloned() })
}

fn parse(bounds: &Bounds, parts: &Parts, bytes: &Bytes) -> Result<Value, Problem> {
    if bytes.is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    check_is_json(&parts.headers)?;
    let value = json::parse(bytes, bounds)?;
    if !value.is_object() {
        return Err(Problem::schema_invalid("body", "a JSON object"));
    }
    Ok(value)
}

pub fn check_is_json(headers: &HeaderMap) -> Result<(), Problem> {
    match media_type(headers)?.eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => Err(Problem::unsupported_media_type("content-type", "application/json")),
    }
}

/// The type of a body, without its parameters. A body is read as it is sent: one that is
/// compressed, or of two types, is refused.
pub fn media_type(headers: &HeaderMap) -> Result<&str, Problem> {
    let is_plain = |it: &HeaderValue| it.as_bytes().eq_ignore_ascii_case(b"identity");
    if !headers.get_all(header::CONTENT_ENCODING).iter().all(is_plain) {
        let expected = "to be left out; bodies are not decompressed";
        return Err(Problem::unsupported_media_type("content-encoding", expected));
    }
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let first = types.next().and_then(|value| value.to_str().ok()).unwrap_or_default();
    if types.next().is_some() {
        return Err(Problem::unsupported_media_type("content-type", "to be given once"));
    }
    Ok(first.split(';').next().unwrap_or_default().trim())
}

/// `from` and `from_agent` may be present if they agree with the credential.
fn check_identity(asker: &Asker, body: &mut Value) -> Result<(), Problem> {
    let Some(fields) = body.as_object_mut() else { return Ok(()) };
    // In a query `from_agent` is a filter.
    let is_query = fields.get("action").and_then(Value::as_str) == Some("query");
    for name in ["from", "from_agent"] {
        if is_query {
            continue;
        }
        let Some(claimed) = fields.remove(name) else { continue };
        let is_caller = match (claimed.as_str(), asker.caller.agent()) {
            (Some(claimed), Some(agent)) => claimed == agent.as_str(),
            (_, _) => false,
        };
        if !is_caller {
            let detail = format!("{name}: expected to be left out, or to be the token's own agent");
            return Err(Problem::new("identity_mismatch", detail).field(name));
        }
    }
    Ok(())
}

/// Parses a value into a type; an error names the path of the field.
pub fn shape<T: DeserializeOwned + JsonSchema + 'static>(value: Value) -> Result<T, Problem> {
    forms::of::<T>().check(&value).map_err(|misfit| at(&misfit.path, &misfit.expected))?;
    T::deserialize(Strict(value)).map_err(|error| misread(&error))
}

/// A type that is parsed from text has its own message about what it expects. Other messages are
/// those of the parser, about types that callers do not know.
fn misread(error: &strict::Error) -> Problem {
    let expected = error.reason.strip_prefix("expected ").unwrap_or("a value of another kind");
    at(&error.path, expected)
}

fn at(path: &str, expected: &str) -> Problem {
    let field = if path.is_empty() { "body" } else { path };
    Problem::schema_invalid(field, expected)
}

fn key_text(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = single_header(headers, &KEY_HEADER)? else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    let is_key = !text.is_empty()
        && text.len() <= KEY_BYTES_MAX
        && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_key {
        let expected = format!("1 to {KEY_BYTES_MAX} visible ASCII characters");
        return Err(Problem::schema_invalid("Idempotency-Key", &expected));
    }
    Ok(Some(text.to_owned()))
}

/// A path parameter. One that does not parse names nothing, so the answer is `not_found`.
#[derive(Debug)]
pub struct Named<T>(pub T);

/// What an id names. A malformed id is answered like an unknown one.
pub trait Names: FromStr + Send {
    const WHAT: &'static str;
}

impl Names for HandoffId {
    const WHAT: &'static str = "handoff";
}

impl Names for MessageId {
    const WHAT: &'static str = "message";
}

impl Names for ConversationId {
    const WHAT: &'static str = "conversation";
}

impl Names for TransferId {
    const WHAT: &'static str = "transfer";
}

impl Names for BundleId {
    const WHAT: &'static str = "bundle";
}

impl Names for AgentId {
    const WHAT: &'static str = "agent";
}

impl Names for GraphId {
    const WHAT: &'static str = "graph";
}

impl Names for TokenId {
    const WHAT: &'static str = "token";
}

impl Names for WebhookId {
    const WHAT: &'static str = "webhook";
}

impl Names for FileId {
    const WHAT: &'static str = "file";
}

impl Names for UploadId {
    const WHAT: &'static str = "upload";
}

impl Names for QuestionId {
    const WHAT: &'static str = "question";
}

impl<S: Send + Sync, T: Names> FromRequestParts<S> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let nothing = || Problem::not_found(T::WHAT);
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(text) = path.map_err(|_| nothing())?;
        text.parse().map(Named).map_err(|_| nothing())
    }
}

/// The name in the path of something that the request may create. One that is no name is refused.
#[derive(Debug)]
pub struct Chosen<T>(pub T);

impl<S: Send + Sync, T: Names + FromStr<Err = InvalidId>> FromRequestParts<S> for Chosen<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(text) = path.map_err(|_| Problem::not_found(T::WHAT))?;
        let refused = |error: InvalidId| Problem::schema_invalid(T::WHAT, error.expected);
        text.parse().map(Chosen).map_err(refused)
    }
}

/// Query parameters, with unknown ones refused by name.
#[derive(Debug)]
pub struct QueryParameters<T>(pub T);

impl<S, T> FromRequestParts<S> for QueryParameters<T>
where
    S: Send + Sync,
    T: DeserializeOwned + JsonSchema + 'static,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let fields = parameters(&parts.uri)?;
        shape(Value::Object(fields)).map(QueryParameters)
    }
}

/// `true` or `false` in a query.
pub fn parse_flag(name: &'static str, text: Option<&str>) -> Result<Option<bool>, Problem> {
    match text {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(_) => Err(Problem::schema_invalid(name, "true or false")),
    }
}

/// A body without fields.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}
