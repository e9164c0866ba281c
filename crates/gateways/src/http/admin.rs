//! For people who run a teamspace or the server: tokens, teamspaces, usage, outbox, ledger, probes.

pub mod ledger;
pub mod operations;
pub mod outbox;
pub mod probes;
pub mod state;
pub mod teamspaces;
pub mod token_view;
pub mod tokens;
pub mod usage;

use axum::Router;

use super::shared::routes::Routes;
use operations::{ACCESS, RUNNING};
use state::Admin;

pub fn routes(admin: Admin) -> Router {
    Routes::new(&[&ACCESS, &RUNNING])
        .route("/healthz", |at| at.get(probes::healthz))
        .route("/readyz", |at| at.get(probes::readyz))
        .route("/metrics", |at| at.get(probes::metrics))
        .route("/v1/tokens", |at| at.get(tokens::list).post(tokens::issue))
        .route("/v1/tokens/{token}/revoke", |at| at.post(tokens::revoke))
        .route("/v1/teamspace", |at| at.get(teamspaces::show).put(teamspaces::configure))
        .route("/v1/teamspaces", |at| at.get(teamspaces::list).post(teamspaces::create))
        .route("/v1/usage", |at| at.get(usage::show))
        .route("/v1/quotas", |at| at.put(usage::set_quotas))
        .route("/v1/outbox", |at| at.get(outbox::list))
        .route("/v1/outbox/revive", |at| at.post(outbox::revive))
        .route("/v1/ledger/fork", |at| at.post(ledger::fork))
        .with_state(admin)
}
