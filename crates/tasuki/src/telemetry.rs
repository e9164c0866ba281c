//! The telemetry of a running server: logs on stderr, as text for people or JSON for programs, and,
//! if a collector is configured, the spans of requests over OTLP. The only place that knows
//! OpenTelemetry; all other code writes `tracing` spans.

mod collector;
mod conventions;

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::{Context, Result};
use gateways::trace_context::CallerSpan;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TracerProvider,
};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::level_filters::LevelFilter;
use tracing::{Metadata, Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::filter::FilterFn;
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{EnvFilter, Layer, fmt, registry};

use crate::config::{Config, Log, LogFormat};

/// The last spans may take this long at shutdown. With the drain of 20 seconds before it, a server
/// is gone before the 30 seconds pass after which most supervisors kill.
const FLUSH_MS_MAX: u64 = 3_000;

/// The exporter of spans.
#[derive(Debug)]
pub struct TraceExport(SdkTracerProvider);

/// Starts logging for the whole process, and exports spans if a collector is configured.
pub fn start(config: &Config) -> Result<Option<TraceExport>> {
    let filter = EnvFilter::try_new(&config.log.level)
        .with_context(|| format!("log.level: `{}` is no level or filter", config.log.level))?;
    let Some(url) = config.telemetry.traces_url()? else {
        let subscriber = registry().with(filter).with(log_lines(&config.log));
        subscriber.try_init().context("cannot log twice")?;
        return Ok(None);
    };
    let provider = collector::start(&url, &config.telemetry.ca_cert)?;
    let spans = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("tasuki"))
        .with_context_activation(false)
        .with_tracked_inactivity(false)
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_filter(FilterFn::new(is_exported).with_max_level_hint(LevelFilter::DEBUG));
    let subscriber = registry().with(log_lines(&config.log).with_filter(filter)).with(spans);
    subscriber.try_init().context("cannot log twice")?;
    Ok(Some(TraceExport(provider)))
}

impl TraceExport {
    /// Sends the remaining spans, or gives up: a server must stop whether or not its collector
    /// listens.
    pub async fn flush(self) {
        let bound = Duration::from_millis(FLUSH_MS_MAX);
        let flushing = tokio::task::spawn_blocking(move || self.0.shutdown_with_timeout(bound));
        if let Ok(Err(error)) = flushing.await {
            tracing::warn!(%error, "the last spans were not sent");
        }
    }
}

/// Makes the span of a request a child of its caller's span, or the root of a new trace, and adds
/// the trace to its log lines.
pub fn join_trace(span: &Span, caller: Option<&CallerSpan<'_>>) {
    // A span that is filtered out cannot join, and need not.
    if let Some(caller) = caller.and_then(span_context) {
        let _ = span.set_parent(opentelemetry::Context::new().with_remote_span_context(caller));
    } else {
        let context = span.context();
        let trace_id = context.span().span_context().trace_id();
        span.record("trace_id", tracing::field::display(trace_id));
    }
}

fn span_context(caller: &CallerSpan<'_>) -> Option<SpanContext> {
    let trace_id = TraceId::from_hex(caller.trace_id).ok()?;
    let span_id = SpanId::from_hex(caller.span_id).ok()?;
    let flags = if caller.is_sampled { TraceFlags::SAMPLED } else { TraceFlags::NOT_SAMPLED };
    // A broken `tracestate` does not break the trace.
    let state = caller.trace_state().parse().unwrap_or_default();
    Some(SpanContext::new(trace_id, span_id, flags, true, state))
}

/// Our own spans, and no events: those are for the log, and may quote what a caller wrote.
fn is_exported(metadata: &Metadata<'_>) -> bool {
    let is_ours = |origin: &str| ["engine", "gateways"].contains(&origin);
    metadata.is_span() && metadata.target().split("::").next().is_some_and(is_ours)
}

fn log_lines<S>(log: &Log) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let is_terminal = std::io::stderr().is_terminal();
    let to_stderr = fmt::layer().with_writer(std::io::stderr).with_ansi(is_terminal);
    match log.format {
        LogFormat::Text => to_stderr.with_target(false).boxed(),
        LogFormat::Json => to_stderr.json().flatten_event(true).boxed(),
    }
}
