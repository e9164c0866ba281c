//! An audit of the ledger that trusts nothing. The auditor is given every entry in order and
//! recomputes what the entries claim: the sequence, the positions and the chain of each stream, the
//! commitment of each body, the Merkle root at each checkpoint, and that each event follows from
//! those before it.
//!
//! It does not know where the entries come from, and it does not stop at the first finding: one
//! damaged entry should not hide another. It keeps one small record per stream, and the states of
//! the streams only when it replays.

mod finding;
mod forks;
mod tasks;

use std::collections::{BTreeMap, HashMap};

use crate::aggregate::{Event, State};
use crate::canonical::Hash;
use crate::checkpoint::Checkpoint;
use crate::codec;
use crate::fork::Forked;
use crate::ledger::{Body, Entry, Erased, GENESIS, Stream};
use crate::merkle::Edge;
use crate::step;

pub use finding::{EntryPlace, Finding, Problem};
use forks::Forks;
pub use forks::{Fork, LostRange};
use tasks::Tasks;

/// Findings beyond this number are counted and not kept. A reader needs no more than a hundred, and
/// a ledger that is not ours would produce millions.
pub const FINDINGS_MAX: usize = 100;

/// Whether the states are replayed too. That takes memory for every state that is not settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    States,
    Nothing,
}

/// The verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub n_entries: u64,
    /// Entries below the largest checkpoint that holds.
    pub n_sealed: u64,
    pub n_unsealed: u64,
    /// Bodies whose erasure is recorded.
    pub n_erased: u64,
    /// Losses that are recorded.
    pub forks: Vec<Fork>,
    /// The first of them, in the order they were noticed.
    pub findings: Vec<Finding>,
    pub n_findings: u64,
}

/// The end of a stream, as of the last entry that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    pub seq: u64,
    pub position: u64,
    pub hash: Hash,
    /// `None` if it is unknown because a body was erased or unreadable.
    pub state: Option<Box<State>>,
}

#[derive(Debug)]
pub struct Auditor {
    replay: Replay,
    edge: Edge,
    /// Of the entries before the last declared fork.
    root_before_fork: Hash,
    /// The roots at the sizes of the announced checkpoints.
    roots: BTreeMap<u64, Option<Hash>>,
    last_seq: u64,
    /// The first place where the leaves are known to differ from a checkpoint.
    first_damage: Option<u64>,
    streams: HashMap<Stream, Head>,
    erasures: HashMap<Stream, Erasures>,
    forks: Forks,
    tasks: Tasks,
    findings: Vec<Finding>,
    n_findings: u64,
}

#[derive(Debug)]
struct Head {
    seq: u64,
    position: u64,
    hash: Hash,
    /// The hash that the last entry should have, if it has another one. If only that stored hash
    /// was edited, the next entry still follows from this one and is not at fault.
    doubted: Option<Hash>,
    replayed: Replayed,
}

#[derive(Debug)]
enum Replayed {
    State(Box<State>),
    Unknown,
    /// The snapshot keeper compared the state and took it; no entry should follow.
    Settled,
    /// An entry followed after it was settled.
    Overrun,
}

/// The erased bodies of one stream, and the records of their erasure.
#[derive(Debug, Default)]
struct Erasures {
    bodies: BTreeMap<u64, ErasedBody>,
    named: Vec<u64>,
}

#[derive(Debug)]
struct ErasedBody {
    seq: u64,
    is_eraser: bool,
}

impl Auditor {
    /// `sizes` are those of the checkpoints that [`Auditor::finish`] will be given.
    pub fn new(replay: Replay, sizes: impl IntoIterator<Item = u64>) -> Self {
        let mut roots: BTreeMap<u64, Option<Hash>> =
            sizes.into_iter().map(|size| (size, None)).collect();
        let edge = Edge::empty();
        if let Some(root) = roots.get_mut(&0) {
            *root = Some(edge.root());
        }
        Self {
            replay,
            edge,
            root_before_fork: GENESIS,
            roots,
            last_seq: 0,
            first_damage: None,
            streams: HashMap::new(),
            erasures: HashMap::new(),
            forks: Forks::default(),
            tasks: Tasks::default(),
            findings: Vec::new(),
            n_findings: 0,
        }
    }

    /// The next entry. Returns its event, when it has a body that can be read.
    pub fn push(&mut self, seq: u64, entry: &Entry) -> Option<Event> {
        self.check_sequence(seq, Some(entry));
        if entry.name == Forked::NAME {
            self.root_before_fork = self.edge.root();
        }
        self.add_leaf(&entry.hash);
        let (stream, before) = match self.streams.remove_entry(&entry.stream) {
            Some((stream, head)) => (stream, Some(head)),
            None => (entry.stream.clone(), None),
        };
        let link = self.check_link(seq, entry, before.as_ref());
        let event = self.read_body(seq, entry);
        let state = before.map(|head| head.replayed);
        let replayed = match (state, link, self.replay) {
            (Some(Replayed::Settled | Replayed::Overrun), _, _) => Replayed::Overrun,
            (_, Link::Broken, _) | (_, _, Replay::Nothing) => Replayed::Unknown,
            (state, Link::Whole | Link::Doubted(_), Replay::States) => {
                self.replay(seq, entry, state, event.as_ref())
            }
        };
        let state = match &replayed {
            Replayed::State(state) => Some(state.as_ref()),
            Replayed::Unknown | Replayed::Settled | Replayed::Overrun => None,
        };
        if self.replay == Replay::States
            && let Some(problem) = self.tasks.note(&stream, state)
        {
            self.find(EntryPlace::of(seq, entry), problem);
        }
        let doubted = match link {
            Link::Doubted(computed) => Some(computed),
            Link::Whole | Link::Broken => None,
        };
        let (position, hash) = (entry.position, entry.hash);
        self.streams.insert(stream, Head { seq, position, hash, doubted, replayed });
        event
    }

    /// An entry that is unreadable but for its number.
    pub fn push_unreadable(&mut self, seq: u64, problem: String) {
        self.check_sequence(seq, None);
        self.damage(seq);
        self.add_leaf(&GENESIS);
        let place = EntryPlace::Range { first: seq, last: seq };
        self.find(place, Problem::Unreadable(problem));
    }

    /// The number of the stream's last entry so far; 0 when it has none.
    pub fn last_seq_of(&self, stream: &Stream) -> u64 {
        self.streams.get(stream).map_or(0, |head| head.seq)
    }

    /// The end of a stream, for a caller that has a snapshot to compare it with. A later entry of
    /// the stream is a finding, and its state is dropped.
    pub fn settle(&mut self, stream: &Stream) -> Option<End> {
        let head = self.streams.get_mut(stream)?;
        let state = match std::mem::replace(&mut head.replayed, Replayed::Settled) {
            Replayed::State(state) => Some(state),
            Replayed::Unknown | Replayed::Settled | Replayed::Overrun => None,
        };
        Some(End { seq: head.seq, position: head.position, hash: head.hash, state })
    }

    /// The streams that were never settled, with their last entries.
    pub fn unsettled(&self) -> impl Iterator<Item = (&Stream, u64)> {
        let is_unsettled = |head: &Head| match head.replayed {
            Replayed::State(_) | Replayed::Unknown => true,
            Replayed::Settled | Replayed::Overrun => false,
        };
        self.streams
            .iter()
            .filter(move |(_, head)| is_unsettled(head))
            .map(|(stream, head)| (stream, head.seq))
    }

    pub fn n_entries(&self) -> u64 {
        self.edge.size()
    }

    /// The highest number so far.
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// Whether the size of a checkpoint was among those that [`Auditor::new`] was told.
    pub fn is_announced(&self, size: u64) -> bool {
        self.roots.contains_key(&size)
    }

    /// The root over the first `size` entries, if the size was announced and reached.
    pub fn root_at(&self, size: u64) -> Option<Hash> {
        self.roots.get(&size).copied().flatten()
    }

    /// Compares the entries with the checkpoints. The caller has checked their signatures.
    pub fn finish(mut self, checkpoints: &[Checkpoint]) -> Report {
        let mut checkpoints: Vec<&Checkpoint> = checkpoints.iter().collect();
        let declared = std::mem::take(&mut self.forks);
        let holds = |one: &Checkpoint| self.root_at(one.size) == Some(one.root);
        let forks = declared.account_for(&mut checkpoints, holds);
        let n_sealed = self.check_roots(checkpoints);
        let n_erased = self.check_erasures();
        let n_entries = self.edge.size();
        Report {
            n_entries,
            n_sealed,
            n_unsealed: n_entries.saturating_sub(n_sealed),
            n_erased,
            forks,
            findings: self.findings,
            n_findings: self.n_findings,
        }
    }

    fn check_sequence(&mut self, seq: u64, entry: Option<&Entry>) {
        let expected = self.last_seq.saturating_add(1);
        if seq > expected {
            self.damage(expected);
            self.find(EntryPlace::Range { first: expected, last: seq - 1 }, Problem::Missing);
        }
        if seq < expected {
            self.damage(seq);
            let place = match entry {
                Some(entry) => EntryPlace::of(seq, entry),
                None => EntryPlace::Range { first: seq, last: seq },
            };
            self.find(place, Problem::OutOfOrder { expected });
        }
        self.last_seq = self.last_seq.max(seq);
    }

    fn add_leaf(&mut self, hash: &Hash) {
        self.edge.push(hash);
        if let Some(root) = self.roots.get_mut(&self.edge.size()) {
            *root = Some(self.edge.root());
        }
    }

    fn check_link(&mut self, seq: u64, entry: &Entry, before: Option<&Head>) -> Link {
        if let Some(Head { replayed: Replayed::Settled, .. }) = before {
            self.find(EntryPlace::of(seq, entry), Problem::AfterSnapshot);
        }
        let expected = before.map_or(0, |head| head.position).saturating_add(1);
        if entry.position != expected {
            self.damage(seq);
            self.find(EntryPlace::of(seq, entry), Problem::Position { expected });
            return Link::Broken;
        }
        let computed = entry.expected_hash(before.map_or(&GENESIS, |head| &head.hash));
        if computed == entry.hash {
            return Link::Whole;
        }
        let doubted = before.and_then(|head| head.doubted);
        if doubted.is_some_and(|doubted| entry.expected_hash(&doubted) == entry.hash) {
            return Link::Whole;
        }
        self.damage(seq);
        self.find(EntryPlace::of(seq, entry), Problem::Hash);
        Link::Doubted(computed)
    }

    fn read_body(&mut self, seq: u64, entry: &Entry) -> Option<Event> {
        let text = match &entry.body {
            Body::Kept { text, .. } => text,
            Body::Erased { .. } => {
                let erasures = self.erasures.entry(entry.stream.clone()).or_default();
                let body = ErasedBody { seq, is_eraser: entry.name == Erased::NAME };
                erasures.bodies.insert(entry.position, body);
                return None;
            }
        };
        match codec::decode(&entry.name, entry.version, text) {
            Ok(event) => {
                match &event {
                    Event::Erased(erased) => self.note_eraser(seq, entry, erased),
                    Event::Forked(forked) => {
                        self.forks.note(seq, entry, forked, &self.root_before_fork);
                    }
                    Event::Handoff(_)
                    | Event::Agent(_)
                    | Event::Token(_)
                    | Event::Message(_)
                    | Event::Conversation(_)
                    | Event::Teamspace(_)
                    | Event::Graph(_)
                    | Event::Subscription(_)
                    | Event::File(_)
                    | Event::Webhook(_)
                    | Event::Question(_)
                    | Event::Session(_) => {}
                }
                Some(event)
            }
            Err(error) => {
                self.find(EntryPlace::of(seq, entry), Problem::Unreadable(error.to_string()));
                None
            }
        }
    }

    fn note_eraser(&mut self, seq: u64, entry: &Entry, erased: &Erased) {
        let position = erased.position;
        let erasures = self.erasures.entry(entry.stream.clone()).or_default();
        erasures.named.push(position);
        if !erasures.bodies.contains_key(&position) {
            self.find(EntryPlace::of(seq, entry), Problem::NotErased { position });
        }
    }

    fn replay(
        &mut self,
        seq: u64,
        entry: &Entry,
        before: Option<Replayed>,
        event: Option<&Event>,
    ) -> Replayed {
        let state = match before {
            None => None,
            Some(Replayed::State(state)) => Some(*state),
            Some(Replayed::Unknown | Replayed::Settled | Replayed::Overrun) => {
                return Replayed::Unknown;
            }
        };
        // Without its event, the state of the stream is unknown.
        let Some(event) = event else { return Replayed::Unknown };
        match step::evolve(&entry.stream, state, event, entry.at) {
            Ok(state) => Replayed::State(Box::new(state)),
            Err(error) => {
                self.find(EntryPlace::of(seq, entry), Problem::History(error));
                Replayed::Unknown
            }
        }
    }

    /// The size of the largest checkpoint that holds. If one fails, all later ones fail too, so
    /// only the first is reported, and not even that if the cause is known already.
    fn check_roots(&mut self, mut by_size: Vec<&Checkpoint>) -> u64 {
        by_size.sort_by_key(|checkpoint| checkpoint.size);
        if let Some(largest) = by_size.last().map(|checkpoint| checkpoint.size)
            && largest > self.last_seq
        {
            let place = EntryPlace::Range { first: self.last_seq + 1, last: largest };
            self.find(place, Problem::CutOff { size: largest });
        }
        let mut sealed = 0;
        for Checkpoint { size, root, .. } in by_size {
            if *size > self.last_seq {
                break;
            }
            if self.root_at(*size) == Some(*root) {
                sealed = *size;
                continue;
            }
            if self.first_damage.is_none_or(|damage| damage > *size) {
                let place = EntryPlace::Range {
                    first: sealed.min(size.saturating_sub(1)) + 1,
                    last: *size,
                };
                self.find(place, Problem::Root { size: *size });
            }
            break;
        }
        sealed
    }

    /// The number of erased bodies with a recorded erasure; the others are findings. The entry that
    /// records an erasure can lose its own body. It then accounts for any body before it.
    fn check_erasures(&mut self) -> u64 {
        let mut n_erased = 0;
        for (stream, erasures) in std::mem::take(&mut self.erasures) {
            let is_named = |position: &u64| erasures.named.contains(position);
            let mut silent: Vec<u64> = erasures
                .bodies
                .iter()
                .filter(|(position, body)| body.is_eraser && is_named(position))
                .map(|(position, _)| *position)
                .collect();
            for (position, body) in erasures.bodies.iter().rev() {
                let stand_in = silent.last().is_some_and(|eraser| eraser > position);
                if is_named(position) {
                    n_erased += 1;
                } else if stand_in {
                    silent.pop();
                    n_erased += 1;
                } else {
                    let (stream, position) = (stream.clone(), *position);
                    let place = EntryPlace::Entry { seq: body.seq, stream, position };
                    self.find(place, Problem::BodyMissing);
                }
            }
        }
        n_erased
    }

    fn damage(&mut self, seq: u64) {
        self.first_damage = Some(self.first_damage.map_or(seq, |first| first.min(seq)));
    }

    fn find(&mut self, place: EntryPlace, problem: Problem) {
        self.n_findings += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding { place, problem });
        }
    }
}

/// How an entry is linked to the one before it.
#[derive(Clone, Copy)]
enum Link {
    Whole,
    /// Its hash is wrong; this is what it should be.
    Doubted(Hash),
    /// The entry before it is missing.
    Broken,
}

#[cfg(test)]
mod tests;
