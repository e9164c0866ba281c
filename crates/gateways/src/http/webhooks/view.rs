//! Webhooks and their deliveries as JSON.

use engine::loops::webhooks::{Attempt, Status, TEST};
use protocol::ids::WebhookId;
use protocol::time::Time;
use protocol::warning::Warning;
use protocol::webhook::{SetAside, Webhook};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Serialize, JsonSchema)]
pub struct WebhookView {
    pub webhook_id: String,
    /// Who made it. It delivers what this member may read.
    pub owner: String,
    pub url: String,
    /// Empty for all events.
    pub events: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `active`, `failing`, `paused` or `removed`.
    pub status: &'static str,
    /// Why it is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<PausedView>,
    /// The delivery that is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<FailingView>,
    /// Whether every event so far was delivered or set aside.
    pub caught_up: bool,
    /// Since the server started.
    pub n_delivered: u64,
    /// Deliveries that the endpoint did not take.
    pub set_aside: Vec<SetAsideView>,
    pub key: u32,
    /// Until when the key before it signs, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_key_until: Option<String>,
    pub created_at: String,
    /// The secret that signs deliveries, as Standard Webhooks defines it. It is shown when the
    /// webhook is made, and when its key is rotated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Why it will not be called, or gets no events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct PausedView {
    /// `asked`, `failing`, `gone`, `set_aside` or `token_ended`.
    pub cause: &'static str,
    pub detail: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct FailingView {
    pub since: String,
    pub attempts: u32,
    pub next_at: String,
    pub detail: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SetAsideView {
    /// The cursor of the event.
    pub event: String,
    pub name: String,
    pub attempts: u32,
    pub detail: String,
}

/// One call of the endpoint.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AttemptView {
    /// The cursor of the event.
    pub event: String,
    pub name: String,
    pub at: String,
    pub took_ms: i64,
    pub delivered: bool,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The newest attempts, since the server started, and what was set aside.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeliveriesView {
    /// The newest first.
    pub attempts: Vec<AttemptView>,
    pub set_aside: Vec<SetAsideView>,
}

pub fn webhook_view(
    id: WebhookId,
    webhook: &Webhook,
    status: Option<Status>,
    now: Time,
) -> WebhookView {
    let status = status.unwrap_or_default();
    // What failed before it was changed or resumed says nothing about what it is now.
    let mut tries = status.attempts.iter().filter(|attempt| attempt.name != TEST);
    let is_tried = tries.next_back().is_some_and(|attempt| attempt.at >= webhook.since);
    let failing = status.failing.filter(|_| is_tried).map(|it| FailingView {
        since: it.since.to_string(),
        attempts: it.attempts,
        next_at: it.next_at.to_string(),
        detail: it.detail,
    });
    let paused = webhook
        .paused
        .as_ref()
        .map(|paused| PausedView { cause: paused.cause.as_str(), detail: paused.detail.clone() });
    let terms = &webhook.terms;
    WebhookView {
        webhook_id: id.to_string(),
        owner: webhook.owner.clone(),
        url: terms.url.clone(),
        events: terms.events.clone(),
        stream: terms.stream.clone(),
        agent: terms.agent.as_ref().map(ToString::to_string),
        description: terms.description.clone(),
        status: match (&paused, &failing) {
            (Some(_), _) => "paused",
            (None, Some(_)) => "failing",
            (None, None) => "active",
        },
        paused,
        failing,
        caught_up: status.is_caught_up && webhook.paused.is_none(),
        n_delivered: status.n_delivered,
        set_aside: webhook.set_aside.iter().map(set_aside_view).collect(),
        key: webhook.key,
        previous_key_until: webhook
            .previous_key_until
            .filter(|until| now < *until)
            .map(|until| until.to_string()),
        created_at: webhook.created_at.to_string(),
        secret: None,
        warnings: Vec::new(),
    }
}

pub fn set_aside_view(it: &SetAside) -> SetAsideView {
    SetAsideView {
        event: it.event.clone(),
        name: it.name.clone(),
        attempts: it.attempts,
        detail: it.detail.clone(),
    }
}

pub fn attempt_view(attempt: Attempt) -> AttemptView {
    AttemptView {
        event: attempt.event,
        name: attempt.name,
        at: attempt.at.to_string(),
        took_ms: attempt.took.as_millis(),
        delivered: attempt.problem.is_none(),
        problem: attempt.problem,
    }
}
