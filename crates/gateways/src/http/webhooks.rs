//! Webhooks: events of the ledger, posted to the URLs of members.

pub mod deliveries;
pub mod lifecycle;
pub mod operations;
pub mod state;
pub mod view;

use axum::Router;

use super::shared::routes::Routes;
use operations::WEBHOOKS;
use state::Webhooks;

pub fn routes(webhooks: Webhooks) -> Router {
    Routes::new(&[&WEBHOOKS])
        .route("/v1/webhooks", |at| at.get(lifecycle::list).post(lifecycle::create))
        .route("/v1/webhooks/{webhook}", |at| at.get(lifecycle::show).put(lifecycle::change))
        .route("/v1/webhooks/{webhook}/rotate_key", |at| at.post(lifecycle::rotate_key))
        .route("/v1/webhooks/{webhook}/pause", |at| at.post(lifecycle::pause))
        .route("/v1/webhooks/{webhook}/resume", |at| at.post(lifecycle::resume))
        .route("/v1/webhooks/{webhook}/remove", |at| at.post(lifecycle::remove))
        .route("/v1/webhooks/{webhook}/test", |at| at.post(deliveries::test))
        .route("/v1/webhooks/{webhook}/redeliver", |at| at.post(deliveries::redeliver))
        .route("/v1/webhooks/{webhook}/discard", |at| at.post(deliveries::discard))
        .route("/v1/webhooks/{webhook}/deliveries", |at| at.get(deliveries::list))
        .with_state(webhooks)
}
