//! The connection to the collector. OpenTelemetry's batch processor gathers spans on a thread of
//! its own and sends each batch from there; no request waits for it. Its queue and every wait here
//! are bounded: spans that the collector does not take in time are dropped.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use async_trait::async_trait;
use axum::body::Bytes;
use axum::http::{HeaderValue, Request, Response, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use opentelemetry::KeyValue;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};

use super::conventions;
use crate::remote::Remote;

/// One attempt, from the connection to the end of the answer. A collector is close, and takes a
/// batch of 512 spans in milliseconds.
const SEND_MS_MAX: u64 = 5_000;

/// A batch may be retried until this is over; meanwhile the queue fills, and then spans are
/// dropped.
const EXPORT_MS_MAX: u64 = 10_000;

/// A collector answers with a few bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Starts the thread that sends spans. An `https` URL needs `ca_cert`.
pub fn start(url: &Uri, ca_cert: &Path) -> Result<SdkTracerProvider> {
    let ca_cert = Some(ca_cert).filter(|path| !path.as_os_str().is_empty());
    let remote = Remote::new(&url.to_string(), ca_cert, "telemetry.ca_cert")?;
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_http_client(Collector { remote, is_failing: AtomicBool::new(false) })
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(url.to_string())
        .with_timeout(Duration::from_millis(EXPORT_MS_MAX))
        .build()
        .context("cannot send traces")?;
    let resource = Resource::builder()
        .with_service_name("tasuki")
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    Ok(SdkTracerProvider::builder()
        .with_resource(resource)
        .with_batch_exporter(Exporter(exporter))
        .build())
}

/// Translates spans on the way out.
#[derive(Debug)]
struct Exporter(opentelemetry_otlp::SpanExporter);

impl SpanExporter for Exporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.export(batch.into_iter().map(conventions::apply).collect()).await
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

#[derive(Debug)]
struct Collector {
    remote: Remote,
    is_failing: AtomicBool,
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answered = self.send(request);
        self.note(&answered);
        Ok(answered?)
    }
}

impl Collector {
    /// Blocks: the thread exists for this. The thread has no runtime, and the runtime for requests
    /// must neither carry this load nor wait for its end, so each batch creates its own.
    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let bound = Duration::from_millis(SEND_MS_MAX);
        let sent =
            runtime.block_on(async { tokio::time::timeout(bound, self.exchange(request)).await });
        // A name lookup cannot be cancelled, only abandoned.
        runtime.shutdown_background();
        sent.with_context(|| format!("no answer in {SEND_MS_MAX} ms"))?
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>> {
        let mut request = request.map(Full::new);
        request.headers_mut().insert(header::HOST, HeaderValue::from_str(self.remote.address())?);
        let path = request.uri().path().parse()?;
        *request.uri_mut() = path;
        let (head, body) = self.remote.send(request).await?.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
        let body = body.map_err(|error| anyhow::anyhow!("the answer broke off: {error}"))?;
        Ok(Response::from_parts(head, body.to_bytes()))
    }

    /// Logs once that spans are lost, and once that they no longer are.
    fn note(&self, answered: &Result<Response<Bytes>>) {
        let trouble = match answered {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(format!("it answered with status {}", response.status())),
            Err(error) => Some(format!("{error:#}")),
        };
        let was_failing = self.is_failing.swap(trouble.is_some(), Ordering::Relaxed);
        let collector = self.remote.address();
        match (was_failing, trouble) {
            (false, Some(trouble)) => {
                tracing::warn!(
                    collector,
                    trouble,
                    "traces are lost until the collector takes them"
                );
            }
            (true, None) => tracing::info!(collector, "the collector takes traces again"),
            (true, Some(_)) | (false, None) => {}
        }
    }
}
