//! Our spans under the names that tracing tools expect: OpenTelemetry's semantic conventions for
//! HTTP servers, and a `tasuki.` prefix for our own fields. Applied on export, so that requests do
//! not pay for it and logs keep the short names.

use opentelemetry::trace::{SpanKind, Status};
use opentelemetry::{Key, KeyValue, Value};
use opentelemetry_sdk::trace::SpanData;

pub fn apply(mut span: SpanData) -> SpanData {
    if span.name == "request" {
        let text = |key: &str| value(&span, key).map(|value| value.to_string());
        if let (Some(method), Some(route)) = (text("method"), text("route")) {
            span.name = format!("{method} {route}").into();
        }
        span.span_kind = SpanKind::Server;
        if matches!(value(&span, "status"), Some(Value::I64(500..))) {
            span.status = Status::error("");
        }
    }
    span.attributes = span.attributes.into_iter().filter_map(rename).collect();
    span
}

fn value<'a>(span: &'a SpanData, key: &str) -> Option<&'a Value> {
    let is_named = |attribute: &&KeyValue| attribute.key.as_str() == key;
    span.attributes.iter().find(is_named).map(|attribute| &attribute.value)
}

/// Only listed fields are exported. A new field of a span needs a row here, and a check of which
/// readers may see it.
fn rename(attribute: KeyValue) -> Option<KeyValue> {
    let name = match attribute.key.as_str() {
        "method" => "http.request.method",
        "route" => "http.route",
        "status" => "http.response.status_code",
        "command" => "tasuki.command",
        "stream" => "tasuki.stream",
        "outcome" => "tasuki.outcome",
        _ => return None,
    };
    Some(KeyValue::new(Key::from_static_str(name), attribute.value))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use opentelemetry::InstrumentationScope;
    use opentelemetry::trace::{SpanContext, SpanId};
    use opentelemetry_sdk::trace::{SpanEvents, SpanLinks};

    use super::*;

    #[test]
    fn a_request_is_named_by_its_route_and_failed_if_we_did() {
        let cases = [(200, Status::Unset), (404, Status::Unset), (500, Status::error(""))];
        for (status, expected) in cases {
            let span = apply(request(vec![
                KeyValue::new("method", "GET"),
                KeyValue::new("route", "/v1/handoffs/{handoff}"),
                KeyValue::new("status", status),
            ]));
            assert_eq!(span.name, "GET /v1/handoffs/{handoff}");
            assert_eq!((span.span_kind, span.status), (SpanKind::Server, expected), "{status}");
        }
    }

    #[test]
    fn what_is_not_listed_stays_here() {
        let unlisted = vec![KeyValue::new("trace_id", "1"), KeyValue::new("title", "secret")];
        assert_eq!(apply(request(unlisted)).attributes, []);
    }

    fn request(attributes: Vec<KeyValue>) -> SpanData {
        SpanData {
            span_context: SpanContext::NONE,
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: "request".into(),
            start_time: SystemTime::UNIX_EPOCH,
            end_time: SystemTime::UNIX_EPOCH,
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: InstrumentationScope::default(),
        }
    }
}
