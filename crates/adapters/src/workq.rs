//! A work queue whose items follow a task to its new owner, over JSON-RPC 2.0. Its answers are not
//! trusted: an answer counts only if it is about the item that was asked for, and a transfer only
//! if the queue confirms it when it is asked again. A failure is recorded and has no other effect.
//!
//! `rpc` is one call; here is what is called, and what its answers mean.

mod rpc;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use protocol::handoff::artifact::Finding;
use protocol::handoff::package::ArtifactRef;
use protocol::handoff::workq::{Answer, Answered, Degradation, Transfer};
use protocol::ids::AgentId;
use serde_json::{Value, json};
use tokio::time::timeout;

use rpc::{Client, Failure};

/// For all items of one transfer. A caller waits for the answer to `activate`; a queue that needs
/// longer counts as down, and the item can be claimed by hand.
pub const TOTAL_MS_MAX: u64 = 2_000;

/// The error code of a queue for an item that it does not have.
const NO_SUCH_ITEM: i64 = -32_004;

/// The status of an item that must be claimed by hand.
const ORPHANED: &str = "orphaned";

/// Where the queue is.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// An `http` or `https` URL that takes JSON-RPC by POST.
    pub url: String,
    /// A file with the bearer token to send; empty for none.
    pub token_file: PathBuf,
    /// Whether the URL may lead to this machine or to a private network.
    pub allow_private_addresses: bool,
}

/// Why there is no queue to ask.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    #[error("workq.url: expected a plain http or https URL, without a user name in it")]
    Url,
    #[error("workq.token_file: cannot read {}", .path.display())]
    TokenFile { path: PathBuf, source: io::Error },
    #[error("workq.token_file: expected a token of visible ASCII in {}", .path.display())]
    Token { path: PathBuf },
}

#[derive(Debug)]
pub struct Workq {
    client: Client,
}

/// An item as the queue knows it.
#[derive(Debug)]
struct Item {
    owner: Option<String>,
}

impl Item {
    fn is_with(&self, agent: &AgentId) -> bool {
        self.owner.as_deref() == Some(agent.as_str())
    }
}

impl Workq {
    pub fn new(settings: Settings) -> Result<Self, SettingError> {
        Ok(Self { client: Client::new(settings)? })
    }

    /// Hands each item over, one after the other; one answer for each, in the same order.
    pub async fn transfer(&self, transfer: &Transfer) -> Vec<Answered> {
        let mut answers = Vec::with_capacity(transfer.items.len());
        let asking = async {
            for item in &transfer.items {
                answers.push(self.hand_over(item, transfer).await);
            }
        };
        // Whether the time was enough shows in the number of answers.
        let _ = timeout(Duration::from_millis(TOTAL_MS_MAX), asking).await;
        answers.resize_with(transfer.items.len(), || Answer::Degraded {
            reason: Degradation::Unavailable,
            detail: too_slow(),
        });
        let answered = |(item, answer): (&String, Answer)| Answered { item: item.clone(), answer };
        transfer.items.iter().zip(answers).map(answered).collect()
    }

    /// Whether there is such an item. A queue that does not answer does not block an accept.
    pub async fn look(&self, reference: &ArtifactRef) -> Finding {
        let not_verifiable = |detail: String| Finding::NotVerifiable { detail };
        if reference.sha256.is_some() || reference.size_bytes.is_some() {
            return not_verifiable("an item of the work queue has no bytes to compare".to_owned());
        }
        let got = timeout(Duration::from_millis(TOTAL_MS_MAX), self.get(&reference.path)).await;
        match got {
            Ok(Ok(_)) => Finding::Present,
            Ok(Err(Failure::Error(NO_SUCH_ITEM))) => {
                Finding::Missing { detail: "the work queue has no such item".to_owned() }
            }
            Ok(Err(failure)) => not_verifiable(failure.to_string()),
            Err(_) => not_verifiable(too_slow()),
        }
    }

    async fn hand_over(&self, item: &str, transfer: &Transfer) -> Answer {
        let (from, to) = (transfer.from.as_str(), transfer.to.as_str());
        let asked = json!({ "item_id": item, "from_agent": from, "to_agent": to });
        let claimed = match self.call("workq.claim", asked, item).await {
            Ok(claimed) => claimed,
            Err(Failure::Error(NO_SUCH_ITEM)) => return Answer::Missing,
            Err(refused @ Failure::Error(_)) => {
                return self.after_refusal(item, transfer, &refused).await;
            }
            Err(failure @ (Failure::Unavailable(_) | Failure::BadAnswer(_))) => {
                return degraded(&failure);
            }
        };
        if !claimed.is_with(&transfer.to) {
            return degraded(&Failure::BadAnswer("its claim names another owner"));
        }
        match self.get(item).await {
            Ok(kept) if kept.is_with(&transfer.to) => Answer::Transferred,
            Ok(_) | Err(Failure::Error(_)) => {
                degraded(&Failure::BadAnswer("it does not keep the claim that it confirmed"))
            }
            Err(failure @ (Failure::Unavailable(_) | Failure::BadAnswer(_))) => degraded(&failure),
        }
    }

    /// The answer after a refused claim. If the new owner already has the item, an earlier claim
    /// was granted. If the old owner still has it, the queue is asked to release it as orphaned.
    async fn after_refusal(&self, item: &str, transfer: &Transfer, refused: &Failure) -> Answer {
        let is_left_behind = match self.get(item).await {
            Ok(kept) if kept.is_with(&transfer.to) => return Answer::Transferred,
            Ok(kept) => kept.is_with(&transfer.from),
            Err(_) => false,
        };
        if is_left_behind {
            let agent = transfer.from.as_str();
            let left = json!({ "item_id": item, "agent": agent, "status": ORPHANED });
            if let Err(error) = self.call("workq.release", left, item).await {
                tracing::warn!(%error, "the work queue does not release an item");
            }
        }
        degraded(refused)
    }

    async fn get(&self, item: &str) -> Result<Item, Failure> {
        self.call("workq.get", json!({ "item_id": item }), item).await
    }

    async fn call(&self, method: &str, params: Value, item: &str) -> Result<Item, Failure> {
        let result = self.client.call(method, params).await?;
        read_item(&result, item).ok_or(Failure::BadAnswer("its answer is not about the item"))
    }
}

/// The item, if the answer is about this one.
fn read_item(result: &Value, asked: &str) -> Option<Item> {
    let fields = result.as_object()?;
    if fields.get("item_id")?.as_str()? != asked {
        return None;
    }
    let owner = match fields.get("owner")? {
        Value::Null => None,
        Value::String(owner) => Some(owner.clone()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    Some(Item { owner })
}

fn degraded(failure: &Failure) -> Answer {
    let reason = match failure {
        Failure::Unavailable(_) => Degradation::Unavailable,
        Failure::BadAnswer(_) => Degradation::BadAnswer,
        Failure::Error(_) => Degradation::Refused,
    };
    Answer::Degraded { reason, detail: failure.to_string() }
}

fn too_slow() -> String {
    format!("the work queue took more than {TOTAL_MS_MAX} ms")
}
