//! W3C Trace Context: which trace a request belongs to. It knows the two headers, `traceparent` and
//! `tracestate`, but not the tracing backend.

use axum::http::{HeaderMap, HeaderName};
use tracing::Span;

static TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
static TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");

/// Puts the span of a request, not entered yet, into a trace: below the caller's span, or into a
/// new trace if there is none. The function may record the span's field `trace_id` for a new trace;
/// if there is a caller's span, the field is already set.
pub type JoinTrace = fn(&Span, Option<&CallerSpan<'_>>);

/// The span in which a caller made its request (<https://www.w3.org/TR/trace-context/>).
#[derive(Debug)]
pub struct CallerSpan<'a> {
    /// 32 lower-case hexadecimal digits, not all 0.
    pub trace_id: &'a str,
    /// 16 lower-case hexadecimal digits, not all 0.
    pub span_id: &'a str,
    /// Whether the caller records this trace.
    pub is_sampled: bool,
    headers: &'a HeaderMap,
}

impl<'a> CallerSpan<'a> {
    /// A header that breaks the format counts as none; the standard asks for it.
    pub fn of(headers: &'a HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(&TRACE_PARENT).iter();
        let (value, None) = (values.next()?, values.next()) else { return None };
        let text = value.to_str().ok()?;
        let (head, rest) = text.split_at_checked("00-".len() + 32 + 1 + 16 + "-01".len())?;
        let mut parts = head.split('-');
        let mut digits = |count: usize| {
            let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            parts.next().filter(|part| part.len() == count && part.bytes().all(is_digit))
        };
        let (version, trace_id, span_id) = (digits(2)?, digits(32)?, digits(16)?);
        let flags = u8::from_str_radix(digits(2)?, 16).ok()?;
        let may_go_on = version != "00" && rest.starts_with('-');
        let is_zero = |id: &str| id.bytes().all(|byte| byte == b'0');
        let is_valid = version != "ff"
            && (rest.is_empty() || may_go_on)
            && !is_zero(trace_id)
            && !is_zero(span_id);
        is_valid.then_some(Self { trace_id, span_id, is_sampled: flags & 1 == 1, headers })
    }

    /// `tracestate` as the caller sent it, unchecked, on one line: the data of other tracing
    /// systems.
    pub fn trace_state(&self) -> String {
        let values = self.headers.get_all(&TRACE_STATE).iter();
        values.filter_map(|value| value.to_str().ok()).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    fn headers(values: &[(&'static str, &str)]) -> HeaderMap {
        values.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn read(traceparent: &str) -> Option<(String, String, bool)> {
        let headers = headers(&[("traceparent", traceparent)]);
        let caller = CallerSpan::of(&headers)?;
        Some((caller.trace_id.to_owned(), caller.span_id.to_owned(), caller.is_sampled))
    }

    #[test]
    fn a_valid_header_names_the_callers_span() {
        let cases = [
            (format!("00-{TRACE}-{SPAN}-01"), true),
            (format!("00-{TRACE}-{SPAN}-00"), false),
            (format!("00-{TRACE}-{SPAN}-02"), false),
            (format!("00-{TRACE}-{SPAN}-ff"), true),
            (format!("cc-{TRACE}-{SPAN}-01"), true),
            (format!("cc-{TRACE}-{SPAN}-01-what-the-future-will-be-like"), true),
        ];
        for (header, is_sampled) in cases {
            let expected = Some((TRACE.to_owned(), SPAN.to_owned(), is_sampled));
            assert_eq!(read(&header), expected, "{header}");
        }
    }

    #[test]
    fn an_invalid_header_is_ignored() {
        let upper = TRACE.to_uppercase();
        let cases = [
            String::new(),
            "nonsense".to_owned(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-1"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("00-{TRACE}-{SPAN}-01."),
            format!("cc-{TRACE}-{SPAN}-01.what"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("0-{TRACE}-{SPAN}-010"),
            format!("00-{upper}-{SPAN}-01"),
            format!("00-{TRACE}-{SPAN}-0x"),
            format!("00_{TRACE}-{SPAN}-01"),
            format!("00-{}-{SPAN}-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{TRACE}{SPAN}-01-01"),
        ];
        for header in cases {
            assert_eq!(read(&header), None, "{header}");
        }
        let parent = format!("00-{TRACE}-{SPAN}-01");
        let twice = headers(&[("traceparent", &parent), ("traceparent", &parent)]);
        assert!(CallerSpan::of(&twice).is_none());
    }

    #[test]
    fn several_lines_of_trace_state_are_one() {
        let parent = format!("00-{TRACE}-{SPAN}-01");
        let headers = headers(&[
            ("traceparent", &parent),
            ("tracestate", "congo=t61rcWkgMzE"),
            ("tracestate", "rojo=00f067aa0ba902b7"),
        ]);
        let caller = CallerSpan::of(&headers).unwrap();
        assert_eq!(caller.trace_state(), "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7");
    }
}
