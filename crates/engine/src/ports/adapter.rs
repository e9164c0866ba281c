//! What carries out effects outside the server, and what it is asked.

use std::future::Future;
use std::pin::Pin;

use protocol::conversation::command::TurnAnswer;
use protocol::handoff::artifact::Seen;
use protocol::handoff::package::Artifact;
use protocol::handoff::workq::{Answer, Answered, Degradation, Transfer};
use protocol::ids::{AgentId, TeamspaceId, WebhookId};
use protocol::step::Wake;
use protocol::time::{Span, Time};
use protocol::wake::UrlUse;

/// Carries out effects outside the server. It may be slow, and it may fail; then it is retried.
pub trait Adapter: Send + Sync + 'static {
    /// Looks at artifacts; one answer for each, in any order.
    fn look(&self, artifacts: Vec<Artifact>) -> Pin<Box<dyn Future<Output = Vec<Seen>> + Send>>;

    /// Asks a work queue to hand items to a new owner; one answer for each. It is asked again after
    /// a crash, so it must recognise items that were already handed over.
    fn transfer(&self, transfer: Transfer) -> Pin<Box<dyn Future<Output = Vec<Answered>> + Send>> {
        Box::pin(std::future::ready(not_configured(transfer)))
    }

    /// Calls an agent that was sent something critical. It must take seconds, not minutes.
    fn wake(&self, call: WakeCall) -> Taken;

    /// Tells the holder of a conversation what was said. The same delivery may come again, with the
    /// same id.
    fn deliver(&self, delivery: Delivery) -> DeliveryResult {
        drop(delivery);
        Box::pin(std::future::ready(Err(CallFailure::refused("turns cannot be delivered here"))))
    }

    /// Posts an event to a webhook.
    fn post(&self, post: Post) -> Taken {
        drop(post);
        Box::pin(std::future::ready(Err(CallFailure::refused("webhooks are not called here"))))
    }

    /// Why a URL is never called as this server is set up, as far as the URL alone tells.
    fn objection(&self, url: &str, url_use: UrlUse) -> Option<String> {
        let _ = (url, url_use);
        None
    }
}

/// The agent to call, and the message it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WakeCall {
    pub url: String,
    pub teamspace: TeamspaceId,
    pub wake: Wake,
    /// When it is tried.
    pub at: Time,
}

/// The result of a call: nothing if it was taken, or what went wrong.
pub type Taken = Pin<Box<dyn Future<Output = Result<(), CallFailure>> + Send>>;

/// Where to deliver, and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub url: String,
    pub teamspace: TeamspaceId,
    pub agent: AgentId,
    /// The same for each try.
    pub id: String,
    /// When it is tried.
    pub at: Time,
    pub body: String,
}

/// The result: the agent's answer, if it gives one at once, or what went wrong.
pub type DeliveryResult =
    Pin<Box<dyn Future<Output = Result<Option<TurnAnswer>, CallFailure>> + Send>>;

/// What is posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    pub url: String,
    pub teamspace: TeamspaceId,
    pub webhook: WebhookId,
    /// The numbers of the keys that sign it, the current one first.
    pub keys: Vec<u32>,
    /// The same for each try.
    pub id: String,
    /// When it is tried.
    pub at: Time,
    pub body: String,
}

/// Why a call did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFailure {
    /// In words that repeat nothing of the URL or the answer.
    pub detail: String,
    pub cause: FailureCause,
    /// The endpoint asked to be left alone for this long.
    pub retry_after: Option<Span>,
    /// The status of its answer, if it answered.
    pub status: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    /// It cannot be reached, is overloaded or broken: the next call would likely fail, too.
    Down,
    /// It answered, and did not take this call.
    Refused,
    /// It was not called.
    NotTried,
}

impl CallFailure {
    pub fn down(detail: impl Into<String>) -> Self {
        let cause = FailureCause::Down;
        Self { detail: detail.into(), cause, retry_after: None, status: None }
    }

    pub fn refused(detail: impl Into<String>) -> Self {
        let cause = FailureCause::Refused;
        Self { detail: detail.into(), cause, retry_after: None, status: None }
    }

    pub fn not_tried(detail: impl Into<String>, retry_after: Span) -> Self {
        let retry_after = Some(retry_after);
        let cause = FailureCause::NotTried;
        Self { detail: detail.into(), cause, retry_after, status: None }
    }

    /// The endpoint says that it does not exist any more.
    pub fn is_gone(&self) -> bool {
        self.status == Some(410)
    }

    /// The endpoint takes calls, but not with this content.
    pub fn is_about_content(&self) -> bool {
        matches!(self.status, Some(400 | 413 | 415 | 422))
    }
}

/// The answer of an adapter without a work queue.
pub fn not_configured(transfer: Transfer) -> Vec<Answered> {
    let answer = Answer::Degraded {
        reason: Degradation::NotConfigured,
        detail: "no work queue is configured".to_owned(),
    };
    transfer.items.into_iter().map(|item| Answered { item, answer: answer.clone() }).collect()
}
