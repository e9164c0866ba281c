//! Reading a request body within a size and a time.
//!
//! Every handler that wants a body comes through here, so that no caller can make us hold more
//! bytes or wait longer than the route allows. It must not know what the bytes mean, nor which
//! status code a refusal becomes.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;

#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    #[error("the body is larger than {bytes_max} bytes")]
    TooLarge { bytes_max: usize },
    #[error("the body did not arrive within {read_ms_max} ms")]
    TooSlow { read_ms_max: u64 },
    /// Reading was ended by the caller of [`read_body`].
    #[error("the body is more than may be sent now")]
    Ended,
    /// The caller disconnected or broke the framing. Usually no client is left to answer.
    #[error("the body ended before it was complete")]
    Broken(#[source] axum::Error),
}

/// Reads the whole body, or refuses it.
///
/// `read_ms_max` bounds the whole body and not the gap between two pieces: a caller that sends a
/// byte every few seconds makes progress forever.
///
/// `goes_on` is told how many bytes each piece has, and may end the reading.
pub async fn read_body(
    body: Body,
    bytes_max: usize,
    read_ms_max: u64,
    goes_on: impl FnMut(usize) -> bool,
) -> Result<Bytes, BodyError> {
    // The lower bound is the announced Content-Length; a body sent in chunks announces nothing.
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(BodyError::TooLarge { bytes_max });
    }
    let reading = collect(body, bytes_max, goes_on);
    match tokio::time::timeout(Duration::from_millis(read_ms_max), reading).await {
        Ok(read) => read,
        Err(_elapsed) => Err(BodyError::TooSlow { read_ms_max }),
    }
}

async fn collect(
    mut body: Body,
    bytes_max: usize,
    mut goes_on: impl FnMut(usize) -> bool,
) -> Result<Bytes, BodyError> {
    let mut first = Bytes::new();
    // The buffer grows as bytes arrive, never from the announced length, which costs a caller
    // nothing.
    let mut joined = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(BodyError::Broken)?.into_data() else {
            continue;
        };
        if piece.len() > bytes_max - first.len() - joined.len() {
            return Err(BodyError::TooLarge { bytes_max });
        }
        if !goes_on(piece.len()) {
            return Err(BodyError::Ended);
        }
        if first.is_empty() && joined.is_empty() {
            first = piece;
            continue;
        }
        joined.extend_from_slice(&std::mem::take(&mut first));
        joined.extend_from_slice(&piece);
    }
    // Most bodies arrive in one piece, which is handed on without a copy.
    Ok(if joined.is_empty() { first } else { joined.freeze() })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio_stream::StreamExt;

    use super::*;

    #[tokio::test]
    async fn a_body_is_read_within_its_limit() {
        let cases: &[(&str, &[&str], &str)] = &[
            ("nothing", &[], "ok 0"),
            ("one piece", &["abcd"], "ok 4"),
            ("one piece of exactly the limit", &["abcdefgh"], "ok 8"),
            ("pieces of exactly the limit", &["abc", "def", "gh"], "ok 8"),
            ("an empty piece between", &["abc", "", "def"], "ok 6"),
            ("one piece too long", &["abcdefghi"], "too large"),
            ("one byte too many at the end", &["abcd", "efgh", "i"], "too large"),
        ];
        for (name, pieces, expected) in cases {
            let outcome = read_body(in_pieces(pieces), 8, 1_000, |_| true).await;
            let said = match &outcome {
                Ok(bytes) => {
                    assert_eq!(bytes, pieces.concat().as_bytes(), "{name}");
                    format!("ok {}", bytes.len())
                }
                Err(BodyError::TooLarge { bytes_max: 8 }) => "too large".to_owned(),
                Err(other) => format!("{other:?}"),
            };
            assert_eq!(&said, expected, "{name}");
        }
    }

    #[tokio::test]
    async fn nothing_is_asked_for_after_the_limit_is_passed() {
        let n_asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&n_asked);
        let endless = tokio_stream::iter(std::iter::repeat_with(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok::<_, std::io::Error>(Bytes::from_static(b"1234"))
        }));
        let outcome = read_body(Body::from_stream(endless), 8, 1_000, |_| true).await;
        assert!(matches!(outcome, Err(BodyError::TooLarge { bytes_max: 8 })), "{outcome:?}");
        assert_eq!(n_asked.load(Ordering::Relaxed), 3);
    }

    #[tokio::test]
    async fn an_announced_length_over_the_limit_is_refused_unread() {
        let announced = Body::from(vec![0; 9]);
        let outcome = read_body(announced, 8, 0, |_| true).await;
        assert!(matches!(outcome, Err(BodyError::TooLarge { bytes_max: 8 })), "{outcome:?}");
    }

    #[tokio::test]
    async fn a_body_that_stops_arriving_is_too_slow() {
        let first = tokio_stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"abc"))]);
        let stalls = Body::from_stream(first.chain(tokio_stream::pending()));
        let outcome = read_body(stalls, 8, 20, |_| true).await;
        assert!(matches!(outcome, Err(BodyError::TooSlow { read_ms_max: 20 })), "{outcome:?}");
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_broken() {
        let breaks = tokio_stream::iter([
            Ok(Bytes::from_static(b"abc")),
            Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
        ]);
        let outcome = read_body(Body::from_stream(breaks), 8, 1_000, |_| true).await;
        assert!(matches!(outcome, Err(BodyError::Broken(_))), "{outcome:?}");
    }

    fn in_pieces(pieces: &[&'static str]) -> Body {
        let pieces: Vec<_> =
            pieces.iter().map(|piece| Ok::<_, std::io::Error>(Bytes::from(*piece))).collect();
        Body::from_stream(tokio_stream::iter(pieces))
    }
}
