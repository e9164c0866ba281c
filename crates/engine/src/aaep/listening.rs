//! Listening: what one subscription gets, event by event, over any transport. The ledger is read at
//! the listener's pace, so a slow listener does not hold up others. While its buffer is full, a
//! scout reads ahead and brings critical events.

mod announcement_follower;
mod asked;
mod asking;
mod catch_up;
mod session_access;

use std::collections::{HashMap, VecDeque};
use std::future::{self, Future};
use std::sync::Arc;

use aaep::EXTENSION_CONTEXT;
use aaep::negotiate::{self, Scope, Start};
use aaep::shape::{Body, Cursor, Delivery, Shaper};
use protocol::caller::{Caller, Principal};
use protocol::codec;
use protocol::entry_names::changes_sides;
use protocol::ids::{SessionId, SubscriptionId};
use protocol::ledger::{Stream, Subject};
use protocol::step::{self, State};
use protocol::subscription::{self, Subscription};
use protocol::time::Time;

use crate::Engine;
use crate::aaep::Listeners;
use crate::aaep::announce::session_stream;
use crate::ledger::announced::Announced;
use crate::ledger::feed::Followed;
use crate::ports::store::StoreError;

use announcement_follower::AnnouncementFollower;
pub use asked::AnswerableQuestions;
use catch_up::First;
pub use catch_up::SESSIONS_LOOKED_AT_MAX;

/// The stream of one subscription.
#[derive(Debug)]
pub struct Listening {
    engine: Engine,
    caller: Caller,
    id: SubscriptionId,
    scope: Scope,
    /// The question to tell next, once its current state is read.
    asking: Option<Delivery>,
    can_confirm: bool,
    can_clarify: bool,
    /// It asked for events of our extension.
    knows_ours: bool,
    shaper: Shaper,
    /// Told before all else: what is under way when the listener begins.
    first: VecDeque<First>,
    main: AnnouncementFollower,
    /// Entries that were read and not yet pushed.
    page: VecDeque<Arc<Followed>>,
    /// How many events of the first entry of `page` were pushed. `None` until it is known whether
    /// the listener hears that entry.
    n_pushed: Option<usize>,
    scout: Option<AnnouncementFollower>,
    /// Entries that the scout has read and not yet looked through.
    scouted: VecDeque<Arc<Followed>>,
    /// When the current terms end. An entry of the ledger with terms that end earlier is ignored.
    until: Time,
    /// Which sessions this listener hears.
    sights: HashMap<SessionId, bool>,
    ended: Option<subscription::Closed>,
}

const CONFIRMATION: &str = "aaep:agent.awaiting.confirmation";

/// What a listener hears next.
#[derive(Debug)]
pub enum ListenerNews {
    Told(ReadyEvent),
    /// The subscription is over.
    Closed(subscription::Closed),
}

/// One event, ready to be sent.
#[derive(Debug)]
pub struct ReadyEvent {
    body: Body,
    /// A listener that resumes with this misses nothing. `None` on an event that overtakes others.
    pub id: Option<Cursor>,
}

/// Where a listener wants to resume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// As the terms say.
    No,
    After(Cursor),
    /// After the event with this id.
    AfterEvent(String),
}

impl ReadyEvent {
    /// Its JSON, on one line.
    pub fn text(&self) -> &str {
        self.body.text()
    }
}

impl Listeners<'_> {
    /// Begins to listen; `None` if there is no such subscription of this caller.
    pub async fn listen(
        self,
        caller: &Caller,
        id: &SubscriptionId,
        resume: Resume,
    ) -> Result<Option<Listening>, StoreError> {
        let Some(subscription) = self.subscription(caller, id).await? else { return Ok(None) };
        let scope = negotiate::scope(&subscription.honored).unwrap_or_default();
        let (start, is_new) = self.place_to_start(caller, &scope, resume).await?;
        let shaper = Shaper::new(&subscription.honored, start);
        let shaper = match caller.principal {
            Principal::Customer(_) => shaper.for_customer(),
            Principal::Agent(_) | Principal::Operator(_) | Principal::System => shaper,
        };
        let mut listening = Listening {
            engine: self.engine.clone(),
            caller: caller.clone(),
            id: id.clone(),
            can_confirm: subscription.honored.supports_confirmation_reply == Some(true),
            can_clarify: subscription.honored.supports_clarification_reply == Some(true),
            knows_ours: subscription.honored.supports(EXTENSION_CONTEXT),
            until: subscription.until,
            shaper,
            first: VecDeque::new(),
            asking: None,
            main: follower(self.engine, caller, start),
            page: VecDeque::new(),
            n_pushed: None,
            scout: None,
            scouted: VecDeque::new(),
            sights: HashMap::new(),
            ended: None,
            scope,
        };
        if is_new {
            listening.tell_what_goes_on(&subscription.honored).await?;
        }
        Ok(Some(listening))
    }

    /// A subscription of this caller that is open.
    pub async fn subscription(
        self,
        caller: &Caller,
        id: &SubscriptionId,
    ) -> Result<Option<Subscription>, StoreError> {
        let state = self.engine.read().current(&subscription_stream(caller, id)).await?;
        let Some(State::Subscription(subscription)) = state.as_deref() else { return Ok(None) };
        let is_open = subscription.is_of(caller) && !subscription.closed;
        Ok(is_open.then(|| subscription.as_ref().clone()))
    }

    /// The cursor after which a listener gets everything, and whether the listener is new.
    async fn place_to_start(
        self,
        caller: &Caller,
        scope: &Scope,
        resume: Resume,
    ) -> Result<(Cursor, bool), StoreError> {
        let newest = self.engine.ledger().newest().await?;
        let found = match resume {
            Resume::No if scope.from == Start::Beginning => return Ok((Cursor::default(), false)),
            Resume::No => None,
            // A cursor beyond the newest entry belongs to another ledger.
            Resume::After(cursor) => Some(cursor).filter(|cursor| cursor.sequence <= newest),
            Resume::AfterEvent(event_id) => self.find_event(caller, scope, &event_id).await?,
        };
        let now = Cursor { sequence: newest, index: u32::MAX };
        Ok(found.map_or((now, true), |cursor| (cursor, false)))
    }

    /// An event by its id: in the session that is listened to, or among the newest.
    async fn find_event(
        self,
        caller: &Caller,
        scope: &Scope,
        event_id: &str,
    ) -> Result<Option<Cursor>, StoreError> {
        if let Some(session) = scope.session_id.as_ref().and_then(|id| id.parse().ok()) {
            let place = self
                .engine
                .sessions()
                .place_of_event(&session_stream(caller, &session), event_id)
                .await?;
            // Events of the server about a session have no place in the session itself.
            if place.is_some() {
                return Ok(place);
            }
        }
        // Two agents may use the same id. Then it is the oldest event that this caller may hear.
        let mut oldest = None;
        for followed in self.engine.feed.newest_first() {
            let stream = &followed.sequenced.entry.stream;
            if stream.teamspace != caller.teamspace {
                continue;
            }
            let mut events = followed.announced().iter();
            let found = events.find(|one| *one.event.event_id == *event_id);
            let Some(found) = found else { continue };
            if let Some(session) = self.engine.sessions().session(stream).await?
                && self.may_hear(caller, &session).await?
            {
                oldest = Some(Cursor { sequence: followed.seq(), index: found.index });
            }
        }
        Ok(oldest)
    }
}

impl Listening {
    /// The next event. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<ListenerNews, StoreError> {
        loop {
            if let Some(told) = self.ready() {
                return Ok(ListenerNews::Told(told));
            }
            if let Some(told) = self.next_first().await? {
                return Ok(ListenerNews::Told(told));
            }
            if !self.first.is_empty() {
                continue;
            }
            if let Some(told) = self.next_question().await? {
                return Ok(ListenerNews::Told(told));
            }
            if let Some(closed) = self.ended.take() {
                return Ok(ListenerNews::Closed(closed));
            }
            let now = self.engine.clock.now();
            if !self.shaper.wants_more() {
                self.scout_ahead(now).await?;
                continue;
            }
            if let Some(followed) = self.page.front().cloned() {
                // This caches whether the entry is heard.
                self.is_heard(&followed).await?;
                continue;
            }
            let wake = self.wake_after(now);
            let page = tokio::select! {
                page = self.main.next() => page?,
                () = wake => continue,
            };
            self.page.extend(page);
        }
    }

    /// The next event that is ready, without waiting.
    pub fn ready(&mut self) -> Option<ReadyEvent> {
        match self.first.pop_front() {
            Some(First::Told(told)) => return Some(told),
            Some(question @ First::Question { .. }) => {
                self.first.push_front(question);
                return None;
            }
            None => {}
        }
        let now = self.engine.clock.now();
        while self.asking.is_none() {
            if let Some(delivery) = self.shaper.poll(now) {
                if delivery.is_question {
                    self.asking = Some(delivery);
                    return None;
                }
                let id = delivery.id.is_some().then_some(delivery.cursor);
                return Some(ReadyEvent { body: delivery.body, id });
            }
            if !self.push_one(now) {
                return None;
            }
        }
        None
    }

    /// The cursor up to which everything was told.
    pub fn place(&self) -> Option<Cursor> {
        let is_all_told = self.first.is_empty() && self.asking.is_none();
        is_all_told.then(|| self.shaper.watermark())
    }

    /// Ends when the shaper has something again.
    fn wake_after(&self, now: Time) -> impl Future<Output = ()> + use<> {
        let clock = Arc::clone(&self.engine.clock);
        let span = self.shaper.next_at(now).map(|at| at.since(now));
        async move {
            match span {
                Some(span) => clock.sleep(span).await,
                None => future::pending().await,
            }
        }
    }

    /// Pushes the next event that was read, if there is room for it. An event that may be sent at
    /// once is sent before the next one is pushed.
    fn push_one(&mut self, now: Time) -> bool {
        while self.ended.is_none() && self.shaper.wants_more() {
            let Some(followed) = self.page.front() else { return false };
            let n_pushed = match self.n_pushed {
                Some(n_pushed) => Some(n_pushed),
                None => match self.known_sight(followed) {
                    Some(is_heard) => is_heard.then_some(0),
                    None => return false,
                },
            };
            // Entries that are not heard are not even parsed.
            let next = n_pushed.and_then(|at| Some((at, followed.announced().get(at)?)));
            if let Some((n_pushed, one)) = next {
                if !self.is_for_me(one) {
                    self.n_pushed = Some(n_pushed + 1);
                    continue;
                }
                let cursor = Cursor { sequence: followed.seq(), index: one.index };
                self.shaper.push(&one.event, cursor, now);
                self.n_pushed = Some(n_pushed + 1);
                return true;
            }
            self.n_pushed = None;
            if let Some(followed) = self.page.pop_front() {
                self.apply(&followed, now);
            }
        }
        false
    }

    /// Reads on for critical events while there is no room for others.
    async fn scout_ahead(&mut self, now: Time) -> Result<(), StoreError> {
        let wake = self.wake_after(now);
        if !self.shaper.wants_critical() {
            wake.await;
            return Ok(());
        }
        let pushed = self.shaper.pushed().sequence;
        if self.scout.as_ref().is_none_or(|scout| scout.cursor() < pushed) {
            self.scout = Some(follower(&self.engine, &self.caller, self.shaper.pushed()));
            self.scouted.clear();
        }
        let Some(scout) = &mut self.scout else { return Ok(()) };
        if self.scouted.is_empty() {
            let page = tokio::select! {
                page = scout.next() => page?,
                () = wake => return Ok(()),
            };
            self.scouted.extend(page);
        }
        while let Some(followed) = self.scouted.front().cloned() {
            // The scout is ahead of what was told, so it looks up the participants anew as well.
            if self.is_about_sides(&followed) {
                self.sights.clear();
            }
            let is_heard = self.is_heard(&followed).await?;
            for one in followed.announced() {
                if !is_heard || !one.event.is_critical || !self.is_for_me(one) {
                    continue;
                }
                if !self.shaper.wants_critical() {
                    // Events that were taken from the entry are skipped next time.
                    return Ok(());
                }
                let cursor = Cursor { sequence: followed.seq(), index: one.index };
                self.shaper.push_critical(&one.event, cursor);
            }
            self.scouted.pop_front();
        }
        Ok(())
    }

    /// Whether the listener gets an event. That a question is settled is told to listeners that
    /// know our extension and could have answered, except the one that answered.
    fn is_for_me(&self, one: &Announced) -> bool {
        let Some(settled) = &one.settled else { return true };
        let could_answer = settled.concerns(self.can_confirm, self.can_clarify);
        let is_here = settled.subscription.as_deref() == Some(self.id.as_str());
        self.knows_ours && could_answer && !is_here
    }

    /// Whether the participants of a conversation of the teamspace may have changed with this
    /// entry.
    fn is_about_sides(&self, followed: &Followed) -> bool {
        let entry = &followed.sequenced.entry;
        entry.stream.teamspace == self.caller.teamspace && changes_sides(&entry.name)
    }

    /// What an entry means for the subscription itself.
    fn apply(&mut self, followed: &Followed, now: Time) {
        let entry = &followed.sequenced.entry;
        if entry.stream.teamspace != self.caller.teamspace {
            return;
        }
        if self.is_about_sides(followed) {
            self.sights.clear();
        }
        if !matches!(&entry.stream.subject, Subject::Subscription(id) if *id == self.id) {
            return;
        }
        let text = entry.body.text().unwrap_or_default();
        let Ok(step::Event::Subscription(event)) = codec::decode(&entry.name, entry.version, text)
        else {
            return;
        };
        match event {
            // A listener that resumes reads past terms that were replaced since.
            subscription::Event::Agreed(agreed) if agreed.until <= self.until => {}
            subscription::Event::Agreed(agreed) => {
                self.until = agreed.until;
                self.can_confirm = agreed.honored.supports_confirmation_reply == Some(true);
                self.can_clarify = agreed.honored.supports_clarification_reply == Some(true);
                self.knows_ours = agreed.honored.supports(EXTENSION_CONTEXT);
                self.scope = negotiate::scope(&agreed.honored).unwrap_or_default();
                self.sights.clear();
                self.shaper.retune(&agreed.honored, now);
            }
            subscription::Event::Closed(closed) => self.ended = Some(closed),
            subscription::Event::Opened(_) => {}
        }
    }
}

/// From a cursor on. The entry at the cursor is read again; its events that were already told are
/// skipped.
fn follower(engine: &Engine, caller: &Caller, from: Cursor) -> AnnouncementFollower {
    let cursor = from.sequence.saturating_sub(1);
    AnnouncementFollower::new(&engine.feed, caller.teamspace.clone(), cursor)
}

pub(crate) fn subscription_stream(caller: &Caller, id: &SubscriptionId) -> Stream {
    Stream { teamspace: caller.teamspace.clone(), subject: Subject::Subscription(id.clone()) }
}
