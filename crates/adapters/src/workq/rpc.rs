//! One JSON-RPC call over a connection of its own. The answer is read strictly and within limits;
//! of the queue's own text only numbers are passed on.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::StatusCode;
use hyper::header::HeaderValue;
use protocol::json::{self, Bounds};
use serde_json::{Map, Value, json};
use tokio_rustls::rustls::ClientConfig;

use super::{SettingError, Settings};
use crate::artifacts::locations::Location;
use crate::artifacts::network::{self, Reach, SystemNetwork, Unreached};

/// Enough for an item with its notes, which is all that an answer contains.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

#[derive(Debug)]
pub struct Client {
    location: Location,
    authorization: Option<HeaderValue>,
    reach: Reach,
    tls: Arc<ClientConfig>,
    n_calls: AtomicU64,
}

/// Why there is no result. The text is ours; from the queue it has only a number.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("the work queue {0}")]
    Unavailable(String),
    #[error("the work queue sent an invalid answer: {0}")]
    BadAnswer(&'static str),
    #[error("the work queue answers with error {0}")]
    Error(i64),
}

impl Client {
    pub fn new(settings: Settings) -> Result<Self, SettingError> {
        Ok(Self {
            location: Location::parse(&settings.url).ok_or(SettingError::Url)?,
            authorization: authorization(&settings)?,
            reach: if settings.allow_private_addresses { Reach::Private } else { Reach::Public },
            tls: network::public_tls(),
            n_calls: AtomicU64::new(0),
        })
    }

    pub async fn call(&self, method: &str, params: Value) -> Result<Value, Failure> {
        let id = self.n_calls.fetch_add(1, Ordering::Relaxed) + 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let answer = self.post(request.to_string().into()).await?;
        let value = json::parse(&answer, &Bounds::default())
            .map_err(|_| Failure::BadAnswer("its answer is not strict JSON"))?;
        let Value::Object(fields) = value else {
            return Err(Failure::BadAnswer("its answer is not an object"));
        };
        read_answer(fields, id)
    }

    async fn post(&self, body: Bytes) -> Result<Bytes, Failure> {
        let unavailable = |what: &str| Failure::Unavailable(what.to_owned());
        let reached = network::reach(&SystemNetwork, &self.tls, &self.location, self.reach);
        let stream = reached.await.map_err(|unreached| match unreached {
            Unreached::Unresolved => unavailable("has a name that cannot be resolved"),
            Unreached::NotPublic => unavailable("is at an address that is not public"),
            Unreached::Unanswered => unavailable("cannot be reached"),
        })?;
        let mut answer = network::post(stream, &self.location, self.authorization.as_ref(), body)
            .await
            .map_err(|_| unavailable("does not answer as HTTP asks"))?;
        // A redirect is not followed: it would send the token to another server.
        match answer.response.status() {
            StatusCode::OK => {}
            status => {
                return Err(Failure::Unavailable(format!("answers {}", status.as_u16())));
            }
        }
        let body = Limited::new(answer.response.body_mut(), ANSWER_BYTES_MAX);
        match body.collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                Err(Failure::BadAnswer("its answer is too long"))
            }
            Err(_) => Err(unavailable("breaks off its answer")),
        }
    }
}

/// The result, if this is the answer to that call and nothing else.
fn read_answer(mut fields: Map<String, Value>, id: u64) -> Result<Value, Failure> {
    if fields.remove("jsonrpc") != Some(json!("2.0")) {
        return Err(Failure::BadAnswer("its answer is not JSON-RPC 2.0"));
    }
    if fields.remove("id") != Some(json!(id)) {
        return Err(Failure::BadAnswer("it answers another call"));
    }
    let (result, error) = (fields.remove("result"), fields.remove("error"));
    match (result, error) {
        _ if !fields.is_empty() => Err(Failure::BadAnswer("its answer has unknown fields")),
        (Some(result), None) => Ok(result),
        (None, Some(error)) => match error["code"].as_i64() {
            Some(code) => Err(Failure::Error(code)),
            None => Err(Failure::BadAnswer("its error has no code")),
        },
        (Some(_), Some(_)) | (None, None) => {
            Err(Failure::BadAnswer("its answer is neither a result nor an error"))
        }
    }
}

fn authorization(settings: &Settings) -> Result<Option<HeaderValue>, SettingError> {
    if settings.token_file.as_os_str().is_empty() {
        return Ok(None);
    }
    let path = settings.token_file.clone();
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(SettingError::TokenFile { path, source }),
    };
    network::bearer(&text).map(Some).ok_or(SettingError::Token { path })
}
