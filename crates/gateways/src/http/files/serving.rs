//! Sending the bytes of a file. Only images of four formats, told by their bytes, are shown within
//! a page; everything else is a download that cannot run.

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::files::FileError;
use engine::files::reading::Reading;
use protocol::file::File;
use protocol::ids::{FileId, TeamspaceId};
use protocol::time::Span;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::http::shared::gateway::Gateway;
use crate::http::shared::problem::Problem;

/// Reads that wait for a slow reader.
const READS_MAX: usize = 1;

/// How long a reader may take for one read, which has a quarter of a megabyte. Then the answer
/// ends, and the reader asks for the rest.
const READ_TAKEN_MAX: Span = Span::from_millis(60_000);

/// A file that a caller may read.
#[derive(Debug, Clone, Copy)]
pub struct Served<'f> {
    pub file: &'f FileId,
    pub known: &'f File,
    /// What the message calls it.
    pub name: Option<&'f str>,
    /// What the message takes it for, unless the bytes say otherwise.
    pub media_type: Option<&'f str>,
}

/// The answer with the bytes, or a part of them. The first bytes are read before it begins, so that
/// a file that is damaged is refused and not cut short, where that is known by then.
pub async fn serve(
    gateway: &Gateway,
    teamspace: &TeamspaceId,
    served: Served<'_>,
    asked: &HeaderMap,
) -> Result<Response, Problem> {
    let Served { file, known, .. } = served;
    let tag = HeaderValue::from_str(&format!("\"{file}\"")).expect("an id is plain ASCII");
    if asked.get(header::IF_NONE_MATCH).is_some_and(|known| *known == tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let size = known.size_bytes;
    let part = match asked.get(header::IF_RANGE) {
        // The caller has the beginning of other bytes.
        Some(known) if *known != tag => Range::All,
        Some(_) | None => range(asked, size),
    };
    let (from, to, status) = match part {
        Range::All => (0, size, StatusCode::OK),
        Range::Part { from, to } => (from, to, StatusCode::PARTIAL_CONTENT),
        Range::Nothing => {
            let length = [(header::CONTENT_RANGE, format!("bytes */{size}"))];
            return Ok((StatusCode::RANGE_NOT_SATISFIABLE, length).into_response());
        }
    };
    let mut reading = gateway.engine.files().open(teamspace, file, known, from..to).await?;
    let first = reading.next().await?;
    let body = Body::from_stream(bytes(gateway, first, reading));
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.extend(safe_headers(served));
    headers.insert(header::ETAG, tag);
    headers.insert(header::CONTENT_LENGTH, (to - from).into());
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if status == StatusCode::PARTIAL_CONTENT {
        let part = format!("bytes {from}-{}/{size}", to - 1);
        let part = HeaderValue::from_str(&part).expect("numbers are plain ASCII");
        headers.insert(header::CONTENT_RANGE, part);
    }
    Ok(response)
}

fn safe_headers(served: Served<'_>) -> HeaderMap {
    let unknown = HeaderValue::from_static("application/octet-stream");
    let image = served.known.image.map(|image| HeaderValue::from_static(image.media_type()));
    let claimed = served.media_type.and_then(|text| HeaderValue::from_str(text).ok());
    let disposition = disposition(image.is_some(), served.name.unwrap_or(served.file.digits()));
    let policy = "sandbox; default-src 'none'; frame-ancestors 'none'";
    let headers = [
        (header::CONTENT_TYPE, image.or(claimed).unwrap_or(unknown)),
        (header::CONTENT_DISPOSITION, disposition),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy)),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-store")),
    ];
    headers.into_iter().collect()
}

/// Every byte that is not plain is escaped, so that a file name cannot inject into the header.
pub fn disposition(is_inline: bool, name: &str) -> HeaderValue {
    let how = if is_inline { "inline" } else { "attachment" };
    let mut text = format!("{how}; filename*=UTF-8''");
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => {
                text.push(char::from(byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    HeaderValue::from_str(&text).expect("an escaped name is plain ASCII")
}

/// The bytes a client asks for.
#[derive(Debug, PartialEq, Eq)]
enum Range {
    All,
    /// From one byte up to, but not including, another.
    Part {
        from: u64,
        to: u64,
    },
    /// Past the end.
    Nothing,
}

/// One range is served. Several, and other units, are passed over, as RFC 9110 allows.
fn range(asked: &HeaderMap, size: u64) -> Range {
    let text = asked.get(header::RANGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let Some((first, last)) = text.strip_prefix("bytes=").and_then(|it| it.split_once('-')) else {
        return Range::All;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let number = |text: &str| if is_number(text) { text.parse::<u64>().ok() } else { None };
    match (number(first), number(last)) {
        (Some(from), _) if from >= size && (last.is_empty() || is_number(last)) => Range::Nothing,
        (Some(from), Some(last)) if from <= last => {
            Range::Part { from, to: last.saturating_add(1).min(size) }
        }
        (Some(from), None) if last.is_empty() => Range::Part { from, to: size },
        (None, Some(0)) if first.is_empty() => Range::Nothing,
        (None, Some(n_last)) if first.is_empty() && size > 0 => {
            Range::Part { from: size.saturating_sub(n_last), to: size }
        }
        (_, _) => Range::All,
    }
}

/// The first bytes and those after them. An error ends the connection before the announced length,
/// so that no reader takes what it got for the whole.
fn bytes(
    gateway: &Gateway,
    first: Option<Bytes>,
    mut reading: Reading,
) -> ReceiverStream<Result<Bytes, FileError>> {
    let (reads, stream) = mpsc::channel(READS_MAX);
    let engine = gateway.engine.clone();
    tokio::spawn(async move {
        let mut next = Ok(first);
        while let Some(read) = next.transpose() {
            if let Err(error) = &read {
                tracing::error!(%error, "a download ends early");
            }
            let is_over = read.is_err();
            let is_taken = tokio::select! {
                sent = reads.send(read) => sent.is_ok(),
                () = engine.clock().sleep(READ_TAKEN_MAX) => false,
            };
            if is_over || !is_taken {
                return;
            }
            next = reading.next().await;
        }
    });
    ReceiverStream::new(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_served_and_others_are_passed_over() {
        let part = |from, to| Range::Part { from, to };
        for (text, expected) in [
            ("", Range::All),
            ("bytes=0-0", part(0, 1)),
            ("bytes=2-4", part(2, 5)),
            ("bytes=2-", part(2, 10)),
            ("bytes=2-99", part(2, 10)),
            ("bytes=-3", part(7, 10)),
            ("bytes=-99", part(0, 10)),
            ("bytes=-0", Range::Nothing),
            ("bytes=10-", Range::Nothing),
            ("bytes=4-2", Range::All),
            ("bytes=0-1,3-4", Range::All),
            ("bytes=+1-2", Range::All),
            ("lines=0-1", Range::All),
            ("bytes=99999999999999999999-", Range::All),
        ] {
            let mut asked = HeaderMap::new();
            asked.insert(header::RANGE, HeaderValue::from_static(text));
            assert_eq!(range(&asked, 10), expected, "{text}");
        }
    }

    #[test]
    fn a_name_cannot_inject_into_the_header() {
        for (name, expected) in [
            ("a.pdf", "attachment; filename*=UTF-8''a.pdf"),
            ("a\"; x=\r\ny", "attachment; filename*=UTF-8''a%22%3B%20x%3D%0D%0Ay"),
            ("../é", "attachment; filename*=UTF-8''..%2F%C3%A9"),
        ] {
            assert_eq!(disposition(false, name), expected);
        }
    }
}
