//! Following the ledger: read the entries after the cursor, use them, wait for the bell, read
//! again. The bell carries no events, so a slow reader falls behind, catches up, and never loses
//! one.
//!
//! The newest entries are kept in a ring that the store fills and all followers share; only those
//! behind it read the store.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use aaep::cursor::Cursor;
use bytes::Bytes;
use protocol::canonical;
use protocol::entry_names::settles_question;
use protocol::ids::TeamspaceId;
use protocol::ledger::Erased;
use protocol::sealed_cursor::{CursorKey, Purpose, Scope};
use protocol::step::Event;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::ledger::Ledger;
use crate::ledger::announced::{self, Announced};
use crate::ledger::entry_places::{EntryPlaces, NextPlace, Remembers};
use crate::loops::webhooks::Webhooks;
use crate::ports::store::{Listener, Sequenced, Store, StoreError, StoreReads};
use crate::read::access::KnownBearers;
use crate::read::graphs::KnownGraphs;
use crate::read::reading::recorded;
use crate::read::settings::KnownSettings;

/// Enough for followers that keep up to read from memory alone, even if they read only ten times a
/// second.
const RING_ENTRIES_MAX: usize = 4_096;

/// Most bodies are a few hundred bytes, but they need not be.
const RING_BYTES_MAX: usize = 8 * 1024 * 1024;

/// One read of the store. Small enough to be sent on before the next is needed.
pub const PAGE_ENTRIES_MAX: usize = 512;

/// Bytes of one page: what is done with a page must not take long.
const PAGE_BYTES_MAX: usize = 1024 * 1024;

/// Where followers get their entries.
pub struct Feed {
    store: Arc<dyn Store>,
    tail: Arc<Tail>,
    /// The lock for reading the store, so that followers do not all read the same page.
    reading: tokio::sync::Mutex<()>,
}

/// The newest entries, and the bell. It is separate from the feed, so that the store can refer to
/// it.
struct Tail {
    newest: watch::Sender<u64>,
    /// Rung when a question of a session is settled.
    settled: watch::Sender<u64>,
    /// What there is for listeners, and their bells.
    announced: EntryPlaces,
    /// The entries of the teamspaces that are followed, and their bells.
    teamspaces: EntryPlaces,
    ring: Mutex<Ring>,
    caches: Caches,
}

/// Caches that are updated by the same notification. A listener for each would cost a copy of every
/// entry.
pub(crate) struct Caches {
    pub access: Arc<KnownBearers>,
    pub settings: Arc<KnownSettings>,
    pub graphs: Arc<KnownGraphs>,
    pub webhooks: Arc<Webhooks>,
}

/// The newest entries, without a gap.
#[derive(Default)]
struct Ring {
    entries: VecDeque<Arc<Followed>>,
    n_bytes: usize,
    /// The last entry that the store reported. There is none after it yet.
    told: u64,
    /// Grows when the ring is emptied, so that a page read before is not put into it.
    generation: u64,
}

/// An entry on its way to followers. Its JSON is made once, for the first reader.
#[derive(Debug)]
pub struct Followed {
    pub sequenced: Sequenced,
    shown: OnceLock<Shown>,
    /// The event; `None` once it is erased.
    event: OnceLock<Option<Event>>,
    announced: OnceLock<Vec<Announced>>,
}

/// An entry as members of its teamspace see it.
#[derive(Debug)]
struct Shown {
    cursor: String,
    json: Bytes,
}

/// A place in the ledger that moves forward.
#[derive(Debug)]
pub struct Follower {
    feed: Arc<Feed>,
    bell: watch::Receiver<u64>,
    cursor: u64,
}

/// A place among the entries of one teamspace. It passes those of others without reading them,
/// unless it is far behind.
#[derive(Debug)]
pub struct TeamspaceFollower {
    follower: Follower,
    teamspace: TeamspaceId,
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").field("newest", &*self.tail.newest.borrow()).finish_non_exhaustive()
    }
}

impl Ledger<'_> {
    /// Follows the ledger from just after `cursor`; 0 is the beginning.
    pub fn follow(self, cursor: u64) -> Follower {
        Follower {
            bell: self.engine.feed.tail.newest.subscribe(),
            feed: Arc::clone(&self.engine.feed),
            cursor,
        }
    }

    /// Follows the entries of one teamspace. Others may be among them.
    pub fn follow_teamspace(self, teamspace: &TeamspaceId, cursor: u64) -> TeamspaceFollower {
        let feed = Arc::clone(&self.engine.feed);
        let follower = Follower { bell: feed.tail.teamspaces.bell(teamspace), feed, cursor };
        TeamspaceFollower { follower, teamspace: teamspace.clone() }
    }

    /// Rings with every commit.
    pub(crate) fn newest_bell(self) -> watch::Receiver<u64> {
        self.engine.feed.tail.newest.subscribe()
    }

    /// Rings when a question of any session is settled.
    pub(crate) fn settled_bell(self) -> watch::Receiver<u64> {
        self.engine.feed.tail.settled.subscribe()
    }

    /// The newest sequence number there is. Followers may not have been notified of it yet: the
    /// bell is rung only after the store has reported the entry and the ring holds it.
    pub async fn newest(self) -> Result<u64, StoreError> {
        self.engine.store.newest().await
    }
}

impl Feed {
    pub(crate) fn new(store: Arc<dyn Store>, caches: Caches) -> Self {
        let (newest, ring) = (watch::channel(0).0, Mutex::default());
        let (settled, announced) = (watch::channel(0).0, EntryPlaces::of(Remembers::All));
        let teamspaces = EntryPlaces::of(Remembers::Followed);
        let tail = Arc::new(Tail { newest, settled, announced, teamspaces, ring, caches });
        let listener: Weak<Tail> = Arc::downgrade(&tail);
        store.listen(listener);
        Self { store, tail, reading: tokio::sync::Mutex::default() }
    }

    /// The next entries after a cursor; empty when there are none yet.
    pub(crate) async fn after(
        &self,
        cursor: u64,
        n_max: usize,
    ) -> Result<Vec<Arc<Followed>>, StoreError> {
        if let Some(page) = self.tail.lock_ring().after(cursor, n_max) {
            return Ok(page);
        }
        let _turn = self.reading.lock().await;
        let generation = {
            let ring = self.tail.lock_ring();
            if let Some(page) = ring.after(cursor, n_max) {
                return Ok(page);
            }
            ring.generation
        };
        let read = self.store.entries(cursor, n_max).await?;
        let page: Vec<_> = read.into_iter().map(Followed::new).map(Arc::new).collect();
        let mut ring = self.tail.lock_ring();
        if ring.generation == generation {
            ring.extend(&page);
        }
        Ok(page)
    }
}

impl Feed {
    /// What there is for listeners.
    pub(crate) fn announced(&self) -> &EntryPlaces {
        &self.tail.announced
    }

    /// Wakes the followers of teamspaces that have many.
    pub(crate) async fn wake_late(&self) {
        let Tail { teamspaces, announced, .. } = &*self.tail;
        tokio::join!(teamspaces.wake_late(), announced.wake_late());
    }

    /// The entries in memory, the newest first.
    pub(crate) fn newest_first(&self) -> Vec<Arc<Followed>> {
        self.tail.lock_ring().entries.iter().rev().cloned().collect()
    }
}

impl Listener for Tail {
    fn committed(&self, entries: Vec<Sequenced>) {
        let Some(newest) = entries.last().map(|entry| entry.seq) else { return };
        let Caches { access, settings, graphs, webhooks } = &self.caches;
        access.update(&entries);
        settings.update(&entries);
        graphs.update(&entries);
        let settles = entries.iter().any(|one| settles_question(&one.entry.name));
        let erases = entries.iter().any(|one| one.entry.name == Erased::NAME);
        let before = entries.first().map_or(newest, |entry| entry.seq) - 1;
        let entries: Vec<_> = entries.into_iter().map(Followed::new).map(Arc::new).collect();
        let mut ring = self.lock_ring();
        if erases {
            // The erased body may be in the ring or in this group. From now on readers go to the
            // store.
            ring.clear();
            ring.generation += 1;
        } else {
            ring.extend(&entries);
        }
        ring.told = newest;
        drop(ring);
        self.newest.send_replace(newest);
        // They read the ring, so they are woken after it is filled.
        webhooks.wake(entries.iter().map(|followed| &followed.sequenced.entry.stream));
        if settles {
            self.settled.send_replace(newest);
        }
        let ours = entries.iter().map(|followed| &followed.sequenced);
        self.teamspaces.committed((before, newest), ours.clone().map(placed));
        let concerning = ours.filter(|one| announced::concerns(&one.entry));
        self.announced.committed((before, newest), concerning.map(placed));
    }
}

fn placed(one: &Sequenced) -> (&TeamspaceId, u64) {
    (&one.entry.stream.teamspace, one.seq)
}

impl Tail {
    fn lock_ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().expect("nothing panics while holding the ring")
    }
}

impl Ring {
    /// The part after a cursor; `None` when only the store can tell.
    fn after(&self, cursor: u64, n_max: usize) -> Option<Vec<Arc<Followed>>> {
        let first = self.entries.front()?.seq();
        let last = self.entries.back()?.seq();
        if cursor > last || cursor + 1 < first || (cursor == last && self.told != last) {
            return None;
        }
        let skip = usize::try_from(cursor + 1 - first).expect("the ring fits in memory");
        Some(self.entries.iter().skip(skip).take(n_max).cloned().collect())
    }

    /// Entries that continue the ring are kept; a reader far behind does not disturb it.
    fn extend(&mut self, page: &[Arc<Followed>]) {
        let Some(first) = page.first().map(|followed| followed.seq()) else { return };
        let last = self.entries.back().map_or(0, |followed| followed.seq());
        if first > last + 1 {
            self.clear();
        }
        let end = self.entries.back().map_or(first - 1, |followed| followed.seq());
        for followed in page.iter().filter(|followed| followed.seq() > end) {
            self.n_bytes += followed.n_bytes();
            self.entries.push_back(Arc::clone(followed));
        }
        while self.entries.len() > RING_ENTRIES_MAX || self.n_bytes > RING_BYTES_MAX {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.n_bytes -= oldest.n_bytes();
        }
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.n_bytes = 0;
    }
}

impl Follower {
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Waits until there is something after the cursor, and moves past it.
    pub async fn next(&mut self) -> Result<Vec<Arc<Followed>>, StoreError> {
        loop {
            // The bell is checked before reading, so an entry that arrives in between rings it
            // again.
            let newest = *self.bell.borrow_and_update();
            if newest > self.cursor || newest == 0 {
                let page = self.page_after(self.cursor).await?;
                if let Some(last) = page.last() {
                    self.cursor = last.seq();
                    return Ok(page);
                }
            }
            if self.bell.changed().await.is_err() {
                return Err(StoreError::Closed);
            }
        }
    }

    /// The entries after the cursor that exist now, without waiting.
    pub async fn available(&mut self) -> Result<Vec<Arc<Followed>>, StoreError> {
        let page = self.page_after(self.cursor).await?;
        if let Some(last) = page.last() {
            self.cursor = last.seq();
        }
        Ok(page)
    }

    /// The entries after another place. The cursor stays.
    pub(crate) async fn page_after(&self, seq: u64) -> Result<Vec<Arc<Followed>>, StoreError> {
        let mut page = self.feed.after(seq, PAGE_ENTRIES_MAX).await?;
        page.truncate(n_that_fit(&page, PAGE_BYTES_MAX));
        Ok(page)
    }

    /// One entry that was read before.
    pub(crate) async fn at(&self, seq: u64) -> Result<Option<Arc<Followed>>, StoreError> {
        Ok(self.feed.after(seq - 1, 1).await?.pop())
    }
}

impl TeamspaceFollower {
    /// Every entry of the teamspace up to here was given out. Moves past the entries of others.
    pub fn cursor(&mut self) -> u64 {
        if let NextPlace::Nothing { until } = self.next_place() {
            self.follower.cursor = until;
        }
        self.follower.cursor
    }

    /// Waits until there is something after the cursor, and moves past it.
    pub async fn next(&mut self) -> Result<Vec<Arc<Followed>>, StoreError> {
        loop {
            // The bell is checked before reading, so an entry that arrives in between rings it
            // again.
            self.follower.bell.mark_unchanged();
            let page = match self.next_place() {
                NextPlace::From { first, last } => {
                    let mut page = self.follower.page_after(first - 1).await?;
                    page.retain(|followed| followed.seq() <= last);
                    page
                }
                NextPlace::Unknown => self.follower.page_after(self.follower.cursor).await?,
                NextPlace::Nothing { until } => {
                    self.follower.cursor = until;
                    Vec::new()
                }
            };
            if let Some(last) = page.last() {
                self.follower.cursor = last.seq();
                return Ok(page);
            }
            if self.follower.bell.changed().await.is_err() {
                return Err(StoreError::Closed);
            }
        }
    }

    fn next_place(&self) -> NextPlace {
        let Follower { feed, cursor, .. } = &self.follower;
        feed.tail.teamspaces.after(&self.teamspace, *cursor, PAGE_ENTRIES_MAX as u64)
    }
}

/// How many of the first entries fit into a page; at least one.
pub(crate) fn n_that_fit(page: &[Arc<Followed>], bytes_max: usize) -> usize {
    let mut n_bytes = 0;
    let fits = |followed: &&Arc<Followed>| {
        n_bytes += followed.n_bytes();
        n_bytes <= bytes_max
    };
    page.iter().take_while(fits).count().max(1)
}

/// Whether more entries may follow a page at once: it has as many as fit, or nearly.
pub(crate) fn is_full(page: &[Arc<Followed>]) -> bool {
    let n_bytes: usize = page.iter().map(|followed| followed.n_bytes()).sum();
    page.len() == PAGE_ENTRIES_MAX || 2 * n_bytes > PAGE_BYTES_MAX
}

/// An entry as programs see it: with its number where the whole ledger is shown, else with a
/// cursor.
#[derive(Serialize)]
struct EntryJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'a str>,
    teamspace: &'a str,
    stream: String,
    position: u64,
    event: &'a str,
    version: u32,
    actor: &'a str,
    at: String,
    data: Option<&'a RawValue>,
    hash: String,
}

impl Followed {
    pub fn new(sequenced: Sequenced) -> Self {
        Self {
            sequenced,
            shown: OnceLock::new(),
            event: OnceLock::new(),
            announced: OnceLock::new(),
        }
    }

    pub fn seq(&self) -> u64 {
        self.sequenced.seq
    }

    /// The event that it records, read once for all followers; `None` once it is erased.
    pub fn event(&self) -> Option<&Event> {
        self.event.get_or_init(|| recorded(&self.sequenced.entry)).as_ref()
    }

    /// About what it takes in memory, as a text and as an event.
    pub fn n_bytes(&self) -> usize {
        2 * self.sequenced.entry.body.text().map_or(0, str::len) + 400
    }

    /// The events that it announces, ready for all listeners; none if it is about something else.
    pub fn announced(&self) -> &[Announced] {
        self.announced.get_or_init(|| announced::announced(&self.sequenced))
    }

    /// The cursor of this entry, for members of its teamspace.
    pub fn cursor(&self, key: &CursorKey) -> &str {
        &self.shown(key).cursor
    }

    /// The entry for members of its teamspace.
    pub fn json(&self, key: &CursorKey) -> &Bytes {
        &self.shown(key).json
    }

    fn shown(&self, key: &CursorKey) -> &Shown {
        self.shown.get_or_init(|| {
            let cursor = entry_cursor(key, &self.sequenced);
            let json = Bytes::from(write_entry(&self.sequenced, None, Some(&cursor)));
            Shown { cursor, json }
        })
    }
}

/// The cursor of an entry, for members of its teamspace.
pub fn entry_cursor(key: &CursorKey, sequenced: &Sequenced) -> String {
    let teamspace = &sequenced.entry.stream.teamspace;
    let scope = Scope { teamspace, purpose: Purpose::Events };
    key.seal(scope, Cursor::of_entry(sequenced.seq))
}

/// An entry with its number, for operators of the whole server.
pub fn entry_json(sequenced: &Sequenced) -> String {
    write_entry(sequenced, Some(sequenced.seq), None)
}

fn write_entry(sequenced: &Sequenced, seq: Option<u64>, cursor: Option<&str>) -> String {
    let entry = &sequenced.entry;
    let data = entry.body.text().and_then(|text| serde_json::from_str::<&RawValue>(text).ok());
    let json = EntryJson {
        seq,
        cursor,
        teamspace: entry.stream.teamspace.as_str(),
        stream: entry.stream.subject.to_string(),
        position: entry.position,
        event: &entry.name,
        version: entry.version,
        actor: &entry.actor,
        at: entry.at.to_string(),
        data,
        hash: canonical::hex(&entry.hash),
    };
    serde_json::to_string(&json).expect("an entry is plain data")
}
