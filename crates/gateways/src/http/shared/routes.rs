//! Routes whose requests are counted, timed and put into their caller's trace.
//!
//! A layer around the router could do this, but axum then boxes every route twice and clones both
//! boxes for every request. Here each handler is wrapped before the router sees it: nothing more
//! is boxed, and a request knows its route without looking it up. [`Routes`] does the wrapping, so
//! that no handler can be forgotten.
//!
//! It also marks parameters in the URL of an operation that takes none, so that they are refused:
//! otherwise an ignored `?dry_run=true` would carry out the action.

use std::future::ready;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Router;
use axum::extract::{FromRef, Request};
use axum::handler::Handler;
use axum::http::{Version, header};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use engine::ports::clock::Stopwatch;
use tracing::instrument::{Instrument, Instrumented};

use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{KEY_HEADER, UsedKey};
use crate::http::shared::metrics::{AnsweredRequest, known_method};
use crate::http::shared::operation::{Operation, Who};
use crate::http::shared::problem::Problem;
use crate::http::shared::query::QueryNotTaken;
use crate::listen::AmbiguousLength;
use crate::trace_context::{CallerSpan, JoinTrace};

/// The route of a request whose path matches no route.
const UNMATCHED: &str = "unmatched";

/// The paths of one subject and their handlers. `S` is the subject's state.
pub struct Routes<S> {
    rows: &'static [&'static [Operation]],
    router: Router<S>,
}

impl<S: Clone + Send + Sync + 'static> Routes<S>
where
    Gateway: FromRef<S>,
{
    /// `rows` are the operations of the subject.
    pub fn new(rows: &'static [&'static [Operation]]) -> Self {
        Self { rows, router: Router::new() }
    }

    /// `path` is also what metrics and spans call the route.
    pub fn route(self, path: &'static str, add: impl FnOnce(Methods<S>) -> Methods<S>) -> Self {
        let Self { rows, router } = self;
        let methods = Methods { rows, route: path, router: MethodRouter::new() };
        let methods = add(methods.fallback(wrong_method));
        Self { rows, router: router.route(path, methods.router) }
    }

    pub fn with_state(self, state: S) -> Router {
        self.router.with_state(state)
    }
}

/// The answer to a path that no subject has.
pub fn unmatched(gateway: Gateway) -> Router {
    let handler = no_such_path;
    let observed = Observed { route: UNMATCHED, takes_query: true, handler };
    Router::new().fallback(observed).with_state(gateway)
}

/// The methods of one path. One that is not added is refused with `method_not_allowed`.
pub struct Methods<S> {
    rows: &'static [&'static [Operation]],
    route: &'static str,
    router: MethodRouter<S>,
}

impl<S: Clone + Send + Sync + 'static> Methods<S>
where
    Gateway: FromRef<S>,
{
    pub fn get<H, T: 'static>(self, handler: H) -> Self
    where
        Observed<H>: Handler<T, S>,
    {
        let takes_query = self.takes_query("get");
        let Self { rows, route, router } = self;
        Self { rows, route, router: router.get(Observed { route, takes_query, handler }) }
    }

    pub fn post<H, T: 'static>(self, handler: H) -> Self
    where
        Observed<H>: Handler<T, S>,
    {
        let takes_query = self.takes_query("post");
        let Self { rows, route, router } = self;
        Self { rows, route, router: router.post(Observed { route, takes_query, handler }) }
    }

    pub fn put<H, T: 'static>(self, handler: H) -> Self
    where
        Observed<H>: Handler<T, S>,
    {
        let takes_query = self.takes_query("put");
        let Self { rows, route, router } = self;
        Self { rows, route, router: router.put(Observed { route, takes_query, handler }) }
    }

    /// Answers the methods that are not added.
    pub fn fallback<H, T: 'static>(self, handler: H) -> Self
    where
        Observed<H>: Handler<T, S>,
    {
        let Self { rows, route, router } = self;
        let observed = Observed { route, takes_query: true, handler };
        Self { rows, route, router: router.fallback(observed) }
    }

    /// Whether the handler takes a query, as the operation says. Operations that are open to
    /// anyone, such as probes and pages, take any query, and so do paths that are no operation.
    fn takes_query(&self, method: &str) -> bool {
        let mut rows = self.rows.iter().flat_map(|rows| rows.iter());
        let operation = rows.find(|row| row.method == method && row.path == self.route);
        operation.is_none_or(|row| row.query.is_some() || row.who == Who::Anyone)
    }
}

async fn no_such_path() -> Problem {
    Problem::not_found("path")
}

async fn wrong_method() -> Problem {
    Problem::method_not_allowed()
}

#[derive(Debug, Clone)]
pub struct Observed<H> {
    route: &'static str,
    takes_query: bool,
    handler: H,
}

impl<H, T, S> Handler<T, S> for Observed<H>
where
    H: Handler<T, S, Future = Answering>,
    Gateway: FromRef<S>,
{
    type Future = Observing;

    fn call(self, mut request: Request, state: S) -> Observing {
        let gateway = Gateway::from_ref(&state);
        let Self { route, takes_query, handler } = self;
        let method = known_method(request.method());
        let span = span_of(&request, method, route, gateway.join_trace);
        let stopwatch = Stopwatch::start();
        if !takes_query && request.uri().query().is_some() {
            request.extensions_mut().insert(QueryNotTaken);
        }
        let key = UsedKey::default();
        if method != "GET" {
            request.extensions_mut().insert(key.clone());
        }
        let answering: Answering = match refused_head(&request) {
            None => handler.call(request, state),
            Some(problem) => Box::pin(ready(problem.into_response())),
        };
        let answering = answering.instrument(span);
        Observing { gateway, route, method, stopwatch, key, answering }
    }
}

/// Why a request is refused whatever it asks for: a proxy may have read it in another way.
fn refused_head(request: &Request) -> Option<Problem> {
    if !has_one_host(request) {
        return Some(Problem::one_host());
    }
    // Only chunks can come with a second length, and few requests come in chunks.
    let is_chunked = request.headers().contains_key(header::TRANSFER_ENCODING);
    let is_ambiguous = is_chunked && request.extensions().get::<AmbiguousLength>().is_some();
    is_ambiguous.then(Problem::one_length)
}

/// HTTP/1.1 asks for exactly one `Host`. With two, a proxy may have read another one than we do.
fn has_one_host(request: &Request) -> bool {
    let n_hosts = request.headers().get_all(header::HOST).iter().count();
    n_hosts == 1 || (n_hosts == 0 && request.version() < Version::HTTP_11)
}

fn span_of(
    request: &Request,
    method: &'static str,
    route: &'static str,
    join_trace: Option<JoinTrace>,
) -> tracing::Span {
    let caller = CallerSpan::of(request.headers());
    let span = if caller.is_some() || join_trace.is_some() {
        tracing::info_span!(
            "request",
            method,
            route,
            trace_id = caller.as_ref().map(|caller| caller.trace_id),
            status = tracing::field::Empty,
        )
    } else {
        // Not part of a caller's trace, so it gets a span at debug level only.
        tracing::debug_span!("request", method, route, status = tracing::field::Empty)
    };
    if let Some(join_trace) = join_trace {
        join_trace(&span, caller.as_ref());
    }
    span
}

/// The future that axum makes of an `async fn`. It is already boxed, so it can be polled without
/// pinning it again.
type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// One request on its way to its answer.
pub struct Observing {
    gateway: Gateway,
    route: &'static str,
    method: &'static str,
    stopwatch: Stopwatch,
    key: UsedKey,
    answering: Instrumented<Answering>,
}

impl Future for Observing {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Response> {
        let mut response = std::task::ready!(Pin::new(&mut self.answering).poll(context));
        if let Some(key) = self.key.get() {
            response.headers_mut().insert(&KEY_HEADER, key.clone());
        }
        let status = response.status().as_u16();
        let span = self.answering.span();
        span.record("status", status);
        tracing::debug!(parent: span, "answered");
        let (route, method, stopwatch) = (self.route, self.method, self.stopwatch);
        let seconds = stopwatch.seconds();
        self.gateway.metrics.count(AnsweredRequest { route, method, status, seconds });
        Poll::Ready(response)
    }
}
