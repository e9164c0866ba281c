//! `/v1/events`: the ledger as a live stream. A client that reconnects with `Last-Event-ID` resumes
//! at its cursor. It misses nothing, and recognises a repeat by its id.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use engine::ledger::feed::{Followed, TeamspaceFollower};
use protocol::time::Span;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use crate::http::feed::filter::{Filter, FollowInput, SubscriberNews};
use crate::http::shared::auth::{Asker, bearer_secret};
use crate::http::shared::cursors;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::QueryParameters;
use crate::http::shared::problem::Problem;
use crate::http::shared::streams::{OpenStream, Unread, UnreadRoom};

/// How often a quiet stream sends a heartbeat, and the token is checked.
const BEAT: Span = Span::from_millis(1_000);

/// Chunks on their way to a slow reader. Past this the reader falls behind in the ledger instead.
const CHUNKS_MAX: usize = 4;

pub async fn follow(
    State(gateway): State<Gateway>,
    asker: Asker,
    headers: HeaderMap,
    QueryParameters(input): QueryParameters<FollowInput>,
) -> Result<Response, Problem> {
    let asker = asker.member()?;
    let filter = Filter::new(&gateway, &asker.caller, &input).await?;
    let newest = gateway.engine.ledger().newest().await?;
    let cursor = start(&gateway, &asker, &headers, &input, newest)?;
    if *gateway.stopping.borrow() {
        return Err(Problem::new("stopping", "the server is stopping"));
    }
    let place = OpenStream::take(&gateway, &asker, gateway.limits.streams_per_token_max)?;
    let unread = gateway.streams.unread_room(&asker);
    let (chunks, stream) = mpsc::channel::<Bytes>(CHUNKS_MAX);
    let teamspace = asker.caller.teamspace.clone();
    let follower = gateway.engine.ledger().follow_teamspace(&teamspace, cursor);
    let secret = bearer_secret(&headers)?.map(str::to_owned);
    let shows_seq = asker.is_server_operator();
    let lane = Arc::clone(&gateway.slow_lane);
    let sending = Sending {
        gateway,
        secret,
        filter,
        shows_seq,
        catches_up_to: Some(newest),
        follower,
        chunks,
        unread,
        _place: place,
    };
    lane.spawn(teamspace, sending.run());
    let body = Body::from_stream(ReceiverStream::new(stream).map(Ok::<_, Infallible>));
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, body).into_response())
}

fn start(
    gateway: &Gateway,
    asker: &Asker,
    headers: &HeaderMap,
    input: &FollowInput,
    newest: u64,
) -> Result<u64, Problem> {
    let from_header = headers
        .get("last-event-id")
        .map(|value| ("Last-Event-ID", value.to_str().unwrap_or_default()));
    let given = from_header.or(input.after.as_deref().map(|text| ("after", text)));
    given.map_or(Ok(newest), |given| cursors::events_after(gateway, asker, given, newest))
}

/// A chunk that gives its room back when it was sent.
fn held_until_sent(text: Vec<u8>, unread: Unread) -> Bytes {
    struct Held {
        text: Vec<u8>,
        _unread: Unread,
    }
    impl AsRef<[u8]> for Held {
        fn as_ref(&self) -> &[u8] {
            &self.text
        }
    }
    Bytes::from_owner(Held { text, _unread: unread })
}

/// One open stream.
struct Sending {
    gateway: Gateway,
    /// The secret with which to check again whether the caller is still allowed; none on the
    /// control socket.
    secret: Option<String>,
    filter: Filter,
    shows_seq: bool,
    /// The newest entry when the stream began, until it has caught up.
    catches_up_to: Option<u64>,
    follower: TeamspaceFollower,
    chunks: mpsc::Sender<Bytes>,
    unread: UnreadRoom,
    _place: OpenStream,
}

enum FeedStep {
    Page(Vec<Arc<Followed>>),
    Beat,
    Stop,
}

impl Sending {
    async fn run(mut self) {
        let mut stopping = self.gateway.stopping.clone();
        let clock = Arc::clone(self.gateway.engine.clock());
        if self.chunks.send(Bytes::from_static(b"retry: 1000\n: tasuki\n\n")).await.is_err() {
            return;
        }
        // At fixed intervals: an early beat would reveal entries that are not shown.
        let mut beat = clock.sleep(BEAT);
        loop {
            let cursor = self.follower.cursor();
            let has_caught_up = self.catches_up_to.take_if(|to| cursor >= *to).is_some();
            if has_caught_up {
                let beat = self.beat();
                if self.chunks.send(beat).await.is_err() {
                    return;
                }
            }
            let next = tokio::select! {
                page = self.follower.next() => match page {
                    Ok(page) => FeedStep::Page(page),
                    Err(error) => {
                        tracing::warn!(%error, "a stream ended early");
                        FeedStep::Stop
                    }
                },
                () = &mut beat => {
                    beat = clock.sleep(BEAT);
                    FeedStep::Beat
                }
                _ = stopping.wait_for(|stopping| *stopping) => FeedStep::Stop,
            };
            let is_stop = matches!(next, FeedStep::Stop) || !self.is_still_allowed().await;
            let chunk = match next {
                _ if is_stop => self.closing(cursor),
                FeedStep::Page(page) => {
                    let n_bytes = page.iter().map(|followed| followed.n_bytes()).sum();
                    let held = tokio::select! {
                        held = self.unread.hold(n_bytes) => Some(held),
                        () = self.chunks.closed() => return,
                        _ = stopping.wait_for(|stopping| *stopping) => None,
                    };
                    let Some(held) = held else {
                        // The page was not sent.
                        let _ = self.chunks.send(self.closing(cursor)).await;
                        return;
                    };
                    match self.render(&page).await {
                        Ok(text) => held_until_sent(text, held),
                        // The stream ends without a message: a client that reconnects resumes at
                        // its cursor.
                        Err(_problem) => return,
                    }
                }
                FeedStep::Beat | FeedStep::Stop => self.beat(),
            };
            if !chunk.is_empty() && self.chunks.send(chunk).await.is_err() || is_stop {
                return;
            }
        }
    }

    async fn render(&self, page: &[Arc<Followed>]) -> Result<Vec<u8>, Problem> {
        let mut text = Vec::new();
        let key = self.gateway.engine.cursor_key();
        for followed in page {
            let told = self.filter.told(&self.gateway, followed).await?;
            let Some(SubscriberNews { announced, is_shown }) = told else { continue };
            // Before the entry, and without an id: only the entry's id confirms that everything was
            // seen.
            for announced in announced {
                let name = announced["type"].as_str().unwrap_or_default();
                text.extend_from_slice(format!("event: {name}\ndata: {announced}\n\n").as_bytes());
            }
            if !is_shown {
                text.extend_from_slice(
                    format!("id: {}\n: seen\n\n", followed.cursor(key)).as_bytes(),
                );
                continue;
            }
            let name = &followed.sequenced.entry.name;
            text.extend_from_slice(
                format!("id: {}\nevent: {name}\ndata: ", followed.cursor(key)).as_bytes(),
            );
            let entry = self.filter.entry(&self.gateway, followed, self.shows_seq).await?;
            text.extend_from_slice(entry.as_bytes());
            text.extend_from_slice(b"\n\n");
        }
        Ok(text)
    }

    /// Advances the client's cursor even when nothing passes its filter.
    fn beat(&mut self) -> Bytes {
        let cursor = self.follower.cursor();
        Bytes::from(format!("id: {}\n: beat\n\n", self.place(cursor)))
    }

    fn closing(&self, cursor: u64) -> Bytes {
        let cursor = self.place(cursor);
        Bytes::from(format!(
            "id: {cursor}\nevent: stream.closing\ndata: {{\"resume_after\":\"{cursor}\"}}\n\n"
        ))
    }

    fn place(&self, cursor: u64) -> String {
        cursors::moving_place(&self.gateway, &self.filter.caller.teamspace, cursor)
    }

    /// Whether the token is still valid. Updates the caller's roles.
    async fn is_still_allowed(&mut self) -> bool {
        let Some(secret) = &self.secret else { return true };
        let Ok(Some(bearer)) = self.gateway.engine.access().authenticate(secret).await else {
            return false;
        };
        self.filter.caller = bearer.caller;
        true
    }
}
