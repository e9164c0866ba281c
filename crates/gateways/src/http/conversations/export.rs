//! The export of a conversation: one JSON object per line, with every message and its place in the
//! ledger. It is streamed while it is read, whatever its length.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use engine::ports::clock::Clock;
use engine::ports::store::{Sequenced, StoreError};
use protocol::canonical;
use protocol::conversation::Event as ConversationEvent;
use protocol::conversation::reader::Reader;
use protocol::hidden::make_visible;
use protocol::ids::ConversationId;
use protocol::ledger::Stream;
use protocol::time::Span;
use protocol::transfer::Event;
use protocol::visibility::details::may_export;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::http::conversations::access::{conversation_of, reader, visible};
use crate::http::conversations::view::view;
use crate::http::conversations::{bundles, history};
use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::Named;
use crate::http::shared::problem::Problem;
use crate::http::shared::streams::{ExportsMax, OpenExport};

/// Lines that are read at once. One may have 16 files, so these are at most 45 MB.
const LINES_READ: usize = 16;

/// Exports that may be open at once. Each holds a few megabytes for its reader. A caller that does
/// not read leaves places for the others of its teamspace.
const EXPORTS_MAX: ExportsMax = ExportsMax { of_caller: 2, of_teamspace: 8 };

/// How long a reader may take for a page, which has at most a few megabytes. Then the export ends:
/// the reader holds a place that others wait for.
const PAGE_TAKEN_MAX: Span = Span::from_millis(60_000);

/// Pages that wait for a slow reader.
const PAGES_MAX: usize = 1;

pub async fn export(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<ConversationId>,
) -> Result<Response, Problem> {
    let item = visible(&gateway, &asker.caller, id).await?;
    let conversation = conversation_of(&item)?;
    if !may_export(&asker.caller, conversation) {
        let who = "only the member that opened it, a coordinator or an operator may do this";
        return Err(Problem::new("not_allowed", who));
    }
    let place = OpenExport::take(&gateway.streams, &asker.caller, EXPORTS_MAX)?;
    let reader = reader(&gateway, &asker.caller).await?;
    let shown = view(&gateway, reader, &item).await?;
    let shown = serde_json::to_value(shown).expect("a view is plain data");
    let mut head = json!({ "kind": "conversation" });
    head.as_object_mut().expect("an object").extend(shown.as_object().cloned().unwrap_or_default());
    let n_lines = conversation.transcript.count;
    let end = json!({
        "kind": "end", "n_messages": n_lines,
        "transcript_digest": conversation.transcript.digest,
    });
    let (pages, stream) = mpsc::channel(PAGES_MAX);
    let ends = Ends { head, end, n_lines, shows_seq: asker.is_server_operator() };
    let (lane, teamspace) = (Arc::clone(&gateway.slow_lane), asker.caller.teamspace.clone());
    let sending = send(gateway, item.stream, reader, ends, pages);
    lane.spawn(teamspace, async move {
        sending.await;
        drop(place);
    });
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson; charset=utf-8"),
        (header::CACHE_CONTROL, "private, no-store"),
    ];
    Ok((headers, Body::from_stream(ReceiverStream::new(stream))).into_response())
}

/// The first line, the last, the number of lines between them, and whether those show sequence
/// numbers.
struct Ends {
    head: Value,
    end: Value,
    n_lines: u64,
    /// For operators of the whole server.
    shows_seq: bool,
}

type Page = Result<Bytes, StoreError>;

type Pages = mpsc::Sender<Page>;

/// An export without its last line is incomplete: an error ends the answer before that line.
async fn send(gateway: Gateway, stream: Stream, reader: Reader, ends: Ends, pages: Pages) {
    let Ends { head, end, n_lines, shows_seq } = ends;
    let clock = gateway.engine.clock();
    if pass_on(&**clock, &pages, Ok(lines(&[head]))).await.is_err() {
        return;
    }
    let mut after = 0;
    while after < n_lines {
        let left = usize::try_from(n_lines - after).unwrap_or(LINES_READ).min(LINES_READ);
        let page = match gateway.engine.read().transcript(&stream, after, left).await {
            Ok(page) if page.is_empty() => {
                Err(StoreError::Corrupt(format!("{}: a line is missing", stream.subject)))
            }
            Ok(page) => Ok(page),
            Err(error) => Err(error),
        };
        let read = match page {
            Ok(page) => show_all(&gateway, reader, (after + 1..).zip(&page), shows_seq).await,
            Err(error) => Err(error),
        };
        let read = read.map(|shown| {
            after += shown.len() as u64;
            lines(&shown)
        });
        if let Err(error) = &read {
            tracing::error!(%error, "an export ends early");
        }
        let is_over = read.is_err();
        if pass_on(&**clock, &pages, read).await.is_err() || is_over {
            return;
        }
    }
    // The client may have disconnected.
    let _ = pass_on(&**clock, &pages, Ok(lines(&[end]))).await;
}

/// The reader has disconnected, or takes nothing.
#[derive(Debug)]
struct NotTaken;

/// Waits until there is room for a page.
async fn pass_on(clock: &dyn Clock, pages: &Pages, page: Page) -> Result<(), NotTaken> {
    tokio::select! {
        taken = pages.send(page) => taken.map_err(|_| NotTaken),
        () = clock.sleep(PAGE_TAKEN_MAX) => Err(NotTaken),
    }
}

async fn show_all(
    gateway: &Gateway,
    reader: Reader,
    page: impl Iterator<Item = (u64, &Sequenced)>,
    shows_seq: bool,
) -> Result<Vec<Value>, StoreError> {
    let mut all = Vec::new();
    for (number, line) in page {
        let mut shown = exported(reader, (number, line), shows_seq);
        if let Some(passed) = passed_on(gateway, reader, line).await? {
            shown["passed_on"] = passed;
        }
        all.push(shown);
        // A line may be large, and others wait for this thread.
        tokio::task::yield_now().await;
    }
    Ok(all)
}

/// Who passed the conversation on to the person of this line, why, and with which bundle. Where the
/// customer stayed with the first person, that step has no line of its own.
async fn passed_on(
    gateway: &Gateway,
    reader: Reader,
    line: &Sequenced,
) -> Result<Option<Value>, StoreError> {
    let event = history::event(line);
    let Some(ConversationEvent::Transfer(Event::Connected(it))) = &event else { return Ok(None) };
    let Some(by) = it.passed_on_by() else { return Ok(None) };
    let mut passed = json!({ "by": by });
    if let Some(reason) = history::passed_reason(gateway, line, it).await? {
        passed["reason"] = reason.into();
    }
    let id = history::bundle_id(it).and_then(|id| id.parse().ok());
    if let Some(id) = id
        && let Some(bundle) = bundles::find(gateway, &line.entry.stream, id).await?
    {
        passed["bundle"] = bundles::shown(bundle, reader);
    }
    if reader == Reader::Program {
        make_visible(&mut passed);
    }
    Ok(Some(passed))
}

/// A message with all that is recorded about it. Attachments are in `body`, as base64, and stored
/// files by their names. Internal messages
/// between people keep their place and hash, without their text.
fn exported(reader: Reader, (number, line): (u64, &Sequenced), shows_seq: bool) -> Value {
    let entry = &line.entry;
    let is_withheld = !reader.may_read(&entry.name);
    let text = entry.body.text().filter(|_| !is_withheld);
    let mut body = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    if reader == Reader::Program {
        body.iter_mut().for_each(make_visible);
    }
    let mut shown = json!({
        "kind": "message", "number": number, "position": entry.position,
        "hash": canonical::hex(&entry.hash), "event": entry.name, "version": entry.version,
        "actor": entry.actor.as_ref(), "at": entry.at.to_string(), "body": body,
    });
    if shows_seq {
        shown["seq"] = line.seq.into();
    }
    if is_withheld {
        shown["withheld"] = true.into();
    } else if shown["body"].is_null() {
        shown["erased"] = true.into();
    }
    shown
}

fn lines(values: &[Value]) -> Bytes {
    let text: String = values.iter().map(|value| format!("{value}\n")).collect();
    Bytes::from(text)
}

#[cfg(test)]
mod tests {
    use engine::ports::clock::ManualClock;
    use protocol::time::Time;

    use super::*;

    #[tokio::test]
    async fn a_reader_that_takes_nothing_ends_its_export() {
        let clock = ManualClock::starting_at(Time::from_millis(0));
        let (pages, mut reader) = mpsc::channel(PAGES_MAX);
        let page = || Ok(Bytes::from_static(b"{}\n"));
        assert!(pass_on(&clock, &pages, page()).await.is_ok(), "there is room");
        let late = async {
            clock.advance(PAGE_TAKEN_MAX);
        };
        let (passed, ()) = tokio::join!(pass_on(&clock, &pages, page()), late);
        assert!(passed.is_err());
        let reads = async { reader.recv().await.is_some() };
        let (passed, is_read) = tokio::join!(pass_on(&clock, &pages, page()), reads);
        assert!(passed.is_ok() && is_read);
    }
}
