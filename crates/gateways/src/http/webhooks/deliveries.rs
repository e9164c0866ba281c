//! The deliveries of a webhook: what was tried, what was set aside, and trying once more.

use axum::Json;
use axum::extract::State;
use protocol::ids::WebhookId;
use protocol::step;
use protocol::webhook::{Command, Settlement};
use schemars::JsonSchema;
use serde::Deserialize;

use super::lifecycle::{current, stream};
use super::state::Webhooks;
use super::view::{AttemptView, DeliveriesView, attempt_view, set_aside_view};
use crate::http::shared::auth::Asker;
use crate::http::shared::input::{Named, Nothing, Write};
use crate::http::shared::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventInput {
    /// The cursor of an event of the ledger.
    pub event: String,
}

pub async fn list(
    State(gateway): State<Webhooks>,
    asker: Asker,
    Named(id): Named<WebhookId>,
) -> Result<Json<DeliveriesView>, Problem> {
    let asker = asker.member()?;
    let stream = stream(&asker.caller.teamspace, id);
    let (_, webhook) = current(&gateway, &asker, &stream).await?;
    let status = gateway.engine.outbox().webhook_status(&stream).unwrap_or_default();
    Ok(Json(DeliveriesView {
        attempts: status.attempts.into_iter().rev().map(attempt_view).collect(),
        set_aside: webhook.set_aside.iter().map(set_aside_view).collect(),
    }))
}

pub async fn test(
    State(gateway): State<Webhooks>,
    Named(id): Named<WebhookId>,
    write: Write<Nothing>,
) -> Result<Json<AttemptView>, Problem> {
    let asker = write.asker.member()?;
    let stream = stream(&asker.caller.teamspace, id);
    let (_, webhook) = current(&gateway, &asker, &stream).await?;
    let attempt = gateway.engine.outbox().test_webhook(&stream, &webhook).await;
    let stopping = || Problem::new("stopping", "the server is stopping");
    attempt.map(attempt_view).map(Json).ok_or_else(stopping)
}

pub async fn redeliver(
    State(gateway): State<Webhooks>,
    Named(id): Named<WebhookId>,
    write: Write<EventInput>,
) -> Result<Json<AttemptView>, Problem> {
    let (write, input) = write.split();
    let asker = write.asker.member()?;
    let stream = stream(&asker.caller.teamspace, id);
    let (_, webhook) = current(&gateway, &asker, &stream).await?;
    let attempt = gateway.engine.outbox().redeliver(&stream, &webhook, &input.event).await?;
    let nothing = || Problem::not_found("event that this webhook gets");
    attempt.map(attempt_view).map(Json).ok_or_else(nothing)
}

pub async fn discard(
    State(gateway): State<Webhooks>,
    Named(id): Named<WebhookId>,
    write: Write<EventInput>,
) -> Result<Json<DeliveriesView>, Problem> {
    let (write, input) = write.split();
    let asker = write.asker.clone().member()?;
    let key = write.key.for_action("discard_delivery", Some(&id.to_string()));
    let stream = stream(&asker.caller.teamspace, id);
    let settle = Command::Settle { event: input.event, how: Settlement::Discarded };
    let command = step::Command::Webhook(settle);
    gateway.engine.submit(&asker.caller, stream, command, Some(key)).await?;
    list(State(gateway), asker, Named(id)).await
}
