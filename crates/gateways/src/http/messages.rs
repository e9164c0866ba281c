//! Messages between agents: the mailbox of the ACP design.

pub mod inbox_text;
pub mod mailbox;
pub mod notices;
pub mod operations;
pub mod purge;
pub mod sending;
pub mod state;
pub mod view;

use axum::Router;

use super::shared::routes::Routes;
use operations::{MESSAGES, NOTICES, PURGE};
use state::Messages;

pub use mailbox::pass_on;

pub fn routes(messages: Messages) -> Router {
    Routes::new(&[&MESSAGES, &NOTICES, &PURGE])
        .route("/v1/acp/messages", |at| at.get(mailbox::query).post(mailbox::send))
        .route("/v1/acp/messages/{message}", |at| at.get(mailbox::show))
        .route("/v1/acp/messages/{message}/respond", |at| at.post(mailbox::respond))
        .route("/v1/acp/messages/{message}/read", |at| at.post(mailbox::read))
        .route("/v1/acp/inbox", |at| at.get(mailbox::inbox))
        .route("/v1/acp/status", |at| at.get(mailbox::status))
        .route("/v1/notices", |at| at.get(notices::list))
        .route("/v1/notices/read", |at| at.post(notices::read))
        .route("/v1/notices/muted", |at| at.put(notices::mute))
        .route("/v1/acp/messages/purge", |at| at.post(purge::purge))
        .with_state(messages)
}
