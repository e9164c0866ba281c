//! Reading the ledger with suspicion. The auditor is handed every entry in order, and recomputes
//! what the entries claim: the sequence, the positions and the chain of each stream, the commitment
//! of each body, the Merkle root at each checkpoint, and that each event follows from those before.
//!
//! It does not know where the entries come from, and it does not stop at the first finding: one
//! damaged entry should not hide another. It keeps one small record per stream, and the states of
//! the streams only when it replays.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crate::canonical::Hash;
use crate::checkpoint::Checkpoint;
use crate::codec;
use crate::ledger::{Body, Entry, Erased, GENESIS, Stream};
use crate::merkle::Edge;
use crate::step::{self, BadHistory, Event, State};

/// More findings than this are counted and not kept: whoever reads a hundred needs no more, and a
/// ledger that is not ours would make millions.
pub const FINDINGS_MAX: usize = 100;

/// Whether the states are computed too. It costs the memory of every state that is not settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    States,
    Nothing,
}

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub place: Place,
    pub problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// An entry that is there.
    Entry { seq: u64, stream: Stream, position: u64 },
    /// Entries that are not there or cannot be read, or of which one is wrong.
    Range { first: u64, last: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("missing")]
    Missing,
    #[error("out of order, entry {expected} belongs here")]
    OutOfOrder { expected: u64 },
    #[error("at the wrong position of its stream, {expected} comes next")]
    Position { expected: u64 },
    #[error("the hash does not follow from the content and the entry before")]
    Hash,
    #[error("the body is missing, and no entry says that it was erased")]
    BodyMissing,
    #[error("says that the body at position {position} was erased, but it was not")]
    NotErased { position: u64 },
    #[error("cannot be read: {0}")]
    Unreadable(String),
    #[error(transparent)]
    History(BadHistory),
    #[error("the snapshot of the stream stands at an earlier entry")]
    AfterSnapshot,
    #[error("changed, added or moved after the first {size} entries were sealed")]
    Root { size: u64 },
    #[error("missing, although the first {size} entries were sealed")]
    CutOff { size: u64 },
}

/// The verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub n_entries: u64,
    /// Entries below the largest checkpoint that holds.
    pub n_sealed: u64,
    pub n_unsealed: u64,
    /// Bodies that were erased on the record.
    pub n_erased: u64,
    /// The first of them, in the order they were noticed.
    pub findings: Vec<Finding>,
    pub n_findings: u64,
}

/// Where a stream ends, as far as the entries went.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    pub seq: u64,
    pub position: u64,
    pub hash: Hash,
    /// `None` when it cannot be known: a body was erased or could not be read.
    pub state: Option<Box<State>>,
}

#[derive(Debug)]
pub struct Auditor {
    replay: Replay,
    edge: Edge,
    /// The roots at the sizes that somebody will ask about.
    roots: BTreeMap<u64, Option<Hash>>,
    last_seq: u64,
    /// The first place where the leaves are known to differ from what was sealed.
    first_damage: Option<u64>,
    streams: HashMap<Stream, Head>,
    erasures: HashMap<Stream, Erasures>,
    findings: Vec<Finding>,
    n_findings: u64,
}

#[derive(Debug)]
struct Head {
    seq: u64,
    position: u64,
    hash: Hash,
    /// The hash that the last entry should have had, when it has another: if that hash itself was
    /// edited, the next entry still follows from this one and is not to blame.
    doubted: Option<Hash>,
    replayed: Replayed,
}

#[derive(Debug)]
enum Replayed {
    State(Box<State>),
    Unknown,
    /// Whoever keeps snapshots compared and took it; no entry should follow.
    Settled,
    /// One did.
    Overrun,
}

/// The erased bodies of one stream, and what accounts for them.
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
            roots,
            last_seq: 0,
            first_damage: None,
            streams: HashMap::new(),
            erasures: HashMap::new(),
            findings: Vec::new(),
            n_findings: 0,
        }
    }

    /// The next entry. Returns its event, when it has a body that can be read.
    pub fn push(&mut self, seq: u64, entry: &Entry) -> Option<Event> {
        self.check_sequence(seq, Some(entry));
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
        let doubted = match link {
            Link::Doubted(computed) => Some(computed),
            Link::Whole | Link::Broken => None,
        };
        let (position, hash) = (entry.position, entry.hash);
        self.streams.insert(stream, Head { seq, position, hash, doubted, replayed });
        event
    }

    /// An entry of which nothing but its number is known.
    pub fn push_unreadable(&mut self, seq: u64, problem: String) {
        self.check_sequence(seq, None);
        self.damage(seq);
        self.add_leaf(&GENESIS);
        let place = Place::Range { first: seq, last: seq };
        self.find(place, Problem::Unreadable(problem));
    }

    /// The number of the stream's last entry so far; 0 when it has none.
    pub fn last_seq_of(&self, stream: &Stream) -> u64 {
        self.streams.get(stream).map_or(0, |head| head.seq)
    }

    /// The end of a stream, for whoever has a snapshot to compare it with. An entry of the stream
    /// that comes later is a finding, and the state is forgotten.
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

    /// Compares with the checkpoints, whose signatures the caller has checked.
    pub fn finish(mut self, checkpoints: &[Checkpoint]) -> Report {
        let n_sealed = self.check_roots(checkpoints);
        let n_erased = self.check_erasures();
        let n_entries = self.edge.size();
        Report {
            n_entries,
            n_sealed,
            n_unsealed: n_entries.saturating_sub(n_sealed),
            n_erased,
            findings: self.findings,
            n_findings: self.n_findings,
        }
    }

    fn check_sequence(&mut self, seq: u64, entry: Option<&Entry>) {
        let expected = self.last_seq.saturating_add(1);
        if seq > expected {
            self.damage(expected);
            self.find(Place::Range { first: expected, last: seq - 1 }, Problem::Missing);
        }
        if seq < expected {
            self.damage(seq);
            let place = match entry {
                Some(entry) => Place::of(seq, entry),
                None => Place::Range { first: seq, last: seq },
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
            self.find(Place::of(seq, entry), Problem::AfterSnapshot);
        }
        let expected = before.map_or(0, |head| head.position).saturating_add(1);
        if entry.position != expected {
            self.damage(seq);
            self.find(Place::of(seq, entry), Problem::Position { expected });
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
        self.find(Place::of(seq, entry), Problem::Hash);
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
                if let Event::Erased(erased) = &event {
                    self.note_eraser(seq, entry, erased);
                }
                Some(event)
            }
            Err(error) => {
                self.find(Place::of(seq, entry), Problem::Unreadable(error.to_string()));
                None
            }
        }
    }

    fn note_eraser(&mut self, seq: u64, entry: &Entry, erased: &Erased) {
        let position = erased.position;
        let erasures = self.erasures.entry(entry.stream.clone()).or_default();
        erasures.named.push(position);
        if !erasures.bodies.contains_key(&position) {
            self.find(Place::of(seq, entry), Problem::NotErased { position });
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
        // Without its event nobody knows what a stream went through.
        let Some(event) = event else { return Replayed::Unknown };
        match step::evolve(&entry.stream, state, event, entry.at) {
            Ok(state) => Replayed::State(Box::new(state)),
            Err(error) => {
                self.find(Place::of(seq, entry), Problem::History(error));
                Replayed::Unknown
            }
        }
    }

    /// The size of the largest checkpoint that holds. Once one does not, none after it can, so only
    /// the first is reported, and not even that if the reason is known already.
    fn check_roots(&mut self, checkpoints: &[Checkpoint]) -> u64 {
        let mut by_size: Vec<&Checkpoint> = checkpoints.iter().collect();
        by_size.sort_by_key(|checkpoint| checkpoint.size);
        if let Some(largest) = by_size.last().map(|checkpoint| checkpoint.size)
            && largest > self.last_seq
        {
            let place = Place::Range { first: self.last_seq + 1, last: largest };
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
                let place =
                    Place::Range { first: sealed.min(size.saturating_sub(1)) + 1, last: *size };
                self.find(place, Problem::Root { size: *size });
            }
            break;
        }
        sealed
    }

    /// The number of erased bodies that the record accounts for; the others are findings. An entry
    /// that records an erasure can lose its own body: then it may stand for any body before it.
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
                    let place = Place::Entry { seq: body.seq, stream, position };
                    self.find(place, Problem::BodyMissing);
                }
            }
        }
        n_erased
    }

    fn damage(&mut self, seq: u64) {
        self.first_damage = Some(self.first_damage.map_or(seq, |first| first.min(seq)));
    }

    fn find(&mut self, place: Place, problem: Problem) {
        self.n_findings += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding { place, problem });
        }
    }
}

/// How an entry hangs on the one before it.
#[derive(Clone, Copy)]
enum Link {
    Whole,
    /// Its hash is wrong; this is what it should be.
    Doubted(Hash),
    /// The entry before it is not there.
    Broken,
}

impl Place {
    pub fn of(seq: u64, entry: &Entry) -> Place {
        Place::Entry { seq, stream: entry.stream.clone(), position: entry.position }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Entry { seq, stream, position } => {
                let Stream { teamspace, subject } = stream;
                write!(f, "entry {seq} ({subject} in {teamspace}, position {position})")
            }
            Place::Range { first, last } if first == last => write!(f, "entry {first}"),
            Place::Range { first, last } => write!(f, "entries {first} to {last}"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::canonical;
    use crate::ledger::Subject;
    use crate::time::Time;

    #[test]
    fn a_ledger_as_it_was_written_has_no_findings() {
        let ledger = ledger();
        let report = audit(&ledger, &[checkpoint(&ledger, 0), checkpoint(&ledger, 6)]);
        assert_eq!(report.findings, []);
        assert_eq!((report.n_entries, report.n_sealed, report.n_unsealed), (8, 6, 2));
    }

    #[test]
    fn each_kind_of_damage_is_named() {
        check(
            "entry 5 (agent/b in default, position 2): the hash does not follow from the content \
               and the entry before",
            |ledger| {
                ledger[4].1.body = kept(r#"{"kind":"worker","profile":{"name":"other"}}"#);
            },
        );
        check(
            "entry 4 (agent/a in default, position 2): the hash does not follow from the content \
               and the entry before",
            |ledger| ledger[3].1.hash[7] ^= 1,
        );
        check(
            "entry 1 (agent/a in default, position 1): the hash does not follow from the content \
               and the entry before",
            |ledger| ledger[0].1.actor.push('x'),
        );
        check(
            "entry 4: missing\n\
             entry 7 (agent/a in default, position 3): at the wrong position of its stream, 2 \
             comes next",
            |ledger| drop(ledger.remove(3)),
        );
        check(
            "entry 4: missing\n\
             entry 4 (agent/a in default, position 2): out of order, entry 6 belongs here",
            |ledger| ledger.swap(3, 4),
        );
        check("entries 7 to 8: missing, although the first 8 entries were sealed", |ledger| {
            ledger.truncate(6)
        });
        check(
            "entry 5 (agent/b in default, position 2): the body is missing, and no entry says \
             that it was erased",
            |ledger| erase(&mut ledger[4].1),
        );
    }

    #[test]
    fn what_was_recomputed_to_the_end_does_not_fit_the_checkpoints() {
        let sealed = ledger();
        let checkpoints = [checkpoint(&sealed, 3), checkpoint(&sealed, 6), checkpoint(&sealed, 8)];
        let mut edited = ledger();
        edited[4].1.body = kept(r#"{"kind":"worker","profile":{"name":"other"}}"#);
        rechain(&mut edited);
        let report = audit(&edited, &checkpoints);
        let expected = "entries 4 to 6: changed, added or moved after the first 6 entries were \
                        sealed";
        assert_eq!(text(&report), expected);
        assert_eq!(report.n_sealed, 3);

        let mut renumbered = ledger();
        renumbered.remove(4);
        (1..).zip(&mut renumbered).for_each(|(seq, entry)| entry.0 = seq);
        rechain(&mut renumbered);
        let report = audit(&renumbered, &checkpoints);
        assert!(text(&report).starts_with("entry 8: missing, although the first 8"), "{report:?}");
    }

    #[test]
    fn an_erasure_on_the_record_is_no_damage() {
        let mut ledger = ledger();
        erase(&mut ledger[4].1);
        append(&mut ledger, "b", Erased::NAME, r#"{"position":2,"reason":"asked"}"#);
        let report = audit(&ledger, &[]);
        assert_eq!((text(&report).as_str(), report.n_erased), ("", 1));

        // The record of an erasure may be erased itself.
        erase(&mut ledger[8].1);
        let recorded = Problem::BodyMissing;
        assert_eq!(audit(&ledger, &[]).findings.first().map(|f| f.problem.clone()), Some(recorded));
        append(&mut ledger, "b", Erased::NAME, r#"{"position":4,"reason":"asked"}"#);
        let report = audit(&ledger, &[]);
        assert_eq!((text(&report).as_str(), report.n_erased), ("", 2));
    }

    #[test]
    fn a_claim_to_have_erased_is_checked() {
        let mut ledger = ledger();
        append(&mut ledger, "b", Erased::NAME, r#"{"position":2,"reason":"asked"}"#);
        let expected = "entry 9 (agent/b in default, position 4): says that the body at position \
                        2 was erased, but it was not";
        assert_eq!(text(&audit(&ledger, &[])), expected);
    }

    #[test]
    fn events_must_be_readable_and_follow() {
        let mut ledger = ledger();
        append(&mut ledger, "a", "agent.retired", "{}");
        append(&mut ledger, "b", "agent.registered", r#"{"kind":"human","profile":{}}"#);
        let expected = "entry 9 (agent/a in default, position 4): cannot be read: cannot read \
                        event agent.retired version 1: no event of this name is known\n\
                        entry 10 (agent/b in default, position 4): event agent.registered does \
                        not follow from the events before it";
        assert_eq!(text(&audit(&ledger, &[])), expected);
    }

    #[test]
    fn a_settled_stream_must_not_go_on() {
        for (settled_at, n_unsettled, expected) in [
            (6, 2, ""),
            (
                5,
                2,
                "entry 6 (agent/b in default, position 3): the snapshot of the stream stands at \
                 an earlier entry",
            ),
        ] {
            let mut auditor = Auditor::new(Replay::States, []);
            for (seq, entry) in &ledger() {
                auditor.push(*seq, entry);
                if *seq == settled_at {
                    let end = auditor.settle(&entry.stream).unwrap();
                    assert_eq!((end.seq, end.hash), (settled_at, entry.hash));
                    assert_eq!(end.position, settled_at - 3);
                    assert!(end.state.is_some());
                }
            }
            assert_eq!(auditor.unsettled().count(), n_unsettled);
            assert_eq!(text(&auditor.finish(&[])), expected);
        }
    }

    #[test]
    fn findings_are_counted_beyond_those_that_are_kept() {
        let mut auditor = Auditor::new(Replay::Nothing, []);
        (1..=500).for_each(|seq| auditor.push_unreadable(seq, "not a row".to_owned()));
        let report = auditor.finish(&[]);
        assert_eq!((report.findings.len(), report.n_findings), (FINDINGS_MAX, 500));
    }

    proptest! {
        /// Whatever is done to one entry, it is found, and nothing before it is blamed.
        #[test]
        fn any_edit_is_found_where_it_was_made(index in 0usize..8, edit in 0usize..7) {
            let mut ledger = ledger();
            let checkpoint = checkpoint(&ledger, 8);
            let entry = &mut ledger[index].1;
            match edit {
                0 => entry.hash[index] ^= 0x80,
                1 => entry.name.push('x'),
                2 => entry.at = Time::from_millis(entry.at.as_millis() + 1),
                3 => entry.position += 1,
                4 => entry.version += 1,
                5 => entry.stream.subject = Subject::Agent("z".parse().unwrap()),
                _ => erase(entry),
            }
            let report = audit(&ledger, &[checkpoint]);
            let first = report.findings.first().map(|finding| match &finding.place {
                Place::Entry { seq, .. } => *seq,
                Place::Range { first, .. } => *first,
            });
            prop_assert_eq!(first, Some(index as u64 + 1));
        }

        #[test]
        fn any_numbers_are_answered(
            seqs in prop::collection::vec(numbers(), 0..20), size in numbers()
        ) {
            let ledger = ledger();
            let mut auditor = Auditor::new(Replay::States, [size]);
            for (seq, (_, entry)) in seqs.iter().zip(&ledger) {
                auditor.push(*seq, &Entry { position: *seq, ..entry.clone() });
            }
            let root = [0; 32];
            auditor.finish(&[Checkpoint { origin: "o".to_owned(), size, root }]);
        }
    }

    fn numbers() -> impl Strategy<Value = u64> {
        prop_oneof![0..4u64, any::<u64>(), Just(u64::MAX)]
    }

    /// Three agents, registered again with other profiles; eight entries.
    fn ledger() -> Vec<(u64, Entry)> {
        let mut ledger = Vec::new();
        for (index, agent) in ["a", "b", "b", "a", "b", "b", "a", "c"].iter().enumerate() {
            let agent = if index == 2 { "c" } else { agent };
            let body = format!(r#"{{"kind":"worker","profile":{{"name":"{agent}{index}"}}}}"#);
            append(&mut ledger, agent, "agent.registered", &body);
        }
        ledger
    }

    fn append(ledger: &mut Vec<(u64, Entry)>, agent: &str, name: &str, body: &str) {
        let subject = Subject::Agent(agent.parse().unwrap());
        let teamspace = crate::ids::TeamspaceId::default_teamspace();
        let stream = Stream { teamspace, subject };
        let last = ledger.iter().rfind(|(_, entry)| entry.stream == stream);
        let (position, previous) =
            last.map_or((0, GENESIS), |(_, entry)| (entry.position, entry.hash));
        let entry = Entry {
            stream,
            position: position + 1,
            name: name.to_owned(),
            version: 1,
            actor: "operator:root".to_owned(),
            at: Time::from_millis(1_771_682_400_000),
            body: kept(body),
            hash: GENESIS,
        };
        ledger.push((ledger.len() as u64 + 1, entry.chained(&previous)));
    }

    fn kept(text: &str) -> Body {
        Body::Kept { salt: [3; 16], text: text.to_owned() }
    }

    fn erase(entry: &mut Entry) {
        entry.body = Body::Erased { commitment: entry.body.commitment() };
    }

    /// What somebody does who can write everything but has no key.
    fn rechain(ledger: &mut [(u64, Entry)]) {
        let mut heads: HashMap<Stream, (u64, Hash)> = HashMap::new();
        for (_, entry) in ledger {
            let head = heads.entry(entry.stream.clone()).or_insert((0, GENESIS));
            entry.position = head.0 + 1;
            *entry = entry.clone().chained(&head.1);
            *head = (entry.position, entry.hash);
        }
    }

    fn checkpoint(ledger: &[(u64, Entry)], size: usize) -> Checkpoint {
        let mut edge = Edge::empty();
        ledger[..size].iter().for_each(|(_, entry)| edge.push(&entry.hash));
        Checkpoint { origin: "tasuki".to_owned(), size: size as u64, root: edge.root() }
    }

    fn audit(ledger: &[(u64, Entry)], checkpoints: &[Checkpoint]) -> Report {
        let sizes = checkpoints.iter().map(|checkpoint| checkpoint.size);
        let mut auditor = Auditor::new(Replay::States, sizes);
        for (seq, entry) in ledger {
            auditor.push(*seq, entry);
        }
        auditor.finish(checkpoints)
    }

    fn text(report: &Report) -> String {
        let lines: Vec<String> = report.findings.iter().map(Finding::to_string).collect();
        lines.join("\n")
    }

    /// Damages a sealed ledger and compares the findings.
    fn check(expected: &str, damage: impl FnOnce(&mut Vec<(u64, Entry)>)) {
        let mut ledger = ledger();
        let checkpoint = checkpoint(&ledger, ledger.len());
        damage(&mut ledger);
        let report = audit(&ledger, &[checkpoint]);
        assert_eq!(text(&report), expected, "{}", canonical::hex(&ledger[0].1.hash));
    }
}
