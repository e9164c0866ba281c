//! HTTP/JSON: the native API under `/v1`, the ACP shape, AAEP, the live feed, and the pages for
//! operators. Each subject has a folder with its handlers, its rows of the table of operations, its
//! routes, and its state; [`shared`] is what all of them use.
//!
//! A gateway parses and translates. It decides nothing about handoffs, and who a caller is comes
//! from [`shared::auth`] alone. Every way a request can fail becomes a
//! [`shared::problem::Problem`].

mod aaep;
mod admin;
mod agents;
pub mod call;
mod conversations;
mod feed;
mod files;
mod handoffs;
mod messages;
mod operations;
mod questions;
mod reference;
mod shared;
mod webhooks;
mod witness;
mod ws;

use std::sync::Arc;

use axum::Router;
use axum::response::{IntoResponse, Response};
use engine::Engine;
use engine::aaep::manifest_signing::ManifestSigner;
use engine::ledger::witness::Witness;
use protocol::wake::WakeKey;
use tokio::sync::watch;

use crate::large_bodies::LargeBodies;
use crate::listen::ConnectionCounts;
use crate::proxy::TrustedProxies;
use crate::slow_lane::SlowLane;
use crate::trace_context::JoinTrace;
use admin::state::Admin;
use agents::state::Agents;
use handoffs::acp;
use messages::state::Messages;
use shared::gateway::Gateway;
use shared::problem::Problem;
use shared::routes::unmatched;
use webhooks::state::Webhooks;
use witness::state::Witnessing;
use ws::state::Ws;

pub use aaep::compat::settings::{Open, Player, Settings as CompatSettings, Words};
pub use aaep::local::serve as serve_aaep_socket;
pub use aaep::state::Aaep;
pub use admin::state::MetricsReaders;
pub use operations::OPERATIONS;
pub use reference::openapi;
pub use shared::gateway::RequestLimits;
pub use shared::operation::{Operation, Who};
pub use shared::origin::{InvalidOrigin, Origins};
pub use shared::problem::CODES;

/// The settings of the API, until it has routes.
#[derive(Debug)]
pub struct Api {
    gateway: Gateway,
    wake_key: Option<WakeKey>,
    manifest_signer: Option<Arc<ManifestSigner>>,
    compat: CompatSettings,
    metrics_readers: MetricsReaders,
    witness: Option<Arc<Witness>>,
}

/// The API: its routes, and the state of AAEP, which a Unix socket serves too.
#[derive(Debug)]
pub struct Served {
    pub router: Router,
    pub aaep: Aaep,
}

impl Api {
    /// `stopping` turns true when streams shall end and `/readyz` shall say no.
    pub fn new(
        engine: Engine,
        limits: RequestLimits,
        proxies: TrustedProxies,
        connections: Arc<ConnectionCounts>,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        Self {
            gateway: Gateway::new(engine, limits, proxies, connections, stopping),
            wake_key: None,
            manifest_signer: None,
            compat: CompatSettings::default(),
            metrics_readers: MetricsReaders::default(),
            witness: None,
        }
    }

    /// Shows the span of every request to `join_trace` before anything happens in it.
    pub fn joining_traces(mut self, join_trace: JoinTrace) -> Self {
        self.gateway.set(|gateway| gateway.join_trace = Some(join_trace));
        self
    }

    /// Lets pages from these origins open sockets.
    pub fn allowing_origins(mut self, origins: Origins) -> Self {
        self.gateway.set(|gateway| gateway.origins = origins);
        self
    }

    /// Counts here who uses how much of the processor. Connections go by the same.
    pub fn with_slow_lane(mut self, slow_lane: Arc<SlowLane>) -> Self {
        self.gateway.set(|gateway| {
            gateway.large_bodies = LargeBodies::new(Arc::clone(&slow_lane));
            gateway.slow_lane = slow_lane;
        });
        self
    }

    /// Tells operators the secrets that follow from this key.
    pub fn waking_with(self, wake_key: WakeKey) -> Self {
        Self { wake_key: Some(wake_key), ..self }
    }

    /// Publishes a manifest, and the keys that sign it.
    pub fn signing_manifests_with(self, manifest_signer: Arc<ManifestSigner>) -> Self {
        Self { manifest_signer: Some(manifest_signer), ..self }
    }

    /// Sets who handles user input on the compatibility layout, and who may connect without a
    /// token.
    pub fn with_compat(self, compat: CompatSettings) -> Self {
        Self { compat, ..self }
    }

    /// Sets who may read the counters.
    pub fn showing_metrics_to(self, metrics_readers: MetricsReaders) -> Self {
        Self { metrics_readers, ..self }
    }

    /// Cosigns the checkpoints of other ledgers.
    pub fn witnessing(self, witness: Option<Witness>) -> Self {
        Self { witness: witness.map(Arc::new), ..self }
    }

    /// The routes of every subject. Commands on a socket use the same ones.
    pub fn serve(self) -> Served {
        let Self { gateway, wake_key, manifest_signer, compat, metrics_readers, witness } = self;
        let messages = Messages::new(gateway.clone());
        let aaep = Aaep::new(messages.clone(), compat, manifest_signer);
        let operations = Router::new()
            .merge(handoffs::routes(gateway.clone()))
            .merge(conversations::routes(gateway.clone()))
            .merge(files::routes(gateway.clone()))
            .merge(messages::routes(messages))
            .merge(questions::routes(gateway.clone()))
            .merge(webhooks::routes(Webhooks {
                gateway: gateway.clone(),
                wake_key: wake_key.clone(),
            }))
            .merge(agents::routes(Agents { gateway: gateway.clone(), wake_key }))
            .merge(admin::routes(Admin { gateway: gateway.clone(), metrics_readers }))
            .merge(witness::routes(Witnessing { gateway: gateway.clone(), witness }))
            .merge(feed::routes(gateway.clone()))
            .merge(reference::routes(gateway.clone()))
            .merge(aaep::routes(aaep.clone()))
            .merge(unmatched(gateway.clone()));
        let sockets = ws::routes(Ws::new(gateway, operations.clone()));
        Served { router: operations.merge(sockets), aaep }
    }
}

/// The answer if the handler of a path did not answer in time, in the shape of that path. It says
/// that the outcome is unknown.
pub fn unanswered(path: &str) -> fn() -> Response {
    if path == acp::PATH { acp::unanswered } else { || Problem::unknown_outcome().into_response() }
}
