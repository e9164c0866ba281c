//! Calls agents: one signed `POST` over a connection of its own. The recipient of a critical
//! message is told that there is a message, but not its content. The holder of a conversation is
//! told what was said in it, and may answer in the response.
//!
//! The URL is set by an operator, but a name may resolve to any address, so the address is checked
//! like that of an artifact. Redirects are not followed, and an agent's response is used only as
//! its own message in its conversation.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use engine::loops::destinations::RETRY_AFTER_MAX;
use engine::ports::adapter::{CallFailure, Delivery, Post, WakeCall};
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{CONTENT_TYPE, RETRY_AFTER};
use hyper::{Method, StatusCode};
use protocol::conversation::command::TurnAnswer;
use protocol::form::Form;
use protocol::form::check::Misfit;
use protocol::json::{self as strict, Bounds};
use protocol::step::Wake;
use protocol::time::{Span, Time};
use protocol::wake::{self, Secret, UrlUse, WakeKey};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_rustls::rustls::ClientConfig;

use crate::artifacts::locations::{Host, Location, Scheme};
use crate::artifacts::network::{self, HttpAnswer, Network, Reach, SystemNetwork, Unreached};

/// From resolving the name to the status line: an agent should answer the call before it starts to
/// work.
pub const CALL_MS_MAX: u64 = 5_000;

/// From resolving the name to the end of the answer: a model may answer in the response, and
/// customers do not wait for longer.
pub const TURN_MS_MAX: u64 = 30_000;

/// From resolving the name to the status line: an endpoint should store an event and answer.
pub const EVENT_MS_MAX: u64 = 10_000;

/// A message with as many files as it may have.
const ANSWER_BYTES_MAX: usize = 3 * 1024 * 1024;

const TOO_SLOW: &str = "the endpoint does not answer in time";

#[derive(Debug)]
pub struct Webhook {
    network: Box<dyn Network>,
    tls: Arc<ClientConfig>,
    key: WakeKey,
    scope: Scope,
    call_ms_max: u64,
    turn_ms_max: u64,
    event_ms_max: u64,
}

/// Which agents may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Public,
    /// Agents on this machine as well, also without TLS.
    ThisMachine,
    /// Agents in private networks as well, also without TLS.
    Private,
}

/// How to make a URL callable.
const HOW_TO_CALL: &str = "`messages.wake_private_addresses = true` in the configuration allows it \
                           in private networks, `tasuki serve --dev` on this machine";

impl Webhook {
    pub fn new(key: WakeKey, allow_private_addresses: bool) -> Self {
        let (network, tls) = (Box::new(SystemNetwork), network::public_tls());
        let (call_ms_max, turn_ms_max) = (CALL_MS_MAX, TURN_MS_MAX);
        let scope = if allow_private_addresses { Scope::Private } else { Scope::Public };
        let event_ms_max = EVENT_MS_MAX;
        Self { network, tls, key, scope, call_ms_max, turn_ms_max, event_ms_max }
    }

    /// Calls agents on this machine, too.
    pub fn calling_this_machine(self) -> Self {
        let scope = match self.scope {
            Scope::Public | Scope::ThisMachine => Scope::ThisMachine,
            Scope::Private => Scope::Private,
        };
        Self { scope, ..self }
    }

    /// Why a URL is never called, as far as the URL shows without resolving its name.
    pub fn objection(&self, url: &str, url_use: UrlUse) -> Option<String> {
        let Some(location) = Location::parse(url) else {
            return Some(format!("it is never called: {NOT_PLAIN}"));
        };
        let known = match &location.host {
            Host::Address(address) => Some(*address),
            Host::Name(name) if is_this_machine(name) => Some(IpAddr::from(Ipv4Addr::LOCALHOST)),
            Host::Name(_) => None,
        };
        let why = match self.reach(&location, url_use) {
            Err(why) => why,
            Ok(reach) if known.is_some_and(|address| !reach.allows(address)) => {
                unreachable_because(reach)
            }
            Ok(_) => return None,
        };
        Some(format!("it is never called: {why}; {HOW_TO_CALL}"))
    }

    /// Where a URL may lead. A turn is sent without TLS only on this machine, or where private
    /// networks are allowed.
    fn reach(&self, location: &Location, url_use: UrlUse) -> Result<Reach, &'static str> {
        let is_clear = url_use == UrlUse::Turns && location.scheme == Scheme::Http;
        match self.scope {
            Scope::Public if is_clear => Err(NOT_HTTPS),
            Scope::Public => Ok(Reach::Public),
            Scope::ThisMachine if is_clear => Ok(Reach::Loopback),
            Scope::ThisMachine => Ok(Reach::PublicOrLoopback),
            Scope::Private => Ok(Reach::Private),
        }
    }

    pub fn taking_at_most(self, ms_max: u64) -> Self {
        Self { call_ms_max: ms_max, turn_ms_max: ms_max, event_ms_max: ms_max, ..self }
    }

    /// Posts an event of the ledger to a webhook, signed with each of its keys.
    pub async fn post_event(&self, post: Post) -> Result<(), CallFailure> {
        let at = post.at;
        let secret = |key: &u32| self.key.webhook_secret(&post.teamspace, post.webhook, *key);
        let posting = self.post(Signed {
            url: &post.url,
            secrets: post.keys.iter().map(secret).collect(),
            id: post.id,
            at,
            content_type: "application/cloudevents+json",
            body: post.body,
            url_use: UrlUse::Turns,
        });
        let calling = timeout(Duration::from_millis(self.event_ms_max), posting);
        taken(&calling.await.unwrap_or_else(|_| Err(CallFailure::down(TOO_SLOW)))?, at)
    }

    pub async fn call(&self, call: &WakeCall) -> Result<(), CallFailure> {
        let Wake { agent, message, .. } = &call.wake;
        let posting = self.post(Signed {
            url: &call.url,
            secrets: vec![self.key.secret(&call.teamspace, agent)],
            id: wake::id(*message, agent),
            at: call.at,
            content_type: JSON,
            body: body(call),
            url_use: UrlUse::Call,
        });
        let calling = timeout(Duration::from_millis(self.call_ms_max), posting);
        let answer = calling.await.unwrap_or_else(|_| Err(CallFailure::down(TOO_SLOW)))?;
        taken(&answer, call.at)
    }

    /// The same for a turn of a conversation.
    pub async fn deliver(&self, delivery: &Delivery) -> Result<Option<TurnAnswer>, CallFailure> {
        let posting = async {
            let mut answer = self
                .post(Signed {
                    url: &delivery.url,
                    secrets: vec![self.key.secret(&delivery.teamspace, &delivery.agent)],
                    id: delivery.id.clone(),
                    at: delivery.at,
                    content_type: JSON,
                    body: delivery.body.clone(),
                    url_use: UrlUse::Turns,
                })
                .await?;
            taken(&answer, delivery.at)?;
            let body = Limited::new(answer.response.body_mut(), ANSWER_BYTES_MAX).collect().await;
            let cut_off =
                |_| CallFailure::refused("the answer of the agent is cut off or too long");
            Ok(body.map_err(cut_off)?.to_bytes())
        };
        let delivering = timeout(Duration::from_millis(self.turn_ms_max), posting);
        read_answer(&delivering.await.unwrap_or_else(|_| Err(CallFailure::down(TOO_SLOW)))?)
    }

    async fn post(&self, signed: Signed<'_>) -> Result<HttpAnswer, CallFailure> {
        let not_plain = || CallFailure::refused(NOT_PLAIN);
        let location = Location::parse(signed.url).ok_or_else(not_plain)?;
        let reach = self.reach(&location, signed.url_use).map_err(CallFailure::refused)?;
        let stream = network::reach(&*self.network, &self.tls, &location, reach).await.map_err(
            |unreached| match unreached {
                Unreached::Unresolved => {
                    CallFailure::down("the name in its URL cannot be resolved")
                }
                Unreached::NotPublic => CallFailure::refused(unreachable_because(reach)),
                Unreached::Unanswered => CallFailure::down("the endpoint cannot be reached"),
            },
        )?;
        let Signed { secrets, id, at, content_type, body, .. } = signed;
        let signature = |secret: &Secret| secret.signature(&id, at, body.as_bytes());
        let signatures: Vec<String> = secrets.iter().map(signature).collect();
        let request = network::request(Method::POST, &location)
            .header(CONTENT_TYPE, content_type)
            .header("webhook-id", &id)
            .header("webhook-timestamp", wake::seconds(at))
            .header("webhook-signature", signatures.join(" "))
            .body(Full::new(Bytes::from(body)))
            .map_err(|_| not_plain())?;
        let answer = network::send(stream, request).await;
        answer.map_err(|_| CallFailure::down("the endpoint does not answer as HTTP asks"))
    }
}

const JSON: &str = "application/json";

/// A request and the secrets that sign it.
struct Signed<'a> {
    url: &'a str,
    secrets: Vec<Secret>,
    id: String,
    at: Time,
    content_type: &'static str,
    body: String,
    url_use: UrlUse,
}

const NOT_PLAIN: &str = "its URL is not a plain one";
const NOT_HTTPS: &str = "its URL is not https";

fn unreachable_because(reach: Reach) -> &'static str {
    match reach {
        Reach::Loopback => NOT_HTTPS,
        Reach::Public | Reach::PublicOrLoopback | Reach::Private => {
            "its URL leads to an address that is not public"
        }
    }
}

/// Names that lead to this machine wherever they are asked for (RFC 6761).
fn is_this_machine(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

fn taken(answer: &HttpAnswer, now: Time) -> Result<(), CallFailure> {
    let status = answer.response.status();
    if status.is_success() {
        return Ok(());
    }
    if status.is_redirection() {
        return Err(CallFailure::refused("the endpoint redirects, which is not followed"));
    }
    let detail = format!("the endpoint answered {}", status.as_u16());
    if !status.is_server_error() && status != StatusCode::TOO_MANY_REQUESTS {
        let status = Some(status.as_u16());
        return Err(CallFailure { status, ..CallFailure::refused(detail) });
    }
    let asked = answer.response.headers().get(RETRY_AFTER).and_then(|it| it.to_str().ok());
    let retry_after = asked.and_then(|asked| retry_after(asked, now));
    Err(CallFailure { retry_after, ..CallFailure::down(detail) })
}

/// Seconds, or a date. More than the longest pause that is honoured is that pause.
fn retry_after(asked: &str, now: Time) -> Option<Span> {
    let asked = asked.trim();
    let is_number = !asked.is_empty() && asked.bytes().all(|byte| byte.is_ascii_digit());
    let millis = match is_number {
        true => asked.parse::<i64>().unwrap_or(i64::MAX).saturating_mul(1_000),
        false => {
            let date = httpdate::parse_http_date(asked).ok()?.duration_since(UNIX_EPOCH).ok()?;
            i64::try_from(date.as_millis()).ok()?.saturating_sub(now.as_millis())
        }
    };
    (millis > 0).then(|| Span::from_millis(millis.min(RETRY_AFTER_MAX.as_millis())))
}

static FORM: LazyLock<Form> = LazyLock::new(Form::of::<TurnAnswer>);

/// Nothing, or an object such as `{ "parts": [...] }`.
fn read_answer(bytes: &[u8]) -> Result<Option<TurnAnswer>, CallFailure> {
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    let bounds =
        Bounds { string_bytes_max: ANSWER_BYTES_MAX, free_text: &["text"], ..Bounds::default() };
    let expected = "the answer of the agent is neither empty nor an object such as \
                    { \"parts\": [...] }";
    let answer = match strict::parse(bytes, &bounds) {
        Ok(answer @ Value::Object(_)) if answer != json!({}) => answer,
        Ok(_) | Err(_) => return Err(CallFailure::refused(expected)),
    };
    FORM.check(&answer).map_err(|misfit| {
        let Misfit { path, expected } = misfit;
        CallFailure::refused(format!("the answer of the agent: {path}: expected {expected}"))
    })?;
    let answer = serde_json::from_value(answer);
    answer.map(Some).map_err(|_| CallFailure::refused(expected))
}

/// The body that Standard Webhooks defines: a type, a time, and the data.
fn body(call: &WakeCall) -> String {
    let Wake { agent, message, priority, kind } = &call.wake;
    json!({
        "type": "message.wake",
        "timestamp": call.at.to_string(),
        "data": {
            "teamspace": call.teamspace.as_str(),
            "agent": agent.as_str(),
            "message_id": message.to_string(),
            "priority": priority,
            "kind": kind.as_str(),
        },
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = "2026-11-18T08:00:00Z".parse().expect("a time");
        for (asked, seconds) in [
            ("120", Some(120)),
            (" 7 ", Some(7)),
            ("0", None),
            ("99999999999999999999", Some(3_600)),
            ("Wed, 18 Nov 2026 08:00:30 GMT", Some(30)),
            ("Wed, 18 Nov 2026 07:00:00 GMT", None),
            ("Fri, 31 Dec 2027 23:59:59 GMT", Some(3_600)),
            ("soon", None),
            ("-5", None),
            ("", None),
        ] {
            let expected = seconds.map(|seconds: i64| Span::from_millis(seconds * 1_000));
            assert_eq!(retry_after(asked, now), expected, "{asked:?}");
        }
    }
}
