//! This server as a witness for the ledgers of others, by C2SP's `tlog-witness`. A request needs no
//! token: what counts is the signature of a log that the operator named.

pub mod checkpoints;
pub mod operations;
pub mod state;

use axum::Router;

use super::shared::routes::Routes;
use operations::WITNESS;
use state::Witnessing;

pub fn routes(witnessing: Witnessing) -> Router {
    Routes::new(&[&WITNESS])
        .route("/witness/add-checkpoint", |at| at.post(checkpoints::add))
        .route("/witness/key", |at| at.get(checkpoints::key))
        .with_state(witnessing)
}
