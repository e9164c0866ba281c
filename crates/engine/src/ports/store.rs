//! What the engine asks of a store. The store contains no rules: it compares what it is told to
//! compare, and writes all of a commit or none of it.

mod by_name;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use protocol::canonical::Hash;
use protocol::ids::{AgentId, ConversationId, TeamspaceId};
use protocol::ledger::{Entry, Stream};
use protocol::message::Delivery;
use protocol::queue::OrderKey;
use protocol::row_mac::Mac;
use protocol::step::{Deadline, Document, Effect, HoldState, HoldWrite, NumberedEvent, State};
use protocol::time::Time;

pub use crate::ports::filters::{ConversationFilter, HandoffFilter, MessageFilter};
use crate::ports::outbox::{Claim, Claimed, OutboxList, OutboxWrite, Outstanding};
use crate::ports::transfers::{TransferList, TransferRow};

pub use by_name::{StoreReads, StoreWrites};

/// The answer of a read.
pub type Answer<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

/// The answer of a commit.
pub type Receipt = Pin<Box<dyn Future<Output = Result<Committed, CommitError>> + Send>>;

/// A place where the ledger and what follows from it are kept.
///
/// Implementations guarantee:
/// - A commit is queued when `commit` returns, before its receipt is awaited, and commits are
///   decided in the order of the queue. Dropping the receipt does not withdraw the commit.
/// - `Ok` from a receipt means: durable, all of it, and visible to every later read.
/// - `Err` means that nothing of the commit was written, except [`StoreError::Unknown`].
/// - Sequence numbers start at 1, have no gaps, and grow in the order of commits. An entry is
///   visible only after every entry with a smaller number is.
/// - The entries about transfers are folded into [`TransferRow`]s and the times of last rings in
///   the same commit. No other event is looked into.
/// - A listener hears of every entry, in order, once it is visible and before its receipt is
///   answered, whether or not a caller still waits for the receipt.
pub trait Store: Send + Sync + 'static {
    fn commit(&self, commit: Commit) -> Receipt;

    /// Commits of different streams as if they were one: all of them or none. Each is compared
    /// with what those before it leave behind. The answer is that of the last, or of the one that
    /// conflicts.
    fn commit_together(&self, commits: Vec<Commit>) -> Receipt;

    /// Registers a listener that is told of every later commit, for as long as it lives.
    fn listen(&self, listener: Weak<dyn Listener>);

    /// Writes besides commits.
    fn write(&self, write: StoreWrite) -> Answer<()>;

    fn sealed(&self) -> Answer<Option<Sealed>>;

    /// The newest snapshot of a stream. One that the stream has entries after is
    /// [`StoreError::Corrupt`]: a program put it back past the store.
    fn load(&self, stream: &Stream) -> Answer<Option<Snapshot>>;

    /// The cursor of a follower of the ledger: a sequence number, 0 at the beginning.
    fn place(&self, follower: &str) -> Answer<u64>;

    /// The token stream whose secret has this hash.
    fn token_stream(&self, secret_hash: &str) -> Answer<Option<Stream>>;

    fn hold(&self, teamspace: &TeamspaceId, key: &str) -> Answer<HoldState>;

    /// Names in their order, at most `limit`.
    fn names(&self, of: StoredNames, limit: usize) -> Answer<Vec<String>>;

    /// The document that the stream has now, if it is the one with this hash and was not erased. A
    /// handoff has the last that came with any of its entries, a graph the one of its last entry.
    fn document(&self, stream: &Stream, hash: &str) -> Answer<Option<String>>;

    /// The size of the document that came with an entry; 0 if there is none, or it was erased.
    fn document_bytes(&self, seq: u64) -> Answer<u64>;

    fn outcome(&self, scope: &KeyScope) -> Answer<Option<RecordedOutcome>>;

    /// Entries in the order of [`Entries`], at most `limit`, and at most [`READ_BYTES_MAX`] of
    /// bodies, but at least one. So fewer than `limit` does not mean that there are no more.
    fn read_entries(&self, of: Entries, limit: usize) -> Answer<Vec<Sequenced>>;

    /// The newest sequence number, 0 for an empty ledger.
    fn newest(&self) -> Answer<u64>;

    /// Armed deadlines with `due <= now`, earliest first, at most `limit`. If there are more, the
    /// teamspaces take turns.
    fn due(&self, now: Time, limit: usize) -> Answer<Vec<Due>>;

    fn list(&self, list: List) -> Answer<Vec<Listed>>;

    /// What happened to transfers.
    fn transfers(&self, list: TransferList) -> Answer<Vec<TransferRow>>;

    /// When a transfer last rang for each person of a teamspace, in the order of their names,
    /// those after `after`, at most `limit`.
    fn last_rings(
        &self,
        teamspace: &TeamspaceId,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Answer<Vec<(AgentId, Time)>>;

    /// How many there are; counting ends at a maximum that depends on what is counted.
    fn count(&self, teamspace: &TeamspaceId, of: Count) -> Answer<usize>;

    /// Messages that were not purged, of one teamspace or of all, in the order they were made.
    fn oldest_messages(&self, oldest: OldestMessages) -> Answer<Vec<Listed>>;

    /// Claims effects that are due and not held. Each counts as tried once more, and is held until
    /// the claim's end.
    fn claim(&self, claim: Claim) -> Answer<Vec<Claimed>>;

    /// The effects that are not done yet, at most `limit`.
    fn outstanding(
        &self,
        teamspace: &TeamspaceId,
        list: OutboxList,
        limit: usize,
    ) -> Answer<Vec<Outstanding>>;
}

/// Takes entries until their bodies exceed [`READ_BYTES_MAX`], at least one.
pub fn within_read<E>(
    entries: impl IntoIterator<Item = Result<Sequenced, E>>,
) -> Result<Vec<Sequenced>, E> {
    let (mut taken, mut n_bytes) = (Vec::new(), 0);
    for entry in entries {
        let entry = entry?;
        n_bytes += entry.entry.body.text().map_or(0, str::len);
        if n_bytes > READ_BYTES_MAX && !taken.is_empty() {
            break;
        }
        taken.push(entry);
    }
    Ok(taken)
}

/// Is told what was committed, on the thread that wrote it: it must be quick, and must not block.
pub trait Listener: Send + Sync + 'static {
    /// These entries follow those of the last call.
    fn committed(&self, entries: Vec<Sequenced>);
}

/// Everything that one command changes.
#[derive(Debug, Clone)]
pub struct Commit {
    pub stream: Stream,
    /// The position of the last entry of the stream that the decision saw; 0 for a new stream.
    pub expected_position: u64,
    /// The hash of that entry. Two histories can have the same length; a chain may only continue
    /// its own.
    pub expected_head: Hash,
    pub entries: Vec<Entry>,
    pub state: Arc<State>,
    /// The state as text. It is made by the caller to spare the writer's thread.
    pub state_text: String,
    /// Authenticates the snapshot. Without one it is not believed by an engine that has a key.
    pub mac: Option<Mac>,
    pub disarm: Vec<Deadline>,
    pub arm: Vec<Deadline>,
    /// Effects that are no longer wanted, and those that are from now on.
    pub end: Vec<Effect>,
    pub begin: Vec<Effect>,
    pub holds: Vec<HoldWrite>,
    pub document: Option<Document>,
    /// The position of an entry of this stream whose body is to be erased.
    pub erase: Option<u64>,
    /// Which of the entries are lines of the stream's transcript, and their numbers.
    pub transcript: Vec<NumberedEvent>,
    pub key: Option<KeyedOutcome>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The sequence number of the commit's last entry.
    pub last_seq: u64,
}

/// Why a commit was not written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommitError {
    #[error("the stream has moved on")]
    Moved,
    #[error("the hold {key} was changed by another command")]
    HoldTaken { key: String, current: HoldState },
    #[error("the idempotency key was used before")]
    KeyUsed(RecordedOutcome),
    #[error(transparent)]
    Failed(#[from] StoreError),
}

/// Why the store failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    #[error("the disk is full")]
    Full,
    #[error("too much work is waiting")]
    Overloaded,
    #[error("the store is closed")]
    Closed,
    /// Whether it was written is not known; a retry with the same key will tell.
    #[error("the outcome is unknown")]
    Unknown,
    #[error("the store is inconsistent: {0}")]
    Corrupt(String),
    #[error("the store failed: {0}")]
    Broken(String),
}

/// The current state of a stream.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub state_text: String,
    pub position: u64,
    pub head: Hash,
    /// The time of the last entry.
    pub at: Time,
    pub last_seq: u64,
    pub mac: Option<Mac>,
}

/// An entry with its place in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequenced {
    pub seq: u64,
    pub entry: Entry,
}

/// An idempotency key with its owner. The same key of another caller is another key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyScope {
    pub teamspace: TeamspaceId,
    pub caller: String,
    pub key: String,
}

#[derive(Debug, Clone)]
pub struct KeyedOutcome {
    pub scope: KeyScope,
    pub recorded: RecordedOutcome,
    pub at: Time,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedOutcome {
    /// SHA-256 of the request, to tell a retry from another request with the same key.
    pub fingerprint: Hash,
    /// The answer, as text.
    pub outcome: String,
    /// Authenticates the row.
    pub mac: Option<Mac>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    pub stream: Stream,
    pub deadline: Deadline,
}

/// The sealed part of the ledger: its size, the right edge of its tree, and the signed note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    pub size: u64,
    pub edge: Vec<u8>,
    pub note: String,
}

/// Bytes of bodies that one read of entries returns. What callers wrote decides how long a body is.
pub const READ_BYTES_MAX: usize = 1024 * 1024;

/// Which entries, and in which order.
#[derive(Debug, Clone)]
pub enum Entries {
    /// Those of the whole ledger with a sequence number above this one, in order.
    After(u64),
    /// Those of one stream with a position below `before`, newest first.
    Of { stream: Stream, before: u64 },
    /// Those of one stream from this position on, in order.
    From { stream: Stream, position: u64 },
    /// The lines of a stream's transcript with a number above `after`, in order. The cost does not
    /// depend on the length of the transcript.
    Lines { stream: Stream, after: u64 },
}

/// Which names.
#[derive(Debug, Clone)]
pub enum StoredNames {
    /// The keys of a teamspace that begin with `prefix` and are occupied.
    Held { teamspace: TeamspaceId, prefix: String },
    /// The queues of a teamspace in which a conversation waits for a person, those after `after`.
    WaitingQueues { teamspace: TeamspaceId, after: Option<AgentId> },
    /// The queues of a teamspace that shall call a customer, those after `after`.
    CallingQueues { teamspace: TeamspaceId, after: Option<AgentId> },
    /// The teamspaces in which there is an agent, a token, or an entry about the teamspace or the
    /// ledger itself, those after `after`.
    Teamspaces { after: Option<TeamspaceId> },
}

/// A write besides commits.
#[derive(Debug)]
pub enum StoreWrite {
    /// Replaces the sealed edge of the ledger. Durable when the answer is `Ok`.
    Seal(Sealed),
    /// Moves the cursor of a follower of the ledger. Durable when the answer is `Ok`.
    Place { follower: String, seq: u64 },
    /// Updates an effect that was claimed. Does nothing if it was claimed again since or its stream
    /// no longer wants it.
    Outbox(OutboxWrite),
    /// A small write that shows whether commits can succeed: there is room, and no other program
    /// has taken the number of the next entry.
    Trial,
}

/// What is counted.
#[derive(Debug, Clone)]
pub enum Count {
    /// Messages of a mailbox in this state, at most [`INBOX_COUNT_MAX`].
    Inbox { agent: AgentId, status: Delivery },
    /// Conversations that wait in a queue, before a place if one is given, at most
    /// [`WAITING_COUNT_MAX`].
    Waiting { queue: AgentId, before: Option<Place> },
}

/// A page of a list, newest first, unless the list has an order of its own.
#[derive(Debug, Clone)]
pub struct List {
    pub teamspace: TeamspaceId,
    pub of: ListOf,
    /// Only rows made before this one.
    pub before: Option<u64>,
    pub limit: usize,
}

/// A page of messages, oldest first.
#[derive(Debug, Clone)]
pub struct OldestMessages {
    pub teamspace: Option<TeamspaceId>,
    /// Only rows made after this one.
    pub after: u64,
    pub limit: usize,
}

#[derive(Debug, Clone)]
pub enum ListOf {
    Handoffs(HandoffFilter),
    Messages(MessageFilter),
    /// The messages that an agent, or a role, was sent.
    Inbox {
        agent: AgentId,
        status: InboxStatus,
    },
    Conversations(ConversationFilter),
    Agents,
    Tokens,
    Graphs,
    Sessions,
    Webhooks,
    Files,
    Questions,
    /// The conversations that wait in a queue, in their order, those after a place.
    Waiting {
        queue: AgentId,
        after: Option<Place>,
    },
    /// The conversations whose customers a queue shall call, the first to be called first.
    Callbacks {
        queue: AgentId,
    },
}

/// A place in a queue.
pub type Place = (OrderKey, ConversationId);

/// Counting ends here: no place beyond it is shown.
pub const WAITING_COUNT_MAX: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxStatus {
    /// Pending, delivered or failed.
    Open,
    Only(Delivery),
}

/// Counting ends here: an exact number beyond it is of no use.
pub const INBOX_COUNT_MAX: usize = 1_000;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InboxCounts {
    pub pending: usize,
    pub delivered: usize,
    pub read: usize,
}

#[derive(Debug, Clone)]
pub struct Listed {
    /// Grows with every stream that is made; the cursor of a list.
    pub row: u64,
    pub stream: Stream,
    pub state_text: String,
    pub position: u64,
    pub head: Hash,
    pub last_seq: u64,
    pub at: Time,
    pub mac: Option<Mac>,
}
