//! `/v1/events`: the ledger as a live stream. A client that reconnects with `Last-Event-ID` resumes
//! at its cursor. It misses nothing, and recognises a repeat by its id.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use engine::connections::OpenConnection;
use engine::feed::{Followed, Follower};
use protocol::caller::Caller;
use protocol::codec;
use protocol::conversation::reader::Reader;
use protocol::hidden::{first_hidden, make_visible};
use protocol::ids::AgentId;
use protocol::ledger::Subject;
use protocol::time::Span;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use super::auth::{Asker, Credential, bearer_secret};
use super::conversations::announced::{Sight, announcements};
use super::conversations::reader;
use super::input::Asked;
use super::problem::Problem;
use super::queue_news::queue_changed;
use super::{Gateway, OpenStreams, cursors};

/// How often a quiet stream sends a heartbeat, and the token is checked.
const BEAT: Span = Span::from_millis(1_000);

/// Chunks on their way to a slow reader. Past this the reader falls behind in the ledger instead.
const CHUNKS_MAX: usize = 4;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FollowInput {
    /// Only this stream, such as `handoff/<id>`.
    #[serde(default)]
    pub stream: Option<String>,
    /// Only events of this name, such as `handoff.accepted`, or of this family, such as `handoff`.
    #[serde(default)]
    pub kind: Option<String>,
    /// Only events that this agent caused or is a party to.
    #[serde(default)]
    pub agent: Option<AgentId>,
    /// Start just after the entry with this cursor; 0 is the beginning. Without it, and without
    /// `Last-Event-ID`, the stream starts now.
    #[serde(default)]
    pub after: Option<String>,
}

pub async fn follow(
    State(gateway): State<Gateway>,
    asker: Asker,
    headers: HeaderMap,
    Asked(input): Asked<FollowInput>,
) -> Result<Response, Problem> {
    let asker = asker.member()?;
    let filter = Filter::new(&gateway, &asker.caller, &input).await?;
    let newest = gateway.engine.newest().await?;
    let cursor = start(&gateway, &asker, &headers, &input, newest)?;
    if *gateway.stopping.borrow() {
        return Err(Problem::new("stopping", "the server is stopping"));
    }
    let place = Place::take(&gateway, &asker, gateway.limits.streams_per_token_max)?;
    let (chunks, stream) = mpsc::channel::<Bytes>(CHUNKS_MAX);
    let follower = gateway.engine.follow(cursor);
    let secret = bearer_secret(&headers)?.map(str::to_owned);
    let shows_seq = asker.is_server_operator();
    let sending = Sending {
        gateway,
        secret,
        filter,
        shows_seq,
        catches_up_to: Some(newest),
        follower,
        chunks,
        _place: place,
    };
    tokio::spawn(sending.run());
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

/// What a stream shows. The teamspace is the caller's and cannot be changed.
pub struct Filter {
    caller: Caller,
    /// The kind of an agent never changes, so this is looked up once.
    reader: Reader,
    subject: Option<Subject>,
    kind: Option<String>,
    agent: Option<AgentId>,
}

impl Filter {
    pub async fn new(
        gateway: &Gateway,
        caller: &Caller,
        input: &FollowInput,
    ) -> Result<Self, Problem> {
        let subject = input.stream.as_deref().map(str::parse).transpose();
        if input.kind.as_deref().is_some_and(|kind| !codec::is_kind(kind)) {
            let expected = "the name of events, such as handoff.accepted, or a family, such as \
                            handoff";
            return Err(Problem::schema_invalid("kind", expected));
        }
        Ok(Self {
            caller: caller.clone(),
            reader: reader(gateway, caller).await?,
            subject: subject.map_err(|error: protocol::ledger::InvalidSubject| {
                Problem::new("schema_invalid", format!("stream: {error}")).field("stream")
            })?,
            kind: input.kind.clone(),
            agent: input.agent.clone(),
        })
    }

    /// What an entry makes the stream send; `None` for nothing.
    pub async fn told(
        &self,
        gateway: &Gateway,
        followed: &Followed,
    ) -> Result<Option<Told>, Problem> {
        if !self.is_about(followed) {
            return Ok(None);
        }
        let line = &followed.sequenced;
        let is_shown = self.reader.may_read(&line.entry.name)
            && gateway.engine.may_read_entry(&self.caller, &line.entry).await?;
        let announced = match &self.subject {
            Some(Subject::Conversation(_)) => {
                let sight = if is_shown { Sight::Entry } else { Sight::Status };
                announcements(gateway, &self.caller, sight, line).await?
            }
            None => queue_changed(gateway, &self.caller, line).await?,
            Some(
                Subject::Handoff(_)
                | Subject::Message(_)
                | Subject::Agent(_)
                | Subject::Token(_)
                | Subject::Graph(_)
                | Subject::Subscription(_)
                | Subject::Session(_)
                | Subject::Teamspace
                | Subject::Ledger,
            ) => Vec::new(),
        };
        let mut announced = announced;
        if self.reader == Reader::Program {
            announced.iter_mut().for_each(make_visible);
        }
        let is_something = is_shown || !announced.is_empty();
        Ok(is_something.then_some(Told { announced, is_shown }))
    }

    /// An entry as JSON. For a program, invisible characters in a conversation or a message are
    /// written out. Operators of the whole server also see its sequence number.
    pub fn entry<'f>(
        &self,
        gateway: &Gateway,
        followed: &'f Followed,
        shows_seq: bool,
    ) -> Cow<'f, str> {
        let json = followed.json(gateway.engine.cursor_key());
        let text = self.made_visible(followed, std::str::from_utf8(json).expect("JSON is text"));
        match text.strip_prefix('{') {
            Some(fields) if shows_seq => {
                Cow::Owned(format!("{{\"seq\":{},{fields}", followed.seq()))
            }
            Some(_) | None => text,
        }
    }

    fn made_visible<'f>(&self, followed: &Followed, text: &'f str) -> Cow<'f, str> {
        let subject = &followed.sequenced.entry.stream.subject;
        let is_told = matches!(subject, Subject::Conversation(_) | Subject::Message(_));
        if self.reader != Reader::Program || !is_told {
            return Cow::Borrowed(text);
        }
        // JSON escapes control characters and nothing else.
        let has_control = ["\\u00", "\\r", "\\b", "\\f"].iter().any(|it| text.contains(it));
        if !has_control && first_hidden(text).is_none() {
            return Cow::Borrowed(text);
        }
        let mut entry: Value = serde_json::from_str(text).expect("an entry is JSON");
        make_visible(&mut entry);
        Cow::Owned(entry.to_string())
    }

    /// Whether an entry matches the filter. It does not check who may see it.
    fn is_about(&self, followed: &Followed) -> bool {
        let entry = &followed.sequenced.entry;
        entry.stream.teamspace == self.caller.teamspace
            && self.subject.as_ref().is_none_or(|subject| entry.stream.subject == *subject)
            && self.kind.as_deref().is_none_or(|kind| is_of_kind(&entry.name, kind))
            && self.agent.as_ref().is_none_or(|agent| concerns(followed, agent))
    }
}

/// What a subscriber is told because of an entry.
pub struct Told {
    /// Events for chat clients and desks, which are sent before the entry.
    pub announced: Vec<Value>,
    /// Whether the entry itself is shown.
    pub is_shown: bool,
}

fn is_of_kind(name: &str, kind: &str) -> bool {
    name == kind || name.strip_prefix(kind).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether an agent did it, is a party to it, or is its subject.
fn concerns(followed: &Followed, agent: &AgentId) -> bool {
    #[derive(Default, Deserialize)]
    struct Named {
        from: Option<String>,
        to: Option<String>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum To {
        One(String),
        Several(Vec<String>),
    }
    #[derive(Deserialize)]
    struct Body {
        #[serde(default)]
        parties: Named,
        from: Option<String>,
        to: Option<To>,
        /// Of a conversation.
        holder: Option<String>,
    }
    let entry = &followed.sequenced.entry;
    if entry.actor.strip_prefix("agent:") == Some(agent.as_str()) {
        return true;
    }
    if let Subject::Agent(subject) = &entry.stream.subject {
        return subject == agent;
    }
    let body = entry.body.text().and_then(|text| serde_json::from_str::<Body>(text).ok());
    body.is_some_and(|body| {
        let to = match body.to {
            Some(To::One(name)) => vec![name],
            Some(To::Several(names)) => names,
            None => Vec::new(),
        };
        [body.parties.from, body.parties.to, body.from, body.holder]
            .into_iter()
            .flatten()
            .chain(to)
            .any(|name| name == agent.as_str())
    })
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
    follower: Follower,
    chunks: mpsc::Sender<Bytes>,
    _place: Place,
}

enum Next {
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
            let follower = &self.follower;
            let has_caught_up = self.catches_up_to.take_if(|to| follower.cursor() >= *to).is_some();
            if has_caught_up && self.chunks.send(self.beat()).await.is_err() {
                return;
            }
            let next = tokio::select! {
                page = self.follower.next() => match page {
                    Ok(page) => Next::Page(page),
                    Err(error) => {
                        tracing::warn!(%error, "a stream ended early");
                        Next::Stop
                    }
                },
                () = &mut beat => {
                    beat = clock.sleep(BEAT);
                    Next::Beat
                }
                () = async { let _ = stopping.wait_for(|stopping| *stopping).await; } => Next::Stop,
            };
            let is_stop = matches!(next, Next::Stop) || !self.is_still_allowed().await;
            let chunk = match next {
                _ if is_stop => self.closing(),
                Next::Page(page) => match self.render(&page).await {
                    Ok(chunk) => chunk,
                    // The stream ends without a message: a client that reconnects resumes at its
                    // cursor.
                    Err(_problem) => return,
                },
                Next::Beat | Next::Stop => self.beat(),
            };
            if !chunk.is_empty() && self.chunks.send(chunk).await.is_err() || is_stop {
                return;
            }
        }
    }

    async fn render(&self, page: &[Arc<Followed>]) -> Result<Bytes, Problem> {
        let mut text = Vec::new();
        let key = self.gateway.engine.cursor_key();
        for followed in page {
            let told = self.filter.told(&self.gateway, followed).await?;
            let Some(Told { announced, is_shown }) = told else { continue };
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
            let entry = self.filter.entry(&self.gateway, followed, self.shows_seq);
            text.extend_from_slice(entry.as_bytes());
            text.extend_from_slice(b"\n\n");
        }
        Ok(Bytes::from(text))
    }

    /// Advances the client's cursor even when nothing passes its filter.
    fn beat(&self) -> Bytes {
        Bytes::from(format!("id: {}\n: beat\n\n", self.place()))
    }

    fn closing(&self) -> Bytes {
        let cursor = self.place();
        Bytes::from(format!(
            "id: {cursor}\nevent: stream.closing\ndata: {{\"resume_after\":\"{cursor}\"}}\n\n"
        ))
    }

    fn place(&self) -> String {
        let teamspace = &self.filter.caller.teamspace;
        cursors::moving_place(&self.gateway, teamspace, self.follower.cursor())
    }

    /// Whether the token is still valid. Updates the caller's roles.
    async fn is_still_allowed(&mut self) -> bool {
        let Some(secret) = &self.secret else { return true };
        let Ok(Some(bearer)) = self.gateway.engine.authenticate(secret).await else { return false };
        self.filter.caller = bearer.caller;
        true
    }
}

/// A counted place among the open streams, given back when dropped.
pub struct Place {
    streams: Arc<OpenStreams>,
    credential: Credential,
    /// Marks the subscriber as connected; only people's connections are recorded.
    _connection: Option<OpenConnection>,
}

impl Place {
    /// One of `per_token_max` of its bearer, and one among all.
    pub fn take(gateway: &Gateway, asker: &Asker, per_token_max: usize) -> Result<Self, Problem> {
        let credential = asker.credential;
        let streams = Arc::clone(&gateway.streams);
        let full = || Problem::new("too_many_streams", "too many streams are open");
        {
            let mut by_credential = streams.by_credential.lock().expect("nothing panics in here");
            let open = by_credential.entry(credential).or_default();
            let is_full = *open >= per_token_max
                || streams.all.load(Ordering::Relaxed) >= gateway.limits.streams_max;
            if is_full {
                return Err(full());
            }
            *open += 1;
        }
        streams.all.fetch_add(1, Ordering::Relaxed);
        let connection = match (credential, asker.caller.agent()) {
            (Credential::Token(_), Some(agent)) => {
                Some(gateway.engine.connection_opened(&asker.caller.teamspace, agent))
            }
            // The owner of the data folder may act as any agent, but that does not mean the agent
            // is connected.
            (Credential::Local | Credential::Open, _) | (Credential::Token(_), None) => None,
        };
        Ok(Self { streams, credential, _connection: connection })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.streams.all.fetch_sub(1, Ordering::Relaxed);
        let mut by_credential = self.streams.by_credential.lock().expect("nothing panics in here");
        if let Some(open) = by_credential.get_mut(&self.credential) {
            *open -= 1;
            if *open == 0 {
                by_credential.remove(&self.credential);
            }
        }
    }
}
