//! The counters of `/metrics`.

mod queue_metrics;
mod usage_metrics;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::Method;
use engine::Engine;
use engine::read::graphs::DECISION_SECONDS;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::listen::ConnectionCounts;

/// Counters and their exposition.
pub struct Metrics {
    registry: Registry,
    requests: Family<Labels, Counter>,
    seconds: Family<Route, Histogram, fn() -> Histogram>,
}

/// A request and how it was answered.
#[derive(Debug, Clone, Copy)]
pub struct AnsweredRequest {
    pub route: &'static str,
    pub method: &'static str,
    pub status: u16,
    pub seconds: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    route: &'static str,
    method: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: &'static str,
}

impl Metrics {
    pub fn new(engine: Engine, connections: Arc<ConnectionCounts>) -> Self {
        let mut registry = Registry::with_prefix("tasuki");
        let requests = Family::<Labels, Counter>::default();
        // From a tenth of a millisecond, which is one sync, to several seconds.
        let seconds: Family<Route, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.0001, 2.0, 16)));
        registry.register("http_requests", "Requests by route and status", requests.clone());
        registry.register("http_request_seconds", "Time to answer, by route", seconds.clone());
        registry.register_collector(Box::new(KeptCounts { engine, connections }));
        Self { registry, requests, seconds }
    }

    /// Writes all counters as OpenMetrics text.
    pub fn write(&self, text: &mut String) -> std::fmt::Result {
        encode(text, &self.registry)
    }

    pub fn count(&self, answered: AnsweredRequest) {
        let AnsweredRequest { route, method, status, seconds } = answered;
        self.requests.get_or_create(&Labels { route, method, status }).inc();
        self.seconds.get_or_create(&Route { route }).observe(seconds);
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// Counts that other modules keep, read when the metrics are requested.
#[derive(Debug)]
struct KeptCounts {
    engine: Engine,
    connections: Arc<ConnectionCounts>,
}

impl Collector for KeptCounts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let counts = self.engine.counts();
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let counters = [
            ("commands_committed", "Commands that changed something", read(&counts.committed)),
            ("commands_rejected", "Commands that were refused", read(&counts.rejected)),
            ("commands_failed", "Commands that the store failed", read(&counts.failed)),
            ("commands_retried", "Attempts that met a conflict", read(&counts.retried)),
            ("rows_refused", "Rows that the server did not write", read(&counts.rows_refused)),
            ("rows_scrubbed", "Rows checked in the background", read(&counts.rows_scrubbed)),
            ("scrub_findings", "Rows that are not as written", read(&counts.scrub_findings)),
            ("witness_failures", "Checkpoints not taken", read(&counts.witness_failures)),
            ("deadlines_fired", "Deadlines that passed", read(&counts.escalated)),
            ("connections_accepted", "Connections", self.connections.accepted_total()),
            ("connections_shed", "Connections over a limit", self.connections.shed_total()),
            ("connections_timed_out", "Connections cut off", self.connections.timed_out_total()),
        ];
        for (name, help, value) in counters {
            let counter = ConstCounter::new(value);
            let metric = encoder.encode_descriptor(name, help, None, counter.metric_type())?;
            counter.encode(metric)?;
        }
        let turns = self.engine.read().turn_counts();
        for (name, help, count) in [
            ("graph_turns_to_agents", "Messages that a graph sent to an agent", &turns.to_agents),
            ("graph_turns_to_people", "Messages that a graph sent to people", &turns.to_people),
            ("graph_turns_without_graph", "Messages whose graph is gone", &turns.without_graph),
            ("graph_turns_spent", "Messages whose rules took too long to match", &turns.spent),
        ] {
            let counter = ConstCounter::new(read(count));
            let metric = encoder.encode_descriptor(name, help, None, counter.metric_type())?;
            counter.encode(metric)?;
        }
        let bounds = DECISION_SECONDS.into_iter().chain([f64::INFINITY]);
        let buckets: Vec<_> = bounds.zip(turns.decisions.iter().map(read)).collect();
        let n_decisions = buckets.iter().map(|(_, count)| count).sum();
        let seconds = read(&turns.nanoseconds) as f64 / 1e9;
        encoder
            .encode_descriptor(
                "graph_decision_seconds",
                "Time in which a graph decides",
                None,
                MetricType::Histogram,
            )?
            .encode_histogram::<[(&str, &str); 0]>(seconds, n_decisions, &buckets, None)?;
        queue_metrics::encode(&self.engine, &mut encoder)?;
        usage_metrics::encode(&self.engine, &mut encoder)?;
        let open = i64::try_from(self.connections.open()).unwrap_or(i64::MAX);
        let lag = read(&counts.witness_lag).max(read(&counts.seal_lag));
        let lag = i64::try_from(lag).unwrap_or(i64::MAX);
        for (name, help, value) in [
            ("connections_open", "Open connections", open),
            ("witness_lag_entries", "Sealed entries that the witness does not know", lag),
        ] {
            let gauge = ConstGauge::new(value);
            let metric = encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
            gauge.encode(metric)?;
        }
        Ok(())
    }
}

/// A caller may send any method name, and each would become a label that is kept forever.
pub fn known_method(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"];
    KNOWN.into_iter().find(|known| method == known).unwrap_or("_OTHER")
}
