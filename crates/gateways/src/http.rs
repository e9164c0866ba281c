//! HTTP/JSON: the native API under `/v1`, the ACP shape, the live feed, and the pages for
//! operators.
//!
//! A gateway parses and translates. It decides nothing about handoffs, and who a caller is comes
//! from [`auth`] alone. Every way a request can fail becomes a [`problem::Problem`].

mod aaep;
mod acp;
mod agents;
mod auth;
mod bundles;
mod callbacks;
mod completion;
mod completion_view;
mod conversations;
mod cursors;
mod delegation;
mod dry_run;
mod events;
mod forms;
mod graphs;
mod handoffs;
mod inbox_text;
mod input;
mod ledger;
mod messages;
mod negotiation;
mod observed;
mod operations;
mod ops;
mod outbox;
mod presence;
mod problem;
mod purge;
mod queue_news;
mod queues;
mod reference;
mod teamspaces;
mod tokens;
mod transfers;
mod view;
mod vouched;
mod wake;
mod workq;
mod ws;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use engine::Engine;
use engine::manifest_signing::Vouching;
use protocol::json::Bounds;
use protocol::wake::WakeKey;
use tokio::sync::watch;

use crate::listen::ConnectionCounts;
use crate::proxy::TrustedProxies;
use crate::rate::{RateLimit, RateLimiter};
use crate::trace_context::JoinTrace;
use conversations::{by_tools, erase, export, transcript};
use observed::Routes;
use ops::Metrics;

pub use aaep::compat::{Open, Player, Settings as CompatSettings, Words};
pub use aaep::local::serve as serve_aaep_socket;
pub use operations::{OPERATIONS, Operation, Who};
pub use ops::MetricsReaders;
pub use problem::CODES;
pub(crate) use problem::Problem;
pub use reference::openapi;
pub use ws::{InvalidOrigin, Origins};

/// The limits of a request. Each has a defined answer when it is reached.
#[derive(Debug, Clone)]
pub struct RequestLimits {
    /// Larger bodies are refused with `body_too_large`. A package of 256 KiB fits with room.
    pub body_bytes_max: usize,
    /// A body that takes longer to arrive is refused with `request_timeout`.
    pub body_read_ms_max: u64,
    /// Nesting, string, list and object sizes; past them the body is refused with `json_invalid`.
    pub json: Bounds,
    /// Per token; past it the answer is `rate_limited` with `Retry-After`.
    pub rate: RateLimit,
    /// Live streams in all, and per token; past them the answer is `too_many_streams`.
    pub streams_max: usize,
    pub streams_per_token_max: usize,
    /// How often a socket is pinged. A peer that is silent between two pings is closed.
    pub ping_ms: u64,
}

/// Failed logins from one address. The retries of a misconfigured client stay below the limit; a
/// flood of guesses is answered with `rate_limited`.
const FAILED_LOGINS: RateLimit = RateLimit {
    per_minute: NonZeroU32::new(600).expect("600 is not 0"),
    burst: NonZeroU32::new(2_000).expect("2,000 is not 0"),
};

/// What the handlers share. A request clones it several times, so it is one pointer.
#[derive(Clone)]
pub struct Gateway(Arc<Shared>);

/// Everything behind a [`Gateway`].
pub struct Shared {
    engine: Engine,
    limits: RequestLimits,
    rate: RateLimiter,
    /// Failed logins, by address. A secret cannot be guessed, but guesses must not be cheap.
    failures: RateLimiter,
    /// Critical events, by producer.
    critical: RateLimiter,
    /// Messages, by sender.
    sending: messages::Sending,
    proxies: TrustedProxies,
    metrics: Metrics,
    metrics_readers: MetricsReaders,
    streams: Arc<OpenStreams>,
    sockets: ws::Sockets,
    compat: aaep::compat::Compat,
    join_trace: Option<JoinTrace>,
    /// The secrets that sign calls to agents are derived from this key.
    wake_key: Option<WakeKey>,
    /// The keys that sign the server's manifest.
    vouching: Option<Arc<Vouching>>,
    stopping: watch::Receiver<bool>,
}

/// The answer if the handler of a path did not answer in time, in the shape of that path. It says
/// that the outcome is unknown.
pub(crate) fn unanswered(path: &str) -> fn() -> Response {
    if path == acp::PATH { acp::unanswered } else { || Problem::unknown_outcome().into_response() }
}

impl std::ops::Deref for Gateway {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

#[derive(Debug, Default)]
struct OpenStreams {
    all: AtomicUsize,
    by_credential: std::sync::Mutex<std::collections::HashMap<auth::Credential, usize>>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Gateway {
    /// `stopping` turns true when streams shall end and `/readyz` shall say no.
    pub fn new(
        engine: Engine,
        limits: RequestLimits,
        proxies: TrustedProxies,
        connections: Arc<ConnectionCounts>,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        Self(Arc::new(Shared {
            metrics: Metrics::new(engine.clone(), connections),
            metrics_readers: MetricsReaders::default(),
            rate: RateLimiter::new(limits.rate),
            failures: RateLimiter::new(FAILED_LOGINS),
            critical: RateLimiter::new(aaep::PRODUCER_CRITICAL),
            sending: messages::Sending::default(),
            engine,
            limits,
            proxies,
            streams: Arc::default(),
            sockets: ws::Sockets::default(),
            compat: aaep::compat::Compat::default(),
            join_trace: None,
            wake_key: None,
            vouching: None,
            stopping,
        }))
    }

    /// Shows the span of every request to `join_trace` before anything happens in it.
    pub fn joining_traces(mut self, join_trace: JoinTrace) -> Self {
        let shared = Arc::get_mut(&mut self.0).expect("nothing shares it before it has routes");
        shared.join_trace = Some(join_trace);
        self
    }

    /// Tells operators the secrets that follow from this key.
    pub fn waking_with(mut self, wake_key: WakeKey) -> Self {
        let shared = Arc::get_mut(&mut self.0).expect("nothing shares it before it has routes");
        shared.wake_key = Some(wake_key);
        self
    }

    /// Publishes a manifest, and the keys that sign it.
    pub fn vouched_by(mut self, vouching: Arc<Vouching>) -> Self {
        let shared = Arc::get_mut(&mut self.0).expect("nothing shares it before it has routes");
        shared.vouching = Some(vouching);
        self
    }

    /// Sets who handles user input on the compatibility layout, and who may connect without a
    /// token.
    pub fn with_compat(mut self, settings: CompatSettings) -> Self {
        let shared = Arc::get_mut(&mut self.0).expect("nothing shares it before it has routes");
        shared.compat.settings = settings;
        self
    }

    /// Sets who may read the counters.
    pub fn showing_metrics_to(mut self, readers: MetricsReaders) -> Self {
        let shared = Arc::get_mut(&mut self.0).expect("nothing shares it before it has routes");
        shared.metrics_readers = readers;
        self
    }

    /// Lets pages from these origins open sockets.
    pub fn allowing_origins(mut self, origins: Origins) -> Self {
        let shared = Arc::get_mut(&mut self.0).expect("nothing shares it before it has routes");
        shared.sockets.origins = origins;
        self
    }

    /// The router of all operations. Commands on a socket use the same router.
    pub fn router(self) -> Router {
        let operations = routes().into_router(self.clone());
        let open = move |State(gateway): State<Gateway>, request: Request| {
            ws::open(operations.clone(), gateway, request)
        };
        routes()
            .route("/ws", |at| at.get(open))
            .route("/aaep/v1/ws", |at| at.get(aaep::socket::open))
            .into_router(self)
    }
}

impl Routes {
    fn with_conversations(self) -> Self {
        self.route("/v1/conversations", |at| at.get(conversations::list).post(conversations::open))
            .route("/v1/conversations/{conversation}", |at| at.get(conversations::show))
            .route("/v1/conversations/{conversation}/messages", |at| {
                at.get(transcript::read).post(conversations::say)
            })
            .route("/v1/conversations/{conversation}/messages/{number}/attachments/{index}", |at| {
                at.get(transcript::download)
            })
            .route("/v1/conversations/{conversation}/commands", |at| at.post(conversations::route))
            .route("/v1/conversations/{conversation}/agent", |at| at.put(conversations::select))
            .route("/v1/conversations/{conversation}/tool-calls", |at| at.post(by_tools::called))
            .route("/v1/conversations/{conversation}/tokens", |at| at.post(conversations::mint))
            .route("/v1/conversations/{conversation}/close", |at| at.post(conversations::close))
            .route("/v1/conversations/{conversation}/erase", |at| at.post(erase::erase))
            .route("/v1/conversations/{conversation}/export", |at| at.get(export::export))
    }

    fn with_transfers(self) -> Self {
        self.route("/v1/conversations/{conversation}/transfers", |at| at.post(transfers::request))
            .route("/v1/conversations/{conversation}/callbacks", |at| at.post(callbacks::ask))
            .route("/v1/conversations/{conversation}/callbacks/done", |at| {
                at.post(callbacks::settle)
            })
            .route("/v1/bundles/{bundle}", |at| at.get(bundles::show))
            .route("/v1/transfers/{transfer}", |at| at.get(transfers::show))
            .route("/v1/transfers/{transfer}/pickup", |at| at.post(transfers::pickup))
            .route("/v1/transfers/{transfer}/accept", |at| at.post(transfers::accept))
            .route("/v1/transfers/{transfer}/decline", |at| at.post(transfers::decline))
            .route("/v1/transfers/{transfer}/hold", |at| at.post(transfers::hold))
            .route("/v1/transfers/{transfer}/resume", |at| at.post(transfers::resume))
            .route("/v1/transfers/{transfer}/complete", |at| at.post(transfers::complete))
            .route("/v1/transfers/{transfer}/end", |at| at.post(transfers::end))
            .route("/v1/transfers/{transfer}/cancel", |at| at.post(transfers::cancel))
            .route("/v1/transfers/{transfer}/fail", |at| at.post(transfers::fail))
            .route("/v1/transfers/{transfer}/transfer", |at| at.post(transfers::transfer))
            .route("/v1/transfers/{transfer}/note", |at| at.post(transfers::note))
            .route("/v1/transfers/{transfer}/whisper", |at| at.post(transfers::whisper))
            .route("/v1/transfers/{transfer}/rate", |at| at.post(transfers::rate))
            .route("/v1/queues/{queue}", |at| at.get(queues::show).put(queues::configure))
    }

    fn with_aaep(self) -> Self {
        self.route("/aaep/v1/events", |at| at.get(aaep::listening::listen).post(aaep::announce))
            .route("/aaep/v1/subscriptions", |at| at.post(aaep::listening::subscribe))
            .route("/aaep/v1/replies", |at| at.post(aaep::listening::reply))
            .route("/aaep/v1/sessions", |at| at.get(aaep::list))
            .route("/aaep/v1/sessions/{session}", |at| at.get(aaep::show))
            .route("/aaep/v1/sessions/{session}/events", |at| at.get(aaep::events))
            .route("/aaep/v1/sessions/{session}/erase", |at| at.post(aaep::erase::erase))
            .route("/aaep/v1/sessions/{session}/decisions/{reply_token}", |at| {
                at.get(aaep::decision)
            })
    }

    fn with_aaep_compat(self) -> Self {
        use aaep::compat;
        self.route("/aaep/compat/{agent}/events", |at| {
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

    fn with_manifest(self) -> Self {
        self.route("/.well-known/aaep-manifest.json", |at| at.get(vouched::manifest))
            .route("/.well-known/aaep-manifest.jws", |at| at.get(vouched::signed_manifest))
            .route("/.well-known/aaep-jwks.json", |at| at.get(vouched::keys))
            .route("/v1/aaep/keys", |at| at.get(vouched::list))
            .route("/v1/aaep/keys/rotate", |at| at.post(vouched::rotate))
    }

    fn with_graphs(self) -> Self {
        self.route("/v1/graphs", |at| at.get(graphs::list))
            .route("/v1/graphs/{graph}", |at| at.get(graphs::show).put(graphs::save))
            .route("/v1/graphs/{graph}/remove", |at| at.post(graphs::remove))
    }
}

/// The routes. [`OPERATIONS`] documents them; a test keeps the two together.
fn routes() -> Routes {
    Routes::new()
        .route("/healthz", |at| at.get(ops::healthz))
        .route("/readyz", |at| at.get(ops::readyz))
        .route("/metrics", |at| at.get(ops::metrics))
        .route("/openapi.json", |at| at.get(reference::openapi_json))
        .route("/schemas/handoff-package.json", |at| at.get(reference::package_schema))
        .route("/schemas/handoff-offer.json", |at| at.get(reference::offer_schema))
        .route("/schemas/aaep.json", |at| at.get(reference::aaep_schemas))
        .route("/docs", |at| at.get(reference::page))
        .route("/v1/agents", |at| at.get(agents::list))
        .route("/v1/agents/{agent}", |at| at.get(agents::show).put(agents::register))
        .route("/v1/agents/{agent}/roles", |at| at.put(agents::set_roles))
        .route("/v1/agents/{agent}/wake", |at| at.put(wake::set))
        .route("/v1/agents/{agent}/presence", |at| at.put(presence::set))
        .route("/v1/agents/{agent}/endpoint", |at| at.put(presence::set_endpoint))
        .route("/v1/tokens", |at| at.get(tokens::list).post(tokens::issue))
        .route("/v1/tokens/{token}/revoke", |at| at.post(tokens::revoke))
        .route("/v1/teamspace", |at| at.get(teamspaces::show).put(teamspaces::configure))
        .route("/v1/teamspaces", |at| at.get(teamspaces::list).post(teamspaces::create))
        .route("/v1/handoffs", |at| at.get(handoffs::list).post(handoffs::initiate))
        .route("/v1/handoffs/drafts", |at| at.post(handoffs::draft))
        .route("/v1/handoffs/{handoff}", |at| at.get(handoffs::show))
        .route("/v1/handoffs/{handoff}/draft", |at| at.put(handoffs::edit_draft))
        .route("/v1/handoffs/{handoff}/initiate", |at| at.post(handoffs::propose))
        .route("/v1/handoffs/{handoff}/accept", |at| at.post(handoffs::accept))
        .route("/v1/handoffs/{handoff}/reject", |at| at.post(handoffs::reject))
        .route("/v1/handoffs/{handoff}/approve", |at| at.post(negotiation::approve))
        .route("/v1/handoffs/{handoff}/refuse", |at| at.post(negotiation::refuse))
        .route("/v1/handoffs/{handoff}/counter", |at| at.post(negotiation::counter))
        .route("/v1/handoffs/{handoff}/withdraw", |at| at.post(negotiation::withdraw))
        .route("/v1/handoffs/{handoff}/delegate", |at| at.post(delegation::delegate))
        .route("/v1/handoffs/{handoff}/reassign", |at| at.post(delegation::reassign))
        .route("/v1/handoffs/{handoff}/extend_sla", |at| at.post(negotiation::extend_sla))
        .route("/v1/handoffs/{handoff}/activate", |at| at.post(handoffs::activate))
        .route("/v1/handoffs/{handoff}/complete", |at| at.post(completion::complete))
        .route("/v1/handoffs/{handoff}/confirm", |at| at.post(completion::confirm))
        .route("/v1/handoffs/{handoff}/dispute", |at| at.post(completion::dispute))
        .route("/v1/handoffs/{handoff}/close", |at| at.post(handoffs::close))
        .route("/v1/handoffs/{handoff}/erase", |at| at.post(handoffs::erase))
        .route("/v1/handoffs/{handoff}/history", |at| at.get(handoffs::history))
        .route("/v1/acp/handoff", |at| at.post(acp::handle).fallback(acp::wrong_method))
        .route("/v1/acp/messages", |at| at.get(messages::query).post(messages::send))
        .route("/v1/acp/messages/{message}", |at| at.get(messages::show))
        .route("/v1/acp/messages/{message}/respond", |at| at.post(messages::respond))
        .route("/v1/acp/messages/{message}/read", |at| at.post(messages::read))
        .route("/v1/acp/inbox", |at| at.get(messages::inbox))
        .route("/v1/acp/status", |at| at.get(messages::status))
        .route("/v1/events", |at| at.get(events::follow))
        .route("/v1/acp/messages/purge", |at| at.post(purge::purge))
        .route("/v1/agents/{agent}/handoff-tools", |at| at.get(by_tools::definitions))
        .route("/v1/outbox", |at| at.get(outbox::list))
        .route("/v1/outbox/revive", |at| at.post(outbox::revive))
        .route("/v1/ledger/fork", |at| at.post(ledger::fork))
        .with_conversations()
        .with_transfers()
        .with_graphs()
        .with_aaep()
        .with_aaep_compat()
        .with_manifest()
}
