//! Questions: what an agent asks a human, the answer, and who goes on with it.

pub mod lifecycle;
pub mod list;
pub mod operations;
pub mod tool;
pub mod view;
pub mod wait_view;
pub mod waiting;

use axum::Router;

use super::shared::gateway::Gateway;
use super::shared::routes::Routes;
use operations::QUESTIONS;

pub fn routes(gateway: Gateway) -> Router {
    Routes::new(&[&QUESTIONS])
        .route("/v1/questions", |at| at.get(list::list).post(lifecycle::ask))
        .route("/v1/questions/tool", |at| at.get(tool::definition))
        .route("/v1/questions/tool_calls", |at| at.post(tool::called))
        .route("/v1/questions/{question}", |at| at.get(lifecycle::show))
        .route("/v1/questions/{question}/answer", |at| at.post(lifecycle::answer))
        .route("/v1/questions/{question}/withdraw", |at| at.post(lifecycle::withdraw))
        .route("/v1/questions/{question}/claim", |at| at.post(lifecycle::claim))
        .route("/v1/questions/{question}/renew", |at| at.post(lifecycle::renew))
        .route("/v1/questions/{question}/finish", |at| at.post(lifecycle::finish))
        .route("/v1/questions/{question}/erase", |at| at.post(lifecycle::erase))
        .with_state(gateway)
}
