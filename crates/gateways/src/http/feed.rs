//! The ledger, live.

pub mod filter;
pub mod operations;
pub mod stream;

use axum::Router;

use super::shared::gateway::Gateway;
use super::shared::routes::Routes;
use operations::FEED;

pub fn routes(gateway: Gateway) -> Router {
    Routes::new(&[&FEED]).route("/v1/events", |at| at.get(stream::follow)).with_state(gateway)
}
