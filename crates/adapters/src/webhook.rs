//! Calls agents that were sent something critical: one signed `POST` over a connection of its own,
//! which says that there is a message and not what it says.
//!
//! The URL is an operator's, but a name may lead anywhere, so the address is checked like that of
//! an artifact. Redirects are not followed, and nothing of an answer is read but its status.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::wake::Call;
use http_body_util::Full;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, StatusCode};
use protocol::step::Wake;
use protocol::wake::{self, WakeKey};
use serde_json::json;
use tokio::time::timeout;
use tokio_rustls::rustls::ClientConfig;

use crate::artifacts::locations::Location;
use crate::artifacts::network::{self, Network, Reach, SystemNetwork, Unreached};

/// From the name to the status: whoever wakes up in earnest answers first and works then.
pub const CALL_MS_MAX: u64 = 5_000;

#[derive(Debug)]
pub struct Webhook {
    network: Box<dyn Network>,
    tls: Arc<ClientConfig>,
    key: WakeKey,
    allow_private_addresses: bool,
    call_ms_max: u64,
}

impl Webhook {
    pub fn new(key: WakeKey, allow_private_addresses: bool) -> Self {
        let (network, tls) = (Box::new(SystemNetwork), network::public_tls());
        Self { network, tls, key, allow_private_addresses, call_ms_max: CALL_MS_MAX }
    }

    pub fn taking_at_most(self, call_ms_max: u64) -> Self {
        Self { call_ms_max, ..self }
    }

    /// `Err` says what went wrong, in words that repeat nothing of the URL or the answer.
    pub async fn call(&self, call: &Call) -> Result<(), String> {
        let calling = timeout(Duration::from_millis(self.call_ms_max), self.post(call));
        match calling.await.unwrap_or(Err("the agent does not answer in time".to_owned()))? {
            status if status.is_success() => Ok(()),
            status if status.is_redirection() => {
                Err("the agent redirects, which is not followed".to_owned())
            }
            status => Err(format!("the agent answered {}", status.as_u16())),
        }
    }

    async fn post(&self, call: &Call) -> Result<StatusCode, String> {
        let location = Location::parse(&call.url).ok_or("its URL is not a plain one")?;
        let reach = match self.allow_private_addresses {
            true => Reach::Private,
            false => Reach::Public,
        };
        let stream = network::reach(&*self.network, &self.tls, &location, reach).await.map_err(
            |unreached| match unreached {
                Unreached::Unresolved => "the name in its URL cannot be resolved",
                Unreached::NotPublic => "its URL leads to an address that is not public",
                Unreached::Unanswered => "the agent cannot be reached",
            },
        )?;
        let Wake { agent, message, .. } = &call.wake;
        let (id, body) = (wake::id(*message, agent), body(call));
        let secret = self.key.secret(&call.teamspace, agent);
        let request = network::request(Method::POST, &location)
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", wake::seconds(call.at))
            .header("webhook-signature", secret.signature(&id, call.at, body.as_bytes()))
            .body(Full::new(Bytes::from(body)))
            .map_err(|_| "its URL is not a plain one")?;
        let answer = network::send(stream, request).await;
        Ok(answer.map_err(|_| "the agent does not answer as HTTP asks")?.response.status())
    }
}

/// As Standard Webhooks has it: a type, a time, and what it is about.
fn body(call: &Call) -> String {
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
