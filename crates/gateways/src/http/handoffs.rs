//! Handoffs: a task passes from one owner to the next. The native API under `/v1/handoffs`, and the
//! tool of the ACP design.

pub mod acp;
pub mod action;
pub mod completion;
pub mod completion_view;
pub mod delegation;
pub mod detection;
pub mod dry_run;
pub mod erase;
pub mod lifecycle;
pub mod negotiation;
pub mod operations;
pub mod progress;
pub mod read;
pub mod recall;
pub mod view;
pub mod waiting;
pub mod workq;

use axum::Router;

use super::shared::gateway::Gateway;
use super::shared::routes::Routes;
use operations::{ACP, HANDOFFS};

pub fn routes(gateway: Gateway) -> Router {
    Routes::new(&[&HANDOFFS, &ACP])
        .route("/v1/handoffs", |at| at.get(read::list).post(lifecycle::initiate))
        .route("/v1/handoffs/drafts", |at| at.post(lifecycle::draft))
        .route("/v1/handoffs/detect", |at| at.post(detection::detect))
        .route("/v1/handoffs/{handoff}", |at| at.get(read::show))
        .route("/v1/handoffs/{handoff}/draft", |at| at.put(lifecycle::edit_draft))
        .route("/v1/handoffs/{handoff}/discard", |at| at.post(lifecycle::discard))
        .route("/v1/handoffs/{handoff}/initiate", |at| at.post(lifecycle::propose))
        .route("/v1/handoffs/{handoff}/accept", |at| at.post(lifecycle::accept))
        .route("/v1/handoffs/{handoff}/reject", |at| at.post(lifecycle::reject))
        .route("/v1/handoffs/{handoff}/approve", |at| at.post(negotiation::approve))
        .route("/v1/handoffs/{handoff}/refuse", |at| at.post(negotiation::refuse))
        .route("/v1/handoffs/{handoff}/counter", |at| at.post(negotiation::counter))
        .route("/v1/handoffs/{handoff}/withdraw", |at| at.post(negotiation::withdraw))
        .route("/v1/handoffs/{handoff}/delegate", |at| at.post(delegation::delegate))
        .route("/v1/handoffs/{handoff}/reassign", |at| at.post(delegation::reassign))
        .route("/v1/handoffs/{handoff}/extend_sla", |at| at.post(negotiation::extend_sla))
        .route("/v1/handoffs/{handoff}/activate", |at| at.post(lifecycle::activate))
        .route("/v1/handoffs/{handoff}/progress", |at| at.post(progress::progress))
        .route("/v1/handoffs/{handoff}/recall", |at| at.post(recall::recall))
        .route("/v1/handoffs/{handoff}/complete", |at| at.post(completion::complete))
        .route("/v1/handoffs/{handoff}/confirm", |at| at.post(completion::confirm))
        .route("/v1/handoffs/{handoff}/dispute", |at| at.post(completion::dispute))
        .route("/v1/handoffs/{handoff}/close", |at| at.post(lifecycle::close))
        .route("/v1/handoffs/{handoff}/erase", |at| at.post(erase::erase))
        .route("/v1/handoffs/{handoff}/history", |at| at.get(read::history))
        .route("/v1/acp/handoff", |at| at.post(acp::handle).fallback(acp::wrong_method))
        .with_state(gateway)
}
