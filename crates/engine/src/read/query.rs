//! Reading: one thing, its history, and lists by cursor.

use std::sync::Arc;

use protocol::codec;
use protocol::ids::{ConversationId, TeamspaceId, TransferId};
use protocol::ledger::Stream;
use protocol::step::{self, State};
use protocol::time::Time;
use protocol::transfer::state::transfer_key;

use crate::ports::store::{List, ListOf, Sequenced, StoreError, StoreReads};
use crate::read::Read;
use crate::road::slots::{Durability, Slot};

/// Short enough for a person to read and for a program to hold.
pub const LIST_ROWS_MAX: usize = 200;

/// Histories are read in pages of this size when a state has to be rebuilt.
const REBUILD_ENTRIES_MAX: usize = 1_000;

/// A state of this size takes about half a millisecond to read.
const LARGE_STATE_BYTES: usize = 64 * 1024;

/// One row of a list.
#[derive(Debug, Clone)]
pub struct Item {
    pub stream: Stream,
    pub state: Arc<State>,
    pub position: u64,
    /// When it last changed.
    pub changed_at: Time,
}

/// Rows, newest first, and where to go on.
#[derive(Debug, Clone)]
pub struct Page {
    pub items: Vec<Item>,
    pub next: Option<u64>,
}

impl Read<'_> {
    /// The durable state of a stream, from memory where it is known.
    pub async fn current(self, stream: &Stream) -> Result<Option<Arc<State>>, StoreError> {
        let slot = self.engine.slots.of(stream);
        if let Some(latest) = slot.latest()
            && latest.settled().await == Durability::Durable
        {
            return Ok(latest.state);
        }
        Box::pin(self.read_current(stream, &slot)).await
    }

    /// Reads under the turn of the stream, so that concurrent readers share one read.
    async fn read_current(
        self,
        stream: &Stream,
        slot: &Slot,
    ) -> Result<Option<Arc<State>>, StoreError> {
        let turn = slot.turn().await;
        if let Some(latest) = turn.latest()
            && latest.settled().await == Durability::Durable
        {
            return Ok(latest.state);
        }
        let latest = self.engine.load_latest(stream).await?;
        turn.put(latest.clone());
        Ok(latest.state)
    }

    pub async fn item(self, stream: &Stream) -> Result<Option<Item>, StoreError> {
        let Some(snapshot) = self.engine.store.load(stream).await? else { return Ok(None) };
        let state = self.snapshot_state(stream, &snapshot).await?;
        Ok(Some(Item {
            stream: stream.clone(),
            state: Arc::new(state),
            position: snapshot.position,
            changed_at: snapshot.at,
        }))
    }

    /// The teamspaces there are, in the order of their names, those after `after`.
    pub async fn teamspaces(
        self,
        after: Option<&TeamspaceId>,
        limit: usize,
    ) -> Result<Vec<TeamspaceId>, StoreError> {
        self.engine.store.teamspaces(after, limit).await
    }

    /// The conversation that a transfer belongs to.
    pub async fn conversation_of(
        self,
        teamspace: &TeamspaceId,
        transfer: TransferId,
    ) -> Result<Option<ConversationId>, StoreError> {
        let hold = self.engine.store.hold(teamspace, &transfer_key(transfer)).await?;
        Ok(hold.value.and_then(|text| text.parse().ok()))
    }

    /// The entry with a sequence number.
    pub async fn entry(self, seq: u64) -> Result<Option<Sequenced>, StoreError> {
        let Some(before) = seq.checked_sub(1) else { return Ok(None) };
        Ok(self.engine.store.entries(before, 1).await?.pop())
    }

    pub async fn list(
        self,
        teamspace: &TeamspaceId,
        of: ListOf,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        let limit = limit.clamp(1, LIST_ROWS_MAX);
        // One row more than asked for tells whether there is a next page.
        let list = List { teamspace: teamspace.clone(), of, before, limit: limit + 1 };
        let mut rows = self.engine.store.list(list).await?;
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let next = if has_more { rows.last().map(|row| row.row) } else { None };
        let mut items = Vec::with_capacity(rows.len());
        for row in rows {
            // An index does not decide whose a row is.
            if row.stream.teamspace != *teamspace {
                continue;
            }
            let Some(state) = self.listed_state(&row).await? else { continue };
            items.push(Item {
                stream: row.stream,
                state: Arc::new(state),
                position: row.position,
                changed_at: row.at,
            });
        }
        Ok(Page { items, next })
    }

    /// The entries of a stream below a position, newest first.
    pub async fn history(
        self,
        stream: &Stream,
        before: u64,
        limit: usize,
    ) -> Result<Vec<Sequenced>, StoreError> {
        self.engine.store.history(stream, before, limit.clamp(1, LIST_ROWS_MAX)).await
    }

    /// The entries of a stream from a position on, in order.
    pub async fn history_from(
        self,
        stream: &Stream,
        position: u64,
        limit: usize,
    ) -> Result<Vec<Sequenced>, StoreError> {
        self.engine.store.history_from(stream, position, limit.clamp(1, LIST_ROWS_MAX)).await
    }

    /// The messages of a conversation after a number, in order.
    pub async fn transcript(
        self,
        stream: &Stream,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Sequenced>, StoreError> {
        self.engine.transcript(stream, after, limit.clamp(1, LIST_ROWS_MAX)).await
    }

    /// The package of a proposed handoff, or the offer of a draft.
    pub async fn document(self, stream: &Stream, hash: &str) -> Result<Option<String>, StoreError> {
        let text = self.engine.store.document(stream, hash).await?;
        match text {
            Some(text) if !step::is_document(&text, hash) => {
                let Stream { teamspace, subject } = stream;
                Err(self.engine.refuse_row(&format!("the document of {subject} in {teamspace}")))
            }
            Some(_) | None => Ok(text),
        }
    }

    /// A snapshot is a cache: one that this release cannot read is rebuilt from the events.
    pub(super) async fn read_state(self, stream: &Stream, text: &str) -> Result<State, StoreError> {
        if text.len() > LARGE_STATE_BYTES {
            // A page of large states takes long to read, and others wait for this thread.
            tokio::task::yield_now().await;
        }
        match State::from_text(text) {
            Ok(state) => Ok(state),
            Err(error) => {
                tracing::warn!(stream = %stream.subject, %error, "rebuilding a snapshot");
                self.rebuild(stream).await
            }
        }
    }

    /// The state as the ledger tells it.
    pub async fn rebuild(self, stream: &Stream) -> Result<State, StoreError> {
        let corrupt =
            |problem: String| StoreError::Corrupt(format!("{}: {problem}", stream.subject));
        let mut newest_first = Vec::new();
        let mut before = u64::MAX;
        loop {
            let page = self.engine.store.history(stream, before, REBUILD_ENTRIES_MAX).await?;
            let Some(oldest) = page.last() else { break };
            before = oldest.entry.position;
            newest_first.extend(page);
        }
        let mut state = None;
        for Sequenced { entry, .. } in newest_first.iter().rev() {
            let text = entry.body.text().ok_or_else(|| corrupt("a body was erased".to_owned()))?;
            let event = codec::decode(&entry.name, entry.version, text)
                .map_err(|error| corrupt(error.to_string()))?;
            let next = step::evolve(stream, state, &event, entry.at)
                .map_err(|error| corrupt(error.to_string()))?;
            state = Some(next);
        }
        state.ok_or_else(|| corrupt("it has no entries".to_owned()))
    }
}
