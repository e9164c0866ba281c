//! What happened to transfers, and when each person was last rung, compared with the entries.

use std::collections::{HashMap, HashSet};

use engine::ports::store::{Sequenced, StoreError};
use protocol::conversation::event::Event as ConversationEvent;
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::{Entry, Stream};
use protocol::step::Event;
use protocol::time::Time;
use protocol::transfer::record::{is_of_transfer, recorded};
use protocol::transfer::{Event as TransferEvent, Record};
use store::sqlite::{ReadOnly, StoredTransfer, TransferColumns, TransferEntries};

use super::report::Findings;

/// Rows of one read.
const PAGE_ROWS_MAX: usize = 512;

/// The transfers as the entries tell of them, as far as they were read.
#[derive(Debug)]
pub struct Transfers<'d> {
    database: &'d ReadOnly,
    /// The last transfer of each conversation.
    last: HashMap<Stream, Known>,
    last_rings: HashMap<(TeamspaceId, AgentId), Time>,
    /// Conversations of which an entry about a transfer was erased. What that said is not known
    /// any more, though the rows may tell.
    erased: HashSet<Stream>,
    n_transfers: u64,
}

#[derive(Debug)]
struct Known {
    /// The entry that requested it.
    seq: u64,
    record: Record,
}

impl<'d> Transfers<'d> {
    pub fn of(database: &'d ReadOnly) -> Self {
        Self {
            database,
            last: HashMap::new(),
            last_rings: HashMap::new(),
            erased: HashSet::new(),
            n_transfers: 0,
        }
    }

    /// The next entry. When a conversation begins another transfer, the one before is compared.
    pub fn check(
        &mut self,
        seq: u64,
        entry: &Entry,
        event: Option<&Event>,
        findings: &mut Findings,
    ) -> Result<(), StoreError> {
        if !is_of_transfer(&entry.name) {
            return Ok(());
        }
        let Some(Event::Conversation(ConversationEvent::Transfer(event))) = event else {
            self.erased.insert(entry.stream.clone());
            self.n_transfers += u64::from(&*entry.name == REQUESTED);
            return Ok(());
        };
        if let TransferEvent::Ringing(ringing) = event {
            let key = (entry.stream.teamspace.clone(), ringing.agent.clone());
            let last = self.last_rings.entry(key).or_insert(entry.at);
            *last = entry.at.max(*last);
        }
        if let TransferEvent::Requested(requested) = event {
            self.n_transfers += 1;
            let record = Record::requested(requested, entry.at);
            let before = self.last.insert(entry.stream.clone(), Known { seq, record });
            return match before {
                Some(before) => self.compare(&entry.stream, &before, findings),
                None => Ok(()),
            };
        }
        let known = self.last.get_mut(&entry.stream);
        if let Some(known) = known.filter(|known| known.record.transfer == event.transfer()) {
            known.record.apply(event, &entry.actor, entry.at);
        }
        Ok(())
    }

    /// After the last entry: every transfer must have its row, and every row a transfer.
    pub fn finish(mut self, findings: &mut Findings) -> Result<(), StoreError> {
        for (stream, known) in std::mem::take(&mut self.last) {
            self.compare(&stream, &known, findings)?;
        }
        let (mut after, mut n_rows) = (i64::MIN, 0);
        loop {
            let page = self.database.transfer_rows(after, PAGE_ROWS_MAX)?;
            let Some(last) = page.last() else { break };
            (after, n_rows) = (last.row, n_rows + page.len() as u64);
        }
        // Each known transfer was found, so any more follow from nothing.
        if n_rows > self.n_transfers {
            let n_more = n_rows - self.n_transfers;
            findings.general(format_args!("{n_more} rows of transfers follow from nothing"));
        }
        self.check_rings(findings)
    }

    fn compare(
        &self,
        stream: &Stream,
        known: &Known,
        findings: &mut Findings,
    ) -> Result<(), StoreError> {
        let Stream { teamspace, subject } = stream;
        let id = known.record.transfer;
        match self.database.transfer_row(known.seq)? {
            None => findings.general(format_args!("the row of transfer {id} is missing")),
            Some(_) if self.erased.contains(stream) => {}
            Some(row) if !is_of(&row, stream, &known.record) => findings.general(format_args!(
                "the row of transfer {id} of {subject} in {teamspace} does not follow from its \
                 entries"
            )),
            Some(_) => {}
        }
        Ok(())
    }

    fn check_rings(&mut self, findings: &mut Findings) -> Result<(), StoreError> {
        let mut last = (String::new(), String::new());
        loop {
            let page = self.database.last_rings((&last.0, &last.1), PAGE_ROWS_MAX)?;
            let Some((teamspace, agent, _)) = page.last() else { break };
            last = (teamspace.clone(), agent.clone());
            for (teamspace, agent, at) in page {
                let key = teamspace.parse().ok().zip(agent.parse().ok());
                let expected = key.and_then(|key| self.last_rings.remove(&key));
                let is_it = expected.is_some_and(|expected| expected.as_millis() == at);
                // A later ring may have been erased.
                if !is_it && self.erased.is_empty() {
                    findings.general(format_args!(
                        "the time of the last ring for {agent} in {teamspace} is not that of an \
                         entry"
                    ));
                }
            }
        }
        for (teamspace, agent) in self.last_rings.keys() {
            findings.general(format_args!(
                "the time of the last ring for {agent} in {teamspace} is missing"
            ));
        }
        Ok(())
    }
}

fn is_of(row: &StoredTransfer, stream: &Stream, record: &Record) -> bool {
    row.teamspace == stream.teamspace.as_str()
        && row.conversation == stream.subject.id()
        && row.record.as_ref() == Some(record)
        && row.columns == TransferColumns::of(record)
}

/// A row that was looked at, and how many entries that took.
#[derive(Debug, Default)]
pub struct Checked {
    pub n_passed: u64,
    pub problem: Option<String>,
}

/// Folds the entries of one transfer again. Once one of them is erased, the row cannot be compared.
pub fn row_problem(database: &ReadOnly, row: &StoredTransfer) -> Result<Checked, StoreError> {
    let seq = u64::try_from(row.row).unwrap_or_default();
    let requested = match seq.checked_sub(1) {
        Some(before) => database.entries(before, 1)?.pop().filter(|found| found.seq == seq),
        None => None,
    };
    let Some(requested) = requested.filter(|it| it.entry.name == REQUESTED) else {
        let problem = format!("row {} of the transfers follows from nothing", row.row);
        return Ok(Checked { n_passed: 0, problem: Some(problem) });
    };
    let stream = requested.entry.stream;
    let TransferEntries { entries, n_passed } = database.transfer_entries(&stream, seq)?;
    let mut record: Option<Record> = None;
    for Sequenced { entry, .. } in &entries {
        match (recorded(entry), &mut record) {
            (Some(TransferEvent::Requested(requested)), None) => {
                record = Some(Record::requested(&requested, entry.at));
            }
            (Some(TransferEvent::Requested(_)), Some(_)) => break,
            (Some(event), Some(record)) if record.transfer == event.transfer() => {
                record.apply(&event, &entry.actor, entry.at);
            }
            (Some(_), _) => {}
            (None, _) => return Ok(Checked { n_passed, problem: None }),
        }
    }
    let is_right = record.is_none_or(|record| is_of(row, &stream, &record));
    let Stream { teamspace, subject } = &stream;
    let problem = (!is_right).then(|| {
        let id = &row.columns.id;
        format!(
            "the row of transfer {id} of {subject} in {teamspace} does not follow from its entries"
        )
    });
    Ok(Checked { n_passed, problem })
}

/// What an entry about a transfer says of the rows beside the entries.
pub fn entry_problem(
    database: &ReadOnly,
    seq: i64,
    entry: &Entry,
    event: Option<&Event>,
    rings: &mut Rings,
) -> Result<Option<String>, StoreError> {
    let number = u64::try_from(seq).unwrap_or_default();
    if entry.name == REQUESTED && database.transfer_row(number)?.is_none() {
        return Ok(Some(format!("the row of the transfer that entry {seq} requests is missing")));
    }
    rings.pass(entry);
    let Some(Event::Conversation(ConversationEvent::Transfer(TransferEvent::Ringing(ringing)))) =
        event
    else {
        return Ok(None);
    };
    let (teamspace, agent) = (&entry.stream.teamspace, &ringing.agent);
    rings.ring(teamspace, agent, entry.at);
    let found = database.last_ring(teamspace, agent)?;
    let is_earlier = found.is_none_or(|found| found < entry.at.as_millis());
    Ok(is_earlier.then(|| {
        format!(
            "the time of the last ring for {agent} in {teamspace} is before that of entry {seq}"
        )
    }))
}

const REQUESTED: &str = "transfer.requested";
const RINGING: &str = "transfer.ringing";

/// When each person was last rung, as the entries of one round of the scrub tell.
#[derive(Debug)]
pub struct Rings {
    last: HashMap<(TeamspaceId, AgentId), Time>,
    /// Whether all entries were seen that there were when the round began, and none of a ring was
    /// erased.
    is_known: bool,
    /// The time of the newest entry that was seen.
    until: Time,
}

impl Rings {
    pub fn new(is_from_first: bool) -> Self {
        Self { last: HashMap::new(), is_known: is_from_first, until: Time::from_millis(0) }
    }

    /// Any entry.
    pub fn pass(&mut self, entry: &Entry) {
        self.until = self.until.max(entry.at);
        self.is_known &= entry.name != RINGING || entry.body.text().is_some();
    }

    fn ring(&mut self, teamspace: &TeamspaceId, agent: &AgentId, at: Time) {
        let last = self.last.entry((teamspace.clone(), agent.clone())).or_insert(at);
        *last = at.max(*last);
    }

    /// What is wrong with a row. A person may have been rung since the entries were read.
    pub fn problem(&self, (teamspace, agent, at): &(String, String, i64)) -> Option<String> {
        let key = teamspace.parse().ok().zip(agent.parse().ok());
        let expected = key.and_then(|key| self.last.get(&key));
        let is_it = expected.is_some_and(|expected| expected.as_millis() == *at);
        let is_newer = *at >= self.until.as_millis();
        (self.is_known && !is_it && !is_newer).then(|| {
            format!("the time of the last ring for {agent} in {teamspace} is not that of an entry")
        })
    }
}
