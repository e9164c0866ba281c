//! The Agent Accessibility Event Protocol: agents announce sessions, listeners follow and answer.
//!
//! - [`sessions`], [`listening`]: announcing, reading and answering over HTTP.
//! - [`answer`]: answering a question that the list of questions shows.
//! - [`socket`], [`local`]: the same over a WebSocket and a Unix socket, both by [`connection`].
//! - [`compat`]: the layout of paths that other tools use.
//! - [`manifest`]: what the server says about itself, signed.

pub mod answer;
pub mod compat;
pub mod connection;
pub mod critical;
pub mod erase;
pub mod listening;
pub mod local;
pub mod manifest;
pub mod manifest_operations;
pub mod message_schemas;
pub mod operations;
pub mod sessions;
pub mod socket;
pub mod state;

use axum::Router;

use super::shared::routes::Routes;
use manifest_operations::MANIFEST;
use operations::AAEP;
use state::Aaep;

pub fn routes(aaep: Aaep) -> Router {
    let routes = Routes::new(&[&AAEP, &MANIFEST])
        .route("/aaep/v1/events", |at| at.get(listening::listen).post(sessions::announce))
        .route("/aaep/v1/subscriptions", |at| at.post(listening::subscribe))
        .route("/aaep/v1/replies", |at| at.post(listening::reply))
        .route("/aaep/v1/sessions", |at| at.get(sessions::list))
        .route("/aaep/v1/sessions/{session}", |at| at.get(sessions::show))
        .route("/aaep/v1/sessions/{session}/events", |at| at.get(sessions::events))
        .route("/aaep/v1/sessions/{session}/answer", |at| at.post(answer::answer))
        .route("/aaep/v1/sessions/{session}/erase", |at| at.post(erase::erase))
        .route("/aaep/v1/sessions/{session}/decisions/{reply_token}", |at| {
            at.get(sessions::decision)
        })
        .route("/.well-known/aaep-manifest.json", |at| at.get(manifest::manifest))
        .route("/.well-known/aaep-manifest.jws", |at| at.get(manifest::signed_manifest))
        .route("/.well-known/aaep-jwks.json", |at| at.get(manifest::keys))
        .route("/v1/aaep/keys", |at| at.get(manifest::list))
        .route("/v1/aaep/keys/rotate", |at| at.post(manifest::rotate))
        .route("/aaep/v1/ws", |at| at.get(socket::open));
    with_compat(routes).with_state(aaep)
}

fn with_compat(routes: Routes<Aaep>) -> Routes<Aaep> {
    routes
        .route("/aaep/compat/{agent}/events", |at| {
            at.get(compat::listen).fallback(compat::other_methods)
        })
        .route("/aaep/compat/{agent}/messages", |at| {
            at.post(compat::messages).fallback(compat::other_methods)
        })
        .route("/aaep/compat/{agent}/sessions", |at| {
            at.post(compat::sessions).fallback(compat::other_methods)
        })
        .route("/aaep/compat/{agent}/healthz", |at| {
            at.get(compat::healthz).fallback(compat::other_methods)
        })
        .route("/aaep/compat/{agent}/ws", |at| at.get(compat::open))
}
