//! A store in memory: the simplest implementation of the port's contract, except that nothing
//! outlives the process. For tests, simulations and trying things out.

mod lists;
mod outbox;
mod transfers;
mod waiting;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::future::ready;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use engine::ports::outbox::{Claim, Claimed, OutboxList, Outstanding};
use engine::ports::store::{
    Answer, Commit, CommitError, Committed, Count, Due, Entries, INBOX_COUNT_MAX, KeyScope, List,
    ListOf, Listed, Listener, OldestMessages, Receipt, RecordedOutcome, Sealed, Sequenced,
    Snapshot, Store, StoreError, StoreWrite, StoredNames, within_read,
};
use engine::ports::transfers::{TransferList, TransferRow};
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::{Body, GENESIS, Stream, Subject};
use protocol::message::Delivery;
use protocol::step::{Deadline, Document, Effect, HoldState, State};
use protocol::time::Time;

use crate::listeners::Listeners;
use crate::turns::{by_teamspace, take_turns};
use lists::is_listed;

#[derive(Debug, Clone, Default)]
pub struct Memory {
    tables: Arc<Mutex<Tables>>,
}

#[derive(Debug, Default)]
struct Tables {
    entries: Vec<Sequenced>,
    streams: BTreeMap<Stream, Row>,
    /// Streams in the order they were made; the index is the row number less one.
    order: Vec<Stream>,
    secrets: HashMap<String, Stream>,
    holds: BTreeMap<(TeamspaceId, String), HoldState>,
    /// Under the number of the entry that names them.
    documents: HashMap<u64, Document>,
    deadlines: BTreeMap<(Time, Stream, Cow<'static, str>), ()>,
    outbox: BTreeMap<(Stream, Effect), OutboxRow>,
    /// The numbers of the entries that are lines of a transcript, by their numbers in it.
    transcripts: HashMap<Stream, BTreeMap<u64, u64>>,
    transfers: transfers::Transfers,
    outcomes: HashMap<KeyScope, RecordedOutcome>,
    sealed: Option<Sealed>,
    places: HashMap<String, u64>,
    listeners: Listeners,
}

/// An effect that is not done yet.
#[derive(Debug)]
struct OutboxRow {
    due: Option<Time>,
    leased_until: Time,
    attempts: u32,
    error: Option<String>,
}

#[derive(Debug)]
struct Row {
    number: u64,
    /// The number of the entry that came with the current document, 0 when there is none.
    document_seq: u64,
    state: Arc<State>,
    snapshot: Snapshot,
}

impl Row {
    fn listed(&self, stream: &Stream) -> Listed {
        Listed {
            row: self.number,
            stream: stream.clone(),
            state_text: self.snapshot.state_text.clone(),
            position: self.snapshot.position,
            head: self.snapshot.head,
            last_seq: self.snapshot.last_seq,
            at: self.snapshot.at,
            mac: self.snapshot.mac,
        }
    }
}

impl Memory {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().expect("nothing panics while holding the tables")
    }
}

fn answer<T: Send + 'static>(value: T) -> Answer<T> {
    Box::pin(ready(Ok(value)))
}

fn texts<T: ToString>(names: Vec<T>) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

impl Store for Memory {
    fn commit(&self, commit: Commit) -> Receipt {
        self.commit_together(vec![commit])
    }

    fn commit_together(&self, commits: Vec<Commit>) -> Receipt {
        let mut tables = self.tables();
        let n_before = tables.entries.len();
        let result = tables.commit_together(commits);
        // Under the lock, so that listeners are told of entries in order.
        tables.listeners.tell(tables.entries[n_before..].to_vec());
        Box::pin(ready(result))
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        self.tables().listeners.add(listener);
    }

    fn write(&self, write: StoreWrite) -> Answer<()> {
        match write {
            StoreWrite::Seal(sealed) => self.tables().sealed = Some(sealed),
            StoreWrite::Place { follower, seq } => {
                self.tables().places.insert(follower, seq);
            }
            StoreWrite::Outbox(write) => self.tables().write_outbox(write),
            StoreWrite::Trial => {}
        }
        answer(())
    }

    fn sealed(&self) -> Answer<Option<Sealed>> {
        answer(self.tables().sealed.clone())
    }

    fn place(&self, follower: &str) -> Answer<u64> {
        answer(self.tables().places.get(follower).copied().unwrap_or(0))
    }

    fn load(&self, stream: &Stream) -> Answer<Option<Snapshot>> {
        answer(self.tables().streams.get(stream).map(|row| row.snapshot.clone()))
    }

    fn token_stream(&self, secret_hash: &str) -> Answer<Option<Stream>> {
        answer(self.tables().secrets.get(secret_hash).cloned())
    }

    fn hold(&self, teamspace: &TeamspaceId, key: &str) -> Answer<HoldState> {
        answer(self.tables().hold(teamspace, key))
    }

    fn names(&self, of: StoredNames, limit: usize) -> Answer<Vec<String>> {
        let tables = self.tables();
        answer(match of {
            StoredNames::Held { teamspace, prefix } => tables.held(&teamspace, &prefix, limit),
            StoredNames::WaitingQueues { teamspace, after } => {
                texts(tables.waiting_queues(&teamspace, after.as_ref(), limit))
            }
            StoredNames::CallingQueues { teamspace, after } => {
                texts(tables.calling_queues(&teamspace, after.as_ref(), limit))
            }
            StoredNames::Teamspaces { after } => texts(tables.teamspaces(after.as_ref(), limit)),
        })
    }

    fn transfers(&self, list: TransferList) -> Answer<Vec<TransferRow>> {
        answer(self.tables().transfers.list(&list))
    }

    fn last_rings(
        &self,
        teamspace: &TeamspaceId,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Answer<Vec<(AgentId, Time)>> {
        answer(self.tables().transfers.last_rings(teamspace, after, limit))
    }

    fn document(&self, stream: &Stream, hash: &str) -> Answer<Option<String>> {
        let tables = self.tables();
        let row = tables.streams.get(stream);
        let document = row.and_then(|row| tables.documents.get(&row.document_seq));
        answer(document.filter(|document| document.hash == hash).map(|found| found.text.clone()))
    }

    fn document_bytes(&self, seq: u64) -> Answer<u64> {
        let tables = self.tables();
        answer(tables.documents.get(&seq).map_or(0, |document| document.text.len() as u64))
    }

    fn outcome(&self, scope: &KeyScope) -> Answer<Option<RecordedOutcome>> {
        answer(self.tables().outcomes.get(scope).cloned())
    }

    fn read_entries(&self, of: Entries, limit: usize) -> Answer<Vec<Sequenced>> {
        let tables = self.tables();
        let entries = &tables.entries;
        let found: Vec<&Sequenced> = match of {
            Entries::After(after) => {
                let skip = usize::try_from(after).unwrap_or(usize::MAX);
                entries.iter().skip(skip).take(limit).collect()
            }
            Entries::Of { stream, before } => {
                let is_of =
                    |one: &&Sequenced| one.entry.stream == stream && one.entry.position < before;
                entries.iter().rev().filter(is_of).take(limit).collect()
            }
            Entries::From { stream, position } => {
                let is_of =
                    |one: &&Sequenced| one.entry.stream == stream && one.entry.position >= position;
                entries.iter().filter(is_of).take(limit).collect()
            }
            Entries::Lines { stream, after } => {
                let above = (Bound::Excluded(after), Bound::Unbounded);
                let lines = tables.transcripts.get(&stream).into_iter();
                let seqs = lines.flat_map(|lines| lines.range(above)).take(limit);
                seqs.map(|(_, seq)| &entries[*seq as usize - 1]).collect()
            }
        };
        answer(within_read::<Infallible>(found.into_iter().cloned().map(Ok)).unwrap_or_default())
    }

    fn count(&self, teamspace: &TeamspaceId, of: Count) -> Answer<usize> {
        let tables = self.tables();
        answer(match of {
            Count::Inbox { agent, status } => tables.n_in_inbox(teamspace, &agent, status),
            Count::Waiting { queue, before } => tables.n_waiting_in(teamspace, &queue, before),
        })
    }

    fn newest(&self) -> Answer<u64> {
        answer(self.tables().newest())
    }

    fn due(&self, now: Time, limit: usize) -> Answer<Vec<Due>> {
        let tables = self.tables();
        let due = tables.deadlines.keys().take_while(|(due, _, _)| *due <= now);
        let due = due.map(|(at, stream, name)| Due {
            stream: stream.clone(),
            deadline: Deadline { name: name.clone(), due: *at },
        });
        let mut due: Vec<Due> = due.collect();
        // Deadlines of the same moment come in the same order as in other stores.
        due.sort_by_cached_key(|Due { stream, deadline }| {
            let subject = stream.subject.to_string();
            (deadline.due, stream.teamspace.clone(), subject, deadline.name.clone())
        });
        if due.len() > limit {
            due = take_turns(by_teamspace(due), limit);
        }
        answer(due)
    }

    fn list(&self, list: List) -> Answer<Vec<Listed>> {
        let tables = self.tables();
        if let ListOf::Waiting { queue, after } = &list.of {
            return answer(tables.waiting_listed(&list.teamspace, queue, *after, list.limit));
        }
        if let ListOf::Callbacks { queue } = &list.of {
            return answer(tables.callbacks_listed(&list.teamspace, queue, list.limit));
        }
        let before = list.before.unwrap_or(u64::MAX);
        let rows = tables.order.iter().rev().filter_map(|stream| {
            let row = &tables.streams[stream];
            let matches = stream.teamspace == list.teamspace
                && row.number < before
                && is_listed(&list.of, &row.state);
            matches.then(|| row.listed(stream))
        });
        answer(rows.take(list.limit).collect())
    }

    fn oldest_messages(&self, oldest: OldestMessages) -> Answer<Vec<Listed>> {
        let tables = self.tables();
        let rows = tables.order.iter().filter_map(|stream| {
            let row = &tables.streams[stream];
            let is_message = matches!(row.state.as_ref(), State::Message(it) if !it.purged);
            let is_of = |teamspace: &TeamspaceId| stream.teamspace == *teamspace;
            let matches = is_message
                && row.number > oldest.after
                && oldest.teamspace.as_ref().is_none_or(is_of);
            matches.then(|| row.listed(stream))
        });
        answer(rows.take(oldest.limit).collect())
    }

    fn claim(&self, claim: Claim) -> Answer<Vec<Claimed>> {
        answer(self.tables().claim(&claim))
    }

    fn outstanding(
        &self,
        teamspace: &TeamspaceId,
        list: OutboxList,
        limit: usize,
    ) -> Answer<Vec<Outstanding>> {
        let tables = self.tables();
        let of_teamspace = tables.outbox.iter().filter(|((stream, _), row)| {
            let is_listed = list == OutboxList::All || row.due.is_none();
            stream.teamspace == *teamspace && is_listed
        });
        let shown = of_teamspace.take(limit).map(|((stream, effect), lying)| Outstanding {
            stream: stream.clone(),
            effect: effect.clone(),
            due: lying.due,
            leased_until: lying.leased_until,
            attempts: lying.attempts,
            error: lying.error.clone(),
        });
        answer(shown.collect())
    }
}

impl Tables {
    fn newest(&self) -> u64 {
        self.entries.len() as u64
    }

    fn n_in_inbox(&self, teamspace: &TeamspaceId, agent: &AgentId, status: Delivery) -> usize {
        let in_teamspace = self.streams.iter().filter(|(of, _)| of.teamspace == *teamspace);
        let is_counted = |row: &Row| match row.state.as_message() {
            Some(it) => !it.purged && it.recipients.get(agent) == Some(&status),
            None => false,
        };
        let n = in_teamspace.filter(|(_, row)| is_counted(row)).count();
        n.min(INBOX_COUNT_MAX)
    }

    fn held(&self, teamspace: &TeamspaceId, prefix: &str, limit: usize) -> Vec<String> {
        let from = self.holds.range((teamspace.clone(), prefix.to_owned())..);
        let begin = from.take_while(|((of, key), _)| of == teamspace && key.starts_with(prefix));
        let occupied = begin.filter(|(_, state)| state.holder.is_some());
        occupied.take(limit).map(|((_, key), _)| key.clone()).collect()
    }

    fn teamspaces(&self, after: Option<&TeamspaceId>, limit: usize) -> Vec<TeamspaceId> {
        let counts = |subject: &Subject| match subject {
            Subject::Agent(_)
            | Subject::Token(_)
            | Subject::Teamspace
            | Subject::Graph(_)
            | Subject::Subscription(_)
            | Subject::Session(_)
            | Subject::File(_)
            | Subject::Question(_)
            | Subject::Webhook(_)
            | Subject::Ledger => true,
            Subject::Handoff(_) | Subject::Message(_) | Subject::Conversation(_) => false,
        };
        let named = self.streams.keys().filter(|stream| counts(&stream.subject));
        let names: BTreeSet<_> = named.map(|stream| &stream.teamspace).collect();
        let wanted = names.into_iter().filter(|name| after.is_none_or(|after| *name > after));
        wanted.take(limit).cloned().collect()
    }

    fn hold(&self, teamspace: &TeamspaceId, key: &str) -> HoldState {
        let key = (teamspace.clone(), key.to_owned());
        self.holds.get(&key).cloned().unwrap_or_default()
    }

    /// Everything is compared before anything is written.
    fn commit_together(&mut self, commits: Vec<Commit>) -> Result<Committed, CommitError> {
        let mut written = BTreeMap::new();
        for commit in &commits {
            self.check(commit, &written)?;
            for hold in &commit.holds {
                written.insert(hold.key.clone(), hold.next.clone());
            }
        }
        for commit in commits {
            self.write(commit);
        }
        Ok(Committed { last_seq: self.newest() })
    }

    fn write(&mut self, commit: Commit) {
        let stream = commit.stream.clone();
        for hold in commit.holds.into_iter().filter(|hold| hold.next != hold.expected) {
            self.holds.insert((stream.teamspace.clone(), hold.key), hold.next);
        }
        for deadline in commit.disarm {
            self.deadlines.remove(&(deadline.due, stream.clone(), deadline.name));
        }
        for deadline in commit.arm {
            self.deadlines.insert((deadline.due, stream.clone(), deadline.name), ());
        }
        for effect in commit.end {
            self.outbox.remove(&(stream.clone(), effect));
        }
        for effect in commit.begin {
            let due = commit.entries.last().map(|entry| entry.at);
            let leased_until = Time::from_millis(0);
            let lying = OutboxRow { due, leased_until, attempts: 0, error: None };
            self.outbox.insert((stream.clone(), effect), lying);
        }
        if let Some(key) = commit.key {
            self.outcomes.insert(key.scope, key.recorded);
        }
        if let State::Token(token) = commit.state.as_ref() {
            self.secrets.insert(token.secret_hash.clone(), stream.clone());
        }
        if let Some(position) = commit.erase {
            self.erase(&stream, position);
        }
        for line in commit.transcript {
            let seq = self.newest() + 1 + line.event as u64;
            self.transcripts.entry(stream.clone()).or_default().insert(line.number, seq);
        }
        let last = commit.entries.last().expect("a commit has entries").clone();
        for entry in commit.entries {
            let seq = self.newest() + 1;
            self.transfers.apply(seq, &entry);
            self.entries.push(Sequenced { seq, entry });
        }
        let (number, mut document_seq) = match self.streams.get(&stream) {
            Some(row) => (row.number, row.document_seq),
            None => {
                self.order.push(stream.clone());
                (self.order.len() as u64, 0)
            }
        };
        if let State::Graph(_) | State::Subscription(_) = commit.state.as_ref() {
            // The document of a graph or a subscription is that of its last entry, or none.
            document_seq = 0;
        }
        if let Some(document) = commit.document {
            document_seq = self.newest();
            self.documents.insert(document_seq, document);
        }
        let snapshot = Snapshot {
            state_text: commit.state_text,
            position: last.position,
            head: last.hash,
            at: last.at,
            last_seq: self.newest(),
            mac: commit.mac,
        };
        self.streams.insert(stream, Row { number, document_seq, state: commit.state, snapshot });
    }

    /// `written`: the holds as the commits before this one leave them.
    fn check(
        &self,
        commit: &Commit,
        written: &BTreeMap<String, HoldState>,
    ) -> Result<(), CommitError> {
        if let Some(key) = &commit.key
            && let Some(recorded) = self.outcomes.get(&key.scope)
        {
            return Err(CommitError::KeyUsed(recorded.clone()));
        }
        let row = self.streams.get(&commit.stream);
        let (position, head) =
            row.map_or((0, GENESIS), |row| (row.snapshot.position, row.snapshot.head));
        if (position, head) != (commit.expected_position, commit.expected_head) {
            return Err(CommitError::Moved);
        }
        for hold in &commit.holds {
            let stored = || self.hold(&commit.stream.teamspace, &hold.key);
            let current = written.get(&hold.key).cloned().unwrap_or_else(stored);
            if current != hold.expected {
                return Err(CommitError::HoldTaken { key: hold.key.clone(), current });
            }
        }
        if let Some(position) = commit.erase
            && (position == 0 || position > commit.expected_position)
        {
            return Err(StoreError::Corrupt("no such position to erase".to_owned()).into());
        }
        Ok(())
    }

    fn erase(&mut self, stream: &Stream, position: u64) {
        let found = self.entries.iter_mut().find(|sequenced| {
            sequenced.entry.stream == *stream && sequenced.entry.position == position
        });
        if let Some(sequenced) = found {
            let commitment = sequenced.entry.body.commitment();
            sequenced.entry.body = Body::Erased { commitment };
            self.documents.remove(&sequenced.seq);
        }
    }
}
