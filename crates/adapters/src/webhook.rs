//! Calls agents: one signed `POST` over a connection of its own. The recipient of a critical
//! message is told that there is a message, but not its content. The holder of a conversation is
//! told what was said in it, and may answer in the response.
//!
//! The URL is set by an operator, but a name may resolve to any address, so the address is checked
//! like that of an artifact. Redirects are not followed, and an agent's response is used only as
//! its own message in its conversation.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::loops::deliver::Delivery;
use engine::loops::wake::WakeCall;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::CONTENT_TYPE;
use hyper::{Method, StatusCode};
use protocol::conversation::part::Part;
use protocol::json::{self as strict, Bounds};
use protocol::step::Wake;
use protocol::time::Time;
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

/// A message with as many files as it may have.
const ANSWER_BYTES_MAX: usize = 3 * 1024 * 1024;

const TOO_SLOW: &str = "the agent does not answer in time";

#[derive(Debug)]
pub struct Webhook {
    network: Box<dyn Network>,
    tls: Arc<ClientConfig>,
    key: WakeKey,
    scope: Scope,
    call_ms_max: u64,
    turn_ms_max: u64,
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
        Self { network, tls, key, scope, call_ms_max, turn_ms_max }
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
        Self { call_ms_max: ms_max, turn_ms_max: ms_max, ..self }
    }

    /// `Err` says what went wrong, in words that repeat nothing of the URL or the answer.
    pub async fn call(&self, call: &WakeCall) -> Result<(), String> {
        let Wake { agent, message, .. } = &call.wake;
        let posting = self.post(Signed {
            url: &call.url,
            secret: self.key.secret(&call.teamspace, agent),
            id: wake::id(*message, agent),
            at: call.at,
            body: body(call),
            url_use: UrlUse::Call,
        });
        let calling = timeout(Duration::from_millis(self.call_ms_max), posting);
        let answer = calling.await.unwrap_or(Err(TOO_SLOW.to_owned()))?;
        taken(answer.response.status())
    }

    /// The same for a turn of a conversation.
    pub async fn deliver(&self, delivery: &Delivery) -> Result<Option<Vec<Part>>, String> {
        let posting = async {
            let mut answer = self
                .post(Signed {
                    url: &delivery.url,
                    secret: self.key.secret(&delivery.teamspace, &delivery.agent),
                    id: delivery.id.clone(),
                    at: delivery.at,
                    body: delivery.body.clone(),
                    url_use: UrlUse::Turns,
                })
                .await?;
            taken(answer.response.status())?;
            let body = Limited::new(answer.response.body_mut(), ANSWER_BYTES_MAX).collect().await;
            Ok(body.map_err(|_| "the answer of the agent is cut off or too long")?.to_bytes())
        };
        let delivering = timeout(Duration::from_millis(self.turn_ms_max), posting);
        read_answer(&delivering.await.unwrap_or(Err(TOO_SLOW.to_owned()))?)
    }

    async fn post(&self, signed: Signed<'_>) -> Result<HttpAnswer, String> {
        let location = Location::parse(signed.url).ok_or(NOT_PLAIN)?;
        let reach = self.reach(&location, signed.url_use)?;
        let stream = network::reach(&*self.network, &self.tls, &location, reach).await.map_err(
            |unreached| match unreached {
                Unreached::Unresolved => "the name in its URL cannot be resolved",
                Unreached::NotPublic => unreachable_because(reach),
                Unreached::Unanswered => "the agent cannot be reached",
            },
        )?;
        let Signed { secret, id, at, body, .. } = signed;
        let request = network::request(Method::POST, &location)
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", wake::seconds(at))
            .header("webhook-signature", secret.signature(&id, at, body.as_bytes()))
            .body(Full::new(Bytes::from(body)))
            .map_err(|_| "its URL is not a plain one")?;
        let answer = network::send(stream, request).await;
        Ok(answer.map_err(|_| "the agent does not answer as HTTP asks")?)
    }
}

/// A request and the secret that signs it.
struct Signed<'a> {
    url: &'a str,
    secret: Secret,
    id: String,
    at: Time,
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

fn taken(status: StatusCode) -> Result<(), String> {
    match status {
        status if status.is_success() => Ok(()),
        status if status.is_redirection() => {
            Err("the agent redirects, which is not followed".to_owned())
        }
        status => Err(format!("the agent answered {}", status.as_u16())),
    }
}

/// Nothing, or `{ "parts": [...] }`.
fn read_answer(bytes: &[u8]) -> Result<Option<Vec<Part>>, String> {
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    let bounds =
        Bounds { string_bytes_max: ANSWER_BYTES_MAX, free_text: &["text"], ..Bounds::default() };
    let parts = match strict::parse(bytes, &bounds) {
        Ok(Value::Object(mut said)) if said.len() == 1 => said.remove("parts"),
        Ok(_) | Err(_) => None,
    };
    let parts = parts.and_then(|parts| serde_json::from_value(parts).ok());
    let expected = "the answer of the agent is neither empty nor { \"parts\": [...] }";
    parts.map(Some).ok_or(expected.to_owned())
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
