//! The subscriptions of a connection to the ledger. Each reads at its own pace, in its own task,
//! and waits when the connection is slow: it falls behind in the ledger, and nothing is buffered.
//!
//! A subscription to one conversation catches up from that conversation alone: the cost of resuming
//! does not grow with the rest of the ledger.

use std::sync::Arc;

use engine::ledger::feed::Followed;
use protocol::caller::{Caller, Principal};
use protocol::conversation::state::conversation_of;
use protocol::ids::{ConversationId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::time::Span;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::http::conversations::access::{stream, visible};
use crate::http::conversations::announced::{announcements, for_customer};
use crate::http::conversations::transfer_news::Sight;
use crate::http::feed::filter::{Filter, FollowInput, SubscriberNews};
use crate::http::shared::auth::Asker;
use crate::http::shared::cursors;
use crate::http::shared::problem::Problem;
use crate::http::shared::streams::{Unread, UnreadRoom};
use crate::http::ws::frame::{After, Subscribe, conversation_id};
use crate::http::ws::places::{PLACES_EVERY, Places};
use crate::http::ws::state::Ws;
use crate::http::ws::typing::{Listening, Who};

/// Subscriptions of one connection. A cockpit has one for everything and a few for what is on its
/// screen; each is woken by every entry, so each has a cost.
pub const SUBSCRIPTIONS_MAX: usize = 8;

/// Batches on their way to a slow reader. Past this its subscriptions wait in the ledger.
pub const NEWS_MAX: usize = 2;

/// A batch is passed on once it has this many bytes, so that little is buffered for a slow reader.
const BATCH_BYTES_MAX: usize = 64 * 1_024;

/// Entries of a conversation that are read at a time while catching up.
const CATCH_UP_ENTRIES: usize = 64;

/// How often a subscription to a whole teamspace sends its cursor. The interval is fixed: a cursor
/// sent only when other teamspaces are active would reveal their activity.
const PLACE_EVERY: Span = Span::from_millis(10_000);

/// What a connection passes on to its peer.
#[derive(Debug)]
pub enum News {
    /// With their place among what waits for the readers of the teamspace.
    Frames(Vec<Utf8Bytes>, Option<Unread>),
    /// The ledger could not be read; a client that reconnects resumes at its last cursor.
    Broken,
}

/// A subscription, until it is dropped.
#[derive(Debug)]
pub struct Subscription {
    pub id: String,
    task: AbortHandle,
    _listening: Option<Listening>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Starts a subscription. Returns the cursor after which it follows.
pub async fn begin(
    gateway: &Ws,
    asker: &Asker,
    id: String,
    asked: Subscribe,
    news: mpsc::Sender<News>,
) -> Result<(Subscription, String), Problem> {
    let caller = &asker.caller;
    let conversation = narrowed_to(caller, &asked)?;
    if let Some(conversation) = conversation {
        visible(gateway, caller, conversation).await?;
    }
    let newest = gateway.engine.ledger().newest().await?;
    let given = asked.after.map(|after| match after {
        After::Cursor(text) => text,
        After::Number(number) => number.to_string(),
    });
    let after = match given {
        Some(text) => cursors::events_after(gateway, asker, ("after", &text), newest)?,
        None => newest,
    };
    let view = match (&caller.principal, conversation) {
        (Principal::Customer(_), Some(id)) => View::Customer(caller.clone(), id),
        (Principal::Customer(_), None) => return Err(Problem::not_found("conversation")),
        (Principal::Agent(_) | Principal::Operator(_) | Principal::System, _) => {
            let input = FollowInput {
                stream: conversation.map(|id| Subject::Conversation(id).to_string()),
                kind: asked.kind,
                agent: asked.agent,
                after: None,
            };
            View::Member(Filter::new(gateway, caller, &input).await?)
        }
    };
    let stream = conversation.map(|id| stream(&caller.teamspace, id));
    let listening = stream
        .clone()
        .zip(listener(caller))
        .map(|(stream, who)| gateway.typing.listen(stream, who, news.clone()));
    // Before the answer: what begins to wait after it is told by its own entry.
    let mut places = stream.clone().map(Places::new);
    if let Some(places) = &mut places {
        places.look(gateway).await?;
    }
    let following = Following {
        gateway: gateway.clone(),
        of: json!(id).to_string(),
        view,
        teamspace: caller.teamspace.clone(),
        shows_seq: asker.is_server_operator(),
        news,
        waiting: Vec::new(),
        n_bytes: 0,
        places,
        room: gateway.streams.unread_room(asker),
        held: None,
    };
    let (lane, teamspace) = (Arc::clone(&gateway.slow_lane), following.teamspace.clone());
    let task = lane.spawn(teamspace, following.run(stream, after, newest));
    let cursor = cursors::moving_place(gateway, &caller.teamspace, after);
    Ok((Subscription { id, task, _listening: listening }, cursor))
}

/// A customer has one conversation, and need not name it.
fn narrowed_to(caller: &Caller, asked: &Subscribe) -> Result<Option<ConversationId>, Problem> {
    let named = asked.conversation.as_deref().map(conversation_id).transpose()?;
    let Principal::Customer(name) = &caller.principal else { return Ok(named) };
    for (field, is_given) in [("kind", asked.kind.is_some()), ("agent", asked.agent.is_some())] {
        if is_given {
            return Err(Problem::schema_invalid(field, "to be left out by a customer"));
        }
    }
    let own = conversation_of(name).ok_or_else(|| Problem::not_found("conversation"))?;
    Ok(Some(named.unwrap_or(own)))
}

fn listener(caller: &Caller) -> Option<Who> {
    match &caller.principal {
        Principal::Customer(_) => Some(Who::Customer),
        Principal::Agent(agent) => Some(Who::Agent(agent.clone())),
        Principal::Operator(_) | Principal::System => None,
    }
}

/// Which part of an entry is shown.
enum View {
    Member(Filter),
    Customer(Caller, ConversationId),
}

/// One subscription at work.
struct Following {
    gateway: Ws,
    /// The subscription's id, as JSON.
    of: String,
    view: View,
    teamspace: TeamspaceId,
    shows_seq: bool,
    news: mpsc::Sender<News>,
    waiting: Vec<Utf8Bytes>,
    n_bytes: usize,
    /// The place of the conversation in its queue, if the subscription is to one.
    places: Option<Places>,
    room: UnreadRoom,
    /// The room of what waits.
    held: Option<Unread>,
}

/// Why a subscription ends: it has no reader any more, or the ledger cannot be read.
enum Ended {
    Unread,
    Failed,
}

impl Following {
    async fn run(mut self, stream: Option<Stream>, after: u64, newest: u64) {
        let ended = self.follow(stream, after, newest).await;
        match ended {
            Ended::Unread => {}
            Ended::Failed => drop(self.news.send(News::Broken).await),
        }
    }

    async fn follow(&mut self, stream: Option<Stream>, after: u64, newest: u64) -> Ended {
        let mut cursor = after;
        // A subscription to one conversation first catches up from that conversation.
        let says_places = stream.is_none();
        if let Some(stream) = stream.filter(|_| after < newest) {
            if let Err(ended) = self.catch_up(&stream, after, newest).await {
                return ended;
            }
            cursor = newest;
        }
        let ledger = self.gateway.engine.ledger();
        let mut follower = ledger.follow_teamspace(&self.teamspace, cursor);
        let clock = Arc::clone(self.gateway.engine.clock());
        let mut place_due = clock.sleep(PLACE_EVERY);
        // What waited before the subscription hears its place at once, not with the next change.
        if let Err(ended) = self.say_place_at_first().await {
            return ended;
        }
        let mut news_due = clock.sleep(PLACES_EVERY);
        loop {
            let is_stale = self.places.as_ref().is_some_and(Places::is_stale);
            let page = tokio::select! {
                page = follower.next() => page,
                () = &mut news_due, if is_stale => {
                    news_due = clock.sleep(PLACES_EVERY);
                    if let Err(ended) = self.say_own_place().await {
                        return ended;
                    }
                    Ok(Vec::new())
                }
                () = &mut place_due, if says_places => {
                    place_due = clock.sleep(PLACE_EVERY);
                    self.say_place(follower.cursor());
                    Ok(Vec::new())
                }
            };
            let told = match page {
                Ok(page) => self.tell(&page).await,
                Err(error) => {
                    tracing::warn!(%error, "a subscription ended early");
                    return Ended::Failed;
                }
            };
            if let Err(ended) = told {
                return ended;
            }
        }
    }

    /// Sends what happened in one conversation after one cursor, up to another.
    async fn catch_up(&mut self, stream: &Stream, after: u64, newest: u64) -> Result<(), Ended> {
        let engine = self.gateway.engine.clone();
        // First backwards to the cursor, then forwards: only one page is in memory at a time.
        let mut before = u64::MAX;
        loop {
            let page = engine.read().history(stream, before, CATCH_UP_ENTRIES).await;
            let page = page.map_err(|_| Ended::Failed)?;
            let missed = page.iter().take_while(|one| one.seq > after);
            match missed.last() {
                Some(oldest) => before = oldest.entry.position,
                None => break,
            }
            if page.last().is_none_or(|oldest| oldest.seq <= after) {
                break;
            }
        }
        let mut position = before;
        while position < u64::MAX {
            let page = engine.read().history_from(stream, position, CATCH_UP_ENTRIES).await;
            let mut page = page.map_err(|_| Ended::Failed)?;
            page.retain(|one| one.seq <= newest);
            let Some(last) = page.last() else { break };
            position = last.entry.position + 1;
            let page: Vec<_> = page.into_iter().map(Followed::new).map(Arc::new).collect();
            self.tell(&page).await?;
        }
        Ok(())
    }

    async fn say_place_at_first(&mut self) -> Result<(), Ended> {
        if self.places.as_ref().is_some_and(Places::is_stale) {
            self.say_own_place().await?;
        }
        self.hand_on().await
    }

    /// The place of the conversation, if it waits and was not told that place.
    async fn say_own_place(&mut self) -> Result<(), Ended> {
        let Some(places) = &mut self.places else { return Ok(()) };
        let news = places.news(&self.gateway).await.map_err(|_problem| Ended::Failed)?;
        if let Some(mut frame) = news {
            frame["of"] = serde_json::from_str(&self.of).unwrap_or(Value::Null);
            self.push(frame.to_string());
        }
        Ok(())
    }

    async fn tell(&mut self, page: &[Arc<Followed>]) -> Result<(), Ended> {
        for followed in page {
            if let Some(places) = &mut self.places {
                places.note(&followed.sequenced.entry);
            }
            self.make_room(followed.n_bytes()).await?;
            self.add(followed).await?;
            if self.n_bytes >= BATCH_BYTES_MAX {
                self.hand_on().await?;
            }
        }
        self.hand_on().await
    }

    /// Waits for room for the frames of an entry. What is ready is sent before: others may wait for
    /// its room.
    async fn make_room(&mut self, n_bytes: usize) -> Result<(), Ended> {
        let more = match self.room.try_hold(n_bytes) {
            Some(more) => more,
            None => {
                self.hand_on().await?;
                self.room.hold(n_bytes).await
            }
        };
        match &mut self.held {
            Some(held) => held.merge(more),
            None => self.held = Some(more),
        }
        Ok(())
    }

    /// Sends the current cursor, although no entry was shown.
    fn say_place(&mut self, sequence: u64) {
        let cursor = cursors::moving_place(&self.gateway, &self.teamspace, sequence);
        self.push(format!("{{\"cursor\":\"{cursor}\",\"of\":{}}}", self.of));
    }

    /// Adds the frames for an entry. The entry itself comes last, if it is shown, with the cursor
    /// that confirms that all of them were sent.
    async fn add(&mut self, followed: &Followed) -> Result<(), Ended> {
        let line = &followed.sequenced;
        let gateway = self.gateway.clone();
        let failed = |_problem: Problem| Ended::Failed;
        let (announced, event) = match &self.view {
            View::Member(filter) => {
                let told = filter.told(&gateway, followed).await.map_err(failed)?;
                let Some(SubscriberNews { announced, is_shown }) = told else { return Ok(()) };
                let entry = match is_shown {
                    true => {
                        let entry = filter.entry(&gateway, followed, self.shows_seq).await;
                        Some(entry.map_err(failed)?.into_owned())
                    }
                    false => None,
                };
                (announced, entry)
            }
            View::Customer(caller, id) => {
                if line.entry.stream != stream(&caller.teamspace, *id) {
                    return Ok(());
                }
                let announced = announcements(&gateway, caller, Sight::Entry, line);
                let announced = announced.await.map_err(failed)?;
                let shown = for_customer(&gateway, caller, *id, line).await.map_err(failed)?;
                if announced.is_empty() && shown.is_none() {
                    return Ok(());
                }
                (announced, shown.map(|shown| shown.to_string()))
            }
        };
        for mut announced in announced {
            if let Some(places) = &mut self.places {
                places.note_told(&announced);
            }
            announced["of"] = serde_json::from_str(&self.of).unwrap_or(Value::Null);
            self.push(announced.to_string());
        }
        let event = event.map(|event| format!(",\"event\":{event}")).unwrap_or_default();
        let cursor = followed.cursor(gateway.engine.cursor_key());
        self.push(format!("{{\"cursor\":\"{cursor}\",\"of\":{}{event}}}", self.of));
        Ok(())
    }

    fn push(&mut self, frame: String) {
        self.n_bytes += frame.len();
        self.waiting.push(frame.into());
    }

    async fn hand_on(&mut self) -> Result<(), Ended> {
        if self.waiting.is_empty() {
            self.held = None;
            return Ok(());
        }
        let frames = std::mem::take(&mut self.waiting);
        self.n_bytes = 0;
        let held = self.held.take();
        self.news.send(News::Frames(frames, held)).await.map_err(|_| Ended::Unread)
    }
}
