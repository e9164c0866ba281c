//! Traces as a collector and a reader of the log see them, from a real server.

use std::net::TcpListener;

use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use engine::ports::clock::Stopwatch;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message;
use tasuki::client::{Call, Client};
use tokio::sync::mpsc;

use crate::server::{Server, offer, ok};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

// The collector answers while the test waits for the server to end.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_joins_the_trace_of_its_caller() {
    let mut collector = Collector::start().await;
    let folder = tempfile::tempdir().unwrap();
    let server = traced_server(&folder, &collector.url);
    let (token, _bob) = (server.token("alice", &[]), server.agent("bob"));
    let alice = server.with_token(&token);

    let call = Call::post("/v1/handoffs", offer("T-1", "bob"));
    let headers = [
        ("traceparent", format!("00-{TRACE}-{SPAN}-01")),
        ("tracestate", "congo=t61rcWkgMzE".to_owned()),
    ];
    send(&alice, &call, &headers).await;
    send(&alice, &call, &[("traceparent", format!("00-{TRACE}-{}-01", "0".repeat(16)))]).await;
    assert_eq!(server.stop(), Some(0));

    let exported = collector.exported();
    let joined: Vec<&Span> = exported.spans.iter().filter(|span| is_in(span, TRACE)).collect();
    let [submit, request] = joined[..] else { panic!("expected two spans: {joined:#?}") };
    assert_eq!((request.name.as_str(), request.kind()), ("POST /v1/handoffs", SpanKind::Server));
    assert_eq!(hex(&request.parent_span_id), SPAN);
    assert_eq!(request.trace_state, "congo=t61rcWkgMzE");
    assert_eq!(
        texts(&request.attributes),
        "http.request.method=POST http.response.status_code=201 http.route=/v1/handoffs"
    );
    assert_eq!((submit.name.as_str(), submit.kind()), ("submit", SpanKind::Internal));
    assert_eq!(submit.parent_span_id, request.span_id);
    assert_eq!(
        texts(&submit.attributes),
        "tasuki.command=initiate tasuki.outcome=done tasuki.stream=handoff"
    );
    assert!(joined.iter().all(|span| span.events.is_empty()));

    let conflict =
        "tasuki.command=initiate tasuki.outcome=ownership_conflict tasuki.stream=handoff";
    let refused = exported.spans.iter().find(|span| texts(&span.attributes) == conflict).unwrap();
    let own_trace = hex(&refused.trace_id);
    let is_first = |span: &&Span| is_in(span, &own_trace) && span.parent_span_id.is_empty();
    assert_eq!(exported.spans.iter().find(is_first).unwrap().name, "POST /v1/handoffs");

    let version = env!("CARGO_PKG_VERSION");
    assert!(exported.resource.contains("service.name=tasuki"), "{}", exported.resource);
    assert!(exported.resource.contains(&format!("service.version={version}")));
    for secret in [token.as_str(), "alice", "Mend the retry logic"] {
        assert!(!exported.contains(secret), "`{secret}` left the server");
    }
    assert_eq!(traces_of_answers(&server), [TRACE, &own_trace]);
}

#[tokio::test]
async fn log_lines_name_the_callers_trace_without_a_collector() {
    let folder = tempfile::tempdir().unwrap();
    let server = traced_server(&folder, "");
    let alice = server.agent("alice");
    let call = Call::get("/v1/handoffs");
    send(&alice, &call, &[("traceparent", format!("00-{TRACE}-{SPAN}-01"))]).await;
    send(&alice, &call, &[("traceparent", "nonsense".to_owned())]).await;
    assert_eq!(server.stop(), Some(0));
    assert_eq!(traces_of_answers(&server), [TRACE, ""]);
}

#[tokio::test]
async fn nothing_waits_for_a_collector_that_does_not_answer() {
    // The kernel accepts the connections, and no process answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_url = format!("http://{}", silent.local_addr().unwrap());
    let closed_url = "http://127.0.0.1:1".to_owned();
    for url in [silent_url, closed_url] {
        let folder = tempfile::tempdir().unwrap();
        let server = traced_server(&folder, &url);
        let alice = server.agent("alice");
        let started = Stopwatch::start();
        // More than a batch, so that the exporter is stuck in the middle of one.
        for _ in 0..600 {
            ok(&alice, Call::get("/v1/handoffs")).await;
        }
        assert!(started.seconds() < 30.0, "{url}: {} s", started.seconds());
        let stopping = Stopwatch::start();
        assert_eq!(server.stop(), Some(0), "{url}");
        assert!(stopping.seconds() < 15.0, "{url}: {} s", stopping.seconds());
        let log = server.log();
        assert!(log.iter().any(|line| line["level"] == "WARN"), "{url}: no warning is logged");
    }
}

fn traced_server(folder: &tempfile::TempDir, otlp_endpoint: &str) -> Server {
    Server::start_on(&folder.path().join("data"), |command| {
        command
            .env("TASUKI_TELEMETRY_OTLP_ENDPOINT", otlp_endpoint)
            .env("TASUKI_LOG_LEVEL", "info,gateways=debug");
    })
}

async fn send(client: &Client, call: &Call, headers: &[(&str, String)]) {
    client.open(call, headers).await.expect("the server answers");
}

/// The trace that the log names for each answer, after the server has ended; empty if none. The
/// control socket's requests, which have neither a token nor a trace, are left out.
fn traces_of_answers(server: &Server) -> Vec<String> {
    let lines = server.log();
    let answers = lines.iter().filter(|line| line["message"] == "answered");
    let of_interest =
        answers.map(|line| &line["span"]).filter(|span| span["route"] == "/v1/handoffs");
    of_interest.map(|span| span["trace_id"].as_str().unwrap_or_default().to_owned()).collect()
}

/// A collector that keeps all it is sent.
struct Collector {
    url: String,
    bodies: mpsc::Receiver<Bytes>,
}

struct Exported {
    spans: Vec<Span>,
    resource: String,
    raw: Vec<u8>,
}

impl Collector {
    async fn start() -> Self {
        let (sender, bodies) = mpsc::channel(64);
        let keep = |State(sender): State<mpsc::Sender<Bytes>>, body: Bytes| async move {
            sender.send(body).await.expect("the test listens");
        };
        let router = axum::Router::new().route("/v1/traces", post(keep)).with_state(sender);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, bodies }
    }

    /// What has arrived.
    fn exported(&mut self) -> Exported {
        let mut exported = Exported { spans: Vec::new(), resource: String::new(), raw: Vec::new() };
        while let Ok(body) = self.bodies.try_recv() {
            exported.raw.extend_from_slice(&body);
            let request = ExportTraceServiceRequest::decode(body).expect("spans in protobuf");
            for resource in request.resource_spans {
                exported.resource =
                    texts(&resource.resource.expect("spans say who made them").attributes);
                exported
                    .spans
                    .extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
            }
        }
        exported
    }
}

impl Exported {
    fn contains(&self, text: &str) -> bool {
        self.raw.windows(text.len()).any(|window| window == text.as_bytes())
    }
}

fn is_in(span: &Span, trace: &str) -> bool {
    hex(&span.trace_id) == trace
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `key=value`, in order of the keys.
fn texts(attributes: &[KeyValue]) -> String {
    let mut texts: Vec<String> = attributes
        .iter()
        .map(|attribute| {
            let value = attribute.value.as_ref().and_then(|value| value.value.as_ref());
            if let Some(any_value::Value::StringValue(text)) = value {
                format!("{}={text}", attribute.key)
            } else if let Some(any_value::Value::IntValue(number)) = value {
                format!("{}={number}", attribute.key)
            } else {
                format!("{}={value:?}", attribute.key)
            }
        })
        .collect();
    texts.sort();
    texts.join(" ")
}
