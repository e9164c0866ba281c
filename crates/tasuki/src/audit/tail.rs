//! The newest entries, unchanged.

use std::collections::VecDeque;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::Context;
use engine::ports::store::Sequenced;
use protocol::ledger::Stream;
use store::sqlite::ReadOnly;

use super::Source;
use super::format::ReportLine;
use super::import::{read_line, text};

/// Entries that one `look` returns at most.
const LOOK_ENTRIES_MAX: usize = 512;

/// The newest `n_entries`, oldest first.
pub fn tail(source: &Source, n_entries: usize) -> anyhow::Result<Vec<Sequenced>> {
    match source {
        Source::Data(folder) => {
            let mut tail = Tail::open(folder, n_entries)?;
            let mut found = Vec::new();
            loop {
                let page = tail.look()?;
                if page.is_empty() {
                    return Ok(found);
                }
                found.extend(page);
            }
        }
        Source::Export(path) => tail_of_export(path, n_entries),
    }
}

/// A cursor in the ledger of a data folder. The caller polls it with `look`.
#[derive(Debug)]
pub struct Tail {
    database: ReadOnly,
    cursor: u64,
}

impl Tail {
    /// Starts so that the first looks return the newest `n_entries`.
    pub fn open(folder: &Path, n_entries: usize) -> anyhow::Result<Self> {
        let database = ReadOnly::open(folder)?;
        let n_entries = u64::try_from(n_entries).unwrap_or(u64::MAX);
        let cursor = database.newest()?.saturating_sub(n_entries);
        Ok(Self { database, cursor })
    }

    /// What came since the last look; empty when there is nothing new.
    pub fn look(&mut self) -> anyhow::Result<Vec<Sequenced>> {
        let page = self.database.entries(self.cursor, LOOK_ENTRIES_MAX)?;
        if let Some(last) = page.last() {
            self.cursor = last.seq;
        }
        Ok(page)
    }
}

/// An entry on one line, for people. For programs there is `engine::ledger::feed::entry_json`.
pub fn human_line(one: &Sequenced) -> String {
    let Sequenced { seq, entry } = one;
    let Stream { teamspace, subject } = &entry.stream;
    let (at, name, actor, position) = (entry.at, &entry.name, &entry.actor, entry.position);
    let erased = if entry.body.text().is_none() { " (body erased)" } else { "" };
    format!("{seq:>8}  {at}  {teamspace}  {subject}#{position}  {name}  by {actor}{erased}")
}

fn tail_of_export(path: &Path, n_entries: usize) -> anyhow::Result<Vec<Sequenced>> {
    let cannot = || format!("cannot read {}", path.display());
    let mut input = BufReader::new(File::open(path).with_context(cannot)?);
    let mut newest = VecDeque::new();
    let mut line = Vec::new();
    read_line(&mut input, &mut line).with_context(cannot)?;
    for number in 2_u64.. {
        if read_line(&mut input, &mut line).with_context(cannot)? == 0 {
            break;
        }
        let parsed = text(&line).and_then(ReportLine::parse);
        let parsed = parsed.with_context(|| format!("{}:{number}", path.display()))?;
        let ReportLine::Entry(entry) = parsed else { continue };
        let seq = entry.seq;
        let entry = entry.into_entry().with_context(|| format!("{}:{number}", path.display()))?;
        newest.push_back(Sequenced { seq, entry });
        if newest.len() > n_entries {
            newest.pop_front();
        }
    }
    Ok(newest.into())
}
